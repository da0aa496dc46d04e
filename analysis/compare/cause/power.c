/* What a comparison could have found: the usual mistakes of preprocessing are run, and each result
 * is judged as if it had been recorded. An arithmetic whose errors are as large as what a mistake
 * does to the outputs explains nothing. */
#include <math.h>
#include <string.h>

#include "analysis/compare/cause/cause_change.h"
#include "analysis/compare/comparing.h"
#include "analysis/measure/metrics.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "number/function/math.h"

ULP_FREES(ulp_program_free, struct ulp_program)

/* Inputs that are looked at. */
#define INPUTS_MAX 4
/* A mistake that moves no output by this part of its rms (of a column's spread, where rows are
 * matched) does no harm that is looked for. */
#define HARMLESS 0.05
/* Of outputs behind a decision that cannot be matched: beyond what an honest run moves them. */
#define BEYOND 1.5
static const double parts[] = {1, 0.1, 0.01, 0.001};
#define PARTS (sizeof parts / sizeof *parts)

/* What the mistake gives beside what was recorded. */
struct beside {
    size_t equal; /* elements with its bits */
    double apart; /* rms, or the distance of rows that match */
};

/* Of one arithmetic at one tensor: what the mistake gives, beside each recording. */
struct seen {
    struct ulp_compared_value value; /* its sizes */
    bool computed;
    struct beside *beside; /* by file */
};

struct looking {
    struct ulp_comparing *comparing;
    size_t lanes;
    unsigned input;    /* its bit in `reached` */
    struct seen *seen; /* by lane and tensor */
    bool refused;      /* the run with the mistake ended in an error, which nobody overlooks */
};

static struct seen *find_seen(const struct looking *looking, size_t lane, size_t tensor)
{
    return &looking->seen[lane * looking->comparing->out->tensor_count + tensor];
}

static enum ulp_status look_beside(const struct ulp_comparing *comparing, size_t number,
                                   size_t file, const struct ulp_tensor *value, struct beside *out,
                                   struct ulp_error *error)
{
    const struct ulp_compared_work *work = &comparing->work[number];
    const struct ulp_tensor *recorded = ulp_recorded(work, file);
    double squares = 0, count = 0;
    if (work->chosen)
        ULP_TRY(ulp_matched_distance(comparing, number, recorded, value, &out->apart, error));
    if (recorded->count != value->count)
        return ULP_OK;
    for (size_t i = 0; i < value->count; i++) {
        const double off = ulp_tensor_get(recorded, i) - ulp_tensor_get(value, i);
        squares += isfinite(off) ? off * off : 0;
        count += isfinite(off) != 0;
    }
    out->equal = ulp_compare_count_equal(recorded, value);
    if (!work->chosen)
        out->apart = count > 0 ? sqrt(squares / count) : 0;
    return ULP_OK;
}

static enum ulp_status look_at(const struct looking *looking, size_t lane, size_t number,
                               const struct ulp_tensor *value, struct ulp_error *error)
{
    const struct ulp_comparing *comparing = looking->comparing;
    struct ulp_compared_work *work = &comparing->work[number];
    struct seen *seen = find_seen(looking, lane, number);
    struct ulp_metrics *truth = &seen->value.truth;
    double squares = 0;
    seen->computed = true;
    if (!value || ulp_compare_digest(value) != work->members[lane].digest)
        work->reached |= looking->input;
    seen->value.reshaped = !value || value->count != work->count;
    if (value && work->chosen)
        ULP_TRY(ulp_matched_distance(comparing, number, value, NULL, &seen->value.matched, error));
    for (size_t f = 0; f < comparing->recording_count; f++)
        if (work->recorded[f] && value)
            ULP_TRY(look_beside(comparing, number, f, value, &seen->beside[f], error));
    for (size_t i = 0; i < work->count && !seen->value.reshaped; i++) {
        const double off = ulp_tensor_get(value, i) - work->reference[i];
        if (!isfinite(off)) {
            truth->nonfinite += isfinite(work->reference[i]) != 0;
            continue;
        }
        squares += off * off;
        truth->max_abs = ulp_math_max(truth->max_abs, fabs(off));
        truth->count++;
    }
    truth->rms = truth->count ? sqrt(squares / (double)truth->count) : 0;
    return ULP_OK;
}

static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    const struct looking *looking = context;
    for (size_t o = 0; o < event->output_count; o++) {
        const ptrdiff_t number =
            ulp_compared_find(looking->comparing, event->output_names[o], event->execution);
        for (size_t l = 0; l < looking->lanes && number >= 0; l++)
            ULP_TRY(look_at(looking, l, (size_t)number,
                            event->values[l * event->output_count + o].entire, error));
    }
    return ULP_OK;
}

/* ---- a run with a mistake ---- */

struct mistake {
    const char *kind;
    struct ulp_input_change change;
};

struct trying {
    struct looking looking;
    struct ulp_program *program; /* of the first arithmetics */
    const char *input;
    const struct ulp_tensor *given;
    struct ulp_picture picture;
};

static enum ulp_status run_mistake(struct trying *trying, const struct mistake *mistake,
                                   double part, struct ulp_error *error)
{
    struct looking *looking = &trying->looking;
    struct ulp_comparing *comparing = looking->comparing;
    const size_t files = comparing->recording_count,
                 count = looking->lanes * comparing->out->tensor_count;
    const struct ulp_observer observer = {.context = looking, .node_done = look};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    for (size_t s = 0; s < count; s++) {
        struct beside *const beside = looking->seen[s].beside;
        looking->seen[s] = (struct seen){.beside = beside};
        memset(beside, 0, files * sizeof *beside);
    }
    ULP_TRY(ulp_change_inputs(comparing->inputs, trying->input, &trying->picture, &mistake->change,
                              part, &inputs, error));
    return ulp_compare_run_changed(comparing, trying->program, &inputs, NULL, &observer,
                                   &looking->refused, error);
}

static bool is_recorded_node(const struct ulp_comparing *comparing, size_t t, size_t file)
{
    return comparing->out->tensors[t].node && comparing->out->tensors[t].values[file].recorded;
}

/* What was recorded is so much nearer to the reference than to what the mistake gives: it was not
 * made. */
#define NEARER 3

/* Would the result be unexplained, or is what was recorded another one? Where the recording has all
 * bits of the arithmetic, other bits are seen, too. */
static bool is_noticed(const struct looking *looking, size_t lane, size_t file)
{
    const struct ulp_comparing *comparing = looking->comparing;
    const struct ulp_compared_file *out = &comparing->out->files[file];
    const double probability =
        ULP_FALSE_ALARM / (double)(out->tensor_count ? out->tensor_count : 1);
    const struct ulp_ranked *ranked = out->ranked;
    bool noticed = looking->refused;
    while (ranked->arithmetic != lane)
        ranked++;
    for (size_t t = 0; t < comparing->out->tensor_count && !noticed; t++) {
        const struct seen *seen = find_seen(looking, lane, t);
        if (!is_recorded_node(comparing, t, file) || !seen->computed)
            continue;
        const struct ulp_compared_work *work = &comparing->work[t];
        const struct ulp_compared_value *value = &comparing->out->tensors[t].values[file];
        const bool open = comparing->out->tensors[t].expected[lane].open;
        const double own = work->chosen ? value->matched : open ? INFINITY : value->truth.rms;
        noticed = seen->value.truth.nonfinite ||
                  !ulp_compare_judge_value(comparing, t, file, lane, probability, &seen->value)
                       .explained ||
                  seen->beside[file].apart > NEARER * own ||
                  (ulp_has_all_bits(ranked) && seen->beside[file].equal < work->count);
    }
    return noticed;
}

/* Where it arrives: elsewhere errors are the arithmetic's own. */
static bool does_harm(const struct looking *looking, size_t lane, size_t file)
{
    const struct ulp_comparison *out = looking->comparing->out;
    bool harm = looking->refused;
    for (size_t t = 0; t < out->tensor_count && !harm; t++) {
        const struct ulp_compared_tensor *tensor = &out->tensors[t];
        const struct ulp_compared_work *work = &looking->comparing->work[t];
        const struct ulp_expected_error *expected = &tensor->expected[lane];
        const struct seen *seen = find_seen(looking, lane, t);
        if (!is_recorded_node(looking->comparing, t, file) || !seen->computed ||
            !(work->reached & looking->input))
            continue;
        const bool open = expected->open || expected->shapeless;
        harm = work->chosen && open
                   ? seen->value.matched > HARMLESS
                   : seen->value.truth.rms >
                         ulp_math_max(HARMLESS * tensor->range.ref_rms,
                                      open ? BEYOND * work->members[lane].actual.rms : 0);
    }
    return harm;
}

/* ---- which mistakes ---- */

enum { MISTAKES_MAX = 6 };

static size_t list_mistakes(const struct ulp_tensor *given, const struct ulp_picture *picture,
                            struct mistake *out)
{
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    for (size_t i = 0; i < given->count; i++) {
        const double x = ulp_tensor_get(given, i);
        low = ulp_math_min(low, x);
        high = ulp_math_max(high, x);
        sum += x;
        squares += x * x;
    }
    const double count = (double)(given->count ? given->count : 1), mean = sum / count,
                 spread = sqrt(ulp_math_max(squares / count - mean * mean, 0));
    size_t n = 0;
    if (ulp_type_is_float(given->type) || picture->image) {
        out[n++] = (struct mistake){"scale", ulp_change_scaled(high > 4 ? 1 / 255.0 : 255)};
        if (spread > 0) /* no NaN is among them */
            out[n++] = (struct mistake){"mean", ulp_change_none()};
        for (int c = 0; c < ULP_CHANNELS_MAX; c++) /* about what ImageNet's is to its deviation */
            out[n - 1].change.offset[c] = spread > 0 ? 2 * spread : 0;
    }
    if (picture->image && picture->channels >= 3) {
        out[n++] = (struct mistake){"channels", ulp_change_none()};
        ulp_change_reverse(&out[n - 1].change);
    }
    out[n++] = (struct mistake){picture->image ? "layout" : "order", ulp_change_none()};
    out[n - 1].change.layout = picture->image && picture->channels > 1 ? ULP_LAYOUT_OTHER
                               : picture->image                        ? ULP_LAYOUT_TRANSPOSED
                                                                       : ULP_LAYOUT_SAME;
    out[n - 1].change.mirrored_columns = !picture->image;
    if (picture->image) {
        out[n++] = (struct mistake){"resize", ulp_change_none()};
        out[n - 1].change.down = out[n - 1].change.right = 1;
    }
    return n;
}

/* ---- what was found ---- */

/* The mistake itself, in every arithmetic: which would not see it though it does harm. */
static enum ulp_status try_whole(struct trying *trying, const struct mistake *mistake,
                                 struct ulp_error *error)
{
    struct ulp_comparing *comparing = trying->looking.comparing;
    ULP_TRY(run_mistake(trying, mistake, 1, error));
    for (size_t f = 0; f < comparing->recording_count; f++)
        for (size_t r = 0; r < comparing->out->files[f].ranked_count; r++) {
            struct ulp_ranked *ranked = &comparing->out->files[f].ranked[r];
            const bool harms = does_harm(&trying->looking, ranked->arithmetic, f),
                       noticed = is_noticed(&trying->looking, ranked->arithmetic, f);
            ranked->blind |= trying->picture.image && harms && !noticed;
            ranked->saw |= harms && noticed;
            ranked->missed |= harms && !noticed;
        }
    return ULP_OK;
}

/* Ever smaller parts of it, in those asked about, until none is seen. */
static enum ulp_status try_parts(struct trying *trying, const struct mistake *mistake,
                                 struct ulp_error *error)
{
    struct ulp_comparing *comparing = trying->looking.comparing;
    ULP_SCOPED(ulp_text_free) struct ulp_text words = {0};
    bool seen = true;
    ulp_change_describe(&trying->picture, &mistake->change, &words);
    for (size_t p = 0; p < PARTS && seen; p++) {
        ULP_TRY(run_mistake(trying, mistake, parts[p], error));
        seen = false;
        for (size_t f = 0; f < comparing->recording_count; f++) {
            struct ulp_compared_file *file = &comparing->out->files[f];
            const size_t by = file->by >= 0 ? (size_t)file->by : 0;
            struct ulp_power *power = &file->power[file->power_count - !!p];
            const bool noticed = is_noticed(&trying->looking, by, f);
            if (!p) {
                power->kind = ulp_comparing_text(comparing, mistake->kind);
                power->input = ulp_comparing_text(comparing, trying->input);
                power->what = words.length ? ulp_comparing_text(comparing, words.data) : NULL;
                power->harms = does_harm(&trying->looking, by, f);
                ULP_TRY(ulp_taken(power->kind && power->input && power->what, error));
                file->power_count++;
            }
            if (!noticed || (p && power->least != parts[p - 1]))
                continue;
            power->least = parts[p];
            seen = ulp_type_is_float(trying->given->type); /* of others there are no parts */
        }
    }
    return ULP_OK;
}

static enum ulp_status open_looking(struct ulp_comparing *comparing, size_t lanes,
                                    struct trying *out, struct ulp_error *error)
{
    const struct ulp_program_options options = {.inputs = comparing->inputs};
    const size_t seen = lanes * comparing->out->tensor_count, files = comparing->recording_count;
    out->looking = (struct looking){.comparing = comparing, .lanes = lanes};
    ULP_TAKE(out->looking.seen, comparing->arena, seen + 1, error);
    for (size_t s = 0; s < seen; s++)
        ULP_TAKE(out->looking.seen[s].beside, comparing->arena, files, error);
    return ulp_program_create(comparing->model, comparing->options->arithmetics, lanes, &options,
                              &out->program, error);
}

/* A picture that was not recorded itself; where there is none, any input. */
static bool is_looked_at(const struct ulp_comparing *comparing, size_t input, bool pictures)
{
    const struct ulp_named_tensor *named = &comparing->inputs->items[input];
    const ptrdiff_t number = ulp_compared_find(comparing, named->name, 0);
    bool recorded = false;
    for (size_t f = 0; f < comparing->recording_count && number >= 0; f++)
        recorded |= comparing->out->tensors[number].values[f].recorded;
    return !recorded && named->tensor.count > 1 &&
           (!pictures || ulp_picture_of(&named->tensor).image);
}

/* Every mistake in every input that is looked at. */
static enum ulp_status try_inputs(struct ulp_comparing *comparing, size_t lanes,
                                  enum ulp_status (*try_one)(struct trying *trying,
                                                             const struct mistake *mistake,
                                                             struct ulp_error *error),
                                  struct ulp_error *error)
{
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    struct trying trying = {0};
    struct mistake mistakes[MISTAKES_MAX];
    bool pictures = false;
    ULP_TRY(open_looking(comparing, lanes, &trying, error));
    program = trying.program;
    for (size_t i = 0; i < comparing->inputs->count; i++)
        pictures |= ulp_picture_of(&comparing->inputs->items[i].tensor).image;
    for (size_t i = 0, looked = 0; i < comparing->inputs->count && looked < INPUTS_MAX; i++) {
        trying.input = comparing->inputs->items[i].name;
        trying.given = &comparing->inputs->items[i].tensor;
        trying.picture = ulp_picture_of(trying.given);
        if (!is_looked_at(comparing, i, pictures))
            continue;
        trying.looking.input = 1U << looked;
        const size_t count = list_mistakes(trying.given, &trying.picture, mistakes);
        for (size_t m = 0; m < count; m++)
            ULP_TRY(try_one(&trying, &mistakes[m], error));
        looked++;
    }
    return ULP_OK;
}

enum ulp_status ulp_compare_power(struct ulp_comparing *comparing, struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    for (size_t f = 0; f < out->file_count; f++)
        ULP_TAKE(out->files[f].power, out->memory, INPUTS_MAX * MISTAKES_MAX, error);
    ULP_TRY(try_inputs(comparing, out->arithmetic_count, try_whole, error));
    for (size_t f = 0; f < out->file_count; f++)
        ulp_compare_weigh_power(comparing, f);
    return try_inputs(comparing, comparing->asked, try_parts, error);
}
