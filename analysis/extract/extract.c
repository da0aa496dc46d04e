/* Which nodes a part has, what it reads and gives, and its files. */
#include <ulpscope/extract.h>

#include <stdio.h>
#include <string.h>

#include <ulpscope/recording.h>

#include "analysis/writing/folder.h"
#include "base/error.h"
#include "base/options.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "load/mixed/extract_file.h"
#include "run/program/program.h"

/* What becomes of a value of the main graph. */
enum role { ROLE_NONE, ROLE_INPUT, ROLE_OUTPUT, ROLE_CONSTANT };

struct extraction {
    const struct ulp_model *model;
    const struct ulp_graph *graph;
    const struct ulp_extract_options *options;
    const char *folder;
    struct ulp_arena *arena;
    struct ulp_program *program;
    bool *nodes;                           /* by index in the graph: in the part */
    enum role *roles;                      /* by value of the graph */
    const struct ulp_program_slot **slots; /* by value: where the program has it; NULL: nowhere */
    struct ulp_tensor_set inputs;          /* of the part, in their types */
    struct ulp_tensor *outputs; /* by value: types and shapes of those of the part, in the run */
};

/* ---- the part ---- */

/* The node of the main graph that has a node of the plan; -1: it came out of an If. */
static int find_owner(const struct extraction *x, size_t n)
{
    const struct ulp_step *step = x->program->nodes[n].step;
    for (const struct ulp_block *block = x->program->nodes[n].block; block->owner;
         block = block->parent)
        step = block->owner;
    const struct ulp_node *node = step->node;
    for (const struct ulp_call_path *call = step->call; call; call = call->outer)
        node = call->node;
    const ptrdiff_t index = node - x->graph->nodes;
    return node >= x->graph->nodes && node < x->graph->nodes + x->graph->node_count ? (int)index
                                                                                    : -1;
}

static enum ulp_status choose_part(struct extraction *x, struct ulp_error *error)
{
    const char *part = x->options->part, *comma = strchr(part, ',');
    const size_t size = strlen(part) + sizeof "between:";
    char *pattern = ulp_arena_take(x->arena, size, 1);
    bool *chosen = ulp_arena_take(x->arena, x->program->node_count + 1, sizeof *chosen),
         named = false;
    ULP_TRY(ulp_taken(pattern && chosen, error));
    for (size_t n = 0; n < x->program->node_count; n++) /* names may have commas */
        named |= strcmp(ulp_program_node_name(x->program, n), part) == 0;
    snprintf(pattern, size, "%s%s", comma && !named ? "between:" : "", part);
    ULP_TRY(ulp_pattern_choose(x->program, pattern, chosen, x->arena, error));
    for (size_t n = 0; n < x->program->node_count; n++) {
        const int owner = chosen[n] ? find_owner(x, n) : -1;
        if (owner >= 0)
            x->nodes[owner] = true;
        else if (chosen[n])
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "node '%s' is in the branch of an If that planning has decided: take "
                            "the If, or nodes outside",
                            ulp_program_node_name(x->program, n));
    }
    return ULP_OK;
}

/* ---- what it reads and gives ---- */

static void find_slots(struct extraction *x)
{
    for (size_t v = 0; v < x->graph->value_count; v++) {
        const int slot = ulp_program_find_slot(x->program, x->graph->values[v].name);
        x->slots[v] = slot >= 0 ? &x->program->main->slots[slot] : NULL;
    }
}

static enum ulp_status find_roles(struct extraction *x, struct ulp_error *error)
{
    const struct ulp_graph *graph = x->graph;
    const size_t room = graph->value_count + 1;
    bool *used, *outside, *others;
    ULP_TAKE(used, x->arena, room, error);
    ULP_TAKE(outside, x->arena, room, error);
    ULP_TAKE(others, x->arena, graph->node_count + 1, error);
    for (size_t n = 0; n < graph->node_count; n++)
        others[n] = !x->nodes[n];
    ulp_extract_used(graph, x->nodes, used);
    ulp_extract_used(graph, others, outside);
    for (size_t o = 0; o < graph->output_count; o++)
        outside[graph->outputs[o]] = true;
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct ulp_value *value = &graph->values[v];
        const bool made = value->producer >= 0 && x->nodes[value->producer];
        if (made && (outside[v] || !used[v]))
            x->roles[v] = ROLE_OUTPUT;
        else if (!made && used[v] && !value->initializer)
            x->roles[v] = x->slots[v] && x->slots[v]->constant ? ROLE_CONSTANT : ROLE_INPUT;
    }
    return ULP_OK;
}

/* ---- values ---- */

static enum ulp_status add_copy(struct extraction *x, struct ulp_tensor_set *set, const char *name,
                                const struct ulp_tensor *value, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
    enum ulp_status status = ulp_tensor_copy_typed(&copy, value, ulp_model_budget(x->model), error);
    ULP_THEN(status, ulp_tensor_set_add(set, name, &copy, error));
    return ulp_fail_at(error, status, "value '%s'", name);
}

static enum ulp_status keep_values(void *context, const struct ulp_event *event,
                                   struct ulp_error *error)
{
    struct extraction *x = context;
    for (size_t o = 0; o < event->output_count; o++)
        for (size_t v = 0; v < x->graph->value_count; v++) {
            const struct ulp_tensor *value = event->values[o].entire;
            const char *name = event->output_names[o];
            if (!value || strcmp(x->graph->values[v].name, name) != 0)
                continue;
            if (x->roles[v] == ROLE_INPUT && !ulp_tensor_set_find(&x->inputs, name))
                ULP_TRY(add_copy(x, &x->inputs, name, value, error));
            x->outputs[v] = *value;
            x->outputs[v].data = NULL;
        }
    return ULP_OK;
}

static enum ulp_status run_whole(struct extraction *x, const struct ulp_tensor_set *given,
                                 struct ulp_error *error)
{
    const struct ulp_observer keeping = {.context = x,
                                         .node_done = keep_values,
                                         .modes_unused = true};
    const struct ulp_run_options once = {.thread_count = x->options->thread_count};
    for (size_t v = 0; v < x->graph->value_count; v++) {
        const struct ulp_tensor *tensor = x->roles[v] == ROLE_INPUT && given
                                              ? ulp_tensor_set_find(given, x->graph->values[v].name)
                                              : NULL;
        if (tensor)
            ULP_TRY(add_copy(x, &x->inputs, x->graph->values[v].name, tensor, error));
    }
    return ulp_program_look(x->program, given, &once, &keeping, x->options->progress, NULL, error);
}

/* ---- files ---- */

static enum ulp_status write_model(struct extraction *x, const char *path,
                                   struct ulp_extracted *out, struct ulp_error *error)
{
    const size_t room = x->graph->value_count + 1;
    struct ulp_extract_value *lists[] = {NULL, ulp_arena_take(x->arena, room, sizeof **lists),
                                         ulp_arena_take(x->arena, room, sizeof **lists),
                                         ulp_arena_take(x->arena, room, sizeof **lists)};
    size_t counts[4] = {0};
    ULP_TRY(ulp_taken(lists[ROLE_INPUT] && lists[ROLE_OUTPUT] && lists[ROLE_CONSTANT], error));
    for (size_t v = 0; v < x->graph->value_count; v++) {
        const enum role role = x->roles[v];
        const char *name = x->graph->values[v].name;
        const struct ulp_tensor *tensor = role == ROLE_INPUT ? ulp_tensor_set_find(&x->inputs, name)
                                          : role == ROLE_CONSTANT ? x->slots[v]->constant
                                          : x->outputs[v].type != ULP_TYPE_UNDEFINED || !x->slots[v]
                                              ? &x->outputs[v]
                                              : &x->slots[v]->shape; /* folded */
        if (role == ROLE_NONE)
            continue;
        if (!tensor || tensor->type == ULP_TYPE_UNDEFINED)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "the type of value '%s' is not known from the graph", name);
        lists[role][counts[role]++] = (struct ulp_extract_value){name, tensor};
    }
    const struct ulp_extract_request request = {.model = x->model,
                                                .nodes = x->nodes,
                                                .inputs = lists[ROLE_INPUT],
                                                .input_count = counts[ROLE_INPUT],
                                                .outputs = lists[ROLE_OUTPUT],
                                                .output_count = counts[ROLE_OUTPUT],
                                                .constants = lists[ROLE_CONSTANT],
                                                .constant_count = counts[ROLE_CONSTANT],
                                                .path = path};
    *out = (struct ulp_extracted){.input_count = counts[ROLE_INPUT],
                                  .output_count = counts[ROLE_OUTPUT],
                                  .constant_count = counts[ROLE_CONSTANT]};
    for (size_t n = 0; n < x->graph->node_count; n++)
        out->node_count += x->nodes[n];
    const bool holding = ulp_files_pause(); /* it is read again */
    const enum ulp_status status = ulp_extract_file(&request, error);
    ulp_files_resume(holding);
    return status;
}

static enum ulp_status write_value(const struct extraction *x, const char *name,
                                   const struct ulp_tensor *value, const char *word, size_t i,
                                   struct ulp_error *error)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", x->folder, word, i);
    return ulp_tensor_write_pb(value, name, ulp_model_budget(x->model), path, error);
}

static enum ulp_status write_outputs(struct extraction *x, const struct ulp_tensor_set *exact,
                                     struct ulp_error *error)
{
    char path[4096];
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set rounded = {0};
    snprintf(path, sizeof path, "%s/outputs.npz", x->folder);
    ULP_TRY(ulp_tensor_set_write_npz(path, exact, error));
    for (size_t i = 0; i < exact->count; i++)
        ULP_TRY(add_copy(x, &rounded, exact->items[i].name, &exact->items[i].tensor, error));
    for (size_t i = 0; i < rounded.count; i++)
        ULP_TRY(
            write_value(x, rounded.items[i].name, &rounded.items[i].tensor, "output", i, error));
    snprintf(path, sizeof path, "%s/outputs.json", x->folder);
    return ulp_recording_write_json(path, "ulpscope-exact", &rounded, error);
}

static enum ulp_status write_inputs(const struct extraction *x, struct ulp_error *error)
{
    static const char script[] = "import os\n\nimport numpy\n\n\ndef load_data():\n"
                                 "    folder = os.path.dirname(os.path.abspath(__file__))\n"
                                 "    yield dict(numpy.load(os.path.join(folder, 'inputs.npz')))\n";
    char path[4096];
    snprintf(path, sizeof path, "%s/inputs.npz", x->folder);
    ULP_TRY(ulp_tensor_set_write_npz(path, &x->inputs, error));
    for (size_t v = 0, i = 0; v < x->graph->value_count; v++)
        if (x->roles[v] == ROLE_INPUT) /* in the order of the part's inputs */
            ULP_TRY(write_value(x, x->graph->values[v].name,
                                ulp_tensor_set_find(&x->inputs, x->graph->values[v].name), "input",
                                i++, error));
    snprintf(path, sizeof path, "%s/load_data.py", x->folder);
    return ulp_file_write(path, script, sizeof script - 1, error);
}

/* The part by itself, on its own inputs. */
static enum ulp_status run_part(struct extraction *x, const char *path, struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *part = NULL;
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set exact = {0};
    const struct ulp_program_options options = {.inputs = &x->inputs};
    const struct ulp_run_options once = {.thread_count = x->options->thread_count};
    ULP_TRY(ulp_model_load(path, ulp_model_budget(x->model), &part, error));
    ULP_TRY(ulp_program_create(part, &x->options->reference, 1, &options, &program, error));
    ULP_TRY(
        ulp_program_look(program, &x->inputs, &once, NULL, x->options->progress, &exact, error));
    return write_outputs(x, &exact, error);
}

static enum ulp_status make_part(struct extraction *x, const struct ulp_tensor_set *given,
                                 const char *path, struct ulp_extracted *out,
                                 struct ulp_error *error)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/test_data_set_0", x->folder);
    ULP_TRY(choose_part(x, error));
    find_slots(x);
    ULP_TRY(find_roles(x, error));
    ULP_TRY(run_whole(x, given, error));
    ULP_TRY(ulp_report_prepare(folder, error));
    ULP_TRY(write_model(x, path, out, error));
    ULP_TRY(write_inputs(x, error));
    return run_part(x, path, error);
}

static enum ulp_status extract(struct extraction *x, const struct ulp_tensor_set *given,
                               struct ulp_extracted *out, struct ulp_error *error)
{
    const struct ulp_program_options planning = {.inputs = given};
    char path[4096];
    ULP_TRY(ulp_program_create(x->model, &x->options->reference, 1, &planning, &x->program, error));
    if (snprintf(path, sizeof path, "%s/model.onnx", x->folder) > (int)sizeof path - 64)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", x->folder);
    const enum ulp_status status = make_part(x, given, path, out, error);
    if (status != ULP_OK)
        remove(path); /* it alone has its name already */
    return status;
}

enum ulp_status ulp_extract(const struct ulp_model *model,
                            const struct ulp_extract_options *options,
                            const struct ulp_tensor_set *inputs, const char *folder,
                            struct ulp_extracted *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_extracted){0};
    ULP_OPTIONS_TAKE(ulp_extract_options, options, error);
    struct extraction x = {.model = model,
                           .graph = model->graph,
                           .options = options,
                           .folder = folder};
    ULP_TRY(ulp_arena_create(&x.arena, ulp_model_budget(model), error));
    const size_t values = model->graph->value_count + 1;
    x.nodes = ulp_arena_take(x.arena, model->graph->node_count + 1, sizeof *x.nodes);
    x.roles = ulp_arena_take(x.arena, values, sizeof *x.roles);
    x.slots = ulp_arena_take(x.arena, values, sizeof *x.slots);
    x.outputs = ulp_arena_take(x.arena, values, sizeof *x.outputs);
    enum ulp_status status = x.nodes && x.roles && x.slots && x.outputs
                                 ? extract(&x, inputs, out, error)
                                 : ulp_out_of_memory(error);
    ulp_tensor_set_free(&x.inputs);
    ulp_program_free(x.program);
    ulp_arena_free(x.arena);
    return status;
}
