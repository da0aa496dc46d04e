/* The errors to expect of an arithmetic at a tensor, and whether a recorded error is explained by
 * them. doc/compare.md has the derivation. */
#include <math.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "run/program/program.h"
#include "tensor/tensor.h"
#include "number/function/math.h"

/* Beyond, a quantile no longer changes. */
#define FREEDOM_MAX 1e4

/* From the smaller and the larger of the root mean squares of the arithmetic itself and of trials:
 * a run lies beyond either end by chance in one of 40. So many equal directions as the freedom says
 * spread as the error's do, to second moments (F. E. Satterthwaite). */
static void find_range(struct ulp_expected_error *expected, double smaller)
{
    const double share = 1. / 40, trials = (double)expected->trials;
    expected->least = expected->most = expected->rms;
    if (!expected->trials)
        return;
    expected->least = smaller / ulp_ratio_limit(expected->freedom * trials, 1 / trials, share);
    expected->most = expected->rms * ulp_ratio_limit(expected->freedom, trials, share);
}

struct ulp_expected_error ulp_expected_error(const struct ulp_compared_work *work,
                                             size_t arithmetic)
{
    const struct ulp_members *m = &work->members[arithmetic];
    const double trials = m->trials ? sqrt(m->square_sum / (double)m->trials) : 0;
    struct ulp_expected_error expected = {
        .rms = ulp_math_max(m->actual.rms, trials),
        .max_abs = ulp_math_max(m->actual.max_abs, m->max_abs),
        .freedom = m->pairs && m->cosine_squares > 0 ? (double)m->pairs / m->cosine_squares : 1,
        .trials = m->trials,
        .nonfinite = m->nonfinite > m->actual.nonfinite ? m->nonfinite : m->actual.nonfinite,
        .floor = work->floor,
        .open = m->open,
        .shapeless = m->shapeless,
    };
    if (work->chosen) /* of integers one may be another though none was in the trials */
        expected.matched =
            ulp_matched_expected(&m->matched,
                                 work->integers && work->count ? 1 / (double)work->count : 0);
    if (m->open) {
        expected.rms = ulp_math_max(expected.rms, m->moved_rms);
        expected.max_abs = ulp_math_max(expected.max_abs, m->moved_max);
        expected.freedom = 1;
    }
    const double most = work->count > 1 ? ulp_math_min((double)work->count, FREEDOM_MAX) : 1;
    expected.freedom = ulp_math_min(ulp_math_max(expected.freedom, 1), most);
    find_range(&expected, ulp_math_min(m->actual.rms, trials));
    return expected;
}

static double divide_by_expected(double error, double expected)
{
    return error > 0 ? error / expected : 0; /* infinite where no error was expected */
}

struct limits {
    double rms, max_abs;
};

/* A library reaches the floor in one of four elements at most: were it more, it would cut, or use
 * another zero point, and not round otherwise now and then. */
#define FLOOR_RMS 0.5

/* An error's share along its largest direction is at most 1/sqrt(freedom), so that its mean square
 * spreads no wider than that of sqrt(freedom) equal directions. The largest element is at worst a
 * single direction. Inputs are rounded and no more: nothing is random. */
static struct limits find_limits(const struct ulp_expected_error *expected, double probability)
{
    if (!expected->trials)
        return (struct limits){ULP_LIBRARY_FACTOR, ULP_LIBRARY_FACTOR};
    return (struct limits){ULP_LIBRARY_FACTOR * ulp_ratio_limit(sqrt(expected->freedom),
                                                                (double)expected->trials,
                                                                probability),
                           ULP_LIBRARY_FACTOR *
                               ulp_ratio_limit(1, (double)expected->trials, probability)};
}

/* How far beyond its limits an error is: at most 1 is within. */
double ulp_compared_excess(const struct ulp_compared_value *value)
{
    return ulp_math_max(value->ratio / value->limit,
                        ulp_math_max(value->max_ratio, value->small_ratio) / value->max_limit);
}

/* Recorded elements of a kind that neither the reference, stored in the recording's type, nor the
 * arithmetic has at that place. */
static size_t count_nonfinite(const struct ulp_compared_work *work, size_t file, size_t arithmetic)
{
    const struct ulp_tensor *recorded = ulp_recorded(work, file);
    const unsigned char *kinds = work->members[arithmetic].kinds;
    const char *name = ulp_type_rows[recorded->type].format;
    struct ulp_format format;
    const bool narrow = name && ulp_format_find(name, &format, NULL) == ULP_OK;
    size_t count = 0;
    for (size_t i = 0; i < work->count; i++) {
        const double r = work->reference[i];
        const unsigned kind = ulp_value_kind(ulp_tensor_get(recorded, i));
        unsigned known = ulp_value_kind(r) | (kinds ? kinds[i] : 0);
        if (narrow && !(kind & known))
            known |= ulp_value_kind(ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, r, 0, 0));
        count += !(kind & known);
    }
    return count;
}

/* Formats of few bits in which values are stored between nodes, the coarsest first. */
static const char *const stored_formats[] = {"bf16", "fp16"};

bool ulp_is_stored_in(const struct ulp_tensor *values, const struct ulp_format *format)
{
    for (size_t i = 0; i < values->count; i++) {
        const double x = ulp_tensor_get(values, i);
        if (isfinite(x) && ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, x, 0, 0) != x)
            return false;
    }
    return true;
}

unsigned ulp_stored_formats_of(const struct ulp_tensor *values)
{
    unsigned all = 0;
    for (size_t f = 0; f < sizeof stored_formats / sizeof *stored_formats; f++) {
        struct ulp_format format;
        ulp_format_find(stored_formats[f], &format, NULL);
        all |= ulp_is_stored_in(values, &format) ? 1U << f : 0;
    }
    return all;
}

/* Bits that say that recorded values were stored in `format` and not in the arithmetic's storage:
 * where the reference as the arithmetic would store it is no number of a coarser format, each
 * further bit is zero by chance in one of two recordings; and what an arithmetic hands on
 * without storing it has all bits of the recording's type, each of which beyond a finer format's
 * would be zero by chance. */
static double weigh_format(const struct ulp_compared_work *work, const struct ulp_tensor *recorded,
                           const struct ulp_format *storage, const struct ulp_format *format,
                           int precision)
{
    const bool coarser = format->precision < storage->precision;
    size_t off = 0;
    for (size_t i = 0; i < work->count; i++) {
        const double x = ulp_tensor_get(recorded, i),
                     own = coarser ? ulp_format_round(storage, ULP_ROUND_NEAREST_EVEN,
                                                      work->reference[i], 0, 0)
                                   : x;
        off +=
            isfinite(own) && x != 0 &&
            ulp_format_round(coarser ? format : storage, ULP_ROUND_NEAREST_EVEN, own, 0, 0) != own;
    }
    return (double)off * ((coarser ? storage->precision : precision) - format->precision);
}

/* A format other than the arithmetic's storage, with fewer bits than the recording's type, of which
 * all recorded values are numbers, but not those that the arithmetic itself gives (by an
 * accumulator of fewer bits, or unstored). NULL: there is none, or too few elements to tell. */
static const char *find_stored(const struct ulp_compared_work *work, size_t file,
                               const struct ulp_arithmetic *arithmetic,
                               const struct ulp_members *own, double probability)
{
    const struct ulp_tensor *recorded = ulp_recorded(work, file);
    struct ulp_format type, format;
    if (arithmetic->as_declared || arithmetic->half_as_float ||
        !ulp_type_is_float(recorded->type) || recorded->count != work->count ||
        ulp_format_find(ulp_type_rows[recorded->type].format, &type, NULL) != ULP_OK)
        return NULL;
    const unsigned formats = ulp_stored_formats_of(recorded);
    for (size_t f = 0; formats >> f; f++) {
        ulp_format_find(stored_formats[f], &format, NULL);
        const int precision = type.precision < 24 ? type.precision : 24,
                  wider = arithmetic->storage.precision - format.precision;
        if (formats >> f & 1 && precision > format.precision && wider &&
            !(own->stored_formats >> f & 1 && (wider > 0 || own->unstored)) &&
            weigh_format(work, recorded, &arithmetic->storage, &format, precision) >
                -ulp_math_log2(probability))
            return stored_formats[f];
    }
    return NULL;
}

double ulp_expected_rms(const struct ulp_comparing *comparing, size_t tensor, size_t file,
                        size_t arithmetic)
{
    const struct ulp_expected_error *expected =
        &comparing->out->tensors[tensor].expected[arithmetic];
    return ulp_math_hypot(expected->rms, comparing->work[tensor].stored[file].rms);
}

/* Has it no more rows, nor fewer, than libraries may by an arithmetic of which members had so many?
 */
static bool has_rows(const struct ulp_comparing *comparing, size_t t, size_t file,
                     const struct ulp_members *members)
{
    const double resized =
        ulp_matched_resized(comparing, t, ulp_recorded(&comparing->work[t], file), NULL);
    return resized <= ULP_LIBRARY_FACTOR * ulp_math_max(members->resized, 1);
}

/* By the rows that match: in their places rows of another order are compared. */
static void judge_matched(struct ulp_compared_value *judged, const struct ulp_members *members,
                          const struct ulp_expected_error *expected, double stored,
                          double probability)
{
    judged->rows_matched = true;
    judged->limit = judged->max_limit =
        ULP_LIBRARY_FACTOR * ulp_matched_chance(&members->matched, 1, probability);
    judged->ratio = judged->max_ratio =
        divide_by_expected(judged->matched, expected->matched + stored);
    judged->explained = !judged->nonfinite && judged->ratio <= judged->limit;
}

static double expected_small(const struct ulp_compared_work *work, size_t file, size_t arithmetic)
{
    const struct ulp_members *members = &work->members[arithmetic];
    const double trials =
        members->trials ? sqrt(members->small_squares / (double)members->trials) : 0;
    return ulp_math_hypot(ulp_math_max(members->actual.small, trials), work->stored[file].small);
}

struct ulp_compared_value ulp_compare_judge_value(const struct ulp_comparing *comparing, size_t t,
                                                  size_t file, size_t arithmetic,
                                                  double probability,
                                                  const struct ulp_compared_value *value)
{
    const struct ulp_compared_work *work = &comparing->work[t];
    const struct ulp_expected_error *expected = &comparing->out->tensors[t].expected[arithmetic];
    const struct ulp_error_size *stored = &work->stored[file];
    struct ulp_compared_value judged = *value;
    const struct ulp_metrics *truth = &value->truth;
    struct limits limits = find_limits(expected, probability);
    if (expected->open &&
        !work->chosen) /* where steps turn in each trial, in about as many places */
        limits.rms =
            ulp_math_min(limits.rms,
                         ULP_LIBRARY_FACTOR * ulp_matched_chance(&work->members[arithmetic].matched,
                                                                 1, probability));
    judged.limit = limits.rms;
    judged.max_limit = limits.max_abs;
    /* what the floor is reached by reaches the limit */
    judged.ratio = divide_by_expected(truth->count ? truth->rms : 0,
                                      ulp_math_max(ulp_expected_rms(comparing, t, file, arithmetic),
                                                   FLOOR_RMS * expected->floor / limits.rms));
    judged.max_ratio = divide_by_expected(truth->count ? truth->max_abs : 0,
                                          ulp_math_max(expected->max_abs + stored->max_abs,
                                                       expected->floor / limits.max_abs));
    judged.small_ratio = divide_by_expected(value->small, expected_small(work, file, arithmetic));
    judged.nonfinite = truth->nonfinite ? count_nonfinite(work, file, arithmetic) : 0;
    judged.explained =
        !judged.nonfinite &&
        (expected->shapeless || (!value->reshaped && ulp_compared_excess(&judged) <= 1));
    /* where half of the rows are not finite, as the arithmetic's are, no distance tells anything */
    const bool far = !isfinite(expected->matched) && !isfinite(value->matched) && !value->reshaped;
    if (work->chosen && (expected->open || expected->shapeless) && !far)
        judge_matched(&judged, &work->members[arithmetic], expected, work->matched_stored[file],
                      probability);
    judged.explained &= !judged.rows_matched || !value->recorded || !value->reshaped ||
                        has_rows(comparing, t, file, &work->members[arithmetic]);
    ulp_compare_judge_passed(work, file, arithmetic, &judged);
    return judged;
}

struct ulp_compared_value ulp_compare_judge_by(const struct ulp_comparing *comparing, size_t t,
                                               size_t file, size_t arithmetic, double probability)
{
    const struct ulp_compared_value *value = &comparing->out->tensors[t].values[file];
    struct ulp_compared_value judged =
        ulp_compare_judge_value(comparing, t, file, arithmetic, probability, value);
    judged.stored =
        judged.explained && !value->reshaped && !comparing->options->keeps
            ? find_stored(&comparing->work[t], file, &comparing->options->arithmetics[arithmetic],
                          &comparing->work[t].members[arithmetic], probability)
            : NULL;
    judged.explained &= !judged.stored;
    return judged;
}

bool ulp_is_nothing(const struct ulp_comparing *comparing, const struct ulp_compared_tensor *tensor,
                    const struct ulp_compared_value *value)
{
    const struct ulp_block *block = comparing->program->main;
    bool is_output = false;
    for (size_t o = 0; o < block->output_count; o++)
        is_output |= strcmp(block->slots[block->outputs[o]].name, tensor->name) == 0;
    return is_output && !value->truth.count && !(value->reshaped && value->rows_matched);
}

static void judge_value(struct ulp_comparing *comparing, size_t t, size_t file, double probability)
{
    struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
    struct ulp_compared_value best = {0};
    for (size_t a = 0; a < comparing->asked && !best.explained; a++) {
        struct ulp_compared_value judged = ulp_compare_judge_by(comparing, t, file, a, probability);
        judged.by = a;
        if (a == 0 || judged.explained || ulp_compared_excess(&judged) < ulp_compared_excess(&best))
            best = judged;
    }
    tensor->values[file] = best;
}

static void judge_file(struct ulp_comparing *comparing, size_t file)
{
    struct ulp_compared_file *out = &comparing->out->files[file];
    out->first_unexplained = -1;
    out->tensor_count = 0;
    for (size_t t = 0; t < comparing->out->tensor_count; t++)
        out->tensor_count += comparing->out->tensors[t].values[file].recorded;
    const double probability =
        ULP_FALSE_ALARM / (double)(out->tensor_count ? out->tensor_count : 1);
    ptrdiff_t last = -1, unjudged = -1;
    bool any = false;
    for (size_t t = comparing->out->tensor_count; t-- > 0;) {
        struct ulp_compared_value *value = &comparing->out->tensors[t].values[file];
        if (!value->recorded)
            continue;
        judge_value(comparing, t, file, probability);
        any |= value->truth.count || !value->explained || (value->reshaped && value->rows_matched);
        last = last < 0 ? (ptrdiff_t)t : last;
        if (!value->explained) {
            out->first_unexplained = (ptrdiff_t)t;
        } else if (ulp_is_nothing(comparing, &comparing->out->tensors[t], value)) {
            value->explained = false;
            unjudged = (ptrdiff_t)t;
        }
    }
    if (!any && unjudged < 0 && last >= 0) { /* nothing was compared */
        comparing->out->tensors[last].values[file].explained = false;
        unjudged = last;
    }
    if (out->first_unexplained < 0)
        out->first_unexplained = unjudged;
    out->explained = out->first_unexplained < 0;
}

void ulp_compare_judge(struct ulp_comparing *comparing)
{
    for (size_t t = 0; t < comparing->out->tensor_count; t++)
        for (size_t a = 0; a < comparing->out->arithmetic_count; a++)
            comparing->out->tensors[t].expected[a] = ulp_expected_error(&comparing->work[t], a);
    for (size_t f = 0; f < comparing->recording_count; f++)
        judge_file(comparing, f);
}
