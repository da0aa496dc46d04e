/* Cause "format": was the recording computed in another arithmetic than those asked about? */
#include <math.h>

#include "analysis/measure/quantile.h"
#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "base/text/text.h"
#include "number/format/scaling.h"

/* Of so many values that are not those of what was asked about all have a format's bits by chance
 * less often than one time in 1,000, if each has by every other chance. */
#define TELLING_MIN 10

/* Ratios of the file's tensors before the first unexplained one (`before`), or of it and what comes
 * after it, in that arithmetic; *count of them, in the arena. NULL: out of memory. */
static double *list_ratios(const struct ulp_comparing *comparing, size_t file, size_t arithmetic,
                           size_t first, bool before, size_t *count)
{
    const struct ulp_comparison *out = comparing->out;
    double *ratios = ulp_arena_take(comparing->arena, out->tensor_count + 1, sizeof *ratios);
    *count = 0;
    for (size_t t = before ? 0 : first; ratios && t < (before ? first : out->tensor_count); t++) {
        const struct ulp_compared_tensor *tensor = &out->tensors[t];
        if (!tensor->node || !tensor->values[file].recorded ||
            !(tensor->expected[arithmetic].rms > 0))
            continue;
        const double ratio =
            ulp_compare_judge_by(comparing, t, file, arithmetic, ULP_FALSE_ALARM).ratio;
        if (isfinite(ratio))
            ratios[(*count)++] = ratio;
    }
    return ratios;
}

static bool is_product(const struct ulp_comparing *comparing, size_t tensor)
{
    struct ulp_node_types types;
    ulp_program_node_types(comparing->program, 0, (size_t)comparing->out->tensors[tensor].index,
                           &types);
    return types.product;
}

/* Coarse formats explain much that they did not cause. Errors must be as large as the format's, and
 * where tensors before are far more exact than it allows, the first that is not must be one that
 * the format would round. Errors of integer sums have no size to expect. */
static enum ulp_status is_likely(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                 size_t arithmetic, double *ratio, bool *likely,
                                 struct ulp_error *error)
{
    const struct ulp_arithmetic *format = &comparing->options->arithmetics[arithmetic];
    size_t count = 0, clean_count = 0, clean = 0;
    double *ratios = list_ratios(comparing, file, arithmetic, tensor, false, &count),
           *before = list_ratios(comparing, file, arithmetic, tensor, true, &clean_count);
    *likely = false;
    *ratio = 0;
    if (ratios && count) {
        ulp_numbers_sort(ratios, count);
        *ratio = ratios[count / 2];
        *likely = *ratio > 0.125 && *ratio < 2.5;
    }
    for (size_t i = 0; before && i < clean_count; i++)
        clean += before[i] < 0.05;
    if (clean && format->factor.precision < format->storage.precision)
        *likely = *likely && is_product(comparing, tensor);
    else if (clean)
        *likely = *likely &&
                  ulp_is_stored_in(ulp_recorded(&comparing->work[tensor], file), &format->storage);
    *likely = *likely || format->schedule.qdq_integer || format->schedule.integers_saturate;
    return ulp_taken(ratios && before, error);
}

static bool has_inputs(const struct ulp_comparing *comparing, size_t file)
{
    bool any = comparing->options->recorded_inputs;
    for (size_t t = 0; t < comparing->out->tensor_count; t++)
        any |= comparing->out->tensors[t].index < 0 && !comparing->out->tensors[t].node &&
               comparing->out->tensors[t].values[file].recorded;
    return any;
}

/* What it was asked to be: the arithmetic that comes nearest at the tensor. */
static const struct ulp_ranked *find_asked(const struct ulp_comparing *comparing, size_t file,
                                           size_t tensor)
{
    const struct ulp_compared_file *out = &comparing->out->files[file];
    const struct ulp_ranked *asked = out->ranked;
    while (asked->arithmetic != comparing->out->tensors[tensor].values[file].by)
        asked++;
    return asked;
}

/* Real units and fake quantisation are told apart by more than their names, as are processors. */
static const char *describe_factors(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->schedule.integers_saturate
               ? " (sums of bytes that saturate, as ONNX Runtime's on a processor without VNNI)"
           : !arithmetic->scaling[0].name[0] ? ""
           : ulp_scaling_is_fake(arithmetic)
               ? " (fake quantisation: factors are rounded, scaled back and multiplied in the "
                 "storage format)"
               : " (the unit multiplies the rounded elements themselves)";
}

/* What has all bits as well, or without them explains as likely. */
static enum ulp_status say_ties(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                const struct ulp_ranked *told, struct ulp_text *text,
                                struct ulp_error *error)
{
    const struct ulp_compared_file *out = &comparing->out->files[file];
    for (size_t i = 0; i < out->ranked_count; i++) {
        const struct ulp_ranked *other = &out->ranked[i];
        double ratio;
        bool tie = ulp_has_all_bits(other);
        if (other == told || !other->explains || other->arithmetic < comparing->asked)
            continue;
        if (!ulp_has_all_bits(told))
            ULP_TRY(is_likely(comparing, file, tensor, other->arithmetic, &ratio, &tie, error));
        if (tie)
            ulp_text_add(text, " or %s", comparing->out->arithmetics[other->arithmetic]);
    }
    return ULP_OK;
}

static enum ulp_status say_format(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                  const struct ulp_ranked *ranked, double ratio,
                                  struct ulp_cause *cause, struct ulp_error *error)
{
    const struct ulp_ranked *asked = find_asked(comparing, file, tensor);
    const struct ulp_arithmetic *arithmetic = &comparing->options->arithmetics[ranked->arithmetic];
    const char *name = comparing->out->arithmetics[ranked->arithmetic],
               *other = comparing->out->arithmetics[asked->arithmetic];
    const bool bits = ulp_has_all_bits(ranked), few = ranked->elements < asked->equal + TELLING_MIN;
    ULP_SCOPED(ulp_text_free) struct ulp_text ties = {0};
    struct ulp_text text = {0};
    ULP_TRY(say_ties(comparing, file, tensor, ranked, &ties, error));
    if (bits)
        ulp_text_add(&text, "it %s computed in %s%s%s: ", few ? "may have been" : "was", name,
                     describe_factors(arithmetic), ties.length ? ties.data : "");
    else
        ulp_text_add(&text, "%s%s%s%s explains all of it", name, describe_factors(arithmetic),
                     ties.length ? ties.data : "",
                     has_inputs(comparing, file) ? "" : " on the inputs given");
    if (bits)
        ulp_text_add(&text, "all %zu values have %s bits, %zu those of %s%s", ranked->elements,
                     ties.length ? "their" : "its", asked->equal, other,
                     few ? ", and so few may by chance" : "");
    else if (ratio > 0)
        ulp_text_add(&text, ", and errors are as large as %s makes them (%.2g times)",
                     ties.length ? name : "it", ratio);
    if (!bits && arithmetic->storage.precision < 24 &&
        !ulp_is_stored_in(ulp_recorded(&comparing->work[tensor], file), &arithmetic->storage))
        ulp_text_add(&text, ", though it was not stored so at the end");
    if (!bits)
        ulp_text_add(&text,
                     ": it may have been computed in that, or %swith other weights, by another "
                     "reading of a node or written with few digits, which recorded %sinner "
                     "values would tell",
                     has_inputs(comparing, file) ? "" : "on other inputs, ",
                     has_inputs(comparing, file) ? "" : "inputs and ");
    ulp_text_add(&text, ".");
    text.failed |= ties.failed;
    ULP_TRY(ulp_cause_set(comparing, cause, ULP_CAUSE_FORMAT, &text, NULL, error));
    if (!(cause->arithmetic = ulp_comparing_text(comparing, name)))
        return ulp_out_of_memory(error);
    return ULP_OK;
}

enum ulp_status ulp_explain_format(const struct ulp_comparing *comparing, size_t file,
                                   size_t tensor, bool surely, struct ulp_cause *cause,
                                   struct ulp_error *error)
{
    const struct ulp_compared_file *out = &comparing->out->files[file];
    for (size_t i = 0; i < out->ranked_count && !cause->text; i++) {
        const struct ulp_ranked *ranked = &out->ranked[i];
        const bool sure = ulp_has_all_bits(ranked) || out->better == (ptrdiff_t)ranked->arithmetic;
        double ratio = ranked->ratio;
        bool likely = sure;
        if (!ranked->explains || ranked->arithmetic < comparing->asked || (surely && !sure))
            continue;
        if (!sure)
            ULP_TRY(is_likely(comparing, file, tensor, ranked->arithmetic, &ratio, &likely, error));
        if (likely)
            ULP_TRY(say_format(comparing, file, tensor, ranked, ratio, cause, error));
    }
    return ULP_OK;
}
