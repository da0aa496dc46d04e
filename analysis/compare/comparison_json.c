/* compare.json, schema in doc/fields.md, and the text with its tables. */
#include <math.h>

#include "analysis/audit/audit_json.h"
#include "analysis/compare/comparing.h"
#include "analysis/html/said.h"
#include "analysis/writing/json_value.h"

/* Nothing where nothing was measured. */
static void put_metrics(struct ulp_json_writer *writer, const char *key, const void *metrics,
                        const void *context)
{
    const struct ulp_metrics *m = metrics;
    (void)context;
    if (m->count || m->nonfinite || m->diverged || m->unmeasured)
        ulp_json_struct(writer, key, &ulp_struct_metrics, metrics, &ulp_json_plain);
}

static const struct ulp_json_hook metrics_hooks[] = {{&ulp_struct_metrics, NULL, put_metrics}};
static const struct ulp_json_how value_how = {metrics_hooks,
                                              sizeof metrics_hooks / sizeof *metrics_hooks, NULL,
                                              NULL};

static void put_distance(struct ulp_json_writer *writer, const char *key, const char *name,
                         const struct ulp_metrics *metrics)
{
    static const char *const names[] = {"rms", "max_abs", "nonfinite"};
    if (!metrics->count)
        return;
    ulp_json_open(writer, NULL, '{');
    ulp_json_put(writer, key, ulp_json_text(name));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ulp_json_member(writer, &ulp_struct_metrics, names[i], metrics, &ulp_json_plain);
    ulp_json_close(writer, '}');
}

/* The tensor in one recording, and how far it is from the arithmetics' and from those before. */
static void put_value(struct ulp_json_writer *writer, const struct ulp_comparison *comparison,
                      const struct ulp_compared_tensor *tensor, size_t file)
{
    const struct ulp_compared_value *value = &tensor->values[file];
    ulp_json_open(writer, NULL, '{');
    ulp_json_put(writer, "file", ulp_json_text(comparison->files[file].name));
    ulp_json_members(writer, &ulp_struct_compared_value, value, &value_how);
    ulp_json_open(writer, "arithmetics", '[');
    for (size_t a = 0; a < comparison->arithmetic_count; a++)
        put_distance(writer, "arithmetic", comparison->arithmetics[a], &value->arithmetics[a]);
    ulp_json_close(writer, ']');
    ulp_json_open(writer, "others", '[');
    for (size_t f = 0; f < file; f++)
        put_distance(writer, "file", comparison->files[f].name, &value->others[f]);
    ulp_json_close(writer, ']');
    ulp_json_member(writer, &ulp_struct_expected_error, "open", &tensor->expected[value->by],
                    &value_how);
    if (value->arithmetics[value->by].count)
        ulp_json_put(writer, "from_by", ulp_json_number(value->arithmetics[value->by].rms));
    ulp_json_close(writer, '}');
}

/* Also what is expected of each arithmetic, and what each recording has. */
static void add_values(struct ulp_json_writer *writer, const void *compared, const void *context)
{
    const struct ulp_comparison *comparison = context;
    const struct ulp_compared_tensor *tensor = compared;
    ulp_json_open(writer, "expected", '[');
    for (size_t a = 0; a < comparison->arithmetic_count; a++)
        ulp_json_struct(writer, NULL, &ulp_struct_expected_error, &tensor->expected[a], &value_how);
    ulp_json_close(writer, ']');
    ulp_json_open(writer, "values", '[');
    for (size_t f = 0; f < comparison->file_count; f++)
        if (tensor->values[f].recorded)
            put_value(writer, comparison, tensor, f);
    ulp_json_close(writer, ']');
}

/* The file whose first unexplained tensor comes first. */
static const struct ulp_compared_file *find_first(const struct ulp_comparison *comparison)
{
    const struct ulp_compared_file *found = &comparison->files[0];
    for (size_t f = 0; f < comparison->file_count; f++) {
        const struct ulp_compared_file *file = &comparison->files[f];
        if (file->first_unexplained >= 0 &&
            (found->first_unexplained < 0 || file->first_unexplained < found->first_unexplained))
            found = file;
    }
    return found;
}

static json_t *make_tiles(const struct ulp_comparison *comparison, size_t f)
{
    const struct ulp_compared_file *file = &comparison->files[f];
    const ptrdiff_t first = file->first_unexplained;
    const struct ulp_compared_tensor *tensor = first >= 0 ? &comparison->tensors[first] : NULL,
                                     *worst = ulp_comparison_worst(comparison, f);
    const struct ulp_judged *judged = worst ? &worst->values[f].judged : NULL;
    size_t explained = 0;
    json_t *tiles = json_array();
    for (size_t t = 0; t < comparison->tensor_count; t++)
        explained +=
            comparison->tensors[t].values[f].recorded && comparison->tensors[t].values[f].explained;
    ulp_tile_add(&tiles, explained == file->tensor_count ? ULP_TILE_GOOD : ULP_TILE_BAD,
                 "Tensors explained", "%zu of %zu", explained, file->tensor_count);
    if (file->by >= 0)
        ulp_tile_note(&tiles, -1, "by %s", comparison->arithmetics[file->by]);
    ulp_tile_add(&tiles, tensor ? ULP_TILE_BAD : ULP_TILE_GOOD, "First that is not", "%s",
                 !tensor        ? "none"
                 : tensor->node ? tensor->node
                                : tensor->name);
    if (tensor && tensor->node)
        ulp_tile_note(&tiles, tensor->index, "node %td", tensor->index);
    if (judged && !(comparison->ill && judged->grade == ULP_GRADE_FINE)) {
        ulp_tile_grade(&tiles, judged->grade, ulp_grade_name(judged->grade), judged->text);
        if (isfinite(judged->sqnr_db)) {
            ulp_tile_decibels(&tiles, ULP_TILE_PLAIN, (double)NAN, judged->sqnr_db);
            ulp_tile_note(&tiles, -1, "of %s", worst->name);
        }
    }
    return tiles;
}

static void add_headline(struct ulp_json_writer *writer, const void *file, const void *context)
{
    const struct ulp_comparison *comparison = context;
    const size_t f = (size_t)((const struct ulp_compared_file *)file - comparison->files);
    struct ulp_headline head = {0};
    ulp_comparison_headline(comparison, f, &head);
    ulp_tiles_put(writer, &head, make_tiles(comparison, f));
}

static void add_first(struct ulp_json_writer *writer, const void *result)
{
    const struct ulp_comparison *comparison = result;
    const struct ulp_compared_file *first = find_first(comparison);
    ulp_json_put(writer, "first_unexplained",
                 first->first_unexplained < 0
                     ? json_null()
                     : ulp_json_text(comparison->tensors[first->first_unexplained].name));
    ulp_json_struct(writer, "cause", &ulp_struct_cause, &first->cause, &value_how);
    ulp_json_put(writer, "notes", ulp_comparison_notes(comparison));
}

static void conclude(struct ulp_headline *head, const void *result, size_t part)
{
    ulp_comparison_headline(result, part, head);
}

static size_t count_files(const void *result)
{
    return ((const struct ulp_comparison *)result)->file_count;
}

enum { ROWS_SHOWN = 24 };
static const struct ulp_json_hook hooks[] = {{&ulp_struct_compared_file, add_headline, NULL},
                                             {&ulp_struct_compared_tensor, add_values, NULL}};
const struct ulp_said ulp_comparison_said = {"compare",
                                             &ulp_struct_comparison,
                                             .conclude = conclude,
                                             .parts = count_files,
                                             .rest = add_first,
                                             .hooks = hooks,
                                             .hook_count = sizeof hooks / sizeof *hooks};
ULP_SAID_TEXT(comparison, ulp_comparison, ulp_comparison_said, ROWS_SHOWN)
ULP_SAID_WRITE(comparison, ulp_comparison, ulp_comparison_said)
