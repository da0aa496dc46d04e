/* A model's nodes in a newer opset: as they are where they mean the same there, with attributes
 * that have become inputs, or as other operators that compute the same. */
#pragma once

#include "load/mixed/editor.h"

/* Has every node, those of bodies too, a form in the opset, unless the model has it already?
 * ULP_ERROR_UNSUPPORTED: the first that has none. */
enum ulp_status raise_check(const struct ulp_model *model, int64_t opset, struct ulp_error *error);
/* The nodes of the file in these forms, which raise_check has found. */
enum ulp_status raise_nodes(struct editor *editor, int64_t opset);
