/* A formula's value one element at a time in MPFR, every rounding written out: what evaluation is
 * compared with. It reads the tape as a tree and knows nothing of strips, phases, carriers or
 * layouts. */
#pragma once

#include <mpfr.h>

#include "formula/tape.h"

/* Operand i's element (row, position) is operands[i][row * row_length + position], exact; NULL: the
 * constant. */
struct oracle {
    const struct ulp_tape *tape;
    const struct ulp_arithmetic *arithmetic;
    size_t row_length;
    const double *const *operands;
    const char *constant;
    bool contiguous;   /* rows lie in memory element by element: ULP_ORDER_WARP depends on it */
    size_t folded_row; /* the row that `reduced` holds; set to SIZE_MAX before the first call */
    bool known[64];
    size_t scanned[64]; /* so many positions of a scan are in `reduced` */
    mpfr_t reduced[64];
};

void oracle_init(struct oracle *oracle);
void oracle_clear(struct oracle *oracle);
/* Output `output` at (row, position), rounded to the arithmetic's storage. out has at least its
 * precision. */
void oracle_value(struct oracle *oracle, mpfr_t out, int output, size_t row, size_t position);

/* The tensor's element equals x: same value, same sign of zero; any NaN equals any NaN. */
bool oracle_equal(const struct ulp_tensor *tensor, size_t index, const mpfr_t x);
