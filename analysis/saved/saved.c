/* Reading report.json back. */
#include "analysis/saved/saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/writing/document.h"
#include "analysis/writing/json_value.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "data/json_file.h"

double ulp_saved_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *ulp_saved_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

bool ulp_saved_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

double ulp_saved_relative(const json_t *output, const char *view)
{
    return ulp_saved_number(json_object_get(output, view), "rms") /
           ulp_saved_number(json_object_get(output, "range"), "ref_rms");
}

void ulp_saved_add_shape(struct ulp_text *out, const json_t *output)
{
    const json_t *size;
    size_t d;
    ulp_text_show(out, "%s[", ulp_saved_text(output, "type"));
    json_array_foreach(json_object_get(output, "dims"), d, size)
        ulp_text_add(out, d ? ",%lld" : "%lld", (long long)json_integer_value(size));
    ulp_text_add(out, "]");
}

const char *ulp_saved_remark(const json_t *node)
{
    return ulp_saved_true(node, "born")       ? "makes Inf or NaN from finite inputs"
           : ulp_saved_true(node, "poisoned") ? "passes Inf or NaN on"
           : ulp_saved_true(node, "absorbed") ? "an overflow that is absorbed later"
                                              : "";
}

/* Another reference to a member; null where there is none. */
static json_t *copy_member(const json_t *object, const char *key)
{
    json_t *member = json_object_get(object, key);
    return member ? json_incref(member) : json_null();
}

/* Two arithmetics are a lane, whose output is what the given tokens' log-probabilities differ by.
 */
static json_t *make_lanes(const json_t *between)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text name = {0}, output = {0};
    json_t *lanes = json_array(), *outputs = json_array();
    ulp_text_show(&name, "%s beside %s", ulp_saved_text(between, "second"),
                  ulp_saved_text(between, "first"));
    ulp_text_show(&output, "log-probabilities of %s", ulp_saved_text(between, "output"));
    json_t *entire =
        ulp_json_object("count", copy_member(between, "token_count"), "nonfinite",
                        copy_member(between, "nonfinite"), "rms", copy_member(between, "rms"),
                        "mean", copy_member(between, "mean"), "max_abs",
                        copy_member(between, "most"), NULL);
    ulp_json_append(&outputs,
                    ulp_json_object("name", output.failed ? NULL : ulp_json_text(output.data),
                                    "entire", entire, NULL));
    ulp_json_append(&lanes, ulp_json_object("name", name.failed ? NULL : ulp_json_text(name.data),
                                            "outputs", outputs, "nodes",
                                            copy_member(between, "nodes"), NULL));
    return lanes;
}

static enum ulp_status check_report(struct ulp_saved *saved, struct ulp_error *error)
{
    const enum ulp_status status = ulp_json_check_schema(saved->root, error);
    const json_t *lane;
    size_t l;
    saved->kind = ulp_document_kind(saved->root);
    if (saved->kind && strcmp(saved->kind, "between") == 0)
        ulp_json_set(&saved->root, "lanes", make_lanes(saved->root));
    ULP_TRY(ulp_taken(saved->root, error));
    const bool lanes =
        !saved->kind || strcmp(saved->kind, "audit") == 0 || strcmp(saved->kind, "between") == 0;
    saved->lanes = lanes ? json_object_get(saved->root, "lanes") : NULL;
    bool whole = !lanes || (json_is_array(saved->lanes) && json_array_size(saved->lanes) > 0);
    json_array_foreach(saved->lanes, l, lane) whole &= json_is_object(lane);
    saved->kind = saved->kind ? saved->kind : "audit";
    ULP_TRY(ulp_fail_at(error, status, "%s", saved->path));
    return whole && json_object_get(saved->root, "schema")
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT, "%s: is no report of ulpscope", saved->path);
}

enum ulp_status ulp_saved_check_lanes(const struct ulp_saved *saved, struct ulp_error *error)
{
    return saved->lanes ? ULP_OK
                        : ulp_fail(error, ULP_ERROR_INPUT,
                                   "%s: is a %s, and no report of ulpscope audit: ulpscope show "
                                   "shows it whole",
                                   saved->path, saved->kind);
}

static char *find_file(const char *path)
{
    struct ulp_text text = {0};
    struct stat status;
    const bool folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    ulp_text_add(&text, "%s%s", path, folder ? "/report.json" : "");
    if (text.failed)
        ulp_text_free(&text);
    return text.data;
}

enum ulp_status ulp_saved_read(const char *path, struct ulp_budget *budget, struct ulp_saved **out,
                               struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_saved *saved = calloc(1, sizeof *saved);
    *out = NULL;
    if (!saved || !(saved->path = find_file(path))) {
        free(saved);
        return ulp_out_of_memory(error);
    }
    saved->budget = budget;
    enum ulp_status status =
        ulp_json_file_load(saved->path, budget, &saved->root, &saved->charged, error);
    ULP_THEN(status, check_report(saved, error));
    if (status == ULP_OK)
        *out = saved;
    else
        ulp_saved_free(saved);
    return status;
}

void ulp_saved_free(struct ulp_saved *saved)
{
    if (!saved)
        return;
    ulp_json_file_free(saved->root, saved->budget, saved->charged);
    ulp_arena_free(saved->arena);
    free(saved->path);
    free(saved);
}
