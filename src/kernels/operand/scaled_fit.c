#include "kernels/operand/scaled_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/vectorise.h"
#include "kernels/operand/scaled_round.h"
#include "number/function/math.h"

/* Values that always go together in these samples need not in others: a hundredth of the mean
 * square is added to each one's own, as of a noise of a tenth. */
#define NOISE 1e-2
enum { TILE = 16 }; /* lines that are rounded side by side */

ULP_VECTORISE void ulp_gram_add(double *gram, size_t k, const double *row)
{
    for (size_t i = 0; i < k; i++) {
        double *restrict out = ulp_gram_row(gram, k, i);
        const double x = row[i];
        for (size_t j = i; j < k && x != 0; j++)
            out[j] += x * row[j];
    }
}

size_t ulp_gram_room(size_t k)
{
    size_t room = 0;
    for (size_t first = 0, end; first < k; first = end) {
        end = ulp_gram_end(k, first);
        room += ulp_gram_count(end - first);
    }
    return room;
}

void ulp_gram_add_line(double *gram, size_t k, const double *row)
{
    for (size_t first = 0, end; first < k; first = end) {
        end = ulp_gram_end(k, first);
        ulp_gram_add(gram, end - first, row + first);
        gram += ulp_gram_count(end - first);
    }
}

bool ulp_scaled_fits(const struct ulp_scaling *scaling)
{
    return ulp_scaling_is_integer(scaling) && scaling->lines == 1 && !scaling->zero_point;
}

/* ---- the triangle ---- */

struct place {
    double own;
    size_t index;
};

/* The largest squares come last, and are rounded first, while most others can still make it good.
 */
static int by_square(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->own != y->own ? (x->own < y->own ? -1 : 1)
                            : (x->index > y->index) - (x->index < y->index);
}

/* Of the pairs in the order of places, with the noise. */
static void sort_gram(double *gram, size_t k, const struct place *places, double noise,
                      double *room)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = i; j < k; j++) {
            const size_t a = places[i].index, b = places[j].index;
            ulp_gram_row(room, k, i)[j] =
                ulp_gram_row(gram, k, a < b ? a : b)[a < b ? b : a] + (i == j ? noise : 0);
        }
    memcpy(gram, room, ulp_gram_count(k) * sizeof *gram);
}

/* gram = R^T R, in place; each row of R but its first is over that one. A pivot that rounding took
 * to 0 is that of a value which others make up: then it takes nothing over. */
ULP_VECTORISE static void factorise(double *gram, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        double *restrict row = ulp_gram_row(gram, k, i);
        const double pivot = row[i];
        for (size_t j = i + 1; j < k; j++)
            row[j] = pivot > 0 ? row[j] / pivot : 0;
        for (size_t r = i + 1; r < k; r++) {
            double *restrict below = ulp_gram_row(gram, k, r);
            const double x = row[r] * pivot;
            for (size_t j = r; j < k && x != 0; j++)
                below[j] -= x * row[j];
        }
    }
}

static void make_triangle(double *gram, size_t k, struct place *places, double *room)
{
    double mean = 0;
    for (size_t i = 0; i < k; i++) {
        places[i] = (struct place){ulp_gram_row(gram, k, i)[i], i};
        mean += places[i].own / (double)k;
    }
    qsort(places, k, sizeof *places, by_square);
    sort_gram(gram, k, places, NOISE * mean, room);
    factorise(gram, k);
}

/* ---- lines ---- */

struct fitting {
    const struct ulp_scaling *scaling;
    const double *triangles;    /* of the parts */
    const struct place *places; /* of each part, from its begin on */
    size_t k, count;
    float *lines;
    double *scratch; /* of each worker: of a tile, by place, what weights were rounded off */
};

/* The number that stands for x. */
static double round_code(const struct ulp_scaling *scaling, double x, float scale)
{
    const double top = scaling->element.max_finite,
                 code = ulp_format_round(&scaling->element, ULP_ROUND_NEAREST_EVEN,
                                         ulp_math_max(ulp_math_min(x / (double)scale, top), -top),
                                         0, 0);
    return code * (double)scale;
}

/* By place of a line: its scale; and whether it is the largest of its block. */
static void find_scales(const struct fitting *f, const float *line, float *scales, bool *largest)
{
    const size_t block = f->scaling->k ? (size_t)f->scaling->k : f->k;
    float low;
    for (size_t first = 0; first < f->k; first += block) {
        const size_t end = first + block < f->k ? first + block : f->k;
        size_t most = first;
        for (size_t i = first; i < end; i++)
            if (fabsf(line[i]) > fabsf(line[most]))
                most = i;
        const float size = fabsf(line[most]),
                    scale = ulp_scaled_scale(f->scaling, -size, size, &low);
        for (size_t i = first; i < end; i++) {
            scales[i] = scale;
            largest[i] = i == most;
        }
    }
}

/* What the places behind were rounded off is worth at this one, for each line of the tile. */
ULP_VECTORISE static void sum_behind(const double *row, size_t i, size_t k, const double *off,
                                     double *sums)
{
    for (size_t l = 0; l < TILE; l++)
        sums[l] = 0;
    for (size_t j = i + 1; j < k; j++)
        for (size_t l = 0; l < TILE; l++)
            sums[l] += row[j] * off[j * TILE + l];
}

static void fit_part(const struct fitting *f, size_t tile, const double *triangle, size_t begin,
                     size_t k, double *off, const float *scales, const bool *largest)
{
    const size_t first = tile * TILE, count = ulp_size_min(f->count - first, TILE);
    memset(off, 0, k * TILE * sizeof *off);
    for (size_t i = k; i-- > 0;) {
        const size_t at = begin + f->places[begin + i].index;
        double sums[TILE];
        sum_behind(ulp_gram_row((double *)(uintptr_t)triangle, k, i), i, k, off, sums);
        for (size_t l = 0; l < count; l++) {
            float *x = &f->lines[(first + l) * f->k + at];
            const size_t own = l * f->k + at;
            const double wanted = (double)*x + (largest[own] ? 0 : sums[l]),
                         code = round_code(f->scaling, wanted, scales[own]);
            off[i * TILE + l] = (double)*x - code;
            *x = (float)code;
        }
    }
}

static void fit_tile(const struct fitting *f, size_t tile, double *off, float *scales,
                     bool *largest)
{
    const size_t count = ulp_size_min(f->count - tile * TILE, TILE);
    const double *triangle = f->triangles;
    for (size_t l = 0; l < count; l++)
        find_scales(f, f->lines + (tile * TILE + l) * f->k, scales + l * f->k, largest + l * f->k);
    for (size_t begin = 0, end; begin < f->k; begin = end) {
        end = ulp_gram_end(f->k, begin);
        fit_part(f, tile, triangle, begin, end - begin, off, scales, largest);
        triangle += ulp_gram_count(end - begin);
    }
}

static size_t scratch_doubles(size_t k)
{
    return k * TILE + (k * TILE * (sizeof(float) + sizeof(bool))) / sizeof(double) + 1;
}

ULP_WORK(fit_tiles)
{
    const struct fitting *f = context;
    double *off = f->scratch + (size_t)worker * scratch_doubles(f->k);
    float *scales = (float *)(off + f->k * TILE);
    for (size_t tile = first; tile < last; tile++)
        fit_tile(f, tile, off, scales, (bool *)(scales + f->k * TILE));
    return ULP_OK;
}

enum ulp_status ulp_scaled_fit(const struct ulp_scaling *scaling, double *gram, size_t k,
                               float *lines, size_t count, struct ulp_pool *pool,
                               struct ulp_budget *budget, struct ulp_error *error)
{
    static const char what[] = "weights that are rounded by their sums";
    ULP_SCOPED(ulp_free_of) void *places_at = NULL, *room = NULL;
    ULP_TRY(ulp_allocate(&places_at, k, sizeof(struct place), budget, what, error));
    struct place *places = places_at;
    const size_t scratch = (size_t)ulp_pool_thread_count(pool) * scratch_doubles(k),
                 pairs = ulp_gram_count(ulp_gram_part(k));
    ULP_TRY(ulp_allocate(&room, scratch > pairs ? scratch : pairs, sizeof(double), budget, what,
                         error));
    double *part = gram;
    for (size_t begin = 0, end; begin < k; begin = end) {
        end = ulp_gram_end(k, begin);
        make_triangle(part, end - begin, places + begin, room);
        part += ulp_gram_count(end - begin);
    }
    struct fitting fitting = {scaling, gram, places, k, count, lines, room};
    return ulp_parallel_for(pool, (count + TILE - 1) / TILE, 1, fit_tiles, &fitting, error);
}
