/* What rules ask of a view, and their findings. */
#include <stdio.h>

#include "base/error.h"
#include "analysis/lint/lint.h"
#include "ops/operator.h"
#include "run/program/program.h"

const char *ulp_lint_node_name(struct ulp_lint *lint, const struct ulp_lint_graph *graph,
                               const char *name)
{
    if (!graph->prefix || (!graph->function && name[0] == '/'))
        return name;
    return ulp_arena_say(lint->arena, "%s/%s", graph->prefix, name);
}

bool ulp_lint_is_any(struct ulp_lint_place place, const char *ops)
{
    return place.node && ulp_is_word(place.node->op_type, ops);
}

struct ulp_lint_place ulp_lint_producer(const struct ulp_lint_graph *graph, int value)
{
    while (value >= 0 && graph->graph->values[value].outer >= 0 && graph->parent) {
        value = graph->graph->values[value].outer;
        graph = graph->parent;
    }
    const int producer = value >= 0 ? graph->graph->values[value].producer : -1;
    return (struct ulp_lint_place){graph, producer >= 0 ? &graph->graph->nodes[producer] : NULL};
}

struct ulp_lint_place ulp_lint_source(struct ulp_lint_place place, size_t input)
{
    return ulp_lint_producer(place.graph, ulp_lint_input(place, input));
}

enum ulp_type ulp_lint_type(const struct ulp_lint_graph *graph, int value)
{
    return value >= 0 ? (enum ulp_type)graph->types[value] : ULP_TYPE_UNDEFINED;
}

const struct ulp_tensor *ulp_lint_constant(const struct ulp_lint_graph *graph, int value)
{
    return value >= 0 ? graph->constants[value] : NULL;
}

const struct ulp_lint_figures *ulp_lint_figures(const struct ulp_lint_graph *graph, int value)
{
    return value >= 0 ? graph->figures[value] : NULL;
}

bool ulp_lint_scalar(const struct ulp_lint_graph *graph, int value, double *out)
{
    const struct ulp_tensor *tensor = ulp_lint_constant(graph, value);
    if (!tensor || tensor->count != 1)
        return false;
    *out = ulp_tensor_get(tensor, 0);
    return true;
}

size_t ulp_lint_reader_count(const struct ulp_lint_graph *graph, int value)
{
    return value >= 0 ? graph->first_reader[value + 1] - graph->first_reader[value] : 0;
}

struct ulp_lint_place ulp_lint_reader(const struct ulp_lint_graph *graph, int value, size_t i)
{
    const int node = graph->readers[graph->first_reader[value] + i];
    return (struct ulp_lint_place){graph, &graph->graph->nodes[node]};
}

struct ulp_lint_place ulp_lint_only_reader(struct ulp_lint_place place)
{
    const int out = ulp_lint_output(place, 0);
    if (ulp_lint_reader_count(place.graph, out) != 1 || place.graph->is_output[out])
        return (struct ulp_lint_place){0};
    return ulp_lint_reader(place.graph, out, 0);
}

const char *ulp_lint_value_name(const struct ulp_lint_graph *graph, int value)
{
    return value >= 0 ? graph->graph->values[value].name : NULL;
}

int64_t ulp_lint_opset(struct ulp_lint_place place)
{
    return ulp_opset_find(place.graph->opsets, place.graph->opset_count, place.node->domain);
}

bool ulp_lint_may_raise(struct ulp_lint *lint, int64_t opset)
{
    if (lint->raised == opset)
        return lint->may_raise;
    static const char grown[] = "Reshape Shape LSTM GRU RNN ScatterElements ScatterND";
    bool may = !lint->model->function_count && ulp_model_opset(lint->model, "") < opset;
    for (size_t n = 0; n < lint->node_count && may; n++) {
        const struct ulp_lint_place place = lint->places[n];
        const char *op = place.node->op_type;
        const struct ulp_operator *row = ulp_operator_find("", op, ulp_lint_opset(place));
        may =
            *place.node->domain ||
            (row && (row == ulp_operator_find("", op, opset) || ulp_lint_is_any(place, grown) ||
                     (ulp_lint_is(place, "BatchNormalization") && place.node->output_count == 1)));
    }
    lint->raised = opset;
    return lint->may_raise = may;
}

int64_t ulp_lint_int(struct ulp_lint_place place, const char *attribute, int64_t fallback)
{
    return ulp_node_int(place.node, attribute, fallback);
}

bool ulp_lint_moves(struct ulp_lint_place place)
{
    const struct ulp_operator *row =
        place.node
            ? ulp_operator_find(place.node->domain, place.node->op_type, ulp_lint_opset(place))
            : NULL;
    return row && row->work == ULP_WORK_MOVE;
}

bool ulp_lint_in_half(const struct ulp_lint *lint, enum ulp_type type)
{
    return type == ULP_TYPE_FLOAT16 || (type == ULP_TYPE_FLOAT && !lint->declares_half);
}

const char *ulp_lint_sentence(struct ulp_lint *lint, const char *format, va_list list)
{
    struct ulp_text text = {0};
    ulp_text_show_list(&text, format, list);
    return ulp_text_keep(&text, lint->arena);
}

void ulp_lint_add(struct ulp_lint *lint, struct ulp_lint_place place, const char *value,
                  const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *kept = ulp_lint_sentence(lint, format, list);
    va_end(list);
    const bool room =
        ULP_ARENA_GROWS(lint->findings, lint->arena, lint->finding_count, lint->finding_capacity);
    const char *node = place.node ? ulp_lint_node_name(lint, place.graph, place.node->name) : NULL;
    const char *names[3] = {node, place.node ? place.node->op_type : NULL, value};
    bool copied = kept && room && (!place.node || node);
    for (int i = 0; i < 3 && copied; i++)
        copied = !names[i] || (names[i] = ulp_arena_copy(lint->arena, names[i]));
    if (!copied) {
        lint->failed = true;
        return;
    }
    struct ulp_finding found = lint->common;
    found.node = names[0], found.op = names[1], found.value = names[2], found.text = kept;
    lint->findings[lint->finding_count++] = found;
}
