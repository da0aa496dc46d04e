/* The rows of a document's tables: which places in JSON they are, and their order. */
#include "analysis/writing/document_making.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The first row behind this one that is not of its part: a table's columns, a kind's tables. */
const struct row *ulp_find_behind(const struct row *row)
{
    const bool kind = row->kind == ROW_KIND;
    for (row++; row->kind != ROW_END && row->kind != ROW_KIND; row++)
        if (!kind && (row->kind < ROW_SORT || row->kind > ROW_COLUMN))
            break;
    return row;
}

enum ulp_tile_level ulp_level_of_word(const char *word)
{
    static const struct {
        const char *word;
        enum ulp_tile_level level;
    } words[] = {{"fine", ULP_TILE_GOOD},
                 {"yes", ULP_TILE_GOOD},
                 {"proven", ULP_TILE_GOOD},
                 {"better", ULP_TILE_GOOD},
                 {"obeyed", ULP_TILE_GOOD},
                 {"borderline", ULP_TILE_WARN},
                 {"conditional", ULP_TILE_WARN},
                 {"within 1 bit", ULP_TILE_WARN},
                 {"broken", ULP_TILE_BAD},
                 {"no", ULP_TILE_BAD},
                 {"not proven", ULP_TILE_BAD},
                 {"worse", ULP_TILE_BAD},
                 {"not obeyed", ULP_TILE_BAD},
                 {"partly", ULP_TILE_BAD},
                 {"overflows", ULP_TILE_BAD},
                 {"spoils", ULP_TILE_BAD},
                 {"lost", ULP_TILE_BAD},
                 {"taken", ULP_TILE_WARN},
                 {"inside", ULP_TILE_WARN},
                 {"reaches output", ULP_TILE_BAD},
                 {"poisons outputs", ULP_TILE_BAD},
                 {"makes results wrong", ULP_TILE_BAD},
                 {"matches nothing", ULP_TILE_BAD}};
    for (size_t w = 0; word && w < sizeof words / sizeof *words; w++)
        if (strcmp(words[w].word, word) == 0)
            return words[w].level;
    return ULP_TILE_PLAIN;
}

/* ---- lists ---- */

const char *ulp_expand(struct making *making, const struct ulp_json_place *place, const char *text,
                       const char *between)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text out = {0};
    const bool all = ulp_json_expand(&out, place, text, between);
    char *copy = ulp_text_keep(&out, making->document->memory);
    if (!copy)
        making->status = ulp_out_of_memory(making->error);
    return all ? copy : NULL;
}

/* The place with those above it, which the visit keeps only while it is there. */
static const struct ulp_json_place *keep_up(struct places *places,
                                            const struct ulp_json_place *place)
{
    const struct ulp_json_place *last = places->count ? &places->items[places->count - 1] : NULL;
    if (!place)
        return NULL;
    if (last && last->up && last->up->value == place->value)
        return last->up; /* rows of one list have it in common */
    struct ulp_json_place *copy = ulp_arena_take(places->making->document->memory, 1, sizeof *copy);
    if (copy)
        *copy = (struct ulp_json_place){place->value, keep_up(places, place->up)};
    return copy;
}

static bool take_place(const struct ulp_json_place *place, void *context)
{
    struct places *places = context;
    struct making *making = places->making;
    for (size_t c = 0; c < places->condition_count; c++)
        if (!ulp_json_holds(place, places->conditions[c]))
            return true;
    if (places->count == places->room) {
        const size_t room = 2 * places->room + 64;
        struct ulp_json_place *grown = realloc(places->items, room * sizeof *grown);
        if (!grown) {
            making->status = ulp_out_of_memory(making->error);
            return false;
        }
        places->items = grown;
        places->room = room;
    }
    const struct ulp_json_place *up = keep_up(places, place->up);
    if (place->up && !up)
        making->status = ulp_out_of_memory(making->error);
    places->items[places->count++] = (struct ulp_json_place){place->value, up};
    return making->status == ULP_OK;
}

void ulp_free_places(struct places *places)
{
    free(places->items);
}

struct places ulp_list_places(struct making *making, const struct ulp_json_place *from,
                              const char *path, const struct row *table)
{
    struct places places = {.making = making};
    const struct row *end = table ? ulp_find_behind(table) : NULL;
    for (const struct row *row = table ? table + 1 : NULL; row != end; row++)
        if (row->kind == ROW_WHERE && places.condition_count < CONDITIONS)
            places.conditions[places.condition_count++] =
                ulp_expand(making, from, row->text[0], ", ");
    if (making->status == ULP_OK)
        ulp_json_visit(from, path, take_place, &places);
    return places;
}

/* ---- order ---- */

enum { SORTS = 3 }; /* of a table */
struct keyed {
    struct ulp_json_place place;
    double key[SORTS];
    size_t at;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    for (int k = 0; k < SORTS; k++)
        if (x->key[k] != y->key[k])
            return x->key[k] > y->key[k] ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static double find_key(const struct row *sort, const struct ulp_json_place *place)
{
    static const char *const severities[] = {"note", "warning", "error"};
    const char *word = ulp_json_text_at(place, sort->text[0]);
    const double number = ulp_json_number_at(place, sort->text[0]);
    for (int s = 0; word && s < 3; s++)
        if (strcmp(severities[s], word) == 0)
            return s;
    if (sort->kind == ROW_SORT_WORST)
        return ulp_level_of_word(word) == ULP_TILE_BAD    ? 2
               : ulp_level_of_word(word) == ULP_TILE_WARN ? 1
                                                          : 0;
    return isnan(number) ? INFINITY : sort->kind == ROW_SORT_LEAST ? -number : fabs(number);
}

/* By the SORT rows of the table. */
enum ulp_status ulp_sort_places(const struct row *table, struct places *places,
                                struct ulp_error *error)
{
    const struct row *sorts[SORTS], *end = ulp_find_behind(table);
    size_t count = 0;
    for (const struct row *row = table + 1; row < end; row++)
        if (row->kind >= ROW_SORT && row->kind <= ROW_SORT_LEAST && count < SORTS)
            sorts[count++] = row;
    if (!count || !places->count)
        return ULP_OK;
    ULP_SCOPED(ulp_scoped_free) struct keyed *keyed = calloc(places->count, sizeof *keyed);
    ULP_TRY(ulp_taken(keyed, error));
    for (size_t p = 0; p < places->count; p++) {
        keyed[p] = (struct keyed){.place = places->items[p], .at = p};
        for (size_t s = 0; s < count; s++)
            keyed[p].key[s] = find_key(sorts[s], &places->items[p]);
    }
    qsort(keyed, places->count, sizeof *keyed, compare_keyed);
    for (size_t p = 0; p < places->count; p++)
        places->items[p] = keyed[p].place;
    return ULP_OK;
}
