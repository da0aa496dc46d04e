/* Shares of an arithmetic that overflows: those of the same one with what overflows kept in FP32,
 * in an audit of its own. */
#include <math.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "analysis/audit/audit_keep.h"
#include "analysis/audit/audit_shares.h"
#include "analysis/session/session.h"
#include "base/error.h"

static const char exact_then[] =
    "a value is not finite, and with what overflows in FP32 the outputs equal the reference's";
static const char not_helped[] = "a value is not finite, nor with what overflows in FP32";
static const char no_memory[] = "a value is not finite, and an audit with what overflows in FP32 "
                                "needs more memory: raise --max-memory";

/* An overflow hides those behind it. */
#define AUDITS_MAX 4

struct fix {
    const struct ulp_session *session;
    struct ulp_audit *audit;
    const struct ulp_samples *samples;
    struct ulp_alone alone; /* beside the reference */
    bool *kept, *reached;   /* by node */
    size_t *nodes, node_count;
};

/* What is still not finite although it is kept has its cause in what it reads: a difference has
 * cancelled, of values that were rounded before. Those that make these, as far as they are not kept
 * themselves: how many there are. */
static size_t mark_sources(struct fix *fix, const struct ulp_audit_lane *lane)
{
    size_t marked = 0;
    for (size_t n = 0; n < lane->node_count; n++)
        fix->reached[n] = lane->nodes[n].born && fix->kept[n];
    for (size_t n = lane->node_count; n-- > 0;) {
        const struct ulp_place *place = &fix->audit->places[n];
        for (size_t i = 0; fix->reached[n] && i < place->input_count; i++) {
            const ptrdiff_t source = place->inputs[i].node;
            if (source < 0 || (size_t)source >= n)
                continue;
            if (fix->kept[source]) {
                fix->reached[source] = true;
            } else {
                fix->kept[source] = true; /* and not reached: one floor at a time */
                marked++;
            }
        }
    }
    return marked;
}

/* The nodes of the lane that should be kept, and are not: are there any? */
static bool mark_nodes(struct fix *fix, const struct ulp_audit_lane *lane)
{
    const bool any = ulp_audit_mark_kept(lane, NULL, fix->kept) > 0 || mark_sources(fix, lane) > 0;
    fix->node_count = 0;
    for (size_t n = 0; n < lane->node_count; n++)
        if (fix->kept[n])
            fix->nodes[fix->node_count++] = n;
    return any;
}

static enum ulp_status keep_nodes(struct fix *fix, struct ulp_error *error)
{
    struct ulp_arithmetic single;
    ULP_TRY(ulp_arithmetic_find("fp32", &single, error));
    return ulp_alone_keep(&fix->alone, fix->nodes, fix->node_count, &single, error);
}

static enum ulp_status audit_once(const struct fix *fix, struct ulp_audit *out,
                                  struct ulp_error *error)
{
    const struct ulp_audit_options *given = fix->session->options;
    const struct ulp_program *program = fix->alone.program;
    const struct ulp_audit_options options = {.shares = true,
                                              .output = given->output,
                                              .spill = given->spill,
                                              .every_output = given->every_output,
                                              .verify = given->verify,
                                              .thread_count = given->thread_count,
                                              .progress = given->progress,
                                              .context = given->context,
                                              .begins = given->begins};
    struct ulp_programs programs = {.model = program->model,
                                    .lanes = program->lanes,
                                    .lane_count = program->lane_count,
                                    .first = fix->alone.program};
    struct ulp_session session = {.programs = &programs,
                                  .samples = fix->samples,
                                  .options = &options};
    return ulp_session_run(&session, out, error);
}

/* The shares of the other audit become those of the lane, which has its own where memory runs out.
 */
static enum ulp_status take_shares(const struct fix *fix, struct ulp_audit_lane *lane,
                                   struct ulp_audit *other, struct ulp_error *error)
{
    const struct ulp_audit_lane *from = other->lanes;
    struct ulp_attribution *to = &lane->attribution;
    const struct ulp_audit_output *worst = ulp_audit_worst(&from->outputs);
    ULP_TAKE_ARRAY(size_t, kept, fix->audit->memory, fix->node_count + 1, error);
    memcpy(kept, fix->nodes, fix->node_count * sizeof *kept);
    ulp_arena_take_over(fix->audit->memory, other->memory);
    *to = from->attribution;
    to->kept = kept;
    to->kept_count = fix->node_count;
    to->kept_output = worst ? worst->name : NULL;
    to->kept_sqnr_db = worst ? worst->entire.sqnr_db : NAN;
    if (!to->given && worst && !(worst->entire.rms > 0))
        to->reason = exact_then;
    for (size_t n = 0; n < lane->node_count; n++)
        ulp_shares_give(&lane->nodes[n], ulp_shares_of(&from->nodes[n]));
    return ULP_OK;
}

/* Lane l of the audit. */
static enum ulp_status fix_lane(struct fix *fix, size_t l, struct ulp_error *error)
{
    struct ulp_audit_lane *lane = &fix->audit->lanes[l];
    bool again = mark_nodes(fix, lane);
    enum ulp_status status = ULP_OK;
    for (int round = 0; round < AUDITS_MAX && again && status == ULP_OK; round++) {
        struct ulp_audit audit = {0};
        status = keep_nodes(fix, error);
        ULP_THEN(status, audit_once(fix, &audit, error));
        const struct ulp_audit_lane *fixed = audit.lanes;
        again = status == ULP_OK && !fixed->attribution.given &&
                fixed->attribution.reason == ulp_attribution_nonfinite && mark_nodes(fix, fixed);
        const struct ulp_audit_output *worst =
            status == ULP_OK ? ulp_audit_worst(&fixed->outputs) : NULL;
        if (status == ULP_OK && (fixed->attribution.given || (worst && !worst->entire.nonfinite)))
            status = take_shares(fix, lane, &audit, error);
        ulp_audit_free(&audit);
    }
    if (status == ULP_OK && !lane->attribution.kept_count) {
        lane->attribution.reason = not_helped;
        lane->remedy = (struct ulp_audit_remedy){.tried = true, .before_db = -INFINITY};
    }
    return status;
}

static bool needs_fix(const struct ulp_audit_lane *lane)
{
    return !lane->attribution.given && lane->attribution.reason == ulp_attribution_nonfinite &&
           ulp_audit_fp32_helps(lane);
}

/* A lane that has no shares yet, beside the reference alone. */
static enum ulp_status fix_alone(struct fix *fix, size_t l, struct ulp_error *error)
{
    const struct ulp_program *program = fix->session->programs->first;
    struct ulp_alone *alone = &fix->alone;
    enum ulp_status status =
        ulp_alone_create(program, l + 1, true, fix->samples->items[0].inputs, alone, error);
    if (status == ULP_OK) {
        fix->kept = ulp_arena_take(alone->memory, program->node_count + 1, sizeof *fix->kept);
        fix->nodes = ulp_arena_take(alone->memory, program->node_count + 1, sizeof *fix->nodes);
        fix->reached = ulp_arena_take(alone->memory, program->node_count + 1, sizeof *fix->reached);
        if (!fix->kept || !fix->reached || !fix->nodes)
            status = ulp_out_of_memory(error);
    }
    ULP_THEN(status, fix_lane(fix, l, error));
    ulp_alone_free(alone);
    /* compiled with other nodes: it stays without */
    return status == ULP_ERROR_UNSUPPORTED ? ULP_OK : status;
}

enum ulp_status ulp_session_fix_overflowing(const struct ulp_session *session,
                                            struct ulp_audit *audit,
                                            const struct ulp_samples *samples,
                                            struct ulp_error *error)
{
    const struct ulp_budget *budget = ulp_model_budget(session->programs->model);
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < audit->lane_count && samples->count && status == ULP_OK; l++) {
        const size_t refusals = ulp_budget_refusals(budget);
        struct fix fix = {.session = session, .audit = audit, .samples = samples};
        if (needs_fix(&audit->lanes[l]))
            status = fix_alone(&fix, l, error);
        if (ulp_budget_refused(budget, refusals, status)) {
            audit->lanes[l].attribution.reason = no_memory;
            status = ULP_OK;
        }
    }
    return ulp_fail_at(error, status, "shares without what overflows");
}
