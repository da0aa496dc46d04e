/* The page of an audit. */
#include "analysis/html/html.h"
#include "analysis/report/report_json.h"
#include "base/memory/alloc.h"
#include "base/machine/environment.h"

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
    ULP_ENTER(error);
    const struct ulp_html_report report = ulp_report_page(audit);
    const enum ulp_status status =
        report.root ? ulp_html_write(&report, 1, path, error) : ulp_out_of_memory(error);
    json_decref(report.root);
    return status;
}

enum ulp_status ulp_report_markdown(const struct ulp_audit *audit, const char *path,
                                    struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_html_write_as("audit", ULP_OUTPUT_MARKDOWN, ulp_report_head(audit), path, error);
}
