/* A document as Markdown: see document.h. */
#include <string.h>

#include "analysis/writing/document.h"
#include "base/text/shown.h"

enum { ROWS_SHOWN = 20, CELL_BYTES = 1024 };

/* Nothing in the text is Markdown's or HTML's, and no line ends. */
static void add_words(struct ulp_text *out, const char *text)
{
    ulp_text_show_marked(out, text, "\\`*_{}[]<>|#~&", '\\');
}

/* As code: between more of its marks than stand together in it. */
static void add_code(struct ulp_text *out, const char *text)
{
    size_t run = 0, longest = 0;
    ULP_SCOPED(ulp_text_free) struct ulp_text shown = {0};
    struct ulp_shown character;
    for (const char *end = text + strlen(text); text < end;) {
        text = ulp_show_character(&character, text, end);
        run = *character.text == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
        ulp_text_add(&shown, strcmp(character.text, "|") == 0 ? "\\|" : "%s", character.text);
    }
    const char *space = longest || !shown.length ? " " : "";
    for (int side = 0; side < 2; side++) {
        ulp_text_add(out, "%s", side ? space : "");
        for (size_t i = 0; i < longest + 1; i++)
            ulp_text_put(out, "`", 1);
        ulp_text_add(out, "%s%s", side ? "" : space, side || !shown.data ? "" : shown.data);
    }
    out->failed |= shown.failed;
}

static void add_headline(struct ulp_text *out, const struct ulp_document_block *block)
{
    static const char *const marks[] = {"", "✓ ", "! ", "✕ "};
    ulp_text_add(out, "**%s", marks[block->level]);
    add_words(out, block->text[1] ? block->text[1] : "");
    ulp_text_add(out, "**\n\n");
    for (int t = 4; t >= 2; t -= 2)
        if (block->text[t] && *block->text[t]) {
            ulp_text_add(out, t == 2 ? "Why: " : "");
            add_words(out, block->text[t]);
            ulp_text_add(out, "\n\n");
        }
    if (!block->text[3] || !*block->text[3])
        return;
    ulp_text_add(out, "Do: ");
    if (ulp_text_is_command(block->text[3]))
        add_code(out, block->text[3]);
    else
        add_words(out, block->text[3]);
    ulp_text_add(out, "\n\n");
}

static void add_cell(struct ulp_text *out, const struct ulp_document_column *column,
                     const struct ulp_document_cell *cell)
{
    char text[CELL_BYTES];
    const char *shown = ulp_document_cell_say(text, sizeof text, column, cell);
    const bool bad = cell->level == ULP_TILE_BAD;
    ulp_text_add(out, "| %s", bad ? "**" : "");
    if (cell->text && *cell->text && (column->as == ULP_AS_NAME || column->as == ULP_AS_NODE))
        add_code(out, cell->text);
    else
        add_words(out, shown);
    ulp_text_add(out, "%s ", bad ? "**" : "");
}

static void add_table(struct ulp_text *out, const struct ulp_document_block *block)
{
    const size_t columns = block->column_count,
                 shown = block->row_count > ROWS_SHOWN ? ROWS_SHOWN : block->row_count;
    ulp_text_add(out, "<details><summary>");
    add_words(out, block->text[1]);
    ulp_text_add(out, "</summary>\n\n");
    for (size_t c = 0; c < columns; c++)
        ulp_text_add(out, "| %s ", block->columns[c].title);
    ulp_text_add(out, "|\n");
    for (size_t c = 0; c < columns; c++)
        ulp_text_add(out, block->columns[c].as > ULP_AS_NODE ? "|--:" : "|---");
    ulp_text_add(out, "|\n");
    for (size_t r = 0; r < shown; r++) {
        for (size_t c = 0; c < columns; c++)
            add_cell(out, &block->columns[c], &block->cells[r * columns + c]);
        ulp_text_add(out, "|\n");
    }
    if (shown < block->row_count)
        ulp_text_add(out, "\n... and %zu more\n", block->row_count - shown);
    ulp_text_add(out, "\n</details>\n\n");
}

void ulp_document_markdown(const struct ulp_document *document, struct ulp_text *out)
{
    for (size_t b = 0; b < document->block_count; b++)
        if (document->blocks[b].kind == ULP_BLOCK_HEADLINE)
            add_headline(out, &document->blocks[b]);
        else if (document->blocks[b].kind == ULP_BLOCK_TABLE)
            add_table(out, &document->blocks[b]);
}
