/* Choosing how a wide contraction is computed. Outputs are the same for any plan, so a plan may
 * guess: it looks at a few outputs in double arithmetic to see how far below the lines' scales
 * their sums lie (from cancellation, sparse or uneven lines), and keeps enough digits that few
 * outputs fail the rounding test. */
#include "kernels/digit/digit_form.h"

#include <math.h>

#include "kernels/exact/number.h"

#define SAMPLES_MAX 64
/* Bits beyond P that a sampled sum must have above the error bound. With the worst few samples set
 * aside, one output in some hundreds fails the test by chance and costs as much as a hundred
 * others. The reach of double digits grows by single bits, which are cheap: one in thousands. */
#define GUARD_BITS 6
#define DOUBLE_GUARD_BITS 10
/* Lines of so many bits or more are all alike. */
#define WIDTH_MAX (8 * ULP_MPFR_PRECISION_MAX)

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

/* What one output says. need: the number of bits that the sum lies below the scales of its lines,
 * estimated in double; INFINITY: too small to estimate; negative: no information. */
struct sample {
    double need;
    int64_t widths[2]; /* of the lines; 0: no information */
};

static struct sample look_at_factors(const struct ulp_wide_call *call, struct ulp_wide_place place)
{
    const struct ulp_contraction *problem = &call->problem;
    const struct ulp_factor *a = &problem->a, *b = &problem->b;
    struct ulp_wide_line a_line = ulp_wide_scan(a, place.batch, place.i, problem->k);
    struct ulp_wide_line b_line = ulp_wide_scan(b, place.batch, place.j, problem->k);
    if (a_line.zero || b_line.zero || a_line.irregular || b_line.irregular)
        return (struct sample){.need = -1e9};
    struct sample sample = {
        .widths = {a_line.exponent - a_line.lowest, b_line.exponent - b_line.lowest}};
    int64_t a_base = ulp_wide_line(a, place.batch, place.i),
            b_base = ulp_wide_line(b, place.batch, place.j);
    double sum = 0;
    for (size_t k = 0; k < problem->k; k++) {
        struct ulp_wide_number x, y;
        ulp_wide_read(&x, a->tensor, a_base + a->k_offset[k]);
        ulp_wide_read(&y, b->tensor, b_base + b->k_offset[k]);
        sum += scaled(&x, a_line.exponent) * scaled(&y, b_line.exponent);
    }
    int exponent;
    frexp(sum, &exponent);
    sample.need = fabs(sum) < 0x1p-46 * (double)problem->k ? INFINITY : 1 - exponent;
    return sample;
}

static int compare_doubles(const void *x, const void *y)
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
    struct sample items[SAMPLES_MAX];
};

ULP_WORK(look_at_samples)
{
    struct samples *samples = context;
    const struct ulp_contraction *problem = &samples->call->problem;
    const size_t outputs = problem->batch_count * problem->m * problem->n;
    for (size_t i = first; i < last; i++) {
        /* Places spread over the outputs by the golden ratio, so that no stride repeats rows or
         * columns. */
        size_t output =
            (size_t)((unsigned __int128)(0x9e3779b97f4a7c15u * (i + 1)) * outputs >> 64);
        samples->items[i] =
            look_at_factors(samples->call, (struct ulp_wide_place){output / problem->n / problem->m,
                                                                   output / problem->n % problem->m,
                                                                   output % problem->n});
    }
    return ULP_OK;
}

/* The number of bits that all but a few outputs' sums lie below their lines' scales, of those that
 * can be estimated, INFINITY when most cannot; and how wide the lines are. The others, sums of zero
 * mostly, as sines over a mirrored signal have, are computed exactly one by one whatever the plan
 * is. */
static double find_need(const struct ulp_wide_call *call, int widths[2])
{
    const size_t count = ulp_wide_sample_count(&call->problem);
    struct samples samples = {.call = call};
    double needs[SAMPLES_MAX];
    size_t estimated = 0;
    /* never fails */
    ulp_parallel_for(call->pool, count, ulp_grain(20 * (double)call->problem.k + 1),
                     look_at_samples, &samples, NULL);
    widths[0] = widths[1] = 1;
    for (size_t i = 0; i < count; i++) {
        if (samples.items[i].need != INFINITY)
            needs[estimated++] = samples.items[i].need;
        for (int side = 0; side < 2; side++) {
            const int64_t width = samples.items[i].widths[side];
            const int limited = width < WIDTH_MAX ? (int)width : WIDTH_MAX;
            widths[side] = limited > widths[side] ? limited : widths[side];
        }
    }
    if (estimated < (count + 3) / 4)
        return INFINITY;
    qsort(needs, estimated, sizeof needs[0], compare_doubles);
    const double need = needs[estimated - 1 - estimated / 32];
    return need < 0 ? 0 : need;
}

static int ceil_log2(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return fraction == 0.5 ? exponent - 1 : exponent;
}

/* The bound of digit/product.c on integer digits, from above, as bits of the sum's scale that are
 * below the error. */
static bool choose_positions(struct ulp_wide_plan *plan, int wanted_bits)
{
    for (int d = 1; d <= ULP_WIDE_POSITIONS_MAX - 2; d++) {
        int error_bits = ceil_log2((double)plan->k * (d + 2) + 2) + 2;
        plan->positions = d;
        if (52 * d - error_bits >= wanted_bits)
            return true;
    }
    return false;
}

/* Elements that a tile adds in one call: some digits of them stay in the second-level cache. */
static size_t block_of(int digits)
{
    const size_t block = 2048 / (size_t)digits;
    return block > 256 ? 256 : block < 32 ? 32 : block;
}

/* Sums of one position must fit 64 bits, signed, over all of k; those of double digits are bounded
 * in scheme.c.
 *
 * Integer digits. A call of the tile (a flush) adds up to ulp_wide_addends_max halves to a
 * position: it leaves less than 2^52 there, and carries less than 2^64 / 2^52 = 2^12 to the
 * position above. A block of k has at most 2 positions - 1 terms of k_block halves for a position.
 * With block_of's k_block all of them fit one call up to 64 positions, and 128 of
 * them do beyond: `flushes` is no less than the calls. F flushes leave |sum| < F (2^52 + 2^12). The
 * end (product.c) adds a constant below 2^52 + 2^26, subtracts half the sums of both lines' digits,
 * below 2^52 each (at position 0 below k), and the carry from the position below, at most 2^-52 of
 * what is there: together less than (F + 5) 2^52, which is below 2^63 for F <= 2043. Half of that
 * is allowed, for k below 2^18. */
#define FLUSHES_MAX 1024
static bool fits(const struct ulp_wide_plan *plan)
{
    const size_t positions = (size_t)plan->positions;
    const size_t most = ulp_wide_addends_max(true, 0);
    const size_t flushes =
        (plan->k / plan->k_block + 1) * (positions * 2 * plan->k_block / most + 1);
    return flushes < FLUSHES_MAX;
}

static bool plan_integers(struct ulp_wide_plan *plan, int wanted_bits)
{
    if (!choose_positions(plan, wanted_bits))
        return false;
    plan->k_block = block_of(plan->positions);
    return fits(plan);
}

static bool plan_doubles(struct ulp_wide_plan *plan, int wanted_bits, const int widths[2])
{
    const size_t block = block_of(1 + wanted_bits / 22);
    plan->k_block = block < plan->k ? block : plan->k;
    plan->positions =
        ulp_wide_scheme_choose(&plan->scheme,
                               &(struct ulp_wide_need){.bits = wanted_bits,
                                                       .widths = {widths[0], widths[1]},
                                                       .k = plan->k,
                                                       .k_block = plan->k_block});
    return plan->positions > 0;
}

bool ulp_wide_plan_make(struct ulp_wide_plan *plan, const struct ulp_wide_call *call,
                        const struct ulp_wide_tile *tile)
{
    const struct ulp_contraction *problem = &call->problem;
    *plan = (struct ulp_wide_plan){.tile = tile, .k = problem->k};
    plan->special = ulp_wide_is_special_side(call, 0) || ulp_wide_is_special_side(call, 1);
    int widths[2];
    const double need = find_need(call, widths);
    if (need > 4 * ULP_MPFR_PRECISION_MAX)
        return false;
    const int wanted_bits =
        call->precision + (tile->integer ? GUARD_BITS : DOUBLE_GUARD_BITS) + (int)need;
    if (!(tile->integer ? plan_integers(plan, wanted_bits)
                        : plan_doubles(plan, wanted_bits, widths)))
        return false;
    const size_t most = (size_t)64 << 20;
    return ulp_wide_panel_data_bytes(plan, 0, ULP_WIDE_COLUMNS_MAX) <= most &&
           ulp_wide_panel_data_bytes(plan, 1, ULP_WIDE_COLUMNS_MAX) <= most;
}
