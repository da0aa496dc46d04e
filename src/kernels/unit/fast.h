/* The fast path of matrix units, equal to the oracle on every bit.
 *
 * Operands are decoded once into two planes: the value as a float, and the exponent Exp(x). A
 * block's largest exponent e is then a max-plus product of the exponent planes, a term is (a * b) *
 * 2^(F - e) converted to an integer with truncation, and the terms are added as int32. Why that is
 * exact:
 * - a * b has at most 22 bits: exact in FP32 unless it leaves FP32's range. |a * b| < 2^(e + 2), so
 *   it cannot overflow while e <= 109. Below 2^-126 it may be wrong, but then
 *   |a * b| * 2^(F - e) < 1 and the term is 0 either way, provided e >= F - 125.
 * - Scaling by 2^(F - e) is exact or leaves a magnitude below 1.
 * - A term is below 2^(F + 2) <= 2^27, and 16 of them stay below 2^31; every other addition is
 *   checked for overflow.
 * Nothing depends on the rounding mode. Lanes outside of these conditions are summed one by one by
 * the oracle. Lanes that meet NaN or Inf are decided all at once by sets of lanes. */
#pragma once

#include <string.h>

#include "base/bits.h"
#include "kernels/operand/pack.h"
#include "kernels/unit/unit.h"

#define ULP_UNIT_COLUMNS 32 /* lanes of a panel */

/* Exponent-plane codes of what has no exponent; the value plane holds 0 there. The sum of one of
 * these and any other entry fits int16 and is below ULP_UNIT_NO_TERM; the sum of two exponents is
 * above it. */
enum {
    ULP_UNIT_ZERO = -8192,
    ULP_UNIT_PADDING = -8193,
    ULP_UNIT_NAN = -8194,
    ULP_UNIT_POSITIVE_INFINITY = -8195,
    ULP_UNIT_NEGATIVE_INFINITY = -8196,
    ULP_UNIT_NO_TERM = -5000,
    ULP_UNIT_NONE = -16384, /* the sum of two zeros' codes */
};

/* The limits of the fast path for a unit, in exponents. */
struct ulp_unit_limits {
    int fraction_bits;
    int lowest;  /* e is raised to this: the floor, or where scaling still works */
    int low;     /* a block that holds a term and has e below this is summed by the oracle, */
    int high;    /* or above this */
    int c_field; /* the smallest biased exponent c reads */
};

/* The sum over k cut into the blocks of the unit. Block i owns the slots [i * block, (i + 1) *
 * block) of the planes; slots without a k hold zeros. */
struct ulp_unit_layout {
    struct ulp_unit unit; /* whose blocks these are: of ULP_UNIT_HALVES the FP16 unit inside */
    struct ulp_unit_limits limits;
    /* blocks come in pairs, one pair an instruction whose result is added to c */
    bool halves;
    bool one_chain; /* nothing ends before the last block */
    bool dense;     /* slot k holds k, and there are no empty slots before the last k's */
    size_t block_count, slot_count;
    size_t slot_stride;       /* slot_count rounded up to whole vectors */
    int64_t *slot_k;          /* [slot_stride]; -1: none */
    uint8_t *block_used;      /* [block_count] slots with a k: a block's first ones */
    uint8_t *block_end;       /* [block_count] flags of what ends with the block */
    struct ulp_arena *memory; /* of these; freed also where it was not created whole */
};
enum {
    ULP_UNIT_ENDS_INSTRUCTION = 1, /* halves only: c += chain, chain = 0 */
    ULP_UNIT_ENDS_CHAIN = 2,       /* sum += c, c = 0 */
    ULP_UNIT_ENDS_SLICE = 4,       /* total += sum, sum = 0 */
};
/* run > 0: blocks that share a scale begin anew after so many k; 0: they do not. */
enum ulp_status ulp_unit_layout_create(struct ulp_unit_layout *layout, const struct ulp_unit *unit,
                                       const struct ulp_schedule *schedule, size_t k, size_t run,
                                       struct ulp_budget *budget, struct ulp_error *error);
void ulp_unit_layout_free(struct ulp_unit_layout *layout);

/* Rows of one factor. */
struct ulp_unit_rows {
    float *value;      /* [row][slot], slot_stride apart */
    int16_t *exponent; /* [row][slot] */
    uint8_t *special;  /* [row][block]: does the block hold NaN or Inf? */
};
/* The other factor: a panel of ULP_UNIT_COLUMNS of its lines, [slot][column]. */
struct ulp_unit_panel {
    float *value;
    int16_t *exponent;
    uint8_t *special; /* [block] */
    /* [enum ulp_unit_set][slot], slot_count apart: sets of columns; only when something is
     * special */
    uint32_t *kinds;
};
enum ulp_unit_set {
    ULP_UNIT_SET_NAN,
    ULP_UNIT_SET_INFINITY,
    ULP_UNIT_SET_ZERO, /* padding too */
    ULP_UNIT_SET_NEGATIVE,
    ULP_UNIT_SET_PADDING, /* whatever the other sets say */
    ULP_UNIT_SET_COUNT,
};
struct ulp_unit_tile;
/* One set of instructions. */
struct ulp_unit_instance {
    /* c(row, column) = chain of the tile's blocks onto c, for all of them. */
    void (*run)(const struct ulp_unit_tile *tile);
    /* The exponent plane of values; false: there is NaN or Inf, whose codes are wrong. */
    bool (*find_exponents)(int16_t *exponent, const float *x, size_t count, int emin);
};
/* The fastest one for a processor with these features (enum ulp_cpu_feature). */
const struct ulp_unit_instance *ulp_unit_choose(unsigned cpu);

/* Decode lines of a factor. scratch: range.k_count floats, times ULP_UNIT_COLUMNS for a panel.
 * `padding`: mark padding elements (needed when they may meet NaN or Inf). */
void ulp_unit_decode_rows(const struct ulp_unit_instance *instance, struct ulp_unit_rows *rows,
                          const struct ulp_unit_layout *layout, const struct ulp_pack *pack,
                          struct ulp_pack_range range, bool padding, float *scratch);
/* Lines from range.line_count on are zeros. special_rows: it may meet rows with NaN or Inf, and
 * needs its kinds even when it holds none. */
void ulp_unit_decode_panel(const struct ulp_unit_instance *instance, struct ulp_unit_panel *panel,
                           const struct ulp_unit_layout *layout, const struct ulp_pack *pack,
                           struct ulp_pack_range range, bool special_rows, float *scratch);

/* Blocks [block_first, block_last) of a sum, at least one, for some rows and a panel's columns. */
struct ulp_unit_tile {
    const struct ulp_unit_layout *layout;
    struct ulp_unit_rows rows;
    struct ulp_unit_panel panel;
    size_t row_count, block_first, block_last;
    float *c;   /* [row_count][ULP_UNIT_COLUMNS] */
    bool fresh; /* c is taken for zeros, whatever it holds */
};

/* ulp_contract_unit with everything chosen: for tests and measurements. */
enum ulp_status ulp_unit_contract(unsigned cpu, const struct ulp_unit *unit,
                                  const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem, struct ulp_pool *pool,
                                  struct ulp_error *error);

/* Those of a layout are in it. */
struct ulp_unit_limits ulp_unit_limits(const struct ulp_unit *unit);
