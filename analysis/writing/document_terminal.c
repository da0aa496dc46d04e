/* A document's tables on a terminal: see document.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/writing/document.h"

enum { NAME_LEAST = 16, CELL_BYTES = 1024 };

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

static const struct ulp_document_cell *cell_of(const struct ulp_document_block *block, size_t row,
                                               size_t column)
{
    return &block->cells[row * block->column_count + column];
}

static int widen(int width, const char *text)
{
    const int columns = (int)ulp_page_columns(text, strlen(text));
    return columns > width ? columns : width;
}

/* The last that is shown: words there go on in further lines. */
static size_t find_last(const struct ulp_document_block *block)
{
    size_t last = 0;
    for (size_t c = 0; c < block->column_count; c++)
        last = block->columns[c].wide ? last : c;
    return last;
}

/* The columns' widths: what does not fit is taken from those of names. */
static void find_widths(const struct ulp_page *page, const struct ulp_document_block *block,
                        size_t shown, int *widths)
{
    char text[CELL_BYTES];
    const size_t last = find_last(block);
    int all = 0;
    for (size_t c = 0; c < block->column_count; c++) {
        widths[c] = block->columns[c].wide ? 0 : widen(1, block->columns[c].title);
        for (size_t r = 0; r < shown && widths[c]; r++)
            widths[c] =
                widen(widths[c], ulp_document_cell_say(text, sizeof text, &block->columns[c],
                                                       cell_of(block, r, c)));
        if (c == last && !is_number(&block->columns[c]) && widths[c] > NAME_LEAST)
            all += NAME_LEAST + 2;
        else
            all += widths[c] ? widths[c] + 2 : 0;
    }
    for (bool shrunk = page->width > 0; shrunk && all > page->width;) {
        size_t widest = block->column_count;
        for (size_t c = 0; c < block->column_count; c++)
            if (!is_number(&block->columns[c]) && c != last &&
                (widest == block->column_count || widths[c] > widths[widest]))
                widest = c;
        shrunk = widest < block->column_count && widths[widest] > NAME_LEAST;
        if (shrunk) {
            widths[widest]--;
            all--;
        }
    }
}

/* `fill`: columns behind it, or before it where it is a number. */
static void add_padded(struct ulp_text *out, const char *text, bool right, int width)
{
    char cut[CELL_BYTES];
    const char *shown = ulp_show_end(cut, sizeof cut, text, (size_t)width);
    const int fill = width - (int)ulp_page_columns(shown, strlen(shown));
    ulp_text_add(out, "%*s%s%*s", right && fill > 0 ? fill : 0, "", shown,
                 !right && fill > 0 ? fill : 0, "");
}

static void add_row(const struct ulp_page *page, const struct ulp_document_block *block,
                    ptrdiff_t row, const int *widths)
{
    char text[CELL_BYTES];
    const size_t last = find_last(block);
    size_t used = 0;
    for (size_t c = 0; c < block->column_count; c++) {
        const struct ulp_document_column *column = &block->columns[c];
        const struct ulp_document_cell *cell = row < 0 ? NULL : cell_of(block, (size_t)row, c);
        const bool bad = cell && cell->level == ULP_TILE_BAD;
        if (column->wide)
            continue;
        const char *say =
            cell ? ulp_document_cell_say(text, sizeof text, column, cell) : column->title;
        ulp_text_add(page->out, "  %s", bad ? page->red : "");
        used += 2 + (size_t)widths[c];
        if (c == last && !is_number(column))
            ulp_page_wrapped(page, say, used - (size_t)widths[c], used - (size_t)widths[c]);
        else
            add_padded(page->out, say, is_number(column), widths[c]);
        ulp_text_add(page->out, "%s%s", bad ? page->off : "",
                     c == last && is_number(column) ? "\n" : "");
    }
}

static void add_table(const struct ulp_page *page, const struct ulp_document_block *block,
                      size_t most)
{
    const size_t shown = most && block->row_count > most ? most : block->row_count;
    int *widths = calloc(block->column_count + 1, sizeof *widths);
    page->out->failed |= !widths;
    if (!widths)
        return;
    find_widths(page, block, shown, widths);
    ulp_text_show(page->out, "\n%s%s%s\n%s", page->bold, block->text[1], page->off, page->dim);
    if (*block->text[2]) {
        struct ulp_text note = {0};
        ulp_text_show_whole(&note, block->text[2]);
        ulp_text_add(page->out, "  ");
        ulp_page_broken(page, &note, 2, 2);
    }
    add_row(page, block, -1, widths);
    ulp_text_add(page->out, "%s", page->off);
    for (size_t r = 0; r < shown; r++)
        add_row(page, block, (ptrdiff_t)r, widths);
    if (shown < block->row_count)
        ulp_text_add(page->out, "  %s... and %zu more%s\n", page->dim, block->row_count - shown,
                     page->off);
    free(widths);
}

static void add_headline(const struct ulp_page *page, const struct ulp_document_block *block)
{
    struct ulp_headline head = {0};
    struct ulp_text *const parts[] = {&head.what, &head.why, &head.todo};
    for (int t = 0; t < 3; t++)
        if (block->text[t + 1])
            ulp_text_show_whole(parts[t], block->text[t + 1]);
    ulp_page_headline(page, block->level == ULP_TILE_BAD ? page->red : "", &head);
    ulp_headline_free(page, &head);
}

void ulp_page_headlines(const struct ulp_page *page, const char *kind, const json_t *root)
{
    struct ulp_document document;
    struct ulp_error ignored;
    page->out->failed |= ulp_document_make(kind, root, &document, &ignored) != ULP_OK;
    for (size_t b = 0; b < document.block_count; b++)
        if (document.blocks[b].kind == ULP_BLOCK_HEADLINE)
            add_headline(page, &document.blocks[b]);
    ulp_document_free(&document);
}

void ulp_page_tables(const struct ulp_page *page, const char *kind, json_t *root, size_t most)
{
    struct ulp_document document = {0};
    struct ulp_error ignored; /* memory, which the page's text knows */
    if (page->width != ULP_PAGE_PROSE)
        page->out->failed |= !root || ulp_document_make(kind, root, &document, &ignored) != ULP_OK;
    for (size_t b = 0; b < document.block_count; b++)
        if (document.blocks[b].kind == ULP_BLOCK_TABLE && !document.blocks[b].page)
            add_table(page, &document.blocks[b], most);
    ulp_document_free(&document);
    json_decref(root);
}
