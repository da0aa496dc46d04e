#include "analysis/audit/zero.h"

#include <string.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"
#include "tensor/tensor.h"

static bool has_become_zero(const struct ulp_tensor *own, const struct ulp_tensor *reference)
{
    if (!own || !reference || !ulp_element_is_float(own->element) || own->count != reference->count)
        return false;
    for (size_t i = 0; i < own->count; i++)
        if (ulp_tensor_read(own, i) == 0 && ulp_tensor_read(reference, i) != 0)
            return true;
    return false;
}

static bool is_lowered_to_zero(const struct ulp_audit_lane *lane, const char *constant)
{
    for (size_t c = 0; c < lane->constant_count; c++)
        if (lane->constants[c].underflowed && strcmp(lane->constants[c].name, constant) == 0)
            return true;
    return false;
}

enum ulp_status ulp_zero_find(struct ulp_auditor *auditor, const struct ulp_event *event, size_t l,
                              struct ulp_error *error)
{
    struct ulp_audit_lane *lane = &auditor->audit.lanes[l];
    struct ulp_audit_node *node = &lane->nodes[event->index];
    const struct ulp_place *place = &auditor->audit.places[event->index];
    const struct ulp_lane_value *own = &event->inputs[(l + 1) * event->input_count];
    const char *name = NULL;
    for (size_t i = 0; i < event->input_count && !name && !node->zeroed; i++)
        if (has_become_zero(own[i].entire, event->inputs[i].entire)) {
            const struct ulp_taint *taint =
                ulp_taint_find(&auditor->taints[l], event->input_names[i]);
            name = event->input_names[i];
            node->zeroed_by = taint ? (ptrdiff_t)taint->node : -1;
        }
    for (size_t i = 0; i < place->input_count && !name && !node->zeroed; i++)
        if (place->inputs[i].constant && is_lowered_to_zero(lane, place->inputs[i].name))
            name = place->inputs[i].name;
    if (name && !(node->zeroed = ulp_arena_text(auditor->audit.memory, name, strlen(name))))
        return ulp_out_of_memory(error);
    return ULP_OK;
}

/* Is its least exact value rounded to 0? */
static bool makes_zero(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_format format = ulp_audit_format(lane, node, &node->outputs[o]);
        const double least = node->outputs[o].range.ref_min_nonzero;
        if (ulp_type_is_float(node->outputs[o].type) && least > 0 &&
            ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, least, 0, 0) == 0)
            return true;
    }
    return false;
}

void ulp_zero_follow(const struct ulp_audit *audit, struct ulp_audit_lane *lane)
{
    for (size_t n = 0; n < lane->node_count; n++)
        if (lane->nodes[n].zeroed_by >= 0 && !ulp_audit_is_absorbed(lane, &lane->nodes[n]))
            lane->nodes[lane->nodes[n].zeroed_by].zeroes = true;
    for (size_t n = lane->node_count; n-- > 0;) {
        const struct ulp_place *place = &audit->places[n];
        for (size_t i = 0; i < place->input_count && lane->nodes[n].zeroes; i++)
            if (place->inputs[i].node >= 0 && (size_t)place->inputs[i].node < n &&
                makes_zero(lane, &lane->nodes[place->inputs[i].node]))
                lane->nodes[place->inputs[i].node].zeroes = true;
    }
}
