/* A comparison from its beginning to its end, and what it holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "run/plan.h"
#include "tensor/tensor.h"

enum ulp_status ulp_comparing_memory(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for the comparison");
}

char *ulp_compared_name(const char *name, size_t round)
{
    const size_t size = strlen(name) + 32;
    char *full = malloc(size);
    if (full)
        snprintf(full, size, round ? "%s[%zu]" : "%s", name, round);
    return full;
}

ptrdiff_t ulp_compared_find(const struct ulp_comparing *comparing, const char *name, size_t round)
{
    char full[1024];
    if (!round)
        return ulp_names_find(&comparing->numbers, name);
    if (snprintf(full, sizeof full, "%s[%zu]", name, round) >= (int)sizeof full)
        return -1;
    return ulp_names_find(&comparing->numbers, full);
}

void ulp_comparing_begins(struct ulp_comparing *comparing)
{
    const struct ulp_compare_options *options = comparing->options;
    if (options->begins && options->progress)
        options->begins(options->progress->context, comparing->part, comparing->part_count);
    comparing->part++;
}

static enum ulp_status prepare(struct ulp_comparing *comparing, struct ulp_error *error)
{
    const struct ulp_compare_options *options = comparing->options;
    struct ulp_comparison *out = comparing->out;
    out->trials = comparing->trials;
    out->model_path = strdup(ulp_model_path(comparing->model));
    out->reference = strdup(options->reference.name);
    out->arithmetics = calloc(options->arithmetic_count, sizeof *out->arithmetics);
    out->files = calloc(comparing->recording_count, sizeof *out->files);
    comparing->open = calloc(options->arithmetic_count, sizeof *comparing->open);
    if (!out->model_path || !out->reference || !out->arithmetics || !out->files || !comparing->open)
        return ulp_comparing_memory(error);
    for (size_t a = 0; a < options->arithmetic_count; a++, out->arithmetic_count++)
        if (!(out->arithmetics[a] = strdup(options->arithmetics[a].name)))
            return ulp_comparing_memory(error);
    for (size_t f = 0; f < comparing->recording_count; f++, out->file_count++)
        if (!(out->files[f].name = strdup(comparing->recordings[f].name)))
            return ulp_comparing_memory(error);
    comparing->part_count = 1 + options->arithmetic_count * comparing->trials;
    return ulp_pool_create(&comparing->pool, options->run.thread_count, error);
}

static void free_tensor(struct ulp_compared_tensor *tensor, size_t files)
{
    for (size_t f = 0; tensor->values && f < files; f++) {
        free(tensor->values[f].arithmetics);
        free(tensor->values[f].others);
    }
    free(tensor->values);
    free(tensor->expected);
    free(tensor->name);
    free(tensor->node);
    free(tensor->op);
}

static void free_work(struct ulp_compared_work *work)
{
    free(work->recorded);
    free(work->stored);
    free(work->members);
    free(work->reference);
    free(work->previous);
}

static void free_comparing(struct ulp_comparing *comparing)
{
    for (size_t t = 0; t < comparing->out->tensor_count; t++)
        free_work(&comparing->work[t]);
    free(comparing->work);
    for (size_t d = 0; d < comparing->decision_count; d++) {
        free(comparing->decisions[d].name);
        ulp_tensor_free(&comparing->decisions[d].tensor);
    }
    free(comparing->decisions);
    for (size_t a = 0; comparing->open && a < comparing->out->arithmetic_count; a++) {
        for (size_t i = 0; i < comparing->open[a].count; i++)
            free(comparing->open[a].owned[i]);
        free(comparing->open[a].owned);
        ulp_names_free(&comparing->open[a].names);
    }
    free(comparing->open);
    ulp_names_free(&comparing->numbers);
    ulp_names_free(&comparing->decided);
    ulp_plan_free(comparing->plan);
    ulp_pool_free(comparing->pool);
}

static void free_file(struct ulp_compared_file *file)
{
    for (size_t u = 0; u < file->unmatched_count; u++)
        free(file->unmatched[u]);
    for (size_t n = 0; n < file->cause.node_count; n++)
        free(file->cause.nodes[n]);
    free(file->unmatched);
    free(file->cause.nodes);
    free(file->cause.text);
    free(file->cause.input);
    free(file->cause.arithmetic);
    free(file->name);
}

void ulp_comparison_free(struct ulp_comparison *comparison)
{
    if (!comparison)
        return;
    for (size_t t = 0; t < comparison->tensor_count; t++)
        free_tensor(&comparison->tensors[t], comparison->file_count);
    free(comparison->tensors);
    for (size_t f = 0; f < comparison->file_count; f++)
        free_file(&comparison->files[f]);
    free(comparison->files);
    for (size_t a = 0; a < comparison->arithmetic_count; a++)
        free(comparison->arithmetics[a]);
    free(comparison->arithmetics);
    free(comparison->model_path);
    free(comparison->reference);
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

/* A tensor the run did not come to (of a branch not taken, of a round too many) is no tensor of
 * the comparison. */
static enum ulp_status leave_out(struct ulp_comparing *comparing, size_t t, struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    for (size_t f = 0; f < out->file_count; f++) {
        struct ulp_compared_file *file = &out->files[f];
        if (!comparing->work[t].recorded[f])
            continue;
        char **names = realloc(file->unmatched, (file->unmatched_count + 1) * sizeof *names);
        file->unmatched = names ? names : file->unmatched;
        if (!names || !(names[file->unmatched_count] = strdup(out->tensors[t].name)))
            return ulp_comparing_memory(error);
        file->unmatched_count++;
    }
    free_tensor(&out->tensors[t], out->file_count);
    free_work(&comparing->work[t]);
    return ULP_OK;
}

static enum ulp_status order_tensors(struct ulp_comparing *comparing, struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    const size_t count = out->tensor_count;
    struct place *places = calloc(count + 1, sizeof *places);
    struct ulp_compared_tensor *tensors = calloc(count + 1, sizeof *tensors);
    struct ulp_compared_work *work = calloc(count + 1, sizeof *work);
    if (!places || !tensors || !work) {
        free(places);
        free(tensors);
        free(work);
        return ulp_comparing_memory(error);
    }
    for (size_t t = 0; t < count; t++)
        places[t] = (struct place){comparing->work[t].order, t};
    qsort(places, count, sizeof *places, by_order);
    enum ulp_status status = ULP_OK;
    out->tensor_count = 0;
    ulp_names_free(&comparing->numbers);
    for (size_t t = 0; t < count; t++)
        if (places[t].order == SIZE_MAX) {
            enum ulp_status left = leave_out(comparing, places[t].from, error);
            status = status == ULP_OK ? left : status;
        } else {
            tensors[out->tensor_count] = out->tensors[places[t].from];
            work[out->tensor_count++] = comparing->work[places[t].from];
        }
    free(places);
    free(out->tensors);
    free(comparing->work);
    out->tensors = tensors;
    comparing->work = work;
    for (size_t t = 0; t < out->tensor_count && status == ULP_OK; t++)
        if (!ulp_names_add(&comparing->numbers, tensors[t].name, (int)t))
            status = ulp_comparing_memory(error);
    return status;
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
