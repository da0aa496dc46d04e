/* One format for every layer: what the allocation is compared with, and the scale of the model. */
#include <math.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "number/function/math.h"

struct uniform {
    struct ulp_searcher *search;
    struct ulp_search *out;
    ulp_pick *work;
};

static enum ulp_status open_uniform(struct uniform *uniform, struct ulp_searcher *search,
                                    struct ulp_search *out, struct ulp_error *error)
{
    *uniform = (struct uniform){.search = search, .out = out};
    uniform->work =
        ulp_arena_take(search->emulation.memory, search->layer_count + 1, sizeof *uniform->work);
    if (!out->uniforms)
        out->uniforms =
            ulp_arena_take(out->memory, search->choice_count + 1, sizeof *out->uniforms);
    return ulp_taken(uniform->work && out->uniforms, error);
}

/* INFINITY: some layer does not fit, or the time is over. */
static enum ulp_status run_choice(struct uniform *uniform, size_t choice, double *ratio,
                                  struct ulp_error *error)
{
    struct ulp_searcher *search = uniform->search;
    struct ulp_search *out = uniform->out;
    *ratio = INFINITY;
    for (size_t u = 0; u < out->uniform_count; u++)
        if (out->uniforms[u].format == choice) {
            *ratio = out->uniforms[u].ratio;
            return ULP_OK;
        }
    if (!ulp_search_same(search, (ulp_pick)choice, uniform->work))
        return ULP_OK;
    ULP_TRY(ulp_search_emulate(search, uniform->work, ratio, error));
    if (!search->over)
        out->uniforms[out->uniform_count++] =
            (struct ulp_search_uniform){choice, ulp_search_mean_bits(search, uniform->work), *ratio,
                                        search->emulated};
    return ULP_OK;
}

static void find_smallest(struct ulp_search *out)
{
    out->uniform = -1;
    for (size_t u = 0; u < out->uniform_count; u++) {
        const struct ulp_search_uniform *now = &out->uniforms[u];
        if (now->ratio <= 1 && (out->uniform < 0 || now->bits < out->uniforms[out->uniform].bits))
            out->uniform = (ptrdiff_t)u;
    }
}

/* The model's powers are relative: the run nearest to the tolerance says how large they are. */
static void set_scale(const struct uniform *uniform)
{
    struct ulp_searcher *search = uniform->search;
    double nearest = INFINITY, scale = 1;
    for (size_t u = 0; u < uniform->out->uniform_count; u++) {
        const struct ulp_search_uniform *run = &uniform->out->uniforms[u];
        if (!isfinite(run->ratio) || !(run->ratio > 0) || fabs(ulp_math_log(run->ratio)) >= nearest)
            continue;
        ulp_search_same(search, (ulp_pick)run->format, uniform->work);
        const double predicted = ulp_search_predict(search, uniform->work);
        if (predicted > 0) {
            nearest = fabs(ulp_math_log(run->ratio));
            scale = run->ratio / predicted;
        }
    }
    for (size_t l = 0; l < search->layer_count; l++)
        search->layers[l].power *= scale * scale;
}

enum ulp_status ulp_search_uniforms(struct ulp_searcher *search, struct ulp_search *out,
                                    struct ulp_error *error)
{
    struct uniform uniform;
    double ratio;
    ULP_TRY(open_uniform(&uniform, search, out, error));
    for (size_t c = 0; c < search->choice_count; c++)
        ULP_TRY(run_choice(&uniform, c, &ratio, error));
    find_smallest(out);
    set_scale(&uniform);
    return ULP_OK;
}

enum ulp_status ulp_search_uniforms_again(struct ulp_searcher *search, struct ulp_search *out,
                                          struct ulp_error *error)
{
    struct uniform uniform;
    double ratio;
    search->measured = true;
    if (!(search->options->expected > 0) || search->over)
        return ULP_OK;
    search->given = false;
    search->seen_count = out->uniform_count = 0;
    ULP_TRY(open_uniform(&uniform, search, out, error));
    for (size_t c = 0; c < search->choice_count; c++)
        ULP_TRY(run_choice(&uniform, c, &ratio, error));
    find_smallest(out);
    return ULP_OK;
}
