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

bool ulp_audit_breaks_range(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    return node->zeroes || ulp_audit_spoiling(lane, node);
}

bool ulp_audit_should_keep(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    bool beyond = false, by_inputs = false;
    for (size_t o = 0; o < node->output_count; o++) {
        beyond |= node->outputs[o].range.headroom_bits < 0;
        by_inputs |= node->outputs[o].carried.nonfinite > 0 && node->source >= 0;
    }
    return !ulp_audit_is_absorbed(lane, node) && !node->absorbs &&
           ((node->born && (!by_inputs || node->zeroed)) || node->reads_overflow ||
            (node->poisoned && beyond) || ulp_audit_breaks_range(lane, node));
}

bool ulp_audit_fp32_helps(const struct ulp_audit_lane *lane)
{
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        for (size_t o = 0; o < node->output_count && ulp_audit_should_keep(lane, node); o++)
            if (node->outputs[o].range.ref_max > FLT_MAX ||
                (node->zeroes && node->outputs[o].range.ref_min_nonzero < FLT_MIN) ||
                (node->born && ilogb(ulp_audit_format(lane, node, &node->outputs[o]).max_finite) >=
                                   FLT_MAX_EXP - 1))
                return false;
    }
    return true;
}
