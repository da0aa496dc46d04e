/* Inside of fit: operands and results as formats, the candidates, and their sieve. */
#pragma once

#include <ulpscope/fit.h>

#include "base/memory/alloc.h"
#include "kernels/unit/unit.h"

/* ---- operand.c: what the elements of a, b and c can be ---- */

enum { ULP_FIT_FORMATS = 8 }; /* that a tensor can have, at most */

/* The formats that elements of a type may be of, as names; fills in `names` and returns how many.
 */
size_t ulp_fit_operand_formats(const struct ulp_tensor *tensor, const char *names[ULP_FIT_FORMATS]);
/* Of a result: FP32 elements that all are FP16's may be that, too. */
size_t ulp_fit_result_formats(const struct ulp_tensor *tensor, const char *names[ULP_FIT_FORMATS]);
/* The tensor as a matrix of FLOAT or DOUBLE values: patterns are decoded as `format`. */
enum ulp_status ulp_fit_decode(struct ulp_tensor *out, const struct ulp_tensor *tensor,
                               bool transposed, const char *format, struct ulp_error *error);
/* Whether every value of the matrix is one of the format's. */
bool ulp_fit_holds(const char *format, const struct ulp_tensor *values);
/* Rows and columns of a matrix, by their numbers; NULL: all. */
struct ulp_fit_sample {
    size_t row_count, column_count;
    const size_t *rows, *columns;
};
enum ulp_status ulp_fit_take(struct ulp_tensor *out, const struct ulp_tensor *matrix,
                             const struct ulp_fit_sample *sample, struct ulp_error *error);
struct ulp_fit_shape {
    size_t m, n, k;
};
enum ulp_status ulp_fit_measure(const struct ulp_fit_product *product, struct ulp_fit_shape *out,
                                struct ulp_error *error);

/* ---- candidate.c: the ways to compute ---- */

/* A format of the operands and one of the result. */
struct ulp_fit_case {
    const char *operands, *result;
    bool exact;  /* every operand is a value of that format: how they are rounded cannot matter */
    bool chains; /* scalar chains of these are no other case's */
};
/* An arithmetic without slices and promotion. */
struct ulp_fit_base {
    struct ulp_arithmetic arithmetic;
    size_t case_index;
    const struct ulp_unit *unit; /* NULL: a scalar chain */
    char gpus[96];
};
struct ulp_fit_way {
    uint32_t base;
    uint16_t slices;         /* 1: k is not cut */
    uint16_t promote, block; /* 0: neither */
};
struct ulp_fit_ways {
    struct ulp_fit_base *bases;
    struct ulp_fit_way *ways;
    size_t base_count, base_capacity, count, capacity;
    /* ways that, for these lengths of k, are another one by definition: [.of] */
    struct ulp_fit_alias {
        size_t of;
        struct ulp_fit_way way;
    } * aliases;
    size_t alias_count, alias_capacity;
};
/* Every candidate for products of these shapes, the simple ones first; ways that are equal by
 * definition for all the shapes (units of other GPUs with the same parameters, slices of the same
 * length) are one. Free with ulp_fit_ways_free. */
enum ulp_status ulp_fit_ways_make(struct ulp_fit_ways *out, const struct ulp_fit_case *cases,
                                  size_t case_count, const struct ulp_fit_shape *shapes,
                                  size_t shape_count, const char *gpu, struct ulp_error *error);
void ulp_fit_ways_free(struct ulp_fit_ways *ways);
struct ulp_arithmetic ulp_fit_arithmetic(const struct ulp_fit_ways *ways, size_t index);
/* What its aliases have in the place of its own parts: "promote=64 or split-k=8,promote=64". */
void ulp_fit_also(const struct ulp_fit_ways *ways, size_t index, char *text, size_t size);
/* The same with its name. */
enum ulp_status ulp_fit_name(const struct ulp_fit_ways *ways, size_t index,
                             struct ulp_arithmetic *out, struct ulp_error *error);

/* ---- sieve.c: which of them give the bits ---- */

/* The products' values under each case. */
struct ulp_fit_values {
    struct ulp_tensor a, b, c;
};
struct ulp_fit_problem {
    size_t product_count, case_count;
    struct ulp_fit_case cases[ULP_FIT_FORMATS * ULP_FIT_FORMATS];
    struct ulp_fit_shape *shapes; /* by product */
    struct ulp_fit_values
        *values; /* [product * case_count + case]; those of equal formats are views */
    int thread_count;
};
/* How many of a sample's elements each way gives. */
struct ulp_fit_score {
    size_t way, equal;
};
enum { ULP_FIT_STAGES = 3 }; /* of samples; all elements come after them */
/* Scores of `ways` on the samples of that stage, in place; total: elements of the samples. */
enum ulp_status ulp_fit_score_sample(const struct ulp_fit_problem *problem,
                                     const struct ulp_fit_ways *ways, int stage,
                                     struct ulp_fit_score *scores, size_t count, size_t *total,
                                     struct ulp_error *error);
/* One way on all elements; differs (NULL: not wanted) gets a byte for each element, products one
 * after the other. */
enum ulp_status ulp_fit_score_all(const struct ulp_fit_problem *problem,
                                  const struct ulp_fit_ways *ways, size_t way,
                                  struct ulp_fit_candidate *out, uint8_t *differs,
                                  struct ulp_error *error);

/* ---- probe.c, fit_order.c: masked sums ---- */

/* Masked sums: in row r and column c the product at row_place[r] is M, that at column_place[c] is
 * -M. At every place of k the product is one of where some row has its M:        M in that row,
 * rest * big_b in others where some column has its -M:    the same for columns else, at multiples
 * of stride:    small * small; 0 between them rest * big_b is small * small, or 0. */
struct ulp_fit_mask {
    size_t row_count, column_count; /* masked rows of a and columns of b: the first ones; 0: none */
    size_t *row_place, *column_place; /* even and odd numbers */
    uint8_t *kinds;                   /* of each k: ULP_FIT_ROWS, _COLUMNS or 0 */
    size_t k, stride;
    double big_a, big_b, rest, small;
};
enum { ULP_FIT_ROWS = 1, ULP_FIT_COLUMNS = 2 };
enum ulp_status ulp_fit_mask_make(struct ulp_fit_mask *out, const char *operands,
                                  const char *result, const struct ulp_fit_shape *shape,
                                  struct ulp_error *error);
void ulp_fit_mask_free(struct ulp_fit_mask *mask);
/* Its factors: element (row, k) of a, (k, column) of b. */
double ulp_fit_mask_a(const struct ulp_fit_mask *mask, size_t row, size_t k);
double ulp_fit_mask_b(const struct ulp_fit_mask *mask, size_t column, size_t k);
/* The order that the masked sums of a probe's product show, in words; *words NULL: these operands
 * are no probe's. Free it with free(). */
enum ulp_status ulp_fit_order_read(const struct ulp_fit_values *values,
                                   const struct ulp_fit_case *fit_case,
                                   const struct ulp_fit_shape *shape, char **words,
                                   struct ulp_error *error);
