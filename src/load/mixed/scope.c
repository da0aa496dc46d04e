/* The values of a graph, and who reads them in which type. */

#include "base/error.h"
#include "load/mixed/writer.h"

static enum ulp_type float_type(enum ulp_type type)
{
    return mixed_is_float(type) ? type : ULP_TYPE_UNDEFINED;
}

/* Initializers are found by name; a sparse one is only converted by Casts. */
static enum ulp_status find_tensors(struct mixed_scope *scope, struct ulp_error *error)
{
    ULP_SCOPED(ulp_names_free) struct ulp_names names = {.budget = scope->mixed->budget};
    const struct ulp_graph *source = scope->source;
    for (size_t i = 0; i < scope->graph->n_initializer; i++) {
        const char *text = mixed_text(scope->mixed, scope->graph->initializer[i]->name);
        ULP_TRY(ulp_taken(text && ulp_names_add(&names, text, (int)i), error));
    }
    for (size_t v = 0; v < source->value_count; v++) {
        struct mixed_value *value = &scope->values[v];
        const int i = value->kind == MIXED_TENSOR ? ulp_names_find(&names, value->name) : -1;
        if (i >= 0) {
            value->proto = scope->graph->initializer[i];
            value->tensor = source->values[v].initializer;
        }
    }
    return ULP_OK;
}

enum ulp_status mixed_open_scope(struct mixed_scope *scope, struct ulp_error *error)
{
    const struct ulp_graph *source = scope->source;
    ULP_TAKE(scope->values, scope->mixed->arena, source->value_count + 1, error);
    for (size_t v = 0; v < source->value_count; v++) {
        const struct ulp_tensor *tensor = source->values[v].initializer;
        const enum ulp_type type = float_type(tensor ? tensor->type : source->values[v].info.type);
        scope->values[v] = (struct mixed_value){.name = source->values[v].name,
                                                .kind = tensor ? MIXED_TENSOR : MIXED_GIVEN,
                                                .declared = type,
                                                .held = type,
                                                .position = -1};
    }
    return scope->graph ? find_tensors(scope, error) : ULP_OK;
}

/* Nodes are inserted in the end; after an error those that were not are freed here. */
void mixed_close_scope(struct mixed_scope *scope)
{
    for (size_t i = 0; i < scope->insert_count; i++)
        ulp_unpack_free(&scope->mixed->loader.unpacker, scope->inserts[i].node);
    ulp_free(scope->inserts);
}

struct mixed_value *mixed_find(struct mixed_scope *scope, int number)
{
    for (; scope->source->values[number].outer >= 0; scope = scope->parent)
        number = scope->source->values[number].outer;
    return &scope->values[number];
}

void mixed_set_output(struct mixed_scope *scope, const struct ulp_node *node, Ulp__NodeProto *proto,
                      size_t o, enum ulp_type declared, enum ulp_type held)
{
    if (node->outputs[o] < 0)
        return;
    struct mixed_value *value = &scope->values[node->outputs[o]];
    value->kind = MIXED_COMPUTED;
    value->producer = proto;
    value->slot = &proto->output[o];
    value->position = node->position;
    value->declared = mixed_is_float(declared) ? declared : ULP_TYPE_UNDEFINED;
    value->held = mixed_is_float(declared) ? held : ULP_TYPE_UNDEFINED;
}

void mixed_set_info(Ulp__ValueInfoProto *info, enum ulp_type type)
{
    if (type != ULP_TYPE_UNDEFINED && info->type && info->type->tensor_type) {
        info->type->tensor_type->has_elem_type = true;
        info->type->tensor_type->elem_type = (int32_t)type;
    }
}

static enum ulp_status add_use(struct mixed_scope *scope, struct mixed_value *value,
                               struct mixed_use use, struct ulp_error *error)
{
    struct mixed_use *copy = ulp_arena_take(scope->mixed->arena, 1, sizeof *copy);
    ULP_TRY(ulp_taken(copy, error));
    *copy = use;
    copy->next = value->uses;
    value->uses = copy;
    return ULP_OK;
}

enum ulp_status mixed_read_other(struct mixed_scope *scope, struct mixed_value *value,
                                 ProtobufCBinaryData *where, enum ulp_type type,
                                 struct ulp_error *error)
{
    return add_use(scope, value, (struct mixed_use){.where = where, .type = type, .renames = true},
                   error);
}

enum ulp_status mixed_read(struct mixed_scope *scope, int number, ProtobufCBinaryData *where,
                           enum ulp_type type, struct ulp_error *error)
{
    if (number < 0)
        return ULP_OK;
    struct mixed_value *value = mixed_find(scope, number);
    bool renames = false;
    for (; value->origin && value->origin->held == type; renames = true)
        value = value->origin;
    /* of a branch that is never taken: what the other branch gives in its place is known */
    if (value->declared == ULP_TYPE_UNDEFINED)
        return ULP_OK;
    return add_use(scope, value,
                   (struct mixed_use){
                       .where = where,
                       .type = type == ULP_TYPE_UNDEFINED ? value->declared : type,
                       .renames = renames,
                   },
                   error);
}

enum ulp_status mixed_insert(struct mixed_scope *scope, int position, Ulp__NodeProto *node,
                             struct ulp_error *error)
{
    enum ulp_status status =
        ulp_grow(&scope->inserts, scope->insert_count, &scope->insert_capacity,
                 sizeof *scope->inserts, scope->mixed->budget, "the model that is written", error);
    if (status == ULP_OK) {
        scope->inserts[scope->insert_count] =
            (struct mixed_insert){position, scope->insert_count, node};
        scope->insert_count++;
    } else {
        ulp_unpack_free(&scope->mixed->loader.unpacker, node);
    }
    return status;
}
