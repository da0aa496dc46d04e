/* overflow.json: its schema is in doc/overflow.md. */

#include <ulpscope.h>

#include "analysis/audit/audit_json.h"
#include "analysis/html/html.h"
#include "analysis/overflow/meter.h"
#include "analysis/writing/folder.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"

/* A node of the plan, of which a lane has those that were computed. */
static const char *name_node(const void *context, size_t index)
{
    const struct ulp_overflow_forecast *forecast = context;
    for (size_t l = 0; l < forecast->lane_count; l++)
        for (size_t n = 0; n < forecast->lanes[l].node_count; n++)
            if (forecast->lanes[l].nodes[n].index == index)
                return forecast->lanes[l].nodes[n].name;
    return "";
}

json_t *ulp_overflow_document(const struct ulp_overflow_forecast *forecast)
{
    static const struct ulp_json_hook hooks[] = {
        {&ulp_struct_unjudged_list, NULL, ulp_json_put_unjudged}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, forecast, name_node};
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_overflow_text(forecast, 0, false, &text, &ignored);
    return ulp_json_document(&ulp_struct_overflow_forecast, forecast, &how,
                             ulp_json_paragraph(text));
}

enum ulp_status ulp_overflow_write(const struct ulp_overflow_forecast *forecast, const char *folder,
                                   struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_report_write_json(ulp_overflow_document(forecast), folder, "overflow.json", error);
}

enum ulp_status ulp_overflow_write_json(const struct ulp_overflow_forecast *forecast,
                                        const char *path, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_json_write(ulp_overflow_document(forecast), path, error);
}

enum ulp_status ulp_overflow_html(const struct ulp_overflow_forecast *forecast, const char *path,
                                  struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_html_write_root("overflow", ulp_overflow_document(forecast), path, error);
}
