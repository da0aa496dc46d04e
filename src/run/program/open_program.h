/* Which sizes are facts. A file that is written holds for every size of the model's free
 * dimensions, but a program knows the sizes of one sample: what is 1 there, or equal, need not be
 * so elsewhere. So the model is compiled again, with its own shape functions, at sizes that nobody
 * chose: what holds there, too, holds at every size, as two polynomials that are equal at random
 * numbers are equal. A dimension that the model declares, or that follows from such, is the same in
 * all of these programs; two that follow from one symbol are equal in all.
 *
 * Whether the model takes the drawn sizes does not matter for that. Where a node refuses them (a
 * mask's `total` beside `past` + `length`), the sizes that do not fit become one that is like no
 * other, from which nothing follows; other results of such a node have no shape. Sizes are drawn
 * that lead to few of these. Who needs sizes that the model takes asks for those without any
 * (*refused 0). */
#pragma once

#include "data/free_sizes.h"
#include "run/program/program.h"

/* Draw sizes from 5 on, each unlike the others: small ones for an even seed, large ones for an odd
 * one, where nodes take them. */
enum ulp_status ulp_sizes_draw(const struct ulp_model *model, uint64_t seed,
                               struct ulp_sizes *sizes, struct ulp_error *error);

/* The model compiled in the arithmetic "model" at these sizes, to be looked at, not to be run.
 * options (may be NULL) have the inputs of which no rank is declared. overriding: initializers that
 * a caller may override are no constants. */
enum ulp_status ulp_program_open(const struct ulp_model *model, const struct ulp_sizes *sizes,
                                 const struct ulp_program_options *options, bool overriding,
                                 struct ulp_program **out, struct ulp_error *error);

/* ---- for the program (opening.c) ---- */

struct ulp_opening {
    const struct ulp_sizes *sizes;
    bool overriding;
    size_t refused;
    int64_t unlike; /* the next size that is like no other */
};
/* Is the failure one of sizes, which an open program passes over? opening NULL: the program is
 * none. */
bool ulp_opening_refused(const struct ulp_opening *opening, enum ulp_status status,
                         const struct ulp_error *error);
/* The free dimension's size in an open program. */
int64_t ulp_opening_size(struct ulp_opening *opening, const char *input, const char *name,
                         int dimension);
/* The step refused the shapes of its inputs: make `views`, which call->in has, fit by sizes like no
 * other, or describe what the step gives. *again: its shape function is asked once more. */
enum ulp_status ulp_opening_widen(struct ulp_opening *opening, const struct ulp_step *step,
                                  struct ulp_call *call, struct ulp_tensor *views, bool *again,
                                  struct ulp_error *error);
