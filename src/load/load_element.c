/* Converting elements from ONNX's stored forms to elements in memory. */
#include <string.h>

#include "load/load.h"
#include "tensor/stored.h"

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
    const bool ordered = row->file_bits == 8 || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    return ordered && row->element != ULP_ELEMENT_BOOL && row->file_bits >= 8 &&
           row->element != ULP_ELEMENT_COUNT &&
           (size_t)row->file_bits / 8 == ulp_element_bytes(row->element, 0);
}

/* Element i of 1, 2, 4 or 8 whole bytes as an unsigned number. */
static uint64_t read_bits(const unsigned char *raw, size_t i, int bits)
{
    size_t bytes = (size_t)bits / 8;
    uint64_t value = 0;
    for (size_t b = bytes; b-- > 0;)
        value = value << 8 | raw[i * bytes + b];
    return value;
}

static void store_bits(struct ulp_tensor *out, size_t i, uint64_t value)
{
    if (out->type == ULP_TYPE_FLOAT) {
        uint32_t word = (uint32_t)value;
        memcpy((float *)out->data + i, &word, sizeof word);
    } else if (out->type == ULP_TYPE_DOUBLE) {
        memcpy((double *)out->data + i, &value, sizeof value);
    } else {
        ulp_tensor_set_int(out, i, (int64_t)value);
    }
}

void ulp_elements_decode(struct ulp_tensor *out, const unsigned char *raw)
{
    int bits = ulp_type_rows[out->type].file_bits;
    if (ulp_raw_is_memory(out->type)) {
        if (out->count)
            memcpy(out->data, raw, out->count * out->element_bytes);
    } else if (out->element == ULP_ELEMENT_F32 && out->type != ULP_TYPE_FLOAT) {
        ulp_stored_decode(out->type, raw, out->count, out->data);
    } else if (bits < 8) {
        for (size_t i = 0; i < out->count; i++)
            ulp_tensor_set_int(out, i, ulp_packed_read(out->type, raw, i));
    } else {
        for (size_t i = 0; i < out->count; i++)
            store_bits(out, i, read_bits(raw, i, bits));
    }
}
