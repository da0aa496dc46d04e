/* A diagnosis as text: the verdict, the most probable cause first, what to do, the command. */
#include "analysis/doctor/doctoring.h"
#include "analysis/writing/columns.h"
#include "base/machine/environment.h"

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

void ulp_doctor_verdict(struct ulp_text *out, const struct ulp_doctor *doctor)
{
    const bool caused = doctor->cause_count && doctor->grade != ULP_GRADE_FINE;
    ulp_text_show(out, "%s in %s: %s", ulp_grade_name(doctor->grade), doctor->arithmetic,
                  caused ? doctor->causes[0].text : doctor->reason);
}

static void add_verdict(const struct ulp_page *page, const struct ulp_doctor *doctor)
{
    const char *colour = colour_of(page, doctor->grade);
    struct ulp_text text = {0};
    ulp_doctor_verdict(&text, doctor);
    ulp_text_add(page->out, "%s", colour);
    ulp_page_broken(page, &text, 2, 0);
    ulp_text_add(page->out, "%s", *colour ? page->off : "");
}

static void add_cause(const struct ulp_page *page, const struct ulp_doctor_cause *cause, bool first)
{
    struct ulp_text rule = {0};
    if (!first)
        add_line(page, "also", cause->text);
    if (cause->rule)
        ulp_text_show(&rule, "%s (ulpscope lint --explain %s)", cause->rule, cause->rule);
    if (rule.data)
        add_line(page, "rule", rule.data);
    if (cause->fix)
        add_line(page, "do", cause->fix);
    page->out->failed |= rule.failed;
    ulp_text_free(&rule);
}

/* What was done, so that nobody takes the rest for clean. */
static void add_steps(const struct ulp_page *page, const struct ulp_doctor *doctor)
{
    struct ulp_text text = {0};
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
    ulp_text_add(&text, "; reference %s; %.1f s", doctor->reference, doctor->seconds);
    add_line(page, "looked at", text.data ? text.data : "");
    page->out->failed |= text.failed;
    ulp_text_free(&text);
}

enum ulp_status ulp_doctor_text(const struct ulp_doctor *doctor, int width, bool colour, char **out,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text text = {0};
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    *out = NULL;
    add_verdict(&page, doctor);
    if (doctor->cause_count && doctor->grade != ULP_GRADE_FINE)
        add_line(&page, "result", doctor->reason);
    for (size_t c = 0; c < doctor->cause_count; c++)
        add_cause(&page, &doctor->causes[c], c == 0 && doctor->grade != ULP_GRADE_FINE);
    if (doctor->remedy)
        add_line(&page, "remedy", doctor->remedy);
    add_steps(&page, doctor);
    ulp_text_add(&text, "  next      %s\n", doctor->next); /* on one line, to be copied */
    return ulp_page_take(&text, out, error);
}
