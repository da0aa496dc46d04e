/* The runs of a study. Settings, and the trials of each, are lanes in one order; a walk computes as
 * many beside one reference as memory allows. What a lane computes does not depend on those beside
 * it, and sums over trials are formed in the lanes' order, so neither do the figures. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/session/session.h"
#include "analysis/study/studying.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/random.h"

enum { LANES_MOST = 64, LANES_WITH_FOLDER = 16 };

/* One run of a setting. */
struct lane {
    size_t setting, trial;
};
struct walking {
    struct ulp_studying *s;
    struct lane *lanes;
    size_t lane_count, most;
    /* of the current walk: [first, first + count) of the lanes */
    size_t first, count;
    struct ulp_arithmetic arithmetics[1 + LANES_MOST];
    bool has_trials;
};

/* Seeds of trials are the same in every setting. */
static enum ulp_status make_arithmetic(const struct ulp_studying *s, const struct lane *lane,
                                       struct ulp_arithmetic *out, struct ulp_error *error)
{
    const struct ulp_study_setting *setting = &s->out->settings[lane->setting];
    char part[40];
    *out = setting->arithmetic;
    if (!setting->trials)
        return ULP_OK;
    snprintf(part, sizeof part, "seed=%llu",
             (unsigned long long)ulp_random_bits(s->out->seed, lane->trial));
    return ulp_arithmetic_change(out, &setting->arithmetic, part, error);
}

static enum ulp_status make_lanes(struct walking *w, struct ulp_error *error)
{
    const struct ulp_studying *s = w->s;
    w->arithmetics[0] = s->options->reference;
    w->has_trials = false;
    for (size_t l = 0; l < w->count; l++) {
        const struct lane *lane = &w->lanes[w->first + l];
        w->has_trials |= s->out->settings[lane->setting].trials > 0;
        ULP_TRY(make_arithmetic(s, lane, &w->arithmetics[1 + l], error));
    }
    return ULP_OK;
}

static enum ulp_status add_trials(void *context, size_t sample, struct ulp_tensor_set *outputs,
                                  struct ulp_error *error)
{
    const struct walking *w = context;
    struct ulp_studying *s = w->s;
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < w->count && status == ULP_OK; l++) {
        const struct lane *lane = &w->lanes[w->first + l];
        if (s->out->settings[lane->setting].trials)
            status = ulp_trial_sums_add(s, &s->sums[lane->setting], sample, lane->trial,
                                        &outputs[1 + l], &outputs[0], error);
    }
    for (size_t l = 0; l <= w->count; l++)
        ulp_tensor_set_free(&outputs[l]);
    return status;
}

/* Figures of all lanes, and the settings whose last run this was. */
static enum ulp_status keep_walk(struct walking *w, const struct ulp_audit *audit,
                                 struct ulp_error *error)
{
    struct ulp_studying *s = w->s;
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < w->count; l++)
        ulp_study_add_lane(s, audit, l, w->lanes[w->first + l].setting,
                           w->lanes[w->first + l].trial);
    for (size_t l = 0; l < w->count && status == ULP_OK; l++) {
        const struct lane *lane = &w->lanes[w->first + l];
        const struct ulp_study_setting *setting = &s->out->settings[lane->setting];
        if (lane->trial + 1 < ulp_study_run_count(setting))
            continue;
        ulp_study_finish_points(s, lane->setting);
        if (setting->trials)
            status = ulp_trial_sums_conclude(s, s->sums[lane->setting], lane->setting, error);
        ulp_trial_sums_free(s->sums[lane->setting]);
        s->sums[lane->setting] = NULL;
        if (status == ULP_OK && s->key)
            status = ulp_study_keep(s, lane->setting, error);
    }
    return status;
}

/* The order of runs for `begins`: those of the walks that are left, if none needs to be smaller. */
static void tell_begin(void *context, size_t sample, const struct ulp_program *program)
{
    const struct walking *w = context;
    const struct ulp_study_options *options = w->s->options;
    const size_t left = ulp_size_divide_up(w->lane_count - w->first, w->most),
                 samples = w->s->sample_count;
    (void)program;
    if (!options->begins)
        return;
    struct ulp_environment *paused = ulp_environment_pause();
    options->begins(options->progress ? options->progress->context : NULL,
                    w->s->out->walks * samples + sample, (w->s->out->walks + left) * samples);
    ulp_environment_resume(paused);
}

static enum ulp_status run_walk(struct walking *w, struct ulp_error *error)
{
    const struct ulp_study_options *given = w->s->options;
    const struct ulp_audit_options options = {.thread_count = given->thread_count,
                                              .task = given->task,
                                              .allow_nonfinite_inputs =
                                                  given->allow_nonfinite_inputs,
                                              .entire_only = true,
                                              .progress = given->progress};
    const struct ulp_samples samples = {.items = w->s->samples, .count = w->s->sample_count};
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = w->s->model,
                                    .lanes = w->arithmetics,
                                    .lane_count = 1 + w->count};
    ULP_SCOPED(ulp_audit_free) struct ulp_audit audit = {0};
    ULP_TRY(make_lanes(w, error));
    struct ulp_session session = {.programs = &programs,
                                  .samples = &samples,
                                  .options = &options,
                                  .context = w,
                                  .begins = tell_begin,
                                  .ends = w->has_trials ? add_trials : NULL};
    ULP_TRY(ulp_session_run(&session, &audit, error));
    return keep_walk(w, &audit, error);
}

/* Back to the first trial of the setting at the cursor: sums and figures of all that follows begin
 * anew. */
static void rewind_setting(struct walking *w)
{
    w->first -= w->lanes[w->first].trial;
    for (size_t l = w->first; l < w->lane_count; l++) {
        const size_t setting = w->lanes[l].setting;
        ulp_trial_sums_free(w->s->sums[setting]);
        w->s->sums[setting] = NULL;
        ulp_study_forget_points(w->s, setting);
    }
}

/* Where they do not all fit into one walk, each setting is planned by itself first: what cannot be
 * computed is refused before hours of work. */
static enum ulp_status check_settings(const struct walking *w, struct ulp_error *error)
{
    const struct ulp_studying *s = w->s;
    const struct ulp_program_options options = {.inputs = s->samples[0].inputs};
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < w->lane_count && w->lane_count > w->most && status == ULP_OK; l++) {
        const struct ulp_study_setting *setting = &s->out->settings[w->lanes[l].setting];
        const struct ulp_arithmetic lanes[] = {s->options->reference, setting->arithmetic};
        struct ulp_program *program = NULL;
        if (w->lanes[l].trial)
            continue;
        status = ulp_program_create(s->model, lanes, 2, &options, &program, error);
        ulp_program_free(program);
        ulp_fail_at(error, status, "%s", setting->text);
    }
    return status;
}

static enum ulp_status walk_all(struct walking *w, struct ulp_error *error)
{
    enum ulp_status status = check_settings(w, error);
    while (w->first < w->lane_count && status == ULP_OK) {
        w->count = ulp_size_min(w->most, w->lane_count - w->first);
        status = run_walk(w, error);
        if (status == ULP_ERROR_MEMORY && w->count > 1) {
            w->most = w->count / 2;
            rewind_setting(w);
            status = ULP_OK;
        } else if (status == ULP_OK) {
            w->first += w->count;
            w->s->out->walks++;
        }
    }
    return status;
}

static size_t find_most(const struct ulp_study_options *options)
{
    const size_t most = options->checkpoint ? LANES_WITH_FOLDER : LANES_MOST;
    return options->lanes ? ulp_size_min(options->lanes, LANES_MOST) : most;
}

enum ulp_status ulp_study_walk(struct ulp_studying *s, struct ulp_error *error)
{
    struct walking *w = calloc(1, sizeof *w);
    size_t count = 0;
    ULP_TRY(ulp_taken(w, error));
    for (size_t i = 0; i < s->out->setting_count; i++)
        count += s->out->settings[i].kept ? 0 : ulp_study_run_count(&s->out->settings[i]);
    w->s = s;
    w->most = find_most(s->options);
    w->lanes = calloc(count + 1, sizeof *w->lanes);
    for (size_t i = 0; w->lanes && i < s->out->setting_count; i++)
        for (size_t t = 0;
             !s->out->settings[i].kept && t < ulp_study_run_count(&s->out->settings[i]); t++)
            w->lanes[w->lane_count++] = (struct lane){i, t};
    const enum ulp_status status = w->lanes ? walk_all(w, error) : ulp_out_of_memory(error);
    free(w->lanes);
    free(w);
    return status;
}
