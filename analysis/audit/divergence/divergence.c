/* Indices, decisions and lists that differ: how many, how near the decision was, and what the
 * figures are with rows put in order. */
#include "base/error.h"
#include "analysis/audit/divergence/divergence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/audit_pair.h"
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

/* How far the reference's winner is ahead of the lane's, and the error of that. */
static void set_gap(struct ulp_divergence *out, double winner, double other, double lane_winner,
                    double lane_other)
{
    out->margin = fabs(winner - other);
    out->margin_error = fabs((lane_winner - lane_other) - (winner - other));
}

/* TopK, ArgMax and ArgMin: what the two picked, in the values they picked from. */
static void measure_pick(struct ulp_divergence *out, const struct ulp_program *program,
                         const struct ulp_event *event, size_t lane, const struct ulp_tensor *value,
                         const struct ulp_tensor *truth)
{
    const bool is_list = strcmp(event->op, "TopK") == 0;
    const struct ulp_attribute *attribute =
        ulp_node_attribute(program->nodes[event->index].step->bound.node, "axis");
    const struct ulp_pair in = ulp_pair_find(program, event, lane, 0);
    if (!in.reference || !in.lane || in.lane->count != in.reference->count || !in.lane->rank)
        return;
    const int rank = in.reference->rank;
    const int64_t given = attribute ? attribute->i : is_list ? -1 : 0;
    const int axis = (int)(given < 0 ? given + rank : given);
    const size_t size = (size_t)in.reference->dims[axis],
                 picks = is_list ? (size_t)truth->dims[axis] : 1;
    size_t inner = 1;
    for (int d = axis + 1; d < rank; d++)
        inner *= (size_t)in.reference->dims[d];
    const size_t base = out->first / (picks * inner) * size * inner + out->first % inner;
    const size_t winner = base + (size_t)ulp_tensor_get_int(truth, out->first) * inner,
                 other = base + (size_t)ulp_tensor_get_int(value, out->first) * inner;
    if (winner < in.reference->count && other < in.reference->count)
        set_gap(out, ulp_tensor_read(in.reference, winner), ulp_tensor_read(in.reference, other),
                ulp_tensor_read(in.lane, winner), ulp_tensor_read(in.lane, other));
}

/* Of as many elements as the output, or of one. */
static bool has_place(const struct ulp_pair *in, size_t count)
{
    return in->reference && in->lane && in->lane->count == in->reference->count &&
           (in->reference->count == count || in->reference->count == 1);
}

static void measure_comparison(struct ulp_divergence *out, const struct ulp_program *program,
                               const struct ulp_event *event, size_t lane)
{
    const struct ulp_pair a = ulp_pair_find(program, event, lane, 0),
                          b = ulp_pair_find(program, event, lane, 1);
    if (!has_place(&a, out->count) || !has_place(&b, out->count))
        return;
    const size_t i = a.reference->count == 1 ? 0 : out->first,
                 j = b.reference->count == 1 ? 0 : out->first;
    set_gap(out, ulp_tensor_read(a.reference, i), ulp_tensor_read(b.reference, j),
            ulp_tensor_read(a.lane, i), ulp_tensor_read(b.lane, j));
}

/* A Cast to integers, Floor and Ceil turn where their input is near a whole number, Round half way
 * between two. Of a Cast of whole numbers, what made them decided. */
static void measure_whole(struct ulp_divergence *out, const struct ulp_program *program,
                          const struct ulp_event *event, size_t lane)
{
    const struct ulp_pair in = ulp_pair_find(program, event, lane, 0);
    if (!has_place(&in, out->count) || in.reference->count != out->count)
        return;
    const double r = ulp_tensor_read(in.reference, out->first), off = fabs(r - nearbyint(r));
    if (off == 0 && strcmp(event->op, "Cast") == 0)
        return;
    out->margin = strcmp(event->op, "Round") == 0 ? 0.5 - off : off;
    out->margin_error = fabs(ulp_tensor_read(in.lane, out->first) - r);
}

static void measure_margin(struct ulp_divergence *out, const struct ulp_program *program,
                           const struct ulp_event *event, size_t lane,
                           const struct ulp_tensor *value, const struct ulp_tensor *truth)
{
    if (strcmp(event->op, "NonMaxSuppression") == 0)
        ulp_divergence_suppression(out, program, event, lane, value, truth);
    if (out->reshaped)
        return;
    if (ulp_is_word(event->op, "TopK ArgMax ArgMin"))
        measure_pick(out, program, event, lane, value, truth);
    if (ulp_is_word(event->op, "Greater Less GreaterOrEqual LessOrEqual Equal"))
        measure_comparison(out, program, event, lane);
    if (strcmp(event->op, "Cast") == 0 || ulp_rounds_to_whole(event->op))
        measure_whole(out, program, event, lane);
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
                                    bool decides, struct ulp_arena *memory, struct ulp_error *error)
{
    const struct ulp_tensor *value = event->values[(lane + 1) * event->output_count + o].entire,
                            *truth = event->values[o].entire;
    if (output->divergence)
        return ULP_OK;
    struct ulp_divergence *out = ulp_arena_take(memory, 1, sizeof *out);
    ULP_TRY(ulp_taken(out, error));
    *out = (struct ulp_divergence){.margin = NAN, .margin_error = NAN};
    output->divergence = out;
    out->reshaped = !ulp_tensor_same_shape(value, truth);
    if (!out->reshaped && (!ulp_element_is_float(truth->element) || ulp_rounds_to_whole(event->op)))
        count_differing(out, value, truth);
    if (decides && (out->differing || out->reshaped))
        measure_margin(out, program, event, lane, value, truth);
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
