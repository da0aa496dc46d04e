/* Reading recordings: choosing the reader by the kind of file, and folders of .npy files. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "base/text/text.h"
#include "data/data.h"

#define FOLDER_DEPTH_MAX 16 /* of folders in a folder of .npy files: names with slashes */
/* The folder that Polygraphy streams into has a file for each iteration, from this one on. */
#define FIRST_ITERATION "0000000000.json"

/* The file's array under the name without ".npy". */
static enum ulp_status read_npy(const char *path, const char *name, struct ulp_budget *budget,
                                struct ulp_tensor_set *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) unsigned char *bytes = NULL;
    size_t count = 0;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor tensor = {0};
    ULP_TRY(ulp_file_read(path, SIZE_MAX, budget, &bytes, &count, error));
    ULP_SCOPED(ulp_scoped_free) char *stem = strndup(name, strlen(name) - strlen(".npy"));
    enum ulp_status status =
        stem ? ulp_npy_parse(&tensor, bytes, count, budget, error) : ulp_out_of_memory(error);
    ULP_THEN(status, ulp_tensor_set_add(out, stem, &tensor, error));
    return ulp_fail_at(error, status, "%s", path);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The .npy files of folder, and those of folders in it: their names begin with `prefix`. */
static enum ulp_status read_npy_folder(const char *folder, const char *prefix, int depth,
                                       struct ulp_budget *budget, struct ulp_tensor_set *out,
                                       struct ulp_error *error)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, alphasort);
    if (count < 0)
        return ulp_fail(error, ulp_status_of(errno), "%s: cannot read the folder: %s", folder,
                        strerror(errno));
    enum ulp_status status = ULP_OK;
    for (int e = 0; e < count; e++) {
        ULP_SCOPED(ulp_text_free) struct ulp_text path = {0}, name = {0};
        struct stat info;
        ulp_text_add(&path, "%s/%s", folder, entries[e]->d_name);
        ulp_text_add(&name, "%s%s", prefix, entries[e]->d_name);
        const bool there =
            status == ULP_OK && !path.failed && !name.failed && stat(path.data, &info) == 0;
        if (path.failed || name.failed) {
            status = ulp_out_of_memory(error);
        } else if (there && S_ISREG(info.st_mode) && ulp_text_ends(path.data, ".npy")) {
            status = read_npy(path.data, name.data, budget, out, error);
        } else if (there && S_ISDIR(info.st_mode) && depth < FOLDER_DEPTH_MAX) {
            ulp_text_add(&name, "/");
            status = name.failed
                         ? ulp_out_of_memory(error)
                         : read_npy_folder(path.data, name.data, depth + 1, budget, out, error);
        }
        free(entries[e]);
    }
    free(entries);
    return status;
}

static bool holds(const char *folder, const char *file)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text path = {0};
    struct stat info;
    ulp_text_add(&path, "%s/%s", folder, file);
    return !path.failed && stat(path.data, &info) == 0;
}

static enum ulp_status take_all(struct ulp_tensor_set *to, struct ulp_tensor_set *from,
                                struct ulp_error *error)
{
    for (size_t i = 0; i < from->count; i++)
        ULP_TRY(ulp_tensor_set_add(to, from->items[i].name, &from->items[i].tensor, error));
    return ULP_OK;
}

/* Outputs, and inputs where they are. */
static enum ulp_status read_test_data_set(const char *folder, const struct ulp_model *model,
                                          struct ulp_budget *budget, struct ulp_tensor_set *out,
                                          struct ulp_error *error)
{
    static const char *const prefixes[] = {"input", "output"};
    for (size_t p = 0; p < 2; p++) {
        ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set part = {0};
        char first[32];
        snprintf(first, sizeof first, "%s_0.pb", prefixes[p]);
        if (!holds(folder, first))
            continue;
        ULP_TRY(ulp_test_data_set_read(folder, prefixes[p], model, budget, &part, error));
        ULP_TRY(take_all(out, &part, error));
    }
    return ULP_OK;
}

static enum ulp_status read_folder(const char *folder, const struct ulp_model *model,
                                   struct ulp_budget *budget, struct ulp_tensor_set *out,
                                   struct ulp_error *error)
{
    if (holds(folder, "output_0.pb") || holds(folder, "input_0.pb"))
        return read_test_data_set(folder, model, budget, out, error);
    if (holds(folder, "test_data_set_0"))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: holds several test_data_set_N folders: give one of them", folder);
    ULP_TRY(read_npy_folder(folder, "", 0, budget, out, error));
    if (out->count == 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: holds neither output_0.pb nor " FIRST_ITERATION
                        " nor .npy files: nothing is recorded here",
                        folder);
    return ULP_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum ulp_status read_iterations(const char *folder, struct ulp_budget *budget,
                                       struct ulp_recording_list *list, struct ulp_error *error)
{
    for (size_t i = 0;; i++) {
        ULP_SCOPED(ulp_text_free) struct ulp_text path = {0};
        char name[40];
        snprintf(name, sizeof name, "%010zu.json", i);
        if (!holds(folder, name))
            return ULP_OK;
        ulp_text_add(&path, "%s/%s", folder, name);
        ULP_TRY(path.failed ? ulp_out_of_memory(error)
                            : ulp_polygraphy_read(path.data, folder, i, budget, list, error));
    }
}

enum ulp_status ulp_recording_read(const char *path, const struct ulp_model *model,
                                   struct ulp_budget *budget, struct ulp_recording_list *list,
                                   struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set tensors = {0};
    struct stat info;
    if (ulp_text_ends(path, ".json"))
        return ulp_polygraphy_read(path, path, 0, budget, list, error);
    const bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (folder && holds(path, FIRST_ITERATION))
        return read_iterations(path, budget, list, error);
    ULP_TRY(folder                        ? read_folder(path, model, budget, &tensors, error)
            : ulp_text_ends(path, ".npy") ? read_npy(path, base_name(path), budget, &tensors, error)
                                          : ulp_npz_read(path, budget, &tensors, error));
    return ulp_recording_add(list, path, NULL, 0, &tensors, error);
}
