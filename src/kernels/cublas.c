/* Slices of k by shape, from a table of recorded shapes. */
#include "kernels/cublas.h"

#include <string.h>

/* No slice was shorter: k up to twice that is not cut. */
enum { SLICE_LEAST = 1280 };

#define ROWS(...) static const size_t row_counts[] = {__VA_ARGS__};
#define CUT(k, n, matmul, linear)
#include "kernels/cublas_split.def"
#undef ROWS
#undef CUT

enum { ROW_COUNTS = sizeof row_counts / sizeof *row_counts };

static const struct {
    size_t k, n;
    char slices[2][ROW_COUNTS + 1];
} cuts[] = {
#define ROWS(...)
#define CUT(k, n, matmul, linear) {k, n, {matmul, linear}},
#include "kernels/cublas_split.def"
#undef ROWS
#undef CUT
};

/* Two digits for each number of columns and rows, of FP32 and TF32. */
#define AXIS(name, ...) static const size_t name[] = {__VA_ARGS__};
#define PRODUCTS(type, k, matmul, linear)
#include "kernels/cublas_floats.def"
#undef AXIS
#undef PRODUCTS
#define COUNT(axis) (sizeof(axis) / sizeof *(axis))

static const struct products {
    char type[5];
    size_t k;
    const char *digits[2];
} products[] = {
#define AXIS(name, ...)
#define PRODUCTS(type, k, matmul, linear) {type, k, {matmul, linear}},
#include "kernels/cublas_floats.def"
#undef AXIS
#undef PRODUCTS
};

/* The ratio of the larger to the smaller. */
static double ratio(size_t a, size_t b)
{
    return a > b ? (double)a / (double)b : (double)b / (double)a;
}

/* Is a nearer to the size than b? Of two that are equally near the larger is. */
static bool is_nearer(size_t size, size_t a, size_t b)
{
    const double to_a = ratio(size, a), to_b = ratio(size, b);
    return to_a < to_b || (to_a == to_b && a > b);
}

static int most(size_t k)
{
    return k <= (size_t)SLICE_LEAST ? 1 : (int)((k - 1) / SLICE_LEAST);
}

static int read_digit(char digit)
{
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

int ulp_cublas_slices(size_t m, size_t n, size_t k, bool turned)
{
    size_t row = 0, cut = 0;
    if (most(k) < 2 || m == 0 || n == 0)
        return 1;
    for (size_t r = 1; r < ROW_COUNTS; r++)
        if (is_nearer(m, row_counts[r], row_counts[row]))
            row = r;
    for (size_t c = 1; c < sizeof cuts / sizeof *cuts; c++)
        if (is_nearer(k, cuts[c].k, cuts[cut].k) ||
            (cuts[c].k == cuts[cut].k && is_nearer(n, cuts[c].n, cuts[cut].n)))
            cut = c;
    const int found = read_digit(cuts[cut].slices[turned][row]);
    return found >= most(cuts[cut].k) || found > most(k) ? most(k) : found;
}

/* What decides alignment, which other kernels are for: multiples of 4, of k also of 32, whose
 * slices are whole tiles. */
static int kind_of(size_t size, bool of_k)
{
    return size % 4 ? 0 : of_k && size % 32 == 0 ? 2 : 1;
}

static size_t find_nearest_size(const size_t *axis, size_t count, size_t size, bool kinds)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if ((!kinds || kind_of(axis[i], false) == kind_of(size, false)) &&
            (best == count || is_nearer(size, axis[i], axis[best])))
            best = i;
    return best;
}

static const struct products *find_products(const char *type, size_t k)
{
    const struct products *best = NULL;
    for (size_t i = 0; i < COUNT(products); i++)
        if (strcmp(products[i].type, type) == 0 &&
            kind_of(products[i].k, true) == kind_of(k, true) &&
            (!best || is_nearer(k, products[i].k, best->k)))
            best = &products[i];
    return best;
}

static struct ulp_cublas_order find_matrices(bool tf32, size_t m, size_t n, size_t k, bool turned)
{
    enum { CHAIN = 0, HALVES = 0xfd, TILES_OF_32 = 0xfe, REST_LAST = 0xff, ALIGNED = 4 };
    const struct products *row = find_products(tf32 ? "tf32" : "fp32", k);
    const size_t at = find_nearest_size(COLUMNS, COUNT(COLUMNS), n, true) * COUNT(ROWS) +
                      find_nearest_size(ROWS, COUNT(ROWS), m, false);
    const int found =
        16 * read_digit(row->digits[turned][2 * at]) + read_digit(row->digits[turned][2 * at + 1]);
    struct ulp_cublas_order order = {.chain = !tf32 || found == CHAIN || found == HALVES,
                                     .slice = found == HALVES ? (k + 1) / 2 : k};
    if (found > 1 && found < HALVES) {
        const size_t there = (row->k + (size_t)found - 1) / (size_t)found;
        order.slice = (there + ALIGNED - 1) / ALIGNED * ALIGNED;
    }
    if (!order.chain && found != REST_LAST)
        order.tile = found == TILES_OF_32 ? 32 : 16;
    return order;
}

/* One row or column: no matrix unit. Between the recorded lengths the boundaries are in the
 * middle. */
static struct ulp_cublas_order find_vector(size_t batches, size_t m, size_t n, size_t k,
                                           bool turned)
{
    enum { PAIRS_ROW = 64, TREES_ROW = 176, TREES_AGAIN = 352, PAIRS_COLUMN = 31, CHUNK = 64 };
    struct ulp_cublas_order order = {.chain = true, .slice = k};
    const bool pairs = n == 1 ? k <= (size_t)PAIRS_COLUMN
                              : m == 1 && batches == 1 && !turned &&
                                    (k <= (size_t)PAIRS_ROW ||
                                     (k >= (size_t)TREES_ROW && k < (size_t)TREES_AGAIN));
    if (pairs && k > 1)
        order.chunk = (k + 1) / 2 < (size_t)CHUNK ? (k + 1) / 2 : (size_t)CHUNK;
    return order;
}

struct ulp_cublas_order ulp_cublas_find(bool tf32, size_t batches, size_t m, size_t n, size_t k,
                                        bool turned)
{
    if (k == 0 || m <= 1 || n <= 1)
        return find_vector(batches, m, n, k, turned);
    if (batches == 1)
        return find_matrices(tf32, m, n, k, turned);
    const bool aligned = k % 4 == 0 && n % 4 == 0,
               unit = tf32 && (k >= 256 || (aligned && k >= 32));
    return (struct ulp_cublas_order){.chain = !unit, .slice = k, .tile = unit && aligned ? 32 : 0};
}
