/* One harness for every operator: walks the table, makes a node of each row, runs it in the
 * reference and in FP32, FP16 (one rounding, and every step), BF16 and TF32, and checks each result
 * against a bound. A row without a case fails.
 *
 * Inputs are the same numbers in every arithmetic, so what differs is what the operator itself
 * rounds. Formulas, those inside kernels and after contractions included, are checked as watch.h
 * says. Other results obey the hint's bound (cases.h). */
#include "harness/rows.h"
#include "harness/interval.h"
#include "harness/watch.h"
#include "tests/support/test.h"

static const char *const lanes[] = {"fp32", "fp16", "fp16-strict", "bf16", "tf32"};
#define LANE_COUNT (sizeof lanes / sizeof *lanes)
#define REFERENCE "mpfr:128"
#define OUTPUTS CASE_INPUTS

/* In memory that the forked tests share. */
static struct totals {
    size_t rows, cases, runs, tapes, values, points, exact, bounded, pair_cases, noted_cases;
    double formula_share, bound_share;
} * total;

/* Run the case; outputs are the caller's. False: the node's attributes choose another row, whose
 * case this is. */
static bool run(const struct node_case *c, const struct ulp_operator *row,
                const struct ulp_arithmetic *lane, struct ulp_tensor *outputs)
{
    scoped_arena *arena = NULL;
    struct ulp_bound bound;
    struct ulp_error error = {0};
    ck_assert_int_eq(ulp_arena_create(&arena, NULL, NULL), ULP_OK);
    enum ulp_status status = ulp_bind(&bound, &c->node, row->since, arena, &error);
    ck_assert_msg(status == ULP_OK, "%s since %d: %s", row->name, row->since, error.message);
    const bool chosen = bound.op == row;
    const struct ulp_call call = {.bound = &bound, .arithmetic = lane, .in = c->in};
    if (chosen)
        status = case_call(c, call, ulp_call_run, outputs, &error);
    ck_assert_msg(
        status == ULP_OK,
        "%s since %d in %s: %s (a row without a case: add a hint in tests/data/cases/hints.cases)",
        row->name, row->since, lane->name, error.message);
    ulp_unbind(&bound);
    return chosen;
}

/* What one step of the hint's count rounds by, relative to its magnitude.
 * A sum of K products in a chain of fused multiply-adds: 2^-p of the accumulator. In a matrix unit
 * (H200: src/kernels/unit/table.c) a block of 16 products and the sum so far are cut to 24 bits
 * below the largest and the block's sum toward zero to 24: a block of b products loses (b + 1)
 * 2^-24 + 2^-23 of the magnitude, all blocks together less than (K + 2) 2^-23 if K > 0. Anything
 * else: the coarsest of the arithmetic's formats, in which factors and intermediate tensors are
 * kept. */
static double unit_of(const struct ulp_arithmetic *lane, const struct hint *hint)
{
    if (hint->sum)
        return ldexp(1, *lane->schedule.gpu ? -23 : -lane->accumulator.precision);
    int p = lane->storage.precision;
    p = lane->factor.precision < p ? lane->factor.precision : p;
    p = lane->accumulator.precision < p ? lane->accumulator.precision : p;
    p = lane->compute.precision < p ? lane->compute.precision : p;
    return ldexp(1, -p);
}

/* The value is the reference's, rounded to the lane's storage. */
static bool is_rounded(const mpfr_t value, const mpfr_t reference, const struct ulp_tensor *tensor,
                       const struct ulp_arithmetic *lane)
{
    struct interval x;
    interval_init(&x);
    interval_set(&x, reference);
    if (ulp_element_is_float(tensor->element))
        interval_round(&x, &lane->storage, INTERVAL_STEP);
    bool equal = interval_holds(&x, value, 0);
    interval_clear(&x);
    return equal;
}

static bool is_bounded(const mpfr_t value, const mpfr_t reference, const struct hint *hint,
                       const struct ulp_arithmetic *lane)
{
    double r = mpfr_get_d(reference, MPFR_RNDN), v = mpfr_get_d(value, MPFR_RNDN);
    double inside = hint->steps * unit_of(lane, hint) * hint->magnitude;
    double stored = ldexp(fabs(r) + inside, -lane->storage.precision) +
                    ldexp(1, lane->storage.emin - lane->storage.precision);
    double share = fabs(v - r) / (inside + stored);
    total->bound_share = share > total->bound_share ? share : total->bound_share;
    return share <= 1;
}

static void compare(const struct ulp_operator *row, const struct hint *hint,
                    const struct ulp_arithmetic *lane, const struct ulp_tensor *got,
                    const struct ulp_tensor *wanted, size_t output)
{
    scoped_mpfr value, reference;
    mpfr_inits2(INTERVAL_PRECISION, value, reference, (mpfr_ptr)0);
    ck_assert_msg(got->type == wanted->type && ulp_tensor_same_shape(got, wanted),
                  "%s since %d in %s: output %zu has another type or shape", row->name, row->since,
                  lane->name, output);
    const bool bounded = hint && hint->steps > 0 && ulp_element_is_float(got->element);
    for (size_t i = 0; i < got->count; i++) {
        watch_element(value, got, i);
        watch_element(reference, wanted, i);
        bool good = bounded ? is_bounded(value, reference, hint, lane)
                            : is_rounded(value, reference, got, lane);
        if (!good)
            ck_abort_msg(
                "%s since %d in %s: output %zu element %zu is %.9g, the reference %.9g, not %s",
                row->name, row->since, lane->name, output, i, mpfr_get_d(value, MPFR_RNDN),
                mpfr_get_d(reference, MPFR_RNDN),
                bounded ? "within the bound" : "equal after one rounding");
    }
    *(bounded ? &total->bounded : &total->exact) += got->count;
}

static bool has_number(const struct ulp_tensor *outputs)
{
    bool has = outputs->count == 0 || !ulp_element_is_float(outputs->element);
    for (size_t i = 0; i < outputs->count && !has; i++)
        has = isfinite(ulp_tensor_get(outputs, i));
    return has;
}

/* What all cases of the row did, in the process of its test. */
static struct {
    size_t tapes, contractions;
} seen;

static bool watch_run(const struct node_case *c, const struct ulp_operator *row,
                      const struct ulp_arithmetic *lane, const struct ulp_tensor *reference,
                      struct ulp_tensor *outputs)
{
    char what[400];
    snprintf(what, sizeof what, "%s since %d in %s", row->name, row->since, lane->name);
    struct watch watch = {.what = what, .reference = row->formula ? reference : NULL};
    watch_start(&watch);
    const bool chosen = run(c, row, lane, outputs);
    watch_start(NULL);
    if (!chosen)
        return false;
    total->runs++;
    seen.tapes += watch.tapes;
    seen.contractions += watch.contractions;
    total->tapes += watch.tapes;
    total->values += watch.values;
    total->points += watch.points;
    total->formula_share =
        watch.largest_share > total->formula_share ? watch.largest_share : total->formula_share;
    /* integers only: equal in every arithmetic */
    if (row->formula && reference && watch.tapes == 0)
        for (size_t o = 0; o < c->node.output_count; o++)
            compare(row, NULL, lane, &outputs[o], &reference[o], o);
    return true;
}

/* In pairs of doubles what is noted is for MPFR. Else each value is the reference's to far more
 * than a double: functions err by 2^-90 and less, a low part that was lost by 2^-54. */
static void check_pairs(const struct ulp_operator *row, const struct hint *hint,
                        const struct ulp_tensor *reference)
{
    const struct ulp_arithmetic lane = test_arithmetic("pair");
    struct ulp_tensor outputs[OUTPUTS];
    struct node_case c;
    case_make(&c, row, hint, &lane);
    (void)ulp_notes_take();
    (void)run(&c, row, &lane, outputs);
    const bool settled = ulp_notes_take() == 0;
    total->pair_cases += settled;
    total->noted_cases += !settled;
    for (size_t o = 0; o < c.node.output_count && settled; o++) {
        double size = hint && hint->steps > 0 ? hint->steps * hint->magnitude : 0;
        scoped_mpfr value, wanted;
        mpfr_inits2(INTERVAL_PRECISION, value, wanted, (mpfr_ptr)0);
        for (size_t i = 0; i < outputs[o].count; i++)
            size = fmax(size, isfinite(ulp_tensor_get(&reference[o], i))
                                  ? fabs(ulp_tensor_get(&reference[o], i))
                                  : 0);
        for (size_t i = 0; i < outputs[o].count; i++) {
            watch_element(value, &outputs[o], i);
            watch_element(wanted, &reference[o], i);
            const bool special = !mpfr_number_p(wanted) || !mpfr_number_p(value);
            const bool same = mpfr_nan_p(wanted) ? mpfr_nan_p(value) : mpfr_equal_p(value, wanted);
            mpfr_sub(value, value, wanted, MPFR_RNDN);
            if (special ? !same : !(fabs(mpfr_get_d(value, MPFR_RNDN)) <= 0x1p-70 * size))
                ck_abort_msg("%s since %d in pairs: output %zu element %zu of %.17g is off by %.3g",
                             row->name, row->since, o, i, mpfr_get_d(wanted, MPFR_RNDN),
                             mpfr_get_d(value, MPFR_RNDN));
        }
    }
    case_free_outputs(outputs);
    case_free(&c);
}

/* False: not a case of this row. */
static bool check_case(const struct ulp_operator *row, const struct hint *hint, const char *name)
{
    struct node_case c;
    struct ulp_tensor reference[OUTPUTS], outputs[OUTPUTS];
    struct ulp_arithmetic lane = test_arithmetic(name);
    case_make(&c, row, hint, &lane);
    const bool chosen = watch_run(&c, row, &lane, NULL, reference);
    case_free(&c);
    if (!chosen)
        return false;
    ck_assert_msg(
        has_number(&reference[0]),
        "%s since %d: no finite result: give a better range in tests/data/cases/hints.cases",
        row->name, row->since);
    for (size_t l = 0; l < LANE_COUNT; l++) {
        lane = test_arithmetic(lanes[l]);
        case_make(&c, row, hint, &lane);
        watch_run(&c, row, &lane, reference, outputs);
        for (size_t o = 0; o < c.node.output_count && !row->formula; o++)
            compare(row, hint, &lane, &outputs[o], &reference[o], o);
        case_free_outputs(outputs);
        case_free(&c);
    }
    check_pairs(row, hint, reference);
    case_free_outputs(reference);
    total->cases++;
    return true;
}

START_TEST(row_is_within_its_bound)
{
    const struct ulp_operator *row = ulp_operator_row((size_t)_i);
    if (case_exemption(row))
        return;
    ck_assert_msg(rows_check_cases(row, check_case, REFERENCE),
                  "%s since %d when %s has no case: add a hint in tests/data/cases/hints.cases",
                  row->name, row->since, row->when ? row->when : "no other row fits");
    ck_assert_msg((row->work == ULP_WORK_CONTRACTION) == (seen.contractions > 0),
                  "%s since %d: %zu calls of ulp_contract, but its row says work %d", row->name,
                  row->since, seen.contractions, row->work);
    ck_assert_msg(row->work != ULP_WORK_MOVE || seen.tapes == 0,
                  "%s since %d: runs formulas, but its row says that it moves", row->name,
                  row->since);
    total->rows++;
}
END_TEST

int main(void)
{
    total = rows_share(sizeof *total);
    const int code = rows_run("operators", row_is_within_its_bound, 120);
    printf("%zu rows, %zu cases, %zu runs\n"
           "%zu formulas run with %zu values checked, %zu of them against a single possible value; "
           "error at most %.2f of the bound\n"
           "%zu cases in pairs, and %zu noted for MPFR\n"
           "%zu other values equal to the reference's after one rounding, %zu within a bound, at "
           "most %.2f of it\n",
           total->rows, total->cases, total->runs, total->tapes, total->values, total->points,
           total->formula_share, total->pair_cases, total->noted_cases, total->exact,
           total->bounded, total->bound_share);
    return code;
}
