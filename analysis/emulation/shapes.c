/* Problems of several shapes: a trial for each shape, over the problems that have it. */
#include "analysis/emulation/emulation.h"
#include "base/error.h"

/* The same inputs are given, in the same shapes. */
static bool same_shapes(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++) {
        const struct ulp_tensor *other = ulp_tensor_set_find(b, a->items[i].name);
        same = other && ulp_tensor_same_shape(&a->items[i].tensor, other);
    }
    return same;
}

/* What cannot be planned is refused before anything is computed. */
static enum ulp_status add_shape(struct ulp_emulation *emulation, size_t sample,
                                 struct ulp_error *error)
{
    struct ulp_program *program;
    const enum ulp_status status =
        ulp_programs_choose(&emulation->programs, emulation->inputs[sample], &program, error);
    emulation->shapes[emulation->shape_count++] = (struct ulp_emulated_shape){.first = sample};
    return ulp_fail_at(error, status, "%s", emulation->given.samples[sample].name);
}

enum ulp_status ulp_emulation_shapes(struct ulp_emulation *emulation, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t s = 0; s < emulation->given.sample_count && status == ULP_OK; s++) {
        size_t shape = 0;
        while (
            shape < emulation->shape_count &&
            !same_shapes(emulation->inputs[emulation->shapes[shape].first], emulation->inputs[s]))
            shape++;
        if (shape == emulation->shape_count)
            status = add_shape(emulation, s, error);
        emulation->shape_of[s] = shape;
        emulation->place[s] = emulation->shapes[shape].count++;
    }
    ulp_programs_drop(&emulation->programs);
    return status;
}

static enum ulp_status add_samples(struct ulp_emulation *emulation, size_t shape,
                                   struct ulp_error *error)
{
    struct ulp_trial *trial = emulation->shapes[shape].trial;
    for (size_t s = 0; s < emulation->problem_count; s++) {
        if (emulation->shape_of[s] != shape)
            continue;
        ULP_TRY(ulp_trial_add(trial, emulation->inputs[s], error));
        if (emulation->follows)
            ulp_trial_follow(trial, emulation->place[s], emulation->integers[s]);
    }
    return ULP_OK;
}

static void close_trial(struct ulp_emulation *emulation, size_t shape)
{
    struct ulp_emulated_shape *of = &emulation->shapes[shape];
    if (of->trial)
        emulation->work += ulp_trial_work(of->trial);
    ulp_trial_free(of->trial);
    ulp_program_free(of->program);
    of->trial = NULL;
    of->program = NULL;
}

/* Each trial holds values only where those of all samples would fit if they had its shapes: then
 * what all of them hold together fits, too. */
enum ulp_status ulp_emulation_open_trial(struct ulp_emulation *emulation, size_t shape,
                                         struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    struct ulp_emulated_shape *of = &emulation->shapes[shape];
    const struct ulp_program_options options = {.inputs = emulation->inputs[of->first],
                                                .perturbation = of->redrawn};
    enum ulp_status status = ULP_OK;
    if (of->trial)
        return ULP_OK;
    if (shape > 0)
        status =
            ulp_program_create(given->model, emulation->lanes, 2, &options, &of->program, error);
    ULP_THEN(status,
             ulp_trial_create(shape > 0 ? of->program : emulation->program, 1, emulation->keep_in,
                              emulation->keep_count, emulation->problem_count, emulation->pool,
                              &of->trial, error));
    ULP_THEN(status, add_samples(emulation, shape, error));
    if (status != ULP_OK)
        close_trial(emulation, shape);
    return status;
}

void ulp_emulation_close_trials(struct ulp_emulation *emulation, size_t except)
{
    for (size_t shape = 0; shape < emulation->shape_count; shape++)
        if (shape != except)
            close_trial(emulation, shape);
}

static bool others_open(const struct ulp_emulation *emulation, size_t shape)
{
    bool any = false;
    for (size_t other = 0; other < emulation->shape_count; other++)
        any |= other != shape && emulation->shapes[other].trial;
    return any;
}

enum ulp_status ulp_emulation_run(struct ulp_emulation *emulation, size_t problem,
                                  const uint16_t *kept, struct ulp_trial **trial,
                                  struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    const size_t shape = emulation->shape_of[problem];
    for (;;) {
        enum ulp_status status = ulp_emulation_open_trial(emulation, shape, error);
        *trial = emulation->shapes[shape].trial;
        ULP_THEN(status, ulp_trial_run(*trial, emulation->place[problem], kept, outputs, error));
        if (status != ULP_ERROR_MEMORY || !others_open(emulation, shape))
            return status;
        ulp_emulation_close_trials(emulation, shape);
    }
}

double ulp_emulation_work(const struct ulp_emulation *emulation)
{
    double work = emulation->work;
    for (size_t shape = 0; shape < emulation->shape_count; shape++)
        if (emulation->shapes[shape].trial)
            work += ulp_trial_work(emulation->shapes[shape].trial);
    return work;
}
