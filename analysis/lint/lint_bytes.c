/* Weights of bytes whose sums may saturate without VNNI, as UINT8: the same numbers, with zero
 * points 128 higher. */
#include "ops/product/saturating.h"
#include "analysis/lint/proposal.h"

/* A constant of INT8 as UINT8, and a zero point (NULL: 0, of `like`'s shape), 128 higher. */
static struct ulp_edit_input raise(struct ulp_building *b, const struct ulp_tensor *from,
                                   const struct ulp_tensor *like)
{
    const struct ulp_tensor *shape = from ? from : like;
    struct ulp_tensor *tensor = ulp_build_tensor(b, ULP_TYPE_UINT8, shape->rank, shape->count);
    for (size_t i = 0; tensor && i < shape->count; i++)
        ((int64_t *)tensor->data)[i] = 128 + (from ? ulp_tensor_get_int(from, i) : 0);
    if (tensor)
        memcpy(tensor->dims, shape->dims, sizeof tensor->dims);
    return (struct ulp_edit_input){.kind = ULP_EDIT_TENSOR, .tensor = tensor};
}

/* Are they the second factor of a product, with a first that is quantised, too? */
static bool are_multiplied(struct ulp_lint_place place)
{
    const int out = ulp_lint_output(place, 0);
    for (size_t i = 0; i < ulp_lint_reader_count(place.graph, out); i++) {
        const struct ulp_lint_place reader = ulp_lint_reader(place.graph, out, i);
        if (ulp_lint_is_any(reader, "Conv Gemm MatMul") && ulp_lint_input(reader, 1) == out &&
            ulp_lint_is(ulp_lint_source(reader, 0), "DequantizeLinear"))
            return true;
    }
    return false;
}

static void raise_weights(struct ulp_lint_proposals *p, struct ulp_lint_place place, size_t before)
{
    struct ulp_building b = {.p = p};
    struct ulp_edit_input out;
    if (!ulp_lint_is(place, "DequantizeLinear") || place.graph->function ||
        ulp_lint_int(place, "block_size", 0) || !are_multiplied(place))
        return;
    const int zero_input = ulp_lint_input(place, 2);
    const struct ulp_tensor *w = ulp_lint_constant(place.graph, ulp_lint_input(place, 0)),
                            *scale = ulp_lint_constant(place.graph, ulp_lint_input(place, 1)),
                            *zero = ulp_lint_constant(place.graph, zero_input);
    if (!w || w->type != ULP_TYPE_INT8 || !scale || (zero_input >= 0 && !zero))
        return;
    const struct ulp_edit_input inputs[] = {raise(&b, w, NULL),
                                            {.number = ulp_lint_input(place, 1)},
                                            raise(&b, zero, scale)};
    struct ulp_edit_part *part =
        b.failed ? NULL : ulp_build_part(&b, "DequantizeLinear", inputs, 3, &out);
    struct ulp_edit_part *kept = part ? ulp_arena_take(p->lint.arena, 1, sizeof *kept) : NULL;
    p->lint.failed |= !kept;
    if (!kept)
        return;
    if (ulp_lint_opset(place) >= 13)
        ulp_build_attribute(part, "axis", ULP_ATTRIBUTE_INT)->i = ulp_lint_int(place, "axis", 1);
    *kept = *part;
    const struct ulp_edit edit = {.graph = place.graph->graph,
                                  .node = place.node,
                                  .parts = kept,
                                  .part_count = 1};
    if (p->count == before)
        ulp_lint_propose_edit(p, &edit, "bytes-saturate", place, true, true,
                              "weights of INT8 become UINT8 with zero points 128 higher, the same "
                              "numbers: sums are exact with and without VNNI, with it slower");
    else
        ulp_lint_propose_more(p, &edit);
}

/* One proposal: a model has one kind of weights. */
void ulp_lint_unsign_weights(struct ulp_lint_proposals *p)
{
    struct ulp_saturating found;
    const size_t before = p->count;
    ulp_saturating_find(p->lint.model, &found);
    for (size_t n = 0; n < p->lint.node_count && found.reaching; n++)
        raise_weights(p, p->lint.places[n], before);
}
