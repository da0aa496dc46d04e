/* digit: the scale and the lowest bit of lines of floats, against each element's own, however the
 * lines lie: side by side, one after the other, in pieces. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <check.h>

#include "base/random.h"
#include "kernels/digit/digits.h"
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
        struct ulp_error error;
        ck_ulp_ok(ulp_tensor_describe(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, &dims,
                                      &error),
                  error);
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

int main(void)
{
    Suite *suite = suite_create("digits");
    TCase *tests = tcase_create("digits");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, lines_have_their_scales);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
