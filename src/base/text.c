#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/shown.h"

/* A file on its way: it has another name until it is whole. */
struct ulp_new_file {
    int descriptor;
    int code; /* errno of the first failure; 0: none */
    char *path, *beside;
};

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

static void free_file(struct ulp_new_file *file)
{
    if (file) {
        free(file->path);
        free(file->beside);
    }
    free(file);
}

static enum ulp_status fail_to_write(const char *path, int code, struct ulp_error *error)
{
    return ulp_fail(error, ulp_status_of(code), "%s: cannot write: %s", path, strerror(code));
}

static enum ulp_status open_file(struct ulp_new_file **out, const char *path,
                                 struct ulp_error *error)
{
    size_t length = strlen(path) + 12;
    struct ulp_new_file *file = calloc(1, sizeof *file);
    *out = NULL;
    if (file)
        *file =
            (struct ulp_new_file){.descriptor = -1, .path = strdup(path), .beside = malloc(length)};
    if (!file || !file->path || !file->beside) {
        free_file(file);
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", path);
    }
    snprintf(file->beside, length, "%s.tmpXXXXXX", path);
    file->descriptor = mkstemp(file->beside);
    if (file->descriptor < 0) {
        int code = errno;
        free_file(file);
        return fail_to_write(path, code, error);
    }
    *out = file;
    return ULP_OK;
}

static void add_bytes(struct ulp_new_file *file, const char *bytes, size_t count)
{
    if (!file->code && !write_all(file->descriptor, bytes, count))
        file->code = errno ? errno : EIO;
}

/* Give the file its name, or remove it; frees it in either case. */
static enum ulp_status end_file(struct ulp_new_file *file, bool keep, struct ulp_error *error)
{
    mode_t mask = umask(0);
    umask(mask);
    if (!file->code && fchmod(file->descriptor, 0666 & ~mask) != 0)
        file->code = errno;
    if (close(file->descriptor) != 0 && !file->code)
        file->code = errno;
    if (keep && !file->code && rename(file->beside, file->path) != 0)
        file->code = errno;
    if (!keep || file->code)
        unlink(file->beside);
    enum ulp_status status =
        keep && file->code ? fail_to_write(file->path, file->code, error) : ULP_OK;
    free_file(file);
    return status;
}

/* A text that goes to a file is written when it has grown to this. */
#define FLUSHED_BYTES ((size_t)64 << 10)

static void flush(struct ulp_text *text)
{
    add_bytes(text->file, text->data, text->length);
    text->failed |= text->file->code != 0;
    text->length = 0;
}

typedef int print_fn(char *out, size_t size, const char *format, va_list list);

static void add_printed(struct ulp_text *text, print_fn *print, const char *format,
                        va_list arguments)
{
    while (!text->failed) {
        size_t room = text->capacity - text->length;
        va_list list;
        va_copy(list, arguments);
        int length = print(text->data ? text->data + text->length : NULL, room, format, list);
        va_end(list);
        if (length < 0) {
            text->failed = true;
            return;
        }
        if ((size_t)length < room) {
            text->length += (size_t)length;
            if (text->file && text->length >= FLUSHED_BYTES)
                flush(text);
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

void ulp_text_add(struct ulp_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_printed(text, vsnprintf, format, list);
    va_end(list);
}

void ulp_text_show(struct ulp_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ulp_text_show_list(text, format, list);
    va_end(list);
}

void ulp_text_show_list(struct ulp_text *text, const char *format, va_list list)
{
    add_printed(text, ulp_show_arguments, format, list);
}

void ulp_text_free(struct ulp_text *text)
{
    free(text->data);
    *text = (struct ulp_text){0};
}

bool ulp_text_ends(const char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    return length > wanted && strcmp(text + length - wanted, end) == 0;
}

unsigned long long ulp_hash(const void *bytes, size_t count)
{
    unsigned long long hash = 14695981039346656037ull;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211ull;
    return hash;
}

enum ulp_status ulp_text_open(struct ulp_text *text, const char *path, struct ulp_error *error)
{
    *text = (struct ulp_text){0};
    return open_file(&text->file, path, error);
}

enum ulp_status ulp_text_flush(struct ulp_text *text, struct ulp_error *error)
{
    if (!text->failed)
        flush(text);
    if (!text->failed)
        return ULP_OK;
    return text->file->code
               ? fail_to_write(text->file->path, text->file->code, error)
               : ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", text->file->path);
}

enum ulp_status ulp_text_close(struct ulp_text *text, bool keep, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    if (keep)
        status = ulp_text_flush(text, error);
    enum ulp_status ended = end_file(text->file, keep && status == ULP_OK, error);
    ulp_text_free(text);
    return status == ULP_OK ? ended : status;
}

enum ulp_status ulp_file_write(const char *path, const void *bytes, size_t count,
                               struct ulp_error *error)
{
    struct ulp_new_file *file;
    enum ulp_status status = open_file(&file, path, error);
    if (status != ULP_OK)
        return status;
    add_bytes(file, bytes, count);
    return end_file(file, true, error);
}

/* A regular file of at most max_bytes, open for reading. */
static enum ulp_status open_regular(int *out, const char *path, size_t max_bytes, size_t *count,
                                    struct ulp_error *error)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return ulp_fail(error, ulp_status_of(errno), "%s: cannot open: %s", path, strerror(errno));
    enum ulp_status status = ULP_OK;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: not a regular file", path);
    else if ((size_t)info.st_size > max_bytes)
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
    void *memory = NULL;
    size_t size = 0, done = 0;
    enum ulp_status status = open_regular(&file, path, max_bytes, &size, error);
    if (status != ULP_OK)
        return status;
    status = ulp_allocate(&memory, size + 1, 1, budget, path, error);
    unsigned char *data = memory;
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
    enum ulp_status status = open_regular(&file, path, max_bytes, count, error);
    if (status != ULP_OK)
        return status;
    if (*count && (*address = mmap(NULL, *count, PROT_READ, MAP_PRIVATE, file, 0)) == MAP_FAILED) {
        *address = NULL;
        status = ulp_fail(error, ULP_ERROR_MEMORY, "%s: cannot map %zu bytes: %s", path, *count,
                          strerror(errno));
    }
    close(file);
    return status;
}
