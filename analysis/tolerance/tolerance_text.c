/* The tolerance as text and as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ulpscope/tolerance.h>

#include "analysis/measure/judge.h"
#include "analysis/audit/audit_json.h"
#include "analysis/html/html.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/columns.h"
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

static void conclude(struct ulp_headline *head, const struct ulp_tolerance *tolerance)
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
            ulp_text_add(&head->todo, " -a");
            ulp_word_add(&head->todo, tolerance->arithmetic);
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
        ulp_text_add(&head->todo, " -a");
        ulp_word_add(&head->todo, tolerance->arithmetic);
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
        ulp_text_add(&head->todo, " -a");
        ulp_word_add(&head->todo, tolerance->arithmetic);
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

static void add_tolerance_verdict(const struct ulp_page *page,
                                  const struct ulp_tolerance *tolerance)
{
    struct ulp_headline head = {0};
    conclude(&head, tolerance);
    ulp_headline_drawn(&head, tolerance->drawn);
    ulp_page_headline(page, "", &head);
    ulp_headline_free(page, &head);
    for (size_t u = 0; u < tolerance->unjudged.count; u++) {
        ulp_text_add(page->out, "  cannot be judged: ");
        ulp_unjudged_say(page->out, &tolerance->unjudged.items[u]);
        ulp_text_add(page->out, "\n");
    }
    if (tolerance->narrow_products)
        ulp_text_add(page->out,
                     "  TF32 is a permission: what a library computes in FP32 all the same has "
                     "smaller errors (--keep NODE=fp32).\n");
}

/* The SQNR of 95 % of runs, which of few elements is a matter of chance. */
static void add_range(struct ulp_text *out, const struct ulp_tolerance_output *output)
{
    char range[2 * ULP_FIGURE_BYTES] = "exact";
    const double size = ulp_math_log10(output->ref_rms);
    if (output->most > 0)
        snprintf(range, sizeof range, "%s to %s",
                 ULP_FIGURE("%.1f", 20 * (size - ulp_math_log10(output->most))),
                 ULP_FIGURE("%.1f", 20 * (size - ulp_math_log10(output->least))));
    ulp_text_add(out, " %15s", range);
}

static void add_table(struct ulp_text *out, const struct ulp_tolerance *tolerance)
{
    ulp_text_add(out, "\n%10s %10s %16s %10s %12s %10s %10s  %s\n", "ref rms", "error rms",
                 "dB, 95 % of runs", "max abs", "independent", "bound", "atol", "output");
    for (size_t o = 0; o < tolerance->output_count; o++) {
        const struct ulp_tolerance_output *output = &tolerance->outputs[o];
        ulp_text_add(out, " %9.2e %10.2e ", output->ref_rms, output->rms);
        add_range(out, output);
        ulp_text_show(out, " %10.2e %12s %10s %10s  %s%s", output->max_abs,
                      ULP_FIGURE("%.2e", output->random), ULP_FIGURE("%.2e", output->bound),
                      ULP_FIGURE("%.1e", output->atol), output->name, output->open ? " ~" : "");
        if (tolerance->sample_count > 1)
            ulp_text_show(out, "  in %s", output->sample);
        ulp_text_add(out, "\n");
    }
    if (tolerance->no_bound)
        ulp_text_show(out, "  no bounds: %s\n", tolerance->no_bound);
}

/* As Polygraphy and numpy take them, of outputs that some tolerance holds for. */
static void add_options(struct ulp_text *out, const struct ulp_tolerance *tolerance)
{
    size_t count = 0;
    for (size_t o = 0; o < tolerance->output_count; o++) {
        const struct ulp_tolerance_output *output = &tolerance->outputs[o];
        if (isnan(output->atol))
            continue;
        ulp_text_add(out, count++ ? " " : "\n  Polygraphy: --atol ");
        add_quoted(out, output->name, output->atol);
    }
    if (!count)
        return;
    ulp_text_add(out, " --rtol 0\n");
    if (tolerance->output_count > 1)
        ulp_text_add(out, "  numpy:      np.allclose(got, expected, rtol=0, atol=...) with the "
                          "atol of each output\n");
    ulp_text_add(out,
                 "  Reason:     %g times the largest error of this arithmetic over schedules and "
                 "%zu trials\n",
                 ULP_TOLERANCE_FACTOR, tolerance->trials);
}

static void add_tolerance_page(const struct ulp_page *page, const struct ulp_tolerance *tolerance)
{
    add_tolerance_verdict(page, tolerance);
    add_table(page->out, tolerance);
    add_options(page->out, tolerance);
}

ULP_PAGE_TEXT(ulp_tolerance_text, ulp_tolerance, add_tolerance_page)

static json_t *make_tolerance_document(const struct ulp_tolerance *tolerance)
{
    static const struct ulp_json_hook hooks[] = {
        {&ulp_struct_unjudged_list, NULL, ulp_json_put_unjudged}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, NULL, NULL};
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_tolerance_text(tolerance, ULP_PAGE_PROSE, false, &text, &ignored);
    return ulp_json_document(&ulp_struct_tolerance, tolerance, &how, ulp_json_paragraph(text));
}

ULP_DOCUMENT_WRITE(ulp_tolerance_write, ulp_tolerance, "tolerance", make_tolerance_document)
