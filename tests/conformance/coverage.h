/* How much of ai.onnx the operator table covers, opset by opset. */
#pragma once

#include <stdio.h>

#define COVERAGE_OPSET_MIN 7
#define COVERAGE_OPSET_MAX 28

/* A line for each opset: operators that exist, that are covered; then each missing one with its
 * opsets and the reason from the written list of conformance_scope.c. Returns how many are missing
 * without a reason. */
int print_coverage(FILE *out);
