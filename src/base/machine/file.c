/* Reading files whole. */
#define _GNU_SOURCE
#include "base/machine/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/alloc.h"
#include "base/error.h"

/* A regular file of at most max_bytes: its descriptor and size. Anything else is refused at once: a
 * pipe would have to be waited for. */
static enum ulp_status open_regular(int *out, const char *path, size_t max_bytes, size_t *count,
                                    struct ulp_error *error)
{
    struct stat info;
    int file = ulp_held_open(path);
    if (file < 0)
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return ulp_fail(error, ulp_status_of(errno), "%s: cannot open: %s", path, strerror(errno));
    enum ulp_status status = ULP_OK;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: not a regular file", path);
    else if ((uintmax_t)info.st_size > max_bytes)
        status = ulp_fail(error, ULP_ERROR_INPUT,
                          "%s: %lld bytes, more than the %zu this kind of file may have", path,
                          (long long)info.st_size, max_bytes);
    if (status != ULP_OK) {
        close(file);
        return status;
    }
    *out = file;
    *count = (size_t)info.st_size;
    return ULP_OK;
}

enum ulp_status ulp_file_read(const char *path, size_t max_bytes, struct ulp_budget *budget,
                              unsigned char **out, size_t *count, struct ulp_error *error)
{
    int file = -1;
    *out = NULL;
    *count = 0;
    unsigned char *data = NULL;
    size_t size = 0, done = 0;
    ULP_TRY(open_regular(&file, path, max_bytes, &size, error));
    enum ulp_status status = ulp_allocate(&data, size + 1, 1, budget, path, error);
    while (status == ULP_OK && done < size) {
        ssize_t got = read(file, data + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status =
                ulp_fail(error, ulp_status_of(errno), "%s: cannot read: %s", path, strerror(errno));
        else if (got == 0)
            size = done; /* the file shrank while it was read */
        else
            done += (size_t)got;
    }
    close(file);
    if (status != ULP_OK) {
        ulp_free(data);
        return status;
    }
    data[size] = 0;
    *out = data;
    *count = size;
    return ULP_OK;
}

enum ulp_status ulp_file_map(const char *path, size_t max_bytes, void **address, size_t *count,
                             struct ulp_error *error)
{
    int file = -1;
    *address = NULL;
    *count = 0;
    ULP_TRY(open_regular(&file, path, max_bytes, count, error));
    enum ulp_status status = ulp_descriptor_map(file, path, *count, address, error);
    close(file);
    return status;
}
