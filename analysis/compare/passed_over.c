/* Recorded indices that no rounding can have chosen: of what they pass over and take instead. */
#include <math.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* Lines of `from` values, each `inner` after the one before, of which `to` are taken. */
struct lines {
    size_t from, to, inner, count;
    double sign; /* -1: the smallest are taken */
};

static struct lines find_lines(const struct ulp_step *step, const struct ulp_tensor *values,
                               const struct ulp_tensor *taken)
{
    const bool list = strcmp(step->bound.op->name, "TopK") == 0;
    const int64_t given = ulp_node_int(step->bound.node, "axis", list ? -1 : 0);
    const int axis = (int)(given < 0 ? given + values->rank : given);
    const bool smallest = strcmp(step->bound.op->name, "ArgMin") == 0 ||
                          (list && !ulp_node_int(step->bound.node, "largest", 1));
    struct lines lines = {(size_t)values->dims[axis], list ? (size_t)taken->dims[axis] : 1, 1, 0,
                          smallest ? -1 : 1};
    for (int d = axis + 1; d < values->rank; d++)
        lines.inner *= (size_t)values->dims[d];
    lines.count = lines.to ? taken->count / lines.to : 0;
    return lines;
}

static double value_at(const struct lines *lines, const struct ulp_tensor *values, size_t line,
                       int64_t index)
{
    const size_t first = line / lines->inner * lines->from * lines->inner + line % lines->inner;
    return index < 0 || (size_t)index >= lines->from
               ? (double)NAN
               : lines->sign * ulp_tensor_read(values, first + (size_t)index * lines->inner);
}

/* By how much a line's worst value of these is behind the reference's worst; NaN counts not. */
static double find_worst(const struct lines *lines, const struct ulp_tensor *values,
                         const struct ulp_tensor *taken, size_t line)
{
    const size_t first = line / lines->inner * lines->to * lines->inner + line % lines->inner;
    double worst = INFINITY;
    for (size_t k = 0; k < lines->to; k++) {
        const double value =
            value_at(lines, values, line, ulp_tensor_get_int(taken, first + k * lines->inner));
        worst = value < worst ? value : worst;
    }
    return worst;
}

enum ulp_status ulp_compare_pass_over(struct ulp_comparing *comparing, size_t number,
                                      const struct ulp_event *event, size_t o, const size_t *first,
                                      struct ulp_error *error)
{
    const struct ulp_step *step = comparing->program->nodes[event->index].step;
    struct ulp_compared_work *work = &comparing->work[number];
    const struct ulp_tensor *taken = event->values[o].entire,
                            *values = event->input_count ? event->inputs[0].entire : NULL;
    if (!ulp_is_word(event->op, "TopK ArgMax ArgMin") || event->execution || !values || !taken ||
        ulp_element_is_float(taken->element) || !ulp_element_is_float(values->element))
        return ULP_OK;
    const struct lines lines = find_lines(step, values, taken);
    work->behind =
        ulp_arena_take(comparing->arena, comparing->recording_count, sizeof *work->behind);
    ULP_TRY(ulp_taken(work->behind, error));
    for (size_t f = 0; f < comparing->recording_count; f++) {
        const struct ulp_tensor *recorded = ulp_recorded(work, f);
        if (!recorded || !ulp_tensor_same_shape(recorded, taken) ||
            ulp_element_is_float(recorded->element))
            continue;
        for (size_t line = 0; line < lines.count; line++) {
            const double behind = find_worst(&lines, values, taken, line) -
                                  find_worst(&lines, values, recorded, line);
            work->behind[f] = behind > work->behind[f] ? behind : work->behind[f]; /* not NaN */
        }
    }
    for (size_t a = 0; a < comparing->out->arithmetic_count; a++)
        for (size_t l = first[a]; l < first[a + 1]; l++) {
            const struct ulp_tensor *own = event->inputs[l * event->input_count].entire;
            for (size_t i = 0; own && ulp_tensor_same_shape(own, values) && i < own->count; i++) {
                const double off = fabs(ulp_tensor_read(own, i) - ulp_tensor_read(values, i));
                work->members[a].scores =
                    off > work->members[a].scores ? off : work->members[a].scores;
            }
        }
    return ULP_OK;
}

void ulp_compare_judge_passed(const struct ulp_compared_work *work, size_t file, size_t arithmetic,
                              struct ulp_compared_value *judged)
{
    const double behind = work->behind ? work->behind[file] : 0,
                 error = work->members[arithmetic].scores;
    if (!(behind > ULP_PASSED_MOST * error) || !isfinite(behind))
        return;
    judged->explained = judged->rows_matched = false;
    judged->limit = judged->max_limit = ULP_PASSED_MOST;
    judged->ratio = judged->max_ratio = error > 0 ? behind / error : INFINITY;
}
