/* Which arithmetic fits a recording best, and whether one that was not asked about fits so much
 * better that those that were are excluded: an error may be small enough and yet be that of other
 * formats. doc/compare.md has the derivation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/quantile.h"
#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

/* An engine may keep nodes in a wider format, and fuse others: its errors may be this many times
 * smaller than the arithmetic's. */
#define KEPT_FACTOR 16
/* A distance in |ln| that stands for more. */
#define FAR 30

struct ranking {
    struct ulp_comparing *comparing;
    size_t file;
    double probability;
    double *ratios; /* room for one of each tensor */
};

/* Tensors that nodes compute, and of which every arithmetic says a size. */
static bool is_ranked(const struct ranking *r, size_t t, size_t a)
{
    const struct ulp_compared_tensor *tensor = &r->comparing->out->tensors[t];
    const struct ulp_compared_value *value = &tensor->values[r->file];
    return tensor->node && value->recorded && !value->reshaped && value->truth.count &&
           (r->comparing->work[t].chosen ||
            (!tensor->expected[a].open && !tensor->expected[a].shapeless));
}

static double far(double ratio)
{
    const double distance = ratio > 0 && isfinite(ratio) ? fabs(ulp_math_log2(ratio)) : FAR;
    return ulp_math_min(distance * 0.6931471805599453, FAR);
}

static struct ulp_ranked rank_one(const struct ranking *r, size_t a)
{
    const struct ulp_comparison *out = r->comparing->out;
    struct ulp_ranked ranked = {.arithmetic = a, .explains = true};
    size_t count = 0;
    for (size_t t = 0; t < out->tensor_count; t++) {
        const struct ulp_compared_value *value = &out->tensors[t].values[r->file];
        if (!value->recorded)
            continue;
        const struct ulp_compared_value judged =
            ulp_compare_judge_by(r->comparing, t, r->file, a, r->probability);
        ranked.explains &=
            judged.explained && !ulp_is_nothing(r->comparing, &out->tensors[t], &judged);
        if (out->tensors[t].node && (!value->reshaped || r->comparing->work[t].chosen)) {
            ranked.elements += value->reshaped
                                   ? ulp_recorded(&r->comparing->work[t], r->file)->count
                                   : r->comparing->work[t].count;
            ranked.equal += r->comparing->work[t].members[a].equal[r->file];
        }
        if (!is_ranked(r, t, a) && !(value->reshaped && judged.rows_matched))
            continue;
        const double expected = ulp_expected_rms(r->comparing, t, r->file, a),
                     apart = value->arithmetics[a].count ? value->arithmetics[a].rms : 0,
                     error = value->truth.rms;
        r->ratios[count++] = judged.ratio;
        if (judged.rows_matched) { /* it may give them in another order */
            ranked.misfit +=
                judged.ratio > 0 || out->tensors[t].expected[a].matched > 0 ? far(judged.ratio) : 0;
            continue;
        }
        ranked.misfit +=
            error == 0 && expected == 0
                ? 0
                : far(judged.ratio) + ulp_math_min(expected > 0 ? apart / expected : FAR, FAR);
    }
    ranked.misfit = count ? ranked.misfit / (double)count : 0;
    if (count)
        ulp_numbers_sort(r->ratios, count);
    ranked.ratio = count ? r->ratios[count / 2] : 0;
    return ranked;
}

static int by_fit(const void *a, const void *b)
{
    const struct ulp_ranked *x = a, *y = b;
    const bool x_equal = ulp_has_all_bits(x), y_equal = ulp_has_all_bits(y);
    if (x->explains != y->explains)
        return x->explains ? -1 : 1;
    if (x->blind != y->blind)
        return x->blind ? 1 : -1;
    if (x_equal != y_equal)
        return x_equal ? -1 : 1;
    if (x->misfit != y->misfit)
        return x->misfit < y->misfit ? -1 : 1;
    if (x->equal != y->equal)
        return x->equal > y->equal ? -1 : 1;
    return x->arithmetic < y->arithmetic ? -1 : x->arithmetic > y->arithmetic;
}

/* ---- does another one exclude it? ---- */

static bool has_other_formats(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b)
{
    return strcmp(a->storage.name, b->storage.name) != 0 ||
           strcmp(a->factor.name, b->factor.name) != 0 ||
           strcmp(a->accumulator.name, b->accumulator.name) != 0 ||
           strcmp(a->compute.name, b->compute.name) != 0 ||
           strcmp(a->scaling[0].name, b->scaling[0].name) != 0 ||
           a->schedule.qdq_integer != b->schedule.qdq_integer ||
           a->schedule.partials != b->schedule.partials ||
           a->schedule.integers_saturate != b->schedule.integers_saturate ||
           a->schedule.requant != b->schedule.requant;
}

/* How badly a ratio fits, beyond what libraries and nodes kept may be off: minus the logarithm of
 * the likelihood of a chi squared's mean, for two directions. */
static double misfit_of(double ratio)
{
    const double over = ratio > ULP_LIBRARY_FACTOR  ? ratio / ULP_LIBRARY_FACTOR
                        : ratio < 1.0 / KEPT_FACTOR ? ulp_math_max(ratio * KEPT_FACTOR, 1e-6)
                                                    : 1;
    return isfinite(over) ? over * over - 1 - 2 * 0.6931471805599453 * ulp_math_log2(over)
                          : INFINITY;
}

/* The tensor whose error's size speaks most for b and against a, by at least -ln probability; -1:
 * none. An error's size has the square root of its freedom as directions (expected.c). */
static ptrdiff_t find_by_size(const struct ranking *r, size_t a, size_t b, double probability)
{
    const struct ulp_comparison *out = r->comparing->out;
    double most = -0.6931471805599453 * ulp_math_log2(probability);
    ptrdiff_t found = -1;
    for (size_t t = 0; t < out->tensor_count; t++) {
        if (!is_ranked(r, t, a) || !is_ranked(r, t, b))
            continue;
        const double ratio_a =
                         ulp_compare_judge_by(r->comparing, t, r->file, a, r->probability).ratio,
                     ratio_b =
                         ulp_compare_judge_by(r->comparing, t, r->file, b, r->probability).ratio,
                     directions = sqrt(out->tensors[t].expected[a].freedom),
                     weight = directions / 2 * (misfit_of(ratio_a) - misfit_of(ratio_b));
        if (weight > most) {
            most = weight;
            found = (ptrdiff_t)t;
        }
    }
    return found;
}

/* Bits that each of a tensor's elements says against `a` whose value is another one's: a number of
 * its storage (where it has none of it: of its own type) is hit by a normal error of that size,
 * which a library may make smaller, with at most the density in its middle; at least one bit. As
 * many elements as the error has directions. */
static double weigh_apart(const struct ranking *r, size_t t, size_t a, size_t apart)
{
    const struct ulp_compared_tensor *tensor = &r->comparing->out->tensors[t];
    const struct ulp_format *storage = &r->comparing->options->arithmetics[a].storage;
    const struct ulp_tensor *recorded = ulp_recorded(&r->comparing->work[t], r->file);
    struct ulp_format type;
    if (!is_ranked(r, t, a) || !(tensor->range.ref_max > 0) || !ulp_type_is_float(recorded->type) ||
        ulp_format_find(ulp_type_rows[recorded->type].format, &type, NULL) != ULP_OK)
        return (double)apart;
    const int precision =
        type.precision < storage->precision || !ulp_is_stored_in(recorded, storage)
            ? type.precision
            : storage->precision;
    const double directions = ulp_math_min(tensor->expected[a].freedom, (double)apart),
                 step = floor(ulp_math_log2(tensor->range.ref_max)) + 1 - precision,
                 bits = ulp_math_log2(tensor->expected[a].rms * 2.5066282746310002 /
                                      ULP_LIBRARY_FACTOR) -
                        step;
    return (double)apart + directions * (bits > 1 ? bits - 1 : 0);
}

/* Integer sums are the same in every library: where a and b differ in what these are, roundings
 * between them move few elements of the true one. */
#define SUMS_FACTOR 8

static bool has_the_bits(const struct ranking *r, const struct ulp_ranked *a,
                         const struct ulp_ranked *b)
{
    const struct ulp_arithmetic *all = r->comparing->options->arithmetics;
    return ulp_has_all_bits(b) || (all[a->arithmetic].schedule.integers_saturate !=
                                       all[b->arithmetic].schedule.integers_saturate &&
                                   SUMS_FACTOR * (b->elements - b->equal) < a->elements - a->equal);
}

/* b has the recorded bits, a and its schedules do not: elements in which they differ would have
 * been b's by chance. They must be more than a's own schedules change, with what libraries may be
 * off, or more than half. The first such tensor; -1: none. */
static ptrdiff_t find_by_bits(const struct ranking *r, const struct ulp_ranked *a,
                              const struct ulp_ranked *b, double probability)
{
    const struct ulp_comparison *out = r->comparing->out;
    const size_t apart = a->elements - a->equal;
    size_t varied = 0;
    double bits = 0;
    ptrdiff_t first = -1;
    for (size_t t = out->tensor_count; t-- > 0;) {
        const struct ulp_compared_value *value = &out->tensors[t].values[r->file];
        if (!value->recorded || !out->tensors[t].node || value->reshaped)
            continue;
        const struct ulp_members *members = &r->comparing->work[t].members[a->arithmetic];
        const size_t other = r->comparing->work[t].count - members->equal[r->file];
        varied += members->varied;
        if (!other)
            continue;
        bits += weigh_apart(r, t, a->arithmetic, other);
        first = (ptrdiff_t)t;
    }
    const bool decided = has_the_bits(r, a, b) && bits > -ulp_math_log2(probability) &&
                         (apart > ULP_LIBRARY_FACTOR * varied || 2 * apart > a->elements);
    return decided ? first : -1;
}

static const struct ulp_ranked *find_ranked(const struct ulp_compared_file *file, size_t arithmetic)
{
    const struct ulp_ranked *ranked = file->ranked;
    while (ranked->arithmetic != arithmetic)
        ranked++;
    return ranked;
}

/* The tensor that shows that b and not a was used; -1: none does, as where a has all bits. */
static ptrdiff_t find_evidence(const struct ranking *r, size_t a, size_t b)
{
    const struct ulp_comparing *comparing = r->comparing;
    const struct ulp_compared_file *file = &comparing->out->files[r->file];
    if (ulp_has_all_bits(find_ranked(file, a)))
        return -1;
    const double probability =
        r->probability / (double)(comparing->out->arithmetic_count - comparing->asked);
    const ptrdiff_t by_bits =
        find_by_bits(r, find_ranked(file, a), find_ranked(file, b), probability);
    return by_bits >= 0 ? by_bits : find_by_size(r, a, b, probability);
}

/* Does one with b's formats make of this graph what a does? Then b's bits tell of an order of
 * sums, or of a library's functions, and of no other format. */
static bool is_alike(const struct ulp_comparing *comparing, const struct ulp_compared_file *file,
                     size_t a, size_t b)
{
    const struct ulp_arithmetic *all = comparing->options->arithmetics;
    const struct ulp_ranked *asked = find_ranked(file, a);
    bool alike = !has_other_formats(&all[a], &all[b]);
    for (size_t i = 0; i < file->ranked_count; i++) {
        const struct ulp_ranked *other = &file->ranked[i];
        alike |= asked->equal && other->equal == asked->equal &&
                 fabs(other->ratio - asked->ratio) <= 0.1 * asked->ratio &&
                 !has_other_formats(&all[other->arithmetic], &all[b]);
    }
    return alike;
}

/* Neighbours from the best on: one that excludes every arithmetic asked about that explains all. */
static void look_for_better(const struct ranking *r)
{
    const struct ulp_comparing *comparing = r->comparing;
    struct ulp_compared_file *file = &comparing->out->files[r->file];
    for (size_t i = 0; i < file->ranked_count && file->better < 0; i++) {
        const size_t b = file->ranked[i].arithmetic;
        ptrdiff_t tensor = -1;
        bool excluded = b >= comparing->asked && file->ranked[i].explains;
        for (size_t a = 0; a < comparing->asked && excluded; a++) {
            if (!find_ranked(file, a)->explains)
                continue;
            const ptrdiff_t evidence =
                is_alike(comparing, file, a, b) ? -1 : find_evidence(r, a, b);
            excluded = evidence >= 0;
            if ((ptrdiff_t)a == file->by)
                tensor = evidence;
        }
        if (!excluded)
            continue;
        file->better = (ptrdiff_t)b;
        file->first_unexplained = tensor;
        file->explained = false;
        struct ulp_compared_value *value = &comparing->out->tensors[tensor].values[r->file];
        *value = ulp_compare_judge_by(comparing, (size_t)tensor, r->file, (size_t)file->by,
                                      r->probability);
        value->by = (size_t)file->by;
        value->explained = false;
        file->by = -1;
    }
}

enum ulp_status ulp_compare_rank(struct ulp_comparing *comparing, size_t file,
                                 struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    struct ulp_compared_file *result = &out->files[file];
    const double tensors = (double)(result->tensor_count ? result->tensor_count : 1);
    const struct ranking ranking = {comparing, file, ULP_FALSE_ALARM / tensors,
                                    ulp_arena_take(comparing->arena, out->tensor_count + 1,
                                                   sizeof(double))};
    result->ranked = ulp_arena_take(out->memory, out->arithmetic_count, sizeof *result->ranked);
    ULP_TRY(ulp_taken(result->ranked && ranking.ratios, error));
    result->ranked_count = out->arithmetic_count;
    result->by = result->better = -1;
    for (size_t a = 0; a < out->arithmetic_count; a++)
        result->ranked[a] = rank_one(&ranking, a);
    qsort(result->ranked, result->ranked_count, sizeof *result->ranked, by_fit);
    for (size_t i = result->ranked_count; i-- > 0 && result->explained;)
        if (result->ranked[i].arithmetic < comparing->asked && result->ranked[i].explains)
            result->by = (ptrdiff_t)result->ranked[i].arithmetic;
    if (result->by >= 0)
        look_for_better(&ranking);
    return ULP_OK;
}

/* The best of those asked about that explain all and hide no mistake; -1: there is none. */
static ptrdiff_t find_seeing(const struct ulp_comparing *comparing,
                             const struct ulp_compared_file *file)
{
    for (size_t i = 0; i < file->ranked_count; i++)
        if (file->ranked[i].arithmetic < comparing->asked && file->ranked[i].explains &&
            !file->ranked[i].blind)
            return (ptrdiff_t)file->ranked[i].arithmetic;
    return -1;
}

void ulp_compare_weigh_power(struct ulp_comparing *comparing, size_t file)
{
    struct ulp_comparison *out = comparing->out;
    struct ulp_compared_file *result = &out->files[file];
    bool blind = false;
    for (size_t r = 0; r < result->ranked_count; r++) {
        struct ulp_ranked *ranked = &result->ranked[r];
        ranked->blind |= ranked->missed && !ranked->saw;
        ranked->blind &= !ulp_has_all_bits(ranked); /* an arithmetic's own recording is explained */
        blind |= ranked->arithmetic < comparing->asked && ranked->blind &&
                 (ranked->explains || result->by < 0);
    }
    qsort(result->ranked, result->ranked_count, sizeof *result->ranked, by_fit);
    if (!result->explained || !blind)
        return;
    result->by = find_seeing(comparing, result);
    if (result->by >= 0)
        return;
    result->explained = false;
    result->hidden = true;
    for (size_t t = out->tensor_count; t-- > 0;)
        if (out->tensors[t].node && out->tensors[t].values[file].recorded)
            result->first_unexplained = (ptrdiff_t)t;
}
