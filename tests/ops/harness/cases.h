/* Cases for the harness of operators: one node and its inputs for a row of the operator table, in
 * any arithmetic.
 *
 * Most rows need nothing: every required input is a random g[2,3,4] (or BOOL), every attribute that
 * `when` asks for is given. A hint says what an operator needs beyond that.
 *
 * - inputs: words in the order of the row: TYPE[dims], f or g FLOAT, i INT64, j INT32, u UINT8,
 *   s INT8, n INT4, e FLOAT8E4M3FN, b BOOL; then optionally (low,high), the range of random
 *   values, or {values}. '_' is an omitted input. f are multiples of 1/16 in [-2, 2], so that short
 *   sums are exact; g has 8 significant bits and exponents from -6 to 0, so that they round. Both
 *   are exact in every arithmetic that is run: all lanes compute from the same numbers.
 * - attributes: "name=value; ...", of the kind that the row says; "#outputs=N": how many outputs
 *   are asked for.
 * - steps, magnitude: the bound of an operator that is no formula alone. Each of its results is a
 *   sum of terms whose magnitudes add up to `magnitude` at most, and `steps` roundings act on each:
 *   |lane - reference| <= steps * u * magnitude + the rounding to storage. 0 steps: every lane
 *   moves, selects or counts; its result is the reference's, rounded. */
#pragma once

#include "ops/call.h"

struct hint {
    const char *op; /* "ms.NAME": of com.microsoft, "trt.NAME": of TensorRT */
    int since;      /* of the row; 0: of every row of that name */
    const char *inputs, *attributes;
    double steps, magnitude;
    bool sum; /* one sum of products: steps round in the accumulator */
};
/* Of data/cases/hints.cases, read once; ends in a row without op. */
const struct hint *all_hints(void);

/* Rows that are not run here, with the reason. */
struct exemption {
    const char *op, *reason;
};
extern const struct exemption exemptions[];

#define CASE_INPUTS 24
struct node_case {
    struct ulp_arena *arena; /* of texts and lists */
    struct ulp_node node;
    struct ulp_attribute attributes[ULP_ATTRIBUTES_MAX + 1];
    int numbers[CASE_INPUTS], outputs[CASE_INPUTS];
    struct ulp_tensor inputs[CASE_INPUTS];
    const struct ulp_tensor *in[CASE_INPUTS];
};

/* Hint number n of the row, from 0, or NULL. */
const struct hint *case_hint(const struct ulp_operator *row, size_t n);
/* Why the row is not run here, or NULL. */
const char *case_exemption(const struct ulp_operator *row);
/* The row's node and inputs as `lane` holds them: the same values for every lane. hint NULL: made
 * from the row's texts. */
void case_make(struct node_case *out, const struct ulp_operator *row, const struct hint *hint,
               const struct ulp_arithmetic *lane);
void case_free(struct node_case *c);
