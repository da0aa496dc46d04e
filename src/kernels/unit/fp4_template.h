/* Chains of FP4 blocks for one row and ULP_UNIT_COLUMNS columns, in vectors that the compiler makes
 * of what the target has. Included by base/machine/each_cpu_template.h. */

/* Toward zero to an integer, |x| < 2^51: to nearest by adding 2^52, then back where that went up.
 */
ATTRIBUTES static inline __attribute__((always_inline)) void NAMED(truncate)(doubles *x)
{
    const longs sign = (longs)*x & INT64_MIN;
    const doubles magnitude = (doubles)((longs)*x & INT64_MAX);
    doubles whole = (magnitude + 0x1p52) - 0x1p52;
    whole -= (doubles)((longs)(doubles){1, 1, 1, 1, 1, 1, 1, 1} & (whole > magnitude));
    *x = (doubles)((longs)whole | sign);
}

/* sum * 2^(e - F) to 24 bits, toward zero; subnormals are kept, zero is +0. */
ATTRIBUTES static inline __attribute__((always_inline)) void NAMED(convert)(doubles *sum,
                                                                            const longs *e)
{
    const doubles value = *sum * (doubles)((*e + (1023 - FRACTION_BITS)) << 52);
    const doubles magnitude = (doubles)((longs)value & INT64_MAX);
    const doubles cut = (doubles)((longs)value & ~(longs)((longs){0} + 0x1FFFFFFF));
    doubles small = value * 0x1p149;
    NAMED(truncate)(&small);
    small *= 0x1p-149;
    const longs is_small = magnitude < 0x1p-126, is_large = magnitude >= 0x1p128;
    const longs infinity = (longs)((doubles){0} + INFINITY) | ((longs)value & INT64_MIN);
    longs bits = ((longs)small & is_small) | ((longs)cut & ~is_small);
    bits = (infinity & is_large) | (bits & ~is_large);
    bits = ((longs)value & (value != value)) | (bits & ~(value != value)); /* NaN */
    *sum = (doubles)bits + 0.0;
}

ATTRIBUTES ULP_VECTORISE static void NAMED(twice)(int16_t *restrict out, const float *restrict x,
                                                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (int16_t)(int32_t)(x[i] == x[i] ? 2 * x[i] : 0);
}

/* Elements and scales, and what bounds those of a line. At most COLUMNS of them. */
ATTRIBUTES ULP_VECTORISE static void NAMED(read)(struct line out, size_t apart,
                                                 const struct source *from, size_t count,
                                                 int32_t *restrict low, int32_t *restrict high)
{
    int16_t any[COLUMNS];
    float *restrict const scale = out.scale;
    const int64_t *const k = from->k;
    for (size_t j = 0; j < count; j++)
        any[j] = 0;
    for (size_t i = 0; i < from->used && from->step == 1; i++) {
        const int16_t *const x = from->x + k[i];
        int16_t *restrict const twice = out.twice + i * apart;
        for (size_t j = 0; j < count; j++) {
            twice[j] = x[j];
            any[j] |= twice[j];
        }
    }
    for (size_t j = 0; j < count && from->step != 1; j++) {
        const int16_t *const x = from->x + (ptrdiff_t)j * from->step;
        for (size_t i = 0; i < from->used; i++) {
            const int16_t twice = x[k[i]];
            out.twice[i * apart + j] = twice;
            any[j] |= twice;
        }
    }
    if (from->scale_step == 1) /* a constant that loops are made for */
        memcpy(scale, from->scale, count * sizeof *scale);
    for (size_t j = 0; j < count && from->scale_step != 1; j++)
        scale[j] = from->scale[(ptrdiff_t)j * from->scale_step];
    for (size_t j = 0; j < count; j++) {
        const int32_t bits = (int32_t)(ulp_float_bits(scale[j]) & 0x7FFFFFFF),
                      least = any[j] ? bits : INT32_MAX;
        low[j] = least < low[j] ? least : low[j];
        high[j] = bits > high[j] ? bits : high[j];
    }
}

/* Exp and Sig of scales as the unit reads them, where NaN stays NaN, and which elements are not
 * zero. */
ATTRIBUTES ULP_VECTORISE static void NAMED(split)(struct parts out, struct line line, size_t apart,
                                                  size_t used, int emin, size_t count)
{
    int16_t *restrict const nonzero = out.nonzero, *restrict const exponent = out.exponent;
    float *restrict const significand = out.significand;
    for (size_t j = 0; j < count; j++) {
        const float x = line.scale[j];
        const int own = (int)(ulp_float_bits(x) >> 23 & 255) - 127,
                  e = x > 0 && own > emin ? own : emin;
        const uint32_t down = (uint32_t)(127 - e) << 23; /* 2^-e; 2^-127 is subnormal */
        exponent[j] = (int16_t)e;
        significand[j] = x * ulp_float_from(down > 0x400000 ? down : 0x400000);
        nonzero[j] = 0;
    }
    for (size_t i = 0; i < used; i++)
        for (size_t j = 0; j < count; j++)
            nonzero[j] |= (int16_t)((line.twice[i * apart + j] != 0) << i);
    for (size_t j = 0; j < count; j++)
        nonzero[j] = significand[j] != 0 ? nonzero[j] : 0;
}

/* The exact sum of a group's products in quarters, all columns. */
ATTRIBUTES static inline __attribute__((always_inline)) void NAMED(sum_group)(shorts *out,
                                                                              const int16_t *a,
                                                                              const shorts *b,
                                                                              size_t width)
{
    shorts sum = a[0] * b[0];
    for (size_t i = 1; i < width; i++)
        sum += a[i] * b[i];
    *out = sum;
}

ATTRIBUTES static inline __attribute__((always_inline)) void NAMED(sum_of)(
    shorts *out, const struct row *row, const struct panel *panel, size_t at)
{
    const size_t width = row->width;
    if (width == GROUP)
        NAMED(sum_group)
    (out, row->line.twice + at * GROUP, panel->twice + at * GROUP, GROUP);
    else NAMED(sum_group)(out, row->line.twice + at * width, panel->twice + at * width, width);
}

/* Sums from which nothing is cut but what their 24 bits do not hold (is_plain). */
ATTRIBUTES static bool NAMED(run_plain)(const struct row *row, const struct panel *panel, int top,
                                        double *total)
{
    doubles c[PARTS];
    longs over = {0};
    const int64_t limit = (int64_t)(top + 1023) << 52;
    memset(c, 0, sizeof c);
    for (size_t first = 0; first < row->group_count; first += GROUPS) {
        const size_t left = row->group_count - first,
                     last = first + (left < GROUPS ? left : GROUPS);
        for (size_t at = first; at < last; at++) {
            shorts sum;
            if (!row->used[at])
                continue;
            NAMED(sum_of)(&sum, row, panel, at);
            for (int half = 0; half < 2; half++) {
                const floats term =
                    __builtin_convertvector(((const shorts16 *)&sum)[half], floats) *
                    (panel->scale[at][half] * (0.25F * row->line.scale[at]));
                for (int part = 0; part < 2; part++)
                    c[2 * half + part] +=
                        __builtin_convertvector(((const floats8 *)&term)[part], doubles);
            }
        }
        for (int part = 0; part < PARTS; part++) {
            c[part] = (doubles)((longs)c[part] & ~(longs)((longs){0} + 0x1FFFFFFF));
            over |= limit - 1 - ((longs)c[part] & INT64_MAX);
        }
    }
    memcpy(total, c, sizeof c);
    int64_t sign = 0;
    for (int lane = 0; lane < LANES; lane++)
        sign |= over[lane];
    return sign >= 0;
}

ATTRIBUTES static void NAMED(run)(const struct row *row, const struct panel *panel, double *total)
{
    doubles c[PARTS];
    memset(c, 0, sizeof c);
    for (size_t first = 0; first < row->group_count; first += GROUPS) {
        const size_t left = row->group_count - first,
                     last = first + (left < GROUPS ? left : GROUPS);
        size_t count = 0;
        shorts exponent[GROUPS], top = (shorts){0} + LOWEST;
        floats term[GROUPS][2]; /* exact */
        for (size_t at = first; at < last; at++) {
            shorts sum;
            if (!row->used[at])
                continue;
            const size_t g = count++;
            NAMED(sum_of)(&sum, row, panel, at);
            const shorts meets = (panel->nonzero[at] & row->parts.nonzero[at]) != 0;
            exponent[g] =
                ((panel->exponent[at] + row->parts.exponent[at]) & meets) | (LOWEST & ~meets);
            const shorts more = exponent[g] > top;
            top = (exponent[g] & more) | (top & ~more);
            for (int half = 0; half < 2; half++)
                term[g][half] = __builtin_convertvector(((const shorts16 *)&sum)[half], floats) *
                                (panel->significand[at][half] * row->parts.significand[at]);
        }
        for (int part = 0; part < PARTS; part++) {
            longs e = (longs)c[part] >> 52 & 2047;
            e -= 1023;
            const longs above = e > -126;
            e = (e & above) | (-126 & ~above);
            const longs there = c[part] != 0,
                        tops = __builtin_convertvector(((const shorts8 *)&top)[part], longs);
            e = (e & there) | (LOWEST & ~there);
            const longs more = tops > e;
            e = (tops & more) | (e & ~more);
            doubles whole = c[part] * (doubles)((FRACTION_BITS + 1023 - e) << 52);
            NAMED(truncate)(&whole);
            for (size_t g = 0; g < count; g++) {
                const longs own =
                    __builtin_convertvector(((const shorts8 *)&exponent[g])[part], longs);
                doubles whole_term =
                    __builtin_convertvector(((const floats8 *)term[g])[part], doubles) *
                    (doubles)((own - e + (FRACTION_BITS - 2 + 1023)) << 52);
                NAMED(truncate)(&whole_term);
                whole += whole_term;
            }
            NAMED(convert)(&whole, &e);
            c[part] = whole;
        }
    }
    memcpy(total, c, sizeof c);
}

static const struct loops NAMED(loops) = {NAMED(run), NAMED(run_plain), NAMED(twice), NAMED(read),
                                          NAMED(split)};
