/* Is what was written what was meant? Both are run, and their outputs compared bit for bit. */
#include <math.h>
#include <string.h>

#include "analysis/mixed/mixed.h"
#include "base/error.h"
#include "tensor/tensor.h"

static enum ulp_status note_types(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    const struct ulp_mixed_types *types = context;
    (void)error;
    for (size_t o = 0; o < event->output_count; o++)
        if (event->values[o].entire)
            types->outputs[event->index][event->output_positions[o]] =
                event->values[o].entire->type;
    return ULP_OK;
}

/* An output that nothing computes is in the file as it was, while a lane lowers what it reads. */
static enum ulp_status keep_constants(const struct ulp_mixed_job *job,
                                      const struct ulp_program *program, struct ulp_tensor_set *out,
                                      struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    for (size_t o = 0; o < block->output_count; o++) {
        const struct ulp_tensor *constant = block->slots[block->outputs[o]].constant;
        struct ulp_tensor copy;
        if (!constant || !ulp_element_is_float(constant->element))
            continue;
        ULP_TRY(ulp_tensor_copy(&copy, constant, ulp_model_budget(job->model), error));
        ulp_tensor_free(&out->items[o].tensor);
        out->items[o].tensor = copy;
    }
    return ULP_OK;
}

static enum ulp_status run_lanes(const struct ulp_mixed_job *job, struct ulp_programs *programs,
                                 const struct ulp_tensor_set *inputs,
                                 const struct ulp_observer *observer, struct ulp_tensor_set *out,
                                 struct ulp_error *error)
{
    const struct ulp_run_options options = {.thread_count = job->options->thread_count};
    struct ulp_program *program;
    ULP_TRY(ulp_programs_choose(programs, inputs, &program, error));
    ULP_TRY(
        ulp_program_look(program, inputs, &options, observer, job->options->progress, out, error));
    /* the file run as it declares its types has them already */
    return programs == &job->programs && job->types.node && !job->options->lower_io
               ? keep_constants(job, program, out, error)
               : ULP_OK;
}

/* A graph whose inputs are narrower gets them rounded. */
static enum ulp_status round_inputs(const struct ulp_mixed_job *job,
                                    const struct ulp_tensor_set *given, struct ulp_tensor_set *out,
                                    struct ulp_error *error)
{
    struct ulp_format format;
    ULP_TRY(ulp_format_find(ulp_type_rows[job->types.low].format, &format, error));
    *out = (struct ulp_tensor_set){0};
    for (size_t i = 0; i < given->count; i++) {
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
        ULP_TRY(
            ulp_tensor_copy(&copy, &given->items[i].tensor, ulp_model_budget(job->model), error));
        if (ulp_element_is_float(copy.element))
            ULP_TRY(ulp_tensor_convert(&copy, &given->items[i].tensor, &format,
                                       ULP_ROUND_NEAREST_EVEN, 0, NULL, error));
        ULP_TRY(ulp_tensor_set_add(out, given->items[i].name, &copy, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_mixed_expect(struct ulp_mixed_job *job, size_t sample,
                                 struct ulp_mixed_types *types, struct ulp_tensor_set *out,
                                 struct ulp_error *error)
{
    const struct ulp_observer notes = {.context = types,
                                       .node_done = note_types,
                                       .modes_unused = true};
    const struct ulp_tensor_set *given = job->samples[sample].inputs;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set rounded = {0};
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_tensor_set){0};
    if (job->options->lower_io)
        status = round_inputs(job, given, &rounded, error);
    ULP_THEN(status, run_lanes(job, &job->programs, job->options->lower_io ? &rounded : given,
                               types ? &notes : NULL, out, error));
    return ulp_fail_at(error, status, "%s", job->samples[sample].name);
}

enum ulp_status ulp_mixed_resize(struct ulp_mixed_job *job, struct ulp_error *error)
{
    struct ulp_sample *samples;
    const struct ulp_resizing given = {.model = job->model,
                                       .lane = job->programs.lanes,
                                       .samples = job->samples,
                                       .sample_count = job->sample_count,
                                       .programs = &job->programs,
                                       .thread_count = job->options->thread_count,
                                       .progress = job->options->progress};
    ULP_TRY(ulp_resized_find(&given, &job->resized, error));
    ULP_TAKE(samples, job->arena, job->sample_count + ULP_RESIZED, error);
    memcpy(samples, job->samples, job->sample_count * sizeof *samples);
    memcpy(samples + job->sample_count, job->resized.samples, job->resized.count * sizeof *samples);
    job->samples = samples;
    job->sample_count += job->resized.count;
    return ULP_OK;
}

static bool same_float(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* The graph's output is in its own type: what the lane holds is rounded to it once more. */
static enum ulp_status compare_output(const struct ulp_tensor *expected,
                                      const struct ulp_tensor *got, const char *sample,
                                      const char *name, struct ulp_error *error)
{
    struct ulp_format format;
    const bool is_float = ulp_element_is_float(got->element);
    ULP_TRY(is_float ? ulp_format_find(ulp_type_rows[got->type].format, &format, error) : ULP_OK);
    if (!ulp_tensor_same_shape(expected, got) ||
        is_float != ulp_element_is_float(expected->element))
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "%s: output '%s' of the graph with types has another shape or kind than in "
                        "the plan",
                        sample, name);
    for (size_t i = 0; i < got->count; i++) {
        if (!is_float && ulp_tensor_get_int(expected, i) == ulp_tensor_get_int(got, i))
            continue;
        const double wanted = is_float ? ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN,
                                                          ulp_tensor_get(expected, i), 0, 0)
                                       : (double)ulp_tensor_get_int(expected, i);
        const double found = is_float ? ulp_tensor_get(got, i) : (double)ulp_tensor_get_int(got, i);
        if (!is_float || !same_float(wanted, found))
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "%s: element %zu of output '%s' is %.9g in the graph with types and "
                            "%.9g in the plan",
                            sample, i, name, found, wanted);
    }
    return ULP_OK;
}

static enum ulp_status check_sample(const struct ulp_mixed_job *job, struct ulp_programs *programs,
                                    size_t sample, const struct ulp_tensor_set *expected,
                                    struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set got = {0};
    ULP_TRY(run_lanes(job, programs, job->samples[sample].inputs, NULL, &got, error));
    for (size_t o = 0; o < expected->count; o++) {
        const char *name = expected->items[o].name;
        const struct ulp_tensor *found = ulp_tensor_set_find(&got, name);
        ULP_TRY(found ? compare_output(&expected->items[o].tensor, found, job->samples[sample].name,
                                       name, error)
                      : ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                                 "the graph with types has no output '%s'", name));
    }
    return ULP_OK;
}

static enum ulp_status check_samples(struct ulp_mixed_job *job, struct ulp_programs *programs,
                                     const struct ulp_tensor_set *first, struct ulp_error *error)
{
    ULP_TRY(check_sample(job, programs, 0, first, error));
    const size_t own = job->sample_count - job->resized.count;
    for (size_t s = 1; s < job->sample_count; s++) {
        ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set expected = {0};
        const bool known = s >= own && !job->options->lower_io; /* it was run when it was found */
        if (!known)
            ULP_TRY(ulp_mixed_expect(job, s, NULL, &expected, error));
        ULP_TRY(check_sample(job, programs, s, known ? &job->resized.outputs[s - own] : &expected,
                             error));
    }
    return ULP_OK;
}

enum ulp_status ulp_mixed_check(struct ulp_mixed_job *job, const char *path,
                                const struct ulp_arithmetic *in, const struct ulp_keeps *keeps,
                                const struct ulp_tensor_set *first, struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.lanes = in, .lane_count = 1, .options = {.keeps = keeps}};
    ULP_TRY(ulp_model_load(path, ulp_model_budget(job->model), &model, error));
    programs.model = model;
    return check_samples(job, &programs, first, error);
}
