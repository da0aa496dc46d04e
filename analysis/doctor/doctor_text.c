/* A diagnosis as text: the verdict, the most probable cause first, what to do, the command. */
#include "analysis/doctor/doctoring.h"
#include "analysis/writing/first_screen.h"

/* What the outputs are, the most probable cause, what to do about it. */
void ulp_doctor_conclude(struct ulp_headline *head, const void *result, size_t part)
{
    const struct ulp_doctor *doctor = result;
    const struct ulp_doctor_cause *cause =
        doctor->cause_count && doctor->grade != ULP_GRADE_FINE ? &doctor->causes[0] : NULL;
    (void)part;
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
                  : doctor->grade == ULP_GRADE_NOT  ? "there is nothing to judge by"
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

/* first: it is in the headline. */
static void add_cause(json_t **notes, const struct ulp_doctor_cause *cause, bool first)
{
    if (!first)
        ulp_note_add(notes, "also", "%s", cause->text);
    if (cause->rule)
        ulp_note_add(notes, "rule", "%s (ulpscope lint --explain %s)", cause->rule, cause->rule);
    if (cause->fix && !first)
        ulp_note_add(notes, "do", "%s", cause->fix);
}

/* What was done, so that nobody takes the rest for clean. */
static void add_steps(json_t **notes, const struct ulp_doctor *doctor)
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
    if (doctor->stopped > 0)
        ulp_text_add(&text, ", plan: not finished");
    ulp_text_add(&text, "; reference %s", doctor->reference);
    ulp_note_text(notes, "looked at", &text);
}

json_t *ulp_doctor_notes(const void *result)
{
    const struct ulp_doctor *doctor = result;
    json_t *notes = json_array();
    struct ulp_text next = {0};
    for (size_t c = 0; c < doctor->cause_count; c++)
        add_cause(&notes, &doctor->causes[c], c == 0 && doctor->grade != ULP_GRADE_FINE);
    if (doctor->remedy && doctor->cause_count && doctor->causes[0].fix)
        ulp_note_add(&notes, "remedy", "%s", doctor->remedy);
    if (doctor->rests_on)
        ulp_note_add(&notes, "rests on", "%s (ulpscope list %s)", doctor->rests_on,
                     doctor->arithmetic);
    add_steps(&notes, doctor);
    ulp_text_show_whole(&next, doctor->next);
    ulp_note_text(&notes, "next", &next);
    return notes;
}
