#include "analysis/audit/lost.h"

#include <math.h>

#include "analysis/audit/audit_pair.h"
#include "analysis/audit/certify.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

enum {
    FP64_BITS = 53,
    PAIR_BITS = 90 /* what every step in pairs is good for (number/README.md, 9) */
};

int ulp_lost_bits(const struct ulp_arithmetic *reference)
{
    if (ulp_certify_check(reference, NULL) != ULP_OK)
        return 0;
    return reference->storage.pairs ? PAIR_BITS : reference->storage.precision;
}

void ulp_lost_start(struct ulp_lost *lost)
{
    ulp_taint_clear(&lost->values);
    lost->dropped = lost->suspected = false;
}

struct term {
    const struct ulp_tensor *value;
    double most, least; /* magnitudes of what is not 0 */
};

static void measure_term(struct term *term)
{
    for (size_t i = 0; i < term->value->count; i++) {
        const double size = fabs(ulp_tensor_read(term->value, i));
        if (!(size > 0) || !isfinite(size))
            continue;
        term->most = ulp_math_max(term->most, size);
        term->least = term->least > 0 ? ulp_math_min(term->least, size) : size;
    }
}

/* Of a constant or an input of the model nothing is noted yet. */
static bool read_term(const struct ulp_lost *lost, const struct ulp_event *event, size_t i,
                      struct term *out)
{
    const struct ulp_program_node *node = &lost->program->nodes[event->index];
    const struct ulp_program_slot *slot = &node->block->slots[node->step->inputs[i]];
    const struct ulp_taint *noted = ulp_taint_find(&lost->values, slot->name);
    *out = (struct term){.value = slot->constant};
    for (size_t e = 0; e < event->input_count && !out->value; e++)
        if (event->input_names[e] == slot->name)
            out->value = event->inputs[e].entire;
    if (!out->value || !ulp_element_is_float(out->value->element))
        return false;
    if (noted)
        out->most = noted->most, out->least = noted->least;
    else
        measure_term(out);
    return true;
}

/* What happens to some element: a term is below the last bit of the sum; the sum is what is left
 * of terms that cancel. */
static void look_at_elements(const struct term terms[2], const struct ulp_tensor *sum, int bits,
                             int left, bool *drops, bool *cancels)
{
    for (size_t i = 0; i < sum->count; i++) {
        const double a = fabs(
                         ulp_tensor_read(terms[0].value, ulp_pair_element(terms[0].value, sum, i))),
                     b = fabs(
                         ulp_tensor_read(terms[1].value, ulp_pair_element(terms[1].value, sum, i))),
                     most = ulp_math_max(a, b), least = ulp_math_min(a, b);
        *drops |= least > 0 && isfinite(most) && ilogb(most) - ilogb(least) >= bits;
        *cancels |=
            least > 0 && isfinite(most) && fabs(ulp_tensor_read(sum, i)) < ldexp(most, left - bits);
    }
}

static bool is_sum(const struct ulp_program_node *node)
{
    return node->step->own_input_count == 2 && ulp_is_word(node->step->bound.op->name, "Add Sub");
}

enum ulp_status ulp_lost_look(struct ulp_lost *lost, const struct ulp_event *event,
                              const struct ulp_range *ranges, struct ulp_error *error)
{
    const struct ulp_program_node *node = &lost->program->nodes[event->index];
    struct term terms[2];
    bool behind = false, drops = false, cancels = false;
    if (!lost->bits || lost->suspected)
        return ULP_OK;
    for (size_t i = 0; i < event->input_count; i++) {
        const struct ulp_taint *taint = ulp_taint_find(&lost->values, event->input_names[i]);
        behind |= taint && taint->absorbed;
    }
    if (is_sum(node) && read_term(lost, event, 0, &terms[0]) &&
        read_term(lost, event, 1, &terms[1])) {
        const double most = ulp_math_max(terms[0].most, terms[1].most),
                     least = ulp_math_min(terms[0].least, terms[1].least);
        if (behind || (least > 0 && isfinite(most) && ilogb(most) - ilogb(least) >= lost->bits))
            look_at_elements(terms, event->values[0].entire, lost->bits,
                             lost->left ? lost->left : FP64_BITS, &drops, &cancels);
    }
    if (drops && !lost->dropped) {
        lost->dropped = true;
        lost->node = event->index;
    }
    lost->suspected = behind && cancels;
    for (size_t o = 0; o < event->output_count; o++) {
        struct term result = {.value = event->values[o].entire};
        if (ranges)
            result.most = ranges[o].ref_max, result.least = ranges[o].ref_min_nonzero;
        else if (result.value && ulp_element_is_float(result.value->element))
            measure_term(&result);
        if (!ulp_taint_add(&lost->values, (struct ulp_taint){.name = event->output_names[o],
                                                             .absorbed = behind || drops,
                                                             .most = result.most,
                                                             .least = result.least}))
            return ulp_out_of_memory(error);
    }
    return ULP_OK;
}
