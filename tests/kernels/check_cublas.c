/* The table of cuBLAS's slices, read again here: every recorded shape has its own count, others one
 * that their k allows. */
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

TEST(recorded_shapes_have_their_own_count)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (int turned = 0; turned < 2; turned++)
                ck_assert_int_eq(ulp_cublas_slices(rows[r], cuts[c].n, cuts[c].k, turned),
                                 strchr(digits, cuts[c].digits[turned][r]) - digits);
}

#define AXIS(name, ...) static const size_t name[] = {__VA_ARGS__};
#define PRODUCTS(type, k, matmul, linear)
#include "kernels/cublas_floats.def"
#undef AXIS
#undef PRODUCTS
enum { COLUMNS_COUNT = sizeof COLUMNS / sizeof *COLUMNS, ROWS_COUNT = sizeof ROWS / sizeof *ROWS };

static const struct {
    const char *type;
    size_t k;
    const char *codes[2];
} products[] = {
#define AXIS(name, ...)
#define PRODUCTS(type, k, matmul, linear) {type, k, {matmul, linear}},
#include "kernels/cublas_floats.def"
#undef AXIS
#undef PRODUCTS
};

/* A code of the table: as lab/split_k_table.py says what it means. */
static void check_code(const struct ulp_cublas_order *order, unsigned code, size_t k, bool tf32)
{
    const bool halves = code == 0xfd, cut = code > 1 && code < 0xfd;
    const size_t length = cut ? (k + code - 1) / code : k;
    ck_assert_uint_eq(order->slice, halves ? (k + 1) / 2 : cut ? (length + 3) / 4 * 4 : k);
    ck_assert_int_eq(order->chain, !tf32 || code == 0 || halves);
    ck_assert_uint_eq(order->tile, order->chain || code == 0xff ? 0 : code == 0xfe ? 32 : 16);
    ck_assert_uint_eq(order->chunk, 0);
}

TEST(recorded_floats_have_their_own_code)
{
    for (size_t p = 0; p < sizeof products / sizeof *products; p++)
        for (int turned = 0; turned < 2; turned++) {
            const bool tf32 = strcmp(products[p].type, "tf32") == 0;
            ck_assert_uint_eq(strlen(products[p].codes[turned]), 2 * COLUMNS_COUNT * ROWS_COUNT);
            for (size_t at = 0; at < (size_t)COLUMNS_COUNT * ROWS_COUNT; at++) {
                const char text[] = {products[p].codes[turned][2 * at],
                                     products[p].codes[turned][2 * at + 1], 0};
                const struct ulp_cublas_order order =
                    ulp_cublas_find(tf32, 1, ROWS[at % ROWS_COUNT], COLUMNS[at / ROWS_COUNT],
                                    products[p].k, turned);
                check_code(&order, (unsigned)strtoul(text, NULL, 16), products[p].k, tf32);
            }
        }
}

/* Whatever the shape, the slices are all of k, and chunks are of vectors alone. */
TEST(every_shape_has_an_order)
{
    for (size_t k = 0; k < 40000; k = 2 * k + 1 + k % 5)
        for (size_t n = 0; n < 100000; n = 3 * n + 1)
            for (size_t m = 0; m < 100000; m = 5 * m + 1)
                for (size_t batches = 1; batches < 100; batches *= 7) {
                    const struct ulp_cublas_order order =
                        ulp_cublas_find(k % 3, batches, m, n, k, m % 2);
                    ck_assert(k == 0 || (order.slice > 0 && order.slice <= (k + 3) / 4 * 4));
                    ck_assert(order.chunk == 0 || ((m <= 1 || n <= 1) && order.chunk < k));
                    ck_assert(!order.chain || order.tile == 0);
                }
}

TEST(slices_are_longer_than_1280)
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

TEST_SUITE("cublas", 0)
