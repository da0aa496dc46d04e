/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_timed(int value)
{
    return ulp_timed_name((enum ulp_timed)value);
}

static const struct ulp_field time[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_time, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_time, op)},
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_time, index)},
    {.name = "nodes", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_time, nodes)},
    {.name = "executions", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_time, executions)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_time, seconds)},
    {.name = "lanes", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_time, lanes), .points = true, .counted = true, .count = offsetof(struct ulp_time, lane_count)},
    {.name = "lane_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_time, lane_count), .counts = true},
    {.name = "fastest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_time, fastest)},
    {.name = "measuring", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_time, measuring)},
    {.name = "attributing", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_time, attributing)},
};
const struct ulp_struct ulp_struct_time = {
    "ulp_time", sizeof(struct ulp_time), time, sizeof time / sizeof *time};

static const struct ulp_field timings[] = {
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_timings, seconds)},
    {.name = "phases", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_timings, phases), .key = word_timed, .length = 10},
    {.name = "lane_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_timings, lane_count), .counts = true},
    {.name = "lanes", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_timings, lanes), .points = true, .counted = true, .count = offsetof(struct ulp_timings, lane_count)},
    {.name = "lane_seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_timings, lane_seconds), .points = true, .counted = true, .count = offsetof(struct ulp_timings, lane_count)},
    {.name = "operator_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_timings, operator_count), .counts = true},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_timings, node_count), .counts = true},
    {.name = "operators", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_timings, operators), .type = &ulp_struct_time, .points = true, .counted = true, .count = offsetof(struct ulp_timings, operator_count)},
    {.name = "nodes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_timings, nodes), .type = &ulp_struct_time, .points = true, .counted = true, .count = offsetof(struct ulp_timings, node_count)},
};
const struct ulp_struct ulp_struct_timings = {
    "ulp_timings", sizeof(struct ulp_timings), timings, sizeof timings / sizeof *timings};
