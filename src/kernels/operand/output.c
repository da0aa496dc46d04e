/* Storing strips of sums: see output.h. */
#include "kernels/operand/output.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "number/mpfr_record.h"
#include "number/round/round.h"

#define STRIP_MAX 64

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
        .rounding = arithmetic->rounding,
        .seed = arithmetic->seed,
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

static inline float without_payload(float x)
{
    return x == x ? x : NAN;
}

static void store_run(float *restrict out, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = without_payload(x[i]);
}

bool ulp_output_has_nan(const float *x, size_t n)
{
    unsigned found = 0;
    for (size_t i = 0; i < n; i++)
        found |= x[i] != x[i];
    return found;
}

static void store_floats(const struct ulp_output *output, int64_t base, const int64_t *offset,
                         const float *x, size_t n, struct ulp_draw draw)
{
    float rounded[STRIP_MAX];
    float *out = (float *)output->tensor->data + base;
    if (output->round) {
        memcpy(rounded, x, n * sizeof *x);
        ulp_round_floats(&output->format, output->rounding, rounded, n, output->seed,
                         output->stream + draw.number, draw.first);
        x = rounded;
    }
    for (size_t i = 0; i < n; i++)
        out[offset[i]] = without_payload(x[i]);
}

/* The general case, by way of doubles. */
static void store_values(const struct ulp_output *output, int64_t base, const int64_t *offset,
                         const void *strip, size_t n, struct ulp_draw draw)
{
    struct ulp_tensor *tensor = output->tensor;
    double x[STRIP_MAX];
    for (size_t i = 0; i < n; i++)
        x[i] = output->source == ULP_ELEMENT_F32 ? (double)((const float *)strip)[i]
                                                 : ((const double *)strip)[i];
    if (output->round)
        ulp_round_doubles(&output->format, output->rounding, x, n, output->seed,
                          output->stream + draw.number, draw.first);
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)(base + offset[i]);
        x[i] = x[i] == x[i] ? x[i] : NAN;
        if (tensor->element == ULP_ELEMENT_F32)
            ((float *)tensor->data)[at] = (float)x[i];
        else
            ((double *)tensor->data)[at] = x[i];
    }
}

/* A wide output of narrow sums. */
static void store_records(const struct ulp_output *output, int64_t base, const int64_t *offset,
                          const void *strip, size_t n, struct ulp_draw draw)
{
    struct ulp_tensor *tensor = output->tensor;
    mpfr_t exact, x;
    mpfr_init2(exact, 53);
    for (size_t i = 0; i < n; i++) {
        struct ulp_record *record =
            ulp_record_at(tensor->data, (size_t)(base + offset[i]), tensor->precision);
        mpfr_set_d(exact,
                   output->source == ULP_ELEMENT_F32 ? (double)((const float *)strip)[i]
                                                     : ((const double *)strip)[i],
                   MPFR_RNDN);
        ulp_record_begin(x, record, tensor->precision);
        ulp_round_mpfr(&output->format, output->rounding, x, exact, output->seed,
                       output->stream + draw.number, draw.first + i);
        ulp_record_close(record, x);
    }
    mpfr_clear(exact);
}

/* Sums in floats are integers below 2^63. */
static void store_integers(const struct ulp_output *output, int64_t base, const int64_t *offset,
                           const void *strip, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = output->source == ULP_ELEMENT_U32   ? ((const uint32_t *)strip)[i]
                     : output->source == ULP_ELEMENT_U64 ? ((const uint64_t *)strip)[i]
                     : output->source == ULP_ELEMENT_F32
                         ? (uint64_t)(int64_t)((const float *)strip)[i]
                         : (uint64_t)(int64_t)((const double *)strip)[i];
        ulp_tensor_set_int(output->tensor, (size_t)(base + offset[i]), (int64_t)x);
    }
}

static void store_integer_run(int32_t *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)x[i];
}

void ulp_output_strip(const struct ulp_output *output, int64_t base, const int64_t *offset,
                      const void *strip, size_t n, struct ulp_draw draw)
{
    enum ulp_element target = output->tensor->element;
    if (!ulp_element_is_float(target))
        store_integers(output, base, offset, strip, n);
    else if (target == ULP_ELEMENT_WIDE)
        store_records(output, base, offset, strip, n, draw);
    else if (target == ULP_ELEMENT_F32 && output->source == ULP_ELEMENT_F32)
        store_floats(output, base, offset, strip, n, draw);
    else
        store_values(output, base, offset, strip, n, draw);
}

void ulp_output_run(const struct ulp_output *output, int64_t first, void *strip, size_t n)
{
    if (output->source == ULP_ELEMENT_F32 && output->tensor->element == ULP_ELEMENT_F32) {
        if (output->round)
            ulp_round_floats(&output->format, output->rounding, strip, n, 0, 0, 0);
        store_run((float *)output->tensor->data + first, strip, n);
        return;
    }
    if (output->source == ULP_ELEMENT_F64 && output->tensor->element == ULP_ELEMENT_F64 &&
        !output->round) {
        const double *x = strip;
        double *out = (double *)output->tensor->data + first;
        for (size_t i = 0; i < n; i++)
            out[i] = x[i] == x[i] ? x[i] : NAN;
        return;
    }
    if (output->source == ULP_ELEMENT_F32 && output->tensor->element == ULP_ELEMENT_I32) {
        store_integer_run((int32_t *)output->tensor->data + first, strip, n);
        return;
    }
    const size_t source_bytes = ulp_element_bytes(output->source, 0);
    int64_t offset[STRIP_MAX];
    for (size_t i = 0; i < STRIP_MAX; i++)
        offset[i] = (int64_t)i;
    for (size_t i = 0; i < n; i += STRIP_MAX)
        ulp_output_strip(output, first + (int64_t)i, offset, (const char *)strip + i * source_bytes,
                         n - i < STRIP_MAX ? n - i : STRIP_MAX, (struct ulp_draw){0});
}
