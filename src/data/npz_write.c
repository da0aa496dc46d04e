/* numpy's npz written: a zip archive of stored npy files, front to back. The sums of elements come
 * before them, so that nothing is sought and a pipe will do; and libzip, which would write into a
 * file beside that stays when the process is killed, is not asked. The format: PKWARE's
 * APPNOTE.TXT, 4.3 and 4.5.3 (ZIP64). */
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "base/memory/alloc.h"
#include "base/text/names.h"
#include "base/text/shown.h"
#include "base/tuning.h"
#include "data/data.h"

enum {
    VERSION_PLAIN = 20,
    VERSION_ZIP64 = 45,
    NAME_IS_UTF8 = 1 << 11,
    FIRST_DAY = 1 << 5 | 1, /* 1980-01-01: a fixed date, so that equal tensors give equal files */
    ZIP64_FIELD = 1
};
#define IN_ZIP64 UINT32_MAX /* the size or offset stands in a ZIP64 field */
#define NAME_BYTES_MAX UINT16_MAX

struct archive {
    struct ulp_text file, directory;
    uint64_t offset; /* bytes so far */
    size_t members;
    struct ulp_names names;
};

static void put_little_endian(struct ulp_text *text, uint64_t number, int bytes)
{
    char little[8];
    for (int i = 0; i < bytes; i++)
        little[i] = (char)(number >> 8 * i);
    ulp_text_put(text, little, (size_t)bytes);
}

/* ---- members ---- */

struct member {
    const char *name; /* without ".npy" */
    struct ulp_npy npy;
    uint64_t bytes, offset;
    uint64_t sum; /* CRC-32 */
    bool wide_size, wide_offset;
};

/* Readers refuse control characters in what is said to be UTF-8. */
static bool is_said_utf8(const char *name)
{
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ')
            return false;
    return ulp_is_utf8(name);
}

/* What a member's own header and its entry in the directory have in common. */
static void put_description(struct ulp_text *text, const struct member *member, size_t wide_count)
{
    const size_t name_bytes = strlen(member->name) + 4;
    put_little_endian(text, wide_count ? VERSION_ZIP64 : VERSION_PLAIN, 2);
    put_little_endian(text, is_said_utf8(member->name) ? NAME_IS_UTF8 : 0, 2);
    put_little_endian(text, 0, 2); /* stored */
    put_little_endian(text, 0, 2); /* time */
    put_little_endian(text, FIRST_DAY, 2);
    put_little_endian(text, member->sum, 4);
    for (int i = 0; i < 2; i++) /* stored and whole */
        put_little_endian(text, member->wide_size ? IN_ZIP64 : member->bytes, 4);
    put_little_endian(text, name_bytes, 2);
    put_little_endian(text, wide_count ? 4 + 8 * wide_count : 0, 2);
}

static void put_name(struct ulp_text *text, const struct member *member, size_t wide_count)
{
    ulp_text_put(text, member->name, strlen(member->name));
    ulp_text_put(text, ".npy", 4);
    if (wide_count) {
        put_little_endian(text, ZIP64_FIELD, 2);
        put_little_endian(text, 8 * wide_count, 2);
    }
    for (int i = 0; member->wide_size && i < 2; i++)
        put_little_endian(text, member->bytes, 8);
}

static void put_entry(struct ulp_text *text, const struct member *member)
{
    const size_t wide_count = 2 * member->wide_size + member->wide_offset;
    ulp_text_put(text, "PK\1\2", 4);
    put_little_endian(text, wide_count ? VERSION_ZIP64 : VERSION_PLAIN, 2);
    put_description(text, member, wide_count);
    put_little_endian(text, 0, 2); /* comment */
    put_little_endian(text, 0, 2); /* disk */
    put_little_endian(text, 0, 2); /* attributes */
    put_little_endian(text, 0, 4);
    put_little_endian(text, member->wide_offset ? IN_ZIP64 : member->offset, 4);
    put_name(text, member, wide_count);
    if (member->wide_offset)
        put_little_endian(text, member->offset, 8);
}

/* In pieces, as a text holds what it is given until that is written. */
static void put_bytes(struct ulp_text *file, const void *bytes, size_t count)
{
    for (size_t done = 0, piece; done < count && !file->failed; done += piece) {
        piece = count - done < ULP_TUNE_FLUSHED_BYTES ? count - done : ULP_TUNE_FLUSHED_BYTES;
        ulp_text_put(file, (const char *)bytes + done, piece);
    }
}

static void put_member(struct archive *archive, struct member *member)
{
    const struct ulp_npy *npy = &member->npy;
    const size_t wide_count = 2 * member->wide_size;
    struct ulp_text *file = &archive->file;
    ulp_text_put(file, "PK\3\4", 4);
    put_description(file, member, wide_count);
    put_name(file, member, wide_count);
    put_bytes(file, npy->header, npy->header_bytes);
    put_bytes(file, npy->data, npy->data_bytes);
    archive->offset +=
        30 + strlen(member->name) + 4 + (wide_count ? 4 + 8 * wide_count : 0) + member->bytes;
}

static enum ulp_status add_member(struct archive *archive, const struct ulp_named_tensor *item,
                                  struct ulp_error *error)
{
    struct member member = {.name = item->name, .offset = archive->offset};
    struct ulp_npy *npy = &member.npy;
    if (strlen(item->name) + 4 > NAME_BYTES_MAX)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "a name in an npz has %d bytes at most",
                        NAME_BYTES_MAX - 4);
    if (ulp_names_find(&archive->names, item->name) >= 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "a second array of this name");
    ULP_TRY(ulp_taken(ulp_names_add(&archive->names, item->name, 0), error));
    ULP_TRY(ulp_npy_encode(npy, &item->tensor, error));
    member.bytes = (uint64_t)npy->header_bytes + npy->data_bytes;
    member.wide_size = member.bytes >= IN_ZIP64;
    member.wide_offset = member.offset >= IN_ZIP64;
    member.sum = crc32_z(0, (const unsigned char *)npy->header, npy->header_bytes);
    if (npy->data_bytes) /* of NULL zlib gives the sum to begin with */
        member.sum = crc32_z(member.sum, npy->data, npy->data_bytes);
    put_member(archive, &member);
    put_entry(&archive->directory, &member);
    archive->members++;
    ulp_npy_free(npy);
    return ULP_OK;
}

static void put_end(struct archive *archive)
{
    struct ulp_text *file = &archive->file;
    const uint64_t bytes = archive->directory.length, count = archive->members;
    put_bytes(file, archive->directory.data, archive->directory.length);
    if (count >= UINT16_MAX || bytes >= IN_ZIP64 || archive->offset >= IN_ZIP64) {
        ulp_text_put(file, "PK\6\6", 4);
        put_little_endian(file, 44, 8); /* bytes of this record from here on */
        put_little_endian(file, VERSION_ZIP64, 2);
        put_little_endian(file, VERSION_ZIP64, 2);
        put_little_endian(file, 0, 8); /* disks */
        put_little_endian(file, count, 8);
        put_little_endian(file, count, 8);
        put_little_endian(file, bytes, 8);
        put_little_endian(file, archive->offset, 8);
        ulp_text_put(file, "PK\6\7", 4);
        put_little_endian(file, 0, 4);
        put_little_endian(file, archive->offset + bytes, 8);
        put_little_endian(file, 1, 4);
    }
    ulp_text_put(file, "PK\5\6", 4);
    put_little_endian(file, 0, 4); /* disks */
    for (int i = 0; i < 2; i++)
        put_little_endian(file, count < UINT16_MAX ? count : UINT16_MAX, 2);
    put_little_endian(file, bytes < IN_ZIP64 ? bytes : IN_ZIP64, 4);
    put_little_endian(file, archive->offset < IN_ZIP64 ? archive->offset : IN_ZIP64, 4);
    put_little_endian(file, 0, 2); /* comment */
}

enum ulp_status ulp_tensor_set_write_npz(const char *path, const struct ulp_tensor_set *set,
                                         struct ulp_error *error)
{
    ULP_ENTER(error);
    struct archive archive = {0};
    ULP_TRY(ulp_text_open(&archive.file, path, error));
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; status == ULP_OK && i < set->count; i++) {
        status = add_member(&archive, &set->items[i], error);
        ulp_fail_at(error, status, "%s: '%.200s'", path, set->items[i].name);
    }
    if (status == ULP_OK)
        put_end(&archive);
    archive.file.failed |= archive.directory.failed;
    ulp_text_free(&archive.directory);
    ulp_names_free(&archive.names);
    const enum ulp_status closed = ulp_text_close(&archive.file, status == ULP_OK, error);
    return status == ULP_OK ? closed : status;
}
