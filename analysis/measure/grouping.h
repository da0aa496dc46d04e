/* Layers as groups of nodes: by operator, or by the first parts of their names. */
#pragma once

#include <stddef.h>
#include <ulpscope/status.h>

#define ULP_GROUPING_CAUSE (-1)
/* "op", "cause" or "prefix:N" into *parts: of names cut at '/' that many, 0: by operator,
 * ULP_GROUPING_CAUSE. */
enum ulp_status ulp_grouping_read(const char *by, int *parts, struct ulp_error *error);
/* How much of the name is the group's: its first parts, but for the last one, which is the node's
 * own, unless there is no other. */
size_t ulp_grouping_cut(const char *name, int parts);
