/* The audit of one sample: its runs, and who observes them. */
#include <stdlib.h>

#include "analysis/attribution/attribution.h"
#include "analysis/audit/certify.h"
#include "analysis/session/session.h"
#include "analysis/session/twin.h"
#include "base/error.h"
#include "base/machine/environment.h"

enum { OBSERVERS_MAX = 4 };

struct one {
    const struct ulp_session *session;
    const struct ulp_audit_options *options;
    size_t index;
    const struct ulp_tensor_set *inputs;
    struct ulp_program *program;
    struct ulp_auditor *auditor;
    struct ulp_attributor *attributor; /* NULL: no shares */
    struct ulp_tensor_set weights;     /* of the original, for shares beside it */
    struct ulp_certificate certificate;
    struct ulp_run_cost cost;
    size_t run; /* of the sample's */
};

enum ulp_status ulp_samples_open(const struct ulp_samples *samples, size_t index,
                                 const struct ulp_tensor_set **out, struct ulp_error *error)
{
    *out = samples->items[index].inputs;
    if (*out || !samples->open)
        return ULP_OK;
    struct ulp_environment *paused = ulp_environment_pause();
    const enum ulp_status status = samples->open(samples->context, index, out, error);
    ulp_environment_resume(paused);
    return status;
}

void ulp_samples_close(const struct ulp_samples *samples, size_t index)
{
    if (samples->items[index].inputs || !samples->close)
        return;
    struct ulp_environment *paused = ulp_environment_pause();
    samples->close(samples->context, index);
    ulp_environment_resume(paused);
}

/* That a sample takes. */
static size_t count_runs(const struct ulp_session *session)
{
    const struct ulp_audit_options *options = session->options;
    return 1 + options->certify + (options->original ? 1 + options->shares : 0);
}

void ulp_session_begin_run(const struct ulp_session *session, size_t sample, size_t run,
                           size_t run_count)
{
    const struct ulp_audit_options *options = session->options;
    if (!options->begins)
        return;
    struct ulp_environment *paused = ulp_environment_pause();
    options->begins(options->context, sample, run, run_count);
    ulp_environment_resume(paused);
}

static void begin_run(struct one *one)
{
    const size_t runs = count_runs(one->session);
    ulp_session_begin_run(one->session, one->index, one->index * runs + one->run++,
                          one->session->samples->count * runs);
}

static enum ulp_status open_attributor(struct one *one, struct ulp_error *error)
{
    const struct ulp_audit_options *options = one->options;
    ULP_TRY(ulp_attributor_create(one->program, options->output, options->thread_count,
                                  &one->attributor, error));
    if (options->spill)
        ULP_TRY(ulp_attributor_spill(one->attributor, options->spill, error));
    if (!one->session->plain_shares)
        ulp_attributor_causes(one->attributor, options->every_output);
    ulp_attributor_verify(one->attributor, one->index == 0 ? options->verify : 0);
    return ULP_OK;
}

static enum ulp_status open_one(struct one *one, struct ulp_error *error)
{
    const struct ulp_audit_options *options = one->options;
    ULP_TRY(ulp_auditor_create(one->program, &one->auditor, error));
    ULP_TRY(ulp_auditor_threads(one->auditor, options->thread_count, error));
    one->auditor->task = options->task;
    if (options->shares)
        ULP_TRY(open_attributor(one, error));
    if (one->session->truth)
        ULP_TRY(ulp_auditor_truth(one->auditor, one->session->truth,
                                  ulp_model_path(options->original), error));
    return ULP_OK;
}

static void close_one(struct one *one)
{
    free(one->certificate.node);
    ulp_tensor_set_free(&one->weights);
    ulp_attributor_free(one->attributor);
    ulp_auditor_free(one->auditor);
}

/* The original's values; it is compiled for one sample after another. */
static enum ulp_status run_original(struct one *one, struct ulp_error *error)
{
    const struct ulp_program_options planning = {.inputs = one->inputs};
    const struct ulp_run_options run = {.thread_count = one->options->thread_count};
    const struct ulp_observer looking = ulp_truth_observer(one->session->truth);
    struct ulp_program *program;
    begin_run(one);
    ulp_truth_clear(one->session->truth);
    enum ulp_status status =
        ulp_program_create(one->options->original, one->session->programs->lanes, 1, &planning,
                           &program, error);
    for (size_t s = 0; status == ULP_OK && s < program->main->slot_count; s++)
        if (program->main->slots[s].constant && program->main->slots[s].name)
            ulp_truth_note(one->session->truth, program->main->slots[s].name);
    ULP_THEN(status, ulp_twin_pair_folded(one->program, program, one->session->truth, error));
    if (status == ULP_OK && one->attributor)
        status = ulp_twin_weights(one->options, one->program, program, &one->weights, error);
    ULP_THEN(status, ulp_program_look(program, one->inputs, &run, &looking, one->options->progress,
                                      NULL, error));
    ulp_program_free(program);
    return ulp_fail_at(error, status, "the reference model");
}

/* Once more along the reference's decisions, where a lane has left them; beside an original along
 * the original's, which the reference takes of its values. */
static enum ulp_status follow(const struct one *one, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set values = {0};
    const struct ulp_truth *truth = one->session->truth;
    const struct ulp_run_options run = {.thread_count = one->options->thread_count,
                                        .follow = true,
                                        .given = truth ? &values : NULL};
    if (!one->session->follows || !ulp_auditor_has_diverged(one->auditor))
        return ULP_OK;
    if (truth)
        ULP_TRY(ulp_twin_values(truth, one->program, one->inputs, &one->weights, &values, error));
    const struct ulp_observer looking = ulp_auditor_follower(one->auditor);
    return ulp_program_look(one->program, one->inputs, &run, &looking, one->options->progress, NULL,
                            error);
}

/* What observes the lanes. */
static size_t list_observers(const struct one *one, struct ulp_observer *out)
{
    const struct ulp_session *session = one->session;
    size_t count = 0;
    out[count++] = ulp_auditor_observer(one->auditor);
    if (one->options->progress)
        out[count++] = *one->options->progress;
    if (one->attributor && !session->truth)
        out[count++] = ulp_attributor_observer(one->attributor);
    if (session->observer)
        out[count++] = *session->observer;
    return count;
}

static enum ulp_status walk_lanes(struct one *one, struct ulp_error *error)
{
    struct ulp_observer observers[OBSERVERS_MAX];
    const size_t count = list_observers(one, observers);
    const struct ulp_session *session = one->session;
    const struct ulp_run_options run = {.thread_count = one->options->thread_count,
                                        .audit = !one->options->entire_only};
    ULP_SCOPED(ulp_scoped_free)
    struct ulp_tensor_set *outputs =
        session->ends ? calloc(session->programs->lane_count, sizeof *outputs) : NULL;
    if (session->ends && !outputs)
        return ulp_out_of_memory(error);
    if (session->begins)
        session->begins(session->context, one->index, one->program);
    ULP_TRY(ulp_program_run(one->program, one->inputs, &run, observers, count, outputs, &one->cost,
                            error));
    if (session->ends)
        ULP_TRY(session->ends(session->context, one->index, outputs, error));
    return ULP_OK;
}

/* Beside an original every node's inputs are the original's values in the reference, too, so that
 * what a node makes of them otherwise than the original is its own share. */
static enum ulp_status share_beside(struct one *one, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set values = {0};
    const struct ulp_run_options run = {.thread_count = one->options->thread_count,
                                        .audit = true,
                                        .given = &values};
    const struct ulp_observer looking = ulp_attributor_observer(one->attributor);
    begin_run(one);
    ULP_TRY(ulp_twin_values(one->session->truth, one->program, one->inputs, &one->weights, &values,
                            error));
    ulp_attributor_beside(one->attributor, &values);
    ULP_TRY(ulp_attributor_sample(one->attributor, one->inputs, error));
    ULP_TRY(ulp_program_look(one->program, one->inputs, &run, &looking, one->options->progress,
                             NULL, error));
    return ulp_attributor_sweep(one->attributor, error);
}

/* What a decision behind another decides of stands in another order, perhaps: once more with rows
 * of one index in one place. */
static enum ulp_status share_in_order(struct one *one, struct ulp_error *error)
{
    const struct ulp_run_options run = {.thread_count = one->options->thread_count,
                                        .audit = true,
                                        .in_order = true};
    const struct ulp_observer looking = ulp_attributor_observer(one->attributor);
    ULP_TRY(ulp_attributor_sample(one->attributor, one->inputs, error));
    return ulp_program_look(one->program, one->inputs, &run, &looking, one->options->progress, NULL,
                            error);
}

static enum ulp_status run_lanes(struct one *one, struct ulp_error *error)
{
    begin_run(one);
    ULP_TRY(ulp_auditor_sample(one->auditor, one->session->samples->items[one->index].name, error));
    one->auditor->audit.drawn |= one->inputs && one->inputs->drawn;
    const bool own = one->attributor && !one->session->truth;
    if (own)
        ULP_TRY(ulp_attributor_sample(one->attributor, one->inputs, error));
    ULP_TRY(walk_lanes(one, error));
    if (own && one->auditor->reordered)
        ULP_TRY(share_in_order(one, error));
    if (own)
        ULP_TRY(ulp_attributor_sweep(one->attributor, error));
    else if (one->attributor)
        ULP_TRY(share_beside(one, error));
    ULP_TRY(ulp_auditor_settle(one->auditor, one->inputs, one->options->thread_count, error));
    return follow(one, error);
}

static enum ulp_status certify(struct one *one, struct ulp_error *error)
{
    const struct ulp_run_options run = {.thread_count = one->options->thread_count, .audit = true};
    const struct ulp_programs *programs = one->session->programs;
    begin_run(one);
    return ulp_certify(programs->model, &programs->lanes[0], one->inputs, &run,
                       one->options->progress, &one->certificate, error);
}

static enum ulp_status finish_one(struct one *one, struct ulp_audit *out, struct ulp_error *error)
{
    enum ulp_status status = ulp_auditor_finish(one->auditor, out, error);
    if (status == ULP_OK && one->attributor)
        status = ulp_attributor_finish(one->attributor, out, error);
    out->certificate = one->certificate;
    one->certificate = (struct ulp_certificate){0};
    out->seconds = one->cost.seconds;
    out->peak_bytes = one->cost.peak_bytes;
    return status;
}

/* The audit in the program as it is. */
static enum ulp_status make_one(const struct ulp_session *session, size_t index,
                                const struct ulp_tensor_set *inputs, struct ulp_program *program,
                                struct ulp_audit *out, struct ulp_error *error)
{
    ULP_SCOPED(close_one)
    struct one one = {.session = session,
                      .options = session->options,
                      .index = index,
                      .inputs = inputs,
                      .program = program};
    ULP_TRY(open_one(&one, error));
    if (session->truth)
        ULP_TRY(run_original(&one, error));
    ULP_TRY(run_lanes(&one, error));
    const struct ulp_lost *lost = &one.auditor->lost;
    if (session->options->certify || lost->suspected)
        ULP_TRY(certify(&one, error));
    one.certificate.lost = lost->suspected;
    one.certificate.lost_at = lost->node;
    return finish_one(&one, out, error);
}

enum ulp_status ulp_session_sample(const struct ulp_session *session, size_t index,
                                   struct ulp_audit *out, struct ulp_error *error)
{
    const struct ulp_tensor_set *inputs;
    struct ulp_program *program;
    *out = (struct ulp_audit){0};
    ULP_TRY(ulp_samples_open(session->samples, index, &inputs, error));
    enum ulp_status status = ulp_programs_choose(session->programs, inputs, &program, error);
    ULP_THEN(status, make_one(session, index, inputs, program, out, error));
    ulp_samples_close(session->samples, index);
    if (status != ULP_OK)
        ulp_audit_free(out);
    return status;
}
