/* Foreign text made harmless: names in models and archives, paths. They reach terminals, reports
 * and logs, and may hold anything: sequences that move the cursor or write the clipboard, line
 * ends, characters that reverse or hide others, bytes that are no UTF-8. Visible UTF-8 stays as it
 * is; the rest is shown as \n, \t, \r, \xNN (a byte) or \u{N} (a character). What was made harmless
 * stays as it is when it is made so again. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <ulpscope/status.h>

/* One character, or byte, of text as it is shown. */
struct ulp_shown {
    char text[12]; /* ends in a zero byte */
    size_t length;
    int columns; /* on a terminal: 0 to 2, of an escape more */
};
/* Of the first character of [at, end), which is not empty; where the next one starts. */
const char *ulp_show_character(struct ulp_shown *out, const char *at, const char *end);

/* The columns of a text of so many bytes. */
size_t ulp_shown_columns(const char *text, size_t count);
bool ulp_is_utf8(const char *text);

/* The text in at most `columns` columns of a terminal, cut in the middle ("abc...xyz") when it has
 * more, and padded with spaces to `padded` columns. Into out (truncated to size at a character,
 * always terminated), which is returned. */
const char *ulp_show(char *out, size_t size, const char *text, size_t columns, size_t padded);

/* As ulp_show, but cut at its front ("...xyz"): a column of names that differ at their ends. */
const char *ulp_show_end(char *out, size_t size, const char *text, size_t columns);

/* As vsnprintf, but text arguments (%s, %c) are made harmless, and cut in the middle when they are
 * longer than this; what the format itself says is not changed. Widths count columns. Truncates at
 * a character. Takes d, i, u, x, c, s, a, e, f, g and %% with h, l, ll, z, j and t. */
#define ULP_SHOWN_COLUMNS_MAX 1000
int ulp_show_arguments(char *out, size_t size, const char *format, va_list arguments);
