/* Helpers shared by all parts of a comparison. */
#include <stdio.h>

#include "analysis/compare/comparing.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

/* Of the time in which an answer is wanted: it is written after that. */
#define ANSWER_PART 0.95

char *ulp_comparing_text(const struct ulp_comparing *comparing, const char *text)
{
    return ulp_arena_copy(comparing->out->memory, text);
}

ptrdiff_t ulp_execution_find(const struct ulp_names *names, const char *name, size_t execution)
{
    char full[1024];
    if (!execution)
        return ulp_names_find(names, name);
    if (snprintf(full, sizeof full, "%s[%zu]", name, execution) >= (int)sizeof full)
        return -1;
    return ulp_names_find(names, full);
}

void ulp_comparing_begins(struct ulp_comparing *comparing)
{
    const struct ulp_compare_options *options = comparing->options;
    if (options->begins && options->progress) {
        struct ulp_environment *paused = ulp_environment_pause();
        options->begins(options->progress->context, comparing->part, comparing->part_count);
        ulp_environment_resume(paused);
    }
    comparing->part_count += ++comparing->part > comparing->part_count;
}

/* Of a machine that others use, too, until two cores would have computed as much. */
double ulp_compare_spent(const struct ulp_comparing *comparing)
{
    const double limit = ulp_compare_limit(comparing);
    double spent = ulp_seconds_now() - comparing->started;
    if (!(comparing->options->seconds > 0))
        spent = ulp_math_min(spent, (ulp_seconds_computed() - comparing->computed) / 2);
    return limit > 0 ? spent / limit : 0;
}

bool ulp_compare_is_late(const struct ulp_comparing *comparing, double part)
{
    return ulp_compare_limit(comparing) > 0 && ulp_compare_spent(comparing) > part;
}

bool ulp_compare_is_last(const struct ulp_comparing *comparing)
{
    return ulp_compare_is_late(comparing, ANSWER_PART - comparing->measured);
}

ULP_RESULT_FREE(ulp_comparison_free, struct ulp_comparison)

enum ulp_status ulp_cause_set(const struct ulp_comparing *comparing, struct ulp_cause *cause,
                              enum ulp_cause_kind kind, struct ulp_text *text, const char *input,
                              struct ulp_error *error)
{
    cause->kind = kind;
    cause->text = ulp_text_keep(text, comparing->out->memory);
    if (input)
        cause->input = ulp_comparing_text(comparing, input);
    return cause->text && (cause->input || !input) ? ULP_OK : ulp_out_of_memory(error);
}
