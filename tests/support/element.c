#include "tests/support/element.h"

#include "tests/support/test.h"

void test_set_element(struct ulp_tensor *tensor, size_t e, double value)
{
    if (!ulp_element_is_float(tensor->element)) {
        ulp_tensor_set_int(tensor, e, (int64_t)value);
        return;
    }
    const struct ulp_format format = test_format(ulp_type_rows[tensor->type].format);
    value = ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, value, 0, 0);
    if (tensor->element == ULP_ELEMENT_F64)
        ((double *)tensor->data)[e] = value;
    else
        ((float *)tensor->data)[e] = (float)value;
}
