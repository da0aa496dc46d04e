/* What an allocation leaves as it is, in the words of other tools: products that are not quantised,
 * nodes that stay in FP32. */
#include <string.h>

#include "analysis/search/written/search_files.h"
#include "analysis/writing/json_value.h"
#include "base/memory/alloc.h"
#include "base/text/names.h"

/* Of a plan: nodes in FP32 among others in FP16, the only types that converters to FP16 know. */
static bool is_half(const struct ulp_search *found)
{
    struct ulp_arithmetic narrow, wide;
    return found->by_node && found->node_count &&
           ulp_arithmetic_find(found->formats[found->narrow].arithmetic, &narrow, NULL) == ULP_OK &&
           ulp_arithmetic_find(found->formats[found->format_count - 1].arithmetic, &wide, NULL) ==
               ULP_OK &&
           strcmp(narrow.storage.name, "fp16") == 0 &&
           (!found->kept_count || strcmp(wide.storage.name, "fp32") == 0);
}

bool ulp_exclude_has_any(const struct ulp_search *found)
{
    return (!found->by_node && found->layer_count + found->left_count) || is_half(found);
}

static const struct {
    bool by_node;
    const char *tool, *before, *after;
} tools[] = {
    {false, "onnxruntime.quantization: quantize_static, quantize_dynamic", "nodes_to_exclude=", ""},
    {false, "modelopt.onnx.quantization.quantize", "nodes_to_exclude=", ""},
    {false, "nncf.quantize", "ignored_scope=nncf.IgnoredScope(names=", ")"},
    {true,
     "onnxruntime.transformers.float16, onnxconverter_common.float16: convert_float_to_float16",
     "node_block_list=", ""},
    {true, "Olive", "{\"type\": \"OnnxFloatToFloat16\", \"node_block_list\": ", "}"},
};

static void put_name(struct ulp_text *out, const char *name, bool *any)
{
    ulp_text_add(out, *any ? ", " : "");
    ulp_json_put_text(out, name, false); /* a string of Python, too */
    *any = true;
}

static void quote(struct ulp_text *out, const char *text)
{
    ulp_json_put_text(out, text, false);
}

/* torch_tensorrt matches expressions with the name of the innermost module around a node. */
static void put_modules(struct ulp_text *out, const struct ulp_search *found)
{
    ULP_SCOPED(ulp_names_free) struct ulp_names modules = {0}; /* by the first kept node of each */
    size_t inside = 0, known = 0;
    bool any = false;
    for (size_t k = 0; k < found->kept_count; k++) {
        const char *module = found->kept[k].module;
        known += module != NULL;
        if (module && ulp_names_find(&modules, module) < 0)
            out->failed |= !ulp_names_add(&modules, module, (int)k);
    }
    for (size_t n = 0; n < found->node_count; n++)
        inside += found->nodes[n].module && ulp_names_find(&modules, found->nodes[n].module) >= 0;
    if (!known)
        return;
    ulp_text_add(
        out,
        "# torch_tensorrt.compile with use_explicit_typing and enable_autocast, which keeps "
        "modules whole: of their %zu nodes the plan keeps %zu",
        inside, known);
    if (known < found->kept_count)
        ulp_text_add(out, "; of what it keeps %zu are of no module that is known, and missing",
                     found->kept_count - known);
    ulp_text_add(out, "\ndata_max=float(\"inf\"), nodes_to_exclude=[");
    for (size_t k = 0; k < found->kept_count; k++)
        if (found->kept[k].module && ulp_names_find(&modules, found->kept[k].module) == (int)k) {
            ulp_text_add(out, any ? ", " : "");
            ulp_trt_put_expression(out, found->kept[k].module, quote);
            any = true;
        }
    ulp_text_add(out, "]\n");
}

enum ulp_status ulp_exclude_write(const struct ulp_search *found, struct ulp_text *out,
                                  struct ulp_error *error)
{
    for (size_t l = 0; l < found->left_count; l++)
        if (!found->left[l].named) {
            ulp_text_add(out, "# stays, too, but has no name in the file, or that of several: ");
            ulp_json_put_text(out, found->left[l].name, false);
            ulp_text_add(out, "\n");
        }
    if (found->by_node && found->kept_count > 1)
        ulp_text_add(
            out, "# by onnxruntime's converter values are rounded to FP16 between two of these; by "
                 "onnxconverter_common's a constant that one shares with another node stays FLOAT "
                 "there, too, and the file does not load; mixed.onnx has neither\n");
    if (!found->by_node)
        ulp_text_add(out, "# the figures beside this list are of quantised.onnx: other quantisers "
                          "choose other ranges and store other results, and have others\n");
    for (size_t t = 0; t < sizeof tools / sizeof *tools; t++) {
        bool any = false;
        if (tools[t].by_node != found->by_node)
            continue;
        ulp_text_add(out, "# %s\n%s[", tools[t].tool, tools[t].before);
        for (size_t l = 0; l < found->left_count; l++)
            if (found->left[l].named)
                put_name(out, found->left[l].name, &any);
        for (size_t k = 0; k < found->kept_count && found->by_node; k++)
            put_name(out, found->kept[k].name, &any);
        ulp_text_add(out, "]%s\n", tools[t].after);
    }
    if (found->by_node)
        put_modules(out, found);
    return out->failed ? ulp_out_of_memory(error) : ULP_OK;
}
