/* Checking that an output path is not one of the files that the command reads. */
#include "config.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
