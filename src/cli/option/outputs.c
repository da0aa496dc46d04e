/* Checking output paths before the work: a file can be made there, no other output of the command
 * is written to it, and it is none of the files that the command reads. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

static bool is_array_file(const char *path)
{
    return ulp_text_ends(path, ".npz") || ulp_text_ends(path, ".npy") || ulp_text_ends(path, ".pb");
}

/* Whether the file at path lies somewhere under folder. */
static bool lies_under(const char *path, const char *folder)
{
    char *file = realpath(path, NULL), *top = realpath(folder, NULL);
    const size_t length = top ? strlen(top) : 0;
    const bool lies = file && top && strncmp(file, top, length) == 0 && file[length] == '/';
    free(top);
    free(file);
    return lies;
}

enum ulp_status spare_inputs(const char *output, const struct ulp_model *model, char *const *inputs,
                             size_t count, struct ulp_error *error)
{
    struct stat out, in;
    if (stat(output, &out) != 0 || !S_ISREG(out.st_mode))
        return ULP_OK;
    if (model && ulp_model_is_read_from(model, output))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: is read as (part of) the model %s, so nothing is written to it; give "
                        "the output another name",
                        output, ulp_model_path(model));
    for (size_t i = 0; i < count; i++)
        if (stat(inputs[i], &in) == 0 &&
            (S_ISDIR(in.st_mode) ? is_array_file(output) && lies_under(output, inputs[i])
                                 : in.st_dev == out.st_dev && in.st_ino == out.st_ino))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s: is read as an input (%s), so nothing is written to it; give the "
                            "output another name",
                            output, inputs[i]);
    return ULP_OK;
}

enum ulp_status spare_inputs_of_report(const char *folder, const struct ulp_model *model,
                                       char *const *inputs, size_t count, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    const char *name;
    for (size_t f = 0; (name = ulp_report_file_name(f)) && status == ULP_OK; f++) {
        struct ulp_text path = {0};
        ulp_text_add(&path, "%s/%s", folder, name);
        status = path.failed ? ulp_fail(error, ULP_ERROR_MEMORY, "out of memory")
                             : spare_inputs(path.data, model, inputs, count, error);
        ulp_text_free(&path);
    }
    return status;
}

/* The outputs so far, by folder and name: one folder has many paths. */
struct place {
    dev_t device;
    ino_t folder;
    char *name;
};
static struct place *places;
static size_t place_count;

static enum ulp_status add_place(const char *output, const struct stat *folder, const char *name,
                                 struct ulp_error *error)
{
    for (size_t i = 0; i < place_count; i++)
        if (places[i].device == folder->st_dev && places[i].folder == folder->st_ino &&
            strcmp(places[i].name, name) == 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s: is the file of two outputs, and one would be written over the "
                            "other; give each a name of its own",
                            output);
    struct place *grown = realloc(places, (place_count + 1) * sizeof *places);
    if (grown)
        places = grown;
    char *copy = grown ? strdup(name) : NULL;
    if (!copy)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    places[place_count++] = (struct place){folder->st_dev, folder->st_ino, copy};
    return ULP_OK;
}

enum ulp_status claim_output(const char *output, const struct ulp_model *model, char *const *inputs,
                             size_t count, struct ulp_error *error)
{
    struct stat info;
    const bool there = stat(output, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: is a folder, expected the name of a file",
                        output);
    if (there && !S_ISREG(info.st_mode)) /* as /dev/stdout: written in place */
        return ULP_OK;
    char *real = there ? realpath(output, NULL) : strdup(output), *slash = NULL;
    if (!real)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    slash = strrchr(real, '/');
    const char *name = slash ? slash + 1 : real;
    char *folder = slash ? strndup(real, (size_t)(slash - real) + 1) : strdup(".");
    enum ulp_status status = ULP_OK;
    if (!folder)
        status = ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    else if (!*name)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: is no name of a file", output);
    else if (stat(folder, &info) != 0 || access(folder, W_OK | X_OK) != 0)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: no file can be made in %s: %s", output,
                          folder, strerror(errno));
    else
        status = add_place(output, &info, name, error);
    free(folder);
    free(real);
    return status == ULP_OK ? spare_inputs(output, model, inputs, count, error) : status;
}
