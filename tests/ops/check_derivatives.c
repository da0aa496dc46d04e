/* One harness for the derivatives of every operator: walks the table, makes a node of each row, and
 * compares the derivative that the row's own gates give going back (ops/trace/trace.h), along a
 * random direction v and for random cotangents g, with a central difference of the row in MPFR. A
 * row without a case fails; one that says that derivatives stop is listed. */
#include "harness/rows.h"
#include "number/mpfr_record.h"
#include "ops/trace/trace.h"
#include "tests/support/test.h"

/* At 320 bits and h = 2^-100 the difference is good to 2^-200 of values and third derivatives of
 * moderate size. What is compared is FP64: the tolerance is for its roundings. Each of N steps
 * loses at most 2^-53 of the terms that it adds; no row makes more than 2^12 steps for one number,
 * and their terms may exceed the result by cancellation, 2^9 at the drawn points. */
#define PRECISION 320
#define STEP_LOG2 (-100)
#define TOLERANCE 0x1p-32
#define OUTPUTS CASE_INPUTS

/* In memory that the forked tests share. */
static struct totals {
    size_t rows, derived, integers, stops, constant, elementwise;
    double largest;
} * total;

struct drawn {
    uint64_t key, counter;
};

static double draw(struct drawn *d)
{
    return 2 * ulp_random_uniform(d->key, d->counter++) - 1;
}

static void get(mpfr_t out, const struct ulp_tensor *tensor, size_t i)
{
    mpfr_t x;
    if (tensor->element != ULP_ELEMENT_WIDE) {
        mpfr_set_d(out, ulp_tensor_get(tensor, i), MPFR_RNDN);
        return;
    }
    ulp_record_open_const(x, ulp_record_at(tensor->data, i, tensor->precision), tensor->precision);
    mpfr_set(out, x, MPFR_RNDN);
}

static void set(struct ulp_tensor *tensor, size_t i, const mpfr_t value)
{
    mpfr_t x;
    struct ulp_record *record = ulp_record_at(tensor->data, i, tensor->precision);
    ulp_record_begin(x, record, tensor->precision);
    mpfr_set(x, value, MPFR_RNDN);
    ulp_record_close(record, x);
}

static enum ulp_status run(const struct ulp_bound *bound, const struct node_case *c,
                           const struct ulp_tensor *const *in, const struct ulp_arithmetic *lane,
                           struct ulp_trace *trace, struct ulp_tensor *outputs,
                           struct ulp_error *error)
{
    const struct ulp_call call = {.bound = bound, .arithmetic = lane, .in = in, .trace = trace};
    return case_call(c, call, ulp_call_run, outputs, error);
}

/* Off the points where a formula has a corner; toward zero, so that it stays in its domain. */
static double shift(double x, struct drawn *d)
{
    const double u = (1 + draw(d)) / 2;
    return x == 0 ? ldexp(1 + u, -14) : x * (1 - ldexp(1 + u, -10));
}

/* The inputs at u + step * 2^STEP_LOG2 * v, in any lane: step 0 for FP64. */
static void place_inputs(struct node_case *c, const struct ulp_bound *bound, int step)
{
    scoped_mpfr x, v;
    mpfr_inits2(PRECISION, x, v, (mpfr_ptr)NULL);
    struct drawn points = {.key = 11}, directions = {.key = 22};
    for (size_t i = 0; i < c->node.input_count; i++) {
        if (!case_is_variable(c, bound, i))
            continue;
        for (size_t k = 0; k < c->inputs[i].count; k++) {
            const double at = shift(ulp_tensor_get(&c->inputs[i], k), &points),
                         along = draw(&directions);
            if (c->inputs[i].element == ULP_ELEMENT_F64) {
                ((double *)c->inputs[i].data)[k] = at;
                continue;
            }
            mpfr_set_d(x, at, MPFR_RNDN);
            mpfr_set_d(v, along * step, MPFR_RNDN);
            mpfr_mul_2si(v, v, STEP_LOG2, MPFR_RNDN);
            mpfr_add(x, x, v, MPFR_RNDN);
            set(&c->inputs[i], k, x);
        }
    }
}

/* sum of cotangents times the results, which are floats and finite. */
static void add_results(mpfr_t sum, const struct ulp_tensor *outputs, size_t count, int sign)
{
    struct drawn cotangents = {.key = 33};
    scoped_mpfr y;
    mpfr_init2(y, PRECISION);
    for (size_t o = 0; o < count; o++)
        for (size_t k = 0; k < outputs[o].count; k++) {
            const double g = draw(&cotangents);
            if (!ulp_element_is_float(outputs[o].element))
                continue;
            get(y, &outputs[o], k);
            if (!mpfr_number_p(y))
                continue;
            mpfr_mul_d(y, y, g * sign, MPFR_RNDN);
            mpfr_add(sum, sum, y, MPFR_RNDN);
        }
}

static double difference(const struct ulp_operator *row, const struct hint *hint)
{
    scoped_mpfr sum;
    mpfr_init2(sum, PRECISION);
    mpfr_set_zero(sum, 1);
    const struct ulp_arithmetic lane = test_arithmetic("mpfr:320");
    for (int sign = -1; sign <= 1; sign += 2) {
        struct node_case c;
        struct ulp_bound bound;
        scoped_arena *arena = NULL;
        struct ulp_tensor outputs[OUTPUTS];
        ck_assert_int_eq(ulp_arena_create(&arena, NULL, NULL), ULP_OK);
        case_make(&c, row, hint, &lane);
        ck_ok(ulp_bind(&bound, &c.node, row->since, arena, &why));
        place_inputs(&c, &bound, sign);
        ck_ok(run(&bound, &c, c.in, &lane, NULL, outputs, &why));
        add_results(sum, outputs, c.node.output_count, sign);
        case_free_outputs(outputs);
        ulp_unbind(&bound);
        case_free(&c);
    }
    mpfr_mul_2si(sum, sum, -STEP_LOG2 - 1, MPFR_RNDN);
    const double result = mpfr_get_d(sum, MPFR_RNDN);
    return result;
}

/* How the trace goes back: each gate's adjoint; by derivatives; by derivatives that sweeps share;
 * of an elementwise node, with a seed of ones, of which each is then multiplied by its cotangent.
 */
enum way { ADJOINT, SLOPED, SHARED, ONES, WAYS };

/* The same from the trace; *size: of its terms. */
static double derivative(struct node_case *c, const struct ulp_bound *bound,
                         const struct ulp_arithmetic *lane, enum way way, double *size, bool *named)
{
    struct ulp_trace *trace;
    struct ulp_tensor names[OUTPUTS] = {{0}}, outputs[OUTPUTS], plain[OUTPUTS];
    const struct ulp_tensor *in[OUTPUTS];
    struct drawn cotangents = {.key = 33}, directions = {.key = 22};
    double sum = 0, *first = NULL;
    ck_ok(ulp_trace_create(&trace, NULL, NULL, &why));
    for (size_t i = 0; i < c->node.input_count; i++) {
        in[i] = c->in[i];
        if (!c->in[i] || c->in[i]->element != ULP_ELEMENT_F64)
            continue;
        ck_ok(ulp_trace_name(trace, &names[i], c->in[i], 0, NULL, &why));
        in[i] = &names[i];
    }
    ck_ok(run(bound, c, in, lane, trace, outputs, &why));
    ck_ok(run(bound, c, c->in, lane, NULL, plain, &why));
    ck_ok(ulp_trace_begin_reverse(trace, way == SLOPED || way == SHARED, way == SHARED, &why));
    const bool ones = way == ONES && c->node.output_count == 1 &&
                      ulp_trace_is_elementwise(trace, names, c->node.input_count, outputs);
    total->elementwise += ones;
    *named = false;
    *size = 0;
    for (size_t o = 0; o < c->node.output_count; o++) {
        double *g = calloc(outputs[o].count + 1, sizeof *g);
        ck_assert_ptr_nonnull(g);
        struct ulp_tensor values = {0};
        if (outputs[o].data) {
            ck_ok(ulp_tensor_copy(&values, &outputs[o], NULL, &why));
            ck_ok(ulp_trace_unname(trace, &values, &why));
            ck_assert_msg(ulp_tensor_same_shape(&values, &plain[o]) &&
                              memcmp(values.data, plain[o].data,
                                     values.count * values.element_bytes) == 0,
                          "%s since %d: output %zu is not what it is without a trace",
                          bound->op->name, bound->op->since, o);
        }
        for (size_t k = 0; k < outputs[o].count; k++) {
            g[k] = draw(&cotangents);
            if (!isfinite(ulp_tensor_get(&values, k)))
                g[k] = 0;
        }
        if (outputs[o].data && ulp_trace_is_named(&outputs[o])) {
            *named = true;
            ulp_trace_seed(trace, &outputs[o], ones ? NULL : g);
        }
        ulp_tensor_free(&values);
        if (ones)
            first = g;
        else
            free(g);
    }
    ck_ok(ulp_trace_reverse(trace, &why));
    for (size_t i = 0; i < c->node.input_count; i++) {
        if (!names[i].data)
            continue;
        SCOPED_MEMORY double *d = calloc(names[i].count + 1, sizeof *d);
        ck_assert_ptr_nonnull(d);
        ulp_trace_cotangents(trace, &names[i], 1, true, d);
        for (size_t k = 0; k < names[i].count && case_is_variable(c, bound, i); k++) {
            const double owed = !ones || names[i].count != outputs->count ? d[k]
                                : first[k] != 0                           ? d[k] * first[k]
                                                                          : 0,
                         term = owed * draw(&directions);
            sum += term;
            *size += fabs(term);
        }
        ulp_tensor_free(&names[i]);
    }
    free(first);
    case_free_outputs(outputs);
    case_free_outputs(plain);
    ulp_trace_free(trace);
    return sum;
}

static bool has_variable(const struct node_case *c, const struct ulp_bound *bound)
{
    for (size_t i = 0; i < c->node.input_count; i++)
        if (case_is_variable(c, bound, i))
            return true;
    return false;
}

/* False: not a case of this row. */
static bool check_case(const struct ulp_operator *row, const struct hint *hint, const char *name)
{
    struct node_case c;
    struct ulp_bound bound;
    scoped_arena *arena = NULL;
    double size;
    bool named;
    const struct ulp_arithmetic lane = test_arithmetic(name);
    ck_assert_int_eq(ulp_arena_create(&arena, NULL, NULL), ULP_OK);
    case_make(&c, row, hint, &lane);
    ck_ok(ulp_bind(&bound, &c.node, row->since, arena, &why));
    const bool chosen = bound.op == row, variable = chosen && has_variable(&c, &bound);
    if (chosen) {
        place_inputs(&c, &bound, 0);
        const double wanted = difference(row, hint);
        for (int way = 0; way < WAYS; way++) {
            const double found = derivative(&c, &bound, &lane, (enum way)way, &size, &named),
                         off = fabs(found - wanted) / (size + 0x1p-40);
            ck_assert_msg(off <= TOLERANCE,
                          "%s since %d, way %d: the derivative is %.17g, the difference %.17g, "
                          "terms %.3g",
                          row->name, row->since, way, found, wanted, size);
            total->largest = off > total->largest ? off : total->largest;
        }
        total->derived += variable && named;
        total->constant += variable && !named;
    }
    total->integers += chosen && !variable;
    ulp_unbind(&bound);
    case_free(&c);
    return chosen;
}

/* An input is read as numbers: the letter n. */
static bool stops(const struct ulp_operator *row)
{
    for (const char *at = row->inputs; at && (at = strchr(at, ':')) != NULL; at++)
        if (memchr(at, 'n', strcspn(at, " ?=")))
            return true;
    return false;
}

START_TEST(row_has_the_derivative_of_its_values)
{
    const struct ulp_operator *row = ulp_operator_row((size_t)_i);
    if (case_exemption(row))
        return;
    ck_assert_msg(rows_check_cases(row, check_case, "fp64"),
                  "%s since %d when %s has no case: add a hint in tests/data/cases/hints.cases",
                  row->name, row->since, row->when ? row->when : "no other row fits");
    total->rows++;
    total->stops += stops(row);
}
END_TEST

int main(void)
{
    total = rows_share(sizeof *total);
    const int code = rows_run("derivatives", row_has_the_derivative_of_its_values, 120);
    printf("%zu rows; cases: %zu with derivatives (%zu elementwise), at most %.2g from the "
           "difference, %zu whose results "
           "follow no input, %zu without a float input; %zu rows at which derivatives stop\n",
           total->rows, total->derived, total->elementwise, total->largest, total->constant,
           total->integers, total->stops);
    for (size_t i = 0; ulp_operator_row(i); i++)
        if (stops(ulp_operator_row(i)))
            printf("  stops: %s since %d at %s\n", ulp_operator_row(i)->name,
                   ulp_operator_row(i)->since, ulp_operator_row(i)->inputs);
    return code;
}
