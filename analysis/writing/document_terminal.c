/* A document on a terminal: see document.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/writing/document.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/text/shown.h"

/* Columns of text become that narrow where there is no room, and shorter where they alone are too
 * many; NOTE_AT: of the text behind a term. */
enum { TEXT_LEAST = 16, TEXT_SHORT = 8, CELL_BYTES = 1024, NOTE_AT = 12 };

static bool is_number(const struct ulp_document_column *column)
{
    return column->as > ULP_AS_NODE;
}

const char *ulp_document_cell_say(char *out, size_t bytes, const struct ulp_document_column *column,
                                  const struct ulp_document_cell *cell)
{
    static const char *const formats[] = {
        [ULP_AS_TEXT] = "%.4g",    [ULP_AS_NAME] = "%.4g",   [ULP_AS_NODE] = "%.0f",
        [ULP_AS_WHOLE] = "%.0f",   [ULP_AS_FIGURE] = "%.3g", [ULP_AS_TENTHS] = "%.1f",
        [ULP_AS_SHARE] = "%.3g %%"};
    if (cell->text)
        return ulp_show(out, bytes, cell->text, ULP_SHOWN_COLUMNS_MAX, 0);
    const bool all_but = cell->number > 0.999 && cell->number < 1; /* is not 100 % */
    const double number = column->as == ULP_AS_SHARE    ? all_but ? 99.9 : 100 * cell->number
                          : column->as == ULP_AS_TENTHS ? ulp_tenths(cell->number)
                                                        : cell->number;
    snprintf(out, bytes, formats[column->as], number);
    return isnan(cell->number) ? "-" : out;
}

/* ---- tables ---- */

struct layout {
    const struct ulp_document_block *block;
    size_t shown; /* rows */
    int *widths;  /* of columns; 0: not shown */
    int *least;   /* what columns of text can become */
};

static const struct ulp_document_cell *cell_of(const struct ulp_document_block *block, size_t row,
                                               size_t column)
{
    return &block->cells[row * block->column_count + column];
}

static int columns_of(const char *text)
{
    return (int)ulp_shown_columns(text, strlen(text));
}

/* Of words between spaces, the longest: titles and sentences go on in further lines. */
static int longest_word(const char *text)
{
    int longest = 0;
    while (*text) {
        const size_t length = strcspn(text, " ");
        const int columns = (int)ulp_shown_columns(text, length);
        longest = columns > longest ? columns : longest;
        text += length + (text[length] == ' ');
    }
    return longest;
}

static int find_all(const struct layout *layout)
{
    int all = 0;
    for (size_t c = 0; c < layout->block->column_count; c++)
        all += layout->widths[c] ? layout->widths[c] + 2 : 0;
    return all;
}

/* The column that is to be narrower, and how much room it needs: the one whose title has most
 * beyond what its cells need, else the widest of text, else the last of numbers, which is left out;
 * column_count: none. */
static size_t find_narrowed(const struct layout *layout, const int *needed, bool out)
{
    const struct ulp_document_block *block = layout->block;
    const size_t none = block->column_count;
    size_t title = none, text = none, number = none;
    for (size_t c = 0; c < none; c++) {
        const int width = layout->widths[c], excess = width - needed[c];
        if (excess > 0 && (title == none || excess > layout->widths[title] - needed[title]))
            title = c;
        if (!is_number(&block->columns[c]) && width > layout->least[c] &&
            (text == none || width > layout->widths[text]))
            text = c;
        if (is_number(&block->columns[c]) && width && out)
            number = c;
    }
    return title < none ? title : text < none ? text : number;
}

/* What does not fit is taken from titles, then from columns of text; where that is not enough,
 * columns of numbers are left out. A file has names whole, and its width is the text's. */
static void find_widths(const struct ulp_page *page, const struct layout *layout, int *needed)
{
    const struct ulp_document_block *block = layout->block;
    char text[CELL_BYTES];
    for (size_t c = 0; c < block->column_count; c++) {
        const struct ulp_document_column *column = &block->columns[c];
        needed[c] = column->wide ? 0 : longest_word(column->title);
        layout->least[c] = TEXT_LEAST;
        for (size_t r = 0; r < layout->shown && needed[c]; r++) {
            const char *said =
                ulp_document_cell_say(text, sizeof text, column, cell_of(block, r, c));
            const int columns = columns_of(said), word = page->width ? 0 : longest_word(said);
            needed[c] = columns > needed[c] ? columns : needed[c];
            layout->least[c] = word > layout->least[c] ? word : layout->least[c];
        }
        const int title = columns_of(column->title);
        layout->widths[c] = needed[c] && title > needed[c] ? title : needed[c];
    }
    bool shorter = false;
    while (find_all(layout) > (page->width ? page->width : ULP_PAGE_WIDTH)) {
        const size_t c = find_narrowed(layout, needed, page->width && shorter);
        if (c == block->column_count && (shorter || !page->width))
            return;
        if (c == block->column_count) { /* before any column is left out */
            shorter = true;
            for (size_t t = 0; t < block->column_count; t++)
                layout->least[t] = TEXT_SHORT;
            continue;
        }
        if (layout->widths[c] > needed[c] || !is_number(&block->columns[c]))
            layout->widths[c]--;
        else
            layout->widths[c] = 0;
        needed[c] = layout->widths[c] < needed[c] ? layout->widths[c] : needed[c];
    }
}

/* The next line of a cell, which *text begins with, and what is left: words as many as fit, of a
 * word that does not fit its end. */
static void take_line(const char **text, int width, bool whole, char *out, size_t bytes)
{
    size_t length = strcspn(*text, " "), next;
    while ((*text)[length] &&
           (int)ulp_shown_columns(*text, next = length + 1 + strcspn(*text + length + 1, " ")) <=
               width)
        length = next;
    snprintf(out, bytes, "%.*s", (int)length, *text);
    if (!whole && columns_of(out) > width) {
        char word[CELL_BYTES];
        snprintf(word, sizeof word, "%s", out);
        ulp_show_end(out, bytes, word, (size_t)width);
    }
    *text += length + ((*text)[length] == ' ');
}

/* row: -1: the titles. */
static void add_row(const struct ulp_page *page, const struct layout *layout, ptrdiff_t row)
{
    const struct ulp_document_block *block = layout->block;
    const size_t count = block->column_count;
    char(*said)[CELL_BYTES] = calloc(count, sizeof *said);
    const char **rest = calloc(count, sizeof *rest);
    page->out->failed |= !said || !rest;
    for (size_t c = 0; said && rest && c < count; c++)
        rest[c] = row < 0 ? block->columns[c].title
                          : ulp_document_cell_say(said[c], sizeof said[c], &block->columns[c],
                                                  cell_of(block, (size_t)row, c));
    for (bool more = said && rest; more;) {
        ULP_SCOPED(ulp_text_free) struct ulp_text line = {0};
        size_t blanks = 0;
        more = false;
        for (size_t c = 0; c < count; c++) {
            char text[CELL_BYTES];
            if (!layout->widths[c])
                continue;
            const bool bad = row >= 0 && cell_of(block, (size_t)row, c)->level == ULP_TILE_BAD;
            take_line(&rest[c], layout->widths[c], !page->width, text, sizeof text);
            more |= *rest[c] != '\0';
            const int fill = layout->widths[c] - columns_of(text),
                      before = is_number(&block->columns[c]) && fill > 0 ? fill : 0;
            if (*text)
                ulp_text_add(&line, "%*s%s%s%s", (int)blanks + 2 + before, "", bad ? page->red : "",
                             text, bad ? page->off : "");
            blanks = *text ? (size_t)(fill > before ? fill - before : 0)
                           : blanks + 2 + (size_t)layout->widths[c];
        }
        ulp_text_add(page->out, "%s\n", line.data ? line.data : "");
        page->out->failed |= line.failed;
    }
    free(said);
    free(rest);
}

/* Is the note what the table before has, or a headline's reason? */
static bool is_said(const struct ulp_document *document, const char *before, const char *note)
{
    bool said = before && strcmp(before, note) == 0;
    for (size_t b = 0; b < document->block_count; b++) {
        const char *why = document->blocks[b].text[2];
        said |= document->blocks[b].kind == ULP_BLOCK_HEADLINE && why && *why &&
                strncmp(note, why, strlen(why)) == 0;
    }
    return said;
}

/* said: whether its note is already. */
static void add_table(const struct ulp_page *page, const struct ulp_document_block *block,
                      size_t most, bool said)
{
    const size_t columns = block->column_count + 1;
    ULP_SCOPED(ulp_scoped_free) int *widths = calloc(3 * columns, sizeof *widths);
    const size_t limit = block->most && (!most || block->most < most) ? block->most : most;
    const struct layout layout = {.block = block,
                                  .shown =
                                      limit && block->row_count > limit ? limit : block->row_count,
                                  .widths = widths,
                                  .least = widths + columns};
    page->out->failed |= !widths;
    if (!widths)
        return;
    find_widths(page, &layout, widths + 2 * columns);
    struct ulp_text title = {0};
    ulp_text_show_whole(&title, block->text[1]);
    ulp_text_add(page->out, "\n%s", page->bold);
    ulp_page_broken(page, &title, 2, 0);
    ulp_text_add(page->out, "%s%s", page->off, page->dim);
    if (*block->text[2] && !said) {
        struct ulp_text note = {0};
        ulp_text_show_whole(&note, block->text[2]);
        ulp_text_add(page->out, "  ");
        ulp_page_broken(page, &note, 2, 2);
    }
    add_row(page, &layout, -1);
    ulp_text_add(page->out, "%s", page->off);
    for (size_t r = 0; r < layout.shown; r++)
        add_row(page, &layout, (ptrdiff_t)r);
    if (layout.shown < block->row_count && layout.shown != block->most)
        ulp_text_add(page->out, "  %s... and %zu more%s\n", page->dim,
                     block->row_count - layout.shown, page->off);
}

/* ---- the rest ---- */

static void add_headline(const struct ulp_page *page, const struct ulp_document_block *block)
{
    struct ulp_headline head = {0};
    struct ulp_text *const parts[] = {&head.what, &head.why, &head.todo, &head.beside};
    for (int t = 0; t < 4; t++)
        if (block->text[t + 1])
            ulp_text_show_whole(parts[t], block->text[t + 1]);
    ulp_page_headline(page,
                      block->level == ULP_TILE_BAD    ? page->red
                      : block->level == ULP_TILE_WARN ? page->yellow
                                                      : "",
                      &head);
    ulp_headline_free(page, &head);
}

/* A term, if there is one, and its text, but for a command, which is to be copied, in lines. */
static void add_note(const struct ulp_page *page, const struct ulp_document_block *block)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text term = {0}, text = {0};
    const char *command = strstr(block->text[1], "ulpscope ");
    ulp_text_show(&term, "  %-9s ", block->text[0]);
    if (!*block->text[0])
        term.length = 2;
    ulp_text_show_whole(&text, block->text[1]);
    page->out->failed |= term.failed || text.failed;
    if (page->out->failed)
        return;
    const size_t used = ulp_shown_columns(term.data, term.length);
    ulp_text_put(page->out, term.data, term.length);
    if (command == block->text[1])
        ulp_text_add(page->out, "%s\n", text.data);
    else
        ulp_page_wrapped(page, text.data ? text.data : "", used > 2 ? NOTE_AT : 4, used);
}

void ulp_page_document(const struct ulp_page *page, const char *kind, json_t *root, size_t most)
{
    struct ulp_document document = {0};
    struct ulp_error ignored;  /* memory, which the page's text knows */
    const char *before = NULL; /* the note of the table before */
    page->out->failed |= !root || ulp_document_make(kind, root, &document, &ignored) != ULP_OK;
    static const enum ulp_block_kind order[] = {ULP_BLOCK_HEADLINE, ULP_BLOCK_NOTE,
                                                ULP_BLOCK_TABLE};
    for (size_t o = 0; o < sizeof order / sizeof *order; o++)
        for (size_t b = 0; b < document.block_count; b++) {
            const struct ulp_document_block *block = &document.blocks[b];
            if (block->page || block->kind != order[o])
                continue;
            if (block->kind == ULP_BLOCK_HEADLINE)
                add_headline(page, block);
            else if (block->kind == ULP_BLOCK_NOTE)
                add_note(page, block);
            else {
                add_table(page, block, most, is_said(&document, before, block->text[2]));
                before = block->text[2];
            }
        }
    ulp_document_free(&document);
    json_decref(root);
}

enum ulp_status ulp_document_text(const char *kind, json_t *root, size_t most, int width,
                                  bool colour, char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text = {0};
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    ulp_page_document(&page, kind, root, most);
    return ulp_page_take(&text, ULP_OK, out, error);
}
