/* The measuring part of a comparison: everything but the causes. */
#include <math.h>
#include <stdlib.h>

#include "analysis/compare/comparing.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "run/program/program.h"

/* Of the time in which an answer is wanted: neighbours are begun until then. */
#define NEIGHBOURS_PART 0.5

/* So many trials tell what an arithmetic is surely not: an error so many times beyond the limit
 * that they set. Where a decision came before, which may fall otherwise in a later one, half of
 * all. */
#define FEW_TRIALS 2
#define HOPELESS 3
/* All trials are for so many neighbours that explain a recording, and for those before them. */
#define BEST 2

static size_t few_trials(const struct ulp_comparing *comparing)
{
    const size_t few = comparing->decision_count && comparing->trials / 2 > FEW_TRIALS
                           ? comparing->trials / 2
                           : FEW_TRIALS;
    return few < comparing->trials ? few : comparing->trials;
}

enum ulp_status ulp_comparing_prepare(struct ulp_comparing *comparing, struct ulp_error *error)
{
    const struct ulp_compare_options *options = comparing->options;
    struct ulp_comparison *out = comparing->out;
    struct ulp_budget *const budget = ulp_model_budget(comparing->model);
    ULP_TRY(ulp_arena_create(&out->memory, budget, error));
    ULP_TRY(ulp_arena_create(&comparing->arena, budget, error));
    comparing->numbers.budget = comparing->decided.budget = comparing->chosen.budget = budget;
    comparing->part_count = 1 + comparing->asked * comparing->trials +
                            (options->arithmetic_count - comparing->asked) * few_trials(comparing);
    out->trials = comparing->trials;
    out->asked = comparing->asked;
    out->arithmetic_count = options->arithmetic_count;
    out->file_count = comparing->recording_count;
    out->model_path = ulp_comparing_text(comparing, ulp_model_path(comparing->model));
    out->arguments = ulp_model_words(out->memory, comparing->model);
    out->reference = ulp_comparing_text(comparing, options->reference.name);
    out->arithmetics = ulp_arena_take(out->memory, out->arithmetic_count, sizeof *out->arithmetics);
    out->files = ulp_arena_take(out->memory, out->file_count, sizeof *out->files);
    comparing->open =
        ulp_arena_take(comparing->arena, out->arithmetic_count, sizeof *comparing->open);
    bool whole = out->model_path && out->arguments && out->reference && out->arithmetics &&
                 out->files && comparing->open;
    for (size_t a = 0; whole && a < out->arithmetic_count; a++) {
        out->arithmetics[a] = ulp_comparing_text(comparing, options->arithmetics[a].asked);
        comparing->open[a].budget = budget;
        whole = out->arithmetics[a];
    }
    for (size_t f = 0; whole && f < out->file_count; f++) {
        out->files[f].name = ulp_comparing_text(comparing, comparing->recordings[f].name);
        whole = out->files[f].name;
    }
    return whole ? ulp_pool_create(&comparing->pool, options->thread_count, error)
                 : ulp_out_of_memory(error);
}

void ulp_comparing_free(struct ulp_comparing *comparing)
{
    for (size_t t = 0; t < comparing->out->tensor_count; t++) {
        ulp_free(comparing->work[t].reference);
        ulp_free(comparing->work[t].previous);
        ulp_tensors_free(comparing->work[t].turned, comparing->recording_count);
    }
    ulp_tensors_free(comparing->decisions, comparing->decision_count);
    ulp_free(comparing->decisions);
    for (size_t a = 0; comparing->open && a < comparing->options->arithmetic_count; a++)
        ulp_names_free(&comparing->open[a]);
    ulp_names_free(&comparing->numbers);
    ulp_names_free(&comparing->decided);
    ulp_names_free(&comparing->chosen);
    ulp_program_free(comparing->program);
    ulp_pool_free(comparing->pool);
    ulp_arena_free(comparing->arena);
}

/* Where each tensor goes: in the order in which the run came to them. */
struct place {
    size_t order, from;
};

static int by_order(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Tensors in the order in which the run came to them. One that it did not come to (of a branch not
 * taken, of an iteration too many) is an array without a partner. */
static enum ulp_status order_tensors(struct ulp_comparing *comparing, struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    const size_t count = out->tensor_count;
    ULP_TAKE_ARRAY(struct place, places, comparing->arena, count + 1, error);
    ULP_TAKE_ARRAY(struct ulp_compared_tensor, tensors, out->memory, count + 1, error);
    ULP_TAKE_ARRAY(struct ulp_compared_work, work, comparing->arena, count + 1, error);
    for (size_t t = 0; t < count; t++)
        places[t] = (struct place){comparing->work[t].order, t};
    qsort(places, count, sizeof *places, by_order);
    ulp_names_free(&comparing->numbers);
    comparing->numbers.budget = ulp_comparing_budget(comparing);
    size_t kept = 0;
    bool whole = true;
    for (size_t t = 0; t < count; t++) {
        const size_t from = places[t].from;
        if (places[t].order == SIZE_MAX) {
            for (size_t f = 0; f < out->file_count; f++)
                if (comparing->work[from].recorded[f])
                    out->files[f].unmatched[out->files[f].unmatched_count++] =
                        out->tensors[from].name;
            continue;
        }
        tensors[kept] = out->tensors[from];
        work[kept] = comparing->work[from];
        whole = whole && ulp_names_add(&comparing->numbers, tensors[kept].name, (int)kept);
        kept++;
    }
    out->tensors = tensors;
    out->tensor_count = kept;
    comparing->work = work;
    return ulp_taken(whole, error);
}

/* Those from the a-th on, of which too little is known to rank them. */
static enum ulp_status leave_neighbours(const struct ulp_comparing *comparing, size_t a,
                                        struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    out->unranked = ulp_arena_say(out->memory,
                                  "there was no time for %zu of them; a longer --max-time would do",
                                  out->arithmetic_count - a);
    out->arithmetic_count = a;
    return ulp_taken(out->unranked, error);
}

/* Is some error of the file far beyond what the arithmetic makes there, by its trials so far? */
static bool is_hopeless(struct ulp_comparing *comparing, size_t arithmetic, size_t file)
{
    struct ulp_comparison *out = comparing->out;
    bool hopeless = false;
    for (size_t t = 0; t < out->tensor_count && !hopeless; t++) {
        const struct ulp_compared_value *value = &out->tensors[t].values[file];
        out->tensors[t].expected[arithmetic] = ulp_expected_error(&comparing->work[t], arithmetic);
        if (!value->recorded || value->reshaped)
            continue;
        const struct ulp_compared_value judged =
            ulp_compare_judge_value(comparing, t, file, arithmetic,
                                    ULP_FALSE_ALARM / (double)out->tensor_count, value);
        const double excess = ulp_compared_excess(&judged);
        hopeless = !judged.explained && excess > HOPELESS && isfinite(excess);
    }
    return hopeless;
}

/* Are more trials of an arithmetic wanted? Of a neighbour where those asked about do not explain a
 * file, and few neighbours that do fit better. */
static bool wants_more(struct ulp_comparing *comparing, size_t arithmetic)
{
    const struct ulp_compared_file *files = comparing->out->files;
    for (size_t f = 0; f < comparing->recording_count; f++) {
        bool wanted = arithmetic < comparing->asked;
        for (size_t r = 0, better = 0;
             r < files[f].ranked_count && better < BEST && !wanted && !files[f].explained; r++) {
            wanted = files[f].ranked[r].arithmetic == arithmetic;
            better +=
                files[f].ranked[r].explains && files[f].ranked[r].arithmetic >= comparing->asked;
        }
        if (wanted && !is_hopeless(comparing, arithmetic, f))
            return true;
    }
    return false;
}

static enum ulp_status try_asked(struct ulp_comparing *comparing, struct ulp_error *error)
{
    const size_t all = comparing->trials, few = comparing->again ? few_trials(comparing) : all;
    for (size_t a = 0; a < comparing->asked; a++) {
        ULP_TRY(ulp_compare_try(comparing, a, 0, few, error));
        if (few < all && wants_more(comparing, a))
            ULP_TRY(ulp_compare_try(comparing, a, few, all, error));
        comparing->measured = ulp_compare_spent(comparing);
    }
    return ULP_OK;
}

static enum ulp_status judge_all(struct ulp_comparing *comparing, struct ulp_error *error)
{
    ulp_compare_judge(comparing);
    for (size_t f = 0; f < comparing->recording_count; f++)
        ULP_TRY(ulp_compare_rank(comparing, f, error));
    return ULP_OK;
}

/* All with few trials, then those that may be what the recording was made with. */
static enum ulp_status try_neighbours(struct ulp_comparing *comparing, struct ulp_error *error)
{
    const size_t few = few_trials(comparing);
    bool more = false;
    for (size_t a = comparing->asked; a < comparing->out->arithmetic_count; a++)
        if (ulp_compare_is_late(comparing, NEIGHBOURS_PART))
            ULP_TRY(leave_neighbours(comparing, a, error));
        else
            ULP_TRY(ulp_compare_try(comparing, a, 0, few, error));
    ULP_TRY(judge_all(comparing, error));
    for (size_t a = comparing->asked; a < comparing->out->arithmetic_count; a++) {
        if (few == comparing->trials || !wants_more(comparing, a) ||
            ulp_compare_is_late(comparing, NEIGHBOURS_PART))
            continue;
        comparing->part_count += comparing->trials - few;
        ULP_TRY(ulp_compare_try(comparing, a, few, comparing->trials, error));
        more = true;
    }
    return more ? judge_all(comparing, error) : ULP_OK;
}

enum ulp_status ulp_comparing_measure(struct ulp_comparing *comparing, struct ulp_error *error)
{
    *comparing->out = (struct ulp_comparison){0};
    ULP_TRY(ulp_comparing_prepare(comparing, error));
    ULP_TRY(ulp_compare_collect(comparing, error));
    ULP_TRY(order_tensors(comparing, error));
    ULP_TRY(try_asked(comparing, error));
    return try_neighbours(comparing, error);
}

enum ulp_status ulp_compare_again(const struct ulp_comparing *comparing,
                                  const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs, size_t file,
                                  struct ulp_comparison *out, struct ulp_error *error)
{
    struct ulp_compare_options options = *comparing->options;
    struct ulp_comparing again = ulp_comparing_another(comparing, out);
    again.model = model;
    again.inputs = inputs;
    again.recordings = &comparing->recordings[file];
    again.options = &options;
    again.again = true;
    again.held = comparing->held;
    options.arithmetic_count = comparing->asked;
    options.keeps = NULL;
    options.groups = NULL;
    options.recorded_inputs = NULL;
    const enum ulp_status status = ulp_comparing_measure(&again, error);
    ulp_comparing_free(&again);
    if (status != ULP_OK)
        ulp_comparison_free(out);
    return ulp_program_refuses(status) ? ULP_OK : status;
}

/* Is less than the error that is to be explained explained there, by rows or in places as it was
 * judged? Where a recording that is as far off would be, none tells anything. */
static bool tells(const struct ulp_comparison *again, const struct ulp_compared_tensor *first,
                  size_t file)
{
    const struct ulp_compared_value *was = &first->values[file];
    for (size_t t = 0; t < again->tensor_count; t++) {
        const struct ulp_compared_value *is = &again->tensors[t].values[0];
        const double error = is->rows_matched ? was->matched : was->truth.rms,
                     left = is->rows_matched ? is->matched : is->truth.rms;
        if (strcmp(again->tensors[t].name, first->name) == 0 && is->recorded && !is->reshaped &&
            !was->reshaped && isfinite(error))
            return is->ratio * error >= is->limit * left;
    }
    return true;
}

enum ulp_status ulp_compare_explains(const struct ulp_comparing *comparing,
                                     const struct ulp_model *model,
                                     const struct ulp_tensor_set *inputs, size_t file,
                                     bool *explains, struct ulp_error *error)
{
    const struct ulp_compared_file *own = &comparing->out->files[file];
    ULP_SCOPED(ulp_comparison_free) struct ulp_comparison again = {0};
    ULP_TRY(ulp_compare_again(comparing, model, inputs, file, &again, error));
    *explains = again.file_count && again.files[0].explained &&
                (own->first_unexplained < 0 ||
                 tells(&again, &comparing->out->tensors[own->first_unexplained], file));
    return ULP_OK;
}
