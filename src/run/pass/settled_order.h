/* Where a sweep back visits the steps that follow from constants alone. */
#pragma once

#include "run/program/program.h"

/* Such steps may stand at the graph's beginning, all of them, and what is owed to weights is as
 * large as they: each is visited right behind the first of its readers, not in its place. By step:
 * the first of those that are visited behind it, and the next of those that are visited where it
 * is; the block's step_count: none. */
struct ulp_settled_order {
    size_t *first, *next;
};
enum ulp_status ulp_settled_order(const struct ulp_block *block, struct ulp_budget *budget,
                                  struct ulp_settled_order *out, struct ulp_error *error);
void ulp_settled_order_free(struct ulp_settled_order *order);
