#include "data/json_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/machine/file.h"
#include "base/text/suggest.h"

#define BYTES_MAX ((size_t)64 << 20) /* where no memory limit holds */

/* What jansson takes on a 64-bit machine, each request with the 16 bytes that malloc may add and
 * round up by. An object: 72 + 16, and its first 8 buckets of 16 bytes + 16. A pair: 56, its key
 * (which is in the file) and its end, + 24, and up to 2 further buckets, or 3 while they are moved,
 * of 16 bytes each. An array: 40 + 16, and its first 8 places + 16. An element: up to 3 places
 * of 8 while they are moved. A value: a text of 32 + 16, its characters (which are in the file) and
 * its end, + 24; a number of 24 + 16 is less. While a text is read, its characters are in a buffer
 * that doubles. */
enum {
    OBJECT_BYTES = 88 + 144,
    PAIR_BYTES = 56 + 25 + 48,
    ARRAY_BYTES = 56 + 80,
    ELEMENT_BYTES = 24,
    VALUE_BYTES = 48 + 25
};

/* At least what the document takes, whatever the bytes are; those inside texts are no structure. */
static size_t estimate(const unsigned char *bytes, size_t count)
{
    size_t objects = 0, arrays = 0, pairs = 0, commas = 0, length = 0, longest = 0, total;
    bool quoted = false;
    for (size_t i = 0; i < count; i++) {
        const unsigned char c = bytes[i];
        length++;
        longest = length > longest ? length : longest;
        if (quoted) {
            length += c == '\\';
            i += c == '\\'; /* what follows is no end */
            quoted = c != '"';
            continue;
        }
        length = 0;
        quoted = c == '"';
        objects += c == '{';
        arrays += c == '[';
        pairs += c == ':';
        commas += c == ',';
    }
    const size_t values = commas + objects + arrays + 1; /* each but the first is behind one */
    const size_t each = VALUE_BYTES + ELEMENT_BYTES;
    size_t parts[] = {objects, OBJECT_BYTES, pairs, PAIR_BYTES, arrays, ARRAY_BYTES, values, each};
    total = count + 3 * longest;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p += 2) {
        size_t more;
        if (!ulp_size_mul(parts[p], parts[p + 1], &more) || !ulp_size_add(total, more, &total))
            return SIZE_MAX;
    }
    return total;
}

/* jansson is given a byte at a time, so that errno tells of every request that it did not get: it
 * goes on, and numbers reset errno. */
struct source {
    const char *text;
    size_t length;
    bool failed;
};

static size_t give_byte(void *buffer, size_t size, void *context)
{
    struct source *source = context;
    (void)size;
    source->failed |= errno == ENOMEM;
    if (!source->length)
        return 0;
    *(char *)buffer = *source->text++;
    source->length--;
    return 1;
}

static json_t *load(struct source *source, size_t flags, json_error_t *reason)
{
    errno = 0;
    json_t *root = json_load_callback(give_byte, source, flags, reason);
    if (root && (source->failed || errno == ENOMEM)) {
        json_decref(root);
        root = NULL;
    }
    if (source->failed)
        errno = ENOMEM;
    return root;
}

json_t *ulp_json_load(const char *text, size_t length, size_t flags, json_error_t *reason)
{
    return load(&(struct source){.text = text, .length = length}, flags, reason);
}

char *ulp_json_dump(const json_t *value, size_t flags)
{
    errno = 0;
    char *text = json_dumps(value, flags);
    if (!text || errno != ENOMEM)
        return text;
    free(text);
    errno = ENOMEM;
    return NULL;
}

enum ulp_status ulp_json_fail(const json_error_t *where, struct ulp_error *error)
{
    return errno == ENOMEM || json_error_code(where) == json_error_out_of_memory
               ? ulp_out_of_memory(error)
               : ulp_fail(error, ULP_ERROR_INPUT, "line %d: %s", where->line, where->text);
}

enum ulp_status ulp_json_parse(const char *path, const unsigned char *bytes, size_t count,
                               size_t flags, struct ulp_budget *budget, json_t **root,
                               size_t *charged, struct ulp_error *error)
{
    json_error_t where;
    *root = NULL;
    *charged = 0;
    size_t first = 0;
    while (first < count && isspace(bytes[first]))
        first++;
    if (first == count || (bytes[first] != '{' && bytes[first] != '['))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: %s, expected JSON", path,
                        first == count       ? "empty"
                        : bytes[first] < ' ' ? "a binary file"
                                             : "a text of another kind");
    *charged = budget ? estimate(bytes, count) : 0;
    if (!ulp_budget_charge(budget, *charged)) {
        const size_t wanted = *charged;
        *charged = 0;
        return ulp_fail_memory(error, "%s: out of memory, about %zu MiB are needed", path,
                               (wanted >> 20) + 1);
    }
    *root = ulp_json_load((const char *)bytes, count, flags, &where);
    return *root ? ULP_OK : ulp_fail_at(error, ulp_json_fail(&where, error), "%s", path);
}

enum ulp_status ulp_json_check_schema(const json_t *root, struct ulp_error *error)
{
    const json_t *schema = json_object_get(root, "schema");
    const char *version = json_string_value(json_object_get(root, "ulpscope"));
    const bool none = !schema && json_object_get(root, "verdict");
    if (!none && (!json_is_integer(schema) || json_integer_value(schema) == ULP_JSON_SCHEMA))
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_INPUT,
                    "has schema %lld, which ulpscope %.100s reads; this version reads %d: run the "
                    "command again that wrote it",
                    none ? 1 : (long long)json_integer_value(schema),
                    version ? version
                    : none  ? "0.1.0"
                            : "of another version",
                    ULP_JSON_SCHEMA);
}

enum ulp_status ulp_json_file_load(const char *path, struct ulp_budget *budget, json_t **root,
                                   size_t *charged, struct ulp_error *error)
{
    const size_t max_bytes = ulp_budget_limit(budget) ? SIZE_MAX : BYTES_MAX;
    unsigned char *bytes;
    size_t count;
    *root = NULL;
    *charged = 0;
    ULP_TRY(ulp_file_read(path, max_bytes, budget, &bytes, &count, error));
    enum ulp_status status =
        ulp_json_parse(path, bytes, count, JSON_REJECT_DUPLICATES, budget, root, charged, error);
    ulp_free(bytes);
    if (status == ULP_OK && !json_is_object(*root))
        status = ulp_fail(error, ULP_ERROR_INPUT, "%s: is no JSON object", path);
    if (status == ULP_OK)
        return ULP_OK;
    ulp_json_file_free(*root, budget, *charged);
    *root = NULL;
    *charged = 0;
    return status;
}

void ulp_json_file_free(json_t *root, struct ulp_budget *budget, size_t charged)
{
    json_decref(root);
    ulp_budget_discharge(budget, charged);
}

enum ulp_status ulp_json_file_read(const char *path, struct ulp_budget *budget, ulp_json_take *take,
                                   void *out, size_t bytes, void **memory, struct ulp_error *error)
{
    json_t *root;
    size_t charged;
    struct ulp_arena *arena = NULL;
    const char *slash = strrchr(path, '/');
    memset(out, 0, bytes);
    *memory = NULL;
    ULP_TRY(ulp_json_file_load(path, budget, &root, &charged, error));
    enum ulp_status status = ulp_arena_create(&arena, budget, error);
    ULP_THEN(status, take(out, slash ? slash + 1 : path, root, arena, error));
    ulp_json_file_free(root, budget, charged);
    if (status == ULP_OK) {
        *memory = arena;
        return ULP_OK;
    }
    memset(out, 0, bytes);
    ulp_arena_free(arena);
    return ulp_fail_at(error, status, "%s", path);
}

static const char *name_key(const void *context, size_t i)
{
    return ((const char *const *)context)[i];
}

enum ulp_status ulp_json_check_keys(const json_t *object, const char *const *known, size_t count,
                                    struct ulp_error *error)
{
    json_t *const items = (json_t *)(uintptr_t)object;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (!json_is_object(object))
        return ulp_fail(error, ULP_ERROR_INPUT, "is no object");
    for (void *at = json_object_iter(items); at; at = json_object_iter_next(items, at)) {
        const char *key = json_object_iter_key(at);
        size_t k = 0;
        while (k < count && strcmp(key, known[k]) != 0)
            k++;
        if (k < count)
            continue;
        ulp_text_show(&text, "unknown key \"%s\"", key);
        ulp_suggest_names(&text, key, count, name_key, known);
        return text.failed ? ulp_out_of_memory(error)
                           : ulp_fail(error, ULP_ERROR_INPUT, "%s", text.data);
    }
    return ULP_OK;
}
