/* Base64 with padding and without line breaks (RFC 4648, section 4). */
#include <stdint.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "data/data.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *ulp_base64_encode(const void *const parts[], const size_t counts[], size_t part_count,
                        struct ulp_budget *budget)
{
    size_t total = 0, length, at = 0;
    for (size_t p = 0; p < part_count; p++)
        if (!ulp_size_add(total, counts[p], &total))
            return NULL;
    char *text;
    if (!ulp_size_mul(total / 3 + 1, 4, &length) ||
        ulp_allocate(&text, length + 1, 1, budget, "base64", NULL) != ULP_OK)
        return NULL;
    uint32_t bits = 0;
    int held = 0; /* bytes in bits */
    for (size_t p = 0; p < part_count; p++)
        for (size_t i = 0; i < counts[p]; i++) {
            bits = bits << 8 | ((const unsigned char *)parts[p])[i];
            if (++held < 3)
                continue;
            for (int shift = 18; shift >= 0; shift -= 6)
                text[at++] = digits[bits >> shift & 63];
            held = 0;
            bits = 0;
        }
    if (held) {
        bits <<= 8 * (3 - held);
        for (int d = 0; d < 4; d++)
            text[at++] = d <= held ? digits[bits >> (18 - 6 * d) & 63] : '=';
    }
    text[at] = '\0';
    return text;
}

bool ulp_base64_decode(const char *text, size_t length, unsigned char *out, size_t *count)
{
    signed char values[256];
    memset(values, -1, sizeof values);
    for (int i = 0; i < 64; i++)
        values[(unsigned char)digits[i]] = (signed char)i;
    *count = 0;
    if (length % 4)
        return false;
    size_t padding = length && text[length - 1] == '=' ? 1 + (text[length - 2] == '=') : 0;
    for (size_t i = 0; i < length; i += 4) {
        uint32_t bits = 0;
        for (size_t d = 0; d < 4; d++) {
            const int value = i + d < length - padding ? values[(unsigned char)text[i + d]] : 0;
            if (value < 0)
                return false;
            bits = bits << 6 | (uint32_t)value;
        }
        for (int b = 0; b < 3; b++)
            out[(*count)++] = (unsigned char)(bits >> (16 - 8 * b));
    }
    *count -= padding;
    return true;
}
