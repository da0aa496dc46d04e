/* cuDNN's kernels for recurrences, and which shape gets which: found from outputs and kernels'
 * names that PyTorch 2.11 and cuDNN 9.19 gave on an H200 and an H100 (lab/record_recurrent.py;
 * lab/compare_recurrent.py has the figures). TensorRT's are not known. */
#include "ops/product/recurrent_kernel.h"

#include <string.h>

#include "ops/product/recurrent_cell.h"
#include "ops/steps.h"

/* As the operator is written: products' sums go into the cell as they are, states are stored. */
static const struct ulp_recurrent_kernel plain = {.h_stored = true, .c_stored = true};

/* cuDNN asked for half precision throughout, as ONNX Runtime asks: every bit of LSTM, GRU and RNN of
 * 1 to 50 steps on an H200, 64 and 128 hidden (lab/record_ort_cuda.py). */
static const struct ulp_recurrent_kernel stepped = {
    .input_stored = true, .sums_stored = true, .h_stored = true, .c_stored = true, .stepped = true};

/* Of rows that fit the first counts. gates 0: all; least, most: of hidden; the next are what
 * hidden, batch and input are multiples of. */
static const struct row {
    size_t gates;
    const char *storage; /* NULL: any */
    size_t least, most, hidden, batch, input;
    bool alone; /* one direction */
    struct ulp_recurrent_kernel kernel;
} rows[] = {
    /* ampere_lstm_tile16: seen with 256 to 1024 hidden, 8 to 64 rows; not with 64 or 40 inputs, not
       in both directions */
    {ULP_LSTM_GATES,
     "fp16",
     256,
     1024,
     128,
     8,
     128,
     true,
     {.input_stored = true, .h_stored = true}},
    /* RNN_blockPersist_fp_LSTM_HMMA, _GRU_HMMA: seen with 32 to 192 hidden, 8 to 256 rows; not with
       16 or 100 hidden, not with 1 to 7 and 12 rows */
    {ULP_LSTM_GATES,
     "fp16",
     32,
     192,
     8,
     8,
     1,
     false,
     {.input_stored = true, .h_stored = true, .c_stored = true}},
    {ULP_GRU_GATES,
     "fp16",
     32,
     192,
     8,
     8,
     1,
     false,
     {.input_stored = true, .biased = true, .h_stored = true, .c_stored = true}},
    /* RNN_blockPersist_fp_LSTM, _GRU: what else has up to 192 hidden */
    {ULP_LSTM_GATES, "fp16", 0, 192, 1, 1, 1, false, {.input_stored = true}},
    {ULP_GRU_GATES,
     "fp16",
     0,
     192,
     1,
     1,
     1,
     false,
     {.input_stored = true, .biased = true, .c_stored = true}},
    /* a product and elemWiseRNNcell each step: all of BF16, and FP16 from 256 hidden on, whose
       recorded bits are those of a tanh that is rounded, where BF16's are those of CUDA's */
    {0,
     "fp16",
     0,
     SIZE_MAX,
     1,
     1,
     1,
     false,
     {.input_stored = true,
      .sums_stored = true,
      .h_stored = true,
      .c_stored = true,
      .tanh_rounded = true}},
    {0,
     NULL,
     0,
     SIZE_MAX,
     1,
     1,
     1,
     false,
     {.input_stored = true, .sums_stored = true, .h_stored = true, .c_stored = true}},
};

static bool has_own_functions(const struct ulp_call *call)
{
    const struct ulp_attribute_value *names = ulp_call_attribute(call, "activations");
    const struct ulp_cell *cell = ulp_cell_of(call);
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->strings[i], cell->defaults[i % cell->activation_count]) != 0)
            return false;
    return true;
}

/* Only what cuDNN has: no peepholes, clipping or other functions; GRU's reset gate multiplies the
 * sums. */
static bool is_cudnns(const struct ulp_call *call)
{
    const struct ulp_attribute_value *clip = ulp_call_attribute(call, "clip");
    const size_t gates = (size_t)call->bound->op->parameter;
    return !call->bound->op->integer_sums && !(clip->present && clip->f > 0) &&
           has_own_functions(call) && !ulp_cell_resets_before(call) &&
           (gates != ULP_LSTM_GATES ||
            (!ulp_call_input(call, "p") && !ulp_call_int(call, "input_forget")));
}

const struct ulp_recurrent_kernel *ulp_recurrent_kernel_find(
    const struct ulp_call *call, const struct ulp_recurrent_shape *shape)
{
    if (!is_cudnns(call))
        return &plain;
    if (ulp_steps_halve(call->arithmetic, call->bound->op))
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
