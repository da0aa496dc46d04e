/* What a layer computes in: the types at its borders; what its kernel's name says, and where it
 * says nothing what the types leave; and the name of the arithmetic that emulates that. */
#include <string.h>

#include "analysis/engine/mapping.h"
#include "base/error.h"
#include "base/text/text.h"

/* ---- types ---- */

static bool is_number_type(enum ulp_type type)
{
    return ulp_type_is_float(type) || type == ULP_TYPE_INT8;
}

/* Of the first tensor that holds floats, or INT8. */
static enum ulp_type find_type(const struct ulp_engine_tensor *tensors, size_t count)
{
    for (size_t t = 0; t < count; t++)
        if (is_number_type(tensors[t].type) && !strstr(tensors[t].name, "_constant") &&
            !strstr(tensors[t].name, "dconst"))
            return tensors[t].type;
    return ULP_TYPE_UNDEFINED;
}

static enum ulp_type type_of_format(const char *format)
{
    static const struct {
        const char *format;
        enum ulp_type type;
    } rows[] = {{"fp32", ULP_TYPE_FLOAT},
                {"tf32", ULP_TYPE_FLOAT},
                {"fp16", ULP_TYPE_FLOAT16},
                {"bf16", ULP_TYPE_BFLOAT16},
                {"fp8-e4m3", ULP_TYPE_FLOAT8E4M3FN},
                {"fp8-e5m2", ULP_TYPE_FLOAT8E5M2},
                {"int8", ULP_TYPE_INT8},
                {"fp64", ULP_TYPE_DOUBLE}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (strcmp(rows[r].format, format) == 0)
            return rows[r].type;
    return ULP_TYPE_UNDEFINED;
}

static void find_types(struct ulp_engine_map_layer *layer)
{
    const struct ulp_engine_layer *row = layer->layer;
    layer->input = find_type(row->inputs, row->input_count);
    layer->output = find_type(row->outputs, row->output_count);
    layer->weights = row->weights;
    if (layer->input == ULP_TYPE_UNDEFINED && layer->kernel.matrix)
        layer->input = type_of_format(layer->kernel.multiply);
    if (layer->output == ULP_TYPE_UNDEFINED && layer->kernel.matrix)
        layer->output = type_of_format(layer->kernel.output);
}

/* ---- multiply and accumulator ---- */

/* What the types leave: integers are added in INT32, FP32 numbers in FP32; FP16 numbers in either.
 */
static void settle_product(struct ulp_engine_map_layer *layer, bool gpu)
{
    const enum ulp_type operand =
        layer->weights != ULP_TYPE_UNDEFINED ? layer->weights : layer->input;
    layer->multiply = layer->kernel.multiply;
    layer->accumulator = layer->kernel.accumulator;
    layer->certainty = layer->kernel.certainty;
    if (*layer->multiply && *layer->accumulator)
        return;
    layer->certainty = ULP_CERTAINTY_INFERRED;
    if (operand == ULP_TYPE_INT8) {
        layer->multiply = "int8";
        layer->accumulator = "int32";
    } else if (operand == ULP_TYPE_FLOAT && layer->input == ULP_TYPE_FLOAT) {
        layer->multiply = "fp32";
        layer->accumulator = "fp32";
    } else {
        if (!*layer->multiply && operand == ULP_TYPE_FLOAT16)
            layer->multiply = "fp16";
        else if (!*layer->multiply && operand == ULP_TYPE_BFLOAT16)
            layer->multiply = "bf16";
        if (!gpu) /* x86's and Arm's instructions for FP16 and BF16 products add in FP32 */
            layer->accumulator = "fp32";
        if (!*layer->accumulator)
            layer->certainty = ULP_CERTAINTY_UNKNOWN;
    }
}

/* ---- the arithmetic's name ---- */

/* The format that its floats are stored in: of several types at its borders the widest; what is
 * narrower is rounded where it is read. */
static const char *find_storage(const struct ulp_engine_map_layer *layer)
{
    const enum ulp_type types[] = {layer->input, layer->output};
    const char *storage = "";
    for (int t = 0; t < 2; t++) {
        if (types[t] == ULP_TYPE_FLOAT || types[t] == ULP_TYPE_DOUBLE)
            return "fp32";
        if (types[t] == ULP_TYPE_BFLOAT16)
            storage = "bf16";
        else if (types[t] == ULP_TYPE_FLOAT16 && !*storage)
            storage = "fp16";
        else if (types[t] == ULP_TYPE_FLOAT8E4M3FN && !*storage)
            storage = "fp8-e4m3";
        else if (types[t] == ULP_TYPE_FLOAT8E5M2 && !*storage)
            storage = "fp8-e5m2";
    }
    return storage;
}

/* out fails where there is no memory to tell. */
static bool has_unit(struct ulp_text *out, const char *gpu, const char *format)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
    struct ulp_arithmetic arithmetic;
    ulp_text_add(&name, "%s@%s", format, gpu);
    const bool has = !name.failed && ulp_arithmetic_find(name.data, &arithmetic, NULL) == ULP_OK;
    out->failed |= name.failed;
    return has;
}

/* FP32 as a GPU without TF32 computes it. */
#define PLAIN_FP32 "fp32,reduce=warp,functions=cuda"

static void name_half(struct ulp_text *out, const struct ulp_engine_map_layer *layer,
                      const struct ulp_engine_map *built, const char *storage,
                      const char *accumulator)
{
    const bool scalar =
        layer->product && layer->kernel.certainty != ULP_CERTAINTY_UNKNOWN && !layer->kernel.unit;
    if (scalar || !*built->gpu || !has_unit(out, built->gpu, storage))
        ulp_text_add(out, "%s,unit=none", storage);
    else
        ulp_text_add(out, "%s@%s", storage, built->gpu);
    if (layer->product && strcmp(accumulator, "fp16") == 0)
        ulp_text_add(out, ",acc=fp16");
    if (layer->product && layer->kernel.slices > 1)
        ulp_text_add(out, ",split-k=%d", layer->kernel.slices);
    ulp_text_add(out, "%s,fuse=groups", *built->gpu ? ",constants=tensorrt" : "");
    if (strcmp(layer->kernel.epilogue, "fp16") == 0 && strcmp(storage, "fp16") == 0)
        ulp_text_add(out, ",fuse-inner=fp16");
}

static void name_arithmetic(struct ulp_text *out, const struct ulp_engine_map_layer *layer,
                            const struct ulp_engine_map *built, const char *accumulator)
{
    const char *storage = find_storage(layer), *multiply = layer->multiply;
    const bool integer = layer->product && strcmp(multiply, "int8") == 0;
    if (integer && strcmp(storage, "fp16") == 0)
        ulp_text_add(out, "fp16,unit=none,qdq=integer,constants=tensorrt,fuse=groups");
    else if (integer)
        ulp_text_add(out, "fp32,qdq=integer");
    else if (layer->product && strcmp(multiply, "tf32") == 0 && has_unit(out, built->gpu, "tf32"))
        ulp_text_add(out, "tf32@%s", built->gpu);
    else if (strcmp(storage, "fp32") == 0 && layer->product &&
             (strcmp(multiply, "fp16") == 0 || strcmp(multiply, "bf16") == 0))
        ulp_text_add(out, "fp32,factor=%s%s", multiply,
                     strcmp(accumulator, "fp16") == 0 ? ",acc=fp16" : "");
    else if (strcmp(storage, "fp32") == 0)
        ulp_text_add(out, "%s", *built->gpu ? PLAIN_FP32 : "fp32");
    else if (*storage)
        name_half(out, layer, built, storage, accumulator);
}

static void say_assumed(struct ulp_text *out, const struct ulp_engine_map_layer *layer,
                        const char *accumulator)
{
    if (layer->product && !*layer->accumulator && *accumulator)
        ulp_text_add(out, "accumulator not told: taken for %s; ", accumulator);
    if (layer->kernel.winograd)
        ulp_text_add(out, "Winograd's algorithm is not emulated: the real error is larger; ");
    if (layer->kernel.slices > 1)
        ulp_text_add(out, "its sum in %d slices: taken for contiguous ones; ",
                     layer->kernel.slices);
    if (layer->kernel.slices == 0)
        ulp_text_add(
            out, "its sum is cut (split-k), in how many slices is not told: taken for one (of its "
                 "recorded result `ulpscope compare -a` with each split-k=N finds it); ");
    if (layer->input != ULP_TYPE_UNDEFINED && layer->output != ULP_TYPE_UNDEFINED &&
        layer->input != layer->output && layer->node_count && layer->output != ULP_TYPE_FLOAT)
        ulp_text_add(out, "its result is rounded where it is read; ");
    if (out->length)
        out->data[out->length -= 2] = 0;
}

static const char *keep(struct ulp_layer_map *mapping, const struct ulp_text *text)
{
    return text->length ? ulp_arena_text(mapping->arena, text->data, text->length) : "";
}

enum ulp_status ulp_layer_arithmetic(struct ulp_layer_map *mapping,
                                     struct ulp_engine_map_layer *layer,
                                     const struct ulp_engine_map_options *options,
                                     struct ulp_error *error)
{
    struct ulp_text name = {0}, assumed = {0};
    struct ulp_arithmetic arithmetic;
    enum ulp_status status = ULP_OK;
    find_types(layer);
    layer->multiply = layer->accumulator = "";
    if (layer->product)
        settle_product(layer, *mapping->built->gpu);
    const char *unknown = options->unknown_accumulator ? options->unknown_accumulator : "fp32";
    const char *accumulator = *layer->accumulator                    ? layer->accumulator
                              : strcmp(layer->multiply, "fp16") == 0 ? unknown
                                                                     : "";
    if (layer->node_count)
        name_arithmetic(&name, layer, mapping->built, accumulator);
    if (layer->node_count)
        say_assumed(&assumed, layer, accumulator);
    layer->arithmetic = keep(mapping, &name);
    layer->assumed = keep(mapping, &assumed);
    if (name.failed || assumed.failed || !layer->arithmetic || !layer->assumed)
        status = ulp_out_of_memory(error);
    else if (*layer->arithmetic)
        status = ulp_arithmetic_find(layer->arithmetic, &arithmetic, error);
    ulp_text_free(&name);
    ulp_text_free(&assumed);
    return ulp_fail_at(error, status, "layer '%s'", layer->layer->name);
}
