/* Files inside the program, and writing them. */
#include "cli/command/example.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command/example_bytes.h"

#define ROW(name, bytes)          \
    {                             \
        name, bytes, sizeof bytes \
    }
const struct example_file example_files[EXAMPLE_COUNT] = {
    [EXAMPLE_MODEL] = ROW("model.onnx", bytes_of_model),
    [EXAMPLE_INPUTS] = ROW("inputs.npz", bytes_of_inputs),
};

static enum ulp_status write_all(int descriptor, const struct example_file *file, const char *path,
                                 struct ulp_error *error)
{
    size_t done = 0;
    while (done < file->count) {
        const ssize_t count = write(descriptor, file->bytes + done, file->count - done);
        if (count < 0 && errno != EINTR)
            return ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot be written: %s", path,
                            strerror(errno));
        done += count > 0 ? (size_t)count : 0;
    }
    return ULP_OK;
}

static enum ulp_status check_same(int descriptor, const struct example_file *file, const char *path,
                                  struct ulp_error *error)
{
    unsigned char *bytes = malloc(file->count + 1);
    if (!bytes)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    size_t done = 0;
    ssize_t count = 1;
    while (count > 0 && done <= file->count) {
        count = read(descriptor, bytes + done, file->count + 1 - done);
        done += count > 0 ? (size_t)count : 0;
    }
    const bool same = done == file->count && memcmp(bytes, file->bytes, done) == 0;
    free(bytes);
    return same ? ULP_OK
                : ulp_fail(error, ULP_ERROR_USAGE,
                           "%s: is there already, and is not the example's; name another folder",
                           path);
}

enum ulp_status example_write(enum example which, const char *folder, char **path,
                              struct ulp_error *error)
{
    const struct example_file *file = &example_files[which];
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s/%s", folder, file->name);
    if (text.failed)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    *path = text.data;
    int descriptor = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool is_there = descriptor < 0 && errno == EEXIST;
    if (is_there)
        descriptor = open(*path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: %s", *path, strerror(errno));
    enum ulp_status status = is_there ? check_same(descriptor, file, *path, error)
                                      : write_all(descriptor, file, *path, error);
    if (close(descriptor) != 0 && status == ULP_OK)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: %s", *path, strerror(errno));
    return status;
}
