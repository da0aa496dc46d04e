/* Tensors of the new file: in another type, and in its file of external data. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/machine/file.h"
#include "load/mixed/writer.h"
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
    if (type == ULP_TYPE_DOUBLE) {
        uint64_t bits;
        memcpy(&bits, &rounded, sizeof bits);
        return bits;
    }
    if (type == ULP_TYPE_FLOAT) {
        const float single = (float)rounded;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return bits;
    }
    return ulp_format_encode(format, rounded);
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
static enum ulp_status encode_all(struct mixed *mixed, const struct ulp_tensor *tensor,
                                  enum ulp_type type, ProtobufCBinaryData *out,
                                  struct ulp_error *error)
{
    const bool floats = ulp_type_is_float(type);
    const size_t bytes = (size_t)ulp_type_rows[type].file_bits / 8;
    struct ulp_format format;
    void *raw = NULL;
    if (floats)
        ULP_TRY(ulp_format_find(ulp_type_rows[type].format, &format, error));
    ULP_TRY(ulp_allocate(&raw, tensor->count, bytes, mixed->budget, "converted weights", error));
    for (size_t i = 0; i < tensor->count; i++)
        put_bits(raw, i,
                 floats ? encode(&format, type, ulp_tensor_get(tensor, i))
                        : (uint64_t)ulp_tensor_get_int(tensor, i),
                 bytes);
    *out = (ProtobufCBinaryData){tensor->count * bytes, raw};
    return ULP_OK;
}

enum ulp_status mixed_convert(struct mixed *mixed, Ulp__TensorProto *proto,
                              const struct ulp_tensor *tensor, enum ulp_type type,
                              struct ulp_error *error)
{
    struct ulp_format format;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor lowered = {0};
    const struct ulp_mixed_request *request = mixed->request;
    ProtobufCBinaryData raw = {0};
    ULP_TRY(ulp_format_find(ulp_type_rows[type].format, &format, error));
    ULP_TRY(ulp_tensor_lower(&lowered, tensor, &format,
                             type == request->low ? request->constants : ULP_CONSTANTS_SATURATED,
                             NULL, mixed->budget, error));
    ULP_TRY(encode_all(mixed, &lowered, type, &raw, error));
    clear_data(proto);
    set_raw(proto, type, raw);
    mixed->written->converted++;
    return ULP_OK;
}

/* Name and dims; *out is the caller's also after a failure. */
static enum ulp_status new_tensor(struct mixed *mixed, Ulp__TensorProto **out, const char *name,
                                  const struct ulp_tensor *tensor, struct ulp_error *error)
{
    void *dims = NULL;
    ULP_TRY(mixed_new(mixed, out, &ulp__tensor_proto__descriptor, error));
    ULP_TRY(ulp_allocate(&dims, (size_t)tensor->rank, sizeof(int64_t), mixed->budget,
                         "converted weights", error));
    if (tensor->rank)
        memcpy(dims, tensor->dims, (size_t)tensor->rank * sizeof(int64_t));
    (*out)->dims = dims;
    (*out)->n_dims = (size_t)tensor->rank;
    (*out)->has_name = true;
    return mixed_set_text(mixed, &(*out)->name, name, error);
}

enum ulp_status mixed_new_tensor(struct mixed *mixed, Ulp__TensorProto **out, const char *name,
                                 const struct ulp_tensor *tensor, enum ulp_type type,
                                 struct ulp_error *error)
{
    ULP_TRY(new_tensor(mixed, out, name, tensor, error));
    return mixed_convert(mixed, *out, tensor, type, error);
}

enum ulp_status mixed_add_raw(struct mixed *mixed, const char *name, enum ulp_type type,
                              const struct ulp_tensor *shape, ProtobufCBinaryData raw,
                              struct ulp_error *error)
{
    Ulp__GraphProto *graph = mixed->proto->graph;
    Ulp__TensorProto *proto = NULL;
    enum ulp_status status = new_tensor(mixed, &proto, name, shape, error);
    if (proto)
        set_raw(proto, type, raw);
    else
        ulp_free(raw.data);
    if (status == ULP_OK)
        return mixed_take(mixed, &graph->initializer, &graph->n_initializer, proto, error);
    ulp_unpack_free(&mixed->loader.unpacker, proto);
    return status;
}

enum ulp_status mixed_same_tensor(struct mixed *mixed, Ulp__TensorProto **out, const char *name,
                                  const struct ulp_tensor *tensor, struct ulp_error *error)
{
    ProtobufCBinaryData raw;
    if (ulp_type_rows[tensor->type].file_bits < 8)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "value '%s' is %s: only types of whole bytes are written", name,
                        ulp_type_name(tensor->type));
    ULP_TRY(new_tensor(mixed, out, name, tensor, error));
    ULP_TRY(encode_all(mixed, tensor, tensor->type, &raw, error));
    set_raw(*out, tensor->type, raw);
    return ULP_OK;
}

enum ulp_status mixed_add_same(struct mixed *mixed, const char *name,
                               const struct ulp_tensor *tensor, struct ulp_error *error)
{
    Ulp__GraphProto *graph = mixed->proto->graph;
    Ulp__TensorProto *proto = NULL;
    const enum ulp_status status = mixed_same_tensor(mixed, &proto, name, tensor, error);
    if (status == ULP_OK)
        return mixed_take(mixed, &graph->initializer, &graph->n_initializer, proto, error);
    ulp_unpack_free(&mixed->loader.unpacker, proto);
    return status;
}

/* ---- external data ---- */

static enum ulp_status open_data(struct mixed *mixed, struct ulp_error *error)
{
    char path[4096];
    if (mixed->data.file)
        return ULP_OK;
    if (snprintf(path, sizeof path, "%s.data", mixed->request->path) >= (int)sizeof path)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", mixed->request->path);
    if (ulp_model_is_read_from(mixed->request->model, path))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: has the model's weights, and the copy's would be written over them; "
                        "give the copy another name",
                        path);
    mixed->written->external = true;
    return ulp_text_open(&mixed->data, path, error);
}

enum ulp_status mixed_close_data(struct mixed *mixed, bool keep, struct ulp_error *error)
{
    return mixed->data.file ? ulp_text_close(&mixed->data, keep, error) : ULP_OK;
}

static enum ulp_status put_data(struct mixed *mixed, const unsigned char *bytes, size_t count,
                                size_t *offset, struct ulp_error *error)
{
    static const char zeros[PAGE_BYTES];
    ULP_TRY(open_data(mixed, error));
    *offset =
        ulp_size_round_up(mixed->data_bytes, count < PAGE_BYTES ? SMALL_ALIGNMENT : PAGE_BYTES);
    ulp_text_put(&mixed->data, zeros, *offset - mixed->data_bytes);
    mixed->data_bytes = *offset + count;
    while (count) {
        const size_t part = ulp_size_min(count, FLUSH_BYTES);
        ulp_text_put(&mixed->data, (const char *)bytes, part);
        ULP_TRY(ulp_text_flush(&mixed->data, error));
        bytes += part;
        count -= part;
    }
    return ULP_OK;
}

static enum ulp_status set_entry(struct mixed *mixed, Ulp__TensorProto *proto, const char *key,
                                 const char *value, struct ulp_error *error)
{
    return mixed_add_entry(mixed, &proto->external_data, &proto->n_external_data, key, value,
                           error);
}

static enum ulp_status set_place(struct mixed *mixed, Ulp__TensorProto *proto, size_t offset,
                                 size_t length, struct ulp_error *error)
{
    char text[24];
    mixed_clear(mixed, proto->external_data, &proto->n_external_data);
    ULP_TRY(set_entry(mixed, proto, "location", mixed->data_name, error));
    snprintf(text, sizeof text, "%zu", offset);
    ULP_TRY(set_entry(mixed, proto, "offset", text, error));
    snprintf(text, sizeof text, "%zu", length);
    return set_entry(mixed, proto, "length", text, error);
}

static enum ulp_status count_bytes(const Ulp__TensorProto *proto, size_t *out,
                                   struct ulp_error *error)
{
    size_t count = 1;
    bool known = proto->data_type > 0 && proto->data_type < ULP_TYPE_COUNT;
    for (size_t d = 0; d < proto->n_dims && known; d++)
        known = proto->dims[d] >= 0 && ulp_size_mul(count, (size_t)proto->dims[d], &count);
    return known && ulp_raw_bytes((enum ulp_type)proto->data_type, count, out)
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT,
                          "a tensor has another size than when it was loaded");
}

/* A converted tensor has its elements in raw_data; others are copied from the old file. */
static enum ulp_status move_tensor(struct mixed *mixed, Ulp__TensorProto *proto,
                                   struct ulp_error *error)
{
    if (!proto || proto->data_location != LOCATION_EXTERNAL)
        return ULP_OK;
    const unsigned char *bytes = proto->raw_data.data;
    size_t count = proto->raw_data.len, offset;
    if (!proto->has_raw_data) {
        ULP_TRY(count_bytes(proto, &count, error));
        ULP_TRY(ulp_load_external(&mixed->loader, &bytes, count, proto, error));
    }
    ULP_TRY(put_data(mixed, bytes, count, &offset, error));
    clear_data(proto);
    proto->has_raw_data = false;
    return set_place(mixed, proto, offset, count, error);
}

enum ulp_status mixed_move_data(struct mixed *mixed, Ulp__NodeProto *const *nodes, size_t count,
                                Ulp__GraphProto *graph, struct ulp_error *error)
{
    for (size_t n = 0; n < count; n++)
        for (size_t a = 0; a < nodes[n]->n_attribute; a++)
            ULP_TRY(move_tensor(mixed, nodes[n]->attribute[a]->t, error));
    for (size_t i = 0; graph && i < graph->n_initializer; i++)
        ULP_TRY(move_tensor(mixed, graph->initializer[i], error));
    for (size_t i = 0; graph && i < graph->n_sparse_initializer; i++) {
        ULP_TRY(move_tensor(mixed, graph->sparse_initializer[i]->values, error));
        ULP_TRY(move_tensor(mixed, graph->sparse_initializer[i]->indices, error));
    }
    return ULP_OK;
}
