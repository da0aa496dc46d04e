/* Samples at other sizes of a model's free dimensions. */
#include "analysis/resized/resized.h"

#include <string.h>

#include "base/error.h"
#include "data/data.h"
#include "run/program/program.h"

/* So many multiply-adds are nothing that is felt. */
#define CHEAP 1e7
/* Where the sample itself is refused. */
#define MOST 1e9
/* Of the first sample's cost, where nothing is found that costs no more than it: where the batch
 * alone is free, 2 and 3 are tried. */
#define COST_MOST 4

/* Room for one more: are they taken, and cheap? */
static enum ulp_status try_inputs(const struct ulp_resizing *given,
                                  const struct ulp_arithmetic *fp64,
                                  const struct ulp_tensor_set *inputs, double most,
                                  struct ulp_tensor_set *out, bool *takes, struct ulp_error *error)
{
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs own = {.model = given->model, .lanes = fp64, .lane_count = 1};
    const struct ulp_run_options run = {.thread_count = given->thread_count};
    struct ulp_error refused = {0};
    struct ulp_program *program;
    enum ulp_status status =
        ulp_programs_choose(given->programs ? given->programs : &own, inputs, &program, &refused);
    *takes = status == ULP_OK && program->main->cost <= most;
    if (*takes)
        status = ulp_program_look(program, inputs, &run, NULL, given->progress, out, &refused);
    *takes &= status == ULP_OK;
    if (status == ULP_OK || ulp_program_refuses(status))
        return ULP_OK;
    return ulp_fail_lines(error, status, refused.message);
}

static enum ulp_status find_most(const struct ulp_resizing *given,
                                 const struct ulp_arithmetic *fp64, double *most,
                                 struct ulp_error *error)
{
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs own = {.model = given->model, .lanes = fp64, .lane_count = 1};
    struct ulp_program *program;
    *most = MOST;
    if (!given->sample_count)
        return ULP_OK;
    ULP_TRY(ulp_programs_choose(given->programs ? given->programs : &own, given->samples[0].inputs,
                                &program, error));
    *most = program->main->cost;
    if (*most < CHEAP)
        *most = CHEAP;
    return ULP_OK;
}

static bool is_known(const struct ulp_resized *resized)
{
    for (size_t i = 0; i < resized->count; i++)
        if (strcmp(resized->names[i].data, resized->names[resized->count].data) == 0)
            return true;
    return false;
}

static enum ulp_status find_next(const struct ulp_resizing *given, size_t attempt, double most,
                                 struct ulp_resized *out, struct ulp_error *error)
{
    const size_t at = out->count;
    struct ulp_tensor_set *inputs = &out->inputs[at];
    bool takes = false;
    ulp_text_free(&out->names[at]);
    ULP_TRY(ulp_inputs_resize(given->model, given->samples[0].inputs, attempt, inputs,
                              &out->names[at], error));
    out->is_free |= inputs->count > 0;
    if (inputs->count && !is_known(out))
        ULP_TRY(try_inputs(given, &out->fp64, inputs, most, &out->outputs[at], &takes, error));
    if (takes)
        out->samples[out->count++] =
            (struct ulp_sample){.name = out->names[at].data, .inputs = inputs};
    else
        ulp_tensor_set_free(inputs);
    return ULP_OK;
}

enum ulp_status ulp_resized_find(const struct ulp_resizing *given, struct ulp_resized *out,
                                 struct ulp_error *error)
{
    double most;
    *out = (struct ulp_resized){0};
    ULP_TRY(ulp_arithmetic_find("fp64", &out->fp64, error));
    ULP_TRY(find_most(given, &out->fp64, &most, error));
    for (size_t i = 0; i < 2 * ULP_RESIZE_ATTEMPTS && out->count < ULP_RESIZED; i++) {
        ULP_TRY(find_next(given, i % ULP_RESIZE_ATTEMPTS,
                          i < ULP_RESIZE_ATTEMPTS ? most : COST_MOST * most, out, error));
        if (!out->is_free)
            break;
    }
    if (out->count < ULP_RESIZED)
        out->count = 0; /* one size alone may be as particular as the sample's */
    return ULP_OK;
}

void ulp_resized_free(struct ulp_resized *resized)
{
    for (size_t i = 0; i < ULP_RESIZED; i++) {
        ulp_tensor_set_free(&resized->inputs[i]);
        ulp_tensor_set_free(&resized->outputs[i]);
        ulp_text_free(&resized->names[i]);
    }
    *resized = (struct ulp_resized){0};
}

void ulp_resized_say(struct ulp_text *out, const struct ulp_resized *resized, size_t sample_count)
{
    static const char *const whose[] = {"", "at the sample's sizes", "at the samples' sizes"};
    ulp_text_add(out, "%s", whose[sample_count < 2 ? sample_count : 2]);
    for (size_t i = 0; i < resized->count; i++)
        ulp_text_add(out, "%sat %s", sample_count || i ? " and " : "", resized->names[i].data);
    if (resized->is_free && !resized->count)
        ulp_text_add(out, " only");
}
