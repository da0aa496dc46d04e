/* Choosing how a wide contraction is computed. Outputs are the same for any plan, so a plan may
 * guess: it looks at a few outputs in double arithmetic to see how far below the lines' scales
 * their sums lie (from cancellation, sparse or uneven lines), and keeps enough digits that few
 * outputs fail the rounding test. */
#include "kernels/digit/form.h"

#include <math.h>

#include "kernels/exact/number.h"

#define SAMPLES_MAX 64
/* Bits beyond P that a sampled sum must have above the error bound. With the worst few samples set
 * aside, one output in some hundreds fails the test by chance and costs as much as a hundred
 * others. */
#define GUARD_BITS 6

/* x * 2^-exponent, to double precision; 0 when it is below 2^-900. */
static double scaled(const struct ulp_wide_number *x, int64_t exponent)
{
    if (x->kind != MPFR_REGULAR_KIND || x->exponent < exponent - 900)
        return 0;
    /* of a power of two: -953 and up */
    const uint64_t scale = (uint64_t)(x->exponent - exponent - 53 + 1023) << 52;
    double power;
    memcpy(&power, &scale, sizeof power);
    const double top = (double)(x->limbs[x->limb_count - 1] >> 11) * power;
    return x->negative ? -top : top;
}

/* The number of bits that a sum lies below the scales of its lines, estimated in double. INFINITY:
 * too small to estimate; negative: no information. */
static double sample_need(const struct ulp_wide_call *call, struct ulp_wide_place place)
{
    const struct ulp_contraction *problem = &call->problem;
    const struct ulp_factor *a = &problem->a, *b = &problem->b;
    struct ulp_wide_line a_line = ulp_wide_scan(a, place.batch, place.i, problem->k);
    struct ulp_wide_line b_line = ulp_wide_scan(b, place.batch, place.j, problem->k);
    if (a_line.zero || b_line.zero || a_line.irregular || b_line.irregular)
        return -1e9;
    int64_t a_base = ulp_wide_line(a, place.batch, place.i),
            b_base = ulp_wide_line(b, place.batch, place.j);
    double sum = 0;
    for (size_t k = 0; k < problem->k; k++) {
        struct ulp_wide_number x, y;
        ulp_wide_read(&x, a->tensor, a_base + a->k_offset[k]);
        ulp_wide_read(&y, b->tensor, b_base + b->k_offset[k]);
        sum += scaled(&x, a_line.exponent) * scaled(&y, b_line.exponent);
    }
    if (fabs(sum) < 0x1p-46 * (double)problem->k)
        return INFINITY;
    int exponent;
    frexp(sum, &exponent);
    return 1 - exponent;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

size_t ulp_wide_sample_count(const struct ulp_contraction *problem)
{
    const size_t count = problem->batch_count * problem->m * problem->n / 64 + 1;
    /* few rows: looking costs as much as computing */
    const size_t most = problem->m < 4 ? SAMPLES_MAX / 8 : SAMPLES_MAX;
    return count < most ? count : most;
}

struct samples {
    const struct ulp_wide_call *call;
    double needs[SAMPLES_MAX];
};

static enum ulp_status look_at_samples(void *context, size_t first, size_t last, int worker,
                                       struct ulp_error *error)
{
    struct samples *samples = context;
    const struct ulp_contraction *problem = &samples->call->problem;
    const size_t outputs = problem->batch_count * problem->m * problem->n;
    (void)worker, (void)error;
    for (size_t i = first; i < last; i++) {
        /* Places spread over the outputs by the golden ratio, so that no stride repeats rows or
         * columns. */
        size_t output =
            (size_t)((unsigned __int128)(0x9e3779b97f4a7c15u * (i + 1)) * outputs >> 64);
        samples->needs[i] =
            sample_need(samples->call, (struct ulp_wide_place){output / problem->n / problem->m,
                                                               output / problem->n % problem->m,
                                                               output % problem->n});
    }
    return ULP_OK;
}

/* The number of bits that all but a few outputs' sums lie below their lines' scales; INFINITY when
 * more than a few cannot be estimated. */
static double find_need(const struct ulp_wide_call *call)
{
    const size_t count = ulp_wide_sample_count(&call->problem);
    struct samples samples = {.call = call};
    /* never fails */
    ulp_parallel_for(call->pool, count, ulp_grain(20 * (double)call->problem.k + 1),
                     look_at_samples, &samples, NULL);
    qsort(samples.needs, count, sizeof samples.needs[0], compare);
    double need = samples.needs[count - 1 - count / 32];
    return need < 0 ? 0 : need;
}

static int ceil_log2(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return fraction == 0.5 ? exponent - 1 : exponent;
}

/* The bounds of digit/product.c, from above, as bits of the sum's scale that are below the error.
 */
static bool choose_positions(struct ulp_wide_plan *plan, int wanted_bits)
{
    for (int d = 1; d <= ULP_WIDE_POSITIONS_MAX - 2; d++) {
        if (plan->tile->integer) {
            int error_bits = ceil_log2((double)plan->k * (d + 2) + 2) + 2;
            if (52 * d - error_bits < wanted_bits)
                continue;
            plan->digit_bits = 52;
        } else {
            int needed = wanted_bits + ceil_log2((double)plan->k * (d + 4));
            int bits = (needed + d - 1) / d;
            if (bits > 24)
                continue;
            plan->digit_bits = bits < 12 ? 12 : bits;
        }
        plan->positions = d;
        return true;
    }
    return false;
}

/* Sums of one position must fit 64 bits, signed, over all of k.
 *
 * Double digits are at most 2^(bits - 1) in magnitude, so products 2^(2 bits - 2), and no position
 * adds more than positions + 1 <= 2 positions pairs: |sum| <= k * 2 positions * 2^(2 bits - 2) <
 * 2^63 where k * positions < 2^(64 - 2 bits).
 *
 * Integer digits. A call of the tile (a flush) adds up to ulp_wide_addends_max halves to a
 * position: it leaves less than 2^52 there, and carries less than 2^64 / 2^52 = 2^12 to the
 * position above. A block of k has at most 2 positions - 1 terms of k_block halves for a position.
 * With the k_block of ulp_wide_plan_make all of them fit one call up to 64 positions, and 128 of
 * them do beyond: `flushes` is no less than the calls. F flushes leave |sum| < F (2^52 + 2^12). The
 * end (product.c) adds a constant below 2^52 + 2^26, subtracts half the sums of both lines' digits,
 * below 2^52 each (at position 0 below k), and the carry from the position below, at most 2^-52 of
 * what is there: together less than (F + 5) 2^52, which is below 2^63 for F <= 2043. Half of that
 * is allowed, for k below 2^18. */
#define FLUSHES_MAX 1024
static bool fits(const struct ulp_wide_plan *plan)
{
    const size_t positions = (size_t)plan->positions;
    if (!plan->tile->integer)
        return plan->k < ((size_t)1 << (64 - 2 * plan->digit_bits)) / positions;
    const size_t most = ulp_wide_addends_max(true, plan->digit_bits);
    const size_t flushes =
        (plan->k / plan->k_block + 1) * (positions * 2 * plan->k_block / most + 1);
    return flushes < FLUSHES_MAX;
}

bool ulp_wide_plan_make(struct ulp_wide_plan *plan, const struct ulp_wide_call *call,
                        const struct ulp_wide_tile *tile)
{
    const struct ulp_contraction *problem = &call->problem;
    *plan = (struct ulp_wide_plan){.tile = tile, .k = problem->k};
    plan->special = ulp_wide_is_special_side(call, 0) || ulp_wide_is_special_side(call, 1);
    double need = find_need(call);
    if (need > 4 * ULP_MPFR_PRECISION_MAX ||
        !choose_positions(plan, call->precision + GUARD_BITS + (int)need))
        return false;
    plan->k_block = 2048 / (size_t)plan->positions;
    plan->k_block = plan->k_block > 256 ? 256 : plan->k_block < 32 ? 32 : plan->k_block;
    return fits(plan) && ulp_wide_panel_data_bytes(plan, ULP_WIDE_COLUMNS_MAX) <= (size_t)64 << 20;
}
