/* Ranges of factors for scales=static, read from a JSON file. */
#include <math.h>
#include <stdlib.h>

#include <ulpscope/run.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "data/range_list.h"
#include "number/format/scaling.h"

static const char *const range_keys[] = {"node", "factor", "largest", "least", "value"};

static enum ulp_status read_range(const json_t *object, struct ulp_arena *arena,
                                  struct ulp_factor_range *out, struct ulp_error *error)
{
    const json_t *node = json_object_get(object, "node"),
                 *factor = json_object_get(object, "factor"),
                 *largest = json_object_get(object, "largest"),
                 *least = json_object_get(object, "least");
    ULP_TRY(ulp_json_check_keys(object, range_keys, 5, error));
    if (!json_is_string(node) || !json_is_string(factor))
        return ulp_fail(error, ULP_ERROR_INPUT, "expected texts \"node\" and \"factor\"");
    out->largest = (float)json_number_value(largest);
    if (!json_is_number(largest) || !(out->largest >= 0) || !isfinite(out->largest))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "\"largest\" is no finite magnitude of FP32, 0 or above");
    out->least = least ? (float)json_number_value(least) : -out->largest;
    if (least && (!json_is_number(least) || !(out->least <= 0) || !isfinite(out->least)))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "\"least\" is no finite number of FP32, 0 or below");
    out->node = ulp_arena_text(arena, json_string_value(node), json_string_length(node));
    out->factor = ulp_arena_text(arena, json_string_value(factor), json_string_length(factor));
    return ulp_taken(out->node && out->factor, error);
}

enum ulp_status ulp_range_list_take(void *out, const char *name, const json_t *root,
                                    struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_factor_ranges *ranges = out;
    const json_t *list = json_object_get(root, "ranges");
    const size_t count = json_array_size(list);
    if (!count)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "\"ranges\": expected a list of at least one, as ulpscope quantise "
                        "--calibrate writes it");
    struct ulp_factor_range *items = ulp_arena_take(arena, count, sizeof *items);
    ranges->items = items;
    ranges->name = ulp_arena_copy(arena, name);
    ULP_TRY(ulp_taken(items && ranges->name, error));
    for (size_t r = 0; r < count; r++)
        ULP_TRY(ulp_fail_at(error, read_range(json_array_get(list, r), arena, &items[r], error),
                            "\"ranges\"[%zu]", r));
    qsort(items, count, sizeof *items, ulp_factor_range_order);
    ranges->count = count;
    for (size_t r = 1; r < count; r++)
        if (ulp_factor_range_order(&items[r - 1], &items[r]) == 0)
            return ulp_fail(error, ULP_ERROR_INPUT, "two ranges of node '%s', %s", items[r].node,
                            items[r].factor);
    return ULP_OK;
}

enum ulp_status ulp_range_list_read(const char *path, struct ulp_budget *budget,
                                    struct ulp_range_list *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_json_file_read(path, budget, ulp_range_list_take, &out->ranges, sizeof out->ranges,
                              &out->memory, error);
}

ULP_RESULT_FREE(ulp_range_list_free, struct ulp_range_list)
