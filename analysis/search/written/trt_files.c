/* An allocation as options and scripts of TensorRT's tools. */
#include "analysis/search/written/search_files.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/search/search_tf32.h"
#include "analysis/writing/json_value.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/text/shown.h"
#include "data/layer_options.h"
#include "kernels/operand/scaled_round.h"
#include "number/format/scaling.h"

/* By storage, for one GPU's FP16 is any GPU's. */
static const struct {
    const char *format, *option, *python, *cast;
    enum ulp_type type;
} formats[] = {{"fp32", "", "float32", "FLOAT", ULP_TYPE_FLOAT},
               {"fp16", "--fp16", "float16", "FLOAT16", ULP_TYPE_FLOAT16},
               {"bf16", "--bf16", "bfloat16", "BFLOAT16", ULP_TYPE_BFLOAT16}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Of the result's format; FORMATS: none of these. By the first word, which a part may follow. */
static size_t find_format(const struct ulp_search *found, size_t format)
{
    struct ulp_arithmetic arithmetic;
    size_t f = 0;
    if (ulp_arithmetic_find(found->formats[format].arithmetic, &arithmetic, NULL) != ULP_OK ||
        arithmetic.as_declared)
        return FORMATS;
    while (f < FORMATS && strcmp(formats[f].format, arithmetic.storage.name) != 0)
        f++;
    return f;
}

static size_t count_used(const struct ulp_search *found)
{
    size_t used = 0;
    for (size_t f = 0; f < found->format_count; f++)
        used += found->formats[f].node_count > 0 || (found->by_node && f == found->narrow);
    return used;
}

bool ulp_trt_is_meant(const struct ulp_search *found)
{
    bool is = !found->target_count;
    for (size_t t = 0; t < found->target_count; t++) {
        const struct ulp_target *target = ulp_search_target(found->targets[t].name);
        is |= !target || strncmp(target->name, "trt", 3) == 0;
    }
    return is;
}

bool ulp_trt_has_formats(const struct ulp_search *found)
{
    bool any = ulp_trt_is_meant(found) && found->by_node;
    for (size_t f = 0; f < found->format_count; f++)
        any &= !(found->formats[f].node_count || found->by_node) || find_format(found, f) < FORMATS;
    for (size_t f = 1; f < found->format_count && found->by_node; f++)
        any &= find_format(found, f) != find_format(found, f - 1);
    return any && found->format_count && find_format(found, found->narrow) != 0;
}

bool ulp_trt_has_two_formats(const struct ulp_search *found)
{
    return ulp_trt_has_formats(found) && count_used(found) <= 2 &&
           find_format(found, found->format_count - 1) == 0;
}

/* Which nodes must be named: of two formats the narrower one is what a runtime takes by itself. A
 * Cast has the types it names: a request would contradict it. */
static bool is_named(const struct ulp_search *found, const struct ulp_search_node *node)
{
    return strcmp(node->op, "Cast") != 0 &&
           (node->format != found->narrow || count_used(found) > 2);
}

/* "--fp16 --bf16": the formats besides FLOAT. */
static void add_flags(struct ulp_text *out, const struct ulp_search *found)
{
    bool any = false;
    for (size_t f = 0; f < found->format_count; f++)
        if (find_format(found, f) != 0 && (found->formats[f].node_count || f == found->narrow)) {
            ulp_text_add(out, "%s%s", any ? " " : "", formats[find_format(found, f)].option);
            any = true;
        }
}

static void add_quoted(struct ulp_text *out, const char *text)
{
    ulp_text_add(out, "'");
    ulp_quoted_add(out, text);
    ulp_text_add(out, "'");
}

static void add_option(struct ulp_text *out, const struct ulp_search *found,
                       enum ulp_layer_option_kind kind)
{
    struct ulp_text names = {0}, option = {0};
    for (size_t n = 0; n < found->node_count; n++)
        if (is_named(found, &found->nodes[n]))
            ulp_layer_option_add(&names, found->nodes[n].name,
                                 formats[find_format(found, found->nodes[n].format)].type);
    ulp_text_add(&option, "%s=%s", ulp_layer_option_flag(kind), names.data ? names.data : "");
    out->failed |= names.failed || option.failed;
    if (names.length && !option.failed) {
        ulp_text_add(out, " ");
        add_quoted(out, option.data);
    }
    ulp_text_free(&names);
    ulp_text_free(&option);
}

/* The optimisation profile: of inputs with free dimensions the samples' shapes. */
static void add_shapes(struct ulp_text *out, const struct ulp_search *found)
{
    static const char *const options[] = {"--minShapes=", "--optShapes=", "--maxShapes="};
    for (int o = 0; o < 3 && found->input_count; o++) {
        struct ulp_text option = {0};
        ulp_text_add(&option, "%s", options[o]);
        for (size_t i = 0; i < found->input_count; i++) {
            const struct ulp_search_input *input = &found->inputs[i];
            const char *const shapes[] = {input->least, input->first, input->largest};
            ulp_text_add(&option, "%s%s:%s", i ? "," : "", input->name,
                         *shapes[o] ? shapes[o] : "scalar");
        }
        out->failed |= option.failed;
        ulp_text_add(out, " ");
        if (!option.failed)
            add_quoted(out, option.data);
        ulp_text_free(&option);
    }
}

enum ulp_status ulp_trt_trtexec(const struct ulp_search *found, struct ulp_text *out,
                                struct ulp_error *error)
{
    (void)error;
    add_flags(out, found);
    ulp_text_add(out, "%s", ulp_tf32_is_forbidden(found) ? " --noTF32" : "");
    if (found->kept_count) {
        ulp_text_add(out, " --precisionConstraints=obey");
        add_option(out, found, ULP_LAYER_PRECISIONS);
        add_option(out, found, ULP_LAYER_OUTPUT_TYPES);
    }
    add_shapes(out, found);
    ulp_text_add(out, "\n");
    return ULP_OK;
}

enum ulp_status ulp_trt_polygraphy(const struct ulp_search *found, struct ulp_text *out,
                                   struct ulp_error *error)
{
    (void)error;
    ulp_text_add(out, "\"\"\"polygraphy run MODEL.onnx --trt ");
    add_flags(out, found);
    ulp_text_add(out, "%s --precision-constraints obey --trt-npps npps.py:postprocess\n\n",
                 ulp_tf32_is_allowed(found) ? " --tf32" : "");
    if (ulp_tf32_is_forbidden(found))
        ulp_text_add(out, "TF32 stays forbidden, as in Polygraphy without --tf32.\n\n");
    ulp_text_add(out, "For TensorRT up to 10.\"\"\"\nimport tensorrt as trt\n\nKEEP = {\n");
    for (size_t n = 0; n < found->node_count; n++) {
        const struct ulp_search_node *node = &found->nodes[n];
        if (!is_named(found, node))
            continue;
        ulp_text_add(out, "    ");
        ulp_json_put_text(out, node->name, true);
        ulp_text_add(out, ": trt.%s,\n", formats[find_format(found, node->format)].python);
    }
    ulp_text_add(out, "}\nFLOATS = [getattr(trt, name) for name in (\"float32\", \"float16\", "
                      "\"bfloat16\") if hasattr(trt, name)]\n\n\n"
                      "def postprocess(network):\n"
                      "    missing = set(KEEP)\n"
                      "    for layer in network:\n"
                      "        if layer.name not in KEEP:\n"
                      "            continue\n"
                      "        missing.discard(layer.name)\n"
                      "        layer.precision = KEEP[layer.name]\n"
                      "        for i in range(layer.num_outputs):\n"
                      "            if layer.get_output(i).dtype in FLOATS:\n"
                      "                layer.set_output_type(i, KEEP[layer.name])\n"
                      "    for name in sorted(missing):\n"
                      "        print(f\"npps.py: the network has no layer {name!r}\")\n");
    return ULP_OK;
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

void ulp_trt_put_expression(struct ulp_text *out, const char *name, ulp_trt_quote *quote)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    struct ulp_shown ignored;
    ulp_text_add(&text, "^");
    for (const char *end = name + strlen(name), *next; name < end; name = next) {
        next = ulp_show_character(&ignored, name, end);
        add_character(&text, name, next);
    }
    ulp_text_add(&text, "$");
    out->failed |= text.failed;
    if (!text.failed)
        quote(out, text.data);
}

/* Its own rules by magnitude are switched off: the plan has been proven without them. */
enum ulp_status ulp_trt_autocast(const struct ulp_search *found, struct ulp_text *out,
                                 struct ulp_error *error)
{
    (void)error;
    ulp_text_add(out, "--low_precision_type %s --data_max inf --init_max inf --keep_io_types",
                 formats[find_format(found, found->narrow)].format);
    if (found->kept_count)
        ulp_text_add(out, " --nodes_to_exclude");
    for (size_t k = 0; k < found->kept_count; k++) {
        ulp_text_add(out, " ");
        ulp_trt_put_expression(out, found->kept[k].name, add_quoted);
    }
    ulp_text_add(out, "\n");
    return ULP_OK;
}

enum ulp_status ulp_trt_strongly_typed(const struct ulp_search *found, struct ulp_text *out,
                                       struct ulp_error *error)
{
    (void)error;
    ulp_text_show(out,
                  "TensorRT 11 takes every type from the graph: no option gives a layer another "
                  "one.\nThe graph for it has %s everywhere but in these nodes:\n",
                  formats[find_format(found, found->narrow)].cast);
    for (size_t k = 0; k < found->kept_count; k++) {
        const struct ulp_search_node *node = &found->kept[k];
        ulp_text_show(out, "  %s (%s)", node->name, node->op);
        if (count_used(found) > 2)
            ulp_text_show(out, ": %s", formats[find_format(found, node->format)].cast);
        ulp_text_add(out, "\n");
    }
    ulp_text_show(out,
                  "and a Cast for each of these values, shared by the nodes that read it so:\n");
    for (size_t c = 0; c < found->cast_count; c++)
        ulp_text_show(out, "  %s: to %s, for %zu node%s\n", found->casts[c].value,
                      formats[find_format(found, found->casts[c].format)].cast,
                      found->casts[c].reader_count, found->casts[c].reader_count == 1 ? "" : "s");
    if (found->mixed.path)
        ulp_text_add(out, "mixed.onnx is this graph. ");
    ulp_text_add(
        out,
        "Build it with (TensorRT 10 obeys a graph's types by --stronglyTyped alone; 11 always "
        "does):\n  trtexec --stronglyTyped%s --onnx=%s",
        ulp_tf32_is_forbidden(found) ? " --noTF32" : "",
        found->mixed.path ? "mixed.onnx" : "GRAPH.onnx");
    add_shapes(out, found);
    ulp_text_add(out, "\n");
    return ULP_OK;
}

/* ---- the calibration cache ---- */

/* TensorRT 10 is the last to calibrate; it takes a cache of its own version alone, as its first
 * line says. */
#define CACHE_FIRST "TRT-101401-EntropyCalibration2\n"

/* Of a product in INT8: its values have scales of 127ths. */
static bool is_cached(const struct ulp_search *found, const struct ulp_search_range *range)
{
    bool is = false;
    for (size_t l = 0; l < found->layer_count && range->value; l++)
        is |= strcmp(found->layers[l].name, range->node) == 0 &&
              strcmp(found->formats[found->layers[l].format].name, "int8") == 0;
    return is;
}

/* As quantised.onnx has it; of zeros alone 1, as a scale of 0 is none. */
static float find_scale(const struct ulp_search_range *range)
{
    struct ulp_scaling scaling[2];
    float low;
    ulp_scaling_find_word("int8", scaling);
    return ulp_scaled_scale(&scaling[0], (float)range->least, (float)range->largest, &low);
}

bool ulp_trt_has_cache(const struct ulp_search *found)
{
    bool any = false;
    for (size_t r = 0; r < found->range_count; r++)
        any |= is_cached(found, &found->ranges[r]);
    return any && found->target && strncmp(found->target, "trt10", 5) == 0;
}

enum ulp_status ulp_trt_cache(const struct ulp_search *found, struct ulp_text *out,
                              struct ulp_error *error)
{
    (void)error;
    ulp_text_add(out, CACHE_FIRST);
    for (size_t r = 0; r < found->range_count; r++) {
        const struct ulp_search_range *range = &found->ranges[r];
        bool written = !is_cached(found, range) || strchr(range->value, '\n');
        for (size_t i = 0; i < r && !written; i++)
            written = found->ranges[i].value && strcmp(found->ranges[i].value, range->value) == 0 &&
                      is_cached(found, &found->ranges[i]);
        if (!written)
            ulp_text_add(out, "%s: %" PRIx32 "\n", range->value, ulp_float_bits(find_scale(range)));
    }
    return ULP_OK;
}
