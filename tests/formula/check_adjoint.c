/* Adjoints of tapes against finite differences in MPFR: the derivative of <g, f(u)> along a random
 * direction v, by a central difference of step h, is <d, v>. */
#include "formula/adjoint.h"
#include "formula_test.h"
#include "number/mpfr_record.h"

/* At P bits and h = 2^-H the difference's truncation error is h^2 |f'''| / 6 and its rounding error
 * 2^-P / h, both relative to values and derivatives of moderate size: 2^-160 and 2^-176. What is
 * left of 2^-120 is for derivatives up to 2^40 at the points that are drawn. */
#define PRECISION 256
#define STEP_LOG2 (-80)
#define ERROR_LOG2 (-120)
#define OPERANDS 3
#define ROWS 3
#define LENGTH 5

static const char *const names[OPERANDS] = {"x", "y", "z"};

static mpfr_prec_t precision(void)
{
    return PRECISION;
}

struct point {
    struct ulp_arithmetic arithmetic;
    struct ulp_tensor u[OPERANDS], v[OPERANDS];
};

static void get(mpfr_t out, const struct ulp_tensor *tensor, size_t i)
{
    mpfr_t x;
    ulp_record_open_const(x, ulp_record_at(tensor->data, i, PRECISION), PRECISION);
    mpfr_set(out, x, MPFR_RNDN);
}

static void set(struct ulp_tensor *tensor, size_t i, const mpfr_t value)
{
    mpfr_t x;
    ulp_record_begin(x, ulp_record_at(tensor->data, i, PRECISION), PRECISION);
    mpfr_set(x, value, MPFR_RNDN);
    ulp_record_close(ulp_record_at(tensor->data, i, PRECISION), x);
}

/* ROWS x LENGTH values in [low, high]. */
static struct ulp_tensor draw_tensor(const struct ulp_arithmetic *arithmetic, struct source *source,
                                     double low, double high)
{
    double values[ROWS * LENGTH];
    for (size_t i = 0; i < ROWS * LENGTH; i++)
        values[i] = low + (high - low) * ulp_random_uniform(source->key, source->counter++);
    return make_tensor(arithmetic, 1, (int64_t[]){ROWS * LENGTH}, values);
}

static struct ulp_operand lay(const struct ulp_tensor *tensor, bool per_row)
{
    return (struct ulp_operand){.tensor = tensor,
                                .row_stride = per_row ? 1 : LENGTH,
                                .position_stride = !per_row};
}

static enum ulp_status run(const struct ulp_tape *tape, const struct ulp_arithmetic *arithmetic,
                           const struct ulp_rows *rows, const struct ulp_operand *operands,
                           const struct ulp_operand *outputs, struct ulp_error *error)
{
    const struct ulp_tape_call call = {.tape = tape,
                                       .arithmetic = arithmetic,
                                       .rows = rows,
                                       .operands = operands,
                                       .outputs = outputs};
    return ulp_tape_run(&call, error);
}

/* out = f(u + step * v), one value a row or an element; spread: at every position. */
static struct ulp_tensor evaluate(const struct point *point, const struct ulp_tape *tape, int step,
                                  bool per_row, bool spread)
{
    const struct ulp_rows rows = {.row_count = ROWS, .row_length = LENGTH};
    struct ulp_operand operands[OPERANDS];
    struct ulp_tensor moved[OPERANDS];
    scoped_mpfr a, b;
    mpfr_inits2(precision(), a, b, (mpfr_ptr)NULL);
    for (int i = 0; i < OPERANDS; i++) {
        moved[i] = make_tensor(&point->arithmetic, 1, (int64_t[]){ROWS * LENGTH}, NULL);
        for (size_t k = 0; k < ROWS * LENGTH; k++) {
            get(a, &point->u[i], k);
            get(b, &point->v[i], k);
            mpfr_mul_2si(b, b, STEP_LOG2, MPFR_RNDN);
            mpfr_mul_si(b, b, step, MPFR_RNDN);
            mpfr_add(a, a, b, MPFR_RNDN);
            set(&moved[i], k, a);
        }
        operands[i] = lay(&moved[i], false);
    }
    per_row = per_row && !spread;
    struct ulp_tensor out =
        make_tensor(&point->arithmetic, 1, (int64_t[]){per_row ? ROWS : ROWS * LENGTH}, NULL);
    const struct ulp_operand output = lay(&out, per_row);
    ck_ok(run(tape, &point->arithmetic, &rows, operands, &output, &why));
    for (int i = 0; i < OPERANDS; i++)
        ulp_tensor_free(&moved[i]);
    return out;
}

/* sum += x_k y_k and size += |x_k y_k|, of all elements. */
static void add_product(mpfr_t sum, mpfr_t size, const struct ulp_tensor *x,
                        const struct ulp_tensor *y)
{
    scoped_mpfr a, b;
    mpfr_inits2(precision(), a, b, (mpfr_ptr)NULL);
    for (size_t k = 0; k < x->count; k++) {
        get(a, x, k);
        get(b, y, k);
        mpfr_mul(a, a, b, MPFR_RNDN);
        mpfr_add(sum, sum, a, MPFR_RNDN);
        mpfr_abs(a, a, MPFR_RNDN);
        mpfr_add(size, size, a, MPFR_RNDN);
    }
}

/* ([g, f(u + hv)] - [g, f(u - hv)]) / 2h */
static void difference(mpfr_t out, const struct point *point, const struct ulp_tape *tape,
                       bool per_row, bool spread, const struct ulp_tensor *g)
{
    scoped_mpfr minus, size;
    mpfr_inits2(precision(), minus, size, (mpfr_ptr)NULL);
    mpfr_set_zero(out, 1);
    mpfr_set_zero(minus, 1);
    mpfr_set_zero(size, 1);
    scoped_tensor above = evaluate(point, tape, 1, per_row, spread);
    scoped_tensor below = evaluate(point, tape, -1, per_row, spread);
    add_product(out, size, g, &above);
    add_product(minus, size, g, &below);
    mpfr_sub(out, out, minus, MPFR_RNDN);
    mpfr_mul_2si(out, out, -STEP_LOG2 - 1, MPFR_RNDN);
}

static void check(const char *formula, double low, double high, bool spread)
{
    struct source source = {.key = ulp_hash(formula, strlen(formula))};
    struct point point = {.arithmetic = test_arithmetic("mpfr:256")};
    const struct ulp_rows rows = {.row_count = ROWS, .row_length = LENGTH};
    scoped_tape *tape = make_tape(formula, names, OPERANDS, 1), *adjoint = NULL;
    const bool per_row = tape->instructions[tape->outputs[0]].per_row;
    ck_ok(ulp_tape_adjoint(&adjoint, tape, &spread, NULL, &why));
    struct ulp_operand operands[OPERANDS + 1], outputs[OPERANDS];
    struct ulp_tensor d[OPERANDS];
    for (int i = 0; i < OPERANDS; i++) {
        point.u[i] = draw_tensor(&point.arithmetic, &source, low, high);
        point.v[i] = draw_tensor(&point.arithmetic, &source, -1, 1);
        d[i] = make_tensor(&point.arithmetic, 1, (int64_t[]){ROWS * LENGTH}, NULL);
        operands[i] = lay(&point.u[i], false);
        outputs[i] = lay(&d[i], false);
    }
    struct ulp_tensor full = draw_tensor(&point.arithmetic, &source, -2, 2), g = full;
    if (per_row && !spread)
        g.count = ROWS, g.dims[0] = ROWS;
    operands[OPERANDS] = lay(&g, per_row && !spread);
    ck_ok(run(adjoint, &point.arithmetic, &rows, operands, outputs, &why));
    mpfr_t expected, sum, size;
    mpfr_inits2(precision(), expected, sum, size, (mpfr_ptr)NULL);
    difference(expected, &point, tape, per_row, spread, &g);
    mpfr_set_zero(sum, 1);
    mpfr_set_zero(size, 1);
    for (int i = 0; i < OPERANDS; i++)
        add_product(sum, size, &d[i], &point.v[i]);
    mpfr_sub(sum, sum, expected, MPFR_RNDN);
    mpfr_mul_2si(size, size, ERROR_LOG2, MPFR_RNDN);
    ck_assert_msg(mpfr_cmpabs(sum, size) <= 0 && mpfr_number_p(expected),
                  "%s: the adjoint gives another derivative (expected %g, off by %g, bound %g)",
                  formula, mpfr_get_d(expected, MPFR_RNDN), mpfr_get_d(sum, MPFR_RNDN),
                  mpfr_get_d(size, MPFR_RNDN));
    mpfr_clears(expected, sum, size, (mpfr_ptr)NULL);
    for (int i = 0; i < OPERANDS; i++) {
        ulp_tensor_free(&point.u[i]);
        ulp_tensor_free(&point.v[i]);
        ulp_tensor_free(&d[i]);
    }
    ulp_tensor_free(&full);
}

/* Where a primitive of one argument is differentiable. */
static const struct domain {
    const char *name;
    double low, high;
} domains[] = {{"sqrt", 0.1, 4},   {"log", 0.1, 4},   {"log1p", -0.9, 3}, {"asin", -0.9, 0.9},
               {"acos", -.9, 0.9}, {"acosh", 1.1, 4}, {"rsqrt", 0.5, 4},  {"atanh", -.9, .9},
               {"tan", -1.5, 1.5}, {"pow", 0.1, 3},   {"abs", 0.1, 3}};

TEST(test_primitives)
{
    char formula[128];
    for (int p = 0; p < ULP_PRIMITIVE_COUNT; p++) {
        const struct ulp_primitive_row *row = &ulp_primitive_rows[p];
        double low = -3, high = 3;
        if (ulp_primitive_is_decision((enum ulp_primitive)p))
            continue;
        for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
            if (!strcmp(domains[i].name, row->name))
                low = domains[i].low, high = domains[i].high;
        const char *const arguments[] = {"x", "x, y", "x, y, z"};
        snprintf(formula, sizeof formula, "%s(%s)", row->name, arguments[row->arity - 1]);
        check(formula, low, high, false);
        snprintf(formula, sizeof formula, "t = %s(%s); t * t + y * t", row->name,
                 arguments[row->arity - 1]);
        check(formula, low, high, false);
    }
}

static const char *const formulas[] = {
    "x",
    "row_sum(x * y)",
    "x * row_sum(y) + row_mean(x)",
    "row_max(x) - row_min(y * z)",
    "row_product(x) * y",
    "row_sum(row_max(x) * 2)",
    "row_product(row_mean(x))",
    "x * running_sum(x * y)",
    "running_product(x) * y + running_sum(row_max(x))",
    "row_max(row_sum(x)) + y",
    "e = exp(x - row_max(x)); e / row_sum(e)",
    "d = x - row_max(x); d - log(row_sum(exp(d)))",
    "d = x - row_mean(x); v = row_mean(d * d); d / sqrt(v + 1e-5) * y + z",
    "x * 0.5 * (1 + erf(x / sqrt(2)))",
    "x < 0 ? 0.1 * (exp(x) - 1) : x",
    "x * sigmoid(x) + tanh(y) * softplus(z)",
    "fma(x, y, z) / (1 + x * x)",
    "min(max(x, y), z)",
    "sqrt(row_sum(x * x) / row_size())",
};

TEST_LOOP(test_formulas, 0, (int)(sizeof formulas / sizeof *formulas))
{
    check(formulas[_i], -3, 3, false);
    check(formulas[_i], -3, 3, true);
}

/* The branch not taken has an infinite derivative: it owes nothing, not NaN. */
TEST(test_untaken)
{
    struct ulp_arithmetic arithmetic = test_arithmetic("fp64");
    scoped_tape *tape = make_tape("x > 0 ? sqrt(x) : 3 * x", names, 1, 1), *adjoint = NULL;
    ck_ok(ulp_tape_adjoint(&adjoint, tape, NULL, NULL, &why));
    scoped_tensor x = make_tensor(&arithmetic, 1, (int64_t[]){3}, (double[]){0, -1, 4});
    scoped_tensor g = make_tensor(&arithmetic, 1, (int64_t[]){3}, (double[]){1, 1, 1});
    scoped_tensor d = make_tensor(&arithmetic, 1, (int64_t[]){3}, NULL);
    const struct ulp_rows rows = {.row_count = 1, .row_length = 3};
    const struct ulp_operand operands[] = {lay(&x, false), lay(&g, false)}, out = lay(&d, false);
    ck_ok(run(adjoint, &arithmetic, &rows, operands, &out, &why));
    const double *got = d.data;
    ck_assert(got[0] == 3 && got[1] == 3 && got[2] == 0.25);
}
