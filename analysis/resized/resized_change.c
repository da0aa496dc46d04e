/* What a model that is written of another changes, in one lane. */
#include <math.h>

#include "analysis/measure/metrics.h"
#include "analysis/resized/resized.h"
#include "base/error.h"
#include "data/data.h"
#include "run/program/program.h"

struct changing {
    const struct ulp_resizing *given;
    const struct ulp_model *model; /* the other one */
    struct ulp_programs programs;  /* of it */
    struct ulp_pool *pool;
    struct ulp_format format; /* metrics want one */
    struct ulp_altered *altered;
};

void ulp_altered_free(struct ulp_altered *change)
{
    ulp_text_free(&change->text);
    *change = (struct ulp_altered){0};
}

static void refuse(struct ulp_altered *change, const char *sample, const char *why)
{
    ulp_text_free(&change->text);
    change->most = INFINITY;
    change->refused = true;
    ulp_text_show(&change->text, "at %s %s", sample, why);
}

static enum ulp_status add_metrics(struct changing *c, const char *sample, const char *name,
                                   const struct ulp_tensor *truth, const struct ulp_tensor *value,
                                   struct ulp_error *error)
{
    struct ulp_metrics metrics;
    struct ulp_range range;
    ULP_TRY(ulp_metrics_measure_on(value, truth, &c->format, c->pool, &metrics, error));
    ulp_range_measure(truth, &c->format, c->pool, &range);
    const double change =
        metrics.diverged || metrics.nonfinite ? INFINITY : ulp_relative_rms(&metrics, &range);
    if (!(change > c->altered->most)) /* no rms is NaN: elements that are not finite are counted */
        return ULP_OK;
    c->altered->most = change;
    c->altered->refused = !ulp_tensor_same_shape(value, truth);
    ulp_text_free(&c->altered->text);
    ulp_text_show(&c->altered->text, "at %s output %s", sample, name);
    if (c->altered->refused)
        ulp_text_add(&c->altered->text, " has another shape");
    return ULP_OK;
}

static enum ulp_status compare_outputs(struct changing *c, const char *sample,
                                       const struct ulp_tensor_set *truths,
                                       const struct ulp_tensor_set *values, struct ulp_error *error)
{
    for (size_t o = 0; o < truths->count && !c->altered->refused; o++) {
        const char *name = truths->items[o].name;
        const struct ulp_tensor *value = ulp_tensor_set_find(values, name);
        if (value)
            ULP_TRY(add_metrics(c, sample, name, &truths->items[o].tensor, value, error));
        else
            refuse(c->altered, sample, "an output is missing");
    }
    return ULP_OK;
}

static enum ulp_status run_changed(const struct changing *c, struct ulp_programs *programs,
                                   const struct ulp_tensor_set *inputs, struct ulp_tensor_set *out,
                                   struct ulp_error *error)
{
    const struct ulp_run_options options = {.thread_count = c->given->thread_count};
    return ulp_programs_look(programs, inputs, &options, NULL, c->given->progress, out, error);
}

static enum ulp_status measure_sample(struct changing *c, const struct ulp_sample *sample,
                                      const struct ulp_tensor_set *truths, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set values = {0};
    struct ulp_error refused = {0};
    const enum ulp_status status = run_changed(c, &c->programs, sample->inputs, &values, &refused);
    if (status == ULP_OK)
        return compare_outputs(c, sample->name, truths, &values, error);
    if (!ulp_program_refuses(status))
        return ulp_fail_lines(error, status, refused.message);
    refuse(c->altered, sample->name, refused.message);
    return ULP_OK;
}

static void use(struct changing *c, const struct ulp_arithmetic *lane)
{
    ulp_programs_free(&c->programs); /* other sizes may leave other nodes to compute */
    c->programs = (struct ulp_programs){.model = c->model, .lanes = lane, .lane_count = 1};
}

/* Differences of large numbers may cost FP64 its digits, too. */
static enum ulp_status measure_exactly(struct changing *c, const struct ulp_sample *sample,
                                       struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set truths = {0};
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = c->given->model,
                                    .lanes = c->given->lane,
                                    .lane_count = 1};
    ULP_TRY(run_changed(c, &programs, sample->inputs, &truths, error));
    ulp_programs_free(&programs);
    use(c, c->given->lane);
    return measure_sample(c, sample, &truths, error);
}

static enum ulp_status measure_resized(struct changing *c, const struct ulp_resized *resized,
                                       size_t r, struct ulp_error *error)
{
    struct ulp_altered *all = c->altered;
    ULP_SCOPED(ulp_altered_free) struct ulp_altered here = {0};
    c->altered = &here;
    use(c, &resized->fp64);
    enum ulp_status status = measure_sample(c, &resized->samples[r], &resized->outputs[r], error);
    if (status == ULP_OK && !here.refused && here.most > ULP_ALTERED_LEAST) {
        ulp_altered_free(&here);
        status = measure_exactly(c, &resized->samples[r], error);
    }
    c->altered = all;
    if (here.most > all->most) {
        const struct ulp_altered less = *all;
        *all = here;
        here = less;
    }
    return status;
}

enum ulp_status ulp_altered_measure(const struct ulp_resizing *given,
                                    const struct ulp_tensor_set *outputs,
                                    const struct ulp_resized *resized,
                                    const struct ulp_model *model, struct ulp_pool *pool,
                                    struct ulp_altered *altered, struct ulp_error *error)
{
    struct changing c = {.given = given, .model = model, .pool = pool, .altered = altered};
    enum ulp_status status = ulp_format_find("fp32", &c.format, error);
    use(&c, given->lane);
    for (size_t s = 0; s < given->sample_count && status == ULP_OK && !altered->refused; s++)
        status = measure_sample(&c, &given->samples[s], &outputs[s], error);
    for (size_t r = 0; r < resized->count && status == ULP_OK && !altered->refused; r++)
        status = measure_resized(&c, resized, r, error);
    ulp_programs_free(&c.programs);
    return status == ULP_OK && altered->text.failed ? ulp_out_of_memory(error) : status;
}
