/* What an order is was found by recordings (lab/record_ort_cpu.py); every step is a float's. */
#include "number/function/mlas_rows.h"

#include <stdbool.h>

#include "number/round/odd.h"

/* Halves join: the last one by one, or from 8 on each with its neighbour. */
static float join(float *sums, size_t count, bool neighbours)
{
    for (; count > 1; count /= 2)
        for (size_t i = 0; i < count / 2; i++)
            sums[i] = neighbours && count <= 8 ? sums[2 * i] + sums[2 * i + 1]
                                               : sums[i] + sums[i + count / 2];
    return sums[0];
}

static float add_in_turn(float sum, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Whole vectors of `lanes`, then what is left in turn, and before it the head. */
static float add_vectors(const float *x, size_t n, size_t head, size_t lanes)
{
    float sums[4 * 2] = {0};
    head = head < n ? head : n;
    size_t i = head;
    for (; i + lanes <= n; i += lanes)
        for (size_t l = 0; l < lanes; l++)
            sums[l] += x[i + l];
    if (i == head)
        return add_in_turn(x[0], x + 1, n - 1);
    for (size_t l = 0; lanes > 4 && l < 4; l++)
        sums[l] += sums[l + 4];
    if (lanes > 4 && i + 4 <= n)
        for (size_t end = i + 4, l = 0; i < end; i++, l++)
            sums[l] += x[i];
    return add_in_turn(add_in_turn(join(sums, 4, false), x, head), x + i, n - i);
}

/* The exponentials of Softmax, with AVX-512. */
static float add_sixteens(const float *x, size_t n)
{
    float sums[16] = {0};
    for (size_t i = 0; i < n; i++)
        sums[i % 16] += x[i];
    return join(sums, 16, true);
}

static float add_square(float sum, float x)
{
    return (float)ulp_odd_add((double)x * x, sum);
}

/* Vectors of eight; of what is left the first four, where there are so many, are rounded before
 * they are added. */
static float add_squares(const float *x, size_t n)
{
    float sums[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t l = 0; l < 8; l++)
            sums[l] = add_square(sums[l], x[i + l]);
    float sum = join(sums, 8, false);
    for (size_t end = i + 4; end <= n && i < end; i++)
        sum += x[i] * x[i];
    for (; i < n; i++)
        sum = add_square(sum, x[i]);
    return sum;
}

static float take_mean(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return (float)(sum / (double)n);
}

static float walk(const float *x, size_t n, bool squares)
{
    float mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const float before = x[i] - mean;
        mean += before / (float)(i + 1);
        sum += before * (x[i] - mean);
    }
    return squares ? sum : mean;
}

float ulp_mlas_row(enum ulp_row_kernel kernel, const float *x, size_t n, size_t head)
{
    switch (kernel) {
    case ULP_ROW_PLAIN:
    case ULP_ROW_IN_TURN: break;
    case ULP_ROW_EIGEN: return add_vectors(x, n, head, n - (head < n ? head : n) < 8 ? 4 : 8);
    case ULP_ROW_FOURS: return add_vectors(x, n, 0, 4);
    case ULP_ROW_SIXTEENS: return add_sixteens(x, n);
    case ULP_ROW_MEAN: return take_mean(x, n);
    case ULP_ROW_SQUARES: return add_squares(x, n);
    case ULP_ROW_WELFORD_MEAN:
    case ULP_ROW_WELFORD_SQUARES: return walk(x, n, kernel == ULP_ROW_WELFORD_SQUARES);
    }
    return add_in_turn(0, x, n);
}
