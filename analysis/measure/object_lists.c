/* Which outputs of a graph are the columns of one list, by what chose their rows. */
#include "analysis/measure/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/program/program.h"

enum { CHOICES_MAX = 64 }; /* the last ones of a graph, a bit for each */

struct choices {
    const struct ulp_block *block;
    int64_t length[CHOICES_MAX]; /* of what a TopK takes; 0: what follows from the data */
    bool counts[CHOICES_MAX];    /* a NonZero, behind which only unknown lengths are a list's */
    size_t count, before;        /* those before the last ones are left out */
    uint64_t *of;                /* by slot: choices whose rows it may hold */
};

static bool has_length(const struct ulp_tensor *shape, int64_t length)
{
    bool any = shape->type == ULP_TYPE_UNDEFINED || !length;
    for (int d = 0; d < shape->rank; d++)
        any |= shape->dims[d] == length;
    return any;
}

/* Of what a TopK takes; 0: not known; -1: it is no list's. Another axis is as long, as where of
 * each token as many experts are taken as there are tokens, and which one a length means cannot be
 * told; or what stands in a row was chosen by several choices. */
static int64_t find_length(const struct choices *choices, const struct ulp_step *step)
{
    const int slot = step->outputs[0] >= 0 ? step->outputs[0] : step->outputs[1];
    const struct ulp_tensor *shape = slot < 0 ? NULL : &choices->block->slots[slot].shape;
    int64_t axis = ulp_node_int(step->bound.node, "axis", -1);
    if (!shape || !shape->type || !shape->rank)
        return 0;
    axis += axis < 0 ? shape->rank : 0;
    for (int d = 0; d < shape->rank; d++)
        if (d != axis && (shape->dims[d] == shape->dims[axis] || (d > axis && shape->dims[d] != 1)))
            return -1;
    return shape->dims[axis];
}

static bool is_choice(const struct ulp_step *step)
{
    return ulp_is_word(step->bound.op->name, "TopK NonMaxSuppression NonZero");
}

/* The bit of a step that chooses rows. */
static uint64_t add_choice(struct choices *choices, const struct ulp_step *step)
{
    const bool taken = strcmp(step->bound.op->name, "TopK") == 0;
    if (!is_choice(step) || (choices->before > 0 && choices->before--))
        return 0;
    const int64_t length = taken ? find_length(choices, step) : 0;
    if (length < 0)
        return 0;
    const size_t c = choices->count++;
    choices->counts[c] = strcmp(step->bound.op->name, "NonZero") == 0;
    choices->length[c] = length;
    return (uint64_t)1 << c;
}

static void follow(struct choices *choices)
{
    const struct ulp_block *block = choices->block;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        uint64_t bits = add_choice(choices, step);
        for (size_t i = 0; i < step->input_count; i++)
            bits |= step->inputs[i] < 0 ? 0 : choices->of[step->inputs[i]];
        for (size_t o = 0; o < step->output_count && bits; o++) {
            const int slot = step->outputs[o];
            for (size_t c = 0; c < choices->count && slot >= 0; c++)
                if ((bits >> c & 1) && has_length(&block->slots[slot].shape, choices->length[c]))
                    choices->of[slot] |= (uint64_t)1 << c;
        }
    }
}

/* False: nothing chooses, or no memory, without which nothing is a list. */
static bool open_choices(struct choices *out, const struct ulp_block *block)
{
    size_t number = 0;
    for (size_t s = 0; s < block->step_count; s++)
        number += is_choice(&block->steps[s]);
    *out =
        (struct choices){.block = block, .before = number > CHOICES_MAX ? number - CHOICES_MAX : 0};
    out->of = number ? calloc(block->slot_count + 1, sizeof *out->of) : NULL;
    if (out->of)
        follow(out);
    return out->of;
}

/* Rows of what NonZero itself gives of several axes are these, not places. */
static bool are_axes(const struct ulp_block *block, int slot)
{
    const struct ulp_step *from = ulp_block_producer(block, slot);
    while (from && ulp_is_word(from->bound.op->name, "Cast Identity"))
        from = ulp_block_producer(block, from->inputs[0]);
    return from && strcmp(from->bound.op->name, "NonZero") == 0 &&
           block->slots[from->inputs[0]].shape.rank > 1;
}

/* Choices of which the output may be the rows. */
static uint64_t bits_of(const struct choices *choices, size_t output)
{
    const int slot = choices->block->outputs[output];
    uint64_t bits =
        slot < 0 || !ulp_block_computes(choices->block, slot) || are_axes(choices->block, slot)
            ? 0
            : choices->of[slot];
    const bool known = slot >= 0 && choices->block->slots[slot].shape.type != ULP_TYPE_UNDEFINED;
    for (size_t c = 0; c < choices->count; c++)
        if (choices->counts[c] && known)
            bits &= ~((uint64_t)1 << c);
    return bits;
}

bool ulp_objects_may_list(const struct ulp_program *program, size_t output)
{
    struct choices choices;
    const bool any = open_choices(&choices, program->main) && bits_of(&choices, output);
    free(choices.of);
    return any;
}

/* Does some output hold one number for each row, whose number only a run tells? */
static bool is_column(const struct choices *choices, const struct ulp_tensor *const *truths,
                      uint64_t bits, int64_t length)
{
    bool any = false;
    for (size_t o = 0; o < choices->block->output_count; o++)
        any |= length > 1 && truths[o] && truths[o]->rank == 1 && truths[o]->dims[0] == length &&
               (bits_of(choices, o) & bits) &&
               choices->block->slots[choices->block->outputs[o]].shape.type == ULP_TYPE_UNDEFINED;
    return any;
}

/* Is there an output of as many rows in a batch, of other width? */
static bool has_fellow(const struct choices *choices, const struct ulp_tensor *const *truths,
                       uint64_t bits, const struct ulp_tensor *truth)
{
    bool any = false;
    for (size_t o = 0; o < choices->block->output_count; o++)
        any |= truths[o] && truths[o]->rank >= 2 && truths[o]->rank != truth->rank &&
               (bits_of(choices, o) & bits) && truths[o]->dims[0] == truth->dims[0] &&
               truths[o]->dims[1] == truth->dims[1];
    return any;
}

/* -1: there are no rows. */
static int find_axis(const struct choices *choices, const struct ulp_tensor *const *truths,
                     uint64_t bits, const struct ulp_tensor *truth)
{
    int axis = -1;
    for (size_t c = 0; c < choices->count; c++) {
        const int64_t length = choices->length[c];
        if (!(bits >> c & 1) || !truth->rank)
            continue;
        if (length)
            axis = truth->rank > 1 && truth->dims[1] == length ? 1
                   : truth->dims[0] == length                  ? 0
                                                               : axis;
        else if (is_column(choices, truths, bits, truth->dims[0]))
            axis = 0;
        else
            axis = truth->rank > 2 || (truth->rank == 2 && truth->dims[0] == 1) ||
                   (truth->rank == 2 && has_fellow(choices, truths, bits, truth));
    }
    return axis >= 0 && truth->dims[axis] >= 2 && truth->dims[axis] <= ULP_OBJECTS_MAX ? axis : -1;
}

static bool is_alike(const struct ulp_tensor *a, const struct ulp_tensor *b, int axis)
{
    bool same = a->rank > axis && b->rank > axis;
    for (int d = 0; d <= axis && same; d++)
        same = a->dims[d] == b->dims[d];
    return same;
}

/* Those that have as many rows as the first, in its batch. */
static void join(const struct choices *choices, const struct ulp_tensor *const *truths,
                 size_t first, struct ulp_object_rows *out)
{
    const uint64_t bits = bits_of(choices, first);
    const int axis = truths[first] && bits ? find_axis(choices, truths, bits, truths[first]) : -1;
    bool whole = false;
    if (axis < 0)
        return;
    for (int turn = 0; turn < 2; turn++) /* which is no list unless a row is more than a number */
        for (size_t o = first; o < choices->block->output_count; o++) {
            const uint64_t own = bits_of(choices, o);
            if (out[o].list >= 0 || !truths[o] || !(own & bits) ||
                !is_alike(truths[first], truths[o], axis) ||
                find_axis(choices, truths, own, truths[o]) != axis)
                continue;
            whole |= ulp_objects_width(truths[o], axis) > 1;
            if (turn && whole)
                out[o] = (struct ulp_object_rows){(int)first, axis};
        }
}

void ulp_objects_find(const struct ulp_program *program, const struct ulp_tensor *const *truths,
                      struct ulp_object_rows *out)
{
    const size_t count = program->main->output_count;
    struct choices choices;
    const bool any = open_choices(&choices, program->main);
    for (size_t o = 0; o < count; o++)
        out[o] = (struct ulp_object_rows){-1, 0};
    for (size_t o = 0; o < count; o++)
        if (truths[o] && ulp_objects_columns(truths[o], &(struct ulp_objects){0}))
            out[o] = (struct ulp_object_rows){(int)o, truths[o]->rank - 2};
    for (size_t o = 0; o < count && any; o++)
        if (out[o].list < 0)
            join(&choices, truths, o, out);
    free(choices.of);
}

enum ulp_status ulp_objects_judge_all(const struct ulp_program *program, enum ulp_task asked,
                                      const struct ulp_tensor *const *values,
                                      const struct ulp_tensor *const *truths,
                                      struct ulp_budget *budget, struct ulp_judged *judged,
                                      struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    const size_t count = block->output_count;
    ULP_SCOPED(ulp_free_of) struct ulp_object_rows *rows = NULL;
    ULP_SCOPED(ulp_free_of) struct ulp_object_part *parts = NULL;
    if (asked != ULP_TASK_UNKNOWN && asked != ULP_TASK_DETECT)
        return ULP_OK;
    ULP_TRY(ulp_allocate(&rows, count + 1, sizeof *rows, budget, "lists of objects", error));
    ULP_TRY(ulp_allocate(&parts, count + 1, sizeof *parts, budget, "lists of objects", error));
    ulp_objects_find(program, truths, rows);
    for (size_t first = 0; first < count; first++) {
        struct ulp_judged all;
        size_t members = 0;
        for (size_t o = first; o < count && rows[first].list == (int)first; o++)
            if (rows[o].list == (int)first && values[o] && values[o]->rank == truths[o]->rank)
                parts[members++] = (struct ulp_object_part){block->slots[block->outputs[o]].name,
                                                            values[o], truths[o], rows[o].axis};
        if (!members)
            continue;
        ULP_TRY(ulp_objects_judge(parts, members, budget, &all, error));
        for (size_t o = first; o < count && all.task == ULP_TASK_OBJECTS; o++)
            if (rows[o].list == (int)first && values[o] && values[o]->rank == truths[o]->rank)
                judged[o] = all;
    }
    return ULP_OK;
}
