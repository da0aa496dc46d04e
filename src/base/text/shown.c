/* Showing foreign text, character by character. */
#include "base/text/shown.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- characters ---- */

/* The code point of the UTF-8 at `at`, its length in *length; -1: there is none (RFC 3629: no
 * surrogates, nothing beyond U+10FFFF, no longer form than needed). */
static int32_t decode(const unsigned char *at, size_t count, size_t *length)
{
    static const struct {
        unsigned char mask, lead;
        int32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    for (size_t f = 0; f < 4; f++) {
        if ((at[0] & forms[f].mask) != forms[f].lead)
            continue;
        if (f >= count)
            return -1;
        int32_t code = at[0] & ~forms[f].mask;
        for (size_t i = 1; i <= f; i++) {
            if ((at[i] & 0xC0) != 0x80)
                return -1;
            code = code << 6 | (at[i] & 0x3F);
        }
        *length = f + 1;
        return code < forms[f].least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? -1
                                                                                             : code;
    }
    return -1;
}

struct range {
    int32_t first, last;
};

static bool is_in(int32_t code, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}
#define IS_IN(code, ranges) is_in(code, ranges, sizeof(ranges) / sizeof *(ranges))

/* Unicode's categories Cc, Cf, Zl and Zp, private use and what is no character: without a shape of
 * their own, or changing that of others. */
static const struct range invisible[] = {
    {0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x600, 0x605},
    {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x180E, 0x180E},
    {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},   {0xE000, 0xF8FF},
    {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},
    {0x110BD, 0x110BD}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0x10FFFF},
};
/* Two columns (East Asian wide, emoji), and none (combining marks), as terminals commonly have it:
 * for alignment only. */
static const struct range wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97C},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF},
    {0x20000, 0x3FFFD},
};

const char *ulp_show_character(struct ulp_shown *out, const char *at, const char *end)
{
    size_t length = 1;
    const int32_t code = decode((const unsigned char *)at, (size_t)(end - at), &length);
    *out = (struct ulp_shown){.columns = 0};
    if (code >= 0 && !IS_IN(code, invisible)) {
        memcpy(out->text, at, length);
        out->length = length;
        out->columns = IS_IN(code, wide) ? 2 : 1;
        return at + length;
    }
    if (code == '\n' || code == '\r' || code == '\t')
        snprintf(out->text, sizeof out->text, "\\%c",
                 code == '\n'   ? 'n'
                 : code == '\r' ? 'r'
                                : 't');
    else if (code < 0x80)
        snprintf(out->text, sizeof out->text, "\\x%02x", (unsigned)(unsigned char)*at);
    else
        snprintf(out->text, sizeof out->text, "\\u{%x}", (unsigned)code & 0x1FFFFF);
    out->length = strlen(out->text);
    out->columns = (int)out->length;
    return at + (code < 0 ? 1 : length);
}

bool ulp_is_utf8(const char *text)
{
    const char *end = text + strlen(text);
    for (size_t length; text < end; text += length)
        if (decode((const unsigned char *)text, (size_t)(end - text), &length) < 0)
            return false;
    return true;
}

/* ---- texts ---- */

/* needed goes on when out is full, as snprintf's result does. */
struct sink {
    char *out;
    size_t size, used, needed;
};

/* All of it or, where there is no room, nothing from there on. */
static void put_bytes(struct sink *sink, const char *bytes, size_t count)
{
    if (sink->used == sink->needed && sink->needed + count < sink->size) {
        memcpy(sink->out + sink->used, bytes, count);
        sink->used += count;
    }
    sink->needed += count;
}

static void put_spaces(struct sink *sink, size_t count)
{
    while (count--)
        put_bytes(sink, " ", 1);
}

static size_t end(struct sink *sink)
{
    if (sink->size)
        sink->out[sink->used] = '\0';
    return sink->needed;
}

size_t ulp_shown_columns(const char *text, size_t count)
{
    size_t columns = 0;
    struct ulp_shown shown;
    for (const char *at = text; at < text + count; columns += (size_t)shown.columns)
        at = ulp_show_character(&shown, at, text + count);
    return columns;
}

/* A text that is cut keeps its first `head` columns and as many of its last as there is room for.
 */
static void put_cut(struct sink *sink, const char *text, size_t count, size_t columns, size_t head)
{
    const size_t total = ulp_shown_columns(text, count);
    const size_t tail = columns > 3 + head ? columns - 3 - head : 0;
    struct ulp_shown shown;
    size_t done = 0;
    bool cut = false;
    for (const char *at = text; at < text + count; done += (size_t)shown.columns) {
        at = ulp_show_character(&shown, at, text + count);
        if (total <= columns || done + (size_t)shown.columns <= head || total - done <= tail) {
            put_bytes(sink, shown.text, shown.length);
        } else if (!cut) {
            put_bytes(sink, "...", 3);
            cut = true;
        }
    }
}

/* Two thirds of what is left of a text that is cut are its end: names differ there. */
static void put_text(struct sink *sink, const char *text, size_t count, size_t columns)
{
    put_cut(sink, text, count, columns, columns > 3 ? (columns - 3) / 3 : 0);
}

const char *ulp_show_end(char *out, size_t size, const char *text, size_t columns)
{
    struct sink sink = {.out = out, .size = size};
    put_cut(&sink, text, strlen(text), columns, 0);
    end(&sink);
    return out;
}

const char *ulp_show(char *out, size_t size, const char *text, size_t columns, size_t padded)
{
    struct sink sink = {.out = out, .size = size};
    put_text(&sink, text, strlen(text), columns);
    end(&sink);
    const size_t taken = ulp_shown_columns(out, strlen(out));
    put_spaces(&sink, padded > taken ? padded - taken : 0);
    end(&sink);
    return out;
}

/* ---- formats ---- */

/* A conversion of a format, '*' replaced by its argument. */
struct conversion {
    char text[48]; /* "%-8.3", to which the length and letter are added */
    size_t used;
    bool left;
    int width, precision; /* -1: none */
    const char *length;
    char letter;
};

static int read_number(struct conversion *conversion, const char **at, va_list *list)
{
    int number = 0;
    if (**at == '*') {
        number = va_arg(*list, int);
        ++*at;
    } else {
        while (**at >= '0' && **at <= '9' && number < 100000)
            number = 10 * number + (*(*at)++ - '0');
    }
    conversion->used += (size_t)sprintf(conversion->text + conversion->used, "%d", number);
    return number;
}

/* at: behind the '%'. */
static struct conversion read_conversion(const char **at, va_list *list)
{
    struct conversion conversion = {.text = "%", .used = 1, .precision = -1};
    for (; **at && strchr("-+ #0", **at); ++*at) {
        conversion.left |= **at == '-';
        if (conversion.used < 6)
            conversion.text[conversion.used++] = **at;
    }
    if (**at == '*' || (**at >= '1' && **at <= '9'))
        conversion.width = read_number(&conversion, at, list);
    if (**at == '.') {
        conversion.text[conversion.used++] = *(*at)++;
        conversion.precision = read_number(&conversion, at, list);
    }
    conversion.length = *at;
    *at += strspn(*at, "hlzjt");
    conversion.letter = **at;
    *at += **at != '\0';
    return conversion;
}

/* long, size_t and ptrdiff_t are of one size on every system with a C library that has these. */
static long long take_integer(const struct conversion *conversion, va_list *list)
{
    const char *length = conversion->length;
    const bool longest = *length == 'j' || strncmp(length, "ll", 2) == 0;
    if (longest || (strchr("lzt", *length) && sizeof(long) > sizeof(int)))
        return va_arg(*list, long long);
    if (conversion->letter == 'd' || conversion->letter == 'i')
        return va_arg(*list, int);
    return va_arg(*list, unsigned);
}

static void put_number(struct sink *sink, struct conversion *conversion, va_list *list)
{
    char text[512]; /* 309 digits before the point of a double, and what the width may add */
    const char letter[] = {conversion->letter, '\0'};
    const bool is_real = strchr("aefgAEFG", *letter);
    snprintf(conversion->text + conversion->used, 4, "%s%s", is_real ? "" : "ll", letter);
    if (is_real)
        snprintf(text, sizeof text, conversion->text, va_arg(*list, double));
    else
        snprintf(text, sizeof text, conversion->text, take_integer(conversion, list));
    put_bytes(sink, text, strlen(text));
}

/* A precision may cut a character; what is left of it is not shown. */
static size_t leave_whole(const char *text, size_t count)
{
    for (size_t back = 1; back <= 3 && back <= count; back++) {
        const unsigned char byte = (unsigned char)text[count - back];
        if ((byte & 0xC0) == 0x80)
            continue;
        const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return length > back ? count - back : count;
    }
    return count;
}

static void put_argument(struct sink *sink, const struct conversion *conversion, const char *text)
{
    const bool cut = conversion->precision >= 0;
    size_t count = cut ? strnlen(text, (size_t)conversion->precision) : strlen(text);
    if (cut && count == (size_t)conversion->precision)
        count = leave_whole(text, count);
    const size_t taken = conversion->width > 0 ? ulp_shown_columns(text, count) : 0;
    const size_t width = conversion->width > 0 ? (size_t)conversion->width : 0;
    const size_t spaces = width > taken ? width - taken : 0;
    put_spaces(sink, conversion->left ? 0 : spaces);
    put_text(sink, text, count, ULP_SHOWN_COLUMNS_MAX);
    put_spaces(sink, conversion->left ? spaces : 0);
}

int ulp_show_arguments(char *out, size_t size, const char *format, va_list arguments)
{
    struct sink sink = {.out = out, .size = size};
    va_list list;
    va_copy(list, arguments);
    while (*format) {
        const size_t plain = strcspn(format, "%");
        for (size_t i = 0; i < plain; i++)
            put_bytes(&sink, format++, 1);
        if (!*format++)
            break;
        struct conversion conversion = read_conversion(&format, &list);
        if (conversion.letter == '%') {
            put_bytes(&sink, "%", 1);
        } else if (conversion.letter == 'c') {
            const char character[] = {(char)va_arg(list, int), '\0'};
            put_argument(&sink, &conversion, character);
        } else if (conversion.letter == 's') {
            const char *text = va_arg(list, const char *);
            put_argument(&sink, &conversion, text ? text : "(null)");
        } else {
            put_number(&sink, &conversion, &list);
        }
    }
    va_end(list);
    return (int)end(&sink);
}
