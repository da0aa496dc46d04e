/* Loading the attributes of nodes. */
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/names.h"
#include "load/load.h"

/* AttributeProto.AttributeType */
enum {
    TYPE_UNDEFINED,
    TYPE_FLOAT,
    TYPE_INT,
    TYPE_STRING,
    TYPE_TENSOR,
    TYPE_GRAPH,
    TYPE_FLOATS,
    TYPE_INTS,
    TYPE_STRINGS,
    TYPE_TENSORS,
    TYPE_GRAPHS,
    TYPE_SPARSE_TENSOR,
    TYPE_SPARSE_TENSORS,
    TYPE_TYPE_PROTO,
    TYPE_TYPE_PROTOS,
    TYPE_COUNT
};
static const enum ulp_attribute_kind kinds[TYPE_COUNT] = {
    [TYPE_UNDEFINED] = ULP_ATTRIBUTE_OTHER,
    [TYPE_FLOAT] = ULP_ATTRIBUTE_FLOAT,
    [TYPE_INT] = ULP_ATTRIBUTE_INT,
    [TYPE_STRING] = ULP_ATTRIBUTE_STRING,
    [TYPE_TENSOR] = ULP_ATTRIBUTE_TENSOR,
    [TYPE_GRAPH] = ULP_ATTRIBUTE_GRAPH,
    [TYPE_FLOATS] = ULP_ATTRIBUTE_FLOATS,
    [TYPE_INTS] = ULP_ATTRIBUTE_INTS,
    [TYPE_STRINGS] = ULP_ATTRIBUTE_STRINGS,
    [TYPE_TENSORS] = ULP_ATTRIBUTE_OTHER,
    [TYPE_GRAPHS] = ULP_ATTRIBUTE_OTHER,
    [TYPE_SPARSE_TENSOR] = ULP_ATTRIBUTE_TENSOR,
    [TYPE_SPARSE_TENSORS] = ULP_ATTRIBUTE_OTHER,
    [TYPE_TYPE_PROTO] = ULP_ATTRIBUTE_OTHER,
    [TYPE_TYPE_PROTOS] = ULP_ATTRIBUTE_OTHER,
};

/* Files older than IR 2's rule do not say the type: it is that of the field that is there. */
static int find_type(const Ulp__AttributeProto *proto)
{
    if (proto->has_type && proto->type != TYPE_UNDEFINED)
        return proto->type;
    return proto->has_f       ? TYPE_FLOAT
           : proto->has_i     ? TYPE_INT
           : proto->has_s     ? TYPE_STRING
           : proto->t         ? TYPE_TENSOR
           : proto->has_g     ? TYPE_GRAPH
           : proto->n_floats  ? TYPE_FLOATS
           : proto->n_ints    ? TYPE_INTS
           : proto->n_strings ? TYPE_STRINGS
                              : TYPE_UNDEFINED;
}

static bool has_zero(ProtobufCBinaryData bytes)
{
    return bytes.len && memchr(bytes.data, 0, bytes.len);
}

static enum ulp_status load_strings(struct ulp_loader *loader, struct ulp_attribute *out,
                                    const Ulp__AttributeProto *proto)
{
    ULP_TAKE_ARRAY(const char *, strings, loader->model->arena, proto->n_strings, loader->error);
    out->strings = strings;
    out->count = proto->n_strings;
    for (size_t i = 0; i < proto->n_strings; i++) {
        if (has_zero(proto->strings[i])) {
            out->kind = ULP_ATTRIBUTE_OTHER;
            return ULP_OK;
        }
        ULP_TRY(ulp_load_text(loader, &strings[i], proto->strings[i], "a string"));
    }
    return ULP_OK;
}

static enum ulp_status copy_list(struct ulp_loader *loader, const void **out, const void *from,
                                 size_t count, size_t element_bytes)
{
    void *copy = ulp_arena_take(loader->model->arena, count, element_bytes);
    ULP_TRY(ulp_taken(copy, loader->error));
    if (count)
        memcpy(copy, from, count * element_bytes);
    *out = copy;
    return ULP_OK;
}

static enum ulp_status load_subgraph(struct ulp_loader *loader, struct ulp_attribute *out,
                                     const Ulp__AttributeProto *proto, struct ulp_scope *scope)
{
    void *message;
    struct ulp_graph *graph = NULL;
    if (!scope)
        return ulp_fail(loader->error, ULP_ERROR_UNSUPPORTED,
                        "graphs as default values are not supported");
    ULP_TRY(ulp_unpack(&loader->unpacker, &message, &ulp__graph_proto__descriptor, proto->g.data,
                       proto->g.len, "subgraph", loader->error));
    enum ulp_status status = ulp_load_graph(loader, &graph, message, scope);
    ulp_unpack_free(&loader->unpacker, message);
    out->graph = graph;
    return status;
}

/* Dense from here on. */
static enum ulp_status load_sparse(struct ulp_loader *loader, struct ulp_attribute *out,
                                   const Ulp__AttributeProto *proto)
{
    void *message;
    ULP_TRY(ulp_unpack(&loader->unpacker, &message, &ulp__sparse_tensor_proto__descriptor,
                       proto->sparse_tensor.data, proto->sparse_tensor.len, "sparse tensor",
                       loader->error));
    enum ulp_status status = ulp_load_sparse_tensor(loader, &out->tensor, message);
    ulp_unpack_free(&loader->unpacker, message);
    return status;
}

static enum ulp_status load_value(struct ulp_loader *loader, struct ulp_attribute *out,
                                  const Ulp__AttributeProto *proto, struct ulp_scope *scope)
{
    switch (out->kind) {
    case ULP_ATTRIBUTE_INT: out->i = proto->i; return ULP_OK;
    case ULP_ATTRIBUTE_FLOAT: out->f = proto->f; return ULP_OK;
    case ULP_ATTRIBUTE_STRING:
        if (!has_zero(proto->s))
            return ulp_load_text(loader, &out->s, proto->s, "the string");
        out->kind = ULP_ATTRIBUTE_OTHER;
        return ULP_OK;
    case ULP_ATTRIBUTE_TENSOR:
        if (proto->has_sparse_tensor && !proto->t)
            return load_sparse(loader, out, proto);
        if (!proto->t)
            return ulp_fail(loader->error, ULP_ERROR_INPUT, "is a tensor, but there is none");
        return ulp_load_tensor(loader, &out->tensor, proto->t, false);
    case ULP_ATTRIBUTE_GRAPH:
        if (!proto->has_g)
            return ulp_fail(loader->error, ULP_ERROR_INPUT, "is a graph, but there is none");
        return load_subgraph(loader, out, proto, scope);
    case ULP_ATTRIBUTE_INTS:
        out->count = proto->n_ints;
        return copy_list(loader, (const void **)&out->ints, proto->ints, out->count,
                         sizeof *out->ints);
    case ULP_ATTRIBUTE_FLOATS:
        out->count = proto->n_floats;
        return copy_list(loader, (const void **)&out->floats, proto->floats, out->count,
                         sizeof *out->floats);
    case ULP_ATTRIBUTE_STRINGS: return load_strings(loader, out, proto);
    default: return ULP_OK;
    }
}

static enum ulp_status load_attribute(struct ulp_loader *loader, struct ulp_attribute *out,
                                      const Ulp__AttributeProto *proto, struct ulp_scope *scope)
{
    int type = find_type(proto);
    if (type < 0 || type >= TYPE_COUNT)
        return ulp_fail(loader->error, ULP_ERROR_UNSUPPORTED, "has type %d, which is not known",
                        type);
    out->kind = kinds[type];
    if (proto->ref_attr_name.len) {
        if (!ulp_scope_in_function(scope))
            return ulp_fail(loader->error, ULP_ERROR_INPUT,
                            "refers to a function's attribute, but is in no function");
        return ulp_load_text(loader, &out->reference, proto->ref_attr_name,
                             "the attribute it refers to");
    }
    return load_value(loader, out, proto, scope);
}

enum ulp_status ulp_load_attributes(struct ulp_loader *loader, struct ulp_attribute **out,
                                    size_t *out_count, Ulp__AttributeProto *const *protos,
                                    size_t count, struct ulp_scope *scope)
{
    struct ulp_attribute *attributes =
        ulp_arena_take(loader->model->arena, count, sizeof *attributes);
    ULP_SCOPED(ulp_names_free) struct ulp_names seen = {.budget = &loader->model->budget};
    ULP_TRY(ulp_taken(attributes, loader->error));
    *out = attributes;
    *out_count = count;
    for (size_t i = 0; i < count; i++) {
        ULP_TRY(ulp_load_text(loader, &attributes[i].name, protos[i]->name, "an attribute's name"));
        const char *name = attributes[i].name;
        if (!*name)
            return ulp_fail(loader->error, ULP_ERROR_INPUT, "attribute %zu has no name", i);
        if (ulp_names_find(&seen, name) >= 0)
            return ulp_fail(loader->error, ULP_ERROR_INPUT, "attribute '%.60s' is there twice",
                            name);
        ULP_TRY(ulp_taken(ulp_names_add(&seen, name, (int)i), loader->error));
        ULP_TRY(ulp_fail_at(loader->error, load_attribute(loader, &attributes[i], protos[i], scope),
                            "attribute '%.60s'", name));
    }
    return ULP_OK;
}
