/* A comparison from its beginning to its end, and what it holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "graph/graph.h"
#include "run/plan.h"
#include "tensor/tensor.h"

enum ulp_status ulp_comparing_memory(struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory for the comparison");
}

char *ulp_comparing_text(const struct ulp_comparing *comparing, const char *text)
{
    return ulp_arena_text(comparing->out->memory, text, strlen(text));
}

ptrdiff_t ulp_round_find(const struct ulp_names *names, const char *name, size_t round)
{
    char full[1024];
    if (!round)
        return ulp_names_find(names, name);
    if (snprintf(full, sizeof full, "%s[%zu]", name, round) >= (int)sizeof full)
        return -1;
    return ulp_names_find(names, full);
}

void ulp_comparing_begins(struct ulp_comparing *comparing)
{
    const struct ulp_compare_options *options = comparing->options;
    if (options->begins && options->progress) {
        struct ulp_environment *paused = ulp_environment_pause();
        options->begins(options->progress->context, comparing->part, comparing->part_count);
        ulp_environment_resume(paused);
    }
    comparing->part++;
}

static enum ulp_status prepare(struct ulp_comparing *comparing, struct ulp_error *error)
{
    const struct ulp_compare_options *options = comparing->options;
    struct ulp_comparison *out = comparing->out;
    struct ulp_budget *const budget = ulp_model_budget(comparing->model);
    enum ulp_status status = ulp_arena_create(&out->memory, budget, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&comparing->arena, budget, error);
    if (status != ULP_OK)
        return status;
    comparing->numbers.budget = comparing->decided.budget = budget;
    comparing->part_count = 1 + options->arithmetic_count * comparing->trials;
    out->trials = comparing->trials;
    out->arithmetic_count = options->arithmetic_count;
    out->file_count = comparing->recording_count;
    out->model_path = ulp_comparing_text(comparing, ulp_model_path(comparing->model));
    out->reference = ulp_comparing_text(comparing, options->reference.name);
    out->arithmetics = ulp_arena_take(out->memory, out->arithmetic_count, sizeof *out->arithmetics);
    out->files = ulp_arena_take(out->memory, out->file_count, sizeof *out->files);
    comparing->open =
        ulp_arena_take(comparing->arena, out->arithmetic_count, sizeof *comparing->open);
    bool whole =
        out->model_path && out->reference && out->arithmetics && out->files && comparing->open;
    for (size_t a = 0; whole && a < out->arithmetic_count; a++) {
        out->arithmetics[a] = ulp_comparing_text(comparing, options->arithmetics[a].name);
        comparing->open[a].names.budget = budget;
        whole = out->arithmetics[a];
    }
    for (size_t f = 0; whole && f < out->file_count; f++) {
        out->files[f].name = ulp_comparing_text(comparing, comparing->recordings[f].name);
        whole = out->files[f].name;
    }
    return whole ? ulp_pool_create(&comparing->pool, options->run.thread_count, error)
                 : ulp_comparing_memory(error);
}

static void free_comparing(struct ulp_comparing *comparing)
{
    for (size_t t = 0; t < comparing->out->tensor_count; t++) {
        ulp_free(comparing->work[t].reference);
        ulp_free(comparing->work[t].previous);
        for (size_t f = 0; f < comparing->recording_count; f++)
            ulp_tensor_free(&comparing->work[t].turned[f]);
    }
    for (size_t d = 0; d < comparing->decision_count; d++)
        ulp_tensor_free(&comparing->decisions[d]);
    ulp_free(comparing->decisions);
    for (size_t a = 0; comparing->open && a < comparing->out->arithmetic_count; a++)
        ulp_names_free(&comparing->open[a].names);
    ulp_names_free(&comparing->numbers);
    ulp_names_free(&comparing->decided);
    ulp_plan_free(comparing->plan);
    ulp_pool_free(comparing->pool);
    ulp_arena_free(comparing->arena);
}

void ulp_comparison_free(struct ulp_comparison *comparison)
{
    if (!comparison)
        return;
    ulp_arena_free(comparison->memory);
    *comparison = (struct ulp_comparison){0};
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
 * taken, of a round too many) is an array without a partner. */
static enum ulp_status order_tensors(struct ulp_comparing *comparing, struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    const size_t count = out->tensor_count;
    struct place *places = ulp_arena_take(comparing->arena, count + 1, sizeof *places);
    struct ulp_compared_tensor *tensors = ulp_arena_take(out->memory, count + 1, sizeof *tensors);
    struct ulp_compared_work *work = ulp_arena_take(comparing->arena, count + 1, sizeof *work);
    if (!places || !tensors || !work)
        return ulp_comparing_memory(error);
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
    return whole ? ULP_OK : ulp_comparing_memory(error);
}

static enum ulp_status measure(struct ulp_comparing *comparing, struct ulp_error *error)
{
    enum ulp_status status = prepare(comparing, error);
    if (status == ULP_OK)
        status = ulp_compare_collect(comparing, error);
    if (status == ULP_OK)
        status = order_tensors(comparing, error);
    for (size_t a = 0; a < comparing->out->arithmetic_count && status == ULP_OK; a++)
        status = ulp_compare_try(comparing, a, error);
    if (status == ULP_OK)
        ulp_compare_judge(comparing);
    return status;
}

enum ulp_status ulp_compare_again(const struct ulp_comparing *comparing,
                                  const struct ulp_tensor_set *inputs, size_t file,
                                  const struct ulp_arithmetic *arithmetics, size_t arithmetic_count,
                                  struct ulp_comparison *out, struct ulp_error *error)
{
    struct ulp_compare_options options = *comparing->options;
    options.arithmetics = arithmetics;
    options.arithmetic_count = arithmetic_count;
    options.recorded_inputs = NULL;
    options.no_cause = true;
    options.trials = comparing->trials;
    return ulp_compare_recordings(comparing->model, inputs, &comparing->recordings[file], 1,
                                  &options, out, error);
}

enum ulp_status ulp_compare_recordings(const struct ulp_model *model,
                                       const struct ulp_tensor_set *inputs,
                                       const struct ulp_recording *recordings,
                                       size_t recording_count,
                                       const struct ulp_compare_options *options,
                                       struct ulp_comparison *out, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_comparing comparing = {.model = model,
                                      .inputs = inputs,
                                      .recordings = recordings,
                                      .recording_count = recording_count,
                                      .options = options,
                                      .trials =
                                          options->trials ? options->trials : ULP_TRIALS_DEFAULT,
                                      .out = out};
    const double started = ulp_seconds_now();
    *out = (struct ulp_comparison){0};
    if (!recording_count || !options->arithmetic_count)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a comparison needs a recording and an arithmetic at least");
    enum ulp_status status = measure(&comparing, error);
    for (size_t f = 0; f < recording_count && !options->no_cause && status == ULP_OK; f++)
        status = ulp_compare_cause(&comparing, f, error);
    free_comparing(&comparing);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_comparison_free(out);
    return status;
}
