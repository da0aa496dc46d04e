/* Making the view of a model that rules ask. */
#include "analysis/lint/lint.h"

#include <math.h>

#include "base/error.h"
#include "number/function/math.h"
#include "tensor/stored.h"

static size_t count_graphs(const struct ulp_graph *graph)
{
    size_t count = 1;
    for (size_t n = 0; n < graph->node_count; n++)
        for (size_t a = 0; a < graph->nodes[n].attribute_count; a++)
            if (graph->nodes[n].attributes[a].kind == ULP_ATTRIBUTE_GRAPH)
                count += count_graphs(graph->nodes[n].attributes[a].graph);
    return count;
}

/* The graph and the bodies in it. */
static bool add_graphs(struct ulp_lint *lint, const struct ulp_graph *graph,
                       const struct ulp_lint_graph *parent, const struct ulp_node *owner,
                       const char *prefix, bool function, const struct ulp_opset *opsets,
                       size_t opset_count)
{
    struct ulp_lint_graph *view = &lint->graphs[lint->graph_count++];
    *view = (struct ulp_lint_graph){.graph = graph,
                                    .parent = parent,
                                    .owner = owner,
                                    .prefix = prefix,
                                    .function = function,
                                    .opsets = opsets,
                                    .opset_count = opset_count};
    lint->node_count += graph->node_count;
    bool made = true;
    for (size_t n = 0; n < graph->node_count && made; n++)
        for (size_t a = 0; a < graph->nodes[n].attribute_count && made; a++)
            if (graph->nodes[n].attributes[a].kind == ULP_ATTRIBUTE_GRAPH) {
                const char *name = ulp_lint_node_name(lint, view, graph->nodes[n].name);
                made = name && add_graphs(lint, graph->nodes[n].attributes[a].graph, view,
                                          &graph->nodes[n], name, function, opsets, opset_count);
            }
    return made;
}

static enum ulp_status find_graphs(struct ulp_lint *lint, struct ulp_error *error)
{
    const struct ulp_model *model = lint->model;
    size_t count = count_graphs(model->graph);
    for (size_t f = 0; f < model->function_count; f++)
        count += count_graphs(model->functions[f].body);
    lint->graphs = ulp_arena_take(lint->arena, count, sizeof *lint->graphs);
    bool made = lint->graphs && add_graphs(lint, model->graph, NULL, NULL, NULL, false,
                                           model->opsets, model->opset_count);
    for (size_t f = 0; f < model->function_count && made; f++)
        made = add_graphs(lint, model->functions[f].body, NULL, NULL, model->functions[f].name,
                          true, model->functions[f].opsets, model->functions[f].opset_count);
    return ulp_taken(made, error);
}

/* How often a node reads each value, by itself or in its bodies. */
static void count_reads(const struct ulp_node *node, size_t *counts)
{
    for (size_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0)
            counts[node->inputs[i]]++;
    for (size_t a = 0; a < node->attribute_count; a++) {
        const struct ulp_graph *body =
            node->attributes[a].kind == ULP_ATTRIBUTE_GRAPH ? node->attributes[a].graph : NULL;
        for (size_t v = 0; body && v < body->value_count; v++)
            if (body->values[v].outer >= 0)
                counts[body->values[v].outer]++;
    }
}

static void add_read(struct ulp_lint_graph *view, size_t *next, int value, int node)
{
    if (value >= 0)
        view->readers[next[value]++] = node;
}

static bool find_readers(struct ulp_lint *lint, struct ulp_lint_graph *view)
{
    const struct ulp_graph *graph = view->graph;
    view->first_reader = ulp_arena_take(lint->arena, graph->value_count + 2, sizeof(size_t));
    size_t *next = ulp_arena_take(lint->arena, graph->value_count + 1, sizeof *next);
    if (!view->first_reader || !next)
        return false;
    for (size_t n = 0; n < graph->node_count; n++)
        count_reads(&graph->nodes[n], view->first_reader + 1);
    for (size_t v = 0; v < graph->value_count; v++) {
        view->first_reader[v + 1] += view->first_reader[v];
        next[v] = view->first_reader[v];
    }
    view->readers =
        ulp_arena_take(lint->arena, view->first_reader[graph->value_count] + 1, sizeof(int));
    for (size_t n = 0; n < graph->node_count && view->readers; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count; i++)
            add_read(view, next, node->inputs[i], (int)n);
        for (size_t a = 0; a < node->attribute_count; a++) {
            const struct ulp_graph *body =
                node->attributes[a].kind == ULP_ATTRIBUTE_GRAPH ? node->attributes[a].graph : NULL;
            for (size_t v = 0; body && v < body->value_count; v++)
                add_read(view, next, body->values[v].outer, (int)n);
        }
    }
    return view->readers != NULL;
}

/* A tensor of an attribute's numbers, which a Constant may have in place of a tensor. */
static const struct ulp_tensor *make_constant(struct ulp_lint *lint,
                                              const struct ulp_attribute *attribute)
{
    const bool floats =
        attribute->kind == ULP_ATTRIBUTE_FLOAT || attribute->kind == ULP_ATTRIBUTE_FLOATS;
    const bool list =
        attribute->kind == ULP_ATTRIBUTE_FLOATS || attribute->kind == ULP_ATTRIBUTE_INTS;
    struct ulp_tensor *tensor = ulp_arena_take(lint->arena, 1, sizeof *tensor);
    if (!tensor) {
        lint->failed = true;
        return NULL;
    }
    const void *from = list     ? floats ? (const void *)attribute->floats : attribute->ints
                       : floats ? (const void *)&attribute->f
                                : &attribute->i;
    *tensor = ulp_tensor_list(floats ? ULP_TYPE_FLOAT : ULP_TYPE_INT64, from, list,
                              list ? attribute->count : 1);
    return tensor;
}

static const struct ulp_tensor *read_constant(struct ulp_lint *lint, const struct ulp_node *node)
{
    for (size_t a = 0; a < node->attribute_count; a++) {
        const struct ulp_attribute *attribute = &node->attributes[a];
        if (attribute->kind == ULP_ATTRIBUTE_TENSOR && strcmp(attribute->name, "value") == 0)
            return attribute->tensor;
        if (attribute->kind == ULP_ATTRIBUTE_FLOAT || attribute->kind == ULP_ATTRIBUTE_FLOATS ||
            attribute->kind == ULP_ATTRIBUTE_INT || attribute->kind == ULP_ATTRIBUTE_INTS)
            return make_constant(lint, attribute);
    }
    return NULL;
}

/* |x| rounded to FP16 as doubles: only below 2^-14, where its grid is 2^-24. */
static void add_figures(struct ulp_lint_figures *figures, double x)
{
    const double magnitude = fabs(x);
    if (!isfinite(x)) {
        figures->nonfinite++;
        return;
    }
    if (magnitude == 0) {
        figures->zeros++;
        return;
    }
    figures->largest = ulp_math_max(figures->largest, magnitude);
    figures->smallest = ulp_math_min(figures->smallest, magnitude);
    figures->squares += x * x;
    if (magnitude >= 65520) {
        figures->overflowing++;
        figures->overflow_least = ulp_math_min(figures->overflow_least, magnitude);
    }
    if (magnitude < 0x1p-14) {
        const double error = magnitude - rint(magnitude * 0x1p24) * 0x1p-24;
        figures->vanishing += magnitude <= 0x1p-25;
        figures->subnormal += magnitude > 0x1p-25;
        figures->tiny_error += error * error;
    }
}

static const struct ulp_lint_figures *make_figures(struct ulp_lint *lint,
                                                   const struct ulp_tensor *tensor)
{
    struct ulp_format half;
    if (!tensor || !ulp_type_is_float(tensor->type) || !tensor->data || !tensor->count ||
        ulp_format_find("fp16", &half, NULL) != ULP_OK)
        return NULL;
    struct ulp_lint_figures *figures = ulp_arena_take(lint->arena, 1, sizeof *figures);
    if (!figures) {
        lint->failed = true;
        return NULL;
    }
    *figures = (struct ulp_lint_figures){.count = tensor->count,
                                         .smallest = INFINITY,
                                         .overflow_least = INFINITY};
    if (tensor->element == ULP_ELEMENT_F32 || tensor->element == ULP_ELEMENT_STORED) {
        float values[1024];
        const size_t room = sizeof values / sizeof *values;
        for (size_t first = 0, count; first < tensor->count; first += count) {
            count = tensor->count - first < room ? tensor->count - first : room;
            ulp_floats_read(tensor, first, count, values);
            for (size_t i = 0; i < count; i++)
                add_figures(figures, values[i]);
        }
        ulp_model_give_back(lint->model, tensor);
    } else if (tensor->element == ULP_ELEMENT_F64) {
        const double *values = tensor->data;
        for (size_t i = 0; i < tensor->count; i++) {
            add_figures(figures, values[i]);
            figures->rounded_twice +=
                isfinite(values[i]) &&
                ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, (float)values[i], 0, 0) !=
                    ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, values[i], 0, 0);
        }
    }
    return figures;
}

static enum ulp_status fill_graph(struct ulp_lint *lint, struct ulp_lint_graph *view,
                                  struct ulp_error *error)
{
    const struct ulp_graph *graph = view->graph;
    const size_t count = graph->value_count + 1;
    ULP_TAKE(view->types, lint->arena, count, error);
    ULP_TAKE(view->constants, lint->arena, count, error);
    ULP_TAKE(view->figures, lint->arena, count, error);
    ULP_TAKE(view->is_output, lint->arena, count, error);
    ULP_TRY(ulp_taken(find_readers(lint, view), error));
    for (size_t o = 0; o < graph->output_count; o++)
        if (graph->outputs[o] >= 0)
            view->is_output[graph->outputs[o]] = true;
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct ulp_value *value = &graph->values[v];
        view->constants[v] = value->overridable && lint->overriding ? NULL : value->initializer;
        if (value->outer >= 0 && view->parent)
            view->constants[v] = view->parent->constants[value->outer];
        if (!view->constants[v] && value->producer >= 0) {
            const struct ulp_lint_place place = {view, &graph->nodes[value->producer]};
            if (ulp_lint_is(place, "Constant"))
                view->constants[v] = read_constant(lint, place.node);
        }
        if (view->constants[v] && !view->constants[v]->data)
            view->constants[v] = NULL; /* strings */
        view->figures[v] = value->outer >= 0 && view->parent
                               ? view->parent->figures[value->outer]
                               : make_figures(lint, view->constants[v]);
    }
    /* behind Identity: in the order of nodes, so that chains follow */
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_lint_place place = {view, &graph->nodes[n]};
        const int in = ulp_lint_is(place, "Identity") ? ulp_lint_input(place, 0) : -1,
                  out = ulp_lint_output(place, 0);
        if (in >= 0 && out >= 0 && view->constants[in]) {
            view->constants[out] = view->constants[in];
            view->figures[out] = view->figures[in];
        }
    }
    ulp_lint_infer(lint, view);
    for (size_t v = 0; v < graph->value_count; v++)
        lint->declares_half |= ulp_lint_is_half(view->types[v]);
    return ULP_OK;
}

static enum ulp_status list_places(struct ulp_lint *lint, struct ulp_error *error)
{
    size_t count = 0;
    lint->places = ulp_arena_take(lint->arena, lint->node_count + 1, sizeof *lint->places);
    lint->names.budget = ulp_arena_budget(lint->arena);
    for (size_t g = 0; g < lint->graph_count && lint->places; g++) {
        lint->graphs[g].first_place = count;
        for (size_t n = 0; n < lint->graphs[g].graph->node_count; n++) {
            const struct ulp_node *node = &lint->graphs[g].graph->nodes[n];
            lint->places[count] = (struct ulp_lint_place){&lint->graphs[g], node};
            if (!lint->graphs[g].function && ulp_names_find(&lint->names, node->name) < 0 &&
                !ulp_names_add(&lint->names, node->name, (int)count))
                return ulp_out_of_memory(error);
            count++;
        }
    }
    return ulp_taken(lint->places, error);
}

enum ulp_status ulp_lint_view(struct ulp_lint *lint, struct ulp_error *error)
{
    ULP_TRY(find_graphs(lint, error));
    for (size_t g = 0; g < lint->graph_count; g++)
        ULP_TRY(fill_graph(lint, &lint->graphs[g], error));
    ULP_TRY(list_places(lint, error));
    return lint->failed ? ulp_out_of_memory(error) : ULP_OK;
}
