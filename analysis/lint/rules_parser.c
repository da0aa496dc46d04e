/* Rules about what a target's parser takes (parser.def). */
#include "analysis/lint/lint.h"

#include "ops/operator.h"

enum { MINOR = 100 }; /* a version is major * MINOR + minor; 0: none */

static const struct parser {
    unsigned bit;
    const char *name;
    int first, last;
} parsers[] = {
#define PARSER(bit, name, first, major, minor) {bit, name, first * MINOR, major * MINOR + minor},
#include "analysis/lint/parser.def"
};

static const struct {
    unsigned bit;
    const char *name;
} lacking[] = {
#define LACKS(bit, operator) {bit, operator},
#include "analysis/lint/parser.def"
};

/* What is not taken of an operator: a computed input, an attribute, an input that is not FLOAT16.
 */
static const struct argument {
    const char *operator, * attribute; /* attribute NULL: none */
    size_t input;
    bool half;
} arguments[] = {
#define COMPUTED(operator, input) {operator, NULL, input, false},
#define ATTRIBUTE(operator, name) {operator, name, 0, false},
#define HALF(operator, input) {operator, NULL, input, true},
#include "analysis/lint/parser.def"
};

static bool is_type_taken(enum ulp_type type)
{
    switch (type) {
    case ULP_TYPE_UNDEFINED:
#define TYPE(type) case ULP_TYPE_##type:
#include "analysis/lint/parser.def"
        return true;
    default: return false;
    }
}

static const struct {
    const char *name;
    int since;
} operators[] = {
#define OPERATOR(name, major, minor) {name, major * MINOR + minor},
#include "analysis/lint/parser.def"
};

/* The oldest of the parsers that the lint is asked about, and of nothing else: a model that no one
 * wants to give to it need not please it. */
static const struct parser *find_parser(const struct ulp_lint *lint)
{
    unsigned rest = lint->options->targets;
    const struct parser *oldest = NULL;
    for (size_t p = sizeof parsers / sizeof *parsers; p-- > 0;)
        if (rest & parsers[p].bit) {
            rest &= ~parsers[p].bit;
            oldest = &parsers[p];
        }
    return rest ? NULL : oldest;
}

static bool is_contributed(const char *domain)
{
    return strcmp(domain, "com.microsoft") == 0 || strncmp(domain, "com.microsoft.", 14) == 0 ||
           strncmp(domain, "ai.onnx.", 8) == 0;
}

/* Of operators that the lists do not have only those are said to be missing that ONNX or ONNX
 * Runtime has; others are plugins, or functions of the model. */
static bool is_missing(const struct ulp_lint *lint, struct ulp_lint_place place, unsigned bit,
                       int *since)
{
    const struct ulp_node *node = place.node;
    *since = 0;
    for (size_t f = 0; f < lint->model->function_count; f++)
        if (strcmp(lint->model->functions[f].name, node->op_type) == 0)
            return false;
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        if (lacking[i].bit == bit && strcmp(lacking[i].name, node->op_type) == 0)
            return true;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].name, node->op_type) == 0) {
            *since = operators[i].since;
            return true;
        }
    return is_contributed(node->domain) ||
           (!*node->domain && ulp_operator_find("", node->op_type, ulp_lint_opset(place)));
}

/* One finding an operator, at the first of its nodes: those that the last known version lacks, or
 * those that only a later one than the target's first has. */
static void find_operators(struct ulp_lint *lint, bool missing)
{
    const struct parser *parser = find_parser(lint);
    struct ulp_names first = {.budget = ulp_arena_budget(lint->arena)};
    size_t *counts = ulp_arena_take(lint->arena, lint->node_count + 1, sizeof *counts);
    lint->failed |= !counts;
    for (size_t n = 0; counts && n < lint->node_count; n++) {
        const char *op = lint->places[n].node->op_type;
        const int at = ulp_names_find(&first, op);
        counts[at < 0 ? n : (size_t)at]++;
        lint->failed |= at < 0 && !ulp_names_add(&first, op, (int)n);
    }
    for (size_t n = 0; parser && !lint->failed && n < lint->node_count; n++) {
        const struct ulp_lint_place place = lint->places[n];
        int since;
        if (!counts[n] || !is_missing(lint, place, parser->bit, &since) ||
            (missing ? since && since <= parser->last
                     : since <= parser->first || since > parser->last))
            continue;
        const char *nodes = counts[n] == 1 ? "" : "s";
        if (since)
            ulp_lint_add(lint, place, NULL, "TensorRT has %s (%zu node%s) from %d.%d on",
                         place.node->op_type, counts[n], nodes, since / MINOR, since % MINOR);
        else
            ulp_lint_add(lint, place, NULL, "%s's parser does not have %s (%zu node%s)",
                         parser->name, place.node->op_type, counts[n], nodes);
    }
    ulp_names_free(&first);
}

void ulp_lint_operator_missing(struct ulp_lint *lint)
{
    find_operators(lint, true);
}

void ulp_lint_operator_newer(struct ulp_lint *lint)
{
    find_operators(lint, false);
}

/* A value that is not of a type that the parser takes; of quantised ones, of which qdq-type says
 * it, the scales. */
static int find_type(struct ulp_lint_place place)
{
    const bool quantises = ulp_lint_is_any(place, "QuantizeLinear DequantizeLinear");
    for (size_t i = quantises; i < (quantises ? 2 : place.node->input_count); i++) {
        const int value = ulp_lint_input(place, i);
        if (value >= 0 && !is_type_taken(ulp_lint_type(place.graph, value)))
            return value;
    }
    for (size_t o = 0; o < place.node->output_count && !quantises; o++) {
        const int value = ulp_lint_output(place, o);
        if (value >= 0 && !is_type_taken(ulp_lint_type(place.graph, value)))
            return value;
    }
    return -1;
}

static bool is_not_taken(struct ulp_lint_place place, const struct argument *argument)
{
    const int value = argument->attribute ? -1 : ulp_lint_input(place, argument->input);
    if (!ulp_lint_is(place, argument->operator))
        return false;
    if (argument->attribute)
        return ulp_node_attribute(place.node, argument->attribute) != NULL;
    if (value < 0)
        return false;
    const enum ulp_type type = ulp_lint_type(place.graph, value);
    return argument->half ? type != ULP_TYPE_FLOAT16 && type != ULP_TYPE_UNDEFINED
                          : !place.graph->parent && !place.graph->function &&
                                !ulp_lint_constant(place.graph, value) &&
                                !ulp_lint_producer(place.graph, value).node;
}

/* The first of each kind: the parser ends there. Computed axes may be constants that it folds,
 * unless they are inputs. */
void ulp_lint_parser_argument(struct ulp_lint *lint)
{
    const struct parser *parser = find_parser(lint);
    bool told[sizeof arguments / sizeof *arguments] = {0}, told_type = false;
    for (size_t n = 0; parser && n < lint->node_count; n++) {
        const struct ulp_lint_place place = lint->places[n];
        const int value = told_type ? -1 : find_type(place);
        if (value >= 0) {
            told_type = true;
            ulp_lint_add(lint, place, ulp_lint_value_name(place.graph, value),
                         "%s's parser takes no %s", parser->name,
                         ulp_type_name(ulp_lint_type(place.graph, value)));
        }
        for (size_t a = 0; a < sizeof arguments / sizeof *arguments; a++) {
            const struct argument *argument = &arguments[a];
            if (told[a] || !is_not_taken(place, argument))
                continue;
            told[a] = true;
            if (argument->attribute)
                ulp_lint_add(lint, place, NULL, "%s's parser takes no %s of %s", parser->name,
                             argument->attribute, argument->operator);
            else
                ulp_lint_add(lint, place,
                             ulp_lint_value_name(place.graph,
                                                 ulp_lint_input(place, argument->input)),
                             argument->half
                                 ? "%s's parser takes this input of %s in FLOAT16 alone"
                                 : "%s's parser takes this input of %s as a constant alone",
                             parser->name, argument->operator);
        }
    }
}

/* Does the parser take quantised values of that type? FP8, FP4 and INT4 are TensorRT 10's; UINT8 is
 * read as INT8 where it is computed, and refused as a constant. */
static bool is_taken(enum ulp_type type, bool computed, int last)
{
    switch (type) {
    case ULP_TYPE_UNDEFINED:
    case ULP_TYPE_INT8: return true;
    case ULP_TYPE_UINT8: return computed;
    case ULP_TYPE_FLOAT8E4M3FN:
    case ULP_TYPE_FLOAT4E2M1:
    case ULP_TYPE_INT4: return last >= 10 * MINOR;
    default: return false;
    }
}

/* A type of quantised values is one decision, too. */
void ulp_lint_qdq_type(struct ulp_lint *lint)
{
    const struct parser *parser = find_parser(lint);
    struct ulp_lint_place first = {0};
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    size_t count = 0;
    for (size_t n = 0; parser && n < lint->node_count; n++) {
        const struct ulp_lint_place place = lint->places[n];
        const bool narrows = ulp_lint_is(place, "QuantizeLinear");
        if (!narrows && !ulp_lint_is(place, "DequantizeLinear"))
            continue;
        const int value = narrows ? ulp_lint_output(place, 0) : ulp_lint_input(place, 0);
        const enum ulp_type here = ulp_lint_type(place.graph, value);
        if (is_taken(here, !ulp_lint_constant(place.graph, value), parser->last))
            continue;
        if (!count++) {
            first = place;
            type = here;
        }
    }
    if (count)
        ulp_lint_add(lint, first, NULL,
                     "the type is %s, and of %zu node%s in all it is one that %s does not take",
                     ulp_type_name(type), count, count == 1 ? "" : "s", parser->name);
}
