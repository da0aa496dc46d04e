/* The parts of check_formula, one file per part. */
#ifndef ULP_TESTS_FORMULA_TEST_H
#define ULP_TESTS_FORMULA_TEST_H

#include "formula/tape.h"
#include "test.h"

Suite *parse_suite(void);

#endif
