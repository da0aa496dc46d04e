#include "analysis/plan/engine.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/writing/json_value.h"
#include "base/error.h"
#include "base/text/shown.h"
#include "data/json_file.h"
#include "data/layer_options.h"

/* By storage, for one GPU's FP16 is any GPU's. */
static const struct {
    const char *format, *option, *python, *cast;
    enum ulp_type type;
} formats[] = {{"fp32", "", "float32", "FLOAT", ULP_TYPE_FLOAT},
               {"fp16", "--fp16", "float16", "FLOAT16", ULP_TYPE_FLOAT16},
               {"bf16", "--bf16", "bfloat16", "BFLOAT16", ULP_TYPE_BFLOAT16}};
enum { FORMATS = sizeof formats / sizeof *formats };

static size_t find_format(const struct ulp_arithmetic *arithmetic)
{
    size_t f = 0;
    while (f < FORMATS && strcmp(formats[f].format, arithmetic->storage.name) != 0)
        f++;
    return arithmetic->as_declared ? FORMATS : f;
}

bool ulp_engine_has_formats(const struct ulp_found *found)
{
    const size_t low = find_format(&found->arithmetic), high = find_format(&found->keep_in);
    return low < FORMATS && high < FORMATS && low != high && low != 0;
}

/* A Cast has the types it names: a request would contradict it. */
static bool is_cast(const struct ulp_found_node *node)
{
    return strcmp(node->op, "Cast") == 0;
}

/* What is inside single quotes a shell leaves alone. */
static void add_quoted(struct ulp_text *out, const char *text)
{
    ulp_text_add(out, "'");
    for (; *text; text++)
        if (*text == '\'')
            ulp_text_add(out, "'\\''");
        else
            ulp_text_put(out, text, 1);
    ulp_text_add(out, "'");
}

static void add_option(struct ulp_text *out, const struct ulp_found *found,
                       enum ulp_layer_option_kind kind)
{
    struct ulp_text names = {0}, option = {0};
    for (size_t k = 0; k < found->kept_count; k++)
        if (!is_cast(&found->kept[k]))
            ulp_layer_option_add(&names, found->kept[k].name,
                                 formats[find_format(&found->keep_in)].type);
    ulp_text_add(&option, "%s=%s", ulp_layer_option_flag(kind), names.data ? names.data : "");
    out->failed |= names.failed || option.failed;
    if (names.length && !option.failed) {
        ulp_text_add(out, " ");
        add_quoted(out, option.data);
    }
    ulp_text_free(&names);
    ulp_text_free(&option);
}

enum ulp_status ulp_engine_trtexec(const struct ulp_found *found, struct ulp_text *out,
                                   struct ulp_error *error)
{
    (void)error;
    ulp_text_add(out, "%s", formats[find_format(&found->arithmetic)].option);
    if (found->kept_count) {
        ulp_text_add(out, " --precisionConstraints=obey");
        add_option(out, found, ULP_LAYER_PRECISIONS);
        add_option(out, found, ULP_LAYER_OUTPUT_TYPES);
    }
    ulp_text_add(out, "\n");
    return ULP_OK;
}

/* A JSON text is one of Python's, too. */
static enum ulp_status add_python(struct ulp_text *out, const char *text, struct ulp_error *error)
{
    json_t *value = ulp_json_text(text);
    char *written = value ? ulp_json_dump(value, JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    if (!written)
        return ulp_out_of_memory(error);
    ulp_json_put_escaped(out, written, strlen(written), true);
    free(written);
    return ULP_OK;
}

enum ulp_status ulp_engine_polygraphy(const struct ulp_found *found, struct ulp_text *out,
                                      struct ulp_error *error)
{
    const size_t low = find_format(&found->arithmetic), high = find_format(&found->keep_in);
    enum ulp_status status = ULP_OK;
    ulp_text_add(out,
                 "\"\"\"polygraphy run MODEL.onnx --trt %s --precision-constraints obey --trt-npps "
                 "npps.py:postprocess\n\nFor TensorRT up to 10.\"\"\"\n"
                 "import tensorrt as trt\n\nKEEP = {\n",
                 formats[low].option);
    for (size_t k = 0; k < found->kept_count && status == ULP_OK; k++) {
        if (is_cast(&found->kept[k]))
            continue;
        ulp_text_add(out, "    ");
        status = add_python(out, found->kept[k].name, error);
        ulp_text_add(out, ",\n");
    }
    ulp_text_add(out,
                 "}\nFLOATS = [getattr(trt, name) for name in (\"float32\", \"float16\", "
                 "\"bfloat16\") if hasattr(trt, name)]\n\n\n"
                 "def postprocess(network):\n"
                 "    missing = set(KEEP)\n"
                 "    for layer in network:\n"
                 "        if layer.name not in KEEP:\n"
                 "            continue\n"
                 "        missing.discard(layer.name)\n"
                 "        layer.precision = trt.%s\n"
                 "        for i in range(layer.num_outputs):\n"
                 "            if layer.get_output(i).dtype in FLOATS:\n"
                 "                layer.set_output_type(i, trt.%s)\n"
                 "    for name in sorted(missing):\n"
                 "        print(f\"npps.py: the network has no layer {name!r}\")\n",
                 formats[high].python, formats[high].python);
    return status;
}

/* One character of an expression; bytes that are no UTF-8 are some characters to Python. */
static void add_character(struct ulp_text *out, const char *at, const char *next)
{
    struct ulp_shown shown;
    const unsigned char c = (unsigned char)*at;
    const size_t bytes = (size_t)(next - at);
    ulp_show_character(&shown, at, next);
    if (c < 0x20 || c == 0x7f)
        ulp_text_add(out, "\\x%02x", c);
    else if (c < 0x80)
        ulp_text_add(out, isalnum(c) || c == '_' || c == '/' ? "%c" : "\\%c", c);
    else if (bytes == 1)
        ulp_text_add(out, ".+?");
    else if (shown.length == bytes && memcmp(shown.text, at, bytes) == 0)
        ulp_text_put(out, at, bytes);
    else
        ulp_json_put_escaped(out, at, bytes, true);
}

/* Python's re: the name and nothing else. */
static void add_expression(struct ulp_text *out, const char *name)
{
    struct ulp_text text = {0};
    struct ulp_shown ignored;
    ulp_text_add(&text, "^");
    for (const char *end = name + strlen(name), *next; name < end; name = next) {
        next = ulp_show_character(&ignored, name, end);
        add_character(&text, name, next);
    }
    ulp_text_add(&text, "$");
    out->failed |= text.failed;
    if (!text.failed)
        add_quoted(out, text.data);
    ulp_text_free(&text);
}

/* Its own rules by magnitude are switched off: the plan has been proven without them. */
enum ulp_status ulp_engine_autocast(const struct ulp_found *found, struct ulp_text *out,
                                    struct ulp_error *error)
{
    (void)error;
    ulp_text_add(out, "--low_precision_type %s --data_max inf --init_max inf --keep_io_types",
                 formats[find_format(&found->arithmetic)].format);
    if (found->kept_count)
        ulp_text_add(out, " --nodes_to_exclude");
    for (size_t k = 0; k < found->kept_count; k++) {
        ulp_text_add(out, " ");
        add_expression(out, found->kept[k].name);
    }
    ulp_text_add(out, "\n");
    return ULP_OK;
}

enum ulp_status ulp_engine_strongly_typed(const struct ulp_found *found, struct ulp_text *out,
                                          struct ulp_error *error)
{
    const size_t low = find_format(&found->arithmetic), high = find_format(&found->keep_in);
    (void)error;
    ulp_text_show(out,
                  "TensorRT 11 takes every type from the graph: no option gives a layer another "
                  "one.\nThe graph for it has %s everywhere but in these nodes:\n",
                  formats[low].cast);
    for (size_t k = 0; k < found->kept_count; k++)
        ulp_text_show(out, "  %s (%s)\n", found->kept[k].name, found->kept[k].op);
    ulp_text_show(out,
                  "and a Cast for each of these values, shared by the nodes that read it so:\n");
    for (size_t c = 0; c < found->cast_count; c++)
        ulp_text_show(out, "  %s: to %s, for %zu node%s\n", found->casts[c].value,
                      formats[found->casts[c].up ? high : low].cast, found->casts[c].reader_count,
                      found->casts[c].reader_count == 1 ? "" : "s");
    ulp_text_show(out, found->mixed.path
                           ? "mixed.onnx is this graph. Build it with: trtexec --onnx=mixed.onnx\n"
                           : "Build it with: trtexec --onnx=GRAPH.onnx\n");
    return ULP_OK;
}
