/* Once all readers of a graph's values are known: a Cast for each further type that a value is read
 * in, constants in their types, and the names that readers use. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/mixed/writer.h"
#include "ops/wide.h"
#include "tensor/tensor.h"

static const char *suffix(enum ulp_type type)
{
    return ulp_type_rows[type].format;
}

/* ---- constants of nodes ---- */

/* One number, or a list of them, as a tensor. */
static struct ulp_tensor *make_tensor(struct editor *editor, const float *values, size_t count,
                                      int rank)
{
    struct ulp_tensor *tensor = ulp_arena_take(editor->arena, 1, sizeof *tensor);
    if (tensor)
        *tensor = ulp_tensor_list(ULP_TYPE_FLOAT, values, rank, count);
    return tensor;
}

/* A value that a call of the function gives is converted by Casts only. */
static enum ulp_type referred_type(const struct mixed_scope *scope, const char *name)
{
    const struct ulp_node *call = scope->call ? scope->call->node : NULL;
    const struct ulp_attribute *given = call ? ulp_node_attribute(call, name) : NULL;
    const struct ulp_function *function =
        call ? ulp_function_find(scope->editor->model, call) : NULL;
    if (!given && function)
        given = ulp_function_default(function, name);
    return !given          ? ULP_TYPE_UNDEFINED
           : given->tensor ? given->tensor->type
           : given->kind == ULP_ATTRIBUTE_FLOAT || given->kind == ULP_ATTRIBUTE_FLOATS
               ? ULP_TYPE_FLOAT
               : ULP_TYPE_UNDEFINED;
}

enum ulp_status mixed_visit_constant(struct mixed_scope *scope, const struct ulp_node *node,
                                     Ulp__NodeProto *proto)
{
    static const float zero = 0;
    const struct ulp_attribute *given = node->attribute_count ? &node->attributes[0] : NULL;
    const struct ulp_tensor *tensor = NULL;
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    bool numbers = false;
    if (!given)
        tensor = make_tensor(scope->editor, &zero, 1, 1);
    else if (given->reference)
        type = referred_type(scope, given->reference);
    else if (given->tensor)
        tensor = given->tensor;
    else if (given->kind == ULP_ATTRIBUTE_FLOAT)
        tensor = make_tensor(scope->editor, &given->f, 1, 0);
    else if (given->kind == ULP_ATTRIBUTE_FLOATS)
        tensor = make_tensor(scope->editor, given->floats, given->count, 1);
    numbers = !given || given->kind == ULP_ATTRIBUTE_FLOAT || given->kind == ULP_ATTRIBUTE_FLOATS;
    if (numbers && !tensor && (!given || !given->reference))
        return ulp_out_of_memory(scope->editor->error);
    if (tensor)
        type = tensor->type;
    mixed_set_output(scope, node, proto, 0, type, type);
    if (node->outputs[0] >= 0 && tensor && mixed_is_float(type) &&
        !ulp_op_is_wide(node, scope->opset, scope->mixed->request->low, 0) &&
        (!given || strcmp(given->name, "sparse_value") != 0)) {
        scope->values[node->outputs[0]].kind = MIXED_CONSTANT;
        scope->values[node->outputs[0]].tensor = tensor;
    }
    return ULP_OK;
}

/* ---- further types of a value ---- */

static bool is_transposed(const struct mixed_scope *scope, const struct mixed_value *value)
{
    return scope->mixed->request->casts_first && value->producer && !value->tensor &&
           value->producer->n_input == 1 && value->producer->op_type.len == strlen("Transpose") &&
           memcmp(value->producer->op_type.data, "Transpose", strlen("Transpose")) == 0;
}

static enum ulp_status add_cast(struct mixed_scope *scope, const struct mixed_value *value,
                                const char *from, const char *to, enum ulp_type type)
{
    struct editor *editor = scope->editor;
    const size_t position = (size_t)(value->position + 1);
    const bool turns = is_transposed(scope, value);
    const char *cast = to, *name;
    Ulp__NodeProto *node;
    if (turns) {
        from = edit_text(editor, value->producer->input[0]);
        ULP_TRY(ulp_taken(from, editor->error));
        ULP_TRY(edit_fresh(editor, to, "before", &cast));
    }
    ULP_TRY(edit_fresh(editor, cast, "cast", &name));
    ULP_TRY(edit_add_node(editor, scope->graph, position, "Cast", (const char *const[]){from, NULL},
                          cast, &node));
    ULP_TRY(edit_set_text(editor, &node->name, name));
    ULP_TRY(edit_set_number(editor, node, "to", (int64_t)type));
    scope->mixed->written->casts++;
    if (!turns)
        return ULP_OK;
    ULP_TRY(
        edit_add_clone(editor, scope->graph, position, value->producer, "transpose", to, &node));
    return edit_set_text(editor, &node->input[0], cast);
}

/* The constant once more, under a new name. */
static enum ulp_status add_constant(struct mixed_scope *scope, const struct mixed_value *value,
                                    enum ulp_type type, const char **name)
{
    struct editor *editor = scope->editor;
    ULP_TRY(edit_fresh(editor, value->name, suffix(type), name));
    scope->mixed->written->duplicated++;
    if (value->kind == MIXED_TENSOR) {
        Ulp__TensorProto *tensor;
        ULP_TRY(edit_new_tensor(editor, &tensor, *name, value->tensor, type));
        tensor->data_location = value->proto->data_location;
        tensor->has_data_location = tensor->data_location != 0;
        return edit_take(editor, &scope->graph->proto->initializer,
                         &scope->graph->proto->n_initializer, tensor);
    }
    Ulp__NodeProto *node;
    ULP_TRY(edit_add_clone(editor, scope->graph, (size_t)(value->position + 1), value->producer,
                           "constant", *name, &node));
    return edit_set_constant(editor, node, value->tensor, type);
}

static bool wants(const struct mixed_value *value, enum ulp_type type)
{
    for (const struct mixed_use *use = value->uses; use; use = use->next)
        if (use->type == type)
            return true;
    return false;
}

/* The type that has the value's own name: what the model's output asks for; of a constant that is
 * read in another type only, that one. */
static enum ulp_type first_type(const struct mixed_value *value)
{
    const bool constant = value->tensor != NULL;
    if (value->output != ULP_TYPE_UNDEFINED)
        return value->output;
    if (!constant || !value->uses || wants(value, value->declared))
        return value->held;
    enum ulp_type least = value->uses->type;
    for (const struct mixed_use *use = value->uses; use; use = use->next)
        least = use->type < least ? use->type : least;
    return least;
}

static enum ulp_status settle_constant(struct mixed_scope *scope, struct mixed_value *value)
{
    struct editor *editor = scope->editor;
    const enum ulp_type first = first_type(value);
    value->names[first] = value->name;
    for (int type = 0; type < ULP_TYPE_COUNT; type++)
        if (!value->names[type] && wants(value, (enum ulp_type)type))
            ULP_TRY(add_constant(scope, value, (enum ulp_type)type, &value->names[type]));
    if (first == value->declared)
        return ULP_OK;
    return value->kind == MIXED_TENSOR
               ? edit_convert(editor, value->proto, value->tensor, first)
               : edit_set_constant(editor, value->producer, value->tensor, first);
}

/* The wider value gets a name, and the narrow one its Cast; one that nobody reads leaves its own.
 */
static enum ulp_status settle_wide(struct mixed_scope *scope, struct mixed_value *value)
{
    struct mixed_value *wide = value->wide;
    if (!value->uses && value->output == ULP_TYPE_UNDEFINED) {
        value->names[value->held] = NULL;
        value->names[wide->held] = value->name;
    } else {
        ULP_TRY(edit_fresh(scope->editor, value->name, suffix(wide->held), &wide->name));
        ULP_TRY(edit_set_text(scope->editor, value->slot, wide->name));
        ULP_TRY(add_cast(scope, value, wide->name, value->names[value->held], value->held));
    }
    for (const struct mixed_use *use = wide->uses; use; use = use->next)
        ULP_TRY(edit_set_text(scope->editor, use->where, wide->name));
    return ULP_OK;
}

static enum ulp_status settle_computed(struct mixed_scope *scope, struct mixed_value *value)
{
    const enum ulp_type first = first_type(value);
    value->names[first] = value->name;
    if (first != value->held)
        ULP_TRY(edit_fresh(scope->editor, value->name, suffix(value->held),
                           &value->names[value->held]));
    if (value->wide)
        ULP_TRY(settle_wide(scope, value));
    else if (first != value->held)
        ULP_TRY(edit_set_text(scope->editor, value->slot, value->names[value->held]));
    return first == value->held
               ? ULP_OK
               : add_cast(scope, value, value->names[value->held], value->name, first);
}

static enum ulp_status settle_value(struct mixed_scope *scope, struct mixed_value *value)
{
    ULP_TRY(value->tensor ? settle_constant(scope, value) : settle_computed(scope, value));
    for (int type = 0; type < ULP_TYPE_COUNT; type++) {
        if (value->names[type] || !wants(value, (enum ulp_type)type))
            continue;
        ULP_TRY(edit_fresh(scope->editor, value->name, suffix((enum ulp_type)type),
                           &value->names[type]));
        ULP_TRY(add_cast(scope, value, value->names[value->held], value->names[type],
                         (enum ulp_type)type));
    }
    for (const struct mixed_use *use = value->uses; use; use = use->next)
        if (use->renames || value->names[use->type] != value->name)
            ULP_TRY(edit_set_text(scope->editor, use->where, value->names[use->type]));
    return ULP_OK;
}

/* ---- declarations ---- */

/* Each name's declaration has the type of what has the name now; what is new is declared as what it
 * comes from. */
static enum ulp_status declare(struct mixed_scope *scope, struct mixed_value *value,
                               Ulp__ValueInfoProto *info, bool is_input)
{
    struct editor *editor = scope->editor;
    for (int type = 0; type < ULP_TYPE_COUNT; type++) {
        Ulp__ValueInfoProto *copy = NULL;
        if (!value->names[type])
            continue;
        if (value->names[type] == value->name) {
            edit_set_info(info, (enum ulp_type)type);
            continue;
        }
        if (value->declares)
            continue;
        ULP_TRY(edit_clone(editor, &info->base, &copy));
        ULP_TRY(is_input && value->tensor && editor->model->ir_version < ULP_LOAD_IR_DEFAULTS
                    ? edit_take(editor, &scope->graph->proto->input, &scope->graph->proto->n_input,
                                copy)
                    : edit_take(editor, scope->graph->infos, scope->graph->info_count, copy));
        edit_set_info(copy, (enum ulp_type)type);
        ULP_TRY(edit_set_text(editor, &copy->name, value->names[type]));
    }
    value->declares = true;
    return ULP_OK;
}

static enum ulp_status declare_list(struct mixed_scope *scope, const struct ulp_names *numbers,
                                    Ulp__ValueInfoProto ***infos, size_t count, bool is_input)
{
    for (size_t i = 0; i < count; i++) { /* the list grows meanwhile */
        Ulp__ValueInfoProto *info = (*infos)[i];
        const char *name = edit_text(scope->editor, info->name);
        const int v = name ? ulp_names_find(numbers, name) : -1;
        if (!name)
            return ulp_out_of_memory(scope->editor->error);
        else if (v >= 0)
            ULP_TRY(declare(scope, &scope->values[v], info, is_input));
    }
    return ULP_OK;
}

static enum ulp_status declare_all(struct mixed_scope *scope)
{
    ULP_SCOPED(ulp_names_free) struct ulp_names numbers = {.budget = scope->editor->budget};
    const struct ulp_graph *source = scope->source;
    for (size_t v = 0; v < source->value_count; v++)
        if (source->values[v].outer < 0 && scope->values[v].declared != ULP_TYPE_UNDEFINED &&
            !ulp_names_add(&numbers, scope->values[v].name, (int)v))
            return ulp_out_of_memory(scope->editor->error);
    Ulp__GraphProto *graph = scope->graph->proto;
    const size_t infos = *scope->graph->info_count;
    ULP_TRY(declare_list(scope, &numbers, scope->graph->infos, infos, false));
    /* bodies' have their types already */
    if (graph && !scope->parent)
        ULP_TRY(declare_list(scope, &numbers, &graph->input, graph->n_input, true));
    if (graph && !scope->parent)
        ULP_TRY(declare_list(scope, &numbers, &graph->output, graph->n_output, false));
    return ULP_OK;
}

/* ONNX Runtime 1.31 and 1.32 may end by a signal where a Transpose of FLOAT16 that moves the first
 * dimension stands before a MatMul, or before what it moves it through (Concat): it hands on in
 * FLOAT. The bits are the same, as every narrow number is one of FLOAT's. */
static enum ulp_status widen_transposed(struct mixed_scope *scope, struct mixed_value *value)
{
    struct mixed_use **use = &value->uses;
    if (!value->transposed || value->transposed->type != value->held ||
        (value->held != ULP_TYPE_FLOAT16 && value->held != ULP_TYPE_BFLOAT16) || !value->uses)
        return ULP_OK;
    value->transposed->type = ULP_TYPE_FLOAT;
    ULP_TAKE(value->wide, scope->editor->arena, 1, scope->editor->error);
    *value->wide = (struct mixed_value){.name = value->name, .held = ULP_TYPE_FLOAT};
    while (*use) {
        struct mixed_use *moved = *use;
        if (moved->type != ULP_TYPE_FLOAT) {
            use = &moved->next;
            continue;
        }
        *use = moved->next;
        moved->next = value->wide->uses;
        value->wide->uses = moved;
    }
    return ULP_OK;
}

enum ulp_status mixed_settle(struct mixed_scope *scope)
{
    /* the last first: what one reads may be another's */
    for (size_t v = scope->source->value_count; v-- > 0;)
        ULP_TRY(widen_transposed(scope, &scope->values[v]));
    /* what a Transpose reads has its name before what it gives is cast */
    for (int turn = 0; turn < 2; turn++)
        for (size_t v = 0; v < scope->source->value_count; v++)
            if (scope->source->values[v].outer < 0 &&
                scope->values[v].declared != ULP_TYPE_UNDEFINED &&
                is_transposed(scope, &scope->values[v]) == turn)
                ULP_TRY(settle_value(scope, &scope->values[v]));
    return declare_all(scope);
}
