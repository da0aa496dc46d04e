/* Measuring what an arithmetic's errors are at the outputs, and how far its roundings reach there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ulpscope/tolerance.h>

#include "analysis/attribution/attribution.h"
#include "analysis/audit/birth.h"
#include "analysis/measure/judge.h"
#include "analysis/writing/columns.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/options.h"
#include "run/program/program.h"
#include "tensor/tensor.h"
#include "number/function/math.h"

struct measuring {
    const struct ulp_model *model;
    const struct ulp_sample *sample;
    const struct ulp_tolerance_options *options;
    struct ulp_tolerance *out;
    struct ulp_program *program;
    struct ulp_attributor *attributor;
    struct ulp_tensor_set outputs[2]; /* the reference's and the arithmetic's */
    struct ulp_birth_watch births;    /* of the reference */
};

/* Both lanes, and what their nodes introduce. */
static enum ulp_status run_lanes(struct measuring *m, struct ulp_error *error)
{
    const struct ulp_tolerance_options *options = m->options;
    const struct ulp_arithmetic lanes[2] = {options->reference, options->arithmetic};
    const struct ulp_keeps keeps[2] = {{0},
                                       options->keeps ? *options->keeps : (struct ulp_keeps){0}};
    const struct ulp_program_options plan_options = {.inputs = m->sample->inputs, .keeps = keeps};
    struct ulp_run_options run = {.thread_count = options->thread_count};
    run.audit = true;
    ULP_TRY(ulp_program_create(m->model, lanes, 2, &plan_options, &m->program, error));
    ULP_TRY(ulp_attributor_create(m->program, NULL, run.thread_count, &m->attributor, error));
    ULP_TRY(ulp_attributor_sample(m->attributor, m->sample->inputs, error));
    const struct ulp_observer looking = ulp_attributor_observer(m->attributor);
    return ulp_program_look(m->program, m->sample->inputs, &run, &looking, options->progress,
                            m->outputs, error);
}

/* The errors of the arithmetic itself at one output. */
static enum ulp_status add_own_errors(struct measuring *m, const char *name,
                                      const struct ulp_tensor *reference,
                                      const struct ulp_tensor *own, struct ulp_error *error)
{
    struct ulp_tolerance_output *output = &m->out->outputs[m->out->output_count];
    const size_t count = reference->count;
    double squares = 0, error_squares = 0;
    *output = (struct ulp_tolerance_output){.count = count, .random = NAN, .bound = NAN};
    output->name = ulp_arena_copy(m->out->memory, name);
    output->sample = ulp_arena_copy(m->out->memory, m->sample->name);
    ULP_TAKE(output->references, m->out->memory, count, error);
    ULP_TAKE(output->errors, m->out->memory, count, error);
    ULP_TRY(ulp_taken(output->name && output->sample, error));
    for (size_t i = 0; i < count; i++) {
        const double r = ulp_tensor_get(reference, i), e = ulp_tensor_get(own, i) - r;
        output->references[i] = r;
        output->errors[i] = e;
        if (!isfinite(r)) { /* the same infinity, or NaN, or an error beyond any tolerance */
            const double x = ulp_tensor_get(own, i);
            output->nonfinite += isnan(r) ? !isnan(x) : x != r;
            continue;
        }
        squares += r * r;
        error_squares += isfinite(e) ? e * e : 0;
        output->ref_max = ulp_math_max(output->ref_max, fabs(r));
        if (isfinite(e))
            output->own_max = ulp_math_max(output->own_max, fabs(e));
        else
            output->nonfinite++;
    }
    const double finite = (double)(count - ulp_judge_count_nonfinite(reference));
    output->ref_rms = sqrt(squares / finite);
    output->rms = sqrt(error_squares / finite);
    m->out->output_count++;
    return ULP_OK;
}

/* May the outputs be compared? Integers are decisions, of which none may differ. */
static enum ulp_crossing_kind judge_output(const struct measuring *m,
                                           const struct ulp_tensor *reference,
                                           const struct ulp_tensor *own)
{
    bool same = ulp_tensor_same_shape(reference, own);
    for (size_t i = 0; !ulp_element_is_float(reference->element) && same && i < own->count; i++)
        same = ulp_tensor_get_int(reference, i) == ulp_tensor_get_int(own, i);
    return same ? ulp_judge_reference(reference, m->sample->inputs) : ULP_CROSSED_DIVERGED;
}

static enum ulp_status add_unjudged(const struct measuring *m, const char *name,
                                    enum ulp_crossing_kind kind, struct ulp_error *error)
{
    const struct ulp_birth *birth = name || kind == ULP_CROSSED_HIDDEN
                                        ? ulp_birth_of(m->births.items, m->births.count, name)
                                        : NULL;
    return ulp_taken(ulp_unjudged_add_birth(m->out->memory, &m->out->unjudged, kind, birth, name,
                                            m->sample->name),
                     error);
}

static enum ulp_status add_outputs(struct measuring *m, struct ulp_error *error)
{
    const struct ulp_block *main = m->program->main;
    const size_t count = m->outputs[0].count;
    bool any = false;
    ULP_TAKE(m->out->outputs, m->out->memory, count + 1, error);
    for (size_t o = 0; o < count; o++) {
        const struct ulp_named_tensor *reference = &m->outputs[0].items[o],
                                      *own = &m->outputs[1].items[o];
        if (!ulp_block_computes(main, main->outputs[o]))
            continue;
        any = true;
        enum ulp_crossing_kind kind = judge_output(m, &reference->tensor, &own->tensor);
        if (kind == ULP_CROSSED_VALUE &&
            ulp_birth_of(m->births.items, m->births.count, reference->name))
            kind = ULP_CROSSED_REFERENCE;
        if (kind != ULP_CROSSED_VALUE)
            ULP_TRY(add_unjudged(m, reference->name, kind, error));
        else if (ulp_element_is_float(reference->tensor.element))
            ULP_TRY(add_own_errors(m, reference->name, &reference->tensor, &own->tensor, error));
    }
    if (!any)
        ULP_TRY(add_unjudged(m, NULL, ULP_CROSSED_NO_OUTPUT, error));
    const struct ulp_birth *hidden = ulp_birth_of(m->births.items, m->births.count, NULL);
    if (hidden && !hidden->output_count)
        ULP_TRY(add_unjudged(m, NULL, ULP_CROSSED_HIDDEN, error));
    if (m->out->output_count)
        return ULP_OK;
    return m->out->unjudged.count
               ? ulp_judge_fail(&m->out->unjudged.items[0], error)
               : ulp_fail(error, ULP_ERROR_LIMIT,
                          "cannot be judged: no output has float elements, there is nothing to "
                          "tolerate");
}

/* ---- bounds ---- */

/* Element k of those that get a bound: the one with the largest error, then evenly spread. */
static size_t choose_element(const struct ulp_tolerance_output *output, size_t k, size_t wanted)
{
    size_t worst = 0;
    if (k)
        return (k - 1) * (output->count - 1) / (wanted > 2 ? wanted - 2 : 1);
    for (size_t i = 1; i < output->count; i++)
        if (fabs(output->errors[i]) > fabs(output->errors[worst]))
            worst = i;
    return worst;
}

static const char beyond_first_order[] =
    "errors are not of first order: something overflows on the way, or a decision turns";

static enum ulp_status bound_output(struct measuring *m, struct ulp_tolerance_output *output,
                                    int slot, struct ulp_error *error)
{
    const size_t asked = m->options->elements ? m->options->elements : 8,
                 wanted = ulp_size_min(asked, output->count);
    bool first_order = true;
    ULP_TAKE(output->elements, m->out->memory, wanted, error);
    for (size_t k = 0; k < wanted; k++) {
        struct ulp_tolerance_element *element = &output->elements[output->element_count];
        element->index = wanted == output->count ? k : choose_element(output, k, wanted);
        bool again = false;
        for (size_t i = 0; i < output->element_count; i++)
            again |= output->elements[i].index == element->index;
        if (again)
            continue;
        element->reference = output->references[element->index];
        element->error = output->errors[element->index];
        ULP_TRY(ulp_attribution_bound(m->attributor, 0, slot, element->index, &element->random,
                                      &element->bound, error));
        output->random = ulp_math_max(output->random, element->random); /* fmax leaves NaN out */
        output->bound = ulp_math_max(output->bound, element->bound);
        /* the lane's own error is a sum that the bound bounds, or not of first order */
        first_order &= fabs(element->error) <= 1.01 * element->bound;
        output->element_count++;
    }
    if (first_order)
        return ULP_OK;
    m->out->no_bound = beyond_first_order;
    output->random = output->bound = NAN;
    for (size_t k = 0; k < output->element_count; k++)
        output->elements[k].random = output->elements[k].bound = NAN;
    return ULP_OK;
}

static enum ulp_status add_bounds(struct measuring *m, struct ulp_error *error)
{
    const struct ulp_block *main = m->program->main;
    const struct ulp_attributed *lane = &m->attributor->lanes[0];
    if (lane->reason) {
        m->out->no_bound = lane->reason;
        return ULP_OK;
    }
    for (size_t o = 0; o < m->out->output_count; o++)
        for (size_t i = 0; i < main->output_count; i++) {
            const int slot = main->outputs[i];
            if (strcmp(main->slots[slot].name, m->out->outputs[o].name) == 0 &&
                lane->errors[slot] && !m->out->outputs[o].elements)
                ULP_TRY(bound_output(m, &m->out->outputs[o], slot, error));
        }
    return ULP_OK;
}

/* ---- what is measured, and recommended ---- */

/* Two digits, not less than x. */
static double round_up(double x)
{
    if (!(x > 0) || !isfinite(x))
        return x;
    const double unit = ulp_math_pow(10, floor(ulp_math_log10(x)) - 1),
                 digits = ceil(x / unit - 1e-9);
    return digits * unit;
}

static enum ulp_status measure_spread(struct measuring *m, struct ulp_error *error)
{
    char name[] = "own";
    const struct ulp_recording recording = {.name = name, .tensors = m->outputs[1]};
    const struct ulp_compare_options options = {.reference = m->options->reference,
                                                .arithmetics = &m->options->arithmetic,
                                                .arithmetic_count = 1,
                                                .keeps = m->options->keeps,
                                                .trials = m->options->trials,
                                                .allow_nonfinite_inputs = true, /* said above */
                                                .no_cause = true,
                                                .thread_count = m->options->thread_count,
                                                .progress = m->options->progress,
                                                .begins = m->options->begins};
    struct ulp_comparison comparison = {0};
    ULP_TRY(ulp_comparison_run(m->model, m->sample->inputs, &recording, 1, &options, &comparison,
                               error));
    m->out->trials = comparison.trials;
    for (size_t o = 0; o < m->out->output_count; o++) {
        struct ulp_tolerance_output *output = &m->out->outputs[o];
        output->max_abs = output->own_max;
        output->least = output->most = output->rms;
        for (size_t t = 0; t < comparison.tensor_count; t++) {
            const struct ulp_compared_tensor *tensor = &comparison.tensors[t];
            if (strcmp(tensor->name, output->name) != 0)
                continue;
            const struct ulp_expected_error *expected = &tensor->expected[0];
            output->rms = expected->rms;
            output->least = expected->least;
            output->most = expected->most;
            output->freedom = expected->freedom;
            output->max_abs =
                ulp_math_max(output->own_max, ulp_math_max(expected->max_abs, expected->floor));
            output->open = expected->open || expected->shapeless;
            if (expected->nonfinite > output->nonfinite)
                output->nonfinite = expected->nonfinite;
        }
        output->atol = output->nonfinite ? NAN : round_up(ULP_TOLERANCE_FACTOR * output->max_abs);
        if (output->ref_max > 0 && output->atol >= output->ref_max)
            output->atol = NAN; /* zeros would pass */
    }
    ulp_comparison_free(&comparison);
    return ULP_OK;
}

static enum ulp_status measure_outputs(struct measuring *m, struct ulp_error *error)
{
    struct ulp_tolerance *out = m->out;
    ULP_TRY(ulp_arena_create(&out->memory, ulp_model_budget(m->model), error));
    out->model_path = ulp_arena_copy(out->memory, ulp_model_path(m->model));
    out->arguments = ulp_model_words(out->memory, m->model);
    out->drawn = m->sample->inputs->drawn;
    out->reference = ulp_arena_copy(out->memory, m->options->reference.name);
    ULP_TRY(ulp_taken(out->model_path && out->arguments && out->reference, error));
    ULP_TRY(ulp_taken(ulp_unjudged_add_inputs(out->memory, &out->unjudged, m->sample->inputs,
                                              m->sample->name),
                      error));
    m->births.memory = out->memory;
    struct ulp_certificate certificate = {0};
    enum ulp_status status =
        ulp_birth_find(&m->births, m->model, &m->options->reference, m->sample->inputs,
                       m->options->thread_count, &certificate, error);
    free(certificate.node);
    ULP_THEN(status, run_lanes(m, error));
    if (status == ULP_OK && ulp_certificate_is_lost(&certificate))
        status =
            ulp_taken(ulp_unjudged_add_lost(out->memory, &out->unjudged, &certificate,
                                            ulp_program_node_name(m->program, certificate.lost_at),
                                            ulp_program_node_op(m->program, certificate.lost_at),
                                            out->reference, m->sample->name),
                      error);
    if (status == ULP_OK) {
        out->narrow_products =
            m->options->arithmetic.factor.precision < m->options->arithmetic.storage.precision;
        out->arithmetic = ulp_arena_copy(out->memory, ulp_program_lane_name(m->program, 1));
        status = ulp_taken(out->arithmetic, error);
    }
    ULP_THEN(status, add_outputs(m, error));
    ULP_THEN(status, add_bounds(m, error));
    ulp_attributor_free(m->attributor);
    m->attributor = NULL;
    ulp_program_free(m->program);
    m->program = NULL;
    return status == ULP_OK ? measure_spread(m, error) : status;
}

static enum ulp_status measure_sample(const struct ulp_model *model,
                                      const struct ulp_sample *sample,
                                      const struct ulp_tolerance_options *options,
                                      struct ulp_tolerance *out, struct ulp_error *error)
{
    const double started = ulp_seconds_now();
    struct measuring m = {.model = model, .sample = sample, .options = options, .out = out};
    *out = (struct ulp_tolerance){.sample_count = 1};
    const enum ulp_status status = measure_outputs(&m, error);
    for (int l = 0; l < 2; l++)
        ulp_tensor_set_free(&m.outputs[l]);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_tolerance_free(out);
    return status;
}

/* ---- several samples ---- */

static bool is_worse(const struct ulp_tolerance_output *a, const struct ulp_tolerance_output *b)
{
    return a->nonfinite != b->nonfinite ? a->nonfinite > b->nonfinite : a->max_abs > b->max_abs;
}

/* The worst comes first. */
static enum ulp_status join_output(struct ulp_arena *memory, struct ulp_tolerance_output *to,
                                   const struct ulp_tolerance_output *from, struct ulp_error *error)
{
    const bool open = to->open || from->open, worse = is_worse(from, to);
    ULP_TAKE_ARRAY(struct ulp_tolerance_output, other, memory, 1, error);
    *other = worse ? *to : *from;
    other->next = to->next;
    if (worse)
        *to = *from;
    to->next = other;
    to->open = open;
    return ULP_OK;
}

static struct ulp_tolerance_output *find_output(const struct ulp_tolerance *all, const char *name)
{
    for (size_t o = 0; o < all->output_count; o++)
        if (strcmp(all->outputs[o].name, name) == 0)
            return &all->outputs[o];
    return NULL;
}

/* The first sample had no such output, or one of another shape in the arithmetic. */
static enum ulp_status append_output(struct ulp_tolerance *all,
                                     const struct ulp_tolerance_output *from,
                                     struct ulp_error *error)
{
    ULP_TAKE_ARRAY(struct ulp_tolerance_output, outputs, all->memory, all->output_count + 1, error);
    memcpy(outputs, all->outputs, all->output_count * sizeof *outputs);
    all->outputs = outputs;
    outputs[all->output_count] = *from;
    outputs[all->output_count++].next = NULL;
    return ULP_OK;
}

/* What `one` points to is `all`'s then. */
static enum ulp_status join(struct ulp_tolerance *all, struct ulp_tolerance *one,
                            struct ulp_error *error)
{
    ulp_arena_take_over(all->memory, one->memory);
    for (size_t o = 0; o < one->output_count; o++)
        for (const struct ulp_tolerance_output *from = &one->outputs[o]; from; from = from->next) {
            struct ulp_tolerance_output *to = find_output(all, from->name);
            ULP_TRY(to ? join_output(all->memory, to, from, error)
                       : append_output(all, from, error));
        }
    for (size_t u = 0; u < one->unjudged.count; u++)
        if (!ulp_unjudged_add(all->memory, &all->unjudged, one->unjudged.items[u]))
            return ulp_out_of_memory(error);
    if (!all->no_bound)
        all->no_bound = one->no_bound;
    all->sample_count += one->sample_count;
    all->drawn |= one->drawn;
    all->seconds += one->seconds;
    return ULP_OK;
}

enum ulp_status ulp_tolerance_run(const struct ulp_model *model, const struct ulp_sample *samples,
                                  size_t sample_count, const struct ulp_tolerance_options *options,
                                  struct ulp_tolerance *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_tolerance){0};
    ULP_OPTIONS_TAKE(ulp_tolerance_options, options, error);
    if (!sample_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "a tolerance needs a sample");
    enum ulp_status status = ULP_OK;
    for (size_t s = 0; s < sample_count && status == ULP_OK; s++) {
        struct ulp_tolerance one = {0};
        status = measure_sample(model, &samples[s], options, s ? &one : out, error);
        if (status == ULP_OK && s)
            status = join(out, &one, error);
        ulp_tolerance_free(&one);
        if (sample_count > 1)
            ulp_fail_at(error, status, "%s", samples[s].name);
    }
    if (status != ULP_OK)
        ulp_tolerance_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_tolerance_free, struct ulp_tolerance)

/* Of one sample. */
static double find_excess(const struct ulp_tolerance_output *output, double atol, double rtol)
{
    double excess = output->nonfinite ? INFINITY : 0;
    for (size_t i = 0; i < output->count; i++) {
        const double allowed = atol + rtol * fabs(output->references[i]),
                     e = fabs(output->errors[i]);
        if (isfinite(output->references[i]) && !(e == 0))
            excess = isfinite(e) && allowed > 0 ? ulp_math_max(excess, e / allowed) : INFINITY;
        if (isinf(excess))
            return excess;
    }
    const double scale = output->own_max > 0 ? output->max_abs / output->own_max : 1;
    return excess * ulp_math_max(scale, 1);
}

double ulp_tolerance_excess(const struct ulp_tolerance_output *output, double atol, double rtol)
{
    ULP_ENTER_ENVIRONMENT;
    double excess = 0;
    for (; output; output = output->next)
        excess = ulp_math_max(excess, find_excess(output, atol, rtol));
    return excess;
}
