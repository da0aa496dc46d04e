/* What was built: layers mapped to nodes, and what each computes in. */
#include <stdlib.h>
#include <string.h>

#include "analysis/engine/mapping.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/options.h"

static int by_number(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* The nodes of each layer, in the arena and in order. */
static enum ulp_status settle_nodes(struct ulp_layer_map *mapping, struct ulp_error *error)
{
    for (size_t l = 0; l < mapping->built->layer_count; l++) {
        struct ulp_layer_nodes *nodes = &mapping->of_layer[l];
        ULP_TAKE_ARRAY(size_t, items, mapping->arena, nodes->count + 1, error);
        if (nodes->count) {
            memcpy(items, nodes->items, nodes->count * sizeof *items);
            qsort(items, nodes->count, sizeof *items, by_number);
        }
        mapping->built->layers[l].nodes = items;
    }
    return ULP_OK;
}

static enum ulp_status list_layers(struct ulp_layer_map *mapping, struct ulp_error *error)
{
    struct ulp_engine_map *built = mapping->built;
    const struct ulp_engine *engine = mapping->engine;
    ULP_TAKE(built->layers, mapping->arena, engine->layer_count + 1, error);
    ULP_TAKE(mapping->of_layer, mapping->arena, engine->layer_count + 1, error);
    ULP_TAKE(built->nodes, mapping->arena, built->node_count + 1, error);
    ULP_TAKE(mapping->stamp, mapping->arena, built->node_count + 1, error);
    ULP_TAKE(mapping->stack, mapping->arena, built->node_count + 1, error);
    for (size_t l = 0; l < engine->layer_count; l++)
        if (engine->layers[l].profile == 0)
            built->layers[built->layer_count++].layer = &engine->layers[l];
    return ULP_OK;
}

/* Of a generated kernel, in whose metadata a product may stand that it only makes ready, or goes on
 * from, the name says what it does. */
static bool computes_product(const struct ulp_layer_map *mapping,
                             const struct ulp_engine_map_layer *layer)
{
    const bool generated = ulp_is_word(layer->layer->kind, "kgen runtime_function");
    for (size_t i = 0; i < layer->node_count && !generated; i++)
        if (layer->by != ULP_MAPPED_BOUND &&
            mapping->program->nodes[layer->nodes[i]].step->bound.op->work == ULP_WORK_CONTRACTION)
            return true;
    return false;
}

/* The newest architecture that a kernel needs is the oldest that the GPU can be. */
static const char *guess_gpu(const struct ulp_engine *engine)
{
    int newest = 0;
    if (engine->form == ULP_ENGINE_ONNX)
        return "";
    for (size_t l = 0; l < engine->layer_count; l++) {
        struct ulp_kernel_name name;
        ulp_kernel_name_read(engine->layers[l].kernel, &name);
        newest = name.architecture > newest ? name.architecture : newest;
    }
    return newest >= 120   ? "rtx5090"
           : newest >= 100 ? "b200"
           : newest >= 90  ? "h100"
           : newest >= 89  ? "ada"
           : newest >= 80  ? "a100"
           : newest >= 75  ? "t4"
           : newest >= 70  ? "v100"
                           : "a100";
}

static void count_layer(struct ulp_engine_map *built, const struct ulp_engine_map_layer *layer)
{
    const struct {
        const char *name;
        size_t *count;
    } accumulators[] = {{"fp16", &built->fp16_accumulators},
                        {"fp32", &built->fp32_accumulators},
                        {"int32", &built->int32_accumulators},
                        {"", &built->unknown_accumulators}},
      products[] = {{"fp32", &built->fp32_products},   {"tf32", &built->tf32_products},
                    {"fp16", &built->fp16_products},   {"bf16", &built->bf16_products},
                    {"int8", &built->int8_products},   {"fp8-e4m3", &built->fp8_products},
                    {"fp8-e5m2", &built->fp8_products}};
    if (!layer->product)
        return;
    built->products++;
    for (size_t a = 0; a < sizeof accumulators / sizeof *accumulators; a++)
        *accumulators[a].count += strcmp(layer->accumulator, accumulators[a].name) == 0;
    for (size_t p = 0; p < sizeof products / sizeof *products; p++)
        *products[p].count += strcmp(layer->multiply, products[p].name) == 0;
    built->winograd += layer->kernel.winograd;
    built->sliced += layer->kernel.slices != 1;
}

static enum ulp_status describe_layers(struct ulp_layer_map *mapping,
                                       const struct ulp_engine_map_options *options,
                                       struct ulp_error *error)
{
    struct ulp_engine_map *built = mapping->built;
    for (size_t l = 0; l < built->layer_count; l++) {
        struct ulp_engine_map_layer *layer = &built->layers[l];
        ulp_kernel_name_read(layer->layer->kernel, &layer->kernel);
        layer->product = layer->kernel.matrix || computes_product(mapping, layer);
        layer->helper = layer->node_count == 0 && !layer->product;
        ULP_TRY(ulp_layer_arithmetic(mapping, layer, options, error));
        layer->converts = !layer->product && layer->input != ULP_TYPE_UNDEFINED &&
                          layer->output != ULP_TYPE_UNDEFINED && layer->input != layer->output;
        count_layer(built, layer);
    }
    for (size_t n = 0; n < built->node_count; n++)
        built->kinds[built->nodes[n].kind]++;
    return ULP_OK;
}

static enum ulp_status check_map_options(const struct ulp_engine_map_options *options,
                                         struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    char name[64];
    const char *unknown = options->unknown_accumulator;
    if (unknown && strcmp(unknown, "fp16") != 0 && strcmp(unknown, "fp32") != 0)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "unknown accumulators can be taken for fp16 or fp32, not for '%s'",
                        unknown);
    if (!options->gpu)
        return ULP_OK;
    if (strlen(options->gpu) > 32)
        return ulp_fail(error, ULP_ERROR_USAGE, "there is no GPU '%s'", options->gpu);
    strcpy(name, "fp16@");
    strcat(name, options->gpu);
    return ulp_arithmetic_find(name, &arithmetic, error);
}

static enum ulp_status map(struct ulp_layer_map *mapping,
                           const struct ulp_engine_map_options *options, struct ulp_error *error)
{
    struct ulp_engine_map *built = mapping->built;
    ULP_TRY(check_map_options(options, error));
    built->gpu =
        options->gpu ? ulp_arena_copy(mapping->arena, options->gpu) : guess_gpu(mapping->engine);
    ULP_TRY(built->gpu ? list_layers(mapping, error) : ulp_out_of_memory(error));
    ULP_TRY(ulp_mapping_index(mapping, error));
    ULP_TRY(ulp_mapping_names(mapping, error));
    for (size_t l = 0; l < built->layer_count; l++)
        mapping->named += built->layers[l].node_count > 0;
    ULP_TRY(ulp_mapping_tensors(mapping, error));
    if (mapping->named == 0)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: none of its %zu layers names a node or a value of the model: is it "
                        "an engine of another model, or of one exported again? (first layer '%s')",
                        mapping->engine->path, built->layer_count,
                        built->layer_count ? built->layers[0].layer->name : "");
    ULP_TRY(ulp_mapping_rest(mapping, error));
    ULP_TRY(settle_nodes(mapping, error));
    return describe_layers(mapping, options, error);
}

enum ulp_status ulp_engine_map_make(const struct ulp_engine *engine,
                                    const struct ulp_program *program,
                                    const struct ulp_engine_map_options *options,
                                    struct ulp_engine_map *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_OPTIONS_TAKE(ulp_engine_map_options, options, error);
    struct ulp_layer_map mapping = {.engine = engine,
                                    .program = program,
                                    .main = program->main,
                                    .built = out};
    *out = (struct ulp_engine_map){.model_path = ulp_model_path(program->model),
                                   .engine = engine,
                                   .program = program,
                                   .node_count = program->node_count};
    ULP_TRY(ulp_arena_create(&mapping.arena, ulp_model_budget(program->model), error));
    out->memory = mapping.arena;
    mapping.nodes.budget = mapping.numbered.budget = mapping.mangled.budget =
        mapping.values.budget = mapping.tensors.budget = ulp_arena_budget(mapping.arena);
    enum ulp_status status = map(&mapping, options, error);
    for (size_t l = 0; l < out->layer_count; l++)
        ulp_free(mapping.of_layer[l].items);
    ulp_names_free(&mapping.nodes);
    ulp_names_free(&mapping.numbered);
    ulp_names_free(&mapping.mangled);
    ulp_names_free(&mapping.values);
    ulp_names_free(&mapping.tensors);
    if (status != ULP_OK)
        ulp_engine_map_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_engine_map_free, struct ulp_engine_map)

ULP_NAMES(ulp_mapped_by_name, enum ulp_mapped_by, "not mapped", "metadata", "name", "tensors",
          "bounded")

ULP_NAMES(ulp_engine_map_kind_name, enum ulp_engine_map_kind, "computed", "constant", "moved",
          "taken", "inside", "lost")
