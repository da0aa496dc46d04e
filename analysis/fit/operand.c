/* What the elements of operands and results can be: formats, values, and samples of them. */
#include <string.h>

#include <ulpscope/array.h>

#include "analysis/fit/fit.h"
#include "base/error.h"

static size_t list(const char *names[ULP_FIT_FORMATS], const char *const *all, size_t count)
{
    memcpy(names, all, count * sizeof *names);
    return count;
}
#define LIST(names, ...)                              \
    list((names), (const char *const[]){__VA_ARGS__}, \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Formats without which no value of a tensor is lost: patterns are all of their width. */
static size_t typed_formats(enum ulp_type type, const char *names[ULP_FIT_FORMATS])
{
    switch (type) {
    case ULP_TYPE_FLOAT16: return LIST(names, "fp16");
    case ULP_TYPE_BFLOAT16: return LIST(names, "bf16");
    case ULP_TYPE_DOUBLE: return LIST(names, "fp64");
    case ULP_TYPE_FLOAT8E4M3FN: return LIST(names, "fp8-e4m3");
    case ULP_TYPE_FLOAT8E5M2: return LIST(names, "fp8-e5m2");
    case ULP_TYPE_UINT8:
    case ULP_TYPE_INT8: return LIST(names, "fp8-e4m3", "fp8-e5m2");
    case ULP_TYPE_UINT16:
    case ULP_TYPE_INT16: return LIST(names, "fp16", "bf16");
    default: return 0;
    }
}

size_t ulp_fit_operand_formats(const struct ulp_tensor *tensor, const char *names[ULP_FIT_FORMATS])
{
    return tensor->type == ULP_TYPE_FLOAT
               ? LIST(names, "fp32", "tf32", "fp16", "bf16", "fp8-e4m3", "fp8-e5m2")
               : typed_formats(tensor->type, names);
}

size_t ulp_fit_result_formats(const struct ulp_tensor *tensor, const char *names[ULP_FIT_FORMATS])
{
    static const char *const narrow[] = {"fp16", "bf16"};
    if (tensor->type != ULP_TYPE_FLOAT)
        return typed_formats(tensor->type, names);
    size_t count = 0;
    names[count++] = "fp32";
    for (size_t i = 0; i < 2; i++)
        if (ulp_fit_holds(narrow[i], tensor))
            names[count++] = narrow[i];
    return count;
}

bool ulp_fit_holds(const char *name, const struct ulp_tensor *values)
{
    struct ulp_format format;
    if (ulp_format_find(name, &format, NULL) != ULP_OK)
        return false;
    for (size_t i = 0; i < values->count; i++) {
        const double x = ulp_tensor_get(values, i);
        if (x == x && ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, x, 0, 0) != x)
            return false;
    }
    return true;
}

/* Signed integers are patterns like unsigned ones. */
static struct ulp_tensor as_patterns(const struct ulp_tensor *tensor)
{
    struct ulp_tensor view = *tensor;
    view.owned = false;
    view.type = tensor->element_bytes == 1 ? ULP_TYPE_UINT8 : ULP_TYPE_UINT16;
    view.element = tensor->element_bytes == 1 ? ULP_ELEMENT_U8 : ULP_ELEMENT_U16;
    return view;
}

static void transpose(struct ulp_tensor *out, const struct ulp_tensor *in)
{
    const size_t rows = (size_t)in->dims[0], columns = (size_t)in->dims[1],
                 bytes = in->element_bytes;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            memcpy((char *)out->data + (c * rows + r) * bytes,
                   (const char *)in->data + (r * columns + c) * bytes, bytes);
}

enum ulp_status ulp_fit_decode(struct ulp_tensor *out, const struct ulp_tensor *tensor,
                               bool transposed, const char *name, struct ulp_error *error)
{
    struct ulp_format format;
    struct ulp_tensor plain = {0};
    const bool wide = tensor->element == ULP_ELEMENT_F64;
    const enum ulp_type type = wide ? ULP_TYPE_DOUBLE : ULP_TYPE_FLOAT;
    const int64_t turned[] = {tensor->dims[1], tensor->dims[0]};
    enum ulp_status status = ulp_format_find(name, &format, error);
    if (status == ULP_OK)
        status = ulp_tensor_create(&plain, type, ULP_ELEMENT_COUNT, 0, 2, tensor->dims, error);
    if (status == ULP_OK && !ulp_type_is_float(tensor->type)) {
        const struct ulp_tensor patterns = as_patterns(tensor);
        status = ulp_array_decode(&plain, &patterns, &format, 1, error);
    } else if (status == ULP_OK) {
        memcpy(plain.data, tensor->data, plain.count * plain.element_bytes);
    }
    if (status != ULP_OK || !transposed) {
        *out = plain;
        return status;
    }
    status = ulp_tensor_create(out, type, ULP_ELEMENT_COUNT, 0, 2, turned, error);
    if (status == ULP_OK)
        transpose(out, &plain);
    ulp_tensor_free(&plain);
    return status;
}

enum ulp_status ulp_fit_take(struct ulp_tensor *out, const struct ulp_tensor *matrix,
                             const struct ulp_fit_sample *sample, struct ulp_error *error)
{
    const size_t width = (size_t)matrix->dims[1], bytes = matrix->element_bytes;
    const size_t rows = sample->rows ? sample->row_count : (size_t)matrix->dims[0];
    const size_t columns = sample->columns ? sample->column_count : width;
    const int64_t dims[] = {(int64_t)rows, (int64_t)columns};
    ULP_TRY(ulp_tensor_create(out, matrix->type, matrix->element, 0, 2, dims, error));
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            memcpy((char *)out->data + (r * columns + c) * bytes,
                   (const char *)matrix->data + ((sample->rows ? sample->rows[r] : r) * width +
                                                 (sample->columns ? sample->columns[c] : c)) *
                                                    bytes,
                   bytes);
    return ULP_OK;
}

static bool is_matrix(const struct ulp_tensor *tensor)
{
    const char *names[ULP_FIT_FORMATS];
    return tensor->rank == 2 &&
           (tensor->type == ULP_TYPE_FLOAT || typed_formats(tensor->type, names)) &&
           (tensor->data || !tensor->count);
}

enum ulp_status ulp_fit_measure(const struct ulp_fit_product *product, struct ulp_fit_shape *out,
                                struct ulp_error *error)
{
    const struct ulp_tensor *const parts[] = {product->a, product->b, product->c};
    char shown[3][80];
    bool fits = true;
    for (size_t i = 0; i < 3; i++) {
        ulp_tensor_describe_text(parts[i], shown[i], sizeof shown[i]);
        fits &= is_matrix(parts[i]);
    }
    if (!fits)
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "a is %s, b is %s, c is %s: expected matrices of floats, or of 8- or 16-bit "
            "patterns of floats",
            shown[0], shown[1], shown[2]);
    const bool ta = product->transposed_a, tb = product->transposed_b;
    *out = (struct ulp_fit_shape){.m = (size_t)product->a->dims[ta],
                                  .n = (size_t)product->b->dims[!tb],
                                  .k = (size_t)product->a->dims[!ta]};
    if ((size_t)product->b->dims[tb] != out->k || (size_t)product->c->dims[0] != out->m ||
        (size_t)product->c->dims[1] != out->n)
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "a is %s, b is %s, c is %s: expected a [m, k]%s, b [k, n]%s and c [m, n]; an "
            "operand that lies the other way is said to be transposed",
            shown[0], shown[1], shown[2], ta ? " transposed" : "", tb ? " transposed" : "");
    if (!out->m || !out->n || !out->k)
        return ulp_fail(error, ULP_ERROR_USAGE, "a is %s, b is %s: no products", shown[0],
                        shown[1]);
    if (product->a->type != product->b->type)
        return ulp_fail(error, ULP_ERROR_USAGE, "a is %s, b is %s: expected one type", shown[0],
                        shown[1]);
    return ULP_OK;
}
