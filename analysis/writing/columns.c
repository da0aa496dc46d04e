/* What texts for the terminal are made with. */
#include "analysis/writing/columns.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"

struct ulp_page ulp_page_make(struct ulp_text *out, int width, bool colour)
{
    struct ulp_page page = {out, width, "", "", "", "", ""};
    if (colour)
        page =
            (struct ulp_page){out, width, "\033[1m", "\033[31m", "\033[33m", "\033[2m", "\033[0m"};
    return page;
}

enum ulp_status ulp_page_take(struct ulp_text *text, char **out, struct ulp_error *error)
{
    *out = text->failed ? NULL : text->data;
    if (*out)
        return ULP_OK;
    ulp_text_free(text);
    return ulp_out_of_memory(error);
}

void ulp_page_name(const struct ulp_page *page, const char *name, int used)
{
    const int least = 20; /* of a name, however narrow the terminal is */
    char shown[ULP_SHOWN_BYTES];
    const int room = page->width - used;
    if (page->width)
        ulp_text_add(page->out, "%s",
                     ulp_show_end(shown, sizeof shown, name,
                                  (size_t)(room > least ? room : least)));
    else
        ulp_text_show(page->out, "%s", name);
}

size_t ulp_page_columns(const char *text, size_t length)
{
    size_t columns = 0;
    for (const char *end = text + length; text < end;) {
        struct ulp_shown shown;
        text = ulp_show_character(&shown, text, end);
        columns += (size_t)(shown.columns > 0 ? shown.columns : 0);
    }
    return columns;
}

const char *ulp_page_figure(char text[ULP_FIGURE_BYTES], const char *format, double value)
{
    if (isnan(value))
        return "-";
    snprintf(text, ULP_FIGURE_BYTES, format, value);
    return text;
}

const char *ulp_page_reach(char text[ULP_FIGURE_BYTES], double largest)
{
    snprintf(text, ULP_FIGURE_BYTES, largest < DBL_MAX ? "%.3g" : "more than %.2g", largest);
    return text;
}

void ulp_page_wrapped(const struct ulp_page *page, const char *text, size_t indent, size_t used)
{
    struct ulp_text *out = page->out;
    const size_t width = (size_t)(page->width ? page->width : ULP_PAGE_WIDTH);
    size_t column = used;
    for (bool first = true; *text; first = false) {
        const size_t length = strcspn(text, " "), columns = ulp_page_columns(text, length);
        if (!first && column + 1 + columns > width) {
            ulp_text_add(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            ulp_text_add(out, " ");
            column++;
        }
        ulp_text_add(out, "%.*s", (int)length, text);
        column += columns;
        text += length + (text[length] == ' ');
    }
    ulp_text_add(out, "\n");
}

void ulp_page_broken(const struct ulp_page *page, struct ulp_text *text, size_t indent, size_t used)
{
    if (text->data)
        ulp_page_wrapped(page, text->data, indent, used);
    page->out->failed |= text->failed;
    ulp_text_free(text);
}

void ulp_quoted_add(struct ulp_text *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            ulp_text_add(out, "'\\''");
        else
            ulp_text_put(out, text, 1);
}
