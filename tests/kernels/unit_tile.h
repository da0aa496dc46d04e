/* Tiles of a matrix unit's fast path beside the oracle, in every set of instructions. */
#pragma once

#include "kernels/unit/fast.h"
#include "unit_operands.h"

enum { UNIT_TILE_ROWS = 8 };

struct unit_tile {
    const struct ulp_unit *unit;
    struct ulp_arithmetic arithmetic;
    struct ulp_unit_layout layout;
    size_t k;
    /* lines of k elements, to be set; a and b hold values of the unit's input, before of its
     * accumulator */
    float *a, *b;  /* UNIT_TILE_ROWS and ULP_UNIT_COLUMNS of them */
    float *before; /* c, [row][column] */
    struct ulp_tensor a_tensor, b_tensor;
    int64_t *line, *k_offset;
    struct ulp_unit_rows rows;
    struct ulp_unit_panel panel;
    float *expected, *got, *scratch;
};

/* Has the unit a fast path? */
bool unit_tile_serves(const struct ulp_unit *unit);
/* Is this the first row of the table with its parameters? */
bool unit_is_first_alike(size_t index);

void unit_tile_create(struct unit_tile *it, const struct ulp_unit *unit, size_t k);
void unit_tile_free(struct unit_tile *it);
void unit_tile_draw(struct unit_tile *it, enum regime regime, uint64_t *state);
/* The tile by every instance, onto c and afresh. `what` says where it failed. */
void unit_tile_compare(struct unit_tile *it, const char *what);
