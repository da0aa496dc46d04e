/* Expanding the model's graph into blocks of bound steps: functions in place, bodies of If, Loop
 * and Scan as nested blocks. All unsupported nodes are collected before the error is returned. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/text.h"
#include "run/program/open_program.h"

/* Functions may call functions; a hostile file could nest them without end. */
#define CALL_DEPTH_MAX 64
/* What they may make of a small file, in nodes, values, and pieces of NAME_BYTES of the names they
 * get; and for each node of the file. */
#define EXPANDED_FREE ((size_t)2000000)
#define EXPANDED_PER_NODE 16
#define NAME_BYTES 64
/* The slot of a function parameter that the call omits. */
#define OMITTED INT_MAX

/* Where a graph's values live in a block, and what its attribute references mean. */
struct scope {
    struct ulp_program *program;
    struct ulp_block *block;
    const struct ulp_graph *graph;
    int *slots; /* of graph value v */
    const char *prefix;
    const struct ulp_opset *opsets;
    size_t opset_count;
    const struct ulp_node *call; /* whose function this is; NULL outside functions */
    const struct ulp_call_path *path;
    const struct ulp_function *function;
    const struct ulp_names *given; /* the call's attributes */
    int depth;
};

static const struct ulp_value_info undeclared = {.rank = -1};

int ulp_block_add_slot(struct ulp_program *program, struct ulp_block *block, const char *name)
{
    if (block->slot_count >= INT_MAX ||
        !ULP_ARENA_GROWS(block->slots, program->arena, block->slot_count, block->slot_capacity))
        return -1;
    block->slots[block->slot_count] = (struct ulp_program_slot){.name = name,
                                                                .info = &undeclared,
                                                                .outer = -1,
                                                                .same_as = -1,
                                                                .producer = -1,
                                                                .last_use = -1};
    return (int)block->slot_count++;
}

/* "call/inner", "if/inner". Outside functions a name with a leading '/' is a path of its own, as
 * PyTorch's exporter writes them. */
static const char *join_name(const struct scope *scope, const char *name)
{
    if (!scope->prefix || (!scope->call && name[0] == '/'))
        return name;
    return ulp_arena_say(scope->program->arena, "%s/%s", scope->prefix, name);
}

/* A graph of `count` nodes and values is about to be put in, where their names get the prefix. */
static enum ulp_status charge_expansion(struct ulp_program *program, const char *prefix,
                                        size_t count, size_t copies, struct ulp_error *error)
{
    size_t names;
    if (ulp_size_mul(prefix ? strlen(prefix) + 1 : 0, count, &names) &&
        ulp_size_add(program->expanded, copies + names / NAME_BYTES, &program->expanded) &&
        program->expanded <= program->expanded_limit)
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_INPUT,
                    "functions and bodies expand to more than %zu nodes and values",
                    program->expanded_limit);
}

/* Types that have a number format, or elements in memory. */
static void list_types(bool computed[ULP_TYPE_COUNT])
{
    struct ulp_format format;
    for (int type = 0; type < ULP_TYPE_COUNT; type++) {
        const struct ulp_type_row *row = &ulp_type_rows[type];
        computed[type] = type == ULP_TYPE_UNDEFINED ||
                         (row->element != ULP_ELEMENT_COUNT &&
                          (!row->format || ulp_format_find(row->format, &format, NULL) == ULP_OK));
    }
}

/* Another type is a problem of the nodes that meet it. */
static enum ulp_status check_type(struct ulp_program *program, const bool computed[ULP_TYPE_COUNT],
                                  const struct ulp_program_slot *slot, const char *where,
                                  struct ulp_error *error)
{
    enum ulp_type type = slot->constant ? slot->constant->type : slot->info->type;
    if ((unsigned)type < ULP_TYPE_COUNT && computed[type])
        return ULP_OK;
    char text[100];
    snprintf(text, sizeof text, "tensors of type %s", ulp_type_name(type));
    return ulp_program_add_problem(program, text, where, error);
}

static enum ulp_status check_types(struct ulp_program *program, struct ulp_error *error)
{
    bool computed[ULP_TYPE_COUNT];
    list_types(computed);
    for (size_t b = 0; b < program->block_count; b++) {
        const struct ulp_block *block = program->blocks[b];
        for (size_t s = 0; s < block->step_count; s++) {
            const struct ulp_step *step = &block->steps[s];
            for (size_t i = 0; i < step->input_count + step->output_count; i++) {
                int slot =
                    i < step->input_count ? step->inputs[i] : step->outputs[i - step->input_count];
                if (slot >= 0)
                    ULP_TRY(check_type(program, computed, &block->slots[slot], step->name, error));
            }
        }
    }
    /* Also those that no node uses: every lane holds the inputs. */
    for (size_t i = 0; i < program->main->input_count; i++)
        ULP_TRY(check_type(program, computed, &program->main->slots[program->main->inputs[i]],
                           "graph input", error));
    return ULP_OK;
}

/* The node with its attribute references replaced by the calling node's attributes. */
static const struct ulp_node *resolve_references(const struct scope *scope,
                                                 const struct ulp_node *node)
{
    bool any = false;
    for (size_t i = 0; i < node->attribute_count; i++)
        any |= node->attributes[i].reference != NULL;
    if (!any || !scope->call)
        return node;
    struct ulp_node *copy = ulp_arena_take(scope->program->arena, 1, sizeof *copy);
    struct ulp_attribute *attributes =
        ulp_arena_take(scope->program->arena, node->attribute_count, sizeof *attributes);
    if (!copy || !attributes)
        return NULL;
    size_t count = 0;
    for (size_t i = 0; i < node->attribute_count; i++) {
        const struct ulp_attribute *from = &node->attributes[i];
        if (from->reference) {
            int at = ulp_names_find(scope->given, from->reference);
            const struct ulp_attribute *given =
                at >= 0 ? &scope->call->attributes[at]
                        : ulp_function_default(scope->function, from->reference);
            if (!given)
                continue;
            attributes[count] = *given;
            attributes[count++].name = from->name;
        } else {
            attributes[count++] = *from;
        }
    }
    *copy = *node;
    copy->attributes = attributes;
    copy->attribute_count = count;
    return copy;
}

static enum ulp_status expand_nodes(struct scope *scope, struct ulp_error *error);
static enum ulp_status make_block(struct scope *outer, const struct ulp_graph *graph,
                                  const char *name, struct ulp_block **out,
                                  struct ulp_error *error);

/* A caller gives its value, in place of the initializer that it may have. */
static bool is_given(const struct ulp_program *program, const struct ulp_value *value)
{
    return !value->initializer ||
           (program->opening && program->opening->overriding && value->overridable);
}

/* Slots for every value of the scope's graph that has none yet (function parameters are given by
 * the caller). */
static enum ulp_status add_slots(struct scope *scope, const int *outer_slots,
                                 struct ulp_error *error)
{
    const struct ulp_graph *graph = scope->graph;
    struct ulp_block *block = scope->block;
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct ulp_value *value = &graph->values[v];
        if (scope->slots[v] >= 0)
            continue;
        if (value->outer >= 0 && outer_slots && outer_slots[value->outer] == OMITTED) {
            scope->slots[v] = OMITTED;
            continue;
        }
        const char *name = join_name(scope, value->name);
        int slot = name ? ulp_block_add_slot(scope->program, block, name) : -1;
        if (slot < 0)
            return ulp_out_of_memory(error);
        scope->slots[v] = slot;
        block->slots[slot].info = &value->info;
        block->slots[slot].overridable = value->overridable;
        block->slots[slot].constant = is_given(scope->program, value) ? NULL : value->initializer;
        if (value->outer >= 0 && outer_slots) {
            block->slots[slot].outer = outer_slots[value->outer];
            ULP_GROW(block->captured, scope->program->arena, block->captured_count,
                     block->captured_capacity, error);
            block->captured[block->captured_count++] = slot;
        }
    }
    return ULP_OK;
}

/* The slots of the function's parameters are the call's. */
static void pass_parameters(struct scope *scope, const struct scope *outer)
{
    const struct ulp_graph *body = scope->graph;
    const struct ulp_node *node = scope->call;
    for (size_t v = 0; v < body->value_count; v++)
        scope->slots[v] = -1;
    for (size_t i = 0; i < body->input_count; i++) {
        int value = i < node->input_count ? node->inputs[i] : -1;
        scope->slots[body->inputs[i]] = value < 0 ? OMITTED : outer->slots[value];
    }
    for (size_t i = 0; i < body->output_count && i < node->output_count; i++)
        if (node->outputs[i] >= 0 && scope->slots[body->outputs[i]] == -1)
            scope->slots[body->outputs[i]] = outer->slots[node->outputs[i]];
}

static enum ulp_status expand_body(struct scope *scope, struct scope *outer,
                                   struct ulp_error *error)
{
    const struct ulp_graph *body = scope->graph;
    const struct ulp_node *node = scope->call;
    size_t count = body->node_count + body->value_count;
    ULP_TRY(charge_expansion(outer->program, scope->prefix, count, count + 1, error));
    scope->slots = ulp_arena_take(outer->program->arena, body->value_count + 1, sizeof(int));
    ULP_TRY(ulp_taken(scope->slots, error));
    pass_parameters(scope, outer);
    ULP_TRY(add_slots(scope, NULL, error));
    ULP_TRY(expand_nodes(scope, error));
    /* A body output that is also a body input, or given twice, is the same slot under a further
     * name. */
    for (size_t i = 0; i < body->output_count && i < node->output_count; i++)
        if (node->outputs[i] >= 0)
            outer->slots[node->outputs[i]] = scope->slots[body->outputs[i]];
    return ULP_OK;
}

/* source: the node as the model has it. */
static enum ulp_status expand_call(struct scope *outer, const struct ulp_node *source,
                                   const struct ulp_node *node, const struct ulp_function *function,
                                   struct ulp_error *error)
{
    if (outer->depth >= CALL_DEPTH_MAX)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "node '%s': function '%s' calls functions more than %d deep", node->name,
                        function->name, CALL_DEPTH_MAX);
    if (node->input_count > function->input_count || node->output_count > function->output_count)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "node '%s': function '%s' takes %zu inputs and gives %zu outputs",
                        node->name, function->name, function->input_count, function->output_count);
    ULP_SCOPED(ulp_names_free)
    struct ulp_names given = {.budget = ulp_arena_budget(outer->program->arena)};
    struct scope scope = {
        .program = outer->program,
        .block = outer->block,
        .graph = function->body,
        .call = node,
        .function = function,
        .given = &given,
        .opsets = function->opsets,
        .opset_count = function->opset_count,
        .depth = outer->depth + 1,
        .prefix = join_name(outer, node->name),
    };
    struct ulp_call_path *path = ulp_arena_take(outer->program->arena, 1, sizeof *path);
    if (path)
        *path = (struct ulp_call_path){source, outer->path};
    scope.path = path;
    bool named = scope.prefix && path;
    for (size_t i = 0; i < node->attribute_count && named; i++)
        named = ulp_names_add(&given, node->attributes[i].name, (int)i);
    return named ? expand_body(&scope, outer, error) : ulp_out_of_memory(error);
}

static int slot_of(const struct scope *scope, int value)
{
    return value < 0 || scope->slots[value] == OMITTED ? -1 : scope->slots[value];
}

/* Bodies of graph attributes: nested blocks, whose captured values become inputs of the step. */
static enum ulp_status bind_bodies(struct scope *scope, struct ulp_step *step,
                                   const struct ulp_node *node, int *inputs, size_t input_capacity,
                                   struct ulp_error *error)
{
    struct ulp_block **blocks = NULL;
    for (size_t a = 0; a < step->bound.attribute_count; a++) {
        const struct ulp_graph *graph = step->bound.attributes[a].graph;
        if (!graph)
            continue;
        if (!blocks &&
            !(blocks = ulp_arena_take(scope->program->arena, ULP_ATTRIBUTES_MAX, sizeof *blocks)))
            return ulp_out_of_memory(error);
        const char *name = join_name(scope, node->name);
        ULP_TRY(name ? make_block(scope, graph, name, &blocks[a], error)
                     : ulp_out_of_memory(error));
        for (size_t i = 0; i < blocks[a]->captured_count; i++) {
            if (step->input_count >= input_capacity)
                return ulp_fail(error, ULP_ERROR_INPUT,
                                "node '%s': its bodies use too many outer values", node->name);
            inputs[step->input_count++] = blocks[a]->slots[blocks[a]->captured[i]].outer;
        }
        step->bound.blocks = blocks;
    }
    return ULP_OK;
}

static size_t count_captured(const struct ulp_node *node)
{
    size_t count = 0;
    for (size_t i = 0; i < node->attribute_count; i++) {
        const struct ulp_graph *graph = node->attributes[i].graph;
        for (size_t v = 0; graph && v < graph->value_count; v++)
            count += graph->values[v].outer >= 0;
    }
    return count;
}

/* Networks repeat themselves: one tape for nodes whose formulas are the same. */
#define SHARED_STEPS_MAX 100

static void share_tape(const struct ulp_block *block, struct ulp_bound *bound)
{
    for (size_t i = 1; i <= SHARED_STEPS_MAX && i <= block->step_count; i++)
        if (ulp_bind_share(bound, &block->steps[block->step_count - i].bound))
            return;
}

static enum ulp_status expand_node(struct scope *scope, const struct ulp_node *node,
                                   struct ulp_error *error)
{
    struct ulp_program *program = scope->program;
    const struct ulp_function *function = ulp_function_find(program->model, node);
    const struct ulp_node *source = node;
    node = resolve_references(scope, node);
    ULP_TRY(ulp_taken(node, error));
    if (!function && program->spelled)
        ULP_TRY(ulp_program_spell(program->arena, scope->graph, &node,
                                  ulp_opset_find(scope->opsets, scope->opset_count, ""), &function,
                                  error));
    if (function)
        return expand_call(scope, source, node, function, error);
    struct ulp_block *block = scope->block;
    ULP_GROW(block->steps, program->arena, block->step_count, block->step_capacity, error);
    size_t input_capacity = node->input_count + count_captured(node);
    int *inputs =
        ulp_arena_take(program->arena, input_capacity + ULP_INPUTS_LOOKED_AT, sizeof *inputs);
    int *outputs = ulp_arena_take(program->arena, node->output_count + 1, sizeof *outputs);
    struct ulp_step step = {
        .node = source,
        .call = scope->path,
        .name = join_name(scope, node->name),
        .opset = ulp_opset_find(scope->opsets, scope->opset_count, node->domain),
        .input_count = node->input_count,
        .own_input_count = node->input_count,
        .output_count = node->output_count,
        .inputs = inputs,
        .outputs = outputs,
    };
    ULP_TRY(ulp_taken(inputs && outputs && step.name, error));
    for (size_t i = 0; i < input_capacity + ULP_INPUTS_LOOKED_AT; i++)
        inputs[i] = i < node->input_count ? slot_of(scope, node->inputs[i]) : -1;
    for (size_t i = 0; i < node->output_count; i++)
        outputs[i] = slot_of(scope, node->outputs[i]);
    struct ulp_error problem;
    enum ulp_status status = ulp_bind(&step.bound, node, step.opset, program->arena, &problem);
    if (status == ULP_ERROR_UNSUPPORTED)
        return ulp_program_add_bind_problem(program, &step, node, problem.message, error);
    if (status != ULP_OK)
        return ulp_fail_lines(error, status, problem.message);
    step.bound.key = ulp_hash(step.name, strlen(step.name));
    ulp_program_charge_prepared(program, &step.bound);
    share_tape(block, &step.bound);
    ULP_TRY(bind_bodies(scope, &step, node, inputs, input_capacity, error));
    block->steps[block->step_count++] = step;
    return ULP_OK;
}

static enum ulp_status expand_nodes(struct scope *scope, struct ulp_error *error)
{
    for (size_t n = 0; n < scope->graph->node_count; n++)
        ULP_TRY(expand_node(scope, &scope->graph->nodes[n], error));
    return ULP_OK;
}

static enum ulp_status make_block(struct scope *outer, const struct ulp_graph *graph,
                                  const char *name, struct ulp_block **out, struct ulp_error *error)
{
    struct ulp_program *program = outer->program;
    ULP_TAKE_ARRAY(struct ulp_block, block, program->arena, 1, error);
    ULP_GROW(program->blocks, program->arena, program->block_count, program->block_capacity, error);
    *block = (struct ulp_block){.name = name, .parent = outer->block};
    program->blocks[program->block_count++] = block;
    struct scope scope = *outer;
    scope.block = block;
    scope.graph = graph;
    scope.depth = outer->depth + 1;
    scope.prefix = outer->block ? name : NULL;
    if (scope.depth > CALL_DEPTH_MAX)
        return ulp_fail(error, ULP_ERROR_INPUT, "graph '%s': nested more than %d deep", graph->name,
                        CALL_DEPTH_MAX);
    size_t count = graph->node_count + graph->value_count;
    ULP_TRY(charge_expansion(program, scope.prefix, count, outer->call ? count : 0, error));
    scope.slots = ulp_arena_take(program->arena, graph->value_count + 1, sizeof(int));
    int *inputs = ulp_arena_take(program->arena, graph->input_count + 1, sizeof(int));
    int *outputs = ulp_arena_take(program->arena, graph->output_count + 1, sizeof(int));
    ULP_TRY(ulp_taken(scope.slots && inputs && outputs, error));
    for (size_t v = 0; v < graph->value_count; v++)
        scope.slots[v] = -1;
    /* Exact when no functions are called: an arena keeps what a growing array leaves behind. */
    block->step_capacity = graph->node_count;
    block->slot_capacity = graph->value_count;
    ULP_TAKE(block->steps, program->arena, block->step_capacity, error);
    ULP_TAKE(block->slots, program->arena, block->slot_capacity, error);
    ULP_TRY(add_slots(&scope, outer->slots, error));
    ULP_TRY(expand_nodes(&scope, error));
    /* Inputs with initializers are constants. */
    for (size_t i = 0; i < graph->input_count; i++) {
        const int slot = scope.slots[graph->inputs[i]];
        if (!is_given(program, &graph->values[graph->inputs[i]]))
            continue;
        inputs[block->input_count++] = slot;
        block->slots[slot].given = !outer->block;
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        outputs[block->output_count++] = slot_of(&scope, graph->outputs[i]);
        if (outputs[i] < 0)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "graph '%s': output '%s' is an input that the call omits", name,
                            graph->values[graph->outputs[i]].name);
    }
    block->inputs = inputs;
    block->outputs = outputs;
    *out = block;
    return ULP_OK;
}

enum ulp_status ulp_program_expand(struct ulp_program *program, struct ulp_error *error)
{
    struct scope scope = {.program = program,
                          .opsets = program->model->opsets,
                          .opset_count = program->model->opset_count};
    program->problems.names.budget = ulp_arena_budget(program->arena);
    program->expanded_limit = EXPANDED_FREE + EXPANDED_PER_NODE * program->model->graph->node_count;
    enum ulp_status status = make_block(&scope, program->model->graph, program->model->graph->name,
                                        &program->main, error);
    ULP_THEN(status, check_types(program, error));
    ULP_TRY(ulp_fail_at(error, status, "%s", program->model->path));
    return program->problems.count ? ulp_program_report_problems(program, error) : ULP_OK;
}
