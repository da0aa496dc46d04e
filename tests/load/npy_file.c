#include "npy_file.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct proto npy(int version, const char *literal, const void *elements, size_t bytes)
{
    struct proto file = {0};
    size_t length = strlen(literal);
    unsigned char start[12] = {0x93,
                               'N',
                               'U',
                               'M',
                               'P',
                               'Y',
                               (unsigned char)version,
                               0,
                               (unsigned char)length,
                               (unsigned char)(length >> 8)};
    proto_raw(&file, start, version == 1 ? 10 : 12);
    proto_raw(&file, literal, length);
    proto_raw(&file, elements, bytes);
    return file;
}

const struct dtype dtypes[] = {
    {'f', 2, ULP_TYPE_FLOAT16, {1, -0.5, 65504, 0x1p-24, INFINITY, -2.25}},
    {'f', 4, ULP_TYPE_FLOAT, {1, -0.5, 0x1.fffffep127, 0x1p-149, -INFINITY, 3}},
    {'f', 8, ULP_TYPE_DOUBLE, {1, -0.5, DBL_MAX, 0x1p-1074, INFINITY, 0.1}},
    {'i', 1, ULP_TYPE_INT8, {-128, 127, 1, 2, 3, 4}},
    {'i', 2, ULP_TYPE_INT16, {-32768, 32767, 258, 2, 3, 4}},
    {'i', 4, ULP_TYPE_INT32, {-2147483648.0, 2147483647, 16909060, 2, 3, 4}},
    {'i',
     8,
     ULP_TYPE_INT64,
     {-9223372036854775808.0, 4503599627370497, 72623859790382856 - 8, 2, 3, 4}},
    {'u', 1, ULP_TYPE_UINT8, {0, 255, 1, 2, 3, 4}},
    {'u', 2, ULP_TYPE_UINT16, {0, 65535, 258, 2, 3, 4}},
    {'u', 4, ULP_TYPE_UINT32, {0, 4294967295, 16909060, 2, 3, 4}},
    {'u', 8, ULP_TYPE_UINT64, {0, 9223372036854775808.0, 258, 2, 3, 4}},
    {'b', 1, ULP_TYPE_BOOL, {0, 1, 1, 0, 0, 1}},
};
const int dtype_count = sizeof dtypes / sizeof *dtypes;
