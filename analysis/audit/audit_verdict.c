/* Judging an arithmetic by its worst output (ulpscope/verdict.h). */
#include <stdlib.h>
#include <string.h>

#include <ulpscope/verdict.h>

#include "analysis/measure/judge.h"
#include "base/error.h"
#include "base/machine/environment.h"

const char *ulp_grade_name(enum ulp_grade grade)
{
    static const char *const names[] = {"fine", "borderline", "broken", "not judged"};
    return names[grade];
}

/* Of any output: an error of 1 and of 10 % of its rms. */
#define FINE_DB "40"
#define BROKEN_DB "20"

/* The crossing of this lane, or of an input; count 0: the limit is met. */
static enum ulp_status find_crossing(const struct ulp_audit *audit,
                                     const struct ulp_audit_lane *lane, const char *limit,
                                     bool allow, struct ulp_crossing *out, bool *found,
                                     struct ulp_error *error)
{
    struct ulp_crossing_list list;
    const enum ulp_status status = ulp_audit_check(audit, limit, allow, &list, error);
    *found = false;
    if (status != ULP_OK)
        return status;
    for (size_t c = list.count; c-- > 0;)
        if (!list.items[c].arithmetic || strcmp(list.items[c].arithmetic, lane->name) == 0) {
            *out = list.items[c];
            *found = true;
        }
    free(list.items);
    return ULP_OK;
}

static void say(struct ulp_text *text, const struct ulp_crossing *crossing)
{
    const bool input = crossing->kind == ULP_CROSSED_INPUT;
    if (crossing->kind == ULP_CROSSED_VALUE)
        ulp_text_show(text, "output %s is at %.1f dB", crossing->output, crossing->value);
    else if (crossing->kind == ULP_CROSSED_NONFINITE)
        ulp_text_show(text, "%.0f element%s of output %s %s not finite", crossing->value,
                      crossing->value == 1 ? "" : "s", crossing->output,
                      crossing->value == 1 ? "is" : "are");
    else if (crossing->output)
        ulp_text_show(text, "%s %s %s", input ? "input" : "output", crossing->output,
                      ulp_judge_reason(crossing->kind));
    else
        ulp_text_add(text, "%s", ulp_judge_reason(crossing->kind));
}

static enum ulp_grade judge_kind(enum ulp_crossing_kind kind)
{
    return kind == ULP_CROSSED_NONFINITE || kind == ULP_CROSSED_DIVERGED ? ULP_GRADE_BROKEN
                                                                         : ULP_GRADE_NOT;
}

enum ulp_status ulp_audit_judge(const struct ulp_audit *audit, size_t index,
                                bool allow_nonfinite_inputs, struct ulp_verdict *out,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    static const struct {
        const char *limit;
        enum ulp_grade beyond;
    } bounds[] = {{"sqnr_db=" BROKEN_DB, ULP_GRADE_BROKEN},
                  {"sqnr_db=" FINE_DB, ULP_GRADE_BORDERLINE}};
    const struct ulp_audit_lane *lane = &audit->lanes[index];
    struct ulp_text text = {0};
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_verdict){0};
    for (size_t b = 0; b < 2 && !text.length && status == ULP_OK; b++) {
        struct ulp_crossing crossing;
        bool found;
        status = find_crossing(audit, lane, bounds[b].limit, allow_nonfinite_inputs, &crossing,
                               &found, error);
        if (status != ULP_OK || !found)
            continue;
        out->grade =
            crossing.kind == ULP_CROSSED_VALUE ? bounds[b].beyond : judge_kind(crossing.kind);
        out->output = crossing.kind == ULP_CROSSED_INPUT ? NULL : crossing.output;
        say(&text, &crossing);
    }
    const struct ulp_audit_output *worst = ulp_audit_worst(&lane->outputs);
    if (!text.length && worst && worst->entire.rms > 0)
        ulp_text_show(&text, "output %s is at %.1f dB", worst->name, worst->entire.sqnr_db);
    else if (!text.length)
        ulp_text_add(&text, "every output equals the reference");
    if (!out->output && worst && out->grade == ULP_GRADE_FINE)
        out->output = worst->name;
    out->text = text.failed ? NULL : text.data;
    if (status == ULP_OK && out->text)
        return ULP_OK;
    ulp_text_free(&text);
    return status == ULP_OK ? ulp_out_of_memory(error) : status;
}

void ulp_verdict_free(struct ulp_verdict *verdict)
{
    free(verdict->text);
    *verdict = (struct ulp_verdict){0};
}
