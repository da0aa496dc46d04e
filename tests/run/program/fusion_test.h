/* What tests of fused kernels share. */
#pragma once

#include "tests/support/text_model.h"

/* A value that is used inside a kernel and outside. */
static const struct text_graph forked = {
    "x", "m z", "[square] h = Mul(x, x) [product] m = MatMul(h, w) [sum] z = Add(h, x)"};

#define GROUP(NAME, ...)                                                          \
    {                                                                             \
        .name = NAME, .nodes = (const char *const[]){__VA_ARGS__},                \
        .node_count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) \
    }
