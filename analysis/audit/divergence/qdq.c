/* Finding the first node where an arithmetic with qdq=integer differs from the same without it. */
#include "analysis/audit/divergence/qdq.h"

#include <string.h>

#include "analysis/audit/audit_mixed.h"
#include "tensor/tensor.h"

/* What the lane keeps, as its name says it. */
static const char *find_kept(const struct ulp_audit_lane *lane)
{
    const struct ulp_asked asked = ulp_audit_asked(lane);
    return asked.text == lane->name ? lane->name + asked.length : lane->name;
}

void ulp_qdq_divergence_prepare(struct ulp_audit *audit)
{
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_arithmetic *arithmetic = &audit->lanes[l].arithmetic;
        struct ulp_arithmetic floats = *arithmetic, plain;
        struct ulp_error ignored;
        if (!arithmetic->schedule.qdq_integer ||
            (arithmetic->schedule.requant &&
             ulp_arithmetic_change(&floats, arithmetic, "requant=float", &ignored) != ULP_OK) ||
            ulp_arithmetic_change(&plain, &floats, "qdq=float", &ignored) != ULP_OK)
            continue;
        for (size_t other = 0; other < audit->lane_count; other++)
            if (strcmp(audit->lanes[other].arithmetic.name, plain.name) == 0 &&
                strcmp(find_kept(&audit->lanes[other]), find_kept(&audit->lanes[l])) == 0)
                audit->lanes[l].qdq_divergence.other = (ptrdiff_t)other;
    }
}

static void compare_output(struct ulp_qdq_divergence *divergence, const struct ulp_tensor *a,
                           const struct ulp_tensor *b, ptrdiff_t node)
{
    const bool integers = a && !ulp_element_is_float(a->element);
    if (!a || !b || a->element != b->element || !ulp_tensor_same_shape(a, b))
        return;
    divergence->count += integers ? a->count : 0;
    if (a->count == 0 || memcmp(a->data, b->data, a->count * a->element_bytes) == 0)
        return;
    if (divergence->first < 0 || divergence->first > node)
        divergence->first = node;
    if (!integers)
        return;
    if (divergence->first_step < 0 || divergence->first_step > node)
        divergence->first_step = node;
    const unsigned char *p = a->data, *q = b->data;
    for (size_t i = 0; i < a->count; i++)
        divergence->steps +=
            memcmp(p + i * a->element_bytes, q + i * a->element_bytes, a->element_bytes) != 0;
}

void ulp_qdq_divergence_measure(struct ulp_audit_lane *lane, const struct ulp_event *event,
                                size_t index)
{
    if (lane->qdq_divergence.other < 0)
        return;
    const size_t outputs = event->output_count, other = (size_t)lane->qdq_divergence.other + 1;
    for (size_t o = 0; o < outputs; o++)
        compare_output(&lane->qdq_divergence, event->values[(index + 1) * outputs + o].entire,
                       event->values[other * outputs + o].entire, (ptrdiff_t)event->index);
}
