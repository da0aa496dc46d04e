/* A study as JSON, CSV and a page; the schema is in doc/study.md. */
#include <math.h>

#include "analysis/html/html.h"
#include "analysis/measure/figure.h"
#include "analysis/audit/audit_json.h"
#include "analysis/writing/json_value.h"
#include "analysis/study/studying.h"
#include "analysis/writing/csv.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"

static void set_size(json_t **object, const char *key, size_t value)
{
    ulp_json_set(object, key, json_integer((json_int_t)value));
}
static void set_number(json_t **object, const char *key, double value)
{
    ulp_json_set(object, key, ulp_json_number(value));
}

static json_t *make_trials(const struct ulp_study_trials *trials)
{
    json_t *object = json_object();
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"mean", trials->mean},
                   {"deviation", trials->deviation},
                   {"bits", trials->bits},
                   {"bits_low", trials->bits_low},
                   {"bits_least", trials->bits_least},
                   {"bias", trials->bias},
                   {"bias_error", trials->bias_error},
                   {"bias_width", trials->bias_width},
                   {"bias_rms", trials->bias_rms},
                   {"biased", trials->biased}};
    set_size(&object, "count", trials->count);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        set_number(&object, numbers[i].key, numbers[i].value);
    set_size(&object, "elements", trials->elements);
    set_size(&object, "left_out", trials->left_out);
    set_size(&object, "exact", trials->exact);
    return object;
}

static json_t *make_point(const struct ulp_study_point *point, enum ulp_study_place_kind kind)
{
    json_t *object = json_object();
    set_number(&object, "relative", point->relative);
    set_size(&object, "nonfinite", point->nonfinite);
    if (point->diverged)
        ulp_json_set(&object, "diverged", json_true());
    if (kind != ULP_PLACE_GROUP) {
        set_number(&object, "ref_rms", point->ref_rms);
        ulp_json_set(&object, "entire", ulp_json_value(&ulp_struct_metrics, &point->metrics, &ulp_json_plain));
    }
    if (point->trials.count)
        ulp_json_set(&object, "trials", make_trials(&point->trials));
    return object;
}

static json_t *make_setting(const struct ulp_study *study, const struct ulp_study_setting *setting)
{
    json_t *object = json_object(), *points = json_array();
    ulp_json_set(&object, "name", ulp_json_text(setting->name));
    ulp_json_set(&object, "text", ulp_json_text(setting->text));
    set_size(&object, "trials", setting->trials);
    ulp_json_set(&object, "overflows",
                 setting->overflows ? ulp_json_text(setting->overflows) : json_null());
    for (size_t p = 0; p < study->place_count; p++)
        ulp_json_append(&points, make_point(&setting->points[p], study->places[p].kind));
    ulp_json_set(&object, "points", points);
    return object;
}

static json_t *make_fit(const struct ulp_study_fit *fit)
{
    json_t *object = json_object();
    ulp_json_set(&object, "law", json_string(ulp_study_law_name(fit->law)));
    ulp_json_set(&object, "reason", fit->reason ? json_string(fit->reason) : json_null());
    set_number(&object, "slope", fit->slope);
    set_number(&object, "intercept", fit->intercept);
    set_number(&object, "slope_error", fit->slope_error);
    set_number(&object, "slope_low", fit->slope_low);
    set_number(&object, "slope_high", fit->slope_high);
    set_number(&object, "residual", fit->residual);
    set_number(&object, "floor", fit->floor);
    set_size(&object, "count", fit->count);
    set_size(&object, "first", fit->first);
    set_size(&object, "last", fit->last);
    set_size(&object, "lost", fit->lost);
    set_size(&object, "unusable", fit->unusable);
    set_size(&object, "floored", fit->floored);
    return object;
}

static json_t *make_series(const struct ulp_study *study, const struct ulp_study_series *series)
{
    json_t *object = json_object(), *settings = json_array(), *x = json_array(),
           *fits = series->fits ? json_array() : json_null();
    struct ulp_text sentence = {0};
    ulp_study_conclude(study, series, &sentence);
    ulp_json_set(&object, "sweep", json_integer((json_int_t)series->sweep));
    ulp_json_set(&object, "name", ulp_json_text(series->name));
    ulp_json_set(&object, "axis", json_string(ulp_study_axis_name(series->axis)));
    for (size_t i = 0; i < series->count; i++) {
        ulp_json_append(&settings, json_integer((json_int_t)series->settings[i]));
        ulp_json_append(&x, ulp_json_number(series->x[i]));
    }
    ulp_json_set(&object, "settings", settings);
    ulp_json_set(&object, "x", x);
    for (size_t p = 0; series->fits && p < study->place_count; p++)
        ulp_json_append(&fits, make_fit(&series->fits[p]));
    ulp_json_set(&object, "fits", fits);
    set_size(&object, "worst", ulp_study_worst(study, series));
    ulp_json_set(&object, "verdict",
                 sentence.failed ? NULL : ulp_json_text(sentence.data ? sentence.data : ""));
    ulp_text_free(&sentence);
    return object;
}

/* All conclusions, a line each and indented ones below. */
static json_t *make_verdict(const struct ulp_study *study)
{
    struct ulp_text text = {0};
    for (size_t i = 0; i < study->series_count; i++)
        ulp_study_conclude(study, &study->series[i], &text);
    while (text.length && text.data[text.length - 1] == '\n')
        text.data[--text.length] = 0;
    json_t *verdict = text.failed || !text.data ? NULL : ulp_json_text(text.data);
    ulp_text_free(&text);
    return verdict;
}

static json_t *make_study(const struct ulp_study *study)
{
    json_t *root = json_object(), *sweeps = json_array(), *places = json_array(),
           *settings = json_array(), *series = json_array();
    ulp_json_set(&root, "study", json_integer(1)); /* the schema's version */
    ulp_json_set(&root, "model", ulp_json_text(study->model_path));
    ulp_json_set(&root, "reference", ulp_json_text(study->reference));
    ulp_json_set(&root, "verdict", make_verdict(study));
    set_size(&root, "samples", study->sample_count);
    set_size(&root, "trials", study->trials);
    ulp_json_set(&root, "seed", json_integer((json_int_t)study->seed));
    set_number(&root, "probability", study->probability);
    set_number(&root, "confidence", study->confidence);
    set_number(&root, "tolerance", study->tolerance);
    ulp_json_set(&root, "grouping", ulp_json_text(study->grouping));
    for (size_t i = 0; i < study->sweep_count; i++)
        ulp_json_append(&sweeps, ulp_json_text(study->sweeps[i]));
    for (size_t p = 0; p < study->place_count; p++) {
        json_t *place = json_object();
        ulp_json_set(&place, "kind", json_string(ulp_study_place_kind_name(study->places[p].kind)));
        ulp_json_set(&place, "name", ulp_json_text(study->places[p].name));
        if (study->places[p].kind == ULP_PLACE_GROUP)
            set_size(&place, "nodes", study->places[p].node_count);
        ulp_json_append(&places, place);
    }
    for (size_t i = 0; i < study->setting_count; i++)
        ulp_json_append(&settings, make_setting(study, &study->settings[i]));
    for (size_t i = 0; i < study->series_count; i++)
        ulp_json_append(&series, make_series(study, &study->series[i]));
    ulp_json_set(&root, "sweeps", sweeps);
    ulp_json_set(&root, "places", places);
    ulp_json_set(&root, "settings", settings);
    ulp_json_set(&root, "series", series);
    return root;
}

enum ulp_status ulp_study_write_json(const struct ulp_study *study, const char *path,
                                     struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_json_write(make_study(study), path, error);
}

enum ulp_status ulp_study_write_html(const struct ulp_study *study, const char *path,
                                     struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_html_write_root("study", make_study(study), path, error);
}

static void add_csv(const struct ulp_study *study, struct ulp_text *out)
{
    ulp_text_add(out, "setting,arithmetic,place,kind,relative,ref_rms");
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        ulp_text_add(out, ",%s", ulp_figure_rows[f].name);
    ulp_text_add(out, ",nonfinite,diverged,trials,bits,bits_low,bias,bias_error\n");
    for (size_t i = 0; i < study->setting_count; i++)
        for (size_t p = 0; p < study->place_count; p++) {
            const struct ulp_study_setting *setting = &study->settings[i];
            const struct ulp_study_point *point = &setting->points[p];
            const struct ulp_study_trials *trials = &point->trials;
            ulp_csv_text(out, setting->text);
            ulp_text_add(out, ",");
            ulp_csv_text(out, setting->name);
            ulp_text_add(out, ",");
            ulp_csv_text(out, study->places[p].name);
            ulp_text_add(out, ",%s", ulp_study_place_kind_name(study->places[p].kind));
            ulp_csv_number(out, point->relative);
            ulp_csv_number(out, point->ref_rms);
            for (int f = 0; f < ULP_FIGURE_COUNT; f++)
                ulp_csv_number(out, ulp_figure_get(&point->metrics, f));
            ulp_text_add(out, ",%zu,%d,%zu", point->nonfinite, point->diverged, trials->count);
            ulp_csv_number(out, trials->count ? trials->bits : NAN);
            ulp_csv_number(out, trials->count ? trials->bits_low : NAN);
            ulp_csv_number(out, trials->count ? trials->bias : NAN);
            ulp_csv_number(out, trials->count ? trials->bias_error : NAN);
            ulp_text_add(out, "\n");
        }
}

enum ulp_status ulp_study_write_csv(const struct ulp_study *study, const char *path,
                                    struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text out;
    const enum ulp_status status = ulp_text_open(&out, path, error);
    if (status != ULP_OK)
        return status;
    add_csv(study, &out);
    return ulp_text_close(&out, true, error);
}
