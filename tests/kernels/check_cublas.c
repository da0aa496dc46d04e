/* The table of cuBLAS's slices, read again here: every recorded shape has its own count, others one that their k allows. */
#include <string.h>

#include "kernels/cublas.h"
#include "tests/support/test.h"

#define ROWS(...) static const size_t rows[] = {__VA_ARGS__};
#define CUT(k, n, matmul, linear)
#include "kernels/cublas_split.def"
#undef ROWS
#undef CUT

static const struct {
    size_t k, n;
    const char *digits[2];
} cuts[] = {
#define ROWS(...)
#define CUT(k, n, matmul, linear) {k, n, {matmul, linear}},
#include "kernels/cublas_split.def"
#undef ROWS
#undef CUT
};

START_TEST(recorded_shapes_have_their_own_count)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (int turned = 0; turned < 2; turned++)
                ck_assert_int_eq(
                    ulp_cublas_slices(rows[r], cuts[c].n, cuts[c].k, turned),
                    strchr(digits, cuts[c].digits[turned][r]) - digits);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        ck_assert_uint_eq(ulp_cublas_rows(r), rows[r]);
    ck_assert_uint_eq(ulp_cublas_rows(sizeof rows / sizeof *rows), 0);
}
END_TEST

START_TEST(slices_are_longer_than_1280)
{
    for (size_t k = 0; k < 40000; k += 37)
        for (size_t n = 1; n < 100000; n *= 3)
            for (size_t m = 1; m < 100000; m *= 5) {
                const int slices = ulp_cublas_slices(m, n, k, m % 2);
                ck_assert_int_ge(slices, 1);
                ck_assert(slices == 1 || k > 1280 * (size_t)slices);
            }
    ck_assert_int_eq(ulp_cublas_slices(0, 8, 8192, false), 1);
    ck_assert_int_eq(ulp_cublas_slices(SIZE_MAX, SIZE_MAX, 8192, false), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cublas");
    TCase *tests = tcase_create("cublas");
    tcase_add_test(tests, recorded_shapes_have_their_own_count);
    tcase_add_test(tests, slices_are_longer_than_1280);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
