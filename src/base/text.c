#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

void ulp_text_add(struct ulp_text *text, const char *format, ...)
{
    if (text->failed)
        return;
    for (;;) {
        size_t room = text->capacity - text->length;
        va_list list;
        va_start(list, format);
        int length = vsnprintf(text->data ? text->data + text->length : NULL, room, format, list);
        va_end(list);
        if (length < 0) {
            text->failed = true;
            return;
        }
        if ((size_t)length < room) {
            text->length += (size_t)length;
            return;
        }
        size_t capacity = 2 * text->capacity + (size_t)length + 256;
        char *data = realloc(text->data, capacity);
        if (!data) {
            text->failed = true;
            return;
        }
        text->data = data;
        text->capacity = capacity;
    }
}

void ulp_text_free(struct ulp_text *text)
{
    free(text->data);
    *text = (struct ulp_text){0};
}

unsigned long long ulp_hash(const void *bytes, size_t count)
{
    unsigned long long hash = 14695981039346656037ull;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211ull;
    return hash;
}

static bool write_all(int file, const char *bytes, size_t count)
{
    while (count) {
        ssize_t written = write(file, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

enum ulp_status ulp_file_write(const char *path, const void *bytes, size_t count, struct ulp_error *error)
{
    size_t length = strlen(path);
    char *beside = malloc(length + 12);
    if (!beside)
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", path);
    snprintf(beside, length + 12, "%s.tmpXXXXXX", path);
    int file = mkstemp(beside);
    bool good = file >= 0;
    if (good) {
        mode_t mask = umask(0);
        umask(mask);
        good = write_all(file, bytes, count) && fchmod(file, 0666 & ~mask) == 0;
        good = close(file) == 0 && good;
        good = good && rename(beside, path) == 0;
        if (!good) {
            int code = errno;
            unlink(beside);
            errno = code;
        }
    }
    enum ulp_status status = ULP_OK;
    if (!good)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot write: %s", path, strerror(errno));
    free(beside);
    return status;
}

enum ulp_status ulp_file_read(const char *path, size_t max_bytes, unsigned char **out, size_t *count,
                              struct ulp_error *error)
{
    *out = NULL;
    *count = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    enum ulp_status status = ULP_OK;
    unsigned char *data = NULL;
    size_t size = 0, done = 0;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: not a regular file", path);
    else if ((size_t)info.st_size > max_bytes)
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: %lld bytes, more than the %zu this kind of file may have", path,
                          (long long)info.st_size, max_bytes);
    else if (!(data = malloc((size = (size_t)info.st_size) + 1)))
        status = ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory for %zu bytes", path, size);
    while (status == ULP_OK && done < size) {
        ssize_t got = read(file, data + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot read: %s", path, strerror(errno));
        else if (got == 0)
            size = done; /* the file shrank while it was read */
        else
            done += (size_t)got;
    }
    close(file);
    if (status != ULP_OK) {
        free(data);
        return status;
    }
    data[size] = 0;
    *out = data;
    *count = size;
    return ULP_OK;
}
