/* What tests of fused kernels share. */
#pragma once

#include "tests/support/text_model.h"

/* A value that is used inside a kernel and outside. */
static const struct text_graph forked = {"x",
                                         "m z",
                                         {NODE("Mul", "square", "x x", "h"),
                                          NODE("MatMul", "product", "h w", "m"),
                                          NODE("Add", "sum", "h x", "z")}};

#define GROUP(NAME, ...)                                                          \
    {                                                                             \
        .name = NAME, .nodes = (const char *const[]){__VA_ARGS__},                \
        .node_count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) \
    }
