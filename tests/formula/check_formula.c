/* Formulas: parser and tape, evaluation. */
#include "formula_test.h"

TEST_SUITE("formula", 240)
