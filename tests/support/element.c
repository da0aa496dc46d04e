#include "tests/support/element.h"

#include "tensor/tensor.h"
#include "tests/support/test.h"

void test_set_element(struct ulp_tensor *tensor, size_t e, double value)
{
    struct ulp_format format;
    if (!ulp_element_is_float(tensor->element)) {
        ulp_tensor_set_int(tensor, e, (int64_t)value);
        return;
    }
    ck_ok(ulp_format_find(ulp_type_rows[tensor->type].format, &format, &why));
    value = ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, value, 0, 0);
    if (tensor->element == ULP_ELEMENT_F64)
        ((double *)tensor->data)[e] = value;
    else
        ((float *)tensor->data)[e] = (float)value;
}
