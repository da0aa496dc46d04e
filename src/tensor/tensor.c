/* Element types, shapes, creation and element access. */
#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "number/strip/access.h"
#include "tensor/stored.h"

/* clang-format off */
const struct ulp_type_row ulp_type_rows[ULP_TYPE_COUNT] = {
    [ULP_TYPE_UNDEFINED] = {"UNDEFINED", NULL, ULP_ELEMENT_COUNT, 0},
    [ULP_TYPE_FLOAT] = {"FLOAT", "fp32", ULP_ELEMENT_F32, 32},
    [ULP_TYPE_UINT8] = {"UINT8", NULL, ULP_ELEMENT_U8, 8},
    [ULP_TYPE_INT8] = {"INT8", NULL, ULP_ELEMENT_I8, 8},
    [ULP_TYPE_UINT16] = {"UINT16", NULL, ULP_ELEMENT_U16, 16},
    [ULP_TYPE_INT16] = {"INT16", NULL, ULP_ELEMENT_I16, 16},
    [ULP_TYPE_INT32] = {"INT32", NULL, ULP_ELEMENT_I32, 32},
    [ULP_TYPE_INT64] = {"INT64", NULL, ULP_ELEMENT_I64, 64},
    [ULP_TYPE_STRING] = {"STRING", NULL, ULP_ELEMENT_COUNT, 0},
    [ULP_TYPE_BOOL] = {"BOOL", NULL, ULP_ELEMENT_BOOL, 8},
    [ULP_TYPE_FLOAT16] = {"FLOAT16", "fp16", ULP_ELEMENT_F32, 16},
    [ULP_TYPE_DOUBLE] = {"DOUBLE", "fp64", ULP_ELEMENT_F64, 64},
    [ULP_TYPE_UINT32] = {"UINT32", NULL, ULP_ELEMENT_U32, 32},
    [ULP_TYPE_UINT64] = {"UINT64", NULL, ULP_ELEMENT_U64, 64},
    [ULP_TYPE_COMPLEX64] = {"COMPLEX64", NULL, ULP_ELEMENT_COUNT, 64},
    [ULP_TYPE_COMPLEX128] = {"COMPLEX128", NULL, ULP_ELEMENT_COUNT, 128},
    [ULP_TYPE_BFLOAT16] = {"BFLOAT16", "bf16", ULP_ELEMENT_F32, 16},
    [ULP_TYPE_FLOAT8E4M3FN] = {"FLOAT8E4M3FN", "fp8-e4m3", ULP_ELEMENT_F32, 8},
    [ULP_TYPE_FLOAT8E4M3FNUZ] = {"FLOAT8E4M3FNUZ", "fp8-e4m3fnuz", ULP_ELEMENT_F32, 8},
    [ULP_TYPE_FLOAT8E5M2] = {"FLOAT8E5M2", "fp8-e5m2", ULP_ELEMENT_F32, 8},
    [ULP_TYPE_FLOAT8E5M2FNUZ] = {"FLOAT8E5M2FNUZ", "fp8-e5m2fnuz", ULP_ELEMENT_F32, 8},
    [ULP_TYPE_UINT4] = {"UINT4", NULL, ULP_ELEMENT_U8, 4},
    [ULP_TYPE_INT4] = {"INT4", NULL, ULP_ELEMENT_I8, 4},
    [ULP_TYPE_FLOAT4E2M1] = {"FLOAT4E2M1", "fp4-e2m1", ULP_ELEMENT_F32, 4},
    [ULP_TYPE_FLOAT8E8M0] = {"FLOAT8E8M0", "fp8-e8m0", ULP_ELEMENT_F32, 8},
    [ULP_TYPE_UINT2] = {"UINT2", NULL, ULP_ELEMENT_U8, 2},
    [ULP_TYPE_INT2] = {"INT2", NULL, ULP_ELEMENT_I8, 2},
};
/* clang-format on */

static const unsigned char element_bytes[ULP_ELEMENT_COUNT] = {
    [ULP_ELEMENT_F32] = 4,  [ULP_ELEMENT_F64] = 8,    [ULP_ELEMENT_PAIR] = 16,
    [ULP_ELEMENT_WIDE] = 0, [ULP_ELEMENT_I8] = 1,     [ULP_ELEMENT_U8] = 1,
    [ULP_ELEMENT_I16] = 2,  [ULP_ELEMENT_U16] = 2,    [ULP_ELEMENT_I32] = 4,
    [ULP_ELEMENT_U32] = 4,  [ULP_ELEMENT_I64] = 8,    [ULP_ELEMENT_U64] = 8,
    [ULP_ELEMENT_BOOL] = 1, [ULP_ELEMENT_STORED] = 0, [ULP_ELEMENT_PACKED] = 0,
};

const char *ulp_type_name(enum ulp_type type)
{
    return (unsigned)type < ULP_TYPE_COUNT ? ulp_type_rows[type].name : "?";
}

bool ulp_type_is_float(enum ulp_type type)
{
    return (unsigned)type < ULP_TYPE_COUNT && ulp_type_rows[type].format != NULL;
}

size_t ulp_element_bytes(enum ulp_element element, int precision)
{
    return element == ULP_ELEMENT_WIDE ? ulp_record_bytes(precision) : element_bytes[element];
}

size_t ulp_tensor_bytes(const struct ulp_tensor *tensor)
{
    const size_t bits = (size_t)ulp_type_rows[tensor->type].file_bits;
    return tensor->element == ULP_ELEMENT_PACKED
               ? tensor->count / (8 / bits) + (tensor->count % (8 / bits) != 0)
               : tensor->count * tensor->element_bytes;
}

bool ulp_element_is_float(enum ulp_element element)
{
    return element <= ULP_ELEMENT_WIDE || element == ULP_ELEMENT_STORED;
}

enum ulp_element ulp_storage_element(const struct ulp_format *storage)
{
    static const enum ulp_element elements[] = {
        [ULP_CARRIER_FLOAT] = ULP_ELEMENT_F32,
        [ULP_CARRIER_DOUBLE] = ULP_ELEMENT_F64,
        [ULP_CARRIER_MPFR] = ULP_ELEMENT_WIDE,
    };
    return storage->pairs ? ULP_ELEMENT_PAIR : elements[storage->carrier];
}

enum ulp_status ulp_tensor_describe(struct ulp_tensor *out, enum ulp_type type,
                                    enum ulp_element element, int precision, int rank,
                                    const int64_t *dims, struct ulp_error *error)
{
    *out = (struct ulp_tensor){.type = type};
    if ((unsigned)type >= ULP_TYPE_COUNT)
        return ulp_fail(error, ULP_ERROR_INPUT, "element type %d is not one of ONNX's", (int)type);
    if (element == ULP_ELEMENT_COUNT)
        element = ulp_type_rows[type].element;
    if (element == ULP_ELEMENT_COUNT)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "tensors of type %s are not supported",
                        ulp_type_name(type));
    if (rank < 0 || rank > ULP_RANK_MAX)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "rank %d: at most %d dimensions are supported", rank, ULP_RANK_MAX);
    size_t count = 1;
    bool empty = false, fits = true;
    for (int d = 0; d < rank; d++) {
        if (dims[d] < 0)
            return ulp_fail(error, ULP_ERROR_INPUT, "dimension %d is %lld: expected 0 or more", d,
                            (long long)dims[d]);
        empty |= dims[d] == 0;
        if (dims[d] != 0)
            fits = fits && ulp_size_mul(count, (size_t)dims[d], &count) && count <= ULP_COUNT_MAX;
        out->dims[d] = dims[d];
    }
    out->element_bytes = element == ULP_ELEMENT_STORED ? (size_t)ulp_type_rows[type].file_bits / 8
                                                       : ulp_element_bytes(element, precision);
    if (!fits)
        return ulp_fail(error, ULP_ERROR_MEMORY,
                        "a %s tensor of these dimensions has " ULP_TENSOR_TOO_LARGE,
                        ulp_type_name(type));
    out->element = element;
    out->precision = element == ULP_ELEMENT_WIDE ? precision : 0;
    out->rank = rank;
    out->count = empty ? 0 : count;
    return ULP_OK;
}

enum ulp_status ulp_tensor_allocate(struct ulp_tensor *tensor, struct ulp_budget *budget,
                                    struct ulp_error *error)
{
    /* the message takes longer to write than most tensors take to allocate */
    enum ulp_status status =
        ulp_allocate(&tensor->data, tensor->count, tensor->element_bytes, budget, "", NULL);
    if (status != ULP_OK) {
        char what[200];
        status = ulp_allocate(&tensor->data, tensor->count, tensor->element_bytes, budget,
                              ulp_tensor_describe_text(tensor, what, sizeof what), error);
    }
    tensor->owned = status == ULP_OK;
    return status;
}

enum ulp_status ulp_tensor_create(struct ulp_tensor *out, enum ulp_type type,
                                  enum ulp_element element, int precision, int rank,
                                  const int64_t *dims, struct ulp_error *error)
{
    ULP_TRY(ulp_tensor_describe(out, type, element, precision, rank, dims, error));
    return ulp_tensor_allocate(out, NULL, error);
}

enum ulp_status ulp_tensor_create_like(struct ulp_tensor *out, const struct ulp_tensor *like,
                                       enum ulp_element element, int precision,
                                       struct ulp_budget *budget, struct ulp_error *error)
{
    ULP_TRY(
        ulp_tensor_describe(out, like->type, element, precision, like->rank, like->dims, error));
    return ulp_tensor_allocate(out, budget, error);
}

enum ulp_status ulp_tensor_wrap(struct ulp_tensor *out, enum ulp_type type, int rank,
                                const int64_t *dims, void *data, struct ulp_error *error)
{
    enum ulp_status status =
        ulp_tensor_describe(out, type, ULP_ELEMENT_COUNT, 0, rank, dims, error);
    if (status == ULP_OK && out->count && !data)
        status =
            ulp_fail(error, ULP_ERROR_USAGE, "a tensor of %zu elements has no memory", out->count);
    if (status == ULP_OK)
        out->data = data;
    else
        *out = (struct ulp_tensor){0};
    return status;
}

struct ulp_tensor ulp_tensor_list(enum ulp_type type, const void *elements, int rank, size_t count)
{
    const enum ulp_element element = ulp_type_rows[type].element;
    return (struct ulp_tensor){.type = type,
                               .element = element,
                               .element_bytes = ulp_element_bytes(element, 0),
                               .rank = rank,
                               .dims = {(int64_t)count},
                               .count = count,
                               .data = (void *)(uintptr_t)elements};
}

struct ulp_tensor ulp_tensor_view_from(const struct ulp_tensor *tensor, size_t first)
{
    struct ulp_tensor view = ulp_tensor_view(tensor);
    view.count = first < tensor->count ? tensor->count - first : 0;
    view.rank = 1;
    view.dims[0] = (int64_t)view.count;
    view.data =
        view.count && tensor->data ? (char *)tensor->data + first * tensor->element_bytes : NULL;
    return view;
}

enum ulp_status ulp_tensor_copy(struct ulp_tensor *out, const struct ulp_tensor *in,
                                struct ulp_budget *budget, struct ulp_error *error)
{
    *out = *in;
    ULP_TRY(ulp_tensor_allocate(out, budget, error));
    if (in->count)
        memcpy(out->data, in->data, in->count * in->element_bytes);
    return ULP_OK;
}

void ulp_tensor_free(struct ulp_tensor *tensor)
{
    if (!tensor || (tensor->type == ULP_TYPE_UNDEFINED && !tensor->data))
        return;
    if (tensor->owned)
        ulp_free(tensor->data);
    *tensor = (struct ulp_tensor){0};
}

void ulp_tensors_free(struct ulp_tensor *tensors, size_t count)
{
    for (size_t i = 0; tensors && i < count; i++)
        ulp_tensor_free(&tensors[i]);
}

void ulp_box_offsets(int64_t *offsets, int rank, const int64_t *dims, const int64_t *steps,
                     int64_t first)
{
    const int64_t row = rank > 0 ? dims[rank - 1] : 1, step = rank > 0 ? steps[rank - 1] : 0;
    int64_t index[ULP_RANK_MAX] = {0}, row_count = row > 0;
    for (int d = 0; row > 0 && d < rank - 1; d++)
        row_count *= dims[d];
    for (int64_t r = 0; r < row_count; r++, offsets += row) {
        for (int64_t i = 0; i < row; i++)
            offsets[i] = first + i * step;
        for (int d = rank - 2; d >= 0; d--) {
            first += steps[d];
            if (++index[d] < dims[d])
                break;
            first -= steps[d] * dims[d];
            index[d] = 0;
        }
    }
}

bool ulp_tensor_same_shape(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

const char *ulp_tensor_describe_text(const struct ulp_tensor *tensor, char *buffer, size_t size)
{
    size_t used = 0;
    for (int d = -1; d <= tensor->rank && used < size; d++) {
        int length = d < 0 ? snprintf(buffer, size, "%s[", ulp_type_name(tensor->type))
                     : d == tensor->rank
                         ? snprintf(buffer + used, size - used, "]")
                         : snprintf(buffer + used, size - used, d ? ",%lld" : "%lld",
                                    (long long)tensor->dims[d]);
        used += (size_t)length;
    }
    return buffer;
}

/* To the nearest double, ties to even. By hand where the result and 2^(exponent - 53) are normal
 * doubles: 53 bits of the highest limb, a half bit, and whether anything follows. */
static double wide_to_double(const struct ulp_record *record, int precision)
{
    const bool regular = record->kind == MPFR_REGULAR_KIND || record->kind == -MPFR_REGULAR_KIND;
    if (regular && record->exponent > -960 && record->exponent < 1000 && GMP_NUMB_BITS == 64) {
        const size_t top = ((size_t)precision + 63) / 64 - 1;
        const uint64_t limb = record->limbs[top];
        uint64_t kept = limb >> 11, half = limb >> 10 & 1, below = limb & 0x3FF;
        for (size_t l = 0; l < top; l++)
            below |= record->limbs[l];
        kept += half & (below != 0 || (kept & 1));
        const uint64_t bits = (uint64_t)(1023 + record->exponent - 53) << 52;
        double scale;
        memcpy(&scale, &bits, sizeof scale);
        return (record->kind < 0 ? -(double)kept : (double)kept) * scale;
    }
    mpfr_t x;
    ulp_record_open_const(x, record, precision);
    return mpfr_get_d(x, MPFR_RNDN);
}

double ulp_tensor_read_any(const struct ulp_tensor *tensor, size_t i)
{
    switch (tensor->element) {
    case ULP_ELEMENT_F32: return (double)((const float *)tensor->data)[i];
    case ULP_ELEMENT_F64: return ((const double *)tensor->data)[i];
    case ULP_ELEMENT_PAIR: return ((const struct ulp_double_pair *)tensor->data)[i].high;
    case ULP_ELEMENT_WIDE:
        return wide_to_double(ulp_record_at_const(tensor->data, i, tensor->precision),
                              tensor->precision);
    case ULP_ELEMENT_U64: return (double)((const uint64_t *)tensor->data)[i];
    case ULP_ELEMENT_STORED: return (double)ulp_stored_get(tensor, i);
    default: return (double)ulp_tensor_get_int(tensor, i);
    }
}

#define READ(ELEMENT, C_TYPE)                                   \
    case ULP_ELEMENT_##ELEMENT:                                 \
        for (size_t i = 0; i < count; i++)                      \
            out[i] = (double)((const C_TYPE *)data)[first + i]; \
        break
void ulp_tensor_read_range(double *out, const struct ulp_tensor *tensor, size_t first, size_t count)
{
    const void *data = tensor->data;
    switch (tensor->element) {
        READ(F32, float);
        READ(F64, double);
        READ(I8, int8_t);
        READ(U8, uint8_t);
        READ(BOOL, uint8_t);
        READ(I32, int32_t);
        READ(I64, int64_t);
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = ulp_tensor_read_any(tensor, first + i);
    }
}

double ulp_tensor_get(const struct ulp_tensor *tensor, size_t i)
{
    struct ulp_float_mode caller;
    ulp_float_mode_enter(&caller);
    ULP_COMPUTED_HERE(i);
    double x = ulp_tensor_read_any(tensor, i);
    ULP_COMPUTED_HERE(x);
    ulp_float_mode_leave(&caller);
    return x;
}

int64_t ulp_tensor_get_int(const struct ulp_tensor *tensor, size_t i)
{
    if (!ulp_element_is_float(tensor->element))
        return ulp_strip_get_int(tensor, i);
    const double x = trunc(ulp_tensor_get(tensor, i));
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : 0;
}

void ulp_tensor_set_int(struct ulp_tensor *tensor, size_t i, int64_t value)
{
    void *data = tensor->data;
    switch (tensor->element) {
    case ULP_ELEMENT_F32: ((float *)data)[i] = (float)value; break;
    case ULP_ELEMENT_F64: ((double *)data)[i] = (double)value; break;
    case ULP_ELEMENT_PAIR: {
        const double high = (double)value;
        const double low = (double)((__int128)value - (__int128)high);
        ((struct ulp_double_pair *)data)[i] = (struct ulp_double_pair){high, low};
        break;
    }
    case ULP_ELEMENT_WIDE: {
        struct ulp_record *record = ulp_record_at(data, i, tensor->precision);
        mpfr_t x;
        ulp_record_begin(x, record, tensor->precision);
        mpfr_set_si(x, value, MPFR_RNDN);
        ulp_record_close(record, x);
        break;
    }
    case ULP_ELEMENT_STORED: /* files are not written to */
    case ULP_ELEMENT_PACKED:
    case ULP_ELEMENT_COUNT: break;
    default: ulp_strip_set_int(tensor, i, value);
    }
}
