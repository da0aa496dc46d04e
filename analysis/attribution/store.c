/* Where an attribution keeps its values until the sweep: in memory up to a limit, then in a file
 * that is mapped. */
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/memory/budget.h"
#include "base/memory/scratch.h"
#include "number/function/math.h"

/* Without a memory limit. */
#define KEPT_MAX ((size_t)1 << 30)

const char ulp_attribution_too_large[] =
    "they need more memory; --attribute keeps values in a file (TMPDIR)",
           ulp_attribution_no_memory[] = "they need more memory: raise --max-memory";
static const char not_written[] = "the file in TMPDIR that they need cannot be written";

static double count_elements(const struct ulp_block *block, const int *slots, size_t count)
{
    double elements = 0;
    for (size_t i = 0; i < count; i++)
        if (slots[i] >= 0 && !block->slots[slots[i]].constant)
            elements += (double)block->slots[slots[i]].shape.count;
    return elements;
}

/* Of each value as floats itself, its error and what its node introduces, if it rounds. */
static double count_kept(const struct ulp_operator *op)
{
    const bool rounds = op->work != ULP_WORK_MOVE && (op->domain || strcmp(op->name, "Relu") != 0);
    return (rounds ? 3 : 2) * sizeof(float);
}

/* Of outputs and the model's inputs also the error in FP64. */
struct ulp_attribution_need ulp_attribution_need(const struct ulp_program *program)
{
    const struct ulp_block *block = program->main;
    const double lanes = (double)(program->lane_count - 1);
    struct ulp_attribution_need need = {0};
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        const double given = count_elements(block, step->outputs, step->output_count),
                     read = count_elements(block, step->inputs, step->input_count);
        need.kept += step->folded ? 0 : lanes * given * count_kept(step->bound.op);
        need.swept = ulp_math_max(need.swept, given * ULP_SWEEP_BYTES + read * ULP_COURSE_BYTES);
    }
    need.kept += lanes * (2 * sizeof(float) + sizeof(double)) *
                 count_elements(block, block->inputs, block->input_count);
    need.swept +=
        lanes * sizeof(double) * count_elements(block, block->outputs, block->output_count);
    return need;
}

/* Where little is left, nothing is kept in memory. Of what a sweep leaves a quarter is for what is
 * not known before. */
size_t ulp_attribution_limit(const struct ulp_program *program)
{
    const double limit = (double)ulp_budget_limit(ulp_model_budget(program->model)),
                 peak = ulp_program_peak(program, true, NULL), half = (limit - peak) / 2,
                 rest = limit - ulp_math_max(peak, ulp_attribution_need(program).swept);
    return limit == 0         ? KEPT_MAX
           : half < limit / 8 ? 0
                              : (size_t)ulp_math_max(ulp_math_min(half, limit / 3), rest / 4 * 3);
}

enum ulp_status ulp_attribution_room(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                     size_t count, size_t bytes, void *out, struct ulp_error *error)
{
    void *memory = NULL;
    enum ulp_status status = ULP_OK;
    if (!attributor->folder && count * bytes > attributor->room)
        lane->reason = ulp_attribution_too_large;
    else
        status = ulp_allocate(&memory, count, bytes, attributor->budget, "values of an attribution",
                              error);
    memcpy(out, &memory, sizeof memory);
    return status;
}

enum ulp_status ulp_attribution_settle(struct ulp_attributor *attributor,
                                       struct ulp_attributed *lane,
                                       struct ulp_attributed_bytes *kept, size_t bytes,
                                       size_t *room, struct ulp_error *error)
{
    kept->bytes = bytes;
    if (bytes <= *room) {
        *room -= bytes;
        return ULP_OK;
    }
    enum ulp_status status = ULP_OK;
    void *mapped = NULL;
    if (attributor->file < 0)
        status = ulp_scratch_open(&attributor->file, attributor->folder, error);
    ULP_THEN(status, ulp_scratch_keep(attributor->file, kept->data, bytes, &attributor->file_end,
                                      &mapped, error));
    ulp_free(kept->data);
    kept->data = mapped;
    kept->mapped = mapped != NULL;
    if (status != ULP_OK)
        lane->reason = not_written;
    return ULP_OK;
}

void ulp_attribution_forget(struct ulp_attributed_bytes *kept)
{
    if (kept->mapped)
        ulp_scratch_drop(kept->data, kept->bytes);
    else if (!kept->shared)
        ulp_free(kept->data);
    *kept = (struct ulp_attributed_bytes){0};
}
