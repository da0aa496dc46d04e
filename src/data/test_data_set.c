/* ONNX's test data: folders with input_0.pb, input_1.pb, ..., each a TensorProto. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "base/text/names.h"
#include "data/data.h"
#include "load/load.h"

static bool join_path(char *out, size_t size, const char *folder, const char *prefix, size_t index,
                      const char *suffix)
{
    int length = snprintf(out, size, "%s/%s_%zu%s", folder, prefix, index, suffix);
    return length > 0 && (size_t)length < size;
}

struct naming {
    const struct ulp_model *model;
    size_t count;
    struct ulp_value_info (*info)(const struct ulp_model *model, size_t index);
    struct ulp_names names; /* of the model's inputs or outputs */
};

/* Of outputs of one name the first is meant. */
static enum ulp_status list_names(struct naming *naming, struct ulp_error *error)
{
    for (size_t i = 0; i < naming->count; i++) {
        const char *name = naming->info(naming->model, i).name;
        if (ulp_names_find(&naming->names, name) < 0 &&
            !ulp_names_add(&naming->names, name, (int)i))
            return ulp_out_of_memory(error);
    }
    return ULP_OK;
}

/* The name of the index-th file's tensor; NULL: the model has fewer. */
static const char *choose_name(const struct naming *naming, const char *own, size_t index)
{
    if (ulp_names_find(&naming->names, own) >= 0)
        return own;
    return index < naming->count ? naming->info(naming->model, index).name : NULL;
}

static enum ulp_status read_file(const char *path, const char *prefix, size_t index,
                                 const struct naming *naming, struct ulp_budget *budget,
                                 struct ulp_tensor_set *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) unsigned char *bytes = NULL;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor tensor = {0};
    ULP_SCOPED(ulp_scoped_free) char *own = NULL;
    size_t count;
    char numbered[64];
    ULP_TRY(ulp_file_read(path, INT32_MAX, budget, &bytes, &count, error));
    ULP_TRY(ulp_fail_at(error, ulp_tensor_parse(&tensor, &own, bytes, count, budget, error), "%s",
                        path));
    const char *name = own;
    if (naming->model)
        name = choose_name(naming, own, index);
    else if (!*own && snprintf(numbered, sizeof numbered, "%s_%zu", prefix, index) > 0)
        name = numbered;
    if (!name)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: the model has only %zu %ss", path,
                        naming->count, prefix);
    return ulp_tensor_set_find(out, name)
               ? ulp_fail(error, ULP_ERROR_INPUT, "%s: a second tensor for '%.100s'", path, name)
               : ulp_tensor_set_add(out, name, &tensor, error);
}

enum ulp_status ulp_test_data_set_read(const char *folder, const char *prefix,
                                       const struct ulp_model *model, struct ulp_budget *budget,
                                       struct ulp_tensor_set *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    char path[4096];
    struct stat info;
    bool inputs = strcmp(prefix, "input") == 0;
    struct naming naming = {.model = model, .info = inputs ? ulp_model_input : ulp_model_output};
    if (model)
        naming.count = inputs ? ulp_model_input_count(model) : ulp_model_output_count(model);
    *out = (struct ulp_tensor_set){0};
    enum ulp_status status = list_names(&naming, error);
    for (size_t i = 0; status == ULP_OK; i++) {
        if (!join_path(path, sizeof path, folder, prefix, i, ".pb"))
            status = ulp_fail(error, ULP_ERROR_INPUT, "%.200s...: the path is too long", folder);
        else if (stat(path, &info) != 0)
            break;
        else
            status = read_file(path, prefix, i, &naming, budget, out, error);
    }
    if (status == ULP_OK && !out->count && (!model || naming.count))
        status =
            ulp_fail(error, ULP_ERROR_INPUT, "%s: no file %s_0.pb in this folder", folder, prefix);
    ulp_names_free(&naming.names);
    if (status != ULP_OK)
        ulp_tensor_set_free(out);
    return status;
}
