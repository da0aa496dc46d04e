/* Formulas: parser and tape, evaluation. */
#include "formula_test.h"

int main(void)
{
    return test_run(parse_suite(), evaluate_suite(), outputs_suite(), integers_suite(),
                    layout_suite(), fuzz_suite(), adjoint_suite(), NULL);
}
