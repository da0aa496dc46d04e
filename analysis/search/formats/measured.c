/* What the model of layers' powers is made of: runs of one format in every layer, with which a plan
 * is also compared, and runs of one layer alone in a format. */
#include <math.h>

#include "analysis/search/formats/formats.h"
#include "base/error.h"
#include "number/function/math.h"

/* ---- one format for every layer ---- */

static enum ulp_status run_choice(struct ulp_searcher *search, size_t choice, ulp_pick *work,
                                  struct ulp_search *out, struct ulp_error *error)
{
    double ratio;
    if (!ulp_search_same(search, (ulp_pick)choice, work))
        return ULP_OK;
    ULP_TRY(ulp_search_emulate(search, work, &ratio, error));
    if (!search->over)
        out->uniforms[out->uniform_count++] =
            (struct ulp_search_uniform){choice, ulp_search_mean_bits(search, work), ratio,
                                        search->emulated};
    return ULP_OK;
}

/* The narrowest that meets the tolerance. */
static void find_best_uniform(struct ulp_search *out)
{
    out->uniform = -1;
    for (size_t u = 0; u < out->uniform_count; u++) {
        const struct ulp_search_uniform *now = &out->uniforms[u];
        if (now->ratio <= 1 && (out->uniform < 0 || now->bits < out->uniforms[out->uniform].bits))
            out->uniform = (ptrdiff_t)u;
    }
}

/* The model's powers are relative: the run nearest to the tolerance says how large they are. */
static void set_scale(struct ulp_searcher *search, const struct ulp_search *out, ulp_pick *work)
{
    double nearest = INFINITY, scale = 1;
    for (size_t u = 0; u < out->uniform_count; u++) {
        const struct ulp_search_uniform *run = &out->uniforms[u];
        if (!isfinite(run->ratio) || !(run->ratio > 0) || fabs(ulp_math_log(run->ratio)) >= nearest)
            continue;
        ulp_search_same(search, (ulp_pick)run->format, work);
        const double predicted = ulp_search_predict(search, work);
        if (predicted > 0) {
            nearest = fabs(ulp_math_log(run->ratio));
            scale = run->ratio / predicted;
        }
    }
    for (size_t l = 0; l < search->layer_count; l++)
        search->layers[l].power *= scale * scale;
}

enum ulp_status ulp_search_uniforms(struct ulp_searcher *search, struct ulp_search *out,
                                    ulp_pick *work, struct ulp_error *error)
{
    ULP_TAKE(out->uniforms, out->memory, search->choice_count + 1, error);
    for (size_t c = 0; c < search->choice_count; c++)
        ULP_TRY(run_choice(search, c, work, out, error));
    find_best_uniform(out);
    set_scale(search, out, work);
    return ULP_OK;
}

void ulp_search_uniforms_again(struct ulp_searcher *search, struct ulp_search *out, ulp_pick *work)
{
    search->measured = !search->over;
    if (!(search->options->expected > 0) || search->over)
        return;
    search->given = false;
    search->seen_count = 0;
    for (size_t u = 0; u < out->uniform_count; u++) {
        struct ulp_search_uniform *uniform = &out->uniforms[u];
        ulp_search_same(search, (ulp_pick)uniform->format, work);
        uniform->ratio = ulp_search_judge_again(search, work, uniform->emulated);
    }
    find_best_uniform(out);
}

/* ---- one layer alone ---- */

/* The power with the layer alone in that choice; infinite when something is not finite. */
static enum ulp_status measure_layer_alone(struct ulp_searcher *search, size_t layer, size_t choice,
                                           ulp_pick *work, double *power, struct ulp_error *error)
{
    double ratio;
    work[layer] = (ulp_pick)choice;
    const enum ulp_status status = ulp_search_emulate(search, work, &ratio, error);
    work[layer] = 0;
    *power = ulp_math_max(ratio * ratio - search->full * search->full, ULP_SEARCH_NO_POWER);
    return status;
}

/* Each choice is measured but the widest, which has what its precision says beside the others. */
static enum ulp_status measure_choices(struct ulp_searcher *search, size_t index, ulp_pick *work,
                                       struct ulp_error *error)
{
    struct ulp_searched_layer *layer = &search->layers[index];
    for (size_t c = 1; c < search->choice_count && !search->over; c++) {
        double power;
        if (!layer->bits[c])
            continue;
        ULP_TRY(measure_layer_alone(search, index, c, work, &power, error));
        if (!search->over && layer->power > 0)
            layer->relative[c] = power / layer->power;
    }
    return ULP_OK;
}

enum ulp_status ulp_search_measure(struct ulp_searcher *search, ulp_pick *work,
                                   struct ulp_error *error)
{
    ulp_search_same(search, 0, work);
    for (size_t l = 0; l < search->layer_count && !search->over; l++)
        ULP_TRY(measure_choices(search, l, work, error));
    for (size_t l = 0; l < search->layer_count; l++)
        search->layers[l].prior = search->layers[l].power;
    return ULP_OK;
}

/* Roundings of a single value fall now so, now so: by no more than so many times at once. */
#define LEARN_MOST 16

void ulp_search_learn(struct ulp_searcher *search)
{
    for (size_t l = 0; l < search->layer_count; l++) {
        struct ulp_searched_layer *layer = &search->layers[l];
        const double without = search->without[l];
        if (search->fewer[l] < 0 || !isfinite(without) || !(without > search->best_ratio))
            continue;
        const double more = without * without - search->best_ratio * search->best_ratio,
                     steps = layer->relative[search->fewer[l]] - layer->relative[search->best[l]];
        if (!(steps > 0) || !isfinite(steps))
            continue;
        const double power = ulp_math_max(layer->power, 1e-300);
        layer->power =
            ulp_math_min(ulp_math_max(more / steps, power / LEARN_MOST), power * LEARN_MOST);
    }
}
