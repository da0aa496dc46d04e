/* Chains of FP4 blocks for one row and ULP_UNIT_COLUMNS columns, in vectors that the compiler makes
 * of what the target has. Included once for each target, TARGET and SUFFIX set. */

#define NAME_OF(name, suffix) name##_##suffix
#define NAME(name, suffix) NAME_OF(name, suffix)

/* Toward zero to an integer, |x| < 2^51: to nearest by adding 2^52, then back where that went up.
 */
TARGET static inline __attribute__((always_inline)) void NAME(truncate, SUFFIX)(doubles *x)
{
    const longs sign = (longs)*x & INT64_MIN;
    const doubles magnitude = (doubles)((longs)*x & INT64_MAX);
    doubles whole = (magnitude + 0x1p52) - 0x1p52;
    whole -= (doubles)((longs)(doubles){1, 1, 1, 1, 1, 1, 1, 1} & (whole > magnitude));
    *x = (doubles)((longs)whole | sign);
}

/* sum * 2^(e - F) to 24 bits, toward zero; subnormals are kept, zero is +0. */
TARGET static inline __attribute__((always_inline)) void NAME(convert, SUFFIX)(doubles *sum,
                                                                               const longs *e)
{
    const doubles value = *sum * (doubles)((*e + (1023 - FRACTION_BITS)) << 52);
    const doubles magnitude = (doubles)((longs)value & INT64_MAX);
    const doubles cut = (doubles)((longs)value & ~(longs)((longs){0} + 0x1FFFFFFF));
    doubles small = value * 0x1p149;
    NAME(truncate, SUFFIX)(&small);
    small *= 0x1p-149;
    const longs is_small = magnitude < 0x1p-126, is_large = magnitude >= 0x1p128;
    const longs infinity = (longs)((doubles){0} + INFINITY) | ((longs)value & INT64_MIN);
    longs bits = ((longs)small & is_small) | ((longs)cut & ~is_small);
    bits = (infinity & is_large) | (bits & ~is_large);
    bits = ((longs)value & (value != value)) | (bits & ~(value != value)); /* NaN */
    *sum = (doubles)bits + 0.0;
}

/* Exp and Sig of scales as the unit reads them, where NaN stays NaN; elements, and which of them
 * are not zero. */
TARGET ULP_VECTORISE static void NAME(read, SUFFIX)(struct line out, size_t apart,
                                                    const struct source *from, size_t count)
{
    int16_t *restrict const nonzero = out.nonzero, *restrict const exponent = out.exponent;
    float *restrict const significand = out.significand;
    const int64_t *const k = from->k;
    for (size_t j = 0; j < count; j++) {
        const float x = from->scale[(ptrdiff_t)j * from->scale_step];
        const int own = (int)(ulp_float_bits(x) >> 23 & 255) - 127,
                  e = x > 0 && own > from->emin ? own : from->emin;
        const uint32_t down = (uint32_t)(127 - e) << 23; /* 2^-e; 2^-127 is subnormal */
        exponent[j] = (int16_t)e;
        significand[j] = x * ulp_float_from(down > 0x400000 ? down : 0x400000);
        nonzero[j] = 0;
    }
    for (size_t i = 0; i < from->used && from->step == 1; i++) {
        const float *const x = from->x + k[i];
        int16_t *restrict const twice = out.twice + i * apart;
        for (size_t j = 0; j < count; j++)
            nonzero[j] |= (int16_t)(read_element(&twice[j], x[j]) << i);
    }
    for (size_t j = 0; j < count && from->step != 1; j++) {
        const float *const x = from->x + (ptrdiff_t)j * from->step;
        int found = 0;
        for (size_t i = 0; i < from->used; i++)
            found |= read_element(&out.twice[i * apart + j], x[k[i]]) << i;
        nonzero[j] = (int16_t)found;
    }
    for (size_t j = 0; j < count; j++)
        nonzero[j] = significand[j] != 0 ? nonzero[j] : 0;
}

/* The exact sum of a group's products in quarters, all columns. */
TARGET static inline __attribute__((always_inline)) void NAME(sum_group,
                                                              SUFFIX)(shorts *out, const int16_t *a,
                                                                      const shorts *b, size_t width)
{
    shorts sum = a[0] * b[0];
    for (size_t i = 1; i < width; i++)
        sum += a[i] * b[i];
    *out = sum;
}

TARGET static void NAME(run, SUFFIX)(const struct line *row, const struct panel *panel,
                                     size_t group_count, size_t width, double *total)
{
    doubles c[PARTS];
    memset(c, 0, sizeof c);
    for (size_t first = 0; first < group_count; first += GROUPS) {
        const size_t count = group_count - first < GROUPS ? group_count - first : GROUPS;
        shorts exponent[GROUPS], top = (shorts){0} + LOWEST;
        floats term[GROUPS][2]; /* exact */
        for (size_t g = 0; g < count; g++) {
            const size_t at = first + g;
            shorts sum;
            if (width == GROUP)
                NAME(sum_group, SUFFIX)
            (&sum, row->twice + at * GROUP, panel->twice + at * GROUP, GROUP);
            else NAME(sum_group, SUFFIX)(&sum, row->twice + at * width, panel->twice + at * width,
                                         width);
            const shorts meets = (panel->nonzero[at] & row->nonzero[at]) != 0;
            exponent[g] = ((panel->exponent[at] + row->exponent[at]) & meets) | (LOWEST & ~meets);
            const shorts more = exponent[g] > top;
            top = (exponent[g] & more) | (top & ~more);
            for (int half = 0; half < 2; half++)
                term[g][half] = __builtin_convertvector(((const shorts16 *)&sum)[half], floats) *
                                (panel->significand[at][half] * row->significand[at]);
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
            NAME(truncate, SUFFIX)(&whole);
            for (size_t g = 0; g < count; g++) {
                const longs own =
                    __builtin_convertvector(((const shorts8 *)&exponent[g])[part], longs);
                doubles whole_term =
                    __builtin_convertvector(((const floats8 *)term[g])[part], doubles) *
                    (doubles)((own - e + (FRACTION_BITS - 2 + 1023)) << 52);
                NAME(truncate, SUFFIX)(&whole_term);
                whole += whole_term;
            }
            NAME(convert, SUFFIX)(&whole, &e);
            c[part] = whole;
        }
    }
    memcpy(total, c, sizeof c);
}

static const struct loops NAME(loops, SUFFIX) = {NAME(run, SUFFIX), NAME(read, SUFFIX)};

#undef NAME
#undef NAME_OF
