/* A study as text: conclusions, then tables of at most 100 columns. */
#include <math.h>
#include <string.h>

#include "analysis/writing/columns.h"
#include "analysis/study/studying.h"
#include "base/error.h"

enum { OUTPUTS_MOST = 4 }; /* that have tables; the JSON has all */

static void add_row(const struct ulp_page *page, const struct ulp_study_setting *setting,
                    size_t place, bool output, bool trials)
{
    const struct ulp_study_point *point = &setting->points[place];
    const struct ulp_study_trials *t = &point->trials;
    ulp_text_add(page->out, " %9s %10s %8s %10zu", ULP_FIGURE("%.2e", point->relative),
                 ULP_FIGURE("%.2e", point->metrics.max_abs),
                 ULP_FIGURE("%.1f", point->metrics.sqnr_db), point->nonfinite);
    if (trials && t->count)
        ulp_text_add(page->out, " %6s %9s %6s", ULP_FIGURE("%.1f", t->bits),
                     ULP_FIGURE("%.1e", t->bias), ULP_FIGURE("%.2f", t->biased));
    else if (trials)
        ulp_text_add(page->out, " %6s %9s %6s", "", "", "");
    if (output)
        ulp_text_add(page->out, " %10s", ulp_grade_name(point->grade));
    ulp_text_add(page->out, "  ");
    ulp_page_name(page, setting->text, (trials ? 67 : 43) + (output ? 11 : 0));
    ulp_text_add(page->out, point->diverged ? " ~\n" : "\n");
}

static void add_output(const struct ulp_page *page, const struct ulp_study *study, size_t place)
{
    const bool output = study->places[place].kind == ULP_PLACE_OUTPUT;
    bool trials = false;
    for (size_t i = 0; i < study->setting_count; i++)
        trials |= study->settings[i].points[place].trials.count > 0;
    ulp_text_add(page->out, "\n%s", page->bold);
    ulp_page_name(page, study->places[place].name, 0);
    ulp_text_add(page->out, "%s\n%10s %10s %8s %10s", page->off, "relative", "max abs", "sqnr dB",
                 "not finite");
    if (trials)
        ulp_text_add(page->out, " %6s %9s %6s", "bits", "bias", "biased");
    ulp_text_add(page->out, "%s  setting\n", output ? "    verdict" : "");
    for (size_t i = 0; i < study->setting_count; i++)
        add_row(page, &study->settings[i], place, output, trials);
}

/* The law at every place: an error at the first and the last setting, and what lies between. */
static void add_laws(const struct ulp_page *page, const struct ulp_study *study,
                     const struct ulp_study_series *series)
{
    ulp_text_add(page->out, "\n%s", page->bold);
    ulp_page_name(page, series->name, 40);
    ulp_text_add(page->out, "%s: the law at each place\n%6s %6s %8s %6s %10s %10s  %s\n", page->off,
                 "slope", "+-", "residual", "law", "first", "last", "place");
    for (size_t p = 0; p < study->place_count; p++) {
        const struct ulp_study_fit *fit = &series->fits[p];
        const struct ulp_study_point *first = &study->settings[series->settings[0]].points[p],
                                     *last = &study->settings[series->settings[series->count - 1]]
                                                  .points[p];
        if (fit->unusable == series->count && !first->nonfinite && !first->diverged)
            continue; /* no error anywhere: integers, or exact */
        ulp_text_add(page->out, " %5s %6s %8s %6s %10s %10s  ", ULP_FIGURE("%.2f", fit->slope),
                     ULP_FIGURE("%.2f", fit->slope_error), ULP_FIGURE("%.2f", fit->residual),
                     ulp_study_law_name(fit->law), ULP_FIGURE("%.2e", first->relative),
                     ULP_FIGURE("%.2e", last->relative));
        ulp_page_name(page, study->places[p].name, 64);
        if (study->places[p].kind == ULP_PLACE_GROUP)
            ulp_text_add(page->out,
                         study->places[p].node_count == 1 ? " (%zu node)" : " (%zu nodes)",
                         study->places[p].node_count);
        ulp_text_add(page->out, "\n");
    }
}

/* What the series shows, how it meets what is allowed, and the rest. */
static void add_series(const struct ulp_page *page, const struct ulp_study *study,
                       const struct ulp_study_series *series)
{
    struct ulp_headline head = {0};
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_study_conclude(study, series, &text);
    const size_t first = text.length ? strcspn(text.data, "\n") : 0;
    ulp_text_put(&head.what, text.data, first);
    const char *next = text.length ? text.data + first + (text.data[first] == '\n') : "";
    const size_t length = strcspn(next, "\n");
    if (length > 2)
        ulp_text_put(&head.why, next + 2, length - 2);
    else
        ulp_text_add(&head.why, "the errors of its settings are in the tables below");
    next += length + (next[length] == '\n');
    if (isnan(study->tolerance))
        ulp_text_add(&head.todo, "--tolerance VALUE asks which setting is enough for it");
    else {
        ulp_command_add(&head.todo, "audit", study->arguments);
        ulp_text_add(&head.todo, " -a");
        ulp_word_add(&head.todo, study->settings[series->settings[0]].name);
        ulp_text_add(&head.todo, " # which nodes its error is from");
    }
    ulp_page_headline(page, "", &head);
    ulp_headline_free(page, &head);
    ulp_text_add(page->out, "%s", next);
    page->out->failed |= text.failed;
}

static void add_all(const struct ulp_page *page, const struct ulp_study *study)
{
    size_t shown = 0, outputs = 0;
    for (size_t i = 0; i < study->series_count; i++)
        add_series(page, study, &study->series[i]);
    for (size_t p = 0; p < study->place_count; p++) {
        outputs += study->places[p].kind == ULP_PLACE_OUTPUT;
        if (study->places[p].kind == ULP_PLACE_GROUP ||
            (study->places[p].kind == ULP_PLACE_OUTPUT && shown >= OUTPUTS_MOST))
            continue;
        shown += study->places[p].kind == ULP_PLACE_OUTPUT;
        add_output(page, study, p);
    }
    if (outputs > shown)
        ulp_text_add(page->out, "%zu more outputs are in --json.\n", outputs - shown);
    for (size_t i = 0; i < study->series_count; i++)
        if (study->series[i].fits)
            add_laws(page, study, &study->series[i]);
    ulp_text_add(
        page->out,
        "\nrelative: rms of the error over rms of the reference (%s), %zu sample%s; groups "
        "by %s.\n",
        study->reference, study->sample_count, study->sample_count == 1 ? "" : "s",
        study->grouping);
}

ULP_PAGE_TEXT(ulp_study_text, ulp_study, add_all)
