/* Weights rounded to a format with scales so that their sums over samples are off by least, not
 * each weight: what one weight was rounded off, those behind it make good where the values that
 * they are multiplied by go together (the nearest plane of a lattice: Babai; GPTQ is the same in
 * another order). */
#pragma once

#include "base/machine/thread.h"
#include "number/format/scaling.h"

/* Values of k weights that go together: the sums over rows of the products of each pair, of each
 * row's upper part alone; row i begins at element j = i. */
static inline size_t ulp_gram_count(size_t k)
{
    return k * (k + 1) / 2;
}
static inline double *ulp_gram_row(double *gram, size_t k, size_t i)
{
    return gram + (i * k - i * (i + 1) / 2); /* element j at [j] */
}
void ulp_gram_add(double *gram, size_t k, const double *row);
/* Longer lines are cut in equal parts, whose triangles stand one behind another: weights make good
 * what others of their part were rounded off. Of `k` values: the part's length, and where it ends.
 */
static inline size_t ulp_gram_part(size_t k)
{
    enum { WHOLE = 2304, PART = 768 }; /* a kernel of 3 x 3 has so many of 256 channels */
    const size_t parts = k > WHOLE ? (k + PART - 1) / PART : 1;
    return (k + parts - 1) / parts;
}
static inline size_t ulp_gram_end(size_t k, size_t first)
{
    const size_t part = ulp_gram_part(k);
    return k - first > part ? first + part : k;
}
/* Of a line of k values, cut so. */
size_t ulp_gram_room(size_t k);
void ulp_gram_add_line(double *gram, size_t k, const double *row);
/* Can weights be rounded so? Their scales are of channels or of blocks in one, around 0. */
bool ulp_scaled_fits(const struct ulp_scaling *scaling);
/* `count` lines of k floats become what their codes stand for. Scales stay those of the weights:
 * the largest of a block keeps its own code. gram is overwritten by triangles of its own. */
enum ulp_status ulp_scaled_fit(const struct ulp_scaling *scaling, double *gram, size_t k,
                               float *lines, size_t count, struct ulp_pool *pool,
                               struct ulp_budget *budget, struct ulp_error *error);
