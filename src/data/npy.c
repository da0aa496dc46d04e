/* numpy's npy format (NEP 1): magic, version, the length of a Python dictionary literal, the
 * literal, the elements. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "data/data.h"
#include "load/load.h"
#include "number/round/round.h"
#include "tensor/tensor.h"

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
#define HEADER_BYTES_MAX (1u << 20)

static const struct dtype {
    char kind;
    int bytes;
    enum ulp_type type;
} dtypes[] = {
    {'f', 2, ULP_TYPE_FLOAT16}, {'f', 4, ULP_TYPE_FLOAT},  {'f', 8, ULP_TYPE_DOUBLE},
    {'i', 1, ULP_TYPE_INT8},    {'i', 2, ULP_TYPE_INT16},  {'i', 4, ULP_TYPE_INT32},
    {'i', 8, ULP_TYPE_INT64},   {'u', 1, ULP_TYPE_UINT8},  {'u', 2, ULP_TYPE_UINT16},
    {'u', 4, ULP_TYPE_UINT32},  {'u', 8, ULP_TYPE_UINT64}, {'b', 1, ULP_TYPE_BOOL},
};

struct header {
    char descr[24];
    bool has_descr, has_order, has_shape;
    bool fortran;
    int rank;
    int64_t dims[ULP_RANK_MAX];
};

/* The part of the literal not read yet. */
struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at))
        c->at++;
}

static bool take_header_character(struct cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_word(struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static bool take_string(struct cursor *c, char *out, size_t size)
{
    char quote = take_header_character(c, '\'') ? '\'' : take_header_character(c, '"') ? '"' : 0;
    size_t length = 0;
    for (; quote && c->at < c->end && *c->at != quote; c->at++) {
        if (length + 1 >= size)
            return false;
        out[length++] = *c->at;
    }
    out[length] = '\0';
    return quote && take_header_character(c, quote);
}

/* "(3, 4)", "(3,)", "()"; Python 2 wrote 3L. */
static enum ulp_status take_shape(struct cursor *c, struct header *header, struct ulp_error *error)
{
    if (!take_header_character(c, '('))
        return ulp_fail(error, ULP_ERROR_INPUT, "the npy header's shape is not a tuple");
    for (header->rank = 0; !take_header_character(c, ')'); header->rank++) {
        if (header->rank == ULP_RANK_MAX)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "more than %d dimensions are not supported", ULP_RANK_MAX);
        int64_t value = 0;
        skip_space(c);
        const char *start = c->at;
        for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *c->at - '0', &value))
                return ulp_fail(error, ULP_ERROR_INPUT,
                                "dimension %d in the npy header is too large", header->rank);
        bool good = c->at > start;
        take_header_character(c, 'L');
        header->dims[header->rank] = value;
        good = good && (take_header_character(c, ',') || (c->at < c->end && *c->at == ')'));
        if (!good)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "the npy header's shape is malformed at dimension %d", header->rank);
    }
    return ULP_OK;
}

static enum ulp_status take_entry(struct cursor *c, struct header *header, const char *key,
                                  struct ulp_error *error)
{
    if (strcmp(key, "descr") == 0) {
        skip_space(c);
        if (c->at < c->end && *c->at == '[')
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "arrays of records (structured dtypes) are not supported");
        if (!take_string(c, header->descr, sizeof header->descr))
            return ulp_fail(error, ULP_ERROR_INPUT, "the npy header's descr is malformed");
        header->has_descr = true;
        return ULP_OK;
    }
    if (strcmp(key, "fortran_order") == 0) {
        header->fortran = take_word(c, "True");
        if (!header->fortran && !take_word(c, "False"))
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "the npy header's fortran_order is neither True nor False");
        header->has_order = true;
        return ULP_OK;
    }
    if (strcmp(key, "shape") == 0) {
        header->has_shape = true;
        return take_shape(c, header, error);
    }
    return ulp_fail(error, ULP_ERROR_INPUT, "the npy header has an unknown entry '%s'", key);
}

static enum ulp_status parse_literal(struct header *header, struct cursor c,
                                     struct ulp_error *error)
{
    char key[24];
    *header = (struct header){0};
    if (!take_header_character(&c, '{'))
        return ulp_fail(error, ULP_ERROR_INPUT, "the npy header is not a dictionary");
    while (!take_header_character(&c, '}')) {
        if (!take_string(&c, key, sizeof key) || !take_header_character(&c, ':'))
            return ulp_fail(error, ULP_ERROR_INPUT, "the npy header is malformed");
        ULP_TRY(take_entry(&c, header, key, error));
        if (!take_header_character(&c, ',') && (c.at == c.end || *c.at != '}'))
            return ulp_fail(error, ULP_ERROR_INPUT, "the npy header is malformed after '%s'", key);
    }
    if (!header->has_descr || !header->has_order || !header->has_shape)
        return ulp_fail(error, ULP_ERROR_INPUT, "the npy header lacks %s",
                        !header->has_descr   ? "descr"
                        : !header->has_order ? "fortran_order"
                                             : "shape");
    return ULP_OK;
}

/* The type, and whether its bytes are in big-endian order. */
static enum ulp_status find_type(const char *descr, enum ulp_type *type, bool *big,
                                 struct ulp_error *error)
{
    const char *rest = descr + (*descr && strchr("<>|=", *descr) ? 1 : 0);
    *big = *descr == '>' || (*descr == '=' && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        const struct dtype *dtype = &dtypes[i];
        if (*rest == dtype->kind && rest[1] == '0' + dtype->bytes && !rest[2]) {
            *type = dtype->type;
            return ULP_OK;
        }
    }
    const char *why = *rest == 'O'   ? "; pickled Python objects are never read"
                      : *rest == 'V' ? "; numpy cannot name BF16 and FP8: save them as float32"
                                     : "; expected f2, f4, f8, i1 to i8, u1 to u8 or b1";
    return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "the dtype '%s' is not supported%s", descr, why);
}

/* Row-major little-endian elements from a file's order. */
static void reorder(unsigned char *out, const unsigned char *in, const struct header *header,
                    size_t count, size_t bytes, bool big)
{
    size_t strides[ULP_RANK_MAX], stride = bytes, at = 0;
    int64_t index[ULP_RANK_MAX] = {0};
    for (int i = 0; i < header->rank; i++) {
        int d = header->fortran ? i : header->rank - 1 - i;
        strides[d] = stride;
        stride *= (size_t)header->dims[d];
    }
    for (size_t i = 0; i < count; i++, out += bytes) {
        for (size_t b = 0; b < bytes; b++)
            out[b] = in[at + (big ? bytes - 1 - b : b)];
        for (int d = header->rank - 1; d >= 0; d--) {
            at += strides[d];
            if (++index[d] < header->dims[d])
                break;
            at -= strides[d] * (size_t)header->dims[d];
            index[d] = 0;
        }
    }
}

static enum ulp_status parse_elements(struct ulp_tensor *out, const struct header *header,
                                      const unsigned char *raw, size_t raw_bytes,
                                      struct ulp_budget *budget, struct ulp_error *error)
{
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    bool big = false;
    size_t needed = 0;
    char text[300];
    enum ulp_status status = find_type(header->descr, &type, &big, error);
    ULP_THEN(status, ulp_tensor_describe(out, type, ULP_ELEMENT_COUNT, 0, header->rank,
                                         header->dims, error));
    if (status == ULP_ERROR_MEMORY ||
        (status == ULP_OK && !ulp_raw_bytes(type, out->count, &needed)))
        return ulp_fail(
            error, ULP_ERROR_INPUT,
            "the product of the npy header's dimensions is more than memory can address");
    ULP_TRY(status);
    if (raw_bytes != needed)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%zu bytes of elements follow the npy header, expected %zu for %s",
                        raw_bytes, needed, ulp_tensor_describe_text(out, text, sizeof text));
    ULP_SCOPED(ulp_free_of) void *ordered = NULL;
    size_t bytes = (size_t)ulp_type_rows[type].file_bits / 8;
    if ((header->fortran && header->rank > 1) || (big && bytes > 1)) {
        ULP_TRY(ulp_allocate(&ordered, 1, needed, budget, "elements in another order", error));
        reorder(ordered, raw, header, out->count, bytes, big);
    }
    ULP_TRY(ulp_tensor_allocate(out, budget, error));
    ulp_elements_decode(out, ordered ? ordered : raw);
    return ULP_OK;
}

enum ulp_status ulp_npy_parse(struct ulp_tensor *out, const void *bytes, size_t count,
                              struct ulp_budget *budget, struct ulp_error *error)
{
    const unsigned char *file = bytes;
    *out = (struct ulp_tensor){0};
    if (count < 10 || memcmp(file, magic, sizeof magic) != 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "not a numpy array (no npy magic)");
    int version = file[6];
    if (version < 1 || version > 3)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "npy version %d.%d is not known (1 to 3 are)",
                        version, file[7]);
    size_t start = version == 1 ? 10 : 12;
    size_t length = (size_t)file[8] | (size_t)file[9] << 8;
    if (version > 1 && count >= start)
        length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
    if (count < start || length > HEADER_BYTES_MAX || length > count - start)
        return ulp_fail(error, ULP_ERROR_INPUT, "the npy header is truncated");
    struct header header;
    struct cursor cursor = {(const char *)file + start, (const char *)file + start + length};
    enum ulp_status status = parse_literal(&header, cursor, error);
    ULP_THEN(status, parse_elements(out, &header, file + start + length, count - start - length,
                                    budget, error));
    if (status != ULP_OK)
        ulp_tensor_free(out);
    return status;
}

static bool all_representable(const struct ulp_format *format, const struct ulp_tensor *tensor)
{
    const float *x = tensor->data;
    for (size_t i = 0; i < tensor->count; i++)
        if (x[i] == x[i] &&
            ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, (double)x[i], 0, 0) != (double)x[i])
            return false;
    return true;
}

/* What numpy calls the elements as they will be written. */
static const char *choose_descr(const struct ulp_tensor *tensor, const struct ulp_format *half)
{
    static const char *const names[ULP_ELEMENT_COUNT] = {
        [ULP_ELEMENT_F32] = "<f4",  [ULP_ELEMENT_F64] = "<f8", [ULP_ELEMENT_WIDE] = "<f8",
        [ULP_ELEMENT_PAIR] = "<f8", [ULP_ELEMENT_I8] = "|i1",  [ULP_ELEMENT_U8] = "|u1",
        [ULP_ELEMENT_I16] = "<i2",  [ULP_ELEMENT_U16] = "<u2", [ULP_ELEMENT_I32] = "<i4",
        [ULP_ELEMENT_U32] = "<u4",  [ULP_ELEMENT_I64] = "<i8", [ULP_ELEMENT_U64] = "<u8",
        [ULP_ELEMENT_BOOL] = "|b1",
    };
    if (tensor->type == ULP_TYPE_FLOAT16 && tensor->element == ULP_ELEMENT_F32 &&
        all_representable(half, tensor))
        return "<f2";
    return names[tensor->element];
}

static uint64_t element_bits(const struct ulp_tensor *tensor, size_t i, size_t bytes,
                             const struct ulp_format *half)
{
    uint64_t bits = 0;
    if (tensor->element >= ULP_ELEMENT_F64 && tensor->element <= ULP_ELEMENT_WIDE) {
        bits = ulp_double_pattern(ulp_tensor_get(tensor, i));
    } else if (tensor->element == ULP_ELEMENT_F32 && bytes == 2) {
        bits = ulp_format_encode(half, ulp_tensor_get(tensor, i));
    } else if (tensor->element == ULP_ELEMENT_F32) {
        bits = ulp_float_pattern(((const float *)tensor->data)[i]);
    } else {
        bits = (uint64_t)ulp_tensor_get_int(tensor, i);
    }
    return bits;
}

/* Are the elements in memory the bytes of the file? NaN is written as one pattern. */
static bool is_memory(const struct ulp_tensor *tensor, size_t bytes)
{
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || bytes != tensor->element_bytes ||
        tensor->element == ULP_ELEMENT_WIDE || tensor->element == ULP_ELEMENT_PAIR)
        return false;
    const float *single = tensor->element == ULP_ELEMENT_F32 ? tensor->data : NULL;
    const double *pair = tensor->element == ULP_ELEMENT_F64 ? tensor->data : NULL;
    size_t nans = 0;
    for (size_t i = 0; single && i < tensor->count; i++)
        nans += single[i] != single[i];
    for (size_t i = 0; pair && i < tensor->count; i++)
        nans += pair[i] != pair[i];
    return nans == 0;
}

static void write_header(struct ulp_npy *out, const struct ulp_tensor *tensor, const char *descr)
{
    char *text = out->header + 10;
    size_t room = sizeof out->header - 10;
    size_t used =
        (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int d = 0; d < tensor->rank; d++)
        used += (size_t)snprintf(text + used, room - used, d ? ", %lld" : "%lld",
                                 (long long)tensor->dims[d]);
    used += (size_t)snprintf(text + used, room - used, tensor->rank == 1 ? ",), }" : "), }");
    size_t total = (10 + used + 1 + 63) / 64 * 64; /* numpy aligns the elements to 64 bytes */
    memset(text + used, ' ', total - 10 - used - 1);
    out->header[total - 1] = '\n';
    memcpy(out->header, magic, sizeof magic);
    out->header[6] = 1;
    out->header[7] = 0;
    out->header[8] = (char)((total - 10) & 0xff);
    out->header[9] = (char)((total - 10) >> 8);
    out->header_bytes = total;
}
/* 64 characters of fixed text and 16 dimensions of at most 19 digits and ", ". */
_Static_assert(10 + 64 + ULP_RANK_MAX * 21 + 64 <= sizeof((struct ulp_npy *)0)->header,
               "the header always fits");

enum ulp_status ulp_npy_encode(struct ulp_npy *out, const struct ulp_tensor *tensor,
                               struct ulp_error *error)
{
    struct ulp_format half;
    *out = (struct ulp_npy){0};
    ULP_TRY(ulp_format_find("fp16", &half, error));
    if (!tensor->data || tensor->element >= ULP_ELEMENT_COUNT)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "a tensor of type %s has no values to write",
                        ulp_type_name(tensor->type));
    const char *descr = choose_descr(tensor, &half);
    size_t bytes = (size_t)(descr[2] - '0');
    write_header(out, tensor, descr);
    out->data_bytes = tensor->count * bytes; /* at most what the tensor takes in memory */
    if (is_memory(tensor, bytes)) {
        out->data = tensor->data;
        return ULP_OK;
    }
    ULP_TRY(ulp_allocate(&out->owned, 1, out->data_bytes,
                         tensor->owned ? ulp_charged(tensor->data) : NULL,
                         "elements as numpy has them", error));
    unsigned char *raw = out->owned;
    out->data = raw;
    for (size_t i = 0; i < tensor->count; i++) {
        uint64_t bits = element_bits(tensor, i, bytes, &half);
        for (size_t b = 0; b < bytes; b++)
            *raw++ = (unsigned char)(bits >> (8 * b));
    }
    return ULP_OK;
}

void ulp_npy_free(struct ulp_npy *npy)
{
    ulp_free(npy->owned);
    *npy = (struct ulp_npy){0};
}
