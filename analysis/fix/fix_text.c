/* A fix as text: how it was, how it is, what was done. */
#include <math.h>

#include "analysis/fix/fixing.h"
#include "analysis/search/written/search_text.h"
#include "analysis/search/search_tf32.h"
#include "analysis/writing/first_screen.h"

static bool keeps_all(const struct ulp_fix *fix)
{
    return fix->kept_count && fix->kept_count == fix->node_count;
}

static void add_done(struct ulp_text *out, const struct ulp_fix *fix)
{
    if (fix->made_count)
        ulp_text_add(out, "%zu edit%s", fix->made_count, fix->made_count == 1 ? "" : "s");
    if (keeps_all(fix))
        ulp_text_add(out,
                     fix->node_count == 1 ? "%sits one node in FP32" : "%sall %zu nodes in FP32",
                     fix->made_count ? " and " : "", fix->node_count);
    else if (fix->kept_count)
        ulp_text_add(out, "%s%zu of %zu nodes in FP32", fix->made_count ? " and " : "",
                     fix->kept_count, fix->node_count);
    if (!fix->made_count && !fix->kept_count)
        ulp_text_add(out, "nothing");
    if (fix->plan)
        ulp_tf32_say(out, fix->plan);
}

/* What is fine need not be what was asked for. */
static void add_miss(struct ulp_text *out, const struct ulp_fix_state *state)
{
    if (state->grade == ULP_GRADE_FINE && state->ratio > 1 && isfinite(state->ratio))
        ulp_text_add(out, ", but its %s is %.3g: %.3g times the error that is allowed",
                     state->metric, state->value, state->ratio);
}

/* What was asked for may be met by what is still broken. */
static const char *open_with(const struct ulp_fix *fix, bool nothing)
{
    const enum ulp_grade grade = nothing ? fix->before.grade : fix->after.grade;
    return !fix->met                                                    ? "not fixed:"
           : grade == ULP_GRADE_BROKEN || grade == ULP_GRADE_BORDERLINE ? "as good as asked for:"
           : nothing                                                    ? "nothing to fix:"
           : keeps_all(fix)                                             ? "only FP32 holds:"
                                                                        : "fixed:";
}

static void add_plan(json_t **notes, const struct ulp_fix *fix)
{
    enum { SHOWN = 4 };
    struct ulp_text text = {0};
    if (!fix->kept_count)
        return;
    ulp_text_add(&text, "%zu of %zu nodes in FP32", fix->kept_count, fix->node_count);
    if (fix->macs > 0)
        ulp_text_add(&text, ", %.3g %% of the multiply-adds", 100 * fix->kept_macs / fix->macs);
    for (size_t k = 0; k < fix->kept_count && k < SHOWN; k++)
        ulp_text_show(&text, "%s %s", k ? "," : ":", fix->kept[k]);
    if (fix->kept_count > SHOWN)
        ulp_text_add(&text, ", ...");
    const size_t other = fix->made_count ? fix->without_edits_count : fix->with_edits_count;
    if (other)
        ulp_text_add(&text, "; with%s edits it would keep %zu", fix->made_count ? "out" : "",
                     other);
    ulp_note_text(notes, "plan", &text);
}

static void add_file(json_t **notes, const struct ulp_fix *fix)
{
    const struct ulp_mixed *mixed = &fix->mixed;
    struct ulp_text text = {0};
    if (!fix->path)
        return;
    if (fix->types)
        ulp_text_show(&text, "%zu node%s in %s, %zu in FLOAT, %zu Cast%s", mixed->low_count,
                      mixed->low_count == 1 ? "" : "s", mixed->low_type, mixed->float_count,
                      mixed->cast_count, mixed->cast_count == 1 ? "" : "s");
    else
        ulp_text_add(&text, "types as in the model: %s",
                     fix->kept_count ? "run it in FP32" : "lower it as before");
    if (fix->reason)
        ulp_text_show(&text, " (%s)", fix->reason);
    if (mixed->external)
        ulp_text_show(&text, "; weights in %s.data", fix->path);
    ulp_note_text(notes, "file", &text);
}

/* What was run again to say that the file is right, and how. */
static void add_checked(json_t **notes, const struct ulp_fix *fix)
{
    struct ulp_text text = {0};
    if (fix->checked)
        ulp_text_show(&text, "the edits %s", fix->checked);
    if (fix->types && fix->mixed.checked)
        ulp_text_show(&text, "%sthe types %s, bit for bit", fix->checked ? "; " : "",
                      fix->mixed.checked);
    if (fix->path && (text.length || text.failed))
        ulp_note_text(notes, "checked", &text);
    else
        ulp_text_free(&text);
}

static void add_steps(json_t **notes, const struct ulp_fix *fix)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%zu edit%s in %zu run%s of %zu sample%s", fix->edit_count,
                 fix->edit_count == 1 ? "" : "s", fix->runs, fix->runs == 1 ? "" : "s",
                 fix->sample_count, fix->sample_count == 1 ? "" : "s");
    if (fix->plan)
        ulp_text_add(&text, ", draws and plan in %zu runs", fix->plan->runs);
    if (fix->made_count)
        ulp_text_add(&text, "; all edits change %.2g of an output's rms", fix->change);
    ulp_text_show(&text, "; reference %s", fix->reference);
    ulp_note_text(notes, "looked at", &text);
}

/* What of it is short: the grade and the way there; what was, what is; the file. */
void ulp_fix_conclude(struct ulp_headline *head, const void *result, size_t part)
{
    const struct ulp_fix *fix = result;
    const struct ulp_fix_state *before = &fix->before, *after = &fix->after;
    const bool nothing = (fix->met || fix->refused) && !fix->edit_count && !fix->plan;
    (void)part;
    if (fix->refused)
        ulp_text_show(&head->what, "%s; ", fix->refused);
    ulp_text_show(&head->what, "%s it %s %s in %s%s",
                  fix->refused && nothing ? "by its figures alone" : open_with(fix, nothing),
                  nothing ? "is" : "was", ulp_grade_name(before->grade), fix->arithmetic,
                  !nothing && before->grade == ULP_GRADE_FINE ? " but missed the tolerance" : "");
    ulp_text_show(&head->why, "%s", before->text);
    if (nothing) {
        ulp_headline_drawn(head, fix->drawn);
        if (fix->path)
            ulp_text_show(&head->todo, "use %s", fix->path);
        else
            ulp_text_show_whole(&head->todo, fix->refused ? fix->refused_fix : "nothing");
        if (!fix->path && !fix->refused && fix->reason)
            ulp_text_show(&head->todo, ": %s", fix->reason);
        return;
    }
    add_miss(&head->why, before);
    if (fix->made_count || fix->plan) {
        ulp_text_show(&head->what, ", and is %s with ", ulp_grade_name(after->grade));
        add_done(&head->what, fix);
        if (after->grade == ULP_GRADE_FINE && after->ratio <= 1 && fix->plan && !fix->plan->met)
            ulp_text_add(&head->what,
                         " as the sample rounds, not in enough draws of other roundings");
        ulp_text_show(&head->why, "; now %s", after->text);
    }
    ulp_headline_drawn(head, fix->drawn);
    if (!fix->met && (fix->made_count || fix->plan))
        add_miss(&head->why, after);
    if (fix->plan)
        ulp_search_say_draws(&head->why, fix->plan);
    if (fix->refused) {
        ulp_text_show_whole(&head->todo, fix->refused_fix);
        return;
    }
    const char *forbids =
        fix->plan && ulp_tf32_is_forbidden(fix->plan) ? fix->plan->tf32_forbidden_by : NULL;
    if (fix->path && fix->kept_count && !fix->types)
        ulp_text_show(&head->todo, "run %s in FP32%s%s", fix->path,
                      forbids ? ", and forbid TF32 by " : "", forbids ? forbids : "");
    else if (fix->path)
        ulp_text_show(&head->todo, "use %s", fix->path);
    else if (keeps_all(fix) && after->grade == ULP_GRADE_FINE)
        ulp_text_show(&head->todo, "leave the graph in FP32%s%s: %s",
                      forbids ? ", and forbid TF32 by " : "", forbids ? forbids : "",
                      fix->reason ? fix->reason : "every node is kept");
    else if (fix->reason)
        ulp_text_show(&head->todo, "no file: %s", fix->reason);
    else
        ulp_text_add(&head->todo, "nothing that was tried helps");
}

json_t *ulp_fix_notes(const struct ulp_fix *fix)
{
    json_t *notes = json_array();
    add_plan(&notes, fix);
    add_file(&notes, fix);
    add_checked(&notes, fix);
    if (fix->rests_on)
        ulp_note_add(&notes, "rests on", "%s (ulpscope list %s)", fix->rests_on, fix->arithmetic);
    if (fix->edit_count || fix->plan)
        add_steps(&notes, fix);
    return notes;
}
