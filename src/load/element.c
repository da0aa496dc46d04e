/* Converting elements from ONNX's stored forms to elements in memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/load.h"
#include "tensor/tensor.h"

/* What the codes with the largest exponent field mean. */
enum top_codes {
    TOP_IEEE,   /* infinity and NaN */
    TOP_NAN,    /* only the code with all bits set is NaN (OCP E4M3) */
    TOP_FINITE, /* all are numbers (FP4) */
    TOP_FNUZ,   /* all are numbers; the code of -0 is NaN */
};
struct code {
    int exponent_bits, fraction_bits, bias;
    enum top_codes top;
};
static const struct code codes[ULP_TYPE_COUNT] = {
    [ULP_TYPE_FLOAT16] = {5, 10, 15, TOP_IEEE},    [ULP_TYPE_BFLOAT16] = {8, 7, 127, TOP_IEEE},
    [ULP_TYPE_FLOAT8E4M3FN] = {4, 3, 7, TOP_NAN},  [ULP_TYPE_FLOAT8E4M3FNUZ] = {4, 3, 8, TOP_FNUZ},
    [ULP_TYPE_FLOAT8E5M2] = {5, 2, 15, TOP_IEEE},  [ULP_TYPE_FLOAT8E5M2FNUZ] = {5, 2, 16, TOP_FNUZ},
    [ULP_TYPE_FLOAT4E2M1] = {2, 1, 1, TOP_FINITE},
};

float ulp_float_decode(enum ulp_type type, uint32_t bits)
{
    if (type == ULP_TYPE_FLOAT8E8M0) /* a power of two without a sign */
        return bits == 0xff ? (float)NAN : ldexpf(1, (int)bits - 127);
    struct code code = codes[type];
    uint32_t fraction_top = (1u << code.fraction_bits) - 1,
             exponent_top = (1u << code.exponent_bits) - 1;
    uint32_t fraction = bits & fraction_top, exponent = bits >> code.fraction_bits & exponent_top;
    bool negative = bits >> (code.fraction_bits + code.exponent_bits) & 1;
    float magnitude;
    if (code.top == TOP_FNUZ && negative && exponent == 0 && fraction == 0)
        magnitude = NAN;
    else if (code.top == TOP_IEEE && exponent == exponent_top)
        magnitude = fraction ? NAN : INFINITY;
    else if (code.top == TOP_NAN && exponent == exponent_top && fraction == fraction_top)
        magnitude = NAN;
    else if (exponent == 0)
        magnitude = ldexpf((float)fraction, 1 - code.bias - code.fraction_bits);
    else {
        uint32_t word =
            (exponent + 127 - (uint32_t)code.bias) << 23 | fraction << (23 - code.fraction_bits);
        memcpy(&magnitude, &word, sizeof magnitude);
    }
    return negative ? -magnitude : magnitude;
}

bool ulp_raw_bytes(enum ulp_type type, size_t count, size_t *out)
{
    size_t bits = (size_t)ulp_type_rows[type].file_bits;
    if (bits >= 8)
        return ulp_size_mul(count, bits / 8, out);
    size_t per_byte = 8 / bits;
    *out = count / per_byte + (count % per_byte != 0);
    return true;
}

bool ulp_raw_is_memory(enum ulp_type type)
{
    const struct ulp_type_row *row = &ulp_type_rows[type];
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && row->element != ULP_ELEMENT_BOOL &&
           row->file_bits >= 8 && row->element != ULP_ELEMENT_COUNT &&
           (size_t)row->file_bits / 8 == ulp_element_bytes(row->element, 0);
}

/* Element i of 1, 2, 4 or 8 whole bytes, or of a part of a byte, as an unsigned number. */
static uint64_t read_bits(const unsigned char *raw, size_t i, int bits)
{
    if (bits < 8) {
        size_t per_byte = 8 / (size_t)bits;
        return raw[i / per_byte] >> (i % per_byte * (size_t)bits) & ((1u << bits) - 1);
    }
    size_t bytes = (size_t)bits / 8;
    uint64_t value = 0;
    for (size_t b = bytes; b-- > 0;)
        value = value << 8 | raw[i * bytes + b];
    return value;
}

static void store_bits(struct ulp_tensor *out, size_t i, uint64_t value, int bits)
{
    if (out->type == ULP_TYPE_FLOAT) {
        uint32_t word = (uint32_t)value;
        memcpy((float *)out->data + i, &word, sizeof word);
    } else if (out->type == ULP_TYPE_DOUBLE) {
        memcpy((double *)out->data + i, &value, sizeof value);
    } else {
        bool is_signed = out->element == ULP_ELEMENT_I8 && bits < 8;
        ulp_tensor_set_int(out, i,
                           (int64_t)value -
                               (is_signed && value >> (bits - 1) ? (int64_t)1 << bits : 0));
    }
}

/* Floats of at most 16 bits; large tensors through a table of all codes. */
static void decode_floats(struct ulp_tensor *out, const unsigned char *raw, int bits)
{
    float *x = out->data;
    size_t code_count = (size_t)1 << bits;
    float *table = out->count >= code_count ? malloc(code_count * sizeof *table) : NULL;
    for (size_t code = 0; table && code < code_count; code++)
        table[code] = ulp_float_decode(out->type, (uint32_t)code);
    if (table && bits == 16)
        for (size_t i = 0; i < out->count; i++)
            x[i] = table[raw[2 * i] | (uint32_t)raw[2 * i + 1] << 8];
    else if (table)
        for (size_t i = 0; i < out->count; i++)
            x[i] = table[read_bits(raw, i, bits)];
    else
        for (size_t i = 0; i < out->count; i++)
            x[i] = ulp_float_decode(out->type, (uint32_t)read_bits(raw, i, bits));
    free(table);
}

void ulp_elements_decode(struct ulp_tensor *out, const unsigned char *raw)
{
    int bits = ulp_type_rows[out->type].file_bits;
    if (ulp_raw_is_memory(out->type)) {
        if (out->count)
            memcpy(out->data, raw, out->count * out->element_bytes);
    } else if (out->element == ULP_ELEMENT_F32 && out->type != ULP_TYPE_FLOAT) {
        decode_floats(out, raw, bits);
    } else
        for (size_t i = 0; i < out->count; i++)
            store_bits(out, i, read_bits(raw, i, bits), bits);
}
