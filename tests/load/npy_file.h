/* npy files written by hand. */
#pragma once

#include <ulpscope.h>

#include "tests/support/proto.h"

/* An npy file: version, literal, elements. */
struct proto npy(int version, const char *literal, const void *elements, size_t bytes);

/* Every type that numpy and ONNX share, with values that tell its bytes apart. */
struct dtype {
    char kind;
    int bytes;
    enum ulp_type type;
    double values[6];
};
extern const struct dtype dtypes[];
extern const int dtype_count;
