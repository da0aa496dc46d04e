/* ONNX multidirectional broadcasting (Broadcasting in ONNX, doc/Broadcasting.md of the
 * specification). */
#include "base/error.h"
#include "tensor/tensor.h"

enum ulp_status ulp_broadcast_shape(int count, const struct ulp_tensor *const *tensors, int *rank,
                                    int64_t *dims, struct ulp_error *error)
{
    *rank = 0;
    for (int t = 0; t < count; t++)
        if (tensors[t] && tensors[t]->rank > *rank)
            *rank = tensors[t]->rank;
    for (int d = 0; d < *rank; d++)
        dims[d] = 1;
    for (int t = 0; t < count; t++) {
        if (!tensors[t])
            continue;
        int shift = *rank - tensors[t]->rank;
        for (int d = 0; d < tensors[t]->rank; d++) {
            int64_t size = tensors[t]->dims[d], *wanted = &dims[shift + d];
            if (size == 1 || size == *wanted)
                continue;
            if (*wanted == 1) {
                *wanted = size;
                continue;
            }
            char shape[200];
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "input %d, %s, does not broadcast with the inputs before it: dimension "
                            "%d from the end is %lld there and %lld here",
                            t, ulp_tensor_describe_text(tensors[t], shape, sizeof shape),
                            *rank - shift - d, (long long)*wanted, (long long)size);
        }
    }
    return ULP_OK;
}
