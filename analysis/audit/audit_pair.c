/* An input of a node as the reference and as a lane have it. */
#include "analysis/audit/audit_pair.h"

struct ulp_pair ulp_pair_find(const struct ulp_program *program, const struct ulp_event *event,
                              size_t lane, size_t i)
{
    const struct ulp_program_node *node = &program->nodes[event->index];
    const int slot = i < node->step->input_count ? node->step->inputs[i] : -1;
    size_t at = 0; /* the event has no constants */
    if (slot < 0)
        return (struct ulp_pair){NULL, NULL};
    if (node->block->slots[slot].constant)
        return (struct ulp_pair){node->block->slots[slot].constant,
                                 node->block->slots[slot].constant};
    for (size_t j = 0; j < i; j++)
        at += node->step->inputs[j] >= 0 && !node->block->slots[node->step->inputs[j]].constant;
    if (at >= event->input_count)
        return (struct ulp_pair){NULL, NULL};
    return (struct ulp_pair){event->inputs[at].entire,
                             event->inputs[(lane + 1) * event->input_count + at].entire};
}
