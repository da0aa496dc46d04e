/* An allocation of formats with scales as ModelOpt's configuration: what mtq.quantize takes. It has
 * integers as keys, so that it is YAML, as ModelOpt's own. */
#include <string.h>

#include "analysis/search/written/search_files.h"
#include "analysis/search/written/search_text.h"
#include "analysis/writing/json_value.h"
#include "base/memory/alloc.h"
#include "number/format/scaling.h"

/* ---- modules ---- */

/* "['', 'encoder', 'encoder.fc', 'linear']": modules from the outermost on, by whole names, and the
 * node. Is one named? */
static bool add_declared(struct ulp_text *out, const char *scopes)
{
    const char *module = NULL, *node = NULL;
    size_t module_length = 0, node_length = 0;
    for (const char *at = strchr(scopes, '\''), *end; at; at = strchr(end + 1, '\'')) {
        if (!(end = strchr(at + 1, '\'')))
            return false;
        module = node;
        module_length = node_length;
        node = at + 1;
        node_length = (size_t)(end - node);
    }
    if (module)
        ulp_text_put(out, module, module_length);
    return module != NULL;
}

/* "/encoder/layers.0/fc/MatMul": its module is encoder.layers.0.fc, that of "/MatMul" the model
 * itself; exporters write a list's name
 * once more in front of its members ("/features/features.0/Conv"). */
static void add_scopes(struct ulp_text *out, const char *name)
{
    const char *before = "";
    size_t length = 0;
    for (const char *at = name, *end; *at == '/' && (end = strchr(at + 1, '/')); at = end) {
        const size_t now = (size_t)(end - at - 1);
        const bool again =
            length && now > length && strncmp(at + 1, before, length) == 0 && at[1 + length] == '.';
        if (again)
            ulp_text_put(out, at + 1 + length, now - length);
        else if (out->length)
            ulp_text_put(out, ".", 1);
        if (!again)
            ulp_text_put(out, at + 1, now);
        before = at + 1;
        length = now;
    }
}

bool ulp_search_module(struct ulp_text *out, const char *scopes, const char *node,
                       const char *weight)
{
    static const char end[] = ".weight";
    const size_t length = strlen(weight);
    if (add_declared(out, scopes))
        return true;
    if (*node == '/')
        add_scopes(out, node);
    else if (length > strlen(end) && strcmp(weight + length - strlen(end), end) == 0)
        ulp_text_put(out, weight, length - strlen(end));
    return *node == '/' || out->length;
}

/* ---- formats ---- */

static void add_bits(struct ulp_text *out, const char *name, const struct ulp_format *format)
{
    const bool power = format->lacks == ULP_LACKS_ZERO_AND_SIGN;
    if (format->emin == format->emax) { /* an integer */
        ulp_text_add(out, "%s: %d", name, format->storage_bits);
        return;
    }
    ulp_text_add(out, "%s: [%d, %d]", name,
                 power ? format->storage_bits : format->storage_bits - format->precision,
                 power ? 0 : format->precision - 1);
}

/* Scales are of the values at hand, dynamic, as the plan's: of blocks along the last axis, of rows
 * (a token, an output channel) or of the tensor; of integers those that ModelOpt calibrates. */
static void add_quantizer(struct ulp_text *out, const char *module,
                          const struct ulp_scaling *scaling, bool weight)
{
    const bool inside = ulp_scaling_is_inside(scaling), token = !scaling->k && scaling->lines;
    struct ulp_text name = {0};
    ulp_text_add(&name, "%s.%s", module, weight ? "weight_quantizer" : "input_quantizer");
    out->failed |= name.failed;
    ulp_text_add(out, "  - {quantizer_name: ");
    if (!name.failed)
        ulp_json_put_text(out, name.data, false); /* a string of JSON is one of YAML */
    ulp_text_free(&name);
    add_bits(out, ", cfg: {num_bits", &scaling->element);
    if (!inside && !weight && !ulp_scaling_is_integer(scaling))
        ulp_text_add(out, ", type: dynamic");
    if (scaling->k)
        ulp_text_add(out, ", block_sizes: {-1: %d", scaling->k);
    else if (token && !weight)
        ulp_text_add(out, ", block_sizes: {-1: null");
    else
        ulp_text_add(out, ", axis: %s", token ? "0" : "null");
    if (scaling->lines > 1 && weight)
        ulp_text_add(out, ", -2: %d", scaling->lines);
    if (inside)
        add_bits(out, ", type: dynamic, scale_bits", &scaling->scale);
    ulp_text_add(out, scaling->k || (token && !weight) ? "}}}\n" : "}}\n");
}

bool ulp_modelopt_has_modules(const struct ulp_search *found)
{
    bool any = false;
    for (size_t l = 0; l < found->layer_count; l++) {
        struct ulp_scaling scaling[2];
        if (ulp_scaling_find_word(found->formats[found->layers[l].format].name, scaling) &&
            scaling[0].zero_point)
            return false; /* ModelOpt's integers have no zero points */
        any |= found->layers[l].module != NULL;
    }
    return !found->by_node && any;
}

enum ulp_status ulp_modelopt_write(const struct ulp_search *found, struct ulp_text *out,
                                   struct ulp_error *error)
{
    ulp_text_add(out,
                 "# mtq.quantize(model, yaml.safe_load(open(\"modelopt.yaml\")), forward_loop)\n"
                 "algorithm: max\nquant_cfg:\n  - {quantizer_name: \"*\", enable: false}\n");
    for (size_t l = 0; l < found->layer_count; l++) {
        const struct ulp_search_layer *layer = &found->layers[l];
        struct ulp_scaling scaling[2];
        for (int weight = 1; layer->module && weight >= 0; weight--)
            if (ulp_scaling_find_word(found->formats[layer->format].name, scaling))
                add_quantizer(out, layer->module, &scaling[weight], weight);
    }
    return out->failed ? ulp_out_of_memory(error) : ULP_OK;
}
