/* Mending what rules find without inputs: a copy of the model's file in which nodes are replaced by
 * the operator that they are, and constants by such as FP16 holds: in the main graph and in bodies,
 * not in functions, whose calls may differ. */
#include <math.h>

#include "analysis/lint/proposal.h"
#include "number/function/math.h"

#define MASK -1e4 /* what stands for a mask from now on */

const char *ulp_lint_edit_rule(size_t index)
{
    static const char *const rules[] = {"constant-beyond-fp16", "eps-zero",       "length-in-float",
                                        "outlier-channel",      "bytes-saturate", ULP_POWERS_RULE};
    const size_t count = sizeof rules / sizeof *rules;
    return index < count ? rules[index] : ulp_lint_rewrite_rule(index - count);
}

bool ulp_lint_has_edit(const char *found)
{
    const char *rule;
    for (size_t r = 0; found && (rule = ulp_lint_edit_rule(r)); r++)
        if (strcmp(rule, found) == 0)
            return true;
    return false;
}

/* ---- nodes and constants ---- */

/* change NULL: the elements are not set yet. */
static struct ulp_tensor *change_constant(struct ulp_lint_proposals *p,
                                          const struct ulp_tensor *from, double (*change)(double))
{
    struct ulp_tensor *to = ulp_arena_take(p->lint.arena, 1, sizeof *to);
    float *data = ulp_arena_take(p->lint.arena, from->count + 1, sizeof *data);
    p->lint.failed |= !to || !data;
    if (!to || !data)
        return NULL;
    *to = *from;
    to->data = data;
    for (size_t i = 0; change && i < from->count; i++)
        data[i] = (float)change(ulp_tensor_get(from, i));
    return to;
}

static double bound_mask(double x)
{
    return x < -65504 ? MASK : x;
}

/* Has the file its elements under that name? (A constant may also come through Identity.) */
static bool is_stored(const struct ulp_lint_graph *graph, int value)
{
    return value >= 0 && (graph->graph->values[value].initializer ||
                          ulp_lint_is(ulp_lint_producer(graph, value), "Constant"));
}

/* Where the value is stored, when it is read once, and not returned; NULL: it is not. */
static const struct ulp_lint_graph *find_own(const struct ulp_lint_graph *graph, int *value)
{
    while (*value >= 0 && !graph->is_output[*value] && ulp_lint_reader_count(graph, *value) == 1) {
        const int outer = graph->graph->values[*value].outer;
        if (outer < 0 || !graph->parent)
            return is_stored(graph, *value) ? graph : NULL;
        *value = outer;
        graph = graph->parent;
    }
    return NULL;
}

/* A variance beyond FP16: it becomes 1 less the epsilon, and the scale is divided by the deviation
 * that it was. What FP32 rounds of that is below 1e-6 of the output. */
static void replace_variance(struct ulp_lint_proposals *p, struct ulp_lint_place place)
{
    enum { SCALE = 1, BIAS, MEAN, VARIANCE };
    const bool is = ulp_lint_is(place, "BatchNormalization");
    const double epsilon = is ? ulp_node_float(place.node, "epsilon", 1e-5) : 0;
    int scale = is ? ulp_lint_input(place, SCALE) : -1,
        variance = is ? ulp_lint_input(place, VARIANCE) : -1;
    const struct ulp_tensor *old = ulp_lint_constant(place.graph, variance),
                            *factors = ulp_lint_constant(place.graph, scale);
    const struct ulp_lint_graph *of_scale = find_own(place.graph, &scale),
                                *of_variance = find_own(place.graph, &variance);
    if (!of_scale || !of_variance || !old || !factors || old->element != ULP_ELEMENT_F32 ||
        factors->element != ULP_ELEMENT_F32 || old->count != factors->count ||
        !ulp_lint_figures(of_variance, variance)->overflowing ||
        ulp_lint_int(place, "training_mode", 0))
        return;
    const struct ulp_edit edits[] = {
        {.graph = of_scale->graph, .value = scale, .tensor = change_constant(p, factors, NULL)},
        {.graph = of_variance->graph, .value = variance, .tensor = change_constant(p, old, NULL)}};
    for (size_t i = 0; i < old->count && !p->lint.failed; i++) {
        const double deviation = sqrt(ulp_tensor_get(old, i) + epsilon);
        ((float *)edits[0].tensor->data)[i] = (float)(ulp_tensor_get(factors, i) / deviation);
        ((float *)edits[1].tensor->data)[i] = (float)(1 - epsilon);
    }
    if (p->lint.failed)
        return;
    ulp_lint_propose_edit(
        p, &edits[0], "constant-beyond-fp16", place, true,
        "the scale '%s' is divided by the deviations, for the variance '%s', which reaches %.3g, "
        "is 1 less the epsilon",
        ulp_lint_value_name(of_scale, scale), ulp_lint_value_name(of_variance, variance),
        ulp_lint_figures(of_variance, variance)->largest);
    ulp_lint_propose_more(p, &edits[1]);
}

/* Does it hold of every node that reads the value, in bodies, too? *first: the first of them. */
static bool of_readers(const struct ulp_lint *lint, const struct ulp_lint_graph *graph, int value,
                       bool (*holds)(const struct ulp_lint *, struct ulp_lint_place),
                       struct ulp_lint_place *first)
{
    bool all = !graph->is_output[value];
    for (size_t i = 0; i < ulp_lint_reader_count(graph, value) && all; i++) {
        const struct ulp_lint_place reader = ulp_lint_reader(graph, value, i);
        bool own = false;
        for (size_t in = 0; in < reader.node->input_count; in++)
            own |= reader.node->inputs[in] == value;
        if (own && !first->node)
            *first = reader;
        all = !own || holds(lint, reader);
        for (size_t g = 0; g < lint->graph_count && all; g++) {
            const struct ulp_lint_graph *body = &lint->graphs[g];
            for (size_t v = 0; body->parent == graph && body->owner == reader.node && all &&
                               v < body->graph->value_count;
                 v++)
                if (body->graph->values[v].outer == value)
                    all = of_readers(lint, body, (int)v, holds, first);
        }
    }
    return all;
}

static bool masks(const struct ulp_lint *lint, struct ulp_lint_place place)
{
    (void)lint;
    return ulp_lint_is_any(place, "Add Sub Mul Where");
}

static bool protects(const struct ulp_lint *lint, struct ulp_lint_place place)
{
    double epsilon;
    return ulp_lint_epsilon(lint, place, &epsilon);
}

static void replace_constant(struct ulp_lint_proposals *p, const struct ulp_lint_graph *graph,
                             int value)
{
    const struct ulp_lint *lint = &p->lint;
    const struct ulp_tensor *constant = ulp_lint_constant(graph, value);
    const struct ulp_lint_figures *figures = ulp_lint_figures(graph, value);
    if (!constant || !figures || constant->element != ULP_ELEMENT_F32 ||
        !ulp_lint_in_half(lint, constant->type) || !ulp_lint_reader_count(graph, value))
        return;
    struct ulp_lint_place reader = {0};
    struct ulp_edit edit = {.graph = graph->graph, .value = value};
    double most = -INFINITY;
    for (size_t i = 0; figures->overflowing && i < constant->count; i++)
        most = ulp_math_max(most, ulp_tensor_get(constant, i));
    if (constant->count == 1 && figures->vanishing &&
        of_readers(lint, graph, value, protects, &reader)) {
        edit.tensor = change_constant(p, constant, NULL);
        if (edit.tensor)
            *(float *)edit.tensor->data = (float)copysign(p->epsilon, ulp_tensor_get(constant, 0));
        if (edit.tensor)
            ulp_lint_propose_edit(p, &edit, "eps-zero", reader, false,
                                  "epsilon '%s' is %g instead of %g",
                                  ulp_lint_value_name(graph, value), p->epsilon,
                                  ulp_tensor_get(constant, 0));
    } else if (figures->overflowing && most <= 0 && figures->largest >= 1e6 &&
               of_readers(lint, graph, value, masks, &reader)) {
        edit.tensor = change_constant(p, constant, bound_mask);
        if (edit.tensor)
            ulp_lint_propose_edit(p, &edit, "constant-beyond-fp16", reader, false,
                                  "%zu of %zu elements of mask '%s' are %g", figures->overflowing,
                                  constant->count, ulp_lint_value_name(graph, value), MASK);
    }
}

static void look_for_proposals(struct ulp_lint_proposals *p)
{
    ulp_lint_plan(&p->lint);
    if (p->lint.failed)
        return;
    for (size_t n = 0; n < p->lint.node_count; n++)
        if (!p->lint.places[n].graph->function)
            replace_variance(p, p->lint.places[n]);
    for (enum ulp_rewrite_turn turn = 0; turn < ULP_REWRITE_NODES; turn++)
        ulp_lint_rewrite(p, turn);
    ulp_lint_whole_numbers(p);
    ulp_lint_unsign_weights(p);
    ulp_lint_rewrite(p, ULP_REWRITE_NODES);
    for (size_t g = 0; g < p->lint.graph_count; g++)
        for (size_t v = 0; v < p->lint.graphs[g].graph->value_count; v++)
            if (!p->lint.graphs[g].function && is_stored(&p->lint.graphs[g], (int)v))
                replace_constant(p, &p->lint.graphs[g], (int)v);
}

enum ulp_status ulp_lint_propose(const struct ulp_model *model,
                                 const struct ulp_lint_options *options, double epsilon,
                                 struct ulp_lint_proposals *out, struct ulp_error *error)
{
    static const struct ulp_lint_options defaults;
    *out = (struct ulp_lint_proposals){.lint = {.model = model,
                                                .options = options ? options : &defaults,
                                                .targets = ULP_TARGET_ALL,
                                                .overriding = true},
                                       .epsilon = epsilon};
    enum ulp_status status = ulp_arena_create(&out->lint.arena, ulp_model_budget(model), error);
    ULP_THEN(status, ulp_lint_view(&out->lint, error));
    if (status == ULP_OK)
        out->covered =
            ulp_arena_take(out->lint.arena, out->lint.node_count + 1, sizeof *out->covered);
    if (status == ULP_OK && out->covered)
        look_for_proposals(out);
    out->lint.failed |= status == ULP_OK && !out->covered;
    return status == ULP_OK && out->lint.failed ? ulp_out_of_memory(error) : status;
}

void ulp_lint_proposals_free(struct ulp_lint_proposals *proposals)
{
    ulp_lint_free_plans(&proposals->lint);
    ulp_names_free(&proposals->lint.names);
    ulp_arena_free(proposals->lint.arena);
    *proposals = (struct ulp_lint_proposals){0};
}

enum ulp_status ulp_lint_load_edited(const struct ulp_lint_proposals *proposals, const bool *taken,
                                     bool written, struct ulp_model **out, struct ulp_error *error)
{
    size_t count = 0;
    *out = NULL;
    ULP_TAKE_ARRAY(struct ulp_edit, edits, proposals->lint.arena, proposals->edit_count + 1, error);
    for (size_t i = 0; i < proposals->count; i++)
        for (size_t e = 0; taken[i] && e < proposals->items[i].edit_count; e++)
            edits[count++] = proposals->edits[proposals->items[i].first + e];
    return ulp_edit_load(proposals->lint.model, edits, count, written, out, error);
}
