/* The growing text buffer. */
#include "base/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/shown.h"

/* Room for `count` more bytes and a final zero. */
static bool make_room(struct ulp_text *text, size_t count)
{
    if (count < text->capacity - text->length)
        return true;
    size_t capacity = 2 * text->capacity + count + 256;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

static void add_length(struct ulp_text *text, size_t count)
{
    text->length += count;
    if (text->grown)
        text->grown(text);
}

typedef int print_fn(char *out, size_t size, const char *format, va_list list);

static void add_printed(struct ulp_text *text, print_fn *print, const char *format,
                        va_list arguments)
{
    while (!text->failed) {
        size_t room = text->capacity - text->length;
        va_list list;
        va_copy(list, arguments);
        int length = print(text->data ? text->data + text->length : NULL, room, format, list);
        va_end(list);
        if (length < 0) {
            text->failed = true;
        } else if ((size_t)length < room) {
            add_length(text, (size_t)length);
            return;
        } else {
            make_room(text, (size_t)length);
        }
    }
}

void ulp_text_put(struct ulp_text *text, const char *bytes, size_t count)
{
    if (text->failed || !make_room(text, count))
        return;
    memcpy(text->data + text->length, bytes, count);
    text->data[text->length + count] = '\0';
    add_length(text, count);
}

void ulp_text_add(struct ulp_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_printed(text, vsnprintf, format, list);
    va_end(list);
}

void ulp_text_show(struct ulp_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ulp_text_show_list(text, format, list);
    va_end(list);
}

void ulp_text_show_list(struct ulp_text *text, const char *format, va_list list)
{
    add_printed(text, ulp_show_arguments, format, list);
}

void ulp_text_show_marked(struct ulp_text *text, const char *words, const char *marked, char mark)
{
    for (const char *end = words + strlen(words); words < end;) {
        struct ulp_shown shown;
        words = ulp_show_character(&shown, words, end);
        if (strchr(marked, *shown.text))
            ulp_text_put(text, &mark, 1);
        ulp_text_put(text, shown.text, shown.length);
    }
}

void ulp_text_show_whole(struct ulp_text *text, const char *words)
{
    ulp_text_show_marked(text, words, "", ' ');
}

void ulp_quoted_add(struct ulp_text *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            ulp_text_add(out, "'\\''");
        else
            ulp_text_put(out, text, 1);
}

void ulp_word_add(struct ulp_text *out, const char *word)
{
    if (*word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_./,:@%+=-")] == '\0') {
        ulp_text_add(out, " %s", word);
        return;
    }
    ulp_text_add(out, " '");
    ulp_quoted_add(out, word);
    ulp_text_add(out, "'");
}

void ulp_option_add(struct ulp_text *out, const char *option, const char *word)
{
    ulp_text_add(out, "%s", option);
    ulp_word_add(out, word);
}

void ulp_text_free(struct ulp_text *text)
{
    free(text->data);
    *text = (struct ulp_text){0};
}

bool ulp_text_ends(const char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    return length > wanted && strcmp(text + length - wanted, end) == 0;
}

bool ulp_is_word(const char *word, const char *words)
{
    const size_t length = strlen(word);
    for (size_t next; *words; words += next + (words[next] == ' ')) {
        next = strcspn(words, " ");
        if (next == length && memcmp(words, word, length) == 0)
            return true;
    }
    return false;
}

unsigned long long ulp_hash(const void *bytes, size_t count)
{
    unsigned long long hash = 14695981039346656037ull;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211ull;
    return hash;
}
