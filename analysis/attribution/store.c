/* Where an attribution keeps its values until the sweep: in memory up to a limit, then in a file.
 * What is kept and read back has the same bits wherever it was. */
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/bits.h"
#include "base/memory/budget.h"
#include "base/error.h"
#include "base/memory/scratch.h"
#include "base/tuning.h"
#include "base/vectorise.h"
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

/* Weights of products as lanes have them that run again for causes. */
static double count_lowered(const struct ulp_block *block, const struct ulp_step *step,
                            double limit)
{
    double bytes = 0;
    for (size_t i = 0; i < step->own_input_count && step->bound.op->work == ULP_WORK_CONTRACTION;
         i++) {
        const struct ulp_tensor *constant =
            step->inputs[i] >= 0 ? block->slots[step->inputs[i]].constant : NULL;
        const double own = constant ? (double)constant->count * sizeof(float) : 0;
        bytes += own <= limit / ULP_TUNE_LOWERED_SHARE ? own : 0;
    }
    return bytes;
}

/* Of each value as floats itself, its error and what its node introduces, if it rounds; what a Relu
 * gives follows from what it reads. */
static double count_kept(const struct ulp_operator *op)
{
    const bool rectifies = !op->domain && strcmp(op->name, "Relu") == 0;
    return (rectifies ? 0 : op->work == ULP_WORK_MOVE ? 2 : 3) * sizeof(float);
}

/* Of outputs and the model's inputs also the error in FP64. */
struct ulp_attribution_need ulp_attribution_need(const struct ulp_program *program)
{
    const struct ulp_block *block = program->main;
    const double limit = (double)ulp_budget_limit(ulp_model_budget(program->model)),
                 lanes = (double)(program->lane_count - 1);
    struct ulp_attribution_need need = {0};
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        const double given = count_elements(block, step->outputs, step->output_count),
                     read = count_elements(block, step->inputs, step->input_count);
        need.kept += step->folded ? 0 : lanes * given * count_kept(step->bound.op);
        need.swept = ulp_math_max(need.swept, given * ULP_SWEEP_BYTES + read * ULP_COURSE_BYTES);
        need.lowered += count_lowered(block, step, limit);
    }
    need.kept += lanes * (2 * sizeof(float) + sizeof(double)) *
                 count_elements(block, block->inputs, block->input_count);
    need.swept +=
        lanes * sizeof(double) * count_elements(block, block->outputs, block->output_count);
    need.lowered = ulp_math_min(need.lowered, limit / ULP_TUNE_KEPT_SHARE);
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

/* ---- in memory, or in the file ---- */

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
    if (attributor->file < 0)
        status = ulp_scratch_open(&attributor->file, attributor->folder, error);
    if (status == ULP_OK)
        status =
            ulp_scratch_write(attributor->file, kept->data, bytes, attributor->file_end, error);
    ulp_free(kept->data);
    kept->data = NULL;
    if (status != ULP_OK) {
        lane->reason = not_written;
        return ULP_OK;
    }
    kept->in_file = true;
    kept->at = attributor->file_end;
    attributor->file_end += bytes;
    return ULP_OK;
}

/* ---- what a Relu gives ---- */

struct rectified {
    const float *in, *errors; /* P and P - R */
    float *out, *out_errors;  /* theirs behind the Relu; NULL: `own` is compared with P */
    const float *own;
    _Atomic bool differs;
};

/* An error between two numbers above 0 is handed on. Of an element that is above 0 in the reference
 * alone it is -R, off by 2^-25 of P - R. Without branches, which no processor foresees here: R is
 * above 0 where P is greater than P - R. */
ULP_VECTORISE static void rectify_floats(const float *restrict in, const float *restrict errors,
                                         float *restrict out, float *restrict out_errors,
                                         size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const float p = in[i], e = errors[i], less = (float)((double)e - (double)p);
        const uint32_t own = 0u - (uint32_t)(p > 0), true_one = 0u - (uint32_t)(p > e),
                       above = (ulp_float_bits(e) & true_one) | (ulp_float_bits(p) & ~true_one);
        out[i] = ulp_float_from(ulp_float_bits(p) & own);
        out_errors[i] = ulp_float_from((above & own) | (ulp_float_bits(less) & true_one & ~own));
    }
}

ULP_WORK(rectify_range)
{
    struct rectified *job = context;
    if (job->out)
        rectify_floats(job->in, job->errors, job->out, job->out_errors, first, last);
    uint32_t differing = 0;
    for (size_t i = first; i < last && job->own; i++)
        differing |= ulp_float_bits(job->own[i]) ^
                     (ulp_float_bits(job->in[i]) & (0u - (uint32_t)(job->in[i] > 0)));
    if (differing)
        job->differs = true;
    return ULP_OK;
}

/* Over what a Relu reads, which comes into memory for that. */
static enum ulp_status rectify(const struct ulp_attributor *attributor,
                               struct ulp_attributed_bytes *from, struct rectified *job,
                               size_t count, struct ulp_error *error)
{
    const bool there = from->data != NULL;
    ULP_TRY(ulp_attribution_fetch(attributor, from, error));
    job->in = from->data;
    job->errors = job->in + count;
    const enum ulp_status status =
        ulp_parallel_for(attributor->pool, count, ulp_grain(2), rectify_range, job, error);
    if (!there)
        ulp_attribution_release(from);
    return status;
}

static enum ulp_status fetch_rectified(const struct ulp_attributor *attributor,
                                       struct ulp_attributed_bytes *kept, struct ulp_error *error)
{
    const size_t count = kept->bytes / (2 * sizeof(float));
    ULP_TRY(ulp_allocate(&kept->data, kept->bytes, 1, attributor->budget,
                         "values of an attribution", error));
    struct rectified job = {.out = kept->data};
    job.out_errors = job.out + count;
    const enum ulp_status status = rectify(attributor, kept->rectifies, &job, count, error);
    if (status != ULP_OK)
        ulp_attribution_release(kept);
    return status;
}

enum ulp_status ulp_attribution_rectified(const struct ulp_attributor *attributor,
                                          struct ulp_attributed_bytes *kept,
                                          struct ulp_attributed_bytes *from,
                                          const struct ulp_tensor *own, bool *done,
                                          struct ulp_error *error)
{
    struct rectified job = {.own = own->data};
    if (!own->count || from->bytes != own->count * 2 * sizeof(float))
        return ULP_OK;
    ULP_TRY(rectify(attributor, from, &job, own->count, error));
    *done = !job.differs;
    if (*done)
        *kept =
            (struct ulp_attributed_bytes){.bytes = from->bytes,
                                          /* a second Relu changes nothing */
                                          .rectifies = from->rectifies ? from->rectifies : from};
    return ULP_OK;
}

enum ulp_status ulp_attribution_fetch(const struct ulp_attributor *attributor,
                                      struct ulp_attributed_bytes *kept, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    if (kept->of) {
        status = ulp_attribution_fetch(attributor, kept->of, error);
        kept->data = kept->of->data;
        return status;
    }
    if ((!kept->in_file && !kept->rectifies) || kept->data)
        return ULP_OK;
    if (kept->rectifies)
        return fetch_rectified(attributor, kept, error);
    ULP_TRY(ulp_allocate(&kept->data, kept->bytes, 1, attributor->budget,
                         "values of an attribution", error));
    status = ulp_scratch_read(attributor->file, kept->data, kept->bytes, kept->at, error);
    if (status != ULP_OK)
        ulp_attribution_release(kept);
    return status;
}

void ulp_attribution_release(struct ulp_attributed_bytes *kept)
{
    if (kept->of) {
        ulp_attribution_release(kept->of);
        kept->data = kept->of->data;
        return;
    }
    if (kept->in_file || kept->rectifies) {
        ulp_free(kept->data);
        kept->data = NULL;
    }
}

void ulp_attribution_forget(struct ulp_attributed_bytes *kept)
{
    if (!kept->of)
        ulp_free(kept->data);
    *kept = (struct ulp_attributed_bytes){0};
}

void ulp_attribution_share(struct ulp_attributed_bytes *out, struct ulp_attributed_bytes *kept)
{
    *out = (struct ulp_attributed_bytes){.data = kept->data, .of = kept};
}
