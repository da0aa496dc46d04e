/* TensorRT's layer information as JSON: {"Layers": [...], "Bindings": [...]}, a list, or what
 * getLayerInformation gives for one layer after the other. A layer is an object (profiling
 * verbosity "detailed"), or its name. The fields by version: doc/engine.md. */
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/engine/reading.h"
#include "data/json_file.h"

static enum ulp_status copy_string(struct ulp_engine_reading *reading, const json_t *string,
                                   const char **out, struct ulp_error *error)
{
    return ulp_engine_text(reading, json_is_string(string) ? json_string_value(string) : "",
                           json_string_length(string), out, error);
}

/* A text, or a list of them (TensorRT-RTX), each as TensorRT puts it in brackets. */
static enum ulp_status read_metadata(struct ulp_engine_reading *reading, const json_t *value,
                                     const char **out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *item = json_string_value(json_array_get(value, i));
        if (item)
            ulp_text_add(&text, "[%s]", item);
    }
    if (text.failed)
        return ulp_out_of_memory(error);
    return text.length ? ulp_engine_text(reading, text.data, text.length, out, error)
                       : copy_string(reading, value, out, error);
}

static void read_dims(const json_t *list, struct ulp_engine_tensor *out)
{
    const size_t rank = json_array_size(list);
    out->rank = -1;
    if (!json_is_array(list) || rank > ULP_RANK_MAX)
        return;
    for (size_t d = 0; d < rank; d++)
        out->dims[d] = json_is_integer(json_array_get(list, d))
                           ? (int64_t)json_integer_value(json_array_get(list, d))
                           : -1;
    out->rank = (int)rank;
}

static enum ulp_status read_tensor(struct ulp_engine_reading *reading, const json_t *tensor,
                                   struct ulp_engine_tensor *out, struct ulp_error *error)
{
    const json_t *both = json_object_get(tensor, "Format/Datatype"),
                 *type = json_object_get(tensor, "Datatype");
    ULP_TRY(copy_string(reading, json_object_get(tensor, "Name"), &out->name, error));
    ULP_TRY(copy_string(reading, both ? both : type, &out->format, error));
    out->type = ulp_engine_type(out->format);
    read_dims(json_object_get(tensor, "Dimensions"), out);
    return ULP_OK;
}

/* Two lists as one; either may be NULL. */
static enum ulp_status read_tensors(struct ulp_engine_reading *reading, const json_t *first,
                                    const json_t *second, const struct ulp_engine_tensor **out,
                                    size_t *count, struct ulp_error *error)
{
    const size_t before = json_array_size(first), all = before + json_array_size(second);
    ULP_TAKE_ARRAY(struct ulp_engine_tensor, tensors, reading->arena, all + 1, error);
    for (size_t t = 0; t < all; t++)
        ULP_TRY(
            read_tensor(reading,
                        t < before ? json_array_get(first, t) : json_array_get(second, t - before),
                        &tensors[t], error));
    *out = tensors;
    *count = all;
    return ULP_OK;
}

/* A field, or the one that a ConvActPool's convolution has in its place. */
static const json_t *field(const json_t *layer, const char *name, const char *fused)
{
    const json_t *plain = json_object_get(layer, name);
    return plain ? plain : json_object_get(layer, fused);
}

static enum ulp_type read_type(const json_t *weights)
{
    const json_t *type = json_object_get(weights, "Type"),
                 *count = json_object_get(weights, "Count");
    if (!json_is_string(type) || (json_is_integer(count) && json_integer_value(count) == 0))
        return ULP_TYPE_UNDEFINED;
    return ulp_engine_type(json_string_value(type));
}

static enum ulp_status read_object(struct ulp_engine_reading *reading, const json_t *object,
                                   struct ulp_engine_layer *out, struct ulp_error *error)
{
    const json_t *constants = json_object_get(object, "Constants");
    const struct {
        const char *name, *fused;
        const char **to;
    } texts[] = {{"Name", "Name", &out->name},
                 {"LayerType", "LayerType", &out->kind},
                 {"TacticName", "TacticName", &out->kernel},
                 {"Origin", "Origin", &out->origin},
                 {"Activation", "ConvActivation", &out->activation}};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        ULP_TRY(
            copy_string(reading, field(object, texts[t].name, texts[t].fused), texts[t].to, error));
    ULP_TRY(read_metadata(reading, json_object_get(object, "Metadata"), &out->metadata, error));
    ULP_TRY(read_tensors(reading, json_object_get(object, "Inputs"), constants, &out->inputs,
                         &out->input_count, error));
    ULP_TRY(read_tensors(reading, json_object_get(object, "Outputs"), NULL, &out->outputs,
                         &out->output_count, error));
    out->weights = read_type(field(object, "Weights", "ConvWeights"));
    out->bias = read_type(field(object, "Bias", "ConvBias"));
    if (out->weights == ULP_TYPE_UNDEFINED)
        out->weights = ulp_engine_weights(out, json_array_size(constants));
    return ULP_OK;
}

static enum ulp_status read_layer(struct ulp_engine_reading *reading, const json_t *layer,
                                  struct ulp_error *error)
{
    struct ulp_engine_layer out = {
        .name = "", .kind = "", .kernel = "", .metadata = "", .origin = "", .activation = ""};
    if (json_is_string(layer))
        ULP_TRY(copy_string(reading, layer, &out.name, error));
    else if (json_is_object(layer) && json_is_string(json_object_get(layer, "Name")))
        ULP_TRY(read_object(reading, layer, &out, error));
    else
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "layer %zu is neither a name nor an object with a \"Name\"",
                        reading->engine->layer_count);
    return ulp_engine_add_layer(reading, &out, error);
}

static enum ulp_status read_bindings(struct ulp_engine_reading *reading, const json_t *bindings,
                                     struct ulp_error *error)
{
    for (size_t b = 0; b < json_array_size(bindings); b++) {
        const json_t *binding = json_array_get(bindings, b);
        const json_t *name = json_is_object(binding) ? json_object_get(binding, "Name") : binding;
        if (json_is_string(name))
            ULP_TRY(ulp_engine_add_binding(reading, json_string_value(name),
                                           json_string_length(name), error));
    }
    return ULP_OK;
}

/* The list of layers; NULL: it is no description. */
static const json_t *find_layers(const json_t *root)
{
    static const char *const names[] = {"Layers", "layers", "LayerInfo", "layerInfo"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (json_is_array(json_object_get(root, names[n])))
            return json_object_get(root, names[n]);
    return json_is_array(root) ? root : NULL;
}

static enum ulp_status read_document(struct ulp_engine_reading *reading, const json_t *root,
                                     struct ulp_error *error)
{
    const json_t *layers = find_layers(root);
    if (!layers && (json_is_string(root) || json_is_string(json_object_get(root, "Name"))))
        return read_layer(reading, root, error);
    if (!layers)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "is no layer information: expected an object with \"Layers\"");
    for (size_t l = 0; l < json_array_size(layers); l++)
        ULP_TRY(read_layer(reading, json_array_get(layers, l), error));
    return read_bindings(reading, json_object_get(root, "Bindings"), error);
}

enum ulp_status ulp_engine_read_json(struct ulp_engine_reading *reading, const char *text,
                                     size_t length, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    struct ulp_budget *budget = ulp_arena_budget(reading->arena);
    /* jansson's tree, for which it asks nobody: some ten bytes for each of the text. */
    size_t charged;
    if (!ulp_size_mul(length, 10, &charged) || !ulp_budget_charge(budget, charged))
        return ulp_fail_memory(error, "out of memory for %zu bytes of JSON", length);
    while (status == ULP_OK && length) {
        json_error_t reason;
        json_t *root =
            ulp_json_load(text, length, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &reason);
        if (!root) {
            status = ulp_json_fail(&reason, error);
            break;
        }
        status = read_document(reading, root, error);
        json_decref(root);
        const size_t used = ulp_size_min((size_t)reason.position, length);
        text += used;
        length -= used;
        while (length && strchr(" \t\r\n,", *text)) {
            text++;
            length--;
        }
    }
    ulp_budget_discharge(budget, charged);
    return status;
}
