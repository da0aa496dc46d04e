/* The tolerance as text and as JSON. */
#include <math.h>
#include <stdlib.h>
#include <ulpscope/tolerance.h>

#include "analysis/measure/judge.h"
#include "analysis/audit/audit_json.h"
#include "analysis/html/said.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

/* An argument of a shell's command line, in single quotes. */
static void add_quoted(struct ulp_text *out, const char *name, double atol)
{
    char shown[1024];
    ulp_show(shown, sizeof shown, name, ULP_SHOWN_COLUMNS_MAX, 0);
    ulp_text_add(out, "'");
    ulp_quoted_add(out, shown);
    ulp_text_add(out, ":%.1e'", atol);
}

/* The largest error beside the reference; 0 of an exact output, whatever that is. */
static double relative(const struct ulp_tolerance_output *output)
{
    return output->max_abs > 0 ? output->max_abs / output->ref_rms : 0;
}

/* The output whose error is largest beside its reference. */
static const struct ulp_tolerance_output *find_worst(const struct ulp_tolerance *tolerance)
{
    const struct ulp_tolerance_output *worst = &tolerance->outputs[0];
    for (size_t o = 1; o < tolerance->output_count; o++) {
        const struct ulp_tolerance_output *output = &tolerance->outputs[o];
        if (output->nonfinite > worst->nonfinite ||
            (output->nonfinite == worst->nonfinite && relative(output) > relative(worst)))
            worst = output;
    }
    return worst;
}

static void say_verdict(struct ulp_headline *head, const struct ulp_tolerance *tolerance)
{
    const struct ulp_tolerance_output *worst = find_worst(tolerance);
    ulp_text_show(&head->what, "%s: ", tolerance->arithmetic);
    if (tolerance->unjudged.count) {
        const struct ulp_unjudged *first = &tolerance->unjudged.items[0];
        ulp_text_add(&head->what, "no tolerance: ");
        if (first->because)
            ulp_text_show(&head->what, "%s", first->because);
        else
            ulp_unjudged_say(&head->what, first);
        ulp_text_add(&head->why, "what cannot be judged stands below");
        if (ulp_unjudged_is_lost(first)) {
            ulp_command_add(&head->todo, "tolerance", tolerance->arguments);
            ulp_option_add(&head->todo, " -a", tolerance->arithmetic);
            ulp_judge_wider(&head->todo, tolerance->reference);
            return;
        }
        ulp_text_add(&head->todo, "%s",
                     first->is_input ? "give inputs that are finite"
                                     : "give inputs with which every output can be judged");
        return;
    }
    if (worst->nonfinite) {
        ulp_text_add(&head->what, "no tolerance holds");
        ulp_text_show(&head->why, "%s has %zu element%s not finite", worst->name, worst->nonfinite,
                      worst->nonfinite == 1 ? " that is" : "s that are");
        ulp_command_add(&head->todo, "audit", tolerance->arguments);
        ulp_option_add(&head->todo, " -a", tolerance->arithmetic);
        ulp_text_add(&head->todo, " # which node overflows");
        return;
    }
    if (isnan(worst->atol)) {
        ulp_text_show(&head->what,
                      "no tolerance at %s: with %.1f times its largest error zeros pass",
                      worst->name, ULP_TOLERANCE_FACTOR);
        ulp_text_show(&head->why, "its error is up to %.2e, its largest value %.2e%s%s",
                      worst->max_abs, worst->ref_max, tolerance->no_bound ? "; " : "",
                      tolerance->no_bound ? tolerance->no_bound : "");
        ulp_command_add(&head->todo, "doctor", tolerance->arguments);
        ulp_option_add(&head->todo, " -a", tolerance->arithmetic);
        ulp_text_add(&head->todo, " # where it comes from");
        return;
    }
    ulp_text_show(&head->what, "allow atol=%.1e at %s", worst->atol, worst->name);
    if (worst->ref_rms > 0)
        ulp_text_add(&head->what, " (%.1g of its rms)", worst->atol / worst->ref_rms);
    ulp_text_add(&head->why, "its error is up to %.2e in %zu run%s", worst->max_abs,
                 tolerance->trials + 1, tolerance->trials ? "s" : "");
    if (tolerance->sample_count > 1)
        ulp_text_show(&head->why, " of each of %zu samples, in %s", tolerance->sample_count,
                      worst->sample);
    if (worst->bound >= worst->max_abs) /* else some trial's roundings were larger */
        ulp_text_add(&head->why, "; if all roundings of a run added up, %.1e", worst->bound);
    if (worst->open)
        ulp_text_add(&head->why, "; it depends on a decision (an index, a comparison, a rounding "
                                 "to steps) that other roundings change");
    if (tolerance->output_count == 1)
        ulp_text_add(&head->todo, "np.allclose(got, expected, rtol=0, atol=%.1e)", worst->atol);
    else
        ulp_text_add(&head->todo, "give numpy or Polygraphy the atol of each output, as below");
}

static void conclude(struct ulp_headline *head, const void *result, size_t part)
{
    const struct ulp_tolerance *tolerance = result;
    (void)part;
    say_verdict(head, tolerance);
    ulp_headline_drawn(head, tolerance->drawn);
}

/* As Polygraphy and numpy take them, of outputs that some tolerance holds for. */
static void add_options(json_t **notes, const struct ulp_tolerance *tolerance)
{
    struct ulp_text text = {0};
    for (size_t o = 0; o < tolerance->output_count; o++) {
        const struct ulp_tolerance_output *output = &tolerance->outputs[o];
        if (isnan(output->atol))
            continue;
        ulp_text_add(&text, text.length ? " " : "--atol ");
        add_quoted(&text, output->name, output->atol);
    }
    if (!text.length)
        return;
    ulp_text_add(&text, " --rtol 0");
    ulp_note_text(notes, "Polygraphy", &text);
    if (tolerance->output_count > 1)
        ulp_note_add(notes, "numpy",
                     "np.allclose(got, expected, rtol=0, atol=...) with the atol of each output");
    ulp_note_add(notes, "reason",
                 "%g times the largest error of this arithmetic over schedules and %zu trials",
                 ULP_TOLERANCE_FACTOR, tolerance->trials);
}

static json_t *make_notes(const void *result)
{
    const struct ulp_tolerance *tolerance = result;
    json_t *notes = json_array();
    for (size_t u = 0; u < tolerance->unjudged.count; u++) {
        struct ulp_text text = {0};
        ulp_text_add(&text, "cannot be judged: ");
        ulp_unjudged_say(&text, &tolerance->unjudged.items[u]);
        ulp_note_text(&notes, "", &text);
    }
    if (tolerance->narrow_products)
        ulp_note_add(&notes, "",
                     "TF32 is a permission: what a library computes in FP32 all the same has "
                     "smaller errors (--keep NODE=fp32)");
    if (tolerance->no_bound)
        ulp_note_add(&notes, "", "no bounds: %s", tolerance->no_bound);
    add_options(&notes, tolerance);
    return notes;
}

/* The SQNR of 95 % of runs, which of few elements is a matter of chance. */
static void add_range(struct ulp_json_writer *writer, const void *of, const void *context)
{
    const struct ulp_tolerance_output *output = of;
    const double size = 20 * ulp_math_log10(output->ref_rms);
    (void)context;
    ulp_json_put(writer, "least_db", ulp_json_number(size - 20 * ulp_math_log10(output->most)));
    ulp_json_put(writer, "most_db", ulp_json_number(size - 20 * ulp_math_log10(output->least)));
}

static const struct ulp_json_hook hooks[] = {{&ulp_struct_unjudged_list, NULL,
                                              ulp_json_put_unjudged},
                                             {&ulp_struct_tolerance_output, add_range, NULL}};
static const struct ulp_said said = {
    "tolerance",         &ulp_struct_tolerance, .conclude = conclude,
    .notes = make_notes, .hooks = hooks,        .hook_count = sizeof hooks / sizeof *hooks};
ULP_SAID_TEXT(tolerance, ulp_tolerance, said, 0)
ULP_SAID_WRITE(tolerance, ulp_tolerance, said)
