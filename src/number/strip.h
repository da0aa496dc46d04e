/* Strips: up to ULP_STRIP values of one carrier in contiguous memory, and every primitive over
 * them. This is the only code that computes with values outside the contraction kernels. A tape
 * (formula/) is a list of these calls, so an operator's formula runs in every arithmetic.
 *
 * Six strip carriers: the three of formats (float, double, MPFR records), pairs of doubles with a
 * running bound (the reference's) and two for integer tensors (int64, uint64; results wrap modulo
 * 2^bits of the tensor's type when stored). */
#pragma once

#include <ulpscope/tensor.h>

#include "number/function/mlas_rows.h"

#define ULP_STRIP 512

enum ulp_primitive {
#define PRIMITIVE(name, ...) ULP_PRIMITIVE_##name,
#include "number/primitive.def"
#undef PRIMITIVE
    ULP_PRIMITIVE_COUNT
};
extern const struct ulp_primitive_row {
    const char *name;
    int arity;
    enum { ULP_RESULT_EXACT, ULP_RESULT_ROUNDED, ULP_RESULT_FUNCTION } result;
} ulp_primitive_rows[ULP_PRIMITIVE_COUNT];

enum ulp_strip_carrier {
    ULP_STRIP_FLOAT,
    ULP_STRIP_DOUBLE,
    ULP_STRIP_MPFR,
    ULP_STRIP_PAIR,
    ULP_STRIP_INT64,
    ULP_STRIP_UINT64,
    ULP_STRIP_CARRIER_COUNT
};

/* How results are rounded. Made once per node by ulp_strip_rule_make; const while strips run. */
struct ulp_strip_rule {
    enum ulp_strip_carrier carrier;
    int precision; /* of MPFR values */
    bool bounded;  /* MPFR values carry a bound of their error (strip/strip_bound.h) */
    /* round every primitive's result to `format`; false: the carrier's own rounding */
    bool each_step;
    struct ulp_format format; /* the compute format when each_step */
    enum ulp_rounding rounding;
    uint64_t seed;
    /* float carrier, not each_step: functions of number/function/cuda.h, or mlas.h */
    bool cuda_functions, tanh_rounded, mlas_functions;
    /* integer carriers: the ends of the type, which "-inf" and "inf" stand for */
    int64_t least, greatest;
};

/* Where in the stochastic stream a call is: element i of the strip draws number (stream, first +
 * i). */
struct ulp_strip_place {
    uint64_t stream, first;
};

/* out[i] = op(a[i], b[i], c[i]), i < n <= ULP_STRIP; unused operands NULL; out may alias an
 * operand. */
typedef void ulp_strip_fn(const struct ulp_strip_rule *rule, void *out, const void *a,
                          const void *b, const void *c, size_t n, struct ulp_strip_place place);

/* One strip carrier's code. An entry that is NULL has no meaning in that carrier (exp of an
 * integer); the tape refuses it with a clear message when it is planned. */
struct ulp_strip_table {
    ulp_strip_fn *primitive[ULP_PRIMITIVE_COUNT];
    /* n elements of tensor at element offsets base + offset[i] (offset NULL: base + i * stride)
     * into a strip, exactly when the carrier can hold the value, else rounded once by the rule. */
    void (*load)(const struct ulp_strip_rule *rule, void *out, const struct ulp_tensor *tensor,
                 int64_t base, const int64_t *offset, int64_t stride, size_t n);
    /* The reverse. Floats are rounded once to `storage` (NULL: the value is stored as it is, which
     * must be exact); integers wrap to the tensor's type; BOOL stores value != 0. */
    void (*store)(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                  struct ulp_tensor *tensor, int64_t base, const int64_t *offset, int64_t stride,
                  const void *in, size_t n, struct ulp_strip_place place);
    /* n copies of a constant given as text (decimal or hexadecimal float, "inf", "nan", "pi"),
     * rounded once. */
    void (*constant)(const struct ulp_strip_rule *rule, void *out, const char *text, size_t n);
    /* n copies of element `index` of a strip. */
    void (*spread)(const struct ulp_strip_rule *rule, void *out, const void *in, size_t index,
                   size_t n);
};
extern const struct ulp_strip_table *const ulp_strip_tables[ULP_STRIP_CARRIER_COUNT];

/* Bytes of one element of a carrier at that precision. */
size_t ulp_strip_element_bytes(enum ulp_strip_carrier carrier, int precision);

/* The rule for computing inside operators in `format` under the arithmetic: picks the cheapest
 * carrier in which every primitive's result, rounded to the format, equals the single correct
 * rounding (proofs in number/README.md). `format` is arithmetic->compute or
 * arithmetic->accumulator. */
struct ulp_strip_rule ulp_strip_rule_make(const struct ulp_arithmetic *arithmetic,
                                          const struct ulp_format *format);
/* The rule for integer tensors: INT64 or UINT64 (for ULP_TYPE_UINT64). */
struct ulp_strip_rule ulp_strip_rule_integer(enum ulp_type type);

/* A running reduction in the arithmetic's accumulator and order. Kinds as in formulas. */
enum ulp_reduction {
    ULP_REDUCTION_SUM,
    ULP_REDUCTION_MAX,
    ULP_REDUCTION_MIN,
    ULP_REDUCTION_PRODUCT,
    ULP_REDUCTION_COUNT
};
extern const struct ulp_reduction_row {
    enum ulp_primitive combine;
    const char *empty; /* of floats */
} ulp_reduction_rows[ULP_REDUCTION_COUNT];

/* The order of one reduction. WARP: `parts` (a power of two) partial results, element i in number i
 * mod parts; each `group` neighbours of them join in order, then halves join: j with j + half,
 * until one is left, or `rest`, which join in order. */
struct ulp_reduction_order {
    enum ulp_order order;
    int block;              /* elements in a block: BLOCKED */
    int parts, group, rest; /* WARP; group divides parts; rest is a power of two, or 0 as 1 */
    /* the sums of groups are rounded by it, and added by it, one after the other; NULL: as others.
     * Of the rule's carrier, and of one row at a time; group need not divide a power of two */
    const struct ulp_strip_rule *stored;
    /* sums of floats by a kernel, which is given the whole row: of `length` elements, of which
     * `head` lie before the first aligned one */
    enum ulp_row_kernel kernel;
    size_t length, head;
};
/* What ULP_ORDER_WARP is for rows of that many elements, neighbours in memory or not (README.md,
 * 5.1). */
struct ulp_reduction_order ulp_reduction_order_warp(size_t row_length, bool contiguous);

/* State of one reduction; zero-initialise size ulp_reduction_bytes(rule, order), then begin, add
 * strips in order, end. */
struct ulp_reduction_state;
size_t ulp_reduction_bytes(const struct ulp_strip_rule *rule, struct ulp_reduction_order order);
void ulp_reduction_begin(struct ulp_reduction_state *state, const struct ulp_strip_rule *rule,
                         enum ulp_reduction kind, struct ulp_reduction_order order);
/* Elements are values of rule's carrier, already exact in it. */
void ulp_reduction_add(struct ulp_reduction_state *state, const void *strip, size_t n,
                       struct ulp_strip_place place);
/* WARP: the partial results of n rows, n values for each part, become one for each row in the first
 * n places; parts from number `count` on hold none. */
void ulp_reduction_join(const struct ulp_strip_rule *rule, enum ulp_reduction kind,
                        struct ulp_reduction_order order, void *parts, size_t n, uint64_t count,
                        struct ulp_strip_place place);
/* The result as a one-element strip. Empty: sum 0, product 1, max -infinity, min +infinity
 * (integers: their type's ends). */
void ulp_reduction_end(struct ulp_reduction_state *state, void *out);
