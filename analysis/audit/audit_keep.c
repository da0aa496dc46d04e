#include "analysis/audit/audit_keep.h"

#include <float.h>
#include <math.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"

const struct ulp_audit_constant *ulp_audit_spoiling(const struct ulp_audit_lane *lane,
                                                    const struct ulp_audit_node *node)
{
    for (size_t i = 0; i < lane->overflow_count && node->constant >= 0; i++) {
        const struct ulp_audit_overflow *overflow = &lane->overflows[i];
        if (overflow->node == node->index && overflow->constant >= 0 &&
            !ulp_audit_overflow_is_harmless(ulp_audit_overflow_root(lane, (ptrdiff_t)i)))
            return &lane->constants[overflow->constant];
    }
    return NULL;
}

bool ulp_audit_overflow_needs_range(const struct ulp_audit_lane *lane,
                                    const struct ulp_audit_node *node, bool born,
                                    bool reads_overflow)
{
    return (born || reads_overflow) && !ulp_audit_is_absorbed(lane, node) && !node->absorbs;
}

bool ulp_audit_should_keep(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    bool beyond = false, by_inputs = false;
    for (size_t o = 0; o < node->output_count; o++) {
        beyond |= node->outputs[o].range.headroom_bits < 0;
        by_inputs |= node->outputs[o].carried.nonfinite > 0 && node->source >= 0;
    }
    /* by a constant beyond the format, or a zero that breaks another: no result is too large */
    const bool breaks = node->zeroes || ulp_audit_spoiling(lane, node);
    return ulp_audit_overflow_needs_range(lane, node,
                                          (node->born && (!by_inputs || node->zeroed)) ||
                                              (node->poisoned && beyond) || breaks,
                                          node->reads_overflow);
}

size_t ulp_audit_mark_kept(const struct ulp_audit_lane *lane, const bool *allowed, bool *kept)
{
    size_t marked = 0;
    for (int harmless = 0; harmless < 2 && !marked; harmless++)
        for (size_t n = 0; n < lane->node_count; n++) {
            const struct ulp_audit_node *node = &lane->nodes[n];
            if (!kept[n] && (!allowed || allowed[n]) &&
                (harmless ? node->born || node->reads_overflow
                          : ulp_audit_should_keep(lane, node))) {
                kept[n] = true;
                marked++;
            }
        }
    return marked;
}

/* A result of so little headroom may have overflowed inside; one of more is not finite for another
 * reason: a root of what has cancelled below 0. */
#define NEAR_BITS 8

bool ulp_audit_fp32_helps(const struct ulp_audit_lane *lane)
{
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        for (size_t o = 0; o < node->output_count && ulp_audit_should_keep(lane, node); o++)
            if (node->outputs[o].range.ref_max > FLT_MAX ||
                (node->zeroes && node->outputs[o].range.ref_min_nonzero < FLT_MIN) ||
                (node->born && node->outputs[o].range.headroom_bits < NEAR_BITS &&
                 ilogb(ulp_audit_format(lane, node, &node->outputs[o]).max_finite) >=
                     FLT_MAX_EXP - 1))
                return false;
    }
    return true;
}
