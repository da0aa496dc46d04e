/* The whole file: read again, its graph and functions given their types, and written. */
#include "base/error.h"
#include "load/mixed/writer.h"

/* An initializer that is an input, too, may be given with other values: it is converted by Casts
 * only, or once with the input. */
static enum ulp_status set_default(struct mixed *mixed, struct mixed_value *value)
{
    const enum ulp_type io = mixed->request->io;
    if (io != ULP_TYPE_UNDEFINED && value->proto) {
        ULP_TRY(edit_convert(&mixed->editor, value->proto, value->tensor, io));
        value->held = io;
    }
    value->kind = MIXED_GIVEN;
    value->tensor = NULL;
    return ULP_OK;
}

/* Inputs that are computed with as given, and outputs. */
static enum ulp_status set_inputs(struct mixed_scope *scope)
{
    const enum ulp_type io = scope->mixed->request->io;
    for (size_t i = 0; i < scope->source->input_count; i++) {
        struct mixed_value *value = &scope->values[scope->source->inputs[i]];
        if (value->declared == ULP_TYPE_UNDEFINED)
            continue;
        if (value->kind == MIXED_GIVEN && io != ULP_TYPE_UNDEFINED)
            value->held = io;
        if (scope->source->values[scope->source->inputs[i]].overridable)
            ULP_TRY(set_default(scope->mixed, value));
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

static enum ulp_status change_graph(struct mixed *mixed)
{
    struct mixed_scope scope = {.mixed = mixed,
                                .opset = ulp_model_opset(mixed->request->model, ""),
                                .graph = mixed->editor.graphs[0]};
    ULP_TRY(mixed_open_scope(&scope));
    ULP_TRY(set_inputs(&scope));
    ULP_TRY(mixed_visit(&scope));
    set_outputs(&scope);
    return mixed_settle(&scope);
}

/* A function that calls have in the first of its forms is that form; further ones follow. */
static enum ulp_status put_functions(struct mixed *mixed)
{
    Ulp__ModelProto *model = mixed->editor.proto;
    const size_t old = model->n_functions;
    for (size_t v = 0; v < mixed->variant_count; v++) {
        struct mixed_variant *variant = &mixed->variants[v];
        size_t f = 0;
        const bool original = variant->name == variant->function->name;
        while (f < old && !(original && edit_is_function(model->functions[f], variant->function)))
            f++;
        if (f < old) {
            ulp_unpack_free(&mixed->editor.loader.unpacker, model->functions[f]);
            model->functions[f] = variant->proto;
        } else {
            ULP_TRY(edit_append(&mixed->editor, &model->functions, &model->n_functions,
                                variant->proto));
        }
        variant->proto = NULL;
    }
    return ULP_OK;
}

static enum ulp_status give_types(struct editor *editor)
{
    struct mixed *mixed = (struct mixed *)editor;
    enum ulp_status status = change_graph(mixed);
    ULP_THEN(status, put_functions(mixed));
    for (size_t v = 0; v < mixed->variant_count; v++) {
        ulp_unpack_free(&editor->loader.unpacker, mixed->variants[v].proto);
        ulp_free(mixed->variants[v].packed.data);
    }
    ulp_free(mixed->variants);
    return status;
}

enum ulp_status ulp_mixed_write_file(const struct ulp_mixed_request *request,
                                     struct ulp_mixed_written *out, struct ulp_error *error)
{
    struct mixed mixed = {.editor = {.model = request->model,
                                     .path = request->path,
                                     .low = request->low,
                                     .constants = request->constants},
                          .request = request,
                          .written = out};
    *out = (struct ulp_mixed_written){0};
    const enum ulp_status status = edit_model(&mixed.editor, give_types, error);
    out->converted = mixed.editor.converted;
    out->external = mixed.editor.external;
    return status;
}
