/* ulpscope mma: a matrix unit on raw bit patterns. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"

struct mma_options {
    char *words[3]; /* UNIT IN.npz OUT.npz */
    int word_count;
    int threads;
    size_t max_memory_bytes;
};

static error_t take_word(struct argp_state *state, struct mma_options *options, char *argument)
{
    if (options->word_count == 3)
        refuse(state, "too many arguments: '%s'", argument);
    options->words[options->word_count++] = argument;
    return 0;
}

static void check_words(const struct argp_state *state, const struct mma_options *options)
{
    if (options->word_count != 3)
        refuse(state, "expected UNIT IN.npz OUT.npz");
}

static const char documentation[] =
    "Multiply raw bit patterns on a GPU's matrix unit: d = c + a b, T products. IN.npz holds a "
    "[T,M,K], b [T,N,K] and c [T,M,N] (without c: zero) as unsigned integers as wide as the "
    "formats; for block-scaled units also scale_a [T,M,K/block] and scale_b [T,N,K/block]. OUT.npz "
    "gets d [T,M,N], patterns of the accumulator's format. Where K is larger than the unit's "
    "block, blocks are added one after the other."
    "\vExamples:\n"
    "  ulpscope list units\n"
    "  ulpscope mma h200.mma.f16.f32 in.npz out.npz\n"
    "  ulpscope mma v100.mma.f16.f16 in.npz out.npz\n"
    "In Python: np.savez('in.npz', a=a.astype(np.float16).view(np.uint16), b=..., "
    "c=c.astype(np.float32).view(np.uint32))";

static enum ulp_status run_mma(const struct mma_options *options, struct ulp_error *error)
{
    ULP_SCOPED(ulp_budget_free_of) struct ulp_budget *budget = NULL;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set in = {0};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set out = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor d = {0};
    ULP_TRY(ulp_budget_create(options->max_memory_bytes, &budget, error));
    ULP_TRY(ulp_tensor_set_read(options->words[1], budget, &in, error));
    const enum ulp_status status =
        ulp_unit_multiply(options->words[0], &in, options->threads, budget, &d, error);
    if (status != ULP_OK)
        return status == ULP_ERROR_INPUT ? ulp_fail_at(error, status, "%s", options->words[1])
                                         : status;
    ULP_TRY(ulp_tensor_set_add(&out, "d", &d, error));
    return ulp_tensor_set_write_npz(options->words[2], &out, error);
}

#define OPTIONS "cli/command/mma_option.def"
#define PARSED struct mma_options
#define WORDS "UNIT IN.npz OUT.npz"
#define CHILDREN MEMORY_CHILD
#define TAKE take_word
#define CHECK check_words
#define RUN run_mma
#include "cli/option/parser.def"

int command_mma(int argc, char **argv)
{
    struct mma_options options = {.max_memory_bytes = REPORT_MEMORY};
    return run_command(&parser, argc, argv, &options, NULL, run_parsed);
}
