/* Edits that are terms: the rows of rewrite.def, matched against the main graph and bodies from
 * each node backwards, and built in its place; and what they ask beside their patterns. */
#include <math.h>
#include <stdio.h>

#include "analysis/lint/term.h"
#include "number/function/math.h"

static bool always(struct ulp_terms *r)
{
    return r != NULL;
}

/* The target computes exponentials as they are written. */
static bool plain(struct ulp_terms *r)
{
    return r->p->lint.options->targets & ULP_TARGET_COREML_ANE;
}

/* A scale of one dimension gives one to the product of two vectors, but not to either. */
static bool scales_late(struct ulp_terms *r)
{
    int ignored;
    const struct ulp_tensor *scale = ulp_term_constant(r, "k"), *a = ulp_term_shape(r, "a"),
                            *b = ulp_term_shape(r, "b");
    return ulp_lint_scales_late(r->root, &ignored) &&
           (scale->rank == 0 || (scale->rank == 1 && ((a && a->rank >= 2) || (b && b->rank >= 2))));
}

/* Is every element, or the magnitude of each, above zero? */
static bool is_above_zero(const struct ulp_tensor *constant, bool magnitude)
{
    for (size_t i = 0; i < constant->count; i++) {
        const double x = ulp_tensor_get(constant, i);
        if (!((magnitude ? fabs(x) : x) > 0))
            return false;
    }
    return true;
}

/* Of constant weights: one scale, or one for each column. */
static bool scales_weights(struct ulp_terms *r)
{
    const struct ulp_tensor *k = ulp_term_constant(r, "k"), *w = ulp_term_constant(r, "w");
    return w && w->rank == 2 && !ulp_term_constant(r, "a") && k->rank <= 1 &&
           (k->count == 1 || k->count == (size_t)w->dims[1]) &&
           (ulp_lint_is(r->root, "Mul") || is_above_zero(k, true));
}

/* One divisor for each row of the product. */
static bool divides_rows(struct ulp_terms *r)
{
    const struct ulp_tensor *d = ulp_term_shape(r, "d"), *a = ulp_term_shape(r, "a"),
                            *b = ulp_term_shape(r, "b"),
                            *y = ulp_lint_shape_of(&r->p->lint, r->plan, r->root.graph,
                                                   ulp_lint_output(r->root, 0));
    return d && a && b && y && b->rank >= 2 && !ulp_term_constant(r, "d") && d->rank == y->rank &&
           a->rank == y->rank && y->rank >= 2 && d->dims[d->rank - 1] == 1 &&
           d->dims[d->rank - 2] == y->dims[y->rank - 2];
}

static bool is_computed(struct ulp_terms *r, const char *name)
{
    return !ulp_term_constant(r, name);
}

static bool computed(struct ulp_terms *r)
{
    return is_computed(r, "m") && is_computed(r, "x") && ulp_term_constant(r, "k")->count == 1;
}

static double largest(const struct ulp_tensor *constant)
{
    double most = 0;
    for (size_t i = 0; i < constant->count; i++)
        most = ulp_math_max(most, fabs(ulp_tensor_get(constant, i)));
    return most;
}

/* The first scale enlarges, the second brings it back; their product has no more dimensions. */
static bool large_first(struct ulp_terms *r)
{
    const struct ulp_tensor *k = ulp_term_constant(r, "k"), *kk = ulp_term_constant(r, "kk"),
                            *x = ulp_term_shape(r, "x");
    return is_computed(r, "x") && x && k->rank <= x->rank && kk->rank <= x->rank &&
           largest(k) > 1 && largest(kk) < 1 && largest(kk) > 0;
}

static bool shrinks(struct ulp_terms *r)
{
    const struct ulp_tensor *k = ulp_term_constant(r, "k");
    const double factor = k->count == 1 ? fabs(ulp_tensor_get(k, 0)) : 0;
    return k->rank == 0 && factor > 0 && (ulp_lint_is(r->root, "Div") ? factor > 1 : factor < 1);
}

static bool keeps_axes(struct ulp_terms *r)
{
    int64_t axes[ULP_RANK_MAX];
    size_t count;
    const struct ulp_lint_place mean = ulp_term_node(r, "r");
    return ulp_lint_int(mean, "keepdims", 1) && ulp_term_axes(mean, axes, &count) &&
           ulp_term_constant(r, "k")->count == 1 && is_computed(r, "x");
}

static bool reduces(struct ulp_terms *r)
{
    int64_t axes[ULP_RANK_MAX];
    size_t count;
    return is_computed(r, "x") && ulp_term_axes(ulp_term_node(r, "r"), axes, &count);
}

static bool same_axes(struct ulp_terms *r)
{
    int64_t one[ULP_RANK_MAX], other[ULP_RANK_MAX];
    size_t count, others;
    const struct ulp_lint_place squares = ulp_term_node(r, "r"), mean = ulp_term_node(r, "n");
    return ulp_lint_int(mean, "keepdims", 1) && ulp_lint_int(squares, "keepdims", 1) &&
           ulp_term_axes(squares, one, &count) && ulp_term_axes(mean, other, &others) &&
           count == others && memcmp(one, other, count * sizeof *one) == 0;
}

static bool constant_axis(struct ulp_terms *r)
{
    int64_t axes[ULP_RANK_MAX];
    size_t count;
    return ulp_term_axes(ulp_term_node(r, "r"), axes, &count) && count == 1;
}

/* A bound that has a logarithm. */
static bool bounded(struct ulp_terms *r)
{
    return is_above_zero(ulp_term_constant(r, "k"), false);
}

static bool bounded_scan(struct ulp_terms *r)
{
    return bounded(r) && constant_axis(r);
}

/* Targets whose arithmetics fold it by themselves (batchnorm=folded). */
#define FOLDING                                                                   \
    (ULP_TARGET_TRT8 | ULP_TARGET_TRT10 | ULP_TARGET_TRT11 | ULP_TARGET_TRT_RTX | \
     ULP_TARGET_OPENVINO_CPU)

/* A normalisation behind a product that only it reads, all of constants in FP32, one number for
 * each output channel (a file's FLOAT16 is FP32 in memory, but what takes its place is FLOAT). */
static bool is_apart(struct ulp_terms *r)
{
    static const char *const names[] = {"kscale", "kshift", "kmean", "kvariance", "kadded"};
    const unsigned targets = r->p->lint.options->targets;
    const struct ulp_lint_place product = ulp_term_node(r, "c");
    const struct ulp_attribute *beta = ulp_node_attribute(product.node, "beta");
    const bool gemm = ulp_lint_is(product, "Gemm");
    const struct ulp_tensor *weights = ulp_term_constant(r, "kw");
    if ((ulp_lint_input(product, 2) < 0) != (ulp_term_value(r, "kadded") < 0) ||
        (targets && !(targets & ~FOLDING)) || r->root.node->output_count != 1 ||
        ulp_lint_int(r->root, "training_mode", 0) || (gemm && beta && beta->f != 1) ||
        ulp_lint_only_reader(product).node != r->root.node || weights->rank < 2 ||
        weights->element != ULP_ELEMENT_F32 || weights->type != ULP_TYPE_FLOAT)
        return false;
    const int64_t channels = weights->dims[gemm && !ulp_lint_int(product, "transB", 0)];
    bool is = channels > 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && is; i++) {
        const struct ulp_tensor *x = ulp_term_constant(r, names[i]);
        is = x ? x->type == ULP_TYPE_FLOAT && x->element == ULP_ELEMENT_F32 && x->rank == 1 &&
                     x->dims[0] == channels
               : ulp_term_value(r, names[i]) < 0;
    }
    return is;
}

/* A zero point beyond the whole numbers that FP16 holds, of integers whose differences from it an
 * integer type holds. */
static bool is_large_zero(struct ulp_terms *r)
{
    const struct ulp_lint_graph *graph = r->root.graph;
    const enum ulp_type from = ulp_lint_type(graph, ulp_term_value(r, "q"));
    const struct ulp_tensor *zero = ulp_term_constant(r, "kzero");
    return ulp_lint_is_whole(zero) && largest(zero) >= 2048 && largest(zero) < 0x1p30 &&
           from != ULP_TYPE_INT64 && ulp_lint_is_integer(from) &&
           ulp_type_is_float(ulp_lint_type(graph, ulp_lint_output(r->root, 0)));
}

/* ---- operators that are written out ---- */

/* Scale and bias of a normalisation are of the normalised axes alone. */
static bool fits(const struct ulp_terms *r, const struct ulp_idiom *idiom,
                 const struct ulp_tensor *x, const char *name)
{
    const struct ulp_tensor *parameter = ulp_term_constant(r, name);
    return ulp_term_value(r, name) < 0 ||
           (parameter && parameter->rank <= x->rank - idiom->axis && parameter->type == x->type);
}

/* With the same shape behind it as before; normalisations are of the last axes. */
static bool is_operator(struct ulp_terms *r)
{
    const struct ulp_block *block;
    const struct ulp_idiom *idiom = ulp_term_idiom(r, &block);
    if (!idiom || idiom->step_count < 2)
        return false;
    const struct ulp_tensor *x = &block->slots[idiom->holes[ULP_IDIOM_X]].shape,
                            *y = &block->slots[block->steps[idiom->root].outputs[0]].shape;
    const bool norm = idiom->kind == ULP_IDIOM_LAYER_NORM || idiom->kind == ULP_IDIOM_RMS_NORM,
               softmax = idiom->kind == ULP_IDIOM_SOFTMAX;
    if (x->type == ULP_TYPE_UNDEFINED || x->type != y->type || !ulp_tensor_same_shape(x, y) ||
        ((norm || softmax) && idiom->axis < 0))
        return false;
    const uint32_t axis = norm || softmax ? UINT32_C(1) << idiom->axis : 0,
                   all = (UINT32_C(1) << x->rank) - 1;
    return norm ? idiom->axes == (all & ~(axis - 1)) && fits(r, idiom, x, "gamma") &&
                      fits(r, idiom, x, "beta")
                : idiom->axes == axis;
}

/* ONNX Runtime has Attention on CPU from 1.23 (microsoft/onnxruntime#25156), in CUDA with PR
 * #27542; TensorRT's parser from 10.14 (its changelog, 2025-11-7), which not every TensorRT 10 is;
 * QNN has none (onnxruntime/onnxruntime-qnn#646), and of others nothing public was found. Its
 * kernels hold the scores in FP32. */
#define HAVE_ATTENTION (ULP_TARGET_ORT | ULP_TARGET_ORT_CUDA | ULP_TARGET_TRT11)

/* (batch, heads, length, size) of each; K as the product reads it, (batch, heads, size, length). */
static bool is_attention(struct ulp_terms *r)
{
    enum { Q, K, V, MASK, VALUES };
    static const int holes[VALUES] = {ULP_IDIOM_Q, ULP_IDIOM_K, ULP_IDIOM_V, ULP_IDIOM_MASK};
    const struct ulp_block *block;
    const struct ulp_idiom *idiom = ulp_term_idiom(r, &block);
    const struct ulp_tensor *of[VALUES] = {NULL};
    bool is = idiom && r->p->lint.options->targets & HAVE_ATTENTION && idiom->axes == 8 &&
              ulp_idiom_scale_fits(idiom);
    for (int i = Q; i < VALUES && is; i++)
        if (idiom->holes[holes[i]] >= 0) {
            of[i] = &block->slots[idiom->holes[holes[i]]].shape;
            is = of[i]->type != ULP_TYPE_UNDEFINED && of[i]->type == of[Q]->type;
        }
    if (!is)
        return false;
    const struct ulp_tensor *y = &block->slots[block->steps[idiom->root].outputs[0]].shape,
                            *mask = of[MASK];
    is = y->type == of[Q]->type && y->rank == 4 && ulp_type_is_float(y->type);
    for (int i = Q; i < MASK && is; i++)
        is = of[i]->rank == 4 && of[i]->dims[0] == y->dims[0] && of[i]->dims[1] == y->dims[1];
    if (!is || !mask)
        return is;
    const int64_t scores[] = {y->dims[0], y->dims[1], of[Q]->dims[2], of[K]->dims[3]};
    is = mask->rank >= 2 && mask->rank <= 4;
    for (int d = 0; d < mask->rank && is; d++) { /* kernels broadcast the first two alone */
        const int at = 4 - mask->rank + d;
        is = mask->dims[d] == scores[at] || (at < 2 && mask->dims[d] == 1);
    }
    return is;
}

static bool is_filled(const struct ulp_tensor *constant, double number)
{
    for (size_t i = 0; constant && i < constant->count; i++)
        if (ulp_tensor_get(constant, i) != number)
            return false;
    return constant != NULL;
}

/* Has a constant one number for each of x's channels? */
static bool is_of_channels(const struct ulp_tensor *constant, const struct ulp_tensor *x)
{
    const int at = constant->rank - (x->rank - 1);
    return at >= 0 && at <= 1 && constant->dims[at] == x->dims[1] &&
           constant->count == (size_t)x->dims[1];
}

/* GroupNormalization: x as [N, groups, rest], normalised along the last axis, in x's shape again,
 * times a scale and plus a bias of each channel. */
static bool is_group(struct ulp_terms *r)
{
    const struct ulp_lint *lint = &r->p->lint;
    const struct ulp_lint_graph *graph = r->root.graph;
    const struct ulp_tensor *x = ulp_term_shape(r, "x"), *folded = ulp_term_shape(r, "y"),
                            *flat = ulp_term_shape(r, "n"), *result = ulp_term_shape(r, "f"),
                            *first = ulp_lint_shape_of(lint, 0, graph, ulp_term_value(r, "x")),
                            *groups = ulp_lint_shape_of(lint, 0, graph, ulp_term_value(r, "y"));
    if (!x || !folded || !flat || !result || !first || !groups || x->rank < 3 ||
        folded->rank != 3 || groups->dims[1] < 1 ||
        !ulp_lint_in_half(lint, ulp_lint_type(graph, ulp_lint_output(r->root, 0))) ||
        (r->idiom ? r->idiom->axes != UINT32_C(1) << 2
                  : !is_filled(ulp_term_constant(r, "kones"), 1) ||
                        !is_filled(ulp_term_constant(r, "kzeros"), 0)))
        return false;
    return ulp_tensor_same_shape(x, result) && ulp_tensor_same_shape(folded, flat) &&
           folded->dims[0] == x->dims[0] && folded->dims[1] == groups->dims[1] &&
           x->dims[1] == first->dims[1] && x->dims[1] % folded->dims[1] == 0 &&
           is_of_channels(ulp_term_constant(r, "kscale"), x) &&
           is_of_channels(ulp_term_constant(r, "kbias"), x);
}

/* ---- rows ---- */

static const struct row {
    int opset, from;
    enum ulp_rewrite_turn turn;
    const char *rule;
    bool (*condition)(struct ulp_terms *r);
    const char *pattern, *replacement, *text;
} rows[] = {
#define JOIN(...) {__VA_ARGS__},
#define REWRITE(...) {0, 0, ULP_REWRITE_NODES, __VA_ARGS__},
#include "analysis/lint/rewrite.def"
#undef JOIN
#undef REWRITE
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *ulp_lint_rewrite_rule(size_t index)
{
    return index < ROWS ? rows[index].rule : NULL;
}

struct trying {
    struct ulp_terms *r;
    const struct row *row;
};

static bool meets(const struct ulp_lint *lint, size_t at, const void *of)
{
    const struct trying *trying = of;
    (void)lint;
    trying->r->plan = at;
    return trying->row->condition(trying->r);
}

/* Nothing else is done to the nodes of an operator that is put together. */
static void cover(const struct ulp_terms *r)
{
    for (size_t i = 0; i < r->idiom->step_count; i++) {
        const struct ulp_lint_place inner =
            ulp_lint_place_of(&r->p->lint, &r->block->steps[r->idiom->steps[i]]);
        if (inner.node)
            r->p->covered[ulp_lint_number(inner)] = true;
    }
}

static void try_row(struct ulp_terms *r, struct ulp_lint_place place, const struct row *row)
{
    struct ulp_lint_proposals *p = r->p;
    const struct trying trying = {r, row};
    const int64_t opset = ulp_lint_opset(place);
    const bool raises = opset < row->opset, whole = row->turn <= ULP_REWRITE_ATTENTION;
    const char *why;
    char text[200];
    if ((!whole && !strstr(row->pattern, place.node->op_type)) ||
        (raises && (!row->from || opset < row->from)) || !ulp_terms_match(r, place, row->pattern) ||
        (raises && !ulp_lint_may_raise(&p->lint, row->opset)))
        return;
    const int length =
        whole ? snprintf(text, sizeof text, "%zu nodes are %s", r->idiom->step_count, row->text)
              : snprintf(text, sizeof text, "%s", row->text);
    if (row->condition != always && !ulp_lint_holds(&p->lint, meets, &trying, &why)) {
        if (why)
            ulp_lint_leave(p, row->rule, place, why, "%s", text);
        return;
    }
    r->plan = 0;
    if (raises)
        snprintf(text + length, sizeof text - (size_t)length, "; the opset is %d instead of %d",
                 row->opset, (int)opset);
    r->building.opset = raises ? row->opset : 0;
    ulp_terms_build(r, row->replacement);
    if (row->turn == ULP_REWRITE_OPERATORS)
        cover(r);
    ulp_build_propose(&r->building, place, row->rule, text);
}

void ulp_lint_rewrite(struct ulp_lint_proposals *p, enum ulp_rewrite_turn turn)
{
    struct ulp_terms terms;
    terms.p = p;
    for (size_t n = 0; n < p->lint.node_count; n++) {
        const struct ulp_lint_place place = p->lint.places[n];
        if (place.graph->function ||
            (turn == ULP_REWRITE_NODES &&
             !ulp_lint_in_half(&p->lint, ulp_lint_type(place.graph, ulp_lint_output(place, 0)))))
            continue;
        for (size_t r = 0; r < ROWS; r++)
            if (rows[r].turn == turn && !p->covered[n])
                try_row(&terms, place, &rows[r]);
    }
}

void ulp_lint_rewrite_by(struct ulp_lint_proposals *p, struct ulp_lint_place place,
                         const char *rule)
{
    struct ulp_terms terms;
    terms.p = p;
    for (size_t r = 0; r < ROWS; r++)
        if (strcmp(rows[r].rule, rule) == 0)
            try_row(&terms, place, &rows[r]);
}
