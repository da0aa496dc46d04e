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

enum ulp_status mixed_set_constant(struct mixed *mixed, Ulp__NodeProto *node,
                                   const struct ulp_tensor *tensor, enum ulp_type type,
                                   struct ulp_error *error)
{
    Ulp__AttributeProto *attribute = node->n_attribute ? node->attribute[0] : NULL;
    if (!attribute) {
        ULP_TRY(mixed_attribute(mixed, node, "value", ATTRIBUTE_TENSOR, &attribute, error));
    } else { /* value, or a value_float or value_floats in its place */
        ULP_TRY(mixed_set_text(mixed, &attribute->name, "value", error));
        attribute->type = ATTRIBUTE_TENSOR;
        attribute->has_type = true;
        attribute->has_f = false;
        attribute->n_floats = 0;
        ulp_free(attribute->floats);
        attribute->floats = NULL;
    }
    return attribute->t ? mixed_convert(mixed, attribute->t, tensor, type, error)
                        : mixed_new_tensor(mixed, &attribute->t, "", tensor, type, error);
}

/* One number, or a list of them, as a tensor. */
static struct ulp_tensor *make_tensor(struct mixed *mixed, const float *values, size_t count,
                                      int rank)
{
    struct ulp_tensor *tensor = ulp_arena_take(mixed->arena, 1, sizeof *tensor);
    if (tensor)
        *tensor = (struct ulp_tensor){.type = ULP_TYPE_FLOAT,
                                      .element = ULP_ELEMENT_F32,
                                      .element_bytes = sizeof *values,
                                      .rank = rank,
                                      .dims = {(int64_t)count},
                                      .count = count,
                                      .data = (void *)(uintptr_t)values};
    return tensor;
}

/* A value that a call of the function gives is converted by Casts only. */
static enum ulp_type referred_type(const struct mixed_scope *scope, const char *name)
{
    const struct ulp_node *call = scope->call ? scope->call->node : NULL;
    const struct ulp_attribute *given = call ? ulp_node_attribute(call, name) : NULL;
    const struct ulp_function *function =
        call ? ulp_function_find(scope->mixed->request->model, call) : NULL;
    if (!given && function)
        given = ulp_function_default(function, name);
    return !given          ? ULP_TYPE_UNDEFINED
           : given->tensor ? given->tensor->type
           : given->kind == ULP_ATTRIBUTE_FLOAT || given->kind == ULP_ATTRIBUTE_FLOATS
               ? ULP_TYPE_FLOAT
               : ULP_TYPE_UNDEFINED;
}

enum ulp_status mixed_visit_constant(struct mixed_scope *scope, const struct ulp_node *node,
                                     Ulp__NodeProto *proto, struct ulp_error *error)
{
    static const float zero = 0;
    const struct ulp_attribute *given = node->attribute_count ? &node->attributes[0] : NULL;
    const struct ulp_tensor *tensor = NULL;
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    bool numbers = false;
    if (!given)
        tensor = make_tensor(scope->mixed, &zero, 1, 1);
    else if (given->reference)
        type = referred_type(scope, given->reference);
    else if (given->tensor)
        tensor = given->tensor;
    else if (given->kind == ULP_ATTRIBUTE_FLOAT)
        tensor = make_tensor(scope->mixed, &given->f, 1, 0);
    else if (given->kind == ULP_ATTRIBUTE_FLOATS)
        tensor = make_tensor(scope->mixed, given->floats, given->count, 1);
    numbers = !given || given->kind == ULP_ATTRIBUTE_FLOAT || given->kind == ULP_ATTRIBUTE_FLOATS;
    if (numbers && !tensor && (!given || !given->reference))
        return ulp_out_of_memory(error);
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
                                const char *from, const char *to, enum ulp_type type,
                                struct ulp_error *error)
{
    struct mixed *mixed = scope->mixed;
    Ulp__NodeProto *node;
    const char *name;
    ULP_TRY(mixed_new(mixed, &node, &ulp__node_proto__descriptor, error));
    ULP_TRY(mixed_insert(scope, value->position, node, error));
    if (is_transposed(scope, value)) {
        Ulp__NodeProto *turned = NULL;
        ULP_TRY(mixed_clone(mixed, &value->producer->base, &turned, error));
        ULP_TRY(mixed_insert(scope, value->position, turned, error));
        ULP_TRY(mixed_fresh(mixed, to, "transpose", &name, error));
        ULP_TRY(mixed_set_text(mixed, &turned->name, name, error));
        ULP_TRY(mixed_set_text(mixed, &turned->output[0], to, error));
        ULP_TRY(mixed_fresh(mixed, to, "before", &to, error));
        from = mixed_text(mixed, value->producer->input[0]);
        ULP_TRY(ulp_taken(from, error));
        ULP_TRY(mixed_set_text(mixed, &turned->input[0], to, error));
    }
    ULP_TRY(mixed_fresh(mixed, to, "cast", &name, error));
    ULP_TRY(mixed_add_name(mixed, &node->input, &node->n_input, from, error));
    ULP_TRY(mixed_add_name(mixed, &node->output, &node->n_output, to, error));
    ULP_TRY(mixed_name_node(mixed, node, "Cast", name, error));
    mixed->written->casts++;
    return mixed_set_number(mixed, node, "to", (int64_t)type, error);
}

/* The constant once more, under a new name. */
static enum ulp_status add_constant(struct mixed_scope *scope, const struct mixed_value *value,
                                    enum ulp_type type, const char **name, struct ulp_error *error)
{
    struct mixed *mixed = scope->mixed;
    ULP_TRY(mixed_fresh(mixed, value->name, suffix(type), name, error));
    mixed->written->duplicated++;
    if (value->kind == MIXED_TENSOR) {
        Ulp__TensorProto *tensor;
        ULP_TRY(mixed_new_tensor(mixed, &tensor, *name, value->tensor, type, error));
        tensor->has_name = true;
        if (value->proto->data_location) {
            tensor->has_data_location = true;
            tensor->data_location = value->proto->data_location;
        }
        return mixed_take(mixed, &scope->graph->initializer, &scope->graph->n_initializer, tensor,
                          error);
    }
    Ulp__NodeProto *node = NULL;
    const char *node_name = NULL;
    ULP_TRY(mixed_clone(mixed, &value->producer->base, &node, error));
    ULP_TRY(mixed_insert(scope, value->position, node, error));
    ULP_TRY(mixed_fresh(mixed, *name, "constant", &node_name, error));
    ULP_TRY(mixed_set_text(mixed, &node->name, node_name, error));
    ULP_TRY(mixed_set_text(mixed, &node->output[0], *name, error));
    return mixed_set_constant(mixed, node, value->tensor, type, error);
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

static enum ulp_status settle_constant(struct mixed_scope *scope, struct mixed_value *value,
                                       struct ulp_error *error)
{
    struct mixed *mixed = scope->mixed;
    const enum ulp_type first = first_type(value);
    value->names[first] = value->name;
    for (int type = 0; type < ULP_TYPE_COUNT; type++)
        if (!value->names[type] && wants(value, (enum ulp_type)type))
            ULP_TRY(add_constant(scope, value, (enum ulp_type)type, &value->names[type], error));
    if (first == value->declared)
        return ULP_OK;
    return value->kind == MIXED_TENSOR
               ? mixed_convert(mixed, value->proto, value->tensor, first, error)
               : mixed_set_constant(mixed, value->producer, value->tensor, first, error);
}

/* The wider value gets a name, and the narrow one its Cast; one that nobody reads leaves its own.
 */
static enum ulp_status settle_wide(struct mixed_scope *scope, struct mixed_value *value,
                                   struct ulp_error *error)
{
    struct mixed_value *wide = value->wide;
    if (!value->uses && value->output == ULP_TYPE_UNDEFINED) {
        value->names[value->held] = NULL;
        value->names[wide->held] = value->name;
    } else {
        ULP_TRY(mixed_fresh(scope->mixed, value->name, suffix(wide->held), &wide->name, error));
        ULP_TRY(mixed_set_text(scope->mixed, value->slot, wide->name, error));
        ULP_TRY(add_cast(scope, value, wide->name, value->names[value->held], value->held, error));
    }
    for (const struct mixed_use *use = wide->uses; use; use = use->next)
        ULP_TRY(mixed_set_text(scope->mixed, use->where, wide->name, error));
    return ULP_OK;
}

static enum ulp_status settle_computed(struct mixed_scope *scope, struct mixed_value *value,
                                       struct ulp_error *error)
{
    const enum ulp_type first = first_type(value);
    value->names[first] = value->name;
    if (first != value->held)
        ULP_TRY(mixed_fresh(scope->mixed, value->name, suffix(value->held),
                            &value->names[value->held], error));
    if (value->wide)
        ULP_TRY(settle_wide(scope, value, error));
    else if (first != value->held)
        ULP_TRY(mixed_set_text(scope->mixed, value->slot, value->names[value->held], error));
    return first == value->held
               ? ULP_OK
               : add_cast(scope, value, value->names[value->held], value->name, first, error);
}

static enum ulp_status settle_value(struct mixed_scope *scope, struct mixed_value *value,
                                    struct ulp_error *error)
{
    ULP_TRY(value->tensor ? settle_constant(scope, value, error)
                          : settle_computed(scope, value, error));
    for (int type = 0; type < ULP_TYPE_COUNT; type++) {
        if (value->names[type] || !wants(value, (enum ulp_type)type))
            continue;
        ULP_TRY(mixed_fresh(scope->mixed, value->name, suffix((enum ulp_type)type),
                            &value->names[type], error));
        ULP_TRY(add_cast(scope, value, value->names[value->held], value->names[type],
                         (enum ulp_type)type, error));
    }
    for (const struct mixed_use *use = value->uses; use; use = use->next)
        if (use->renames || value->names[use->type] != value->name)
            ULP_TRY(mixed_set_text(scope->mixed, use->where, value->names[use->type], error));
    return ULP_OK;
}

/* ---- declarations ---- */

/* Each name's declaration has the type of what has the name now; what is new is declared as what it
 * comes from. */
static enum ulp_status declare(struct mixed_scope *scope, struct mixed_value *value,
                               Ulp__ValueInfoProto *info, bool is_input, struct ulp_error *error)
{
    struct mixed *mixed = scope->mixed;
    for (int type = 0; type < ULP_TYPE_COUNT; type++) {
        Ulp__ValueInfoProto *copy = NULL;
        if (!value->names[type])
            continue;
        if (value->names[type] == value->name) {
            mixed_set_info(info, (enum ulp_type)type);
            continue;
        }
        if (value->declares)
            continue;
        ULP_TRY(mixed_clone(mixed, &info->base, &copy, error));
        ULP_TRY(is_input && value->tensor &&
                        mixed->request->model->ir_version < ULP_LOAD_IR_DEFAULTS
                    ? mixed_take(mixed, &scope->graph->input, &scope->graph->n_input, copy, error)
                    : mixed_take(mixed, scope->infos, scope->info_count, copy, error));
        mixed_set_info(copy, (enum ulp_type)type);
        ULP_TRY(mixed_set_text(mixed, &copy->name, value->names[type], error));
    }
    value->declares = true;
    return ULP_OK;
}

static enum ulp_status declare_list(struct mixed_scope *scope, const struct ulp_names *numbers,
                                    Ulp__ValueInfoProto ***infos, size_t count, bool is_input,
                                    struct ulp_error *error)
{
    for (size_t i = 0; i < count; i++) { /* the list grows meanwhile */
        Ulp__ValueInfoProto *info = (*infos)[i];
        const char *name = mixed_text(scope->mixed, info->name);
        const int v = name ? ulp_names_find(numbers, name) : -1;
        if (!name)
            return ulp_out_of_memory(error);
        else if (v >= 0)
            ULP_TRY(declare(scope, &scope->values[v], info, is_input, error));
    }
    return ULP_OK;
}

static enum ulp_status declare_all(struct mixed_scope *scope, struct ulp_error *error)
{
    ULP_SCOPED(ulp_names_free) struct ulp_names numbers = {.budget = scope->mixed->budget};
    const struct ulp_graph *source = scope->source;
    for (size_t v = 0; v < source->value_count; v++)
        if (source->values[v].outer < 0 && scope->values[v].declared != ULP_TYPE_UNDEFINED &&
            !ulp_names_add(&numbers, scope->values[v].name, (int)v))
            return ulp_out_of_memory(error);
    Ulp__GraphProto *graph = scope->graph;
    const size_t infos = *scope->info_count;
    ULP_TRY(declare_list(scope, &numbers, scope->infos, infos, false, error));
    /* bodies' have their types already */
    if (graph && !scope->parent)
        ULP_TRY(declare_list(scope, &numbers, &graph->input, graph->n_input, true, error));
    if (graph && !scope->parent)
        ULP_TRY(declare_list(scope, &numbers, &graph->output, graph->n_output, false, error));
    return ULP_OK;
}

/* ---- nodes ---- */

static int by_position(const void *a, const void *b)
{
    const struct mixed_insert *x = a, *y = b;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static enum ulp_status put_inserts(struct mixed_scope *scope, struct ulp_error *error)
{
    const size_t old = *scope->node_count;
    void *memory = NULL;
    if (!scope->insert_count)
        return ULP_OK;
    ULP_TRY(ulp_allocate(&memory, old + scope->insert_count, sizeof(Ulp__NodeProto *),
                         scope->mixed->budget, "the model that is written", error));
    Ulp__NodeProto **nodes = memory;
    size_t count = 0, at = 0;
    qsort(scope->inserts, scope->insert_count, sizeof *scope->inserts, by_position);
    for (size_t n = 0; n <= old; n++) {
        for (; at < scope->insert_count && scope->inserts[at].position < (int)n; at++)
            nodes[count++] = scope->inserts[at].node;
        if (n < old)
            nodes[count++] = (*scope->nodes)[n];
    }
    ulp_free(*scope->nodes);
    *scope->nodes = nodes;
    *scope->node_count = count;
    scope->insert_count = 0;
    return ULP_OK;
}

/* The exponent of squares that are products now: runtimes warn of a constant that nothing reads. */
static void drop_unread(struct mixed_scope *scope, const struct mixed_value *value)
{
    const bool is_node = value->kind == MIXED_CONSTANT;
    const void *dropped = is_node ? (const void *)value->producer : value->proto;
    bool is_read =
        !value->loses || !value->tensor || value->uses || value->output != ULP_TYPE_UNDEFINED;
    for (size_t i = 0; i < scope->source->input_count; i++)
        is_read |= &scope->values[scope->source->inputs[i]] == value;
    if (is_read)
        return;
    void **items = is_node ? (void **)*scope->nodes : (void **)scope->graph->initializer;
    size_t *count = is_node ? scope->node_count : &scope->graph->n_initializer;
    for (size_t i = 0; i < *count; i++)
        if (items[i] == dropped)
            mixed_drop(scope->mixed, &items[i]);
    mixed_close_gaps(items, count);
}

/* ONNX Runtime 1.31 and 1.32 may end by a signal where a Transpose of FLOAT16 that moves the first
 * dimension stands before a MatMul, or before what it moves it through (Concat): it hands on in
 * FLOAT. The bits are the same, as every narrow number is one of FLOAT's. */
static enum ulp_status widen_transposed(struct mixed_scope *scope, struct mixed_value *value,
                                        struct ulp_error *error)
{
    struct mixed_use **use = &value->uses;
    if (!value->transposed || value->transposed->type != value->held ||
        (value->held != ULP_TYPE_FLOAT16 && value->held != ULP_TYPE_BFLOAT16) || !value->uses)
        return ULP_OK;
    value->transposed->type = ULP_TYPE_FLOAT;
    ULP_TAKE(value->wide, scope->mixed->arena, 1, error);
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

enum ulp_status mixed_settle(struct mixed_scope *scope, struct ulp_error *error)
{
    /* the last first: what one reads may be another's */
    for (size_t v = scope->source->value_count; v-- > 0;)
        ULP_TRY(widen_transposed(scope, &scope->values[v], error));
    /* what a Transpose reads has its name before what it gives is cast */
    for (int turn = 0; turn < 2; turn++)
        for (size_t v = 0; v < scope->source->value_count; v++)
            if (scope->source->values[v].outer < 0 &&
                scope->values[v].declared != ULP_TYPE_UNDEFINED &&
                is_transposed(scope, &scope->values[v]) == turn)
                ULP_TRY(settle_value(scope, &scope->values[v], error));
    ULP_TRY(declare_all(scope, error));
    ULP_TRY(put_inserts(scope, error));
    for (size_t v = 0; v < scope->source->value_count; v++)
        drop_unread(scope, &scope->values[v]);
    return ULP_OK;
}
