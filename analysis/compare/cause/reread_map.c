/* Constants read otherwise, element by element. */
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/cause/reread.h"
#include "base/error.h"
#include "number/function/math.h"

/* A mask adds 0 where a place is seen, and no more than this elsewhere. */
#define MASKED (-1e3)

static size_t last_of(const struct ulp_tensor *tensor)
{
    return tensor->rank ? (size_t)tensor->dims[tensor->rank - 1] : 1;
}

/* Rows whose halves are the same, as cosines of angles that are written twice. */
static bool is_halved(const struct ulp_reread_change *change)
{
    const size_t half = last_of(change->from) / 2;
    bool is = change->from->rank >= 2 && half >= 2 && last_of(change->from) % 2 == 0 &&
              change->from->count > 2 * half;
    for (size_t i = 0; i < change->from->count && is; i++)
        is = ulp_tensor_get(change->from, i) ==
             ulp_tensor_get(change->from, i - i % (2 * half) + (i + half) % (2 * half));
    return is;
}

static double at_paired(const struct ulp_reread_change *change, size_t i)
{
    const size_t last = last_of(change->from);
    return ulp_tensor_get(change->from, i - i % last + i % last / 2);
}

static bool is_paired(const struct ulp_reread_change *change)
{
    bool is =
        change->from->rank >= 2 && last_of(change->from) >= 4 && last_of(change->from) % 2 == 0;
    for (size_t i = 0; i < change->from->count && is; i += 2)
        is = ulp_tensor_get(change->from, i) == ulp_tensor_get(change->from, i + 1);
    return is;
}

static double at_halved(const struct ulp_reread_change *change, size_t i)
{
    const size_t last = last_of(change->from);
    return ulp_tensor_get(change->from, i - i % last + 2 * (i % last) % last);
}

static bool is_mask(const struct ulp_reread_change *change)
{
    bool is = change->from->rank >= 2 && last_of(change->from) > 2, seen = false, hidden = false;
    for (size_t i = 0; i < change->from->count && is; i++) {
        const double x = ulp_tensor_get(change->from, i);
        const bool boolean = change->from->type == ULP_TYPE_BOOL;
        seen |= boolean ? x != 0 : x == 0;
        hidden |= boolean ? x == 0 : x <= MASKED;
        is = boolean || x == 0 || x <= MASKED;
    }
    return is && seen && hidden;
}

static double at_wider(const struct ulp_reread_change *change, size_t i)
{
    const bool last = i % last_of(change->from) + 1 == last_of(change->from);
    return ulp_math_max(ulp_tensor_get(change->from, i),
                        ulp_tensor_get(change->from, last ? i : i + 1));
}

static double at_narrower(const struct ulp_reread_change *change, size_t i)
{
    return ulp_math_min(ulp_tensor_get(change->from, i),
                        ulp_tensor_get(change->from, i % last_of(change->from) ? i - 1 : i));
}

static bool has_other(const struct ulp_reread_change *change)
{
    bool has = false;
    for (size_t i = 1; i < change->from->count && !has; i++)
        has = ulp_tensor_get(change->from, i) != ulp_tensor_get(change->from, 0);
    return has;
}

static double at_first(const struct ulp_reread_change *change, size_t i)
{
    (void)i;
    return ulp_tensor_get(change->from, 0);
}

static bool is_counted(const struct ulp_reread_change *change)
{
    return !ulp_type_is_float(change->from->type) && change->from->type != ULP_TYPE_BOOL;
}

static double at_next(const struct ulp_reread_change *change, size_t i)
{
    return ulp_tensor_get(change->from, i) + 1;
}

static double at_previous(const struct ulp_reread_change *change, size_t i)
{
    return ulp_tensor_get(change->from, i) - 1;
}

static bool has_value(const struct ulp_reread_change *change)
{
    return has_other(change) || (change->from->count && ulp_tensor_get(change->from, 0) != 0);
}

static double at_zero(const struct ulp_reread_change *change, size_t i)
{
    (void)change;
    (void)i;
    return 0;
}

static bool is_number(const struct ulp_reread_change *change)
{
    return change->from->count == 1 &&
           ulp_tensor_get(change->from, 0) != strtod(change->text, NULL);
}

static double at_value(const struct ulp_reread_change *change, size_t i)
{
    return *change->text == 'n' ? (double)(i % last_of(change->from)) : strtod(change->text, NULL);
}

static bool is_own(const struct ulp_reread_change *change)
{
    return change->reread->number != 0 && change->from->count == 1 &&
           ulp_tensor_get(change->from, 0) == change->reread->own;
}

static double at_number(const struct ulp_reread_change *change, size_t i)
{
    (void)i;
    return change->reread->number;
}

/* Rows of two halves that differ, as cosines of angles along two axes. */
static bool has_halves(const struct ulp_reread_change *change)
{
    return change->from->rank >= 2 && last_of(change->from) >= 4 &&
           last_of(change->from) % 2 == 0 && !is_halved(change);
}

static double at_front(const struct ulp_reread_change *change, size_t i)
{
    const size_t last = last_of(change->from);
    return ulp_tensor_get(change->from, i - i % last + i % (last / 2));
}

static double at_back(const struct ulp_reread_change *change, size_t i)
{
    const size_t last = last_of(change->from);
    return ulp_tensor_get(change->from, i - i % last + last / 2 + i % (last / 2));
}

static bool is_computed(const struct ulp_reread_change *change)
{
    return change->from->count > 1 &&
           ulp_is_word(ulp_type_name(change->from->type), "INT64 INT32") &&
           !ulp_reread_constant(change->reread, ulp_reread_at(change), change->input);
}

/* Blocks along axis 1 in another order: as many as the order has digits, in a bias twice. */
static size_t block_of(const struct ulp_reread_change *change)
{
    return (size_t)ulp_node_int(ulp_reread_at(change), "hidden_size", 0);
}

static bool has_gates(const struct ulp_reread_change *change)
{
    return change->from->rank > 1 && block_of(change) &&
           (size_t)change->from->dims[1] % (strlen(change->text) * block_of(change)) == 0;
}

static double at_gates(const struct ulp_reread_change *change, size_t i)
{
    const size_t each = change->from->rank > 2 ? (size_t)change->from->dims[2] : 1,
                 row = i / each % (size_t)change->from->dims[1],
                 gate = row / block_of(change) % strlen(change->text),
                 other = (size_t)(change->text[gate] - '0');
    return ulp_tensor_get(change->from, i + (other - gate) * block_of(change) * each);
}

static bool is_code(const struct ulp_reread_change *change)
{
    return change->from->type == ULP_TYPE_INT8 || change->from->type == ULP_TYPE_UINT8;
}

/* The same bits in the type of the other sign. */
static double at_retyped(const struct ulp_reread_change *change, size_t i)
{
    const double x = ulp_tensor_get(change->from, i);
    return x + (x < 0 ? 256 : change->from->type == ULP_TYPE_UINT8 && x > 127 ? -256 : 0);
}

static const struct map {
    const char *word;
    bool (*fits)(const struct ulp_reread_change *change);
    double (*at)(const struct ulp_reread_change *change, size_t i);
} maps[] = {{"@next", is_counted, at_next},      {"@previous", is_counted, at_previous},
            {"@paired", is_halved, at_paired},   {"@halved", is_paired, at_halved},
            {"@wider", is_mask, at_wider},       {"@narrower", is_mask, at_narrower},
            {"@first", has_other, at_first},     {"@zero", has_value, at_zero},
            {"@value", is_number, at_value},     {"@gates", has_gates, at_gates},
            {"@numbers", is_computed, at_value}, {"@retyped", is_code, at_retyped},
            {"@fitted", is_own, at_number},      {"@front", has_halves, at_front},
            {"@back", has_halves, at_back}};

enum ulp_status ulp_reread_map(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    struct ulp_node *node = ulp_reread_at(change);
    const struct ulp_tensor *from = ulp_reread_constant(reread, node, change->input);
    const struct map *map = maps;
    struct ulp_tensor like = {0}, to;
    double *numbers;
    while (strcmp(map->word, change->word) != 0)
        map++;
    if (map->fits == is_computed)
        from = ulp_reread_shape(reread, node, (int)change->input);
    change->from = from;
    if (!from || (!from->data && map->fits != is_computed) || !map->fits(change))
        return ULP_OK;
    like.type = map->at != at_retyped         ? from->type
                : from->type == ULP_TYPE_INT8 ? ULP_TYPE_UINT8
                                              : ULP_TYPE_INT8;
    ULP_TRY(ulp_reread_make_constant(reread, &like, from->rank, from->dims, &to, &numbers, error));
    for (size_t i = 0; i < to.count; i++)
        numbers[i] = map->at(change, i);
    change->changed = true;
    return ulp_reread_fill_constant(reread, node, change->input, &to, numbers, error);
}
