#include "load/mixed/quantise_file.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "load/mixed/quantising.h"
#include "load/mixed/raise_nodes.h"

/* ---- what can be written ---- */

const char *ulp_quantise_refuses(const struct ulp_scaling *scaling, bool tensorrt)
{
    if (tensorrt || ulp_scaling_is_integer(scaling))
        return NULL; /* a search for it has no others */
    if (quantising_type(&scaling->element) == ULP_TYPE_UNDEFINED)
        return "ONNX has no such element";
    if (scaling->lines > 1)
        return "ONNX has no blocks of several lines";
    if (scaling->rule != ULP_SCALE_FLOOR && scaling->rule != ULP_SCALE_LARGEST)
        return "only the scales' own rules are made of operators";
    return NULL;
}

/* FLOAT4E2M1 is there from 23 on, FLOAT8E8M0 and its Cast from 24 on, blocks from 21 on. */
int64_t ulp_quantise_opset(const struct ulp_scaling *scaling, bool tensorrt)
{
    if (ulp_scaling_is_integer(scaling)) /* scales of channels, of blocks and for 4 and 16 bits */
        return scaling->k || scaling->element.storage_bits != 8 ? 21 : 13;
    if (tensorrt && !scaling->tensor_scale)
        return 0;
    return ulp_scaling_is_power(scaling) ? 24 : 23;
}

/* ---- values that run ---- */

static const char *as_float(struct quantising *q, const struct ulp_quantised *item,
                            const char *name)
{
    return item->type == ULP_TYPE_FLOAT ? name : quantising_cast(q, name, ULP_TYPE_FLOAT);
}

static void permute(struct quantising *q, const struct ulp_quantised *item, bool back)
{
    int64_t order[ULP_RANK_MAX];
    size_t count = 0;
    /* the axis becomes the last; or the last the axis again */
    for (int d = 0; d < item->rank; d++)
        if (back ? d == item->axis : d != item->axis)
            order[count++] = back ? item->rank - 1 : d;
        else if (back)
            order[count++] = d > item->axis ? d - 1 : d;
    if (!back)
        order[count++] = item->axis;
    quantising_ints(q, "perm", order, count);
}

/* The largest magnitude of each block, the blocks where the axis was; whole: of the tensor. */
static const char *find_block_magnitudes(struct quantising *q, const struct ulp_quantised *item,
                                         const char *magnitudes, bool whole)
{
    const size_t block = item->scaling->k ? (size_t)item->scaling->k : item->k,
                 blocks = (item->k + block - 1) / block;
    const bool last = item->axis == item->rank - 1;
    int64_t shape[ULP_RANK_MAX + 1] = {0}, pads[2 * ULP_RANK_MAX] = {0};
    const int64_t axis = item->rank;
    const char *at = magnitudes;
    if (whole) {
        at = quantising_node(q, "ReduceMax", at, NULL, NULL, "largest");
        quantising_int(q, "keepdims", 0);
        return at;
    }
    if (!last) {
        at = quantising_node(q, "Transpose", at, NULL, NULL, "turned");
        permute(q, item, false);
    }
    if (blocks * block > item->k) {
        pads[2 * item->rank - 1] = (int64_t)(blocks * block - item->k);
        at = quantising_node(q, "Pad", at, quantising_list(q, pads, 2 * (size_t)item->rank), NULL,
                             "padded");
    }
    shape[item->rank - 1] = (int64_t)blocks;
    shape[item->rank] = (int64_t)block;
    at = quantising_node(q, "Reshape", at, quantising_list(q, shape, (size_t)item->rank + 1), NULL,
                         "blocks");
    at = quantising_node(q, "ReduceMax", at, quantising_list(q, &axis, 1), NULL, "largest");
    quantising_int(q, "keepdims", 0);
    if (!last) {
        at = quantising_node(q, "Transpose", at, NULL, NULL, "scaled");
        permute(q, item, true);
    }
    return at;
}

/* The scales of a value, as FLOAT; *divisor: what it is divided by, which is never 0. */
static const char *make_scales(struct quantising *q, const struct ulp_quantised *item,
                               const char *value, const char **divisor)
{
    const struct ulp_scaling *scaling = item->scaling;
    const double top = scaling->element.max_finite;
    const bool whole = scaling->k == 0 && scaling->lines == 0;
    const char *magnitudes = quantising_node(q, "Abs", value, NULL, NULL, "magnitudes"),
               *largest = find_block_magnitudes(q, item, magnitudes, whole), *scale;
    if (ulp_scaling_is_power(scaling)) { /* 2^(floor(log2 m) - e) */
        scale = quantising_node(q, "Mul", largest,
                                quantising_float(q, ldexp(1, -scaling->element.emax)), NULL,
                                "relative");
        scale = quantising_cast(q, scale, ULP_TYPE_FLOAT8E8M0);
        quantising_text(q, "round_mode", "down");
        return *divisor = quantising_cast(q, scale, ULP_TYPE_FLOAT);
    }
    const char *least = quantising_float(q, 0x1p-126);
    scale = quantising_node(q, "Div", largest, quantising_float(q, top), NULL, "relative");
    if (!scaling->tensor_scale)
        return *divisor = quantising_node(q, "Max", scale, least, NULL, "scale");
    const char *tensor = find_block_magnitudes(q, item, magnitudes, true);
    tensor = quantising_node(q, "Div", tensor, quantising_float(q, top * 448), NULL, "of_tensor");
    tensor = quantising_node(q, "Max", tensor, least, NULL, "of_tensor");
    scale = quantising_node(q, "Div", scale, tensor, NULL, "of_block");
    scale = quantising_cast(q, scale, ULP_TYPE_FLOAT8E4M3FN);
    scale = quantising_node(q, "DequantizeLinear", scale, tensor, NULL, "scale");
    *divisor = quantising_node(q, "Max", scale, least, NULL, "divisor");
    return scale;
}

static void set_blocks(struct quantising *q, const struct ulp_quantised *item)
{
    const struct ulp_scaling *scaling = item->scaling;
    if (scaling->k == 0 && scaling->lines == 0)
        return;
    quantising_int(q, "axis", item->axis);
    quantising_int(q, "block_size", scaling->k ? scaling->k : (int64_t)item->k);
}

static const char *quantise_value(struct quantising *q, const struct ulp_quantised *item,
                                  const char *name)
{
    const char *value = as_float(q, item, name), *divisor,
               *scale = make_scales(q, item, value, &divisor),
               *elements = quantising_node(q, "QuantizeLinear", value, divisor, NULL, "elements");
    quantising_int(q, "output_dtype", quantising_type(&item->scaling->element));
    set_blocks(q, item);
    return quantising_node(q, "DequantizeLinear", elements, scale, NULL, "back");
}

/* ---- TensorRT's operators ---- */

static void set_trt(struct quantising *q, const struct ulp_quantised *item, const char *type,
                    enum ulp_type value)
{
    quantising_domain(q, "trt");
    if (!item->scaling->k)
        return;
    quantising_int(q, "axis", item->axis);
    quantising_int(q, "block_size", item->scaling->k);
    quantising_int(q, type, value);
}

static const char *trt_back(struct quantising *q, const struct ulp_quantised *item,
                            const char *elements, const char *scale)
{
    const bool power = ulp_scaling_is_power(item->scaling);
    const char *out =
        quantising_node(q, power ? "TRT_MXFP8DequantizeLinear" : "TRT_FP8DequantizeLinear",
                        elements, scale, NULL, "back");
    set_trt(q, item, "output_dtype", ULP_TYPE_FLOAT);
    return out;
}

static const char *trt_value(struct quantising *q, const struct ulp_quantised *item,
                             const char *name)
{
    const struct ulp_scaling *scaling = item->scaling;
    const char *value = as_float(q, item, name), *elements, *scale, *tensor;
    const double top = scaling->element.max_finite * (scaling->tensor_scale ? 448 : 1);
    if (ulp_scaling_is_power(scaling)) {
        elements = quantising_node(q, "TRT_MXFP8DynamicQuantize", value, NULL, NULL, "elements");
        set_trt(q, item, "output_dtype", ULP_TYPE_FLOAT8E4M3FN);
        return trt_back(q, item, elements, quantising_second(q, "scales"));
    }
    tensor = quantising_float(q, item->largest > 0 ? (float)((double)item->largest / top) : 1);
    if (!scaling->tensor_scale) {
        elements = quantising_node(q, "TRT_FP8QuantizeLinear", value, tensor, NULL, "elements");
        set_trt(q, item, NULL, ULP_TYPE_UNDEFINED);
        return trt_back(q, item, elements, tensor);
    }
    elements = quantising_node(q, "TRT_FP4DynamicQuantize", value, tensor, NULL, "elements");
    set_trt(q, item, "scale_type", ULP_TYPE_FLOAT8E4M3FN);
    scale = quantising_second(q, "scales");
    scale = quantising_node(q, "DequantizeLinear", scale, tensor, NULL, "scale");
    elements = quantising_node(q, "DequantizeLinear", elements, scale, NULL, "back");
    set_blocks(q, item);
    return elements;
}

/* ---- all factors ---- */

static const char *quantise(struct quantising *q, const struct ulp_quantised *item,
                            const char *name)
{
    const char *scale, *elements, *out;
    const bool integer = ulp_scaling_is_integer(item->scaling);
    if (!item->constant && !item->computed && !integer) {
        quantising_begin(q, "stored/", name, item->scaling->name);
        name = quantising_node(q, "Identity", name, NULL, NULL, "input");
    }
    quantising_begin(q, ULP_QUANTISED_PREFIX, name, item->scaling->name);
    if (integer) {
        out =
            quantise_integer(q, item,
                             item->constant && !item->overridable ? name : as_float(q, item, name));
    } else if (q->tensorrt && item->constant && !item->scaling->tensor_scale) {
        quantising_constant(q, item, &elements, &scale);
        out = trt_back(q, item, elements, scale);
        q->written->constants++;
    } else if (q->tensorrt && !item->constant) {
        out = trt_value(q, item, name);
        q->written->values++;
    } else if (item->constant) {
        quantising_constant(q, item, &elements, &scale);
        out = quantising_node(q, "DequantizeLinear", elements, scale, NULL, "back");
        if (ulp_scaling_is_power(item->scaling))
            quantising_int(q, "output_dtype", ULP_TYPE_FLOAT);
        set_blocks(q, item);
        q->written->constants++;
    } else {
        out = quantise_value(q, item, name);
        set_blocks(q, item);
        q->written->values++;
    }
    return item->type == ULP_TYPE_FLOAT ? out : quantising_cast(q, out, item->type);
}

static int value_of(const struct ulp_quantised *item)
{
    return item->result ? item->node->outputs[0] : item->node->inputs[item->input];
}

/* The same value in the same format along the same axis. */
static size_t find_twin(const struct quantising *q, size_t item)
{
    const struct ulp_quantised *all = q->items;
    for (size_t i = 0; i < q->count; i++)
        if (q->made[i] && value_of(&all[i]) == value_of(&all[item]) &&
            (all[i].result ||
             (all[i].axis == all[item].axis && all[i].channel == all[item].channel)) &&
            all[i].largest == all[item].largest && all[i].least == all[item].least &&
            all[i].scaling == all[item].scaling)
            return i;
    return item;
}

/* The bias that is added to sums of integers, where both factors of the node are. */
static enum ulp_status quantise_node_bias(struct quantising *q, Ulp__NodeProto *proto,
                                          size_t weights)
{
    const struct ulp_quantised *all = q->items, *own = &all[weights];
    for (size_t i = 0; i < q->count && own->bias && own->bias_input < proto->n_input; i++) {
        if (all[i].result || all[i].node != own->node || all[i].input == own->input ||
            all[i].constant)
            continue;
        quantising_begin(q, ULP_QUANTISED_PREFIX, q->made[weights] + strlen(ULP_QUANTISED_PREFIX),
                         "bias");
        const char *made = quantise_bias(q, &all[i], own);
        ULP_TRY(q->status);
        if (made)
            ULP_TRY(edit_set_text(&q->editor, &proto->input[own->bias_input], made));
    }
    return ULP_OK;
}

static enum ulp_status quantise_input(struct quantising *q, size_t i)
{
    const struct edit_graph *graph = q->editor.graphs[0];
    const struct ulp_quantised *item = &q->items[i];
    Ulp__NodeProto *proto = (*graph->nodes)[item->node->position];
    if (!edit_is_text(proto->op_type, item->node->op_type) || item->input >= proto->n_input)
        return edit_fail_changed(&q->editor);
    const size_t twin = find_twin(q, i);
    const char *name = graph->source->values[value_of(item)].name;
    for (size_t r = 0; r < q->count; r++) /* as it is stored */
        if (q->items[r].result && value_of(&q->items[r]) == value_of(item))
            name = q->made[r];
    q->position = (size_t)item->node->position;
    q->made[i] = twin == i ? quantise(q, item, name) : q->made[twin];
    ULP_TRY(q->status);
    ULP_TRY(edit_set_text(&q->editor, &proto->input[item->input], q->made[i]));
    return quantise_node_bias(q, proto, i);
}

static enum ulp_status raise_opset(struct quantising *q)
{
    Ulp__ModelProto *proto = q->editor.proto;
    const int64_t now = ulp_model_opset(q->editor.model, ""),
                  version = now > q->opset ? now : q->opset;
    q->written->opset = version;
    /* IR 10 came with opset 21, 11 with 23, 12 and 13 with 24 and 25 */
    const int64_t least = version >= 25   ? 13
                          : version == 24 ? 12
                          : version >= 23 ? 11
                          : version >= 21 ? 10
                                          : 7;
    if (proto->ir_version < least)
        proto->ir_version = least;
    proto->has_ir_version = true;
    ULP_TRY(edit_import(&q->editor, &proto->opset_import, &proto->n_opset_import, "", version));
    return q->tensorrt
               ? edit_import(&q->editor, &proto->opset_import, &proto->n_opset_import, "trt", 1)
               : ULP_OK;
}

/* The result is quantised behind its node, and read so by all nodes of the graph. */
static enum ulp_status quantise_result(struct quantising *q, size_t i)
{
    const struct edit_graph *graph = q->editor.graphs[0];
    const struct ulp_quantised *item = &q->items[i];
    const char *name = graph->source->values[value_of(item)].name;
    const size_t nodes = *graph->node_count;
    q->position = (size_t)item->node->position + 1;
    q->made[i] = quantise(q, item, name);
    ULP_TRY(q->status);
    for (size_t n = 0; n < nodes; n++) {
        Ulp__NodeProto *proto = (*graph->nodes)[n];
        for (size_t in = 0; in < proto->n_input; in++)
            if (edit_is_text(proto->input[in], name))
                ULP_TRY(edit_set_text(&q->editor, &proto->input[in], q->made[i]));
    }
    return ULP_OK;
}

/* In the order of their nodes: one value is quantised before all that read it. */
static enum ulp_status change(struct editor *editor)
{
    struct quantising *q = (struct quantising *)editor;
    const size_t nodes = *editor->graphs[0]->node_count;
    ULP_TAKE(q->made, editor->arena, q->count + 1, editor->error);
    ULP_TRY(raise_nodes(editor, q->opset));
    for (size_t i = 0; i < q->count; i++)
        if (q->items[i].result)
            ULP_TRY(quantise_result(q, i));
    for (size_t p = 0; p < nodes; p++)
        for (size_t i = 0; i < q->count; i++)
            if (!q->items[i].result && (size_t)q->items[i].node->position == p)
                ULP_TRY(quantise_input(q, i));
    return raise_opset(q);
}

enum ulp_status ulp_quantise_file(const struct ulp_model *model, const struct ulp_quantised *items,
                                  size_t count, bool tensorrt, int64_t opset, const char *path,
                                  struct ulp_pool *pool, struct ulp_quantise_written *out,
                                  struct ulp_error *error)
{
    struct quantising q = {.editor = {.model = model, .path = path},
                           .items = items,
                           .count = count,
                           .opset = opset,
                           .tensorrt = tensorrt,
                           .pool = pool,
                           .written = out};
    *out = (struct ulp_quantise_written){0};
    ULP_TRY(raise_check(model, opset, error));
    return edit_model(&q.editor, change, error);
}
