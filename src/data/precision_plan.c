/* Kept nodes read from a JSON file (--plan) and from "PATTERN=ARITH" (--keep). */
#include <string.h>

#include <ulpscope/run.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "data/range_list.h"

enum ulp_status ulp_keep_parse(const char *text, struct ulp_keep *out, size_t *pattern_length,
                               struct ulp_error *error)
{
    ULP_ENTER(error);
    const char *equals = strchr(text, '=');
    *out = (struct ulp_keep){0};
    if (!equals || equals == text)
        return ulp_fail(error, ULP_ERROR_USAGE, "'%s': expected PATTERN=ARITH, as op:Softmax=fp32",
                        text);
    /* Names of nodes and of arithmetics may both hold '='; that of the last is whole. */
    for (const char *e = equals; e; e = strchr(e + 1, '=')) {
        *pattern_length = (size_t)(e - text);
        if (ulp_arithmetic_find(e + 1, &out->arithmetic, NULL) == ULP_OK)
            return ULP_OK;
    }
    return ulp_fail_at(error, ulp_arithmetic_find(equals + 1, &out->arithmetic, error), "'%s'",
                       text);
}

static size_t count_patterns(const json_t *keep)
{
    const json_t *nodes = json_object_get(keep, "nodes");
    return json_is_array(nodes) ? json_array_size(nodes) : json_is_string(nodes);
}

static enum ulp_status find_arithmetic(const json_t *object, struct ulp_arithmetic *out,
                                       struct ulp_error *error)
{
    const char *name = json_string_value(json_object_get(object, "arithmetic"));
    return name ? ulp_arithmetic_find(name, out, error)
                : ulp_fail(error, ULP_ERROR_INPUT,
                           "has no \"arithmetic\": expected a name, as \"fp16\"");
}

/* {"nodes": PATTERN or [PATTERN, ...], "arithmetic": NAME} as entries from *items on, which is
 * moved behind them. */
static enum ulp_status read_keep(const json_t *keep, struct ulp_arena *arena,
                                 struct ulp_keep **items, struct ulp_error *error)
{
    static const char *const keys[] = {"nodes", "arithmetic"};
    const json_t *nodes = json_object_get(keep, "nodes");
    struct ulp_arithmetic arithmetic;
    ULP_TRY(ulp_json_check_keys(keep, keys, sizeof keys / sizeof *keys, error));
    ULP_TRY(count_patterns(keep)
                ? find_arithmetic(keep, &arithmetic, error)
                : ulp_fail(error, ULP_ERROR_INPUT,
                           "has no \"nodes\": expected a pattern or a list of patterns"));
    for (size_t i = 0; i < count_patterns(keep); i++) {
        const json_t *pattern = json_is_array(nodes) ? json_array_get(nodes, i) : nodes;
        if (!json_is_string(pattern))
            return ulp_fail(error, ULP_ERROR_INPUT, "\"nodes\"[%zu] is no text", i);
        const char *text =
            ulp_arena_text(arena, json_string_value(pattern), json_string_length(pattern));
        *(*items)++ = (struct ulp_keep){.pattern = text, .arithmetic = arithmetic};
        ULP_TRY(ulp_taken(text, error));
    }
    return ULP_OK;
}

/* A file of theirs says more than a plan is made of, which is not read; one that is written by hand
 * has nothing else, so that what is misspelt is found. */
static enum ulp_status check_keys(const json_t *root, struct ulp_error *error)
{
    static const char *const keys[] = {"arithmetic", "keep", "ranges"};
    return json_object_get(root, "schema") || json_object_get(root, "verdict")
               ? ulp_json_check_schema(root, error)
               : ulp_json_check_keys(root, keys, sizeof keys / sizeof *keys, error);
}

/* Of static scales: the ranges, in memory of the arena. */
static enum ulp_status read_scales(struct ulp_arithmetic *arithmetic, const char *name,
                                   const json_t *root, struct ulp_arena *arena,
                                   struct ulp_error *error)
{
    if (!arithmetic->scales_static)
        return ULP_OK;
    struct ulp_factor_ranges *ranges = ulp_arena_take(arena, 1, sizeof *ranges);
    arithmetic->ranges = ranges;
    return ranges ? ulp_range_list_take(ranges, name, root, arena, error)
                  : ulp_out_of_memory(error);
}

static enum ulp_status read_plan(void *out, const char *name, const json_t *root,
                                 struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_precision_plan *plan = out;
    const json_t *keep = json_object_get(root, "keep");
    ULP_TRY(check_keys(root, error));
    if (!json_is_array(keep))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        keep ? "\"keep\" is no list"
                             : "has no \"keep\": expected a list of {\"nodes\": PATTERN, "
                               "\"arithmetic\": NAME}, or [] to keep nothing");
    ULP_TRY(find_arithmetic(root, &plan->arithmetic, error));
    ULP_TRY(read_scales(&plan->arithmetic, name, root, arena, error));
    for (size_t i = 0; i < json_array_size(keep); i++)
        plan->keeps.count += count_patterns(json_array_get(keep, i));
    struct ulp_keep *items = ulp_arena_take(arena, plan->keeps.count + 1, sizeof *items);
    plan->keeps.items = items;
    plan->keeps.name = ulp_arena_copy(arena, name);
    ULP_TRY(ulp_taken(items && plan->keeps.name, error));
    struct ulp_keep *const first = items;
    for (size_t i = 0; i < json_array_size(keep); i++)
        ULP_TRY(ulp_fail_at(error, read_keep(json_array_get(keep, i), arena, &items, error),
                            "\"keep\"[%zu]", i));
    /* all have the document's one list */
    const struct ulp_factor_ranges *ranges = plan->arithmetic.ranges;
    for (struct ulp_keep *item = first; item < items; item++) {
        item->arithmetic.ranges = ranges;
        if (!ranges)
            ULP_TRY(read_scales(&item->arithmetic, name, root, arena, error));
        ranges = item->arithmetic.ranges;
    }
    return ULP_OK;
}

enum ulp_status ulp_precision_plan_read(const char *path, struct ulp_budget *budget,
                                        struct ulp_precision_plan *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_json_file_read(path, budget, read_plan, out, sizeof *out, &out->memory, error);
}

ULP_RESULT_FREE(ulp_precision_plan_free, struct ulp_precision_plan)
