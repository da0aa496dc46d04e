/* Speed of the reference's contractions on one core, each beside a loop of mpfr_fma and, when FLINT
 * is there, arb_dot and arb_approx_dot on the same operands in the same run.
 *
 *   bench_wide [--json] [WORD]     rows whose name contains WORD
 *
 * Peers are timed on as many outputs as take about a tenth of a second. Time is this process's on a
 * processor. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpfr.h>
#ifdef HAVE_ARB
#ifdef HAVE_FLINT_ARB_H
#include <flint/arb.h>
#else
#include <arb.h>
#endif
#endif

#include "base/random.h"
#include "bench.h"
#include "kernels/operand/packed.h"
#include "number/mpfr_record.h"

static const struct row {
    const char *name;
    int precision;
    bool weights; /* b is FP32: 24-bit significands */
    size_t batch, m, n, k;
    bool kept; /* b's digits are there from an earlier call */
} rows[] = {
    {"64 bits", 64, false, 1, 1024, 1024, 1024, false},
    {"128 bits", 128, false, 1, 1024, 1024, 1024, false},
    {"128 bits, FP32 weights", 128, true, 1, 1024, 1024, 1024, false},
    {"128 bits, K=64", 128, false, 1, 1024, 1024, 64, false},
    {"128 bits, heads of attention", 128, false, 12, 128, 128, 64, false},
    {"128 bits, convolution", 128, true, 1, 784, 128, 1152, false},
    {"128 bits, vector x matrix", 128, true, 1, 1, 1000, 2048, false},
    {"128 bits, 16 rows x matrix", 128, true, 1, 16, 1000, 2048, false},
    {"128 bits, the same again", 128, true, 1, 16, 1000, 2048, true},
    {"256 bits", 256, false, 1, 512, 512, 1024, false},
    {"256 bits, K=64", 256, false, 1, 512, 512, 64, false},
    {"512 bits", 512, false, 1, 256, 256, 512, false},
    {"1024 bits", 1024, false, 1, 256, 256, 256, false},
};

static int64_t *offsets(size_t count, int64_t step)
{
    int64_t *out = malloc((count + 1) * sizeof *out);
    for (size_t i = 0; out && i < count; i++)
        out[i] = (int64_t)i * step;
    return out ? out : (bench_stop("out of memory"), NULL);
}

static double normal(uint64_t key, uint64_t i)
{
    double radius = sqrt(-2 * log(1 - ulp_random_uniform(key, 2 * i)));
    return radius * cos(6.28318530717958648 * ulp_random_uniform(key, 2 * i + 1));
}

/* Normal random numbers with all significand bits random. */
static void fill(struct ulp_tensor *tensor, enum ulp_element element, int precision, size_t count,
                 uint64_t key)
{
    struct ulp_error error = {0};
    int64_t dim = (int64_t)count;
    if (ulp_tensor_create(tensor, ULP_TYPE_FLOAT, element,
                          element == ULP_ELEMENT_WIDE ? precision : 0, 1, &dim, &error) != ULP_OK)
        bench_stop(error.message);
    const int unused = -precision & 63;
    for (size_t i = 0; i < count; i++) {
        if (element == ULP_ELEMENT_F32) {
            ((float *)tensor->data)[i] = (float)normal(key, i);
            continue;
        }
        mpfr_t x;
        struct ulp_record *record = ulp_record_at(tensor->data, i, precision);
        ulp_record_begin(x, record, precision);
        mpfr_set_d(x, normal(key, i), MPFR_RNDN);
        size_t limbs = ((size_t)precision + 63) / 64;
        for (size_t limb = 0; limb < limbs; limb++)
            record->limbs[limb] |=
                ulp_random_bits(key + 1, i * limbs + limb) >> (limb + 1 == limbs ? 53 : 0);
        record->limbs[0] &= ~(mp_limb_t)0 << unused;
        ulp_record_close(record, x);
    }
}

struct bench {
    const struct row *row;
    struct ulp_contraction problem;
    struct ulp_tensor a, b, out;
};

static void create(struct bench *bench, const struct row *row)
{
    *bench = (struct bench){.row = row};
    fill(&bench->a, ULP_ELEMENT_WIDE, row->precision, row->batch * row->m * row->k, 1);
    fill(&bench->b, row->weights ? ULP_ELEMENT_F32 : ULP_ELEMENT_WIDE, row->precision,
         row->batch * row->n * row->k, 3);
    fill(&bench->out, ULP_ELEMENT_WIDE, row->precision, row->batch * row->m * row->n, 5);
    bench->problem = (struct ulp_contraction){
        .batch_count = row->batch,
        .m = row->m,
        .n = row->n,
        .k = row->k,
        .out = &bench->out,
        .store = true,
        .a = {.tensor = &bench->a,
              .batch_offset = offsets(row->batch, (int64_t)(row->m * row->k)),
              .line_offset = offsets(row->m, (int64_t)row->k),
              .k_offset = offsets(row->k, 1)},
        .b = {.tensor = &bench->b,
              .batch_offset = offsets(row->batch, (int64_t)(row->n * row->k)),
              .line_offset = offsets(row->n, (int64_t)row->k),
              .k_offset = offsets(row->k, 1)},
        .out_batch_offset = offsets(row->batch, (int64_t)(row->m * row->n)),
        .out_row_offset = offsets(row->m, (int64_t)row->n),
        .out_column_offset = offsets(row->n, 1)};
}

static void destroy(struct bench *bench)
{
    const int64_t *tables[] = {bench->problem.a.batch_offset,   bench->problem.a.line_offset,
                               bench->problem.a.k_offset,       bench->problem.b.batch_offset,
                               bench->problem.b.line_offset,    bench->problem.b.k_offset,
                               bench->problem.out_batch_offset, bench->problem.out_row_offset,
                               bench->problem.out_column_offset};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        free((void *)(uintptr_t)tables[i]);
    ulp_tensor_free(&bench->a);
    ulp_tensor_free(&bench->b);
    ulp_tensor_free(&bench->out);
}

/* Nanoseconds a multiply-add. */
static double time_contraction(struct bench *bench)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error = {0};
    char name[32];
    snprintf(name, sizeof name, "mpfr:%d", bench->row->precision);
    if (ulp_arithmetic_find(name, &arithmetic, &error) != ULP_OK)
        bench_stop(error.message);
    struct ulp_packed *packed = NULL;
    if (ulp_packed_create(&packed, NULL, SIZE_MAX, &error) != ULP_OK ||
        (bench->row->kept && ulp_packed_keep(packed, &bench->b, &error) != ULP_OK))
        bench_stop(error.message);
    bench->problem.packed = packed;
    struct bench_timer timer = {.run_min = 2, .run_max = 20, .seconds = 0.5};
    while (bench_next(&timer)) /* the best is kept: not the call that makes the digits */
        if (ulp_contract(&arithmetic, &bench->problem, NULL, &error) != ULP_OK)
            bench_stop(error.message);
    ulp_packed_free(packed);
    const struct row *row = bench->row;
    return timer.best * 1e9 / (double)(row->batch * row->m * row->n * row->k);
}

/* Element k of line i of the first batch as an mpfr_t; limb is memory for FP32. */
static void open_element(mpfr_t x, const struct ulp_tensor *tensor, size_t i, mp_limb_t *limb)
{
    if (tensor->element == ULP_ELEMENT_WIDE) {
        ulp_record_open_const(x, ulp_record_at_const(tensor->data, i, tensor->precision),
                              tensor->precision);
        return;
    }
    mpfr_custom_init_set(x, MPFR_ZERO_KIND, 0, 24, limb);
    mpfr_set_flt(x, ((const float *)tensor->data)[i], MPFR_RNDN);
}

/* The loop this all replaces, over the first row's outputs again and again; operands are opened
 * beforehand. */
static double time_fma(const struct bench *bench)
{
    const size_t k_count = bench->row->k;
    mpfr_t *x = malloc(k_count * sizeof *x), *y = malloc(k_count * sizeof *y), sum;
    mp_limb_t *limbs = malloc(k_count * sizeof *limbs);
    if (!x || !y || !limbs)
        bench_stop("out of memory");
    mpfr_init2(sum, bench->row->precision);
    for (size_t k = 0; k < k_count; k++) {
        open_element(x[k], &bench->a, k, NULL);
        open_element(y[k], &bench->b, k, &limbs[k]);
    }
    struct bench_timer timer = {.run_max = INT_MAX, .seconds = 0.1};
    while (bench_next(&timer)) {
        mpfr_set_zero(sum, 1);
        for (size_t k = 0; k < k_count; k++)
            mpfr_fma(sum, x[k], y[k], sum, MPFR_RNDN);
    }
    mpfr_clear(sum);
    free(x);
    free(y);
    free(limbs);
    return timer.total * 1e9 / ((double)timer.run_count * (double)k_count);
}

/* arb_dot or arb_approx_dot; NAN without FLINT. */
static double time_arb(const struct bench *bench, bool approximate)
{
#ifdef HAVE_ARB
    const slong k_count = (slong)bench->row->k, precision = bench->row->precision;
    arb_ptr x = _arb_vec_init(k_count), y = _arb_vec_init(k_count);
    arb_t sum;
    arb_init(sum);
    for (slong k = 0; k < k_count; k++) {
        mpfr_t value;
        mp_limb_t limb;
        open_element(value, &bench->a, (size_t)k, NULL);
        arf_set_mpfr(arb_midref(x + k), value);
        open_element(value, &bench->b, (size_t)k, &limb);
        arf_set_mpfr(arb_midref(y + k), value);
    }
    struct bench_timer timer = {.run_max = INT_MAX, .seconds = 0.1};
    while (bench_next(&timer))
        if (approximate)
            arb_approx_dot(sum, NULL, 0, x, 1, y, 1, k_count, precision);
        else
            arb_dot(sum, NULL, 0, x, 1, y, 1, k_count, precision);
    arb_clear(sum);
    _arb_vec_clear(x, k_count);
    _arb_vec_clear(y, k_count);
    return timer.total * 1e9 / ((double)timer.run_count * (double)k_count);
#else
    (void)bench, (void)approximate;
    return NAN;
#endif
}

int main(int argc, char **argv)
{
    bool json;
    const char *word = bench_word(argc, argv, &json);
    printf(json ? "[" : "%-30s %5s %5s %5s %5s %9s %10s %10s %10s\n", "case", "batch", "m", "n",
           "k", "GMAC/s", "x mpfr_fma", "x arb_dot", "x approx");
    for (size_t i = 0, printed = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        if (!strstr(row->name, word))
            continue;
        struct bench bench;
        create(&bench, row);
        double own = time_contraction(&bench), fma = time_fma(&bench) / own,
               dot = time_arb(&bench, false) / own, approximate = time_arb(&bench, true) / own;
        destroy(&bench);
        if (json) {
            printf("%s\n  {\"case\": \"%s\", \"batch\": %zu, \"m\": %zu, \"n\": %zu, \"k\": %zu, "
                   "\"gmac_per_s\": %.4f, \"of_mpfr_fma\": %.2f",
                   printed++ ? "," : "", row->name, row->batch, row->m, row->n, row->k, 1 / own,
                   fma);
            if (!isnan(dot))
                printf(", \"of_arb_dot\": %.2f, \"of_arb_approx_dot\": %.2f", dot, approximate);
            printf("}");
        } else {
            printf("%-30s %5zu %5zu %5zu %5zu %9.3f %10.1f %10.1f %10.1f\n", row->name, row->batch,
                   row->m, row->n, row->k, 1 / own, fma, dot, approximate);
        }
        fflush(stdout);
    }
    printf(json ? "\n]\n" : "");
    return 0;
}
