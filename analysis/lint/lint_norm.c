/* BatchNormalization behind a product of constant weights: it goes into these, as converters fold
 * it, so that no result is stored that is not normalised yet. */
#include <math.h>

#include "analysis/lint/proposal.h"

/* Targets whose arithmetics fold it by themselves (batchnorm=folded). */
#define FOLDING                                                                   \
    (ULP_TARGET_TRT8 | ULP_TARGET_TRT10 | ULP_TARGET_TRT11 | ULP_TARGET_TRT_RTX | \
     ULP_TARGET_OPENVINO_CPU)

enum { SCALE = 1, BIAS, MEAN, VARIANCE, NORM_INPUTS };
enum { DATA, WEIGHTS, ADDED, PRODUCT_INPUTS };

static const struct ulp_tensor *find_numbers(struct ulp_lint_place place, int input)
{
    const struct ulp_tensor *constant =
        ulp_lint_constant(place.graph, ulp_lint_input(place, (size_t)input));
    /* a file's FLOAT16 is FP32 in memory, but what takes its place is FLOAT */
    return constant && constant->type == ULP_TYPE_FLOAT && constant->element == ULP_ELEMENT_F32
               ? constant
               : NULL;
}

static double float_of(struct ulp_lint_place place, const char *name, double otherwise)
{
    const struct ulp_attribute *found = ulp_node_attribute(place.node, name);
    return found && found->kind == ULP_ATTRIBUTE_FLOAT && !found->reference ? (double)found->f
                                                                            : otherwise;
}

/* The product, which has the output channels along one axis of its weights. */
struct product {
    struct ulp_lint_place place;
    const struct ulp_tensor *weights, *added; /* added NULL: nothing is */
    size_t channels, inner;                   /* weight i is of channel i / inner % channels */
};

static bool find_product(struct ulp_lint_place norm, struct product *out)
{
    const struct ulp_lint_place place = ulp_lint_source(norm, DATA);
    const bool conv = ulp_lint_is(place, "Conv"), gemm = ulp_lint_is(place, "Gemm");
    *out = (struct product){.place = place};
    if ((!conv && !gemm) || place.graph != norm.graph ||
        ulp_lint_only_reader(place).node != norm.node)
        return false;
    out->weights = find_numbers(place, WEIGHTS);
    const bool adds = place.node->input_count > ADDED && ulp_lint_input(place, ADDED) >= 0;
    out->added = adds ? find_numbers(place, ADDED) : NULL;
    if (!out->weights || out->weights->rank < 2 || (adds && !out->added) ||
        (gemm && float_of(place, "beta", 1) != 1))
        return false;
    const int axis = conv || ulp_lint_int(place, "transB", 0) ? 0 : 1;
    out->channels = (size_t)out->weights->dims[axis];
    out->inner = out->channels && axis == 0 ? out->weights->count / out->channels : 1;
    return out->channels &&
           (!out->added || (out->added->rank == 1 && out->added->count == out->channels));
}

/* What the channel is multiplied by, and what is added then. */
static bool find_line(struct ulp_lint_place norm, const struct ulp_tensor *const in[NORM_INPUTS],
                      size_t channel, double *factor, double *shift)
{
    *factor = ulp_tensor_get(in[SCALE], channel) /
              sqrt(ulp_tensor_get(in[VARIANCE], channel) + float_of(norm, "epsilon", 1e-5F));
    *shift = ulp_tensor_get(in[BIAS], channel) - ulp_tensor_get(in[MEAN], channel) * *factor;
    return isfinite(*factor) && isfinite(*shift);
}

/* Both tensors from what they were; false: a number is not finite in FP32. */
static bool fold(struct ulp_lint_place norm, const struct ulp_tensor *const in[NORM_INPUTS],
                 const struct product *product, float *weights, float *added)
{
    bool finite = true;
    for (size_t c = 0; c < product->channels && finite; c++) {
        double factor, shift;
        finite = find_line(norm, in, c, &factor, &shift);
        added[c] =
            (float)((product->added ? ulp_tensor_get(product->added, c) : 0) * factor + shift);
        finite = finite && isfinite(added[c]);
    }
    for (size_t i = 0; i < product->weights->count && finite; i++) {
        double factor, shift;
        find_line(norm, in, i / product->inner % product->channels, &factor, &shift);
        weights[i] = (float)(ulp_tensor_get(product->weights, i) * factor);
        finite = isfinite(weights[i]);
    }
    return finite;
}

/* The product once more, with these in the place of its constants. */
static void propose(struct ulp_lint_proposals *p, struct ulp_lint_place norm,
                    const struct product *product, const struct ulp_tensor *weights,
                    const struct ulp_tensor *added)
{
    struct ulp_building b = {.p = p};
    struct ulp_edit_input out;
    const struct ulp_node *node = product->place.node;
    const struct ulp_edit_input inputs[PRODUCT_INPUTS] = {
        {.kind = ULP_EDIT_VALUE, .number = node->inputs[DATA]},
        {.kind = ULP_EDIT_TENSOR, .tensor = weights},
        {.kind = ULP_EDIT_TENSOR, .tensor = added}};
    struct ulp_edit_part *part = ulp_build_part(&b, node->op_type, inputs, PRODUCT_INPUTS, &out);
    for (size_t a = 0; part && a < node->attribute_count; a++) {
        b.failed |=
            part->attribute_count == ULP_EDIT_ATTRIBUTES_MAX || node->attributes[a].reference;
        if (!b.failed)
            part->attributes[part->attribute_count++] = node->attributes[a];
    }
    ulp_build_propose(&b, norm, ULP_LINT_NORM_APART, true,
                      "the normalisation is in the weights of the product before it, which are "
                      "rounded once more");
}

static void fold_norm(struct ulp_lint_proposals *p, struct ulp_lint_place norm)
{
    const struct ulp_tensor *in[NORM_INPUTS] = {NULL};
    struct product product;
    bool is = norm.node->output_count == 1 && norm.node->input_count == NORM_INPUTS &&
              !ulp_lint_int(norm, "training_mode", 0) && find_product(norm, &product);
    for (int i = SCALE; i < NORM_INPUTS && is; i++) {
        in[i] = find_numbers(norm, i);
        is = in[i] && in[i]->rank == 1 && in[i]->count == product.channels;
    }
    if (!is)
        return;
    struct ulp_building b = {.p = p};
    struct ulp_tensor *weights = ulp_build_tensor(&b, ULP_TYPE_FLOAT, product.weights->rank,
                                                  product.weights->count),
                      *added = ulp_build_tensor(&b, ULP_TYPE_FLOAT, 1, product.channels);
    p->lint.failed |= b.failed;
    if (b.failed)
        return;
    memcpy(weights->dims, product.weights->dims, sizeof weights->dims);
    if (fold(norm, in, &product, weights->data, added->data))
        propose(p, norm, &product, weights, added);
}

void ulp_lint_fold_norms(struct ulp_lint_proposals *p)
{
    const unsigned targets = p->lint.options->targets;
    for (size_t n = 0; n < p->lint.node_count && (!targets || targets & ~FOLDING); n++) {
        const struct ulp_lint_place place = p->lint.places[n];
        if (!place.graph->function && ulp_lint_is(place, "BatchNormalization") && !p->covered[n])
            fold_norm(p, place);
    }
}
