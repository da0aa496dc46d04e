/* Following overflows through the graph: which results come from one, and where it ends. */
#include "base/error.h"
#include "analysis/audit/audit_overflow.h"

#include <math.h>

#include "number/function/math.h"
#include "tensor/tensor.h"

/* ---- constants ---- */

static enum ulp_status copy_constant(struct ulp_audit_lane *lane,
                                     const struct ulp_changed_constant *from,
                                     struct ulp_arena *memory, struct ulp_error *error)
{
    struct ulp_audit_constant *to = &lane->constants[lane->constant_count];
    *to = (struct ulp_audit_constant){.name = ulp_arena_copy(memory, from->name),
                                      .in = ulp_arena_copy(memory, from->in->name),
                                      .elements = from->elements,
                                      .overflowed = from->overflowed,
                                      .underflowed = from->underflowed,
                                      .largest = from->largest,
                                      .first_reader = from->readers[0],
                                      .reader_count = from->reader_count};
    ULP_TRY(ulp_taken(to->name && to->in, error));
    for (size_t r = 0; r < from->reader_count; r++) {
        struct ulp_audit_node *node = &lane->nodes[from->readers[r]];
        if (node->constant < 0 && from->overflowed)
            node->constant = (ptrdiff_t)lane->constant_count;
    }
    lane->constant_count++;
    return ULP_OK;
}

enum ulp_status ulp_audit_overflow_prepare(struct ulp_audit_lane *lane,
                                           const struct ulp_program *program, size_t index,
                                           struct ulp_arena *memory, struct ulp_error *error)
{
    ULP_SCOPED(ulp_changed_constants_free) struct ulp_changed_constants constants = {0};
    for (size_t n = 0; n < lane->node_count; n++)
        lane->nodes[n].constant = lane->nodes[n].overflow = -1;
    ULP_TRY(ulp_program_constants(program, index, &constants, error));
    ULP_TAKE(lane->constants, memory, constants.count + 1, error);
    ULP_TAKE(lane->overflows, memory, lane->node_count + 1, error);
    for (size_t c = 0; c < constants.count; c++)
        ULP_TRY(copy_constant(lane, &constants.items[c], memory, error));
    return ULP_OK;
}

/* ---- what they come to ---- */

static ptrdiff_t find_root(const struct ulp_audit_lane *lane, ptrdiff_t overflow)
{
    while (overflow >= 0 && lane->overflows[overflow].joins >= 0)
        overflow = lane->overflows[overflow].joins;
    return overflow;
}

const struct ulp_audit_overflow *ulp_audit_overflow_root(const struct ulp_audit_lane *lane,
                                                         ptrdiff_t overflow)
{
    const ptrdiff_t root = find_root(lane, overflow);
    return root < 0 ? NULL : &lane->overflows[root];
}

/* That of the node, which has one at most. */
static ptrdiff_t begin(struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    size_t i = 0;
    while (i < lane->overflow_count && lane->overflows[i].node != node->index)
        i++;
    if (i == lane->overflow_count) {
        lane->overflows[i] = (struct ulp_audit_overflow){.node = node->index,
                                                         .constant = node->constant,
                                                         .absorbed_by = -1,
                                                         .spoils = -1,
                                                         .joins = -1};
        lane->overflow_count++;
    }
    return find_root(lane, (ptrdiff_t)i);
}

static ptrdiff_t first_of(ptrdiff_t a, ptrdiff_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

ptrdiff_t ulp_audit_overflow_join(struct ulp_audit_lane *lane, ptrdiff_t a, ptrdiff_t b)
{
    a = find_root(lane, a);
    b = find_root(lane, b);
    if (a < 0 || b < 0 || a == b)
        return a < 0 ? b : a;
    struct ulp_audit_overflow *to = &lane->overflows[a], *from = &lane->overflows[b];
    if (from->node < to->node)
        return ulp_audit_overflow_join(lane, b, a);
    from->joins = a;
    to->absorbed_by = first_of(to->absorbed_by, from->absorbed_by);
    to->absorber_count += from->absorber_count;
    to->spoils = first_of(to->spoils, from->spoils);
    to->reaches_output |= from->reaches_output;
    return a;
}

bool ulp_audit_overflow_misleads(const struct ulp_pair *input, const struct ulp_pair *result)
{
    const struct ulp_tensor *own = input->lane, *out = result->lane, *truth = result->reference;
    double by_it = 0, all = 0, most = 0, size = 0;
    if (!own || !input->reference || !ulp_element_is_float(own->element) ||
        own->count != input->reference->count || out->count != truth->count ||
        !ulp_pair_reaches(own, out))
        return false;
    for (size_t e = 0; e < out->count; e++) {
        const size_t at = ulp_pair_element(own, out, e);
        const double exact = ulp_tensor_read(truth, e),
                     apart = fabs(ulp_tensor_read(out, e) - exact);
        const bool its =
            !isfinite(ulp_tensor_read(own, at)) && isfinite(ulp_tensor_read(input->reference, at));
        all += apart * apart;
        size += exact * exact;
        by_it += its ? apart * apart : 0;
        most = its ? ulp_math_max(most, apart) : most;
    }
    return 64 * most * most * (double)out->count > size && by_it > all / 2;
}

bool ulp_audit_overflow_misleads_at(const struct ulp_event *event, size_t lane, size_t output)
{
    const struct ulp_pair result = {
        event->values[output].entire,
        event->values[(lane + 1) * event->output_count + output].entire};
    bool misled = false;
    for (size_t i = 0; i < event->input_count && ulp_element_is_float(result.lane->element); i++)
        misled |= ulp_audit_overflow_misleads(
            &(struct ulp_pair){event->inputs[i].entire,
                               event->inputs[(lane + 1) * event->input_count + i].entire},
            &result);
    return misled;
}

ptrdiff_t ulp_audit_overflow_follow(struct ulp_audit_lane *lane, struct ulp_audit_node *node,
                                    const struct ulp_audit_overflow_look *look)
{
    const ptrdiff_t index = (ptrdiff_t)node->index;
    ptrdiff_t overflow = find_root(lane, look->from);
    if (look->shows) {
        if (node->constant >= 0 || (overflow < 0 && look->born))
            overflow = ulp_audit_overflow_join(lane, overflow, begin(lane, node));
        if (overflow >= 0)
            node->overflow = overflow;
        return overflow;
    }
    if (overflow < 0 && node->constant >= 0 && look->introduces)
        lane->overflows[begin(lane, node)].spoils = index;
    /* what picks by it, as ArgMax, has moved on when it picks otherwise */
    const bool picks = node->output_count && !ulp_type_is_float(node->outputs[0].type);
    if (overflow < 0 || (node->types.moves && !picks))
        return -1;
    struct ulp_audit_overflow *root = &lane->overflows[overflow];
    if (look->wrong) {
        root->spoils = first_of(root->spoils, index);
    } else {
        root->absorbed_by = first_of(root->absorbed_by, index);
        root->absorber_count += !node->absorbs;
        node->absorbs = true;
    }
    return -1;
}

void ulp_audit_overflow_add(struct ulp_audit_lane *lane, const struct ulp_audit_lane *sample,
                            ptrdiff_t *numbers)
{
    for (size_t i = 0; i < sample->overflow_count; i++) {
        const struct ulp_audit_node *node = &lane->nodes[sample->overflows[i].node];
        begin(lane, node);
        size_t number = 0;
        while (lane->overflows[number].node != node->index)
            number++;
        numbers[i] = (ptrdiff_t)number;
    }
    for (size_t i = 0; i < sample->overflow_count; i++)
        if (sample->overflows[i].joins >= 0)
            ulp_audit_overflow_join(lane, numbers[i], numbers[sample->overflows[i].joins]);
    for (size_t i = 0; i < sample->overflow_count; i++) {
        const struct ulp_audit_overflow *from = &sample->overflows[i];
        struct ulp_audit_overflow *to = &lane->overflows[find_root(lane, numbers[i])];
        to->absorbed_by = first_of(to->absorbed_by, from->absorbed_by);
        to->spoils = first_of(to->spoils, from->spoils);
        to->reaches_output |= from->reaches_output;
        if (to->absorber_count < from->absorber_count)
            to->absorber_count = from->absorber_count;
    }
}

void ulp_audit_overflow_reach(struct ulp_audit_lane *lane, ptrdiff_t overflow)
{
    const ptrdiff_t root = find_root(lane, overflow);
    if (root >= 0)
        lane->overflows[root].reaches_output = true;
}

bool ulp_audit_overflow_is_harmless(const struct ulp_audit_overflow *root)
{
    return !root->reaches_output && root->spoils < 0;
}

bool ulp_audit_is_absorbed(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    const struct ulp_audit_overflow *root = ulp_audit_overflow_root(lane, node->overflow);
    return root && ulp_audit_overflow_is_harmless(root);
}

void ulp_audit_overflow_finish(struct ulp_audit_lane *lane)
{
    for (size_t n = lane->node_count; n-- > 0;) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        if (ulp_audit_is_absorbed(lane, node))
            continue;
        lane->poisoned_count += node->poisoned;
        if (node->born)
            lane->first_born = (ptrdiff_t)n;
    }
}
