#include "load/mixed/quantising.h"

#include <string.h>

#include "base/text/text.h"
#include "number/round/round.h"

enum ulp_type quantising_type(const struct ulp_format *element)
{
    static const enum ulp_type types[] = {ULP_TYPE_FLOAT8E4M3FN, ULP_TYPE_FLOAT8E5M2,
                                          ULP_TYPE_FLOAT4E2M1};
    static const struct {
        const char *name;
        enum ulp_type type;
    } integers[] = {{"int8", ULP_TYPE_INT8},   {"uint8", ULP_TYPE_UINT8},
                    {"int16", ULP_TYPE_INT16}, {"uint16", ULP_TYPE_UINT16},
                    {"int4", ULP_TYPE_INT4},   {"uint4", ULP_TYPE_UINT4}};
    for (size_t t = 0; t < sizeof integers / sizeof *integers; t++)
        if (strcmp(integers[t].name, element->name) == 0)
            return integers[t].type;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (strcmp(ulp_type_rows[types[t]].format, element->name) == 0)
            return types[t];
    return ULP_TYPE_UNDEFINED;
}

/* The call, unless something has failed. */
#define TRY(call) (void)(q->status == ULP_OK && (q->status = (call)))

/* ---- names, nodes ---- */

void quantising_begin(struct quantising *q, const char *prefix, const char *value,
                      const char *format)
{
    q->stem = q->status == ULP_OK ? ulp_arena_say(q->editor.arena, "%s%s/%s", prefix, value, format)
                                  : NULL;
    TRY(ulp_taken(q->stem, q->editor.error));
}

static const char *name_new(struct quantising *q, const char *end)
{
    const char *name = "";
    TRY(edit_fresh(&q->editor, q->stem, end, &name));
    return name;
}

void quantising_domain(struct quantising *q, const char *domain)
{
    if (q->status != ULP_OK)
        return;
    q->last->has_domain = true;
    q->status = edit_set_text(&q->editor, &q->last->domain, domain);
}

const char *quantising_second(struct quantising *q, const char *name)
{
    const char *out = name_new(q, name);
    TRY(edit_add_name(&q->editor, &q->last->output, &q->last->n_output, out));
    return out;
}

const char *quantising_node(struct quantising *q, const char *op, const char *a, const char *b,
                            const char *c, const char *name)
{
    const char *out = name_new(q, name);
    TRY(edit_add_node(&q->editor, q->editor.graphs[0], q->position, op,
                      (const char *const[]){a, b, c, NULL}, out, &q->last));
    return out;
}

const char *quantising_cast(struct quantising *q, const char *value, enum ulp_type type)
{
    const char *out = quantising_node(q, "Cast", value, NULL, NULL, ulp_type_name(type));
    quantising_int(q, "to", type);
    return out;
}

/* ---- attributes ---- */

static void set(struct quantising *q, const struct ulp_attribute *attribute)
{
    TRY(edit_copy_attribute(&q->editor, q->last, attribute));
}

void quantising_int(struct quantising *q, const char *name, int64_t value)
{
    set(q, &(struct ulp_attribute){.name = name, .kind = ULP_ATTRIBUTE_INT, .i = value});
}

void quantising_ints(struct quantising *q, const char *name, const int64_t *values, size_t count)
{
    set(q, &(struct ulp_attribute){
               .name = name, .kind = ULP_ATTRIBUTE_INTS, .ints = values, .count = count});
}

void quantising_text(struct quantising *q, const char *name, const char *value)
{
    set(q, &(struct ulp_attribute){.name = name, .kind = ULP_ATTRIBUTE_STRING, .s = value});
}

/* ---- initializers ---- */

const char *quantising_raw(struct quantising *q, enum ulp_type type, const struct ulp_tensor *shape,
                           uint8_t *raw, size_t bytes, const char *end)
{
    const char *name = name_new(q, end);
    if (q->status == ULP_OK)
        q->status = edit_add_raw(&q->editor, name, type, shape, (ProtobufCBinaryData){bytes, raw});
    else
        ulp_free(raw);
    return name;
}

static const char *add_same(struct quantising *q, const struct ulp_tensor *tensor, const char *end)
{
    const char *name = name_new(q, end);
    TRY(edit_add_same(&q->editor, name, tensor));
    return name;
}

uint8_t *quantising_bytes(struct quantising *q, size_t bytes)
{
    void *out = NULL;
    TRY(ulp_allocate_zero(&out, bytes, 1, q->editor.budget, "the model that is written",
                          q->editor.error));
    return out;
}

const char *quantising_list(struct quantising *q, const int64_t *values, size_t count)
{
    const struct ulp_tensor list = ulp_tensor_list(ULP_TYPE_INT64, values, 1, count);
    return add_same(q, &list, "list");
}

const char *quantising_float(struct quantising *q, double value)
{
    const float single = (float)value;
    const struct ulp_tensor number = ulp_tensor_list(ULP_TYPE_FLOAT, &single, 0, 1);
    return add_same(q, &number, "number");
}

void quantising_gather(struct quantising *q, const struct ulp_quantised *item, bool channels,
                       struct quantising_lines *out)
{
    const struct ulp_tensor *tensor = item->constant;
    const int axis = channels ? item->channel : item->axis;
    size_t before = 1, behind = 1;
    for (int d = 0; d < tensor->rank; d++)
        *(d < axis ? &before : &behind) *= d == axis ? 1 : (size_t)tensor->dims[d];
    const size_t length = (size_t)tensor->dims[axis], others = before * behind;
    int64_t *along = ulp_arena_take(q->editor.arena, length + 1, sizeof *along),
            *across = ulp_arena_take(q->editor.arena, others + 1, sizeof *across);
    *out = (struct quantising_lines){.count = channels ? length : others,
                                     .k = channels ? others : length,
                                     .behind = channels ? 1 : behind,
                                     .line_offset = channels ? along : across,
                                     .k_offset = channels ? across : along};
    if (!along || !across) {
        q->status = ulp_out_of_memory(q->editor.error);
        return;
    }
    for (size_t i = 0; i < length; i++)
        along[i] = (int64_t)(i * behind);
    for (size_t i = 0; i < others; i++)
        across[i] = (int64_t)(i / behind * length * behind + i % behind);
    const struct ulp_contraction problem = {.batch_count = 1,
                                            .m = out->count,
                                            .k = out->k,
                                            .a = {.tensor = tensor,
                                                  .line_offset = out->line_offset,
                                                  .k_offset = out->k_offset}};
    q->status = ulp_scaled_make(&out->scaled, item->scaling, &problem, 0, true,
                                ULP_ROUND_NEAREST_EVEN, q->pool, q->editor.error);
    out->blocks = out->scaled.block_count;
}

void quantising_put(uint8_t *raw, int bits, size_t at, uint32_t value)
{
    const size_t bytes = (size_t)bits / 8;
    if (!bytes)
        raw[at / 2] |= (uint8_t)((value & 15) << (4 * (at & 1)));
    for (size_t b = 0; b < bytes; b++)
        raw[at * bytes + b] = (uint8_t)(value >> (8 * b));
}

static const char *put_elements(struct quantising *q, const struct ulp_quantised *item,
                                const struct quantising_lines *lines)
{
    const enum ulp_type type = quantising_type(&item->scaling->element);
    const struct ulp_tensor *tensor = item->constant;
    const size_t bytes = (tensor->count * (size_t)ulp_type_rows[type].file_bits + 7) / 8;
    const float *elements = lines->scaled.elements.data;
    struct ulp_format format;
    uint8_t *raw = quantising_bytes(q, bytes);
    TRY(ulp_format_find(ulp_type_rows[type].format, &format, q->editor.error));
    for (size_t l = 0; q->status == ULP_OK && l < lines->count; l++)
        for (size_t k = 0; k < lines->k; k++) {
            const float x = elements[lines->scaled.line_offset[l] + lines->scaled.k_offset[k]];
            quantising_put(raw, ulp_type_rows[type].file_bits,
                           (size_t)(lines->line_offset[l] + lines->k_offset[k]),
                           ulp_format_encode(&format, (double)x));
        }
    return quantising_raw(q, type, tensor, raw, bytes, "elements");
}

/* Of FLOAT scales with one for the tensor E4M3 numbers and a node that multiplies them. */
static const char *put_scales(struct quantising *q, const struct ulp_quantised *item,
                              const struct quantising_lines *lines)
{
    const struct ulp_scaling *scaling = item->scaling;
    const bool whole = scaling->k == 0 && scaling->lines == 0,
               inside = ulp_scaling_is_inside(scaling);
    const enum ulp_type type = ulp_scaling_is_power(scaling) ? ULP_TYPE_FLOAT8E8M0
                               : inside                      ? ULP_TYPE_FLOAT8E4M3FN
                                                             : ULP_TYPE_FLOAT,
                        /* TensorRT's are the same bytes */
        written = q->tensorrt && ulp_scaling_is_power(scaling) ? ULP_TYPE_UINT8 : type;
    const size_t blocks = lines->blocks, count = lines->count * blocks;
    struct ulp_tensor shape = ulp_tensor_view(item->constant);
    struct ulp_format format;
    if (whole)
        return quantising_float(q, lines->scaled.scale[0]);
    const size_t bytes = count * (inside ? 1 : sizeof(float));
    uint8_t *raw = quantising_bytes(q, bytes);
    TRY(ulp_format_find(ulp_type_rows[type].format, &format, q->editor.error));
    for (size_t l = 0; q->status == ULP_OK && l < lines->count; l++)
        for (size_t b = 0; b < blocks; b++) {
            const float scale = lines->scaled.scale[ulp_scaled_block(&lines->scaled, 0, l, b)];
            quantising_put(raw, ulp_type_rows[type].file_bits, quantising_block(lines, l, b),
                           ulp_format_encode(&format, (double)scale));
        }
    shape.dims[item->axis] = (int64_t)blocks;
    const char *out = quantising_raw(q, written, &shape, raw, bytes, "scales");
    return scaling->tensor_scale
               ? quantising_node(q, "DequantizeLinear", out,
                                 quantising_float(q, lines->scaled.tensor_scale), NULL, "scale")
               : out;
}

void quantising_constant(struct quantising *q, const struct ulp_quantised *item,
                         const char **elements, const char **scales)
{
    struct quantising_lines lines = {0};
    *elements = *scales = "";
    if (q->status == ULP_OK)
        quantising_gather(q, item, false, &lines);
    if (q->status == ULP_OK)
        *elements = put_elements(q, item, &lines);
    if (q->status == ULP_OK)
        *scales = put_scales(q, item, &lines);
    ulp_scaled_free(&lines.scaled);
}
