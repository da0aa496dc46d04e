/* The whole file: read again, its graph and functions given their types, and written. */
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/machine/file.h"
#include "load/mixed/writer.h"

static bool add_name(struct mixed *mixed, const char *name)
{
    return ulp_names_find(&mixed->names, name) >= 0 || ulp_names_add(&mixed->names, name, 0);
}

/* Bodies share their names with the graphs around them, so a new name is new everywhere. */
static bool add_names(struct mixed *mixed, const struct ulp_graph *graph)
{
    bool added = true;
    for (size_t v = 0; v < graph->value_count && added; v++)
        added = add_name(mixed, graph->values[v].name);
    for (size_t n = 0; n < graph->node_count && added; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        added = add_name(mixed, node->name);
        for (size_t a = 0; a < node->attribute_count && added; a++)
            added = !node->attributes[a].graph || add_names(mixed, node->attributes[a].graph);
    }
    return added;
}

enum ulp_status mixed_collect_names(struct mixed *mixed, struct ulp_error *error)
{
    const struct ulp_model *model = mixed->request->model;
    bool added = add_names(mixed, model->graph);
    for (size_t f = 0; f < model->function_count && added; f++)
        added =
            add_name(mixed, model->functions[f].name) && add_names(mixed, model->functions[f].body);
    return ulp_taken(added, error);
}

/* An initializer that is an input, too, may be given with other values: it is converted by Casts
 * only, or once with the input. */
static enum ulp_status set_default(struct mixed *mixed, struct mixed_value *value,
                                   struct ulp_error *error)
{
    const enum ulp_type io = mixed->request->io;
    if (io != ULP_TYPE_UNDEFINED && value->proto) {
        ULP_TRY(mixed_convert(mixed, value->proto, value->tensor, io, error));
        value->held = io;
    }
    value->kind = MIXED_GIVEN;
    value->tensor = NULL;
    return ULP_OK;
}

/* Inputs that are computed with as given, and outputs. */
static enum ulp_status set_inputs(struct mixed_scope *scope, struct ulp_error *error)
{
    const enum ulp_type io = scope->mixed->request->io;
    for (size_t i = 0; i < scope->source->input_count; i++) {
        struct mixed_value *value = &scope->values[scope->source->inputs[i]];
        if (value->declared == ULP_TYPE_UNDEFINED)
            continue;
        if (value->kind == MIXED_GIVEN && io != ULP_TYPE_UNDEFINED)
            value->held = io;
        if (scope->source->values[scope->source->inputs[i]].overridable)
            ULP_TRY(set_default(scope->mixed, value, error));
    }
    return ULP_OK;
}

static void set_outputs(struct mixed_scope *scope)
{
    const enum ulp_type io = scope->mixed->request->io;
    for (size_t o = 0; o < scope->source->output_count; o++) {
        struct mixed_value *value = &scope->values[scope->source->outputs[o]];
        if (value->declared != ULP_TYPE_UNDEFINED && value->kind != MIXED_GIVEN)
            value->output = io != ULP_TYPE_UNDEFINED ? io : value->declared;
    }
}

static enum ulp_status change_graph(struct mixed *mixed, struct ulp_error *error)
{
    Ulp__GraphProto *graph = mixed->proto->graph;
    ULP_SCOPED(mixed_close_scope)
    struct mixed_scope scope = {.mixed = mixed,
                                .source = mixed->request->model->graph,
                                .opset = ulp_model_opset(mixed->request->model, ""),
                                .graph = graph,
                                .nodes = &graph->node,
                                .node_count = &graph->n_node,
                                .infos = &graph->value_info,
                                .info_count = &graph->n_value_info};
    ULP_TRY(mixed_open_scope(&scope, error));
    ULP_TRY(set_inputs(&scope, error));
    ULP_TRY(mixed_visit(&scope, error));
    set_outputs(&scope);
    ULP_TRY(mixed_settle(&scope, error));
    ULP_TRY(mixed_move_data(mixed, graph->node, graph->n_node, graph, error));
    return mixed_pack_bodies(mixed, 0, error);
}

/* A function that calls have in the first of its forms is that form; further ones follow. */
static enum ulp_status put_functions(struct mixed *mixed, struct ulp_error *error)
{
    Ulp__ModelProto *model = mixed->proto;
    const size_t old = model->n_functions;
    for (size_t v = 0; v < mixed->variant_count; v++) {
        struct mixed_variant *variant = &mixed->variants[v];
        size_t f = 0;
        const bool original = variant->name == variant->function->name;
        while (f < old && !(original && mixed_is_function(model->functions[f], variant->function)))
            f++;
        if (f < old) {
            ulp_unpack_free(&mixed->loader.unpacker, model->functions[f]);
            model->functions[f] = variant->proto;
        } else {
            ULP_TRY(
                mixed_append(mixed, &model->functions, &model->n_functions, variant->proto, error));
        }
        variant->proto = NULL;
    }
    return ULP_OK;
}

static enum ulp_status write_model(struct mixed *mixed, struct ulp_error *error)
{
    ProtobufCBinaryData packed = {0};
    if (protobuf_c_message_get_packed_size(&mixed->proto->base) > ULP_MODEL_BYTES_MAX)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "the model would be larger than 2 GiB, where protobuf ends: give one with "
                        "external data");
    ULP_TRY(mixed_pack(mixed, &mixed->proto->base, &packed, error));
    if (mixed->packed) {
        *mixed->packed = packed;
        return ULP_OK;
    }
    const enum ulp_status status =
        ulp_file_write(mixed->request->path, packed.data, packed.len, error);
    ulp_free(packed.data);
    return status;
}

static enum ulp_status give_types(struct mixed *mixed, struct ulp_error *error)
{
    ULP_TRY(mixed_collect_names(mixed, error));
    ULP_TRY(change_graph(mixed, error));
    return put_functions(mixed, error);
}

static enum ulp_status open_mixed(struct mixed *mixed, const void *bytes, size_t count,
                                  struct ulp_error *error)
{
    const struct ulp_mixed_request *request = mixed->request;
    const char *slash = strrchr(request->path, '/');
    const char *name = slash ? slash + 1 : request->path;
    void *proto = NULL;
    ULP_TRY(ulp_loader_open(&mixed->loader, request->model->path, count, mixed->budget, error));
    ULP_TRY(ulp_arena_create(&mixed->arena, mixed->budget, error));
    const size_t size = strlen(name) + sizeof ".data";
    char *data_name = ulp_arena_take(mixed->arena, size, 1);
    ULP_TRY(ulp_taken(data_name, error));
    memcpy(data_name, name, strlen(name));
    memcpy(data_name + strlen(name), ".data", sizeof ".data");
    mixed->data_name = data_name;
    ULP_TRY(ulp_unpack(&mixed->loader.unpacker, &proto, &ulp__model_proto__descriptor, bytes, count,
                       "model", error));
    mixed->proto = proto;
    return ULP_OK;
}

static void close_mixed(struct mixed *mixed)
{
    for (size_t b = 0; b < mixed->body_count; b++)
        ulp_unpack_free(&mixed->loader.unpacker, mixed->bodies[b].graph);
    for (size_t v = 0; v < mixed->variant_count; v++) {
        ulp_unpack_free(&mixed->loader.unpacker, mixed->variants[v].proto);
        ulp_free(mixed->variants[v].packed.data);
    }
    ulp_free(mixed->bodies);
    ulp_free(mixed->variants);
    ulp_unpack_free(&mixed->loader.unpacker, mixed->proto);
    ulp_names_free(&mixed->names);
    ulp_arena_free(mixed->arena);
    ulp_loader_free(&mixed->loader);
}

enum ulp_status mixed_fail_changed(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_INPUT, "is not the file any more that was loaded");
}

enum ulp_status mixed_rewrite(struct mixed *mixed, mixed_change *change, struct ulp_error *error)
{
    const struct ulp_model *model = mixed->request->model;
    void *mapped = NULL;
    size_t count = model->byte_count;
    mixed->budget = mixed->names.budget = ulp_model_budget(model);
    ULP_TRY(ulp_model_check_file(model, error));
    if (!model->bytes)
        ULP_TRY(ulp_file_map(model->path, ULP_MODEL_BYTES_MAX, &mapped, &count, error));
    enum ulp_status status = open_mixed(mixed, model->bytes ? model->bytes : mapped, count, error);
    if (status == ULP_OK && !mixed->proto->graph)
        status = mixed_fail_changed(error);
    if (status == ULP_OK)
        status = change(mixed, error);
    const enum ulp_status closed =
        mixed_close_data(mixed, status == ULP_OK, status == ULP_OK ? error : NULL);
    if (status == ULP_OK)
        status = closed;
    if (status == ULP_OK)
        status = write_model(mixed, error);
    close_mixed(mixed);
    if (mapped)
        munmap(mapped, count);
    return ulp_fail_at(error, status, "%s", model->path);
}

enum ulp_status ulp_mixed_write_file(const struct ulp_mixed_request *request,
                                     struct ulp_mixed_written *out, struct ulp_error *error)
{
    struct mixed mixed = {.request = request, .written = out};
    *out = (struct ulp_mixed_written){0};
    return mixed_rewrite(&mixed, give_types, error);
}
