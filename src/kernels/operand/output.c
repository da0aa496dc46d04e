/* Storing strips of sums: see output.h. */
#include "kernels/operand/output.h"

#include <math.h>

#include "base/error.h"
#include "base/vectorise.h"
#include "number/round/round.h"
#include "number/strip/access.h"

enum ulp_status ulp_output_make(struct ulp_output *out, const struct ulp_arithmetic *arithmetic,
                                const struct ulp_contraction *problem, const struct ulp_format *sum,
                                enum ulp_element source, struct ulp_error *error)
{
    const struct ulp_tensor *tensor = problem->out;
    *out = (struct ulp_output){
        .tensor = problem->out,
        .source = source,
        .round = problem->store && !ulp_format_holds(&arithmetic->storage, sum),
        .format = arithmetic->storage,
        .rule = {.rounding = arithmetic->rounding, .seed = arithmetic->seed},
        .stream = problem->node_key,
    };
    if (!ulp_element_is_float(tensor->element))
        return ULP_OK;
    enum ulp_element wanted = problem->store ? ulp_storage_element(&arithmetic->storage)
                                             : ulp_accumulator_element(arithmetic);
    if (tensor->element != wanted)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "contraction in %s: the output has elements of kind %d, expected %d for %s",
                        arithmetic->name, (int)tensor->element, (int)wanted,
                        problem->store ? "values in storage" : "accumulators");
    return ULP_OK;
}

bool ulp_output_is_run(const int64_t *offset, size_t n)
{
    int64_t differences = 0;
    for (size_t i = 0; i < n; i++)
        differences |= offset[i] - offset[0] - (int64_t)i;
    return differences == 0;
}

/* Rounded to storage, unless the tensor's records are, and NaN as it is stored. */
ULP_VECTORISE static void finish_floats(const struct ulp_output *output, bool round, float *x,
                                        size_t n, struct ulp_strip_place place)
{
    if (round)
        ulp_round_floats(&output->format, output->rule.rounding, x, n, output->rule.seed,
                         place.stream, place.first);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] == x[i] ? x[i] : NAN;
}

ULP_VECTORISE static void finish_doubles(const struct ulp_output *output, bool round, double *x,
                                         size_t n, struct ulp_strip_place place)
{
    if (round)
        ulp_round_doubles(&output->format, output->rule.rounding, x, n, output->rule.seed,
                          place.stream, place.first);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] == x[i] ? x[i] : NAN;
}

/* Sums in floats are integers below 2^24, in doubles below 2^53; the tensor's type takes what it
 * has of them. */
ULP_VECTORISE static void store_integers(const struct ulp_output *output, int64_t base,
                                         const int64_t *offset, const void *strip, size_t n)
{
    int64_t x[ULP_OUTPUT_STRIP];
    for (size_t i = 0; i < n; i++)
        x[i] = output->source == ULP_ELEMENT_U32   ? (int64_t)((const uint32_t *)strip)[i]
               : output->source == ULP_ELEMENT_U64 ? (int64_t)((const uint64_t *)strip)[i]
               : output->source == ULP_ELEMENT_F32 ? (int32_t)((const float *)strip)[i]
                                                   : (int64_t)((const double *)strip)[i];
    ulp_strip_set_ints(output->tensor, base, offset, 1, x, n);
}

void ulp_output_strip(const struct ulp_output *output, int64_t base, const int64_t *offset,
                      bool run, void *strip, size_t n, struct ulp_draw draw)
{
    const enum ulp_element target = output->tensor->element;
    const bool narrow = output->source == ULP_ELEMENT_F32,
               wide = output->round && target == ULP_ELEMENT_WIDE, round = output->round && !wide;
    const struct ulp_strip_place place = {output->stream + draw.number, draw.first};
    double doubles[ULP_OUTPUT_STRIP];
    if (run) {
        base += offset[0];
        offset = NULL;
    }
    if (!ulp_element_is_float(target)) {
        store_integers(output, base, offset, strip, n);
        return;
    }
    const bool widen = narrow && target == ULP_ELEMENT_F64;
    for (size_t i = 0; i < n && widen; i++)
        doubles[i] = (double)((const float *)strip)[i];
    if (widen)
        strip = doubles;
    if (narrow && !widen)
        finish_floats(output, round, strip, n, place);
    else
        finish_doubles(output, round, strip, n, place);
    ulp_strip_tables[narrow && !widen ? ULP_STRIP_FLOAT : ULP_STRIP_DOUBLE]->store(
        &output->rule, wide ? &output->format : NULL, output->tensor, base, offset, 1, strip, n,
        place);
}
