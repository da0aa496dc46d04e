/* Elementwise formulas of the reference on one core, through a tape over a tensor, each beside a
 * loop of plain MPFR calls at 106 bits on the same operands in the same run.
 *
 *   bench_elementwise [WORD]     rows whose name contains WORD, as JSON
 *
 * Operands have full significands: a normal about 0 with deviation 2, b between 1/2 and 4. Time is
 * this process's on a processor, the best of several runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench.h"
#include "formula/tape.h"
#include "number/function/function.h"
#include "number/double_pair.h"

#define COUNT 16384
#define RUNS 7
#define PAIR_BITS 106

static const struct row {
    const char *formula;
    enum ulp_primitive primitive;
    bool positive; /* on b instead of a */
} rows[] = {
    {"exp(a)", ULP_PRIMITIVE_EXP, false},
    {"expm1(a)", ULP_PRIMITIVE_EXPM1, false},
    {"tanh(a)", ULP_PRIMITIVE_TANH, false},
    {"sigmoid(a)", ULP_PRIMITIVE_SIGMOID, false},
    {"softplus(a)", ULP_PRIMITIVE_SOFTPLUS, false},
    {"erf(a)", ULP_PRIMITIVE_ERF, false},
    {"sin(a)", ULP_PRIMITIVE_SIN, false},
    {"cos(a)", ULP_PRIMITIVE_COS, false},
    {"log(b)", ULP_PRIMITIVE_LOG, true},
    {"log1p(b)", ULP_PRIMITIVE_LOG1P, true},
    {"sqrt(b)", ULP_PRIMITIVE_SQRT, true},
    {"a / b", ULP_PRIMITIVE_DIV, false},
    {"a * b", ULP_PRIMITIVE_MUL, false},
    {"a + b", ULP_PRIMITIVE_ADD, false},
    {"a - b", ULP_PRIMITIVE_SUB, false},
    {"max(a, b)", ULP_PRIMITIVE_MAX, false},
};

static void create(struct ulp_tensor *tensor)
{
    struct ulp_error error = {0};
    const int64_t dim = COUNT;
    if (ulp_tensor_create(tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_PAIR, 0, 1, &dim, &error) != ULP_OK)
        bench_stop(error.message);
}

static void fill(struct ulp_tensor *tensor, bool positive, uint64_t key)
{
    create(tensor);
    for (size_t i = 0; i < COUNT; i++) {
        const double u = ulp_random_uniform(key, 2 * i), v = ulp_random_uniform(key, 2 * i + 1);
        const double value =
            positive ? 0.5 + 3.5 * u : 2 * sqrt(-2 * log(1 - u)) * cos(6.28318530717958648 * v);
        ((struct ulp_double_pair *)tensor->data)[i] =
            (struct ulp_double_pair){value, value * 0x1p-54 * (2 * u - 1)};
    }
}

static void call(const struct row *row, mpfr_t z, mpfr_t x, mpfr_t y)
{
    switch (row->primitive) {
    case ULP_PRIMITIVE_DIV: mpfr_div(z, x, y, MPFR_RNDN); return;
    case ULP_PRIMITIVE_MUL: mpfr_mul(z, x, y, MPFR_RNDN); return;
    case ULP_PRIMITIVE_ADD: mpfr_add(z, x, y, MPFR_RNDN); return;
    case ULP_PRIMITIVE_SUB: mpfr_sub(z, x, y, MPFR_RNDN); return;
    case ULP_PRIMITIVE_MAX: mpfr_max(z, x, y, MPFR_RNDN); return;
    default: ulp_function_mpfr(row->primitive, z, x, y, MPFR_RNDN);
    }
}

/* Nanoseconds an element: MPFR's on an array of mpfr_t. */
static double time_mpfr(const struct row *row, const struct ulp_tensor *a,
                        const struct ulp_tensor *b)
{
    mpfr_t *x = malloc(3 * COUNT * sizeof *x), *y = x + COUNT, *z = y + COUNT;
    if (!x)
        bench_stop("out of memory");
    for (size_t i = 0; i < COUNT; i++) {
        const struct ulp_double_pair p = ((struct ulp_double_pair *)(row->positive ? b : a)
                                              ->data)[i],
                                     q = ((struct ulp_double_pair *)b->data)[i];
        mpfr_inits2(PAIR_BITS, x[i], y[i], z[i], (mpfr_ptr)NULL);
        ulp_pair_get(x[i], p.high, p.low);
        ulp_pair_get(y[i], q.high, q.low);
    }
    struct bench_timer timer = {.run_max = 3};
    while (bench_next(&timer))
        for (size_t i = 0; i < COUNT; i++)
            call(row, z[i], x[i], y[i]);
    for (size_t i = 0; i < COUNT; i++)
        mpfr_clears(x[i], y[i], z[i], (mpfr_ptr)NULL);
    free(x);
    return timer.best * 1e9 / COUNT;
}

static double time_tape(const struct row *row, const struct ulp_tensor *a,
                        const struct ulp_tensor *b, struct ulp_tensor *out)
{
    static const char *const names[] = {"a", "b"}, *const results[] = {"y"};
    struct ulp_error error = {0};
    struct ulp_tape *tape;
    struct ulp_arithmetic arithmetic;
    if (ulp_arithmetic_find("pair", &arithmetic, &error) != ULP_OK ||
        ulp_tape_create(&tape, row->formula, names, 2, results, 1, NULL, &error) != ULP_OK)
        bench_stop(error.message);
    const struct ulp_rows shape = {.row_count = 1, .row_length = COUNT};
    const struct ulp_operand operands[] = {{.tensor = a, .position_stride = 1},
                                           {.tensor = b, .position_stride = 1}},
                             output = {.tensor = out, .position_stride = 1};
    const struct ulp_tape_call run = {.tape = tape,
                                      .arithmetic = &arithmetic,
                                      .rows = &shape,
                                      .operands = operands,
                                      .outputs = &output};
    struct bench_timer timer = {.run_max = RUNS};
    while (bench_next(&timer))
        if (ulp_tape_run(&run, &error) != ULP_OK)
            bench_stop(error.message);
    ulp_tape_free(tape);
    return timer.best * 1e9 / COUNT;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[argc - 1] : "";
    printf("[");
    int printed = 0;
    struct ulp_tensor a, b, out;
    fill(&a, false, 1);
    fill(&b, true, 11);
    create(&out);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!strstr(rows[i].formula, word))
            continue;
        const double own = time_tape(&rows[i], &a, &b, &out), peer = time_mpfr(&rows[i], &a, &b);
        printf("%s\n  {\"formula\": \"%s\", \"ns\": %.2f, \"mpfr_ns\": %.2f, \"ratio\": %.2f}",
               printed++ ? "," : "", rows[i].formula, own, peer, peer / own);
        fflush(stdout);
    }
    ulp_tensor_free(&a);
    ulp_tensor_free(&b);
    ulp_tensor_free(&out);
    printf("\n]\n");
    return 0;
}
