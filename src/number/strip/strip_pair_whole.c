/* Integer parts of pairs with a bound, and numbers of MPFR as such. */
#include "number/strip/strip_pair.h"

struct ulp_strip_pair ulp_strip_pair_from(const mpfr_t x)
{
    struct ulp_double_pair pair;
    bool exact;
    if (!ulp_pair_set(&pair, x, &exact))
        return ulp_strip_pair_unknown();
    return (struct ulp_strip_pair){pair.high, pair.low, exact ? 0 : 0x1p-53 * fabs(pair.low) + 0x1p-1074};
}

/* The next integer at or below x, x having no error. */
static struct ulp_strip_pair floor_of(struct ulp_strip_pair x)
{
    struct ulp_strip_pair y = {floor(x.high), 0, 0};
    if (y.high == x.high && x.low != 0)
        y.high = ulp_pair_join(x.high, floor(x.low), &y.low);
    return y;
}
static struct ulp_strip_pair ceil_of(struct ulp_strip_pair x)
{
    return ulp_strip_pair_negate(floor_of(ulp_strip_pair_negate(x)));
}
static struct ulp_strip_pair trunc_of(struct ulp_strip_pair x)
{
    return signbit(x.high) ? ceil_of(x) : floor_of(x);
}
/* To the nearest, ties to even. */
static struct ulp_strip_pair round_of(struct ulp_strip_pair x)
{
    if (!isfinite(x.high) || x.high == 0)
        return x;
    const struct ulp_strip_pair below = floor_of(x);
    struct ulp_strip_pair above = below, middle = below;
    double rest;
    above.high = ulp_pair_add(below.high, 1, &rest);
    above.high = ulp_pair_join(above.high, rest + below.low, &above.low);
    middle.high = ulp_pair_add(below.high, 0.5, &rest);
    middle.high = ulp_pair_join(middle.high, rest + below.low, &middle.low);
    const bool odd = (fmod(below.high, 2) != 0) != (fmod(below.low, 2) != 0);
    const bool up = ulp_strip_pair_less(&middle, &x) || (!ulp_strip_pair_less(&x, &middle) && odd);
    struct ulp_strip_pair y = up ? above : below;
    y.high = y.high == 0 ? copysign(0, x.high) : y.high;
    return y;
}

/* Is x, within its error, on one side of `edge` plus any integer? */
static bool is_clear(const struct ulp_strip_pair *x, double edge)
{
    const struct ulp_strip_pair below = floor_of(*x);
    const double over = (x->high - below.high) + (x->low - below.low), error = x->error + 0x1p-50;
    if (x->error == 0 || (!isfinite(x->high) && x->error < INFINITY))
        return true;
    if (edge != 0)
        return fabs(over - edge) > error;
    return over > x->error * (1 + 0x1p-40) && 1 - over > error;
}

static struct ulp_strip_pair whole(struct ulp_strip_pair x, double edge,
                                   struct ulp_strip_pair (*function)(struct ulp_strip_pair))
{
    if (!is_clear(&x, edge))
        return ulp_strip_pair_unknown();
    x.error = 0;
    return function(x);
}

struct ulp_strip_pair ulp_strip_pair_floor(struct ulp_strip_pair x)
{
    return whole(x, 0, floor_of);
}
struct ulp_strip_pair ulp_strip_pair_ceil(struct ulp_strip_pair x)
{
    return whole(x, 0, ceil_of);
}
struct ulp_strip_pair ulp_strip_pair_truncate(struct ulp_strip_pair x)
{
    return whole(x, 0, trunc_of);
}
struct ulp_strip_pair ulp_strip_pair_round(struct ulp_strip_pair x)
{
    return whole(x, 0.5, round_of);
}
