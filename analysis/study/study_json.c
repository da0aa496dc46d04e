/* A study as JSON, CSV and a page; the schema is in doc/study.md. */
#include <math.h>

#include "analysis/html/html.h"
#include "analysis/measure/figure.h"
#include "analysis/audit/audit_json.h"
#include "analysis/writing/json_value.h"
#include "analysis/study/studying.h"
#include "analysis/writing/csv.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"

static void add_conclusion(struct ulp_json_writer *writer, const void *series, const void *context)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text sentence = {0};
    ulp_study_conclude(context, series, &sentence);
    ulp_json_put(writer, "worst", json_integer((json_int_t)ulp_study_worst(context, series)));
    ulp_json_put(writer, "verdict",
                 sentence.failed ? NULL : ulp_json_text(sentence.data ? sentence.data : ""));
}

/* All conclusions, a line each and indented ones below. */
static json_t *make_verdict(const struct ulp_study *study)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    for (size_t i = 0; i < study->series_count; i++)
        ulp_study_conclude(study, &study->series[i], &text);
    while (text.length && text.data[text.length - 1] == '\n')
        text.data[--text.length] = 0;
    return text.failed || !text.data ? NULL : ulp_json_text(text.data);
}

/* Of what was asked, not of how it was run: a study that is resumed has the same bytes. */
static json_t *make_document(const struct ulp_study *study)
{
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_metrics, NULL, ulp_json_put_metrics},
                                                 {&ulp_struct_study_series, add_conclusion, NULL}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, study, NULL};
    return ulp_json_document(&ulp_struct_study, study, &how, make_verdict(study));
}

ULP_DOCUMENT_WRITE(ulp_study_write, ulp_study, "study", make_document)

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
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text out;
    ULP_TRY(ulp_text_open(&out, path, error));
    add_csv(study, &out);
    return ulp_text_close(&out, true, error);
}
