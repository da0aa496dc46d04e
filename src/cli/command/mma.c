/* ulpscope mma: a matrix unit on raw bit patterns. */

#include "base/error.h"
#include "cli/command.h"

struct mma_options {
    const char *words[3]; /* UNIT IN.npz OUT.npz */
    int threads;
    size_t max_memory_bytes;
};

static enum ulp_status run_mma(void *parsed, struct ulp_error *error)
{
    const struct mma_options *options = parsed;
    ULP_SCOPED(ulp_budget_free_of) struct ulp_budget *budget = NULL;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set in = {0};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set out = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor d = {0};
    ULP_TRY(ulp_budget_create(report_memory(options->max_memory_bytes), &budget, error));
    ULP_TRY(ulp_tensor_set_read(options->words[1], budget, &in, error));
    const enum ulp_status status =
        ulp_unit_multiply(options->words[0], &in, options->threads, budget, &d, error);
    if (status != ULP_OK)
        return status == ULP_ERROR_INPUT ? ulp_fail_at(error, status, "%s", options->words[1])
                                         : status;
    ULP_TRY(ulp_tensor_set_add(&out, "d", &d, error));
    return ulp_tensor_set_write_npz(options->words[2], &out, error);
}

#define PARSED struct mma_options
static const struct option_row rows[] = {
#include "cli/command/mma_option.def"
    {0}};
const struct command command_mma = {
    .name = "mma",
    .summary = "run a GPU's matrix unit on raw bit patterns",
    .purpose = "Multiply raw bit patterns on a GPU's matrix unit: d = c + a b, T products. IN.npz "
               "holds a [T,M,K], b [T,N,K] and c [T,M,N] (without c: zero) as unsigned integers as "
               "wide as the formats; for block-scaled units also scale_a [T,M,K/block] and scale_b "
               "[T,N,K/block]. OUT.npz gets d [T,M,N], patterns of the accumulator's format. Where "
               "K is larger than the unit's block, blocks are added one after the other.",
    .examples = "  ulpscope list units\n"
                "  ulpscope mma h200.mma.f16.f32 in.npz out.npz\n"
                "  ulpscope mma v100.mma.f16.f16 in.npz out.npz",
    .notes = "In Python: np.savez('in.npz', a=a.astype(np.float16).view(np.uint16), b=..., "
             "c=c.astype(np.float32).view(np.uint32))",
    .groups = {{NULL, rows, 0}, MEMORY_GROUP, HELP_GROUP},
    .size = sizeof(struct mma_options),
    .run = run_mma,
};
