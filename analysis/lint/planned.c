/* The model planned: values of a graph or a body as a plan has them (a step's inputs and outputs
 * stand in the order of its node's), operators written out in it, and what of that holds at every
 * size of the free dimensions. */
#include "analysis/lint/lint.h"

#include <ulpscope/run.h>

#include "base/error.h"
#include "run/idiom/idiom.h"
#include "run/program/open_program.h"

/* Plans at sizes that nobody chose, beside the one at the sizes given; and with one such size, to
 * name the one that matters. */
enum { DRAWS = 2, ALONE = 16, PLANS = 1 + DRAWS + ALONE };

/* ---- the plans ---- */

/* Where the nodes of graphs and bodies are computed, and what idioms they make. */
static enum ulp_status look_through(struct ulp_lint *lint, struct ulp_lint_planned *planned,
                                    struct ulp_error *error)
{
    ULP_TAKE(planned->idioms, lint->arena, planned->program->block_count + 1, error);
    ULP_TAKE(planned->steps, lint->arena, lint->node_count + 1, error);
    for (size_t b = 0; b < planned->program->block_count; b++)
        for (size_t s = 0; s < planned->program->blocks[b]->step_count; s++) {
            const struct ulp_block *block = planned->program->blocks[b];
            const struct ulp_lint_place place = ulp_lint_place_of(lint, &block->steps[s]);
            struct ulp_lint_step *at = place.node ? &planned->steps[ulp_lint_number(place)] : NULL;
            if (at && !at->step && !block->steps[s].call)
                *at = (struct ulp_lint_step){.block = block, .step = &block->steps[s]};
        }
    for (size_t b = 0; b < planned->program->block_count; b++) {
        struct ulp_lint_idioms *found = &planned->idioms[planned->block_count];
        found->block = planned->program->blocks[b];
        if (found->block->inlined_in)
            continue;
        ULP_TRY(ulp_idioms_find(found->block, lint->arena, &found->items, &found->count, error));
        planned->block_count++;
        for (size_t i = found->count; i-- > 0;) {
            const struct ulp_step *root = &found->block->steps[found->items[i].root];
            const struct ulp_lint_place place = ulp_lint_place_of(lint, root);
            struct ulp_lint_step *at = place.node ? &planned->steps[ulp_lint_number(place)] : NULL;
            if (at && at->step == root) {
                at->idioms = found;
                at->first = i;
            }
        }
    }
    return ULP_OK;
}

static enum ulp_status plan_given(struct ulp_lint *lint, const struct ulp_program_options *options,
                                  struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_program **out = &lint->planned[0].program;
    if (lint->overriding)
        return ulp_program_open(lint->model, lint->sizes, options, true, out, error);
    ULP_TRY(ulp_arithmetic_find("model", &arithmetic, error));
    return ulp_program_create(lint->model, &arithmetic, 1, options, out, error);
}

/* Without a plan there nothing holds at these sizes; only memory is an error. */
static void plan_at(struct ulp_lint *lint, size_t at, const struct ulp_sizes *sizes)
{
    struct ulp_error error;
    struct ulp_lint_planned *planned = &lint->planned[at];
    enum ulp_status status =
        ulp_program_open(lint->model, sizes, NULL, lint->overriding, &planned->program, &error);
    ULP_THEN(status, look_through(lint, planned, &error));
    lint->failed |= status == ULP_ERROR_MEMORY;
}

/* The sizes given with other memory. */
static bool copy_sizes(struct ulp_lint *lint, struct ulp_sizes *out)
{
    *out = *lint->sizes;
    out->items = ulp_arena_take(lint->arena, out->count + 1, sizeof *out->items);
    lint->failed |= !out->items;
    if (out->items && out->count)
        memcpy(out->items, lint->sizes->items, out->count * sizeof *out->items);
    return out->items;
}

/* When they are first asked for: each is a plan or several of the whole model. */
static void plan_drawn(struct ulp_lint *lint)
{
    struct ulp_error error;
    if (lint->planned_count > 1 || !(lint->sizes->count || lint->sizes->unranked))
        return;
    lint->planned_count += DRAWS;
    for (size_t at = DRAWS; at > 0 && copy_sizes(lint, &lint->sizes[1]); at--) {
        const enum ulp_status status = ulp_sizes_draw(lint->model, at - 1, &lint->sizes[1], &error);
        lint->failed |= status == ULP_ERROR_MEMORY;
        if (status == ULP_OK)
            plan_at(lint, at, &lint->sizes[1]);
    }
}

void ulp_lint_plan(struct ulp_lint *lint)
{
    struct ulp_error error;
    const struct ulp_program_options options = {.dims = lint->options->dims,
                                                .dim_count = lint->options->dim_count,
                                                .inputs = lint->options->inputs};
    if (lint->planned || lint->failed)
        return;
    lint->sizes = ulp_arena_take(lint->arena, 2, sizeof *lint->sizes);
    if (!lint->sizes || ulp_sizes_list(lint->model, options.inputs, options.dims, options.dim_count,
                                       lint->arena, lint->sizes, &error) != ULP_OK)
        lint->failed = true;
    if (!lint->failed)
        lint->planned = ulp_arena_take(lint->arena, PLANS, sizeof *lint->planned);
    lint->failed |= !lint->planned;
    if (lint->failed)
        return;
    lint->planned_count = 1;
    enum ulp_status status = plan_given(lint, &options, &error);
    if (status != ULP_OK) {
        for (char *at = error.message; (at = strchr(at, '\n'));)
            *at = at[-1] == ':' ? ' ' : ';';
        lint->unplanned = ulp_arena_copy(lint->arena, error.message);
    } else
        status = look_through(lint, &lint->planned[0], &error);
    lint->failed |= status == ULP_ERROR_MEMORY || (!lint->planned[0].program && !lint->unplanned);
}

void ulp_lint_free_plans(struct ulp_lint *lint)
{
    for (size_t at = 0; lint->planned && at < PLANS; at++)
        ulp_program_free(lint->planned[at].program);
}

/* ---- what holds at every size ---- */

/* The dimension that it fails with when it alone has another size, as a clause. */
static const char *find_reason(struct ulp_lint *lint, ulp_lint_condition *condition, const void *of)
{
    struct ulp_sizes one;
    const struct ulp_free_size *drawn = lint->sizes[1].items;
    char text[200];
    if (!drawn || !copy_sizes(lint, &one))
        return "its sizes are free";
    for (size_t s = 0; s < one.count && s < ALONE; s++) {
        const size_t at = 1 + DRAWS + s;
        one.items[s].size = drawn[s].size + (drawn[s].size == one.items[s].size);
        if (!lint->planned[at].program)
            plan_at(lint, at, &one);
        one.items[s].size = lint->sizes->items[s].size;
        if (condition(lint, at, of))
            continue;
        const char *name = ulp_free_size_text(&one.items[s], text, sizeof text);
        struct ulp_text clause = {0};
        ulp_text_show(&clause, "%s is free", name);
        const char *kept = ulp_text_keep(&clause, lint->arena);
        lint->failed |= !kept;
        return kept;
    }
    return "its sizes are free";
}

bool ulp_lint_holds(struct ulp_lint *lint, ulp_lint_condition *condition, const void *of,
                    const char **why)
{
    *why = NULL;
    if (!condition(lint, 0, of))
        return false;
    plan_drawn(lint);
    for (size_t at = 1; at < lint->planned_count; at++)
        if (!condition(lint, at, of)) {
            *why = find_reason(lint, condition, of);
            return false;
        }
    return true;
}

/* ---- values ---- */

struct ulp_lint_place ulp_lint_place_of(const struct ulp_lint *lint, const struct ulp_step *step)
{
    const struct ulp_node *node = step->bound.node;
    for (size_t g = 0; g < lint->graph_count; g++) {
        const struct ulp_graph *graph = lint->graphs[g].graph;
        if (node >= graph->nodes && node < graph->nodes + graph->node_count)
            return (struct ulp_lint_place){&lint->graphs[g], node};
    }
    return (struct ulp_lint_place){0};
}

/* The one that stands where the other has `what`; -1: it has it nowhere. */
static int beside(const int *has, size_t count, int what, const int *other, size_t other_count)
{
    for (size_t i = 0; i < count && i < other_count; i++)
        if (has[i] == what)
            return other[i];
    return -1;
}

/* Of a value that the node reads or gives; NULL: it does not, or is not known. */
static const struct ulp_tensor *find_shape(const struct ulp_lint_planned *planned,
                                           struct ulp_lint_place place, int value)
{
    const struct ulp_lint_step *at = &planned->steps[ulp_lint_number(place)];
    const struct ulp_node *node = at->step ? at->step->bound.node : NULL;
    int slot = -1;
    if (node)
        slot = beside(node->inputs, node->input_count, value, at->step->inputs,
                      at->step->own_input_count);
    if (node && slot < 0)
        slot = beside(node->outputs, node->output_count, value, at->step->outputs,
                      at->step->output_count);
    return slot < 0 || at->block->slots[slot].shape.type == ULP_TYPE_UNDEFINED
               ? NULL
               : &at->block->slots[slot].shape;
}

const struct ulp_tensor *ulp_lint_shape_of(const struct ulp_lint *lint, size_t at,
                                           const struct ulp_lint_graph *graph, int value)
{
    const struct ulp_lint_planned *planned = lint->planned ? &lint->planned[at] : NULL;
    const struct ulp_tensor *shape = NULL;
    if (!planned || !planned->steps || value < 0)
        return NULL;
    const struct ulp_lint_place producer = ulp_lint_producer(graph, value);
    if (producer.node && producer.graph == graph)
        shape = find_shape(planned, producer, value);
    for (size_t i = 0; i < ulp_lint_reader_count(graph, value) && !shape; i++)
        shape = find_shape(planned, ulp_lint_reader(graph, value, i), value);
    return shape;
}

int ulp_lint_value_in(const struct ulp_lint *lint, const struct ulp_lint_graph *graph,
                      const struct ulp_block *block, int slot)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    const struct ulp_reading *all;
    const size_t count = ulp_block_readings(block, slot, &all);
    int value = -1;
    if (step && !step->call && ulp_lint_place_of(lint, step).graph == graph)
        value = beside(step->outputs, step->output_count, slot, step->bound.node->outputs,
                       step->bound.node->output_count);
    for (size_t r = 0; r < count && all[r].step >= 0 && value < 0; r++) {
        step = &block->steps[all[r].step];
        if (!step->call && all[r].input < (int)step->own_input_count &&
            ulp_lint_place_of(lint, step).graph == graph)
            value = step->bound.node->inputs[all[r].input];
    }
    return value;
}

/* ---- idioms ---- */

static bool same_name(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static bool same_idiom(const struct ulp_block *a, const struct ulp_idiom *x,
                       const struct ulp_block *b, const struct ulp_idiom *y)
{
    bool same = x->kind == y->kind && x->axes == y->axes && x->epsilon == y->epsilon &&
                x->scale == y->scale && x->step_count == y->step_count &&
                same_name(a->steps[x->root].name, b->steps[y->root].name);
    for (size_t s = 0; s < x->step_count && same; s++)
        same = same_name(a->steps[x->steps[s]].name, b->steps[y->steps[s]].name);
    for (int h = 0; h < ULP_IDIOM_HOLE_COUNT && same; h++)
        same =
            (x->holes[h] < 0) == (y->holes[h] < 0) &&
            (x->holes[h] < 0 || same_name(a->slots[x->holes[h]].name, b->slots[y->holes[h]].name));
    return same;
}

const struct ulp_idiom *ulp_lint_idiom_at(const struct ulp_lint *lint, size_t at,
                                          const struct ulp_block *given,
                                          const struct ulp_idiom *idiom,
                                          const struct ulp_block **block)
{
    const struct ulp_lint_planned *planned = &lint->planned[at];
    *block = given;
    if (at == 0)
        return idiom;
    for (size_t b = 0; b < planned->block_count; b++)
        for (size_t i = 0; i < planned->idioms[b].count; i++) {
            *block = planned->idioms[b].block;
            if (same_idiom(given, idiom, *block, &planned->idioms[b].items[i]))
                return &planned->idioms[b].items[i];
        }
    return NULL;
}
