/* Formulas: parser and tape, evaluation, layouts. */
#include "formula/formula_test.h"

int main(void)
{
    return test_run(parse_suite(), NULL);
}
