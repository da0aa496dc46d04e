/* digit: the scale and the lowest bit of lines of floats, against each element's own, however the
 * lines lie: side by side, one after the other, in pieces. Where an instruction set takes lines
 * side by side, their scales against MPFR's and their digits against those of each line by itself.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <check.h>

#include "base/machine/cpu.h"
#include "base/random.h"
#include "kernels/digit/digits.h"
#include "number/mpfr_record.h"
#include "tests/support/test.h"

enum { KS = 200, ELEMENTS = 30000 };

/* Of lines that are not irregular. */
struct expected {
    int exponent, lowest;
    bool zero, irregular;
};

static struct expected look_at(const float *x, int64_t line, const int64_t *offset, size_t k)
{
    struct expected out = {.exponent = INT32_MIN, .lowest = INT32_MAX, .zero = true};
    for (size_t i = 0; i < k; i++) {
        int exponent;
        const float value = x[line + offset[i]];
        (void)frexpf(value, &exponent);
        out.irregular |= !isfinite(value);
        out.zero &= value == 0;
        if (value == 0 || !isfinite(value))
            continue;
        /* a subnormal's exponent is that of the least normal: the scale of all of them */
        const int scale = exponent < -125 ? -125 : exponent;
        /* every bit down to the last of the significand counts, set or not */
        const int lowest = scale - 24;
        out.exponent = scale > out.exponent ? scale : out.exponent;
        out.lowest = lowest < out.lowest ? lowest : out.lowest;
    }
    return out;
}

static float draw(uint64_t i, int kind)
{
    static const float odd[] = {0, -0.0f, 0x1p-149f, -0x1.8p-140f, INFINITY, NAN, -INFINITY};
    const uint64_t bits = ulp_random_bits(1, i);
    if (kind && bits % (kind == 1 ? 40 : 3000) == 0)
        return odd[bits / 4096 % (kind == 1 ? 4 : 7)];
    if (kind == 3)
        return 0;
    return ldexpf((float)(ulp_random_uniform(2, i) - 0.5), (int)(bits / 64 % 30) - 15);
}

START_TEST(lines_have_their_scales)
{
    float *x = malloc(ELEMENTS * sizeof *x);
    int64_t offset[KS], lines[2 * ULP_WIDE_COLUMNS_MAX];
    const int64_t batch[2] = {0, 1000};
    uint64_t draws = 0;
    ck_assert_ptr_nonnull(x);
    for (int round = 0; round < 600; round++) {
        const int kind = round % 4, lie = round / 4 % 3, columns = round / 12 % 2;
        const size_t k = 1 + ulp_random_bits(3, draws++) % KS,
                     count = 1 + ulp_random_bits(3, draws++) % ULP_WIDE_COLUMNS_MAX,
                     first = ulp_random_bits(3, draws++) % ULP_WIDE_COLUMNS_MAX;
        for (size_t i = 0; i < ELEMENTS; i++)
            x[i] = draw((uint64_t)round * ELEMENTS + i, kind);
        /* k far apart or in runs; lines side by side, one behind the other, or with a gap */
        for (size_t i = 0; i < k; i++)
            offset[i] = columns ? (int64_t)i * 100 : (int64_t)(i + i / 70 * 5);
        for (size_t i = 0; i < 2 * ULP_WIDE_COLUMNS_MAX; i++)
            lines[i] = lie == 0 ? (int64_t)i : (int64_t)i * (lie == 1 ? 131 : 1) + (i > 30 ? 2 : 0);
        const int64_t dims = ELEMENTS;
        struct ulp_tensor tensor;
        ck_ok(ulp_tensor_describe(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, &dims, &why));
        tensor.data = x;
        const struct ulp_factor factor = {.tensor = &tensor,
                                          .batch_offset = batch,
                                          .line_offset = lines,
                                          .k_offset = offset};
        const struct ulp_wide_tile tile = {.integer = true};
        const struct ulp_wide_plan plan = {.tile = &tile, .positions = 4, .k = k, .k_block = k};
        struct ulp_wide_panel panel = {.first = first, .count = count, .width = count};
        ulp_wide_measure(&panel, &plan, &factor, (size_t)(round / 24 % 2));
        for (size_t i = 0; i < count; i++) {
            const struct expected expected =
                look_at(x + batch[round / 24 % 2], lines[first + i], offset, k);
            const struct ulp_wide_line *line = &panel.lines[i];
            ck_assert_msg(line->irregular == expected.irregular && line->zero == expected.zero,
                          "round %d, line %zu of %zu: irregular or zero", round, i, count);
            if (!line->irregular && !line->zero)
                ck_assert_msg(line->exponent == expected.exponent &&
                                  line->lowest == expected.lowest,
                              "round %d, line %zu of %zu: %lld to %lld, expected %d to %d", round,
                              i, count, (long long)line->lowest, (long long)line->exponent,
                              expected.lowest, expected.exponent);
        }
    }
    free(x);
}
END_TEST

enum { SIDE_KS = 70, SIDE_ELEMENTS = 4000, DIGITS_MAX = 5 };

/* Of lines of any element: the largest exponent and the lowest bit that is set. */
static struct expected look_at_bits(const mpfr_t *x, int64_t line, const int64_t *offset, size_t k)
{
    struct expected out = {.exponent = INT32_MIN, .lowest = INT32_MAX, .zero = true};
    mpz_t bits;
    mpz_init(bits);
    for (size_t i = 0; i < k; i++) {
        const mpfr_t *value = &x[line + offset[i]];
        out.irregular |= !mpfr_number_p(*value);
        if (!mpfr_regular_p(*value))
            continue;
        const int unit = (int)mpfr_get_z_2exp(bits, *value),
                  lowest = unit + (int)mpz_scan1(bits, 0), exponent = (int)mpfr_get_exp(*value);
        out.zero = false;
        out.exponent = exponent > out.exponent ? exponent : out.exponent;
        out.lowest = lowest < out.lowest ? lowest : out.lowest;
    }
    mpz_clear(bits);
    return out;
}

/* Numbers of few bits and of many, near one another or far apart, zeros of both signs and, by kind,
 * what is not finite. */
static void draw_number(mpfr_t x, uint64_t i, int kind, bool floats)
{
    const uint64_t bits = ulp_random_bits(11, i), spread = kind == 2 ? (floats ? 250 : 900) : 20;
    mpz_t integer;
    mpz_init_set_ui(integer, ulp_random_bits(12, i) | 1);
    if (!floats && bits % 3) {
        mpz_mul_2exp(integer, integer, 64);
        mpz_add_ui(integer, integer, ulp_random_bits(13, i));
    }
    mpfr_set_z(x, integer, MPFR_RNDZ);
    mpfr_set_exp(x, (mpfr_exp_t)(ulp_random_bits(14, i) % spread) - (mpfr_exp_t)spread / 2);
    mpfr_setsign(x, x, bits >> 20 & 1, MPFR_RNDN);
    mpz_clear(integer);
    if (bits % 5 == 0) /* of few bits */
        mpfr_set_d(x, ldexp((double)(bits >> 30 & 15) - 7, -3), MPFR_RNDN);
    if (kind == 3 || bits % 31 == 0)
        mpfr_set_zero(x, bits >> 21 & 1 ? 1 : -1);
    if (kind == 1 && bits % 501 == 0)
        bits & 1 << 22 ? mpfr_set_inf(x, -1) : mpfr_set_nan(x);
    if (floats) /* subnormal ones, too */
        mpfr_set_flt(x, mpfr_get_flt(x, MPFR_RNDN) * (bits % 7 == 1 ? 0x1p-120f : 1), MPFR_RNDN);
}

struct side {
    mpfr_t x[SIDE_ELEMENTS];
    struct ulp_tensor tensor;
    uint64_t data[2][DIGITS_MAX * SIDE_KS * ULP_WIDE_COLUMNS_MAX];
    int64_t halves[2][(ULP_WIDE_POSITIONS_MAX + 2) * ULP_WIDE_COLUMNS_MAX];
};

static void fill_side(struct side *side, uint64_t round, int kind, bool floats)
{
    for (size_t i = 0; i < SIDE_ELEMENTS; i++) {
        draw_number(side->x[i], round * SIDE_ELEMENTS + i, kind, floats);
        if (floats) {
            ((float *)side->tensor.data)[i] = mpfr_get_flt(side->x[i], MPFR_RNDN);
        } else {
            struct ulp_record *record = ulp_record_at(side->tensor.data, i, 128);
            mpfr_t out;
            ulp_record_begin(out, record, 128);
            mpfr_set(out, side->x[i], MPFR_RNDN);
            ulp_record_close(record, out);
        }
    }
}

/* The panel's digits by the code for lines side by side, and by that for one line. */
static void check_cut(struct side *side, struct ulp_wide_panel *panel,
                      const struct ulp_wide_plan *plan, const struct ulp_factor *factor,
                      const struct ulp_wide_tile *alone, uint64_t round)
{
    struct ulp_wide_plan single = *plan;
    single.tile = alone;
    for (int way = 0; way < 2; way++) {
        memset(side->data[way], 0x5a, sizeof side->data[way]);
        memset(side->halves[way], 0x5a, sizeof side->halves[way]);
        panel->data = side->data[way];
        panel->half_sums = side->halves[way];
        ulp_wide_cut(panel, way ? &single : plan, factor, 0);
    }
    ck_assert_msg(memcmp(side->data[0], side->data[1], sizeof side->data[0]) == 0,
                  "round %llu: digits", (unsigned long long)round);
    ck_assert_msg(memcmp(side->halves[0], side->halves[1], sizeof side->halves[0]) == 0,
                  "round %llu: sums", (unsigned long long)round);
}

#ifdef __x86_64__
START_TEST(lines_side_by_side_have_the_digits_of_each)
{
    if (!(ulp_cpu_features() & ULP_CPU_AVX512))
        return; /* there is no such code here */
    const bool floats = _i;
    const int64_t dims = SIDE_ELEMENTS;
    struct side *side = calloc(1, sizeof *side);
    ck_ok(ulp_tensor_create(&side->tensor, ULP_TYPE_FLOAT,
                            floats ? ULP_ELEMENT_F32 : ULP_ELEMENT_WIDE, floats ? 0 : 128, 1, &dims,
                            &why));
    for (size_t i = 0; i < SIDE_ELEMENTS; i++)
        mpfr_init2(side->x[i], 128);
    const struct ulp_wide_tile alone = {.integer = true},
                               tile = {.integer = true, .lines = &ulp_wide_lines_avx512};
    size_t cut = 0;
    for (uint64_t round = 0; round < 400; round++) {
        const size_t k = 1 + ulp_random_bits(21, round) % SIDE_KS,
                     count = 3 + ulp_random_bits(22, round) % (ULP_WIDE_COLUMNS_MAX - 2),
                     k_block = 1 + ulp_random_bits(23, round) % SIDE_KS;
        int64_t offset[SIDE_KS], lines[ULP_WIDE_COLUMNS_MAX];
        const int64_t batch = 3;
        for (size_t i = 0; i < k; i++)
            offset[i] = (int64_t)(i * 40 + ulp_random_bits(24, round * SIDE_KS + i) % 8);
        for (size_t i = 0; i < count; i++) /* of floats at least half are neighbours */
            lines[i] = (int64_t)(i + (i >= count - count / 4 ? 900 + i % 2 : 0));
        fill_side(side, round, (int)(round % 4), floats);
        const struct ulp_factor factor = {.tensor = &side->tensor,
                                          .batch_offset = &batch,
                                          .line_offset = lines,
                                          .k_offset = offset};
        const struct ulp_wide_plan plan = {.tile = &tile,
                                           .positions = DIGITS_MAX,
                                           .k = k,
                                           .k_block = k_block};
        struct ulp_wide_panel panel = {.count = count, .width = ULP_WIDE_COLUMNS_MAX};
        ulp_wide_measure(&panel, &plan, &factor, 0);
        for (size_t i = 0; i < count; i++) {
            const struct expected expected = look_at_bits(side->x, batch + lines[i], offset, k);
            const struct ulp_wide_line *line = &panel.lines[i];
            ck_assert(line->irregular == expected.irregular);
            ck_assert(line->zero == expected.zero);
            ck_assert(expected.zero ||
                      (line->exponent == expected.exponent && line->lowest == expected.lowest));
        }
        cut += panel.digits <= ULP_WIDE_LINES_DIGITS_MAX && !panel.irregular;
        check_cut(side, &panel, &plan, &factor, &alone, round);
    }
    ck_assert_uint_gt(cut, 100);
    for (size_t i = 0; i < SIDE_ELEMENTS; i++)
        mpfr_clear(side->x[i]);
    ulp_tensor_free(&side->tensor);
    free(side);
}
END_TEST
#endif

TEST_MAIN("digits", 60)
{
    tcase_add_test(tests, lines_have_their_scales);
#ifdef __x86_64__
    tcase_add_loop_test(tests, lines_side_by_side_have_the_digits_of_each, 0, 2);
#endif
}
