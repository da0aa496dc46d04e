/* The lane of `ulpscope audit --engine`: what was built, beside the other arithmetics; and what its
 * kernels cost. */
#include <stdio.h>

#include "base/error.h"
#include "cli/command/command_audit.h"

#define LANE_NAME "engine"

enum ulp_status open_engine(const char *path, const struct ulp_model *model,
                            const struct sample_list *samples,
                            const struct ulp_engine_map_options *options, struct engine_lane *out,
                            struct ulp_error *error)
{
    struct ulp_arithmetic plain;
    const struct ulp_program_options planning = {.inputs = &samples->items[0].inputs};
    *out = (struct engine_lane){0};
    ULP_TRY(ulp_engine_read(path, ulp_model_budget(model), &out->engine, error));
    if (out->engine.names_only)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: only names are told, no type: build with "
                        "--profilingVerbosity=detailed and export again",
                        path);
    ULP_TRY(ulp_arithmetic_find("fp32", &plain, error));
    ULP_TRY(ulp_program_create(model, &plain, 1, &planning, &out->program, error));
    ULP_TRY(ulp_engine_map_make(&out->engine, out->program, options, &out->built, error));
    return ulp_engine_map_lane_make(&out->built, LANE_NAME, NULL, NULL, &out->lane, error);
}

enum ulp_status add_engine_lane(const struct audit_options *options, const struct work *work,
                                struct lane_list *lanes, struct engine_lane *out,
                                struct ulp_error *error)
{
    const size_t l = lanes->count;
    ULP_TRY(open_engine(options->engine, work->model, &work->samples, &options->built, out, error));
    lanes->count++;
    lanes->arithmetics[l] = out->lane.arithmetic;
    lanes->keeps[l] = out->lane.keeps;
    lanes->groups[l] = out->lane.groups;
    lanes->names[l] = out->lane.name;
    return ULP_OK;
}

enum ulp_status print_engine_verdict(const struct engine_lane *lane, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *summary = NULL;
    ULP_TRY(ulp_engine_map_verdict(&lane->built, &summary, error));
    fputs(summary, stdout);
    return ULP_OK;
}

void close_engine_lane(struct engine_lane *lane)
{
    ulp_engine_map_lane_free(&lane->lane);
    ulp_engine_map_free(&lane->built);
    ulp_engine_free(&lane->engine);
    ulp_program_free(lane->program);
    *lane = (struct engine_lane){0};
}
