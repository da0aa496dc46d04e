/* Rows of outputs that a TopK or a NonMaxSuppression has listed, in the reference's order: what is
 * compared is what was chosen, not where it stands. */
#pragma once

#include "run/program/program.h"

/* Of a lane, in the current sample. */
struct ulp_listed {
    size_t batches, count;
    size_t *place; /* [batch][row of the reference]: the lane's row; NULL: nothing is listed */
};

/* Of the lane (index into the audit's): the event's node may list otherwise than the reference, by
 * inputs that have not diverged. Equal indices are the same row, those that only one has are left
 * in their order. */
enum ulp_status ulp_listed_look(struct ulp_listed *listed, const struct ulp_program *program,
                                const struct ulp_event *event, size_t lane,
                                struct ulp_error *error);
/* *out: a copy of the value whose rows are in the reference's order; type UNDEFINED: it has no such
 * rows. Free with ulp_tensor_free. */
enum ulp_status ulp_listed_order(const struct ulp_listed *listed, const struct ulp_tensor *value,
                                 struct ulp_budget *budget, struct ulp_tensor *out,
                                 struct ulp_error *error);
void ulp_listed_clear(struct ulp_listed *listed);
