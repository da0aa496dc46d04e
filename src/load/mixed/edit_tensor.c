/* Tensors of the new file: in another type, and in its file of external data. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "load/mixed/editor.h"
#include "number/round/round.h"
#include "tensor/lower.h"

#define LOCATION_EXTERNAL 1
/* A page: runtimes map tensors of that size and more. Smaller ones are put where their elements are
 * aligned. */
#define PAGE_BYTES 4096
#define SMALL_ALIGNMENT 64
/* What is held back before it is written. */
#define FLUSH_BYTES ((size_t)1 << 22)

static void put_bits(uint8_t *raw, size_t i, uint64_t bits, size_t bytes)
{
    for (size_t b = 0; b < bytes; b++)
        raw[i * bytes + b] = (uint8_t)(bits >> (8 * b));
}

static uint64_t encode(const struct ulp_format *format, enum ulp_type type, double x)
{
    const double rounded = ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
    return type == ULP_TYPE_DOUBLE  ? ulp_double_bits(rounded)
           : type == ULP_TYPE_FLOAT ? ulp_float_bits((float)rounded)
                                    : ulp_format_encode(format, rounded);
}

static void clear_data(Ulp__TensorProto *proto)
{
    ulp_free(proto->float_data);
    ulp_free(proto->int32_data);
    ulp_free(proto->double_data);
    ulp_free(proto->raw_data.data);
    proto->float_data = NULL;
    proto->int32_data = NULL;
    proto->double_data = NULL;
    proto->n_float_data = proto->n_int32_data = proto->n_double_data = 0;
    proto->raw_data = (ProtobufCBinaryData){0};
}

static void set_raw(Ulp__TensorProto *proto, enum ulp_type type, ProtobufCBinaryData raw)
{
    proto->has_data_type = proto->has_raw_data = true;
    proto->data_type = (int32_t)type;
    proto->raw_data = raw;
}

/* The elements in the file's encoding of that type, floats rounded to it. */
static enum ulp_status encode_all(struct editor *editor, const struct ulp_tensor *tensor,
                                  enum ulp_type type, ProtobufCBinaryData *out)
{
    const bool floats = ulp_type_is_float(type);
    const size_t bytes = (size_t)ulp_type_rows[type].file_bits / 8;
    struct ulp_format format;
    void *raw = NULL;
    if (floats)
        ULP_TRY(ulp_format_find(ulp_type_rows[type].format, &format, editor->error));
    ULP_TRY(ulp_allocate(&raw, tensor->count, bytes, editor->budget, "converted weights",
                         editor->error));
    for (size_t i = 0; i < tensor->count; i++)
        put_bits(raw, i,
                 floats ? encode(&format, type, ulp_tensor_get(tensor, i))
                        : (uint64_t)ulp_tensor_get_int(tensor, i),
                 bytes);
    *out = (ProtobufCBinaryData){tensor->count * bytes, raw};
    return ULP_OK;
}

enum ulp_status edit_convert(struct editor *editor, Ulp__TensorProto *proto,
                             const struct ulp_tensor *tensor, enum ulp_type type)
{
    struct ulp_format format;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor lowered = {0};
    ProtobufCBinaryData raw = {0};
    ULP_TRY(ulp_format_find(ulp_type_rows[type].format, &format, editor->error));
    ULP_TRY(ulp_tensor_lower(&lowered, tensor, &format,
                             type == editor->low ? editor->constants : ULP_CONSTANTS_SATURATED,
                             NULL, editor->budget, editor->error));
    ULP_TRY(encode_all(editor, &lowered, type, &raw));
    clear_data(proto);
    set_raw(proto, type, raw);
    editor->converted++;
    return ULP_OK;
}

/* Name and dims; *out is the caller's also after a failure. */
static enum ulp_status new_tensor(struct editor *editor, Ulp__TensorProto **out, const char *name,
                                  const struct ulp_tensor *tensor)
{
    void *dims = NULL;
    ULP_TRY(edit_new(editor, out, &ulp__tensor_proto__descriptor));
    ULP_TRY(ulp_allocate(&dims, (size_t)tensor->rank, sizeof(int64_t), editor->budget,
                         "converted weights", editor->error));
    if (tensor->rank)
        memcpy(dims, tensor->dims, (size_t)tensor->rank * sizeof(int64_t));
    (*out)->dims = dims;
    (*out)->n_dims = (size_t)tensor->rank;
    (*out)->has_name = true;
    return edit_set_text(editor, &(*out)->name, name);
}

enum ulp_status edit_new_tensor(struct editor *editor, Ulp__TensorProto **out, const char *name,
                                const struct ulp_tensor *tensor, enum ulp_type type)
{
    enum ulp_status status = new_tensor(editor, out, name, tensor);
    status = status == ULP_OK ? edit_convert(editor, *out, tensor, type) : status;
    if (status != ULP_OK)
        edit_drop(editor, out);
    return status;
}

/* raw is taken over. */
static enum ulp_status new_raw(struct editor *editor, Ulp__TensorProto **out, const char *name,
                               enum ulp_type type, const struct ulp_tensor *shape,
                               ProtobufCBinaryData raw)
{
    const enum ulp_status status = new_tensor(editor, out, name, shape);
    if (*out)
        set_raw(*out, type, raw);
    else
        ulp_free(raw.data);
    return status;
}

static enum ulp_status encode_same(struct editor *editor, const char *name,
                                   const struct ulp_tensor *tensor, ProtobufCBinaryData *raw)
{
    return ulp_type_rows[tensor->type].file_bits < 8
               ? ulp_fail(editor->error, ULP_ERROR_UNSUPPORTED,
                          "value '%s' is %s: only types of whole bytes are written", name,
                          ulp_type_name(tensor->type))
               : encode_all(editor, tensor, tensor->type, raw);
}

enum ulp_status edit_same_tensor(struct editor *editor, Ulp__TensorProto **out, const char *name,
                                 const struct ulp_tensor *tensor)
{
    ProtobufCBinaryData raw;
    ULP_TRY(encode_same(editor, name, tensor, &raw));
    return new_raw(editor, out, name, tensor->type, tensor, raw);
}

enum ulp_status edit_add_raw(struct editor *editor, const char *name, enum ulp_type type,
                             const struct ulp_tensor *shape, ProtobufCBinaryData raw)
{
    Ulp__GraphProto *graph = editor->proto->graph;
    Ulp__TensorProto *proto = NULL;
    const enum ulp_status status = new_raw(editor, &proto, name, type, shape, raw);
    if (status == ULP_OK)
        return edit_take(editor, &graph->initializer, &graph->n_initializer, proto);
    ulp_unpack_free(&editor->loader.unpacker, proto);
    return status;
}

enum ulp_status edit_add_same(struct editor *editor, const char *name,
                              const struct ulp_tensor *tensor)
{
    ProtobufCBinaryData raw;
    ULP_TRY(encode_same(editor, name, tensor, &raw));
    return edit_add_raw(editor, name, tensor->type, tensor, raw);
}

enum ulp_status edit_set_constant(struct editor *editor, Ulp__NodeProto *node,
                                  const struct ulp_tensor *tensor, enum ulp_type type)
{
    Ulp__AttributeProto *attribute = node->n_attribute ? node->attribute[0] : NULL;
    if (!attribute) {
        ULP_TRY(edit_attribute(editor, node, "value", ATTRIBUTE_TENSOR, &attribute));
    } else { /* value, or a value_float or value_floats in its place */
        ULP_TRY(edit_set_text(editor, &attribute->name, "value"));
        attribute->type = ATTRIBUTE_TENSOR;
        attribute->has_type = true;
        attribute->has_f = false;
        attribute->n_floats = 0;
        ulp_free(attribute->floats);
        attribute->floats = NULL;
    }
    return attribute->t ? edit_convert(editor, attribute->t, tensor, type)
                        : edit_new_tensor(editor, &attribute->t, "", tensor, type);
}

/* ---- external data ---- */

static enum ulp_status open_data(struct editor *editor)
{
    char path[4096];
    if (editor->data.file)
        return ULP_OK;
    if (snprintf(path, sizeof path, "%s.data", editor->path) >= (int)sizeof path)
        return ulp_fail(editor->error, ULP_ERROR_USAGE, "%s: the path is too long", editor->path);
    if (ulp_model_is_read_from(editor->model, path))
        return ulp_fail(editor->error, ULP_ERROR_USAGE,
                        "%s: has the model's weights, and the copy's would be written over them; "
                        "give the copy another name",
                        path);
    editor->external = true;
    return ulp_text_open(&editor->data, path, editor->error);
}

enum ulp_status edit_close_data(struct editor *editor, bool keep)
{
    return editor->data.file ? ulp_text_close(&editor->data, keep, editor->error) : ULP_OK;
}

static enum ulp_status put_data(struct editor *editor, const unsigned char *bytes, size_t count,
                                size_t *offset)
{
    static const char zeros[PAGE_BYTES];
    ULP_TRY(open_data(editor));
    *offset =
        ulp_size_round_up(editor->data_bytes, count < PAGE_BYTES ? SMALL_ALIGNMENT : PAGE_BYTES);
    ulp_text_put(&editor->data, zeros, *offset - editor->data_bytes);
    editor->data_bytes = *offset + count;
    while (count) {
        const size_t part = ulp_size_min(count, FLUSH_BYTES);
        ulp_text_put(&editor->data, (const char *)bytes, part);
        ULP_TRY(ulp_text_flush(&editor->data, editor->error));
        bytes += part;
        count -= part;
    }
    return ULP_OK;
}

static enum ulp_status add_entry(struct editor *editor, Ulp__TensorProto *proto, const char *key,
                                 const char *value)
{
    Ulp__EntryProto *entry;
    ULP_TRY(edit_add(editor, &proto->external_data, &proto->n_external_data,
                     &ulp__entry_proto__descriptor, &entry));
    entry->has_key = entry->has_value = true;
    ULP_TRY(edit_set_text(editor, &entry->key, key));
    return edit_set_text(editor, &entry->value, value);
}

static enum ulp_status set_place(struct editor *editor, Ulp__TensorProto *proto, size_t offset,
                                 size_t length)
{
    char text[24];
    edit_clear(editor, proto->external_data, &proto->n_external_data);
    ULP_TRY(add_entry(editor, proto, "location", editor->data_name));
    snprintf(text, sizeof text, "%zu", offset);
    ULP_TRY(add_entry(editor, proto, "offset", text));
    snprintf(text, sizeof text, "%zu", length);
    return add_entry(editor, proto, "length", text);
}

static enum ulp_status count_bytes(struct editor *editor, const Ulp__TensorProto *proto,
                                   size_t *out)
{
    size_t count = 1;
    bool known = proto->data_type > 0 && proto->data_type < ULP_TYPE_COUNT;
    for (size_t d = 0; d < proto->n_dims && known; d++)
        known = proto->dims[d] >= 0 && ulp_size_mul(count, (size_t)proto->dims[d], &count);
    return known && ulp_raw_bytes((enum ulp_type)proto->data_type, count, out)
               ? ULP_OK
               : ulp_fail(editor->error, ULP_ERROR_INPUT,
                          "a tensor has another size than when it was loaded");
}

/* A converted tensor has its elements in raw_data; others are copied from the old file. */
static enum ulp_status move_tensor(struct editor *editor, Ulp__TensorProto *proto)
{
    if (!proto || proto->data_location != LOCATION_EXTERNAL)
        return ULP_OK;
    const unsigned char *bytes = proto->raw_data.data;
    size_t count = proto->raw_data.len, offset;
    if (!proto->has_raw_data) {
        ULP_TRY(count_bytes(editor, proto, &count));
        ULP_TRY(ulp_load_external(&editor->loader, &bytes, count, proto));
    }
    ULP_TRY(put_data(editor, bytes, count, &offset));
    clear_data(proto);
    proto->has_raw_data = false;
    return set_place(editor, proto, offset, count);
}

enum ulp_status edit_move_data(struct editor *editor, const struct edit_graph *graph)
{
    const Ulp__GraphProto *proto = graph->proto;
    if (editor->packed)
        return ULP_OK;
    for (size_t n = 0; n < *graph->node_count; n++)
        for (size_t a = 0; a < (*graph->nodes)[n]->n_attribute; a++)
            ULP_TRY(move_tensor(editor, (*graph->nodes)[n]->attribute[a]->t));
    for (size_t i = 0; proto && i < proto->n_initializer; i++)
        ULP_TRY(move_tensor(editor, proto->initializer[i]));
    for (size_t i = 0; proto && i < proto->n_sparse_initializer; i++) {
        ULP_TRY(move_tensor(editor, proto->sparse_initializer[i]->values));
        ULP_TRY(move_tensor(editor, proto->sparse_initializer[i]->indices));
    }
    return ULP_OK;
}
