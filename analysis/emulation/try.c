/* Running what each node is kept in, and judging it. */

#include <math.h>

#include "analysis/emulation/emulation.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/machine/clock.h"
#include "number/function/math.h"

static enum ulp_status check_cancelled(const struct ulp_emulation *emulation,
                                       struct ulp_error *error)
{
    return ulp_observer_cancels(emulation->given.progress)
               ? ulp_fail(error, ULP_ERROR_CANCELLED, "cancelled while searching %s",
                          emulation->given.what)
               : ULP_OK;
}

static enum ulp_status try_problem(struct ulp_emulation *emulation, const uint16_t *kept,
                                   size_t problem, struct ulp_judgement *out,
                                   struct ulp_trial **trial, struct ulp_error *error)
{
    struct ulp_tensor_set outputs;
    enum ulp_status status = check_cancelled(emulation, error);
    ULP_THEN(status, ulp_emulation_run(emulation, problem, kept, trial, &outputs, error));
    ULP_TRY(ulp_fail_at(error, status, "%s",
                        emulation->given.samples[problem % emulation->given.sample_count].name));
    emulation->runs++;
    status = ulp_emulation_judge(emulation, &outputs, &emulation->truths[problem], out, error);
    ulp_tensor_set_free(&outputs);
    return status;
}

enum ulp_status ulp_emulation_problem(struct ulp_emulation *emulation, size_t problem,
                                      const uint16_t *kept, struct ulp_judgement *out,
                                      struct ulp_error *error)
{
    struct ulp_trial *trial;
    return try_problem(emulation, kept, problem, out, &trial, error);
}

static bool is_late(struct ulp_emulation *emulation, double *ratio)
{
    emulation->late = emulation->deadline > 0 && ulp_seconds_now() > emulation->deadline;
    *ratio = emulation->late ? INFINITY : *ratio;
    return emulation->late;
}

/* What fails is left at its first problem that does; the one that failed last is the likeliest to
 * fail again. */
enum ulp_status ulp_emulation_try(struct ulp_emulation *emulation, const uint16_t *kept,
                                  double *ratio, bool *all, struct ulp_error *error)
{
    const size_t problems = emulation->problem_count;
    size_t tried = 0;
    *ratio = 0;
    emulation->late = false;
    for (; tried < problems && *ratio <= 1; tried++) {
        const size_t problem = (emulation->first_problem + tried) % problems;
        struct ulp_judgement judgement;
        struct ulp_trial *trial;
        if (is_late(emulation, ratio))
            break;
        ULP_TRY(try_problem(emulation, kept, problem, &judgement, &trial, error));
        if (judgement.ratio <= 1)
            ulp_trial_accept(trial);
        else
            emulation->first_problem = problem;
        *ratio = ulp_math_max(*ratio, judgement.ratio);
    }
    *all = tried == problems;
    return ULP_OK;
}

enum ulp_status ulp_emulation_judge_all(struct ulp_emulation *emulation, const uint16_t *kept,
                                        struct ulp_judgement *judgements, double *ratio,
                                        struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *ratio = 0;
    emulation->late = false;
    ulp_emulation_forget_decided(emulation);
    for (size_t p = 0; p < emulation->problem_count && status == ULP_OK; p++) {
        struct ulp_judgement judgement;
        struct ulp_trial *trial;
        struct ulp_judged *judged = emulation->judged;
        if (is_late(emulation, ratio))
            return ULP_OK;
        if (p >= emulation->given.sample_count)
            emulation->judged = NULL;
        status = try_problem(emulation, kept, p, &judgement, &trial, error);
        emulation->judged = judged;
        if (status != ULP_OK)
            return status;
        ulp_trial_accept(trial);
        *ratio = ulp_math_max(*ratio, judgement.ratio);
        if (judgements && p < emulation->given.sample_count)
            judgements[p] = judgement;
    }
    return status;
}

/* The outputs of every lane. */
static enum ulp_status run_sample(struct ulp_emulation *emulation, struct ulp_programs *programs,
                                  const struct ulp_sample *sample, bool follow,
                                  const struct ulp_observer *looking,
                                  struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    const struct ulp_run_options run = {.thread_count = emulation->given.thread_count,
                                        .follow = follow};
    return ulp_fail_at(error,
                       ulp_programs_look(programs, sample->inputs, &run, looking,
                                         emulation->given.progress, outputs, error),
                       "%s", sample->name);
}

enum ulp_status ulp_emulation_truths(struct ulp_emulation *emulation, struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = given->model,
                                    .lanes = emulation->lanes,
                                    .lane_count = 1};
    for (size_t s = 0; s < given->sample_count; s++) {
        struct ulp_emulation_notes notes;
        struct ulp_program *program;
        ULP_TRY(ulp_programs_choose(&programs, given->samples[s].inputs, &program, error));
        const struct ulp_observer noting = ulp_emulation_note(emulation, s, program, &notes);
        ULP_TRY(run_sample(emulation, &programs, &given->samples[s], false, &noting,
                           &emulation->truths[s], error));
    }
    return ulp_emulation_check_truths(emulation, NULL, error);
}

enum ulp_status ulp_emulation_judge_lane(struct ulp_emulation *emulation,
                                         struct ulp_programs *programs,
                                         const struct ulp_observer *looking,
                                         struct ulp_judgement *worst, struct ulp_error *error)
{
    *worst = (struct ulp_judgement){0};
    for (size_t s = 0; s < emulation->given.sample_count; s++) {
        ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
        struct ulp_judgement judgement;
        ULP_TRY(run_sample(emulation, programs, &emulation->given.samples[s], false, looking,
                           &outputs, error));
        ULP_TRY(ulp_emulation_judge(emulation, &outputs, &emulation->truths[s], &judgement, error));
        if (!worst->output || judgement.ratio > worst->ratio)
            *worst = judgement;
    }
    return ULP_OK;
}

enum ulp_status ulp_emulation_held_out(struct ulp_emulation *emulation,
                                       const struct ulp_sample *sample, struct ulp_judgement *out,
                                       struct ulp_error *error)
{
    struct ulp_tensor_set outputs[2];
    ULP_TRY(run_sample(emulation, &emulation->programs, sample, emulation->follows, NULL, outputs,
                       error));
    enum ulp_status status = ulp_emulation_judge(emulation, &outputs[1], &outputs[0], out, error);
    if (status == ULP_OK && !isinf(out->ratio)) {
        status = ulp_emulation_check_sample(emulation, sample, &outputs[0], error);
        if (status == ULP_ERROR_LIMIT) {
            out->ratio = INFINITY;
            out->metric = ulp_judge_name(ULP_CROSSED_REFERENCE);
            status = ULP_OK;
        }
    }
    ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
    return status;
}

enum ulp_status ulp_emulation_decide(struct ulp_emulation *emulation, size_t output,
                                     struct ulp_judged *out, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_judged){0};
    for (size_t s = 0; s < emulation->given.sample_count && status == ULP_OK; s++) {
        struct ulp_tensor_set outputs[2];
        struct ulp_judged *listed = NULL;
        status = run_sample(emulation, &emulation->programs, &emulation->given.samples[s], false,
                            NULL, outputs, error);
        if (status != ULP_OK)
            return status;
        const struct ulp_tensor *exact = &outputs[0].items[output].tensor,
                                *value = &outputs[1].items[output].tensor;
        status = ulp_emulation_lists(emulation, &outputs[1], &outputs[0], &listed, error);
        if (status == ULP_OK && !listed[output].task && ulp_tensor_same_shape(value, exact))
            status =
                ulp_judged_measure(value, exact, ulp_emulation_purpose(emulation, output, exact),
                                   ulp_model_budget(emulation->given.model), &listed[output],
                                   error);
        if (status == ULP_OK)
            ulp_judged_add(out, &listed[output]);
        ulp_free(listed);
        ulp_tensor_set_free(&outputs[0]);
        ulp_tensor_set_free(&outputs[1]);
    }
    return status;
}
