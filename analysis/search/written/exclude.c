/* The products that an allocation leaves as they are, in the words of the tools that quantise. */
#include <string.h>

#include "analysis/search/written/search_files.h"
#include "analysis/writing/json_value.h"
#include "base/memory/alloc.h"

/* Does the layer keep what is stored? That format is the one without scales, the base. */
static bool is_left(const struct ulp_search *found, const struct ulp_search_layer *layer)
{
    return strcmp(found->formats[layer->format].arithmetic, found->base) == 0;
}

bool ulp_exclude_has_products(const struct ulp_search *found)
{
    return found->scaled && found->layer_count;
}

static const struct {
    const char *tool, *before, *after;
} tools[] = {
    {"onnxruntime.quantization: quantize_static, quantize_dynamic", "nodes_to_exclude=", ""},
    {"modelopt.onnx.quantization.quantize", "nodes_to_exclude=", ""},
    {"nncf.quantize", "ignored_scope=nncf.IgnoredScope(names=", ")"},
};

enum ulp_status ulp_exclude_write(const struct ulp_search *found, struct ulp_text *out,
                                  struct ulp_error *error)
{
    for (size_t t = 0; t < sizeof tools / sizeof *tools; t++) {
        bool any = false;
        ulp_text_add(out, "# %s\n%s[", tools[t].tool, tools[t].before);
        for (size_t l = 0; l < found->layer_count; l++) {
            if (!is_left(found, &found->layers[l]))
                continue;
            ulp_text_add(out, any ? ", " : "");
            ulp_json_put_text(out, found->layers[l].name, false); /* a string of Python, too */
            any = true;
        }
        ulp_text_add(out, "]%s\n", tools[t].after);
    }
    return out->failed ? ulp_out_of_memory(error) : ULP_OK;
}
