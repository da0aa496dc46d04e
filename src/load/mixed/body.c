/* Bodies of If, Loop and Scan, and calls of functions. */
#include <string.h>

#include "base/error.h"
#include "load/mixed/writer.h"

/* What the node around a body does to the values that go in and out. */
struct around {
    struct mixed_scope *scope;
    const struct ulp_node *node;
    Ulp__NodeProto *proto;
    enum ulp_type type; /* of the node's floats; UNDEFINED: as declared */
    bool as_held;       /* results keep the types they are held in; the node's follow */
};

/* The node's input that the body's input i is given; -1: none. */
static int outer_input(const struct around *around, size_t i)
{
    const struct ulp_node *node = around->node;
    i += strcmp(node->op_type, "Scan") == 0 && around->scope->opset < 9; /* sequence lengths */
    return i < node->input_count ? node->inputs[i] : -1;
}

static void give_inputs(const struct around *around, struct mixed_scope *body)
{
    const struct ulp_graph *source = body->source;
    for (size_t i = 0; i < source->input_count && i < body->graph->proto->n_input; i++) {
        struct mixed_value *value = &body->values[source->inputs[i]];
        const int given = outer_input(around, i);
        if (given >= 0)
            value->declared = mixed_find(around->scope, given)->declared;
        value->held = value->declared != ULP_TYPE_UNDEFINED && around->type != ULP_TYPE_UNDEFINED
                          ? around->type
                          : value->declared;
        edit_set_info(body->graph->proto->input[i], value->held);
    }
}

/* The node's output that the body's output i becomes: of a Loop the condition is none. */
static int outer_output(const struct around *around, size_t i)
{
    const bool loop = strcmp(around->node->op_type, "Loop") == 0;
    return i < loop || i - loop >= around->node->output_count ? -1 : (int)(i - loop);
}

static enum ulp_status take_outputs(const struct around *around, struct mixed_scope *body)
{
    const struct ulp_graph *source = body->source;
    for (size_t i = 0; i < source->output_count; i++) {
        if (source->outputs[i] < 0 || i >= body->graph->proto->n_output)
            continue;
        struct mixed_value *value = mixed_find(body, source->outputs[i]);
        const int o = outer_output(around, i);
        const int number = o >= 0 ? around->node->outputs[o] : -1;
        struct mixed_value *outside = number >= 0 ? &around->scope->values[number] : NULL;
        if (around->as_held && outside)
            mixed_set_output(around->scope, around->node, around->proto, (size_t)o, value->declared,
                             value->held);
        /* a branch that is not computed: its types are the other branch's */
        if (value->declared == ULP_TYPE_UNDEFINED && outside && value->kind == MIXED_COMPUTED)
            value->declared = value->held = outside->declared;
        if (value->declared == ULP_TYPE_UNDEFINED)
            continue;
        const enum ulp_type type = outside && outside->declared != ULP_TYPE_UNDEFINED
                                       ? outside->held
                                   : around->type != ULP_TYPE_UNDEFINED ? around->type
                                                                        : value->declared;
        edit_set_info(body->graph->proto->output[i], type);
        ULP_TRY(mixed_read(body, source->outputs[i], &body->graph->proto->output[i]->name, type));
    }
    return ULP_OK;
}

static enum ulp_status visit_body(const struct around *around, size_t a)
{
    const struct mixed_scope *scope = around->scope;
    struct mixed_scope body = {.mixed = scope->mixed,
                               .parent = around->scope,
                               .graph = edit_body(scope->editor, around->proto->attribute[a]),
                               .call = scope->call,
                               .opset = scope->opset};
    if (!body.graph)
        return edit_fail_changed(scope->editor);
    ULP_TRY(mixed_open_scope(&body));
    give_inputs(around, &body);
    ULP_TRY(mixed_visit(&body));
    ULP_TRY(take_outputs(around, &body));
    return mixed_settle(&body);
}

/* The branch that is computed comes first: what the If gives is what that holds. */
enum ulp_status mixed_visit_bodies(struct mixed_scope *scope, const struct ulp_node *node,
                                   Ulp__NodeProto *proto, const struct ulp_mixed_node *entry)
{
    const char *branch = entry ? entry->branch : NULL;
    struct around around = {.scope = scope, .node = node, .proto = proto, .as_held = true};
    for (size_t a = 0; a < node->attribute_count && branch; a++)
        if (node->attributes[a].graph && strcmp(node->attributes[a].name, branch) == 0)
            ULP_TRY(visit_body(&around, a));
    around.as_held = false;
    around.type = entry ? entry->type : ULP_TYPE_UNDEFINED;
    for (size_t a = 0; a < node->attribute_count; a++)
        if (node->attributes[a].graph && (!branch || strcmp(node->attributes[a].name, branch) != 0))
            ULP_TRY(visit_body(&around, a));
    return ULP_OK;
}

/* ---- functions ---- */

static const Ulp__FunctionProto *find_function(const struct editor *editor,
                                               const struct ulp_function *function)
{
    for (size_t f = 0; f < editor->proto->n_functions; f++)
        if (edit_is_function(editor->proto->functions[f], function))
            return editor->proto->functions[f];
    return NULL;
}

/* Casts are of ai.onnx. */
static enum ulp_status import_casts(struct mixed *mixed, Ulp__FunctionProto *proto,
                                    const struct ulp_function *function)
{
    const struct ulp_model *model = mixed->request->model;
    return ulp_opset_find(function->opsets, function->opset_count, "")
               ? ULP_OK
               : edit_import(&mixed->editor, &proto->opset_import, &proto->n_opset_import, "",
                             ulp_opset_find(model->opsets, model->opset_count, ""));
}

static void give_parameters(struct mixed_scope *outer, const struct ulp_node *node,
                            struct mixed_scope *inner)
{
    const struct ulp_graph *source = inner->source;
    for (size_t i = 0; i < source->input_count && i < node->input_count; i++)
        if (node->inputs[i] >= 0) {
            const struct mixed_value *given = mixed_find(outer, node->inputs[i]);
            struct mixed_value *value = &inner->values[source->inputs[i]];
            value->declared = given->declared;
            value->held = given->held;
        }
}

/* A parameter that the function reads in one type only is given in that type. */
static enum ulp_status read_parameters(struct mixed_scope *outer, const struct ulp_node *node,
                                       Ulp__NodeProto *proto, struct mixed_scope *inner)
{
    const struct ulp_graph *source = inner->source;
    for (size_t i = 0; i < node->input_count && i < source->input_count; i++) {
        if (node->inputs[i] < 0)
            continue;
        struct mixed_value *value = &inner->values[source->inputs[i]];
        bool one = value->uses != NULL;
        for (const struct mixed_use *use = value->uses; use && one; use = use->next)
            one = use->type == value->uses->type;
        if (one)
            value->held = value->uses->type;
        ULP_TRY(mixed_read(outer, node->inputs[i], &proto->input[i], value->held));
    }
    return ULP_OK;
}

static enum ulp_status give_results(struct mixed_scope *outer, const struct ulp_node *node,
                                    Ulp__NodeProto *proto, struct mixed_scope *inner,
                                    Ulp__FunctionProto *function)
{
    const struct ulp_graph *source = inner->source;
    for (size_t o = 0; o < node->output_count && o < source->output_count; o++) {
        const struct mixed_value *value = &inner->values[source->outputs[o]];
        mixed_set_output(outer, node, proto, o, value->declared, value->held);
        ULP_TRY(mixed_read(inner, source->outputs[o], &function->output[o], value->held));
    }
    return ULP_OK;
}

/* The function under a name of its own for each way of its types; the first keeps its name. */
static enum ulp_status name_variant(struct mixed *mixed, const struct ulp_function *function,
                                    Ulp__FunctionProto *proto, const char **name)
{
    struct editor *editor = &mixed->editor;
    ProtobufCBinaryData packed = {0};
    bool first = true;
    enum ulp_status status = edit_pack(editor, &proto->base, &packed);
    for (size_t v = 0; v < mixed->variant_count && status == ULP_OK; v++) {
        const struct mixed_variant *variant = &mixed->variants[v];
        first &= variant->function != function;
        if (variant->function == function && variant->packed.len == packed.len &&
            memcmp(variant->packed.data, packed.data, packed.len) == 0) {
            *name = variant->name;
            ulp_free(packed.data);
            ulp_unpack_free(&editor->loader.unpacker, proto);
            return ULP_OK;
        }
    }
    *name = function->name;
    if (!first && status == ULP_OK)
        status = edit_fresh(editor, function->name, "types", name);
    if (!first && status == ULP_OK)
        status = edit_set_text(editor, &proto->name, *name);
    ULP_THEN(status, ulp_grow(&mixed->variants, mixed->variant_count, &mixed->variant_capacity,
                              sizeof *mixed->variants, editor->budget, "the model that is written",
                              editor->error));
    if (status != ULP_OK) {
        ulp_free(packed.data);
        ulp_unpack_free(&editor->loader.unpacker, proto);
        return status;
    }
    mixed->variants[mixed->variant_count++] =
        (struct mixed_variant){function, proto, packed, *name};
    return ULP_OK;
}

static enum ulp_status visit_function(struct mixed_scope *outer, const struct ulp_node *node,
                                      Ulp__NodeProto *call, Ulp__FunctionProto *proto,
                                      const struct ulp_function *function)
{
    struct editor *editor = outer->editor;
    const struct ulp_call_path path = {node, outer->call};
    const size_t first = editor->graph_count, casts = outer->mixed->written->casts;
    struct mixed_scope scope = {.mixed = outer->mixed,
                                .call = &path,
                                .opset =
                                    ulp_opset_find(function->opsets, function->opset_count, "")};
    ULP_TRY(edit_open_function(editor, function->body, proto, &scope.graph));
    ULP_TRY(mixed_open_scope(&scope));
    give_parameters(outer, node, &scope);
    ULP_TRY(mixed_visit(&scope));
    ULP_TRY(give_results(outer, node, call, &scope, proto));
    ULP_TRY(read_parameters(outer, node, call, &scope));
    ULP_TRY(mixed_settle(&scope));
    if (outer->mixed->written->casts > casts)
        ULP_TRY(import_casts(outer->mixed, proto, function));
    return edit_close_graphs(editor, first);
}

enum ulp_status mixed_visit_call(struct mixed_scope *outer, const struct ulp_node *node,
                                 Ulp__NodeProto *call, const struct ulp_function *function)
{
    struct editor *editor = outer->editor;
    const Ulp__FunctionProto *original = find_function(editor, function);
    Ulp__FunctionProto *proto = NULL;
    const char *name;
    if (!original)
        return ulp_fail(editor->error, ULP_ERROR_INPUT, "function '%s' is not there any more",
                        function->name);
    ULP_TRY(edit_clone(editor, &original->base, &proto));
    const enum ulp_status status = visit_function(outer, node, call, proto, function);
    if (status != ULP_OK) {
        ulp_unpack_free(&editor->loader.unpacker, proto);
        return status;
    }
    ULP_TRY(name_variant(outer->mixed, function, proto, &name));
    return strcmp(name, function->name) != 0 ? edit_set_text(editor, &call->op_type, name) : ULP_OK;
}
