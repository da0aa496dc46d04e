/* Guessing how an input was prepared when only tensors computed from it were recorded: the usual
 * mistakes are run one after the other. */
#include <math.h>
#include <string.h>

#include "analysis/compare/cause/cause_change.h"
#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "number/function/math.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* A change that brings the arithmetic's result so much closer to the recorded one is named without
 * being exact: a border that is unknown, another rounding. */
#define MUCH_CLOSER 0.05
/* Rows behind a choice are near where half of them match. Of k rows chosen among 4 k others share
 * half with a chance of 0.1 for 6, and of 1e-4 for 32. */
#define ROWS_MIN 32
/* That one of those tried is named though the recording is of none of them. */
#define CHANCE 0.01
#define WAYS_MAX 96
/* Of the time in which an answer is wanted: ways are tried until then. */
#define GUESSES_PART 0.6

/* An input was changed; or its places along an axis are in reverse, two axes of as many places
 * exchanged, or it and another input. */
struct way {
    const char *input, *with; /* with: the other input; NULL: none */
    bool changed;
    struct ulp_input_change change;
    const char *words; /* of other numbers, what each element was instead */
    int a, b;          /* axes; b < 0: a alone, in reverse */
};
struct ways {
    struct way items[WAYS_MAX];
    size_t count;
};

static void add_way(struct ways *ways, struct way way)
{
    if (ways->count < WAYS_MAX)
        ways->items[ways->count++] = way;
}

static void add_change(struct ways *ways, struct ulp_input_change change)
{
    add_way(ways, (struct way){.changed = true, .change = change});
}

/* v = scale (deviation u + mean), or (scale u - mean) / deviation. */
static struct ulp_input_change normalised(const struct ulp_normalisation *n, double scale,
                                          bool left_out)
{
    struct ulp_input_change change = ulp_change_none();
    for (int c = 0; c < 3; c++) {
        change.factor[c] = left_out ? scale * n->deviation[c] : scale / n->deviation[c];
        change.offset[c] = left_out ? scale * n->mean[c] : -n->mean[c] / n->deviation[c];
    }
    return change;
}

/* What values of this range may have been instead: those from 0 to 1 or to 255, and those that a
 * mean was subtracted from. */
static void add_scales(struct ways *ways, double low, double high)
{
    const bool signed_values = low<-0.01, bytes = high> 4;
    add_change(ways, ulp_change_scaled(255));
    add_change(ways, ulp_change_scaled(1 / 255.0));
    struct ulp_input_change negative = ulp_change_scaled(-1);
    for (int c = 0; c < ULP_CHANNELS_MAX; c++)
        negative.offset[c] = bytes ? 255 : 1;
    add_change(ways, negative);
    for (size_t n = 0; n < ulp_normalisation_count; n++) {
        const struct ulp_normalisation *one = &ulp_normalisations[n];
        const bool of_bytes = ulp_normalises_bytes(one);
        if (signed_values && bytes == of_bytes) {
            if (!of_bytes)
                add_change(ways, normalised(one, 1, true));
            add_change(ways, normalised(one, 255, true));
        } else if (!signed_values && (bytes || !of_bytes)) {
            add_change(ways, normalised(one, bytes ? 1 / 255.0 : 1, false));
        }
    }
}

static void list_changes(const struct ulp_tensor *given, const struct ulp_picture *picture,
                         struct ways *out)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < given->count; i++) {
        low = ulp_math_min(low, ulp_tensor_get(given, i));
        high = ulp_math_max(high, ulp_tensor_get(given, i));
    }
    add_scales(out, low, high);
    const size_t scales = out->count;
    if (picture->channels >= 3) {
        struct ulp_input_change change = ulp_change_none();
        ulp_change_reverse(&change);
        add_change(out, change);
        for (size_t i = 0; i < scales; i++) {
            change = out->items[i].change;
            ulp_change_reverse(&change);
            add_change(out, change);
        }
        for (size_t n = 0; n < ulp_normalisation_count && low < -0.01; n++)
            if (ulp_normalisations[n].mean[0] != ulp_normalisations[n].mean[2])
                add_change(out, ulp_change_swapped(&ulp_normalisations[n]));
    }
    struct ulp_input_change places[ULP_PLACES_MAX];
    const size_t count = ulp_change_places(2, places);
    for (size_t i = 1; i < count; i++) /* behind none */
        add_change(out, places[i]);
}

double ulp_compared_error(const struct ulp_comparing *comparing, size_t file, size_t tensor)
{
    const struct ulp_compared_value *value = &comparing->out->tensors[tensor].values[file];
    return ulp_compared_by_rows(comparing, file, tensor) ? value->matched : value->truth.rms;
}

enum ulp_status ulp_compare_distance(const struct ulp_comparing *comparing, size_t file,
                                     size_t tensor, const struct ulp_tensor *value, double *out,
                                     struct ulp_error *error)
{
    const struct ulp_tensor *recorded = ulp_recorded(&comparing->work[tensor], file);
    double sum = 0;
    *out = INFINITY;
    if (ulp_compared_by_rows(comparing, file, tensor))
        return ulp_matched_distance(comparing, tensor, recorded, value, out, error);
    for (size_t i = 0; i < value->count && value->count == recorded->count; i++) {
        const double d = ulp_tensor_get(value, i) - ulp_tensor_get(recorded, i);
        sum += d * d;
    }
    if (isfinite(sum) && value->count == recorded->count)
        *out = sqrt(sum / (double)(value->count ? value->count : 1));
    return ULP_OK;
}

/* Looks at one tensor of a run and ends it there. */
struct looking {
    const struct ulp_comparing *comparing;
    const char *name;
    size_t file, tensor;
    double distance; /* rms, or of rows that match; infinite until it is known */
    bool done;
};

static enum ulp_status measure_distance(void *context, const struct ulp_event *event,
                                        struct ulp_error *error)
{
    struct looking *looking = context;
    for (size_t o = 0; o < event->output_count; o++)
        if (event->execution == 0 && strcmp(event->output_names[o], looking->name) == 0) {
            looking->done = true;
            ULP_TRY(ulp_compare_distance(looking->comparing, looking->file, looking->tensor,
                                         event->values[o].entire, &looking->distance, error));
        }
    return ULP_OK;
}

static bool is_done(void *context)
{
    return ((struct looking *)context)->done;
}

enum ulp_status ulp_compare_run_changed(struct ulp_comparing *comparing,
                                        struct ulp_program *program,
                                        const struct ulp_tensor_set *inputs,
                                        const struct ulp_observer *observer, bool *refused,
                                        struct ulp_error *error)
{
    const struct ulp_run_options run = ulp_comparing_runs(comparing);
    ulp_comparing_begins(comparing);
    const enum ulp_status status =
        ulp_program_look(program, inputs, &run, observer, NULL, NULL, error);
    *refused = ulp_program_refuses(status);
    return *refused ? ULP_OK : status;
}

struct guessing {
    struct ulp_comparing *comparing;
    size_t file, tensor;
    const struct ways *ways;
};

static enum ulp_status try_inputs(const struct guessing *guessing, struct ulp_program *program,
                                  const struct ulp_tensor_set *inputs, double *distance,
                                  struct ulp_error *error)
{
    struct ulp_comparing *comparing = guessing->comparing;
    struct looking looking = {.comparing = comparing,
                              .name = comparing->out->tensors[guessing->tensor].name,
                              .file = guessing->file,
                              .tensor = guessing->tensor,
                              .distance = INFINITY};
    const struct ulp_observer observer = {.context = &looking,
                                          .node_done = measure_distance,
                                          .cancelled = is_done,
                                          .modes_unused = true};
    bool refused;
    const enum ulp_status status =
        ulp_compare_run_changed(comparing, program, inputs, &observer, &refused, error);
    *distance = refused ? INFINITY : looking.distance;
    return status == ULP_ERROR_CANCELLED && looking.done ? ULP_OK : status;
}

/* What is of none of those tried differs from what they give by chance. Where they move the tensor
 * by a Gaussian of f equal directions, one lies within r times the error with at most
 * (f / 2e)^(f/2) / gamma(f/2 + 1) r^f, which is below r^f: its most over all sizes, where moves are
 * as large as the error. As many directions are taken as roundings have there, one for a single
 * number, less those that were fitted. Of 90 drawn networks with other weights, 1 to 32 outputs and
 * 600 tried, none came below 0.5. */
bool ulp_is_chance(const struct ulp_comparing *comparing, size_t tensor, size_t tried,
                   size_t fitted, double left)
{
    const double freedom = comparing->out->tensors[tensor].expected[0].freedom - (double)fitted;
    return !(freedom > 0 && (double)tried * ulp_math_pow(left, freedom) < CHANCE);
}

static size_t place_in(const struct ulp_tensor *tensor, const struct way *way, size_t i)
{
    int64_t at[ULP_RANK_MAX];
    size_t from = 0;
    for (int d = tensor->rank; d-- > 0; i /= (size_t)tensor->dims[d])
        at[d] = (int64_t)(i % (size_t)tensor->dims[d]);
    const int64_t a = at[way->a];
    at[way->a] = way->b < 0 ? tensor->dims[way->a] - 1 - a : at[way->b];
    if (way->b >= 0)
        at[way->b] = a;
    for (int d = 0; d < tensor->rank; d++)
        from = from * (size_t)tensor->dims[d] + (size_t)at[d];
    return from;
}

/* The inputs given in that way. */
static enum ulp_status make_inputs(const struct ulp_tensor_set *given, const struct way *way,
                                   struct ulp_tensor_set *out, struct ulp_error *error)
{
    if (way->changed) {
        const struct ulp_picture picture = ulp_picture_of(ulp_tensor_set_find(given, way->input));
        return ulp_change_inputs(given, way->input, &picture, &way->change, 1, out, error);
    }
    for (size_t i = 0; i < given->count; i++) {
        const char *name = given->items[i].name;
        const bool is_one = strcmp(name, way->input) == 0,
                   is_other = way->with && strcmp(name, way->with) == 0;
        const struct ulp_tensor *from = is_one && way->with ? ulp_tensor_set_find(given, way->with)
                                        : is_other          ? ulp_tensor_set_find(given, way->input)
                                                            : &given->items[i].tensor;
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor to = ulp_tensor_view(from);
        if (is_one && !way->with) {
            ULP_TRY(ulp_tensor_copy(&to, from, NULL, error));
            for (size_t e = 0; e < to.count; e++)
                memcpy((char *)to.data + e * to.element_bytes,
                       (const char *)from->data + place_in(from, way, e) * to.element_bytes,
                       to.element_bytes);
        }
        ULP_TRY(ulp_tensor_set_add(out, name, &to, error));
    }
    return ULP_OK;
}

/* All equal: what any input may give. */
static bool is_constant(const struct ulp_tensor *tensor)
{
    for (size_t i = 1; i < tensor->count; i++)
        if (ulp_tensor_get(tensor, i) != ulp_tensor_get(tensor, 0))
            return false;
    return true;
}

/* The way that brings the tensor nearest, and how much of its error that leaves; NULL: none
 * does, but by chance. *sure: with it everything recorded is explained. */
static enum ulp_status find_way(const struct guessing *guessing, const struct way **best,
                                double *left, bool *sure, struct ulp_error *error)
{
    const size_t count = guessing->ways->count;
    struct ulp_comparing *comparing = guessing->comparing;
    const struct ulp_program_options options = {.inputs = comparing->inputs};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL; /* of one arithmetic */
    double least = INFINITY;
    *best = NULL;
    *sure = false;
    if (!count || is_constant(ulp_recorded(&comparing->work[guessing->tensor], guessing->file)))
        return ULP_OK;
    ULP_TRY(ulp_program_create(comparing->model, comparing->options->arithmetics, 1, &options,
                               &program, error));
    comparing->part_count += count;
    comparing->way_count += count;
    for (size_t i = 0; i < count && !ulp_compare_is_late(comparing, GUESSES_PART); i++) {
        ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
        double distance;
        const struct way *way = &guessing->ways->items[i];
        ULP_TRY(make_inputs(comparing->inputs, way, &inputs, error));
        ULP_TRY(try_inputs(guessing, program, &inputs, &distance, error));
        *best = distance < least ? way : *best;
        least = ulp_math_min(least, distance);
        comparing->ways_tried++;
    }
    *left = least / ulp_compared_error(comparing, guessing->file, guessing->tensor);
    if (ulp_is_chance(comparing, guessing->tensor, count, 0, *left))
        *best = NULL;
    if (!*best || ulp_compare_is_last(comparing))
        return ULP_OK;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    ULP_TRY(make_inputs(comparing->inputs, *best, &inputs, error));
    return ulp_compare_explains(comparing, comparing->model, &inputs, guessing->file, sure, error);
}

static bool has_few_rows(const struct ulp_comparing *comparing, size_t file, size_t tensor)
{
    const size_t width = ulp_matched_width(&comparing->out->tensors[tensor]);
    return ulp_compared_by_rows(comparing, file, tensor) &&
           comparing->work[tensor].count < ROWS_MIN * width;
}

enum ulp_status ulp_guess_input(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                const char *input, struct ulp_text *text, bool *sure,
                                struct ulp_error *error)
{
    const struct ulp_tensor *given = ulp_tensor_set_find(comparing->inputs, input);
    const struct ulp_picture picture = ulp_picture_of(given);
    const struct way *best;
    struct ways *ways;
    double left;
    ULP_TAKE(ways, comparing->arena, 1, error);
    list_changes(given, &picture, ways);
    for (size_t i = 0; i < ways->count; i++)
        ways->items[i].input = input;
    const struct guessing guessing = {comparing, file, tensor, ways};
    ULP_TRY(find_way(&guessing, &best, &left, sure, error));
    if (best && (*sure || (left <= MUCH_CLOSER && !has_few_rows(comparing, file, tensor))))
        ulp_change_describe(&picture, &best->change, text);
    return text->failed ? ulp_out_of_memory(error) : ULP_OK;
}

/* ---- any input ---- */

/* What each element was instead. */
static const struct other {
    double factor, offset;
    bool flags; /* of inputs of 0 and 1 alone; of others: of floats that are no image */
    const char *words;
} others[] = {{0, 0, true, "all 0"},
              {0, 1, true, "all 1"},
              {-1, 1, true, "0 and 1 exchanged"},
              {0, 0, false, "all 0 (left out, or a state that was not handed on)"},
              {32768, 0, false, "32768 times as large (samples of 16 bits not divided)"},
              {1 / 32768.0, 0, false, "32768 times as small (divided by 32768 once more)"}};

static bool is_suspect(const struct ulp_suspects *suspects, const char *input)
{
    size_t i = 0;
    while (i < suspects->input_count && strcmp(suspects->inputs[i], input) != 0)
        i++;
    return i < suspects->input_count;
}

/* The other numbers that an input may have been. */
static void list_others(const char *input, const struct ulp_tensor *given, struct ways *out)
{
    bool flags = true, constant = is_constant(given);
    for (size_t i = 0; i < given->count && flags; i++)
        flags = ulp_tensor_get(given, i) == 0 || ulp_tensor_get(given, i) == 1;
    const bool numbers = !flags && ulp_type_is_float(given->type) && !ulp_picture_of(given).image;
    for (size_t o = 0; o < sizeof others / sizeof *others && given->count; o++) {
        const double first = ulp_tensor_get(given, 0);
        const bool same = constant && others[o].factor * first + others[o].offset == first,
                   twice = constant && others[o].factor != 0; /* as all 0, or all 1 */
        struct way way = {.input = input,
                          .changed = true,
                          .change = ulp_change_scaled(others[o].factor),
                          .words = others[o].words};
        for (int c = 0; c < ULP_CHANNELS_MAX; c++)
            way.change.offset[c] = others[o].offset;
        if (others[o].flags ? flags && !same && !twice : numbers)
            add_way(out, way);
    }
}

static void list_orders(const struct ulp_comparing *comparing, const struct ulp_suspects *suspects,
                        struct ways *out)
{
    for (size_t i = 0; i < suspects->input_count; i++) {
        const char *input = suspects->inputs[i];
        const struct ulp_tensor *one = ulp_tensor_set_find(comparing->inputs, input);
        if (!one)
            continue;
        list_others(input, one, out);
        const int rank = ulp_picture_of(one).image ? 0 : one->rank; /* ulp_guess_input turns it */
        for (int a = 0; a < rank; a++)
            for (int b = -1; b < a; b++)
                if (one->dims[a] > 1 && (b < 0 || one->dims[b] == one->dims[a]))
                    add_way(out, (struct way){.input = input, .a = a, .b = b});
        for (size_t j = 0; j < comparing->inputs->count; j++) {
            const struct ulp_named_tensor *other = &comparing->inputs->items[j];
            const bool later = &other->tensor > one || !is_suspect(suspects, other->name);
            if (later && other->tensor.type == one->type &&
                ulp_tensor_same_shape(one, &other->tensor))
                add_way(out, (struct way){.input = input, .with = other->name});
        }
    }
}

/* Of what saturates any large factor is as good, and of what vanishes any small one: does half of
 * it explain everything, too? */
static enum ulp_status try_half(struct ulp_comparing *comparing, size_t file, struct way way,
                                bool *also, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    way.change = ulp_change_scaled(way.change.factor[0] / 2);
    if (!(way.change.factor[0] > 0) || ulp_compare_is_last(comparing))
        return ULP_OK;
    ULP_TRY(make_inputs(comparing->inputs, &way, &inputs, error));
    return ulp_compare_explains(comparing, comparing->model, &inputs, file, also, error);
}

enum ulp_status ulp_guess_order(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                const struct ulp_suspects *suspects, struct ulp_text *text,
                                const char **input, struct ulp_error *error)
{
    const struct way *best;
    struct ways *ways;
    double left;
    bool sure, also = false;
    ULP_TAKE(ways, comparing->arena, 1, error);
    list_orders(comparing, suspects, ways);
    const struct guessing guessing = {comparing, file, tensor, ways};
    ULP_TRY(find_way(&guessing, &best, &left, &sure, error));
    if (sure && best->changed)
        ULP_TRY(try_half(comparing, file, *best, &also, error));
    if (sure && best->changed)
        ulp_text_add(text, "%s%s", best->words,
                     also ? ", or by another factor: half of it explains that, too" : "");
    else if (sure && best->with)
        ulp_text_show(text, "it was exchanged with '%s'", best->with);
    else if (sure && best->b < 0)
        ulp_text_add(text, "in reverse along axis %d", best->a);
    else if (sure)
        ulp_text_add(text, "axes %d and %d exchanged", best->b, best->a);
    *input = best ? best->input : NULL;
    return ULP_OK;
}
