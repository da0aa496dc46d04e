/* A diagnosis as text: the verdict, the most probable cause first, what to do, the command. */
#include "analysis/audit/auditor.h"
#include "analysis/doctor/doctoring.h"
#include "analysis/measure/judged.h"
#include "analysis/writing/columns.h"
#include "base/error.h"

/* "title  text", wrapped under itself */
static void add_line(const struct ulp_page *page, const char *title, const char *value)
{
    ulp_text_add(page->out, "  %-9s ", title);
    ulp_page_wrapped(page, value, 12, 12);
}

static const char *colour_of(const struct ulp_page *page, enum ulp_grade grade)
{
    return grade == ULP_GRADE_FINE ? "" : grade == ULP_GRADE_BORDERLINE ? page->yellow : page->red;
}

/* What the outputs are, the most probable cause, what to do about it. */
void ulp_doctor_headline(const struct ulp_doctor *doctor, struct ulp_headline *head)
{
    const struct ulp_doctor_cause *cause =
        doctor->cause_count && doctor->grade != ULP_GRADE_FINE ? &doctor->causes[0] : NULL;
    if (doctor->refused)
        ulp_text_show(&head->what, "%s; computed as the graph says, in ", doctor->refused);
    else
        ulp_text_show(&head->what, "%s%s in ", ulp_grade_name(doctor->grade),
                      doctor->as_is ? " as the graph is," : "");
    ulp_text_show(&head->what, "%s%s%s: %s", doctor->arithmetic,
                  doctor->processor ? ", on processors " : "",
                  doctor->processor ? doctor->processor : "", doctor->reason);
    if (doctor->beside)
        ulp_text_show(&head->beside, "%s", doctor->beside);
    if (doctor->other_processor)
        ulp_text_show(&head->what, "; %s (this machine: %s)", doctor->other_processor,
                      doctor->this_processor);
    ulp_headline_drawn(head, doctor->audit->drawn);
    ulp_text_show(&head->why, "%s",
                  cause                             ? cause->text
                  : doctor->grade == ULP_GRADE_FINE ? "every output is within what its task allows"
                                                    : "no cause was found");
    if (doctor->stopped > 0)
        ulp_text_add(&head->why, "; the search for what to keep was not finished in %.*f s",
                     doctor->stopped < 10, doctor->stopped);
    if (cause && cause->fix)
        ulp_text_show_whole(&head->todo, cause->fix);
    else if (doctor->stopped > 0)
        ulp_text_show_whole(&head->todo, doctor->next);
    else if (doctor->grade == ULP_GRADE_FINE)
        ulp_text_show_whole(&head->todo, "nothing");
    else
        ulp_text_show(
            &head->todo, "%s",
            doctor->remedy ? doctor->remedy
            : !doctor->as_is && doctor->fine_beside
                ? "leave the graph in FP32, in which it is fine; the command at next shows "
                  "where FP16 errs"
                : "run the command below, at next: it says more of where the error comes from");
}

static void add_verdict(const struct ulp_page *page, const struct ulp_doctor *doctor)
{
    struct ulp_headline head = {0};
    ulp_doctor_headline(doctor, &head);
    ulp_page_headline(page, colour_of(page, doctor->grade), &head);
    ulp_headline_free(page, &head);
}

static void add_cause(const struct ulp_page *page, const struct ulp_doctor_cause *cause, bool first)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text rule = {0};
    if (!first)
        add_line(page, "also", cause->text);
    if (cause->rule)
        ulp_text_show(&rule, "%s (ulpscope lint --explain %s)", cause->rule, cause->rule);
    if (rule.data)
        add_line(page, "rule", rule.data);
    if (cause->fix && !first)
        add_line(page, "do", cause->fix);
    page->out->failed |= rule.failed;
}

/* What was done, so that nobody takes the rest for clean. */
static void add_steps(const struct ulp_page *page, const struct ulp_doctor *doctor)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    const size_t *counts = doctor->lint->counts;
    ulp_text_add(&text, "lint (%zu error%s, %zu warning%s), audit of %zu node%s in %zu sample%s",
                 counts[ULP_SEVERITY_ERROR], counts[ULP_SEVERITY_ERROR] == 1 ? "" : "s",
                 counts[ULP_SEVERITY_WARNING], counts[ULP_SEVERITY_WARNING] == 1 ? "" : "s",
                 doctor->audit->lanes[0].node_count,
                 doctor->audit->lanes[0].node_count == 1 ? "" : "s", doctor->sample_count,
                 doctor->sample_count == 1 ? "" : "s");
    if (doctor->overflow)
        ulp_text_add(&text, ", overflow");
    if (doctor->comparison)
        ulp_text_add(&text, ", compare of %zu recording%s", doctor->comparison->file_count,
                     doctor->comparison->file_count == 1 ? "" : "s");
    if (doctor->plan)
        ulp_text_add(&text, ", plan in %zu runs", doctor->plan->runs);
    if (doctor->stopped > 0)
        ulp_text_add(&text, ", plan: not finished");
    ulp_text_add(&text, "; reference %s; %.1f s", doctor->reference, doctor->seconds);
    add_line(page, "looked at", text.data ? text.data : "");
    page->out->failed |= text.failed;
}

static void add_all(const struct ulp_page *page, const struct ulp_doctor *doctor)
{
    add_verdict(page, doctor);
    for (size_t c = 0; c < doctor->cause_count; c++)
        add_cause(page, &doctor->causes[c], c == 0 && doctor->grade != ULP_GRADE_FINE);
    if (doctor->remedy && doctor->cause_count && doctor->causes[0].fix)
        add_line(page, "remedy", doctor->remedy);
    if (doctor->rests_on) {
        ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
        ulp_text_add(&text, "%s (ulpscope list %s)", doctor->rests_on, doctor->arithmetic);
        add_line(page, "rests on", text.data ? text.data : "");
        page->out->failed |= text.failed;
    }
    add_steps(page, doctor);
    ulp_text_add(page->out, "  next      %s\n", doctor->next); /* on one line, to be copied */
}

ULP_PAGE_TEXT(ulp_doctor_text, ulp_doctor, add_all)
