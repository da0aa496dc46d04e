/* Rules about trtexec's options for single layers. */
#include "analysis/lint/lint.h"

#include "base/error.h"
#include "base/text/suggest.h"

static const struct ulp_lint_place nowhere;

static const struct ulp_layer_options *options_of(const struct ulp_lint *lint,
                                                  enum ulp_layer_option_kind kind)
{
    return kind == ULP_LAYER_PRECISIONS ? &lint->precisions : &lint->output_types;
}

/* An entry that counts: the last of its name. */
static bool counts(const struct ulp_layer_options *options, size_t i)
{
    return ulp_names_find(&options->exact, options->items[i].name) == (int)i;
}

void ulp_lint_each_entry(struct ulp_lint *lint, ulp_lint_entry *visit)
{
    for (int kind = ULP_LAYER_PRECISIONS; kind <= ULP_LAYER_OUTPUT_TYPES; kind++) {
        const struct ulp_layer_options *options =
            options_of(lint, (enum ulp_layer_option_kind)kind);
        for (size_t i = 0; i < options->count; i++)
            if (counts(options, i))
                visit(lint, (enum ulp_layer_option_kind)kind, &options->items[i]);
    }
}

void ulp_lint_each_request(struct ulp_lint *lint, ulp_lint_request *visit)
{
    for (int kind = ULP_LAYER_PRECISIONS; kind <= ULP_LAYER_OUTPUT_TYPES; kind++) {
        const struct ulp_layer_options *options =
            options_of(lint, (enum ulp_layer_option_kind)kind);
        for (size_t n = 0; n < lint->node_count && options->count; n++) {
            const struct ulp_layer_option *option =
                lint->places[n].graph->function
                    ? NULL
                    : ulp_layer_options_find(options, lint->places[n].node->name);
            if (option)
                visit(lint, (enum ulp_layer_option_kind)kind, option, lint->places[n]);
        }
    }
}

void ulp_lint_option_removed(struct ulp_lint *lint)
{
    if (lint->targets != ULP_TARGET_TRT11)
        return;
    for (int kind = ULP_LAYER_PRECISIONS; kind <= ULP_LAYER_OUTPUT_TYPES; kind++)
        if (options_of(lint, (enum ulp_layer_option_kind)kind)->count) {
            const char *flag = ulp_layer_option_flag((enum ulp_layer_option_kind)kind);
            ulp_lint_add(lint, nowhere, flag, "%s is refused by TensorRT 11", flag);
        }
}

/* Whether an engine, and no network, has layers called so. */
static bool is_fused(const char *name)
{
    static const char *const signs[] = {"__my",        "_myl",
                                        "PWN(",        "{ForeignNode[",
                                        " + ",         " || ",
                                        "...",         "Reformatting CopyNode",
                                        "_copy_input", "_copy_output"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(name, signs[i]))
            return true;
    return false;
}

/* The graph's value of that name; *graph is the first that has it. */
static int find_graph_value(const struct ulp_lint *lint, const char *name,
                            const struct ulp_lint_graph **graph)
{
    for (size_t g = 0; g < lint->graph_count; g++)
        for (size_t v = 0; v < lint->graphs[g].graph->value_count; v++)
            if (strcmp(lint->graphs[g].graph->values[v].name, name) == 0) {
                *graph = &lint->graphs[g];
                return (int)v;
            }
    return -1;
}

/* A layer of that name: of a node, of a constant (called after it), or of a node without a name,
 * which the parser calls after its first output. */
static bool is_layer(const struct ulp_lint *lint, const struct ulp_layer_option *option)
{
    const struct ulp_lint_graph *graph;
    static const char unnamed[] = "node_of_";
    if (ulp_names_find(&lint->names, option->name) >= 0)
        return true;
    for (size_t n = 0; n < lint->node_count && option->pattern; n++)
        if (!lint->places[n].graph->function &&
            ulp_layer_option_matches(option, lint->places[n].node->name))
            return true;
    if (option->pattern)
        return false;
    const bool front = strncmp(option->name, unnamed, sizeof unnamed - 1) == 0;
    const int value =
        find_graph_value(lint, option->name + (front ? sizeof unnamed - 1 : 0), &graph);
    return value >= 0 && (front ? graph->graph->values[value].producer >= 0
                                : graph->graph->values[value].initializer != NULL);
}

static const char *place_name(const void *context, size_t i)
{
    const struct ulp_lint *lint = context;
    return lint->places[i].node->name;
}

/* Looking for near names takes time proportional to the model. */
enum { SUGGESTED_MAX = 8 };

void ulp_lint_option_unknown(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                             const struct ulp_layer_option *option)
{
    const struct ulp_lint_graph *graph;
    if (is_layer(lint, option) || is_fused(option->name))
        return;
    ULP_SCOPED(ulp_text_free) struct ulp_text hint = {0};
    const int value = find_graph_value(lint, option->name, &graph);
    const struct ulp_lint_place producer = value >= 0 ? ulp_lint_producer(graph, value) : nowhere;
    char bare[256];
    size_t length = 0;
    for (const char *c = option->name; *c && length < sizeof bare - 1; c++)
        if (*c != '*')
            bare[length++] = *c;
    bare[length] = 0;
    if (producer.node)
        ulp_text_add(&hint, ": it is a value, of node '%s'", producer.node->name);
    else if (lint->finding_count < SUGGESTED_MAX)
        ulp_suggest_names(&hint, bare, lint->node_count, place_name, lint);
    ulp_lint_add(lint, nowhere, option->name, "%s: no node is called '%s'%s",
                 ulp_layer_option_flag(kind), option->name,
                 hint.data && !hint.failed ? hint.data : "");
}

void ulp_lint_option_fused(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                           const struct ulp_layer_option *option)
{
    if (is_fused(option->name) && !is_layer(lint, option))
        ulp_lint_add(lint, nowhere, option->name,
                     "%s: '%s' is the name of a fused kernel, which the network does not have",
                     ulp_layer_option_flag(kind), option->name);
}

static bool same_types(const struct ulp_layer_option *a, const struct ulp_layer_option *b)
{
    return a->type_count == b->type_count &&
           memcmp(a->types, b->types, a->type_count * sizeof *a->types) == 0;
}

void ulp_lint_option_repeated(struct ulp_lint *lint)
{
    for (int kind = ULP_LAYER_PRECISIONS; kind <= ULP_LAYER_OUTPUT_TYPES; kind++) {
        const struct ulp_layer_options *options =
            options_of(lint, (enum ulp_layer_option_kind)kind);
        for (size_t i = 0; i < options->count; i++) {
            const struct ulp_layer_option
                *option = &options->items[i],
                *last = &options->items[ulp_names_find(&options->exact, option->name)];
            if (!same_types(option, last))
                ulp_lint_add(lint, nowhere, option->name,
                             "%s: '%s' is asked for %s and later for %s, which applies",
                             ulp_layer_option_flag((enum ulp_layer_option_kind)kind), option->name,
                             ulp_layer_type_name(option->types[0]),
                             ulp_layer_type_name(last->types[0]));
        }
    }
}

void ulp_lint_option_overlap(struct ulp_lint *lint)
{
    for (int kind = ULP_LAYER_PRECISIONS; kind <= ULP_LAYER_OUTPUT_TYPES; kind++) {
        const struct ulp_layer_options *options =
            options_of(lint, (enum ulp_layer_option_kind)kind);
        for (size_t n = 0; n < lint->node_count && options->count > 1; n++) {
            const struct ulp_layer_option *first = NULL;
            const char *name = lint->places[n].node->name;
            if (lint->places[n].graph->function || ulp_names_find(&options->exact, name) >= 0)
                continue;
            for (size_t i = 0; i < options->count; i++) {
                const struct ulp_layer_option *option = &options->items[i];
                if (!option->pattern || !counts(options, i) ||
                    !ulp_layer_option_matches(option, name))
                    continue;
                if (first && !same_types(first, option)) {
                    ulp_lint_add(lint, lint->places[n], option->name,
                                 "%s: '%s' asks for %s and '%s' for %s: either may apply",
                                 ulp_layer_option_flag((enum ulp_layer_option_kind)kind),
                                 first->name, ulp_layer_type_name(first->types[0]), option->name,
                                 ulp_layer_type_name(option->types[0]));
                    break;
                }
                first = first ? first : option;
            }
        }
    }
}

void ulp_lint_option_star(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                          const struct ulp_layer_option *option)
{
    const char *star = strchr(option->name, '*');
    if (star && strchr(star + 1, '*'))
        ulp_lint_add(lint, nowhere, option->name,
                     "%s: of the '*' in '%s' only the first stands for any text",
                     ulp_layer_option_flag(kind), option->name);
}

void ulp_lint_option_pattern(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                             const struct ulp_layer_option *option)
{
    /* for those who say that it is TensorRT 8 */
    if (lint->targets == ULP_TARGET_TRT8 && option->pattern && strcmp(option->name, "*") != 0)
        ulp_lint_add(lint, nowhere, option->name,
                     "%s: '%s' is a pattern, which TensorRT before 8.5 takes for a name",
                     ulp_layer_option_flag(kind), option->name);
}

void ulp_lint_option_cast(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                          const struct ulp_layer_option *option, struct ulp_lint_place place)
{
    const enum ulp_type in = ulp_lint_type(place.graph, ulp_lint_input(place, 0)),
                        out = ulp_lint_type(place.graph, ulp_lint_output(place, 0)),
                        asked = option->types[0];
    if (!ulp_lint_is(place, "Cast") || asked == out ||
        (kind == ULP_LAYER_PRECISIONS && asked == in) || in == ULP_TYPE_UNDEFINED ||
        out == ULP_TYPE_UNDEFINED)
        return;
    ulp_lint_add(lint, place, option->name, "%s '%s:%s' conflicts with the Cast from %s to %s",
                 ulp_layer_option_flag(kind), option->name, ulp_layer_type_name(asked),
                 ulp_lint_type_text(in), ulp_lint_type_text(out));
}

void ulp_lint_option_integer(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                             const struct ulp_layer_option *option, struct ulp_lint_place place)
{
    if (option->pattern || ulp_lint_is(place, "Cast") || !ulp_type_is_float(option->types[0]))
        return;
    for (size_t o = 0; o < place.node->output_count; o++) {
        const enum ulp_type type = ulp_lint_type(place.graph, place.node->outputs[o]);
        if (type == ULP_TYPE_UNDEFINED || ulp_type_is_float(type))
            return;
    }
    ulp_lint_add(lint, place, option->name, "%s: '%s' gives %s and is asked for %s",
                 ulp_layer_option_flag(kind), option->name,
                 ulp_lint_type_text(ulp_lint_type(place.graph, ulp_lint_output(place, 0))),
                 ulp_layer_type_name(option->types[0]));
}

void ulp_lint_option_output_pattern(struct ulp_lint *lint)
{
    const struct ulp_layer_options *options = &lint->output_types;
    const int all = ulp_names_find(&options->exact, "*");
    const enum ulp_type set = all >= 0 ? options->items[all].types[0] : ULP_TYPE_FLOAT;
    for (size_t i = 0; i < options->count; i++) {
        const struct ulp_layer_option *option = &options->items[i];
        bool same = true;
        for (size_t t = 0; t < option->type_count; t++)
            same &= option->types[t] == set;
        if (option->pattern && !same && strcmp(option->name, "*") != 0)
            ulp_lint_add(lint, nowhere, option->name, "--layerOutputTypes '%s:%s' sets %s",
                         option->name, ulp_layer_type_name(option->types[0]),
                         ulp_layer_type_name(set));
    }
}

void ulp_lint_option_count(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                           const struct ulp_layer_option *option, struct ulp_lint_place place)
{
    if (kind == ULP_LAYER_OUTPUT_TYPES && !option->pattern && option->type_count > 1 &&
        option->type_count != place.node->output_count)
        ulp_lint_add(lint, place, option->name, "'%s' has %zu outputs and is given %zu types",
                     option->name, place.node->output_count, option->type_count);
}

static void check_half(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                       const struct ulp_layer_option *option, struct ulp_lint_place place)
{
    const struct ulp_layer_options *other =
        options_of(lint,
                   kind == ULP_LAYER_PRECISIONS ? ULP_LAYER_OUTPUT_TYPES : ULP_LAYER_PRECISIONS);
    if (other->count && !ulp_layer_options_find(other, place.node->name))
        ulp_lint_add(lint, place, option->name, "'%s' is in %s only", option->name,
                     ulp_layer_option_flag(kind));
}

void ulp_lint_option_half(struct ulp_lint *lint)
{
    const size_t precisions = lint->precisions.count, types = lint->output_types.count;
    if (precisions && !types)
        ulp_lint_add(lint, nowhere, "--layerPrecisions",
                     "--layerPrecisions is given without --layerOutputTypes");
    else if (types && !precisions)
        ulp_lint_add(lint, nowhere, "--layerOutputTypes",
                     "--layerOutputTypes is given without --layerPrecisions");
    else
        ulp_lint_each_request(lint, check_half);
}
