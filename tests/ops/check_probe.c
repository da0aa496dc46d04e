/* What a probe says of formulas and contractions, against loops written out here; and instructions
 * in the words of their formula. */
#include "tests/support/test.h"

#include "formula/words.h"
#include "ops/operator.h"
#include "ops/probe.h"

enum { ROWS = 37, LENGTH = 53, TOLD = 16 };

struct told {
    size_t count;
    char words[TOLD][160];
    struct ulp_hidden items[TOLD];
    bool results[TOLD];
};

static enum ulp_status keep(void *context, size_t node, const struct ulp_hidden *hidden,
                            bool result, struct ulp_error *error)
{
    struct told *told = context;
    (void)node, (void)error;
    ck_assert_uint_lt(told->count, TOLD);
    snprintf(told->words[told->count], sizeof told->words[0], "%s", hidden->words);
    told->results[told->count] = result;
    told->items[told->count++] = *hidden;
    return ULP_OK;
}

static const struct ulp_hidden *find(const struct told *told, const char *words, bool sum)
{
    for (size_t i = 0; i < told->count; i++)
        if (strcmp(told->words[i], words) == 0 && told->items[i].sum == sum)
            return &told->items[i];
    ck_abort_msg("nothing is told of %s", words);
    return NULL;
}

/* A call that has what gates look at. */
struct gate {
    struct ulp_arithmetic arithmetic;
    struct ulp_probe probe;
    struct told told;
    struct ulp_arena *arena;
    struct ulp_call call;
    struct ulp_tensor out;
};

static void open_gate(struct gate *gate, const char *format)
{
    memset(gate, 0, sizeof *gate);
    gate->arithmetic = test_arithmetic("fp64");
    gate->probe = (struct ulp_probe){.tell = keep, .context = &gate->told};
    ck_ok(ulp_format_find(format, &gate->probe.format, &why));
    ck_ok(ulp_arena_create(&gate->arena, NULL, &why));
    gate->call = (struct ulp_call){.arithmetic = &gate->arithmetic,
                                   .scratch = gate->arena,
                                   .probe = &gate->probe,
                                   .out = &gate->out,
                                   .output_count = 1};
}

static struct ulp_tensor make(size_t count, double scale, uint64_t seed)
{
    struct ulp_tensor tensor;
    const int64_t dims = (int64_t)count;
    ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, 1, &dims, &why));
    for (size_t i = 0; i < count; i++)
        ((double *)tensor.data)[i] = scale * (2 * ulp_random_uniform(seed, i) - 1);
    return tensor;
}

static void close_gate(struct gate *gate)
{
    ulp_tensor_free(&gate->out);
    ulp_arena_free(gate->arena);
}

/* |a - b| within a few roundings of FP64: sums of LENGTH terms in any order. */
static void expect_near(double a, double b)
{
    ck_assert_msg(fabs(a - b) <= fabs(b) * LENGTH * 0x1p-52, "%.17g, expected %.17g", a, b);
}

/* The row's elements are LENGTH neighbours; by a table each `period` of rows comes last row first.
 */
static void check_variance(size_t period)
{
    static const char *const operands[] = {"x"}, *const outputs[] = {"y"};
    struct ulp_tape *tape;
    struct gate gate;
    int64_t table[ROWS];
    open_gate(&gate, "fp16");
    struct ulp_tensor x = make((ROWS + period) * LENGTH, 3000, 7);
    gate.out = make(ROWS, 0, 1);
    ck_ok(ulp_tape_create(&tape, "m = row_mean(x); d = x - m; row_mean(d * d)", operands, 1,
                          outputs, 1, NULL, &why));
    for (size_t r = 0; r < period; r++)
        table[r] = (int64_t)((period - 1 - r) * LENGTH);
    const struct ulp_rows rows = {.row_count = ROWS, .row_length = LENGTH};
    const struct ulp_operand in = {.tensor = &x,
                                   .row_offset = period ? table : NULL,
                                   .row_period = period < ROWS ? period : 0,
                                   .row_stride = (int64_t)(period ? period * LENGTH : LENGTH),
                                   .position_stride = 1},
                             out = {.tensor = &gate.out, .row_stride = 1};
    const struct ulp_tape_call run = {.tape = tape,
                                      .arithmetic = &gate.arithmetic,
                                      .rows = &rows,
                                      .operands = &in,
                                      .outputs = &out};
    ck_ok(ulp_probe_tape(&gate.call, &run, &why));

    double square = 0, smallest = INFINITY, difference = 0, sum = 0;
    size_t place = 0, row = 0, last = 0, tiny = 0;
    ptrdiff_t first = LENGTH;
    for (size_t r = 0; r < ROWS; r++) {
        const size_t first_row = period ? r / period * period + period - 1 - r % period : r;
        const double *values = (double *)x.data + first_row * LENGTH;
        double mean = 0, squares = 0;
        for (size_t p = 0; p < LENGTH; p++)
            mean += values[p] / LENGTH;
        for (size_t p = 0; p < LENGTH; p++) {
            const double d = values[p] - mean;
            if (d * d > square)
                square = d * d, place = r * LENGTH + p;
            smallest = fmin(smallest, fabs(d));
            difference = fmax(difference, fabs(d));
            tiny += fabs(d) < 0x1p-14;
            squares += d * d;
            if (squares > 65504 && (ptrdiff_t)p < first)
                first = (ptrdiff_t)p;
        }
        if (squares > sum)
            sum = squares, row = r, last = LENGTH - 1;
    }
    const struct ulp_hidden *d = find(&gate.told, "x - m", false),
                            *dd = find(&gate.told, "d * d", false),
                            *s = find(&gate.told, "row_mean(d * d)", true);
    expect_near(d->largest, difference);
    ck_assert(fabs(d->smallest - smallest) <= 3000 * LENGTH * 0x1p-52);
    ck_assert_uint_eq(d->count, (size_t)ROWS * LENGTH);
    ck_assert_uint_eq(d->subnormal + d->zero, tiny);
    expect_near(dd->largest, square);
    ck_assert_uint_eq(dd->index, place);
    expect_near(s->largest, sum);
    ck_assert_uint_eq(s->index, row);
    ck_assert_int_eq(s->k, (ptrdiff_t)last);
    ck_assert_int_eq(s->first, first);
    ulp_tape_free(tape);
    ulp_tensor_free(&x);
    close_gate(&gate);
}

TEST(every_instruction_is_seen)
{
    check_variance(0);
    check_variance(ROWS);
    check_variance(10);
}

/* 2048 + x, in FP16 whose ulp there is 2: 1 is absorbed (a tie to even), 1.5 is not, 0 is no term.
 */
TEST(absorbed_terms_are_counted)
{
    static const char *const operands[] = {"x"}, *const outputs[] = {"y"};
    static const double terms[] = {0.5, 1, 1.5, 0, -0.5, 3, -0x1p-30, 100};
    struct ulp_tape *tape;
    struct gate gate;
    open_gate(&gate, "fp16");
    struct ulp_tensor x = make(8, 0, 1);
    gate.out = make(8, 0, 1);
    memcpy(x.data, terms, sizeof terms);
    ck_ok(ulp_tape_create(&tape, "2048 + x", operands, 1, outputs, 1, NULL, &why));
    const struct ulp_rows rows = {.row_count = 1, .row_length = 8};
    const struct ulp_operand in = {.tensor = &x, .position_stride = 1},
                             out = {.tensor = &gate.out, .position_stride = 1};
    const struct ulp_tape_call run = {.tape = tape,
                                      .arithmetic = &gate.arithmetic,
                                      .rows = &rows,
                                      .operands = &in,
                                      .outputs = &out};
    ck_ok(ulp_probe_tape(&gate.call, &run, &why));
    ck_assert_uint_eq(gate.told.count, 1);
    ck_assert(gate.told.results[0]); /* the sum is the node's result: only its additions are told */
    ck_assert_uint_eq(gate.told.items[0].additions, 7);
    /* below 2048 the ulp is 1: 2048 - 0.5 ties to 2048; 2048 - 2^-30 does not reach a tie */
    ck_assert_uint_eq(gate.told.items[0].absorbed, 4);
    ulp_tape_free(tape);
    ulp_tensor_free(&x);
    close_gate(&gate);
}

/* Sums of K products in increasing k, beside loops; bounds of the others. */
static void check_contraction(double scale, const char *format)
{
    enum { M = 5, N = 7, K = 41 };
    struct gate gate;
    int64_t rows[M], columns[N], lines_b[N], ks[K], ks_b[K], out_rows[M];
    open_gate(&gate, format);
    struct ulp_tensor a = make((size_t)M * K, scale, 3), b = make((size_t)N * K, scale, 4);
    gate.out = make((size_t)M * N, 0, 1);
    for (int64_t i = 0; i < M; i++)
        rows[i] = i * K, out_rows[i] = i * N;
    for (int64_t j = 0; j < N; j++)
        columns[j] = j, lines_b[j] = j;
    for (int64_t k = 0; k < K; k++)
        ks[k] = k, ks_b[k] = k * N;
    const struct ulp_contraction problem = {
        .batch_count = 1,
        .m = M,
        .n = N,
        .k = K,
        .a = {.tensor = &a, .line_offset = rows, .k_offset = ks},
        .b = {.tensor = &b, .line_offset = lines_b, .k_offset = ks_b},
        .out = &gate.out,
        .out_row_offset = out_rows,
        .out_column_offset = columns};
    ck_ok(ulp_probe_contract(&gate.call, &problem, &why));
    const struct ulp_hidden *got = find(&gate.told, "sum over k", true);

    const double *x = a.data, *y = b.data, limit = gate.probe.format.max_finite;
    double most = 0, bound = 0;
    ptrdiff_t first = -1, at = -1;
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0, magnitudes = 0;
            for (size_t k = 0; k < K; k++)
                magnitudes += fabs(x[i * K + k] * y[k * N + j]);
            bound = fmax(bound, magnitudes);
            for (size_t k = 0; k < K && magnitudes > limit; k++) {
                sum += x[i * K + k] * y[k * N + j];
                if (fabs(sum) > limit && (first < 0 || (ptrdiff_t)k < first))
                    first = (ptrdiff_t)k;
                if (fabs(sum) > most)
                    most = fabs(sum), at = (ptrdiff_t)k;
            }
        }
    ck_assert(got->bound >= bound);
    ck_assert_int_eq(got->first, first);
    if (bound > limit) {
        ck_assert(got->bound <= bound * (1 + 2 * K * 0x1p-52));
        ck_assert(got->largest == most); /* the same steps in the same order */
        ck_assert_int_eq(got->k, at);
    } else {
        ck_assert(got->largest == got->bound && got->largest <= limit);
    }
    ulp_tensor_free(&a);
    ulp_tensor_free(&b);
    close_gate(&gate);
}

TEST(partial_sums_are_formed_where_they_matter)
{
    for (double scale = 0x1p-10; scale < 0x1p14; scale *= 2) {
        check_contraction(scale, "fp16");
        check_contraction(scale, "fp8-e4m3");
        check_contraction(scale, "bf16");
    }
}

TEST(instructions_have_words)
{
    static const struct {
        const char *text, *words[8];
    } rows[] = {
        {"mean = row_mean(x); d = x - mean; s = sqrt(row_mean(d * d) + z); d / s * y + z",
         {"row_mean(x)", "x - mean", "d * d", "row_mean(d * d)", "row_mean(d * d) + z",
          "sqrt(row_mean(d * d) + z)", "d / s * y", "d / s * y + z"}},
        {"0.5 * x * (1 + erf(x / y))",
         {"0.5 * x", "x / y", "erf(x / y)", "1 + erf(x / y)", "0.5 * x * (1 + erf(x / y))"}},
        {"x - -y * z", {"-y", "-y * z", "x - -y * z"}},
        {"a = x * (y + z); x - a - y", {"y + z", "x * (y + z)", "x - a", "x - a - y"}},
    };
    static const char *const operands[] = {"x", "y", "z"}, *const outputs[] = {"o"};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        scoped_tape *tape = NULL;
        ck_ok(ulp_tape_create(&tape, rows[r].text, operands, 3, outputs, 1, NULL, &why));
        for (size_t w = 0; w < 8 && rows[r].words[w]; w++) {
            bool found = false;
            for (int i = 0; i < tape->instruction_count; i++) {
                char words[160];
                if (tape->instructions[i].kind != ULP_TAPE_OPERAND)
                    found |=
                        strcmp(ulp_tape_words(tape, i, words, sizeof words), rows[r].words[w]) == 0;
            }
            ck_assert_msg(found, "%s: nothing is called %s", rows[r].text, rows[r].words[w]);
        }
    }
}

TEST_SUITE("probe", 0)
