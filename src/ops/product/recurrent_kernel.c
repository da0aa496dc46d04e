/* cuDNN's kernels for recurrences, and which shape gets which: found from outputs and kernels'
 * names that PyTorch 2.11 and cuDNN 9.19 gave on an H200 and an H100 (lab/record_recurrent.py;
 * lab/compare_recurrent.py has the figures). TensorRT's are not known. */
#include "ops/product/recurrent_kernel.h"

#include <string.h>

#include "ops/product/recurrent_cell.h"

/* As the operator is written: products' sums go into the cell as they are, states are stored. */
static const struct ulp_recurrent_kernel plain = {.h_stored = true, .c_stored = true};

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

/* Only what PyTorch has: no peepholes, clipping, lengths or other functions; GRU's reset gate
 * multiplies the sums. */
static bool is_pytorchs(const struct ulp_call *call)
{
    const struct ulp_attribute_value *clip = ulp_call_attribute(call, "clip");
    const size_t gates = (size_t)call->bound->op->parameter;
    return !call->bound->op->integer_sums && gates != ULP_RNN_GATES &&
           !(clip->present && clip->f > 0) && !ulp_call_input(call, "sequence_lens") &&
           !ulp_call_attribute(call, "activations")->count && !ulp_cell_resets_before(call) &&
           (gates != ULP_LSTM_GATES ||
            (!ulp_call_input(call, "p") && !ulp_call_int(call, "input_forget")));
}

const struct ulp_recurrent_kernel *ulp_recurrent_kernel_find(
    const struct ulp_call *call, const struct ulp_recurrent_shape *shape)
{
    if (!call->arithmetic->recurrence_cudnn || !is_pytorchs(call))
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
