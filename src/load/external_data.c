/* External data: weights in files beside the model, mapped read-only. The model says where, so the
 * path is held inside the model's folder: relative, without "..", opened one component at a time
 * without following symbolic links. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "load/load.h"

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOFOLLOW)

struct place {
    const char *location; /* NULL: not given */
    size_t offset, length;
    bool has_length;
};

void ulp_loader_free(struct ulp_loader *loader)
{
    for (size_t i = 0; i < loader->location_count; i++)
        free(loader->locations[i]);
    free(loader->locations);
    free(loader->folder);
    ulp_model_free(loader->model);
    *loader = (struct ulp_loader){0};
}

bool ulp_entry_is(const Ulp__EntryProto *entry, const char *key)
{
    return entry->key.len == strlen(key) && memcmp(entry->key.data, key, entry->key.len) == 0;
}

/* Decimal digits only; false also when it does not fit. */
static bool parse_size(size_t *out, ProtobufCBinaryData text)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        if (!ulp_size_mul(*out, 10, out) || !ulp_size_add(*out, text.data[i] - '0', out))
            return false;
    }
    return text.len > 0;
}

static enum ulp_status read_place(struct ulp_loader *loader, struct place *place,
                                  const Ulp__TensorProto *proto)
{
    *place = (struct place){0};
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const Ulp__EntryProto *entry = proto->external_data[i];
        bool good = true;
        if (ulp_entry_is(entry, "location")) {
            ULP_TRY(ulp_load_text(loader, &place->location, entry->value, "its external location"));
        } else if (ulp_entry_is(entry, "offset")) {
            good = parse_size(&place->offset, entry->value);
        } else if (ulp_entry_is(entry, "length")) {
            good = parse_size(&place->length, entry->value);
            place->has_length = true;
        }
        if (!good)
            return ulp_fail(loader->error, ULP_ERROR_INPUT,
                            "external data: %.*s is '%.*s', expected a number of bytes",
                            (int)entry->key.len, (const char *)entry->key.data,
                            entry->value.len < 40 ? (int)entry->value.len : 40,
                            (const char *)entry->value.data);
    }
    if (!place->location || !*place->location)
        return ulp_fail(loader->error, ULP_ERROR_INPUT, "external data: no location is given");
    return ULP_OK;
}

/* The next component of path, which may have been written on Windows, into name; 0 at the end, -1
 * when it does not fit. */
static int next_component(const char **path, char *name, size_t size)
{
    *path += strspn(*path, "/\\");
    size_t length = strcspn(*path, "/\\");
    if (length >= size)
        return -1;
    memcpy(name, *path, length);
    name[length] = '\0';
    *path += length + strspn(*path + length, "/\\");
    return length > 0;
}

static enum ulp_status fail_open(const char *location, struct ulp_error *error)
{
    if (errno == ELOOP || errno == EMLINK)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "external data: '%.200s' passes a symbolic link; put the file itself into "
                        "the model's folder",
                        location);
    return ulp_fail(error, ulp_status_of(errno),
                    "external data: cannot open '%.200s' in the model's folder: %s", location,
                    strerror(errno));
}

/* Opens location under folder, a descriptor into *out. */
static enum ulp_status open_inside(int *out, const char *folder, const char *location,
                                   struct ulp_error *error)
{
    char name[256];
    *out = -1;
    if (*location == '/')
        return ulp_fail(
            error, ULP_ERROR_INPUT,
            "external data: '%.200s' is absolute, expected a path in the model's folder", location);
    int at = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (at < 0)
        return ulp_fail(error, ulp_status_of(errno),
                        "external data: cannot open the model's folder '%.200s': %s", folder,
                        strerror(errno));
    for (const char *rest = location; *rest;) {
        if (next_component(&rest, name, sizeof name) < 0 || strcmp(name, "..") == 0) {
            close(at);
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "external data: '%.200s' is not a path inside the model's folder",
                            location);
        }
        /* Without O_NONBLOCK opening a pipe would wait for its other end. */
        int next = openat(at, name, *rest ? OPEN_FLAGS | O_DIRECTORY : OPEN_FLAGS | O_NONBLOCK);
        int code = errno;
        struct stat info;
        if (next < 0 && code == ENOTDIR && fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK(info.st_mode))
            code = ELOOP; /* what O_DIRECTORY with O_NOFOLLOW says of a link */
        close(at);
        errno = code;
        if ((at = next) < 0)
            return fail_open(location, error);
    }
    *out = at;
    return ULP_OK;
}

/* Data of a model that is written and has no name yet. */
static int open_held(const char *folder, const char *location)
{
    char path[4096];
    return snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") ? folder : "", location) <
                   (int)sizeof path
               ? ulp_held_open(path)
               : -1;
}

static enum ulp_status map_file(struct ulp_mapping *out, const char *folder, const char *location,
                                struct ulp_error *error)
{
    int file = open_held(folder, location);
    ULP_TRY(file >= 0 ? ULP_OK : open_inside(&file, folder, location, error));
    struct stat info;
    *out = (struct ulp_mapping){0};
    enum ulp_status status = ULP_OK;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || (uintmax_t)info.st_size > SIZE_MAX)
        status = ulp_fail(error, ULP_ERROR_INPUT, "external data: '%.200s' is not a regular file",
                          location);
    else if (info.st_size > 0) {
        out->device = info.st_dev;
        out->number = info.st_ino;
        out->bytes = (size_t)info.st_size;
        out->address = mmap(NULL, out->bytes, PROT_READ, MAP_PRIVATE, file, 0);
        if (out->address == MAP_FAILED)
            status = ulp_fail(error, ULP_ERROR_MEMORY, "external data: cannot map '%.200s': %s",
                              location, strerror(errno));
    }
    close(file);
    return status;
}

/* The mapping of that location, new or known; files are few, tensors many, so the last one is tried
 * first. */
static enum ulp_status find_mapping(struct ulp_loader *loader, const struct ulp_mapping **out,
                                    const char *location)
{
    struct ulp_model *model = loader->model;
    for (size_t i = model->mapping_count; i-- > 0;)
        if (strcmp(loader->locations[i], location) == 0) {
            *out = &model->mappings[i];
            return ULP_OK;
        }
    size_t count = model->mapping_count;
    struct ulp_mapping *mappings = realloc(model->mappings, (count + 1) * sizeof *mappings);
    if (mappings)
        model->mappings = mappings;
    char **locations = realloc(loader->locations, (count + 1) * sizeof *locations);
    if (locations)
        loader->locations = locations;
    if (!mappings || !locations || !(locations[count] = strdup(location)))
        return ulp_out_of_memory(loader->error);
    enum ulp_status status = map_file(&mappings[count], loader->folder, location, loader->error);
    if (status != ULP_OK) {
        free(locations[count]);
        return status;
    }
    model->mapping_count = loader->location_count = count + 1;
    *out = &mappings[count];
    return ULP_OK;
}

enum ulp_status ulp_load_external(struct ulp_loader *loader, const unsigned char **out,
                                  size_t needed, const Ulp__TensorProto *proto)
{
    struct place place;
    const struct ulp_mapping *mapping = NULL;
    ULP_TRY(read_place(loader, &place, proto));
    ULP_TRY(find_mapping(loader, &mapping, place.location));
    if (place.has_length && place.length != needed)
        return ulp_fail(
            loader->error, ULP_ERROR_INPUT,
            "external data: the length is %zu bytes, expected %zu for its type and shape",
            place.length, needed);
    if (place.offset > mapping->bytes || needed > mapping->bytes - place.offset)
        return ulp_fail(loader->error, ULP_ERROR_INPUT,
                        "external data: %zu bytes at offset %zu of '%.200s' are wanted, but the "
                        "file has %zu bytes",
                        needed, place.offset, place.location, mapping->bytes);
    static const unsigned char nothing;
    *out = mapping->address ? (const unsigned char *)mapping->address + place.offset : &nothing;
    return ULP_OK;
}
