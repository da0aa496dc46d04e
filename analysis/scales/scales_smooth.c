/* Smooth scales: channels of a value that a product reads are divided by powers of two that the
 * weights' rows are multiplied by, so that neither has blocks that one channel fills. */
#include <math.h>
#include <string.h>

#include "analysis/measure/quantile.h"
#include "analysis/scales/scales_smooth.h"
#include "analysis/scales/scales_stored.h"
#include "base/error.h"
#include "number/function/math.h"
#include "run/program/program.h"

/* From that many times the median's on the largest channel is an outlier, as in
 * struct ulp_scaled_tensor. */
#define OUTLIER_RATIO 4
/* A scale's exponent at most: FP16 holds the weights of an ordinary network by it, too. */
#define SMOOTH_MOST 10

struct smoothing {
    const struct ulp_program *program;
    struct ulp_smooths *out;
    struct ulp_arena *memory;
    double **most; /* of each product's value, by channel */
};

static bool is_float_constant(const struct ulp_graph *graph, int value, int rank)
{
    const struct ulp_tensor *tensor = value >= 0 ? graph->values[value].initializer : NULL;
    return tensor && !graph->values[value].overridable && tensor->rank == rank && tensor->count &&
           tensor->type == ULP_TYPE_FLOAT;
}

static bool is_set(const struct ulp_node *node, const char *name)
{
    const struct ulp_attribute *attribute = ulp_node_attribute(node, name);
    return attribute && attribute->i != 0;
}

/* A value times weights of two dimensions, which no other node reads as they are. */
static bool is_product(const struct ulp_graph *graph, const struct ulp_node *node)
{
    const bool gemm = strcmp(node->op_type, "Gemm") == 0;
    return !*node->domain && (gemm || strcmp(node->op_type, "MatMul") == 0) &&
           node->input_count <= ULP_EDIT_INPUTS_MAX && !(gemm && is_set(node, "transA")) &&
           is_float_constant(graph, node->inputs[1], 2) &&
           !graph->values[node->inputs[0]].initializer;
}

static size_t count_channels(const struct ulp_graph *graph, const struct ulp_node *node)
{
    return (size_t)graph->values[node->inputs[1]].initializer->dims[ulp_summed_axis(node, 1, 2)];
}

static enum ulp_status look_at_node(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    (void)error;
    struct smoothing *s = context;
    for (size_t i = 0; i < s->out->count; i++) {
        const struct ulp_smooth *item = &s->out->items[i];
        const struct ulp_tensor *x = event->input_count ? event->inputs[0].entire : NULL;
        if (item->number != event->index || !x)
            continue;
        for (size_t e = 0; e < x->count; e++) {
            const double size = fabs(ulp_tensor_get(x, e));
            double *most = &s->most[i][e % item->channels];
            *most = isfinite(size) ? ulp_math_max(*most, size) : *most;
        }
    }
    return ULP_OK;
}

/* The products of the main graph, and room for their channels. */
static bool list_products(struct smoothing *s)
{
    const struct ulp_graph *graph = s->program->model->graph;
    const struct ulp_block *block = s->program->main;
    s->out->items = ulp_arena_take(s->memory, block->step_count + 1, sizeof *s->out->items);
    s->most = ulp_arena_take(s->memory, block->step_count + 1, sizeof *s->most);
    for (size_t i = 0; s->out->items && s->most && i < block->step_count; i++) {
        const struct ulp_step *step = &block->steps[i];
        if (step->call || step->node < graph->nodes ||
            step->node >= graph->nodes + graph->node_count || !is_product(graph, step->node) ||
            !block->slots[step->inputs[1]].constant) /* an input is given in its place */
            continue;
        struct ulp_smooth *item = &s->out->items[s->out->count];
        *item = (struct ulp_smooth){.node = step->node,
                                    .number = step->number,
                                    .channels = count_channels(graph, step->node)};
        s->most[s->out->count] = ulp_arena_take(s->memory, item->channels, sizeof **s->most);
        if (!s->most[s->out->count++])
            return false;
    }
    return s->out->items && s->most;
}

/* The exponents of the scales: sqrt(value / weights), around their mean. */
static void choose_powers(const struct smoothing *s, const struct ulp_smooth *item,
                          const double *most, int axis, int *powers)
{
    const struct ulp_tensor *weights =
        s->program->model->graph->values[item->node->inputs[1]].initializer;
    const size_t after = axis == 0 ? (size_t)weights->dims[1] : 1, n = item->channels;
    double sum = 0;
    size_t known = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t c = 0; c < n; c++) {
            double largest = 0;
            powers[c] = 0;
            for (size_t i = 0; i < weights->count / n; i++)
                largest =
                    ulp_math_max(largest, fabs(ulp_tensor_get(weights, axis == 0 ? c * after + i
                                                                                 : i * n + c)));
            if (!(largest > 0) || !(most[c] > 0))
                continue;
            const double wanted = ulp_math_log2(most[c] / largest) / 2;
            if (pass)
                powers[c] =
                    (int)ulp_math_max(ulp_math_min(rint(wanted - sum / (double)known), SMOOTH_MOST),
                                      -SMOOTH_MOST);
            else
                sum += wanted, known++;
        }
}

static struct ulp_tensor *make_tensor(const struct smoothing *s, int rank, const int64_t *dims,
                                      size_t count)
{
    struct ulp_tensor *out = ulp_arena_take(s->memory, 1, sizeof *out);
    float *data = ulp_arena_take(s->memory, count, sizeof *data);
    if (!out || !data)
        return NULL;
    *out = ulp_tensor_list(ULP_TYPE_FLOAT, data, rank, count);
    memcpy(out->dims, dims, (size_t)rank * sizeof *dims);
    return out;
}

/* False: no memory. */
static bool make_edit(const struct smoothing *s, struct ulp_smooth *item, const double *most)
{
    const struct ulp_graph *graph = s->program->model->graph;
    const struct ulp_node *node = item->node;
    const struct ulp_tensor *weights = graph->values[node->inputs[1]].initializer;
    const int axis = ulp_summed_axis(node, 1, 2);
    const int64_t channels = (int64_t)item->channels;
    int *powers = ulp_arena_take(s->memory, item->channels, sizeof *powers);
    struct ulp_edit_part *parts = ulp_arena_take(s->memory, 2, sizeof *parts);
    struct ulp_tensor *down = make_tensor(s, 1, &channels, item->channels),
                      *up = make_tensor(s, 2, weights->dims, weights->count);
    if (!powers || !parts || !down || !up)
        return false;
    choose_powers(s, item, most, axis, powers);
    for (size_t c = 0; c < item->channels; c++)
        ((float *)down->data)[c] = (float)ldexp(1, -powers[c]);
    for (size_t i = 0; i < weights->count; i++) {
        const size_t c = axis == 0 ? i / (size_t)weights->dims[1] : i % item->channels;
        ((float *)up->data)[i] = (float)ldexp(ulp_tensor_get(weights, i), powers[c]);
    }
    parts[0] =
        (struct ulp_edit_part){.op = "Mul",
                               .inputs = {{.kind = ULP_EDIT_VALUE, .number = node->inputs[0]},
                                          {.kind = ULP_EDIT_TENSOR, .tensor = down}},
                               .input_count = 2};
    parts[1] = (struct ulp_edit_part){.inputs = {{.kind = ULP_EDIT_PART, .number = 0},
                                                 {.kind = ULP_EDIT_TENSOR, .tensor = up}},
                                      .input_count = node->input_count};
    for (size_t i = 2; i < node->input_count; i++)
        parts[1].inputs[i] =
            (struct ulp_edit_input){.kind = ULP_EDIT_VALUE, .number = node->inputs[i]};
    item->edit = (struct ulp_edit){.graph = graph, .node = node, .parts = parts, .part_count = 2};
    return true;
}

/* Of those that are listed the ones with an outlier, and what is done there. */
static bool choose_outliers(struct smoothing *s)
{
    size_t kept = 0;
    bool whole = true;
    for (size_t i = 0; i < s->out->count && whole; i++) {
        struct ulp_smooth *item = &s->out->items[i];
        double *sorted = ulp_arena_take(s->memory, item->channels, sizeof *sorted);
        if (!sorted)
            return false;
        memcpy(sorted, s->most[i], item->channels * sizeof *sorted);
        ulp_numbers_sort(sorted, item->channels);
        for (size_t c = 0; c < item->channels; c++)
            item->channel = s->most[i][c] > s->most[i][item->channel] ? c : item->channel;
        const double median = sorted[item->channels / 2];
        item->ratio = median > 0 ? s->most[i][item->channel] / median : 0;
        if (item->channels < 3 || !(item->ratio >= OUTLIER_RATIO))
            continue;
        whole = make_edit(s, item, s->most[i]);
        s->out->items[kept++] = *item;
    }
    s->out->count = kept;
    return whole;
}

enum ulp_status ulp_smooth_find(const struct ulp_model *model, const struct ulp_sample *samples,
                                size_t sample_count, int thread_count, struct ulp_arena *memory,
                                struct ulp_smooths *out, struct ulp_error *error)
{
    struct ulp_arithmetic fp32;
    struct smoothing s = {.out = out, .memory = memory};
    const struct ulp_run_options run = {.thread_count = thread_count};
    const struct ulp_observer looking = {.context = &s,
                                         .node_done = look_at_node,
                                         .modes_unused = true};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    *out = (struct ulp_smooths){0};
    const struct ulp_program_options planning = {.inputs = samples[0].inputs};
    ULP_TRY(ulp_arithmetic_find("fp32", &fp32, error));
    ULP_TRY(ulp_program_create(model, &fp32, 1, &planning, &program, error));
    s.program = program;
    ULP_TRY(ulp_taken(list_products(&s), error));
    for (size_t i = 0; i < sample_count && out->count; i++)
        if (i == 0 || ulp_program_takes(program, samples[i].inputs))
            ULP_TRY(
                ulp_program_look(program, samples[i].inputs, &run, &looking, NULL, NULL, error));
    ULP_TRY(ulp_taken(choose_outliers(&s), error));
    return ULP_OK;
}
