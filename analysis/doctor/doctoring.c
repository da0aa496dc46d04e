/* Putting causes into a diagnosis. */
#include "analysis/doctor/doctoring.h"
#include "base/machine/environment.h"
#include "run/program/program.h"

enum { STEPS = 5 };

void ulp_doctor_begin(const struct ulp_doctoring *x, const char *step, size_t index)
{
    const struct ulp_doctor_options *options = x->options;
    if (!options->begins)
        return;
    struct ulp_environment *paused = ulp_environment_pause();
    options->begins(options->progress ? options->progress->context : NULL, step, index, STEPS);
    ulp_environment_resume(paused);
}

char *ulp_doctor_copy(struct ulp_doctoring *x, const char *text)
{
    char *made = text ? ulp_arena_copy(x->doctor->memory, text) : NULL;
    x->failed |= text && !made;
    return made;
}

struct ulp_doctor_cause *ulp_doctor_add(struct ulp_doctoring *x, enum ulp_doctor_reason reason,
                                        const struct ulp_audit_node *node, const char *value,
                                        struct ulp_text *text)
{
    struct ulp_doctor *doctor = x->doctor;
    struct ulp_doctor_cause cause = {.reason = reason,
                                     .text = ulp_doctor_copy(x, text->data),
                                     .node = ulp_doctor_copy(x, node ? node->name : NULL),
                                     .op = ulp_doctor_copy(x, node ? node->op : NULL),
                                     .index = node ? (ptrdiff_t)node->index : -1,
                                     .value = ulp_doctor_copy(x, value)};
    x->failed |=
        text->failed || !cause.text ||
        !ULP_ARENA_GROWS(doctor->causes, doctor->memory, doctor->cause_count, x->cause_capacity);
    ulp_text_free(text);
    if (x->failed)
        return &x->unkept;
    doctor->causes[doctor->cause_count] = cause;
    return &doctor->causes[doctor->cause_count++];
}

ptrdiff_t ulp_doctor_through(const struct ulp_doctoring *x, const struct ulp_doctor_cause *cause)
{
    const size_t index = (size_t)(cause - x->doctor->causes);
    for (size_t t = 0; t < x->through_count; t++)
        if (x->through[t].cause == index)
            return (ptrdiff_t)x->through[t].at;
    return cause->index;
}

char *ulp_doctor_keep(struct ulp_doctoring *x, struct ulp_text *text)
{
    char *kept = text->failed || !text->data ? NULL : ulp_arena_copy(x->doctor->memory, text->data);
    x->failed |= text->failed || (text->data && !kept);
    ulp_text_free(text);
    return kept;
}
