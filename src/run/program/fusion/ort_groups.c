/* What ONNX Runtime's optimiser makes one operator of, for CUDA: the groups of a lane with
 * fuse=ort. The graphs that it saved of 38 networks (lab/record_ort_cuda.py) have these where it is
 * so; others that it makes compute what the nodes did: a Conv's or Gemm's bias,
 * SkipLayerNormalization. */

#include "base/error.h"
#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"
#include "run/program/fusion/fusion.h"

/* The largest row of a masked Softmax in one kernel; of longer ones the sum with the mask is
 * stored. */
#define SOFTMAX_ROW 1024

struct finding {
    const struct ulp_block *block;
    const struct ulp_mix *mix;
    uint32_t *group; /* by node: 1, 2, ...; 0: none */
    uint32_t count;
};

static bool is_free(const struct finding *f, const struct ulp_step *step)
{
    return !step->folded && f->group[step->number] == 0;
}

static void add_group(struct finding *f, const int *steps, size_t count)
{
    f->count++;
    for (size_t s = 0; s < count; s++)
        f->group[f->block->steps[steps[s]].number] = f->count;
}

/* The step before, whose result this one alone reads, and its place; -1: none, or of another kind.
 */
static int find_before(const struct finding *f, int step, size_t input, const char *names)
{
    const int slot = ulp_step_input(&f->block->steps[step], input);
    const struct ulp_step *before = ulp_block_producer(f->block, slot);
    return before && ulp_is_word(before->bound.op->name, names) && !before->bound.op->domain &&
                   is_free(f, before) && ulp_block_read_within(f->block, slot, &step, 1)
               ? (int)(before - f->block->steps)
               : -1;
}

/* The order of a Gelu's products: half of x times the rest, or half of their product. */
static bool is_gelu(const struct ulp_block *block, const struct ulp_idiom *idiom)
{
    const struct ulp_step *root = &block->steps[idiom->root];
    double half = 0;
    for (size_t i = 0; i < 2; i++) {
        const struct ulp_step *from = ulp_block_producer(block, ulp_step_input(root, i));
        if (ulp_slot_is_scalar(block, ulp_step_input(root, i), &half))
            return true;
        for (size_t j = 0; j < 2 && from && ulp_step_is(from, "Mul"); j++)
            if (ulp_slot_is_scalar(block, ulp_step_input(from, j), &half) &&
                ulp_step_input(from, !j) == idiom->holes[ULP_IDIOM_X])
                return true;
    }
    return false;
}

/* Is it written as the optimiser looks for it? */
static bool is_whole(const struct finding *f, const struct ulp_idiom *idiom)
{
    const struct ulp_block *block = f->block;
    const bool norm = idiom->kind == ULP_IDIOM_LAYER_NORM || idiom->kind == ULP_IDIOM_RMS_NORM;
    size_t divided = 0, squared = 0;
    if ((!norm && (idiom->kind != ULP_IDIOM_GELU_ERF || !is_gelu(block, idiom))) ||
        !ulp_idiom_is_closed(block, idiom))
        return false;
    for (size_t i = 0; i < idiom->step_count; i++) {
        const struct ulp_step *step = &block->steps[idiom->steps[i]];
        divided += ulp_step_is(step, "Div");
        squared += ulp_step_is(step, "Pow");
        if (!is_free(f, step))
            return false;
    }
    return divided == 1 &&
           (!norm || (squared == 1 && idiom->holes[ULP_IDIOM_GAMMA] >= 0 &&
                      (idiom->kind == ULP_IDIOM_RMS_NORM || idiom->holes[ULP_IDIOM_BETA] >= 0)));
}

/* Is the mask the tensor along `axis` and behind, and before that 1, 1, n or n, 1, 1? */
static bool repeats(const struct ulp_tensor *x, const struct ulp_tensor *mask, int axis)
{
    const int missing = x->rank - mask->rank;
    bool first = true, last = missing == 0, whole = false, single = false;
    if (missing < 0 || axis < missing)
        return false;
    for (int d = missing; d < x->rank; d++) {
        const bool same = x->dims[d] == mask->dims[d - missing], one = mask->dims[d - missing] == 1;
        if (d >= axis && !same)
            return false;
        first &= d >= axis || one || (same && !missing);
        first &= same || !whole;
        last &= d >= axis || (single ? one : same || one);
        whole |= !one;
        single |= one && !same;
    }
    return first || last;
}

/* An Add of what is hidden and the Softmax behind it. */
static void find_softmax(struct finding *f, int step)
{
    const struct ulp_step *softmax = &f->block->steps[step];
    const int add = ulp_step_is(softmax, "Softmax") ? find_before(f, step, 0, "Add") : -1;
    const struct ulp_attribute_value *given = ulp_bound_attribute(&softmax->bound, "axis");
    if (add < 0 || !given || !is_free(f, softmax))
        return;
    const struct ulp_tensor *x[2];
    for (int i = 0; i < 2; i++)
        x[i] = &f->block->slots[f->block->steps[add].inputs[i]].shape;
    const int rank = x[0]->rank > x[1]->rank ? x[0]->rank : x[1]->rank;
    const int axis = (int)(given->i < 0 ? given->i + rank : given->i);
    const struct ulp_tensor *whole = x[0]->rank < rank ? x[1] : x[0];
    if (axis == rank - 1 && whole->dims[axis] <= SOFTMAX_ROW && x[0]->type != ULP_TYPE_UNDEFINED &&
        x[1]->type != ULP_TYPE_UNDEFINED &&
        (repeats(x[0], x[1], axis) || repeats(x[1], x[0], axis)))
        add_group(f, (int[]){add, step}, 2);
}

/* A product, and what its sums are multiplied by or divided by: one number. */
static void find_scaled(struct finding *f, int step)
{
    const struct ulp_step *scale = &f->block->steps[step];
    double number;
    if (!(ulp_step_is(scale, "Mul") || ulp_step_is(scale, "Div")) || !is_free(f, scale))
        return;
    for (size_t i = 0; i < 2; i++) {
        const int product = find_before(f, step, i, "MatMul");
        if (product >= 0 && !ulp_step_integer(f->mix, f->block, &f->block->steps[product]) &&
            (i == 0 || ulp_step_is(scale, "Mul")) &&
            ulp_slot_is_scalar(f->block, ulp_step_input(scale, 1 - i), &number)) {
            add_group(f, (int[]){product, step}, 2);
            return;
        }
    }
}

/* fold_conv.c has found it, and what else it depends on. */
static void find_norm(struct finding *f, int step)
{
    const struct ulp_step *norm = &f->block->steps[step];
    const int type = norm->norm ? ulp_fold_type(ulp_mix_arithmetic(f->mix, norm->number)) : 0;
    const bool folds = norm->norm && type < ULP_FOLD_COUNT && norm->joined[type];
    const int conv = folds ? find_before(f, step, 0, "Conv ConvTranspose") : -1;
    if (conv >= 0 && is_free(f, norm))
        add_group(f, (int[]){conv, step}, 2);
}

enum ulp_status ulp_kernels_of_ort(struct ulp_kernels *kernels, size_t node_count,
                                   size_t *kernel_count, struct ulp_error *error)
{
    struct ulp_grouping *grouping = ulp_arena_take(kernels->memory, 1, sizeof *grouping);
    struct finding f = {.block = kernels->block,
                        .mix = kernels->mix,
                        .count = (uint32_t)*kernel_count,
                        .group = ulp_arena_take(kernels->memory, node_count + 1, sizeof *f.group)};
    struct ulp_idiom *idioms;
    size_t count;
    ULP_TRY(ulp_taken(grouping && f.group, error));
    ULP_TAKE(grouping->numbers, kernels->memory, node_count + 1, error);
    ULP_TRY(ulp_idioms_find(f.block, kernels->memory, &idioms, &count, error));
    for (size_t i = 0; i < count; i++) {
        ulp_idiom_leave_cast(f.block, &idioms[i]);
        if (is_whole(&f, &idioms[i])) {
            add_group(&f, idioms[i].steps, idioms[i].step_count);
            for (size_t s = 0; s < idioms[i].step_count; s++)
                grouping->numbers[f.block->steps[idioms[i].steps[s]].number] =
                    idioms[i].kind == ULP_IDIOM_GELU_ERF;
        }
    }
    for (size_t s = 0; s < f.block->step_count; s++) {
        find_norm(&f, (int)s);
        find_softmax(&f, (int)s);
        find_scaled(&f, (int)s);
    }
    ULP_TAKE(grouping->first, kernels->memory, node_count + 2, error);
    ULP_TAKE(grouping->groups, kernels->memory, node_count + 1, error);
    ULP_TAKE(grouping->rounded, kernels->memory, node_count + 1, error);
    grouping->count = *kernel_count = f.count;
    for (size_t n = 0; n < node_count; n++) {
        grouping->first[n + 1] = grouping->first[n] + (f.group[n] != 0);
        if (f.group[n])
            grouping->groups[grouping->first[n]] = f.group[n] - 1;
    }
    kernels->grouping = grouping;
    return ULP_OK;
}
