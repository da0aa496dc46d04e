/* The values of a graph, and who reads them in which type. */

#include "base/error.h"
#include "load/mixed/writer.h"

static enum ulp_type float_type(enum ulp_type type)
{
    return mixed_is_float(type) ? type : ULP_TYPE_UNDEFINED;
}

/* Initializers are found by name; a sparse one is only converted by Casts. */
static enum ulp_status find_tensors(struct mixed_scope *scope)
{
    ULP_SCOPED(ulp_names_free) struct ulp_names names = {.budget = scope->editor->budget};
    const struct ulp_graph *source = scope->source;
    const Ulp__GraphProto *proto = scope->graph->proto;
    for (size_t i = 0; i < proto->n_initializer; i++) {
        const char *text = edit_text(scope->editor, proto->initializer[i]->name);
        ULP_TRY(ulp_taken(text && ulp_names_add(&names, text, (int)i), scope->editor->error));
    }
    for (size_t v = 0; v < source->value_count; v++) {
        struct mixed_value *value = &scope->values[v];
        const int i = value->kind == MIXED_TENSOR ? ulp_names_find(&names, value->name) : -1;
        if (i >= 0) {
            value->proto = proto->initializer[i];
            value->tensor = source->values[v].initializer;
        }
    }
    return ULP_OK;
}

enum ulp_status mixed_open_scope(struct mixed_scope *scope)
{
    const struct ulp_graph *source = scope->source = scope->graph->source;
    scope->editor = &scope->mixed->editor;
    ULP_TAKE(scope->values, scope->editor->arena, source->value_count + 1, scope->editor->error);
    for (size_t v = 0; v < source->value_count; v++) {
        const struct ulp_tensor *tensor = source->values[v].initializer;
        const enum ulp_type type = float_type(tensor ? tensor->type : source->values[v].info.type);
        scope->values[v] = (struct mixed_value){.name = source->values[v].name,
                                                .kind = tensor ? MIXED_TENSOR : MIXED_GIVEN,
                                                .declared = type,
                                                .held = type,
                                                .position = -1};
    }
    return scope->graph->proto ? find_tensors(scope) : ULP_OK;
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

static enum ulp_status add_use(struct mixed_scope *scope, struct mixed_value *value,
                               struct mixed_use use)
{
    struct mixed_use *copy = ulp_arena_take(scope->editor->arena, 1, sizeof *copy);
    ULP_TRY(ulp_taken(copy, scope->editor->error));
    *copy = use;
    copy->next = value->uses;
    value->uses = copy;
    return ULP_OK;
}

enum ulp_status mixed_read_other(struct mixed_scope *scope, struct mixed_value *value,
                                 ProtobufCBinaryData *where, enum ulp_type type)
{
    return add_use(scope, value, (struct mixed_use){.where = where, .type = type, .renames = true});
}

enum ulp_status mixed_read(struct mixed_scope *scope, int number, ProtobufCBinaryData *where,
                           enum ulp_type type)
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
                   });
}
