#include "analysis/prove/box.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/text/names.h"
#include "number/function/math.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* ---- what samples hold ---- */

/* Widened by one sample's values of the input. */
static enum ulp_status join_sample(const struct ulp_tensor_set *sample, size_t number,
                                   const char *name, double *low, double *high,
                                   struct ulp_error *error)
{
    const struct ulp_tensor *values = ulp_tensor_set_find(sample, name);
    if (!values)
        return ULP_OK; /* an initializer stands for it */
    if (!values->count)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "input '%s' has no elements in sample %zu, so that there is no range to "
                        "prove for: give another sample, or a range",
                        name, number);
    for (size_t i = 0; i < values->count; i++) {
        const double x = ulp_tensor_get(values, i);
        if (!isfinite(x))
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "input '%s' holds %s in sample %zu: no range holds it; give the range "
                            "that is meant",
                            name, isnan(x) ? "NaN" : "an infinity", number);
        *low = ulp_math_min(*low, x);
        *high = ulp_math_max(*high, x);
    }
    return ULP_OK;
}

/* The end of a range that is the farther from 0 goes away from it, the nearer one towards it. */
static void widen(double factor, double *low, double *high)
{
    *low = *low < 0 ? *low * factor : *low / factor;
    *high = *high > 0 ? *high * factor : *high / factor;
}

static enum ulp_status take_samples(struct ulp_proof *proof, const struct ulp_prove_box *from,
                                    bool is_float, struct ulp_proof_input *out,
                                    struct ulp_error *error)
{
    const double factor = from->widen ? from->widen : ULP_PROVE_WIDEN;
    double low = INFINITY, high = -INFINITY;
    for (size_t s = 0; s < from->sample_count; s++)
        ULP_TRY(join_sample(&from->samples[s], s, out->name, &low, &high, error));
    if (!(low <= high))
        return ULP_OK;
    char why[120];
    snprintf(why, sizeof why,
             is_float ? "the samples' [%g, %g], its ends times %g" : "the samples'", low, high,
             factor);
    if (is_float)
        widen(factor, &low, &high);
    out->low = low, out->high = high;
    out->sampled = true;
    out->why = ulp_arena_copy(proof->memory, why);
    return ulp_taken(out->why, error);
}

/* ---- the box ---- */

static enum ulp_status set_range(struct ulp_proof *proof, const struct ulp_model *model, size_t i,
                                 const struct ulp_prove_box *from, struct ulp_error *error)
{
    const struct ulp_random_options options = {.ranges = from->ranges,
                                               .range_count = from->range_count};
    const struct ulp_chosen_range range = ulp_model_input_range(model, i, &options);
    const struct ulp_value_info info = ulp_model_input(model, i);
    struct ulp_proof_input *out = &proof->inputs[i];
    *out = (struct ulp_proof_input){.name = ulp_arena_copy(proof->memory, info.name),
                                    .low = range.low,
                                    .high = range.high,
                                    .why = ulp_arena_copy(proof->memory, range.why)};
    ULP_TRY(ulp_taken(out->name && out->why, error));
    for (size_t r = 0; r < from->range_count; r++)
        out->given |= !from->ranges[r].name || strcmp(from->ranges[r].name, out->name) == 0;
    const bool is_float = ulp_type_is_float(info.type);
    if (!out->given && !strstr(out->why, "picks one of")) /* any index is meant */
        ULP_TRY(take_samples(proof, from, is_float, out, error));
    if (!(out->low <= out->high) || !isfinite(out->low) || !isfinite(out->high))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "the range of input '%s' is %g to %g: expected two finite numbers, the "
                        "smaller first",
                        out->name, out->low, out->high);
    struct ulp_format declared;
    struct ulp_error ignored;
    double most = proof->format.max_finite;
    if (is_float && ulp_format_find(ulp_type_rows[info.type].format, &declared, &ignored) == ULP_OK)
        most = ulp_math_min(most, declared.max_finite);
    out->beyond = is_float && ulp_math_max(fabs(out->low), fabs(out->high)) > most;
    return ULP_OK;
}

static enum ulp_status check_names(const struct ulp_model *model, const struct ulp_prove_box *from,
                                   struct ulp_error *error)
{
    if (from->widen && !(from->widen >= 1 && from->widen <= 1e6))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "ranges of samples are widened by %g: expected a factor from 1 to 1e6",
                        from->widen);
    for (size_t r = 0; r < from->range_count; r++) {
        bool known = !from->ranges[r].name;
        for (size_t i = 0; i < ulp_model_input_count(model) && !known; i++)
            known = strcmp(from->ranges[r].name, ulp_model_input(model, i).name) == 0;
        if (!known)
            return ulp_fail(error, ULP_ERROR_USAGE, "the model has no input '%s'",
                            from->ranges[r].name);
    }
    return ULP_OK;
}

enum ulp_status ulp_proof_set_box(struct ulp_proof *proof, const struct ulp_program *program,
                                  const struct ulp_model *model, const struct ulp_prove_box *from,
                                  struct ulp_input_range **out, struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    proof->input_count = ulp_model_input_count(model);
    ULP_TAKE(proof->inputs, proof->memory, proof->input_count + 1, error);
    ULP_TAKE(*out, proof->memory, block->input_count + 1, error);
    ULP_TRY(check_names(model, from, error));
    ULP_SCOPED(ulp_names_free) struct ulp_names names = {.budget = ulp_model_budget(model)};
    for (size_t i = 0; i < proof->input_count; i++) {
        ULP_TRY(set_range(proof, model, i, from, error));
        ULP_TRY(ulp_taken(ulp_names_add(&names, proof->inputs[i].name, (int)i), error));
    }
    for (size_t b = 0; b < block->input_count; b++) {
        const int i = ulp_names_find(&names, block->slots[block->inputs[b]].name);
        if (i >= 0)
            (*out)[b] = (struct ulp_input_range){proof->inputs[i].name, proof->inputs[i].low,
                                                 proof->inputs[i].high};
    }
    return ULP_OK;
}
