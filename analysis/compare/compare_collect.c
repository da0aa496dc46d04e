/* The run on the inputs: the reference and every arithmetic under several schedules of its sums,
 * side by side. Recorded values are measured when the run reaches them. */
#include <math.h>
#include <string.h>

#include "analysis/audit/auditor.h"
#include "analysis/audit/place.h"
#include "analysis/compare/comparing.h"
#include "analysis/measure/judged.h"
#include "analysis/measure/metrics.h"
#include "analysis/measure/objects.h"
#include "analysis/schedule/schedule.h"
#include "base/error.h"
#include "number/function/math.h"
#include "run/lane.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* Small elements of a product, of which there must be so many. */
#define SMALL_MIN 16

struct collecting {
    struct ulp_comparing *comparing;
    const size_t *lanes; /* first lane of each arithmetic, and one more: the end */
};

static struct ulp_error_size size_of(const struct ulp_metrics *metrics)
{
    return (struct ulp_error_size){.rms = metrics->count ? metrics->rms : 0,
                                   .max_abs = metrics->count ? metrics->max_abs : 0,
                                   .nonfinite = metrics->nonfinite};
}

static void take_worse(struct ulp_error_size *all, const struct ulp_error_size *one)
{
    all->rms = ulp_math_max(all->rms, one->rms);
    all->max_abs = ulp_math_max(all->max_abs, one->max_abs);
    all->small = ulp_math_max(all->small, one->small);
    all->nonfinite = one->nonfinite > all->nonfinite ? one->nonfinite : all->nonfinite;
}

/* How far rows are that rounding to the recording's type moves. */
static enum ulp_status match_stored(const struct ulp_comparing *comparing, size_t number,
                                    size_t file, const struct ulp_format *format,
                                    struct ulp_error *error)
{
    const struct ulp_compared_work *work = &comparing->work[number];
    const struct ulp_compared_tensor *tensor = &comparing->out->tensors[number];
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor rounded = {0};
    if (!work->chosen)
        return ULP_OK;
    ULP_TRY(ulp_tensor_create(&rounded, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, tensor->rank,
                              tensor->dims, error));
    for (size_t i = 0; i < work->count; i++)
        ((double *)rounded.data)[i] =
            ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, work->reference[i], 0, 0);
    return ulp_matched_distance(comparing, number, &rounded, NULL, &work->matched_stored[file],
                                error);
}

/* The error of each element of `reference` rounded to the format. */
static struct ulp_error_size rounding_error(const double *reference, size_t count,
                                            const struct ulp_format *format)
{
    struct ulp_error_size size = {0};
    double sum = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        const double rounded = ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, reference[i], 0, 0);
        const double d = rounded - reference[i];
        if (!isfinite(d)) {
            size.nonfinite += isfinite(reference[i]) != 0;
            continue;
        }
        sum += d * d;
        size.max_abs = ulp_math_max(size.max_abs, fabs(d));
        finite++;
    }
    size.rms = finite ? sqrt(sum / (double)finite) : 0;
    return size;
}

enum ulp_status ulp_compare_note_kinds(struct ulp_comparing *comparing,
                                       const struct ulp_compared_work *work,
                                       struct ulp_members *members, const struct ulp_tensor *value,
                                       struct ulp_error *error)
{
    if (!members->kinds)
        ULP_TAKE(members->kinds, comparing->arena, work->count, error);
    for (size_t i = 0; i < work->count; i++) {
        const unsigned kind = ulp_value_kind(ulp_tensor_get(value, i));
        if (kind != ULP_VALUE_FINITE || !isfinite(work->reference[i]))
            members->kinds[i] |= (unsigned char)kind;
    }
    return ULP_OK;
}

static bool is_same_but_for_ones(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    int i = 0, j = 0;
    for (;;) {
        while (i < a->rank && a->dims[i] == 1)
            i++;
        while (j < b->rank && b->dims[j] == 1)
            j++;
        if (i == a->rank || j == b->rank)
            return i == a->rank && j == b->rank;
        if (a->dims[i++] != b->dims[j++])
            return false;
    }
}

/* The recorded tensor as one of like's shape, and of floats where that is: a view, or converted.
 * False (*out has no data): it has another shape. */
static enum ulp_status liken(struct ulp_tensor *out, const struct ulp_tensor *recorded,
                             const struct ulp_tensor *like, struct ulp_error *error)
{
    *out = (struct ulp_tensor){0};
    if (!is_same_but_for_ones(recorded, like))
        return ULP_OK;
    if (ulp_element_is_float(recorded->element) == ulp_element_is_float(like->element)) {
        *out = ulp_tensor_view(recorded);
        out->rank = like->rank;
        memcpy(out->dims, like->dims, sizeof out->dims);
        return ULP_OK;
    }
    ULP_TRY(
        ulp_tensor_create(out, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, like->rank, like->dims, error));
    for (size_t i = 0; i < recorded->count; i++)
        ((double *)out->data)[i] = ulp_tensor_get(recorded, i);
    return ULP_OK;
}

/* The largest scale of a DequantizeLinear, when it is a constant; else 0. */
static double find_scale(const struct ulp_program_node *node)
{
    const int slot = node->step->input_count > 1 ? node->step->inputs[1] : -1;
    const struct ulp_tensor *scale = slot < 0 ? NULL : node->block->slots[slot].constant;
    double most = 0;
    for (size_t i = 0; scale && i < scale->count; i++)
        most = ulp_math_max(most, fabs(ulp_tensor_get(scale, i)));
    return most;
}

/* What may lie between two libraries whatever the arithmetic. Functions between -1 and 1 are
 * approximated in parts of 1, not of the value: ONNX Runtime's Sigmoid is 0.5 + p/q (and 0 below
 * -18), where p/q near 0.5 has three roundings of 2^-24, its error being up to 1.5 * 2^-24; integer
 * kernels scale by fixed-point numbers, so that they round to the other of two steps now and then.
 */
static double find_floor(const struct ulp_comparing *comparing, const struct ulp_event *event)
{
    if (event->quantizes)
        return 1;
    if (strcmp(event->op, "DequantizeLinear") == 0)
        return find_scale(&comparing->program->nodes[event->index]);
    return ulp_is_word(event->op, "Sigmoid Tanh Erf Softmax") ? 0x1p-23 : 0;
}

/* Where a tenth of the rms is, if it is a product's and as many elements are smaller as a tensor's
 * error may be judged by. */
static double find_small(const struct ulp_comparing *comparing,
                         const struct ulp_compared_tensor *tensor,
                         const struct ulp_compared_work *work)
{
    const double small = tensor->range.ref_rms / 10;
    struct ulp_node_types types;
    size_t count = 0;
    ulp_program_node_types(comparing->program, 0, (size_t)tensor->index, &types);
    for (size_t i = 0; i < work->count && types.product; i++)
        count += fabs(work->reference[i]) < small;
    return count >= SMALL_MIN ? small : 0;
}

static enum ulp_status describe_tensor(struct ulp_comparing *comparing, size_t number,
                                       const struct ulp_event *event,
                                       const struct ulp_tensor *reference, struct ulp_error *error)
{
    struct ulp_compared_tensor *tensor = &comparing->out->tensors[number];
    struct ulp_compared_work *work = &comparing->work[number];
    tensor->type = reference->type;
    tensor->rank = reference->rank;
    memcpy(tensor->dims, reference->dims, sizeof tensor->dims);
    work->order = comparing->told++;
    work->count = reference->count;
    void *values;
    ULP_TRY(ulp_allocate(&values, reference->count, sizeof *work->reference,
                         ulp_comparing_budget(comparing), "the reference's values", error));
    work->reference = values;
    if (event) {
        work->floor = find_floor(comparing, event);
        work->chosen = ulp_is_chosen(comparing, tensor->name);
        work->integers = !ulp_type_is_float(tensor->type) && ulp_matched_width(tensor) == 1;
        tensor->index = (ptrdiff_t)event->index;
        tensor->node = ulp_comparing_text(comparing, event->name);
        tensor->op = ulp_comparing_text(comparing, event->op);
        ULP_TRY(ulp_taken(tensor->node && tensor->op, error));
    }
    for (size_t i = 0; i < reference->count; i++)
        work->reference[i] = ulp_tensor_get(reference, i);
    ulp_range_measure(reference, &comparing->options->arithmetics[0].storage, comparing->pool,
                      &tensor->range);
    if (event)
        work->small = find_small(comparing, tensor, work);
    return ULP_OK;
}

/* Of the graph's, which a node computes; -1: it is none. */
static ptrdiff_t find_output(const struct ulp_comparing *comparing, const char *name)
{
    const struct ulp_block *block = comparing->program->main;
    for (size_t o = 0; o < block->output_count; o++)
        if (ulp_block_computes(block, block->outputs[o]) &&
            strcmp(block->slots[block->outputs[o]].name, name) == 0)
            return (ptrdiff_t)o;
    return -1;
}

static enum ulp_status grade_recorded(struct ulp_comparing *comparing,
                                      struct ulp_compared_value *value, struct ulp_error *error)
{
    struct ulp_text text = {0};
    struct ulp_judged *judged = &value->judged;
    judged->sqnr_db = value->truth.sqnr_db = ulp_judged_decibels(judged, judged->sqnr_db);
    judged->grade = ulp_judged_grade(judged, &text);
    judged->text = ulp_text_keep(&text, comparing->out->memory);
    return ulp_taken(judged->text, error);
}

/* What an output of the graph is for, and how well the recording does it. */
static enum ulp_status judge_recorded(struct ulp_comparing *comparing, const char *name,
                                      const struct ulp_tensor *recorded,
                                      const struct ulp_tensor *reference,
                                      struct ulp_compared_value *value, struct ulp_error *error)
{
    struct ulp_judged *judged = &value->judged;
    const ptrdiff_t o = find_output(comparing, name);
    if (o < 0 || !ulp_tensor_same_shape(recorded, reference) || !value->truth.count ||
        value->truth.nonfinite)
        return ULP_OK;
    const struct ulp_purpose purpose =
        ulp_audit_purpose(comparing->program, (size_t)o, comparing->options->task, reference);
    value->truth.diverged &= purpose.task != ULP_TASK_SIGNAL;
    ULP_TRY(ulp_judged_measure(recorded, reference, purpose, ulp_comparing_budget(comparing),
                               judged, error));
    judged->sqnr_db = value->truth.sqnr_db;
    return grade_recorded(comparing, value, error);
}

/* The file's outputs that are one list's, as that. */
static enum ulp_status judge_lists(struct ulp_comparing *comparing, size_t file,
                                   struct ulp_error *error)
{
    const size_t count = comparing->program->main->output_count;
    struct ulp_tensor *wrapped = ulp_arena_take(comparing->arena, count, sizeof *wrapped);
    const struct ulp_tensor **tensors =
        ulp_arena_take(comparing->arena, 2 * count, sizeof(struct ulp_tensor *));
    struct ulp_judged *judged = ulp_arena_take(comparing->arena, count, sizeof *judged);
    ULP_TRY(ulp_taken(wrapped && tensors && judged, error));
    for (size_t t = 0; t < comparing->out->tensor_count; t++) {
        const struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
        const ptrdiff_t o = find_output(comparing, tensor->name);
        if (o < 0 || !tensor->values[file].recorded || tensor->values[file].truth.nonfinite)
            continue;
        ULP_TRY(ulp_tensor_wrap(&wrapped[o], ULP_TYPE_DOUBLE, tensor->rank, tensor->dims,
                                comparing->work[t].reference, error));
        wrapped[o].type = tensor->type;
        tensors[o] = ulp_recorded(&comparing->work[t], file);
        tensors[count + (size_t)o] = &wrapped[o];
    }
    ULP_TRY(ulp_objects_judge_all(comparing->program, comparing->options->task, tensors,
                                  tensors + count, ulp_comparing_budget(comparing), judged, error));
    for (size_t t = 0; t < comparing->out->tensor_count; t++) {
        const ptrdiff_t o = find_output(comparing, comparing->out->tensors[t].name);
        struct ulp_compared_value *value = &comparing->out->tensors[t].values[file];
        if (o < 0 || judged[o].task == ULP_TASK_UNKNOWN)
            continue;
        value->judged = judged[o];
        ULP_TRY(grade_recorded(comparing, value, error));
    }
    return ULP_OK;
}

/* Recorded - reference, and recorded - what each arithmetic gives; given[a] may be NULL. */
static enum ulp_status measure_recorded(struct ulp_comparing *comparing, size_t number, size_t file,
                                        const struct ulp_tensor *recorded,
                                        const struct ulp_tensor *reference,
                                        const struct ulp_tensor *const *given,
                                        struct ulp_error *error)
{
    struct ulp_compared_value *value = &comparing->out->tensors[number].values[file];
    struct ulp_format format = comparing->options->arithmetics[0].storage;
    if (ulp_type_is_float(reference->type))
        ULP_TRY(
            ulp_lane_format(&comparing->options->arithmetics[0], reference->type, &format, error));
    ULP_TRY(ulp_metrics_measure_on(recorded, reference, &format, comparing->pool, &value->truth,
                                   error));
    ULP_TRY(judge_recorded(comparing, comparing->out->tensors[number].name, recorded, reference,
                           value, error));
    for (size_t a = 0; a < comparing->out->arithmetic_count; a++)
        if (given[a] && ulp_tensor_same_shape(given[a], reference))
            ULP_TRY(ulp_metrics_measure_on(recorded, given[a], &format, comparing->pool,
                                           &value->arithmetics[a], error));
    for (size_t a = 0; a < comparing->out->arithmetic_count; a++)
        value->arithmetics[a].sqnr_db =
            ulp_judged_decibels(&value->judged, value->arithmetics[a].sqnr_db);
    if (!ulp_element_is_float(recorded->element) || ulp_type_rows[recorded->type].format == NULL)
        return ULP_OK;
    ULP_TRY(ulp_format_find(ulp_type_rows[recorded->type].format, &format, error));
    if (!ulp_element_is_float(reference->element))
        return ULP_OK;
    struct ulp_compared_work *work = &comparing->work[number];
    struct ulp_metrics wide;
    struct ulp_tensor doubles;
    ULP_TRY(ulp_tensor_wrap(&doubles, ULP_TYPE_DOUBLE, reference->rank, reference->dims,
                            work->reference, error));
    ULP_TRY(ulp_metrics_measure_on(&doubles, reference, &format, comparing->pool, &wide, error));
    const struct ulp_error_size of_doubles = size_of(&wide); /* no recording has more bits */
    work->stored[file] = rounding_error(work->reference, work->count, &format);
    work->stored[file].rms = ulp_math_hypot(work->stored[file].rms, of_doubles.rms);
    work->stored[file].max_abs += of_doubles.max_abs;
    work->stored[file].small = ldexp(work->small, -format.precision);
    value->small = ulp_small_rms(work, recorded, NULL);
    return match_stored(comparing, number, file, &format, error);
}

static enum ulp_status measure_files(struct ulp_comparing *comparing, size_t number,
                                     const struct ulp_tensor *reference,
                                     const struct ulp_tensor *const *given, struct ulp_error *error)
{
    const size_t files = comparing->recording_count;
    struct ulp_compared_tensor *tensor = &comparing->out->tensors[number];
    struct ulp_tensor *alike = ulp_arena_take(comparing->arena, files, sizeof *alike);
    enum ulp_status status = ulp_taken(alike, error);
    for (size_t f = 0; f < files && status == ULP_OK; f++) {
        const struct ulp_tensor *recorded = comparing->work[number].recorded[f];
        if (!recorded)
            continue;
        status = ulp_layout_turn(&comparing->work[number].turned[f], recorded, reference,
                                 ulp_comparing_budget(comparing), error);
        tensor->values[f].turned = comparing->work[number].turned[f].data;
        ULP_THEN(status,
                 liken(&alike[f], ulp_recorded(&comparing->work[number], f), reference, error));
        if (status == ULP_OK && comparing->work[number].chosen)
            status =
                ulp_matched_distance(comparing, number, ulp_recorded(&comparing->work[number], f),
                                     NULL, &tensor->values[f].matched, error);
        tensor->values[f].recorded = true;
        tensor->values[f].reshaped = !alike[f].data;
        if (status == ULP_OK && alike[f].data)
            status = measure_recorded(comparing, number, f, &alike[f], reference, given, error);
        for (size_t other = 0; other < f && status == ULP_OK; other++) {
            struct ulp_metrics *between = &tensor->values[f].others[other];
            if (alike[f].data && alike[other].data &&
                ulp_element_is_float(alike[f].element) ==
                    ulp_element_is_float(alike[other].element))
                status = ulp_metrics_measure_on(&alike[f], &alike[other],
                                                &comparing->options->arithmetics[0].storage,
                                                comparing->pool, between, error);
        }
        ulp_fail_at(error, status, "%s: '%s'", comparing->recordings[f].name, tensor->name);
    }
    ulp_tensors_free(alike, files);
    return status;
}

size_t ulp_compare_count_equal(const struct ulp_tensor *recorded, const struct ulp_tensor *value)
{
    const char *name = ulp_type_rows[recorded->type].format;
    struct ulp_format format;
    const bool rounds = name && ulp_element_is_float(value->element) &&
                        ulp_format_find(name, &format, NULL) == ULP_OK;
    size_t equal = 0;
    for (size_t i = 0; i < value->count; i++) {
        const double x = ulp_tensor_get(recorded, i), v = ulp_tensor_get(value, i),
                     y = rounds ? ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, v, 0, 0) : v;
        equal += x == y || (isnan(x) && isnan(y));
    }
    return equal;
}

/* A member of the arithmetic beside the recordings, and beside the arithmetic itself. */
static void count_member(struct ulp_comparing *comparing, size_t number, size_t arithmetic,
                         const struct ulp_tensor *value, const struct ulp_tensor *own)
{
    struct ulp_members *members = &comparing->work[number].members[arithmetic];
    for (size_t f = 0; f < comparing->recording_count; f++) {
        const struct ulp_compared_value *out = &comparing->out->tensors[number].values[f];
        const struct ulp_tensor *recorded =
            out->recorded ? ulp_recorded(&comparing->work[number], f) : NULL;
        if (!recorded || recorded->count != value->count)
            continue;
        const size_t equal = ulp_compare_count_equal(recorded, value);
        members->equal[f] = equal > members->equal[f] ? equal : members->equal[f];
    }
    size_t varied = 0;
    for (size_t i = 0; own && value != own && own->count == value->count && i < value->count; i++) {
        const double x = ulp_tensor_get(value, i), y = ulp_tensor_get(own, i);
        varied += !(x == y || (isnan(x) && isnan(y)));
    }
    members->varied = varied > members->varied ? varied : members->varied;
}

static enum ulp_status measure_output(const struct collecting *collecting,
                                      const struct ulp_event *event, size_t o,
                                      struct ulp_error *error)
{
    struct ulp_comparing *comparing = collecting->comparing;
    const size_t lanes = comparing->out->arithmetic_count;
    const struct ulp_tensor *reference = event->values[o].entire;
    const ptrdiff_t number = ulp_compared_find(comparing, event->output_names[o], event->execution);
    if (number < 0)
        return ULP_OK;
    struct ulp_compared_work *work = &comparing->work[number];
    const struct ulp_tensor **given = ulp_arena_take(comparing->arena, lanes, sizeof *given);
    ULP_TRY(given ? describe_tensor(comparing, (size_t)number, event, reference, error)
                  : ulp_out_of_memory(error));
    for (size_t a = 0; a < lanes; a++) {
        work->members[a].open |= ulp_is_open(comparing, a, event->output_names[o]);
        given[a] = event->values[collecting->lanes[a] * event->output_count + o].entire;
        for (size_t l = collecting->lanes[a]; l < collecting->lanes[a + 1]; l++) {
            const struct ulp_tensor *value = event->values[l * event->output_count + o].entire;
            struct ulp_metrics metrics;
            double matched;
            if (value && work->chosen) {
                ULP_TRY(
                    ulp_matched_distance(comparing, (size_t)number, value, NULL, &matched, error));
                work->members[a].matched.actual =
                    ulp_math_max(work->members[a].matched.actual, matched);
                work->members[a].resized =
                    ulp_math_max(work->members[a].resized,
                                 ulp_matched_resized(comparing, (size_t)number, value, NULL));
            }
            if (!value || !ulp_tensor_same_shape(value, reference)) {
                work->members[a].shapeless = true;
                continue;
            }
            ULP_TRY(ulp_metrics_measure_on(value, reference, &event->arithmetics[l].storage,
                                           comparing->pool, &metrics, error));
            struct ulp_error_size size = size_of(&metrics);
            size.small = ulp_small_rms(work, value, NULL);
            take_worse(&work->members[a].actual, &size);
            work->members[a].stored_formats |= ulp_stored_formats_of(value);
            work->members[a].unstored |= !ulp_is_stored_in(value, &event->arithmetics[l].storage);
            if (ulp_element_is_float(value->element) && metrics.nonfinite)
                ULP_TRY(ulp_compare_note_kinds(comparing, work, &work->members[a], value, error));
        }
    }
    ULP_TRY(measure_files(comparing, (size_t)number, reference, given, error));
    ULP_TRY(ulp_compare_pass_over(comparing, (size_t)number, event, o, collecting->lanes, error));
    for (size_t a = 0; a < lanes; a++)
        for (size_t l = collecting->lanes[a]; l < collecting->lanes[a + 1]; l++) {
            const struct ulp_tensor *value = event->values[l * event->output_count + o].entire;
            if (value && (work->chosen || ulp_tensor_same_shape(value, reference)))
                count_member(comparing, (size_t)number, a, value, given[a]);
        }
    return ULP_OK;
}

static enum ulp_status collect_node(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    const struct collecting *collecting = context;
    for (size_t a = 0; a < collecting->comparing->out->arithmetic_count; a++)
        ULP_TRY(ulp_decisions_follow(collecting->comparing, a, event, collecting->lanes[a],
                                     collecting->lanes[a + 1], a == 0, error));
    for (size_t o = 0; o < event->output_count; o++)
        ULP_TRY(measure_output(collecting, event, o, error));
    return ULP_OK;
}

/* An input: its reference is what was given, and an arithmetic's error is that of rounding it. */
static enum ulp_status collect_input(struct ulp_comparing *comparing, size_t number,
                                     const struct ulp_tensor *given, struct ulp_error *error)
{
    const size_t lanes = comparing->out->arithmetic_count;
    const struct ulp_tensor **none = ulp_arena_take(comparing->arena, lanes, sizeof *none);
    ULP_TRY(none ? describe_tensor(comparing, number, NULL, given, error)
                 : ulp_out_of_memory(error));
    struct ulp_compared_work *work = &comparing->work[number];
    for (size_t a = 0; a < lanes && ulp_type_is_float(given->type); a++) {
        struct ulp_format format;
        ULP_TRY(ulp_lane_format(&comparing->options->arithmetics[a], given->type, &format, error));
        if (format.carrier != ULP_CARRIER_MPFR)
            work->members[a].actual = rounding_error(work->reference, work->count, &format);
    }
    return measure_files(comparing, number, given, none, error);
}

static enum ulp_status collect_inputs(struct ulp_comparing *comparing, struct ulp_error *error)
{
    const struct ulp_block *block = comparing->program->main;
    for (size_t i = 0; i < block->input_count; i++) {
        const char *name = block->slots[block->inputs[i]].name;
        const ptrdiff_t number = ulp_compared_find(comparing, name, 0);
        const struct ulp_tensor *given = ulp_tensor_set_find(comparing->inputs, name);
        if (number >= 0 && given)
            ULP_TRY(collect_input(comparing, (size_t)number, given, error));
    }
    return ULP_OK;
}

/* Reference, then of each arithmetic itself and its schedules; first[a]: where a's begin. */
static size_t make_lanes(const struct ulp_compare_options *options, struct ulp_arithmetic *lanes,
                         struct ulp_keeps *keeps, struct ulp_groups *groups, size_t *first)
{
    size_t count = 0;
    lanes[count++] = options->reference;
    for (size_t a = 0; a < options->arithmetic_count; a++) {
        ptrdiff_t ignored;
        first[a] = count;
        count += ulp_schedules_make(&options->arithmetics[a], lanes + count, &ignored);
        for (size_t l = first[a]; options->keeps && l < count; l++)
            keeps[l] = options->keeps[a];
        for (size_t l = first[a]; options->groups && l < count; l++)
            groups[l] = options->groups[a];
    }
    first[options->arithmetic_count] = count;
    return count;
}

enum ulp_status ulp_compare_collect(struct ulp_comparing *comparing, struct ulp_error *error)
{
    const struct ulp_compare_options *options = comparing->options;
    const size_t arithmetics = options->arithmetic_count,
                 lanes_max = 1 + arithmetics * ULP_SCHEDULES_MAX;
    struct ulp_arithmetic *lanes = ulp_arena_take(comparing->arena, lanes_max, sizeof *lanes);
    struct ulp_keeps *keeps = ulp_arena_take(comparing->arena, lanes_max, sizeof *keeps);
    struct ulp_groups *groups = ulp_arena_take(comparing->arena, lanes_max, sizeof *groups);
    size_t *first = ulp_arena_take(comparing->arena, arithmetics + 1, sizeof *first);
    struct collecting collecting = {comparing, first};
    const struct ulp_program_options plan_options = {.inputs = comparing->inputs,
                                                     .keeps = keeps,
                                                     .groups = options->groups ? groups : NULL};
    ULP_TRY(ulp_taken(lanes && keeps && groups && first, error));
    ULP_TRY(ulp_program_create(comparing->model, lanes,
                               make_lanes(options, lanes, keeps, groups, first), &plan_options,
                               &comparing->program, error));
    ULP_TRY(ulp_places_make(comparing->program, comparing->out->memory, &comparing->out->places,
                            error));
    comparing->out->place_count = comparing->program->node_count;
    ULP_TRY(ulp_compare_match(comparing, error));
    ULP_TRY(collect_inputs(comparing, error));
    const struct ulp_observer looking = {.context = &collecting,
                                         .node_done = collect_node,
                                         .modes_unused = true};
    const struct ulp_run_options run = ulp_comparing_runs(comparing);
    ulp_comparing_begins(comparing);
    ULP_TRY(ulp_program_look(comparing->program, comparing->inputs, &run, &looking,
                             options->progress, NULL, error));
    for (size_t f = 0; f < comparing->recording_count; f++)
        ULP_TRY(judge_lists(comparing, f, error));
    return ULP_OK;
}
