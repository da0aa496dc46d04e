/* Finds operators that exporters write out as several nodes: LayerNormalization, RMSNormalization,
 * Gelu, SiLU, Softmax, attention. What they look like is data (idiom.def): formulas with holes,
 * matched against the steps of a block, from their last node backwards, with full backtracking.
 *
 * It works on a program, not on the graph of the file: there functions are expanded, constants are
 * known whether they came as initializers, Constant nodes or through Identity, and ranks are
 * inferred. Nodes that are the operator itself (op_type LayerNormalization) are not idioms.
 *
 * Grammar of a row, names in lower case:
 *   formula = { name "=" sum ";" } sum       a defined name stands for its expression
 *   sum     = product { ("+" | "-") product }
 *   product = [ "-" ] factor { ("*" | "/") factor }
 *   factor  = number | name | name "(" sum { "," sum } ")" | "(" sum ")"
 * A name that is not defined is a hole, which must be the same value wherever it stands: one of
 * enum ulp_idiom_hole. $epsilon in a sum and $scale in a product are any scalar constant, also a
 * missing one (0 and 1). Functions are those of the table in match.c. */
#pragma once

#include <math.h>

#include "run/program/program.h"

enum ulp_idiom_kind {
    ULP_IDIOM_LAYER_NORM,
    ULP_IDIOM_RMS_NORM,
    ULP_IDIOM_GELU_ERF,
    ULP_IDIOM_GELU_TANH,
    ULP_IDIOM_GELU_SIGMOID,
    ULP_IDIOM_SILU,
    ULP_IDIOM_SOFTMAX,
    ULP_IDIOM_ATTENTION,
    ULP_IDIOM_KIND_COUNT
};

enum ulp_idiom_hole {
    ULP_IDIOM_X,     /* computed: what is normalised, activated, or the scores */
    ULP_IDIOM_GAMMA, /* constants */
    ULP_IDIOM_BETA,
    ULP_IDIOM_Q, /* computed: the factors of the scores, K as the product reads it */
    ULP_IDIOM_K,
    ULP_IDIOM_V,
    ULP_IDIOM_MASK, /* anything: what is added to the scores, or a Where's condition */
    ULP_IDIOM_LOW,  /* anything: what a Where puts instead of masked scores */
    ULP_IDIOM_HOLE_COUNT
};

#define ULP_IDIOM_STEPS_MAX 40

struct ulp_idiom {
    enum ulp_idiom_kind kind;
    const char *formula; /* the row of idiom.def that matched */
    int root;            /* the step whose output is the result */
    /* All steps it consists of, ascending, with the Casts between; the last is the root. They may
     * have other readers, too. Positions in block->steps. */
    int steps[ULP_IDIOM_STEPS_MAX];
    size_t step_count;
    /* The slot in each hole, before Casts; -1: the formula has no such hole. */
    int holes[ULP_IDIOM_HOLE_COUNT];
    double epsilon; /* added to the mean square, as the model declares it; 0: nothing is */
    double scale;   /* of the scores; 1: none */
    /* The axes that are reduced, as bits; the lowest of them; how many elements are reduced
     * together. axis -1: nothing is reduced (an activation), or the rank is not known. Of a Softmax
     * inside an attention: its axis. */
    uint32_t axes;
    int axis;
    size_t length; /* 0: not known */
};

/* Can Attention have the idiom's scale? Its attribute is a float, which must be above 0: ONNX
 * Runtime refuses others, and kernels give NaN beside keys that are hidden. */
static inline bool ulp_idiom_scale_fits(const struct ulp_idiom *idiom)
{
    return (float)idiom->scale > 0 && isfinite((float)idiom->scale);
}

/* Does nobody else read what the idiom computes on its way? */
bool ulp_idiom_is_closed(const struct ulp_block *block, const struct ulp_idiom *idiom);
/* Without a Cast that it begins with and that others read, too: a runtime that makes one kernel of
 * the rest reads its result. */
void ulp_idiom_leave_cast(const struct ulp_block *block, struct ulp_idiom *idiom);

/* All idioms of the block (not of the bodies of its steps), by root. One kind never overlaps
 * itself: the larger match counts. An attention contains the Softmax that is listed beside it.
 * Memory from arena. The time is linear in the steps: matching at one node has a limited number of
 * tries. */
enum ulp_status ulp_idioms_find(const struct ulp_block *block, struct ulp_arena *arena,
                                struct ulp_idiom **out, size_t *count, struct ulp_error *error);

/* ---- between expression.c and match.c ---- */

enum ulp_idiom_part_kind {
    ULP_IDIOM_HOLE,
    ULP_IDIOM_CALL,
    ULP_IDIOM_PRODUCT, /* constant * arguments; of a flipped one its reciprocal */
    ULP_IDIOM_SUM,     /* constant + arguments; of a flipped one its negative */
};
#define ULP_IDIOM_ARGUMENTS 4
struct ulp_idiom_part {
    enum ulp_idiom_part_kind kind;
    char name[12]; /* of a function */
    enum ulp_idiom_hole hole;
    double constant;
    bool any; /* the constant may be any: $epsilon, $scale */
    int count, arguments[ULP_IDIOM_ARGUMENTS];
    bool flipped[ULP_IDIOM_ARGUMENTS];
};
struct ulp_idiom_formula {
    struct ulp_idiom_part parts[40];
    int count, root;
};
/* Parse a row of idiom.def. ULP_ERROR_USAGE: it has not the grammar above. */
enum ulp_status ulp_idiom_parse(const char *text, struct ulp_idiom_formula *out,
                                struct ulp_error *error);
/* Match at the step; out->root and the rest are set when it returns true. */
bool ulp_idiom_match(const struct ulp_block *block, int step,
                     const struct ulp_idiom_formula *formula, struct ulp_idiom *out);
