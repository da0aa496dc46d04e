/* Slices of k by shape, from a table of recorded shapes. */
#include "kernels/cublas.h"

#include <string.h>

/* No slice was shorter: k up to twice that is not cut. */
enum { SLICE_LEAST = 1280 };

#define ROWS(...) static const size_t row_counts[] = {__VA_ARGS__, 0};
#define CUT(k, n, matmul, linear)
#include "kernels/cublas_split.def"
#undef ROWS
#undef CUT

enum { ROW_COUNTS = sizeof row_counts / sizeof *row_counts - 1 };

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
    const char digit = cuts[cut].slices[turned][row];
    const int found = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    return found >= most(cuts[cut].k) || found > most(k) ? most(k) : found;
}

size_t ulp_cublas_rows(size_t index)
{
    return index < ROW_COUNTS ? row_counts[index] : 0;
}
