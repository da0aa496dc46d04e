/* Steps of a lane in pairs: what pairs do not settle, and steps that move what pairs do not hold,
 * are computed in records; results are pairs again where these hold all of their elements. */
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/double_pair.h"
#include "run/lane.h"

static _Thread_local size_t by_pairs, by_mpfr;

void ulp_pairs_counts_take(size_t *pairs, size_t *mpfr)
{
    *pairs = by_pairs;
    *mpfr = by_mpfr;
    by_pairs = by_mpfr = 0;
}

/* Floats that the step has computed, views apart. */
static size_t count_numbers(const struct ulp_step *step, const struct ulp_tensor *outputs)
{
    size_t count = 0;
    for (size_t o = 0; o < step->output_count; o++)
        count +=
            outputs[o].owned && ulp_element_is_float(outputs[o].element) ? outputs[o].count : 0;
    return count;
}

static bool is_records(const struct ulp_tensor *x)
{
    return x && x->element == ULP_ELEMENT_WIDE;
}

/* A step that is no formula and no sum of products has all its floats alike. */
static bool needs_records(const struct ulp_step *step, const struct ulp_tensor *const *inputs)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (is_records(inputs[i]) && !ulp_takes_mixed(step, i))
            return true;
    return false;
}

static enum ulp_status as_records(struct ulp_tensor *out, const struct ulp_tensor *in,
                                  const struct ulp_lane *lane, struct ulp_error *error)
{
    ULP_TRY(ulp_tensor_describe(out, in->type, ULP_ELEMENT_WIDE, ULP_PAIR_RECORD_BITS, in->rank,
                                in->dims, error));
    ULP_TRY(ulp_tensor_allocate(out, lane->budget, error));
    return ulp_tensor_convert(out, in, NULL, ULP_ROUND_NEAREST_EVEN, 0, lane->pool, error);
}

/* Records become pairs where these hold them all; a view of what is about to be freed a copy. */
static enum ulp_status settle(struct ulp_tensor *x, const struct ulp_lane *lane,
                              struct ulp_error *error)
{
    struct ulp_tensor pairs, copy;
    if (!is_records(x))
        return ULP_OK;
    ULP_TRY(ulp_tensor_describe(&pairs, x->type, ULP_ELEMENT_PAIR, 0, x->rank, x->dims, error));
    ULP_TRY(ulp_tensor_allocate(&pairs, lane->budget, error));
    ulp_notes_take();
    enum ulp_status status =
        ulp_tensor_convert(&pairs, x, NULL, ULP_ROUND_NEAREST_EVEN, 0, lane->pool, error);
    if (status == ULP_OK && !ulp_notes_take()) {
        ulp_tensor_free(x);
        *x = pairs;
        return ULP_OK;
    }
    ulp_tensor_free(&pairs);
    if (status == ULP_OK && !x->owned) {
        status = ulp_tensor_copy(&copy, x, lane->budget, error);
        if (status == ULP_OK)
            *x = copy;
    }
    return status;
}

static enum ulp_status run_in_records(ulp_step_fn *run, const struct ulp_step *step,
                                      const struct ulp_lane *lane,
                                      const struct ulp_tensor *const *inputs,
                                      const struct ulp_tensor **taken, struct ulp_tensor *converted,
                                      struct ulp_tensor *outputs, struct ulp_error *error)
{
    struct ulp_arithmetic records;
    struct ulp_lane other = *lane;
    const struct ulp_mix mix = {.count = 1, .items = &records};
    other.mix = &mix;
    ULP_TRY(ulp_arithmetic_find(ULP_PAIR_RECORDS, &records, error));
    for (size_t i = 0; i < step->input_count; i++) {
        taken[i] = inputs[i];
        if (inputs[i] && inputs[i]->element == ULP_ELEMENT_PAIR) {
            ULP_TRY(as_records(&converted[i], inputs[i], lane, error));
            taken[i] = &converted[i];
        }
    }
    enum ulp_status status = run(step, &other, taken, outputs, error);
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++)
        status = settle(&outputs[o], lane, error);
    for (size_t o = 0; o < step->output_count && status != ULP_OK; o++)
        ulp_tensor_free(&outputs[o]);
    return status;
}

enum ulp_status ulp_pairs_run(ulp_step_fn *run, const struct ulp_step *step, struct ulp_lane *lane,
                              const struct ulp_tensor *const *inputs, struct ulp_tensor *outputs,
                              struct ulp_error *error)
{
    const size_t before = ulp_notes_take(), count = step->input_count;
    bool records = !step->bound.blocks && needs_records(step, inputs);
    enum ulp_status status = records ? ULP_OK : run(step, lane, inputs, outputs, error);
    if (status == ULP_OK && !step->bound.blocks && ulp_notes_take()) {
        records = true;
        for (size_t o = 0; o < step->output_count; o++)
            ulp_tensor_free(&outputs[o]);
    }
    if (status == ULP_OK && records) {
        ULP_SCOPED(ulp_free_of) void *memory = NULL;
        status = ulp_allocate(&memory, count + 1,
                              sizeof(struct ulp_tensor) + sizeof(struct ulp_tensor *), lane->budget,
                              "inputs of a step", error);
        if (status == ULP_OK) {
            struct ulp_tensor *const converted = memory;
            const struct ulp_tensor **const taken =
                (const struct ulp_tensor **)(void *)(converted + count + 1);
            memset(memory, 0, (count + 1) * sizeof *converted);
            status = run_in_records(run, step, lane, inputs, taken, converted, outputs, error);
            for (size_t i = 0; i < count; i++)
                ulp_tensor_free(&converted[i]);
        }
    }
    if (status == ULP_OK && !step->bound.blocks)
        *(records ? &by_mpfr : &by_pairs) += count_numbers(step, outputs);
    ulp_notes_take();
    ulp_note(before);
    return status;
}
