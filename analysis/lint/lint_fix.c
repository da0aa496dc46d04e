/* Mending what rules find without inputs: a copy of the model's file in which nodes are replaced by
 * the operator that they are, and constants by such as FP16 holds. Main graph only. */
#include <math.h>

#include "analysis/lint/lint.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "load/mixed/edit_file.h"
#include "number/function/math.h"
#include "run/idiom/idiom.h"
#include "tensor/tensor.h"

/* What stands for a mask from now on, and for an epsilon: FP16's least normal number. */
#define MASK -1e4
#define EPSILON 0x1p-14

struct fixing {
    struct ulp_lint *lint;
    bool allow; /* edits that change what is computed in exact arithmetic */
    struct ulp_edit *edits;
    struct ulp_lint_edit *said;
    size_t count, edit_capacity, said_capacity, left;
};

static void add(struct fixing *f, const struct ulp_edit *edit, const char *rule,
                struct ulp_lint_place place, bool exact, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
static void add(struct fixing *f, const struct ulp_edit *edit, const char *rule,
                struct ulp_lint_place place, bool exact, const char *format, ...)
{
    struct ulp_lint *lint = f->lint;
    struct ulp_text text = {0};
    va_list list;
    if (!exact && !f->allow) {
        f->left++;
        return;
    }
    va_start(list, format);
    ulp_text_show_list(&text, format, list);
    va_end(list);
    const char *kept =
        text.data && !text.failed ? ulp_arena_text(lint->arena, text.data, text.length) : NULL;
    ulp_text_free(&text);
    if (!kept ||
        !ulp_plan_grow(lint->arena, &f->edits, f->count, &f->edit_capacity, sizeof *f->edits) ||
        !ulp_plan_grow(lint->arena, &f->said, f->count, &f->said_capacity, sizeof *f->said)) {
        lint->failed = true;
        return;
    }
    f->edits[f->count] = *edit;
    f->said[f->count++] = (struct ulp_lint_edit){.rule = rule,
                                                 .node = place.node->name,
                                                 .text = kept,
                                                 .exact = exact};
}

/* ---- operators written out as several nodes ---- */

/* The number of a slot of the main block in the main graph; -1: it has none. */
static int find_value(const struct ulp_lint *lint, const struct ulp_block *block, int slot)
{
    const struct ulp_graph *graph = lint->model->graph;
    for (size_t v = 0; slot >= 0 && v < graph->value_count; v++)
        if (strcmp(graph->values[v].name, block->slots[slot].name) == 0)
            return (int)v;
    return -1;
}

/* Scale and bias of a normalisation are of the normalised axes alone. */
static bool fits(const struct ulp_block *block, const struct ulp_idiom *idiom, int hole)
{
    const struct ulp_tensor *x = &block->slots[idiom->holes[ULP_IDIOM_X]].shape;
    if (idiom->holes[hole] < 0)
        return true;
    const struct ulp_tensor *parameter = block->slots[idiom->holes[hole]].constant;
    return parameter && parameter->rank <= x->rank - idiom->axis && parameter->type == x->type;
}

static bool normalises_last(const struct ulp_block *block, const struct ulp_idiom *idiom)
{
    const struct ulp_tensor *x = &block->slots[idiom->holes[ULP_IDIOM_X]].shape;
    const uint32_t all = (UINT32_C(1) << x->rank) - 1, before = (UINT32_C(1) << idiom->axis) - 1;
    return idiom->axes == (all & ~before) && idiom->holes[ULP_IDIOM_GAMMA] >= 0 &&
           fits(block, idiom, ULP_IDIOM_GAMMA) && fits(block, idiom, ULP_IDIOM_BETA);
}

/* The operators that idioms are, and what the graph must have for them. */
static const struct operator_row {
    enum ulp_idiom_kind kind;
    const char *rule, *op, *approximate;
    int opset;
    bool normalises, axis;
} operator_rows[] = {
    {ULP_IDIOM_LAYER_NORM, "decomposed-layernorm", "LayerNormalization", NULL, 17, true, true},
    {ULP_IDIOM_RMS_NORM, "decomposed-rmsnorm", "RMSNormalization", NULL, 23, true, true},
    {ULP_IDIOM_GELU_ERF, "decomposed-gelu", "Gelu", NULL, 20, false, false},
    {ULP_IDIOM_GELU_TANH, "decomposed-gelu", "Gelu", "tanh", 20, false, false},
    {ULP_IDIOM_SOFTMAX, "decomposed-softmax", "Softmax", NULL, 13, false, true},
};

static void replace_idiom(struct fixing *f, const struct ulp_block *block,
                          const struct ulp_idiom *idiom, const struct operator_row *row)
{
    static const int holes[] = {ULP_IDIOM_X, ULP_IDIOM_GAMMA, ULP_IDIOM_BETA};
    const struct ulp_step *root = &block->steps[idiom->root];
    const struct ulp_tensor *x = &block->slots[idiom->holes[ULP_IDIOM_X]].shape,
                            *y = &block->slots[root->outputs[0]].shape;
    struct ulp_edit edit = {.node = root->node,
                            .op = row->op,
                            .approximate = row->approximate,
                            .has_axis = row->axis,
                            .axis = idiom->axis,
                            .has_epsilon = row->normalises,
                            .epsilon = (float)idiom->epsilon};
    if (root->call || ulp_model_opset(f->lint->model, "") < row->opset ||
        x->type == ULP_TYPE_UNDEFINED || x->type != y->type || !ulp_tensor_same_shape(x, y) ||
        idiom->step_count < 2 || (row->axis && idiom->axis < 0) ||
        (row->normalises && !normalises_last(block, idiom)) ||
        (row->axis && !row->normalises && idiom->axes != UINT32_C(1) << idiom->axis))
        return;
    for (int i = 0; i < (row->normalises ? 3 : 1) && idiom->holes[holes[i]] >= 0; i++) {
        edit.inputs[edit.input_count++] = find_value(f->lint, block, idiom->holes[holes[i]]);
        if (edit.inputs[i] < 0)
            return;
    }
    const struct ulp_lint_place place = {&f->lint->graphs[0], root->node};
    add(f, &edit, row->rule, place, true, "%zu nodes are one %s", idiom->step_count, row->op);
}

static void replace_idioms(struct fixing *f)
{
    const struct ulp_lint *lint = f->lint;
    for (size_t b = 0; b < lint->idiom_block_count; b++)
        for (size_t i = 0; i < lint->idioms[b].count && !lint->idioms[b].block->parent; i++)
            for (size_t r = 0; r < sizeof operator_rows / sizeof *operator_rows; r++)
                if (lint->idioms[b].items[i].kind == operator_rows[r].kind)
                    replace_idiom(f, lint->idioms[b].block, &lint->idioms[b].items[i],
                                  &operator_rows[r]);
}

/* ---- nodes and constants ---- */

static void replace_log(struct fixing *f, struct ulp_lint_place place)
{
    const struct ulp_lint_place softmax = ulp_lint_source(place, 0);
    const struct ulp_attribute *axis =
        softmax.node ? ulp_node_attribute(softmax.node, "axis") : NULL;
    if (!ulp_lint_is(place, "Log") || !ulp_lint_is(softmax, "Softmax"))
        return;
    const struct ulp_edit edit = {.node = place.node,
                                  .op = "LogSoftmax",
                                  .inputs = {ulp_lint_input(softmax, 0)},
                                  .input_count = 1,
                                  .has_axis = axis && axis->kind == ULP_ATTRIBUTE_INT,
                                  .axis = axis ? axis->i : 0};
    add(f, &edit, "log-of-softmax", place, true, "the logarithm of '%s' is one LogSoftmax",
        softmax.node->name);
}

/* Of the main graph's values, as they are planned; 0: it is not known. */
static int find_rank(const struct ulp_lint *lint, const char *name)
{
    const struct ulp_block *block = lint->plan ? lint->plan->main : NULL;
    for (size_t s = 0; block && s < block->slot_count; s++)
        if (strcmp(block->slots[s].name, name) == 0)
            return block->slots[s].shape.type == ULP_TYPE_UNDEFINED ? 0
                                                                    : block->slots[s].shape.rank;
    return 0;
}

/* A scale of one dimension gives one to the product of two vectors, but not to either. */
static bool keeps_rank(const struct ulp_lint *lint, struct ulp_lint_place product,
                       const struct ulp_tensor *scale)
{
    bool matrix = false;
    for (size_t i = 0; i < 2; i++)
        matrix |=
            find_rank(lint, ulp_lint_value_name(product.graph, ulp_lint_input(product, i))) >= 2;
    return scale->rank == 0 || (scale->rank == 1 && matrix);
}

/* (q @ k) * c becomes (q * c) @ k: the product's node scales, the scale's multiplies. */
static void move_scale(struct fixing *f, struct ulp_lint_place place)
{
    int constant;
    if (!ulp_lint_scales_late(place, &constant))
        return;
    const struct ulp_lint_place product = ulp_lint_source(place, (size_t)(1 - constant));
    const struct ulp_tensor *scale =
        ulp_lint_constant(place.graph, ulp_lint_input(place, (size_t)constant));
    if (product.graph != place.graph || !scale || !keeps_rank(f->lint, product, scale))
        return;
    const struct ulp_edit first = {.node = product.node,
                                   .op = place.node->op_type,
                                   .inputs = {ulp_lint_input(product, 0),
                                              ulp_lint_input(place, (size_t)constant)},
                                   .input_count = 2},
                          second = {.node = place.node,
                                    .op = "MatMul",
                                    .inputs = {ulp_lint_output(product, 0),
                                               ulp_lint_input(product, 1)},
                                    .input_count = 2};
    add(f, &first, "scale-after-product", product, true, "scales the first factor now");
    add(f, &second, "scale-after-product", place, true, "is the product now");
}

/* change NULL: the elements are not set yet. */
static struct ulp_tensor *change_constant(struct fixing *f, const struct ulp_tensor *from,
                                          double (*change)(double))
{
    struct ulp_tensor *to = ulp_arena_take(f->lint->arena, 1, sizeof *to);
    float *data = ulp_arena_take(f->lint->arena, from->count + 1, sizeof *data);
    f->lint->failed |= !to || !data;
    if (!to || !data)
        return NULL;
    *to = *from;
    to->data = data;
    for (size_t i = 0; change && i < from->count; i++)
        data[i] = (float)change(ulp_tensor_get(from, i));
    return to;
}

static double raise_epsilon(double x)
{
    return copysign(EPSILON, x);
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

/* Is it read once, and not returned? */
static bool is_own(const struct ulp_lint_graph *graph, int value)
{
    return is_stored(graph, value) && !graph->is_output[value] &&
           ulp_lint_reader_count(graph, value) == 1;
}

/* A variance beyond FP16: it becomes 1 less the epsilon, and the scale is divided by the deviation
 * that it was. What FP32 rounds of that is below 1e-6 of the output. */
static void replace_variance(struct fixing *f, struct ulp_lint_place place)
{
    enum { SCALE = 1, BIAS, MEAN, VARIANCE };
    const struct ulp_attribute *attribute =
        ulp_lint_is(place, "BatchNormalization") ? ulp_node_attribute(place.node, "epsilon") : NULL;
    const double epsilon =
        attribute && attribute->kind == ULP_ATTRIBUTE_FLOAT ? (double)attribute->f : 1e-5;
    const int scale = ulp_lint_is(place, "BatchNormalization") ? ulp_lint_input(place, SCALE) : -1,
              variance = scale < 0 ? -1 : ulp_lint_input(place, VARIANCE);
    const struct ulp_tensor *old = variance < 0 ? NULL : ulp_lint_constant(place.graph, variance),
                            *factors = scale < 0 ? NULL : ulp_lint_constant(place.graph, scale);
    if (!is_own(place.graph, scale) || !is_own(place.graph, variance) || !old || !factors ||
        old->element != ULP_ELEMENT_F32 || factors->element != ULP_ELEMENT_F32 ||
        old->count != factors->count || !ulp_lint_figures(place.graph, variance)->overflowing ||
        ulp_lint_int(place, "training_mode", 0))
        return;
    const struct ulp_edit edits[] = {{.value = scale, .tensor = change_constant(f, factors, NULL)},
                                     {.value = variance, .tensor = change_constant(f, old, NULL)}};
    for (size_t i = 0; i < old->count && !f->lint->failed; i++) {
        const double deviation = sqrt(ulp_tensor_get(old, i) + epsilon);
        ((float *)edits[0].tensor->data)[i] = (float)(ulp_tensor_get(factors, i) / deviation);
        ((float *)edits[1].tensor->data)[i] = (float)(1 - epsilon);
    }
    if (f->lint->failed)
        return;
    add(f, &edits[0], "constant-beyond-fp16", place, true,
        "the scale '%s' is divided by the deviations", ulp_lint_value_name(place.graph, scale));
    add(f, &edits[1], "constant-beyond-fp16", place, true,
        "the variance '%s', which reaches %.3g, is 1 less the epsilon",
        ulp_lint_value_name(place.graph, variance),
        ulp_lint_figures(place.graph, variance)->largest);
}

/* Is every reader one of these operators? */
static bool is_read_by(const struct ulp_lint_graph *graph, int value, const char *const *ops)
{
    bool all = ulp_lint_reader_count(graph, value) > 0;
    for (size_t i = 0; i < ulp_lint_reader_count(graph, value); i++)
        all &= ulp_lint_is_any(ulp_lint_reader(graph, value, i), ops);
    return all;
}

static bool protects_alone(struct fixing *f, const struct ulp_lint_graph *graph, int value)
{
    bool all = ulp_lint_reader_count(graph, value) > 0;
    for (size_t i = 0; i < ulp_lint_reader_count(graph, value); i++) {
        double epsilon;
        all &= ulp_lint_epsilon(f->lint, ulp_lint_reader(graph, value, i), &epsilon);
    }
    return all;
}

static void replace_constant(struct fixing *f, const struct ulp_lint_graph *graph, int value)
{
    static const char *const masking[] = {"Add", "Sub", "Mul", "Where", NULL};
    const struct ulp_tensor *constant = ulp_lint_constant(graph, value);
    const struct ulp_lint_figures *figures = ulp_lint_figures(graph, value);
    if (!constant || !figures || constant->element != ULP_ELEMENT_F32 ||
        !ulp_lint_in_half(f->lint, constant->type) || !ulp_lint_reader_count(graph, value) ||
        graph->is_output[value])
        return;
    const struct ulp_lint_place reader = ulp_lint_reader(graph, value, 0);
    struct ulp_edit edit = {.value = value};
    double most = -INFINITY;
    for (size_t i = 0; figures->overflowing && i < constant->count; i++)
        most = ulp_math_max(most, ulp_tensor_get(constant, i));
    if (constant->count == 1 && figures->vanishing && protects_alone(f, graph, value)) {
        edit.tensor = change_constant(f, constant, raise_epsilon);
        if (edit.tensor)
            add(f, &edit, "eps-zero", reader, false, "epsilon '%s' is %g instead of %g",
                ulp_lint_value_name(graph, value), EPSILON, ulp_tensor_get(constant, 0));
    } else if (figures->overflowing && most <= 0 && figures->largest >= 1e6 &&
               is_read_by(graph, value, masking)) {
        edit.tensor = change_constant(f, constant, bound_mask);
        if (edit.tensor)
            add(f, &edit, "constant-beyond-fp16", reader, false,
                "%zu of %zu elements of mask '%s' are %g", figures->overflowing, constant->count,
                ulp_lint_value_name(graph, value), MASK);
    }
}

static enum ulp_status fix(struct fixing *f, const char *path, struct ulp_error *error)
{
    struct ulp_lint *lint = f->lint;
    const enum ulp_status status = ulp_lint_view(lint, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_lint_graph *main = &lint->graphs[0];
    for (size_t n = 0; n < main->graph->node_count; n++) {
        const struct ulp_lint_place place = {main, &main->graph->nodes[n]};
        if (n == 0)
            ulp_lint_in_idiom(lint, place); /* finds them */
        replace_log(f, place);
        move_scale(f, place);
        replace_variance(f, place);
    }
    replace_idioms(f);
    for (size_t v = 0; v < main->graph->value_count; v++)
        if (is_stored(main, (int)v))
            replace_constant(f, main, (int)v);
    if (lint->failed)
        return ulp_out_of_memory(error);
    return f->count ? ulp_edit_file(lint->model, f->edits, f->count, path, error) : ULP_OK;
}

enum ulp_status ulp_lint_fix(const struct ulp_model *model, const struct ulp_lint_options *options,
                             const char *path, bool allow_value_change, struct ulp_lint_fixed *out,
                             struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    static const struct ulp_lint_options defaults;
    struct ulp_lint lint = {.model = model, .options = options ? options : &defaults};
    struct fixing f = {.lint = &lint, .allow = allow_value_change};
    lint.targets = ULP_TARGET_ALL;
    *out = (struct ulp_lint_fixed){0};
    enum ulp_status status = ulp_arena_create(&lint.arena, ulp_model_budget(model), error);
    out->memory = lint.arena;
    if (status == ULP_OK)
        status = fix(&f, path, error);
    ulp_plan_free(lint.plan);
    ulp_names_free(&lint.names);
    out->edits = f.said;
    out->edit_count = f.count;
    out->left_count = f.left;
    if (status != ULP_OK)
        ulp_lint_fixed_free(out);
    return status;
}

void ulp_lint_fixed_free(struct ulp_lint_fixed *fixed)
{
    ulp_arena_free(fixed->memory);
    *fixed = (struct ulp_lint_fixed){0};
}
