/* Raw bit patterns of a unit's operands, and stacks of products on them: for research, and for
 * recorded GPUs. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "kernels/unit/unit.h"
#include "number/round/round.h"

static void decode_format(double *out, const void *raw, size_t count, int bits,
                          const struct ulp_format *format, uint32_t mask)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pattern = bits == 8    ? ((const uint8_t *)raw)[i]
                           : bits == 16 ? ((const uint16_t *)raw)[i]
                                        : ((const uint32_t *)raw)[i];
        out[i] = ulp_format_decode(format, pattern & mask);
    }
}

enum ulp_status ulp_unit_decode(const struct ulp_unit *unit, int side, double *out, const void *raw,
                                size_t count, struct ulp_error *error)
{
    const struct ulp_unit_input *input = ulp_unit_input(unit, side);
    const uint8_t *bytes = raw;
    if (unit->kind == ULP_UNIT_FMA) {
        memcpy(out, raw, count * sizeof *out);
    } else if (unit->kind == ULP_UNIT_INTEGER) {
        for (size_t i = 0; i < count; i++)
            out[i] = (int8_t)bytes[i];
    } else {
        struct ulp_format format;
        bool tf32 = strcmp(input->name, "tf32") == 0;
        ULP_TRY(ulp_format_find(tf32 ? "fp32" : input->format, &format, error));
        decode_format(out, raw, count, input->bits, &format, tf32 ? 0xFFFFE000 : 0xFFFFFFFF);
    }
    return ULP_OK;
}

/* Of accumulators that are floats of at most 32 bits. */
static enum ulp_status find_accumulator(const struct ulp_unit *unit, struct ulp_format *out,
                                        struct ulp_error *error)
{
    return ulp_format_find(ulp_unit_accumulator_bits(unit) == 16 ? "fp16" : "fp32", out, error);
}

static enum ulp_status decode_accumulators(const struct ulp_unit *unit, double *out,
                                           const void *raw, size_t count, struct ulp_error *error)
{
    if (unit->output == ULP_UNIT_RNE_FP64) {
        memcpy(out, raw, count * sizeof *out);
        return ULP_OK;
    }
    if (unit->output == ULP_UNIT_INT32) {
        for (size_t i = 0; i < count; i++)
            out[i] = ((const int32_t *)raw)[i];
        return ULP_OK;
    }
    struct ulp_format format;
    ULP_TRY(find_accumulator(unit, &format, error));
    decode_format(out, raw, count, ulp_unit_accumulator_bits(unit), &format, 0xFFFFFFFF);
    return ULP_OK;
}

enum ulp_status ulp_unit_decode_scales(const struct ulp_unit *unit, double *out, const uint8_t *raw,
                                       size_t count, struct ulp_error *error)
{
    struct ulp_format format;
    ULP_TRY(ulp_format_find(ulp_unit_input(unit, 0)->scale, &format, error));
    /* E4M3 is read without its sign */
    decode_format(out, raw, count, 8, &format, format.signed_zero ? 0x7F : 0xFF);
    return ULP_OK;
}

/* NaN is written as 0x7FFFFFFF, 0x7FFF. */
static enum ulp_status encode_accumulators(const struct ulp_unit *unit, void *raw,
                                           const double *values, size_t count,
                                           struct ulp_error *error)
{
    const int bits = ulp_unit_accumulator_bits(unit);
    struct ulp_format format;
    ULP_TRY(find_accumulator(unit, &format, error));
    for (size_t i = 0; i < count; i++)
        if (bits == 64)
            ((double *)raw)[i] = values[i];
        else if (unit->output == ULP_UNIT_INT32)
            ((int32_t *)raw)[i] = (int32_t)values[i];
        else if (bits == 32)
            ((uint32_t *)raw)[i] = isnan(values[i]) ? 0x7FFFFFFF : ulp_float_bits((float)values[i]);
        else
            ((uint16_t *)raw)[i] =
                isnan(values[i]) ? 0x7FFF : (uint16_t)ulp_format_encode(&format, values[i]);
    return ULP_OK;
}

struct run {
    const struct ulp_unit *unit;
    const struct ulp_unit_problem *problem;
    size_t scale_count;                    /* scales of one line */
    double *a, *b, *scale_a, *scale_b, *c; /* c becomes d */
};

ULP_WORK(run_rows)
{
    const struct run *run = context;
    const struct ulp_unit_problem *p = run->problem;
    for (size_t row = first; row < last; row++)
        for (size_t n = 0; n < p->n; n++) {
            size_t column = row / p->m * p->n + n;
            double *c = &run->c[row * p->n + n];
            *c = ulp_unit_chain(run->unit, run->a + row * p->k, run->b + column * p->k,
                                run->scale_a ? run->scale_a + row * run->scale_count : NULL,
                                run->scale_b ? run->scale_b + column * run->scale_count : NULL,
                                p->k, *c);
        }
    return ULP_OK;
}

/* t * lines * length elements of `bits` bits must be countable; *count is their number. */
static bool count_elements(size_t t, size_t lines, size_t length, size_t *count)
{
    return ulp_size_mul(t, lines, count) && ulp_size_mul(*count, length, count);
}

static enum ulp_status run_all(struct run *run, struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_unit_problem *p = run->problem;
    const struct ulp_unit *unit = run->unit;
    size_t a_count, b_count, c_count, scale_a_count, scale_b_count;
    if (!count_elements(p->t, p->m, p->k, &a_count) ||
        !count_elements(p->t, p->n, p->k, &b_count) ||
        !count_elements(p->t, p->m, p->n, &c_count) ||
        !count_elements(p->t, p->m, run->scale_count, &scale_a_count) ||
        !count_elements(p->t, p->n, run->scale_count, &scale_b_count))
        return ulp_fail(error, ULP_ERROR_MEMORY,
                        "the products' operands have more elements than memory can address");
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_TRY(ulp_arena_create(&memory, NULL, error));
    ULP_TAKE(run->a, memory, a_count, error);
    ULP_TAKE(run->b, memory, b_count, error);
    ULP_TAKE(run->c, memory, c_count, error);
    ULP_TRY(ulp_unit_decode(unit, 0, run->a, p->a, a_count, error));
    ULP_TRY(ulp_unit_decode(unit, 1, run->b, p->b, b_count, error));
    ULP_TRY(decode_accumulators(unit, run->c, p->c, c_count, error));
    if (unit->scale_block) {
        ULP_TAKE(run->scale_a, memory, scale_a_count, error);
        ULP_TAKE(run->scale_b, memory, scale_b_count, error);
        ULP_TRY(ulp_unit_decode_scales(unit, run->scale_a, p->scale_a, scale_a_count, error));
        ULP_TRY(ulp_unit_decode_scales(unit, run->scale_b, p->scale_b, scale_b_count, error));
    }
    ULP_TRY(ulp_parallel_for(pool, p->t * p->m, 1, run_rows, run, error));
    return encode_accumulators(unit, p->d, run->c, c_count, error);
}

enum ulp_status ulp_unit_run(const struct ulp_unit *unit, const struct ulp_unit_problem *problem,
                             struct ulp_pool *pool, struct ulp_error *error)
{
    struct run run = {.unit = unit, .problem = problem};
    if (unit->scale_block) {
        if (!problem->scale_a || !problem->scale_b)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "unit %s.%s.%s.%s needs block scales, one %s for every %d k", unit->gpu,
                            unit->unit_class, unit->input, unit->accumulator,
                            ulp_unit_input(unit, 0)->scale, unit->scale_block);
        size_t block = (size_t)unit->scale_block;
        run.scale_count = problem->k / block + (problem->k % block != 0);
    }
    return run_all(&run, pool, error);
}
