/* An attention that is written out as one Attention: for targets that have the operator, whose
 * kernels hold the scores in FP32. */
#include "analysis/lint/proposal.h"
#include "run/idiom/idiom.h"

/* ONNX Runtime has it on CPU from 1.23 (microsoft/onnxruntime#25156), in CUDA with PR #27542;
 * TensorRT's parser from 10.14 (its changelog, 2025-11-7), which not every TensorRT 10 is; QNN has
 * none (onnxruntime/onnxruntime-qnn#646), and of others nothing public was found. */
#define TAKE_IT (ULP_TARGET_ORT | ULP_TARGET_ORT_CUDA | ULP_TARGET_TRT11)
#define OPSET 23

enum { Q, K, V, MASK, VALUES };

/* (batch, heads, length, size) of each; K as the product reads it, (batch, heads, size, length). */
static bool is_plain(const struct ulp_tensor *const of[VALUES], const struct ulp_tensor *y)
{
    const struct ulp_tensor *q = of[Q], *k = of[K], *v = of[V], *mask = of[MASK];
    bool is = y->type == q->type && y->rank == 4 && ulp_type_is_float(q->type);
    for (int i = Q; i < MASK && is; i++)
        is = of[i]->type == q->type && of[i]->rank == 4 && of[i]->dims[0] == y->dims[0] &&
             of[i]->dims[1] == y->dims[1];
    is = is && k->dims[2] == q->dims[3] && v->dims[2] == k->dims[3] && y->dims[2] == q->dims[2];
    if (!is || !mask)
        return is;
    const int64_t scores[] = {y->dims[0], y->dims[1], q->dims[2], k->dims[3]};
    is = mask->type == q->type && mask->rank >= 2 && mask->rank <= 4;
    for (int d = 0; d < mask->rank && is; d++) { /* kernels broadcast the first two alone */
        const int at = 4 - mask->rank + d;
        is = mask->dims[d] == scores[at] || (at < 2 && mask->dims[d] == 1);
    }
    return is;
}

/* K is (batch, heads, length, size): before the transposition that is there, or behind one. */
static struct ulp_edit_input turn(struct ulp_building *b, const struct ulp_lint_graph *graph, int k)
{
    static const int64_t swapped[] = {0, 1, 3, 2};
    const struct ulp_lint_place place = ulp_lint_producer(graph, k);
    const struct ulp_attribute *perm = ulp_lint_is(place, "Transpose") && place.graph == graph
                                           ? ulp_node_attribute(place.node, "perm")
                                           : NULL;
    int64_t *axes = ulp_arena_take(b->p->lint.arena, 4, sizeof *axes);
    struct ulp_edit_input in = {.number = k}, out;
    b->failed |= !axes;
    if (b->failed)
        return in;
    const bool behind = perm && perm->kind == ULP_ATTRIBUTE_INTS && perm->count == 4;
    bool same = behind;
    for (int d = 0; d < 4; d++) {
        axes[d] = behind ? perm->ints[swapped[d]] : swapped[d];
        same &= axes[d] == d;
    }
    if (behind)
        in.number = ulp_lint_input(place, 0);
    if (same)
        return in;
    struct ulp_edit_part *part = ulp_build_part(b, "Transpose", &in, 1, &out);
    if (!part)
        return in;
    struct ulp_attribute *attribute = ulp_build_attribute(part, "perm", ULP_ATTRIBUTE_INTS);
    attribute->ints = axes;
    attribute->count = 4;
    return out;
}

struct joining {
    struct ulp_lint_place place;
    const struct ulp_block *block;
    const struct ulp_idiom *idiom;
};
static const int holes[VALUES] = {ULP_IDIOM_Q, ULP_IDIOM_K, ULP_IDIOM_V, ULP_IDIOM_MASK};

static bool is_attention(const struct ulp_lint *lint, size_t at, const void *of)
{
    const struct joining *given = of;
    const struct ulp_block *block;
    const struct ulp_tensor *shapes[VALUES] = {NULL};
    const struct ulp_idiom *idiom = ulp_lint_idiom_at(lint, at, given->block, given->idiom, &block);
    for (int i = 0; idiom && i < VALUES; i++)
        if (idiom->holes[holes[i]] >= 0) {
            shapes[i] = &block->slots[idiom->holes[holes[i]]].shape;
            if (shapes[i]->type == ULP_TYPE_UNDEFINED)
                return false;
        }
    return idiom && is_plain(shapes, &block->slots[block->steps[idiom->root].outputs[0]].shape);
}

static void join_attention(struct ulp_lint_proposals *p, const struct ulp_block *block,
                           const struct ulp_idiom *idiom)
{
    static const char rule[] = "decomposed-attention";
    const struct ulp_step *root = &block->steps[idiom->root];
    const struct joining of = {ulp_lint_place_of(&p->lint, root), block, idiom};
    struct ulp_edit_input inputs[VALUES], out;
    const bool masked = idiom->holes[ULP_IDIOM_MASK] >= 0;
    struct ulp_building b = {.p = p, .opset = ulp_lint_may_raise(&p->lint, OPSET) ? OPSET : 0};
    const char *why;
    if (root->call || !of.place.node || of.place.graph->function ||
        idiom->holes[ULP_IDIOM_LOW] >= 0 || idiom->axes != 8 || !ulp_idiom_scale_fits(idiom) ||
        (ulp_model_opset(p->lint.model, "") < OPSET && !b.opset))
        return;
    for (int i = 0; i < VALUES - !masked; i++) {
        inputs[i] = (struct ulp_edit_input){
            .number = ulp_lint_value_in(&p->lint, of.place.graph, block, idiom->holes[holes[i]])};
        if (inputs[i].number < 0)
            return;
    }
    if (!ulp_lint_holds(&p->lint, is_attention, &of, &why)) {
        if (why)
            ulp_lint_leave(p, rule, of.place, true, why,
                           "product, scale, Softmax and product are one Attention");
        return;
    }
    inputs[K] = turn(&b, of.place.graph, inputs[K].number);
    struct ulp_edit_part *part =
        ulp_build_part(&b, "Attention", inputs, (size_t)(VALUES - !masked), &out);
    if (!part)
        return;
    ulp_build_attribute(part, "scale", ULP_ATTRIBUTE_FLOAT)->f = (float)idiom->scale;
    ulp_build_propose(&b, of.place, rule, true,
                      b.opset ? "product, scale, Softmax and product are one Attention, of opset 23"
                              : "product, scale, Softmax and product are one Attention");
}

void ulp_lint_join_attention(struct ulp_lint_proposals *p)
{
    const struct ulp_lint_planned *given = p->lint.planned;
    for (size_t b = 0; b < given->block_count && p->lint.options->targets & TAKE_IT; b++)
        for (size_t i = 0; i < given->idioms[b].count; i++)
            if (given->idioms[b].items[i].kind == ULP_IDIOM_ATTENTION)
                join_attention(p, given->idioms[b].block, &given->idioms[b].items[i]);
}
