/* What the audit records about a lane with kept nodes: which arithmetic each node has, and the
 * borders. */
#pragma once

#include <ulpscope/audit.h>

/* The lane's name, the arithmetics of its nodes, and its borders, from lane `index` of the program,
 * into memory of the arena. Its nodes are there. */
enum ulp_status ulp_mixed_prepare(struct ulp_audit_lane *lane, const struct ulp_program *program,
                                  size_t index, struct ulp_arena *memory, struct ulp_error *error);
/* The arithmetic as it was asked for, with the file's name of static scales and groups: as long as
 * that is the name begins so. ",keep=..." may follow; of a lane under another name (a plan's) it is
 * the arithmetic's own. */
struct ulp_asked {
    const char *text;
    int length;
};
struct ulp_asked ulp_audit_asked(const struct ulp_audit_lane *lane);
/* The format whose largest value bounds this output in this lane. */
struct ulp_format ulp_audit_format(const struct ulp_audit_lane *lane,
                                   const struct ulp_audit_node *node,
                                   const struct ulp_audit_output *output);
/* The same of a node: of its first float output where types are as declared. */
struct ulp_format ulp_audit_node_format(const struct ulp_audit_lane *lane,
                                        const struct ulp_audit_node *node);
