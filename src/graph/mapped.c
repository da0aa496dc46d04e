/* Weights in mapped files: which pages are in memory. */
#include "base/machine/file.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

size_t ulp_model_mapped_bytes(const struct ulp_model *model)
{
    size_t bytes = 0;
    for (size_t m = 0; m < model->mapping_count; m++)
        bytes += model->mappings[m].bytes;
    return bytes;
}

/* Of the tensor's elements in a mapped file; 0: they are not in one. */
static size_t find_bytes(const struct ulp_model *model, const struct ulp_tensor *tensor)
{
    const size_t bytes = ulp_tensor_bytes(tensor);
    for (size_t m = 0; m < model->mapping_count && tensor->data && !tensor->owned; m++) {
        const char *first = model->mappings[m].address, *data = tensor->data;
        if (first && data >= first && data < first + model->mappings[m].bytes &&
            bytes <= (size_t)(first + model->mappings[m].bytes - data))
            return bytes;
    }
    return 0;
}

size_t ulp_model_fetch(const struct ulp_model *model, const struct ulp_tensor *tensor,
                       size_t bytes_max)
{
    const size_t bytes = find_bytes(model, tensor);
    if (bytes)
        ulp_mapped_fetch(tensor->data, bytes < bytes_max ? bytes : bytes_max);
    return bytes;
}

void ulp_model_give_back(const struct ulp_model *model, const struct ulp_tensor *tensor)
{
    ulp_mapped_give_back(tensor->data, find_bytes(model, tensor));
}
