/* The fate of an overflow: it reaches an output, makes a finite result wrong, or is absorbed. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/audit/audit_pair.h"

/* The constants that lane `index` of the program cannot hold, and which nodes read them, into
 * memory of the arena. Its nodes are there. */
enum ulp_status ulp_audit_overflow_prepare(struct ulp_audit_lane *lane,
                                           const struct ulp_program *program, size_t index,
                                           struct ulp_arena *memory, struct ulp_error *error);

/* One time at a node. */
struct ulp_audit_overflow_look {
    ptrdiff_t from; /* the overflow that its inputs bear; -1: none */
    bool born;      /* its results are not finite, and its inputs were */
    bool shows;     /* some result is not finite, or its exact values lie beyond its storage */
    /* where no result shows it: they are wrong by it; and by what the node's own constants are */
    bool wrong, introduces;
};
/* Are finite results off by more than an eighth of what results are, where they come of elements of
 * the input that are not finite though the reference's are, and is that more than half of the
 * error? */
bool ulp_audit_overflow_misleads(const struct ulp_pair *input, const struct ulp_pair *result);
/* ... by one of the inputs of an event's node. */
bool ulp_audit_overflow_misleads_at(const struct ulp_event *event, size_t lane, size_t output);
/* The overflow that its results bear; -1: none. */
ptrdiff_t ulp_audit_overflow_follow(struct ulp_audit_lane *lane, struct ulp_audit_node *node,
                                    const struct ulp_audit_overflow_look *look);
/* Two that one node reads are one from there on. */
ptrdiff_t ulp_audit_overflow_join(struct ulp_audit_lane *lane, ptrdiff_t a, ptrdiff_t b);
/* Those of another sample, which the lane then has, too; numbers: room for each one's index in the
 * lane. */
void ulp_audit_overflow_add(struct ulp_audit_lane *lane, const struct ulp_audit_lane *sample,
                            ptrdiff_t *numbers);
/* An output of the graph bears it. */
void ulp_audit_overflow_reach(struct ulp_audit_lane *lane, ptrdiff_t overflow);

/* All samples are there: the first node whose overflow does harm, and how many are poisoned. */
void ulp_audit_overflow_finish(struct ulp_audit_lane *lane);

/* The one it is, with those it has come together with. */
const struct ulp_audit_overflow *ulp_audit_overflow_root(const struct ulp_audit_lane *lane,
                                                         ptrdiff_t overflow);
bool ulp_audit_overflow_is_harmless(const struct ulp_audit_overflow *root);
/* Does the node only bear an overflow that does no harm? Its error is no measure of anything. */
bool ulp_audit_is_absorbed(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node);
