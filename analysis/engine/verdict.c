/* What to say first of an engine: which accumulators, which types; and when it is not what it is
 * called. */
#include <string.h>

#include "analysis/engine/words.h"

static bool is_binding(const struct ulp_engine *engine, const char *name)
{
    for (size_t b = 0; b < engine->binding_count; b++)
        if (strcmp(engine->bindings[b], name) == 0)
            return true;
    return false;
}

static bool binds_half(const struct ulp_engine *engine)
{
    for (size_t l = 0; l < engine->layer_count; l++) {
        const struct ulp_engine_layer *layer = &engine->layers[l];
        for (size_t t = 0; t < layer->input_count; t++)
            if (layer->inputs[t].type == ULP_TYPE_FLOAT16 &&
                is_binding(engine, layer->inputs[t].name))
                return true;
    }
    return false;
}

/* Why the engine passes for FP16, in words; NULL: it does not, or it multiplies in FP16. */
static const char *find_false_claim(const struct ulp_engine_map *built)
{
    const char *slash = strrchr(built->engine->path, '/'),
               *name = slash ? slash + 1 : built->engine->path;
    if (built->products == 0 || built->fp32_products + built->tf32_products < built->products)
        return NULL;
    return strstr(name, "fp16") || strstr(name, "float16") || strstr(name, "half")
               ? "by its file's name"
           : binds_half(built->engine) ? "its inputs are FP16"
                                       : NULL;
}

/* "3 in FP16" as a further part of a list. */
static void add_count(struct ulp_text *out, size_t count, const char *what, bool *any)
{
    if (!count)
        return;
    ulp_text_add(out, "%s%zu in %s", *any ? ", " : "", count, what);
    *any = true;
}

static void add_multiplies(struct ulp_text *out, const struct ulp_engine_map *built)
{
    bool any = false;
    add_count(out, built->fp16_products, "FP16", &any);
    add_count(out, built->bf16_products, "BF16", &any);
    add_count(out, built->fp8_products, "FP8", &any);
    add_count(out, built->int8_products, "INT8", &any);
    add_count(out, built->tf32_products, "TF32", &any);
    add_count(out, built->fp32_products, "FP32", &any);
}

/* Whether TF32 was allowed shows where a product is in FP32: some kernels have none of it. */
static void add_tf32(struct ulp_text *out, const struct ulp_engine_map *built)
{
    const size_t tf32 = built->tf32_products, all = tf32 + built->fp32_products;
    if (tf32)
        ulp_text_add(out, " It was built with TF32 allowed, which %zu of %zu products in FP32 use.",
                     tf32, all);
    else if (all && built->engine->form == ULP_ENGINE_JSON)
        ulp_text_add(out, " No product in FP32 uses TF32: it was built with --noTF32, or no kernel "
                          "of these has it.");
}

static void add_accumulators(struct ulp_text *out, const struct ulp_engine_map *built)
{
    const size_t wide = built->fp32_accumulators, narrow = built->fp16_accumulators,
                 whole = built->int32_accumulators, hidden = built->unknown_accumulators;
    bool any = false;
    ulp_text_add(out, "This engine accumulates ");
    if (narrow) {
        ulp_text_add(out, "%zu of %zu products in FP16", narrow, built->products);
        any = true;
        add_count(out, wide, "FP32", &any);
        add_count(out, whole, "INT32", &any);
    } else if (wide && wide == built->products) {
        ulp_text_add(out, wide == 1 ? "its one product in FP32" : "all %zu products in FP32", wide);
    } else {
        ulp_text_add(out, "none of %zu products in FP16: ", built->products);
        add_count(out, wide, "FP32", &any);
        add_count(out, whole, "INT32", &any);
    }
    if (hidden)
        ulp_text_add(out, "%sof %zu the kernel's name does not tell", any ? "; " : "", hidden);
}

void ulp_engine_verdict(const struct ulp_engine_map *built, struct ulp_text *out)
{
    const char *claim = find_false_claim(built);
    const size_t computed = built->node_count - built->kinds[ULP_BUILT_CONSTANT];
    if (built->kinds[ULP_BUILT_LOST] * 2 > computed) {
        ulp_text_add(out,
                     "No layer computes %zu of the model's %zu nodes: is this an engine of this "
                     "model? ",
                     built->kinds[ULP_BUILT_LOST], computed);
    }
    if (built->engine->names_only) {
        ulp_text_add(out, "Only names are told: no type, kernel or accumulator can be read. Build "
                          "and export again with --profilingVerbosity=detailed.");
        return;
    }
    if (built->products == 0) {
        ulp_text_add(out, "No layer of this engine is known to compute a product.");
        return;
    }
    if (claim) {
        ulp_text_add(out, "Called FP16 (%s), but ", claim);
        if (built->products == 1)
            ulp_text_add(out, "its one product does not run in FP16: ");
        else
            ulp_text_add(out, "none of its %zu products runs in FP16: ", built->products);
        add_multiplies(out, built);
        ulp_text_add(out, ".");
        add_tf32(out, built);
        return;
    }
    add_accumulators(out, built);
    ulp_text_add(out, "; it multiplies ");
    add_multiplies(out, built);
    ulp_text_add(out, ".");
    add_tf32(out, built);
}
