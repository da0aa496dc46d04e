/* The value of an option, read by its row's type and put into the options. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

void *grow_arguments(void *array, size_t count, size_t element_bytes)
{
    void *grown = realloc(array, (count + 1) * element_bytes);
    if (!grown)
        refuse_memory();
    return grown;
}

char *copy_argument(const char *text, size_t length)
{
    char *copy = strndup(text, length);
    if (!copy)
        refuse_memory();
    return copy;
}

bool parse_integer(const char *text, int64_t low, int64_t high, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *out = value;
    return errno == 0 && end != text && *end == '\0' && value >= low && value <= high;
}

double read_number(const char *option, const char *text, double low, double high)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= low && value <= high))
        refuse("%s %s: expected a number from %g to %g", option, text, low, high);
    return value;
}

/* Into a member of that size: a bool, an int or an enum, or one of 64 bits. */
static void put_integer(void *at, size_t bytes, int64_t value)
{
    const bool is = value != 0;
    const int small = (int)value;
    memcpy(at,
           bytes == sizeof is      ? (const void *)&is
           : bytes == sizeof small ? (const void *)&small
                                   : (const void *)&value,
           bytes);
}

static int64_t read_integer(const struct option_row *row, const char *text)
{
    int64_t value = 0;
    if (parse_integer(text, (int64_t)row->least, row->most > 0 ? (int64_t)row->most : INT64_MAX,
                      &value))
        return value;
    if (row->most > 0)
        refuse("--%s %s: expected %.0f to %.0f", row->name, text, row->least, row->most);
    refuse("--%s %s: expected a whole number", row->name, text);
}

static int64_t read_choice(const struct option_row *row, const char *text)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text list = {0};
    int64_t number = (int64_t)row->least;
    for (const char *word = row->value, *next; word; word = next, number++) {
        const size_t length = strcspn(word, "|");
        next = word[length] ? word + length + 1 : NULL;
        if (strlen(text) == length && strncmp(text, word, length) == 0)
            return number;
        ulp_text_add(&list, "%s%.*s", !list.length ? "" : next ? ", " : " or ", (int)length, word);
    }
    refuse("--%s %s: expected %s", row->name, text, list.failed ? row->value : list.data);
}

static bool parse_memory(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    const char *units = "KMGT", *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    const bool any = end != text;
    if (unit) {
        *out = ldexp(*out, 10 * (int)(unit - units + 1));
        end++;
    }
    return any && !*end && *out >= 0 && *out < 0x1p62;
}

enum ulp_status check_memory(const char *text, struct ulp_error *error)
{
    double bytes;
    return parse_memory(text, &bytes)
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "%s: expected a number of bytes, such as 2G, or 0", text);
}

static int64_t read_memory(const struct option_row *row, const char *text)
{
    double bytes;
    if (!parse_memory(text, &bytes))
        refuse("--%s %s: expected a number of bytes, such as 2G, or 0", row->name, text);
    return (int64_t)bytes;
}

static void check_text(const struct option_row *row, const char *text)
{
    struct ulp_error error;
    if (row->check && row->check(text, &error) != ULP_OK)
        refuse("--%s: %s", row->name, error.message);
}

static void add_text(const struct option_row *row, char *options, char *text)
{
    char **items;
    size_t count;
    memcpy(&items, options + row->at, sizeof items);
    memcpy(&count, options + row->count_at, sizeof count);
    check_text(row, text);
    items = grow_arguments(items, count, sizeof *items);
    items[count++] = text;
    memcpy(options + row->at, &items, sizeof items);
    memcpy(options + row->count_at, &count, sizeof count);
}

/* Copies, each behind a comma; what has '=' is a setting of the one before it. */
static void add_words(const struct option_row *row, char *options, const char *text)
{
    bool any = false;
    for (const char *end = text; *text; text = end + (*end == ',')) {
        end = text + strcspn(text, ",");
        while (*end && memchr(end + 1, '=', strcspn(end + 1, ",")))
            end += 1 + strcspn(end + 1, ",");
        if (end > text)
            add_text(row, options, copy_argument(text, (size_t)(end - text)));
        any |= end > text;
    }
    if (!any)
        refuse("--%s: expected %s", row->name, row->value);
}

static void join_text(const struct option_row *row, char *options, const char *text)
{
    struct ulp_text joined = {0};
    char *before;
    memcpy(&before, options + row->at, sizeof before);
    ulp_text_add(&joined, "%s%s%s", before ? before : "", before ? "," : "", text);
    if (joined.failed)
        refuse_memory();
    free(before);
    memcpy(options + row->at, &joined.data, sizeof joined.data);
}

static void put_arithmetic(const struct option_row *row, char *at, const char *text)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    if (ulp_arithmetic_find(text, &arithmetic, &error) != ULP_OK)
        refuse("--%s: %s", row->name, error.message);
    memcpy(at, &arithmetic, sizeof arithmetic);
}

static void put_text(const struct option_row *row, char *at, char *text)
{
    check_text(row, text);
    if (row->writes && strcmp(row->value, "FOLDER") == 0)
        text = as_folder(text);
    memcpy(at, &text, sizeof text);
}

void store_option(const struct option_row *row, void *options, char *text)
{
    char option[80], *at = (char *)options + row->at;
    double number = 0;
    snprintf(option, sizeof option, "--%s", row->name);
    switch (row->kind) {
    case KIND_NONE:
    case KIND_HELP: return;
    case KIND_SET: put_integer(at, row->bytes, (int64_t)row->least); return;
    case KIND_TEXT: put_text(row, at, text); return;
    case KIND_TEXTS: add_text(row, options, text); return;
    case KIND_WORDS: add_words(row, options, text); return;
    case KIND_LIST: join_text(row, options, text); return;
    case KIND_INTEGER: put_integer(at, row->bytes, read_integer(row, text)); return;
    case KIND_BYTES: put_integer(at, row->bytes, read_memory(row, text)); return;
    case KIND_CHOICE: put_integer(at, row->bytes, read_choice(row, text)); return;
    case KIND_ARITHMETIC: put_arithmetic(row, at, text); return;
    case KIND_OWN: row->read(options, text); return;
    case KIND_NUMBER: number = read_number(option, text, row->least, row->most); break;
    case KIND_SHARE:
        number = read_number(option, text, 0, 1);
        if (!(number > 0 && number < 1))
            refuse("%s %s: expected a share above 0 and below 1, as 0.99", option, text);
        break;
    }
    memcpy(at, &number, sizeof number);
}

void free_option(const struct option_row *row, void *options)
{
    char *at = (char *)options + row->at, *memory = NULL;
    size_t count = 0;
    if (row->kind != KIND_TEXTS && row->kind != KIND_WORDS && row->kind != KIND_LIST)
        return;
    memcpy(&memory, at, sizeof memory);
    if (row->kind == KIND_WORDS)
        memcpy(&count, (char *)options + row->count_at, sizeof count);
    for (size_t i = 0; i < count; i++)
        free(((char **)(void *)memory)[i]);
    free(memory);
}
