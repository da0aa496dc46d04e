/* Inputs and models of tests whose samples have several shapes. */
#pragma once

#include "tests/support/test.h"

/* x [count], x[i] = value(sample, i). */
static inline struct ulp_tensor_set shaped_inputs(size_t sample, int64_t count,
                                                  float value(size_t sample, size_t i))
{
    struct ulp_tensor_set set = {0};
    struct ulp_tensor tensor;
    ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1, &count, &why));
    for (size_t i = 0; i < tensor.count; i++)
        ((float *)tensor.data)[i] = value(sample, i);
    ck_ok(ulp_tensor_set_add(&set, "x", &tensor, &why));
    return set;
}

/* The shapes choose the branch while planning, and so the nodes that there are: x [3] has others
 * than the rest. */
#define SHAPES_CHOOSE_NODES                                                \
    "(float[N] x) => (float[N] y) <int64 three = {3}, int64 zero = {0}> {" \
    " s = Shape(x) n = Gather(s, zero) b = Equal(n, three)"                \
    " y = If<then_branch = () => (float[N] z) { z = Mul(x, x) },"          \
    " else_branch = () => (float[N] z) { t = Mul(x, x) z = Relu(t) }>(b) }"
