/* Steps of a lane in pairs: what pairs do not settle, and steps that move what pairs do not hold,
 * are computed in records, of twice as many bits where their errors leave something open (Ziv's
 * strategy); results are pairs again where these hold all of their elements. */
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/double_pair.h"
#include "number/format/base.h"
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
                                  int precision, const struct ulp_lane *lane,
                                  struct ulp_error *error)
{
    ULP_TRY(ulp_tensor_create_like(out, in, ULP_ELEMENT_WIDE, precision, lane->budget, error));
    return ulp_tensor_convert(out, in, NULL, ULP_ROUND_NEAREST_EVEN, 0, lane->pool, error);
}

/* Records become pairs where these hold them all, else the lane's; a view of what is about to be
 * freed a copy. */
static enum ulp_status settle(struct ulp_tensor *x, const struct ulp_lane *lane,
                              struct ulp_error *error)
{
    struct ulp_tensor pairs, copy;
    if (!is_records(x))
        return ULP_OK;
    ULP_TRY(ulp_tensor_create_like(&pairs, x, ULP_ELEMENT_PAIR, 0, lane->budget, error));
    ulp_notes_take();
    enum ulp_status status =
        ulp_tensor_convert(&pairs, x, NULL, ULP_ROUND_NEAREST_EVEN, 0, lane->pool, error);
    if (status == ULP_OK && !ulp_notes_take()) {
        ulp_tensor_free(x);
        *x = pairs;
        return ULP_OK;
    }
    ulp_tensor_free(&pairs);
    if (status == ULP_OK && !x->owned)
        status = ulp_tensor_copy(&copy, x, lane->budget, error);
    else if (status == ULP_OK && x->precision != ULP_PAIR_RECORD_BITS)
        status = as_records(&copy, x, ULP_PAIR_RECORD_BITS, lane, error);
    else
        return status;
    if (status == ULP_OK) {
        ulp_tensor_free(x);
        *x = copy;
    }
    return status;
}

/* The lane's arithmetic in records, whose values in formulas carry bounds. */
static enum ulp_status find_records(struct ulp_arithmetic *out, int precision,
                                    struct ulp_error *error)
{
    ULP_TRY(ulp_arithmetic_find(ulp_format_mpfr(precision).name, out, error));
    out->storage.bounded = out->compute.bounded = out->rows.bounded = out->accumulator.bounded =
        true;
    return ULP_OK;
}

/* *open: so many elements are left open at this precision. */
static enum ulp_status run_in_records(ulp_step_fn *run, const struct ulp_step *step,
                                      const struct ulp_lane *lane, int precision,
                                      const struct ulp_tensor *const *inputs,
                                      const struct ulp_tensor **taken, struct ulp_tensor *converted,
                                      struct ulp_tensor *outputs, size_t *open,
                                      struct ulp_error *error)
{
    struct ulp_arithmetic records;
    struct ulp_lane other = *lane;
    const struct ulp_mix mix = {.count = 1, .items = &records};
    other.mix = &mix;
    ULP_TRY(find_records(&records, precision, error));
    for (size_t i = 0; i < step->input_count; i++) {
        const bool pairs = inputs[i] && inputs[i]->element == ULP_ELEMENT_PAIR;
        taken[i] = inputs[i];
        if (pairs || (is_records(inputs[i]) && inputs[i]->precision != precision)) {
            ULP_TRY(as_records(&converted[i], inputs[i], precision, lane, error));
            taken[i] = &converted[i];
        }
    }
    ulp_notes_take();
    enum ulp_status status = run(step, &other, taken, outputs, error);
    *open = ulp_notes_take();
    return status;
}

/* Bits in which records hold the inputs' pairs, low parts far below their high ones, too. */
static int find_precision(const struct ulp_step *step, const struct ulp_tensor *const *inputs)
{
    int most = 0;
    for (size_t i = 0; i < step->input_count; i++) {
        const struct ulp_double_pair *pairs =
            inputs[i] && inputs[i]->element == ULP_ELEMENT_PAIR ? inputs[i]->data : NULL;
        for (size_t k = 0; pairs && k < inputs[i]->count; k++) {
            const int bits =
                pairs[k].low == 0 ? 0 : ilogb(pairs[k].high) - ilogb(pairs[k].low) + 54;
            most = bits > most ? bits : most;
        }
    }
    int precision = ULP_PAIR_RECORD_BITS;
    while (precision < most && precision < ULP_PAIR_RECORD_BITS_MAX)
        precision *= 2;
    return precision;
}

/* A formula whose results no pairs hold in steps of pairs still, but into records. False: something
 * is open even so, or the step has more to it. */
static enum ulp_status run_into_records(ulp_step_fn *run, const struct ulp_step *step,
                                        const struct ulp_lane *lane,
                                        const struct ulp_tensor *const *inputs,
                                        struct ulp_tensor *outputs, bool *settled,
                                        struct ulp_error *error)
{
    struct ulp_arithmetic pairs = *ulp_lane_arithmetic(lane, step);
    struct ulp_lane other = *lane;
    const struct ulp_mix mix = {.count = 1, .items = &pairs};
    *settled = false;
    for (size_t i = 0; i < step->input_count; i++)
        if (!ulp_takes_mixed(step, i))
            return ULP_OK;
    pairs.storage = ulp_format_mpfr(ULP_PAIR_RECORD_BITS);
    other.mix = &mix;
    ULP_TRY(run(step, &other, inputs, outputs, error));
    enum ulp_status status = ULP_OK;
    *settled = !ulp_notes_take();
    for (size_t o = 0; o < step->output_count && *settled && status == ULP_OK; o++)
        status = settle(&outputs[o], lane, error);
    for (size_t o = 0; o < step->output_count && (!*settled || status != ULP_OK); o++)
        ulp_tensor_free(&outputs[o]);
    return status;
}

/* More bits, until nothing is open or ULP_PAIR_RECORD_BITS_MAX are not enough. */
static enum ulp_status settle_in_records(ulp_step_fn *run, const struct ulp_step *step,
                                         const struct ulp_lane *lane,
                                         const struct ulp_tensor *const *inputs,
                                         struct ulp_tensor *outputs, struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) void *memory = NULL;
    const size_t count = step->input_count;
    enum ulp_status status =
        ulp_allocate(&memory, count + 1, sizeof(struct ulp_tensor) + sizeof(struct ulp_tensor *),
                     lane->budget, "inputs of a step", error);
    size_t open = 1;
    for (int precision = find_precision(step, inputs);
         status == ULP_OK && open && precision <= ULP_PAIR_RECORD_BITS_MAX; precision *= 2) {
        struct ulp_tensor *const converted = memory;
        const struct ulp_tensor **const taken =
            (const struct ulp_tensor **)(void *)(converted + count + 1);
        const bool last = precision == ULP_PAIR_RECORD_BITS_MAX;
        memset(memory, 0, (count + 1) * sizeof *converted);
        status = run_in_records(run, step, lane, precision, inputs, taken, converted, outputs,
                                &open, error);
        for (size_t o = 0; o < step->output_count && status == ULP_OK && (!open || last); o++)
            status = settle(&outputs[o], lane, error);
        for (size_t o = 0; o < step->output_count && (status != ULP_OK || (open && !last)); o++)
            ulp_tensor_free(&outputs[o]);
        ulp_tensors_free(converted, count);
    }
    return status;
}

enum ulp_status ulp_pairs_run(ulp_step_fn *run, const struct ulp_step *step, struct ulp_lane *lane,
                              const struct ulp_tensor *const *inputs, struct ulp_tensor *outputs,
                              struct ulp_error *error)
{
    const size_t before = ulp_notes_take(), settled_before = ulp_pairs_settled_take();
    bool records = !step->bound.blocks && needs_records(step, inputs);
    enum ulp_status status = records ? ULP_OK : run(step, lane, inputs, outputs, error);
    const size_t noted = status == ULP_OK && !step->bound.blocks ? ulp_notes_take() : 0;
    if (noted) {
        bool settled = false;
        ulp_tensors_free(outputs, step->output_count);
        (void)ulp_pairs_settled_take();
        if (noted >= ULP_NOTE_OUTSIDE)
            status = run_into_records(run, step, lane, inputs, outputs, &settled, error);
        records = !settled;
    }
    if (status == ULP_OK && records)
        status = settle_in_records(run, step, lane, inputs, outputs, error);
    if (status == ULP_OK && !step->bound.blocks) {
        const size_t count = count_numbers(step, outputs), settled = ulp_pairs_settled_take(),
                     here = records || settled > count ? count : settled;
        by_mpfr += here;
        by_pairs += count - here;
    }
    (void)ulp_pairs_settled_take();
    ulp_pairs_settled(settled_before);
    ulp_notes_take();
    ulp_note(before);
    return status;
}
