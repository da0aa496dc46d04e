/* A fix as text: how it was, how it is, what was done. */
#include <math.h>
#include <string.h>

#include "analysis/fix/fixing.h"
#include "analysis/search/written/search_text.h"
#include "analysis/search/search_tf32.h"
#include "analysis/writing/columns.h"

static void add_line(const struct ulp_page *page, const char *title, struct ulp_text *text)
{
    ulp_text_add(page->out, "  %-9s ", title);
    ulp_page_broken(page, text, 12, 12);
}

static void add_done(struct ulp_text *out, const struct ulp_fix *fix)
{
    if (fix->made_count)
        ulp_text_add(out, "%zu edit%s", fix->made_count, fix->made_count == 1 ? "" : "s");
    if (fix->kept_count)
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
                                                                        : "fixed:";
}

static void say_gain(struct ulp_text *out, const struct ulp_fix_edit *edit)
{
    if (isinf(edit->gain))
        ulp_text_add(out, edit->gain > 0 ? "only with it outputs can be compared"
                                         : "with it less is finite");
    else
        ulp_text_add(out, "%+.1f dB", ulp_tenths(edit->gain));
}

static void say_change(struct ulp_text *out, const struct ulp_fix_edit *edit)
{
    if (isnan(edit->change))
        ulp_text_add(out, "the same in exact arithmetic");
    else
        ulp_text_add(out, "in exact arithmetic it changes %.2g of an output's rms", edit->change);
    if (edit->reason && edit->change > ULP_FIX_CHANGE)
        ulp_text_show(out, " (%s)", edit->reason);
}

static void add_edit(const struct ulp_page *page, const struct ulp_fix_edit *edit)
{
    static const char *const titles[ULP_FIX_DONE_COUNT] = {"edit",     "no gain", "left",
                                                           "left out", "dearer",  "refused",
                                                           "not made"};
    struct ulp_text text = {0};
    ulp_text_show(&text, "%s (%s): %s; ", edit->node, edit->rule, edit->text);
    if (edit->done == ULP_FIX_CHANGES) {
        say_change(&text, edit);
        ulp_text_add(&text, " (--allow-value-change)");
    } else if (edit->done == ULP_FIX_REFUSED || edit->done == ULP_FIX_UNPROVEN) {
        ulp_text_show_whole(&text, edit->reason ? edit->reason : "with the others");
    } else if (edit->done == ULP_FIX_LEFT_OUT) {
        ulp_text_add(&text, "as asked");
    } else {
        say_gain(&text, edit);
        ulp_text_add(&text, "; ");
        say_change(&text, edit);
        if (edit->done == ULP_FIX_DEARER)
            ulp_text_add(&text, "; not made, a plan keeps less without it");
    }
    add_line(page, titles[edit->done], &text);
}

/* Edits of a rule that gain nothing were tried together. */
static void add_useless(const struct ulp_page *page, const struct ulp_fix *fix, size_t of)
{
    struct ulp_text text = {0};
    const struct ulp_fix_edit *edit = &fix->edits[of];
    size_t count = 0;
    for (size_t e = 0; e < fix->edit_count; e++) {
        const bool same =
            fix->edits[e].done == ULP_FIX_NO_GAIN && strcmp(fix->edits[e].rule, edit->rule) == 0;
        if (same && e < of)
            return;
        count += same;
    }
    if (count == 1) {
        add_edit(page, edit);
        return;
    }
    ulp_text_show(&text, "%s: %zu edits, of %s and others; ", edit->rule, count, edit->node);
    say_gain(&text, edit);
    add_line(page, "no gain", &text);
}

static void add_plan(const struct ulp_page *page, const struct ulp_fix *fix)
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
    add_line(page, "plan", &text);
}

static void add_file(const struct ulp_page *page, const struct ulp_fix *fix)
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
    add_line(page, "file", &text);
}

/* What was run again to say that the file is right, and how. */
static void add_checked(const struct ulp_page *page, const struct ulp_fix *fix)
{
    struct ulp_text text = {0};
    if (fix->checked)
        ulp_text_show(&text, "the edits %s", fix->checked);
    if (fix->types && fix->mixed.checked)
        ulp_text_show(&text, "%sthe types %s, bit for bit", fix->checked ? "; " : "",
                      fix->mixed.checked);
    if (fix->path && text.data)
        add_line(page, "checked", &text);
    else
        ulp_text_free(&text);
}

static void add_steps(const struct ulp_page *page, const struct ulp_fix *fix)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%zu edit%s in %zu run%s of %zu sample%s", fix->edit_count,
                 fix->edit_count == 1 ? "" : "s", fix->runs, fix->runs == 1 ? "" : "s",
                 fix->sample_count, fix->sample_count == 1 ? "" : "s");
    if (fix->plan)
        ulp_text_add(&text, ", draws and plan in %zu runs", fix->plan->runs);
    if (fix->made_count)
        ulp_text_add(&text, "; all edits change %.2g of an output's rms", fix->change);
    ulp_text_show(&text, "; reference %s; %.1f s", fix->reference, fix->seconds);
    add_line(page, "looked at", &text);
}

/* What of it is short: the grade and the way there; what was, what is; the file. */
void ulp_fix_headline(const struct ulp_fix *fix, struct ulp_headline *head)
{
    const struct ulp_fix_state *before = &fix->before, *after = &fix->after;
    const bool nothing = (fix->met || fix->refused) && !fix->edit_count && !fix->plan;
    if (fix->refused)
        ulp_text_show(&head->what, "%s; ", fix->refused);
    ulp_text_show(&head->what, "%s it %s %s in %s%s",
                  fix->refused && nothing ? "by its figures alone" : open_with(fix, nothing),
                  nothing ? "is" : "was", ulp_grade_name(before->grade), fix->arithmetic,
                  !nothing && before->grade == ULP_GRADE_FINE ? " but missed the tolerance" : "");
    ulp_text_show(&head->why, "%s", before->text);
    if (nothing) {
        ulp_headline_drawn(head, fix->drawn);
        ulp_text_show_whole(&head->todo, fix->refused ? fix->refused_fix : "nothing");
        return;
    }
    add_miss(&head->why, before);
    if (fix->made_count || fix->plan) {
        ulp_text_show(&head->what, ", and is %s with ", ulp_grade_name(after->grade));
        add_done(&head->what, fix);
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
    if (fix->path)
        ulp_text_show(&head->todo, "use %s", fix->path);
    else if (fix->kept_count && fix->kept_count == fix->node_count &&
             after->grade == ULP_GRADE_FINE)
        ulp_text_show(&head->todo, "leave the graph in FP32%s%s: %s",
                      forbids ? ", and forbid TF32 by " : "", forbids ? forbids : "",
                      fix->reason ? fix->reason : "every node is kept");
    else if (fix->reason)
        ulp_text_show(&head->todo, "no file: %s", fix->reason);
    else
        ulp_text_add(&head->todo,
                     fix->met ? "--out FILE writes it" : "nothing that was tried helps");
}

static void add_fix(const struct ulp_page *page, const struct ulp_fix *fix)
{
    struct ulp_headline head = {0};
    ulp_fix_headline(fix, &head);
    ulp_page_headline(page, fix->met ? "" : page->red, &head);
    ulp_headline_free(page, &head);
    if (fix->edit_count || fix->plan) {
        for (int done = 0; done < ULP_FIX_DONE_COUNT; done++)
            for (size_t e = 0; e < fix->edit_count; e++)
                if (done == ULP_FIX_NO_GAIN && fix->edits[e].done == ULP_FIX_NO_GAIN)
                    add_useless(page, fix, e);
                else if ((int)fix->edits[e].done == done)
                    add_edit(page, &fix->edits[e]);
        add_plan(page, fix);
        add_file(page, fix);
        add_checked(page, fix);
        add_steps(page, fix);
    }
}

ULP_PAGE_TEXT(ulp_fix_text, ulp_fix, add_fix)
