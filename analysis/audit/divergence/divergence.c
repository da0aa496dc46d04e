/* Indices, decisions and lists that differ: how many, how near the decision was, and what the
 * figures are with rows put in order. */
#include "base/error.h"
#include "analysis/audit/divergence/divergence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/divergence/turned.h"
#include "analysis/measure/metrics.h"
#include "ops/operator.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* Distances between rows that matching may compute: some tenths of a second. */
#define MATCH_MAX (UINT64_C(1) << 27)

static void count_differing(struct ulp_divergence *out, const struct ulp_tensor *value,
                            const struct ulp_tensor *truth)
{
    out->count = truth->count;
    for (size_t i = truth->count; i-- > 0;)
        if (ulp_element_is_float(truth->element)
                ? ulp_tensor_read(value, i) != ulp_tensor_read(truth, i)
                : ulp_tensor_get_int(value, i) != ulp_tensor_get_int(truth, i)) {
            out->differing++;
            out->first = i;
        }
}

/* ---- how near a decision was ---- */

/* ulp_turned: the first. */
enum ulp_status ulp_divergence_margin(void *context, const struct ulp_turned *turned,
                                      struct ulp_error *error)
{
    struct ulp_divergence *out = context;
    (void)error;
    if (!out || !isnan(out->margin) || isnan(turned->margin))
        return ULP_OK;
    out->margin = turned->margin;
    out->margin_error = fabs(turned->error);
    return ULP_OK;
}

/* Where NonMaxSuppression's lists part, also when one is longer. */
static size_t find_parting(const struct ulp_tensor *value, const struct ulp_tensor *truth)
{
    size_t at = 0;
    while (at < value->count && at < truth->count &&
           ulp_tensor_get_int(value, at) == ulp_tensor_get_int(truth, at))
        at++;
    return at / 3 * 3;
}

/* ---- lists in another order ---- */

struct rows {
    const double *value, *truth;
    size_t count, width;
    bool *used;
};

static double distance(const struct rows *rows, size_t truth, size_t value)
{
    double sum = 0;
    for (size_t i = 0; i < rows->width; i++) {
        const double d =
            rows->value[value * rows->width + i] - rows->truth[truth * rows->width + i];
        sum += d * d;
    }
    return sum == sum ? sum : INFINITY;
}

/* The nearest row that is left; the one in its place when none is nearer. */
static size_t find_nearest_row(const struct rows *rows, size_t truth)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;
    if (!rows->used[truth]) {
        best = truth;
        least = distance(rows, truth, truth);
    }
    for (size_t v = 0; v < rows->count && least > 0; v++) {
        if (rows->used[v])
            continue;
        const double d = distance(rows, truth, v);
        if (d < least || best == SIZE_MAX) {
            least = d;
            best = v;
        }
    }
    return best;
}

/* Rows in the reference's order, each with the nearest that is left. */
static void match_rows(const struct rows *rows, struct ulp_matched *out, double *square_sum)
{
    for (size_t t = 0; t < rows->count; t++) {
        const size_t v = find_nearest_row(rows, t);
        const double square = distance(rows, t, v);
        rows->used[v] = true;
        out->rows++;
        out->moved += v != t;
        out->differing += square > 0;
        for (size_t i = 0; i < rows->width; i++) {
            const double d =
                fabs(rows->value[v * rows->width + i] - rows->truth[t * rows->width + i]);
            out->max_abs = d > out->max_abs ? d : out->max_abs;
            *square_sum += d == d ? d * d : 0;
        }
    }
}

/* [rows], [1, rows], [rows, n] or [batch, rows, ...]. */
static enum ulp_status measure_list(struct ulp_matched *out, const struct ulp_tensor *value,
                                    const struct ulp_tensor *truth, struct ulp_error *error)
{
    const int rank = truth->rank, at = rank > 2 || (rank == 2 && truth->dims[0] == 1);
    const size_t count = rank ? (size_t)truth->dims[at] : 1,
                 batch = at ? (size_t)truth->dims[0] : 1;
    if (!truth->count || count < 2 || (uint64_t)count * truth->count > MATCH_MAX)
        return ULP_OK;
    const size_t width = truth->count / (batch * count);
    double *values = malloc(2 * truth->count * sizeof *values), square_sum = 0;
    bool *used = calloc(truth->count / width, sizeof *used);
    if (!values || !used) {
        free(values);
        free(used);
        return ulp_out_of_memory(error);
    }
    for (size_t i = 0; i < truth->count; i++) {
        values[i] = ulp_tensor_read(value, i);
        values[truth->count + i] = ulp_tensor_read(truth, i);
    }
    for (size_t b = 0; b < batch; b++) {
        const double *first = values + b * count * width;
        match_rows(&(struct rows){first, first + truth->count, count, width, used + b * count}, out,
                   &square_sum);
    }
    out->given = true;
    out->rms = sqrt(square_sum / (double)truth->count);
    free(values);
    free(used);
    return ULP_OK;
}

static bool is_graph_output(const struct ulp_program *program, const char *name)
{
    for (size_t i = 0; i < program->main->output_count; i++)
        if (program->main->slots[program->main->outputs[i]].name == name)
            return true;
    return false;
}

enum ulp_status ulp_divergence_look(struct ulp_audit_output *output,
                                    const struct ulp_program *program,
                                    const struct ulp_event *event, size_t lane, size_t o,
                                    struct ulp_arena *memory, struct ulp_error *error)
{
    const struct ulp_tensor *value = event->values[(lane + 1) * event->output_count + o].entire,
                            *truth = event->values[o].entire;
    if (output->divergence)
        return ULP_OK;
    ULP_TAKE_ARRAY(struct ulp_divergence, out, memory, 1, error);
    *out = (struct ulp_divergence){.margin = NAN, .margin_error = NAN};
    output->divergence = out;
    out->reshaped = !ulp_tensor_same_shape(value, truth);
    if (!out->reshaped && (!ulp_element_is_float(truth->element) || ulp_choices_round(event)))
        count_differing(out, value, truth);
    if (strcmp(event->op, "NonMaxSuppression") == 0)
        out->first = find_parting(value, truth);
    return !out->reshaped && is_graph_output(program, event->output_names[o])
               ? measure_list(&out->matched, value, truth, error)
               : ULP_OK;
}

enum ulp_status ulp_divergence_follow(struct ulp_audit_output *output,
                                      const struct ulp_tensor *value,
                                      const struct ulp_tensor *truth,
                                      const struct ulp_format *format, struct ulp_pool *pool,
                                      struct ulp_error *error)
{
    struct ulp_metrics metrics;
    ULP_TRY(ulp_metrics_measure_on(value, truth, format, pool, &metrics, error));
    if ((!output->divergence->followed.given ||
         ulp_metrics_worse(&metrics, &output->divergence->followed.metrics)))
        output->divergence->followed = (struct ulp_followed){true, metrics};
    return ULP_OK;
}
