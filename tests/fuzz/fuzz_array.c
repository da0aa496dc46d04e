/* Arrays: npy, npz, and the TensorProto files of test_data_set folders. */
#include <stdlib.h>

#include "data/data.h"
#include "load/load.h"
#include "tests/fuzz/fuzz.h"

/* Reading the last element shows whether data is as long as it says. */
static const char *check_tensor(const struct ulp_tensor *tensor)
{
    size_t product = 1;
    if (tensor->rank < 0 || tensor->rank > ULP_RANK_MAX ||
        (unsigned)tensor->type >= ULP_TYPE_COUNT || !tensor->data)
        return "a tensor out of range";
    for (int d = 0; d < tensor->rank; d++)
        product *= (size_t)tensor->dims[d];
    if (product != tensor->count)
        return "a count that is not the dimensions' product";
    if (tensor->count && ulp_tensor_get(tensor, tensor->count - 1) == 0x1.5p1000)
        return "an unlikely element";
    return NULL;
}

const char *fuzz_tensor(const uint8_t *bytes, size_t count)
{
    struct ulp_tensor tensor = {0};
    struct ulp_error error = {0};
    char *name = NULL;
    const enum ulp_status status =
        ulp_tensor_parse(&tensor, &name, bytes, count, fuzz_budget(), &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    const char *wrong = name ? check_tensor(&tensor) : "a tensor without a name";
    ulp_tensor_free(&tensor);
    free(name);
    return wrong;
}

const char *fuzz_npy(const uint8_t *bytes, size_t count)
{
    struct ulp_tensor tensor = {0};
    struct ulp_error error = {0};
    const enum ulp_status status = ulp_npy_parse(&tensor, bytes, count, fuzz_budget(), &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    const char *wrong = check_tensor(&tensor);
    ulp_tensor_free(&tensor);
    return wrong;
}

const char *fuzz_npz(const uint8_t *bytes, size_t count)
{
    struct ulp_tensor_set set = {0};
    struct ulp_error error = {0};
    const char *wrong = NULL;
    const enum ulp_status status =
        ulp_npz_parse("an archive", bytes, count, fuzz_budget(), &set, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    for (size_t i = 0; i < set.count && !wrong; i++)
        wrong = ulp_tensor_set_find(&set, set.items[i].name) ? check_tensor(&set.items[i].tensor)
                                                             : "an array that is not found";
    ulp_tensor_set_free(&set);
    return wrong;
}
