/* The arithmetics that a command runs, and their kept nodes: --arith, --keep and --plan. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

/* The rules of --keep behind the plan's; a plan's name is followed by the patterns. */
static enum ulp_status join_keeps(struct lane_list *lanes, const struct ulp_keeps *plan,
                                  struct ulp_keeps *out, struct ulp_error *error)
{
    const struct ulp_keeps *rules = &lanes->rules;
    struct ulp_text name = {0};
    *out = *plan;
    if (!rules->count)
        return ULP_OK;
    lanes->joined = malloc((plan->count + rules->count) * sizeof *lanes->joined);
    ULP_TRY(taken(lanes->joined, error));
    memcpy(lanes->joined, plan->items, plan->count * sizeof *plan->items);
    memcpy(lanes->joined + plan->count, rules->items, rules->count * sizeof *rules->items);
    ulp_text_add(&name, "%s", plan->name);
    for (size_t k = 0; k < rules->count; k++)
        ulp_text_add(&name, ",keep=%s=%s", rules->items[k].pattern,
                     rules->items[k].arithmetic.asked);
    lanes->joined_name = name.failed ? NULL : strdup(name.data);
    ulp_text_free(&name);
    *out = (struct ulp_keeps){plan->count + rules->count, lanes->joined, lanes->joined_name};
    return taken(lanes->joined_name, error);
}

static enum ulp_status read_rules(const struct keep_options *keep, struct lane_list *lanes,
                                  struct ulp_error *error)
{
    struct ulp_keep *items = calloc(keep->rule_count + 1, sizeof *items);
    ULP_TRY(taken(items, error));
    lanes->rules.items = lanes->rule_items = items;
    enum ulp_status status = ULP_OK;
    for (size_t r = 0; r < keep->rule_count && status == ULP_OK; r++) {
        size_t length = 0;
        status = ulp_keep_parse(keep->rules[r], &items[r], &length, error);
        ULP_TRY(ulp_fail_at(error, status, "--keep"));
        if (!(items[r].pattern = strndup(keep->rules[r], length)))
            return out_of_memory(error);
        lanes->rules.count++;
    }
    return ULP_OK;
}

/* Names of files in "fp16,fuse=groups.json,bf16": each is replaced by the word of its kind in
 * *plain, and put into *files in their order. A file's name has a dot or a slash. */
enum { GROUPS, RANGES, KINDS };
static const struct {
    const char *key, *word, *wanted;
} kinds[KINDS] = {
    [GROUPS] = {"fuse=", "groups", "name the file that has them, as fuse=groups.json"},
    [RANGES] = {"scales=", "static",
                "name the file of ranges that ulpscope quantise --calibrate wrote, as "
                "scales=ranges.json"},
};
struct named_files {
    char *plain;
    char **names[KINDS];
    size_t count[KINDS];
};

static enum ulp_status take_word(const char *word, size_t length, struct named_files *out,
                                 struct ulp_text *plain, struct ulp_error *error)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const size_t key = strlen(kinds[kind].key);
        if (strncmp(word, kinds[kind].key, key) != 0)
            continue;
        const char *value = word + key;
        const size_t rest = length - key;
        if (memchr(value, '.', rest) || memchr(value, '/', rest)) {
            char *name = strndup(value, rest);
            out->names[kind][out->count[kind]++] = name;
            ulp_text_add(plain, "%s%s", kinds[kind].key, kinds[kind].word);
            return taken(name, error);
        }
        if (rest == strlen(kinds[kind].word) && strncmp(value, kinds[kind].word, rest) == 0)
            return ulp_fail(error, ULP_ERROR_USAGE, "%s%s: %s", kinds[kind].key, kinds[kind].word,
                            kinds[kind].wanted);
    }
    ulp_text_add(plain, "%.*s", (int)length, word);
    return ULP_OK;
}

static enum ulp_status find_files(const char *list, struct named_files *out,
                                  struct ulp_error *error)
{
    struct ulp_text plain = {0};
    enum ulp_status status = ULP_OK;
    *out = (struct named_files){0};
    for (int kind = 0; kind < KINDS; kind++)
        if (!(out->names[kind] = calloc(strlen(list) + 1, sizeof **out->names)))
            return out_of_memory(error);
    for (const char *word = list; status == ULP_OK;) {
        const size_t length = strcspn(word, ",");
        status = take_word(word, length, out, &plain, error);
        word += length;
        if (!*word)
            break;
        ulp_text_add(&plain, ",");
        word++;
    }
    if (status == ULP_OK && plain.failed)
        status = out_of_memory(error);
    out->plain = plain.data;
    return status;
}

static void free_files(struct named_files *files)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t f = 0; f < files->count[kind]; f++)
            free(files->names[kind][f]);
        free(files->names[kind]);
    }
    struct ulp_text plain = {.data = files->plain};
    ulp_text_free(&plain);
}

/* The groups and ranges of each listed arithmetic that has some. */
static enum ulp_status read_files(const struct named_files *files, size_t count,
                                  struct ulp_budget *budget, struct lane_list *lanes,
                                  struct ulp_error *error)
{
    size_t next[KINDS] = {0};
    for (size_t l = 1; l <= count; l++) {
        struct ulp_arithmetic *arithmetic = &lanes->arithmetics[l];
        if (arithmetic->fuse == ULP_FUSE_GROUPS && next[GROUPS] < files->count[GROUPS]) {
            ULP_TRY(ulp_group_list_read(files->names[GROUPS][next[GROUPS]++], budget,
                                        &lanes->files[l], error));
            lanes->groups[l] = lanes->files[l].groups;
        }
        if (arithmetic->scales_static && next[RANGES] < files->count[RANGES]) {
            ULP_TRY(ulp_range_list_read(files->names[RANGES][next[RANGES]++], budget,
                                        &lanes->ranges[l], error));
            arithmetic->ranges = &lanes->ranges[l].ranges;
        }
    }
    return ULP_OK;
}

/* Room for the reference before and the plan behind `count` arithmetics, and for one more. */
static enum ulp_status fill_lanes(const struct ulp_arithmetic *listed, size_t count, bool has_plan,
                                  struct lane_list *lanes, struct ulp_error *error)
{
    const size_t room = 2 + count + has_plan;
    lanes->count = room - 1;
    lanes->arithmetics = calloc(room, sizeof *lanes->arithmetics);
    lanes->keeps = calloc(room, sizeof *lanes->keeps);
    lanes->names = calloc(room, sizeof *lanes->names);
    lanes->groups = calloc(room, sizeof *lanes->groups);
    lanes->files = calloc(room, sizeof *lanes->files);
    lanes->ranges = calloc(room, sizeof *lanes->ranges);
    ULP_TRY(taken(lanes->arithmetics && lanes->keeps && lanes->names && lanes->groups &&
                      lanes->files && lanes->ranges,
                  error));
    for (size_t l = 0; l < count; l++) {
        lanes->arithmetics[1 + l] = listed[l];
        lanes->keeps[1 + l] = lanes->rules;
    }
    if (!has_plan)
        return ULP_OK;
    lanes->arithmetics[1 + count] = lanes->plan.arithmetic;
    return join_keeps(lanes, &lanes->plan.keeps, &lanes->keeps[1 + count], error);
}

enum ulp_status make_lanes(const char *list, const char *fallback, const struct keep_options *keep,
                           struct ulp_budget *budget, struct lane_list *out,
                           struct ulp_error *error)
{
    struct ulp_arithmetic *listed = NULL;
    size_t count = 0;
    struct named_files files = {0};
    *out = (struct lane_list){0};
    enum ulp_status status = read_rules(keep, out, error);
    ULP_THEN(status, find_files(list ? list : fallback, &files, error));
    if (status == ULP_OK && (list || !keep->plan))
        status = parse_arithmetics(files.plain, &listed, &count, error);
    if (status == ULP_OK && keep->plan)
        status = ulp_precision_plan_read(keep->plan, budget, &out->plan, error);
    ULP_THEN(status, fill_lanes(listed, count, keep->plan != NULL, out, error));
    ULP_THEN(status, read_files(&files, count, budget, out, error));
    free(listed);
    free_files(&files);
    if (status != ULP_OK)
        free_lanes(out);
    return status;
}

enum ulp_status read_ranges(const char *arithmetic, struct ulp_budget *budget, char **plain,
                            struct ulp_range_list *out, struct ulp_error *error)
{
    ULP_SCOPED(free_files) struct named_files files = {0};
    *out = (struct ulp_range_list){0};
    ULP_TRY(find_files(arithmetic, &files, error));
    if (files.count[RANGES] > 1)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: one file of ranges, here there are %zu",
                        arithmetic, files.count[RANGES]);
    if (files.count[RANGES])
        ULP_TRY(ulp_range_list_read(files.names[RANGES][0], budget, out, error));
    if (!(*plain = strdup(files.count[RANGES] ? files.plain : arithmetic)))
        return out_of_memory(error);
    return ULP_OK;
}

void free_lanes(struct lane_list *lanes)
{
    for (size_t r = 0; r < lanes->rules.count; r++)
        free((void *)(uintptr_t)lanes->rules.items[r].pattern); /* read_rules' copies */
    free(lanes->rule_items);
    free(lanes->joined);
    free(lanes->joined_name);
    free(lanes->arithmetics);
    free(lanes->keeps);
    free(lanes->names);
    free(lanes->groups);
    for (size_t l = 0; lanes->files && l < lanes->count; l++)
        ulp_group_list_free(&lanes->files[l]);
    free(lanes->files);
    for (size_t l = 0; lanes->ranges && l < lanes->count; l++)
        ulp_range_list_free(&lanes->ranges[l]);
    free(lanes->ranges);
    ulp_precision_plan_free(&lanes->plan);
    *lanes = (struct lane_list){0};
}

struct ulp_programs lane_plans(const struct lane_list *lanes, const struct ulp_model *model)
{
    return (struct ulp_programs){.model = model,
                                 .lanes = lanes->arithmetics,
                                 .lane_count = lanes->count,
                                 .options = {.keeps = lanes->keeps,
                                             .groups = lanes->groups,
                                             .names = lanes->names}};
}
