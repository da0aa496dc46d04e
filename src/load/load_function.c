/* Functions of a model, templates that the compiler of programs expands, and the operator sets that
 * models and functions import. */
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/names.h"
#include "load/load.h"

enum ulp_status ulp_load_opsets(struct ulp_loader *loader, const struct ulp_opset **out,
                                size_t *out_count, Ulp__OpsetProto *const *protos, size_t count)
{
    ULP_TAKE_ARRAY(struct ulp_opset, opsets, loader->model->arena, count, loader->error);
    ULP_SCOPED(ulp_names_free) struct ulp_names seen = {.budget = &loader->model->budget};
    for (size_t i = 0; i < count; i++) {
        ULP_TRY(ulp_load_text(loader, &opsets[i].domain, protos[i]->domain,
                              "an operator set's domain"));
        opsets[i].domain = ulp_domain_normal(opsets[i].domain);
        opsets[i].version = protos[i]->version;
        const char *shown = *opsets[i].domain ? opsets[i].domain : "ai.onnx";
        int before = ulp_names_find(&seen, opsets[i].domain);
        if (opsets[i].version < 1)
            return ulp_fail(loader->error, ULP_ERROR_INPUT,
                            "operator set '%.100s' has version %lld, expected 1 or more", shown,
                            (long long)opsets[i].version);
        if (before >= 0 && opsets[before].version != opsets[i].version)
            return ulp_fail(loader->error, ULP_ERROR_INPUT,
                            "operator set '%.100s' is imported twice, as %lld and as %lld", shown,
                            (long long)opsets[before].version, (long long)opsets[i].version);
        if (before < 0 && !ulp_names_add(&seen, opsets[i].domain, (int)i))
            return ulp_out_of_memory(loader->error);
    }
    ulp_opsets_sort(opsets, count);
    *out = opsets;
    *out_count = count;
    return ULP_OK;
}

/* A function's body is a graph whose inputs and outputs have names only. */
static enum ulp_status load_body(struct ulp_loader *loader, struct ulp_function *out,
                                 const Ulp__FunctionProto *proto)
{
    size_t count = proto->n_input + proto->n_output;
    ULP_SCOPED(ulp_scoped_free) Ulp__ValueInfoProto *infos = calloc(count + 1, sizeof *infos);
    ULP_SCOPED(ulp_scoped_free)
    Ulp__ValueInfoProto **pointers = calloc(count + 1, sizeof *pointers);
    struct ulp_graph *graph = NULL;
    ULP_TRY(ulp_taken(infos && pointers, loader->error));
    for (size_t i = 0; i < count; i++) {
        ulp__value_info_proto__init(&infos[i]);
        infos[i].name = i < proto->n_input ? proto->input[i] : proto->output[i - proto->n_input];
        pointers[i] = &infos[i];
    }
    Ulp__GraphProto body = ULP__GRAPH_PROTO__INIT;
    body.name = proto->name;
    body.n_node = proto->n_node;
    body.node = proto->node;
    body.n_input = proto->n_input;
    body.input = pointers;
    body.n_output = proto->n_output;
    body.output = pointers + proto->n_input;
    body.n_value_info = proto->n_value_info;
    body.value_info = proto->value_info;
    const enum ulp_status status = ulp_load_body(loader, &graph, &body);
    out->body = graph;
    return status;
}

static enum ulp_status load_function(struct ulp_loader *loader, struct ulp_function *out,
                                     const Ulp__FunctionProto *proto)
{
    out->input_count = proto->n_input;
    out->output_count = proto->n_output;
    ULP_TRY(ulp_load_opsets(loader, &out->opsets, &out->opset_count, proto->opset_import,
                            proto->n_opset_import));
    struct ulp_attribute *defaults;
    ULP_TRY(ulp_load_attributes(loader, &defaults, &out->attribute_default_count,
                                proto->attribute_proto, proto->n_attribute_proto, NULL));
    ulp_attributes_sort(defaults, out->attribute_default_count);
    out->attribute_defaults = defaults;
    return load_body(loader, out, proto);
}

enum ulp_status ulp_load_function(struct ulp_loader *loader, struct ulp_function *out,
                                  Ulp__FunctionProto *proto)
{
    ULP_TRY(ulp_load_text(loader, &out->name, proto->name, "a function's name"));
    ULP_TRY(ulp_load_text(loader, &out->domain, proto->domain, "a function's domain"));
    ULP_TRY(ulp_load_text(loader, &out->overload, proto->overload, "a function's overload"));
    out->domain = ulp_domain_normal(out->domain);
    if (!*out->name)
        return ulp_fail(loader->error, ULP_ERROR_INPUT, "a function has no name");
    enum ulp_status status = load_function(loader, out, proto);
    return ulp_fail_at(loader->error, status, "function '%.60s%s%.100s'", out->domain,
                       *out->domain ? "::" : "", out->name);
}
