/* What was found, as text and as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fit/fit.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
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
    ulp_text_add(text,
                 ": multiply its a and b on the GPU, and give `ulpscope fit` the product with "
                 "these.");
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
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text text = {0};
    add_verdict(&text, fit, probe, probe_path);
    add_table(&text, fit, probe, limit);
    return ulp_page_take(&text, out, error);
}

/* ---- JSON ---- */

static json_t *make_range(size_t first, size_t last)
{
    json_t *range = json_array();
    ulp_json_append(&range, json_integer((json_int_t)first));
    ulp_json_append(&range, json_integer((json_int_t)last));
    return range;
}

static json_t *make_difference(const struct ulp_fit_candidate *candidate)
{
    json_t *object = json_object();
    ulp_json_set(&object, "product", json_integer((json_int_t)candidate->product));
    ulp_json_set(&object, "index", json_integer((json_int_t)candidate->index));
    ulp_json_set(&object, "recorded", ulp_json_number(candidate->recorded));
    ulp_json_set(&object, "computed", ulp_json_number(candidate->computed));
    ulp_json_set(&object, "max_ulps", ulp_json_number(candidate->max_ulps));
    ulp_json_set(&object, "rows", make_range(candidate->first_row, candidate->last_row));
    ulp_json_set(&object, "columns", make_range(candidate->first_column, candidate->last_column));
    return object;
}

static json_t *make_candidate(const struct ulp_fit_candidate *candidate)
{
    json_t *object = json_object();
    ulp_json_set(&object, "arithmetic", ulp_json_text(candidate->name));
    ulp_json_set(&object, "gpus", ulp_json_text(candidate->gpus));
    ulp_json_set(&object, "also", ulp_json_text(candidate->also));
    ulp_json_set(&object, "operands", ulp_json_text(candidate->operands));
    ulp_json_set(&object, "result", ulp_json_text(candidate->result));
    ulp_json_set(&object, "consistent", json_boolean(candidate->consistent));
    ulp_json_set(&object, "equal", json_integer((json_int_t)candidate->equal));
    ulp_json_set(&object, "difference",
                 candidate->consistent ? json_null() : make_difference(candidate));
    return object;
}

static json_t *make_text(const char *text)
{
    return text ? ulp_json_text(text) : json_null();
}

enum ulp_status ulp_fit_write_json(const struct ulp_fit *fit, const struct ulp_fit_probe *probe,
                                   const char *path, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    json_t *root = json_object(), *candidates = json_array(), *classes = json_array();
    ulp_json_set(&root, "products", json_integer((json_int_t)fit->product_count));
    ulp_json_set(&root, "elements", json_integer((json_int_t)fit->elements));
    ulp_json_set(&root, "tried", json_integer((json_int_t)fit->tried));
    ulp_json_set(&root, "consistent", json_integer((json_int_t)fit->consistent));
    for (size_t i = 0; i < fit->count; i++)
        ulp_json_append(&candidates, make_candidate(&fit->candidates[i]));
    ulp_json_set(&root, "candidates", candidates);
    ulp_json_set(&root, "parts", make_text(fit->parts));
    ulp_json_set(&root, "order", make_text(fit->order));
    for (size_t i = 0; probe && i < probe->count; i++)
        ulp_json_append(&classes, json_integer((json_int_t)probe->classes[i]));
    ulp_json_set(&root, "probe_classes", classes);
    return ulp_json_write(root, path, error);
}
