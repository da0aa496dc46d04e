/* Extracting a part of a model: its file is read again, and written without the rest. */
#include "load/mixed/extract_file.h"

#include "base/error.h"
#include "base/machine/file.h"
#include "load/mixed/editor.h"

struct extracting {
    struct editor editor; /* first: edit_model gives it back */
    const struct ulp_extract_request *request;
};

/* ---- which values ---- */

static void mark_captured(const struct ulp_graph *body, const struct ulp_graph *main, bool *used)
{
    for (size_t v = 0; v < body->value_count; v++) {
        const struct ulp_graph *graph = body;
        int number = (int)v;
        for (; number >= 0 && graph != main; graph = graph->parent)
            number = graph->values[number].outer;
        if (number >= 0)
            used[number] = true;
    }
    for (size_t n = 0; n < body->node_count; n++)
        for (size_t a = 0; a < body->nodes[n].attribute_count; a++)
            if (body->nodes[n].attributes[a].graph)
                mark_captured(body->nodes[n].attributes[a].graph, main, used);
}

void ulp_extract_used(const struct ulp_graph *graph, const bool *nodes, bool *used)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count && nodes[n]; i++)
            if (node->inputs[i] >= 0)
                used[node->inputs[i]] = true;
        for (size_t a = 0; a < node->attribute_count && nodes[n]; a++)
            if (node->attributes[a].graph)
                mark_captured(node->attributes[a].graph, graph, used);
    }
}

/* ---- declarations ---- */

static enum ulp_status add_info(struct editor *editor, const struct ulp_extract_value *value,
                                Ulp__ValueInfoProto ***infos, size_t *count)
{
    Ulp__ValueInfoProto *info;
    Ulp__DimensionProto *dim;
    ULP_TRY(edit_add(editor, infos, count, &ulp__value_info_proto__descriptor, &info));
    info->has_name = true;
    ULP_TRY(edit_set_text(editor, &info->name, value->name));
    ULP_TRY(edit_new(editor, &info->type, &ulp__type_proto__descriptor));
    ULP_TRY(edit_new(editor, &info->type->tensor_type, &ulp__tensor_type_proto__descriptor));
    Ulp__ShapeProto **shape = &info->type->tensor_type->shape;
    ULP_TRY(edit_new(editor, shape, &ulp__shape_proto__descriptor));
    for (int d = 0; d < value->tensor->rank; d++) {
        ULP_TRY(edit_add(editor, &(*shape)->dim, &(*shape)->n_dim,
                         &ulp__dimension_proto__descriptor, &dim));
        dim->has_dim_value = true;
        dim->dim_value = value->tensor->dims[d];
    }
    edit_set_info(info, value->tensor->type);
    return ULP_OK;
}

static enum ulp_status declare(struct editor *editor, const struct ulp_extract_value *values,
                               size_t value_count, Ulp__ValueInfoProto ***infos, size_t *count)
{
    edit_clear(editor, *infos, count);
    for (size_t i = 0; i < value_count; i++)
        ULP_TRY(add_info(editor, &values[i], infos, count));
    return ULP_OK;
}

/* ---- nodes ---- */

static enum ulp_status keep_nodes(struct editor *editor, const bool *nodes)
{
    const struct ulp_graph *graph = editor->model->graph;
    Ulp__GraphProto *proto = editor->proto->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        const size_t position = (size_t)graph->nodes[n].position;
        if (position >= proto->n_node ||
            !edit_is_text(proto->node[position]->op_type, graph->nodes[n].op_type))
            return edit_fail_changed(editor);
        if (nodes[n])
            continue;
        ULP_TRY(edit_drop_bodies(editor, proto->node[position]));
        edit_drop(editor, &proto->node[position]);
    }
    edit_close_gaps(proto->node, &proto->n_node);
    return ULP_OK;
}

/* Before IR 4 an initializer had to be an input, too. */
enum { INITIALIZERS_ALONE = 4 };

static enum ulp_status change(struct editor *editor)
{
    const struct ulp_extract_request *request = ((struct extracting *)editor)->request;
    Ulp__GraphProto *proto = editor->proto->graph;
    ULP_TRY(keep_nodes(editor, request->nodes));
    ULP_TRY(declare(editor, request->inputs, request->input_count, &proto->input, &proto->n_input));
    ULP_TRY(
        declare(editor, request->outputs, request->output_count, &proto->output, &proto->n_output));
    ULP_TRY(declare(editor, NULL, 0, &proto->value_info, &proto->n_value_info));
    for (size_t c = 0; c < request->constant_count; c++)
        ULP_TRY(edit_add_same(editor, request->constants[c].name, request->constants[c].tensor));
    if (editor->proto->ir_version < INITIALIZERS_ALONE)
        editor->proto->ir_version = INITIALIZERS_ALONE;
    return ULP_OK;
}

enum ulp_status ulp_extract_file(const struct ulp_extract_request *request, struct ulp_error *error)
{
    struct extracting e = {.editor = {.model = request->model,
                                      .path = request->path,
                                      .drops_idle = true},
                           .request = request};
    return edit_model(&e.editor, change, error);
}

enum ulp_status ulp_tensor_write_pb(const struct ulp_tensor *tensor, const char *name,
                                    struct ulp_budget *budget, const char *path,
                                    struct ulp_error *error)
{
    struct editor editor = {.budget = budget, .error = error};
    ProtobufCBinaryData packed = {0};
    Ulp__TensorProto *proto = NULL;
    enum ulp_status status = ulp_loader_open(&editor.loader, path, 0, budget, error);
    ULP_THEN(status, edit_same_tensor(&editor, &proto, name, tensor));
    ULP_THEN(status, edit_pack(&editor, &proto->base, &packed));
    ULP_THEN(status, ulp_file_write(path, packed.data, packed.len, error));
    ulp_free(packed.data);
    ulp_unpack_free(&editor.loader.unpacker, proto);
    ulp_loader_free(&editor.loader);
    return status;
}
