/* What the parts of check_contract share: contractions of random elements that own their memory, in
 * every layout of factors, and the program's suites. */
#pragma once

#include "kernels/contract.h"
#include "tests/support/stream.h"
#include "tests/support/test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* How elements lie and what they are. */
/* IMAGE: b's lines are places of an image's rows, neighbours or every second one; a is as ROWS. */
enum layout { ROWS, COLUMNS, GATHERED, WINDOW, STRIDED_WINDOW, IMAGE, STRIDED_IMAGE, LAYOUT_COUNT };
enum values { NEAR_ONE, PATTERNS, SMALL_INTEGERS, WITH_SPECIALS, VALUES_COUNT };

struct setup {
    size_t batch_count, m, n, k;
    enum layout layout;
    enum values values;
    bool padding, store, transposed_out;
    uint64_t seed;
};

/* A contraction that owns everything it points to. */
struct instance {
    struct ulp_contraction problem;
    struct ulp_tensor a, b, out;
    int64_t *tables[9];
    uint8_t *padding;
};
void instance_create(struct instance *instance, const struct ulp_arithmetic *arithmetic,
                     const struct setup *setup);
void instance_free(struct instance *instance);

/* The arithmetic of that name; fails the test when it is unknown. */
struct ulp_arithmetic instance_arithmetic(const char *name);

/* Integers (check_integers.c) and packing (check_pack.c). */
