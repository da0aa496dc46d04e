/* What was found, as text and as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fit/fit.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "analysis/writing/columns.h"
#include "base/machine/environment.h"

/* Never 100 % unless it is all. */
static double percent(const struct ulp_fit *fit, const struct ulp_fit_candidate *candidate)
{
    const double share = 100 * (double)candidate->equal / (double)fit->elements;
    return candidate->equal < fit->elements && share > 99.99 ? 99.99 : share;
}

static void add_probe(struct ulp_text *text, const struct ulp_fit *fit,
                      const struct ulp_fit_probe *probe, const char *path)
{
    if (!probe && fit->consistent > 1)
        ulp_text_add(text, " --probe FILE.npz writes operands that tell them apart.");
    if (!probe)
        return;
    if (probe->count > 1 && probe->class_count == probe->count)
        ulp_text_show(text, " The probe %s tells all of them apart", path);
    else if (probe->count > 1)
        ulp_text_show(text, " The probe %s makes %zu classes of them", path, probe->class_count);
    else
        ulp_text_show(text, " The probe %s shows the order of the sum", path);
    ulp_text_add(
        text, ": multiply its a and b on the GPU, and give `ulpscope fit` the product with these.");
}

static void add_verdict(struct ulp_text *text, const struct ulp_fit *fit,
                        const struct ulp_fit_probe *probe, const char *path)
{
    const struct ulp_fit_candidate *first = fit->candidates;
    if (fit->consistent) {
        ulp_text_add(text, "These bits are %s: all %zu elements are equal.", first->name,
                     fit->elements);
        if (fit->consistent == 1)
            ulp_text_add(text, " None of the other %zu candidates gives them.", fit->tried - 1);
        else
            ulp_text_add(text, " %zu other%s of the %zu candidates give%s the same bits here.",
                         fit->consistent - 1, fit->consistent > 2 ? "s" : "", fit->tried,
                         fit->consistent > 2 ? "" : "s");
    } else if (fit->count) {
        ulp_text_add(text,
                     "None of %zu candidates gives these bits: the nearest, %s, gives %zu of %zu "
                     "elements (%.2f %%).",
                     fit->tried, first->name, first->equal, fit->elements, percent(fit, first));
    } else {
        ulp_text_add(text, "There is no candidate for these types and GPUs.");
    }
    add_probe(text, fit, probe, path);
    ulp_text_add(text, "\n");
    if (fit->parts)
        ulp_text_add(text, "  In parts: %s.\n", fit->parts);
    if (fit->order)
        ulp_text_add(text, "  Order: %s.\n", fit->order);
}

/* "first at 3,17: recorded 1.5, here 1.25; up to 2 ulps; rows 0-63, columns 8-15". */
static void add_difference(struct ulp_text *text, const struct ulp_fit *fit,
                           const struct ulp_fit_candidate *candidate)
{
    if (candidate->consistent)
        return;
    if (fit->product_count > 1)
        ulp_text_add(text, "product %zu, ", candidate->product + 1);
    ulp_text_add(text, "rows %zu-%zu, columns %zu-%zu, up to ", candidate->first_row,
                 candidate->last_row, candidate->first_column, candidate->last_column);
    if (isfinite(candidate->max_ulps))
        ulp_text_add(text, "%.3g ulp%s; ", candidate->max_ulps,
                     candidate->max_ulps == 1 ? "" : "s");
    else
        ulp_text_add(text, "NaN or infinity; ");
    ulp_text_add(text, "first %.9g for %.9g", candidate->computed, candidate->recorded);
}

static int name_columns(const struct ulp_fit *fit, size_t shown)
{
    size_t widest = strlen("arithmetic");
    for (size_t i = 0; i < fit->count; i++)
        if ((i < shown || i >= fit->consistent) && strlen(fit->candidates[i].name) > widest)
            widest = strlen(fit->candidates[i].name);
    return (int)widest;
}

static void add_table(struct ulp_text *text, const struct ulp_fit *fit,
                      const struct ulp_fit_probe *probe, size_t limit)
{
    const size_t shown = limit ? ulp_size_min(limit, fit->consistent) : fit->consistent;
    const int width = name_columns(fit, shown);
    const bool classes = probe && probe->count > 1;
    if (!fit->count)
        return;
    ulp_text_add(text, "\n  %-*s  %7s  %s%s\n", width, "arithmetic", "equal",
                 classes ? "class  " : "", "matrix unit of; differences");
    for (size_t i = 0; i < fit->count; i++) {
        const struct ulp_fit_candidate *candidate = &fit->candidates[i];
        if (i == shown && shown < fit->consistent)
            ulp_text_add(text, "  ... and %zu others with all bits\n", fit->consistent - shown);
        if (i >= shown && i < fit->consistent)
            continue;
        ulp_text_add(text, "  %-*s  %5.*f %%  ", width, candidate->name,
                     candidate->consistent ? 0 : 2, percent(fit, candidate));
        if (classes && candidate->consistent)
            ulp_text_add(text, "%5zu  ", probe->classes[i] + 1);
        else if (classes)
            ulp_text_add(text, "       ");
        ulp_text_add(text, "%s%s", *candidate->gpus ? candidate->gpus : "none",
                     candidate->consistent ? "" : "; ");
        add_difference(text, fit, candidate);
        if (*candidate->also && candidate->consistent)
            ulp_text_add(text, "; with %s the same for this k", candidate->also);
        ulp_text_add(text, "\n");
    }
}

enum ulp_status ulp_fit_text(const struct ulp_fit *fit, const struct ulp_fit_probe *probe,
                             const char *probe_path, size_t limit, char **out,
                             struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    add_verdict(&text, fit, probe, probe_path);
    add_table(&text, fit, probe, limit);
    return ulp_page_take(&text, ULP_OK, out, error);
}

/* ---- JSON ---- */

/* Also the classes of the probe, which is not of the fit. */
static void add_classes(struct ulp_json_writer *writer, const void *fit, const void *context)
{
    const struct ulp_fit_probe *probe = context;
    (void)fit;
    ulp_json_open(writer, "probe_classes", '[');
    for (size_t i = 0; probe && i < probe->count; i++)
        ulp_json_put(writer, NULL, json_integer((json_int_t)probe->classes[i]));
    ulp_json_close(writer, ']');
}

static json_t *make_document(const struct ulp_fit *fit, const struct ulp_fit_probe *probe)
{
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_fit, add_classes, NULL}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, probe, NULL};
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_fit_text(fit, NULL, NULL, 1, &text, &ignored);
    return ulp_json_document(&ulp_struct_fit, fit, &how, ulp_json_paragraph(text));
}

enum ulp_status ulp_fit_write_json(const struct ulp_fit *fit, const struct ulp_fit_probe *probe,
                                   const char *path, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_json_write(make_document(fit, probe), path, error);
}
