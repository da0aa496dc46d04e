/* doctor.json with the files of the steps beside it, and all of them as one page. */

#include "analysis/compare/comparing.h"
#include "analysis/doctor/doctoring.h"
#include "analysis/html/html.h"
#include "analysis/lint/lint.h"
#include "analysis/overflow/meter.h"
#include "analysis/report/report_json.h"
#include "analysis/search/written/search_text.h"
#include "analysis/writing/document.h"
#include "analysis/writing/folder.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "analysis/writing/first_screen.h"
#include "base/error.h"
#include "base/machine/environment.h"

static void add_tiles(struct ulp_json_writer *writer, const void *result, const void *context)
{
    const struct ulp_doctor *doctor = result;
    struct ulp_headline headline = {0};
    json_t *tiles = json_array();
    (void)context;
    ulp_doctor_headline(doctor, &headline);
    ulp_tile_grade(&tiles, doctor->grade, ulp_grade_name(doctor->grade), doctor->reason);
    if (doctor->cause_count) {
        const struct ulp_doctor_cause *cause = &doctor->causes[0];
        ulp_tile_add(&tiles, ULP_TILE_PLAIN, "Cause", "%s", ulp_doctor_reason_name(cause->reason));
        ulp_tile_note(&tiles, cause->index, "%s", cause->node ? cause->node : "");
    }
    ulp_tiles_put(writer, &headline, tiles);
    ulp_json_put(writer, "notes", ulp_doctor_notes(doctor));
}

static json_t *make_doctor_document(const struct ulp_doctor *doctor)
{
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_doctor, add_tiles, NULL}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, NULL, NULL};
    struct ulp_headline headline = {0};
    struct ulp_text verdict = {0};
    ulp_doctor_headline(doctor, &headline);
    ulp_headline_join(&verdict, &headline);
    return ulp_json_document(&ulp_struct_doctor, doctor, &how, ulp_json_lines(&verdict));
}

static enum ulp_status write_files(const struct ulp_doctor *doctor, const char *folder,
                                   struct ulp_error *error)
{
    ULP_TRY(ulp_report_write_json(make_doctor_document(doctor), folder, "doctor.json", error));
    ULP_TRY(ulp_report_write(doctor->audit, folder, error));
    ULP_TRY(ulp_lint_write(doctor->lint, ULP_OUTPUT_FOLDER, folder, error));
    if (doctor->overflow)
        ULP_TRY(ulp_overflow_write(doctor->overflow, ULP_OUTPUT_FOLDER, folder, error));
    if (doctor->comparison)
        ULP_TRY(ulp_comparison_write(doctor->comparison, ULP_OUTPUT_FOLDER, folder, error));
    if (doctor->plan)
        ULP_TRY(ulp_search_write(doctor->plan, ULP_OUTPUT_FOLDER, folder, error));
    return ULP_OK;
}

static enum ulp_status write_page(const struct ulp_doctor *doctor, const char *path,
                                  struct ulp_error *error)
{
    struct ulp_html_report reports[6] = {{.kind = "doctor", .root = make_doctor_document(doctor)},
                                         ulp_report_page(doctor->audit),
                                         {.kind = "lint", .root = ulp_lint_document(doctor->lint)}};
    size_t count = 3;
    if (doctor->overflow)
        reports[count++] =
            (struct ulp_html_report){.kind = "overflow",
                                     .root = ulp_overflow_document(doctor->overflow)};
    if (doctor->comparison)
        reports[count++] =
            (struct ulp_html_report){.kind = "compare",
                                     .root = ulp_comparison_document(doctor->comparison)};
    if (doctor->plan)
        reports[count++] =
            (struct ulp_html_report){.kind = "plan", .root = ulp_search_document(doctor->plan)};
    bool made = true;
    for (size_t r = 0; r < count; r++)
        made &= reports[r].root != NULL;
    const enum ulp_status status =
        made ? ulp_html_write(reports, count, path, error) : ulp_out_of_memory(error);
    for (size_t r = 0; r < count; r++)
        json_decref(reports[r].root);
    return status;
}

enum ulp_status ulp_doctor_write(const struct ulp_doctor *doctor, enum ulp_output_kind as,
                                 const char *path, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return as == ULP_OUTPUT_FOLDER ? write_files(doctor, path, error)
           : as == ULP_OUTPUT_HTML
               ? write_page(doctor, path, error)
               : ulp_html_write_as("doctor", as, make_doctor_document(doctor), path, error);
}

enum ulp_status ulp_doctor_text(const struct ulp_doctor *doctor, int width, bool colour, char **out,
                                struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_document_text("doctor", make_doctor_document(doctor), 0, width, colour, out, error);
}
