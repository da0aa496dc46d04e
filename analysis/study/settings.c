/* Sweeps into settings, each once, and into series of settings that differ in one pair of braces.
 */
#include <math.h>
#include <string.h>

#include "analysis/study/studying.h"
#include "base/error.h"
#include "number/function/math.h"

static char *copy(const struct ulp_studying *s, const char *text)
{
    return ulp_arena_text(s->out->memory, text, strlen(text));
}

/* Without a seed of its own it is run with many. */
static size_t count_trials(const struct ulp_studying *s, const struct ulp_arithmetic *arithmetic,
                           const char *text)
{
    return arithmetic->rounding == ULP_ROUND_STOCHASTIC && !strstr(text, "seed=") ? s->out->trials
                                                                                  : 0;
}

/* Its index; of one that is new its points are for later. */
static enum ulp_status add_setting(struct ulp_studying *s, const char *sweep, const char *text,
                                   size_t *index, struct ulp_error *error)
{
    struct ulp_study *out = s->out;
    struct ulp_arithmetic arithmetic;
    ULP_TRY(ulp_fail_at(error, ulp_arithmetic_find(text, &arithmetic, error), "sweep %s", sweep));
    const size_t trials = count_trials(s, &arithmetic, text);
    for (*index = 0; *index < out->setting_count; ++*index)
        if (strcmp(out->settings[*index].name, arithmetic.name) == 0 &&
            out->settings[*index].trials == trials)
            return ULP_OK;
    struct ulp_study_setting *setting = &out->settings[out->setting_count];
    *setting = (struct ulp_study_setting){.name = copy(s, arithmetic.name),
                                          .text = copy(s, text),
                                          .arithmetic = arithmetic,
                                          .trials = trials};
    ULP_TRY(ulp_taken(setting->name && setting->text, error));
    out->setting_count++;
    return ULP_OK;
}

/* ---- what a pair of braces sweeps ---- */

static double mantissa_bits(const struct ulp_arithmetic *a)
{
    return a->storage.precision - 1;
}
/* Of 2^bits patterns one or two are no exponents of normal numbers. */
static double exponent_bits(const struct ulp_arithmetic *a)
{
    return ceil(ulp_math_log2((double)a->storage.emax - a->storage.emin + 2));
}
static double order_block(const struct ulp_arithmetic *a)
{
    return a->order == ULP_ORDER_BLOCKED ? a->order_block : NAN;
}
static double reduce_block(const struct ulp_arithmetic *a)
{
    return a->reduce == ULP_ORDER_BLOCKED ? a->reduce_block : NAN;
}
static double promoted(const struct ulp_arithmetic *a)
{
    return a->schedule.promote > 0 ? a->schedule.promote : NAN;
}
static double slices(const struct ulp_arithmetic *a)
{
    return a->schedule.split_k > 0 ? a->schedule.split_k : NAN;
}
static const struct {
    enum ulp_study_axis axis;
    double (*get)(const struct ulp_arithmetic *a);
} axes[] = {{ULP_AXIS_BITS, mantissa_bits},  {ULP_AXIS_LENGTH, order_block},
            {ULP_AXIS_LENGTH, reduce_block}, {ULP_AXIS_LENGTH, promoted},
            {ULP_AXIS_LENGTH, slices},       {ULP_AXIS_EXPONENT, exponent_bits}};
enum { AXIS_COUNT = sizeof axes / sizeof *axes };

static bool same_exponents(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b)
{
    return a->storage.emin == b->storage.emin && a->storage.emax == b->storage.emax;
}

/* Whether that is what the settings differ in: all values are known, and each is another. Bits of
 * formats that also differ in exponents are not swept; nor are exponents beside bits. */
static bool is_swept(const struct ulp_study *study, const struct ulp_study_series *series, size_t a)
{
    const struct ulp_arithmetic *first = &study->settings[series->settings[0]].arithmetic;
    for (size_t i = 0; i < series->count; i++) {
        const struct ulp_arithmetic *own = &study->settings[series->settings[i]].arithmetic;
        if (isnan(axes[a].get(own)) ||
            (axes[a].axis == ULP_AXIS_BITS && !same_exponents(first, own)) ||
            (axes[a].axis == ULP_AXIS_EXPONENT &&
             own->storage.precision != first->storage.precision))
            return false;
        for (size_t j = 0; j < i; j++)
            if (axes[a].get(own) == axes[a].get(&study->settings[series->settings[j]].arithmetic))
                return false;
    }
    return series->count > 1;
}

static void find_axis(const struct ulp_study *study, struct ulp_study_series *series)
{
    size_t a = 0;
    while (a < AXIS_COUNT && !is_swept(study, series, a))
        a++;
    series->axis = a < AXIS_COUNT ? axes[a].axis : ULP_AXIS_WORDS;
    for (size_t i = 0; i < series->count; i++)
        series->x[i] =
            a < AXIS_COUNT ? axes[a].get(&study->settings[series->settings[i]].arithmetic) : NAN;
}

/* ---- series ---- */

/* The sweep's settings, by combination. */
struct swept {
    size_t index;
    const char *text;
    const struct ulp_sweep *sweep;
    size_t *settings;
};

/* Combinations that differ from `start` in that pair alone. */
static enum ulp_status fill_series(const struct ulp_studying *s, const struct swept *swept,
                                   size_t start, size_t brace, struct ulp_study_series *out,
                                   struct ulp_error *error)
{
    const struct ulp_sweep *sweep = swept->sweep;
    const size_t count = brace < sweep->brace_count ? sweep->choice_counts[brace] : 1;
    size_t step = 1;
    for (size_t b = brace + 1; b < sweep->brace_count; b++)
        step *= sweep->choice_counts[b];
    *out = (struct ulp_study_series){.sweep = swept->index, .count = count};
    ULP_TAKE(out->settings, s->out->memory, count, error);
    ULP_TAKE(out->texts, s->out->memory, count, error);
    ULP_TAKE(out->x, s->out->memory, count, error);
    for (size_t i = 0; i < count; i++) {
        out->settings[i] = swept->settings[start + i * step];
        if (!(out->texts[i] = copy(s, sweep->names[start + i * step])))
            return ulp_out_of_memory(error);
    }
    find_axis(s->out, out);
    return ulp_sweep_series_name(swept->text, start, brace, s->out->memory, &out->name, error);
}

/* The pair that a law can be about: bits before lengths before exponents before words. */
static enum ulp_status choose_brace(const struct ulp_studying *s, const struct swept *swept,
                                    size_t *out, struct ulp_error *error)
{
    static const enum ulp_study_axis wanted[] = {ULP_AXIS_BITS, ULP_AXIS_LENGTH, ULP_AXIS_EXPONENT};
    size_t best = sizeof wanted / sizeof *wanted;
    *out = 0;
    for (size_t b = 0; b < swept->sweep->brace_count; b++) {
        struct ulp_study_series series;
        ULP_TRY(fill_series(s, swept, 0, b, &series, error));
        size_t place = 0;
        while (place < sizeof wanted / sizeof *wanted && wanted[place] != series.axis)
            place++;
        if (place < best) {
            best = place;
            *out = b;
        }
    }
    return ULP_OK;
}

static enum ulp_status add_series(const struct ulp_studying *s, const struct swept *swept,
                                  struct ulp_error *error)
{
    size_t brace;
    ULP_TRY(choose_brace(s, swept, &brace, error));
    for (size_t i = 0; i < swept->sweep->count; i++) {
        if (swept->sweep->brace_count &&
            swept->sweep->choices[i * swept->sweep->brace_count + brace])
            continue;
        ULP_TRY(fill_series(s, swept, i, brace, &s->out->series[s->out->series_count], error));
        s->out->series_count++;
    }
    return ULP_OK;
}

static enum ulp_status add_sweep(struct ulp_studying *s, size_t index,
                                 const struct ulp_sweep *sweep, struct ulp_error *error)
{
    const struct swept swept = {.index = index,
                                .text = s->options->sweeps[index],
                                .sweep = sweep,
                                .settings = ulp_arena_take(s->out->memory, sweep->count,
                                                           sizeof *swept.settings)};
    ULP_TRY(ulp_taken(swept.settings, error));
    for (size_t i = 0; i < sweep->count; i++)
        ULP_TRY(add_setting(s, swept.text, sweep->names[i], &swept.settings[i], error));
    return add_series(s, &swept, error);
}

static enum ulp_status expand_all(const struct ulp_studying *s, struct ulp_sweep *sweeps,
                                  size_t *count, struct ulp_error *error)
{
    *count = 0;
    for (size_t i = 0; i < s->options->sweep_count; i++) {
        ULP_TRY(ulp_sweep_expand(s->options->sweeps[i], &sweeps[i], error));
        *count += sweeps[i].count;
        if (*count > ULP_STUDY_SETTINGS_MAX)
            return ulp_fail(error, ULP_ERROR_USAGE, "the sweeps have more than %d settings",
                            ULP_STUDY_SETTINGS_MAX);
    }
    return ULP_OK;
}

enum ulp_status ulp_study_make_settings(struct ulp_studying *s, struct ulp_error *error)
{
    struct ulp_study *out = s->out;
    const size_t sweep_count = s->options->sweep_count;
    size_t count;
    struct ulp_sweep *sweeps = ulp_arena_take(out->memory, sweep_count + 1, sizeof *sweeps);
    if (!sweep_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "a study needs a sweep, as e5m{4..12}");
    ULP_TRY(ulp_taken(sweeps, error));
    enum ulp_status status = expand_all(s, sweeps, &count, error);
    if (status == ULP_OK) {
        out->settings = ulp_arena_take(out->memory, count, sizeof *out->settings);
        out->series = ulp_arena_take(out->memory, count, sizeof *out->series);
        out->sweeps = ulp_arena_take(out->memory, sweep_count, sizeof *out->sweeps);
        if (!out->settings || !out->series || !out->sweeps)
            status = ulp_out_of_memory(error);
    }
    for (size_t i = 0; i < sweep_count && status == ULP_OK; i++) {
        if (!(out->sweeps[out->sweep_count++] = copy(s, s->options->sweeps[i])))
            status = ulp_out_of_memory(error);
        if (status == ULP_OK)
            status = add_sweep(s, i, &sweeps[i], error);
    }
    for (size_t i = 0; i < sweep_count; i++)
        ulp_sweep_free(&sweeps[i]);
    return status;
}

const char *ulp_study_place_kind_name(enum ulp_study_place_kind kind)
{
    static const char *const names[] = {"output", "node", "group"};
    return kind >= 0 && (size_t)kind < sizeof names / sizeof *names ? names[kind] : "output";
}

const char *ulp_study_axis_name(enum ulp_study_axis axis)
{
    static const char *const names[] = {"words", "bits", "exponent", "length"};
    return axis >= 0 && (size_t)axis < sizeof names / sizeof *names ? names[axis] : "words";
}
