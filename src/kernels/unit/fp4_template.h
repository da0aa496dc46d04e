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

/* Exp and Sig of scales, `step` apart, as the unit reads them; NaN stays NaN. */
TARGET ULP_VECTORISE static void NAME(split, SUFFIX)(int64_t *exponent, double *significand,
                                                     const float *scale, ptrdiff_t step,
                                                     size_t count, int emin)
{
    for (size_t j = 0; j < count; j++) {
        const float x = scale[(ptrdiff_t)j * step];
        const int e = (int)(ulp_float_bits(x) >> 23 & 255) - 127;
        exponent[j] = x > 0 && e > emin ? e : emin;
        significand[j] = (double)x * ulp_double_from((uint64_t)(1023 - exponent[j]) << 52);
    }
}

/* A group of columns that lie `step` apart: elements, [used][COLUMNS], and which are not zero. */
TARGET ULP_VECTORISE static void NAME(read, SUFFIX)(int16_t *out, int64_t *nonzero, const float *x,
                                                    ptrdiff_t step, const int64_t *k, size_t used,
                                                    size_t count)
{
    for (size_t j = 0; j < count; j++)
        nonzero[j] = 0;
    for (size_t i = 0; i < used && step == 1; i++)
        for (size_t j = 0; j < count; j++)
            nonzero[j] |= (int64_t)read_element(&out[i * COLUMNS + j], x[k[i] + (ptrdiff_t)j]) << i;
    for (size_t j = 0; j < count && step != 1; j++)
        for (size_t i = 0; i < used; i++)
            nonzero[j] |=
                (int64_t)read_element(&out[i * COLUMNS + j], x[k[i] + (ptrdiff_t)j * step]) << i;
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
        shorts sum[GROUPS];
        for (size_t g = 0; g < count; g++)
            if (width == GROUP)
                NAME(sum_group, SUFFIX)
        (&sum[g], row->twice + (first + g) * GROUP, panel->twice + (first + g) * GROUP, GROUP);
        else NAME(sum_group, SUFFIX)(&sum[g], row->twice + (first + g) * width,
                                     panel->twice + (first + g) * width, width);
        for (int part = 0; part < PARTS; part++) {
            doubles term[GROUPS];
            longs exponent[GROUPS], e = (longs)c[part] >> 52 & 2047;
            e -= 1023;
            const longs above = e > -126;
            e = (e & above) | (-126 & ~above);
            const longs there = c[part] != 0;
            e = (e & there) | (LOWEST & ~there);
            for (size_t g = 0; g < count; g++) {
                const size_t at = first + g;
                const struct scales *s = &panel->scales[at];
                const shorts8 *own = (const shorts8 *)&sum[g] + part;
                const longs meets = (s->nonzero[part] & row->nonzero[at]) != 0;
                term[g] = __builtin_convertvector(*own, doubles) *
                          (s->significand[part] * row->significand[at]);
                exponent[g] = ((s->exponent[part] + row->exponent[at]) & meets) | (LOWEST & ~meets);
                const longs more = exponent[g] > e;
                e = (exponent[g] & more) | (e & ~more);
            }
            doubles whole = c[part] * (doubles)((FRACTION_BITS + 1023 - e) << 52);
            NAME(truncate, SUFFIX)(&whole);
            for (size_t g = 0; g < count; g++) {
                term[g] *= (doubles)((exponent[g] - e + (FRACTION_BITS - 2 + 1023)) << 52);
                NAME(truncate, SUFFIX)(&term[g]);
                whole += term[g];
            }
            NAME(convert, SUFFIX)(&whole, &e);
            c[part] = whole;
        }
    }
    memcpy(total, c, sizeof c);
}

static const struct loops NAME(loops, SUFFIX) = {NAME(run, SUFFIX), NAME(split, SUFFIX),
                                                 NAME(read, SUFFIX)};

#undef NAME
#undef NAME_OF
