/* What the caller may choose for a random input: its shape and the range of its values. For
 * integers that index a table the range follows from the node that reads them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "base/text/text.h"
#include "data/data.h"
#include "graph/graph.h"
#include "number/function/math.h"

enum ulp_status ulp_fail_input_name(const struct ulp_model *model, const char *name,
                                    struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text names = {0};
    for (size_t i = 0; i < ulp_model_input_count(model); i++)
        ulp_text_show(&names, "%s%s", i ? ", " : "", ulp_model_input(model, i).name);
    return ulp_fail(error, ULP_ERROR_USAGE, "no input is named '%s'; there are: %.1000s", name,
                    names.length ? names.data : "none");
}

enum ulp_status ulp_model_set_shape(struct ulp_model *model, const char *input, int rank,
                                    const int64_t *dims, struct ulp_error *error)
{
    const struct ulp_graph *graph = model->graph;
    for (size_t i = 0; i < graph->free_input_count; i++) {
        struct ulp_value *value = &graph->values[graph->free_inputs[i]];
        if (strcmp(value->name, input) != 0)
            continue;
        if (rank > ULP_RANK_MAX || (value->info.rank >= 0 && value->info.rank != rank))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "input '%s' has %d dimensions in the model, and %d were given", input,
                            value->info.rank, rank);
        value->info.rank = rank;
        for (int d = 0; d < rank; d++) {
            if (dims[d] < 0)
                return ulp_fail(error, ULP_ERROR_USAGE,
                                "dimension %d of input '%s' is %lld, expected 0 or more", d, input,
                                (long long)dims[d]);
            value->info.dims[d] = dims[d];
            value->info.dim_names[d] = NULL;
        }
        return ULP_OK;
    }
    return ulp_fail_input_name(model, input, error);
}

/* ---- what reads integers ---- */

/* Where an operator takes an index: the input that is one, and the one whose axis it is of. */
struct index_row {
    const char *op;
    size_t index, data;
    bool has_axis; /* by the attribute axis, default 0; else the first dimension */
};
static const struct index_row index_rows[] = {
    {"Gather", 1, 0, true},
    {"GatherElements", 1, 0, true},
    {"GatherND", 1, 0, false},
    {"ScatterElements", 1, 0, true},
    {"ScatterND", 1, 0, false},
    {"EmbedLayerNormalization", 0, 2, false},
    {"EmbedLayerNormalization", 1, 4, false},
};

struct reading {
    const struct ulp_graph *graph;
    const struct ulp_random_options *options;
    /* by value: it holds the input's integers, or what arithmetic with others made of them */
    enum { UNSEEN, COUNTED, MOVED } * seen;
    struct ulp_chosen_range *out;
    bool indexed;
};

/* Hands its first input's integers on. */
static bool only_moves(const char *op)
{
    return ulp_is_word(op, "Identity Cast Reshape Squeeze Unsqueeze Flatten Transpose Slice Split "
                           "Expand Concat Tile");
}

/* The size of a dimension, behind what keeps shapes; -1: unknown. */
static int64_t find_size(const struct ulp_graph *graph, int value, int64_t axis)
{
    for (int hops = 0; value >= 0 && hops < 16; hops++) {
        const struct ulp_tensor *constant = ulp_value_constant(graph, value);
        const struct ulp_value_info *info = &graph->values[value].info;
        const int rank = constant ? constant->rank : info->rank;
        if (rank > 0 && axis >= -rank && axis < rank) {
            const int64_t at = axis < 0 ? axis + rank : axis;
            const int64_t size = constant ? constant->dims[at] : info->dims[at];
            if (size >= 0)
                return size;
        }
        const struct ulp_node *producer = ulp_value_producer(graph, value);
        if (!producer || !producer->input_count ||
            !ulp_is_word(producer->op_type, "Identity Cast DequantizeLinear"))
            return -1;
        value = producer->inputs[0];
    }
    return -1;
}

/* The least of what is indexed counts. */
static void take_index(struct reading *reading, const struct ulp_node *node, int64_t size)
{
    if (size < 1 || (reading->indexed && (double)(size - 1) >= reading->out->high))
        return;
    reading->indexed = true;
    reading->out->low = 0;
    reading->out->high = (double)(size - 1);
    snprintf(reading->out->why, sizeof reading->out->why, "%.40s %.100s picks one of %lld",
             node->op_type, node->name, (long long)size);
}

/* One beyond the largest of a constant list of integers; 0: it is none. */
static int64_t find_end(const struct ulp_graph *graph, int value)
{
    const struct ulp_tensor *constant = ulp_value_constant(graph, value);
    double most = -1;
    if (!constant || !constant->data || constant->count < 2)
        return 0;
    for (size_t i = 0; i < constant->count; i++)
        most = ulp_math_max(most, ulp_tensor_get(constant, i));
    return most < 0x1p53 ? (int64_t)most + 1 : 0;
}

/* Does a Range count there, or a list of constants from 0 on? Behind what only moves. */
static bool counts(const struct ulp_graph *graph, int value)
{
    for (int hops = 0; value >= 0 && hops < 16; hops++) {
        const struct ulp_node *producer = ulp_value_producer(graph, value);
        const struct ulp_tensor *constant = ulp_value_constant(graph, value);
        if (constant && constant->count > 1)
            return find_end(graph, value) == (int64_t)constant->count;
        if (!producer || !producer->input_count || strcmp(producer->op_type, "Range") == 0)
            return producer && producer->input_count;
        if (!only_moves(producer->op_type))
            return false;
        value = producer->inputs[0];
    }
    return false;
}

/* A length beside positions: all of what it counts, which is the largest size, counts. */
static void take_length(struct reading *reading, const struct ulp_node *node)
{
    const struct ulp_graph *graph = reading->graph;
    double most = 1;
    for (size_t i = 0; i < graph->free_input_count; i++) {
        const struct ulp_value_info *info = &graph->values[graph->free_inputs[i]].info;
        if (info->rank > 1)
            most = ulp_math_max(most, (double)info->dims[1]);
    }
    for (size_t i = 0; i < reading->options->dim_count; i++)
        most = ulp_math_max(most, (double)reading->options->dims[i].value);
    reading->indexed = true;
    reading->out->low = reading->out->high = most;
    snprintf(reading->out->why, sizeof reading->out->why, "%.40s %.100s counts positions with it",
             node->op_type, node->name);
}

static bool reads_mask(const char *op)
{
    return ulp_is_word(op,
                       "Mul Sub Where Equal Greater Less And Or Not GreaterOrEqual LessOrEqual");
}

/* Lengths in samples become lengths in frames: (length + padding) / hop. */
static bool only_counts(const char *op)
{
    return ulp_is_word(op, "Add Sub Mul Div Mod Floor Ceil Round Max Min Clip");
}

/* What the node makes of values that it reads at `input`. */
static void hand_on(struct reading *reading, const struct ulp_node *node, size_t input)
{
    const bool moves =
        only_moves(node->op_type) && (input == 0 || strcmp(node->op_type, "Concat") == 0);
    for (size_t o = 0; (moves || only_counts(node->op_type)) && o < node->output_count; o++)
        if (node->outputs[o] >= 0 && !reading->seen[node->outputs[o]])
            reading->seen[node->outputs[o]] = moves ? reading->seen[node->inputs[input]] : COUNTED;
}

/* Of the integers themselves, or a number that an operator takes for one. */
static void look_at_index(struct reading *reading, const struct ulp_node *node, size_t input)
{
    const struct ulp_graph *graph = reading->graph;
    for (size_t r = 0; r < sizeof index_rows / sizeof *index_rows; r++) {
        const struct index_row *row = &index_rows[r];
        const struct ulp_attribute *axis = ulp_node_attribute(node, "axis");
        if (strcmp(node->op_type, row->op) == 0 && input == row->index &&
            row->data < node->input_count)
            take_index(reading, node,
                       find_size(graph, node->inputs[row->data],
                                 row->has_axis && axis ? axis->i : 0));
    }
    if (strcmp(node->op_type, "Equal") == 0) /* with 0, 1, 2, ...: a one-hot written out */
        take_index(reading, node, find_end(graph, node->inputs[!input]));
    if (strcmp(node->op_type, "OneHot") == 0 && input == 0) {
        const struct ulp_tensor *depth = ulp_value_constant(graph, node->inputs[1]);
        if (depth && depth->data && depth->count == 1)
            take_index(reading, node, (int64_t)ulp_tensor_get(depth, 0));
    }
}

static void look_at_reader(struct reading *reading, const struct ulp_node *node, size_t input)
{
    const bool moved = reading->seen[node->inputs[input]] == MOVED;
    if (moved)
        look_at_index(reading, node, input);
    if (!reading->indexed &&
        ulp_is_word(node->op_type, "Less Greater LessOrEqual GreaterOrEqual") &&
        counts(reading->graph, node->inputs[!input]))
        take_length(reading, node);
    if (moved && !*reading->out->why && reads_mask(node->op_type))
        snprintf(reading->out->why, sizeof reading->out->why, "%.40s %.100s reads a mask",
                 node->op_type, node->name);
    hand_on(reading, node, input);
}

/* Nodes stand in topological order, so that one walk over them follows everything. */
static void follow(struct reading *reading, int value)
{
    const struct ulp_graph *graph = reading->graph;
    reading->seen[value] = MOVED;
    for (size_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] >= 0 && reading->seen[graph->nodes[n].inputs[i]])
                look_at_reader(reading, &graph->nodes[n], i);
}

struct ulp_chosen_range ulp_model_input_range(const struct ulp_model *model, size_t index,
                                              const struct ulp_random_options *options)
{
    ULP_ENTER_ENVIRONMENT;
    const struct ulp_graph *graph = model->graph;
    const int value = graph->free_inputs[index];
    const struct ulp_value_info *info = &graph->values[value].info;
    struct ulp_chosen_range range = {0, 1, ""};
    const struct ulp_input_range *given = NULL;
    for (size_t r = 0; r < options->range_count; r++) {
        const struct ulp_input_range *one = &options->ranges[r];
        if (one->name ? strcmp(one->name, info->name) == 0 : !given || !given->name)
            given = one;
    }
    if (given)
        return (struct ulp_chosen_range){given->low, given->high, ""};
    if (ulp_type_is_float(info->type) || info->type == ULP_TYPE_BOOL)
        return range;
    struct reading reading = {.graph = graph,
                              .options = options,
                              .seen = calloc(graph->value_count + 1, sizeof *reading.seen),
                              .out = &range};
    if (reading.seen) /* without memory the range is the default */
        follow(&reading, value);
    free(reading.seen);
    return range;
}
