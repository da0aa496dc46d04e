/* The runs of `ulpscope audit`: every sample through all lanes, observed by the auditor, and where
 * asked for also by the attributor; the original's values, the certificate, other schedules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/audit.h"
#include "cli/ranks.h"

/* What the samples of one audit share. */
struct session {
    const struct audit_options *options;
    struct ulp_plans plans;  /* of the lanes that this process has */
    struct ulp_plans all;    /* the first sample's of all lanes, where others have some */
    struct lane_list own;    /* they have: what is left of them */
    struct ulp_auditor *sum; /* of all samples and lanes; NULL in ranks that add nothing */
    struct original original;
    struct progress progress;
    /* of the current sample */
    struct ulp_plan *plan;
    struct ulp_auditor *auditor;
    struct ulp_departure *departure;   /* NULL: --reference-model, whose decisions may be others */
    struct ulp_attributor *attributor; /* NULL: --no-attribute */
    struct ulp_quick *quick;           /* NULL: no --quick, or all nodes at 128 bits */
    struct ulp_certificate certificate;
    double seconds;
    size_t peak_bytes;
};

/* NULL: values are kept in memory alone. */
static const char *spill_folder(const struct audit_options *options)
{
    return options->attribute != ATTRIBUTE_YES ? NULL
           : getenv("TMPDIR")                  ? getenv("TMPDIR")
                                               : "/tmp";
}

/* What the sum is of: the first sample's plan of all lanes. */
static enum ulp_status plan_whole(struct session *session, const struct ulp_tensor_set *inputs,
                                  struct ulp_plan **out, struct ulp_error *error)
{
    if (!session->all.lanes)
        *out = session->plans.first;
    return session->all.lanes ? ulp_plans_choose(&session->all, inputs, out, error) : ULP_OK;
}

static enum ulp_status open_sum(struct session *session, const struct ulp_tensor_set *inputs,
                                struct ulp_error *error)
{
    const struct audit_options *options = session->options;
    struct ulp_plan *whole;
    enum ulp_status status = plan_whole(session, inputs, &whole, error);
    for (size_t i = 0; i < options->limit_count && status == ULP_OK; i++)
        status = ulp_limit_check(options->limits[i], session->plans.model, whole, error);
    if (status == ULP_OK)
        status = ulp_auditor_create(whole, &session->sum, error);
    if (status == ULP_OK && options->reference_model)
        status = ulp_auditor_truth(session->sum, session->original.truth, options->reference_model,
                                   error);
    return status;
}

/* Ranks have lanes of their own. */
static enum ulp_status open_shared(struct session *session, const struct lane_list *lanes,
                                   struct ulp_error *error)
{
    session->all = session->plans;
    const enum ulp_status status = share_lanes(lanes, &session->own, error);
    session->plans = lane_plans(&session->own, session->all.model);
    return status;
}

static enum ulp_status open_session(struct session *session, bool shared,
                                    const struct lane_list *lanes,
                                    const struct sample_list *samples, struct ulp_error *error)
{
    const struct audit_options *options = session->options;
    const struct ulp_tensor_set *inputs = &samples->items[0].inputs;
    progress_init(&session->progress, options->common.quiet,
                  samples->count * (1 + options->certify + (options->reference_model != NULL)));
    session->progress.sample_count = samples->count;
    enum ulp_status status = shared ? open_shared(session, lanes, error) : ULP_OK;
    if (status == ULP_OK && options->reference_model)
        status = open_original(options, &session->original, error);
    ulp_timer_phase(options->timer, ULP_TIMED_PLANNING);
    if (status == ULP_OK)
        status = ulp_plans_choose(&session->plans, inputs, &session->plan, error);
    if (status == ULP_OK && (!shared || ranks_self() == 0))
        status = open_sum(session, inputs, error);
    ulp_timer_phase(options->timer, ULP_TIMED_OTHER);
    return status;
}

/* Every sample has an auditor and an attributor of its own. */
static enum ulp_status open_sample(struct session *session, bool first, bool quick,
                                   struct ulp_error *error)
{
    const struct audit_options *options = session->options;
    const int threads = options->common.threads;
    enum ulp_status status = ulp_auditor_create(session->plan, &session->auditor, error);
    if (status == ULP_OK)
        status = ulp_auditor_threads(session->auditor, threads, error);
    if (status == ULP_OK && !options->reference_model)
        status = ulp_departure_create(session->plan, &session->departure, error);
    if (status == ULP_OK && options->attribute != ATTRIBUTE_NO)
        status = ulp_attributor_create(session->plan, options->output, threads,
                                       &session->attributor, error);
    if (status == ULP_OK && quick)
        status = ulp_quick_create(session->plan, threads, &session->quick, error);
    if (status == ULP_OK && spill_folder(options))
        status = ulp_attributor_spill(session->attributor, spill_folder(options), error);
    if (session->attributor) {
        ulp_attributor_causes(session->attributor);
        ulp_attributor_verify(session->attributor, first ? options->verify : 0);
    }
    if (status == ULP_OK && options->reference_model)
        status = ulp_auditor_truth(session->auditor, session->original.truth,
                                   options->reference_model, error);
    return status;
}

static void close_sample(struct session *session)
{
    free(session->certificate.node);
    session->certificate = (struct ulp_certificate){0};
    ulp_attributor_free(session->attributor);
    ulp_auditor_free(session->auditor);
    ulp_departure_free(session->departure);
    ulp_quick_free(session->quick);
    session->departure = NULL;
    session->quick = NULL;
    session->attributor = NULL;
    session->auditor = NULL;
    session->seconds = 0;
    session->peak_bytes = 0;
}

static void close_session(struct session *session)
{
    progress_clear(&session->progress);
    close_sample(session);
    ulp_auditor_free(session->sum);
    ulp_plans_free(&session->plans);
    ulp_plans_free(&session->all);
    free_picked_lanes(&session->own);
    close_original(&session->original);
}

/* All lanes; a second time along the reference's decisions where a lane has left them. */
static enum ulp_status run_lanes(struct session *session, const struct sample *sample,
                                 struct ulp_error *error)
{
    const int threads = session->options->common.threads;
    struct ulp_timer *timer = session->options->timer;
    struct ulp_departure *departure = session->departure;
    const struct ulp_run_options run = {.thread_count = threads,
                                        .audit = true,
                                        .departure = departure},
                                 follow = {.thread_count = threads,
                                           .follow = true,
                                           .departure = departure};
    struct ulp_attributor *attributor = session->attributor;
    struct ulp_observer auditing = ulp_auditor_observer(session->auditor), attributing, checking;
    struct ulp_observer observers[5] = {ulp_timer_observer(timer, session->plan),
                                        ulp_timer_watch(timer, ULP_TIMED_MEASURING, &auditing),
                                        progress_observer(&session->progress)};
    struct ulp_run_cost cost = {0};
    enum ulp_status status = ulp_auditor_sample(session->auditor, sample->name, error);
    size_t count = 3;
    if (session->quick) {
        checking = ulp_quick_observer(session->quick);
        observers[count++] = ulp_timer_watch(timer, ULP_TIMED_CERTIFYING, &checking);
    }
    if (status == ULP_OK && attributor) {
        attributing = ulp_attributor_observer(attributor);
        observers[count++] = ulp_timer_watch(timer, ULP_TIMED_ATTRIBUTING, &attributing);
        status = ulp_attributor_sample(attributor, &sample->inputs, error);
    }
    ulp_timer_phase(timer, ULP_TIMED_RUNNING);
    if (status == ULP_OK)
        status = ulp_plan_run(session->plan, &sample->inputs, &run, observers, count, NULL, &cost,
                              error);
    ulp_timer_phase(timer, ULP_TIMED_ATTRIBUTING);
    if (status == ULP_OK && attributor)
        status = ulp_attributor_sweep(attributor, error);
    ulp_timer_phase(timer, ULP_TIMED_RUNNING);
    if (status == ULP_OK && ulp_auditor_has_diverged(session->auditor)) {
        auditing = ulp_auditor_follower(session->auditor);
        observers[1] = ulp_timer_watch(timer, ULP_TIMED_MEASURING, &auditing);
        status =
            ulp_plan_run(session->plan, &sample->inputs, &follow, observers, 3, NULL, NULL, error);
    }
    ulp_timer_phase(timer, ULP_TIMED_OTHER);
    session->seconds += cost.seconds;
    session->peak_bytes =
        cost.peak_bytes > session->peak_bytes ? cost.peak_bytes : session->peak_bytes;
    return status;
}

/* The reference alone is looked at: once is enough where ranks share lanes. */
static bool is_certified(const struct session *session)
{
    return session->options->certify && (!session->all.lanes || ranks_self() == 0);
}

/* Each run is a part of the progress. */
static enum ulp_status run_sample(struct session *session, const struct sample *sample,
                                  struct ulp_error *error)
{
    const struct audit_options *options = session->options;
    const struct ulp_run_options run = {.thread_count = options->common.threads, .audit = true};
    const struct ulp_observer progress = progress_observer(&session->progress);
    enum ulp_status status = ULP_OK;
    if (options->reference_model) {
        ulp_timer_phase(options->timer, ULP_TIMED_ORIGINAL);
        status = run_original(&session->original, &session->plans.lanes[0], &sample->inputs, &run,
                              &progress, error);
        session->progress.part++;
    }
    if (status == ULP_OK)
        status = run_lanes(session, sample, error);
    session->progress.part++;
    if (status == ULP_OK && is_certified(session)) {
        ulp_timer_phase(options->timer, ULP_TIMED_CERTIFYING);
        status = ulp_certify(session->plans.model, &session->plans.lanes[0], &sample->inputs, &run,
                             &progress, &session->certificate, error);
        session->progress.part++;
    }
    ulp_timer_phase(options->timer, ULP_TIMED_OTHER);
    return status;
}

/* Arithmetics that overflow: once more with what overflows kept in FP32, on so many samples of the
 * first one's shapes, which lie evenly among all: a data set may be in the order of its classes. */
#define OVERFLOWING_SAMPLES 16

/* Of samples [from, until) the first that the plan takes, loaded; NULL: none. */
static enum ulp_status load_taken(const struct session *session, const struct ulp_plan *plan,
                                  const struct sample_list *samples, size_t from, size_t until,
                                  struct sample **out, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *out = NULL;
    for (size_t s = from; s < until && !*out && status == ULP_OK; s++) {
        struct sample *sample = &samples->items[s];
        status = load_sample(session->plans.model, sample, error);
        if (status == ULP_OK && ulp_plan_takes(plan, &sample->inputs))
            *out = sample;
        else
            drop_sample(sample);
    }
    return status;
}

static enum ulp_status attribute_overflowing(struct session *session,
                                             const struct sample_list *samples,
                                             struct ulp_audit *audit, struct ulp_error *error)
{
    const struct audit_options *options = session->options;
    struct sample *taken[OVERFLOWING_SAMPLES];
    const struct ulp_tensor_set *inputs[OVERFLOWING_SAMPLES];
    struct ulp_plan *whole;
    size_t count = 0;
    bool any = false;
    for (size_t l = 0; l < audit->lane_count; l++)
        any |= !audit->lanes[l].attribution.given && audit->lanes[l].attribution.reason;
    if (!any)
        return ULP_OK;
    enum ulp_status status = plan_whole(session, &samples->items[0].inputs, &whole, error);
    for (size_t part = 0; part < OVERFLOWING_SAMPLES && status == ULP_OK; part++) {
        status =
            load_taken(session, whole, samples, part * samples->count / OVERFLOWING_SAMPLES,
                       (part + 1) * samples->count / OVERFLOWING_SAMPLES, &taken[count], error);
        if (status == ULP_OK && taken[count]) {
            inputs[count] = &taken[count]->inputs;
            count++;
        }
    }
    progress_init(&session->progress, options->common.quiet, count);
    const struct ulp_observer progress = progress_observer(&session->progress);
    const struct ulp_attribution_options shares = {.output = options->output,
                                                   .folder = spill_folder(options),
                                                   .verify = options->verify,
                                                   .thread_count = options->common.threads,
                                                   .progress = &progress};
    if (status == ULP_OK)
        status = ulp_audit_attribute_overflowing(audit, whole, inputs, count, &shares, error);
    for (size_t s = 1; s < count; s++)
        drop_sample(taken[s]);
    progress_clear(&session->progress);
    return status;
}

static enum ulp_status finish_session(struct session *session, const struct sample_list *samples,
                                      struct ulp_audit *audit, struct ulp_error *error)
{
    progress_clear(&session->progress);
    ulp_plans_drop(&session->plans);
    enum ulp_status status = ulp_auditor_finish(session->sum, audit, error);
    ulp_timer_phase(session->options->timer, ULP_TIMED_ATTRIBUTING);
    if (status == ULP_OK && session->options->attribute != ATTRIBUTE_NO)
        status = attribute_overflowing(session, samples, audit, error);
    if (status == ULP_OK && session->options->group)
        status = ulp_audit_group_shares(audit, session->options->group, error);
    ulp_timer_phase(session->options->timer, ULP_TIMED_OTHER);
    return status;
}

/* The audit of one sample, in the plan as it is. quick: its reference is looked at. */
static enum ulp_status make_audit(struct session *session, size_t index, struct sample *sample,
                                  bool quick, struct ulp_audit *out, struct ulp_error *error)
{
    enum ulp_status status = open_sample(session, index == 0, quick, error);
    if (status == ULP_OK)
        status = run_sample(session, sample, error);
    if (status == ULP_OK)
        status = ulp_auditor_finish(session->auditor, out, error);
    if (status == ULP_OK && session->attributor)
        status = ulp_attributor_finish(session->attributor, out, error);
    if (status == ULP_OK && quick)
        status = ulp_quick_judge(session->quick, out, error);
    if (status == ULP_OK) {
        out->certificate = session->certificate;
        session->certificate = (struct ulp_certificate){0};
        out->seconds = session->seconds;
        out->peak_bytes = session->peak_bytes;
    }
    return status;
}

/* The reference's nodes in `wide` at 128 bits. */
static enum ulp_status widen_reference(struct session *session, const bool *wide, size_t *count,
                                       struct ulp_error *error)
{
    const size_t nodes = ulp_plan_node_count(session->plan);
    struct ulp_keep *items = calloc(nodes + 1, sizeof *items);
    char(*patterns)[24] = calloc(nodes + 1, sizeof *patterns);
    enum ulp_status status =
        items && patterns ? ULP_OK : ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    *count = 0;
    for (size_t n = 0; n < nodes && status == ULP_OK; n++) {
        if (!wide[n])
            continue;
        snprintf(patterns[*count], sizeof *patterns, "#%zu", n);
        items[*count].pattern = patterns[*count];
        status = ulp_arithmetic_find("mpfr:128", &items[(*count)++].arithmetic, error);
    }
    const struct ulp_keeps keeps = {.count = *count, .items = items, .name = "128 bits"};
    if (status == ULP_OK)
        status = ulp_plan_keep(session->plan, 0, &keeps, error);
    free(patterns);
    free(items);
    return status;
}

/* --quick: in FP64; where that is not enough at 128 bits; when something is doubtful after so many
 * turns all nodes. Every sample begins in FP64, so that none depends on those before it. */
#define QUICK_TURNS 4

static enum ulp_status make_quick_audit(struct session *session, size_t index,
                                        struct sample *sample, struct ulp_audit *out,
                                        struct ulp_error *error)
{
    static const struct ulp_keeps none;
    const size_t nodes = ulp_plan_node_count(session->plan);
    bool *wide = calloc(nodes + 1, sizeof *wide);
    size_t recomputed = 0, doubtful = 0;
    enum ulp_status status = wide ? ULP_OK : ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (int turn = 0; turn <= QUICK_TURNS && status == ULP_OK; turn++) {
        const bool last = turn == QUICK_TURNS;
        for (size_t n = 0; n < nodes && last; n++)
            wide[n] = true;
        status = widen_reference(session, wide, &recomputed, error);
        if (status == ULP_OK)
            status = make_audit(session, index, sample, !last, out, error);
        if (status != ULP_OK)
            break;
        if (last)
            out->quick =
                (struct ulp_quick_check){.given = true, .worst_node = -1, .doubtful = doubtful};
        out->quick.recomputed = recomputed;
        doubtful = out->quick.doubtful;
        if (!doubtful || last)
            break;
        for (size_t n = 0; n < nodes; n++)
            wide[n] |= ulp_quick_is_doubtful(session->quick, n);
        ulp_audit_free(out);
        close_sample(session);
    }
    if (status == ULP_OK)
        status = ulp_plan_keep(session->plan, 0, &none, error);
    free(wide);
    return status;
}

/* The audit of sample `index` alone; what the sum of all is made of. */
static enum ulp_status audit_one(void *context, size_t index, struct sample *sample,
                                 struct ulp_audit *out, struct ulp_error *error)
{
    struct session *session = context;
    session->progress.sample = index + 1;
    ulp_timer_phase(session->options->timer, ULP_TIMED_LOADING);
    enum ulp_status status = load_sample(session->plans.model, sample, error);
    ulp_timer_phase(session->options->timer, ULP_TIMED_PLANNING);
    if (status == ULP_OK)
        status = ulp_plans_choose(&session->plans, &sample->inputs, &session->plan, error);
    ulp_timer_phase(session->options->timer, ULP_TIMED_OTHER);
    if (status == ULP_OK)
        status = session->options->quick ? make_quick_audit(session, index, sample, out, error)
                                         : make_audit(session, index, sample, false, out, error);
    close_sample(session);
    if (index > 0)
        drop_sample(sample);
    return status;
}

/* The spread over schedules of every audited arithmetic, on the first sample. */
static enum ulp_status run_schedules(const struct audit_options *options,
                                     const struct ulp_model *model,
                                     const struct ulp_arithmetic *lanes, size_t lane_count,
                                     const struct sample_list *samples, struct ulp_audit *audit,
                                     struct ulp_error *error)
{
    struct ulp_run_options run = {.thread_count = options->common.threads};
    struct progress progress;
    enum ulp_status status = ULP_OK;
    progress_init(&progress, options->common.quiet, lane_count - 1);
    struct ulp_observer observer = progress_observer(&progress);
    audit->spreads = calloc(lane_count, sizeof *audit->spreads);
    if (!audit->spreads)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (size_t l = 1; l < lane_count && status == ULP_OK; l++) {
        status = ulp_spreads_measure(model, &lanes[0], &lanes[l], &samples->items[0].inputs, &run,
                                     &observer, &audit->spreads[audit->spread_count], error);
        audit->spread_count += status == ULP_OK;
        progress.part++;
    }
    progress_clear(&progress);
    return status;
}

enum ulp_status audit_samples(const struct audit_options *options, const struct ulp_model *model,
                              const struct lane_list *lanes, const struct sample_list *samples,
                              struct ulp_audit *audit, bool *whole, struct ulp_error *error)
{
    struct session session = {.options = options, .plans = lane_plans(lanes, model)};
    const bool shared = options->lanes_over_ranks && ranks_count() > 1 && !options->merge;
    const struct audit_parts parts = {.options = options,
                                      .model = model,
                                      .lanes = lanes,
                                      .samples = samples,
                                      .make = audit_one,
                                      .context = &session,
                                      .shared = shared};
    enum ulp_status status = open_session(&session, shared, lanes, samples, error);
    if (status == ULP_OK)
        status = audit_parts(&parts, session.sum, whole, error);
    progress_clear(&session.progress);
    if (status == ULP_OK && *whole)
        status = finish_session(&session, samples, audit, error);
    close_session(&session);
    if (status == ULP_OK && *whole && options->schedules) {
        ulp_timer_phase(options->timer, ULP_TIMED_SCHEDULES);
        status =
            run_schedules(options, model, lanes->arithmetics, lanes->count, samples, audit, error);
    }
    ulp_timer_phase(options->timer, ULP_TIMED_OTHER);
    return status;
}
