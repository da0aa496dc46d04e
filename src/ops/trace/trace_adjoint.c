/* A cache of adjoints of formulas: made once for all equal tapes. */
#include "base/error.h"
#include "ops/trace/gate.h"

static bool is_same(const struct ulp_instruction *a, const struct ulp_instruction *b)
{
    return a->kind == b->kind && a->index == b->index && a->primitive == b->primitive &&
           a->reduction == b->reduction && a->per_row == b->per_row &&
           memcmp(a->arguments, b->arguments, sizeof a->arguments) == 0;
}

static bool are_same(const struct ulp_instruction *a, const struct ulp_instruction *b, int count)
{
    for (int i = 0; i < count; i++)
        if (!is_same(&a[i], &b[i]))
            return false;
    return true;
}

static bool is_of(const struct ulp_trace_kept_adjoint *kept, const struct ulp_tape *tape,
                  uint64_t spread)
{
    return kept->spread == spread && kept->instruction_count == tape->instruction_count &&
           kept->operand_count == tape->operand_count && kept->output_count == tape->output_count &&
           strcmp(kept->text, tape->text) == 0 &&
           are_same(kept->instructions, tape->instructions, tape->instruction_count) &&
           memcmp(kept->outputs, tape->outputs,
                  (size_t)tape->output_count * sizeof *tape->outputs) == 0;
}

static enum ulp_status keep(struct ulp_trace *trace, const struct ulp_tape *tape, uint64_t spread,
                            struct ulp_tape *adjoint, struct ulp_error *error)
{
    const size_t instructions = (size_t)tape->instruction_count * sizeof *tape->instructions,
                 outputs = (size_t)tape->output_count * sizeof *tape->outputs,
                 text = strlen(tape->text) + 1;
    struct ulp_trace_kept_adjoint *kept;
    ULP_TRY(ulp_allocate(&kept, 1,
                         sizeof(struct ulp_trace_kept_adjoint) + instructions + outputs + text,
                         trace->budget, "a formula's adjoint", error));
    char *rest = (char *)(kept + 1);
    *kept = (struct ulp_trace_kept_adjoint){.adjoint = adjoint,
                                            .text = rest + instructions + outputs,
                                            .instructions = (struct ulp_instruction *)rest,
                                            .outputs = (int *)(rest + instructions),
                                            .instruction_count = tape->instruction_count,
                                            .operand_count = tape->operand_count,
                                            .output_count = tape->output_count,
                                            .spread = spread,
                                            .next = trace->kept};
    memcpy(kept->instructions, tape->instructions, instructions);
    memcpy(kept->outputs, tape->outputs, outputs);
    memcpy(kept->text, tape->text, text);
    trace->kept = kept;
    return ULP_OK;
}

enum ulp_status ulp_trace_adjoint(struct ulp_trace *trace, const struct ulp_tape *tape,
                                  uint64_t spread, const struct ulp_tape **out,
                                  struct ulp_error *error)
{
    struct ulp_tape *adjoint;
    bool *spreads;
    for (const struct ulp_trace_kept_adjoint *kept = trace->kept; kept; kept = kept->next)
        if (is_of(kept, tape, spread)) {
            *out = kept->adjoint;
            return ULP_OK;
        }
    spreads = ulp_arena_take(trace->arena, (size_t)tape->output_count + 1, sizeof *spreads);
    if (!spreads)
        return ulp_trace_fail(error);
    for (int o = 0; o < tape->output_count && o < 64; o++)
        spreads[o] = spread >> o & 1;
    ULP_TRY(ulp_tape_adjoint(&adjoint, tape, spreads, trace->budget, error));
    const enum ulp_status status = keep(trace, tape, spread, adjoint, error);
    if (status != ULP_OK)
        ulp_tape_free(adjoint);
    *out = adjoint;
    return status;
}
