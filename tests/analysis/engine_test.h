/* What the parts of check_engine share. */
#ifndef ULP_TESTS_ANALYSIS_ENGINE_TEST_H
#define ULP_TESTS_ANALYSIS_ENGINE_TEST_H

#include <check.h>

/* Kernels' names (check_kernel_names.c). */
Suite *kernel_names_suite(void);

#endif
