/* What ONNX Runtime's optimiser makes one operator of, whose kernel rounds elsewhere than the nodes
 * did: QuickGelu in steps of storage, FusedMatMul with a factor that its sums are multiplied by
 * instead of a value before it. By the graphs that it saved for CUDA (lab/record_ort_joins.py).
 * For the CPU provider also normalisations and Gelu, written out, and a product with a bias, which
 * its sums begin with. */
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"
#include "run/program/program.h"

_Static_assert(ULP_FORM_TAKEN >= ULP_IDIOM_STEPS_MAX + 2, "an idiom, an Add and its bias");

static int find_index(const struct ulp_block *block, const struct ulp_step *step)
{
    return (int)(step - block->steps);
}

/* The step that computes the slot, which one step alone reads. */
static const struct ulp_step *find_own(const struct ulp_block *block, int slot, const char *name)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    return step && ulp_step_is(step, name) && ulp_block_is_own(block, slot) ? step : NULL;
}

/* A Mul of a value by a number: the value's slot; -1: it is none. */
static int find_scaled(const struct ulp_block *block, const struct ulp_step *mul, double *number)
{
    for (size_t i = 0; mul && i < 2; i++)
        if (ulp_slot_is_scalar(block, ulp_step_input(mul, i), number))
            return ulp_step_input(mul, !i);
    return -1;
}

static struct ulp_attribute float_attribute(const char *name, double value)
{
    return (struct ulp_attribute){.name = name, .kind = ULP_ATTRIBUTE_FLOAT, .f = (float)value};
}

/* x * sigmoid(alpha * x) */
static enum ulp_status find_quick_gelu(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_step *step, struct ulp_error *error)
{
    for (size_t i = 0; ulp_step_is(step, "Mul") && i < 2; i++) {
        const int x = ulp_step_input(step, i);
        const struct ulp_step *sigmoid = find_own(block, ulp_step_input(step, !i), "Sigmoid"),
                              *mul = sigmoid ? find_own(block, ulp_step_input(sigmoid, 0), "Mul")
                                             : NULL;
        double alpha = 1;
        const bool scaled = mul && find_scaled(block, mul, &alpha) == x;
        if (!sigmoid || (!scaled && ulp_step_input(sigmoid, 0) != x))
            continue;
        const struct ulp_own_operator own = {.op = "QuickGelu",
                                             .count = 1,
                                             .attributes = {float_attribute("alpha", alpha)}};
        ULP_TRY(ulp_step_add_form(program, block, step, step, NULL, &own, ULP_FORM_FLOATS, &x, 1,
                                  error));
        step->integer->taken[step->integer->taken_count++] = find_index(block, sigmoid);
        if (scaled)
            step->integer->taken[step->integer->taken_count++] = find_index(block, mul);
        return ULP_OK;
    }
    return ULP_OK;
}

/* A constant that is added behind makes a Gemm of the product first. */
static bool becomes_gemm(const struct ulp_block *block, int slot)
{
    const struct ulp_reading *all;
    bool is = false;
    for (size_t r = ulp_block_readings(block, slot, &all); r-- > 0 && !is;) {
        const struct ulp_step *add = all[r].step < 0 ? NULL : &block->steps[all[r].step];
        is = add && ulp_step_is(add, "Add") && ulp_slot_known(block, add->inputs[!all[r].input]);
    }
    return is;
}

/* (a * number) @ (b * number) */
static enum ulp_status find_scaled_product(struct ulp_program *program, struct ulp_block *block,
                                           struct ulp_step *step, struct ulp_error *error)
{
    double alpha = 1;
    int slots[2], taken[2];
    size_t count = 0;
    if (!ulp_step_is(step, "MatMul") || becomes_gemm(block, step->outputs[0]))
        return ULP_OK;
    for (size_t i = 0; i < 2; i++) {
        double number;
        const struct ulp_step *mul = find_own(block, ulp_step_input(step, i), "Mul");
        const int value = find_scaled(block, mul, &number);
        slots[i] = value < 0 ? ulp_step_input(step, i) : value;
        if (value < 0)
            continue;
        alpha *= number;
        taken[count++] = find_index(block, mul);
    }
    const struct ulp_own_operator own = {.op = "FusedMatMul",
                                         .count = 1,
                                         .attributes = {float_attribute("alpha", alpha)}};
    if (!count)
        return ULP_OK;
    ULP_TRY(ulp_step_add_form(program, block, step, step, NULL, &own, ULP_FORM_FLOATS, slots, 2,
                              error));
    for (size_t i = 0; i < count; i++)
        step->integer->taken[step->integer->taken_count++] = taken[i];
    return ULP_OK;
}

static int product_rank(const struct ulp_block *block, const struct ulp_step *product)
{
    return block->slots[product->outputs[0]].shape.rank;
}

/* A MatMul by weights of several blocks of k, and a constant that is added: a Gemm. */
static enum ulp_status find_biased_product(struct ulp_program *program, struct ulp_block *block,
                                           struct ulp_step *step, struct ulp_error *error)
{
    enum { BLOCK = 256 };
    for (size_t i = 0; ulp_step_is(step, "Add") && i < 2; i++) {
        const struct ulp_step *product = find_own(block, ulp_step_input(step, i), "MatMul");
        const struct ulp_tensor *bias = ulp_slot_known(block, ulp_step_input(step, !i)),
                                *weights =
                                    product ? ulp_slot_known(block, product->inputs[1]) : NULL;
        if (!weights || product->integer || !bias || weights->rank != 2 ||
            weights->dims[0] <= BLOCK || bias->rank < 1 ||
            bias->rank > product_rank(block, product) ||
            bias->dims[bias->rank - 1] != weights->dims[1] ||
            bias->count != (size_t)weights->dims[1])
            continue;
        const int slots[] = {product->inputs[0], product->inputs[1], step->inputs[!i]};
        ULP_TRY(ulp_step_add_form(program, block, step, product, &ulp_operator_biased_matmul, NULL,
                                  ULP_FORM_CPU, slots, 3, error));
        step->integer->taken[step->integer->taken_count++] = find_index(block, product);
        return ULP_OK;
    }
    return ULP_OK;
}

/* Do the model's inputs say every size but that of the batch? */
static bool has_sizes(const struct ulp_program *program)
{
    bool has = true;
    for (size_t i = 0; i < program->main->input_count; i++) {
        const struct ulp_value_info *info = program->main->slots[program->main->inputs[i]].info;
        for (int d = 1; info && d < info->rank; d++)
            has &= info->dims[d] >= 0;
    }
    return has;
}

static bool is_alike(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a->type == ULP_TYPE_FLOAT && a->rank == 3 && ulp_tensor_same_shape(a, b);
}

/* A factor or summand for each element of the last axis. */
static bool is_row(const struct ulp_block *block, int slot, const struct ulp_tensor *of)
{
    const struct ulp_tensor *row = slot < 0 ? NULL : &block->slots[slot].shape;
    return row && row->rank == 1 && of->rank > 0 && row->dims[0] == of->dims[of->rank - 1];
}

/* A normalisation over the last axis, as a node or as several. */
struct norm {
    int slots[3];
    double epsilon;
    const int *steps;
    size_t step_count;
};

/* A LayerNormalization of a sum of two values of one size, which it alone reads; one of them may
 * have a bias, which is added last (core/optimizer/skip_layer_norm_fusion.cc). */
static enum ulp_status find_skipping(struct ulp_program *program, struct ulp_block *block,
                                     struct ulp_step *step, const struct norm *norm,
                                     struct ulp_error *error)
{
    const struct ulp_step *add = ulp_block_producer(block, norm->slots[0]), *biased = NULL;
    const struct ulp_own_operator own = {.op = "SkipLayerNormalization",
                                         .count = 1,
                                         .attributes = {float_attribute("epsilon", norm->epsilon)}};
    if (!add || !ulp_step_is(add, "Add") || !has_sizes(program) ||
        !ulp_block_read_within(block, norm->slots[0], norm->steps, norm->step_count) ||
        !is_alike(&block->slots[add->inputs[0]].shape, &block->slots[add->inputs[1]].shape))
        return ULP_OK;
    const struct ulp_tensor *sum = &block->slots[add->inputs[0]].shape;
    int slots[] = {add->inputs[0], add->inputs[1], norm->slots[1], norm->slots[2], -1};
    for (int i = 0; i < 2 && !biased; i++) {
        const struct ulp_step *before = find_own(block, add->inputs[i], "Add");
        if (!before || !ulp_slot_known(block, before->inputs[1]) ||
            !is_row(block, before->inputs[1], sum) || find_own(block, before->inputs[0], "MatMul"))
            continue; /* or a Gemm has it */
        biased = before;
        slots[i] = before->inputs[0];
        slots[4] = before->inputs[1];
    }
    ULP_TRY(ulp_step_add_form(program, block, step, step, NULL, &own, ULP_FORM_CPU, slots,
                              biased ? 5 : 4, error));
    step->integer->taken[step->integer->taken_count++] = find_index(block, add);
    if (biased)
        step->integer->taken[step->integer->taken_count++] = find_index(block, biased);
    return ULP_OK;
}

/* The node itself. */
static enum ulp_status find_skipping_node(struct ulp_program *program, struct ulp_block *block,
                                          struct ulp_step *step, struct ulp_error *error)
{
    const int index = find_index(block, step);
    const struct norm norm = {.slots = {step->inputs[0], step->inputs[1], ulp_step_input(step, 2)},
                              .epsilon = ulp_bound_attribute(&step->bound, "epsilon")->f,
                              .steps = &index,
                              .step_count = 1};
    const struct ulp_tensor *in = &block->slots[norm.slots[0]].shape;
    const int64_t axis = ulp_bound_attribute(&step->bound, "axis")->i;
    if (step->output_count != 1 || (axis != -1 && axis != in->rank - 1) ||
        !is_row(block, norm.slots[1], in) ||
        (norm.slots[2] >= 0 && !is_row(block, norm.slots[2], in)))
        return ULP_OK;
    return find_skipping(program, block, step, &norm, error);
}

/* A Cast to FP32, in which sums are anyway, or to what is there. */
static bool is_idle(const struct ulp_block *block, const struct ulp_step *cast)
{
    const enum ulp_type to = block->slots[cast->outputs[0]].shape.type;
    return to == ULP_TYPE_FLOAT || to == block->slots[cast->inputs[0]].shape.type;
}

/* Are the idiom's nodes those, in that order, but for those that the optimiser takes out? any: one
 * that may stand anywhere. */
static bool is_spelled(const struct ulp_block *block, const struct ulp_idiom *idiom,
                       const char *words, const char *any)
{
    for (size_t s = 0; s < idiom->step_count; s++) {
        const struct ulp_step *step = &block->steps[idiom->steps[s]];
        const char *name = step->bound.op->name;
        const size_t length = strlen(name);
        const bool same = strncmp(words, name, length) == 0 && strchr(" ", words[length]);
        if (same)
            words += length + (words[length] == ' ');
        else if (ulp_step_is(step, "Cast") ? !is_idle(block, step) : !ulp_is_word(name, any))
            return false;
    }
    return !*words;
}

/* The sum of 1 and erf is not what one half multiplies. */
static bool is_gelu(const struct ulp_block *block, const struct ulp_idiom *idiom)
{
    bool is = is_spelled(block, idiom, "Div Erf Add", "Mul Identity Dropout");
    for (size_t s = 0; s < idiom->step_count && is; s++) {
        const struct ulp_step *step = &block->steps[idiom->steps[s]];
        double number;
        if (ulp_step_is(step, "Add"))
            is = find_scaled(block, ulp_block_only_reader(block, step->outputs[0]), &number) < 0;
    }
    return is;
}

/* The chains of nodes that the optimiser looks for (core/optimizer/layer_norm_fusion.cc,
 * gelu_fusion.cc): x / sqrt(...) is multiplied by gamma last. */
static bool is_joined(const struct ulp_block *block, const struct ulp_idiom *idiom)
{
    static const char gone[] = "Identity Dropout", twice[] = "Sub Identity Dropout";
    const int gamma = idiom->holes[ULP_IDIOM_GAMMA], beta = idiom->holes[ULP_IDIOM_BETA];
    const struct ulp_tensor *in = &block->slots[idiom->holes[ULP_IDIOM_X]].shape;
    if (idiom->kind == ULP_IDIOM_GELU_ERF)
        return is_gelu(block, idiom);
    if (idiom->axis != in->rank - 1 || !is_row(block, gamma, in) || !ulp_slot_known(block, gamma))
        return false;
    if (idiom->kind == ULP_IDIOM_LAYER_NORM) {
        if (!is_row(block, beta, in) || !ulp_slot_known(block, beta) ||
            !is_spelled(block, idiom, "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add", twice))
            return false;
    } else if (!is_spelled(block, idiom, "Pow ReduceMean Add Sqrt Div Mul", gone) &&
               !is_spelled(block, idiom, "Pow ReduceMean Add Sqrt Div Mul Mul", gone)) {
        return false;
    }
    size_t s = idiom->step_count - 1;
    while (!ulp_step_is(&block->steps[idiom->steps[s]], "Mul"))
        s--;
    const struct ulp_step *last = &block->steps[idiom->steps[s]];
    return ulp_step_input(last, 0) == gamma || ulp_step_input(last, 1) == gamma;
}

/* Of a normalisation without a mean in FP16 or BF16 it takes no epsilon, since it reads that of
 * FP32 constants alone, but its default (SimplifiedLayerNormFusion; recorded,
 * lab/record_ort_joins.py). */
static enum ulp_status add_default_epsilon(struct ulp_program *program, struct ulp_block *block,
                                           const struct ulp_idiom *idiom, struct ulp_error *error)
{
    const float most_often = 1e-5F;
    const int slots[] = {idiom->holes[ULP_IDIOM_X], idiom->holes[ULP_IDIOM_GAMMA]};
    const struct ulp_own_operator own = {.op = "SimplifiedLayerNormalization",
                                         .opset = 1,
                                         .count = 1,
                                         .attributes = {float_attribute("epsilon", most_often)}};
    struct ulp_step *root = &block->steps[idiom->root];
    if (idiom->kind != ULP_IDIOM_RMS_NORM || slots[0] < 0 || (float)idiom->epsilon == most_often ||
        !ulp_idiom_is_closed(block, idiom) || !is_joined(block, idiom))
        return ULP_OK;
    ULP_TRY(ulp_step_add_form(program, block, root, root, NULL, &own, ULP_FORM_HALVES, slots, 2,
                              error));
    for (size_t s = 0; s + 1 < idiom->step_count; s++)
        root->integer->taken[root->integer->taken_count++] = idiom->steps[s];
    return ULP_OK;
}

static enum ulp_status add_idiom(struct ulp_program *program, struct ulp_block *block,
                                 const struct ulp_idiom *idiom, struct ulp_error *error)
{
    struct ulp_step *root = &block->steps[idiom->root];
    const int x = idiom->holes[ULP_IDIOM_X];
    const bool norm = idiom->kind == ULP_IDIOM_LAYER_NORM, rms = idiom->kind == ULP_IDIOM_RMS_NORM,
               gelu = idiom->kind == ULP_IDIOM_GELU_ERF;
    const struct norm found = {.slots = {x, idiom->holes[ULP_IDIOM_GAMMA],
                                         idiom->holes[ULP_IDIOM_BETA]},
                               .epsilon = idiom->epsilon,
                               .steps = idiom->steps,
                               .step_count = idiom->step_count};
    struct ulp_own_operator own = {.op = gelu  ? "Gelu"
                                         : rms ? "SimplifiedLayerNormalization"
                                               : "LayerNormalization",
                                   .opset = gelu ? 0 : 1,
                                   .count = gelu ? 0 : 1,
                                   .attributes = {float_attribute("epsilon", idiom->epsilon)}};
    if (!(norm || rms || gelu) || x < 0 || block->slots[x].shape.type != ULP_TYPE_FLOAT ||
        !ulp_idiom_is_closed(block, idiom) || !is_joined(block, idiom))
        return ULP_OK;
    if (norm)
        ULP_TRY(find_skipping(program, block, root, &found, error));
    if (!root->integer)
        ULP_TRY(ulp_step_add_form(program, block, root, root, NULL, &own, ULP_FORM_CPU, found.slots,
                                  gelu  ? 1
                                  : rms ? 2
                                        : 3,
                                  error));
    for (size_t s = 0; s + 1 < idiom->step_count; s++)
        root->integer->taken[root->integer->taken_count++] = idiom->steps[s];
    return ULP_OK;
}

static enum ulp_status find_idioms(struct ulp_program *program, struct ulp_block *block,
                                   bool on_cpu, bool on_cuda, struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct ulp_idiom *idioms = NULL;
    size_t count = 0;
    ULP_TRY(ulp_arena_create(&memory, &program->budget, error));
    ULP_TRY(ulp_idioms_find(block, memory, &idioms, &count, error));
    for (size_t i = 0; i < count; i++) {
        if (block->steps[idioms[i].root].integer)
            continue;
        ulp_idiom_leave_cast(block, &idioms[i]);
        if (on_cpu)
            ULP_TRY(add_idiom(program, block, &idioms[i], error));
        if (on_cuda)
            ULP_TRY(add_default_epsilon(program, block, &idioms[i], error));
    }
    return ULP_OK;
}

enum ulp_status ulp_program_ort_forms(struct ulp_program *program, struct ulp_block *block,
                                      struct ulp_error *error)
{
    bool on_cuda = false, on_cpu = false;
    for (size_t l = 0; l < program->lane_count; l++) {
        on_cpu |= program->lanes[l].half_as_float;
        on_cuda |= program->lanes[l].fuse == ULP_FUSE_ORT;
    }
    if (on_cpu || on_cuda)
        ULP_TRY(find_idioms(program, block, on_cpu, on_cuda, error));
    for (size_t s = 0; (on_cpu || on_cuda) && s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        if (step->folded || step->integer || (step->bound.op->domain && *step->bound.op->domain))
            continue;
        ULP_TRY(find_quick_gelu(program, block, step, error));
        ULP_TRY(find_scaled_product(program, block, step, error));
        if (on_cpu)
            ULP_TRY(find_biased_product(program, block, step, error));
        if (on_cpu && ulp_step_is(step, "LayerNormalization"))
            ULP_TRY(find_skipping_node(program, block, step, error));
    }
    return ULP_OK;
}
