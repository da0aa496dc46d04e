/* Limits as JUnit's XML, and a crossing as a line of text. */
#include <string.h>

#include <ulpscope/limit.h>
#include <ulpscope/report.h>

#include "analysis/audit/auditor.h"
#include "analysis/measure/judge.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "base/text/shown.h"

/* "sqnr_db" of "fp16:logits:sqnr_db=40". */
static void add_metric(struct ulp_text *text, const char *limit)
{
    const char *end = strrchr(limit, '='), *start = end;
    while (start > limit && start[-1] != ':')
        start--;
    ulp_text_put(text, start, (size_t)(end - start));
}

static void describe(struct ulp_text *text, const struct ulp_crossing *crossing, const char *limit)
{
    if (crossing->kind == ULP_CROSSED_INPUT) {
        ulp_text_show(
            text, "input %s of %s %s, %.0f of them (when they are meant: --allow-nonfinite-inputs)",
            crossing->output, crossing->sample, ulp_judge_reason(crossing->kind), crossing->value);
        return;
    }
    ulp_text_show(text, "%s", crossing->arithmetic);
    if (crossing->output)
        ulp_text_show(text, ", output %s", crossing->output);
    if (crossing->node)
        ulp_text_show(text, " of node %s", crossing->node);
    if (crossing->kind == ULP_CROSSED_VALUE) {
        ulp_text_add(text, ": ");
        add_metric(text, limit);
        ulp_text_add(text, " %.6g, limit %.6g", crossing->value, crossing->limit);
    } else {
        ulp_text_add(text, ": %s", ulp_judge_reason(crossing->kind));
    }
    if (crossing->sample)
        ulp_text_show(text, " in sample %s", crossing->sample);
    if (crossing->kind == ULP_CROSSED_NONFINITE)
        ulp_text_add(text, " (%.0f elements)", crossing->value);
    if (crossing->more)
        ulp_text_add(text, " (and %zu more output%s)", crossing->more,
                     crossing->more == 1 ? "" : "s");
}

enum ulp_status ulp_crossing_text(const struct ulp_crossing *crossing, const char *limit,
                                  char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text = {0};
    describe(&text, crossing, limit);
    *out = text.failed ? NULL : text.data;
    if (*out)
        return ULP_OK;
    ulp_text_free(&text);
    return ulp_out_of_memory(error);
}

/* Text for XML, in attributes and between tags: harmless, and valid UTF-8. */
static void add_escaped(struct ulp_text *out, const char *text)
{
    for (const char *end = text + strlen(text); text < end;) {
        struct ulp_shown shown;
        text = ulp_show_character(&shown, text, end);
        const char *escaped = strcmp(shown.text, "&") == 0    ? "&amp;"
                              : strcmp(shown.text, "<") == 0  ? "&lt;"
                              : strcmp(shown.text, ">") == 0  ? "&gt;"
                              : strcmp(shown.text, "\"") == 0 ? "&quot;"
                                                              : shown.text;
        ulp_text_put(out, escaped, strlen(escaped));
    }
}

static void add_case(struct ulp_text *out, const struct ulp_audit *audit,
                     const struct ulp_audit_limit *limit)
{
    ulp_text_put(out, "  <testcase classname=\"", 23);
    add_escaped(out, audit->model_path);
    ulp_text_add(out, "\" name=\"");
    add_escaped(out, limit->limit);
    ulp_text_add(out, limit->crossing_count ? "\">\n" : "\"/>\n");
    for (size_t c = 0; c < limit->crossing_count; c++) {
        ulp_text_add(out, "    <failure type=\"limit\" message=\"");
        add_escaped(out, limit->crossings[c].text);
        ulp_text_add(out, "\"/>\n");
    }
    ulp_text_add(out, limit->crossing_count ? "  </testcase>\n" : "");
}

/* Of each arithmetic its task's own figure. */
static size_t add_scores(struct ulp_text *out, const struct ulp_audit *audit, size_t *failures)
{
    size_t count = 0;
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_audit_lane *lane = &audit->lanes[l];
        ULP_SCOPED(ulp_text_free) struct ulp_text said = {0};
        if (!lane->score.sample_count)
            continue;
        count++;
        *failures += ulp_audit_loses_score(lane);
        ulp_audit_say_score(&said, lane);
        ulp_text_add(out, "  <testcase classname=\"");
        add_escaped(out, audit->model_path);
        ulp_text_add(out, "\" name=\"");
        add_escaped(out, lane->name);
        ulp_text_add(out, ":metric\"%s", ulp_audit_loses_score(lane) ? ">\n" : "/>\n");
        if (ulp_audit_loses_score(lane)) {
            ulp_text_add(out, "    <failure type=\"metric\" message=\"");
            add_escaped(out, said.data ? said.data : "");
            ulp_text_add(out, "\"/>\n  </testcase>\n");
        }
        out->failed |= said.failed;
    }
    return count;
}

static void add_suite(struct ulp_text *out, const struct ulp_audit *audit)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text cases = {0};
    size_t failures = 0;
    for (size_t l = 0; l < audit->limit_count; l++) {
        add_case(&cases, audit, &audit->limits[l]);
        failures += audit->limits[l].crossing_count > 0;
    }
    const size_t count = audit->limit_count + add_scores(&cases, audit, &failures);
    ulp_text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
    add_escaped(out, audit->model_path);
    ulp_text_add(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" time=\"%.3f\">\n", count,
                 failures, audit->seconds);
    ulp_text_put(out, cases.data ? cases.data : "", cases.length);
    ulp_text_add(out, "</testsuite>\n");
    out->failed |= cases.failed;
}

enum ulp_status ulp_report_junit(const struct ulp_audit *audit, const char *path,
                                 struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text file;
    ULP_TRY(ulp_text_open(&file, path, error));
    add_suite(&file, audit);
    return ulp_text_close(&file, true, error);
}
