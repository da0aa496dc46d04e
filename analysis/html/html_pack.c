/* See pack.h. */
#include "analysis/html/html_pack.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/json_file.h"

enum kind { NOTHING, SCALAR, OBJECT, LIST };

/* Of one object's key, one list's elements, or the outermost values. */
struct column {
    enum kind kind;
    size_t count, absent; /* elements; of them null */
    /* of scalars the values, of lists the lengths, with commas; of objects '0' and '1' */
    struct ulp_text text;
    size_t first_length; /* of the first scalar in text */
    bool varies;         /* not all scalars are equal */
    struct column *children, **last;
    struct column *next; /* of the same object */
    struct column *hint; /* where the next key is likely found */
    size_t child_count;
    char *key;
};

struct ulp_html_pack {
    struct column column;
    bool failed;
};

/* More keys than any document of ours has: what a hostile one has beyond them is left out. */
enum { KEYS_MAX = 512 };

static void put_escaped(const char *json, size_t count, struct ulp_text *out)
{
    for (size_t i = 0, start = 0; i <= count; i++) {
        const char c = i < count ? json[i] : '\0';
        if (i < count && c != '<' && c != '>' && c != '&')
            continue;
        ulp_text_put(out, json + start, i - start);
        if (i < count)
            ulp_text_add(out, "\\u%04x", (unsigned)c);
        start = i + 1;
    }
}

static bool put_scalar(const json_t *value, struct ulp_text *out)
{
    if (json_is_integer(value)) {
        ulp_text_add(out, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        const double number = json_real_value(value);
        if (isfinite(number))
            ulp_text_add(out, "%.6g", number);
        else
            ulp_text_add(out, "null");
    } else if (json_is_string(value)) {
        char *json = ulp_json_dump(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        if (!json)
            return false;
        put_escaped(json, strlen(json), out);
        free(json);
    } else {
        ulp_text_add(out, "%s",
                     json_is_true(value)    ? "true"
                     : json_is_false(value) ? "false"
                                            : "null");
    }
    return !out->failed;
}

bool ulp_html_pack_string(const char *text, struct ulp_text *out)
{
    json_t *value = json_string(text);
    const bool whole = value && put_scalar(value, out);
    json_decref(value);
    return whole;
}

/* ---- adding ---- */

static bool add(struct column *column, const json_t *value);

static struct column *make_child(struct column *column, const char *key, size_t before)
{
    struct column *child = calloc(1, sizeof *child);
    if (!child || (key && !(child->key = strdup(key)))) {
        free(child);
        return NULL;
    }
    if (!column->last)
        column->last = &column->children;
    *column->last = child;
    column->last = &child->next;
    column->child_count++;
    child->count = child->absent = before;
    return child;
}

/* The object's column for the key, which begins where the one before it was; NULL: none. */
static struct column *find_child(struct column *column, const char *key)
{
    for (int round = 0; round < 2; round++)
        for (struct column *child = round ? column->children : column->hint; child;
             child = child->next)
            if (strcmp(child->key, key) == 0) {
                column->hint = child->next;
                return child;
            }
    return NULL;
}

/* Members that this object lacks. */
static bool level(struct column *column)
{
    bool whole = true;
    for (struct column *child = column->children; child; child = child->next)
        while (whole && child->count < column->count)
            whole = add(child, NULL);
    return whole;
}

static bool add_object(struct column *column, const json_t *value)
{
    const char *key;
    json_t *member;
    bool whole = true;
    column->hint = column->children;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        struct column *child = find_child(column, key);
        if (!child && column->child_count == KEYS_MAX)
            continue;
        if (!child)
            child = make_child(column, key, column->count);
        whole = child && whole && (child->count > column->count || add(child, member));
    }
    return whole;
}

static bool add_list(struct column *column, const json_t *value)
{
    const json_t *element;
    size_t i;
    bool whole = column->children || make_child(column, NULL, 0);
    json_array_foreach(value, i, element) whole = whole && add(column->children, element);
    return whole;
}

static enum kind kind_of(const json_t *value)
{
    return !value || json_is_null(value) ? NOTHING
           : json_is_object(value)       ? OBJECT
           : json_is_array(value)        ? LIST
                                         : SCALAR;
}

/* The elements before the first that says what the column holds were null. */
static void begin(struct column *column, enum kind kind)
{
    column->kind = kind;
    for (size_t i = 0; i < column->count; i++)
        ulp_text_add(&column->text, "%s", kind == SCALAR ? "null," : kind == LIST ? "-1," : "0");
    column->varies = column->count > 0;
}

static bool add_scalar(struct column *column, const json_t *value)
{
    const size_t start = column->text.length;
    const bool whole = put_scalar(value, &column->text);
    if (!whole)
        return false;
    const size_t length = column->text.length - start;
    if (!start)
        column->first_length = length;
    column->varies = column->varies || length != column->first_length ||
                     memcmp(column->text.data, column->text.data + start, length) != 0;
    ulp_text_put(&column->text, ",", 1);
    return true;
}

static bool add(struct column *column, const json_t *value)
{
    enum kind kind = kind_of(value);
    bool whole = true;
    if (column->kind == NOTHING && kind != NOTHING)
        begin(column, kind);
    if (kind != column->kind)
        kind = NOTHING, value = NULL;
    column->absent += kind == NOTHING;
    switch (column->kind) {
    case NOTHING: break;
    case SCALAR: whole = add_scalar(column, value); break;
    case OBJECT:
        ulp_text_put(&column->text, value ? "1" : "0", 1);
        whole = !value || add_object(column, value);
        column->count++;
        return level(column) && whole && !column->text.failed;
    case LIST:
        ulp_text_add(&column->text, "%lld,", value ? (long long)json_array_size(value) : -1);
        whole = !value || add_list(column, value);
        break;
    }
    column->count++;
    return whole && !column->text.failed;
}

struct ulp_html_pack *ulp_html_pack_create(void)
{
    return calloc(1, sizeof(struct ulp_html_pack));
}

static void clear(struct column *column)
{
    for (struct column *child = column->children, *next; child; child = next) {
        next = child->next;
        clear(child);
        free(child);
    }
    ulp_text_free(&column->text);
    free(column->key);
}

void ulp_html_pack_free(struct ulp_html_pack *pack)
{
    if (pack)
        clear(&pack->column);
    free(pack);
}

void ulp_html_pack_add(struct ulp_html_pack *pack, json_t *value)
{
    if (!value || pack->failed || !add(&pack->column, value))
        pack->failed = true;
    json_decref(value);
}

/* ---- writing ---- */

/* Without the comma at its end. */
static void put_values(const struct column *column, struct ulp_text *out)
{
    ulp_text_add(out, "[");
    if (column->text.length)
        ulp_text_put(out, column->text.data, column->text.length - 1);
    ulp_text_add(out, "]");
}

static bool put_column(const struct column *column, struct ulp_text *out)
{
    bool whole = true;
    switch (column->kind) {
    case NOTHING: ulp_text_add(out, "null"); break;
    case SCALAR:
        if (column->varies) {
            put_values(column, out);
            break;
        }
        ulp_text_add(out, "{\"s\":");
        ulp_text_put(out, column->text.data, column->first_length);
        ulp_text_add(out, "}");
        break;
    case OBJECT:
        ulp_text_add(out, "{\"o\":{");
        for (const struct column *child = column->children; child && whole; child = child->next) {
            whole = ulp_html_pack_string(child->key, out);
            ulp_text_add(out, ":");
            whole = whole && put_column(child, out);
            ulp_text_add(out, child->next ? "," : "");
        }
        ulp_text_add(out, "}");
        if (column->absent) {
            ulp_text_add(out, ",\"p\":\"");
            ulp_text_put(out, column->text.data, column->text.length);
            ulp_text_add(out, "\"");
        }
        ulp_text_add(out, "}");
        break;
    case LIST:
        ulp_text_add(out, "{\"l\":");
        put_values(column, out);
        ulp_text_add(out, ",\"e\":");
        whole = put_column(column->children, out);
        ulp_text_add(out, "}");
        break;
    }
    return whole && !out->failed;
}

bool ulp_html_pack_put(const struct ulp_html_pack *pack, struct ulp_text *out)
{
    if (pack->failed)
        return false;
    ulp_text_add(out, "{\"n\":%zu,\"c\":", pack->column.count);
    const bool whole = put_column(&pack->column, out);
    ulp_text_add(out, "}");
    return whole && !out->failed;
}

/* Lists worth it: of objects alone. */
static bool is_table(const json_t *value)
{
    const json_t *element;
    size_t i;
    json_array_foreach(value, i, element) if (!json_is_object(element)) return false;
    return json_array_size(value) > 3;
}

static bool put_table(const json_t *value, struct ulp_text *out)
{
    struct ulp_html_pack *pack = ulp_html_pack_create();
    json_t *element;
    size_t i;
    if (!pack)
        return false;
    json_array_foreach(value, i, element) ulp_html_pack_add(pack, json_incref(element));
    ulp_text_add(out, "{\"packed\":");
    const bool whole = ulp_html_pack_put(pack, out);
    ulp_text_add(out, "}");
    ulp_html_pack_free(pack);
    return whole;
}

bool ulp_html_pack_value(const json_t *value, struct ulp_text *out)
{
    const char *key;
    json_t *member;
    size_t i;
    bool whole = true;
    if (json_is_array(value) && is_table(value))
        return put_table(value, out);
    if (json_is_object(value)) {
        ulp_text_add(out, "{");
        const char *comma = "";
        json_object_foreach((json_t *)(uintptr_t)value, key, member)
        {
            ulp_text_add(out, "%s", comma);
            whole = whole && ulp_html_pack_string(key, out);
            ulp_text_add(out, ":");
            whole = whole && ulp_html_pack_value(member, out);
            comma = ",";
        }
        ulp_text_add(out, "}");
    } else if (json_is_array(value)) {
        ulp_text_add(out, "[");
        json_array_foreach(value, i, member)
        {
            ulp_text_add(out, i ? "," : "");
            whole = whole && ulp_html_pack_value(member, out);
        }
        ulp_text_add(out, "]");
    } else {
        whole = put_scalar(value, out);
    }
    return whole && !out->failed;
}
