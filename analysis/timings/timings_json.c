/* The timings in report.json. */
#include <math.h>

#include "analysis/writing/json_value.h"
#include "analysis/timings/timings.h"

static json_t *make_lanes(const double *lanes, size_t count)
{
    json_t *list = json_array();
    for (size_t l = 0; l < count; l++)
        ulp_json_append(&list, ulp_json_number(lanes[l]));
    return list;
}

static json_t *make_time(const struct ulp_timings *timings, const struct ulp_time *time)
{
    json_t *json = json_object();
    ulp_json_set(&json, "op", ulp_json_text(time->op));
    if (time->name) {
        ulp_json_set(&json, "index", json_integer((json_int_t)time->index));
        ulp_json_set(&json, "name", ulp_json_text(time->name));
    } else {
        ulp_json_set(&json, "nodes", json_integer((json_int_t)time->nodes));
    }
    ulp_json_set(&json, "executions", json_integer((json_int_t)time->executions));
    ulp_json_set(&json, "seconds", ulp_json_number(time->seconds));
    ulp_json_set(&json, "fastest", ulp_json_number(time->fastest));
    ulp_json_set(&json, "lanes", make_lanes(time->lanes, timings->lane_count));
    ulp_json_set(&json, "measuring", ulp_json_number(time->measuring));
    ulp_json_set(&json, "attributing", ulp_json_number(time->attributing));
    return json;
}

json_t *ulp_timings_json(const struct ulp_timings *timings)
{
    json_t *json = json_object(), *phases = json_object(), *lanes = json_array(),
           *operators = json_array(), *nodes = json_array();
    for (int t = 0; t < ULP_TIMED_COUNT; t++)
        ulp_json_set(&phases, ulp_timed_name(t), ulp_json_number(timings->phases[t]));
    for (size_t l = 0; l < timings->lane_count; l++) {
        json_t *lane = json_object();
        ulp_json_set(&lane, "name", ulp_json_text(timings->lanes[l]));
        ulp_json_set(&lane, "seconds", ulp_json_number(timings->lane_seconds[l]));
        ulp_json_append(&lanes, lane);
    }
    for (size_t i = 0; i < timings->operator_count; i++)
        ulp_json_append(&operators, make_time(timings, &timings->operators[i]));
    for (size_t i = 0; i < timings->node_count; i++)
        ulp_json_append(&nodes, make_time(timings, &timings->nodes[i]));
    ulp_json_set(&json, "seconds", ulp_json_number(timings->seconds));
    ulp_json_set(&json, "phases", phases);
    ulp_json_set(&json, "lanes", lanes);
    ulp_json_set(&json, "operators", operators);
    ulp_json_set(&json, "nodes", nodes);
    return json;
}
