/* An input of a node as the reference and as a lane have it. */
#include "analysis/audit/audit_pair.h"

#include "analysis/audit/divergence/turned.h"

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

bool ulp_pair_reaches(const struct ulp_tensor *small, const struct ulp_tensor *large)
{
    if (small->count == large->count)
        return true;
    if (small->rank > large->rank || !small->count)
        return false;
    for (int d = 1; d <= small->rank; d++)
        if (small->dims[small->rank - d] != 1 &&
            small->dims[small->rank - d] != large->dims[large->rank - d])
            return false;
    return true;
}

size_t ulp_pair_element(const struct ulp_tensor *term, const struct ulp_tensor *sum, size_t i)
{
    size_t at = 0, stride = 1;
    if (term->count == sum->count)
        return i;
    for (int d = sum->rank - 1, t = term->rank - 1; d >= 0; d--, t--) {
        const size_t index = i % (size_t)sum->dims[d];
        i /= (size_t)sum->dims[d];
        if (t >= 0 && term->dims[t] != 1) {
            at += index * stride;
            stride *= (size_t)term->dims[t];
        }
    }
    return at;
}

struct ulp_pair ulp_deciding_input(const struct ulp_deciding *deciding, size_t i)
{
    struct ulp_pair pair = ulp_pair_find(deciding->program, deciding->event, deciding->lane, i);
    const struct ulp_program_node *node = &deciding->program->nodes[deciding->event->index];
    const int slot = i < node->step->input_count ? node->step->inputs[i] : -1;
    if (deciding->original && pair.reference && !node->block->slots[slot].constant)
        pair.reference = ulp_truth_find(deciding->original, node->block->slots[slot].name,
                                        deciding->event->execution, pair.reference);
    return pair;
}
