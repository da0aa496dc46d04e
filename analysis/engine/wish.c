/* Were wishes obeyed? Of a node count the layers that compute it, and what each multiplies, or
 * stores where it multiplies nothing. */
#include <string.h>

#include "analysis/engine/mapping.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/text/suggest.h"
#include "base/text/text.h"
#include "data/layer_options.h"

struct wishing {
    const struct ulp_engine_map *built;
    struct ulp_wishes *out;
    struct ulp_arena *arena;
    /* layers of node n: layers[first[n] .. first[n + 1]) */
    size_t *first, *layers;
    bool *chosen;
};

static enum ulp_status index_layers(struct wishing *wishing, struct ulp_error *error)
{
    const struct ulp_engine_map *built = wishing->built;
    size_t total = 0;
    for (size_t l = 0; l < built->layer_count; l++)
        total += built->layers[l].node_count;
    ULP_TAKE(wishing->first, wishing->arena, built->node_count + 2, error);
    ULP_TAKE(wishing->layers, wishing->arena, total + 1, error);
    ULP_TAKE(wishing->chosen, wishing->arena, built->node_count + 1, error);
    for (size_t l = 0; l < built->layer_count; l++)
        for (size_t i = 0; i < built->layers[l].node_count; i++)
            wishing->first[built->layers[l].nodes[i] + 2]++;
    for (size_t n = 0; n < built->node_count; n++)
        wishing->first[n + 2] += wishing->first[n + 1];
    for (size_t l = 0; l < built->layer_count; l++)
        for (size_t i = 0; i < built->layers[l].node_count; i++)
            wishing->layers[wishing->first[built->layers[l].nodes[i] + 1]++] = l;
    return ULP_OK;
}

/* What the layer ran in; "": not known. */
static const char *ran_in(const struct ulp_engine_map_layer *layer)
{
    static const struct {
        enum ulp_type type;
        const char *name;
    } rows[] = {{ULP_TYPE_FLOAT, "fp32"},    {ULP_TYPE_FLOAT16, "fp16"},
                {ULP_TYPE_BFLOAT16, "bf16"}, {ULP_TYPE_INT8, "int8"},
                {ULP_TYPE_DOUBLE, "fp64"},   {ULP_TYPE_FLOAT8E4M3FN, "fp8"}};
    if (layer->by == ULP_MAPPED_BOUND)
        return "";
    if (layer->product && *layer->multiply)
        return layer->multiply;
    const enum ulp_type type = layer->input != ULP_TYPE_UNDEFINED ? layer->input : layer->output;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (rows[r].type == type)
            return rows[r].name;
    return "";
}

static bool obeys(const char *wanted, const char *ran)
{
    return strcmp(wanted, ran) == 0 || (strcmp(wanted, "fp32") == 0 && strcmp(ran, "tf32") == 0);
}

/* One node that the wish names. */
static void judge_node(const struct wishing *wishing, size_t node, struct ulp_wish *wish)
{
    size_t good = 0, bad = 0;
    const enum ulp_engine_map_kind kind = wishing->built->nodes[node].kind;
    if (kind == ULP_BUILT_CONSTANT || kind == ULP_BUILT_MOVED)
        return;
    wish->node_count++;
    for (size_t i = wishing->first[node]; i < wishing->first[node + 1]; i++) {
        const char *ran = ran_in(&wishing->built->layers[wishing->layers[i]]);
        if (!*ran)
            continue;
        const bool well = obeys(wish->type, ran);
        good += well;
        bad += !well;
        if (!well && wish->layer < 0) {
            wish->node = (ptrdiff_t)node;
            wish->layer = (ptrdiff_t)wishing->layers[i];
            wish->ran = ran;
        } else if (well && !*wish->ran) {
            wish->ran = ran;
        }
    }
    wish->obeyed += good && !bad;
    wish->disobeyed += bad > 0;
    wish->unknown += !good && !bad;
    if (good && bad)
        wish->verdict = ULP_WISH_PARTLY;
}

static void settle_verdict(struct ulp_wish *wish)
{
    if (wish->verdict == ULP_WISH_PARTLY || (wish->obeyed && wish->disobeyed))
        wish->verdict = ULP_WISH_PARTLY;
    else if (wish->disobeyed)
        wish->verdict = ULP_WISH_DISOBEYED;
    else if (wish->obeyed && !wish->unknown)
        wish->verdict = ULP_WISH_OBEYED;
    else
        wish->verdict = wish->node_count ? ULP_WISH_UNKNOWABLE : ULP_WISH_OBEYED;
}

static void judge_wish(const struct wishing *wishing, struct ulp_wish *wish)
{
    for (size_t n = 0; n < wishing->built->node_count; n++)
        if (wishing->chosen[n])
            judge_node(wishing, n, wish);
    settle_verdict(wish);
}

/* It names no node: is it the name of a layer of the engine, which nobody can constrain? */
static enum ulp_status explain_miss(const struct wishing *wishing, struct ulp_wish *wish,
                                    const char *otherwise, struct ulp_error *error)
{
    const struct ulp_engine_map *built = wishing->built;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    wish->verdict = ULP_WISH_NO_MATCH;
    for (size_t l = 0; l < built->layer_count && !text.length; l++) {
        const struct ulp_engine_map_layer *layer = &built->layers[l];
        if (strcmp(layer->layer->name, wish->pattern) != 0)
            continue;
        ulp_text_add(&text,
                     "it is the name of a kernel of the engine, not of a layer of the network%s",
                     layer->node_count ? "; name its nodes: " : "");
        for (size_t i = 0; i < layer->node_count && i < 4; i++)
            ulp_text_show(&text, "%s%s", i ? ", " : "",
                          ulp_program_node_name(built->program, layer->nodes[i]));
    }
    if (!text.length)
        ulp_text_add(&text, "%s", otherwise);
    if (!text.failed)
        wish->hint = text.length ? ulp_arena_text(wishing->arena, text.data, text.length) : "";
    return ulp_taken(wish->hint, error);
}

static struct ulp_wish *add_wish(struct wishing *wishing, const char *pattern, const char *type)
{
    struct ulp_wish *wish = &wishing->out->items[wishing->out->count++];
    *wish = (struct ulp_wish){.pattern = pattern,
                              .type = type,
                              .verdict = ULP_WISH_UNKNOWABLE,
                              .node = -1,
                              .layer = -1,
                              .ran = "",
                              .hint = ""};
    return wish;
}

/* An entry of a plan: the type is that of the arithmetic's storage, or INT8. */
static enum ulp_status judge_keep(struct wishing *wishing, const struct ulp_keep *keep,
                                  struct ulp_error *error)
{
    struct ulp_error miss;
    const char *pattern = ulp_arena_copy(wishing->arena, keep->pattern),
               *type = ulp_arena_copy(wishing->arena, keep->arithmetic.storage.name);
    ULP_TRY(ulp_taken(pattern && type, error));
    struct ulp_wish *wish = add_wish(wishing, pattern, type);
    memset(wishing->chosen, 0, wishing->built->node_count * sizeof *wishing->chosen);
    enum ulp_status status = ulp_pattern_choose(wishing->built->program, keep->pattern,
                                                wishing->chosen, wishing->arena, &miss);
    if (status == ULP_ERROR_MEMORY)
        return ulp_out_of_memory(error);
    if (status != ULP_OK)
        return explain_miss(wishing, wish, miss.message, error);
    judge_wish(wishing, wish);
    return ULP_OK;
}

static const char *node_name(const void *context, size_t i)
{
    return ulp_program_node_name(context, i);
}

/* An entry of --layerPrecisions names network layers, which are called after nodes. */
static enum ulp_status judge_option(struct wishing *wishing, const struct ulp_layer_option *option,
                                    struct ulp_error *error)
{
    const struct ulp_engine_map *built = wishing->built;
    const char *pattern = ulp_arena_copy(wishing->arena, option->name),
               *type = ulp_layer_type_name(option->types[0]);
    ULP_TRY(ulp_taken(pattern, error));
    struct ulp_wish *wish = add_wish(wishing, pattern, type);
    bool any = false;
    for (size_t n = 0; n < built->node_count; n++)
        any |= wishing->chosen[n] =
            ulp_layer_option_matches(option, ulp_program_node_name(built->program, n));
    if (any) {
        judge_wish(wishing, wish);
        return ULP_OK;
    }
    ULP_SCOPED(ulp_text_free) struct ulp_text near = {0};
    ulp_text_add(&near, "trtexec ignores it without a word");
    ulp_suggest_names(&near, option->name, built->node_count, node_name, built->program);
    return near.failed ? ulp_out_of_memory(error) : explain_miss(wishing, wish, near.data, error);
}

static enum ulp_status judge_all(struct wishing *wishing, const struct ulp_precision_plan *plan,
                                 const char *layer_precisions, struct ulp_error *error)
{
    ULP_SCOPED(ulp_layer_options_free) struct ulp_layer_options options = {0};
    const size_t kept = plan ? plan->keeps.count : 0;
    if (layer_precisions)
        ULP_TRY(ulp_layer_options_parse(layer_precisions, ULP_LAYER_PRECISIONS, wishing->arena,
                                        &options, error));
    ULP_TAKE(wishing->out->items, wishing->arena, kept + options.count + 1, error);
    ULP_TRY(index_layers(wishing, error));
    for (size_t k = 0; k < kept; k++)
        ULP_TRY(judge_keep(wishing, &plan->keeps.items[k], error));
    for (size_t o = 0; o < options.count; o++)
        ULP_TRY(judge_option(wishing, &options.items[o], error));
    for (size_t w = 0; w < wishing->out->count; w++)
        wishing->out->counts[wishing->out->items[w].verdict]++;
    return ULP_OK;
}

enum ulp_status ulp_engine_map_wishes(const struct ulp_engine_map *built,
                                      const struct ulp_precision_plan *plan,
                                      const char *layer_precisions, struct ulp_wishes *out,
                                      struct ulp_error *error)
{
    ULP_ENTER(error);
    struct wishing wishing = {.built = built, .out = out};
    *out = (struct ulp_wishes){0};
    ULP_TRY(ulp_arena_create(&wishing.arena, ulp_arena_budget(built->memory), error));
    out->memory = wishing.arena;
    const enum ulp_status status = judge_all(&wishing, plan, layer_precisions, error);
    if (status != ULP_OK)
        ulp_wishes_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_wishes_free, struct ulp_wishes)

ULP_NAMES(ulp_wish_verdict_name, enum ulp_wish_verdict, "obeyed", "partly obeyed", "not obeyed",
          "matches nothing", "unknowable")
