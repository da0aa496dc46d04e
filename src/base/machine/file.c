/* Reading files whole, and replacing files so that they are complete or unchanged. */
#define _GNU_SOURCE
#include "base/machine/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/alloc.h"
#include "base/machine/clock.h"
#include "base/error.h"
#include "base/tuning.h"

/* ---- reading ---- */

/* A regular file of at most max_bytes: its descriptor and size. Anything else is refused at once: a
 * pipe would have to be waited for. */
static enum ulp_status open_regular(int *out, const char *path, size_t max_bytes, size_t *count,
                                    struct ulp_error *error)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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

/* The descriptor's bytes. */
static enum ulp_status map(int file, const char *path, size_t count, void **address,
                           struct ulp_error *error)
{
    *address = NULL;
    if (!count)
        return ULP_OK;
    void *mapped = mmap(NULL, count, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: cannot map %zu bytes: %s", path, count,
                        strerror(errno));
    *address = mapped;
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
    status = map(file, path, *count, address, error);
    close(file);
    return status;
}

static void advise(const void *address, size_t bytes, bool inside, int advice)
{
    const long size = sysconf(_SC_PAGESIZE);
    const uintptr_t page = size > 0 ? (uintptr_t)size : 4096, first = (uintptr_t)address,
                    end = first + bytes;
    const uintptr_t from = (inside ? first + page - 1 : first) / page * page,
                    to = inside ? end / page * page : end;
    if (from < to)
        madvise((void *)from, to - from, advice); /* advice: it may fail */
}

void ulp_mapped_fetch(const void *address, size_t bytes)
{
    advise(address, bytes, false, MADV_WILLNEED);
}

void ulp_mapped_give_back(const void *address, size_t bytes)
{
    advise(address, bytes, true, MADV_DONTNEED);
}

/* ---- writing ---- */

struct ulp_new_file {
    int descriptor;
    int code;            /* errno of the first failure; 0: none */
    char *path, *target; /* as given, and with links followed */
    char *folder;        /* of target */
    char *beside;        /* its name until it is whole; NULL: it has none, or is written in place */
    bool in_place;
};

static void free_file(struct ulp_new_file *file)
{
    if (!file)
        return;
    free(file->path);
    free(file->target);
    free(file->folder);
    free(file->beside);
    free(file);
}

static enum ulp_status fail_to_write(const char *path, int code, struct ulp_error *error)
{
    return ulp_fail(error, ulp_status_of(code), "%s: cannot write: %s", path, strerror(code));
}

#define NAME_TRIES 100

/* Another name beside the target that nobody has: made by `make`, which gives -1 and errno EEXIST
 * when somebody has it. */
static int make_beside(struct ulp_new_file *file, int (*make)(struct ulp_new_file *file))
{
    const size_t size = strlen(file->target) + 12;
    if (!(file->beside = malloc(size)))
        return -1;
    int made = -1;
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        const unsigned long long seed[] = {(unsigned long long)getpid(), i,
                                           (unsigned long long)(1e9 * ulp_seconds_now())};
        snprintf(file->beside, size, "%s.tmp%06llx", file->target,
                 ulp_hash(seed, sizeof seed) & 0xFFFFFF);
        if ((made = make(file)) >= 0 || errno != EEXIST)
            break;
    }
    if (made < 0) {
        const int code = errno;
        free(file->beside);
        file->beside = NULL;
        errno = code;
    }
    return made;
}

static int create_beside(struct ulp_new_file *file)
{
    return open(file->beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* Of a file without a name. */
static int name_file(const struct ulp_new_file *file, const char *name)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->descriptor);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int name_beside(struct ulp_new_file *file)
{
    return name_file(file, file->beside);
}

static int open_nameless(const struct ulp_new_file *file)
{
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) == 0)
        return open(file->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#endif
    return -1;
}

static void open_for_writing(struct ulp_new_file *file, const char *path)
{
    struct stat info;
    const bool there = stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
    } else if (there && !S_ISREG(info.st_mode)) {
        file->in_place = true; /* without O_NONBLOCK a pipe nobody reads would be waited for */
        file->descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (file->descriptor >= 0)
            fcntl(file->descriptor, F_SETFL, 0);
    } else {
        file->descriptor = open_nameless(file);
        if (file->descriptor < 0)
            file->descriptor = make_beside(file, create_beside);
    }
}

static enum ulp_status begin_file(struct ulp_new_file **out, const char *path,
                                  struct ulp_error *error)
{
    struct ulp_new_file *file = calloc(1, sizeof *file);
    char *copy = NULL;
    *out = NULL;
    if (file) {
        *file = (struct ulp_new_file){.descriptor = -1, .path = strdup(path)};
        file->target = realpath(path, NULL);
        if (!file->target) /* there is no such file yet */
            file->target = strdup(path);
        copy = file->target ? strdup(file->target) : NULL;
        file->folder = copy ? strdup(dirname(copy)) : NULL;
    }
    free(copy);
    if (!file || !file->path || !file->folder) {
        free_file(file);
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", path);
    }
    open_for_writing(file, path);
    if (file->descriptor < 0) {
        const int code = errno;
        free_file(file);
        return fail_to_write(path, code, error);
    }
    *out = file;
    return ULP_OK;
}

/* A failure is kept, and told at the end. */
static void add_bytes(struct ulp_new_file *file, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count && !file->code) {
        const ssize_t written = write(file->descriptor, at, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            file->code = written < 0 && errno ? errno : EIO;
            return;
        }
        at += written;
        count -= (size_t)written;
    }
}

/* What a file system cannot do is not asked of it. */
static bool is_synced(int descriptor)
{
    return fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

static bool take_name(struct ulp_new_file *file)
{
    if (!file->beside) {
        if (name_file(file, file->target) == 0)
            return true;
        if (errno != EEXIST || make_beside(file, name_beside) < 0)
            return false;
    }
    return rename(file->beside, file->target) == 0;
}

static void sync_folder(const struct ulp_new_file *file)
{
    const int folder = open(file->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

/* Give the file its name, or drop it; frees *file in either case. */
static enum ulp_status end_file(struct ulp_new_file *file, bool keep, struct ulp_error *error)
{
    const bool is_named = keep && !file->in_place;
    if (is_named && !file->code && (!is_synced(file->descriptor) || !take_name(file)))
        file->code = errno;
    if (close(file->descriptor) != 0 && !file->code && errno != EINTR)
        file->code = errno;
    if (file->beside && (!keep || file->code))
        unlink(file->beside);
    if (is_named && !file->code)
        sync_folder(file);
    const enum ulp_status status =
        keep && file->code ? fail_to_write(file->path, file->code, error) : ULP_OK;
    free_file(file);
    return status;
}

enum ulp_status ulp_file_write(const char *path, const void *bytes, size_t count,
                               struct ulp_error *error)
{
    struct ulp_new_file *file;
    enum ulp_status status = begin_file(&file, path, error);
    if (status != ULP_OK)
        return status;
    add_bytes(file, bytes, count);
    return end_file(file, true, error);
}

/* ---- texts ---- */

static void write_text(struct ulp_text *text)
{
    add_bytes(text->file, text->data, text->length);
    text->failed |= text->file->code != 0;
    text->length = 0;
}

static void flush_long(struct ulp_text *text)
{
    if (text->length >= ULP_TUNE_FLUSHED_BYTES)
        write_text(text);
}

enum ulp_status ulp_text_open(struct ulp_text *text, const char *path, struct ulp_error *error)
{
    *text = (struct ulp_text){.grown = flush_long};
    return begin_file(&text->file, path, error);
}

enum ulp_status ulp_text_flush(struct ulp_text *text, struct ulp_error *error)
{
    if (!text->failed)
        write_text(text);
    if (!text->failed)
        return ULP_OK;
    return text->file->code
               ? fail_to_write(text->file->path, text->file->code, error)
               : ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", text->file->path);
}

enum ulp_status ulp_text_map(struct ulp_text *text, void **address, size_t *count,
                             struct ulp_error *error)
{
    const struct ulp_new_file *file = text->file;
    struct stat info;
    *address = NULL;
    *count = 0;
    const enum ulp_status status = ulp_text_flush(text, error);
    if (status != ULP_OK)
        return status;
    if (file->in_place || fstat(file->descriptor, &info) != 0 || !S_ISREG(info.st_mode))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: not a regular file", file->path);
    *count = (size_t)info.st_size;
    return map(file->descriptor, file->path, *count, address, error);
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
