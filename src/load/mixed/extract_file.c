/* Extracting a part of a model: its file is read again, and written without the rest. */
#include "load/mixed/extract_file.h"

#include "base/error.h"
#include "base/machine/file.h"
#include "load/mixed/writer.h"

struct extracting {
    struct mixed mixed; /* first: mixed_rewrite gives it back */
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

static enum ulp_status add_info(struct mixed *mixed, const struct ulp_extract_value *value,
                                Ulp__ValueInfoProto ***infos, size_t *count,
                                struct ulp_error *error)
{
    Ulp__ValueInfoProto *info = NULL;
    enum ulp_status status = mixed_new(mixed, &info, &ulp__value_info_proto__descriptor, error);
    if (status == ULP_OK)
        status = mixed_append(mixed, infos, count, info, error);
    if (status != ULP_OK) {
        ulp_unpack_free(&mixed->loader.unpacker, info);
        return status;
    }
    info->has_name = true;
    status = mixed_set_text(mixed, &info->name, value->name, error);
    if (status == ULP_OK)
        status = mixed_new(mixed, &info->type, &ulp__type_proto__descriptor, error);
    if (status == ULP_OK)
        status =
            mixed_new(mixed, &info->type->tensor_type, &ulp__tensor_type_proto__descriptor, error);
    if (status == ULP_OK)
        status =
            mixed_new(mixed, &info->type->tensor_type->shape, &ulp__shape_proto__descriptor, error);
    for (int d = 0; d < value->tensor->rank && status == ULP_OK; d++) {
        Ulp__ShapeProto *shape = info->type->tensor_type->shape;
        Ulp__DimensionProto *dim = NULL;
        status = mixed_new(mixed, &dim, &ulp__dimension_proto__descriptor, error);
        if (status == ULP_OK)
            status = mixed_append(mixed, &shape->dim, &shape->n_dim, dim, error);
        if (status != ULP_OK) {
            ulp_unpack_free(&mixed->loader.unpacker, dim);
            return status;
        }
        dim->has_dim_value = true;
        dim->dim_value = value->tensor->dims[d];
    }
    if (status == ULP_OK) {
        info->type->tensor_type->has_elem_type = true;
        info->type->tensor_type->elem_type = (int32_t)value->tensor->type;
    }
    return status;
}

static enum ulp_status declare(struct mixed *mixed, const struct ulp_extract_value *values,
                               size_t value_count, Ulp__ValueInfoProto ***infos, size_t *count,
                               struct ulp_error *error)
{
    for (size_t i = 0; i < *count; i++)
        ulp_unpack_free(&mixed->loader.unpacker, (*infos)[i]);
    *count = 0;
    for (size_t i = 0; i < value_count; i++)
        ULP_TRY(add_info(mixed, &values[i], infos, count, error));
    return ULP_OK;
}

/* ---- nodes and initializers ---- */

static enum ulp_status keep_nodes(struct mixed *mixed, const struct ulp_graph *graph,
                                  const bool *nodes, struct ulp_error *error)
{
    Ulp__GraphProto *proto = mixed->proto->graph;
    bool *kept = ulp_arena_take(mixed->arena, proto->n_node + 1, sizeof *kept);
    size_t count = 0;
    ULP_TRY(ulp_taken(kept, error));
    for (size_t n = 0; n < graph->node_count; n++) {
        const size_t position = (size_t)graph->nodes[n].position;
        if (position >= proto->n_node ||
            !mixed_is_text(proto->node[position]->op_type, graph->nodes[n].op_type))
            return mixed_fail_changed(error);
        kept[position] = nodes[n];
    }
    for (size_t p = 0; p < proto->n_node; p++)
        if (kept[p])
            proto->node[count++] = proto->node[p];
        else
            ulp_unpack_free(&mixed->loader.unpacker, proto->node[p]);
    proto->n_node = count;
    return ULP_OK;
}

static bool is_used(struct mixed *mixed, ProtobufCBinaryData name)
{
    const char *text = mixed_text(mixed, name);
    return text && ulp_names_find(&mixed->names, text) >= 0;
}

static enum ulp_status keep_initializers(struct mixed *mixed, const struct ulp_graph *graph,
                                         const bool *nodes, struct ulp_error *error)
{
    Ulp__GraphProto *proto = mixed->proto->graph;
    bool *used = ulp_arena_take(mixed->arena, graph->value_count + 1, sizeof *used);
    size_t count = 0;
    ULP_TRY(ulp_taken(used, error));
    ulp_extract_used(graph, nodes, used);
    for (size_t v = 0; v < graph->value_count; v++)
        if (used[v] && graph->values[v].initializer &&
            ulp_names_find(&mixed->names, graph->values[v].name) < 0 &&
            !ulp_names_add(&mixed->names, graph->values[v].name, 0))
            return ulp_out_of_memory(error);
    for (size_t i = 0; i < proto->n_initializer; i++)
        if (is_used(mixed, proto->initializer[i]->name))
            proto->initializer[count++] = proto->initializer[i];
        else
            ulp_unpack_free(&mixed->loader.unpacker, proto->initializer[i]);
    proto->n_initializer = count;
    count = 0;
    for (size_t i = 0; i < proto->n_sparse_initializer; i++)
        if (is_used(mixed, proto->sparse_initializer[i]->values->name))
            proto->sparse_initializer[count++] = proto->sparse_initializer[i];
        else
            ulp_unpack_free(&mixed->loader.unpacker, proto->sparse_initializer[i]);
    proto->n_sparse_initializer = count;
    return ULP_OK;
}

static enum ulp_status add_constants(struct mixed *mixed, const struct ulp_extract_request *request,
                                     struct ulp_error *error)
{
    Ulp__GraphProto *proto = mixed->proto->graph;
    enum ulp_status status = ULP_OK;
    for (size_t c = 0; c < request->constant_count && status == ULP_OK; c++) {
        Ulp__TensorProto *tensor = NULL;
        status = mixed_same_tensor(mixed, &tensor, request->constants[c].name,
                                   request->constants[c].tensor, error);
        if (status == ULP_OK)
            status = mixed_append(mixed, &proto->initializer, &proto->n_initializer, tensor, error);
        if (status != ULP_OK)
            ulp_unpack_free(&mixed->loader.unpacker, tensor);
    }
    return status;
}

/* Before IR 4 an initializer had to be an input, too. */
enum { INITIALIZERS_ALONE = 4 };

static enum ulp_status change(struct mixed *mixed, struct ulp_error *error)
{
    const struct ulp_extract_request *request = ((struct extracting *)mixed)->request;
    const struct ulp_graph *graph = request->model->graph;
    Ulp__GraphProto *proto = mixed->proto->graph;
    enum ulp_status status = keep_nodes(mixed, graph, request->nodes, error);
    if (status == ULP_OK)
        status = keep_initializers(mixed, graph, request->nodes, error);
    if (status == ULP_OK)
        status = declare(mixed, request->inputs, request->input_count, &proto->input,
                         &proto->n_input, error);
    if (status == ULP_OK)
        status = declare(mixed, request->outputs, request->output_count, &proto->output,
                         &proto->n_output, error);
    if (status == ULP_OK)
        status = declare(mixed, NULL, 0, &proto->value_info, &proto->n_value_info, error);
    if (status == ULP_OK)
        status = add_constants(mixed, request, error);
    if (mixed->proto->ir_version < INITIALIZERS_ALONE)
        mixed->proto->ir_version = INITIALIZERS_ALONE;
    if (status == ULP_OK)
        status = mixed_move_data(mixed, proto->node, proto->n_node, proto, error);
    const enum ulp_status closed =
        mixed_close_data(mixed, status == ULP_OK, status == ULP_OK ? error : NULL);
    return status == ULP_OK ? closed : status;
}

enum ulp_status ulp_extract_file(const struct ulp_extract_request *request, struct ulp_error *error)
{
    const struct ulp_mixed_request file = {.model = request->model, .path = request->path};
    struct ulp_mixed_written written = {0};
    struct extracting e = {.mixed = {.request = &file, .written = &written}, .request = request};
    return mixed_rewrite(&e.mixed, change, error);
}

enum ulp_status ulp_tensor_write_pb(const struct ulp_tensor *tensor, const char *name,
                                    struct ulp_budget *budget, const char *path,
                                    struct ulp_error *error)
{
    struct mixed mixed = {.budget = budget};
    ProtobufCBinaryData packed = {0};
    Ulp__TensorProto *proto = NULL;
    enum ulp_status status = ulp_loader_open(&mixed.loader, path, 0, budget, error);
    if (status == ULP_OK)
        status = mixed_same_tensor(&mixed, &proto, name, tensor, error);
    if (status == ULP_OK)
        status = mixed_pack(&mixed, &proto->base, &packed, error);
    if (status == ULP_OK)
        status = ulp_file_write(path, packed.data, packed.len, error);
    ulp_free(packed.data);
    ulp_unpack_free(&mixed.loader.unpacker, proto);
    ulp_loader_free(&mixed.loader);
    return status;
}
