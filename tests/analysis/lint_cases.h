/* Pairs of models for every rule of the lint: one that it finds, and one that only looks like it.
 */
#pragma once

#include <stddef.h>

struct lint_case {
    const char *rule;
    int opset;
    const char *found, *clean; /* models; clean NULL: the options make the difference */
    size_t count;              /* findings in the first */
    const char *says;          /* part of the first finding's text, with the node's name */
    const char *targets;       /* --for; NULL: all */
    const char *original;      /* --reference-model; NULL: none */
    /* of the first and the second */
    const char *precisions[2], *output_types[2];
};

extern const struct lint_case lint_cases[];
extern const int lint_case_count;

/* Models that several cases share. */
#define CHAIN                                                                                      \
    "(float[2] x) => (float[2] y) { [/norm/a] a = Relu(x) [/norm/b] b = Sigmoid(a) [c] i "         \
    "= Cast<to=7>(b) [shape] s = Shape(b) [split] p, q = Split<axis=0, num_outputs=2>(b) [d] y = " \
    "Neg(b) }"
#define QDQ(zero, axis, scales, dims)                                                             \
    "(float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, int8 z = {" zero "}, float[" dims \
    "] ws = {" scales "}, int8[" dims "] wz = {0...}, int8[2,2,1,1] w = "                         \
    "{1...}> { [q] q = QuantizeLinear(x, s, z) [d] d = DequantizeLinear(q, s, z) [dw] dw = "      \
    "DequantizeLinear<axis=" axis ">(w, ws, wz) [conv] y = Conv(d, dw) }"
