#include <jansson.h>

#include "analysis/scales/calibrate.h"
#include "analysis/writing/json_value.h"

static void add_ranges(const struct ulp_factor_ranges *ranges, bool least, json_t **list)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const struct ulp_factor_range *range = &ranges->items[i];
        json_t *object = ulp_json_object("node", ulp_json_text(range->node), "factor",
                                         ulp_json_text(range->factor), "largest",
                                         ulp_json_number((double)range->largest), NULL);
        if (least)
            ulp_json_set(&object, "least", ulp_json_number((double)range->least));
        ulp_json_append(list, object);
    }
}

const char *const ulp_calibrator_names[] = {"max", "percentile", "mse", "entropy"};

enum ulp_status ulp_calibrate_write(const struct ulp_calibration_options *options,
                                    size_t sample_count, const struct ulp_factor_ranges *ranges,
                                    const char *path, struct ulp_error *error)
{
    json_t *list = json_array(), *root = json_object();
    add_ranges(ranges, options->arithmetic.scaling[0].zero_point, &list);
    ulp_json_set(&root, "arithmetic", ulp_json_text(options->arithmetic.asked));
    ulp_json_set(&root, "calibrator", ulp_json_text(ulp_calibrator_names[options->calibrator]));
    if (options->calibrator == ULP_CALIBRATOR_PERCENTILE)
        ulp_json_set(&root, "percentile", ulp_json_number(options->percentile));
    ulp_json_set(&root, "samples", json_integer((json_int_t)sample_count));
    ulp_json_set(&root, "ranges", list);
    return ulp_json_write(root, path, error);
}
