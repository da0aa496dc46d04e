/* Small models written as lines "y = Op(a, b) attribute=value ...", for tests that look at a
 * graph's shape. */
#pragma once

#include "tests/support/proto.h"
#include "tests/support/test.h"

/* Lines are separated by '\n'; the last one's result is the output. Values are FLOAT. An argument
 * that is a number is a scalar constant, "[1,-2,3]" an INT64 vector; wN is a constant of shape [N],
 * wNxM of [N,M], letters behind it make another one ("w8a", "w8b"): random in [-1, 1]. Other names
 * that no line computes are inputs of shape [2,3,8], those that start with i_ INT64 of shape [2,3],
 * with l_ INT64 of shape [1], with s_ FLOAT scalars.
 * Attributes: an integer, a list "1,2", or a number with a point. */
struct ulp_model *line_model(const char *lines, int64_t opset);
