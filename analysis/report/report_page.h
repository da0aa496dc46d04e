/* The parts of an audit's page: each adds one, of a lane, or nothing where there is nothing to say. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/writing/columns.h"

/* tables.c: the graph's outputs; the nodes that introduce most, and those that carry most, of which
 * what only moves a value is one line with what computes it. */
void ulp_page_outputs(const struct ulp_page *page, const struct ulp_audit_lane *lane);
void ulp_page_introduced(const struct ulp_page *page, const struct ulp_audit *audit,
                         const struct ulp_audit_lane *lane);
void ulp_page_carried(const struct ulp_page *page, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane);

/* report_shares.c: what causes the error of the outputs; which pairs of Q/DQ, which constants as
 * they are stored. */
void ulp_page_shares(const struct ulp_page *page, const struct ulp_audit_lane *lane);
void ulp_page_pairs(const struct ulp_page *page, const struct ulp_audit_lane *lane);
void ulp_page_stored(const struct ulp_page *page, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane);

/* report_scaled.c: what formats with scales do to the tensors that most of the error comes from. */
void ulp_page_scaled(const struct ulp_page *page, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane);
/* What makes much of the error of a node's factors, and what is against it; nothing of a node whose
 * factors have no scales. */
void ulp_scaled_remedy(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const char *node);

/* report_overflow.c: what overflows and what becomes of it, the first decision that is not the
 * reference's, and which constants are changed. */
void ulp_page_overflow(const struct ulp_page *page, const struct ulp_audit_lane *lane);

/* report_kept.c: which nodes of the lane are kept in what, and the first borders; which are fused.
 */
void ulp_page_kept(const struct ulp_page *page, const struct ulp_audit_lane *lane);
void ulp_page_kernels(const struct ulp_page *page, const struct ulp_audit_lane *lane);

static inline bool ulp_is_float_output(const struct ulp_audit_output *output)
{
    return ulp_type_is_float(output->type);
}
