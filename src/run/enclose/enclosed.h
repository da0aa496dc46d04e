/* Between the files of the walk that bounds values: enclose.c and special.c. */
#ifndef ULP_RUN_ENCLOSE_ENCLOSED_H
#define ULP_RUN_ENCLOSE_ENCLOSED_H

#include "run/enclose/enclose.h"
#include "run/lane.h"

/* Rows of numbers, of the value's last dimension. */
struct ulp_row_table {
    double *rows;
    size_t count;
};
#define ULP_ROW_TABLES_MAX 3

/* What is known of a slot's value: numbers (integers that do not follow from the inputs' values),
 * or bounds. */
struct ulp_slot_bounds {
    struct ulp_tensor shape; /* type UNDEFINED: not known; data NULL */
    bool is_numbers, is_range, assumed;
    struct ulp_tensor numbers;
    struct ulp_enclosure range;
    /* Of every row along the last axis: ||x - mean(x)|| is at least `deviation`, |mean(x)| at most
     * `mean` (0: that is not known). With table_count, each row is a sum of a row of each table. */
    double deviation, mean;
    struct ulp_row_table tables[ULP_ROW_TABLES_MAX];
    size_t table_count;
};

struct ulp_enclosing_walk {
    const struct ulp_enclose *from;
    const struct ulp_block *block;
    const struct ulp_arithmetic *arithmetic;
    struct ulp_arena *arena;
    struct ulp_slot_bounds *values; /* by slot */
    bool *keep;                     /* by slot: not freed at its last use */
    struct ulp_lane lane;           /* for constants, as the arithmetic has them */
    struct ulp_lane names;          /* FP64, in which operators run on names */
    struct ulp_trace *trace;
    struct ulp_normalisation *normalisations; /* by step; NULL: none */
};

/* Operators whose bounds do not follow from their gates: a Cast from integers, and a Gather with
 * any index. *done: the outputs' bounds are set. */
enum ulp_status ulp_enclose_special(struct ulp_enclosing_walk *walk, const struct ulp_step *step,
                                    bool *done, struct ulp_error *error);

/* deviation.c: what the step's result has of these; what a Gather picks rows of. */
void ulp_enclose_deviation(struct ulp_enclosing_walk *walk, const struct ulp_step *step);
void ulp_enclose_set_table(struct ulp_enclosing_walk *walk, int slot,
                           const struct ulp_tensor *table);

/* Normalisations that the graph writes out: found before the walk; then the result of step s is
 * bounded anew when it is one: from what is divided alone, so that *assumed becomes that value's.
 * Returns a name for it, or NULL; then `why` (of that size) may say why not. */
enum ulp_status ulp_enclose_find_normalised(struct ulp_enclosing_walk *walk,
                                            struct ulp_error *error);
const char *ulp_enclose_normalised(struct ulp_enclosing_walk *walk, size_t s, bool *assumed,
                                   char *why, size_t size);

#endif
