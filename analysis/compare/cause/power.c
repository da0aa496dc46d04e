/* What a comparison could have found: the usual mistakes of preprocessing are run, and each result
 * is judged as if it had been recorded. An arithmetic whose errors are as large as what a mistake
 * does to the outputs explains nothing. */
#include <math.h>
#include <string.h>

#include "analysis/compare/cause/cause_change.h"
#include "analysis/compare/comparing.h"
#include "analysis/measure/judged.h"
#include "base/error.h"
#include "run/program/program.h"
#include "number/function/math.h"

/* Inputs that are looked at. */
#define INPUTS_MAX 4
/* Of the time in which an answer is wanted: mistakes are begun until then. */
#define POWER_PART 0.6
/* What the mistake gives beside what was recorded. */
struct beside {
    size_t equal; /* elements with its bits */
    double apart; /* rms, or the distance of rows that match */
};

/* Of one lane at one tensor: what the mistake gives, beside each recording. */
struct seen {
    struct ulp_compared_value value; /* its sizes */
    bool computed;
    struct beside *beside; /* by file */
};

/* Lanes of a run with a mistake: FP64, which says what the mistake does by itself, then
 * arithmetics. */
struct looking {
    struct ulp_comparing *comparing;
    size_t lanes;
    const size_t *arithmetics; /* by lane, from the second on */
    struct seen *seen;         /* by lane and tensor */
    bool refused; /* the run with the mistake ended in an error, which nobody overlooks */
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
    const struct ulp_compared_work *work = &comparing->work[number];
    struct seen *seen = find_seen(looking, lane, number);
    struct ulp_metrics *truth = &seen->value.truth;
    double squares = 0;
    seen->computed = true;
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
    struct ulp_program *program;
    const char *input;
    const struct ulp_tensor *given;
    struct ulp_picture picture;
    double *leasts; /* by file, mistake and arithmetic asked about: the part that is noticed */
};

static enum ulp_status run_mistake(struct trying *trying, const struct mistake *mistake,
                                   double part, struct ulp_error *error)
{
    struct looking *looking = &trying->looking;
    struct ulp_comparing *comparing = looking->comparing;
    const size_t files = comparing->recording_count,
                 count = looking->lanes * comparing->out->tensor_count;
    const struct ulp_observer observer = {.context = looking,
                                          .node_done = look,
                                          .modes_unused = true};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    for (size_t s = 0; s < count; s++) {
        struct beside *const beside = looking->seen[s].beside;
        looking->seen[s] = (struct seen){.beside = beside};
        memset(beside, 0, files * sizeof *beside);
    }
    ULP_TRY(ulp_change_inputs(comparing->inputs, trying->input, &trying->picture, &mistake->change,
                              part, &inputs, error));
    return ulp_compare_run_changed(comparing, trying->program, &inputs, &observer,
                                   &looking->refused, error);
}

static bool is_recorded_node(const struct ulp_comparing *comparing, size_t t, size_t file)
{
    return comparing->out->tensors[t].node && comparing->out->tensors[t].values[file].recorded;
}

/* Of taking a mistake that was made for one that was not, over all tensors. */
#define OVERLOOKED 0.05

/* How many times nearer to the reference than to what the mistake gives, both exact, a recording
 * must be to show that the mistake was not made. Had it been, it would be as far from what the
 * mistake gives as a draw of the arithmetic's errors, and no nearer to the reference than another:
 * what two draws differ by is exceeded. */
static double find_nearer(const struct ulp_comparing *comparing, size_t t, size_t arithmetic,
                          size_t tensors)
{
    const struct ulp_compared_work *work = &comparing->work[t];
    const double probability = OVERLOOKED / (double)(tensors ? tensors : 1);
    return work->chosen
               ? ulp_matched_chance(&work->members[arithmetic].matched, 2, probability)
               : ulp_ratio_limit(sqrt(comparing->out->tensors[t].expected[arithmetic].freedom), 1,
                                 probability);
}

/* Would the result be unexplained, or is what was recorded another one? Where the recording has all
 * bits of the arithmetic, other bits are seen, too. */
static bool is_noticed(const struct looking *looking, size_t lane, size_t file)
{
    const struct ulp_comparing *comparing = looking->comparing;
    const struct ulp_compared_file *out = &comparing->out->files[file];
    const size_t arithmetic = looking->arithmetics[lane];
    const double probability =
        ULP_FALSE_ALARM / (double)(out->tensor_count ? out->tensor_count : 1);
    const struct ulp_ranked *ranked = out->ranked;
    bool noticed = looking->refused;
    while (ranked->arithmetic != arithmetic)
        ranked++;
    for (size_t t = 0; t < comparing->out->tensor_count && !noticed; t++) {
        const struct seen *seen = find_seen(looking, lane, t);
        if (!is_recorded_node(comparing, t, file) || !seen->computed)
            continue;
        const struct ulp_compared_work *work = &comparing->work[t];
        const struct ulp_compared_value *value = &comparing->out->tensors[t].values[file];
        const bool open = comparing->out->tensors[t].expected[arithmetic].open;
        const double own = work->chosen ? value->matched : open ? INFINITY : value->truth.rms;
        noticed =
            seen->value.truth.nonfinite ||
            !ulp_compare_judge_value(comparing, t, file, arithmetic, probability, &seen->value)
                 .explained ||
            find_seen(looking, 0, t)->beside[file].apart >
                find_nearer(comparing, t, arithmetic, out->tensor_count) * own ||
            (ulp_has_all_bits(ranked) && seen->beside[file].equal < work->count);
    }
    return noticed;
}

/* Is an output that is off by that part of its rms (where rows are matched, of a column's spread)
 * not fine for its task, by the verdicts' decibels; or broken? */
static bool is_beyond(double off, enum ulp_task task, bool broken)
{
    const double decibels = ulp_task_decibels(task, broken);
    return !(off <= ulp_math_exp(-decibels / 20 * 2.302585092994046));
}

/* Would outputs by the mistake, exactly computed, have a worse grade than the arithmetic's have by
 * its errors? Of one whose outputs are broken, a grade that is not fine. */
static bool does_harm(const struct looking *looking, size_t lane, size_t file)
{
    const struct ulp_comparison *out = looking->comparing->out;
    bool harm = looking->refused;
    for (size_t t = 0; t < out->tensor_count && !harm; t++) {
        const struct ulp_compared_tensor *tensor = &out->tensors[t];
        const struct ulp_expected_error *own = &tensor->expected[looking->arithmetics[lane]];
        const struct seen *seen = find_seen(looking, 0, t);
        if (!is_recorded_node(looking->comparing, t, file) || !seen->computed)
            continue;
        const bool chosen = looking->comparing->work[t].chosen;
        const enum ulp_task task = tensor->values[file].judged.task;
        const double rms = tensor->range.ref_rms, errs = chosen         ? own->matched
                                                         : own->rms > 0 ? own->rms / rms
                                                                        : 0;
        const bool broken = is_beyond(errs, task, false) && !is_beyond(errs, task, true);
        harm = seen->value.truth.nonfinite || (!chosen && seen->value.reshaped) ||
               is_beyond(chosen                      ? seen->value.matched
                         : seen->value.truth.rms > 0 ? seen->value.truth.rms / rms
                                                     : 0,
                         task, broken);
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

static double *find_least(const struct trying *trying, size_t file, size_t power, size_t arithmetic)
{
    return &trying->leasts[(file * INPUTS_MAX * MISTAKES_MAX + power) *
                               trying->looking.comparing->asked +
                           arithmetic];
}

/* The mistake itself, in every lane: which would not see it though it does harm. */
static enum ulp_status try_whole(struct trying *trying, const struct mistake *mistake,
                                 struct ulp_error *error)
{
    const struct looking *looking = &trying->looking;
    struct ulp_comparing *comparing = looking->comparing;
    ULP_TRY(run_mistake(trying, mistake, 1, error));
    for (size_t f = 0; f < comparing->recording_count; f++) {
        struct ulp_compared_file *file = &comparing->out->files[f];
        for (size_t l = 1; l < looking->lanes; l++) {
            struct ulp_ranked *ranked = file->ranked;
            const bool harms = does_harm(looking, l, f), noticed = is_noticed(looking, l, f);
            while (ranked->arithmetic != looking->arithmetics[l])
                ranked++;
            ranked->blind |= trying->picture.image && harms && !noticed;
            ranked->saw |= harms && noticed;
            ranked->missed |= harms && !noticed;
            if (trying->leasts)
                *find_least(trying, f, file->power_count, looking->arithmetics[l]) = noticed;
        }
        if (trying->leasts)
            file->power[file->power_count].harms =
                does_harm(looking, 1 + (file->by >= 0 ? (size_t)file->by : 0), f);
    }
    return ULP_OK;
}

/* That part of it. *more, *fewer: some lane notices it; some does not that notices the whole. */
static enum ulp_status try_part(struct trying *trying, const struct mistake *mistake, double part,
                                bool *more, bool *fewer, struct ulp_error *error)
{
    const struct looking *looking = &trying->looking;
    struct ulp_comparing *comparing = looking->comparing;
    *more = *fewer = false;
    ULP_TRY(run_mistake(trying, mistake, part, error));
    for (size_t f = 0; f < comparing->recording_count; f++)
        for (size_t l = 1; l < looking->lanes; l++) {
            double *least = find_least(trying, f, comparing->out->files[f].power_count,
                                       looking->arithmetics[l]);
            const bool noticed = is_noticed(looking, l, f);
            if (noticed && *least > part)
                *least = part;
            *more |= noticed;
            *fewer |= !noticed && *least == 1;
        }
    return ULP_OK;
}

/* Of those asked about: all of it, and the least of its parts that is seen. */
static enum ulp_status try_parts(struct trying *trying, const struct mistake *mistake,
                                 struct ulp_error *error)
{
    struct ulp_comparing *comparing = trying->looking.comparing;
    ULP_SCOPED(ulp_text_free) struct ulp_text words = {0};
    bool more = false, fewer = false, ignored;
    ulp_change_describe(&trying->picture, &mistake->change, &words);
    if (words.failed)
        return ulp_out_of_memory(error);
    ULP_TRY(try_whole(trying, mistake, error));
    if (ulp_type_is_float(trying->given->type)) /* of others there are no parts */
        ULP_TRY(try_part(trying, mistake, 0.01, &more, &fewer, error));
    if (more)
        ULP_TRY(try_part(trying, mistake, 0.001, &more, &ignored, error));
    if (fewer)
        ULP_TRY(try_part(trying, mistake, 0.1, &more, &ignored, error));
    for (size_t f = 0; f < comparing->recording_count; f++) {
        struct ulp_compared_file *file = &comparing->out->files[f];
        struct ulp_power *power = &file->power[file->power_count++];
        power->kind = ulp_comparing_text(comparing, mistake->kind);
        power->input = ulp_comparing_text(comparing, trying->input);
        power->what = words.length ? ulp_comparing_text(comparing, words.data) : NULL;
        ULP_TRY(ulp_taken(power->kind && power->input && power->what, error));
    }
    return ULP_OK;
}

static enum ulp_status open_looking(struct ulp_comparing *comparing, const size_t *arithmetics,
                                    size_t lanes, struct trying *out, struct ulp_error *error)
{
    const struct ulp_program_options options = {.inputs = comparing->inputs};
    const size_t seen = lanes * comparing->out->tensor_count, files = comparing->recording_count;
    struct ulp_arithmetic *all = ulp_arena_take(comparing->arena, lanes, sizeof *all);
    out->looking =
        (struct looking){.comparing = comparing, .lanes = lanes, .arithmetics = arithmetics};
    ULP_TRY(ulp_taken(all, error));
    ULP_TRY(ulp_arithmetic_find("fp64", &all[0], error));
    for (size_t l = 1; l < lanes; l++)
        all[l] = comparing->options->arithmetics[arithmetics[l]];
    ULP_TAKE(out->looking.seen, comparing->arena, seen + 1, error);
    for (size_t s = 0; s < seen; s++)
        ULP_TAKE(out->looking.seen[s].beside, comparing->arena, files, error);
    return ulp_program_create(comparing->model, all, lanes, &options, &out->program, error);
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

/* Every mistake in every input that is looked at, in these lanes; of those asked about the parts,
 * too. */
static enum ulp_status try_inputs(struct ulp_comparing *comparing, const size_t *arithmetics,
                                  size_t lanes, double *leasts, struct ulp_error *error)
{
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    struct trying trying = {0};
    struct mistake mistakes[MISTAKES_MAX];
    bool pictures = false;
    ULP_TRY(open_looking(comparing, arithmetics, lanes, &trying, error));
    program = trying.program;
    trying.leasts = leasts;
    for (size_t i = 0; i < comparing->inputs->count; i++)
        pictures |= ulp_picture_of(&comparing->inputs->items[i].tensor).image;
    for (size_t i = 0, looked = 0; i < comparing->inputs->count && looked < INPUTS_MAX; i++) {
        trying.input = comparing->inputs->items[i].name;
        trying.given = &comparing->inputs->items[i].tensor;
        trying.picture = ulp_picture_of(trying.given);
        if (!is_looked_at(comparing, i, pictures))
            continue;
        const size_t count = list_mistakes(trying.given, &trying.picture, mistakes);
        for (size_t m = 0; m < count; m++)
            if (ulp_compare_is_late(comparing, POWER_PART))
                comparing->out->unseen += leasts != NULL; /* neighbours have the same again */
            else
                ULP_TRY((leasts ? try_parts : try_whole)(&trying, &mistakes[m], error));
        looked++;
    }
    return ULP_OK;
}

/* Neighbours that may explain what those asked about do not; *lanes, with FP64. */
static void add_neighbours(const struct ulp_comparing *comparing, size_t *arithmetics,
                           size_t *lanes)
{
    const struct ulp_comparison *out = comparing->out;
    for (size_t f = 0; f < out->file_count; f++)
        for (size_t r = 0; r < out->files[f].ranked_count; r++) {
            const size_t a = out->files[f].ranked[r].arithmetic;
            bool is_new = a >= comparing->asked && out->files[f].ranked[r].explains &&
                          !out->files[f].explained;
            for (size_t l = 1; l < *lanes && is_new; l++)
                is_new = arithmetics[l] != a;
            if (is_new)
                arithmetics[(*lanes)++] = a;
        }
}

/* Of the arithmetic that explains the file; none: of the first. */
static void keep_leasts(const struct ulp_comparing *comparing, const double *leasts, size_t file)
{
    struct ulp_compared_file *out = &comparing->out->files[file];
    const struct trying trying = {.looking.comparing = (struct ulp_comparing *)(uintptr_t)comparing,
                                  .leasts = (double *)(uintptr_t)leasts};
    for (size_t p = 0; p < out->power_count; p++)
        out->power[p].least = *find_least(&trying, file, p, out->by >= 0 ? (size_t)out->by : 0);
}

/* Where nothing explains a recording, something has been noticed. */
static bool is_any_explained(const struct ulp_comparison *out)
{
    for (size_t f = 0; f < out->file_count; f++)
        if (out->files[f].ranked->explains)
            return true;
    return false;
}

enum ulp_status ulp_compare_power(struct ulp_comparing *comparing, struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    size_t lanes = 1 + comparing->asked, *arithmetics;
    double *leasts;
    if (!is_any_explained(out))
        return ULP_OK;
    for (size_t f = 0; f < out->file_count; f++)
        ULP_TAKE(out->files[f].power, out->memory, INPUTS_MAX * MISTAKES_MAX, error);
    ULP_TAKE(arithmetics, comparing->arena, 1 + out->arithmetic_count, error);
    ULP_TAKE(leasts, comparing->arena,
             out->file_count * INPUTS_MAX * MISTAKES_MAX * comparing->asked, error);
    for (size_t a = 0; a < comparing->asked; a++)
        arithmetics[1 + a] = a;
    ULP_TRY(try_inputs(comparing, arithmetics, lanes, leasts, error));
    for (size_t f = 0; f < out->file_count; f++) {
        ulp_compare_weigh_power(comparing, f);
        keep_leasts(comparing, leasts, f);
    }
    lanes = 1;
    add_neighbours(comparing, arithmetics, &lanes);
    if (lanes == 1)
        return ULP_OK;
    ULP_TRY(try_inputs(comparing, arithmetics, lanes, NULL, error));
    for (size_t f = 0; f < out->file_count; f++)
        ulp_compare_weigh_power(comparing, f);
    return ULP_OK;
}
