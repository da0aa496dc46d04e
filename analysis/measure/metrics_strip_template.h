/* The loops of metrics_strip.h for one instruction set: TARGET is its function attribute, WIDTH the
 * doubles of its registers, SUFFIX(name) makes its names. The loops have no branches, so that the
 * compiler vectorises them.
 */

static inline TARGET double SUFFIX(from_bits)(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline TARGET int64_t SUFFIX(to_bits)(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A pair's two doubles are the parts. */
static TARGET void SUFFIX(open_pairs)(struct ulp_metrics_side *restrict side,
                                      const struct ulp_double_pair *restrict pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double high = pairs[i].high, low = pairs[i].low, size = fabs(high);
        const bool easy = (size == 0) | ((size >= 0x1p-801) & (size < 0x1p800));
        side->nearest[i] = high;
        side->high[i] = easy ? high : 0;
        side->middle[i] = easy ? low : 0;
        side->hard[i] = -(int64_t)!easy;
    }
}

/* The higher parts are subtracted exactly (Knuth's two-sum); all that is left is t up to u (two
 * roundings of sums of those magnitudes, and more; none where t is one number), and the sum is
 * decided when both ends of t +- u round to one number, its own; of equal sides it is 0, decided or
 * not. */
static inline __attribute__((always_inline)) TARGET bool SUFFIX(subtract_sides)(
    double *restrict difference, int64_t *restrict undecided, const double *restrict high,
    const struct ulp_metrics_side *a, const struct ulp_metrics_side *b, size_t count)
{
    int64_t any = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = high[i], y = b->high[i], middle = a ? a->middle[i] : 0;
        const double sum = x - y, back = sum - x, rest = (x - (sum - back)) - (y + back);
        const double t = rest + (middle - b->middle[i]);
        const bool one = (rest == 0) & (middle == 0);
        const double u = (one ? 0 : 0x1p-50) * (fabs(rest) + fabs(middle) + fabs(b->middle[i]));
        const double below = sum + (t - u), above = sum + (t + u);
        const int64_t open = -(int64_t) !(below == above) | (a ? a->hard[i] : 0) | b->hard[i];
        difference[i] = sum + t;
        undecided[i] = open;
        any |= open;
    }
    return any == 0;
}

static TARGET bool SUFFIX(subtract)(double *difference, int64_t *undecided,
                                    const struct ulp_metrics_side *a,
                                    const struct ulp_metrics_side *b, size_t count)
{
    return SUFFIX(subtract_sides)(difference, undecided, a->high, a, b, count);
}

static TARGET bool SUFFIX(subtract_from_plain)(double *difference, int64_t *undecided,
                                               const double *a, const struct ulp_metrics_side *b,
                                               size_t count)
{
    return SUFFIX(subtract_sides)(difference, undecided, a, NULL, b, count);
}

/* The largest quotient of finite magnitudes, as its pattern; a base of 0 has none. */
static TARGET int64_t SUFFIX(find_largest_quotient)(const double *restrict base,
                                                    const double *restrict difference,
                                                    const double *restrict ulps, size_t count)
{
    const int64_t one = (int64_t)1023 << 52;
    int64_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t b = SUFFIX(to_bits)(base[i]) & INT64_MAX,
                      some = -(int64_t)((b != 0) & (SUFFIX(to_bits)(ulps[i]) >= 0));
        const double d = SUFFIX(from_bits)(SUFFIX(to_bits)(difference[i]) & INT64_MAX & some);
        const int64_t r = SUFFIX(to_bits)(d / SUFFIX(from_bits)((b & some) | (one & ~some)));
        largest = r > largest ? r : largest;
    }
    return largest;
}

/* Few strips have a quotient above all before: only these divide. Where d / b is more than known,
 * so is d than known * b, and rounding the product leaves it no larger than d. */
static TARGET void SUFFIX(compare)(struct ulp_metrics_summary *out, double *restrict ulps,
                                   const double *restrict value, const double *restrict base,
                                   const double *restrict difference, size_t count, int64_t emin,
                                   int64_t precision, bool units, double known_rel)
{
    const int64_t magnitude_bits = INT64_MAX, infinite = (int64_t)0x7FF << 52;
    const int64_t unit = units ? -1 : 0;
    int64_t max_abs = 0, max_value = 0, max_base = 0, max_ulp = 0, finite_count = 0, more = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t v = SUFFIX(to_bits)(value[i]) & magnitude_bits,
                      b = SUFFIX(to_bits)(base[i]) & magnitude_bits;
        const int64_t d = SUFFIX(to_bits)(difference[i]) & magnitude_bits;
        const int64_t finite = -(int64_t)((v < infinite) & (b < infinite) & (d < infinite));
        const int64_t magnitude = d & finite, own = (b >> 52) - 1023,
                      exponent = own > emin ? own : emin;
        /* 1 / ulp, a power of two */
        const int64_t per_ulp =
            ((int64_t)((uint64_t)(1023 - (exponent - precision + 1)) << 52) & unit) |
            ((int64_t)1023 << 52 & ~unit);
        const double in_ulps = SUFFIX(from_bits)(magnitude) * SUFFIX(from_bits)(per_ulp);
        const int64_t u = SUFFIX(to_bits)(in_ulps), vf = v & finite, bf = b & finite;
        const int64_t reached = SUFFIX(to_bits)(known_rel * SUFFIX(from_bits)(bf));
        ulps[i] = SUFFIX(from_bits)((u & finite) | (SUFFIX(to_bits)(-1.0) & ~finite));
        max_abs = magnitude > max_abs ? magnitude : max_abs;
        max_value = vf > max_value ? vf : max_value;
        max_base = bf > max_base ? bf : max_base;
        max_ulp = u > max_ulp ? u : max_ulp;
        more |= -(int64_t)((magnitude != 0) & (magnitude >= reached));
        finite_count -= finite;
    }
    const int64_t max_rel = more ? SUFFIX(find_largest_quotient)(base, difference, ulps, count) : 0;
    *out =
        (struct ulp_metrics_summary){max_abs, max_value, max_base, max_rel, max_ulp, finite_count};
}

/* As many lanes at a time as a register has, so that all sums stay in registers; each lane's order
 * is the same for any width. */
static TARGET void SUFFIX(sum)(struct ulp_metrics_running *running, double *value, double *base,
                               double *difference, size_t count,
                               const struct ulp_metrics_scales *by)
{
    typedef double lanes __attribute__((vector_size(WIDTH * sizeof(double))));
    size_t end = count;
    for (; end % METRICS_LANES; end++)
        value[end] = base[end] = difference[end] = 0;
    for (size_t first = 0; first < METRICS_LANES; first += WIDTH) {
        lanes sums[5];
        for (int s = 0; s < 5; s++)
            memcpy(&sums[s], running->lanes[s] + first, sizeof sums[s]);
        for (size_t i = first; i < end; i += METRICS_LANES) {
            lanes v, b, d;
            memcpy(&v, value + i, sizeof v);
            memcpy(&b, base + i, sizeof b);
            memcpy(&d, difference + i, sizeof d);
            v *= by->value, b *= by->base, d *= by->difference;
            sums[0] += d, sums[1] += d * d, sums[2] += b * b, sums[3] += v * v, sums[4] += v * b;
        }
        for (int s = 0; s < 5; s++)
            memcpy(running->lanes[s] + first, &sums[s], sizeof sums[s]);
    }
}

static TARGET size_t SUFFIX(magnitudes)(double *x, size_t count, int64_t *max, int64_t *min)
{
    const int64_t infinite = (int64_t)0x7FF << 52;
    int64_t largest = *max, least = *min, finite_count = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t magnitude = SUFFIX(to_bits)(x[i]) & INT64_MAX,
                      finite = -(int64_t)(magnitude < infinite);
        const int64_t some = -(int64_t)(magnitude != 0) & finite, high = magnitude & finite,
                      low = (magnitude & some) | (infinite & ~some);
        x[i] = SUFFIX(from_bits)(magnitude);
        largest = high > largest ? high : largest;
        least = low < least ? low : least;
        finite_count -= finite;
    }
    *max = largest;
    *min = least;
    return (size_t)finite_count;
}

/* Without branches: each value is stored, and passed over unless it is in the range. Those below
 * it, and negative ones, wrap around to beyond the span. */
static TARGET size_t SUFFIX(gather)(double *out, const double *values, size_t count, int64_t least,
                                    int64_t beyond, size_t *below, size_t *negative)
{
    const uint64_t span = (uint64_t)(beyond - least);
    size_t found = 0, under = 0, signs = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t bits = SUFFIX(to_bits)(values[i]);
        out[found] = values[i];
        found += (uint64_t)bits - (uint64_t)least < span;
        under += bits < least;
        signs += (uint64_t)bits >> 63;
    }
    *below += under - signs;
    *negative += signs;
    return found;
}

static TARGET void SUFFIX(widen)(double *restrict out, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (double)x[i];
}

#undef TARGET
#undef WIDTH
#undef SUFFIX
