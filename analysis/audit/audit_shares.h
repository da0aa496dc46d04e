/* Shares of the nodes in the error of one output, and of which output they are. */
#pragma once

#include <ulpscope/audit.h>

/* Why a lane has no shares, when it overflows; compared by address. */
extern const char ulp_attribution_nonfinite[];

/* Sums over samples become means. */
void ulp_shares_divide(struct ulp_output_shares *shares, size_t node_count);
void ulp_node_shares_add(struct ulp_node_shares *to, const struct ulp_node_shares *from);
/* One more sample's into the sums; the first has sample_count 0. */
void ulp_shares_add(struct ulp_output_shares *sums, const struct ulp_output_shares *sample,
                    size_t node_count);
/* Those of the lane and its nodes become these. */
void ulp_shares_take(struct ulp_audit_lane *lane, const struct ulp_output_shares *shares);
/* Those of the lane and its nodes become those of the worst output that has any. */
void ulp_shares_name(struct ulp_audit_lane *lane);
/* A node's own. */
struct ulp_node_shares ulp_shares_of(const struct ulp_audit_node *node);
void ulp_shares_give(struct ulp_audit_node *node, struct ulp_node_shares shares);
