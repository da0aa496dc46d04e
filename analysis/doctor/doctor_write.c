/* doctor.json with the files of the steps beside it, and all of them as one page. */

#include "analysis/compare/comparing.h"
#include "analysis/doctor/doctoring.h"
#include "analysis/html/said.h"
#include "analysis/lint/lint.h"
#include "analysis/overflow/meter.h"
#include "analysis/report/report_json.h"
#include "analysis/search/written/search_text.h"
#include "analysis/writing/folder.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/error.h"
#include "base/machine/environment.h"

static json_t *make_tiles(const void *result)
{
    const struct ulp_doctor *doctor = result;
    json_t *tiles = json_array();
    ulp_tile_grade(&tiles, doctor->grade, ulp_grade_name(doctor->grade), doctor->reason);
    if (doctor->cause_count) {
        const struct ulp_doctor_cause *cause = &doctor->causes[0];
        ulp_tile_add(&tiles, ULP_TILE_PLAIN, "Cause", "%s", ulp_doctor_reason_name(cause->reason));
        ulp_tile_note(&tiles, cause->index, "%s", cause->node ? cause->node : "");
    }
    return tiles;
}

static const struct ulp_said said = {
    "doctor",      &ulp_struct_doctor,  .conclude = ulp_doctor_conclude,
    .brief = true, .tiles = make_tiles, .notes = ulp_doctor_notes};
ULP_SAID_TEXT(doctor, ulp_doctor, said, 0)

static enum ulp_status write_files(const struct ulp_doctor *doctor, const char *folder,
                                   struct ulp_error *error)
{
    ULP_TRY(ulp_report_write_json(ulp_said_document(&said, doctor), folder, "doctor.json", error));
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
    const struct {
        const struct ulp_said *said;
        const void *result; /* NULL: there is none */
    } steps[] = {{&ulp_lint_said, doctor->lint},
                 {&ulp_overflow_said, doctor->overflow},
                 {&ulp_comparison_said, doctor->comparison},
                 {&ulp_search_said, doctor->plan}};
    struct ulp_html_report reports[6] = {ulp_said_page(&said, doctor),
                                         ulp_report_page(doctor->audit)};
    size_t count = 2;
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
        if (steps[s].result)
            reports[count++] = ulp_said_page(steps[s].said, steps[s].result);
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
    ULP_ENTER(error);
    return as == ULP_OUTPUT_FOLDER ? write_files(doctor, path, error)
           : as == ULP_OUTPUT_HTML ? write_page(doctor, path, error)
                                   : ulp_said_write(&said, doctor, as, path, error);
}
