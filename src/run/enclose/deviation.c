/* How far a row is from being constant: a lower bound of the l2 norm of x - mean(x), for every row
 * along the last axis. It bounds a written out normalisation whose epsilon is too small for the
 * format: the divisor is not 0 where rows are not constant.
 *
 * It begins at sums of rows of tables (embeddings), by trying all of them, and at normalisations,
 * and is handed on by Add, Sub and Mul: with P x = x - mean(x), ||P (a + b)|| >= ||P a|| - ||b||,
 * P (a - c) = P a for a number c, and ||P (g a)|| >= |c| ||P a|| - max|g - c| ||a|| for any c. Each
 * result's rounding, error e with |e| <= u |y| + eta, takes ||e|| from it. */
#include <math.h>

#include "base/error.h"
#include "number/function/math.h"
#include "run/enclose/enclosed.h"
#include "run/idiom/idiom_read.h"

/* Sums of rows that are tried, times their length. */
#define TRIES_MAX ((double)(1 << 28))

static size_t row_length(const struct ulp_slot_bounds *value)
{
    return value->shape.rank > 0 ? (size_t)value->shape.dims[value->shape.rank - 1] : 0;
}

/* The largest l2 norm of a row; INFINITY: not known. */
static double row_norm(const struct ulp_slot_bounds *value)
{
    const struct ulp_enclosure *range = &value->range;
    const size_t n = row_length(value);
    double largest = 0;
    for (size_t r = 0; n && r + n <= range->count; r += n) {
        double squares = 0;
        bool together = true;
        for (size_t i = r; i < r + n; i++) {
            const double x = range->at.may[i] ? INFINITY : ulp_interval_magnitude(&range->at, i);
            squares += x * x;
            together = together && range->joint[i] == range->joint[r];
        }
        double norm = sqrt(squares) * (1 + (double)n * 0x1p-50);
        if (together && range->joint[r] != ULP_NO_JOINT)
            norm = ulp_math_min(norm, range->joints[range->joint[r]].l2);
        largest = ulp_math_max(largest, norm);
    }
    return value->is_range && n ? largest : INFINITY;
}

static double largest_of(const struct ulp_slot_bounds *value)
{
    double largest = 0;
    for (size_t i = 0; i < value->range.count; i++)
        largest = ulp_math_max(largest, value->range.at.may[i]
                                            ? INFINITY
                                            : ulp_interval_magnitude(&value->range.at, i));
    return value->is_range ? largest : INFINITY;
}

static double rounding_of(const struct ulp_enclosing_walk *w, const struct ulp_slot_bounds *y)
{
    const struct ulp_format *format = &w->arithmetic->storage;
    const double n = (double)row_length(y);
    return ldexp(1, 1 - format->precision) * row_norm(y) + sqrt(n) * ldexp(1, format->emin - 1);
}

/* ---- tables ---- */

static double *take_numbers(struct ulp_enclosing_walk *w, size_t count)
{
    double *numbers = ulp_arena_take(w->arena, count, sizeof *numbers);
    w->starved = w->starved || !numbers;
    return numbers;
}

/* The slot's rows as one table: what a Gather picks of, or the rows of a value that is known. */
static bool read_table(struct ulp_enclosing_walk *w, const struct ulp_slot_bounds *value, size_t n,
                       struct ulp_row_table *out)
{
    const struct ulp_enclosure *range = &value->range;
    if (!value->is_range || row_length(value) != n)
        return false;
    for (size_t i = 0; i < range->count; i++)
        if (range->at.may[i] || range->at.lo[i] != range->at.hi[i])
            return false;
    out->count = range->count / n;
    out->rows = take_numbers(w, range->count);
    for (size_t i = 0; out->rows && i < range->count; i++)
        out->rows[i] = range->at.lo[i];
    return out->rows != NULL;
}

/* min ||P (a_i + b_j + ...)|| over all rows, by trying them. */
static double try_rows(const struct ulp_row_table *tables, size_t count, size_t n,
                       const double *before, double *sums)
{
    double least = INFINITY;
    for (size_t r = 0; r < tables->count; r++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < n; i++) {
            sums[i] = (before ? before[i] : 0) + tables->rows[r * n + i];
            mean += sums[i];
        }
        if (count > 1) {
            least = ulp_math_min(least, try_rows(tables + 1, count - 1, n, sums, sums + n));
            continue;
        }
        mean /= (double)n;
        for (size_t i = 0; i < n; i++)
            squares += (sums[i] - mean) * (sums[i] - mean);
        least = ulp_math_min(least, sqrt(squares));
    }
    return least;
}

/* The rows of a constant; *norm: the largest of theirs. */
static bool read_constant(struct ulp_enclosing_walk *w, const struct ulp_tensor *constant, size_t n,
                          struct ulp_row_table *out, double *norm)
{
    if (constant->rank < 1 || (size_t)constant->dims[constant->rank - 1] != n)
        return false;
    out->count = constant->count / n;
    out->rows = take_numbers(w, constant->count);
    for (size_t r = 0; out->rows && r < out->count; r++) {
        double squares = 0;
        for (size_t i = 0; i < n; i++) {
            const double x = out->rows[r * n + i] = ulp_tensor_get(constant, r * n + i);
            squares += x * x;
        }
        *norm = ulp_math_max(*norm, sqrt(squares) * 1.001);
    }
    return out->rows != NULL;
}

/* A sum of two values whose rows are sums of rows of tables. */
static void add_tables(struct ulp_enclosing_walk *w, const int *slots, struct ulp_slot_bounds *y)
{
    const size_t n = row_length(y);
    double tries = (double)n, size = 0;
    size_t count = 0;
    for (int s = 0; s < 2; s++) {
        const struct ulp_slot_bounds *value = &w->values[slots[s]];
        const struct ulp_tensor *constant = w->block->slots[slots[s]].constant;
        struct ulp_row_table own = {0};
        double norm = constant ? 0 : row_norm(value);
        if (constant
                ? !read_constant(w, constant, n, &own, &norm)
                : row_length(value) != n || (!value->table_count && !read_table(w, value, n, &own)))
            return;
        const size_t more = own.rows ? 1 : value->table_count;
        if (count + more > ULP_ROW_TABLES_MAX)
            return;
        for (size_t t = 0; t < more; t++)
            y->tables[count++] = own.rows ? own : value->tables[t];
        size += norm;
    }
    for (size_t t = 0; t < count; t++)
        tries *= (double)y->tables[t].count;
    double *sums = take_numbers(w, count * n + 1);
    if (tries > TRIES_MAX || !sums)
        return;
    y->table_count = count;
    /* the lane rounds constants, and each of the sums */
    const double error =
        (double)(count + 1) * (ldexp(1, 1 - w->arithmetic->storage.precision) * size +
                               sqrt((double)n) * ldexp(1, w->arithmetic->storage.emin - 1));
    y->deviation = ulp_math_max(y->deviation,
                                try_rows(y->tables, count, n, NULL, sums) * (1 - 0x1p-30) - error);
}

void ulp_enclose_set_table(struct ulp_enclosing_walk *w, int slot, const struct ulp_tensor *table)
{
    struct ulp_slot_bounds *value = &w->values[slot];
    const size_t n = row_length(value);
    if (table->rank != 2 || n == 0 || (size_t)table->dims[1] != n)
        return;
    double *rows = take_numbers(w, table->count);
    for (size_t i = 0; rows && i < table->count; i++)
        rows[i] = ulp_tensor_get(table, i);
    if (rows) {
        value->tables[0] = (struct ulp_row_table){rows, (size_t)table->dims[0]};
        value->table_count = 1;
    }
}

/* ---- Add, Sub, Mul ---- */

/* x - mean(x), or x - any number a row. */
static void subtract(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                     const struct ulp_slot_bounds *x, const struct ulp_slot_bounds *m,
                     struct ulp_slot_bounds *y)
{
    const struct ulp_step *maker = ulp_block_producer(w->block, step->inputs[1]);
    const struct ulp_format *format = &w->arithmetic->storage;
    const double u = ldexp(1, 1 - format->precision), n = (double)row_length(x),
                 gamma = 2 * n * ldexp(1, 1 - w->arithmetic->rows.precision);
    if (row_length(m) != 1 || row_length(x) != row_length(y))
        return;
    y->deviation = ulp_math_max(0, x->deviation - rounding_of(w, y));
    if (maker && ulp_step_is(maker, "ReduceMean") && maker->inputs[0] == step->inputs[0] &&
        ulp_step_axes(w->block, maker, x->shape.rank) == UINT32_C(1) << (x->shape.rank - 1))
        y->mean = (u + gamma) * largest_of(x) + u * largest_of(y) + ldexp(1, format->emin);
}

/* g * a with constants g, one for each position. */
static void scale(struct ulp_enclosing_walk *w, const struct ulp_slot_bounds *a,
                  const struct ulp_tensor *g, struct ulp_slot_bounds *y)
{
    const size_t n = row_length(a);
    double mean = 0, most = 0;
    if (g->count != n || row_length(y) != n)
        return;
    for (size_t i = 0; i < n; i++)
        mean += ulp_tensor_get(g, i) / (double)n;
    /* the lane has g rounded */
    for (size_t i = 0; i < n; i++)
        most = ulp_math_max(most, fabs(ulp_tensor_get(g, i) - mean) +
                                      fabs(ulp_tensor_get(g, i)) *
                                          ldexp(1, 1 - w->arithmetic->storage.precision));
    y->deviation =
        ulp_math_max(0, fabs(mean) * a->deviation - most * row_norm(a) - rounding_of(w, y));
}

void ulp_enclose_deviation(struct ulp_enclosing_walk *w, const struct ulp_step *step)
{
    const bool adds = ulp_step_is(step, "Add"), subtracts = ulp_step_is(step, "Sub"),
               scales = ulp_step_is(step, "Mul");
    if ((!adds && !subtracts && !scales) || step->outputs[0] < 0)
        return;
    struct ulp_slot_bounds *y = &w->values[step->outputs[0]];
    const struct ulp_slot_bounds *in[2] = {&w->values[step->inputs[0]],
                                           &w->values[step->inputs[1]]};
    const struct ulp_tensor *constants[2] = {w->block->slots[step->inputs[0]].constant,
                                             w->block->slots[step->inputs[1]].constant};
    if (!y->is_range || y->range.count == 0)
        return;
    if (subtracts && in[0]->is_range && in[1]->is_range)
        subtract(w, step, in[0], in[1], y);
    for (int s = 0; s < 2; s++) {
        if (!in[s]->is_range || row_length(in[s]) != row_length(y))
            continue;
        if (scales && constants[!s])
            scale(w, in[s], constants[!s], y);
        if (adds && constants[!s] && constants[!s]->count == row_length(y)) {
            double squares = 0;
            for (size_t i = 0; i < constants[!s]->count; i++) {
                const double b = ulp_tensor_get(constants[!s], i);
                squares += b * b;
            }
            y->deviation = ulp_math_max(y->deviation, in[s]->deviation - sqrt(squares) * 1.01 -
                                                          rounding_of(w, y));
        }
        if (adds && in[!s]->is_range && row_length(in[!s]) == row_length(y))
            y->deviation =
                ulp_math_max(y->deviation, in[s]->deviation - row_norm(in[!s]) - rounding_of(w, y));
    }
    if (adds && (in[0]->is_range || in[1]->is_range) && row_length(y))
        add_tables(w, step->inputs, y);
}
