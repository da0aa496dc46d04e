/* Writing all files of a report into a folder, together or not at all. */

#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "analysis/report/report_json.h"
#include "analysis/writing/document.h"
#include "analysis/report/report.h"
#include "analysis/writing/folder.h"

enum ulp_status ulp_report_text(const struct ulp_audit *audit, int width, bool colour, char **out,
                                struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_document_text("audit", ulp_report_head(audit), ULP_DOCUMENT_ROWS, width, colour, out,
                             error);
}

static enum ulp_status write_summary(const struct ulp_audit *audit, struct ulp_text *out,
                                     struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_report_text(audit, 0, false, &text, error));
    ulp_text_put(out, text, strlen(text));
    return ULP_OK;
}

static const struct {
    const char *name;
    enum ulp_status (*write)(const struct ulp_audit *, struct ulp_text *, struct ulp_error *);
} report_files[] = {{"report.json", ulp_report_json},
                    {"layers.csv", ulp_report_csv},
                    {"summary.txt", write_summary}};
enum { FILE_COUNT = sizeof report_files / sizeof *report_files };

/* Into a text that was opened for the file. */
static enum ulp_status write_file(const struct ulp_audit *audit, size_t index,
                                  struct ulp_text *text, struct ulp_error *error)
{
    const enum ulp_status status = report_files[index].write(audit, text, error),
                          closed = ulp_text_close(text, status == ULP_OK, error);
    return status == ULP_OK ? closed : status;
}

enum ulp_status ulp_report_write(const struct ulp_audit *audit, const char *folder,
                                 struct ulp_error *error)
{
    ULP_ENTER(error);
    enum ulp_status status = ulp_report_prepare(folder, error);
    const bool begun = ulp_files_hold();
    for (size_t f = 0; f < FILE_COUNT && status == ULP_OK; f++) {
        struct ulp_text text;
        status = ulp_report_open(folder, report_files[f].name, &text, error);
        ULP_THEN(status, write_file(audit, f, &text, error));
    }
    return ulp_files_release(begun, status, error);
}

enum ulp_status ulp_audit_write_json(const struct ulp_audit *audit, const char *path,
                                     struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text;
    ULP_TRY(ulp_text_open(&text, path, error));
    return write_file(audit, 0, &text, error);
}
