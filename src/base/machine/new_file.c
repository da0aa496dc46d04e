/* Files that are whole or not there, alone or several together. */
#define _GNU_SOURCE
#include "base/machine/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ulpscope/outputs.h>

#include "base/machine/clock.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/tuning.h"

struct ulp_new_file {
    int descriptor;
    int code; /* errno of the first failure; 0: none */
    char *path;
    char *folder; /* that it is in */
    char *beside; /* where it is until it is whole, or room for such a name */
    bool named;   /* it is there */
    bool in_place;
    bool retired;              /* it is not there any more; no descriptor */
    struct ulp_new_file *next; /* of those that are held */
};

/* ---- names ---- */

static void free_file(struct ulp_new_file *file)
{
    if (!file)
        return;
    free(file->path);
    free(file->folder);
    free(file->beside);
    free(file);
}

static enum ulp_status fail_to_write(const char *path, int code, struct ulp_error *error)
{
    return ulp_fail(error, ulp_status_of(code), "%s: cannot write: %s", path, strerror(code));
}

static char *copy_folder(const char *path)
{
    char *copy = strdup(path), *folder = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    return folder;
}

#define BESIDE_BYTES 12 /* of ".tmp", six digits and the end */

/* All memory that the file takes until it has its name. */
static struct ulp_new_file *make_file(const char *path)
{
    struct ulp_new_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    *file = (struct ulp_new_file){.descriptor = -1, .path = strdup(path)};
    file->folder = copy_folder(path);
    file->beside = malloc(strlen(path) + BESIDE_BYTES);
    if (file->path && file->folder && file->beside)
        return file;
    free_file(file);
    return NULL;
}

#define NAME_TRIES 100

/* Another name beside its own that nobody has: made by `make`, which gives -1 and errno EEXIST
 * when somebody has it. */
static int make_beside(struct ulp_new_file *file, int (*make)(struct ulp_new_file *file))
{
    int made = -1;
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        const unsigned long long seed[] = {(unsigned long long)getpid(), i,
                                           (unsigned long long)(1e9 * ulp_seconds_now())};
        snprintf(file->beside, strlen(file->path) + BESIDE_BYTES, "%s.tmp%06llx", file->path,
                 ulp_hash(seed, sizeof seed) & 0xFFFFFF);
        if ((made = make(file)) >= 0 || errno != EEXIST)
            break;
    }
    file->named = made >= 0;
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

/* ---- one file ---- */

/* A link to a file, there or not: another name would be written to than the one given. (One to a
 * device or a pipe, as /dev/stdout is, leads to what is written in place.) Where the name becomes a
 * link after this, the new file takes the link's place. */
static enum ulp_status refuse_link(const char *path, struct ulp_error *error)
{
    struct stat own, info;
    if (lstat(path, &own) != 0 || !S_ISLNK(own.st_mode) ||
        (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "%s: is a symbolic link, and nothing is written through one; remove it, or "
                    "give another name",
                    path);
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
        if (file->descriptor >= 0 &&
            (fstat(file->descriptor, &info) != 0 || S_ISREG(info.st_mode))) {
            close(file->descriptor); /* it has become a link to a file meanwhile */
            file->descriptor = -1;
            errno = ELOOP;
        }
    } else {
        file->descriptor = open_nameless(file);
        if (file->descriptor < 0)
            file->descriptor = make_beside(file, create_beside);
    }
}

static enum ulp_status begin_file(struct ulp_new_file **out, const char *path,
                                  struct ulp_error *error)
{
    *out = NULL;
    if (refuse_link(path, error) != ULP_OK)
        return ULP_ERROR_USAGE;
    struct ulp_new_file *file = make_file(path);
    if (!file)
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", path);
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
    if (!file->named) {
        if (name_file(file, file->path) == 0)
            return true;
        if (errno != EEXIST || make_beside(file, name_beside) < 0)
            return false;
    }
    return rename(file->beside, file->path) == 0;
}

static int open_folder(const char *folder)
{
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void sync_folder(const char *path)
{
    const int folder = open_folder(path);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

static enum ulp_status end_retired(struct ulp_new_file *file, bool keep, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    if (keep && unlink(file->path) != 0 && errno != ENOENT)
        status = ulp_fail(error, ulp_status_of(errno),
                          "%s is of an earlier result and cannot be removed: %s", file->path,
                          strerror(errno));
    free_file(file);
    return status;
}

/* Give the file its name, or drop it; frees *file in either case. */
static enum ulp_status end_file(struct ulp_new_file *file, bool keep, struct ulp_error *error)
{
    if (file->retired)
        return end_retired(file, keep, error);
    const bool is_named = keep && !file->in_place;
    if (is_named && !file->code && !take_name(file))
        file->code = errno;
    if (close(file->descriptor) != 0 && !file->code && errno != EINTR)
        file->code = errno;
    if (file->named && (!keep || file->code))
        unlink(file->beside);
    if (is_named && !file->code)
        sync_folder(file->folder);
    const enum ulp_status status =
        keep && file->code ? fail_to_write(file->path, file->code, error) : ULP_OK;
    free_file(file);
    return status;
}

/* ---- several together ---- */

/* Files of this thread that are whole and have no names yet, in the order in which they were
 * written. */
static _Thread_local struct {
    bool holding;
    struct ulp_new_file *first, *last;
} held;

static void hold_file(struct ulp_new_file *file)
{
    *(held.last ? &held.last->next : &held.first) = file;
    held.last = file;
}

bool ulp_files_hold(void)
{
    const bool begun = !held.holding;
    held.holding = true;
    return begun;
}

/* A loader looks for a file's data in "./", whose own path may have no folder. */
static bool is_same_path(const char *a, const char *b)
{
    while (a[0] == '.' && a[1] == '/')
        a += 2;
    while (b[0] == '.' && b[1] == '/')
        b += 2;
    return strcmp(a, b) == 0;
}

int ulp_held_open(const char *path)
{
    char self[40];
    const struct ulp_new_file *found = NULL;
    for (const struct ulp_new_file *file = held.first; file; file = file->next)
        if (is_same_path(file->path, path) && !file->retired)
            found = file;
    if (!found)
        return -1;
    snprintf(self, sizeof self, "/proc/self/fd/%d", found->descriptor);
    return open(found->named ? found->beside : self, O_RDONLY | O_CLOEXEC);
}

void ulp_files_drop(const char *path)
{
    struct ulp_error error;
    struct ulp_new_file *file = held.first;
    held.first = held.last = NULL;
    for (struct ulp_new_file *next; file; file = next) {
        next = file->next;
        file->next = NULL;
        if (is_same_path(file->path, path))
            end_file(file, false, &error);
        else
            hold_file(file);
    }
}

/* Others that give names to files there wait; closing the descriptor lets them go on. A file system
 * that cannot lock goes without. */
static int lock_folder(const char *folder)
{
    const int descriptor = open_folder(folder);
    if (descriptor >= 0)
        flock(descriptor, LOCK_EX);
    return descriptor;
}

enum ulp_status ulp_files_release(bool begun, enum ulp_status status, struct ulp_error *error)
{
    if (!begun)
        return status;
    struct ulp_new_file *file = held.first;
    const int lock = file && status == ULP_OK ? lock_folder(file->folder) : -1;
    held.first = held.last = NULL;
    held.holding = false;
    for (struct ulp_new_file *next; file; file = next) {
        next = file->next;
        const enum ulp_status ended = end_file(file, status == ULP_OK, error);
        status = status == ULP_OK ? ended : status;
    }
    if (lock >= 0)
        close(lock);
    return status;
}

void ulp_outputs_hold(void)
{
    ulp_files_hold();
}

enum ulp_status ulp_outputs_release(bool keep, struct ulp_error *error)
{
    const enum ulp_status status =
        ulp_files_release(true, keep ? ULP_OK : ULP_ERROR_CANCELLED, error);
    return keep ? status : ULP_OK;
}

bool ulp_files_pause(void)
{
    const bool holding = held.holding;
    held.holding = false;
    return holding;
}

void ulp_files_resume(bool holding)
{
    held.holding = holding;
}

/* It is whole, or not to be kept. */
static enum ulp_status close_file(struct ulp_new_file *file, bool keep, struct ulp_error *error)
{
    if (keep && !file->code && !file->in_place && !is_synced(file->descriptor))
        file->code = errno;
    if (!held.holding || !keep || file->code || file->in_place)
        return end_file(file, keep, error);
    hold_file(file);
    return ULP_OK;
}

enum ulp_status ulp_file_write(const char *path, const void *bytes, size_t count,
                               struct ulp_error *error)
{
    struct ulp_new_file *file;
    ULP_TRY(begin_file(&file, path, error));
    add_bytes(file, bytes, count);
    return close_file(file, true, error);
}

enum ulp_status ulp_file_retire(const char *folder, const char *name, struct ulp_error *error)
{
    struct ulp_text path = {0};
    struct stat info;
    ulp_text_add(&path, "%s/%s", folder, name);
    struct ulp_new_file *file = path.failed ? NULL : make_file(path.data);
    ulp_text_free(&path);
    ULP_TRY(ulp_taken(file, error));
    file->retired = true;
    if (!held.holding || lstat(file->path, &info) != 0)
        return end_retired(file, true, error);
    hold_file(file);
    return ULP_OK;
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

enum ulp_status ulp_text_close(struct ulp_text *text, bool keep, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    if (keep)
        status = ulp_text_flush(text, error);
    enum ulp_status ended = close_file(text->file, keep && status == ULP_OK, error);
    ulp_text_free(text);
    return status == ULP_OK ? ended : status;
}
