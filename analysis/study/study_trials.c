/* Trials of stochastic rounding: the mean and the deviation of every element of the outputs over
 * them, and what follows from these. */
#include <math.h>
#include <stdlib.h>

#include "analysis/measure/difference.h"
#include "analysis/measure/quantile.h"
#include "analysis/study/studying.h"
#include "base/error.h"
#include "number/function/math.h"

/* An element over the trials so far: its errors d = value - reference, by Welford's recurrence. */
struct element {
    double reference, mean, squares; /* mean of d; sum of (d - mean)^2, NaN: some was not finite */
};
/* One output of one sample. */
struct tensor_sums {
    size_t count;
    struct element *elements; /* NULL: no floats, or another shape in some trial */
    bool reshaped;
};
struct ulp_trial_sums {
    size_t sample_count, output_count, trial_count;
    struct tensor_sums *tensors; /* [sample][output] */
    double *errors, *counts;     /* [trial][output]: sums of d over finite elements; their number */
    struct ulp_budget *budget;
};

void ulp_trial_sums_free(struct ulp_trial_sums *sums)
{
    if (!sums)
        return;
    for (size_t i = 0; sums->tensors && i < sums->sample_count * sums->output_count; i++)
        ulp_free(sums->tensors[i].elements);
    ulp_free(sums->tensors);
    ulp_free(sums->errors);
    free(sums);
}

static enum ulp_status create(const struct ulp_studying *s, size_t output_count,
                              struct ulp_trial_sums **out, struct ulp_error *error)
{
    struct ulp_budget *budget = ulp_model_budget(s->model);
    struct ulp_trial_sums *sums = calloc(1, sizeof *sums);
    void *memory = NULL;
    ULP_TRY(ulp_taken(sums, error));
    *out = sums;
    *sums = (struct ulp_trial_sums){.sample_count = s->sample_count,
                                    .output_count = output_count,
                                    .trial_count = s->out->trials,
                                    .budget = budget};
    enum ulp_status status = ulp_allocate_zero(&memory, s->sample_count * output_count,
                                               sizeof *sums->tensors, budget, "trials", error);
    sums->tensors = memory;
    if (status == ULP_OK)
        status = ulp_allocate_zero(&memory, sums->trial_count * output_count,
                                   2 * sizeof *sums->errors, budget, "trials", error);
    if (status != ULP_OK)
        return status;
    sums->errors = memory;
    sums->counts = sums->errors + sums->trial_count * output_count;
    return ULP_OK;
}

/* The first trial of an output. */
static enum ulp_status start(const struct ulp_trial_sums *sums, struct tensor_sums *tensor,
                             const struct ulp_tensor *reference, struct ulp_error *error)
{
    void *memory;
    ULP_TRY(ulp_allocate_zero(&memory, reference->count, sizeof *tensor->elements, sums->budget,
                              "elements over trials", error));
    tensor->elements = memory;
    tensor->count = reference->count;
    return ULP_OK;
}

static void add_element(struct element *element, double value, double base, double d, size_t trial)
{
    element->reference = base;
    if (!isfinite(value) || !isfinite(base) || !isfinite(d) || isnan(element->squares)) {
        element->squares = NAN;
        return;
    }
    const double delta = d - element->mean;
    element->mean += delta / (double)(trial + 1);
    element->squares += delta * (d - element->mean);
}

static void add_tensor(struct ulp_trial_sums *sums, struct tensor_sums *tensor, size_t place,
                       size_t trial, const struct ulp_tensor *value,
                       const struct ulp_tensor *reference)
{
    double d[ULP_METRICS_STRIP], values[ULP_METRICS_STRIP], bases[ULP_METRICS_STRIP];
    for (size_t first = 0; first < tensor->count; first += ULP_METRICS_STRIP) {
        const size_t count = ulp_size_min(tensor->count - first, ULP_METRICS_STRIP);
        ulp_difference_read(d, values, bases, value, reference, first, count);
        for (size_t i = 0; i < count; i++) {
            add_element(&tensor->elements[first + i], values[i], bases[i], d[i], trial);
            if (isfinite(values[i]) && isfinite(bases[i]) && isfinite(d[i])) {
                sums->errors[place] += d[i];
                sums->counts[place]++;
            }
        }
    }
}

enum ulp_status ulp_trial_sums_add(const struct ulp_studying *s, struct ulp_trial_sums **sums,
                                   size_t sample, size_t trial, const struct ulp_tensor_set *values,
                                   const struct ulp_tensor_set *reference, struct ulp_error *error)
{
    if (!*sums)
        ULP_TRY(create(s, reference->count, sums, error));
    for (size_t o = 0; o < reference->count && o < values->count; o++) {
        const struct ulp_tensor *base = &reference->items[o].tensor,
                                *value = &values->items[o].tensor;
        struct tensor_sums *tensor = &(*sums)->tensors[sample * (*sums)->output_count + o];
        if (!ulp_type_is_float(base->type))
            continue;
        tensor->reshaped |= !ulp_tensor_same_shape(base, value);
        if (!tensor->elements && !tensor->reshaped)
            ULP_TRY(start(*sums, tensor, base, error));
        if (!tensor->reshaped)
            add_tensor(*sums, tensor, trial * (*sums)->output_count + o, trial, value, base);
    }
    return ULP_OK;
}

/* ---- conclusions ---- */

/* What the elements of one output give together. */
struct summed {
    double *bits; /* of each element */
    size_t count;
    double bias_squares;
    size_t biased;
};

static void add_bits(struct summed *summed, struct ulp_study_trials *out,
                     const struct tensor_sums *tensor, double trials, double student)
{
    for (size_t i = 0; i < tensor->count; i++) {
        const struct element *element = &tensor->elements[i];
        if (isnan(element->squares)) {
            out->left_out++;
            continue;
        }
        const double deviation = sqrt(element->squares / (trials - 1)),
                     mean = element->reference + element->mean;
        const bool exact = element->squares == 0;
        out->exact += exact;
        summed->bits[summed->count++] = exact       ? INFINITY
                                        : mean != 0 ? -ulp_math_log2(deviation / fabs(mean))
                                                    : -INFINITY;
        summed->bias_squares += element->mean * element->mean - deviation * deviation / trials;
        summed->biased += fabs(element->mean) > student * deviation / sqrt(trials);
    }
}

/* The mean of all elements' errors varies from trial to trial. */
static void find_bias(const struct ulp_trial_sums *sums, size_t output, double student,
                      struct ulp_study_trials *out)
{
    const double trials = (double)sums->trial_count;
    double sum = 0, squares = 0;
    for (size_t t = 0; t < sums->trial_count; t++) {
        const size_t place = t * sums->output_count + output;
        sum += sums->errors[place] / sums->counts[place];
    }
    out->bias = sum / trials;
    for (size_t t = 0; t < sums->trial_count; t++) {
        const size_t place = t * sums->output_count + output;
        const double beside = sums->errors[place] / sums->counts[place] - out->bias;
        squares += beside * beside;
    }
    out->bias_error = sqrt(squares / (trials - 1) / trials);
    out->bias_width = student * out->bias_error;
}

static enum ulp_status conclude_output(const struct ulp_studying *s,
                                       const struct ulp_trial_sums *sums, size_t output,
                                       struct ulp_study_trials *out, struct ulp_error *error)
{
    const double trials = (double)sums->trial_count,
                 student =
                     ulp_quantile_student((1 + s->out->confidence) / 2, sums->trial_count - 1);
    size_t all = 0;
    void *memory;
    for (size_t i = 0; i < sums->sample_count; i++) {
        const struct tensor_sums *tensor = &sums->tensors[i * sums->output_count + output];
        if (!tensor->elements || tensor->reshaped)
            return ULP_OK; /* decisions changed its shape, or it has no floats */
        all += tensor->count;
    }
    ULP_TRY(
        ulp_allocate(&memory, all, sizeof(double), sums->budget, "elements over trials", error));
    struct summed summed = {.bits = memory};
    out->count = sums->trial_count;
    for (size_t i = 0; i < sums->sample_count; i++)
        add_bits(&summed, out, &sums->tensors[i * sums->output_count + output], trials, student);
    ulp_numbers_sort(summed.bits, summed.count);
    out->elements = summed.count;
    out->bits = summed.count ? summed.bits[(summed.count - 1) / 2] : NAN;
    out->bits_least = summed.count ? summed.bits[0] : NAN;
    out->bits_low = out->bits - ulp_significant_loss(sums->trial_count, s->out->probability,
                                                     s->out->confidence);
    out->bias_rms =
        summed.count ? sqrt(ulp_math_max(0, summed.bias_squares / (double)summed.count)) : NAN;
    out->biased = summed.count ? (double)summed.biased / (double)summed.count : NAN;
    find_bias(sums, output, student, out);
    ulp_free(memory);
    return ULP_OK;
}

enum ulp_status ulp_trial_sums_conclude(const struct ulp_studying *s,
                                        const struct ulp_trial_sums *sums, size_t setting,
                                        struct ulp_error *error)
{
    for (size_t o = 0; o < sums->output_count; o++)
        if (!ulp_study_is_missing(&s->out->settings[setting].points[o]))
            ULP_TRY(
                conclude_output(s, sums, o, &s->out->settings[setting].points[o].trials, error));
    return ULP_OK;
}
