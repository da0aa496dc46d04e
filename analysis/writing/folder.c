/* The folder that results are written into. */
#include "analysis/writing/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/writing/json_value.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"

static enum ulp_status make_folder(const char *folder, struct ulp_error *error)
{
    char *path = strdup(folder);
    if (!path)
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", folder);
    enum ulp_status status =
        *path ? ULP_OK : ulp_fail(error, ULP_ERROR_USAGE, "the report's folder has an empty name");
    for (char *slash = path; slash && status == ULP_OK;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            status = ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot make the folder: %s", path,
                              strerror(errno));
        if (slash)
            *slash = '/';
    }
    free(path);
    return status;
}

enum ulp_status ulp_report_prepare(const char *folder, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct stat info;
    ULP_TRY(make_folder(folder, error));
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: is not a folder; give the name of one",
                        folder);
    if (access(folder, W_OK | X_OK) != 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: no file can be made in this folder: %s",
                        folder, strerror(errno));
    return ULP_OK;
}

enum ulp_status ulp_report_write_json(json_t *root, const char *folder, const char *name,
                                      struct ulp_error *error)
{
    char path[4096];
    enum ulp_status status = ulp_report_prepare(folder, error);
    if (status == ULP_OK && snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        status = ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", folder);
    if (status == ULP_OK)
        return ulp_json_write(root, path, error);
    json_decref(root);
    return status;
}

enum ulp_status ulp_report_open(const char *folder, const char *name, struct ulp_text *out,
                                struct ulp_error *error)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: the path is too long", folder);
    return ulp_text_open(out, path, error);
}
