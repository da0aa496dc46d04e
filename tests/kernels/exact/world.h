/* What the parts of check_wide share: wide contractions of random operands of every kind, the sums
 * that mpfr_dot gives, and the comparison, bit for bit, of what any method makes of them. */
#pragma once

#include "kernels/reference.h"
#include "number/mpfr_record.h"
#include "tests/support/stream.h"
#include "tests/support/test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* What the factors' elements are like. */
enum kind {
    NORMAL,     /* full significands, exponents within 8 */
    SPREAD,     /* exponents within 2000 */
    SHORT,      /* significands of 24 bits whatever the element */
    ZEROS,      /* nine in ten are zeros of either sign */
    INTEGERS,   /* -3 .. 3: sums that are zero happen */
    CANCELLING, /* neighbours in k are equal in b and nearly opposite in a */
    TIES,       /* sums that lie on or beside the middle between neighbours of P bits */
    /* the ends of the element's range: subnormals and huge numbers; records at 2^(+-2^40) */
    EDGES,
    FULL,     /* every significand bit is set, signs change with the line */
    SPECIALS, /* now and then NaN, Inf, -Inf, -0 */
    KIND_COUNT
};

struct setup {
    size_t batch_count, m, n, k;
    enum ulp_element a, b;
    int a_precision, b_precision; /* of WIDE */
    int precision;                /* P */
    enum kind kind;
    bool padding;
    uint64_t seed;
};

/* A setup of random small sizes, of the elements of pair number `pair`. */
#define WORLD_PAIRS 7
struct setup world_setup(size_t pair, int precision, enum kind kind, uint64_t seed);

/* A factor that owns everything it points to. */
struct side {
    struct ulp_tensor tensor;
    int64_t *batch_offset, *line_offset, *k_offset;
    uint8_t *padding;
};

/* A contraction that owns everything it points to, and what it should give. */
struct world {
    struct setup setup;
    struct side a, b;
    struct ulp_tensor out, expected;
    int64_t *out_batch, *out_row, *out_column;
    struct ulp_arithmetic arithmetic;
    struct ulp_contraction problem;
};
void world_create(struct world *world, struct setup setup);
void world_free(struct world *world);
/* Again, after a change of the factors: mpfr_dot, one output at a time; a zero is +0. */
void world_find_expected(struct world *world);
void world_compare(struct world *world, int thread_count);

/* Element i, rounded to the tensor's element or to value's precision. */
void world_put(struct ulp_tensor *tensor, size_t i, const mpfr_t value);
void world_get(mpfr_t value, const struct ulp_tensor *tensor, size_t i);
bool world_same_record(const struct ulp_record *x, const struct ulp_record *y, int precision);
