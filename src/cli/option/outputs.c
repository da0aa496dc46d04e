/* What a command reads and what it writes, as the marks in its option tables say (option.h), and
 * the check before any work: a file can be made where each output is, none is a file that is read,
 * and no two are one file. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

/* ---- the two lists ---- */

struct file {
    char *what, *path; /* the option or word that named it; as given */
    char *real;        /* its folder without links, and its name, whether it is there or not */
    bool there;
    struct stat info; /* of what a link leads to */
};
struct files {
    struct file *items;
    size_t count;
};
/* `folders`: of outputs; `kept`: those of --checkpoint, whose files the command also reads. */
static struct files reads, outputs, folders, kept;
static bool closed; /* what is written is said by the first command line (sandbox_wait) */

static char *join_path(const char *folder, const char *name)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", name);
    if (text.failed)
        ulp_text_free(&text);
    return text.data;
}

char *as_folder(char *argument)
{
    for (size_t end = strlen(argument); end > 1 && argument[end - 1] == '/'; end--)
        argument[end - 1] = 0;
    return argument;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Where the file is, as far as its name says so: "" is here. */
static char *folder_of(const char *path)
{
    const char *name = base_name(path);
    return name == path ? strdup(".") : strndup(path, (size_t)(name - path));
}

static char *resolve(const char *path);

/* Without links, also where the end of the path is not there yet. NULL: out of memory. */
static char *resolve_folder(const char *folder)
{
    char *real = realpath(folder, NULL);
    if (real || errno == ENOMEM)
        return real;
    char *plain = strdup(folder);
    for (size_t end = plain ? strlen(plain) : 0; end > 1 && plain[end - 1] == '/'; end--)
        plain[end - 1] = '\0';
    real = plain && strcmp(plain, ".") != 0 && strcmp(plain, "/") != 0 ? resolve(plain) : plain;
    if (real != plain)
        free(plain);
    return real;
}

static char *resolve(const char *path)
{
    char *folder = folder_of(path), *real = folder ? resolve_folder(folder) : NULL,
         *joined = real ? join_path(real, base_name(path)) : NULL;
    free(folder);
    free(real);
    return joined;
}

static enum ulp_status add_file(struct files *files, const char *what, const char *path,
                                struct ulp_error *error)
{
    struct file *grown = realloc(files->items, (files->count + 1) * sizeof *grown);
    ULP_TRY(taken(grown, error));
    files->items = grown;
    struct file *file = &grown[files->count++];
    *file = (struct file){.what = strdup(what), .path = strdup(path), .real = resolve(path)};
    file->there = stat(path, &file->info) == 0;
    if (file->what && file->path && file->real)
        return ULP_OK;
    free(file->what);
    free(file->path);
    free(file->real);
    files->count--;
    return out_of_memory(error);
}

static bool is_same(const struct file *a, const struct file *b)
{
    return strcmp(a->real, b->real) == 0 ||
           (a->there && b->there && a->info.st_dev == b->info.st_dev &&
            a->info.st_ino == b->info.st_ino);
}

static bool is_folder(const struct file *file)
{
    return file->there && S_ISDIR(file->info.st_mode);
}

/* Whether it is written in place, as /dev/stdout: nothing is lost that was there. */
static bool is_special(const struct file *file)
{
    return file->there && !S_ISREG(file->info.st_mode) && !S_ISDIR(file->info.st_mode);
}

/* ---- what is read ---- */

/* Whether it is one of the words of the list. */
static bool is_among(const char *word, const char *list)
{
    const size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, " ")) {
        const size_t next = strcspn(at, " ");
        if (next == length && strncmp(at, word, length) == 0)
            return true;
        at += next;
    }
    return false;
}

/* Whether a file of that name in a folder that is read is read, too: arrays, parts of audits and
 * the iterations that Polygraphy streams; of a report its files. */
static bool is_read_in_folder(const char *name, const char *what)
{
    static const char reports[] = "report.json plan.json overflow.json compare.json "
                                  "engine.json proof.json lint.json doctor.json "
                                  "scales.json";
    static const char *const ends[] = {".npz", ".npy", ".pb", ".part"};
    const size_t digits = strspn(name, "0123456789");
    bool is = (digits && strcmp(name + digits, ".json") == 0) ||
              (is_among(what, "REPORT OLD NEW") && is_among(name, reports));
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        is |= ulp_text_ends(name, ends[e]);
    return is;
}

static enum ulp_status add_folder(const char *what, const char *folder, int depth,
                                  struct ulp_error *error);

static enum ulp_status add_entry(const char *what, const char *path, int depth,
                                 struct ulp_error *error)
{
    struct stat info;
    if (is_read_in_folder(base_name(path), what))
        return add_file(&reads, what, path, error);
    return depth && lstat(path, &info) == 0 && S_ISDIR(info.st_mode)
               ? add_folder(what, path, depth - 1, error)
               : ULP_OK;
}

/* Whether folders in it are read, too: those of samples, and of arrays of names with slashes. */
static bool is_descended(const char *what, const char *folder, bool arrays, const char *name)
{
    return name[0] != '.' && (*what != '-' || arrays || strncmp(name, "test_data_set_", 14) == 0 ||
                              strncmp(base_name(folder), "test_data_set_", 14) == 0);
}

#define FOLDERS_DEEP 16 /* as those of recordings */

/* That the folder cannot be read, the command says. */
static enum ulp_status add_folder(const char *what, const char *folder, int depth,
                                  struct ulp_error *error)
{
    DIR *stream = opendir(folder);
    enum ulp_status status = ULP_OK;
    const struct dirent *entry;
    bool arrays = false;
    while (stream && (entry = readdir(stream)))
        arrays |= ulp_text_ends(entry->d_name, ".npy");
    if (stream)
        rewinddir(stream);
    while (stream && status == ULP_OK && (entry = readdir(stream))) {
        char *path = join_path(folder, entry->d_name);
        status =
            path ? add_entry(what, path,
                             is_descended(what, folder, arrays, entry->d_name) ? depth : 0, error)
                 : out_of_memory(error);
        free(path);
    }
    if (stream)
        closedir(stream);
    return status;
}

static enum ulp_status add_read(void *context, const char *path, struct ulp_error *error)
{
    ULP_TRY(add_file(&reads, context, path, error));
    return is_folder(&reads.items[reads.count - 1]) ? add_folder(context, path, FOLDERS_DEEP, error)
                                                    : ULP_OK;
}

/* An option takes lists of samples, a word does not. A pipe is read once, and no output is it. */
static enum ulp_status add_reads(const struct option_row *row, char *what, const char *path,
                                 struct ulp_error *error)
{
    struct stat info;
    struct ulp_error ignored; /* the command says it */
    ULP_TRY(add_read(what, path, error));
    if (!row->is_word && ulp_text_ends(path, ".txt") && stat(path, &info) == 0 &&
        S_ISREG(info.st_mode) && visit_list(path, add_read, what, &ignored) == ULP_ERROR_MEMORY)
        return out_of_memory(error);
    return ULP_OK;
}

/* "fp16,fuse=groups.json": each file behind '='. */
static enum ulp_status add_reads_within(char *what, const char *value, struct ulp_error *error)
{
    for (const char *at = strchr(value, '='); at; at = strchr(at + 1, '=')) {
        ULP_SCOPED(ulp_scoped_free) char *word = strndup(at + 1, strcspn(at + 1, ",="));
        ULP_TRY(taken(word, error));
        if (access(word, F_OK) == 0)
            ULP_TRY(add_file(&reads, what, word, error));
    }
    return ULP_OK;
}

/* ---- what is written ---- */

/* Where the weights of a model in that file may go; what is written in place has none. */
static enum ulp_status add_weights(const struct file *model, const char *what,
                                   struct ulp_error *error)
{
    struct ulp_text data = {0};
    if (is_special(model))
        return ULP_OK;
    ulp_text_add(&data, "%s.data", model->path);
    const enum ulp_status status =
        data.failed ? out_of_memory(error) : add_file(&outputs, what, data.data, error);
    ulp_text_free(&data);
    return status;
}

/* Of an option that is given twice the last counts. */
static enum ulp_status add_written(const struct option_row *row, const char *what, const char *path,
                                   struct ulp_error *error)
{
    struct files *files = row->reads                          ? &kept
                          : strcmp(row->value, "FOLDER") == 0 ? &folders
                                                              : &outputs;
    for (size_t f = files->count; f-- > 0;)
        if (strcmp(files->items[f].what, what) == 0) {
            struct file *old = &files->items[f];
            free(old->what);
            free(old->path);
            free(old->real);
            *old = files->items[--files->count];
        }
    ULP_TRY(add_file(files, what, path, error));
    return row->has_weights ? add_weights(&files->items[files->count - 1], what, error) : ULP_OK;
}

/* ---- the check ---- */

/* Whether the command makes that folder. */
static bool is_made(const char *folder, const struct files *files)
{
    bool made = false;
    const size_t length = strlen(folder);
    for (size_t f = 0; f < files->count && !made; f++) {
        char *real = resolve_folder(files->items[f].path);
        made = real && strncmp(real, folder, length) == 0 && (!real[length] || real[length] == '/');
        free(real);
    }
    return made;
}

static enum ulp_status check_place(const struct file *output, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *folder = folder_of(output->path);
    ULP_SCOPED(ulp_scoped_free) char *real = folder ? resolve_folder(folder) : NULL;
    const int code = real && access(folder, W_OK | X_OK) != 0 ? errno : 0;
    if (!real)
        return out_of_memory(error);
    else if (!*base_name(output->path))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: is no name of a file", output->path);
    else if (code && !(code == ENOENT && (is_made(real, &folders) || is_made(real, &kept))))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: no file can be made in %s: %s", output->path,
                        folder, strerror(code));
    return ULP_OK;
}

static enum ulp_status check_against(const struct file *output, const struct file *other,
                                     struct ulp_error *error)
{
    return !is_same(output, other)
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "%s: is read (%s %s), so nothing is written to it; give the output "
                          "(%s) another name",
                          output->path, other->what, other->path, output->what);
}

/* A file of --checkpoint's folder is one that the command reads and writes itself. */
static enum ulp_status check_kept(const struct file *output, struct ulp_error *error)
{
    for (size_t k = 0; k < kept.count; k++) {
        ULP_SCOPED(ulp_scoped_free) char *folder = resolve_folder(kept.items[k].path);
        const size_t length = folder ? strlen(folder) : 0;
        ULP_TRY(taken(folder, error));
        if (strncmp(output->real, folder, length) == 0 && output->real[length] == '/' &&
            output->real + length + 1 == base_name(output->real) &&
            ulp_text_ends(output->real, ".part"))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s: is a file of %s %s, so nothing else is written to it; give the "
                            "output (%s) another name",
                            output->path, kept.items[k].what, kept.items[k].path, output->what);
    }
    return ULP_OK;
}

/* Of outputs[o], what is read and the outputs before it. */
static enum ulp_status check_output(size_t o, struct ulp_error *error)
{
    const struct file *output = &outputs.items[o];
    struct stat own;
    if (is_special(output))
        return ULP_OK;
    if (is_folder(output))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: is a folder, expected the name of a file",
                        output->path);
    for (size_t p = 0; p < o; p++)
        if (strcmp(outputs.items[p].real, output->real) == 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s: is the file of two outputs, %s and %s, and one would be written "
                            "over the other; give each a name of its own",
                            output->path, outputs.items[p].what, output->what);
    for (size_t r = 0; r < reads.count; r++)
        ULP_TRY(check_against(output, &reads.items[r], error));
    ULP_TRY(check_kept(output, error));
    if (lstat(output->path, &own) == 0 && S_ISLNK(own.st_mode))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: is a symbolic link, and nothing is written through one; remove it, "
                        "or give the output (%s) another name",
                        output->path, output->what);
    return check_place(output, error);
}

static enum ulp_status claim_output(const char *what, const char *path, struct ulp_error *error)
{
    ULP_TRY(add_file(&outputs, what, path, error));
    return check_output(outputs.count - 1, error);
}

static enum ulp_status claim_report(const char *what, const char *folder, const char *files,
                                    struct ulp_error *error)
{
    enum ulp_status status = add_file(&folders, what, folder, error);
    if (status == ULP_OK && ulp_text_ends(folder, ".onnx") && access(folder, F_OK) != 0)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s %s: a folder is made, of %s; give a name without .onnx", what, folder,
                        files);
    for (const char *at = files; *at && status == ULP_OK; at += strspn(at, " ")) {
        char *name = strndup(at, strcspn(at, " ")), *path = name ? join_path(folder, name) : NULL;
        status = path ? claim_output(what, path, error) : out_of_memory(error);
        at += name ? strlen(name) : 0;
        free(name);
        free(path);
    }
    return status;
}

struct entering {
    bool are_written; /* what enters; else what is read */
    struct ulp_error *error;
    enum ulp_status status;
};

static bool enter_argument(void *context, const struct option_row *row, const char *value)
{
    struct entering *entering = context;
    struct ulp_error *error = entering->error;
    char what[80];
    if (!value)
        return true;
    say_option(row, what);
    if (entering->are_written ? row->writes : row->reads)
        entering->status = entering->are_written ? add_written(row, what, value, error)
                                                 : add_reads(row, what, value, error);
    else if (!entering->are_written && !row->writes)
        entering->status = add_reads_within(what, value, error);
    return entering->status == ULP_OK;
}

static enum ulp_status enter(bool are_written, struct ulp_error *error)
{
    struct entering entering = {are_written, error, ULP_OK};
    visit_arguments(enter_argument, &entering);
    return entering.status;
}

int enter_paths(void)
{
    struct ulp_error error;
    const bool first = !closed;
    enum ulp_status status = first ? enter(true, &error) : ULP_OK;
    closed = true;
    if (status == ULP_OK && (outputs.count || folders.count || kept.count))
        status = enter(false, &error);
    const size_t named = first ? folders.count : 0;
    for (size_t f = 0; f < named && status == ULP_OK; f++)
        status = claim_report(folders.items[f].what, folders.items[f].path,
                              files_written(folders.items[f].what + 2), &error);
    for (size_t o = 0; o < outputs.count && status == ULP_OK; o++)
        status = check_output(o, &error);
    return status == ULP_OK ? ULP_OK : fail(&error);
}

enum ulp_status load_model(const char *path, struct ulp_budget *budget, struct ulp_model **out,
                           struct ulp_error *error)
{
    enum ulp_status status = ulp_model_load(path, budget, out, error);
    for (size_t o = 0; o < outputs.count && status == ULP_OK; o++)
        if (!is_special(&outputs.items[o]) && ulp_model_is_read_from(*out, outputs.items[o].path)) {
            status = ulp_fail(error, ULP_ERROR_USAGE,
                              "%s: is read as part of the model %s, so nothing is written to it; "
                              "give the output (%s) another name",
                              outputs.items[o].path, path, outputs.items[o].what);
            ulp_model_free(*out);
            *out = NULL;
        }
    return status;
}
