/* Groups of nodes for fuse=groups, read from a JSON file. */

#include <ulpscope/run.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "data/json_file.h"

/* A list of texts, or nothing. */
static enum ulp_status read_texts(const json_t *group, const char *key, struct ulp_arena *arena,
                                  const char *const **out, size_t *count, struct ulp_error *error)
{
    const json_t *list = json_object_get(group, key);
    const size_t length = json_array_size(list);
    const char **texts = ulp_arena_take(arena, length + 1, sizeof *texts);
    if (list && !json_is_array(list))
        return ulp_fail(error, ULP_ERROR_INPUT, "\"%s\" is no list", key);
    for (size_t i = 0; texts && i < length; i++) {
        const json_t *text = json_array_get(list, i);
        if (!json_is_string(text))
            return ulp_fail(error, ULP_ERROR_INPUT, "\"%s\"[%zu] is no text", key, i);
        texts[i] = ulp_arena_text(arena, json_string_value(text), json_string_length(text));
        ULP_TRY(ulp_taken(texts[i], error));
    }
    *out = texts;
    *count = length;
    return ulp_taken(texts, error);
}

static const char *const group_keys[] = {"name", "nodes", "rounded"};

/* {"name": NAME, "nodes": [NAME, ...], "rounded": [NAME, ...]} */
static enum ulp_status read_group(const json_t *object, struct ulp_arena *arena,
                                  struct ulp_group *out, struct ulp_error *error)
{
    const json_t *name = json_object_get(object, "name");
    ULP_TRY(ulp_json_check_keys(object, group_keys, 3, error));
    if (name && !json_is_string(name))
        return ulp_fail(error, ULP_ERROR_INPUT, "\"name\" is no text");
    if (!json_array_size(json_object_get(object, "nodes")))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "has no \"nodes\": expected a list of names of nodes");
    if (name) {
        out->name = ulp_arena_text(arena, json_string_value(name), json_string_length(name));
        ULP_TRY(ulp_taken(out->name, error));
    }
    ULP_TRY(read_texts(object, "nodes", arena, &out->nodes, &out->node_count, error));
    return read_texts(object, "rounded", arena, &out->rounded, &out->rounded_count, error);
}

static enum ulp_status read_groups(void *out, const char *name, const json_t *root,
                                   struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_groups *groups = out;
    const json_t *list = json_object_get(root, "groups");
    const size_t count = json_array_size(list);
    if (!count)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "has no \"groups\": expected a list of {\"nodes\": [NAME, ...]}");
    struct ulp_group *items = ulp_arena_take(arena, count, sizeof *items);
    groups->items = items;
    groups->name = ulp_arena_copy(arena, name);
    ULP_TRY(ulp_taken(items && groups->name, error));
    for (size_t g = 0; g < count; g++)
        ULP_TRY(ulp_fail_at(error, read_group(json_array_get(list, g), arena, &items[g], error),
                            "\"groups\"[%zu]", g));
    groups->count = count;
    return ULP_OK;
}

enum ulp_status ulp_group_list_read(const char *path, struct ulp_budget *budget,
                                    struct ulp_group_list *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_json_file_read(path, budget, read_groups, &out->groups, sizeof out->groups,
                              &out->memory, error);
}

ULP_RESULT_FREE(ulp_group_list_free, struct ulp_group_list)
