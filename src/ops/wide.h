/* Operators whose floats cannot have every type. */
#pragma once

#include "graph/graph.h"

/* Does ONNX, in that version of the operator's domain, refuse floats of the type (FLOAT16 or
 * BFLOAT16) in the node? Floats that only configure an operator (a Resize's scales) do not count:
 * they stay FLOAT. */
bool ulp_op_is_wide(const struct ulp_node *node, int64_t opset, enum ulp_type type);
