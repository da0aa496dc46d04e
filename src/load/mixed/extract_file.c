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
    Ulp__ValueInfoProto *info;
    Ulp__DimensionProto *dim;
    ULP_TRY(mixed_add(mixed, infos, count, &ulp__value_info_proto__descriptor, &info, error));
    info->has_name = true;
    ULP_TRY(mixed_set_text(mixed, &info->name, value->name, error));
    ULP_TRY(mixed_new(mixed, &info->type, &ulp__type_proto__descriptor, error));
    ULP_TRY(mixed_new(mixed, &info->type->tensor_type, &ulp__tensor_type_proto__descriptor, error));
    Ulp__ShapeProto **shape = &info->type->tensor_type->shape;
    ULP_TRY(mixed_new(mixed, shape, &ulp__shape_proto__descriptor, error));
    for (int d = 0; d < value->tensor->rank; d++) {
        ULP_TRY(mixed_add(mixed, &(*shape)->dim, &(*shape)->n_dim,
                          &ulp__dimension_proto__descriptor, &dim, error));
        dim->has_dim_value = true;
        dim->dim_value = value->tensor->dims[d];
    }
    mixed_set_info(info, value->tensor->type);
    return ULP_OK;
}

static enum ulp_status declare(struct mixed *mixed, const struct ulp_extract_value *values,
                               size_t value_count, Ulp__ValueInfoProto ***infos, size_t *count,
                               struct ulp_error *error)
{
    mixed_clear(mixed, *infos, count);
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
    ULP_TRY(ulp_taken(kept, error));
    for (size_t n = 0; n < graph->node_count; n++) {
        const size_t position = (size_t)graph->nodes[n].position;
        if (position >= proto->n_node ||
            !mixed_is_text(proto->node[position]->op_type, graph->nodes[n].op_type))
            return mixed_fail_changed(error);
        kept[position] = nodes[n];
    }
    for (size_t p = 0; p < proto->n_node; p++)
        if (!kept[p])
            mixed_drop(mixed, &proto->node[p]);
    mixed_close_gaps(proto->node, &proto->n_node);
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
    ULP_TRY(ulp_taken(used, error));
    ulp_extract_used(graph, nodes, used);
    for (size_t v = 0; v < graph->value_count; v++)
        if (used[v] && graph->values[v].initializer &&
            ulp_names_find(&mixed->names, graph->values[v].name) < 0 &&
            !ulp_names_add(&mixed->names, graph->values[v].name, 0))
            return ulp_out_of_memory(error);
    for (size_t i = 0; i < proto->n_initializer; i++)
        if (!is_used(mixed, proto->initializer[i]->name))
            mixed_drop(mixed, &proto->initializer[i]);
    mixed_close_gaps(proto->initializer, &proto->n_initializer);
    for (size_t i = 0; i < proto->n_sparse_initializer; i++)
        if (!is_used(mixed, proto->sparse_initializer[i]->values->name))
            mixed_drop(mixed, &proto->sparse_initializer[i]);
    mixed_close_gaps(proto->sparse_initializer, &proto->n_sparse_initializer);
    return ULP_OK;
}

/* Before IR 4 an initializer had to be an input, too. */
enum { INITIALIZERS_ALONE = 4 };

static enum ulp_status change(struct mixed *mixed, struct ulp_error *error)
{
    const struct ulp_extract_request *request = ((struct extracting *)mixed)->request;
    const struct ulp_graph *graph = request->model->graph;
    Ulp__GraphProto *proto = mixed->proto->graph;
    ULP_TRY(keep_nodes(mixed, graph, request->nodes, error));
    ULP_TRY(keep_initializers(mixed, graph, request->nodes, error));
    ULP_TRY(declare(mixed, request->inputs, request->input_count, &proto->input, &proto->n_input,
                    error));
    ULP_TRY(declare(mixed, request->outputs, request->output_count, &proto->output,
                    &proto->n_output, error));
    ULP_TRY(declare(mixed, NULL, 0, &proto->value_info, &proto->n_value_info, error));
    for (size_t c = 0; c < request->constant_count; c++)
        ULP_TRY(
            mixed_add_same(mixed, request->constants[c].name, request->constants[c].tensor, error));
    if (mixed->proto->ir_version < INITIALIZERS_ALONE)
        mixed->proto->ir_version = INITIALIZERS_ALONE;
    return mixed_move_data(mixed, proto->node, proto->n_node, proto, error);
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
