/* The page of results read again: of one, or of all in a folder. */
#include <sys/stat.h>

#include "analysis/html/html.h"
#include "analysis/saved/saved.h"
#include "base/error.h"
#include "base/machine/environment.h"

/* The files in a folder, in the order of the page. */
static const char *const files[] = {"doctor.json",   "report.json", "plan.json",
                                    "overflow.json", "scales.json", "compare.json",
                                    "engine.json",   "proof.json",  "lint.json"};
enum { FILES = sizeof files / sizeof *files };

struct reading {
    struct ulp_saved *saved[FILES];
    struct ulp_html_report reports[FILES];
    size_t count;
};

static enum ulp_status read_one(struct reading *reading, const char *path,
                                struct ulp_budget *budget, struct ulp_error *error)
{
    struct stat info = {0};
    struct ulp_saved **saved = &reading->saved[reading->count];
    ULP_TRY(ulp_saved_read(path, budget, saved, error));
    stat(path, &info);
    reading->reports[reading->count++] =
        (struct ulp_html_report){.kind = (*saved)->kind,
                                 .saved = info.st_mtime ? info.st_mtime : 1,
                                 .root = (*saved)->root};
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
    ULP_ENTER(error);
    struct stat info;
    struct reading reading = {0};
    const bool folder = stat(report, &info) == 0 && S_ISDIR(info.st_mode);
    enum ulp_status status = folder ? read_folder(&reading, report, budget, error)
                                    : read_one(&reading, report, budget, error);
    ULP_THEN(status, ulp_html_write(reading.reports, reading.count, path, error));
    for (size_t r = 0; r < reading.count; r++)
        ulp_saved_free(reading.saved[r]);
    return status;
}
