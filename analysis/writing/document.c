/* A document made of a result's JSON by the rows of document.def: see document.h. */
#include "analysis/writing/document_making.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- the rows ---- */

static const struct row rows[] = {
#define KIND(...) {ROW_KIND, {__VA_ARGS__}, 0, 0, 0, false},
#define LEVEL(condition, level) {ROW_LEVEL, {condition}, ULP_TILE_##level, 0, 0, false},
#define TABLE(...) {ROW_TABLE, {__VA_ARGS__}, 0, 0, 0, false},
#define SORT(path) {ROW_SORT, {path}, 0, 0, 0, false},
#define SORT_WORST(path) {ROW_SORT_WORST, {path}, 0, 0, 0, false},
#define SORT_LEAST(path) {ROW_SORT_LEAST, {path}, 0, 0, 0, false},
#define PAGE() {ROW_PAGE, {""}, 0, 0, 0, false},
#define MOST(count) {ROW_MOST, {""}, (count), 0, 0, false},
#define LISTED() {ROW_LISTED, {""}, 0, 0, 0, false},
#define WHERE(condition) {ROW_WHERE, {condition}, 0, 0, 0, false},
#define GROUP(path) {ROW_GROUP, {path}, 0, 0, 0, false},
#define COLUMN(title, path, as, rule, wide) \
    {ROW_COLUMN, {title, path}, 0, ULP_AS_##as, RULE_##rule, wide},
#define MARK(...) {ROW_MARK, {__VA_ARGS__}, 0, 0, 0, false},
#define CURVE(...) {ROW_CURVE, {__VA_ARGS__}, 0, 0, 0, false},
#define LINE(...) {ROW_LINE, {__VA_ARGS__}, 0, 0, 0, false},
#define NOTE(...) {ROW_NOTE, {__VA_ARGS__}, 0, 0, 0, false},
#define HOW(...) {ROW_HOW, {__VA_ARGS__}, 0, 0, 0, false},
#include "analysis/writing/document.def"
    {ROW_END, {0}, 0, 0, 0, false}};

static enum ulp_tile_level judge(int rule, const struct ulp_document_cell *cell)
{
    switch (rule) {
    case RULE_FLAG:
    case RULE_WORD: return ulp_level_of_word(cell->text);
    case RULE_OVER: return cell->number > 1 ? ULP_TILE_BAD : ULP_TILE_PLAIN;
    case RULE_ANY: return cell->number > 0 ? ULP_TILE_BAD : ULP_TILE_PLAIN;
    case RULE_BAD: return cell->text && *cell->text ? ULP_TILE_BAD : ULP_TILE_PLAIN;
    case RULE_GAIN: return cell->number > 0.5 ? ULP_TILE_GOOD : ULP_TILE_PLAIN;
    default: return ULP_TILE_PLAIN;
    }
}

/* ---- blocks ---- */

static struct ulp_document_block *add_block(struct making *making, enum ulp_block_kind kind)
{
    struct ulp_document *document = making->document;
    if (document->block_count == document->room) {
        const size_t room = 2 * document->room + 16;
        struct ulp_document_block *grown = realloc(document->blocks, room * sizeof *grown);
        making->status = ulp_taken(grown, making->error);
        if (!grown)
            return NULL;
        document->blocks = grown;
        document->room = room;
    }
    struct ulp_document_block *block = &document->blocks[document->block_count++];
    *block = (struct ulp_document_block){.kind = kind};
    return block;
}

static const char *keep_text(struct making *making, const struct ulp_text *text)
{
    const char *copy = text->failed ? NULL
                                    : ulp_arena_text(making->document->memory,
                                                     text->data ? text->data : "", text->length);
    if (!copy)
        making->status = ulp_out_of_memory(making->error);
    return copy;
}

/* ---- tables ---- */

static struct ulp_document_cell make_cell(const struct row *column,
                                          const struct ulp_json_place *place)
{
    const char *path = column->text[1];
    struct ulp_document_cell cell = {ulp_json_text_at(place, path), ulp_json_number_at(place, path),
                                     ULP_TILE_PLAIN, -1};
    if (column->as == ULP_AS_NODE) {
        const char *own = path + (*path == '^');
        const bool same = ulp_is_word(own, "name node index"); /* of the row */
        const double number =
            same ? ulp_json_number_at(place, *path == '^' ? "^index" : "index") : (double)NAN;
        cell.node = number >= 0 ? (ptrdiff_t)number : -1;
    } else if (column->as < ULP_AS_NODE && !cell.text && isnan(cell.number)) {
        cell.text = "";
    } else if (column->as > ULP_AS_NODE) {
        cell.text = NULL;
    }
    if (cell.text && strcmp(cell.text, "UNDEFINED") == 0)
        cell.text = "-"; /* a type that is not told */
    if (column->rule == RULE_FLAG && !ulp_json_text_at(place, path))
        cell.text = "no"; /* JSON has those that are set */
    cell.level = judge(column->rule, &cell);
    return cell;
}

/* The block of those rows; columns that no row has anything in are left out. */
static enum ulp_status fill_table(struct making *making, const struct row *table,
                                  const struct ulp_json_place *of,
                                  const struct ulp_json_place *items, size_t count)
{
    struct ulp_arena *memory = making->document->memory;
    const struct row *end = ulp_find_behind(table);
    struct ulp_document_block *block = add_block(making, ULP_BLOCK_TABLE);
    const struct row *used[32];
    ULP_TRY(making->status);
    const char *title = ulp_expand(making, of, table->text[3], ", "),
               *note = ulp_expand(making, of, table->text[4], ", ");
    block->text[0] = table->text[2];
    block->text[1] = title && *title ? title : table->text[2];
    block->text[2] = note ? note : "";
    for (const struct row *row = table + 1; row < end; row++) {
        bool any = false;
        block->page |= row->kind == ROW_PAGE;
        block->listed |= row->kind == ROW_LISTED;
        block->most = row->kind == ROW_MOST ? (size_t)row->level : block->most;
        for (size_t r = 0; r < count && !any && row->kind == ROW_COLUMN; r++) {
            const struct ulp_document_cell cell = make_cell(row, &items[r]);
            any = (cell.text && *cell.text) || cell.node >= 0 ||
                  (row->as == ULP_AS_SHARE ? cell.number != 0 && !isnan(cell.number)
                                           : !isnan(cell.number));
        }
        if (any && block->column_count < sizeof used / sizeof *used)
            used[block->column_count++] = row;
    }
    ULP_TAKE(block->columns, memory, block->column_count + 1, making->error);
    ULP_TAKE(block->cells, memory, count * block->column_count + 1, making->error);
    for (size_t c = 0; c < block->column_count; c++)
        block->columns[c] =
            (struct ulp_document_column){used[c]->text[0], (enum ulp_cell_as)used[c]->as,
                                         used[c]->wide};
    block->row_count = count;
    for (size_t r = 0; r < count; r++)
        for (size_t c = 0; c < block->column_count; c++)
            block->cells[r * block->column_count + c] = make_cell(used[c], &items[r]);
    return making->status;
}

/* The end of the rows that have the text of the first of them. */
static size_t find_group(const struct places *places, size_t first, const char *path)
{
    const char *word = path ? ulp_json_text_at(&places->items[first], path) : NULL;
    size_t end = first + 1;
    for (; end < places->count; end++) {
        const char *other = path ? ulp_json_text_at(&places->items[end], path) : NULL;
        if (path && (!word || !other || strcmp(word, other) != 0))
            break;
    }
    return end;
}

static enum ulp_status add_table(struct making *making, const struct row *table,
                                 const struct ulp_json_place *of)
{
    const struct row *end = ulp_find_behind(table);
    const char *group = NULL;
    for (const struct row *row = table + 1; row < end; row++)
        group = row->kind == ROW_GROUP ? row->text[0] : group;
    ULP_SCOPED(ulp_free_places)
    struct places places = ulp_list_places(making, of, table->text[1], table);
    ULP_TRY(making->status);
    ULP_TRY(ulp_sort_places(table, &places, making->error));
    for (size_t p = 0, next; p < places.count; p = next) {
        next = find_group(&places, p, group);
        ULP_TRY(
            fill_table(making, table, group ? &places.items[p] : of, &places.items[p], next - p));
    }
    return ULP_OK;
}

/* ---- pictures: rows of two cells ---- */

static enum ulp_status fill_pairs(struct making *making, struct ulp_document_block *block,
                                  const struct ulp_json_place *of, const char *list,
                                  const char *first, const char *second)
{
    ULP_SCOPED(ulp_free_places) struct places places = ulp_list_places(making, of, list, NULL);
    ULP_TRY(making->status);
    ULP_TAKE(block->cells, making->document->memory, 2 * places.count + 1, making->error);
    block->column_count = 2;
    block->row_count = places.count;
    for (size_t p = 0; p < places.count; p++) {
        const char *const paths[] = {first, second};
        for (int c = 0; c < 2; c++)
            block->cells[2 * p + (size_t)c] =
                (struct ulp_document_cell){ulp_json_text_at(&places.items[p], paths[c]),
                                           ulp_json_number_at(&places.items[p], paths[c]),
                                           ULP_TILE_PLAIN, -1};
        if (block->kind == ULP_BLOCK_MARK && strcmp(block->text[4], "yes|no") == 0 &&
            !block->cells[2 * p + 1].text)
            block->cells[2 * p + 1].text = "no";
    }
    return ULP_OK;
}

static enum ulp_status add_mark(struct making *making, const struct row *row,
                                const struct ulp_json_place *of)
{
    struct ulp_document_block *block = add_block(making, ULP_BLOCK_MARK);
    ULP_TRY(making->status);
    const char *lane = ulp_json_text_at(of, making->kind->text[3]),
               *hint = ulp_expand(making, of, row->text[8], ", ");
    const char *const texts[] = {*row->text[0] ? lane : NULL,
                                 row->text[1],
                                 row->text[2],
                                 hint ? hint : "",
                                 row->text[6],
                                 row->text[7]};
    memcpy(block->text, texts, sizeof texts);
    return fill_pairs(making, block, of, row->text[3], row->text[4], row->text[5]);
}

static enum ulp_status add_curve(struct making *making, const struct row *row,
                                 const struct ulp_json_place *of)
{
    const bool line = row->kind == ROW_LINE;
    struct ulp_document_block *block = add_block(making, line ? ULP_BLOCK_LINE : ULP_BLOCK_CURVE);
    ULP_TRY(making->status);
    for (int t = 0; t < (line ? 1 : 3); t++)
        block->text[t] = ulp_expand(making, of, row->text[t], ", ");
    return line ? fill_pairs(making, block, of, row->text[1], row->text[2], row->text[3]) : ULP_OK;
}

static enum ulp_status add_how(struct making *making, const struct row *row,
                               const struct ulp_json_place *of)
{
    const char *term = ulp_expand(making, of, row->text[1], ", "),
               *text = ulp_expand(making, of, row->text[2],
                                  row->kind == ROW_NOTE || strchr(row->text[2], ' ') ? ", " : "\n");
    if (!term || !text || !*text || making->status != ULP_OK)
        return making->status;
    struct ulp_document_block *block =
        add_block(making, row->kind == ROW_NOTE ? ULP_BLOCK_NOTE : ULP_BLOCK_HOW);
    ULP_TRY(making->status);
    block->text[0] = term;
    block->text[1] = text;
    return ULP_OK;
}

/* ---- headlines ---- */

static enum ulp_tile_level find_level(const struct row *kind, const struct ulp_json_place *place)
{
    const struct row *end = ulp_find_behind(kind);
    for (const struct row *row = kind + 1; row < end; row++)
        if (row->kind == ROW_LEVEL && (!*row->text[0] || ulp_json_holds(place, row->text[0])))
            return (enum ulp_tile_level)row->level;
    return ULP_TILE_PLAIN;
}

/* A report that was saved before it had the three has its verdict. */
static enum ulp_status add_headline(struct making *making, const struct ulp_json_place *place)
{
    static const char *const members[] = {"", "headline", "why", "do", "beside"};
    struct ulp_document_block *block = add_block(making, ULP_BLOCK_HEADLINE);
    ULP_TRY(making->status);
    block->level = find_level(making->kind, place);
    block->tiles = json_object_get(place->value, "tiles");
    if (!block->tiles && place->up && making->document->block_count == 1)
        block->tiles = json_object_get(place->up->value, "tiles"); /* of all headlines */
    if (*making->kind->text[3])
        block->text[0] = ulp_json_text_at(place, making->kind->text[3]);
    for (int t = 1; t < 5; t++)
        block->text[t] = ulp_json_text_at(place, members[t]);
    if (block->text[2])
        return ULP_OK;
    block->text[1] = ulp_expand(making, place, "{verdict}", "");
    if (block->text[0] && block->text[1]) {
        ULP_SCOPED(ulp_text_free) struct ulp_text named = {0};
        ulp_text_add(&named, "%s: %s", block->text[0], block->text[1]);
        block->text[1] = keep_text(making, &named);
    }
    return making->status;
}

/* ---- the document ---- */

/* The row, for each element of the list that it is of. */
static enum ulp_status add_row(struct making *making, const struct row *row,
                               const struct ulp_json_place *root)
{
    const char *each = row->kind == ROW_KIND ? row->text[2] : row->text[0];
    if (row->kind == ROW_LINE || row->kind == ROW_CURVE)
        each = "";
    ULP_SCOPED(ulp_free_places) struct places places = ulp_list_places(making, root, each, NULL);
    ULP_TRY(making->status);
    for (size_t p = 0; p < places.count; p++)
        switch (row->kind) {
        case ROW_KIND: ULP_TRY(add_headline(making, &places.items[p])); break;
        case ROW_TABLE: ULP_TRY(add_table(making, row, &places.items[p])); break;
        case ROW_MARK: ULP_TRY(add_mark(making, row, &places.items[p])); break;
        case ROW_CURVE:
        case ROW_LINE: ULP_TRY(add_curve(making, row, &places.items[p])); break;
        default: ULP_TRY(add_how(making, row, &places.items[p])); break;
        }
    return ULP_OK;
}

static enum ulp_status make_blocks(struct making *making, const json_t *root)
{
    const struct ulp_json_place place = {root, NULL};
    const struct row *end = ulp_find_behind(making->kind);
    for (const struct row *row = making->kind; row < end; row++)
        if (row->kind == ROW_KIND || row->kind == ROW_TABLE || row->kind >= ROW_MARK)
            ULP_TRY(add_row(making, row, &place));
    return ULP_OK;
}

enum ulp_status ulp_document_make(const char *kind, const json_t *root, struct ulp_document *out,
                                  struct ulp_error *error)
{
    const struct ulp_json_place place = {root, NULL};
    const struct row *row = rows;
    while (row->kind != ROW_KIND || strcmp(row->text[0], kind) != 0)
        row++;
    struct making making = {out, row, error, ULP_OK};
    *out = (struct ulp_document){.title = row->text[1]};
    if (!(out->model = ulp_json_text_at(&place, "model_path")) &&
        !(out->model = ulp_json_text_at(&place, "model")))
        out->model = "";
    ULP_TRY(ulp_arena_create(&out->memory, NULL, error));
    const enum ulp_status status = make_blocks(&making, root);
    if (status != ULP_OK)
        ulp_document_free(out);
    return status;
}

const char *ulp_document_kind(const json_t *root)
{
    const char *kind = NULL;
    for (const struct row *row = rows; row->kind != ROW_END; row++)
        if (row->kind == ROW_KIND && json_object_get(root, row->text[4]))
            kind = row->text[0];
    return kind;
}

void ulp_document_free(struct ulp_document *document)
{
    ulp_arena_free(document->memory);
    free(document->blocks);
    *document = (struct ulp_document){0};
}
