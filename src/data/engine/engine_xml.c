/* OpenVINO's execution graph, as ov.serialize(compiled.get_runtime_model(), "graph.xml") writes it:
 * <layer name type> with <data originalLayersNames runtimePrecision outputPrecisions primitiveType>
 * and ports with a precision and <dim>s. */
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/engine/reading.h"

/* Deeper than any graph: net, layers, layer, input, port, dim. */
enum { DEPTH_MAX = 64, DIM_BYTES = 24 };

enum side { NO_SIDE, INPUT, OUTPUT };
struct parsing {
    struct ulp_engine_reading *reading;
    struct ulp_error *error;
    enum ulp_status status;
    XML_Parser parser;
    int depth;
    bool graph; /* a <net> was met */
    bool in_layer;
    struct ulp_engine_layer layer;
    enum ulp_type runtime;      /* what the layer computes in */
    const char *out_precisions; /* "f32,f32" */
    enum side side;
    struct ulp_engine_tensor *tensors[2]; /* of ulp_grow */
    size_t counts[2], capacities[2];
    char dim[DIM_BYTES];
    size_t dim_length;
    bool in_dim;
};

static void stop(struct parsing *parsing, enum ulp_status status)
{
    if (parsing->status == ULP_OK)
        parsing->status = status;
    XML_StopParser(parsing->parser, XML_FALSE);
}

static const char *attribute(const char **attributes, const char *name)
{
    for (; attributes[0]; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return "";
}

static void copy_string(struct parsing *parsing, const char *text, const char **out)
{
    enum ulp_status status =
        ulp_engine_text(parsing->reading, text, strlen(text), out, parsing->error);
    if (status != ULP_OK)
        stop(parsing, status);
}

/* "f32", "bf16", "i8": as TensorRT spells them. */
static enum ulp_type read_precision(const char *text)
{
    static const struct {
        const char *name;
        enum ulp_type type;
    } rows[] = {{"f32", ULP_TYPE_FLOAT},     {"f16", ULP_TYPE_FLOAT16},
                {"bf16", ULP_TYPE_BFLOAT16}, {"i8", ULP_TYPE_INT8},
                {"u8", ULP_TYPE_UINT8},      {"f64", ULP_TYPE_DOUBLE},
                {"i32", ULP_TYPE_INT32},     {"i64", ULP_TYPE_INT64},
                {"boolean", ULP_TYPE_BOOL},  {"f8e4m3", ULP_TYPE_FLOAT8E4M3FN}};
    const size_t length = strcspn(text, ",");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (strlen(rows[r].name) == length && strncmp(text, rows[r].name, length) == 0)
            return rows[r].type;
    return ulp_engine_type(text);
}

/* Names of the model's layers as TensorRT's metadata has them. */
static void read_originals(struct parsing *parsing, const char *names)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_text_add(&text, "%s", "");
    while (*names) {
        const size_t length = strcspn(names, ",");
        if (length) {
            ulp_text_add(&text, "[ONNX Layer: ");
            ulp_text_put(&text, names, length);
            ulp_text_add(&text, "]");
        }
        names += length + (names[length] == ',');
    }
    if (text.failed)
        stop(parsing, ulp_out_of_memory(parsing->error));
    else
        copy_string(parsing, text.data, &parsing->layer.metadata);
}

static void begin_layer(struct parsing *parsing, const char **attributes)
{
    parsing->layer = (struct ulp_engine_layer){
        .name = "", .kind = "", .kernel = "", .metadata = "", .origin = "", .activation = ""};
    parsing->in_layer = true;
    parsing->runtime = ULP_TYPE_UNDEFINED;
    parsing->out_precisions = "";
    parsing->counts[0] = parsing->counts[1] = 0;
    copy_string(parsing, attribute(attributes, "name"), &parsing->layer.name);
    copy_string(parsing, attribute(attributes, "type"), &parsing->layer.kind);
}

static void read_data(struct parsing *parsing, const char **attributes)
{
    parsing->runtime = read_precision(attribute(attributes, "runtimePrecision"));
    copy_string(parsing, attribute(attributes, "primitiveType"), &parsing->layer.kernel);
    copy_string(parsing, attribute(attributes, "outputPrecisions"), &parsing->out_precisions);
    if (parsing->status == ULP_OK)
        read_originals(parsing, attribute(attributes, "originalLayersNames"));
}

static void begin_port(struct parsing *parsing, const char **attributes)
{
    const int s = parsing->side == OUTPUT;
    enum ulp_status status =
        ulp_grow(&parsing->tensors[s], parsing->counts[s], &parsing->capacities[s],
                 sizeof **parsing->tensors, ulp_arena_budget(parsing->reading->arena),
                 "tensors of a layer", parsing->error);
    if (status != ULP_OK) {
        stop(parsing, status);
        return;
    }
    struct ulp_engine_tensor *tensor = &parsing->tensors[s][parsing->counts[s]++];
    *tensor = (struct ulp_engine_tensor){.name = ""};
    copy_string(parsing, attribute(attributes, "precision"), &tensor->format);
    if (parsing->status == ULP_OK)
        tensor->type = ulp_engine_type(tensor->format);
}

static void begin_element(void *context, const char *name, const char **attributes)
{
    struct parsing *parsing = context;
    if (++parsing->depth > DEPTH_MAX)
        stop(parsing,
             ulp_fail(parsing->error, ULP_ERROR_INPUT, "more than %d elements deep", DEPTH_MAX));
    else if (strcmp(name, "net") == 0)
        parsing->graph = true;
    else if (strcmp(name, "layer") == 0)
        begin_layer(parsing, attributes);
    else if (!parsing->in_layer)
        return;
    else if (strcmp(name, "data") == 0)
        read_data(parsing, attributes);
    else if (strcmp(name, "input") == 0 || strcmp(name, "output") == 0)
        parsing->side = *name == 'i' ? INPUT : OUTPUT;
    else if (strcmp(name, "port") == 0 && parsing->side != NO_SIDE)
        begin_port(parsing, attributes);
    else if (strcmp(name, "dim") == 0 && parsing->side != NO_SIDE) {
        parsing->in_dim = true;
        parsing->dim_length = 0;
    }
}

static void read_characters(void *context, const char *text, int length)
{
    struct parsing *parsing = context;
    for (int i = 0; i < length && parsing->in_dim; i++)
        if (parsing->dim_length < DIM_BYTES - 1)
            parsing->dim[parsing->dim_length++] = text[i];
}

static void end_dim(struct parsing *parsing)
{
    const int s = parsing->side == OUTPUT;
    parsing->in_dim = false;
    if (!parsing->counts[s])
        return;
    struct ulp_engine_tensor *tensor = &parsing->tensors[s][parsing->counts[s] - 1];
    char *end;
    parsing->dim[parsing->dim_length] = 0;
    const long long value = strtoll(parsing->dim, &end, 10);
    if (tensor->rank >= 0 && tensor->rank < ULP_RANK_MAX)
        tensor->dims[tensor->rank++] = end != parsing->dim ? value : -1;
    else
        tensor->rank = -1;
}

static void keep_side(struct parsing *parsing, int s, const struct ulp_engine_tensor **out,
                      size_t *count)
{
    struct ulp_engine_tensor *kept =
        ulp_arena_take(parsing->reading->arena, parsing->counts[s] + 1, sizeof *kept);
    if (!kept) {
        stop(parsing, ulp_out_of_memory(parsing->error));
        return;
    }
    for (size_t t = 0; t < parsing->counts[s]; t++)
        kept[t] = parsing->tensors[s][t];
    *out = kept;
    *count = parsing->counts[s];
}

/* The precision of ports is that of memory; what the layer computes in stands as its weights'. */
static void end_layer(struct parsing *parsing)
{
    struct ulp_engine_layer *layer = &parsing->layer;
    parsing->in_layer = false;
    if (parsing->counts[1] && *parsing->out_precisions)
        parsing->tensors[1][0].type = read_precision(parsing->out_precisions);
    layer->weights = parsing->runtime;
    keep_side(parsing, 0, &layer->inputs, &layer->input_count);
    keep_side(parsing, 1, &layer->outputs, &layer->output_count);
    if (parsing->status != ULP_OK)
        return;
    enum ulp_status status = ulp_engine_add_layer(parsing->reading, layer, parsing->error);
    if (status != ULP_OK)
        stop(parsing, status);
}

static void end_element(void *context, const char *name)
{
    struct parsing *parsing = context;
    parsing->depth--;
    if (strcmp(name, "dim") == 0 && parsing->in_dim)
        end_dim(parsing);
    else if (strcmp(name, "input") == 0 || strcmp(name, "output") == 0)
        parsing->side = NO_SIDE;
    else if (strcmp(name, "layer") == 0 && parsing->in_layer)
        end_layer(parsing);
}

/* No graph has a document type: entities could only make the text larger. */
static void refuse_doctype(void *context, const char *name, const char *system, const char *public,
                           int internal)
{
    struct parsing *parsing = context;
    (void)name, (void)system, (void)public, (void)internal;
    stop(parsing, ulp_fail(parsing->error, ULP_ERROR_INPUT, "has a document type"));
}

static enum ulp_status finish_parsing(struct parsing *parsing, bool whole, struct ulp_error *error)
{
    if (parsing->status != ULP_OK)
        return parsing->status;
    if (!whole)
        return XML_GetErrorCode(parsing->parser) == XML_ERROR_NO_MEMORY
                   ? ulp_out_of_memory(error)
                   : ulp_fail(error, ULP_ERROR_INPUT, "line %lu: %s",
                              (unsigned long)XML_GetCurrentLineNumber(parsing->parser),
                              XML_ErrorString(XML_GetErrorCode(parsing->parser)));
    return parsing->graph
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT, "is no graph of OpenVINO's: it has no <net>");
}

enum ulp_status ulp_engine_read_xml(struct ulp_engine_reading *reading, const char *text,
                                    size_t length, struct ulp_error *error)
{
    struct parsing parsing = {.reading = reading, .error = error, .parser = XML_ParserCreate(NULL)};
    const size_t piece = (size_t)1 << 20;
    bool whole = true;
    ULP_TRY(ulp_taken(parsing.parser, error));
    reading->engine->form = ULP_ENGINE_OPENVINO;
    XML_SetUserData(parsing.parser, &parsing);
    XML_SetElementHandler(parsing.parser, begin_element, end_element);
    XML_SetCharacterDataHandler(parsing.parser, read_characters);
    XML_SetStartDoctypeDeclHandler(parsing.parser, refuse_doctype);
    for (size_t at = 0; at < length && whole; at += piece) {
        const size_t count = ulp_size_min(piece, length - at);
        whole =
            XML_Parse(parsing.parser, text + at, (int)count, at + count == length) == XML_STATUS_OK;
    }
    const enum ulp_status status = finish_parsing(&parsing, whole, error);
    XML_ParserFree(parsing.parser);
    ulp_free(parsing.tensors[0]);
    ulp_free(parsing.tensors[1]);
    return status;
}
