/* One output by exact fixed-point summation, Kulisch's long accumulator: products of limbs are
 * added into a window that holds every bit from the highest to the lowest any of them can have,
 * positive and negative ones apart. Infinities and NaN are settled here too. */
#include "kernels/exact/number.h"
#include "kernels/exact/parts.h"

#include "base/error.h"
#include "base/memory/alloc.h"

_Static_assert(GMP_NUMB_BITS == 64, "limbs of 64 bits");

/* Wider windows (exponents spread over 2^16 and more) go to ULP_WIDE_SUM. */
#define WINDOW_LIMBS 1024
#define FACTOR_LIMBS (ULP_MPFR_PRECISION_MAX / 64)
#define EXPONENT_MAX ((int64_t)1 << 60)

struct ulp_wide_kulisch {
    struct ulp_wide_sum *sum; /* created when first needed */
    mp_limb_t positive[WINDOW_LIMBS], negative[WINDOW_LIMBS];
};

/* What a first look at the products of one output says. */
struct outlook {
    bool any, nan, far;      /* a product that is not zero; NaN; exponents beyond EXPONENT_MAX */
    bool infinity[2];        /* by sign */
    int64_t highest, lowest; /* every product is below 2^highest and a multiple of 2^lowest */
};

enum ulp_status ulp_wide_kulisch_create(struct ulp_wide_kulisch **out, struct ulp_budget *scratch,
                                        struct ulp_error *error)
{
    void *memory;
    *out = NULL;
    ULP_TRY(ulp_allocate(&memory, 1, sizeof **out, scratch, "a window of exact summation", error));
    *out = memory;
    (*out)->sum = NULL;
    return ULP_OK;
}

void ulp_wide_kulisch_free(struct ulp_wide_kulisch *kulisch)
{
    if (!kulisch)
        return;
    ulp_wide_sum_free(kulisch->sum);
    ulp_free(kulisch);
}

/* Reads element k of both lines; false: padding, there is no such product. */
static bool read_pair(struct ulp_wide_number *x, struct ulp_wide_number *y,
                      const struct ulp_contraction *problem, int64_t a_line, int64_t b_line,
                      size_t k)
{
    int64_t a_element = a_line + problem->a.k_offset[k],
            b_element = b_line + problem->b.k_offset[k];
    if (ulp_factor_is_padding(&problem->a, a_element) ||
        ulp_factor_is_padding(&problem->b, b_element))
        return false;
    ulp_wide_read(x, problem->a.tensor, a_element);
    ulp_wide_read(y, problem->b.tensor, b_element);
    return true;
}

static bool is_regular_pair(const struct ulp_wide_number *x, const struct ulp_wide_number *y)
{
    return x->kind == MPFR_REGULAR_KIND && y->kind == MPFR_REGULAR_KIND;
}

static bool is_nan(const struct outlook *outlook)
{
    return outlook->nan || (outlook->infinity[0] && outlook->infinity[1]);
}

/* Ends early when the sum is NaN. */
static struct outlook look_at_products(const struct ulp_contraction *problem, int64_t a_line,
                                       int64_t b_line)
{
    struct outlook outlook = {.highest = INT64_MIN, .lowest = INT64_MAX};
    for (size_t k = 0; k < problem->k && !is_nan(&outlook); k++) {
        struct ulp_wide_number x, y;
        if (!read_pair(&x, &y, problem, a_line, b_line, k))
            continue;
        if (is_regular_pair(&x, &y)) {
            outlook.any = true;
            outlook.far |= llabs(x.exponent) > EXPONENT_MAX || llabs(y.exponent) > EXPONENT_MAX;
            int64_t high = x.exponent + y.exponent,
                    low = high - 64 * (int64_t)(x.limb_count + y.limb_count);
            outlook.highest = high > outlook.highest ? high : outlook.highest;
            outlook.lowest = low < outlook.lowest ? low : outlook.lowest;
        } else if (x.kind == MPFR_NAN_KIND || y.kind == MPFR_NAN_KIND ||
                   (x.kind == MPFR_INF_KIND && y.kind == MPFR_ZERO_KIND) ||
                   (x.kind == MPFR_ZERO_KIND && y.kind == MPFR_INF_KIND)) {
            outlook.nan = true;
        } else if (x.kind == MPFR_INF_KIND || y.kind == MPFR_INF_KIND) {
            outlook.infinity[x.negative != y.negative] = true;
        }
    }
    return outlook;
}

/* product = x * y, of x_count + y_count limbs. */
static void multiply_limbs(mp_limb_t *product, const mp_limb_t *x, int x_count, const mp_limb_t *y,
                           int y_count)
{
    if (x_count == 1 && y_count == 1) {
        unsigned __int128 p = (unsigned __int128)x[0] * y[0];
        product[0] = (mp_limb_t)p;
        product[1] = (mp_limb_t)(p >> 64);
    } else if (x_count >= y_count) {
        mpn_mul(product, x, x_count, y, y_count);
    } else {
        mpn_mul(product, y, y_count, x, x_count);
    }
}

/* window += product << offset. The window is wide enough that the carry ends inside. */
static void add_at(mp_limb_t *window, mp_limb_t *product, int count, uint64_t offset)
{
    mp_limb_t *limb = window + offset / 64;
    unsigned shift = offset % 64;
    product[count] = shift ? mpn_lshift(product, product, count, shift) : 0;
    mp_limb_t carry = mpn_add_n(limb, limb, product, count + 1);
    for (limb += count + 1; carry; limb++)
        carry = ++*limb == 0;
}

/* Limbs whose low end is zero are cut off: short values cost little in long records. */
static void shorten(struct ulp_wide_number *x)
{
    while (x->limb_count > 1 && x->limbs[0] == 0) {
        x->limbs++;
        x->limb_count--;
    }
}

static void add_products(struct ulp_wide_kulisch *kulisch, const struct ulp_contraction *problem,
                         int64_t a_line, int64_t b_line, int64_t lowest)
{
    mp_limb_t product[2 * FACTOR_LIMBS + 1];
    for (size_t k = 0; k < problem->k; k++) {
        struct ulp_wide_number x, y;
        if (!read_pair(&x, &y, problem, a_line, b_line, k) || !is_regular_pair(&x, &y))
            continue;
        shorten(&x);
        shorten(&y);
        int count = x.limb_count + y.limb_count;
        multiply_limbs(product, x.limbs, x.limb_count, y.limbs, y.limb_count);
        add_at(x.negative != y.negative ? kulisch->negative : kulisch->positive, product, count,
               (uint64_t)(x.exponent + y.exponent - 64 * count - lowest));
    }
}

static enum ulp_status sum_generally(struct ulp_wide_kulisch *kulisch,
                                     const struct ulp_wide_call *call, struct ulp_wide_place place,
                                     struct ulp_error *error)
{
    if (!kulisch->sum)
        ULP_TRY(ulp_wide_sum_create(&kulisch->sum, call, error));
    ulp_wide_sum_element(kulisch->sum, call, place);
    return ULP_OK;
}

enum ulp_status ulp_wide_kulisch_element(struct ulp_wide_kulisch *kulisch,
                                         const struct ulp_wide_call *call,
                                         struct ulp_wide_place place, struct ulp_error *error)
{
    const struct ulp_contraction *problem = &call->problem;
    int64_t a_line = ulp_wide_line(&problem->a, place.batch, place.i);
    int64_t b_line = ulp_wide_line(&problem->b, place.batch, place.j);
    int64_t element = ulp_wide_out(problem, place);
    struct outlook outlook = look_at_products(problem, a_line, b_line);
    if (is_nan(&outlook)) {
        ulp_wide_store_special(call, element, MPFR_NAN_KIND);
        return ULP_OK;
    }
    if (outlook.infinity[0] || outlook.infinity[1]) {
        ulp_wide_store_special(call, element, outlook.infinity[0] ? MPFR_INF_KIND : -MPFR_INF_KIND);
        return ULP_OK;
    }
    if (!outlook.any) {
        ulp_wide_store_special(call, element, MPFR_ZERO_KIND);
        return ULP_OK;
    }
    /* 64 bits of room for the carries of k additions, and a limb for the shifted product's last. */
    if (outlook.far || outlook.highest - outlook.lowest > 64 * (int64_t)(WINDOW_LIMBS - 4))
        return sum_generally(kulisch, call, place, error);
    size_t count = (size_t)(outlook.highest - outlook.lowest) / 64 + 3;
    memset(kulisch->positive, 0, count * sizeof(mp_limb_t));
    memset(kulisch->negative, 0, count * sizeof(mp_limb_t));
    add_products(kulisch, problem, a_line, b_line, outlook.lowest);
    bool negative = mpn_cmp(kulisch->positive, kulisch->negative, (mp_size_t)count) < 0;
    if (negative)
        mpn_sub_n(kulisch->positive, kulisch->negative, kulisch->positive, (mp_size_t)count);
    else
        mpn_sub_n(kulisch->positive, kulisch->positive, kulisch->negative, (mp_size_t)count);
    ulp_wide_round(call, element, kulisch->positive, count, outlook.lowest, negative);
    return ULP_OK;
}
