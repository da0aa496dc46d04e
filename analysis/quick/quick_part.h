/* A part of a node: so much of its inputs as a few of its outputs' elements follow from. */
#pragma once

#include "run/program/program.h"

#define ULP_QUICK_PART_INPUTS 16

struct ulp_quick_part {
    bool whole; /* no part of it is known to be computed alone: all elements */
    struct ulp_tensor inputs[ULP_QUICK_PART_INPUTS]; /* what is taken of them; else views */
    /* the elements of output 0: `count` blocks of `length`, in the node's result and in the part's
     */
    size_t count, length;
    size_t *of_node, *of_part;
    struct ulp_arena *memory; /* of these */
};
/* Which part depends on the step's number and `draw` alone. */
enum ulp_status ulp_quick_part_choose(struct ulp_quick_part *out, const struct ulp_step *step,
                                      const struct ulp_tensor *const *inputs,
                                      const struct ulp_tensor *output, uint64_t draw,
                                      struct ulp_budget *budget, struct ulp_error *error);
void ulp_quick_part_free(struct ulp_quick_part *part);
/* `count` blocks of `length` elements, which begin at first[]; *out has the given shape. */
enum ulp_status ulp_blocks_copy(struct ulp_tensor *out, const struct ulp_tensor *in,
                                const size_t *first, size_t count, size_t length, int rank,
                                const int64_t *dims, struct ulp_budget *budget,
                                struct ulp_error *error);
