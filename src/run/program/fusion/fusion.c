/* The kernels of a lane's nodes: which values they keep in the inner format, and who reads these.
 */
#include "run/program/fusion/fusion.h"

#include <string.h>

#include "base/error.h"
#include "number/round/round.h"

static struct ulp_fused_node *fused_node(const struct ulp_kernels *kernels, int step)
{
    return &kernels->mix->fusion->nodes[kernels->block->steps[step].number];
}

/* Does a kernel that the step is a part of read its input i as a constant, not from a library's
 * memory? */
static bool reads_constant(const struct ulp_kernels *kernels, int s, size_t i)
{
    const struct ulp_step *step = &kernels->block->steps[s];
    const bool product = step->bound.op->work == ULP_WORK_CONTRACTION;
    if (ulp_kernels_plain(kernels) && (product || ulp_kernel_biases(kernels, step)))
        return false; /* biases are stored */
    const bool own =
        kernels->grouping && kernels->grouping->numbers && kernels->grouping->numbers[step->number];
    return (own || kernels->mix->items->inner_constants) && !ulp_is_parameter(step, i) &&
           !kernels->steps[s].adds_bias &&
           (product ? i >= 2 && kernels->steps[s].part != ULP_PART_LIBRARY
                    : ulp_part_is_computed(kernels->steps[s].part));
}

/* The same where the caller names the kernels: a product reads its factors from memory. */
static bool shares_group(const struct ulp_kernels *kernels, int s, size_t i, int p)
{
    const struct ulp_step *reader = &kernels->block->steps[s], *source = &kernels->block->steps[p];
    const bool product = reader->bound.op->work == ULP_WORK_CONTRACTION;
    return (product ? i >= 2 && kernels->steps[s].part == ULP_PART_CONTRACTION
                    : ulp_part_is_computed(kernels->steps[s].part) ||
                          kernels->steps[s].part == ULP_PART_MEMORY) &&
           kernels->steps[p].part != ULP_PART_LIBRARY &&
           ulp_kernel_item(kernels, s) == ulp_kernel_item(kernels, p) &&
           ulp_grouping_shares(kernels->grouping, reader->number, source->number);
}

/* Between a result of step p and what reads it as its input i stands a Cast, elementwise work. What
 * a library reads in a wider format, the kernel that computed it has cast and stored. What a kernel
 * reads, it casts itself, unless a library has made the other one store it. */
static bool casts_inside(const struct ulp_kernels *kernels, int s, int p, bool indexed)
{
    const struct ulp_kernel_step *step = &kernels->steps[s], *source = &kernels->steps[p];
    const size_t item = ulp_kernel_item(kernels, s), from = ulp_kernel_item(kernels, p);
    const struct ulp_format *storage = &kernels->mix->items[from].storage;
    if (!ulp_kernels_cross(kernels, from, item))
        return false;
    if (ulp_part_reads_memory(step->part))
        return ulp_format_holds(&kernels->mix->items[item].storage, &kernels->mix->items->inner) &&
               source->part != ULP_PART_LIBRARY && source->part != ULP_PART_CONTRACTION &&
               !(source->kept && indexed);
    return ulp_format_holds(storage, &kernels->mix->items->inner) &&
           !(item < 64 && source->casts_stored >> item & 1) && ulp_part_is_computed(step->part);
}

/* Does the step read its input i, which is a result of step p, in the kernel that computed p? */
static bool reads_inside(const struct ulp_kernels *kernels, int s, size_t i, int p, bool indexed)
{
    const struct ulp_kernel_step *step = &kernels->steps[s], *source = &kernels->steps[p];
    if (p == ULP_SOURCE_CONSTANT)
        return reads_constant(kernels, s, i);
    if (p >= 0 && kernels->grouping)
        return shares_group(kernels, s, i, p);
    if (p >= 0 && casts_inside(kernels, s, p, indexed))
        return true;
    if (p < 0 || !ulp_part_is_computed(step->part))
        return false;
    if (!source->kept || source->split)
        return true;
    const int here = ulp_kernel_of(kernels, s);
    return source->part != ULP_PART_LIBRARY && !indexed && !step->split &&
           step->part != ULP_PART_COPY && here >= 0 && here == ulp_kernel_root(kernels, p);
}

/* What step s reads as its input i stays as it is on the way from step p, or from a constant. */
static void hold(const struct ulp_kernels *kernels, int s, size_t i, int p)
{
    const struct ulp_block *block = kernels->block;
    for (int at = s;; i = 0) {
        const struct ulp_step *from = ulp_block_producer(block, block->steps[at].inputs[i]);
        struct ulp_fused_node *node = fused_node(kernels, at);
        const bool again = node->inside >> i & 1;
        node->inside |= UINT64_C(1) << i;
        if (block->slots[block->steps[at].inputs[i]].constant)
            return;
        at = (int)(from - block->steps);
        fused_node(kernels, at)->held = true;
        if (at == p || (again && kernels->steps[at].part == ULP_PART_VIEW))
            return;
    }
}

static void read_input(const struct ulp_kernels *kernels, int s, size_t i)
{
    const struct ulp_block *block = kernels->block;
    const struct ulp_step *from = ulp_block_producer(block, block->steps[s].inputs[i]);
    bool indexed = false;
    const int p = ulp_kernel_source(kernels, s, i, &indexed);
    if (kernels->steps[s].part == ULP_PART_VIEW && i == 0)
        return;
    if (i < 64 && reads_inside(kernels, s, i, p, indexed)) {
        hold(kernels, s, i, p);
        return;
    }
    if (from && !from->folded)
        fused_node(kernels, (int)(from - block->steps))->stored = true;
    if (p >= 0)
        fused_node(kernels, p)->stored = true;
}

/* A node in several groups has no number. */
static void number_groups(const struct ulp_kernels *kernels)
{
    const struct ulp_grouping *grouping = kernels->grouping;
    for (size_t s = 0; s < kernels->block->step_count; s++) {
        const size_t node = kernels->block->steps[s].number;
        if (ulp_grouping_count(grouping, node) == 1)
            fused_node(kernels, (int)s)->kernel = grouping->groups[grouping->first[node]] + 1;
    }
}

static void number_kernels(const struct ulp_kernels *kernels, struct ulp_fusion *fusion)
{
    for (size_t s = 0; s < kernels->block->step_count; s++) {
        const int root = ulp_kernel_of(kernels, (int)s);
        if (root < 0 || root == (int)s)
            continue;
        struct ulp_fused_node *node = fused_node(kernels, root);
        if (!node->kernel)
            node->kernel = (uint32_t)++fusion->kernel_count;
        fused_node(kernels, (int)s)->kernel = node->kernel;
    }
}

static void fill_nodes(const struct ulp_kernels *kernels, struct ulp_fusion *fusion)
{
    const struct ulp_block *block = kernels->block;
    for (size_t s = 0; s < block->step_count; s++) {
        if (block->steps[s].folded)
            continue;
        for (size_t i = 0; i < block->steps[s].input_count; i++)
            if (block->steps[s].inputs[i] >= 0)
                read_input(kernels, (int)s, i);
        struct ulp_fused_node *node = fused_node(kernels, (int)s);
        const bool leaves = ulp_kernel_leaves(kernels, (int)s);
        node->stored |= leaves;
        /* beside kept nodes the graph's outputs keep their declared types */
        node->cast = leaves && !kernels->grouping && kernels->mix->count > 1 &&
                     kernels->mix->items->inner_casts &&
                     ulp_part_is_computed(kernels->steps[s].part);
        node->held |= node->cast;
    }
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_fused_node *node = fused_node(kernels, (int)s);
        const size_t number = block->steps[s].number;
        const bool dear =
            strcmp(fusion->items[ulp_mix_index(kernels->mix, number)].inner.compute.name,
                   ulp_mix_arithmetic(kernels->mix, number)->compute.name) != 0;
        node->leaves = node->held && !node->cast && ulp_kernel_leaves(kernels, (int)s);
        node->adds_bias = kernels->steps[s].adds_bias;
        node->inner =
            node->held || node->inside || (dear && ulp_part_is_computed(kernels->steps[s].part));
    }
    if (kernels->grouping)
        number_groups(kernels);
    else
        number_kernels(kernels, fusion);
}

/* A Conv and the BatchNormalization behind it in one kernel read what is folded in their type. */
static void join_norms(const struct ulp_kernels *kernels)
{
    const struct ulp_block *block = kernels->block;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *norm = &block->steps[s];
        const int multiplier = kernels->taken ? ulp_step_multiplier(block, norm) : -1;
        const size_t input = multiplier < 0 ? 0 : !multiplier;
        const struct ulp_step *conv =
            norm->norm || multiplier >= 0 ? ulp_block_producer(block, norm->inputs[input]) : NULL;
        struct ulp_fused_node *node = fused_node(kernels, (int)s);
        if (!conv || !(node->inside >> input & 1))
            continue;
        const struct ulp_arithmetic *arithmetic = ulp_mix_arithmetic(kernels->mix, norm->number);
        const int type = ulp_fold_type(arithmetic);
        if (type < ULP_FOLD_COUNT && multiplier >= 0) {
            fused_node(kernels, (int)(conv - block->steps))->joined = conv->joined[type];
        } else if (type < ULP_FOLD_COUNT && norm->joined[type]) {
            node->joined = norm->joined[type];
            node->inside |=
                ulp_folds_first(arithmetic->fuse) ? 2 : 0; /* the multiplier, as it is */
            fused_node(kernels, (int)(conv - block->steps))->joined = conv->joined[type];
        }
    }
}

/* A kept node's arithmetic may have nothing wider inside: it is then its own. */
static void fill_item(struct ulp_fused_arithmetic *out, const struct ulp_arithmetic *item)
{
    out->inner = out->library = *item;
    /* the others were recorded of kernels of one node */
    if (item->steps != ULP_STEPS_HTP && item->steps != ULP_STEPS_TENSORRT)
        out->inner.steps = ULP_STEPS_ALIKE;
    if (item->inner.carrier == item->storage.carrier &&
        ulp_format_holds(&item->inner, &item->storage)) {
        out->inner.storage = out->inner.compute = item->inner;
        out->inner.rows = *ulp_wider_format(&item->inner, &item->rows);
    }
    out->both = out->inner;
    out->library.schedule.epilogue_rounded = out->both.schedule.epilogue_rounded = false;
}

enum ulp_status ulp_program_fuse(const struct ulp_program *program, size_t lane,
                                 struct ulp_mix *mix, struct ulp_error *error)
{
    struct ulp_fusion *fusion = ulp_arena_take(mix->memory, 1, sizeof *fusion);
    if (fusion) {
        fusion->nodes = ulp_arena_take(mix->memory, program->node_count + 1, sizeof *fusion->nodes);
        fusion->items = ulp_arena_take(mix->memory, mix->count, sizeof *fusion->items);
    }
    ULP_TRY(ulp_taken(fusion && fusion->nodes && fusion->items, error));
    for (size_t i = 0; i < mix->count; i++)
        fill_item(&fusion->items[i], &mix->items[i]);
    mix->fusion = fusion;
    for (size_t b = 0; b < program->block_count; b++) {
        ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
        const struct ulp_block *block = program->blocks[b];
        if (block->inlined_in || !block->readers.first) /* or a known condition never takes it */
            continue;
        ULP_TRY(ulp_arena_create(&memory, ulp_arena_budget(mix->memory), error));
        struct ulp_kernels kernels = {.block = block,
                                      .mix = mix,
                                      .grouping = program->groupings[lane],
                                      .memory = memory};
        if (mix->items->fuse == ULP_FUSE_ORT)
            ULP_TRY(
                ulp_kernels_of_ort(&kernels, program->node_count, &fusion->kernel_count, error));
        ULP_TRY(kernels.grouping ? ulp_kernels_describe(&kernels, error)
                                 : ulp_kernels_find(&kernels, error));
        fill_nodes(&kernels, fusion);
        if (mix->items->fuse == ULP_FUSE_ORT || ulp_folds_first(mix->items->fuse))
            join_norms(&kernels);
    }
    return ULP_OK;
}

void ulp_program_node_kernel(const struct ulp_program *program, size_t lane, size_t index,
                             struct ulp_node_kernel *out)
{
    const struct ulp_fusion *fusion = program->mixes[lane].fusion;
    *out = (struct ulp_node_kernel){0};
    if (fusion)
        *out = (struct ulp_node_kernel){fusion->nodes[index].kernel,
                                        fusion->nodes[index].held && !fusion->nodes[index].stored};
}
