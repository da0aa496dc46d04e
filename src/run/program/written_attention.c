/* Attention that a graph writes out as one step. The idioms (run/idiom) say where it is; the last
 * MatMul becomes the step, and what only it reads leaves the block. In all lanes of the plan: a
 * reference computes the same function of the same values, so that errors are the kernel's. */
#include <string.h>

#include "base/error.h"
#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"
#include "run/program/program.h"

/* What a Where puts in place of a score hides its key when it is no more than that: beside scores
 * of any format exp of it is 0. */
#define HIDING (-1e4)

/* A mask broadcasts to [batch, heads, queries, keys]. */
static bool fits_scores(const struct ulp_tensor *mask, const struct ulp_tensor *q, int64_t keys)
{
    int64_t dims[ULP_RANK_MAX];
    if (mask->type == ULP_TYPE_UNDEFINED || mask->rank > q->rank)
        return false;
    memcpy(dims, q->dims, sizeof dims);
    dims[q->rank - 1] = keys;
    for (int d = 1; d <= mask->rank; d++)
        if (mask->dims[mask->rank - d] != 1 && mask->dims[mask->rank - d] != dims[q->rank - d])
            return false;
    return mask->rank == 0 || mask->dims[mask->rank - 1] == keys;
}

static bool hides(const struct ulp_block *block, int slot)
{
    const struct ulp_tensor *low = ulp_slot_known(block, slot);
    bool all = low && low->count;
    for (size_t i = 0; all && i < low->count; i++)
        all = ulp_tensor_get(low, i) <= HIDING;
    return all;
}

/* Why the idiom stays as it is; NULL: it becomes one step. */
static const char *find_obstacle(const struct ulp_block *block, const struct ulp_idiom *idiom)
{
    const int *holes = idiom->holes;
    const struct ulp_tensor *q = &block->slots[holes[ULP_IDIOM_Q]].shape,
                            *k = &block->slots[holes[ULP_IDIOM_K]].shape,
                            *v = &block->slots[holes[ULP_IDIOM_V]].shape;
    if (q->type == ULP_TYPE_UNDEFINED || k->type != q->type || v->type != q->type)
        return "its shapes or types are not known to be alike";
    if (q->rank < 3 || q->rank > 4 || k->rank != q->rank || v->rank != q->rank)
        return "its factors are no batches of heads";
    for (int d = 0; d < q->rank - 2; d++)
        if (k->dims[d] != q->dims[d] || v->dims[d] != q->dims[d])
            return "its factors have different batches or heads";
    if (q->dims[q->rank - 3] == 0)
        return "it has no heads";
    if (!ulp_idiom_scale_fits(idiom))
        return "its scale is not positive";
    if (idiom->axis >= 0 && idiom->axis != q->rank - 1)
        return "its Softmax is not over the keys";
    if (!ulp_idiom_is_closed(block, idiom))
        return "what is between its products is read elsewhere, too";
    if (holes[ULP_IDIOM_MASK] >= 0 &&
        !fits_scores(&block->slots[holes[ULP_IDIOM_MASK]].shape, q, k->dims[k->rank - 1]))
        return "its mask does not broadcast to the scores";
    if (holes[ULP_IDIOM_LOW] < 0)
        return NULL;
    return hides(block, holes[ULP_IDIOM_LOW]) ? NULL : "its Where does not hide keys";
}

/* Others may share its tapes: they are freed with the program. */
static enum ulp_status leave(struct ulp_program *program, const struct ulp_bound *bound,
                             struct ulp_error *error)
{
    ULP_TRY(ulp_taken(ulp_program_grow(program->arena, &program->removed, program->removed_count,
                                       &program->removed_capacity, sizeof *program->removed),
                      error));
    program->removed[program->removed_count++] = *bound;
    return ULP_OK;
}

static enum ulp_status join_attention(struct ulp_program *program, struct ulp_block *block,
                                      const struct ulp_idiom *idiom, struct ulp_error *error)
{
    static const int numbers[] = {0, 1, 2, 3};
    struct ulp_step *step = &block->steps[idiom->root];
    const int slots[] = {idiom->holes[ULP_IDIOM_Q], idiom->holes[ULP_IDIOM_K],
                         idiom->holes[ULP_IDIOM_V], idiom->holes[ULP_IDIOM_MASK]};
    const size_t count = slots[3] >= 0 ? 4 : 3;
    struct ulp_attribute *attributes = ulp_arena_take(program->arena, 2, sizeof *attributes);
    struct ulp_node *node = ulp_arena_take(program->arena, 1, sizeof *node);
    int *inputs = ulp_arena_take(program->arena, count, sizeof *inputs);
    ULP_TRY(ulp_taken(attributes && node && inputs, error));
    memcpy(inputs, slots, count * sizeof *inputs);
    attributes[0] = (struct ulp_attribute){.name = "scale",
                                           .kind = ULP_ATTRIBUTE_FLOAT,
                                           .f = (float)idiom->scale};
    attributes[1] = (struct ulp_attribute){.name = "hides",
                                           .kind = ULP_ATTRIBUTE_INT,
                                           .i = strstr(idiom->formula, "low, ") != NULL};
    *node = *step->bound.node;
    node->attributes = attributes;
    node->attribute_count = 2;
    node->inputs = numbers;
    node->input_count = count;
    struct ulp_bound bound;
    ULP_TRY(leave(program, &step->bound, error));
    ULP_TRY(ulp_bind_row(&bound, &ulp_operator_written_attention, node, step->opset, program->arena,
                         error));
    bound.key = step->bound.key;
    step->bound = bound;
    ulp_program_charge_prepared(program, &step->bound);
    step->inputs = inputs;
    step->input_count = step->own_input_count = count;
    return ULP_OK;
}

/* Steps that are marked leave. */
static enum ulp_status drop_joined(struct ulp_program *program, struct ulp_block *block,
                                   const bool *dropped, struct ulp_error *error)
{
    size_t kept = 0;
    for (size_t s = 0; s < block->step_count; s++) {
        if (!dropped[s]) {
            block->steps[kept++] = block->steps[s];
            continue;
        }
        for (size_t o = 0; o < block->steps[s].output_count; o++)
            if (block->steps[s].outputs[o] >= 0)
                block->slots[block->steps[s].outputs[o]].producer = -1;
        ULP_TRY(leave(program, &block->steps[s].bound, error));
    }
    block->step_count = kept;
    return ULP_OK;
}

/* A Softmax before a product of computed values that is of no attention above. */
static bool is_strange(const struct ulp_block *block, int softmax, const bool *known, int *product)
{
    const struct ulp_reading *all;
    if (known[softmax] || !ulp_step_is(&block->steps[softmax], "Softmax"))
        return false;
    const size_t count = ulp_block_readings(block, block->steps[softmax].outputs[0], &all);
    for (size_t r = 0; r < count && all[r].step >= 0; r++) {
        const struct ulp_step *reader = &block->steps[all[r].step];
        if (ulp_step_is(reader, "MatMul") && all[r].input == 0 &&
            !ulp_slot_known(block, reader->inputs[1])) {
            *product = all[r].step;
            return true;
        }
    }
    return false;
}

static void stay_apart(struct ulp_program *program, const struct ulp_block *block, int root,
                       const char *why)
{
    if (program->written.apart++)
        return;
    program->written.node = block->steps[root].name;
    program->written.why = why;
}

static enum ulp_status join_all(struct ulp_program *program, struct ulp_block *block,
                                struct ulp_arena *memory, struct ulp_error *error)
{
    struct ulp_idiom *idioms;
    size_t count;
    int product = 0;
    bool *dropped = ulp_arena_take(memory, block->step_count + 1, sizeof *dropped);
    bool *known = ulp_arena_take(memory, block->step_count + 1, sizeof *known);
    ULP_TRY(dropped && known ? ulp_idioms_find(block, memory, &idioms, &count, error)
                             : ulp_out_of_memory(error));
    for (size_t i = 0; i < count; i++) {
        const struct ulp_idiom *idiom = &idioms[i];
        const char *why = idiom->kind == ULP_IDIOM_ATTENTION ? find_obstacle(block, idiom) : NULL;
        if (idiom->kind != ULP_IDIOM_ATTENTION)
            continue;
        for (size_t s = 0; s < idiom->step_count; s++)
            known[idiom->steps[s]] = true;
        if (why) {
            stay_apart(program, block, idiom->root, why);
            continue;
        }
        program->written.joined++;
        ULP_TRY(join_attention(program, block, idiom, error));
        for (size_t s = 0; s < idiom->step_count; s++)
            dropped[idiom->steps[s]] = idiom->steps[s] != idiom->root;
    }
    for (size_t s = 0; s < block->step_count; s++)
        if (is_strange(block, (int)s, known, &product))
            stay_apart(program, block, product,
                       "more than a scale and a mask is between its products");
    return drop_joined(program, block, dropped, error);
}

/* The steps of a program are those of all its lanes; what is exact anyway may stand beside. */
static enum ulp_status check_lanes(const struct ulp_program *program, struct ulp_error *error)
{
    enum { EXACT_BITS = 53 };
    for (size_t l = 0; l < program->lane_count && program->written.joined; l++)
        if (!program->lanes[l].attention_joined &&
            (program->lanes[l].as_declared || program->lanes[l].storage.precision < EXACT_BITS))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "written-attention=kernel (which formats of caches bring) makes other "
                            "nodes of the graph, which all arithmetics of a run have: add it to "
                            "'%s', too, or run that by itself",
                            program->lanes[l].name);
    return ULP_OK;
}

enum ulp_status ulp_program_join_attention(struct ulp_program *program, struct ulp_block *block,
                                           struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_TRY(ulp_arena_create(&memory, &program->budget, error));
    ULP_TRY(join_all(program, block, memory, error));
    return check_lanes(program, error);
}
