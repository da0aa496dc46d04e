/* The page of an audit, and of reports read again. */
#include <sys/stat.h>

#include "analysis/html/html.h"
#include "analysis/report/report_json.h"
#include "analysis/writing/document.h"
#include "analysis/writing/json_value.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "data/json_file.h"

/* ---- of an audit ---- */

struct ulp_html_report ulp_report_page(const struct ulp_audit *audit)
{
    return (struct ulp_html_report){.kind = "audit",
                                    .root = ulp_report_head(audit),
                                    .put = ulp_report_json_shown,
                                    .context = audit};
}

enum ulp_status ulp_report_html(const struct ulp_audit *audit, const char *path,
                                struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    const struct ulp_html_report report = ulp_report_page(audit);
    const enum ulp_status status =
        report.root ? ulp_html_write(&report, 1, path, error) : ulp_out_of_memory(error);
    json_decref(report.root);
    return status;
}

enum ulp_status ulp_report_markdown(const struct ulp_audit *audit, const char *path,
                                    struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_html_write_as("audit", ULP_OUTPUT_MARKDOWN, ulp_report_head(audit), path, error);
}

/* ---- of files ---- */

/* The files in a folder, in the order of the page. */
static const char *const files[] = {"doctor.json",   "report.json", "plan.json",
                                    "overflow.json", "scales.json", "compare.json",
                                    "engine.json",   "proof.json",  "lint.json"};
enum { FILES = sizeof files / sizeof *files };

struct reading {
    struct ulp_html_report reports[FILES];
    size_t charged[FILES]; /* for the documents, until the page is written */
    size_t count;
};

static enum ulp_status read_one(struct reading *reading, const char *path,
                                struct ulp_budget *budget, struct ulp_error *error)
{
    struct stat info = {0};
    json_t *root;
    size_t charged;
    ULP_TRY(ulp_json_file_load(path, budget, &root, &charged, error));
    enum ulp_status status = ulp_json_check_schema(root, error);
    ulp_fail_at(error, status, "%s", path);
    const char *kind = ulp_document_kind(root);
    if (!kind && status == ULP_OK)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: is no report of ulpscope", path);
    if (status != ULP_OK) {
        ulp_json_file_free(root, budget, charged);
        return status;
    }
    stat(path, &info);
    reading->reports[reading->count] =
        (struct ulp_html_report){.kind = kind,
                                 .saved = info.st_mtime ? info.st_mtime : 1,
                                 .root = root};
    reading->charged[reading->count++] = charged;
    return ULP_OK;
}

static enum ulp_status read_folder(struct reading *reading, const char *folder,
                                   struct ulp_budget *budget, struct ulp_error *error)
{
    for (size_t f = 0; f < FILES; f++) {
        ULP_SCOPED(ulp_text_free) struct ulp_text path = {0};
        struct stat info;
        ulp_text_add(&path, "%s/%s", folder, files[f]);
        ULP_TRY(ulp_taken(!path.failed, error));
        if (stat(path.data, &info) == 0)
            ULP_TRY(read_one(reading, path.data, budget, error));
    }
    return reading->count
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT,
                          "%s: there is no report in it (report.json, overflow.json, ...)", folder);
}

enum ulp_status ulp_saved_html(const char *report, struct ulp_budget *budget, const char *path,
                               struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct stat info;
    struct reading reading = {0};
    const bool folder = stat(report, &info) == 0 && S_ISDIR(info.st_mode);
    enum ulp_status status = folder ? read_folder(&reading, report, budget, error)
                                    : read_one(&reading, report, budget, error);
    if (status == ULP_OK)
        status = ulp_html_write(reading.reports, reading.count, path, error);
    for (size_t r = 0; r < reading.count; r++)
        ulp_json_file_free(reading.reports[r].root, budget, reading.charged[r]);
    return status;
}
