/* Writing an annotated copy, and reading it again before it gets its name. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/machine/file.h"
#include "load/annotate/wire.h"
#include "load/load.h"

/* The folder of a file, as a file of its own. */
static bool find_folder(const char *path, struct stat *out)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    const bool found = folder && stat(folder, out) == 0;
    free(folder);
    return found;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of the model and its copy. */
struct copying {
    const char *model, *path;
    struct stat written; /* what is at `path` */
    bool there;
};

/* The copy is none of the files that hold the model's data. */
static enum ulp_status accept_location(void *context, const char *location, struct ulp_error *error)
{
    const struct copying *copying = context;
    const char *slash = strrchr(copying->model, '/');
    struct ulp_text file = {0};
    struct stat info;
    if (!copying->there)
        return ULP_OK;
    if (slash && *location != '/')
        ulp_text_put(&file, copying->model, (size_t)(slash + 1 - copying->model));
    ulp_text_put(&file, location, strlen(location));
    enum ulp_status status = file.failed ? ulp_out_of_memory(error) : ULP_OK;
    if (status == ULP_OK && stat(file.data, &info) == 0 && is_same(&info, &copying->written))
        status = ulp_fail(error, ULP_ERROR_USAGE,
                          "has its weights in %s, so nothing else is written to it; give the copy "
                          "another name",
                          copying->path);
    ulp_text_free(&file);
    return status;
}

/* Paths of external data are relative to the folder of the file. */
static enum ulp_status check_folder(const char *model, const char *path, const char *external,
                                    struct ulp_error *error)
{
    struct stat old, new;
    if (!external || (find_folder(model, &old) && find_folder(path, &new) && is_same(&old, &new)))
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_INPUT,
                    "%s: its weights are in other files beside it (%s), which the copy must find: "
                    "write the copy into the model's folder",
                    model, *external ? external : "no path is given");
}

/* Whether the bytes, as changed, are those of `plain`. */
static bool is_equal(const struct wire_edits *edits, struct wire_bytes bytes,
                     struct wire_bytes plain)
{
    struct wire_stream stream = {.edits = edits, .file = bytes};
    struct wire_bytes piece;
    while (wire_piece(&stream, &piece)) {
        if (piece.count > plain.count || memcmp(piece.data, plain.data, piece.count) != 0)
            return false;
        plain.data += piece.count;
        plain.count -= piece.count;
    }
    return plain.count == 0;
}

/* The file, read again, is the model once more without what was added. */
static enum ulp_status check_copy(struct ulp_text *file, const char *path, struct wire_bytes plain,
                                  struct ulp_budget *budget, struct ulp_error *error)
{
    struct wire_edits edits = {.budget = budget};
    void *address;
    size_t count;
    enum ulp_status status = ulp_text_map(file, &address, &count, error);
    if (status != ULP_OK)
        return status;
    const struct wire_bytes copy = {address, count};
    status = wire_strip(copy, &edits, error);
    if (status == ULP_OK && !is_equal(&edits, copy, plain))
        status = ulp_fail(error, ULP_ERROR_INPUT,
                          "it is not the model once more without its annotations, so it is not "
                          "kept");
    wire_free(&edits);
    if (address)
        munmap(address, count);
    return status == ULP_OK ? ULP_OK : ulp_fail_at(error, status, "%s", path);
}

static enum ulp_status write_copy(const char *path, struct wire_bytes plain,
                                  const struct wire_edits *edits, struct ulp_error *error)
{
    struct wire_stream stream = {.edits = edits, .file = plain};
    struct wire_bytes piece;
    struct ulp_text file;
    size_t size = 0;
    while (wire_piece(&stream, &piece))
        size += piece.count;
    if (size > ULP_MODEL_BYTES_MAX)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "%s: would be larger than 2 GiB, where protobuf ends: give a model with "
                        "external data",
                        path);
    enum ulp_status status = ulp_text_open(&file, path, error);
    if (status != ULP_OK)
        return status;
    stream = (struct wire_stream){.edits = edits, .file = plain};
    while (wire_piece(&stream, &piece)) {
        /* in parts, of which no more than one is in memory */
        for (size_t at = 0, count; at < piece.count; at += count) {
            count = ulp_size_min(piece.count - at, (size_t)1 << 20);
            ulp_text_put(&file, (const char *)piece.data + at, count);
        }
    }
    status = check_copy(&file, path, plain, edits->budget, error);
    const enum ulp_status closed =
        ulp_text_close(&file, status == ULP_OK, status == ULP_OK ? error : NULL);
    return status == ULP_OK ? closed : status;
}

/* An annotated model is annotated anew: *plain is it without annotations, *memory to free. */
static enum ulp_status make_plain(struct wire_bytes model, struct ulp_budget *budget,
                                  struct wire_bytes *plain, void **memory, struct ulp_error *error)
{
    struct wire_edits edits = {.budget = budget};
    enum ulp_status status = wire_strip(model, &edits, error);
    *plain = model;
    *memory = NULL;
    if (status == ULP_OK && wire_changes(&edits)) {
        status = wire_apply(&edits, model, plain);
        *memory = status == ULP_OK ? (void *)(uintptr_t)plain->data : NULL;
    }
    wire_free(&edits);
    return status;
}

enum ulp_status ulp_annotate_file(const char *model, const char *path,
                                  const struct ulp_annotator *annotator, struct ulp_budget *budget,
                                  struct ulp_error *error)
{
    struct wire_edits edits = {.budget = budget};
    struct wire_bytes plain;
    struct ulp_arena *arena = NULL;
    struct stat own;
    void *address, *memory = NULL;
    struct copying copying = {.model = model, .path = path};
    struct wire_external external = {.accept = accept_location, .context = &copying};
    size_t count;
    copying.there = stat(path, &copying.written) == 0;
    if (copying.there && stat(model, &own) == 0 && is_same(&own, &copying.written))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: is the model itself, expected another name for the copy", path);
    enum ulp_status status = ulp_file_map(model, ULP_MODEL_BYTES_MAX, &address, &count, error);
    if (status != ULP_OK)
        return status;
    status = make_plain((struct wire_bytes){address, count}, budget, &plain, &memory, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&arena, budget, error);
    if (status == ULP_OK)
        status = wire_annotate(plain, annotator, arena, &edits, &external, error);
    if (status != ULP_OK)
        ulp_fail_at(error, status, "%s", model);
    if (status == ULP_OK)
        status = check_folder(model, path, external.first, error);
    if (status == ULP_OK && annotator->accept)
        status = annotator->accept(annotator->context, error);
    if (status == ULP_OK)
        status = write_copy(path, plain, &edits, error);
    wire_free(&edits);
    ulp_arena_free(arena);
    ulp_free(memory);
    if (address)
        munmap(address, count);
    return status;
}
