/* What texts for the terminal are made with. */
#include "analysis/writing/columns.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "graph/graph.h"

struct ulp_page ulp_page_make(struct ulp_text *out, int width, bool colour)
{
    struct ulp_page page = {out, width, "", "", "", "", ""};
    if (colour)
        page =
            (struct ulp_page){out, width, "\033[1m", "\033[31m", "\033[33m", "\033[2m", "\033[0m"};
    return page;
}

enum ulp_status ulp_page_take(struct ulp_text *text, enum ulp_status status, char **out,
                              struct ulp_error *error)
{
    ulp_text_put(text, "", 0); /* nothing at all is a text, too */
    if (status == ULP_OK && text->failed)
        status = ulp_out_of_memory(error);
    if (status != ULP_OK)
        ulp_text_free(text);
    *out = text->data;
    return status;
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

void ulp_page_node(const struct ulp_page *page, size_t index, const char *name, const char *op,
                   int used)
{
    ulp_text_add(page->out, "node %zu ", index);
    ulp_page_name(page, name, used + 13 + (int)strlen(op));
    ulp_text_add(page->out, " (%s)", op);
}

void ulp_command_add(struct ulp_text *out, const char *command, const char *arguments)
{
    ulp_text_add(out, "ulpscope %s ", command);
    ulp_text_show_whole(out, arguments);
}

char *ulp_model_words(struct ulp_arena *arena, const struct ulp_model *model)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_word_add(&text, model->path);
    ulp_text_add(&text, "%s%s", model->arguments ? model->arguments : "",
                 model->nonfinite_inputs_meant ? " --allow-nonfinite-inputs" : "");
    return text.failed ? NULL : ulp_arena_copy(arena, text.data + 1);
}

const char *ulp_page_figure(char text[ULP_FIGURE_BYTES], const char *format, double value)
{
    if (isnan(value))
        return "-";
    snprintf(text, ULP_FIGURE_BYTES, format, value);
    return *text == '-' && !strpbrk(text, "123456789") ? text + 1 : text; /* "-0.0" is 0.0 */
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
        const size_t length = strcspn(text, " "), columns = ulp_shown_columns(text, length);
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

/* ---- headlines ---- */

enum { WHAT, BESIDE, WHY, TODO, LINES };
static const char *const line_titles[LINES] = {"", "  ", "  why   ", "  do    "};

static const char *line_of(const struct ulp_headline *headline, size_t line)
{
    const struct ulp_text *texts[LINES] = {&headline->what, &headline->beside, &headline->why,
                                           &headline->todo};
    return texts[line]->length ? texts[line]->data : "";
}

static void join_headline(struct ulp_text *out, const struct ulp_headline *headline)
{
    const char *last = line_of(headline, headline->why.length ? WHY : WHAT);
    ulp_text_add(out, "%s%s%s%s", line_of(headline, WHAT), headline->why.length ? "; " : "",
                 headline->why.length ? last : "", ulp_text_ends(last, ".") ? "" : ".");
}

void ulp_page_headline(const struct ulp_page *page, const char *colour,
                       const struct ulp_headline *headline)
{
    if (page->width == ULP_PAGE_PROSE) {
        join_headline(page->out, headline);
        if (headline->todo.length && strcmp(headline->todo.data, "nothing") != 0)
            ulp_text_add(page->out, " To do: %s%s", headline->todo.data,
                         ulp_text_ends(headline->todo.data, ".") ? "" : ".");
        ulp_text_add(page->out, "\n");
        return;
    }
    for (size_t line = 0; line < LINES; line++) {
        const char *text = line_of(headline, line), *title = line_titles[line];
        const bool copied = ulp_text_is_command(text);
        if (!*text)
            continue;
        ulp_text_add(page->out, "%s%s", line ? "" : colour, title);
        if (copied)
            ulp_text_add(page->out, "%s\n", text);
        else
            ulp_page_wrapped(page, text, line > BESIDE ? ULP_HEADLINE_INDENT : 2 + 2 * line,
                             strlen(title));
        ulp_text_add(page->out, "%s", line || !*colour ? "" : page->off);
    }
}

void ulp_headline_drawn(struct ulp_headline *headline, bool drawn)
{
    if (drawn)
        ulp_text_add(&headline->what, ULP_DRAWN);
}

static void free_texts(struct ulp_text *out, struct ulp_headline *headline)
{
    out->failed |= headline->what.failed || headline->beside.failed || headline->why.failed ||
                   headline->todo.failed;
    ulp_text_free(&headline->what);
    ulp_text_free(&headline->beside);
    ulp_text_free(&headline->why);
    ulp_text_free(&headline->todo);
}

void ulp_headline_join(struct ulp_text *out, struct ulp_headline *headline)
{
    join_headline(out, headline);
    free_texts(out, headline);
}

void ulp_headline_free(const struct ulp_page *page, struct ulp_headline *headline)
{
    free_texts(page->out, headline);
}
