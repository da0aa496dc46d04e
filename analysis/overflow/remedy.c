/* Remedies against an overflow that are lanes, all of one run, beside the reference and the
 * arithmetic as it is. Edits of the graph are fix's, which makes what it tries. */
#include <math.h>

#include "analysis/overflow/meter.h"
#include "analysis/tried/tried.h"
#include "base/error.h"
#include "number/function/math.h"

/* The largest number of the format that something overflows in: the lane's, or where types are as
 * declared those of outputs. */
static double find_largest_finite(const struct ulp_overflow_lane *lane)
{
    double most = 0;
    if (!lane->arithmetic.as_declared)
        return lane->arithmetic.storage.max_finite;
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (lane->nodes[n].outputs[o].overflowed > 0)
                most = ulp_math_max(most, lane->nodes[n].outputs[o].format.max_finite);
    return most;
}

/* Which attempts there are: for the nodes to keep, and constants that the lane makes infinite. */
static enum ulp_status list_attempts(const struct ulp_program *program,
                                     const struct ulp_overflow_lane *lane, size_t index,
                                     struct ulp_arena *memory, struct ulp_attempt **items,
                                     size_t *count, struct ulp_error *error)
{
    struct ulp_trouble trouble = {.against = ULP_AGAINST_OVERFLOW,
                                  .largest = find_largest_finite(lane),
                                  .as_is = {.arithmetic = program->lanes[index],
                                            .what = "as it is"}};
    struct ulp_keep *keeps;
    ULP_TAKE_ARRAY(size_t, nodes, memory, program->node_count + 1, error);
    for (size_t n = 0; n < lane->node_count; n++) {
        if (lane->nodes[n].keep)
            nodes[trouble.node_count++] = lane->nodes[n].index;
        for (size_t o = 0; o < lane->nodes[n].output_count; o++) {
            const struct ulp_overflow_output *output = &lane->nodes[n].outputs[o];
            if (output->overflowed > 0 &&
                (output->cause == ULP_OVERFLOW_CONSTANT || output->cause == ULP_OVERFLOW_WEIGHT))
                trouble.against |= ULP_AGAINST_CONSTANT;
        }
    }
    trouble.nodes = nodes;
    ULP_TRY(ulp_lane_keeps(program, index, memory, &keeps, &trouble.as_is.keeps.count, error));
    trouble.as_is.keeps.items = keeps;
    return ulp_attempts_list(&trouble, memory, items, count, error);
}

static enum ulp_status report(const struct ulp_model *model, const struct ulp_attempt *item,
                              struct ulp_arena *memory, struct ulp_overflow_remedy *out,
                              struct ulp_error *error)
{
    const struct ulp_outcome *outcome = &item->outcome;
    *out = (struct ulp_overflow_remedy){
        .what = ulp_arena_copy(memory, item->what),
        .node_count = item->changed,
        .cast_count = item->cast_count,
        .nonfinite = outcome->nonfinite,
        .turned = outcome->turned,
        .sqnr_db = outcome->any ? outcome->finite_db : NAN,
        .output = outcome->any
                      ? ulp_arena_copy(memory, ulp_model_output(model, outcome->output).name)
                      : NULL};
    return ulp_taken(out->what && (out->output || !outcome->any), error);
}

enum ulp_status ulp_overflow_remedies(struct ulp_overflow_forecast *forecast,
                                      const struct ulp_program *program, size_t lane,
                                      const struct ulp_tensor_set *inputs,
                                      const struct ulp_overflow_options *options,
                                      struct ulp_error *error)
{
    const struct ulp_run_options run = {.thread_count = options->thread_count};
    struct ulp_overflow_lane *own = &forecast->lanes[lane];
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct ulp_attempt *items;
    size_t count;
    own->remedy_count = 0;
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(program->model), error));
    ULP_TRY(list_attempts(program, own, lane + 1, memory, &items, &count, error));
    ULP_TAKE(own->remedies, forecast->memory, count, error);
    if (count == 1)
        return ULP_OK;
    ULP_TRY(ulp_attempts_run(program->model, program->lanes, items, count, inputs, &run,
                             options->progress, NULL, error));
    for (size_t c = 0; c < count; c++)
        ULP_TRY(report(program->model, &items[c], forecast->memory, &own->remedies[c], error));
    own->remedy_count = count;
    return ULP_OK;
}
