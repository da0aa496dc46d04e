/* Parts of a graph by themselves. */
#include "analysis/compare/cause/cut.h"

#include <string.h>

#include "base/error.h"
#include "load/mixed/extract_file.h"
#include "tensor/tensor.h"

/* Of making a node ready and running it, however little it computes: 3,000 small ones take 60 ms.
 */
#define NODE_COST 1.2e5
/* ... and of a program. */
#define PART_COST 3e5

/* ---- what is held ---- */

struct holding {
    struct ulp_cut_base *held;
    const bool *wanted; /* by slot */
};

static enum ulp_status hold_results(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    const struct holding *holding = context;
    struct ulp_cut_base *held = holding->held;
    const struct ulp_program *program = held->program;
    for (size_t o = 0; o < event->output_count && !event->execution &&
                       program->nodes[event->index].block == program->main;
         o++) {
        const int slot = ulp_program_find_slot(program, event->output_names[o]);
        if (slot >= 0 && holding->wanted[slot] && !held->values[slot].data)
            ULP_TRY(ulp_tensor_copy_typed(&held->values[slot], event->values[o].entire,
                                          ulp_model_budget(program->model), error));
    }
    return ULP_OK;
}

/* Nodes that are computed together round nothing between them, and a type that is narrower than
 * what it holds would round where a part begins. */
static bool may_cut(const struct ulp_program *program, const struct ulp_arithmetic *arithmetic,
                    const bool *wanted)
{
    const struct ulp_block *block = program->main;
    const size_t limit = ulp_budget_limit(ulp_model_budget(program->model));
    bool cuts = arithmetic->fuse == ULP_FUSE_NONE && !arithmetic->schedule.qdq_integer &&
                !arithmetic->attention_joined && !arithmetic->half_as_float;
    double bytes = 0;
    for (size_t v = 0; v < block->slot_count && cuts; v++) {
        const enum ulp_type type = block->slots[v].shape.type;
        if (!wanted[v] || block->slots[v].constant)
            continue;
        bytes += ulp_slot_bytes(&block->slots[v], arithmetic);
        cuts = arithmetic->as_declared || !ulp_type_is_float(type) || type == ULP_TYPE_FLOAT ||
               type == ULP_TYPE_DOUBLE;
    }
    return cuts && (!limit || bytes < (double)limit / 3);
}

static enum ulp_status list_wanted(const struct ulp_program *program, const bool *nodes,
                                   struct ulp_arena *arena, bool **wanted, struct ulp_error *error)
{
    const struct ulp_graph *graph = program->model->graph;
    ULP_TAKE_ARRAY(bool, used, arena, graph->value_count + 1, error);
    ULP_TAKE(*wanted, arena, program->main->slot_count + 1, error);
    ulp_extract_used(graph, nodes, used);
    for (size_t v = 0; v < graph->value_count; v++) {
        const int from = graph->values[v].producer,
                  slot = used[v] || (from >= 0 && nodes[from])
                             ? ulp_program_find_slot(program, graph->values[v].name)
                             : -1;
        if (slot >= 0)
            (*wanted)[slot] = true;
    }
    return ULP_OK;
}

static enum ulp_status hold_wanted(struct ulp_cut_base *held,
                                   const struct ulp_arithmetic *arithmetic, const bool *nodes,
                                   const struct ulp_run_options *run, struct ulp_arena *arena,
                                   struct ulp_error *error)
{
    bool *wanted;
    ULP_TRY(list_wanted(held->program, nodes, arena, &wanted, error));
    const struct holding holding = {held, wanted};
    const struct ulp_block *block = held->program->main;
    const struct ulp_observer observer = {.context = (void *)(uintptr_t)&holding,
                                          .node_done = hold_results,
                                          .modes_unused = true};
    held->cuts = may_cut(held->program, arithmetic, wanted);
    for (size_t i = 0; i < block->input_count && held->cuts; i++) {
        const struct ulp_program_slot *slot = &block->slots[block->inputs[i]];
        const struct ulp_tensor *given = ulp_tensor_set_find(held->inputs, slot->name);
        if (given && given->type == slot->shape.type)
            held->values[block->inputs[i]] = ulp_tensor_view(given);
    }
    return held->cuts
               ? ulp_program_look(held->program, held->inputs, run, &observer, NULL, NULL, error)
               : ULP_OK;
}

enum ulp_status ulp_cut_open(struct ulp_cut_base *out, const struct ulp_program *program,
                             const struct ulp_arithmetic *arithmetic,
                             const struct ulp_tensor_set *inputs, const bool *nodes,
                             const struct ulp_run_options *run, struct ulp_error *error)
{
    const struct ulp_program_options options = {.inputs = inputs};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    void *values;
    *out = (struct ulp_cut_base){.inputs = inputs};
    ULP_TRY(ulp_program_create(program->model, arithmetic, 1, &options, &out->program, error));
    ULP_TRY(ulp_allocate_zero(&values, out->program->main->slot_count + 1, sizeof *out->values,
                              ulp_model_budget(program->model), "values that are held", error));
    out->values = values;
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(program->model), error));
    return hold_wanted(out, arithmetic, nodes, run, arena, error);
}

void ulp_cut_close(struct ulp_cut_base *held)
{
    if (held->values)
        ulp_tensors_free(held->values, held->program->main->slot_count);
    ulp_free(held->values);
    ulp_program_free(held->program);
    *held = (struct ulp_cut_base){0};
}

static const struct ulp_tensor *find_constant(const struct ulp_cut_base *held,
                                              const struct ulp_graph *graph, int value)
{
    const struct ulp_tensor *constant = ulp_value_constant(graph, value);
    const int slot =
        constant ? -1 : ulp_program_find_slot(held->program, graph->values[value].name);
    return slot < 0 ? constant : held->program->main->slots[slot].constant;
}

static const struct ulp_tensor *find_given(const struct ulp_cut_base *held,
                                           const struct ulp_graph *graph, int value)
{
    const char *name = graph->values[value].name;
    const struct ulp_tensor *given =
        graph->values[value].producer < 0 ? ulp_tensor_set_find(held->inputs, name) : NULL;
    const int slot = given || !held->cuts ? -1 : ulp_program_find_slot(held->program, name);
    return slot < 0 || held->values[slot].type == ULP_TYPE_UNDEFINED ? given : &held->values[slot];
}

const struct ulp_tensor *ulp_cut_value(const struct ulp_cut_base *held,
                                       const struct ulp_graph *graph, int value)
{
    const struct ulp_tensor *given = find_given(held, graph, value);
    return given ? given : find_constant(held, graph, value);
}

/* ---- which nodes ---- */

static bool is_as_before(const struct ulp_node *node, const struct ulp_node *before)
{
    return node->op_type == before->op_type && node->domain == before->domain &&
           node->inputs == before->inputs && node->input_count == before->input_count &&
           node->outputs == before->outputs && node->output_count == before->output_count &&
           node->attributes == before->attributes &&
           node->attribute_count == before->attribute_count;
}

/* The values that a node reads, those that its bodies take from around them included. */
typedef void visit_fn(void *context, int value);
static void visit_read(const struct ulp_node *node, visit_fn *visit, void *context)
{
    for (size_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0)
            visit(context, node->inputs[i]);
    for (size_t a = 0; a < node->attribute_count; a++) {
        const struct ulp_graph *body = node->attributes[a].graph;
        for (size_t v = 0; body && v < body->value_count; v++)
            if (body->values[v].outer >= 0)
                visit(context, body->values[v].outer);
    }
}

struct flags {
    bool *of; /* by value */
    bool any; /* one that was visited has it */
};

static void look(void *context, int value)
{
    struct flags *flags = context;
    flags->any |= flags->of[value];
}

static void set(void *context, int value)
{
    struct flags *flags = context;
    flags->of[value] = true;
}

static bool any_result(const struct ulp_node *node, const bool *of)
{
    bool any = false;
    for (size_t o = 0; o < node->output_count; o++)
        any |= node->outputs[o] >= 0 && of[node->outputs[o]];
    return any;
}

static enum ulp_status keep_before(const struct ulp_reread *read, int to, struct ulp_cut *part,
                                   struct ulp_error *error)
{
    const struct ulp_graph *graph = &read->graph;
    struct flags needed = {0};
    ULP_TAKE(needed.of, read->arena, graph->value_count + 1, error);
    needed.of[to] = true;
    for (size_t n = graph->node_count; n-- > 0;) {
        const bool is_needed = any_result(&graph->nodes[n], needed.of);
        part->count -= part->in[n] && !is_needed;
        part->in[n] &= is_needed;
        if (part->in[n])
            visit_read(&graph->nodes[n], set, &needed);
    }
    return ULP_OK;
}

enum ulp_status ulp_cut_find(const struct ulp_reread *read, int to, struct ulp_cut *out,
                             struct ulp_error *error)
{
    const struct ulp_graph *graph = &read->graph, *before = read->program->model->graph;
    struct flags reached = {0};
    size_t old = 0;
    *out = (struct ulp_cut){0};
    ULP_TAKE(out->in, read->arena, graph->node_count + 1, error);
    ULP_TAKE(reached.of, read->arena, graph->value_count + 1, error);
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        const bool is_old = old < before->node_count && node->name == before->nodes[old].name;
        reached.any = !is_old || !is_as_before(node, &before->nodes[old]);
        old += is_old;
        if (to >= 0)
            visit_read(node, look, &reached);
        out->in[n] = reached.any;
        out->count += reached.any;
        for (size_t o = 0; o < node->output_count && reached.any; o++)
            if (node->outputs[o] >= 0)
                reached.of[node->outputs[o]] = true;
    }
    return to >= 0 ? keep_before(read, to, out, error) : ULP_OK;
}

/* ---- a part as a model ---- */

struct cutting {
    const struct ulp_cut_base *held;
    const struct ulp_graph *from;
    bool *in;
    int *numbers; /* by value of `from`: in the part; -1: it has none yet */
    bool whole;   /* values are numbered as there, since bodies of nodes number them so */
    struct ulp_node *nodes;
    int *inputs;
    struct ulp_graph graph;
    struct ulp_model model;
    struct ulp_tensor_set given;
    struct ulp_error *error;
    enum ulp_status status; /* of its inputs */
};

static bool is_made(const struct cutting *cutting, int value)
{
    const int producer = cutting->from->values[value].producer;
    return producer >= 0 && cutting->in[producer];
}

/* Who computes what is not there. */
static void complete(void *context, int value)
{
    const struct cutting *cutting = context;
    const int producer = cutting->from->values[value].producer;
    if (producer >= 0 && !ulp_cut_value(cutting->held, cutting->from, value))
        cutting->in[producer] = true;
}

/* A value of the part: computed there, a constant, or an input of it. */
static void take_value(void *context, int value)
{
    struct cutting *cutting = context;
    if (cutting->status != ULP_OK || cutting->numbers[value] >= 0)
        return;
    const int number = cutting->whole ? value : (int)cutting->graph.value_count++;
    struct ulp_value *to = &cutting->graph.values[number];
    *to = cutting->from->values[value];
    cutting->numbers[value] = number;
    if (is_made(cutting, value))
        return;
    const struct ulp_tensor *given = find_given(cutting->held, cutting->from, value);
    to->producer = -1;
    if (!given) {
        to->initializer = find_constant(cutting->held, cutting->from, value);
        return;
    }
    struct ulp_tensor view = ulp_tensor_view(given);
    to->initializer = NULL;
    to->overridable = false;
    if (cutting->from->values[value].producer >= 0) {
        to->info = (struct ulp_value_info){.name = to->name, .type = given->type};
        to->info.rank = given->rank;
        memcpy(to->info.dims, given->dims, sizeof to->info.dims);
    }
    cutting->inputs[cutting->graph.input_count++] = number;
    cutting->status = ulp_tensor_set_add(&cutting->given, to->name, &view, cutting->error);
}

static bool has_bodies(const struct cutting *cutting)
{
    bool any = false;
    for (size_t n = 0; n < cutting->from->node_count; n++)
        for (size_t a = 0; cutting->in[n] && a < cutting->from->nodes[n].attribute_count; a++)
            any |= cutting->from->nodes[n].attributes[a].graph != NULL;
    return any;
}

/* The node with the part's numbers. */
static enum ulp_status take_node(struct cutting *cutting, size_t n, struct ulp_arena *arena,
                                 struct ulp_error *error)
{
    const struct ulp_node *from = &cutting->from->nodes[n];
    struct ulp_node *to = &cutting->nodes[cutting->graph.node_count];
    *to = *from;
    to->index = (int)cutting->graph.node_count;
    visit_read(from, take_value, cutting);
    ULP_TAKE_ARRAY(int, values, arena, from->input_count + from->output_count + 1, error);
    for (size_t i = 0; i < from->input_count; i++)
        values[i] = from->inputs[i] < 0 ? -1 : cutting->numbers[from->inputs[i]];
    to->inputs = values;
    values += from->input_count;
    for (size_t o = 0; o < from->output_count; o++) {
        values[o] = -1;
        if (from->outputs[o] < 0)
            continue;
        take_value(cutting, from->outputs[o]);
        values[o] = cutting->numbers[from->outputs[o]];
        cutting->graph.values[values[o]].producer = to->index;
    }
    to->outputs = values;
    cutting->graph.node_count++;
    return cutting->status;
}

static enum ulp_status cut(struct cutting *cutting, const struct ulp_reread *read,
                           const int *wanted, size_t wanted_count, struct ulp_error *error)
{
    const struct ulp_graph *from = cutting->from;
    const size_t values = from->value_count + 1;
    size_t count = 0;
    for (size_t n = from->node_count; n-- > 0;)
        if (cutting->in[n])
            visit_read(&from->nodes[n], complete, cutting);
    for (size_t n = 0; n < from->node_count; n++)
        count += cutting->in[n];
    cutting->whole = has_bodies(cutting);
    ULP_TAKE(cutting->numbers, read->arena, values, error);
    ULP_TAKE(cutting->inputs, read->arena, values, error);
    ULP_TAKE(cutting->graph.values, read->arena, values, error);
    ULP_TAKE(cutting->nodes, read->arena, count + 1, error);
    ULP_TAKE_ARRAY(int, outputs, read->arena, wanted_count + 1, error);
    memset(cutting->numbers, -1, values * sizeof *cutting->numbers);
    for (size_t v = 0; cutting->whole && v < from->value_count; v++) {
        cutting->graph.values[cutting->graph.value_count++] = from->values[v];
        cutting->graph.values[v].producer = -1;
    }
    for (size_t n = 0; n < from->node_count; n++)
        if (cutting->in[n])
            ULP_TRY(take_node(cutting, n, read->arena, error));
    for (size_t o = 0; o < wanted_count; o++)
        outputs[o] = cutting->numbers[wanted[o]];
    cutting->graph.name = from->name;
    cutting->graph.nodes = cutting->nodes;
    cutting->graph.inputs = cutting->graph.free_inputs = cutting->inputs;
    cutting->graph.free_input_count = cutting->graph.input_count;
    cutting->graph.outputs = outputs;
    cutting->graph.output_count = wanted_count;
    cutting->model = read->model;
    cutting->model.graph = &cutting->graph;
    return ULP_OK;
}

enum ulp_status ulp_cut_run(struct ulp_cut_base *held, const struct ulp_reread *read,
                            const struct ulp_cut *part, const int *wanted, size_t wanted_count,
                            const struct ulp_run_options *run, struct ulp_tensor_set *out,
                            struct ulp_error *error)
{
    struct cutting cutting = {.held = held, .from = &read->graph, .in = part->in, .error = error};
    const struct ulp_program_options options = {.inputs = &cutting.given};
    struct ulp_program *program = NULL;
    *out = (struct ulp_tensor_set){0};
    enum ulp_status status = cut(&cutting, read, wanted, wanted_count, error);
    held->cost += PART_COST + NODE_COST * (double)cutting.graph.node_count;
    ULP_THEN(status, ulp_program_create(&cutting.model, held->program->lanes, 1, &options, &program,
                                        error));
    if (status == ULP_OK) {
        held->cost += program->main->cost;
        status = ulp_program_run(program, &cutting.given, run, NULL, 0, out, NULL, error);
    }
    ulp_program_free(program);
    ulp_tensor_set_free(&cutting.given);
    return status;
}
