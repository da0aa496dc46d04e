/* The course: how the model comes out, edits, a plan for what remains, the file (ulpscope/fix.h).
 */
#include <math.h>
#include <string.h>
#include <ulpscope/doctor.h>

#include "analysis/fix/fixing.h"
#include "analysis/measure/judged.h"
#include "analysis/scales/scales_smooth.h"
#include "analysis/search/search_remedy.h"
#include "analysis/search/search_tf32.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "base/options.h"
#include "number/format/scaling.h"
#include "number/function/math.h"

#define PLAN_RUNS 50 /* that a plan makes at least: its draws */

/* ---- what is asked ---- */

static enum ulp_status check_rules(const char *const *rules, size_t count, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text known = {0};
    const char *rule;
    for (size_t r = 0; (rule = ulp_lint_edit_rule(r)); r++)
        if (!known.data || !strstr(known.data, rule))
            ulp_text_add(&known, "%s%s", r ? ", " : "", rule);
    for (size_t i = 0; i < count; i++)
        if (!ulp_lint_has_edit(rules[i]))
            return ulp_fail(error, ULP_ERROR_USAGE, "no edit answers a rule '%s': expected %s",
                            rules[i], known.data ? known.data : "another");
    return ULP_OK;
}

/* Before anything is searched. */
static enum ulp_status check_data(const struct ulp_fixing *x, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text data = {0};
    ulp_text_add(&data, "%s.data", x->options->path);
    ULP_TRY(data.failed ? ulp_out_of_memory(error) : ULP_OK);
    if (ulp_model_is_read_from(x->model, data.data))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: has the model's weights, and the copy's would be written over them; "
                        "give the copy another name",
                        data.data);
    return ULP_OK;
}

static enum ulp_status check_fix_options(const struct ulp_fixing *x, struct ulp_error *error)
{
    const struct ulp_fix_options *options = x->options;
    if (!options->path || !*options->path)
        return ulp_fail(error, ULP_ERROR_USAGE, "a fix needs the path of the new model");
    if (ulp_model_is_read_from(x->model, options->path))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: is the model itself or has its weights, expected another name for the "
                        "copy",
                        options->path);
    ULP_TRY(check_data(x, error));
    ULP_TRY(check_rules(options->only, options->only_count, error));
    return check_rules(options->without, options->without_count, error);
}

static bool copy_text(struct ulp_fix *fix, char **out, const char *text)
{
    *out = text ? ulp_arena_copy(fix->memory, text) : NULL;
    return !text || *out;
}

static enum ulp_status begin(struct ulp_fixing *x, struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    const struct ulp_fix_options *options = x->options;
    char name[ULP_JUDGED_IN_BYTES];
    ULP_SCOPED(ulp_scoped_free) char *rests_on = NULL;
    ULP_TRY(ulp_judged_in_worse(x->model, options->target, options->arithmetic, name,
                                &x->arithmetic, error));
    ULP_TRY(ulp_judged_rests(x->model, name, options->target, &rests_on, error));
    x->target = options->target ? ulp_target_find(options->target) : NULL;
    fix->lowered = x->target && x->target->keeps != ULP_KEEPS_TYPES;
    const bool asked = options->tolerance_count;
    static const char *const fine = ULP_SEARCH_FINE;
    const char *const *tolerances = asked ? options->tolerances : &fine;
    const size_t count = asked ? options->tolerance_count : 1;
    fix->tolerances = ulp_arena_take(fix->memory, count, sizeof *fix->tolerances);
    bool copied = fix->tolerances && copy_text(fix, &fix->model_path, ulp_model_path(x->model)) &&
                  copy_text(fix, &fix->target, options->target) &&
                  copy_text(fix, &fix->arithmetic, name) &&
                  copy_text(fix, &fix->rests_on, rests_on) &&
                  copy_text(fix, &fix->reference, options->reference.name);
    for (size_t t = 0; t < count && copied; t++)
        copied = copy_text(fix, &fix->tolerances[fix->tolerance_count++], tolerances[t]);
    ULP_TRY(ulp_taken(copied, error));
    fix->sample_count = x->sample_count;
    for (size_t s = 0; s < x->sample_count; s++)
        fix->drawn |= x->samples[s].inputs->drawn;
    return ULP_OK;
}

/* ---- the plan ---- */

/* Plans keep nodes in FP32: has the arithmetic less? Where the target lowers every model itself,
 * edits are judged in draws. */
static bool may_plan(const struct ulp_fixing *x)
{
    const struct ulp_format *storage = &x->arithmetic.storage;
    struct ulp_arithmetic wide;
    struct ulp_error error;
    return (x->fix->made_count || !x->fix->lowered) && storage->precision <= 24 &&
           !x->arithmetic.schedule.qdq_integer &&
           ulp_arithmetic_find(ULP_REMEDY_KEPT_IN, &wide, &error) == ULP_OK &&
           strcmp(wide.name, x->arithmetic.name) != 0;
}

static const struct ulp_model *edited(const struct ulp_fixing *x)
{
    return x->edited ? x->edited : x->model;
}

/* What the plan keeps is what the fix keeps. */
static enum ulp_status take_plan(struct ulp_fix *fix, struct ulp_search *plan,
                                 struct ulp_error *error)
{
    fix->plan = plan;
    fix->node_count = plan->node_count;
    for (size_t t = 0; t < plan->target_count; t++) {
        fix->draw_count = plan->targets[t].draw_count;
        fix->held_count = plan->targets[t].held_count;
    }
    fix->kept_macs = plan->kept_macs;
    fix->macs = plan->macs;
    fix->kept_count = 0;
    fix->kept = ulp_arena_take(fix->memory, plan->kept_count + 1, sizeof *fix->kept);
    for (size_t k = 0; fix->kept && k < plan->kept_count; k++)
        if (!copy_text(fix, &fix->kept[fix->kept_count++], plan->kept[k].name))
            return ulp_out_of_memory(error);
    return ulp_taken(fix->kept, error);
}

static enum ulp_status search(struct ulp_fixing *x, const struct ulp_model *model,
                              struct ulp_search **out, struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    const struct ulp_fix_options *options = x->options;
    static const char *const all = "*";
    const struct ulp_search_options wanted = {
        .reference = options->reference,
        .tolerances = (const char *const *)fix->tolerances,
        .tolerance_count = options->tolerance_count,
        .confidence = options->confidence,
        .never = &all, /* nothing can be kept in FP32 */
        .never_count = fix->lowered,
        .allow_nonfinite_inputs = options->allow_nonfinite_inputs,
        .thread_count = options->thread_count,
        .progress = options->progress,
        .seconds = options->seconds > 0 ? options->seconds - fix->plan_seconds : 0};
    ULP_TAKE_ARRAY(struct ulp_search, plan, fix->memory, 1, error);
    if (options->plans) /* every draw is about such a run */
        options->plans(options->plans_context,
                       PLAN_RUNS * x->run_seconds / (double)x->sample_count);
    ULP_TRY(ulp_remedy_search(model, &wanted, fix->arithmetic,
                              options->arithmetic ? NULL : options->target, x->target != NULL,
                              x->samples, x->sample_count, plan, error));
    *out = plan;
    fix->plan_seconds += plan->seconds;
    return ULP_OK;
}

/* An edit moves roundings, so that a plan may keep more with it. */
static bool keeps_less(const struct ulp_search *plan, const struct ulp_search *than)
{
    return plan->met &&
           (!than->met || plan->kept_count < than->kept_count ||
            (plan->kept_count == than->kept_count && plan->kept_macs < than->kept_macs));
}

static void drop_edits(struct ulp_fixing *x)
{
    struct ulp_fix *fix = x->fix;
    for (size_t e = 0; e < fix->edit_count; e++)
        if (fix->edits[e].done == ULP_FIX_MADE)
            fix->edits[e].done = ULP_FIX_DEARER;
    ulp_model_free(x->edited);
    x->edited = NULL;
    fix->made_count = 0;
    fix->change = 0;
}

/* Of the edited model; where nodes are kept with edits also of the model as it is. */
static enum ulp_status plan_best(struct ulp_fixing *x, const struct ulp_fix_judged *before,
                                 struct ulp_fix_judged *after, struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    struct ulp_search *plan = NULL, *alone = NULL;
    ULP_TRY(search(x, edited(x), &plan, error));
    ULP_TRY(take_plan(fix, plan, error));
    const bool is_stopped = x->options->seconds > 0 && fix->plan_seconds >= x->options->seconds;
    if (!fix->made_count || !fix->kept_count || is_stopped)
        return ULP_OK;
    ULP_TRY(search(x, x->model, &alone, error));
    fix->with_edits_count = plan->met ? plan->kept_count : 0;
    fix->without_edits_count = alone->met ? alone->kept_count : 0;
    if (keeps_less(alone, plan)) {
        drop_edits(x);
        fix->edited = fix->before;
        *after = *before;
        ulp_search_free(plan);
        return take_plan(fix, alone, error);
    }
    ulp_search_free(alone);
    return ULP_OK;
}

/* What the plan keeps, of the edited model. */
static enum ulp_status list_keeps(struct ulp_fixing *x, struct ulp_keeps *out,
                                  struct ulp_error *error)
{
    const struct ulp_search *plan = x->fix->plan;
    const size_t count = plan ? plan->entry_count : 0;
    ULP_TAKE_ARRAY(struct ulp_keep, items, x->fix->memory, count + 1, error);
    for (size_t e = 0; e < count; e++) {
        items[e].pattern = plan->entries[e].pattern;
        ULP_TRY(ulp_arithmetic_find(plan->entries[e].arithmetic, &items[e].arithmetic, error));
    }
    *out = (struct ulp_keeps){.count = count, .items = items, .name = "fix"};
    return ULP_OK;
}

/* ---- the file ---- */

static enum ulp_status give_reason(struct ulp_fixing *x, const char *reason,
                                   struct ulp_error *error)
{
    return copy_text(x->fix, &x->fix->reason, reason) ? ULP_OK : ulp_out_of_memory(error);
}

/* At which sizes edits were checked. */
static enum ulp_status say_checked(struct ulp_fixing *x, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_resized_say(&text, &x->resized, x->sample_count);
    ULP_TRY(ulp_taken(!text.failed, error));
    return copy_text(x->fix, &x->fix->checked, text.data) ? ULP_OK : ulp_out_of_memory(error);
}

/* Of edits alone: the file that is there gives what the edited model gave. */
static enum ulp_status write_edits(struct ulp_fixing *x, struct ulp_error *error)
{
    const char *path = x->options->path;
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_altered_free) struct ulp_altered change = {0};
    ULP_TRY(ulp_edit_file(edited(x), NULL, 0, path, error));
    ULP_TRY(ulp_model_load(path, ulp_model_budget(x->model), &model, error));
    ULP_TRY(ulp_fix_change(x, model, &change, error));
    if (change.most == x->fix->change)
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                    "the file changes %.3g of an output's rms and the edits %.3g: %s", change.most,
                    x->fix->change, change.text.data ? change.text.data : "");
}

static enum ulp_status write_types(struct ulp_fixing *x, const struct ulp_keeps *keeps,
                                   struct ulp_error *error)
{
    const char *path = x->options->path, *slash = strrchr(path, '/');
    char *folder =
        slash ? ulp_arena_text(x->fix->memory, path, slash == path ? 1 : (size_t)(slash - path))
              : ulp_arena_copy(x->fix->memory, ".");
    const struct ulp_mixed_options wanted = {.arithmetic = x->arithmetic,
                                             .keeps = *keeps,
                                             .thread_count = x->options->thread_count,
                                             .progress = x->options->progress,
                                             .name = slash ? slash + 1 : path};
    return folder ? ulp_mixed_write(edited(x), &wanted, x->samples, x->sample_count, folder,
                                    &x->fix->mixed, error)
                  : ulp_out_of_memory(error);
}

/* With types where the target takes them from the graph; else the edits alone, for what lowers
 * every model itself. */
static enum ulp_status write_model(struct ulp_fixing *x, const struct ulp_keeps *keeps,
                                   struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    if (!fix->lowered)
        ULP_TRY(write_types(x, keeps, error));
    fix->types = fix->mixed.path != NULL;
    if (fix->mixed.reason)
        ULP_TRY(give_reason(x, fix->mixed.reason, error));
    const bool wide = fix->kept_count && fix->kept_count == fix->node_count;
    if (!fix->types && ((fix->kept_count && !wide) || !(fix->made_count || x->guarded)))
        return ULP_OK;
    if (!fix->types)
        ULP_TRY(write_edits(x, error));
    if (fix->made_count)
        ULP_TRY(say_checked(x, error));
    if (!copy_text(fix, &fix->path, x->options->path))
        return ulp_out_of_memory(error);
    return ULP_OK;
}

/* ---- smooth scales ---- */

/* Of formats with scales: a channel that is an outlier is scaled down in front of its product, by
 * what the samples hold. */
static enum ulp_status propose_smooth(struct ulp_fixing *x, struct ulp_error *error)
{
    struct ulp_lint *lint = &x->proposals.lint;
    struct ulp_smooths smooths = {0};
    if (!ulp_scaling_is_used(&x->arithmetic))
        return ULP_OK;
    ULP_TRY(ulp_smooth_find(x->model, x->samples, x->sample_count, x->options->thread_count,
                            lint->arena, &smooths, error));
    for (size_t i = 0; i < smooths.count; i++) {
        const struct ulp_smooth *smooth = &smooths.items[i];
        for (size_t n = 0; n < lint->node_count; n++)
            if (lint->places[n].node == smooth->node && !x->proposals.covered[n])
                ulp_lint_propose_edit(&x->proposals, &smooth->edit, "outlier-channel",
                                      lint->places[n], true,
                                      "its channels are divided by powers of two that its weights "
                                      "are multiplied by; channel %zu is %.3g times the median's",
                                      smooth->channel, smooth->ratio);
    }
    return lint->failed ? ulp_out_of_memory(error) : ULP_OK;
}

/* ---- all of it ---- */

/* Where nothing is asked, what outputs are for must come out better, too: boxes at 40 dB may lie
 * elsewhere. What cannot be judged so has its decibels. */
static bool is_better(const struct ulp_fixing *x, const struct ulp_fix_judged *before,
                      const struct ulp_fix_judged *after)
{
    return x->options->tolerance_count || after->grade == ULP_GRADE_FINE ||
           after->grade == ULP_GRADE_NOT ||
           ulp_grade_weigh(after->grade) < ulp_grade_weigh(before->grade);
}

static enum ulp_status say_why_not(struct ulp_fixing *x, bool found, struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    if (found)
        return give_reason(x,
                           "40 dB are not enough for it: try --tolerance sqnr_db=60, or --best "
                           "writes it",
                           error);
    if (fix->lowered) {
        fix->reason = ulp_remedy_say_wider(x->target, fix->memory);
        return ulp_taken(fix->reason, error);
    }
    return give_reason(x,
                       fix->plan || fix->made_count
                           ? "nothing that was tried meets it: --best writes what came nearest"
                           : "no edit helps, and a plan keeps no more than " ULP_REMEDY_KEPT_IN,
                       error);
}

static struct ulp_lint_options looking(const struct ulp_fixing *x)
{
    return (struct ulp_lint_options){.targets = x->target ? x->target->bit : 0,
                                     .dims = x->options->dims,
                                     .dim_count = x->options->dim_count,
                                     .original = x->options->original,
                                     .inputs = x->samples[0].inputs};
}

/* What the lint calls an error there of what comes of it: no figure shows that a target refuses a
 * graph, so that it is not fixed. */
static enum ulp_status say_refused(struct ulp_fixing *x, bool *refuses, struct ulp_error *error)
{
    const struct ulp_lint_options options = looking(x);
    ULP_SCOPED(ulp_refusal_free) struct ulp_refusal found = {0};
    ULP_TRY(ulp_lint_refusal(edited(x), x->fix->target, &options, &found, error));
    *refuses = found.refuses;
    if (!found.what)
        return ULP_OK;
    x->fix->met = false;
    x->fix->refused = ulp_arena_copy(x->fix->memory, found.what);
    x->fix->refused_fix = ulp_arena_copy(x->fix->memory, found.fix);
    return ulp_taken(x->fix->refused && x->fix->refused_fix, error);
}

static enum ulp_status mend(struct ulp_fixing *x, const struct ulp_fix_judged *before,
                            struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    const struct ulp_lint_options options = looking(x);
    const struct ulp_format *storage = &x->arithmetic.storage;
    const double epsilon =
        ulp_math_exp2(storage->emin - (storage->subnormals ? storage->precision - 1 : 0));
    struct ulp_fix_judged after;
    struct ulp_keeps keeps;
    ULP_TRY(ulp_lint_propose(x->model, &options, epsilon, &x->proposals, error));
    ULP_TRY(propose_smooth(x, error));
    x->given = (struct ulp_resizing){.model = x->model,
                                     .lane = &x->options->reference,
                                     .samples = x->samples,
                                     .sample_count = x->sample_count,
                                     .thread_count = x->options->thread_count,
                                     .progress = x->options->progress};
    ULP_TRY(ulp_fix_try_edits(x, before, &after, error));
    if (ulp_fix_is_asked(x->options, ULP_POWERS_RULE))
        ULP_TRY(ulp_fix_carry_powers(x, &after, error));
    ULP_TRY(ulp_fix_report(x, &after, &fix->edited, error));
    if (may_plan(x)) /* judged in draws, also that nothing needs to be kept */
        ULP_TRY(plan_best(x, before, &after, error));
    ULP_TRY(list_keeps(x, &keeps, error));
    const bool forbidden = fix->plan && ulp_tf32_is_forbidden(fix->plan);
    if (forbidden)
        ULP_TRY(ulp_fix_judged_in(x, x->model, x->options->arithmetic, &x->arithmetic, error));
    if (keeps.count || forbidden)
        ULP_TRY(ulp_fix_judge(x, edited(x), &keeps, &after, error));
    ULP_TRY(ulp_fix_report(x, &after, &fix->after, error));
    const bool found = fix->plan ? fix->plan->met : ulp_fix_is_met(x, &after);
    fix->met = found && is_better(x, before, &after);
    if (!fix->met && !x->options->best)
        return say_why_not(x, found, error);
    ULP_TRY(write_model(x, &keeps, error));
    fix->met &= fix->path != NULL;
    return fix->path || fix->reason ? ULP_OK : say_why_not(x, false, error);
}

/* Where 0 / 0 leaves nothing to judge, and values may change, with guards. */
static enum ulp_status open_judged(struct ulp_fixing *x, struct ulp_fix_judged *before,
                                   struct ulp_error *error)
{
    const enum ulp_status status = ulp_fix_open(x, before, error);
    if (status != ULP_ERROR_LIMIT || !x->options->allow_value_change ||
        !ulp_fix_is_asked(x->options, ULP_GUARD_RULE))
        return status;
    const struct ulp_error why = *error;
    ulp_emulation_close(&x->emulation);
    x->emulation = (struct ulp_emulation){0};
    ULP_TRY(ulp_fix_guard(x, error));
    *error = why;
    return x->guarded ? ulp_fix_open(x, before, error) : status;
}

/* Guards are made before anything is tried, and said behind that. */
static enum ulp_status say_guards(struct ulp_fixing *x, struct ulp_error *error)
{
    for (size_t g = 0; g < x->guard_count; g++)
        ULP_TRY(ulp_fix_say_edit(x, &x->guards[g],
                                 (struct ulp_fix_edit){.gain = INFINITY, .change = INFINITY}, 0,
                                 error));
    x->fix->made_count += x->guard_count;
    return ULP_OK;
}

/* What is fine as it is lacks the types all the same; where they cannot be written it is fine
 * without. */
static enum ulp_status write_fine(struct ulp_fixing *x, struct ulp_error *error)
{
    struct ulp_error refused;
    if (!x->fix->lowered && ulp_model_check_file(x->model, &refused) != ULP_OK)
        return give_reason(x, refused.message, error);
    const enum ulp_status status = write_model(x, &(struct ulp_keeps){0}, &refused);
    if (status == ULP_ERROR_UNSUPPORTED)
        return give_reason(x, refused.message, error);
    return status == ULP_OK ? ULP_OK : ulp_fail(error, status, "%s", refused.message);
}

static enum ulp_status course(struct ulp_fixing *x, struct ulp_error *error)
{
    struct ulp_fix_judged before;
    bool refuses;
    ULP_TRY(check_fix_options(x, error));
    ULP_TRY(begin(x, error));
    const double started = ulp_seconds_now();
    const enum ulp_status status = open_judged(x, &before, error);
    x->run_seconds = ulp_seconds_now() - started;
    if (status == ULP_ERROR_LIMIT)
        return ulp_fail_at(error, status, "%s", "nothing is fixed (ulpscope doctor says why)");
    ULP_TRY(status);
    ULP_TRY(ulp_fix_report(x, &before, &x->fix->before, error));
    if (x->guarded) {
        x->fix->before.grade = ULP_GRADE_BROKEN;
        ULP_TRY(ulp_taken(copy_text(x->fix, &x->fix->before.text,
                                    "a division is 0 / 0 in exact arithmetic, too"),
                          error));
    }
    if (!x->options->tolerance_count && before.grade == ULP_GRADE_FINE)
        ULP_TRY(ulp_fix_diagnose_given(x, error));
    /* no edit mends what a parser refuses */
    ULP_TRY(say_refused(x, &refuses, error));
    x->fix->edited = x->fix->after = x->fix->before;
    if (refuses)
        return ULP_OK;
    x->fix->met = !x->ill && !x->guarded && ulp_fix_is_met(x, &before);
    ULP_TRY(x->fix->met ? write_fine(x, error) : mend(x, &before, error));
    if (x->fix->met && x->fix->path && !x->options->tolerance_count)
        ULP_TRY(ulp_fix_diagnose_file(x, error));
    ULP_TRY(say_guards(x, error));
    return say_refused(x, &refuses, error);
}

enum ulp_status ulp_fix_run(const struct ulp_model *model, const struct ulp_fix_options *options,
                            const struct ulp_sample *samples, size_t sample_count,
                            struct ulp_fix *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_fix){0};
    ULP_OPTIONS_TAKE(ulp_fix_options, options, error);
    const double started = ulp_seconds_now();
    struct ulp_fixing x = {.model = model,
                           .options = options,
                           .samples = samples,
                           .sample_count = sample_count,
                           .fix = out,
                           .shared.budget = ulp_model_budget(model)};
    enum ulp_status status = ulp_arena_create(&out->memory, ulp_model_budget(model), error);
    const bool begun = ulp_files_hold();
    ULP_THEN(status, course(&x, error));
    status = ulp_files_release(begun, status, error);
    ulp_emulation_close(&x.emulation);
    ulp_resized_free(&x.resized);
    ulp_lint_proposals_free(&x.proposals);
    ulp_model_free(x.edited);
    ulp_model_free(x.guarded);
    ulp_names_free(&x.shared);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_fix_free(out);
    return status;
}

void ulp_fix_free(struct ulp_fix *fix)
{
    if (fix->plan)
        ulp_search_free(fix->plan);
    ulp_mixed_free(&fix->mixed);
    ulp_arena_free(fix->memory);
    *fix = (struct ulp_fix){0};
}
