/* TensorProto to struct ulp_tensor. A declared shape is used only after the file was found to hold
 * exactly that many elements, so that a hostile file cannot cause a large allocation. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/tuning.h"
#include "load/load.h"
#include "tensor/stored.h"

#define LOCATION_EXTERNAL 1
/* Sparse tensors are the ones whose dense form may be larger than the file: all of a model's. */
#define DENSE_COUNT_MAX ((size_t)1 << 26)

/* The typed field an element type is stored in when raw_data is not used. */
enum field {
    FIELD_NONE,
    FIELD_INT32,
    FIELD_INT64,
    FIELD_UINT64,
    FIELD_FLOAT,
    FIELD_DOUBLE,
    FIELD_STRING,
    FIELD_COUNT
};
static const char *const field_names[FIELD_COUNT] = {"",           "int32_data",
                                                     "int64_data", "uint64_data",
                                                     "float_data", "double_data",
                                                     "string_data"};

static enum field find_field(enum ulp_type type)
{
    switch (type) {
    case ULP_TYPE_FLOAT:
    case ULP_TYPE_COMPLEX64: return FIELD_FLOAT;
    case ULP_TYPE_DOUBLE:
    case ULP_TYPE_COMPLEX128: return FIELD_DOUBLE;
    case ULP_TYPE_INT64: return FIELD_INT64;
    case ULP_TYPE_UINT32:
    case ULP_TYPE_UINT64: return FIELD_UINT64;
    case ULP_TYPE_STRING: return FIELD_STRING;
    default: return FIELD_INT32;
    }
}

/* Exactly one of the fields may have data. */
static enum ulp_status find_data(const Ulp__TensorProto *proto, enum field *out, size_t *out_count,
                                 struct ulp_error *error)
{
    const size_t counts[FIELD_COUNT] = {
        [FIELD_INT32] = proto->n_int32_data,   [FIELD_INT64] = proto->n_int64_data,
        [FIELD_UINT64] = proto->n_uint64_data, [FIELD_FLOAT] = proto->n_float_data,
        [FIELD_DOUBLE] = proto->n_double_data, [FIELD_STRING] = proto->n_string_data,
    };
    bool external = proto->data_location == LOCATION_EXTERNAL;
    *out = FIELD_NONE;
    *out_count = 0;
    for (int f = FIELD_NONE + 1; f < FIELD_COUNT; f++) {
        if (!counts[f])
            continue;
        if (*out != FIELD_NONE || proto->raw_data.len || external)
            return ulp_fail(error, ULP_ERROR_INPUT, "has data both in %s and in %s",
                            external             ? "an external file"
                            : *out != FIELD_NONE ? field_names[*out]
                                                 : "raw_data",
                            field_names[f]);
        *out = (enum field)f;
        *out_count = counts[f];
    }
    if (external && proto->raw_data.len)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "has data both in an external file and in raw_data");
    return ULP_OK;
}

/* Type and shape into *out; no data yet. */
static enum ulp_status describe_proto(struct ulp_tensor *out, const Ulp__TensorProto *proto,
                                      struct ulp_error *error)
{
    *out = (struct ulp_tensor){0};
    if (!proto->has_data_type || proto->data_type == ULP_TYPE_UNDEFINED)
        return ulp_fail(error, ULP_ERROR_INPUT, "has no element type");
    if (proto->data_type < 0 || proto->data_type >= ULP_TYPE_COUNT)
        return ulp_fail(
            error, ULP_ERROR_UNSUPPORTED,
            "has element type %d, which this version does not know (the newest is %d, %s)",
            proto->data_type, ULP_TYPE_COUNT - 1, ulp_type_name(ULP_TYPE_COUNT - 1));
    if (proto->has_segment)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "is stored in segments (or is not a tensor but a sequence)");
    if (proto->n_dims > ULP_RANK_MAX)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "has rank %zu: at most %d dimensions are supported", proto->n_dims,
                        ULP_RANK_MAX);
    enum ulp_type type = (enum ulp_type)proto->data_type;
    bool described_only = ulp_type_rows[type].element == ULP_ELEMENT_COUNT;
    enum ulp_status status =
        ulp_tensor_describe(out, described_only ? ULP_TYPE_UINT8 : type, ULP_ELEMENT_COUNT, 0,
                            (int)proto->n_dims, proto->dims, error);
    if (status == ULP_ERROR_MEMORY)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "has dimensions whose product is more than memory can address");
    if (described_only) {
        out->type = type;
        out->element = ULP_ELEMENT_COUNT;
        out->element_bytes = 0;
    }
    return status;
}

static enum ulp_status fail_count(const struct ulp_tensor *tensor, const char *field, size_t found,
                                  size_t expected, const char *unit, struct ulp_error *error)
{
    char text[300];
    return ulp_fail(error, ULP_ERROR_INPUT, "has %zu %s in %s, expected %zu for %s", found, unit,
                    field, expected, ulp_tensor_describe_text(tensor, text, sizeof text));
}

/* Large elements of fewer bits than memory has for them stay as they are: floats of 8 and 16 bits
 * in a mapped file, integers of less than 8 anywhere. */
static enum ulp_status describe_stored(struct ulp_tensor *out, size_t needed, bool mapped,
                                       struct ulp_error *error)
{
    const struct ulp_tensor shape = *out;
    const int bits = ulp_type_rows[out->type].file_bits;
    const bool floats = ulp_type_is_float(out->type);
    if (needed < ULP_TUNE_STORED_BYTES_MIN || (floats && (!mapped || bits < 8 || bits > 16)) ||
        (!floats && bits >= 8))
        return ULP_OK;
    return ulp_tensor_describe(out, shape.type, floats ? ULP_ELEMENT_STORED : ULP_ELEMENT_PACKED, 0,
                               shape.rank, shape.dims, error);
}

/* From raw_data, which is handed over when memory holds the same bytes. */
static enum ulp_status take_raw(struct ulp_tensor *out, Ulp__TensorProto *proto, size_t needed,
                                bool stored, struct ulp_budget *budget, struct ulp_error *error)
{
    if (proto->raw_data.len != needed)
        return fail_count(out, "raw_data", proto->raw_data.len, needed, "bytes", error);
    ULP_TRY(stored ? describe_stored(out, needed, false, error) : ULP_OK);
    if (needed && (ulp_raw_is_memory(out->type) || ulp_is_stored(out))) {
        out->data = proto->raw_data.data;
        out->owned = true;
        proto->raw_data = (ProtobufCBinaryData){0};
        return ULP_OK;
    }
    ULP_TRY(ulp_tensor_allocate(out, budget, error));
    ulp_elements_decode(out, proto->raw_data.data);
    return ULP_OK;
}

/* Elements of at most 16 bits lie in int32_data as bit patterns, whether signed or not; those of 4
 * and 2 bits are packed into bytes as in raw_data. */
static enum ulp_status decode_int32(struct ulp_tensor *out, const int32_t *words, size_t word_count,
                                    struct ulp_budget *budget, struct ulp_error *error)
{
    int bits = ulp_type_rows[out->type].file_bits, word_bits = bits < 8 ? 8 : bits;
    size_t word_bytes = (size_t)word_bits / 8;
    unsigned char *raw;
    ULP_TRY(ulp_allocate(&raw, word_count, word_bytes, budget, "elements of int32_data", error));
    for (size_t i = 0; i < word_count; i++) {
        int64_t word = words[i], limit = (int64_t)1 << word_bits;
        if (word < -limit / 2 || word >= limit) {
            ulp_free(raw);
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "has %d as number %zu of int32_data, beyond %d bits", words[i], i,
                            word_bits);
        }
        for (size_t b = 0; b < word_bytes; b++)
            raw[i * word_bytes + b] = (unsigned char)((uint64_t)word >> (8 * b));
    }
    ulp_elements_decode(out, raw);
    ulp_free(raw);
    return ULP_OK;
}

static enum ulp_status decode_typed(struct ulp_tensor *out, const Ulp__TensorProto *proto,
                                    enum field field, size_t found, struct ulp_budget *budget,
                                    struct ulp_error *error)
{
    enum field expected_field = find_field(out->type);
    size_t expected = out->count;
    if (ulp_type_rows[out->type].file_bits < 8)
        ulp_raw_bytes(out->type, out->count, &expected);
    if (field != FIELD_NONE && field != expected_field)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "of type %s has its data in %s, expected in %s or raw_data",
                        ulp_type_name(out->type), field_names[field], field_names[expected_field]);
    if (found != expected)
        return fail_count(out, field_names[expected_field], found, expected, "elements", error);
    ULP_TRY(ulp_tensor_allocate(out, budget, error));
    if (!found)
        return ULP_OK;
    switch (field) {
    case FIELD_FLOAT:
        memcpy(out->data, proto->float_data, found * sizeof *proto->float_data);
        return ULP_OK;
    case FIELD_DOUBLE:
        memcpy(out->data, proto->double_data, found * sizeof *proto->double_data);
        return ULP_OK;
    case FIELD_INT64:
        memcpy(out->data, proto->int64_data, found * sizeof *proto->int64_data);
        return ULP_OK;
    case FIELD_UINT64:
        for (size_t i = 0; i < found; i++) {
            if (out->type == ULP_TYPE_UINT32 && proto->uint64_data[i] > UINT32_MAX)
                return ulp_fail(error, ULP_ERROR_INPUT,
                                "has %llu as number %zu of uint64_data, beyond 32 bits",
                                (unsigned long long)proto->uint64_data[i], i);
            ulp_tensor_set_int(out, i, (int64_t)proto->uint64_data[i]);
        }
        return ULP_OK;
    default: return decode_int32(out, proto->int32_data, found, budget, error);
    }
}

/* STRING and COMPLEX: only that the data fits the shape is checked. */
static enum ulp_status check_described(const struct ulp_tensor *tensor,
                                       const Ulp__TensorProto *proto, enum field field,
                                       size_t found, struct ulp_error *error)
{
    size_t expected = tensor->count, raw_bytes = 0;
    if (tensor->type != ULP_TYPE_STRING && proto->raw_data.len) {
        if (!ulp_raw_bytes(tensor->type, tensor->count, &raw_bytes) ||
            proto->raw_data.len != raw_bytes)
            return fail_count(tensor, "raw_data", proto->raw_data.len, raw_bytes, "bytes", error);
        return ULP_OK;
    }
    if (proto->raw_data.len)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "of type STRING has raw_data, expected string_data");
    if (tensor->type != ULP_TYPE_STRING && !ulp_size_mul(expected, 2, &expected))
        expected = SIZE_MAX;
    if (proto->data_location != LOCATION_EXTERNAL &&
        (found != expected || (found && field != find_field(tensor->type))))
        return fail_count(tensor, field_names[find_field(tensor->type)], found, expected,
                          "elements", error);
    return ULP_OK;
}

/* Elements in a mapped file, where they stay when memory has the same; stored: also as stored ones,
 * which memory would have two to four times as large. */
static enum ulp_status take_external(struct ulp_loader *loader, struct ulp_tensor *out,
                                     const Ulp__TensorProto *proto, size_t needed, bool stored,
                                     struct ulp_budget *budget)
{
    const unsigned char *raw;
    ULP_TRY(ulp_load_external(loader, &raw, needed, proto));
    const bool same = ulp_raw_is_memory(out->type) && (uintptr_t)raw % out->element_bytes == 0;
    if (!same && stored)
        ULP_TRY(describe_stored(out, needed, true, loader->error));
    if ((same && needed) || ulp_is_stored(out)) {
        /* read-only pages: const from here, as every tensor of a model */
        out->data = (void *)(uintptr_t)raw;
        return ULP_OK;
    }
    ULP_TRY(ulp_tensor_allocate(out, budget, loader->error));
    ulp_elements_decode(out, raw);
    return ULP_OK;
}

/* loader NULL: a tensor outside a model, which cannot have external data. */
static enum ulp_status decode(struct ulp_loader *loader, struct ulp_tensor *out,
                              Ulp__TensorProto *proto, bool stored, struct ulp_budget *budget,
                              struct ulp_error *error)
{
    enum field field;
    size_t found, needed;
    ULP_TRY(describe_proto(out, proto, error));
    ULP_TRY(find_data(proto, &field, &found, error));
    if (out->element == ULP_ELEMENT_COUNT)
        return check_described(out, proto, field, found, error);
    if (!ulp_raw_bytes(out->type, out->count, &needed))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "has dimensions whose product is more than memory can address");
    if (proto->data_location == LOCATION_EXTERNAL) {
        return loader ? take_external(loader, out, proto, needed, stored, budget)
                      : ulp_fail(error, ULP_ERROR_UNSUPPORTED, "has its data in an external file");
    }
    if (field == FIELD_NONE && proto->has_raw_data)
        return take_raw(out, proto, needed, stored, budget, error);
    return decode_typed(out, proto, field, found, budget, error);
}

/* A place for one more tensor of the model. */
static enum ulp_status add_tensor(struct ulp_loader *loader, struct ulp_tensor **out)
{
    struct ulp_model *model = loader->model;
    ULP_TRY(ulp_grow(&model->tensors, model->tensor_count, &loader->tensor_capacity,
                     sizeof *model->tensors, &model->budget, "tensors of a model", loader->error));
    ULP_TAKE(*out, model->arena, 1, loader->error);
    model->tensors[model->tensor_count++] = *out;
    return ULP_OK;
}

enum ulp_status ulp_load_tensor(struct ulp_loader *loader, const struct ulp_tensor **out,
                                Ulp__TensorProto *proto, bool stored)
{
    struct ulp_tensor *tensor = NULL;
    ULP_TRY(add_tensor(loader, &tensor));
    ULP_TRY(decode(loader, tensor, proto, stored, &loader->model->budget, loader->error));
    *out = tensor;
    return ULP_OK;
}

/* values[i] goes to the dense place given by indices: one number, or one coordinate a dimension. */
static enum ulp_status scatter(struct ulp_tensor *dense, const struct ulp_tensor *values,
                               const struct ulp_tensor *indices, struct ulp_error *error)
{
    size_t coordinate_count = indices->rank == 2 ? (size_t)indices->dims[1] : 1;
    const int64_t *index = indices->data;
    for (size_t i = 0; i < values->count; i++) {
        int64_t at = 0;
        for (size_t d = 0; d < coordinate_count; d++, index++) {
            int64_t limit = indices->rank == 2 ? dense->dims[d] : (int64_t)dense->count;
            if (*index < 0 || *index >= limit)
                return ulp_fail(error, ULP_ERROR_INPUT,
                                "has index %lld of value %zu outside 0 .. %lld", (long long)*index,
                                i, (long long)limit - 1);
            at = at * (indices->rank == 2 ? limit : 1) + *index;
        }
        memcpy((char *)dense->data + (size_t)at * dense->element_bytes,
               (const char *)values->data + i * dense->element_bytes, dense->element_bytes);
    }
    return ULP_OK;
}

static enum ulp_status densify(struct ulp_loader *loader, struct ulp_tensor *dense,
                               const struct ulp_tensor *values, const struct ulp_tensor *indices,
                               const Ulp__SparseTensorProto *proto)
{
    if (!values->data || values->rank != 1)
        return ulp_fail(loader->error, ULP_ERROR_UNSUPPORTED,
                        "is sparse with values that are not a list of numbers");
    if (proto->n_dims > ULP_RANK_MAX)
        return ulp_fail(loader->error, ULP_ERROR_UNSUPPORTED,
                        "has rank %zu: at most %d dimensions are supported", proto->n_dims,
                        ULP_RANK_MAX);
    bool linear = indices->rank == 1,
         pairs = indices->rank == 2 && (size_t)indices->dims[1] == proto->n_dims;
    if (indices->type != ULP_TYPE_INT64 || (!linear && !pairs) ||
        (size_t)indices->dims[0] != values->count)
        return ulp_fail(loader->error, ULP_ERROR_INPUT,
                        "is sparse with indices that are not INT64[%zu] or INT64[%zu,%zu]",
                        values->count, values->count, proto->n_dims);
    enum ulp_status status = ulp_tensor_describe(dense, values->type, ULP_ELEMENT_COUNT, 0,
                                                 (int)proto->n_dims, proto->dims, loader->error);
    if (status == ULP_ERROR_MEMORY ||
        (status == ULP_OK && dense->count > DENSE_COUNT_MAX - loader->dense_count))
        return ulp_fail(loader->error, ULP_ERROR_UNSUPPORTED,
                        "is sparse, and the model's sparse tensors would have more than %zu "
                        "elements when they are dense",
                        DENSE_COUNT_MAX);
    ULP_TRY(status);
    ULP_TRY(ulp_tensor_allocate(dense, &loader->model->budget, loader->error));
    loader->dense_count += dense->count;
    memset(dense->data, 0, dense->count * dense->element_bytes);
    return scatter(dense, values, indices, loader->error);
}

enum ulp_status ulp_load_sparse_tensor(struct ulp_loader *loader, const struct ulp_tensor **out,
                                       Ulp__SparseTensorProto *proto)
{
    struct ulp_budget *budget = &loader->model->budget;
    struct ulp_tensor *dense = NULL;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor values = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor indices = {0};
    ULP_TRY(add_tensor(loader, &dense));
    *out = dense;
    if (!proto->values || !proto->indices)
        return ulp_fail(loader->error, ULP_ERROR_INPUT,
                        "is sparse without values or without indices");
    ULP_TRY(decode(loader, &values, proto->values, false, budget, loader->error));
    ULP_TRY(decode(loader, &indices, proto->indices, false, budget, loader->error));
    return densify(loader, dense, &values, &indices, proto);
}

enum ulp_status ulp_tensor_parse(struct ulp_tensor *out, char **name, const void *bytes,
                                 size_t count, struct ulp_budget *budget, struct ulp_error *error)
{
    struct ulp_unpacker unpacker;
    ulp_unpacker_init(&unpacker, count, budget);
    *out = (struct ulp_tensor){0};
    *name = NULL;
    void *message;
    ULP_TRY(ulp_unpack(&unpacker, &message, &ulp__tensor_proto__descriptor, bytes, count, "tensor",
                       error));
    Ulp__TensorProto *proto = message;
    enum ulp_status status = decode(NULL, out, proto, false, budget, error);
    if (status == ULP_OK && !out->data)
        status = ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                          "has type %s, whose values are not supported", ulp_type_name(out->type));
    if (status == ULP_OK &&
        memchr(proto->name.data ? (char *)proto->name.data : "", 0, proto->name.len))
        status = ulp_fail(error, ULP_ERROR_INPUT, "has a name with a zero byte inside");
    if (status == ULP_OK && !(*name = calloc(proto->name.len + 1, 1)))
        status = ulp_out_of_memory(error);
    if (status == ULP_OK && proto->name.len)
        memcpy(*name, proto->name.data, proto->name.len);
    if (status != ULP_OK)
        ulp_tensor_free(out);
    ulp_unpack_free(&unpacker, proto);
    return status;
}
