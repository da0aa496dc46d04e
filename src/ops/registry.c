/* The families of operators. */
#include <pthread.h>

#include "ops/operator.h"

extern const struct ulp_operator ulp_ops_elementwise[], ulp_ops_reduce[], ulp_ops_normalize[],
    ulp_ops_pool[], ulp_ops_shape[], ulp_ops_axes[], ulp_ops_blocks[], ulp_ops_gather[],
    ulp_ops_select[], ulp_ops_generate[], ulp_ops_cast[], ulp_ops_matmul[], ulp_ops_conv[],
    ulp_ops_resize[], ulp_ops_sample[], ulp_ops_attention[], ulp_ops_control[], ulp_ops_cumulate[],
    ulp_ops_deform[], ulp_ops_det[], ulp_ops_detect[], ulp_ops_einsum[], ulp_ops_ngram[],
    ulp_ops_quantize[], ulp_ops_recurrent[], ulp_ops_roi[], ulp_ops_signal[], ulp_ops_state[],
    ulp_ops_microsoft[], ulp_ops_microsoft_attention[], ulp_ops_microsoft_conv[],
    ulp_ops_microsoft_grouped[], ulp_ops_microsoft_quantize[];

static const struct ulp_operator *const families[] = {
    ulp_ops_elementwise,
    ulp_ops_reduce,
    ulp_ops_normalize,
    ulp_ops_pool,
    ulp_ops_shape,
    ulp_ops_axes,
    ulp_ops_blocks,
    ulp_ops_gather,
    ulp_ops_select,
    ulp_ops_generate,
    ulp_ops_cast,
    ulp_ops_matmul,
    ulp_ops_conv,
    ulp_ops_resize,
    ulp_ops_sample,
    ulp_ops_attention,
    ulp_ops_control,
    ulp_ops_cumulate,
    ulp_ops_deform,
    ulp_ops_det,
    ulp_ops_detect,
    ulp_ops_einsum,
    ulp_ops_ngram,
    ulp_ops_quantize,
    ulp_ops_recurrent,
    ulp_ops_roi,
    ulp_ops_signal,
    ulp_ops_state,
    ulp_ops_microsoft,
    ulp_ops_microsoft_attention,
    ulp_ops_microsoft_conv,
    ulp_ops_microsoft_grouped,
    ulp_ops_microsoft_quantize,
};

#define ROWS_MAX 1024

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct ulp_operator *rows[ROWS_MAX + 1];

static void list_rows(void)
{
    size_t count = 0;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct ulp_operator *op = families[f]; op->name && count < ROWS_MAX; op++)
            rows[count++] = op;
}

const struct ulp_operator *ulp_operator_row(size_t index)
{
    pthread_once(&once, list_rows);
    return index < ROWS_MAX ? rows[index] : NULL;
}
