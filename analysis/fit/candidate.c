/* The candidates: every combination of the rows below that an arithmetic can be. */
#include <stdio.h>
#include <string.h>

#include "analysis/fit/fit.h"
#include "analysis/schedule/slices.h"
#include "base/error.h"
#include "base/text/text.h"

/* How the factors are rounded to the operands' format; the default first. */
static const char *const roundings[] = {"rne", "rna", "rz"};
/* How the result is. */
static const char *const result_roundings[] = {"rne", "rz"};
/* Scalar chains. */
static const char *const orders[] = {"sequential", "pairwise"};
/* Products whose sum is formed by itself in a sequential chain; 0: there is no such block. */
static const uint16_t blocks[] = {0, 2, 4, 8, 16, 32, 64, 128, 256, 512};
static const char *const steps[] = {"fma", "nofma"};
static const char *const chain_accumulators[] = {"fp32", "fp64", "fp16", "bf16"};
/* Products after which the sum of a unit is added to one in FP32; 0: never. */
static const uint16_t promotions[] = {0, 32, 64, 128, 256, 512, 1024, 2048};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- bases ---- */

/* Add the arithmetic of that name. One that does not exist, or that is there already under another
 * spelling, is no candidate. */
static enum ulp_status add_base(struct ulp_fit_ways *ways, size_t case_index,
                                const struct ulp_unit *unit, const char *name,
                                struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    if (ulp_arithmetic_find(name, &arithmetic, NULL) != ULP_OK)
        return ULP_OK;
    for (size_t i = 0; i < ways->base_count; i++)
        if (ways->bases[i].case_index == case_index &&
            strcmp(ways->bases[i].arithmetic.name, arithmetic.name) == 0)
            return ULP_OK;
    ULP_TRY(ulp_grow(&ways->bases, ways->base_count, &ways->base_capacity, sizeof *ways->bases,
                     NULL, "candidates", error));
    ways->bases[ways->base_count++] =
        (struct ulp_fit_base){.arithmetic = arithmetic, .case_index = case_index, .unit = unit};
    return ULP_OK;
}

/* Units with the same parameters compute the same. */
static bool equal_units(const struct ulp_unit *a, const struct ulp_unit *b)
{
    return strcmp(a->input, b->input) == 0 && a->kind == b->kind && a->output == b->output &&
           a->block == b->block && a->fraction_bits == b->fraction_bits && a->floor == b->floor;
}

static bool serves(const struct ulp_unit *unit, const char *operands, const char *gpu)
{
    return (unit->kind == ULP_UNIT_TRUNCATED || unit->kind == ULP_UNIT_HALVES) &&
           ulp_unit_is_plain(unit) && strcmp(ulp_unit_input(unit, 0)->format, operands) == 0 &&
           (!gpu || strcmp(unit->gpu, ulp_unit_gpu(gpu)) == 0);
}

static void name_unit(char name[256], const struct ulp_fit_case *fit_case,
                      const struct ulp_unit *unit, const char *rounding, const char *result)
{
    snprintf(name, 256, "%s@%s,factor=%s,acc=%s,unit=%s%s%s,round=%s", fit_case->result, unit->gpu,
             fit_case->operands, unit->output == ULP_UNIT_RNE_FP16 ? "fp16" : "fp32",
             unit->unit_class, *rounding ? ",operands=" : "", rounding, result);
}

/* Parts of a name. */
static size_t count_parts(const char *name)
{
    size_t count = 0;
    for (; *name; name++)
        count += *name == ',' || *name == '@';
    return count;
}

/* The one of the equal units whose arithmetic's name has fewest parts: what is default there is not
 * said. *gpus: all of them. */
static const struct ulp_unit *shortest(const struct ulp_unit *unit,
                                       const struct ulp_fit_case *fit_case, const char *gpu,
                                       char gpus[96])
{
    const struct ulp_unit *best = unit, *other;
    size_t fewest = SIZE_MAX;
    *gpus = 0;
    for (size_t i = 0; (other = ulp_unit_row(i)) != NULL; i++) {
        struct ulp_arithmetic arithmetic;
        char name[256];
        if (!serves(other, fit_case->operands, NULL) || !equal_units(other, unit))
            continue;
        /* rows of a GPU stand together */
        if (strcmp(gpus, other->gpu) != 0 && !ulp_text_ends(gpus, other->gpu))
            snprintf(gpus + strlen(gpus), 96 - strlen(gpus), "%s%s", *gpus ? ", " : "", other->gpu);
        name_unit(name, fit_case, other, "", "rne");
        if ((gpu && strcmp(other->gpu, ulp_unit_gpu(gpu)) != 0) ||
            ulp_arithmetic_find(name, &arithmetic, NULL) != ULP_OK)
            continue;
        if (count_parts(arithmetic.name) < fewest) {
            fewest = count_parts(arithmetic.name);
            best = other;
        }
    }
    return best;
}

/* A result of the accumulator's format is not rounded when it is stored. */
static bool rounds_result(const struct ulp_fit_case *fit_case, const struct ulp_unit *unit)
{
    return strcmp(fit_case->result, unit->output == ULP_UNIT_RNE_FP16 ? "fp16" : "fp32") != 0;
}

static enum ulp_status add_unit(struct ulp_fit_ways *ways, const struct ulp_fit_case *fit_case,
                                size_t case_index, const struct ulp_unit *unit, const char *gpu,
                                struct ulp_error *error)
{
    char gpus[96], name[256];
    /* what is stored in the operands' own format is rounded on the way there, to nearest */
    const bool said = !fit_case->exact && strcmp(fit_case->operands, fit_case->result) != 0;
    unit = shortest(unit, fit_case, gpu, gpus);
    const size_t first = ways->base_count;
    for (size_t r = 0; r < (said ? COUNT(roundings) : 1); r++)
        for (size_t s = 0; s < (rounds_result(fit_case, unit) ? 2 : 1); s++) {
            name_unit(name, fit_case, unit, said ? roundings[r] : "", result_roundings[s]);
            ULP_TRY(add_base(ways, case_index, unit, name, error));
        }
    for (size_t i = first; i < ways->base_count; i++)
        memcpy(ways->bases[i].gpus, gpus, sizeof gpus);
    return ULP_OK;
}

static enum ulp_status add_units(struct ulp_fit_ways *ways, const struct ulp_fit_case *fit_case,
                                 size_t case_index, const char *gpu, struct ulp_error *error)
{
    const struct ulp_unit *unit, *before;
    for (size_t i = 0; (unit = ulp_unit_row(i)) != NULL; i++) {
        bool seen = false;
        if (!serves(unit, fit_case->operands, gpu))
            continue;
        for (size_t j = 0; j < i && !seen; j++) {
            before = ulp_unit_row(j);
            seen = serves(before, fit_case->operands, gpu) && equal_units(before, unit);
        }
        if (!seen)
            ULP_TRY(add_unit(ways, fit_case, case_index, unit, gpu, error));
    }
    return ULP_OK;
}

/* Accumulators as wide as the result or wider. */
static bool accumulates(const char *accumulator, const char *result)
{
    return strcmp(accumulator, "fp32") == 0 || strcmp(accumulator, result) == 0 ||
           (strcmp(accumulator, "fp64") == 0 && strcmp(result, "fp32") == 0);
}

static enum ulp_status add_chains(struct ulp_fit_ways *ways, const struct ulp_fit_case *fit_case,
                                  size_t case_index, struct ulp_error *error)
{
    char name[256];
    const bool wide = strcmp(fit_case->result, "fp64") == 0;
    for (size_t a = 0; a < COUNT(chain_accumulators); a++)
        for (size_t o = 0; o < COUNT(orders); o++)
            for (size_t s = 0; s < (strcmp(orders[o], "pairwise") == 0 ? 1 : COUNT(steps)); s++) {
                if (wide ? a > 0 : !accumulates(chain_accumulators[a], fit_case->result))
                    continue;
                snprintf(name, sizeof name, "%s,factor=%s,acc=%s,unit=none,order=%s%s%s",
                         fit_case->result, fit_case->operands,
                         wide ? "fp64" : chain_accumulators[a], orders[o],
                         strcmp(orders[o], "pairwise") == 0 ? "" : ",",
                         strcmp(orders[o], "pairwise") == 0 ? "" : steps[s]);
                ULP_TRY(add_base(ways, case_index, NULL, name, error));
            }
    return ULP_OK;
}

/* ---- slices, promotions and blocks ---- */

/* A sum over k as segments inside segments: lengths, the outermost first, and whether their sums
 * are added in a format narrower than FP32. Ways of one base with equal cuts are the same. */
struct cuts {
    size_t count, length[3];
    bool narrow[3];
};

static void add_cut(struct cuts *cuts, size_t length, size_t k, bool narrow)
{
    if (!length || length >= (cuts->count ? cuts->length[cuts->count - 1] : k))
        return;
    cuts->length[cuts->count] = length;
    cuts->narrow[cuts->count++] = narrow;
}

/* As the kernels cut k (kernels/unit/sums.c, kernels/chain/segments.c). */
static struct cuts make_cuts(const struct ulp_fit_base *base, const struct ulp_fit_way *way,
                             size_t k)
{
    struct cuts cuts = {0};
    const bool narrow = base->arithmetic.accumulator.precision < 24;
    if (base->unit) {
        const struct ulp_schedule slices = {.split_k = (int)way->slices};
        add_cut(&cuts, ulp_unit_slice_length(base->unit, k, &slices), k, narrow && !way->promote);
        add_cut(&cuts, way->promote, k, false);
    } else {
        add_cut(&cuts, ulp_size_divide_up(k, way->slices), k, false);
        add_cut(&cuts, way->block, k, narrow);
    }
    return cuts;
}

static bool equal_cuts(const struct ulp_fit_base *base, const struct ulp_fit_way *x,
                       const struct ulp_fit_way *y, const struct ulp_fit_shape *shapes,
                       size_t count)
{
    for (size_t s = 0; s < count; s++) {
        const struct cuts a = make_cuts(base, x, shapes[s].k), b = make_cuts(base, y, shapes[s].k);
        if (a.count != b.count)
            return false;
        for (size_t i = 0; i < a.count; i++)
            if (a.length[i] != b.length[i] || a.narrow[i] != b.narrow[i])
                return false;
    }
    return true;
}

/* Which parts a way's name has. */
static int kinds_of(const struct ulp_fit_way *way)
{
    return (way->slices > 1) + 2 * (way->promote > 0) + 4 * (way->block > 0);
}

/* Whether a way that is ways[of] under another name is worth naming: it has other parts, the first
 * to have these, and none of them is without effect. */
static bool is_telling(const struct ulp_fit_ways *ways, const struct ulp_fit_way *way, size_t of,
                       const struct ulp_fit_shape *shapes, size_t count)
{
    const struct ulp_fit_way bare[] = {{way->base, 1, way->promote, way->block},
                                       {way->base, way->slices, 0, 0}};
    if (kinds_of(way) == kinds_of(&ways->ways[of]))
        return false;
    for (size_t a = 0; a < ways->alias_count; a++)
        if (ways->aliases[a].of == of && kinds_of(&ways->aliases[a].way) == kinds_of(way))
            return false;
    for (size_t i = 0; i < 2; i++)
        if (kinds_of(&bare[i]) != kinds_of(way) &&
            equal_cuts(&ways->bases[way->base], way, &bare[i], shapes, count))
            return false;
    return true;
}

static enum ulp_status add_way(struct ulp_fit_ways *ways, size_t first,
                               const struct ulp_fit_way *way, const struct ulp_fit_shape *shapes,
                               size_t count, struct ulp_error *error)
{
    const struct ulp_fit_base *base = &ways->bases[way->base];
    for (size_t i = first; i < ways->count; i++) {
        if (!equal_cuts(base, &ways->ways[i], way, shapes, count))
            continue;
        if (!is_telling(ways, way, i, shapes, count))
            return ULP_OK;
        ULP_TRY(ulp_grow(&ways->aliases, ways->alias_count, &ways->alias_capacity,
                         sizeof *ways->aliases, NULL, "candidates", error));
        ways->aliases[ways->alias_count++] = (struct ulp_fit_alias){.of = i, .way = *way};
        return ULP_OK;
    }
    ULP_TRY(ulp_grow(&ways->ways, ways->count, &ways->capacity, sizeof *ways->ways, NULL,
                     "candidates", error));
    ways->ways[ways->count++] = *way;
    return ULP_OK;
}

/* Slices that are whole tiles of a kernel, not of the unit's blocks: sums of so many products,
 * added in FP32 in order, which is what promote=N says. */
static enum ulp_status add_tiles(struct ulp_fit_ways *ways, size_t base_index, size_t first,
                                 const struct ulp_fit_shape *shapes, size_t count,
                                 struct ulp_error *error)
{
    static const size_t tiles[] = {32, 64, 128};
    for (size_t i = 0; ulp_slices_tried(i); i++)
        for (size_t t = 0; t < COUNT(tiles); t++) {
            const size_t length =
                ulp_size_round_up(ulp_size_divide_up(shapes[0].k, (size_t)ulp_slices_tried(i)),
                                  tiles[t]);
            if (length < shapes[0].k && length <= UINT16_MAX)
                ULP_TRY(add_way(ways, first,
                                &(struct ulp_fit_way){(uint32_t)base_index, 1, (uint16_t)length, 0},
                                shapes, count, error));
        }
    return ULP_OK;
}

/* Libraries promote FP8's sums and cut others: that name stands first. */
static enum ulp_status add_ways(struct ulp_fit_ways *ways, size_t base_index,
                                const struct ulp_fit_shape *shapes, size_t count,
                                struct ulp_error *error)
{
    const struct ulp_fit_base *base = &ways->bases[base_index];
    const bool pairwise = base->arithmetic.order == ULP_ORDER_PAIRWISE,
               eight = base->unit && ulp_unit_input(base->unit, 0)->bits == 8;
    /* a library that has wider sums than the result's has no need to cut them */
    if (!base->unit && base->arithmetic.accumulator.precision > 24 &&
        base->arithmetic.storage.precision <= 24)
        return add_way(ways, ways->count, &(struct ulp_fit_way){(uint32_t)base_index, 1, 0, 0},
                       shapes, count, error);
    const uint16_t *inner = base->unit ? promotions : blocks;
    const size_t inner_count = base->unit ? COUNT(promotions)
                               : pairwise ? 1
                                          : COUNT(blocks),
                 first = ways->count;
    size_t slice_count = 0;
    while (ulp_slices_tried(slice_count))
        slice_count++;
    for (size_t i = 0; i < slice_count * inner_count; i++) {
        const size_t s = eight ? i / inner_count : i % slice_count,
                     p = eight ? i % inner_count : i / slice_count;
        const struct ulp_fit_way way = {.base = (uint32_t)base_index,
                                        .slices = (uint16_t)ulp_slices_tried(s),
                                        .promote = base->unit ? inner[p] : 0,
                                        .block = base->unit ? 0 : inner[p]};
        if (!base->unit || inner[p] % base->unit->block == 0)
            ULP_TRY(add_way(ways, first, &way, shapes, count, error));
    }
    return base->unit ? add_tiles(ways, base_index, first, shapes, count, error) : ULP_OK;
}

enum ulp_status ulp_fit_ways_make(struct ulp_fit_ways *out, const struct ulp_fit_case *cases,
                                  size_t case_count, const struct ulp_fit_shape *shapes,
                                  size_t shape_count, const char *gpu, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_fit_ways){0};
    for (size_t c = 0; c < case_count && status == ULP_OK; c++)
        status = add_units(out, &cases[c], c, gpu, error);
    for (size_t c = 0; c < case_count && status == ULP_OK; c++)
        status = cases[c].chains ? add_chains(out, &cases[c], c, error) : ULP_OK;
    for (size_t b = 0; b < out->base_count && status == ULP_OK; b++)
        status = add_ways(out, b, shapes, shape_count, error);
    if (status != ULP_OK)
        ulp_fit_ways_free(out);
    return status;
}

void ulp_fit_ways_free(struct ulp_fit_ways *ways)
{
    ulp_free(ways->bases);
    ulp_free(ways->ways);
    ulp_free(ways->aliases);
    *ways = (struct ulp_fit_ways){0};
}

struct ulp_arithmetic ulp_fit_arithmetic(const struct ulp_fit_ways *ways, size_t index)
{
    const struct ulp_fit_way *way = &ways->ways[index];
    struct ulp_arithmetic arithmetic = ways->bases[way->base].arithmetic;
    arithmetic.schedule.split_k = way->slices > 1 ? way->slices : arithmetic.schedule.split_k;
    arithmetic.schedule.promote = way->promote ? way->promote : arithmetic.schedule.promote;
    arithmetic.order = way->block ? ULP_ORDER_BLOCKED : arithmetic.order;
    arithmetic.order_block = way->block ? way->block : arithmetic.order_block;
    return arithmetic;
}

/* The parts of its name, as they follow each other: returns how many. */
static size_t list_parts(const struct ulp_fit_way *way, char parts[3][32])
{
    size_t count = 0;
    if (way->block)
        snprintf(parts[count++], 32, "order=blocked:%d", way->block);
    if (way->promote)
        snprintf(parts[count++], 32, "promote=%d", way->promote);
    if (way->slices > 1)
        snprintf(parts[count++], 32, "split-k=%d", way->slices);
    return count;
}

enum ulp_status ulp_fit_name(const struct ulp_fit_ways *ways, size_t index,
                             struct ulp_arithmetic *out, struct ulp_error *error)
{
    const struct ulp_fit_way *way = &ways->ways[index];
    char parts[3][32];
    const size_t count = list_parts(way, parts);
    *out = ways->bases[way->base].arithmetic;
    for (size_t i = 0; i < count; i++) {
        const struct ulp_arithmetic before = *out;
        ULP_TRY(ulp_arithmetic_change(out, &before, parts[i], error));
    }
    return ULP_OK;
}

void ulp_fit_also(const struct ulp_fit_ways *ways, size_t index, char *text, size_t size)
{
    *text = 0;
    for (size_t a = 0; a < ways->alias_count; a++) {
        char parts[3][32], one[100] = "";
        if (ways->aliases[a].of != index)
            continue;
        const size_t count = list_parts(&ways->aliases[a].way, parts), used = strlen(text);
        for (size_t i = 0; i < count; i++)
            snprintf(one + strlen(one), sizeof one - strlen(one), "%s%s", i ? "," : "", parts[i]);
        if (used + strlen(one) + 5 < size)
            snprintf(text + used, size - used, "%s%s", used ? " or " : "", one);
    }
}
