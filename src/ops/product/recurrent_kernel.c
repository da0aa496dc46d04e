/* cuDNN's kernels for recurrences, and which shape gets which (lab/compare_recurrent.py has the
 * figures). TensorRT's are not known. */
#include "ops/product/recurrent_kernel.h"

#include <string.h>

#include "ops/product/recurrent_cell.h"
#include "ops/steps.h"

/* As the operator is written: products' sums go into the cell as they are, states are stored. */
static const struct ulp_recurrent_kernel plain = {.h_stored = true, .c_stored = true};

/* cuDNN asked for half precision throughout, as ONNX Runtime asks: every bit of LSTM, GRU and RNN
 * of 1 to 50 steps on an H200, 64 and 128 hidden (lab/record_ort_cuda.py). */
static const struct ulp_recurrent_kernel stepped = {
    .input_stored = true, .sums_stored = true, .h_stored = true, .c_stored = true, .stepped = true};

/* Between two Casts: only what the operator gives is stored. */
static const struct ulp_recurrent_kernel elsewhere = {0};

static const struct row {
    size_t gates;
    const char *storage;
    size_t least, most, hidden, batch, input;
    bool alone;
    struct ulp_recurrent_kernel kernel;
} rows[] = {
#define KERNEL(gates, storage, least, most, hidden, batch, input, alone, ...) \
    {gates, storage, least, most, hidden, batch, input, alone, {__VA_ARGS__}},
#include "ops/product/cudnn_recurrent.def"
};

const struct ulp_recurrent_kernel *ulp_recurrent_kernel_find(
    const struct ulp_call *call, const struct ulp_recurrent_shape *shape)
{
    if (ulp_steps_elsewhere(call->arithmetic, call))
        return &elsewhere;
    if (!ulp_cell_is_cudnns(call))
        return &plain;
    if (call->arithmetic->steps == ULP_STEPS_ORT_CUDA)
        return &stepped;
    /* of what PyTorch has, these were recorded */
    if (!call->arithmetic->recurrence_cudnn || shape->gates == ULP_RNN_GATES ||
        ulp_call_input(call, "sequence_lens"))
        return &plain;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        if ((!row->gates || row->gates == shape->gates) &&
            (!row->storage || strcmp(row->storage, call->arithmetic->storage.name) == 0) &&
            shape->hidden >= row->least && shape->hidden <= row->most &&
            shape->hidden % row->hidden == 0 && shape->batch % row->batch == 0 &&
            shape->input % row->input == 0 && (!row->alone || shape->directions == 1))
            return &row->kernel;
    }
    return &plain;
}
