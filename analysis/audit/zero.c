#include "analysis/audit/zero.h"

#include <math.h>
#include <string.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/audit/audit_pair.h"
#include "tensor/tensor.h"

static bool is_zeroed(const struct ulp_tensor *own, const struct ulp_tensor *reference, size_t i)
{
    return ulp_tensor_read(own, i) == 0 && ulp_tensor_read(reference, i) != 0;
}

static bool is_pair(const struct ulp_tensor *own, const struct ulp_tensor *reference)
{
    return own && reference && ulp_element_is_float(own->element) && own->count == reference->count;
}

static bool has_become_zero(const struct ulp_tensor *own, const struct ulp_tensor *reference)
{
    for (size_t i = 0; is_pair(own, reference) && i < own->count; i++)
        if (is_zeroed(own, reference, i))
            return true;
    return false;
}

/* Do all zeros of the output come from zeros of this input? Where the output is the smaller, of a
 * sum along an axis, of rows that are 0. */
static bool hands_on(const struct ulp_program *program, const struct ulp_event *event,
                     const struct ulp_lane_value *own, const struct ulp_lane_value *out, size_t i)
{
    const struct ulp_tensor *in = own[i].entire, *exact = event->inputs[i].entire;
    const struct ulp_tensor *to = out->entire, *truth = event->values[0].entire;
    if (program->nodes[event->index].step->bound.op->route > ULP_ROUTE_SAME) /* a Cast may make 0 */
        return true;
    const bool grows = ulp_pair_reaches(in, to);
    if (!grows && !ulp_pair_reaches(to, in))
        return false;
    for (size_t e = 0; e < (grows ? to->count : in->count); e++) {
        const size_t at = grows ? ulp_pair_element(in, to, e) : e,
                     result = grows ? e : ulp_pair_element(to, in, e);
        if (is_zeroed(to, truth, result) &&
            (ulp_tensor_read(in, at) != 0 || (grows && ulp_tensor_read(exact, at) == 0)))
            return false;
    }
    return true;
}

void ulp_zero_join(struct ulp_audit_node *node, ptrdiff_t from)
{
    if (from >= 0)
        node->zero_from =
            node->zero_from < 0 || node->zero_from == from ? from : (ptrdiff_t)node->index;
}

/* The input that the operator divides by; -1: it divides by none. */
static int find_divisor(const char *op)
{
    return strcmp(op, "Div") == 0 || strcmp(op, "QuantizeLinear") == 0 ? 1
           : strcmp(op, "Reciprocal") == 0                             ? 0
                                                                       : -1;
}

/* What is divided by has the digits of subnormal numbers, or none. */
static void look_at_divisor(struct ulp_auditor *auditor, const struct ulp_event *event, size_t l)
{
    struct ulp_audit_lane *lane = &auditor->audit.lanes[l];
    struct ulp_audit_node *node = &lane->nodes[event->index];
    const struct ulp_place *place = &auditor->audit.places[event->index];
    const int divisor = find_divisor(event->op);
    if (divisor < 0 || (size_t)divisor >= place->input_count || place->inputs[divisor].node < 0)
        return;
    const struct ulp_link *link = &place->inputs[divisor];
    const struct ulp_audit_node *by = &lane->nodes[link->node];
    size_t i = 0;
    while (i < event->input_count && strcmp(event->input_names[i], link->name) != 0)
        i++;
    if (i == event->input_count || by->output_count != 1)
        return;
    const struct ulp_tensor *own = event->inputs[(l + 1) * event->input_count + i].entire,
                            *exact = event->inputs[i].entire;
    const double least = ldexp(1, ulp_audit_format(lane, by, &by->outputs[0]).emin);
    size_t count = 0;
    for (size_t e = 0; is_pair(own, exact) && e < own->count; e++)
        if (fabs(ulp_tensor_read(own, e)) < least && ulp_tensor_read(exact, e) != 0) {
            count++;
            node->faint_zeros += ulp_tensor_read(own, e) == 0;
        }
    if (!count)
        return;
    node->faint_by = link->node;
    node->faint_count += count;
    node->faint_of += own->count;
}

void ulp_zero_look(struct ulp_auditor *auditor, const struct ulp_event *event, size_t l)
{
    struct ulp_audit_node *node = &auditor->audit.lanes[l].nodes[event->index];
    const struct ulp_lane_value *own = &event->inputs[(l + 1) * event->input_count],
                                *values = &event->values[(l + 1) * event->output_count];
    bool zero = false, several = event->output_count != 1;
    ptrdiff_t from = -1;
    look_at_divisor(auditor, event, l);
    for (size_t o = 0; o < event->output_count; o++) {
        struct ulp_taint *taint = ulp_taint_find(&auditor->taints[l], event->output_names[o]);
        if (taint)
            zero |= taint->zero = has_become_zero(values[o].entire, event->values[o].entire);
    }
    for (size_t i = 0; i < event->input_count && zero && !several; i++) {
        const struct ulp_taint *taint = ulp_taint_find(&auditor->taints[l], event->input_names[i]);
        if (taint && taint->zero && is_pair(own[i].entire, event->inputs[i].entire) &&
            hands_on(auditor->program, event, own, values, i)) {
            several = from >= 0 && from != (ptrdiff_t)taint->node; /* a sum is 0 by both */
            from = (ptrdiff_t)taint->node;
        }
    }
    if (zero)
        ulp_zero_join(node, from < 0 || several ? (ptrdiff_t)event->index : from);
}

size_t ulp_zero_origin(const struct ulp_audit_lane *lane, size_t n)
{
    while (lane->nodes[n].zero_from >= 0 && (size_t)lane->nodes[n].zero_from < n)
        n = (size_t)lane->nodes[n].zero_from;
    return n;
}

const struct ulp_audit_constant *ulp_zero_constant(const struct ulp_audit_lane *lane,
                                                   const char *name)
{
    const bool rounds = lane->arithmetic.constants == ULP_CONSTANTS_SATURATED ||
                        lane->arithmetic.constants == ULP_CONSTANTS_IEEE;
    for (size_t c = 0; c < lane->constant_count && rounds; c++)
        if (lane->constants[c].underflowed && strcmp(lane->constants[c].name, name) == 0)
            return &lane->constants[c];
    return NULL;
}

/* Elements of the results that are not finite where the reference's are, and the input (NULL: any)
 * has become 0. SIZE_MAX: the input's elements are not theirs. */
static size_t count_broken(const struct ulp_event *event, size_t l,
                           const struct ulp_lane_value *input, const struct ulp_lane_value *exact)
{
    const struct ulp_tensor *out = event->values[(l + 1) * event->output_count].entire,
                            *truth = event->values[0].entire;
    size_t count = 0;
    if (event->output_count != 1 || !is_pair(out, truth) ||
        (input && !ulp_pair_reaches(input->entire, out)))
        return SIZE_MAX;
    for (size_t e = 0; e < out->count; e++)
        count += !isfinite(ulp_tensor_read(out, e)) && isfinite(ulp_tensor_read(truth, e)) &&
                 (!input ||
                  is_zeroed(input->entire, exact->entire, ulp_pair_element(input->entire, out, e)));
    return count;
}

/* Whether an input of the node has become 0, and makes results not finite; of one that a node
 * computes *by is that node. */
static bool breaks(const struct ulp_audit_lane *lane, const struct ulp_event *event, size_t l,
                   const struct ulp_taint_set *taints, const struct ulp_link *link, size_t *count,
                   ptrdiff_t *by)
{
    const struct ulp_lane_value *own = &event->inputs[(l + 1) * event->input_count];
    const struct ulp_audit_constant *constant =
        link->constant ? ulp_zero_constant(lane, link->name) : NULL;
    *count = SIZE_MAX;
    *by = -1;
    if (constant) {
        if (constant->underflowed == constant->elements)
            *count = count_broken(event, l, NULL, NULL);
        return true;
    }
    for (size_t i = 0; i < event->input_count && !link->constant; i++)
        if (strcmp(event->input_names[i], link->name) == 0 &&
            has_become_zero(own[i].entire, event->inputs[i].entire)) {
            const struct ulp_taint *taint = ulp_taint_find(taints, event->input_names[i]);
            *by = taint ? (ptrdiff_t)taint->node : -1;
            *count = count_broken(event, l, &own[i], &event->inputs[i]);
            if (find_divisor(event->op) >= 0 || strstr(event->op, "Log") ||
                strcmp(event->op, "Pow") == 0)
                return *count > 0;
            /* others by nothing else: a sum that is beyond the format has zeros in it, too */
            return *count != SIZE_MAX && *count > 0 && *count == count_broken(event, l, NULL, NULL);
        }
    return false;
}

enum ulp_status ulp_zero_find(struct ulp_auditor *auditor, const struct ulp_event *event, size_t l,
                              struct ulp_error *error)
{
    struct ulp_audit_lane *lane = &auditor->audit.lanes[l];
    struct ulp_audit_node *node = &lane->nodes[event->index];
    const struct ulp_place *place = &auditor->audit.places[event->index];
    const bool divides = strcmp(event->op, "Div") == 0; /* 0 / y is none that is not finite */
    const struct ulp_link *found = NULL;
    size_t count = SIZE_MAX;
    ptrdiff_t by = -1;
    for (int constants = 0; constants < 2; constants++)
        for (size_t i = place->input_count; i-- > 0 && !found;)
            if (place->inputs[i].constant == (constants > 0) && (!divides || i == 1) &&
                (!node->zeroed || strcmp(node->zeroed, place->inputs[i].name) == 0) &&
                breaks(lane, event, l, &auditor->taints[l], &place->inputs[i], &count, &by))
                found = &place->inputs[i];
    if (!found)
        return ULP_OK;
    if (!node->zeroed) {
        node->zeroed_by = by;
        node->zeroed = ulp_arena_copy(auditor->audit.memory, found->name);
        ULP_TRY(ulp_taken(node->zeroed, error));
    }
    if (count != SIZE_MAX) {
        node->zeroed_count += count;
        node->zeroed_of += event->values[0].entire->count;
    }
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
