/* Certifying the reference: the same run at twice the precision, compared node by node. */
#include "analysis/audit/certify.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "analysis/measure/metrics.h"
#include "run/program/program.h"
#include "number/double_pair.h"
#include "number/format/base.h"
#include "number/function/math.h"

struct comparison {
    const struct ulp_program *program;
    struct ulp_certificate *certificate;
    struct ulp_pool *pool;
};

static bool is_graph_output(const struct ulp_program *program, const struct ulp_event *event,
                            size_t output)
{
    const struct ulp_program_node *node = &program->nodes[event->index];
    return node->block == program->main &&
           program->main->slots[node->step->outputs[event->output_positions[output]]].last_use ==
               INT_MAX;
}

/* Of a value: pairs, too, where most are no records. */
static int bits_of(const struct ulp_format *format)
{
    return format->pairs ? 2 * DBL_MANT_DIG : format->precision;
}

/* Decimal digits that agree; an exact result counts as the precision's own digits. */
static double agreeing_digits(const struct ulp_metrics *metrics, const struct ulp_tensor *base,
                              const struct ulp_format *format)
{
    struct ulp_range range;
    double most = bits_of(format) * ulp_math_log10(2);
    if (metrics->diverged || metrics->nonfinite)
        return 0;
    ulp_range_measure(base, format, NULL, &range);
    if (!(metrics->rms > 0) || !(range.ref_rms > 0))
        return metrics->rms > 0 ? 0 : most;
    double digits = ulp_math_log10(range.ref_rms) - ulp_math_log10(metrics->rms);
    return digits < 0 ? 0 : digits < most ? digits : most;
}

static enum ulp_status compare_node(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    struct comparison *comparison = context;
    struct ulp_certificate *certificate = comparison->certificate;
    const struct ulp_format *format = &event->arithmetics[1].storage;
    enum ulp_status status = ULP_OK;
    for (size_t o = 0; o < event->output_count && status == ULP_OK; o++) {
        const struct ulp_tensor *twice = event->values[o].entire,
                                *once = event->values[event->output_count + o].entire;
        struct ulp_metrics metrics;
        if (!once) /* in a branch that only one of them takes; the If itself has diverged */
            continue;
        status = ulp_metrics_measure_on(once, twice, format, comparison->pool, &metrics, error);
        if (status != ULP_OK)
            break;
        double digits = agreeing_digits(&metrics, twice, format);
        if (digits < certificate->node_digits) {
            char *name = strdup(event->name);
            ULP_TRY(ulp_taken(name, error));
            free(certificate->node);
            certificate->node = name;
            certificate->node_digits = digits;
        }
        if (is_graph_output(comparison->program, event, o) && digits < certificate->output_digits)
            certificate->output_digits = digits;
    }
    return status;
}

enum ulp_status ulp_certify_check(const struct ulp_arithmetic *reference, struct ulp_error *error)
{
    if (reference->storage.carrier != ULP_CARRIER_MPFR ||
        2 * reference->storage.precision > ULP_MPFR_PRECISION_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "certifying needs a reference mpfr:P with P <= %d, not %s",
                        ULP_MPFR_PRECISION_MAX / 2, reference->name);
    return ULP_OK;
}

enum ulp_status ulp_certify(const struct ulp_model *model, const struct ulp_arithmetic *reference,
                            const struct ulp_tensor_set *inputs,
                            const struct ulp_run_options *options,
                            const struct ulp_observer *progress,
                            struct ulp_certificate *certificate, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_arithmetic lanes[2] = {[1] = *reference};
    const bool pairs = reference->storage.pairs;
    const int precision = pairs ? ULP_TRIPLE_RECORD_BITS : 2 * reference->storage.precision;
    ULP_TRY(ulp_certify_check(reference, error));
    ULP_TRY(ulp_arithmetic_find(ulp_format_mpfr(precision).name, &lanes[0], error));
    lanes[0].accumulator.pairs = pairs; /* sums of triples of doubles */
    if (!certificate->given)
        certificate->node_digits = certificate->output_digits =
            bits_of(&reference->storage) * ulp_math_log10(2);
    certificate->given = true;
    struct comparison comparison = {.certificate = certificate};
    const struct ulp_observer looking = {.context = &comparison,
                                         .node_done = compare_node,
                                         .modes_unused = true};
    struct ulp_program_options plan_options = {.inputs = inputs};
    struct ulp_run_options run_options = *options;
    struct ulp_program *program = NULL;
    run_options.audit = false;
    enum ulp_status status = ulp_pool_create(&comparison.pool, options->thread_count, error);
    if (status == ULP_OK) {
        ulp_pool_set_root(comparison.pool, ulp_model_budget(model));
        status = ulp_program_create(model, lanes, 2, &plan_options, &program, error);
    }
    comparison.program = program;
    ULP_THEN(status,
             ulp_program_look(program, inputs, &run_options, &looking, progress, NULL, error));
    ulp_program_free(program);
    ulp_pool_free(comparison.pool);
    return status;
}
