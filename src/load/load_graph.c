/* Loading graphs: values by name, nodes, values captured from enclosing graphs. */
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/names.h"
#include "base/text/text.h"
#include "load/load.h"

/* A graph while it is loaded. Subgraphs add the values they capture to their parents, so values
 * grow until the end. */
struct ulp_scope {
    struct ulp_scope *parent;
    struct ulp_graph *graph;
    struct ulp_names names;
    struct ulp_value *values;
    size_t value_count, value_capacity;
    int depth;
    bool in_function;
};

bool ulp_scope_in_function(const struct ulp_scope *scope)
{
    return !scope || scope->in_function;
}

/* A new value; the name lives in the arena and is not in the scope yet. */
static enum ulp_status add_value(struct ulp_scope *scope, const char *name, int *out,
                                 struct ulp_error *error)
{
    ULP_TRY(ulp_grow(&scope->values, scope->value_count, &scope->value_capacity,
                     sizeof *scope->values, scope->names.budget, "values of a graph", error));
    *out = (int)scope->value_count;
    ULP_TRY(ulp_taken(ulp_names_add(&scope->names, name, *out), error));
    scope->values[scope->value_count++] = (struct ulp_value){
        .name = name,
        .info = {.name = name, .rank = -1},
        .producer = -1,
        .outer = -1,
    };
    return ULP_OK;
}

/* The number of a value this graph, or one around it, has; -1 when none has it. A value of an outer
 * graph becomes a captured value of every graph from there to here. */
static enum ulp_status find_or_capture(struct ulp_scope *scope, const char *name, int *out,
                                       struct ulp_error *error)
{
    *out = ulp_names_find(&scope->names, name);
    if (*out >= 0 || !scope->parent)
        return ULP_OK;
    int outer;
    ULP_TRY(find_or_capture(scope->parent, name, &outer, error));
    if (outer < 0)
        return ULP_OK;
    ULP_TRY(add_value(scope, name, out, error));
    const struct ulp_value *source = &scope->parent->values[outer];
    scope->values[*out].outer = outer;
    scope->values[*out].info = source->info;
    scope->values[*out].container = source->container;
    return ULP_OK;
}

static enum ulp_status load_shape(struct ulp_loader *loader, struct ulp_value_info *info,
                                  const Ulp__ShapeProto *shape)
{
    if (shape->n_dim > ULP_RANK_MAX)
        return ulp_fail(loader->error, ULP_ERROR_UNSUPPORTED,
                        "declares rank %zu: at most %d dimensions are supported", shape->n_dim,
                        ULP_RANK_MAX);
    info->rank = (int)shape->n_dim;
    for (size_t d = 0; d < shape->n_dim; d++) {
        const Ulp__DimensionProto *dim = shape->dim[d];
        bool known = dim->has_dim_value && dim->dim_value >= 0;
        info->dims[d] = known ? dim->dim_value : -1;
        if (known || !dim->dim_param.len)
            continue;
        ULP_TRY(ulp_load_text(loader, &info->dim_names[d], dim->dim_param, "a dimension's name"));
    }
    return ULP_OK;
}

static enum ulp_status load_type(struct ulp_loader *loader, struct ulp_value *value,
                                 const Ulp__TypeProto *type)
{
    const Ulp__TensorTypeProto *tensor = type->tensor_type;
    value->container = type->has_sequence_type        ? "sequence"
                       : type->has_map_type           ? "map"
                       : type->has_optional_type      ? "optional"
                       : type->has_sparse_tensor_type ? "sparse tensor"
                       : type->has_opaque_type        ? "opaque"
                                                      : NULL;
    if (!tensor)
        return ULP_OK;
    if (tensor->elem_type < 0 || tensor->elem_type >= ULP_TYPE_COUNT)
        return ulp_fail(
            loader->error, ULP_ERROR_UNSUPPORTED,
            "declares element type %d, which this version does not know (the newest is %d, %s)",
            tensor->elem_type, ULP_TYPE_COUNT - 1, ulp_type_name(ULP_TYPE_COUNT - 1));
    value->info.type = (enum ulp_type)tensor->elem_type;
    return tensor->shape ? load_shape(loader, &value->info, tensor->shape) : ULP_OK;
}

/* What a value is declared as; a declaration that comes later does not change one that said
 * something. */
static enum ulp_status declare(struct ulp_loader *loader, struct ulp_scope *scope, int value,
                               const Ulp__TypeProto *type)
{
    struct ulp_value *v = &scope->values[value];
    if (!type || v->container || (v->info.type != ULP_TYPE_UNDEFINED && v->info.rank >= 0))
        return ULP_OK;
    struct ulp_value declared = {.info = {.name = v->name, .rank = -1}};
    ULP_TRY(
        ulp_fail_at(loader->error, load_type(loader, &declared, type), "value '%.100s'", v->name));
    if (v->info.type == ULP_TYPE_UNDEFINED || declared.info.type == v->info.type) {
        v->info = declared.info;
        v->container = declared.container;
    }
    return ULP_OK;
}

static enum ulp_status load_inputs(struct ulp_loader *loader, struct ulp_scope *scope,
                                   const Ulp__GraphProto *proto)
{
    struct ulp_graph *graph = scope->graph;
    ULP_TAKE_ARRAY(int, inputs, loader->model->arena, proto->n_input, loader->error);
    graph->inputs = inputs;
    graph->input_count = proto->n_input;
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name;
        ULP_TRY(ulp_load_text(loader, &name, proto->input[i]->name, "an input's name"));
        if (!*name)
            return ulp_fail(loader->error, ULP_ERROR_INPUT, "input %zu has no name", i);
        if (ulp_names_find(&scope->names, name) >= 0)
            return ulp_fail(loader->error, ULP_ERROR_INPUT, "two inputs have the name '%.100s'",
                            name);
        ULP_TRY(add_value(scope, name, &inputs[i], loader->error));
        ULP_TRY(declare(loader, scope, inputs[i], proto->input[i]->type));
    }
    return ULP_OK;
}

/* Gives name its constant; an input of that name (as IR 3 demands) keeps what it declares. */
static enum ulp_status set_initializer(struct ulp_scope *scope, const char *name,
                                       const struct ulp_tensor *tensor, struct ulp_error *error)
{
    if (!*name)
        return ulp_fail(error, ULP_ERROR_INPUT, "an initializer has no name");
    int value = ulp_names_find(&scope->names, name);
    if (value >= 0 && scope->values[value].initializer)
        return ulp_fail(error, ULP_ERROR_INPUT, "two initializers have the name '%.100s'", name);
    if (value < 0)
        ULP_TRY(add_value(scope, name, &value, error));
    struct ulp_value *v = &scope->values[value];
    v->initializer = tensor;
    if (v->info.type != ULP_TYPE_UNDEFINED && v->info.type != tensor->type)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "initializer '%.100s' has type %s, but the input of that name declares %s",
                        name, ulp_type_name(tensor->type), ulp_type_name(v->info.type));
    if (v->info.type == ULP_TYPE_UNDEFINED) {
        v->info.type = tensor->type;
        v->info.rank = tensor->rank;
        memcpy(v->info.dims, tensor->dims, sizeof v->info.dims);
    }
    return ULP_OK;
}

static enum ulp_status load_initializers(struct ulp_loader *loader, struct ulp_scope *scope,
                                         const Ulp__GraphProto *proto)
{
    const struct ulp_tensor *tensor;
    const char *name;
    for (size_t i = 0; i < proto->n_initializer; i++) {
        ULP_TRY(ulp_load_text(loader, &name, proto->initializer[i]->name, "an initializer's name"));
        ULP_TRY(ulp_fail_at(loader->error,
                            ulp_load_tensor(loader, &tensor, proto->initializer[i], true),
                            "initializer '%.100s'", name));
        ULP_TRY(set_initializer(scope, name, tensor, loader->error));
    }
    for (size_t i = 0; i < proto->n_sparse_initializer; i++) {
        Ulp__SparseTensorProto *sparse = proto->sparse_initializer[i];
        ProtobufCBinaryData bytes =
            sparse->values ? sparse->values->name : (ProtobufCBinaryData){0};
        ULP_TRY(ulp_load_text(loader, &name, bytes, "an initializer's name"));
        ULP_TRY(ulp_fail_at(loader->error, ulp_load_sparse_tensor(loader, &tensor, sparse),
                            "initializer '%.100s'", name));
        ULP_TRY(set_initializer(scope, name, tensor, loader->error));
    }
    return ULP_OK;
}

static enum ulp_status load_node_names(struct ulp_loader *loader, struct ulp_node *node, int index,
                                       const Ulp__NodeProto *proto)
{
    enum ulp_status status =
        ulp_load_text(loader, &node->op_type, proto->op_type, "an operator's name");
    ULP_THEN(status, ulp_load_text(loader, &node->name, proto->name, "a node's name"));
    ULP_THEN(status, ulp_load_text(loader, &node->domain, proto->domain, "a node's domain"));
    ULP_THEN(status, ulp_load_text(loader, &node->overload, proto->overload, "a node's overload"));
    ULP_TRY(ulp_fail_at(loader->error, status, "node %d", index));
    if (!*node->op_type)
        return ulp_fail(loader->error, ULP_ERROR_INPUT, "node %d ('%.100s') has no operator", index,
                        node->name);
    node->index = node->position = index;
    node->domain = ulp_domain_normal(node->domain);
    ProtobufCBinaryData scopes = {0};
    for (size_t i = 0; i < proto->n_metadata_props; i++)
        if (ulp_entry_is(proto->metadata_props[i], "pkg.torch.onnx.name_scopes"))
            scopes = proto->metadata_props[i]->value;
    const size_t length = scopes.len ? strnlen((const char *)scopes.data, scopes.len) : 0;
    node->scopes = ulp_arena_text(loader->model->arena, (const char *)scopes.data, length);
    return ulp_taken(node->scopes, loader->error);
}

/* A node without a name is called by its operator and place; the second and later ones of a name
 * get their places behind it, so that what is kept by name is of one node. */
static enum ulp_status name_apart(struct ulp_loader *loader, struct ulp_names *names,
                                  struct ulp_node *node)
{
    const char *stem = *node->name ? node->name : node->op_type;
    node->named = *node->name && ulp_names_find(names, node->name) < 0;
    if (!node->named) {
        node->name = ulp_arena_say(loader->model->arena, "%s_%d", stem, node->index);
        ULP_TRY(ulp_taken(node->name, loader->error));
    }
    return ulp_taken(ulp_names_find(names, node->name) >= 0 ||
                         ulp_names_add(names, node->name, node->index),
                     loader->error);
}

/* First step of a node that has its names: its outputs, so that any node can then refer to them. */
static enum ulp_status load_node(struct ulp_loader *loader, struct ulp_scope *scope,
                                 struct ulp_node *node, int index, const Ulp__NodeProto *proto)
{
    ULP_TAKE_ARRAY(int, outputs, loader->model->arena, proto->n_output, loader->error);
    node->outputs = outputs;
    node->output_count = proto->n_output;
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name;
        outputs[i] = -1;
        status = ulp_load_text(loader, &name, proto->output[i], "an output's name");
        if (status == ULP_OK && *name) {
            int known = ulp_names_find(&scope->names, name);
            int producer = known >= 0 ? scope->values[known].producer : -1;
            if (known >= 0)
                return ulp_fail(loader->error, ULP_ERROR_INPUT,
                                "node '%.100s' (%.60s): output '%.100s' is already %s%.100s%s",
                                node->name, node->op_type, name,
                                producer >= 0 ? "computed by node '" : "an input or an initializer",
                                producer >= 0 ? scope->graph->nodes[producer].name : "",
                                producer >= 0 ? "'" : "");
            status = add_value(scope, name, &outputs[i], loader->error);
            if (status == ULP_OK)
                scope->values[outputs[i]].producer = index;
        }
        ULP_TRY(
            ulp_fail_at(loader->error, status, "node '%.100s' (%.60s)", node->name, node->op_type));
    }
    return ULP_OK;
}

/* Second step, when all outputs of the graph are known: inputs, and attributes with their
 * subgraphs. */
static enum ulp_status link_node(struct ulp_loader *loader, struct ulp_scope *scope,
                                 struct ulp_node *node, const Ulp__NodeProto *proto)
{
    ULP_TAKE_ARRAY(int, inputs, loader->model->arena, proto->n_input + ULP_INPUTS_LOOKED_AT,
                   loader->error);
    for (size_t i = 0; i < ULP_INPUTS_LOOKED_AT; i++)
        inputs[proto->n_input + i] = -1;
    node->inputs = inputs;
    node->input_count = proto->n_input;
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name;
        ULP_TRY(ulp_load_text(loader, &name, proto->input[i], "an input's name"));
        inputs[i] = -1;
        if (*name) {
            ULP_TRY(find_or_capture(scope, name, &inputs[i], loader->error));
            if (inputs[i] < 0)
                return ulp_fail(loader->error, ULP_ERROR_INPUT,
                                "input %zu, '%.100s', is neither an input of the graph%s, an "
                                "initializer, nor a node's output",
                                i, name, scope->parent ? " or one around it" : "");
        }
    }
    struct ulp_attribute *attributes;
    ULP_TRY(ulp_load_attributes(loader, &attributes, &node->attribute_count, proto->attribute,
                                proto->n_attribute, scope));
    node->attributes = attributes;
    return ULP_OK;
}

static enum ulp_status load_nodes(struct ulp_loader *loader, struct ulp_scope *scope,
                                  struct ulp_node *nodes, const Ulp__GraphProto *proto)
{
    ULP_SCOPED(ulp_names_free) struct ulp_names names = {.budget = scope->names.budget};
    for (size_t i = 0; i < proto->n_node; i++) {
        ULP_TRY(load_node_names(loader, &nodes[i], (int)i, proto->node[i]));
        ULP_TRY(name_apart(loader, &names, &nodes[i]));
        ULP_TRY(load_node(loader, scope, &nodes[i], (int)i, proto->node[i]));
    }
    for (size_t i = 0; i < proto->n_node; i++)
        ULP_TRY(ulp_fail_at(loader->error, link_node(loader, scope, &nodes[i], proto->node[i]),
                            "node '%.100s' (%.60s)", nodes[i].name, nodes[i].op_type));
    return ULP_OK;
}

static enum ulp_status load_outputs(struct ulp_loader *loader, struct ulp_scope *scope,
                                    const Ulp__GraphProto *proto)
{
    struct ulp_graph *graph = scope->graph;
    ULP_TAKE_ARRAY(int, outputs, loader->model->arena, proto->n_output, loader->error);
    graph->outputs = outputs;
    graph->output_count = proto->n_output;
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name;
        outputs[i] = -1;
        ULP_TRY(ulp_load_text(loader, &name, proto->output[i]->name, "an output's name"));
        if (*name)
            ULP_TRY(find_or_capture(scope, name, &outputs[i], loader->error));
        if (outputs[i] < 0)
            return ulp_fail(loader->error, ULP_ERROR_INPUT,
                            "output %zu, '%.100s', is computed by no node", i, name);
        ULP_TRY(declare(loader, scope, outputs[i], proto->output[i]->type));
    }
    return ULP_OK;
}

static enum ulp_status load_declarations(struct ulp_loader *loader, struct ulp_scope *scope,
                                         const Ulp__GraphProto *proto)
{
    for (size_t i = 0; i < proto->n_value_info; i++) {
        const char *name;
        ULP_TRY(ulp_load_text(loader, &name, proto->value_info[i]->name, "a value's name"));
        const int value = ulp_names_find(&scope->names, name);
        if (value >= 0)
            ULP_TRY(declare(loader, scope, value, proto->value_info[i]->type));
    }
    return ULP_OK;
}

static enum ulp_status list_free_inputs(struct ulp_loader *loader, struct ulp_graph *graph)
{
    ULP_TAKE_ARRAY(int, inputs, loader->model->arena, graph->input_count, loader->error);
    graph->free_inputs = inputs;
    for (size_t i = 0; i < graph->input_count; i++) {
        struct ulp_value *value = &graph->values[graph->inputs[i]];
        if (!value->initializer)
            inputs[graph->free_input_count++] = graph->inputs[i];
        else
            value->overridable = loader->model->ir_version >= ULP_LOAD_IR_DEFAULTS;
    }
    return ULP_OK;
}

static enum ulp_status fill_graph(struct ulp_loader *loader, struct ulp_scope *scope,
                                  Ulp__GraphProto *proto)
{
    struct ulp_graph *graph = scope->graph;
    ULP_TAKE_ARRAY(struct ulp_node, nodes, loader->model->arena, proto->n_node, loader->error);
    graph->nodes = nodes;
    graph->node_count = proto->n_node;
    ULP_TRY(ulp_load_text(loader, &graph->name, proto->name, "a graph's name"));
    ULP_TRY(load_inputs(loader, scope, proto));
    ULP_TRY(load_initializers(loader, scope, proto));
    ULP_TRY(load_nodes(loader, scope, nodes, proto));
    ULP_TRY(load_outputs(loader, scope, proto));
    ULP_TRY(load_declarations(loader, scope, proto));
    graph->value_count = scope->value_count;
    ULP_TAKE(graph->values, loader->model->arena, scope->value_count, loader->error);
    if (scope->value_count)
        memcpy(graph->values, scope->values, scope->value_count * sizeof *graph->values);
    ULP_TRY(list_free_inputs(loader, graph));
    return ulp_graph_sort(graph, nodes, &loader->model->budget, loader->error);
}

static enum ulp_status load_scope(struct ulp_loader *loader, struct ulp_scope *scope,
                                  struct ulp_graph **out, Ulp__GraphProto *proto)
{
    if (scope->depth > ULP_LOAD_DEPTH_MAX)
        return ulp_fail(loader->error, ULP_ERROR_UNSUPPORTED,
                        "subgraphs are nested more than %d deep", ULP_LOAD_DEPTH_MAX);
    ULP_TAKE(scope->graph, loader->model->arena, 1, loader->error);
    scope->names.budget = &loader->model->budget;
    scope->graph->parent = scope->parent ? scope->parent->graph : NULL;
    enum ulp_status status = fill_graph(loader, scope, proto);
    ulp_names_free(&scope->names);
    ulp_free(scope->values);
    *out = scope->graph;
    return status;
}

enum ulp_status ulp_load_graph(struct ulp_loader *loader, struct ulp_graph **out,
                               Ulp__GraphProto *proto, struct ulp_scope *parent)
{
    struct ulp_scope scope = {
        .parent = parent,
        .depth = parent ? parent->depth + 1 : 0,
        .in_function = parent && parent->in_function,
    };
    return load_scope(loader, &scope, out, proto);
}

enum ulp_status ulp_load_body(struct ulp_loader *loader, struct ulp_graph **out,
                              Ulp__GraphProto *proto)
{
    struct ulp_scope scope = {.in_function = true};
    return load_scope(loader, &scope, out, proto);
}
