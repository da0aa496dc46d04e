/* What a series comes to, in sentences: first what follows from it, then, indented, what limits
 * it. */
#include <math.h>

#include "analysis/study/studying.h"
#include "number/function/math.h"

/* Errors within this of each other are not told apart. */
#define ALIKE 1.05

struct concluding {
    const struct ulp_study *study;
    const struct ulp_study_series *series;
    size_t place;
    const char *name; /* of the place */
    struct ulp_text *out;
};

static const struct ulp_study_setting *setting_of(const struct concluding *c, size_t i)
{
    return &c->study->settings[c->series->settings[i]];
}
static const struct ulp_study_point *point_of(const struct concluding *c, size_t i)
{
    return &setting_of(c, i)->points[c->place];
}

/* The index whose error is least; count: there is none. */
static size_t find_least(const struct concluding *c)
{
    size_t least = c->series->count;
    for (size_t i = 0; i < c->series->count; i++)
        if (isfinite(point_of(c, i)->relative) &&
            (least == c->series->count || point_of(c, i)->relative < point_of(c, least)->relative))
            least = i;
    return least;
}

/* ---- laws ---- */

static void add_slope(const struct concluding *c, const struct ulp_study_fit *fit)
{
    const double *x = c->series->x;
    ulp_text_add(c->out, "slope %.2f +- %.2f from %g to %g, residual %.2f bits", fit->slope,
                 fit->slope_error, x[fit->first], x[fit->last], fit->residual);
}

static void add_law_of_bits(const struct concluding *c, const struct ulp_study_fit *fit)
{
    switch (fit->law) {
    case ULP_LAW_NONE:
        ulp_text_show(c->out, "no law fits the error of %s: %s", c->name, fit->reason);
        if (!isnan(fit->residual)) {
            ulp_text_add(c->out, " (");
            add_slope(c, fit);
            ulp_text_add(c->out, ")");
        }
        break;
    case ULP_LAW_FLAT:
        ulp_text_show(c->out, "mantissa bits do not change the error of %s (", c->name);
        add_slope(c, fit);
        ulp_text_add(c->out, "): something else limits it");
        break;
    case ULP_LAW_LINEAR:
        ulp_text_show(c->out, "each further bit halves the error of %s: it is proportional to u (",
                      c->name);
        add_slope(c, fit);
        ulp_text_add(c->out, ")");
        break;
    default:
        ulp_text_show(c->out, "each further bit changes the error of %s by a factor of %.2f (",
                      c->name, ulp_math_exp2(fit->slope));
        add_slope(c, fit);
        ulp_text_add(c->out, ")");
    }
}

static void add_law_of_length(const struct concluding *c, const struct ulp_study_fit *fit)
{
    static const char *const how[] = {[ULP_LAW_POWER] = "goes with a power of the length n",
                                      [ULP_LAW_LINEAR] = "grows with the length n",
                                      [ULP_LAW_ROOT] = "grows with the root of the length n",
                                      [ULP_LAW_FLAT] = "does not depend on the length"};
    if (fit->law == ULP_LAW_NONE) {
        ulp_text_show(c->out, "no law fits the error of %s over the length: %s", c->name,
                      fit->reason);
        return;
    }
    ulp_text_show(c->out, "the error of %s %s (", c->name, how[fit->law]);
    add_slope(c, fit);
    ulp_text_add(c->out, ")");
}

/* ---- what limits ---- */

/* Names of settings for which it holds, three at most. */
static size_t add_settings(const struct concluding *c,
                           bool (*holds)(const struct ulp_study_point *))
{
    size_t count = 0;
    for (size_t i = 0; i < c->series->count; i++)
        if (holds(point_of(c, i)) && count++ < 3)
            ulp_text_show(c->out, "%s%s", count > 1 ? ", " : "", c->series->texts[i]);
    if (count > 3)
        ulp_text_add(c->out, " and %zu more", count - 3);
    return count;
}

static bool is_nonfinite(const struct ulp_study_point *point)
{
    return point->nonfinite > 0;
}
static bool has_diverged(const struct ulp_study_point *point)
{
    return point->diverged && !point->nonfinite;
}
static bool is_lost(const struct ulp_study_point *point)
{
    return point->relative > 0.5;
}

static bool any(const struct concluding *c, bool (*holds)(const struct ulp_study_point *))
{
    for (size_t i = 0; i < c->series->count; i++)
        if (holds(point_of(c, i)))
            return true;
    return false;
}

/* For what it holds, and the first overflow in one of these settings. */
static void add_limit(const struct concluding *c, bool (*holds)(const struct ulp_study_point *),
                      const char *what)
{
    const char *node = NULL;
    if (!any(c, holds))
        return;
    ulp_text_add(c->out, "  ");
    add_settings(c, holds);
    ulp_text_show(c->out, ": %s", what);
    for (size_t i = 0; i < c->series->count && !node; i++)
        node = holds(point_of(c, i)) ? setting_of(c, i)->overflows : NULL;
    if (node)
        ulp_text_show(c->out, ", after an overflow at %s", node);
    ulp_text_add(c->out, node && c->series->axis == ULP_AXIS_BITS
                             ? ": exponent bits are missing, not mantissa bits.\n"
                             : ".\n");
}

static void add_limits(const struct concluding *c)
{
    add_limit(c, is_nonfinite, "some values are not finite");
    add_limit(c, is_lost, "the error is as large as the values");
    add_limit(c, has_diverged, "a decision differs from the reference's");
}

static void add_floor(const struct concluding *c, const struct ulp_study_fit *fit)
{
    size_t from = c->series->count;
    if (!fit->floored)
        return;
    for (size_t i = 0; i < c->series->count; i++) {
        const bool above = fit->count && c->series->x[i] <= ulp_math_max(c->series->x[fit->first],
                                                                         c->series->x[fit->last]);
        if (isfinite(point_of(c, i)->relative) && !above && !is_lost(point_of(c, i)) &&
            (from == c->series->count || c->series->x[i] < c->series->x[from]))
            from = i;
    }
    if (from < c->series->count)
        ulp_text_show(c->out,
                      "  From %s on more bits do not help: the error stays at %.2g of %s's rms.\n",
                      c->series->texts[from], fit->floor, c->name);
}

/* ---- the tolerance ---- */

/* Is there an output to judge, that a node computes? */
static bool can_judge(const struct concluding *c)
{
    const struct ulp_study *study = c->study;
    for (size_t p = 0; p < study->place_count && study->places[p].kind == ULP_PLACE_OUTPUT; p++)
        if (!ulp_study_is_missing(&setting_of(c, 0)->points[p]))
            return !isnan(study->tolerance);
    return false;
}

/* At every one. */
static bool meets(const struct concluding *c, size_t i)
{
    const struct ulp_study *study = c->study;
    for (size_t p = 0; p < study->place_count && study->places[p].kind == ULP_PLACE_OUTPUT; p++) {
        const struct ulp_study_point *point = &setting_of(c, i)->points[p];
        if (!ulp_study_is_missing(point) && !(point->relative <= study->tolerance))
            return false;
    }
    return true;
}

static const char *all_outputs(const struct concluding *c)
{
    return c->study->place_count > 1 && c->study->places[1].kind == ULP_PLACE_OUTPUT
               ? "every output"
               : c->name;
}

/* The least x from which on every setting meets it. */
static size_t find_enough(const struct concluding *c)
{
    const size_t count = c->series->count;
    size_t enough = count;
    for (size_t i = 0; i < count; i++) {
        bool all = meets(c, i);
        for (size_t j = 0; j < count && all; j++)
            all = c->series->x[j] < c->series->x[i] || meets(c, j);
        if (all && (enough == count || c->series->x[i] < c->series->x[enough]))
            enough = i;
    }
    return enough;
}

static void add_tolerance(const struct concluding *c)
{
    const size_t count = c->series->count, enough = find_enough(c), least = find_least(c);
    const double tolerance = c->study->tolerance;
    if (!can_judge(c) || least == count)
        return;
    if (enough == count) {
        ulp_text_show(c->out, "  None keeps %s within %g: %s has the least error, %.2g.\n",
                      all_outputs(c), tolerance, c->series->texts[least],
                      point_of(c, least)->relative);
        return;
    }
    size_t below = count; /* the next one that does not */
    for (size_t i = 0; i < count; i++)
        if (c->series->x[i] < c->series->x[enough] &&
            (below == count || c->series->x[i] > c->series->x[below]))
            below = i;
    ulp_text_show(c->out, "  %s suffices for %g: its error is %.2g", c->series->texts[enough],
                  tolerance, point_of(c, enough)->relative);
    if (below < count && isfinite(point_of(c, below)->relative))
        ulp_text_show(c->out, "; %s has %.2g", c->series->texts[below],
                      point_of(c, below)->relative);
    ulp_text_add(c->out, ".\n");
}

/* Of words: all that meet it. */
static void add_within(const struct concluding *c)
{
    size_t count = 0;
    if (!can_judge(c))
        return;
    for (size_t i = 0; i < c->series->count; i++)
        if (meets(c, i))
            ulp_text_show(c->out, count++ ? ", %s" : "  %s", c->series->texts[i]);
    if (count)
        ulp_text_show(c->out, count > 1 ? " keep %s within %g.\n" : " keeps %s within %g.\n",
                      all_outputs(c), c->study->tolerance);
    else
        ulp_text_show(c->out, "  None keeps %s within %g.\n", all_outputs(c), c->study->tolerance);
}

/* ---- trials ---- */

static void add_trials(const struct concluding *c)
{
    for (size_t i = 0; i < c->series->count; i++) {
        const struct ulp_study_trials *trials = &point_of(c, i)->trials;
        if (!trials->count)
            continue;
        ulp_text_show(c->out, "  %s: %zu trials, ", c->series->texts[i], trials->count);
        if (isnan(trials->bits)) {
            ulp_text_add(c->out, "whose spread is no finite number.\n");
            continue;
        }
        if (isinf(trials->bits) && trials->bits > 0)
            ulp_text_add(c->out, "equal bits in most elements");
        else
            ulp_text_add(c->out,
                         "%.1f significant bits (%.1f at least, probability %g, confidence %g)",
                         trials->bits, trials->bits_low, c->study->probability,
                         c->study->confidence);
        ulp_text_add(c->out, "; bias %.1e +- %.1e: %s.\n", trials->bias, trials->bias_width,
                     fabs(trials->bias) > trials->bias_width ? "biased" : "none seen");
    }
}

/* ---- words ---- */

static void add_ranking(const struct concluding *c, size_t least)
{
    const double best = point_of(c, least)->relative;
    bool alike = true;
    for (size_t i = 0; i < c->series->count; i++)
        alike &= point_of(c, i)->relative <= best * ALIKE;
    if (alike) {
        ulp_text_show(c->out,
                      "the choice does not change the error of %s by more than %.0f %%: "
                      "%.2g of its rms.\n",
                      c->name, 100 * (ALIKE - 1), best);
        return;
    }
    ulp_text_show(c->out, "%s has the least error of %s, %.2g of its rms", c->series->texts[least],
                  c->name, best);
    size_t told = 0;
    for (size_t i = 0; i < c->series->count; i++) {
        const double relative = point_of(c, i)->relative;
        if (i == least || !isfinite(relative) || told++ >= 6)
            continue;
        ulp_text_show(c->out, "%s %s ", told == 1 ? ";" : ",", c->series->texts[i]);
        if (best > 0 && relative / best < 1000)
            ulp_text_add(c->out, "%.3g x", relative / best);
        else
            ulp_text_add(c->out, "%.2g", relative);
    }
    ulp_text_add(c->out, ".\n");
}

/* Exponent bits: the fewest with an error like that of the most. */
static void add_exponents(const struct concluding *c, size_t least)
{
    size_t fewest = least;
    for (size_t i = 0; i < c->series->count; i++)
        if (point_of(c, i)->relative <= 1.1 * point_of(c, least)->relative &&
            c->series->x[i] < c->series->x[fewest])
            fewest = i;
    ulp_text_show(
        c->out,
        "%g exponent bits are enough for %s: %s has an error of %.2g of its rms, and more "
        "change it by less than 10 %%.\n",
        c->series->x[fewest], c->name, c->series->texts[fewest], point_of(c, fewest)->relative);
}

static void add_words(const struct concluding *c)
{
    const size_t least = find_least(c);
    if (least == c->series->count)
        ulp_text_show(c->out, "no setting has an error of %s that can be measured.\n", c->name);
    else if (c->series->count == 1)
        ulp_text_show(c->out, "the error of %s is %.2g of its rms.\n", c->name,
                      point_of(c, least)->relative);
    else if (c->series->axis == ULP_AXIS_EXPONENT)
        add_exponents(c, least);
    else
        add_ranking(c, least);
}

void ulp_study_conclude(const struct ulp_study *study, const struct ulp_study_series *series,
                        struct ulp_text *out)
{
    const size_t place = ulp_study_worst(study, series);
    const struct concluding c = {.study = study,
                                 .series = series,
                                 .place = place,
                                 .name = study->places[place].name,
                                 .out = out};
    ulp_text_show(out, "%s: ", series->name);
    if (!study->place_count ||
        (study->places[place].kind == ULP_PLACE_OUTPUT && ulp_study_is_missing(point_of(&c, 0)))) {
        ulp_text_add(out, "cannot be judged: no node computes an output.\n");
        return;
    }
    if (!series->fits) {
        add_words(&c);
        add_limits(&c);
    } else {
        const struct ulp_study_fit *fit = &series->fits[place];
        if (series->axis == ULP_AXIS_BITS)
            add_law_of_bits(&c, fit);
        else
            add_law_of_length(&c, fit);
        ulp_text_add(out, ".\n");
        add_limits(&c);
        add_floor(&c, fit);
    }
    if (series->axis == ULP_AXIS_WORDS)
        add_within(&c);
    else
        add_tolerance(&c);
    add_trials(&c);
}
