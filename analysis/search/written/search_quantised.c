/* An allocation of formats with scales as quantised.onnx: the model with its factors quantised in
 * front of their products by ONNX's operators, checked by a run. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <ulpscope/doctor.h>

#include "analysis/mixed/mixed.h"
#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "graph/graph.h"
#include "load/mixed/quantise_file.h"
#include "ops/call.h"
#include "run/program/stored_values.h"
#include "tensor/lower.h"

#define FILE_NAME ULP_SEARCH_QUANTISED
static const char *const tops[] = {FILE_NAME ".data", FILE_NAME};
enum { FILES = sizeof tops / sizeof *tops };

struct quantised {
    struct ulp_searcher *search;
    struct ulp_search *out;
    struct ulp_quantised *items;
    struct ulp_tensor *constants; /* by item */
    size_t count;
    int64_t opset;
    char paths[FILES][4096];
};

static enum ulp_status give_reason(const struct quantised *q, const char *reason,
                                   struct ulp_error *error)
{
    return ulp_search_copy(q->out->memory, reason, &q->out->quantised_reason, error);
}

/* ---- factors ---- */

static const struct ulp_factor_range *find_input(const struct ulp_arithmetic *arithmetic,
                                                 const char *node, size_t input)
{
    char factor[16];
    snprintf(factor, sizeof factor, "input %zu", input);
    return ulp_factor_range_find(arithmetic, node, factor);
}

/* As the plan stores it. */
static enum ulp_status store_constant(struct quantised *q, const struct ulp_tensor *constant,
                                      const struct ulp_factor_range *range, struct ulp_error *error)
{
    const struct ulp_arithmetic *plain = &q->search->choices[0].arithmetic;
    struct ulp_budget *budget = ulp_model_budget(q->search->emulation.given.model);
    struct ulp_tensor *stored = &q->constants[q->count];
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor lowered = {0};
    ULP_TRY(ulp_tensor_lower(&lowered, constant, &plain->storage, plain->constants, NULL, budget,
                             error));
    ULP_TRY(ulp_tensor_copy(stored, &lowered, budget, error));
    ULP_TRY(ulp_tensor_convert(stored, &lowered, &plain->storage, ULP_ROUND_NEAREST_EVEN, 0, NULL,
                               error));
    if (range && range->elements) /* in FP32, as samples rounded them */
        memcpy(stored->data, range->elements, range->element_count * sizeof *range->elements);
    q->items[q->count].constant = stored;
    return ULP_OK;
}

/* The graph's value that the item is. */
static const struct ulp_value *value_of(const struct quantised *q, const struct ulp_quantised *item)
{
    const struct ulp_graph *graph = q->search->emulation.given.model->graph;
    return &graph->values[item->node->inputs[item->input]];
}

/* The range that samples had of the factor, which its static scale is of. */
static enum ulp_status take_range(struct ulp_quantised *item,
                                  const struct ulp_arithmetic *arithmetic, const char *node,
                                  struct ulp_error *error)
{
    const struct ulp_factor_range *found = find_input(arithmetic, node, item->input);
    if (arithmetic->ranges && !found) /* with none it would be written with a scale of 1 */
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "there is no range of node '%s', input %zu",
                        node, item->input);
    if (found) {
        item->largest = found->largest;
        item->least = found->least;
    }
    return ULP_OK;
}

/* What is added to the sums of a Conv or Gemm, one number for each channel. */
static void take_bias(const struct quantised *q, struct ulp_quantised *item,
                      const struct ulp_program_node *node)
{
    const struct ulp_node *from = node->step->bound.node;
    const bool gemm = strcmp(from->op_type, "Gemm") == 0;
    const int slot = node->step->own_input_count > 2 ? node->step->inputs[2] : -1;
    const struct ulp_tensor *bias = slot >= 0 ? node->block->slots[slot].constant : NULL;
    if (!bias || bias->type != ULP_TYPE_FLOAT || bias->rank != 1 ||
        (!gemm && strcmp(from->op_type, "Conv") != 0) || !ulp_has_plain_sums(from) ||
        bias->dims[0] != item->constant->dims[item->channel])
        return;
    if (q->search->emulation.given.model->graph->values[from->inputs[2]].overridable)
        return;
    item->bias = bias;
    item->bias_input = 2;
}

/* The type that both factors have: that of one whose shape a run finds is not known before. */
static enum ulp_type find_type(const struct ulp_program_node *node, size_t input)
{
    const struct ulp_program_slot *slots = node->block->slots;
    const enum ulp_type own = slots[node->step->inputs[input]].shape.type;
    return own ? own : slots[node->step->inputs[!input]].shape.type;
}

static enum ulp_status add_factor(struct quantised *q, size_t n, size_t input,
                                  const struct ulp_arithmetic *arithmetic, struct ulp_error *error)
{
    const struct ulp_program *program = q->search->emulation.program;
    const struct ulp_program_node *node = &program->nodes[n];
    const struct ulp_program_slot *slot = &node->block->slots[node->step->inputs[input]];
    const int axis = ulp_search_factor_axis(node, input);
    const bool is_weight = slot->constant != NULL;
    const struct ulp_scaling *scaling =
        &arithmetic->scaling[ulp_scaling_is_integer(&arithmetic->scaling[0]) && is_weight];
    enum ulp_status status = ULP_OK;
    struct ulp_quantised *item = &q->items[q->count];
    const bool second = input == 1;
    *item = (struct ulp_quantised){
        .node = node->step->bound.node,
        .input = input,
        .scaling = scaling,
        .type = find_type(node, input),
        .computed = slot->producer >= 0,
        .rank = slot->shape.rank,
        .axis = axis,
        .channel = ulp_search_channel_axis(node, input, axis),
        /* ONNX Runtime's products take zero points of columns of the second factor alone */
        .as_unsigned =
            q->search->options->unsigned_codes &&
            (!is_weight || (second && (slot->shape.rank == 2 ||
                                       strcmp(node->step->bound.node->op_type, "MatMul") != 0))),
        .k = (size_t)slot->shape.dims[axis]};
    item->overridable = slot->constant && value_of(q, item)->overridable;
    if (slot->constant && (!item->overridable || ulp_scaling_is_integer(scaling)))
        status =
            store_constant(q, slot->constant,
                           find_input(arithmetic, ulp_program_node_name(program, n), input), error);
    if (item->constant && second && ulp_scaling_is_integer(scaling) && !scaling->k)
        take_bias(q, item, node);
    else if (!item->constant && status == ULP_OK)
        status = take_range(item, arithmetic, ulp_program_node_name(program, n), error);
    const int64_t opset = ulp_quantise_opset(scaling, q->search->options->tensorrt);
    q->opset = q->opset > opset ? q->opset : opset;
    q->count++;
    return status;
}

/* Blocks and lines of a value lie along an axis. */
static bool has_unknown_axis(const struct ulp_program_node *node, const struct ulp_scaling *scaling)
{
    const struct ulp_program_slot *slots = node->block->slots;
    return !ulp_scaling_is_integer(scaling) && (scaling->k || scaling->lines) &&
           (!slots[node->step->inputs[0]].shape.type || !slots[node->step->inputs[1]].shape.type);
}

/* The result that is stored behind the product, where it has a range. */
static void add_result(struct quantised *q, size_t n, const struct ulp_arithmetic *arithmetic)
{
    const struct ulp_program *program = q->search->emulation.program;
    const struct ulp_program_node *node = &program->nodes[n];
    const struct ulp_step *end = ulp_stored_end(node->block, node->step);
    const struct ulp_factor_range *range =
        ulp_factor_range_find(arithmetic, ulp_program_node_name(program, n), ULP_FACTOR_RESULT);
    if (range && end)
        q->items[q->count++] =
            (struct ulp_quantised){.node = end->node,
                                   .result = true,
                                   .scaling = &arithmetic->scaling[0],
                                   .type = ULP_TYPE_FLOAT,
                                   .computed = true,
                                   .as_unsigned = q->search->options->unsigned_codes,
                                   .largest = range->largest,
                                   .least = range->least};
}

/* *reason: why some product has no form in a file. */
static enum ulp_status add_product(struct quantised *q, size_t n, char reason[256],
                                   struct ulp_error *error)
{
    const struct ulp_searcher *search = q->search;
    const struct ulp_search_choice *choice =
        &search->choices[ulp_search_choice_of(search, search->best, n)];
    const struct ulp_scaling *scaling = &choice->arithmetic.scaling[0];
    const struct ulp_program_node *node = &search->emulation.program->nodes[n];
    if (!scaling->name[0])
        return ULP_OK;
    const bool integer = ulp_scaling_is_integer(scaling);
    const bool patch = !integer && scaling->k == 0 && scaling->lines == 1 &&
                       strcmp(node->step->bound.node->op_type, "Conv") == 0;
    const char *why = integer && !choice->arithmetic.ranges
                          ? "QuantizeLinear has one scale for a value, of samples: give int8, "
                            "uint8, int16, uint16 or integers by tensor"
                      : patch ? "what a convolution sums lies along no axis"
                      : has_unknown_axis(node, scaling)
                          ? "the shape of a value is not known before a run"
                          : ulp_quantise_refuses(scaling, search->options->tensorrt);
    if (why)
        snprintf(reason, 256, "%.60s takes %.40s, and %.120s",
                 ulp_program_node_name(search->emulation.program, n), choice->name, why);
    for (size_t input = 0; input < 2 && !why; input++)
        ULP_TRY(add_factor(q, n, input, &choice->arithmetic, error));
    if (integer && !why)
        add_result(q, n, &choice->arithmetic);
    return ULP_OK;
}

/* ---- scales that are constants ---- */

static void measure_tensor(struct quantised *q, const char *name, const struct ulp_tensor *tensor)
{
    const struct ulp_format *storage = &q->search->choices[0].arithmetic.storage;
    for (size_t i = 0; i < q->count && tensor; i++) {
        struct ulp_quantised *item = &q->items[i];
        if (item->constant || strcmp(value_of(q, item)->name, name) != 0)
            continue;
        for (size_t e = 0; e < tensor->count; e++) {
            const double x = ulp_format_round(storage, ULP_ROUND_NEAREST_EVEN,
                                              fabs(ulp_tensor_get(tensor, e)), 0, 0);
            item->largest = isfinite(x) && x > (double)item->largest ? (float)x : item->largest;
        }
    }
}

static enum ulp_status note_values(void *context, const struct ulp_event *event,
                                   struct ulp_error *error)
{
    (void)error;
    for (size_t o = 0; o < event->output_count; o++)
        measure_tensor(context, event->output_names[o], event->values[o].entire);
    return ULP_OK;
}

/* Of the samples' values, as the plan has them. */
static enum ulp_status find_largest_of_samples(struct quantised *q, struct ulp_error *error)
{
    struct ulp_searcher *search = q->search;
    const struct ulp_emulated *given = &search->emulation.given;
    const struct ulp_observer notes = {.context = q,
                                       .node_done = note_values,
                                       .modes_unused = true};
    const struct ulp_run_options options = {.thread_count = given->thread_count};
    struct ulp_keeps keeps;
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = given->model,
                                    .lanes = &search->choices[search->base].arithmetic,
                                    .lane_count = 1,
                                    .options = {.keeps = &keeps}};
    ULP_TRY(ulp_search_keeps(search, search->best, &keeps, error));
    for (size_t i = 0; i < q->count; i++) /* defaults */
        measure_tensor(q, value_of(q, &q->items[i])->name, value_of(q, &q->items[i])->initializer);
    for (size_t s = 0; s < given->sample_count; s++) {
        const struct ulp_tensor_set *inputs = given->samples[s].inputs;
        ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
        for (size_t i = 0; i < inputs->count; i++)
            if (ulp_element_is_float(inputs->items[i].tensor.element))
                measure_tensor(q, inputs->items[i].name, &inputs->items[i].tensor);
        ULP_TRY(ulp_programs_look(&programs, inputs, &options, &notes, NULL, &outputs, error));
    }
    return ULP_OK;
}

/* ---- the file ---- */

static enum ulp_status judge_declared(const struct quantised *q, const char *path,
                                      struct ulp_error *error)
{
    const struct ulp_emulated *given = &q->search->emulation.given;
    const struct ulp_search_options *options = q->search->options;
    struct ulp_arithmetic declared;
    char room[ULP_JUDGED_IN_BYTES];
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.lanes = &declared, .lane_count = 1};
    struct ulp_judgement worst;
    ULP_TRY(ulp_model_load(path, ulp_model_budget(given->model), &model, error));
    if (options->target_count) /* as that runtime computes Q/DQ, on the worse of its processors */
        ULP_TRY(ulp_judged_in_worse(model, options->targets[0], NULL, room, &declared, error));
    else
        ULP_TRY(ulp_arithmetic_find("model", &declared, error));
    programs.model = model;
    ULP_TRY(ulp_search_copy(q->out->memory, declared.asked, &q->out->declared_in, error));
    ULP_TRY(ulp_emulation_judge_lane(&q->search->emulation, &programs, NULL, &worst, error));
    q->out->declared_ratio = worst.ratio;
    struct ulp_program *program = programs.first;
    for (size_t n = 0; n < program->node_count; n++)
        q->out->declared_coded +=
            declared.half_as_float &&
            ulp_step_coded_block(program->nodes[n].block, program->nodes[n].step) > 0;
    return ULP_OK;
}

/* With what was put in as it is declared, FLOAT, and all else in the plan's format, the file has
 * the plan's bits. */
static enum ulp_status check_file_bits(const struct quantised *q, const char *path,
                                       struct ulp_error *error)
{
    struct ulp_searcher *search = q->search;
    const struct ulp_emulated *given = &search->emulation.given;
    const struct ulp_arithmetic *base = &search->choices[search->base].arithmetic;
    struct ulp_keep fp32 = {.pattern = ULP_QUANTISED_PREFIX "*"};
    const struct ulp_keeps read = {.count = 1, .items = &fp32};
    struct ulp_keeps keeps;
    const struct ulp_mixed_options options = {.thread_count = given->thread_count,
                                              .progress = given->progress};
    struct ulp_mixed_job job = {.model = given->model,
                                .options = &options,
                                .samples = given->samples,
                                .sample_count = given->sample_count,
                                .programs = {.model = given->model,
                                             .lanes = base,
                                             .lane_count = 1,
                                             .options = {.keeps = &keeps}}};
    struct ulp_tensor_set first = {0};
    enum ulp_status status = ulp_search_keeps(search, search->best, &keeps, error);
    ULP_THEN(status, ulp_arithmetic_find("fp32", &fp32.arithmetic, error));
    ULP_THEN(status, ulp_arena_create(&job.arena, ulp_model_budget(given->model), error));
    ULP_THEN(status, ulp_mixed_expect(&job, 0, NULL, &first, error));
    ULP_THEN(status, ulp_mixed_resize(&job, error));
    ULP_THEN(status, ulp_mixed_check(&job, path, base, &read, &first, error));
    ulp_tensor_set_free(&first);
    ulp_resized_free(&job.resized);
    ulp_programs_free(&job.programs);
    ulp_arena_free(job.arena);
    return status;
}

static bool has_integers(const struct quantised *q)
{
    bool any = false;
    for (size_t i = 0; i < q->count; i++)
        any |= ulp_scaling_is_integer(q->items[i].scaling);
    return any;
}

static enum ulp_status write_file(struct quantised *q, struct ulp_error *error)
{
    const struct ulp_model *model = q->search->emulation.given.model;
    const char *path = q->paths[FILES - 1];
    struct ulp_quantise_written written;
    const bool tensorrt = q->search->options->tensorrt;
    /* the bias of integers is rounded besides */
    const bool same_bits = !tensorrt && !has_integers(q);
    q->out->tensorrt = tensorrt;
    const bool begun = ulp_files_hold();
    enum ulp_status status = ulp_quantise_file(model, q->items, q->count, tensorrt, q->opset, path,
                                               q->search->emulation.pool, &written, error);
    if (status == ULP_OK && same_bits)
        status = check_file_bits(q, path, error);
    ULP_THEN(status, judge_declared(q, path, error));
    for (int f = 0; f < FILES && status != ULP_OK; f++)
        ulp_files_drop(q->paths[f]);
    status = ulp_files_release(begun, status, error);
    if (status != ULP_OK)
        return status;
    q->out->quantised_bits = same_bits;
    q->out->quantised_constants = written.constants;
    q->out->quantised_values = written.values;
    q->out->quantised_opset = written.opset;
    return ulp_search_copy(q->out->memory, path, &q->out->quantised, error);
}

static enum ulp_status set_paths(struct quantised *q, struct ulp_error *error)
{
    const char *folder = q->search->options->mixed_folder;
    for (int f = 0; f < FILES; f++) {
        if (snprintf(q->paths[f], sizeof q->paths[f], "%s/%s", folder, tops[f]) >=
            (int)sizeof q->paths[f])
            return ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", folder);
        if (ulp_model_is_read_from(q->search->emulation.given.model, q->paths[f]))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s is the model, or its weights: give another folder", q->paths[f]);
    }
    return ULP_OK;
}

enum ulp_status ulp_search_write_quantised(struct ulp_searcher *search, struct ulp_search *out,
                                           struct ulp_error *error)
{
    const size_t nodes = search->emulation.program->node_count, room = 3 * nodes + 1;
    struct ulp_arena *memory = search->emulation.memory;
    struct quantised *q = ulp_arena_take(memory, 1, sizeof *q);
    struct ulp_error problem = {0};
    char reason[256] = "";
    ULP_TRY(ulp_taken(q, error));
    *q = (struct quantised){.search = search,
                            .out = out,
                            .items = ulp_arena_take(memory, room, sizeof *q->items),
                            .constants = ulp_arena_take(memory, room, sizeof *q->constants)};
    enum ulp_status status =
        q->items && q->constants ? set_paths(q, error) : ulp_out_of_memory(error);
    for (size_t n = 0; n < nodes && status == ULP_OK && !*reason; n++)
        status = add_product(q, n, reason, error);
    if (status == ULP_OK && (*reason || !q->count)) {
        status = give_reason(q, *reason ? reason : "no product takes a format with scales", error);
    } else if (status == ULP_OK) {
        status = search->options->tensorrt ? find_largest_of_samples(q, &problem) : ULP_OK;
        ULP_THEN(status, write_file(q, &problem));
        if (status == ULP_ERROR_UNSUPPORTED)
            status = give_reason(q, problem.message, error);
        else if (status != ULP_OK)
            ulp_fail_lines(error, status, problem.message);
    }
    ulp_tensors_free(q->constants, q->count);
    return status;
}
