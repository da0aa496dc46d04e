/* Declarations shared by the files of a contraction on a matrix unit. */
#pragma once

#include "kernels/operand/output.h"
#include "kernels/unit/fast.h"

/* The side that gives rows, and the side that gives columns. Either factor may be either: products
 * commute. */
struct ulp_unit_side {
    struct ulp_pack pack;
    size_t count; /* lines of a batch */
    const int64_t *out_offset;
};

struct ulp_unit_work {
    const struct ulp_arithmetic *arithmetic;
    const struct ulp_contraction *problem;
    struct ulp_output output;
    struct ulp_unit_layout layout;
    const struct ulp_unit_instance *instance;
    struct ulp_unit_side rows, columns;
    bool padding;      /* may meet NaN or Inf */
    bool special_rows; /* there may be NaN or Inf among the rows */
    bool shared;       /* every batch has the same columns */
    bool out_is_run;   /* columns are neighbours in the output */
};

static inline size_t ulp_unit_align(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Cut memory into parts; NULL memory: only the size in bytes. */
size_t ulp_unit_lay_rows(struct ulp_unit_rows *rows, const struct ulp_unit_layout *layout,
                         size_t row_count, char *memory);
size_t ulp_unit_lay_panel(struct ulp_unit_panel *panel, const struct ulp_unit_layout *layout,
                          char *memory);

/* Sums as the schedule makes them, [row][ULP_UNIT_COLUMNS]. */
struct ulp_unit_sums {
    float *c, *chain, *sum, *total;
};
size_t ulp_unit_lay_sums(struct ulp_unit_sums *sums, size_t count, char *memory);
/* sums->total = the whole sums of the tile's rows; the tile's blocks, c and fresh are
 * set here. */
void ulp_unit_sum(const struct ulp_unit_work *work, const struct ulp_unit_sums *sums,
                  struct ulp_unit_tile *tile);

/* The sums of a panel, columns [column, column + column_count) of a batch and `row_count` rows, to
 * their places; load: what they hold, of a problem that is added onto it. */
void ulp_unit_load_panel(const struct ulp_unit_work *work, float *total, size_t batch, size_t row,
                         size_t row_count, size_t column, size_t column_count);
void ulp_unit_store_panel(const struct ulp_unit_work *work, float *total, size_t batch, size_t row,
                          size_t row_count, size_t column, size_t column_count);

enum ulp_status ulp_unit_run_panels(const struct ulp_unit_work *work, struct ulp_pool *pool,
                                    struct ulp_error *error);
