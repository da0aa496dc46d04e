/* Decoding floats of at most 16 bits, and integers of less than 8. */
#include "tensor/stored.h"

#include <math.h>
#include <string.h>

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
static const struct code formats[ULP_TYPE_COUNT] = {
    [ULP_TYPE_FLOAT16] = {5, 10, 15, TOP_IEEE},    [ULP_TYPE_BFLOAT16] = {8, 7, 127, TOP_IEEE},
    [ULP_TYPE_FLOAT8E4M3FN] = {4, 3, 7, TOP_NAN},  [ULP_TYPE_FLOAT8E4M3FNUZ] = {4, 3, 8, TOP_FNUZ},
    [ULP_TYPE_FLOAT8E5M2] = {5, 2, 15, TOP_IEEE},  [ULP_TYPE_FLOAT8E5M2FNUZ] = {5, 2, 16, TOP_FNUZ},
    [ULP_TYPE_FLOAT4E2M1] = {2, 1, 1, TOP_FINITE},
};

float ulp_float_decode(enum ulp_type type, uint32_t bits)
{
    if (type == ULP_TYPE_FLOAT8E8M0) /* a power of two without a sign */
        return bits == 0xff ? (float)NAN : ldexpf(1, (int)bits - 127);
    struct code code = formats[type];
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

/* A table of all codes pays from here on. */
#define BYTE_CODES 256

/* Blocks of a known length are what compilers make vectors of. */
#define BLOCK 64

static void read_codes(const unsigned char *raw, size_t count, uint16_t *codes)
{
    memcpy(codes, raw, count * sizeof *codes);
    for (size_t i = 0; i < count && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__; i++)
        codes[i] = (uint16_t)(codes[i] << 8 | codes[i] >> 8);
}

/* NaN loses its payload, as in ulp_float_decode. */
static void decode_bf16(const uint16_t *codes, uint32_t *words)
{
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t word = (uint32_t)codes[i] << 16, size = word & 0x7fffffff;
        words[i] = size > 0x7f800000 ? (word & 0x80000000) | 0x7fc00000 : word;
    }
}

/* Exponent and fraction in their places are the value times 2^-112, subnormals included: the
 * product is exact. */
static void decode_fp16(const uint16_t *codes, uint32_t *words)
{
    float scaled[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        words[i] = (codes[i] & UINT32_C(0x7fff)) << 13;
    memcpy(scaled, words, sizeof scaled);
    for (int i = 0; i < BLOCK; i++)
        scaled[i] *= 0x1p112f;
    memcpy(words, scaled, sizeof scaled);
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t size = codes[i] & UINT32_C(0x7fff), sign = (codes[i] & UINT32_C(0x8000))
                                                                  << 16;
        const uint32_t magnitude = size > 0x7c00    ? UINT32_C(0x7fc00000)
                                   : size == 0x7c00 ? UINT32_C(0x7f800000)
                                                    : words[i];
        words[i] = magnitude | sign;
    }
}

static void decode_halves(enum ulp_type type, const unsigned char *raw, size_t count, float *out)
{
    uint16_t codes[BLOCK] = {0};
    uint32_t words[BLOCK];
    for (size_t first = 0, n; first < count; first += n) {
        n = count - first < BLOCK ? count - first : BLOCK;
        read_codes(raw + 2 * first, n, codes);
        if (type == ULP_TYPE_BFLOAT16)
            decode_bf16(codes, words);
        else
            decode_fp16(codes, words);
        memcpy(out + first, words, n * sizeof *out);
    }
}

static void decode_bytes(enum ulp_type type, const unsigned char *raw, size_t count, float *out)
{
    float table[BYTE_CODES];
    for (uint32_t code = 0; code < BYTE_CODES && count >= BYTE_CODES; code++)
        table[code] = ulp_float_decode(type, code);
    for (size_t i = 0; i < count; i++)
        out[i] = count >= BYTE_CODES ? table[raw[i]] : ulp_float_decode(type, raw[i]);
}

void ulp_stored_decode(enum ulp_type type, const unsigned char *raw, size_t count, float *out)
{
    if (type == ULP_TYPE_FLOAT16 || type == ULP_TYPE_BFLOAT16)
        decode_halves(type, raw, count, out);
    else if (type != ULP_TYPE_FLOAT4E2M1)
        decode_bytes(type, raw, count, out);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = ulp_float_decode(type, raw[i / 2] >> i % 2 * 4 & 15);
}

void ulp_floats_read(const struct ulp_tensor *tensor, size_t first, size_t count, float *out)
{
    if (tensor->element == ULP_ELEMENT_STORED)
        ulp_stored_decode(tensor->type,
                          (const unsigned char *)tensor->data + first * tensor->element_bytes,
                          count, out);
    else if (count)
        memcpy(out, (const float *)tensor->data + first, count * sizeof *out);
}

int ulp_packed_read(enum ulp_type type, const unsigned char *raw, size_t i)
{
    const bool is_signed = type == ULP_TYPE_INT4 || type == ULP_TYPE_INT2;
    const size_t bits = type == ULP_TYPE_INT4 || type == ULP_TYPE_UINT4 ? 4 : 2;
    const int codes = 1 << bits, code = raw[i * bits / 8] >> i * bits % 8 & (codes - 1);
    return is_signed && code >= codes / 2 ? code - codes : code;
}

float ulp_stored_get(const struct ulp_tensor *tensor, size_t i)
{
    float x;
    ulp_floats_read(tensor, i, 1, &x);
    return x;
}
