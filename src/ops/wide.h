/* Operators whose floats cannot have every type. */
#pragma once

#include "graph/graph.h"

/* Does the operator's schema, in that version of its domain, refuse floats of the type (FLOAT16 or
 * BFLOAT16) in an input or output that the node has? aside, bit i: input i has no floats, or some
 * that stay FLOAT because they only configure the operator (a Resize's scales). */
bool ulp_op_is_wide(const struct ulp_node *node, int64_t opset, enum ulp_type type, uint64_t aside);
