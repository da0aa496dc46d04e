/* A document as the page's script reads it: see document.h. */
#include "analysis/writing/document.h"
#include "analysis/writing/json_value.h"

static json_t *make_page_cell(const struct ulp_document_cell *cell)
{
    json_t *value = cell->text ? ulp_json_text(cell->text) : ulp_json_number(cell->number);
    if (cell->level == ULP_TILE_PLAIN && cell->node < 0)
        return value;
    json_t *list = json_array();
    ulp_json_append(&list, value);
    ulp_json_append(&list, json_string(ulp_tile_level_name(cell->level)));
    ulp_json_append(&list, json_integer(cell->node));
    return list;
}

static json_t *make_page_rows(const struct ulp_document_block *block)
{
    json_t *list = json_array();
    for (size_t r = 0; r < block->row_count; r++) {
        json_t *row = json_array();
        for (size_t c = 0; c < block->column_count; c++)
            ulp_json_append(&row, make_page_cell(&block->cells[r * block->column_count + c]));
        ulp_json_append(&list, row);
    }
    return list;
}

static json_t *make_page_block(const struct ulp_document_block *block)
{
    static const char *const kinds[] = {"headline", "table", "mark", "curve",
                                        "line",     "note",  "how"},
                             *const as[] = {"text",   "name",   "node", "whole",
                                            "figure", "tenths", "share"};
    json_t *texts = json_array(), *columns = json_array();
    for (size_t t = 0; t < sizeof block->text / sizeof *block->text; t++)
        ulp_json_append(&texts, block->text[t] ? ulp_json_text(block->text[t]) : json_null());
    for (size_t c = 0; block->columns && c < block->column_count; c++)
        ulp_json_append(&columns,
                        ulp_json_object("title", json_string(block->columns[c].title), "as",
                                        json_string(as[block->columns[c].as]), NULL));
    return ulp_json_object("kind", json_string(kinds[block->kind]), "level",
                           json_string(ulp_tile_level_name(block->level)), "text", texts, "tiles",
                           block->tiles ? json_incref((json_t *)(uintptr_t)block->tiles)
                                        : json_array(),
                           "columns", columns, "rows", make_page_rows(block), NULL);
}

json_t *ulp_document_page(const struct ulp_document *document)
{
    json_t *blocks = json_array();
    for (size_t b = 0; b < document->block_count; b++)
        if (!document->blocks[b].listed)
            ulp_json_append(&blocks, make_page_block(&document->blocks[b]));
    return ulp_json_object("title", json_string(document->title), "model",
                           ulp_json_text(document->model), "blocks", blocks, NULL);
}
