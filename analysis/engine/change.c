/* Two engines of one model: which layers of the second compute their nodes otherwise than the
 * first, and how much of the second's error goes when they compute as there. */
#include <math.h>
#include <string.h>

#include <ulpscope/audit.h>

#include "analysis/engine/mapping.h"
#include "analysis/engine/words.h"
#include "base/error.h"
#include "base/options.h"
#include "base/machine/environment.h"
#include "base/text/text.h"

ULP_FREES(ulp_program_free, struct ulp_program)

static const struct ulp_engine_map_layer *layer_of(const struct ulp_engine_map *built, size_t node)
{
    return built->nodes[node].layer >= 0 ? &built->layers[built->nodes[node].layer] : NULL;
}

/* The layers hold the same nodes, but for what only moves elements and what is known before. */
static bool same_nodes(const struct ulp_engine_map_layer *a, const struct ulp_engine_map_layer *b)
{
    if (a->node_count != b->node_count)
        return false;
    for (size_t i = 0; i < a->node_count; i++)
        if (a->nodes[i] != b->nodes[i])
            return false;
    return true;
}

static void compare_node(const struct ulp_engine_map_layer *a, const struct ulp_engine_map_layer *b,
                         struct ulp_engine_map_change *out, bool *differs)
{
    const bool kernel = strcmp(a->layer->kernel, b->layer->kernel) != 0,
               type = a->input != b->input || a->output != b->output || a->weights != b->weights ||
                      strcmp(a->multiply, b->multiply) != 0,
               accumulator = strcmp(a->accumulator, b->accumulator) != 0,
               fusion = !same_nodes(a, b);
    out->kernel |= kernel;
    out->type |= type;
    out->accumulator |= accumulator;
    out->fusion |= fusion;
    *differs = kernel || type || accumulator || fusion;
}

/* "fp16 into fp16, 3 nodes". */
static const char *describe_layer(struct ulp_arena *arena, const struct ulp_engine_map_layer *layer)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (layer->product)
        ulp_text_add(&text, "%s into %s%s", *layer->multiply ? layer->multiply : "?",
                     *layer->accumulator ? layer->accumulator : "?",
                     layer->kernel.winograd ? " (Winograd)" : "");
    else
        ulp_text_add(&text, "%s", ulp_engine_type_word(layer->input));
    ulp_text_add(&text, ", %zu node%s, %s to %s", layer->node_count,
                 layer->node_count == 1 ? "" : "s", ulp_engine_type_word(layer->input),
                 ulp_engine_type_word(layer->output));
    return text.failed ? NULL : ulp_arena_text(arena, text.data, text.length);
}

static enum ulp_status compare_layer(struct ulp_engine_map_changes *out, size_t l,
                                     struct ulp_error *error)
{
    const struct ulp_engine_map_layer *layer = &out->bad->layers[l], *first = NULL;
    struct ulp_engine_map_change change = {.layer = l, .without = NAN};
    size_t *nodes = ulp_arena_take(out->memory, layer->node_count + 1, sizeof *nodes);
    ULP_TRY(ulp_taken(nodes, error));
    for (size_t i = 0; i < layer->node_count; i++) {
        const struct ulp_engine_map_layer *other = layer_of(out->good, layer->nodes[i]);
        bool differs = false;
        if (other)
            compare_node(other, layer, &change, &differs);
        if (differs)
            nodes[change.node_count++] = layer->nodes[i];
        first = differs && !first ? other : first;
    }
    if (!change.node_count)
        return ULP_OK;
    change.nodes = nodes;
    change.was = describe_layer(out->memory, first);
    change.is = describe_layer(out->memory, layer);
    out->items[out->count++] = change;
    return ulp_taken(change.was && change.is, error);
}

enum ulp_status ulp_engine_map_changes_find(const struct ulp_engine_map *good,
                                            const struct ulp_engine_map *bad,
                                            struct ulp_engine_map_changes *out,
                                            struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    *out = (struct ulp_engine_map_changes){
        .first = NAN, .second = NAN, .output = "", .good = good, .bad = bad};
    if (good->node_count != bad->node_count)
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "the engines were mapped to plans of %zu and %zu nodes: one model is needed",
            good->node_count, bad->node_count);
    enum ulp_status status = ulp_arena_create(&out->memory, ulp_arena_budget(bad->memory), error);
    if (status == ULP_OK) {
        out->items = ulp_arena_take(out->memory, bad->layer_count + 1, sizeof *out->items);
        status = ulp_taken(out->items, error);
    }
    for (size_t l = 0; l < bad->layer_count && status == ULP_OK; l++)
        status = compare_layer(out, l, error);
    if (status != ULP_OK)
        ulp_engine_map_changes_free(out);
    return status;
}

void ulp_engine_map_changes_free(struct ulp_engine_map_changes *changes)
{
    ulp_arena_free(changes->memory);
    *changes = (struct ulp_engine_map_changes){0};
}

/* ---- how much each explains ---- */

struct explaining {
    struct ulp_engine_map_changes *changes;
    const struct ulp_model *model;
    const struct ulp_tensor_set *inputs;
    const struct ulp_run_options *options;
    const struct ulp_observer *progress;
    struct ulp_tensor_set reference; /* outputs */
    size_t output;                   /* of them: the worst of the second engine */
    bool *undone;                    /* by node */
};

/* sqrt(sum d^2 / sum r^2); infinite where only one side is finite. */
static enum ulp_status measure_relative_rms(const struct ulp_tensor *value,
                                            const struct ulp_tensor *reference, double *out,
                                            struct ulp_error *error)
{
    struct ulp_metrics metrics;
    struct ulp_format format;
    ULP_TRY(ulp_format_find("fp32", &format, error));
    ULP_TRY(ulp_metrics_measure(value, reference, &format, &metrics, error));
    *out = metrics.nonfinite || metrics.diverged ? INFINITY
           : metrics.base_norm > 0 ? metrics.rms * sqrt((double)metrics.count) / metrics.base_norm
                                   : metrics.rms;
    return ULP_OK;
}

/* Run lanes, and give their outputs. */
static enum ulp_status run_lanes(const struct explaining *explaining,
                                 const struct ulp_arithmetic *arithmetics,
                                 const struct ulp_keeps *keeps, const struct ulp_groups *groups,
                                 size_t count, struct ulp_tensor_set *outputs,
                                 struct ulp_error *error)
{
    const struct ulp_program_options options = {.inputs = explaining->inputs,
                                                .keeps = keeps,
                                                .groups = groups};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(ulp_program_create(explaining->model, arithmetics, count, &options, &program, error));
    return ulp_program_look(program, explaining->inputs, explaining->options, NULL,
                            explaining->progress, outputs, error);
}

/* The reference and both engines; the output that is worst in the second. */
static enum ulp_status run_both(struct explaining *explaining,
                                const struct ulp_arithmetic *reference, struct ulp_error *error)
{
    struct ulp_engine_map_changes *changes = explaining->changes;
    struct ulp_engine_map_lane lanes[2] = {0};
    struct ulp_tensor_set outputs[3] = {{0}};
    enum ulp_status status =
        ulp_engine_map_lane_make(changes->good, "first", NULL, NULL, &lanes[0], error);
    if (status == ULP_OK)
        status = ulp_engine_map_lane_make(changes->bad, "second", NULL, NULL, &lanes[1], error);
    const struct ulp_arithmetic arithmetics[] = {*reference, lanes[0].arithmetic,
                                                 lanes[1].arithmetic};
    const struct ulp_keeps keeps[] = {{0}, lanes[0].keeps, lanes[1].keeps};
    const struct ulp_groups groups[] = {{0}, lanes[0].groups, lanes[1].groups};
    if (status == ULP_OK)
        status = run_lanes(explaining, arithmetics, keeps, groups, 3, outputs, error);
    double worst = -1;
    for (size_t o = 0; o < outputs[0].count && status == ULP_OK; o++) {
        double first, second;
        if (!ulp_type_is_float(outputs[0].items[o].tensor.type))
            continue;
        status = measure_relative_rms(&outputs[1].items[o].tensor, &outputs[0].items[o].tensor,
                                      &first, error);
        if (status == ULP_OK)
            status = measure_relative_rms(&outputs[2].items[o].tensor, &outputs[0].items[o].tensor,
                                          &second, error);
        if (status != ULP_OK || second <= worst)
            continue;
        worst = second;
        explaining->output = o;
        changes->first = first;
        changes->second = second;
    }
    if (status == ULP_OK && worst < 0)
        status = ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                          "the model has no float output whose error could be explained");
    if (status == ULP_OK) {
        const char *name = outputs[0].items[explaining->output].name;
        changes->output = ulp_arena_copy(changes->memory, name);
        explaining->reference = outputs[0];
        outputs[0] = (struct ulp_tensor_set){0};
    }
    for (int i = 0; i < 3; i++)
        ulp_tensor_set_free(&outputs[i]);
    ulp_engine_map_lane_free(&lanes[0]);
    ulp_engine_map_lane_free(&lanes[1]);
    return status == ULP_OK && !changes->output ? ulp_out_of_memory(error) : status;
}

/* The change's nodes as in the first engine, with what the first computes together with them. */
static void undo(const struct explaining *explaining, const struct ulp_engine_map_change *change)
{
    const struct ulp_engine_map *good = explaining->changes->good;
    memset(explaining->undone, 0, good->node_count * sizeof *explaining->undone);
    for (size_t i = 0; i < change->node_count; i++) {
        const struct ulp_engine_map_layer *layer = layer_of(good, change->nodes[i]);
        explaining->undone[change->nodes[i]] = true;
        for (size_t k = 0; layer && k < layer->node_count; k++)
            explaining->undone[layer->nodes[k]] = true;
    }
}

static enum ulp_status explain_one(const struct explaining *explaining,
                                   struct ulp_engine_map_change *change, struct ulp_error *error)
{
    ULP_SCOPED(ulp_engine_map_lane_free) struct ulp_engine_map_lane lane = {0};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
    undo(explaining, change);
    ULP_TRY(ulp_engine_map_lane_make(explaining->changes->bad, "undone", explaining->changes->good,
                                     explaining->undone, &lane, error));
    ULP_TRY(run_lanes(explaining, &lane.arithmetic, &lane.keeps, &lane.groups, 1, &outputs, error));
    return measure_relative_rms(&outputs.items[explaining->output].tensor,
                                &explaining->reference.items[explaining->output].tensor,
                                &change->without, error);
}

/* Kernels that differ in nothing that is emulated give the same bits. */
static bool computes_alike(const struct ulp_engine_map_changes *changes,
                           const struct ulp_engine_map_change *change)
{
    if (change->fusion)
        return false;
    for (size_t i = 0; i < change->node_count; i++)
        if (strcmp(layer_of(changes->good, change->nodes[i])->arithmetic,
                   changes->bad->layers[change->layer].arithmetic) != 0)
            return false;
    return true;
}

enum ulp_status ulp_engine_map_changes_explain(struct ulp_engine_map_changes *changes,
                                               const struct ulp_model *model,
                                               const struct ulp_tensor_set *inputs,
                                               const struct ulp_arithmetic *reference,
                                               const struct ulp_run_options *options,
                                               const struct ulp_observer *progress,
                                               struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    ULP_OPTIONS_TAKE(ulp_run_options, options, error);
    struct explaining explaining = {.changes = changes,
                                    .model = model,
                                    .inputs = inputs,
                                    .options = options,
                                    .progress = progress};
    explaining.undone =
        ulp_arena_take(changes->memory, changes->good->node_count + 1, sizeof *explaining.undone);
    enum ulp_status status =
        explaining.undone ? run_both(&explaining, reference, error) : ulp_out_of_memory(error);
    for (size_t c = 0; c < changes->count && status == ULP_OK; c++)
        if (computes_alike(changes, &changes->items[c]))
            changes->items[c].without = changes->second;
        else
            status = explain_one(&explaining, &changes->items[c], error);
    ulp_tensor_set_free(&explaining.reference);
    return status;
}
