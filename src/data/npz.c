/* numpy's npz read: a zip archive of npy files, stored or deflated. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "data/data.h"

/* Deflate cannot do better: 258 bytes for 2 bits, one of which is the distance (zlib's
 * documentation, "maximum compression factor"). An archive that claims more is damaged, or holds
 * one member's bytes several times. */
#define DEFLATE_RATIO_MAX 1032
#define MEMBER_BYTES_FREE 65536
/* What libzip holds of a member, about. */
#define ENTRY_BYTES 300

struct archive {
    zip_t *zip;
    const char *path;
    size_t bytes_left; /* what the file can still decompress to */
    struct ulp_budget *budget;
};

#define Z_MEM_ERROR (-4) /* of zlib.h */

/* Did libzip, or zlib or the system below it, want memory? So it did where it failed and names no
 * error. */
static bool wanted_memory(const zip_error_t *reason)
{
    const int type = zip_error_system_type(reason), code = zip_error_code_system(reason);
    return zip_error_code_zip(reason) == ZIP_ER_MEMORY || zip_error_code_zip(reason) == ZIP_ER_OK ||
           (type == ZIP_ET_SYS && code == ENOMEM) || (type == ZIP_ET_ZLIB && code == Z_MEM_ERROR);
}

static enum ulp_status fail_zip(zip_error_t *reason, const char *what, struct ulp_error *error)
{
    return wanted_memory(reason)
               ? ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", what)
               : ulp_fail(error, ULP_ERROR_INPUT, "%s: %s", what, zip_error_strerror(reason));
}

/* Of zip_open. */
static enum ulp_status fail_open(const char *path, int code, const char *what,
                                 struct ulp_error *error)
{
    zip_error_t reason;
    zip_error_init_with_code(&reason, code);
    enum ulp_status status = fail_zip(&reason, what, error);
    zip_error_fini(&reason);
    return ulp_fail_at(error, status, "%s", path);
}

static enum ulp_status check_member(struct archive *archive, const zip_stat_t *member,
                                    struct ulp_error *error)
{
    const zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((member->valid & wanted) != wanted)
        return ulp_fail(error, ULP_ERROR_INPUT, "its size is not recorded");
    if (member->comp_method != ZIP_CM_STORE && member->comp_method != ZIP_CM_DEFLATE)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "zip compression method %d is not supported (stored and deflated are)",
                        member->comp_method);
    if ((member->valid & ZIP_STAT_ENCRYPTION_METHOD) && member->encryption_method != ZIP_EM_NONE)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "encrypted members are not supported");
    if (member->size > archive->bytes_left ||
        (member->comp_size < UINT64_MAX / DEFLATE_RATIO_MAX &&
         member->size > member->comp_size * DEFLATE_RATIO_MAX + MEMBER_BYTES_FREE))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%llu bytes are declared, more than the file can hold",
                        (unsigned long long)member->size);
    archive->bytes_left -= member->size;
    return ULP_OK;
}

/* The whole member; reading on to its end makes libzip check the CRC. */
static enum ulp_status read_bytes(zip_file_t *file, unsigned char *bytes, uint64_t size,
                                  struct ulp_error *error)
{
    for (uint64_t done = 0; done < size;) {
        zip_int64_t got = zip_fread(file, bytes + done, size - done);
        if (got < 0)
            return fail_zip(zip_file_get_error(file), "cannot be read", error);
        if (got == 0)
            return ulp_fail(error, ULP_ERROR_INPUT, "ends after %llu of %llu bytes",
                            (unsigned long long)done, (unsigned long long)size);
        done += (uint64_t)got;
    }
    unsigned char extra;
    zip_int64_t got = zip_fread(file, &extra, 1);
    if (got < 0)
        return fail_zip(zip_file_get_error(file), "is damaged", error);
    return got == 0 ? ULP_OK : ulp_fail(error, ULP_ERROR_INPUT, "has more bytes than declared");
}

static enum ulp_status read_member(struct archive *archive, zip_uint64_t index,
                                   struct ulp_tensor *out, struct ulp_error *error)
{
    zip_stat_t member;
    *out = (struct ulp_tensor){0};
    if (zip_stat_index(archive->zip, index, 0, &member) != 0)
        return fail_zip(zip_get_error(archive->zip), "cannot be read", error);
    ULP_TRY(check_member(archive, &member, error));
    ULP_SCOPED(ulp_free_of) void *bytes = NULL;
    ULP_TRY(ulp_allocate(&bytes, 1, member.size, archive->budget, "its bytes", error));
    zip_file_t *file = zip_fopen_index(archive->zip, index, 0);
    if (!file)
        return fail_zip(zip_get_error(archive->zip), "cannot be read", error);
    const enum ulp_status status = read_bytes(file, bytes, member.size, error);
    zip_fclose(file);
    ULP_TRY(status);
    return ulp_npy_parse(out, bytes, member.size, archive->budget, error);
}

/* A member's tensor, added under the member's name without ".npy". */
static enum ulp_status add_to_set(struct ulp_tensor_set *out, const char *member,
                                  struct ulp_tensor *tensor, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *name = strndup(member, strlen(member) - 4);
    ULP_TRY(ulp_taken(name, error));
    return ulp_tensor_set_find(out, name)
               ? ulp_fail(error, ULP_ERROR_INPUT, "a second member of this name")
               : ulp_tensor_set_add(out, name, tensor, error);
}

static enum ulp_status read_members(struct archive *archive, struct ulp_tensor_set *out,
                                    struct ulp_error *error)
{
    zip_int64_t count = zip_get_num_entries(archive->zip, 0);
    for (zip_int64_t i = 0; i < count; i++) {
        const char *member = zip_get_name(archive->zip, (zip_uint64_t)i, 0);
        size_t length = member ? strlen(member) : 0;
        if (length < 4 || strcmp(member + length - 4, ".npy") != 0)
            return ulp_fail(error, ULP_ERROR_INPUT, "%s: member '%.200s' is not an .npy file",
                            archive->path, member ? member : "?");
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor tensor;
        enum ulp_status status = read_member(archive, (zip_uint64_t)i, &tensor, error);
        ULP_THEN(status, add_to_set(out, member, &tensor, error));
        ULP_TRY(ulp_fail_at(error, status, "%s: member '%.200s'", archive->path, member));
    }
    return ULP_OK;
}

/* Every member of an archive of that many bytes, which is closed. */
static enum ulp_status read_archive(zip_t *zip, const char *path, size_t bytes,
                                    struct ulp_budget *budget, struct ulp_tensor_set *out,
                                    struct ulp_error *error)
{
    struct archive archive = {.zip = zip, .path = path, .budget = budget};
    const size_t directory = (size_t)zip_get_num_entries(zip, 0) * ENTRY_BYTES;
    if (!ulp_size_mul(bytes, DEFLATE_RATIO_MAX, &archive.bytes_left))
        archive.bytes_left = SIZE_MAX;
    enum ulp_status status = ULP_OK;
    if (ulp_budget_charge(budget, directory)) {
        status = read_members(&archive, out, error);
        ulp_budget_discharge(budget, directory);
    } else {
        status = ulp_fail_memory(error, "%s: out of memory", path);
    }
    zip_discard(zip);
    if (status != ULP_OK)
        ulp_tensor_set_free(out);
    return status;
}

enum ulp_status ulp_npz_read(const char *path, struct ulp_budget *budget,
                             struct ulp_tensor_set *out, struct ulp_error *error)
{
    int code;
    struct stat info;
    *out = (struct ulp_tensor_set){0};
    zip_t *zip = zip_open(path, ZIP_RDONLY, &code);
    if (!zip && code == ZIP_ER_NOZIP) /* which it also says of some allocations that fail */
        zip = zip_open(path, ZIP_RDONLY, &code);
    if (!zip)
        return fail_open(path, code,
                         code == ZIP_ER_NOZIP
                             ? "expected an .npz, as numpy.savez(path, NAME=array) makes"
                             : "cannot be read",
                         error);
    const size_t bytes = stat(path, &info) == 0 ? (size_t)info.st_size : 0;
    return read_archive(zip, path, bytes, budget, out, error);
}

enum ulp_status ulp_npz_parse(const char *name, const void *bytes, size_t count,
                              struct ulp_budget *budget, struct ulp_tensor_set *out,
                              struct ulp_error *error)
{
    zip_error_t reason;
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_tensor_set){0};
    zip_error_init(&reason);
    zip_source_t *source = zip_source_buffer_create(bytes, count, 0, &reason);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY, &reason) : NULL;
    if (source && !zip && zip_error_code_zip(&reason) == ZIP_ER_NOZIP) /* as in ulp_npz_read */
        zip = zip_open_from_source(source, ZIP_RDONLY, &reason);
    if (!zip) {
        status = ulp_fail_at(error, fail_zip(&reason, "is no npz", error), "%s", name);
        zip_source_free(source);
    }
    zip_error_fini(&reason);
    return zip ? read_archive(zip, name, count, budget, out, error) : status;
}
