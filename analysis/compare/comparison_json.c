/* compare.json, schema in doc/compare.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <ulpscope.h>

#include "analysis/html/html.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/folder.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/file.h"

#define SCHEMA_VERSION 1

static json_t *make_texts(char *const *texts, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        ulp_json_append(&array, ulp_json_text(texts[i]));
    return array;
}

static void set_distance(json_t **object, const struct ulp_metrics *metrics)
{
    ulp_json_set(object, "rms", ulp_json_number(metrics->count ? metrics->rms : NAN));
    ulp_json_set(object, "max_abs", ulp_json_number(metrics->count ? metrics->max_abs : NAN));
    if (metrics->nonfinite)
        ulp_json_set(object, "nonfinite", json_integer((json_int_t)metrics->nonfinite));
}

static json_t *make_distance(const char *key, const char *name, const struct ulp_metrics *metrics)
{
    json_t *object = json_object();
    ulp_json_set(&object, key, ulp_json_text(name));
    set_distance(&object, metrics);
    return object;
}

static json_t *make_value(const struct ulp_comparison *comparison,
                          const struct ulp_compared_tensor *tensor, size_t file)
{
    const struct ulp_compared_value *value = &tensor->values[file];
    json_t *object = json_object(), *arithmetics = json_array(), *others = json_array();
    ulp_json_set(&object, "file", ulp_json_text(comparison->files[file].name));
    set_distance(&object, &value->truth);
    ulp_json_set(&object, "explained", json_boolean(value->explained));
    if (value->coarser)
        ulp_json_set(&object, "coarser", ulp_json_text(value->coarser));
    if (value->reshaped)
        ulp_json_set(&object, "reshaped", json_true());
    if (value->nonfinite)
        ulp_json_set(&object, "nonfinite_unexplained", json_integer((json_int_t)value->nonfinite));
    ulp_json_set(&object, "arithmetic", ulp_json_text(comparison->arithmetics[value->by]));
    ulp_json_set(&object, "ratio", ulp_json_number(value->reshaped ? NAN : value->ratio));
    ulp_json_set(&object, "limit", ulp_json_number(value->limit));
    ulp_json_set(&object, "max_ratio", ulp_json_number(value->reshaped ? NAN : value->max_ratio));
    ulp_json_set(&object, "max_limit", ulp_json_number(value->max_limit));
    for (size_t a = 0; a < comparison->arithmetic_count; a++)
        if (value->arithmetics[a].count)
            ulp_json_append(&arithmetics, make_distance("arithmetic", comparison->arithmetics[a],
                                                        &value->arithmetics[a]));
    for (size_t f = 0; f < file; f++)
        if (value->others[f].count)
            ulp_json_append(&others,
                            make_distance("file", comparison->files[f].name, &value->others[f]));
    ulp_json_set(&object, "from_arithmetics", arithmetics);
    ulp_json_set(&object, "from_files", others);
    return object;
}

static json_t *make_expected(const char *arithmetic, const struct ulp_expected_error *expected)
{
    json_t *object = json_object();
    ulp_json_set(&object, "arithmetic", ulp_json_text(arithmetic));
    ulp_json_set(&object, "rms", ulp_json_number(expected->rms));
    ulp_json_set(&object, "max_abs", ulp_json_number(expected->max_abs));
    ulp_json_set(&object, "freedom", ulp_json_number(expected->freedom));
    ulp_json_set(&object, "nonfinite", json_integer((json_int_t)expected->nonfinite));
    ulp_json_set(&object, "floor", ulp_json_number(expected->floor));
    ulp_json_set(&object, "open", json_boolean(expected->open));
    if (expected->shapeless)
        ulp_json_set(&object, "shapeless", json_true());
    return object;
}

static json_t *make_tensor(const struct ulp_comparison *comparison,
                           const struct ulp_compared_tensor *tensor)
{
    json_t *object = json_object(), *shape = json_array(), *expected = json_array(),
           *files = json_array();
    ulp_json_set(&object, "name", ulp_json_text(tensor->name));
    ulp_json_set(&object, "node", tensor->node ? ulp_json_text(tensor->node) : json_null());
    ulp_json_set(&object, "op", tensor->op ? ulp_json_text(tensor->op) : json_null());
    ulp_json_set(&object, "type", json_string(ulp_type_name(tensor->type)));
    for (int d = 0; d < tensor->rank; d++)
        ulp_json_append(&shape, json_integer(tensor->dims[d]));
    ulp_json_set(&object, "shape", shape);
    ulp_json_set(&object, "ref_rms", ulp_json_number(tensor->range.ref_rms));
    ulp_json_set(&object, "ref_max", ulp_json_number(tensor->range.ref_max));
    for (size_t a = 0; a < comparison->arithmetic_count; a++)
        ulp_json_append(&expected, make_expected(comparison->arithmetics[a], &tensor->expected[a]));
    ulp_json_set(&object, "expected", expected);
    for (size_t f = 0; f < comparison->file_count; f++)
        if (tensor->values[f].recorded)
            ulp_json_append(&files, make_value(comparison, tensor, f));
    ulp_json_set(&object, "files", files);
    return object;
}

static json_t *make_cause(const struct ulp_cause *cause)
{
    json_t *object = json_object();
    ulp_json_set(&object, "kind", json_string(ulp_cause_name(cause->kind)));
    ulp_json_set(&object, "text", ulp_json_text(cause->text ? cause->text : ""));
    if (cause->input)
        ulp_json_set(&object, "input", ulp_json_text(cause->input));
    if (cause->arithmetic)
        ulp_json_set(&object, "arithmetic", ulp_json_text(cause->arithmetic));
    if (cause->node_count)
        ulp_json_set(&object, "nodes", make_texts(cause->nodes, cause->node_count));
    return object;
}

static json_t *make_slices(const struct ulp_comparison *comparison)
{
    json_t *list = json_array();
    for (size_t i = 0; i < comparison->slice_count; i++) {
        const struct ulp_compared_slices *item = &comparison->slices[i];
        json_t *object = json_object();
        ulp_json_set(&object, "node", ulp_json_text(item->node));
        ulp_json_set(&object, "op", ulp_json_text(item->op));
        ulp_json_set(&object, "arithmetic",
                     ulp_json_text(comparison->arithmetics[item->arithmetic]));
        ulp_json_set(&object, "file",
                     item->elements ? ulp_json_text(comparison->files[item->file].name)
                                    : json_null());
        ulp_json_set(&object, "slices", item->found ? json_integer(item->slices) : json_null());
        ulp_json_set(&object, "nearest", json_integer(item->slices));
        ulp_json_set(&object, "elements", json_integer((json_int_t)item->elements));
        ulp_json_set(&object, "equal", json_integer((json_int_t)item->equal));
        ulp_json_set(&object, "others", ulp_json_text(item->others));
        ulp_json_append(&list, object);
    }
    return list;
}

static json_t *make_first(const struct ulp_comparison *comparison, ptrdiff_t first)
{
    return first < 0 ? json_null() : ulp_json_text(comparison->tensors[first].name);
}

static json_t *make_file(const struct ulp_comparison *comparison,
                         const struct ulp_compared_file *file)
{
    json_t *object = json_object();
    ulp_json_set(&object, "file", ulp_json_text(file->name));
    ulp_json_set(&object, "tensors", json_integer((json_int_t)file->tensor_count));
    ulp_json_set(&object, "explained", json_boolean(file->explained));
    ulp_json_set(&object, "arithmetic",
                 file->by < 0 ? json_null() : ulp_json_text(comparison->arithmetics[file->by]));
    ulp_json_set(&object, "first_unexplained", make_first(comparison, file->first_unexplained));
    ulp_json_set(&object, "cause", make_cause(&file->cause));
    ulp_json_set(&object, "unmatched", make_texts(file->unmatched, file->unmatched_count));
    return object;
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

static json_t *make_verdict(const struct ulp_comparison *comparison)
{
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_comparison_text(comparison, 10000, false, &text, &ignored);
    return ulp_json_paragraph(text);
}

static json_t *make_document(const struct ulp_comparison *comparison)
{
    const struct ulp_compared_file *first = find_first(comparison);
    json_t *root = json_object(), *files = json_array(), *tensors = json_array();
    ulp_json_set(&root, "schema", json_integer(SCHEMA_VERSION));
    ulp_json_set(&root, "ulpscope", json_string(ulp_version()));
    ulp_json_set(&root, "verdict", make_verdict(comparison));
    ulp_json_set(&root, "model", ulp_json_text(comparison->model_path));
    ulp_json_set(&root, "reference", ulp_json_text(comparison->reference));
    ulp_json_set(&root, "arithmetics",
                 make_texts(comparison->arithmetics, comparison->arithmetic_count));
    ulp_json_set(&root, "trials", json_integer((json_int_t)comparison->trials));
    ulp_json_set(&root, "seconds", ulp_json_number(comparison->seconds));
    ulp_json_set(&root, "first_unexplained", make_first(comparison, first->first_unexplained));
    ulp_json_set(&root, "cause", make_cause(&first->cause));
    for (size_t f = 0; f < comparison->file_count; f++)
        ulp_json_append(&files, make_file(comparison, &comparison->files[f]));
    for (size_t t = 0; t < comparison->tensor_count; t++)
        ulp_json_append(&tensors, make_tensor(comparison, &comparison->tensors[t]));
    ulp_json_set(&root, "files", files);
    if (comparison->slice_count)
        ulp_json_set(&root, "slices", make_slices(comparison));
    ulp_json_set(&root, "tensors", tensors);
    return root;
}

enum ulp_status ulp_comparison_write(const struct ulp_comparison *comparison, const char *folder,
                                     struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_report_write_json(make_document(comparison), folder, "compare.json", error);
}

enum ulp_status ulp_comparison_html(const struct ulp_comparison *comparison, const char *path,
                                    struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_html_write_root("compare", make_document(comparison), path, error);
}
