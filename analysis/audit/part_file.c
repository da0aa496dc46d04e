/* Parts in files, and the numbers that say of which model and which inputs they are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/part.h"

#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "base/memory/alloc.h"
#include "graph/graph.h"

static const char magic[] = "ulpscope part 2\n";
#define MAGIC_BYTES (sizeof magic - 1)
#define HEAD_BYTES (MAGIC_BYTES + 3 * 8)
#define FILE_MAX ((size_t)1 << 30)

/* FNV's mixing, eight bytes at a time: a number to tell contents apart, not a seal. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t word;
    for (; count >= 8; at += 8, count -= 8) {
        word = 0;
        for (int i = 0; i < 8; i++)
            word |= (uint64_t)at[i] << 8 * i;
        hash = mix(hash, word);
    }
    word = count;
    for (size_t i = 0; i < count; i++)
        word = word << 8 | at[i];
    return mix(hash, word);
}

#define HASH_START UINT64_C(0xcbf29ce484222325)

static void put_number(struct ulp_text *text, uint64_t number)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(number >> 8 * i);
    ulp_text_put(text, bytes, sizeof bytes);
}

static uint64_t get_number(const unsigned char *at)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number |= (uint64_t)at[i] << 8 * i;
    return number;
}

enum ulp_status ulp_part_write(const char *path, const char *key, const void *bytes, size_t count,
                               struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_text_put(&text, magic, MAGIC_BYTES);
    put_number(&text, strlen(key));
    put_number(&text, count);
    put_number(&text, hash_bytes(hash_bytes(HASH_START, key, strlen(key)), bytes, count));
    ulp_text_put(&text, key, strlen(key));
    ulp_text_put(&text, bytes, count);
    const bool holding = ulp_files_pause(); /* it stays whatever becomes of the audit */
    const enum ulp_status status = text.failed
                                       ? ulp_fail_memory(error, "%s: out of memory", path)
                                       : ulp_file_write(path, text.data, text.length, error);
    ulp_files_resume(holding);
    return status;
}

/* Whether the lines have one that is equal to the first `length` bytes of `line`. */
static bool has_line(const char *lines, const char *line, size_t length)
{
    while (*lines) {
        const size_t own = strcspn(lines, "\n");
        if (own == length && memcmp(lines, line, length) == 0)
            return true;
        lines += own + (lines[own] == '\n');
    }
    return false;
}

/* The lines of the two that differ first; where one of them is the other's later, it is the line
 * that the other does not have. */
static enum ulp_status fail_key(const char *path, const char *found, const char *wanted,
                                struct ulp_error *error)
{
    size_t f = 0, w = 0;
    while (*found && *wanted) {
        f = strcspn(found, "\n");
        w = strcspn(wanted, "\n");
        if (f != w || memcmp(found, wanted, f) != 0)
            break;
        found += f + (found[f] == '\n');
        wanted += w + (wanted[w] == '\n');
    }
    f = strcspn(found, "\n");
    w = strcspn(wanted, "\n");
    if (f && (!w || has_line(found, wanted, w)))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: is of another audit: it has '%.*s' and this one has not", path, (int)f,
                        found);
    if (w && (!f || has_line(wanted, found, f)))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: is of another audit: this one has '%.*s' and it has not", path, (int)w,
                        wanted);
    return ulp_fail(error, ULP_ERROR_INPUT,
                    "%s: is of another audit: it has '%.*s', this one '%.*s'", path, (int)f, found,
                    (int)w, wanted);
}

static enum ulp_status check_file(const char *path, const unsigned char *file, size_t length,
                                  struct ulp_error *error)
{
    if (length < HEAD_BYTES || memcmp(file, magic, MAGIC_BYTES) != 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: is no part of an audit", path);
    const uint64_t key = get_number(file + MAGIC_BYTES), count = get_number(file + MAGIC_BYTES + 8),
                   hash = get_number(file + MAGIC_BYTES + 16);
    const unsigned char *rest = file + HEAD_BYTES;
    const size_t left = length - HEAD_BYTES;
    if (key > left || count != left - key || memchr(rest, 0, (size_t)key) ||
        hash_bytes(hash_bytes(HASH_START, rest, (size_t)key), rest + key, (size_t)count) != hash)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: is damaged; remove it to compute it again",
                        path);
    return ULP_OK;
}

/* Copies of the two halves of a file that was checked. */
static bool copy_halves(const unsigned char *file, size_t length, char **key, unsigned char **bytes,
                        size_t *count)
{
    const size_t key_length = (size_t)get_number(file + MAGIC_BYTES);
    *count = length - HEAD_BYTES - key_length;
    *key = strndup((const char *)file + HEAD_BYTES, key_length);
    *bytes = malloc(*count + 1);
    if (*key && *bytes) {
        memcpy(*bytes, file + HEAD_BYTES + key_length, *count);
        (*bytes)[*count] = 0;
        return true;
    }
    free(*key);
    free(*bytes);
    *key = NULL;
    *bytes = NULL;
    return false;
}

enum ulp_status ulp_part_read(const char *path, const char *key, char **found,
                              unsigned char **bytes, size_t *count, struct ulp_error *error)
{
    ULP_ENTER(error);
    unsigned char *file;
    size_t length;
    char *own = NULL;
    *bytes = NULL;
    *count = 0;
    if (found)
        *found = NULL;
    ULP_TRY(ulp_file_read(path, FILE_MAX, NULL, &file, &length, error));
    enum ulp_status status = check_file(path, file, length, error);
    if (status == ULP_OK && !copy_halves(file, length, &own, bytes, count))
        status = ulp_fail_memory(error, "%s: out of memory", path);
    ulp_free(file);
    if (status == ULP_OK && key && strcmp(own, key) != 0) {
        status = fail_key(path, own, key, error);
        free(*bytes);
        *bytes = NULL;
    }
    if (status == ULP_OK && found)
        *found = own;
    else if (own)
        free(own);
    return status;
}

#define BLOCK_BYTES ((size_t)1 << 20)

enum ulp_status ulp_model_fingerprint(const struct ulp_model *model, uint64_t *out,
                                      struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_TRY(ulp_model_check_file(model, error));
    unsigned char *block = malloc(BLOCK_BYTES);
    FILE *file = fopen(model->path, "rb");
    uint64_t hash = HASH_START;
    enum ulp_status status = ULP_OK;
    if (!block)
        status = ulp_out_of_memory(error);
    else if (!file)
        status = ulp_fail(error, ulp_status_of(errno), "%s: cannot open: %s", model->path,
                          strerror(errno));
    for (size_t got; status == ULP_OK && (got = fread(block, 1, BLOCK_BYTES, file)) > 0;)
        hash = hash_bytes(hash, block, got);
    if (status == ULP_OK && ferror(file))
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot read", model->path);
    if (file)
        fclose(file);
    free(block);
    for (size_t m = 0; m < model->mapping_count && status == ULP_OK; m++)
        hash = hash_bytes(hash, model->mappings[m].address, model->mappings[m].bytes);
    *out = hash;
    return status;
}

uint64_t ulp_tensor_set_fingerprint(const struct ulp_tensor_set *set)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < set->count; i++) {
        const struct ulp_tensor *tensor = &set->items[i].tensor;
        hash = hash_bytes(hash, set->items[i].name, strlen(set->items[i].name));
        hash = mix(mix(hash, tensor->type), (uint64_t)tensor->rank);
        for (int d = 0; d < tensor->rank; d++)
            hash = mix(hash, (uint64_t)tensor->dims[d]);
        if (tensor->data)
            hash = hash_bytes(hash, tensor->data, tensor->count * tensor->element_bytes);
    }
    return hash;
}
