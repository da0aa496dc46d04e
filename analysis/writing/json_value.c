/* Values of JSON reports. */
#include "analysis/writing/json_value.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/machine/file.h"
#include "base/text/shown.h"
#include "base/text/text.h"
#include "data/json_file.h"

json_t *ulp_json_number(double value)
{
    return isfinite(value) ? json_real(value + 0.0) : json_null(); /* no -0.0 */
}

json_t *ulp_json_text(const char *text)
{
    if (ulp_is_utf8(text))
        return json_string_nocheck(text);
    ULP_SCOPED(ulp_text_free) struct ulp_text clean = {0};
    ulp_text_show_whole(&clean, text);
    return clean.failed ? NULL : json_string_nocheck(clean.data);
}

/* Of a character of UTF-8 of that many bytes. */
static unsigned long code_point(const char *at, size_t bytes)
{
    unsigned long code = (unsigned char)at[0];
    if (bytes > 1)
        code &= 0x7ful >> bytes;
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

static void put_escape(struct ulp_text *out, unsigned long code, bool python)
{
    if (code < 0x10000)
        ulp_text_add(out, "\\u%04lx", code);
    else if (python)
        ulp_text_add(out, "\\U%08lx", code);
    else
        ulp_text_add(out, "\\u%04lx\\u%04lx", 0xd800 + ((code - 0x10000) >> 10),
                     0xdc00 + ((code - 0x10000) & 0x3ff));
}

void ulp_json_put_escaped(struct ulp_text *out, const char *text, size_t count, bool python)
{
    const char *end = text + count, *plain = text;
    while (text < end) {
        struct ulp_shown shown;
        if ((unsigned char)*text < 0x7f) { /* jansson has escaped what is below a space */
            text++;
            continue;
        }
        const char *next = ulp_show_character(&shown, text, end);
        const size_t bytes = (size_t)(next - text);
        if (shown.length != bytes || memcmp(shown.text, text, bytes) != 0) {
            ulp_text_put(out, plain, (size_t)(text - plain));
            put_escape(out, code_point(text, bytes), python);
            plain = next;
        }
        text = next;
    }
    ulp_text_put(out, plain, (size_t)(end - plain));
}

void ulp_json_put_text(struct ulp_text *out, const char *text, bool python)
{
    json_t *value = ulp_json_text(text);
    ULP_SCOPED(ulp_scoped_free)
    char *written = value ? ulp_json_dump(value, JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    out->failed |= !written;
    if (written)
        ulp_json_put_escaped(out, written, strlen(written), python);
}

void ulp_json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

json_t *ulp_json_object(const char *key, ...)
{
    json_t *object = json_object();
    va_list pairs;
    va_start(pairs, key);
    for (; key; key = va_arg(pairs, const char *))
        ulp_json_set(&object, key, va_arg(pairs, json_t *));
    va_end(pairs);
    return object;
}

void ulp_json_append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) == 0)
        return;
    json_decref(*array);
    *array = NULL;
}

json_t *ulp_json_lines(struct ulp_text *lines)
{
    for (size_t i = 0; i < lines->length; i++)
        lines->data[i] = lines->data[i] == '\n' ? ' ' : lines->data[i];
    if (!lines->failed && lines->length && lines->data[lines->length - 1] == ' ')
        lines->data[lines->length - 1] = '\0';
    json_t *value = lines->failed ? NULL : ulp_json_text(lines->length ? lines->data : "");
    ulp_text_free(lines);
    return value;
}

void ulp_json_keep(json_t **keep, const char *pattern, const char *arithmetic)
{
    const size_t count = json_array_size(*keep);
    json_t *last = count ? json_array_get(*keep, count - 1) : NULL;
    const char *same = last ? json_string_value(json_object_get(last, "arithmetic")) : NULL;
    if (!same || strcmp(same, arithmetic) != 0) {
        ulp_json_append(keep, ulp_json_object("nodes", json_array(), "arithmetic",
                                              ulp_json_text(arithmetic), NULL));
        last = *keep ? json_array_get(*keep, count) : NULL;
    }
    if (last && json_array_append_new(json_object_get(last, "nodes"), ulp_json_text(pattern)) == 0)
        return;
    json_decref(*keep);
    *keep = NULL;
}

enum ulp_status ulp_json_put_document(json_t *root, struct ulp_text *out, const char *what,
                                      struct ulp_error *error)
{
    char *text = root ? ulp_json_dump(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    if (!text)
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", what);
    ulp_json_put_escaped(out, text, strlen(text), false);
    ulp_text_put(out, "\n", 1);
    free(text);
    return ULP_OK;
}

enum ulp_status ulp_json_write(json_t *root, const char *path, struct ulp_error *error)
{
    struct ulp_text out;
    enum ulp_status status = ulp_text_open(&out, path, error);
    if (status != ULP_OK) {
        json_decref(root);
        return status;
    }
    status = ulp_json_put_document(root, &out, path, error);
    const enum ulp_status closed = ulp_text_close(&out, status == ULP_OK, error);
    return status == ULP_OK ? closed : status;
}
