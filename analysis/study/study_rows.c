/* The same network beside other rows: one lane for each number of rows, their outputs compared bit
 * by bit; then each product on equal inputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/difference.h"
#include "analysis/measure/judged.h"
#include "analysis/study/studying.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "kernels/cublas.h"
#include "number/function/math.h"
#include "run/program/program.h"

struct rows_run {
    struct ulp_study_rows *out;
    const struct ulp_observer *progress;
    struct ulp_budget *budget;
    struct ulp_program *program;
    size_t *node_item; /* by node: 1 + index into out->nodes; 0: none */
    size_t node_capacity;
    bool *seen; /* by node: counted as a product */
    /* same[i * row_count + j]: outputs beside rows[i] and rows[j] have had equal bits so far */
    bool *same;
    double *width2, *value2; /* sums of squares, by output */
};

/* ---- values beside each other ---- */

struct spread {
    double low, high, first;
    bool finite;
};

static struct spread measure(const struct ulp_tensor *const *values, size_t count, size_t i)
{
    struct spread spread = {INFINITY, -INFINITY, ulp_tensor_get(values[0], i), true};
    for (size_t l = 0; l < count; l++) {
        const double x = ulp_tensor_get(values[l], i);
        spread.low = x < spread.low ? x : spread.low;
        spread.high = x > spread.high ? x : spread.high;
        spread.finite &= isfinite(x) != 0;
    }
    return spread;
}

/* Has the element more than one value? Of floats zeros are equal; of integers bits are compared,
 * which doubles need not hold. */
static bool differs(const struct ulp_tensor *const *values, size_t count, size_t i)
{
    const size_t bytes = values[0]->element_bytes, at = i * bytes;
    bool is_float = ulp_element_is_float(values[0]->element), found = false;
    for (size_t l = 1; l < count; l++)
        found |= is_float ? ulp_tensor_get(values[l], i) != ulp_tensor_get(values[0], i)
                          : memcmp((const char *)values[l]->data + at,
                                   (const char *)values[0]->data + at, bytes) != 0;
    return found;
}

static enum ulp_status count_choices(const struct rows_run *run,
                                     struct ulp_study_rows_output *output,
                                     const struct ulp_tensor *const *values, size_t count,
                                     struct ulp_error *error)
{
    const struct ulp_tensor *first = values[0];
    const size_t n = first->rank ? (size_t)first->dims[first->rank - 1] : 1;
    void *memory;
    ULP_TRY(ulp_allocate(&memory, n, sizeof(double), run->budget, "a row of choices", error));
    double *row = memory;
    for (size_t at = 0; n > 1 && at < first->count; at += n) {
        size_t choice = 0;
        bool flips = false;
        for (size_t l = 0; l < count; l++) {
            ulp_side_read(row, values[l], at, n);
            const size_t own = ulp_first_choice(row, n);
            choice = l ? choice : own;
            flips |= own != choice;
        }
        output->choices++;
        output->flipped += flips;
    }
    ulp_free(memory);
    return ULP_OK;
}

static enum ulp_status add_output(struct rows_run *run, size_t o,
                                  const struct ulp_tensor *const *values, struct ulp_error *error)
{
    const size_t count = run->out->row_count;
    struct ulp_study_rows_output *output = &run->out->outputs[o];
    for (size_t l = 1; l < count; l++)
        if (!ulp_tensor_same_shape(values[l], values[0]))
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "output %s has another shape beside %zu rows than beside %zu: its size "
                            "follows from a value that differs",
                            output->name, run->out->rows[l], run->out->rows[0]);
    for (size_t i = 0; i < values[0]->count; i++) {
        const struct spread spread = measure(values, count, i);
        if (!spread.finite) {
            output->nonfinite++;
            continue;
        }
        const double width = spread.high - spread.low;
        output->elements++;
        output->differing += differs(values, count, i);
        output->width_max_abs = ulp_math_max(output->width_max_abs, width);
        run->width2[o] += width * width;
        run->value2[o] += spread.first * spread.first;
    }
    for (size_t l = 0; l < count; l++)
        for (size_t k = 0; k < l; k++)
            run->same[l * count + k] &=
                values[l]->count == 0 || memcmp(values[l]->data, values[k]->data,
                                                values[l]->count * values[l]->element_bytes) == 0;
    return ulp_element_is_float(values[0]->element)
               ? count_choices(run, output, values, count, error)
               : ULP_OK;
}

/* sets: the outputs of each lane. */
static enum ulp_status add_outputs(struct rows_run *run, const struct ulp_tensor_set *sets,
                                   struct ulp_error *error)
{
    const struct ulp_tensor *values[ULP_STUDY_ROWS_MAX];
    for (size_t o = 0; o < run->out->output_count; o++) {
        for (size_t l = 0; l < run->out->row_count; l++)
            values[l] = ulp_tensor_set_find(&sets[l], run->out->outputs[o].name);
        ULP_TRY(add_output(run, o, values, error));
    }
    return ULP_OK;
}

/* ---- each product on equal inputs ---- */

static struct ulp_study_rows_node *find_node(struct rows_run *run, const struct ulp_event *event)
{
    struct ulp_study_rows *out = run->out;
    size_t *item = &run->node_item[event->index];
    if (*item)
        return &out->nodes[*item - 1];
    if (!ulp_program_grow(out->memory, &out->nodes, out->node_count, &run->node_capacity,
                          sizeof *out->nodes))
        return NULL;
    struct ulp_study_rows_node *node = &out->nodes[out->node_count];
    *node = (struct ulp_study_rows_node){.index = event->index,
                                         .name = ulp_arena_copy(out->memory, event->name),
                                         .op = ulp_arena_copy(out->memory, event->op)};
    if (!node->name || !node->op)
        return NULL;
    *item = ++out->node_count;
    return node;
}

static enum ulp_status look_at(void *context, const struct ulp_event *event,
                               struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct rows_run *run = context;
    const size_t count = event->lane_count;
    const struct ulp_tensor *values[ULP_STUDY_ROWS_MAX];
    size_t differing = 0;
    double most = 0;
    for (size_t l = 0; l < count; l++)
        values[l] = event->values[l * event->output_count].entire;
    if (count < 2 || !values[1] || values[1] == values[0] ||
        !ulp_element_is_float(values[0]->element) || !ulp_tensor_same_shape(values[0], values[1]))
        return ULP_OK;
    run->out->product_count += !run->seen[event->index];
    run->seen[event->index] = true;
    for (size_t i = 0; i < values[0]->count; i++) {
        const struct spread spread = measure(values, count, i);
        if (!spread.finite || spread.high == spread.low)
            continue;
        const double largest = ulp_math_max(fabs(spread.high), fabs(spread.low));
        differing++;
        most = ulp_math_max(most, (spread.high - spread.low) /
                                      ulp_format_ulp(&event->arithmetics[0].storage, largest));
    }
    struct ulp_study_rows_node *node =
        differing || run->node_item[event->index] ? find_node(run, event) : NULL;
    if (!node)
        return differing ? ulp_out_of_memory(error) : ULP_OK;
    node->elements += values[0]->count;
    node->differing += differing;
    node->width_max_ulp = ulp_math_max(node->width_max_ulp, most);
    return ULP_OK;
}

/* ---- the runs ---- */

static enum ulp_status make_lanes(struct ulp_arithmetic *lanes, const struct ulp_arithmetic *base,
                                  const struct ulp_study_rows *out, struct ulp_error *error)
{
    for (size_t l = 0; l < out->row_count; l++) {
        struct ulp_arithmetic cut;
        char part[32];
        ULP_TRY(ulp_arithmetic_change(&cut, base, "split-k=cublas", error));
        snprintf(part, sizeof part, "rows=%zu", out->rows[l]);
        ULP_TRY(ulp_arithmetic_change(&lanes[l], &cut, part, error));
    }
    return ULP_OK;
}

/* After the first run, whose outputs these are. */
static enum ulp_status make_places(struct rows_run *run, const struct ulp_tensor_set *set,
                                   struct ulp_error *error)
{
    struct ulp_study_rows *out = run->out;
    const size_t count = out->row_count, nodes = ulp_program_node_count(run->program);
    ULP_TAKE(out->outputs, out->memory, set->count + 1, error);
    ULP_TAKE(run->width2, out->memory, set->count + 1, error);
    ULP_TAKE(run->value2, out->memory, set->count + 1, error);
    ULP_TAKE(run->node_item, out->memory, nodes + 1, error);
    ULP_TAKE(run->seen, out->memory, nodes + 1, error);
    ULP_TAKE(run->same, out->memory, count * count, error);
    memset(run->same, true, count * count * sizeof *run->same);
    for (size_t i = 0; i < set->count; i++) {
        struct ulp_study_rows_output *output = &out->outputs[out->output_count];
        if (set->items[i].tensor.type == ULP_TYPE_STRING)
            continue;
        output->name = ulp_arena_copy(out->memory, set->items[i].name);
        ULP_TRY(ulp_taken(output->name, error));
        out->output_count++;
    }
    return out->output_count
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT, "the model has no output of numbers");
}

static enum ulp_status run_sample(struct rows_run *run, struct ulp_programs *programs,
                                  const struct ulp_sample *sample, int thread_count,
                                  struct ulp_error *error)
{
    struct ulp_tensor_set sets[ULP_STUDY_ROWS_MAX] = {{0}};
    const struct ulp_run_options whole = {.thread_count = thread_count},
                                 apart = {.thread_count = thread_count, .isolated = true};
    const struct ulp_observer none = {0}, observers[] = {{.context = run, .node_done = look_at},
                                                         run->progress ? *run->progress : none};
    enum ulp_status status = ulp_programs_choose(programs, sample->inputs, &run->program, error);
    if (status == ULP_OK)
        status = ulp_program_run(run->program, sample->inputs, &whole, &observers[1], 1, sets, NULL,
                                 error);
    if (status == ULP_OK && !run->same)
        status = make_places(run, &sets[0], error);
    if (status == ULP_OK)
        status = add_outputs(run, sets, error);
    for (size_t l = 0; l < run->out->row_count; l++)
        ulp_tensor_set_free(&sets[l]);
    if (status == ULP_OK)
        status =
            ulp_program_run(run->program, sample->inputs, &apart, observers, 2, NULL, NULL, error);
    return ulp_fail_at(error, status, "sample %s", sample->name);
}

/* Rows with equal outputs, each class by its first. */
static enum ulp_status make_classes(struct rows_run *run, struct ulp_error *error)
{
    struct ulp_study_rows *out = run->out;
    const size_t count = out->row_count;
    out->classes = ulp_arena_take(out->memory, count, sizeof *out->classes);
    size_t *first = ulp_arena_take(out->memory, count, sizeof *first);
    for (size_t l = 0; l < count && out->classes && first; l++) {
        size_t c = 0;
        while (c < out->class_count && !run->same[l * count + first[c]])
            c++;
        struct ulp_study_rows_class *found = &out->classes[c];
        if (c == out->class_count) {
            ULP_TAKE(found->rows, out->memory, count, error);
            first[out->class_count++] = l;
        }
        found->rows[found->count++] = out->rows[l];
    }
    return ulp_taken(out->classes && first, error);
}

/* Nothing to compare is no answer. */
static enum ulp_status conclude(struct rows_run *run, struct ulp_error *error)
{
    const struct ulp_study_rows *out = run->out;
    size_t elements = 0;
    for (size_t o = 0; o < out->output_count; o++) {
        elements += out->outputs[o].elements;
        out->outputs[o].width_relative =
            run->value2[o] > 0 ? sqrt(run->width2[o] / run->value2[o]) : NAN;
    }
    if (!elements || !out->product_count)
        return ulp_fail(error, ULP_ERROR_LIMIT, "cannot be judged: %s",
                        elements ? "the model has no product whose sums a library could cut"
                                 : "no output has a finite element to compare");
    return make_classes(run, error);
}

static enum ulp_status check(const struct ulp_study_rows *out, const size_t *rows,
                             struct ulp_error *error)
{
    if (!out->sample_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "a study needs a sample");
    if (out->row_count < 2 || out->row_count > ULP_STUDY_ROWS_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu numbers of rows: from 2 to %d are possible",
                        out->row_count, ULP_STUDY_ROWS_MAX);
    for (size_t i = 0; i < out->row_count; i++)
        if (!rows[i] || rows[i] > 1000000 || (i && rows[i] <= rows[i - 1]))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "numbers of rows ascend, from 1 to 1000000: %zu", rows[i]);
    return ULP_OK;
}

enum ulp_status ulp_study_rows_run(const struct ulp_model *model, const struct ulp_sample *samples,
                                   size_t sample_count, const struct ulp_arithmetic *arithmetic,
                                   const size_t *rows, size_t row_count, int thread_count,
                                   const struct ulp_observer *progress, struct ulp_study_rows *out,
                                   struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    const double started = ulp_seconds_now();
    struct ulp_arithmetic lanes[ULP_STUDY_ROWS_MAX];
    struct rows_run run = {.out = out, .progress = progress, .budget = ulp_model_budget(model)};
    struct ulp_programs programs = {.model = model, .lanes = lanes, .lane_count = row_count};
    *out = (struct ulp_study_rows){.sample_count = sample_count, .row_count = row_count};
    ULP_TRY(check(out, rows, error));
    ULP_TRY(ulp_arena_create(&out->memory, ulp_model_budget(model), error));
    out->rows = ulp_arena_take(out->memory, row_count, sizeof *out->rows);
    out->model_path = ulp_arena_copy(out->memory, ulp_model_path(model));
    enum ulp_status status = ULP_OK;
    if (!out->rows || !out->model_path)
        status = ulp_out_of_memory(error);
    else
        memcpy(out->rows, rows, row_count * sizeof *rows);
    if (status == ULP_OK)
        status = make_lanes(lanes, arithmetic, out, error);
    if (status == ULP_OK && !(out->arithmetic = ulp_arena_copy(out->memory, lanes[0].name)))
        status = ulp_out_of_memory(error);
    for (size_t i = 0; i < sample_count && status == ULP_OK; i++)
        status = run_sample(&run, &programs, &samples[i], thread_count, error);
    if (status == ULP_OK)
        status = conclude(&run, error);
    ulp_programs_free(&programs);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_study_rows_free(out);
    return status;
}

void ulp_study_rows_free(struct ulp_study_rows *study)
{
    ulp_arena_free(study->memory);
    *study = (struct ulp_study_rows){0};
}

/* ---- numbers of rows as text ---- */

static bool read_number(const char **text, size_t *out)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    const unsigned long long number = strtoull(*text, &end, 10);
    *text = end;
    *out = number > 1000000 ? 1000001 : (size_t)number;
    return true;
}

enum ulp_status ulp_study_rows_read(const char *text, size_t rows[ULP_STUDY_ROWS_MAX],
                                    size_t *count, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    const char *at = text;
    size_t first, last;
    *count = 0;
    if (strstr(text, "..")) {
        if (read_number(&at, &first) && strncmp(at, "..", 2) == 0 && (at += 2, true) &&
            read_number(&at, &last) && !*at && first >= 1 && last > first && last <= 1000000) {
            rows[(*count)++] = first;
            for (size_t i = 0; ulp_cublas_rows(i); i++)
                if (ulp_cublas_rows(i) > first && ulp_cublas_rows(i) < last)
                    rows[(*count)++] = ulp_cublas_rows(i);
            rows[(*count)++] = last;
            return ULP_OK;
        }
    } else {
        while (*count < ULP_STUDY_ROWS_MAX && read_number(&at, &rows[*count]) &&
               rows[*count] >= 1 && rows[*count] <= 1000000 &&
               (*count == 0 || rows[*count] > rows[*count - 1])) {
            if (++*count >= 2 && !*at)
                return ULP_OK;
            if (*at++ != ',')
                break;
        }
    }
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "rows '%s': expected A..B, or 2 to %d ascending numbers, as 1,8,64", text,
                    ULP_STUDY_ROWS_MAX);
}
