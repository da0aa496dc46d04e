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

static void propose(struct ulp_lint_proposals *p, struct ulp_lint_place place,
                    const struct ulp_edit_part *part, size_t before)
{
    struct ulp_edit_part *kept = ulp_arena_take(p->lint.arena, 1, sizeof *kept);
    p->lint.failed |= !kept;
    if (!kept)
        return;
    *kept = *part;
    const struct ulp_edit edit = {.graph = place.graph->graph,
                                  .node = place.node,
                                  .parts = kept,
                                  .part_count = 1};
    if (p->count == before)
        ulp_lint_propose_edit(p, &edit, "bytes-saturate", place, true,
                              "weights of INT8 become UINT8 with zero points 128 higher, the same "
                              "numbers: sums are exact with and without VNNI, with it slower");
    else
        ulp_lint_propose_more(p, &edit);
}

/* Weights and zero points, which may be omitted: are they constants? */
static bool are_raised(struct ulp_building *b, struct ulp_lint_place place, int weights, int zero,
                       const struct ulp_tensor *like, struct ulp_edit_input *const out[2])
{
    static const struct ulp_tensor scalar = {.count = 1};
    const struct ulp_tensor *w = ulp_lint_constant(place.graph, weights),
                            *of = ulp_lint_constant(place.graph, zero);
    if (!w || w->type != ULP_TYPE_INT8 || (zero >= 0 && !of))
        return false;
    *out[0] = raise(b, w, NULL);
    *out[1] = raise(b, of, like ? like : &scalar);
    return !b->failed;
}

/* Of a product between DequantizeLinear. */
static void raise_dequantized(struct ulp_lint_proposals *p, struct ulp_lint_place place,
                              size_t before)
{
    struct ulp_building b = {.p = p};
    struct ulp_edit_part part = {.input_count = 3, .inputs[1].number = ulp_lint_input(place, 1)};
    const struct ulp_tensor *scale = ulp_lint_constant(place.graph, part.inputs[1].number);
    if (scale && !ulp_lint_int(place, "block_size", 0) && are_multiplied(place) &&
        are_raised(&b, place, ulp_lint_input(place, 0), ulp_lint_input(place, 2), scale,
                   (struct ulp_edit_input *[]){&part.inputs[0], &part.inputs[2]}))
        propose(p, place, &part, before);
}

/* All weights of a node that multiplies bytes itself. */
static void raise_factors(struct ulp_lint_proposals *p, struct ulp_lint_place place, size_t before)
{
    struct ulp_building b = {.p = p};
    struct ulp_edit_part part = {.input_count = place.node->input_count};
    int w, zero;
    if (part.input_count > ULP_EDIT_INPUTS_MAX)
        return;
    for (size_t i = 0; i < ULP_EDIT_INPUTS_MAX; i++)
        part.inputs[i].number = ulp_lint_input(place, i);
    size_t count = 0;
    for (; ulp_saturating_weights(place.graph->graph, place.node, count, &w, &zero); count++) {
        if (!are_raised(&b, place, ulp_lint_input(place, (size_t)w),
                        ulp_lint_input(place, (size_t)zero), NULL,
                        (struct ulp_edit_input *[]){&part.inputs[w], &part.inputs[zero]}))
            return;
        if (part.input_count <= (size_t)zero)
            part.input_count = (size_t)zero + 1;
    }
    if (count)
        propose(p, place, &part, before);
}

/* One proposal: a model has one kind of weights. */
void ulp_lint_unsign_weights(struct ulp_lint_proposals *p)
{
    struct ulp_saturating found;
    const size_t before = p->count;
    ulp_saturating_find(p->lint.model, &found);
    for (size_t n = 0; n < p->lint.node_count && found.reaching; n++) {
        const struct ulp_lint_place place = p->lint.places[n];
        if (!place.graph->function)
            (ulp_lint_is(place, "DequantizeLinear") ? raise_dequantized : raise_factors)(p, place,
                                                                                         before);
    }
}
