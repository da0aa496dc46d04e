/* Tolerances of several samples: of each output the figures of the sample with the largest error.
 */
#include <string.h>
#include <ulpscope/tolerance.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"

static bool is_worse(const struct ulp_tolerance_output *a, const struct ulp_tolerance_output *b)
{
    return a->nonfinite != b->nonfinite ? a->nonfinite > b->nonfinite : a->max_abs > b->max_abs;
}

static void *copy(struct ulp_arena *memory, const void *items, size_t count, size_t size)
{
    void *to = ulp_arena_take(memory, count + 1, size);
    if (to && count)
        memcpy(to, items, count * size);
    return to;
}

static enum ulp_status take_output(struct ulp_arena *memory, struct ulp_tolerance_output *to,
                                   const struct ulp_tolerance_output *from, struct ulp_error *error)
{
    const bool open = to->open || from->open;
    *to = *from;
    to->open = open;
    to->name = ulp_arena_text(memory, from->name, strlen(from->name));
    to->sample = ulp_arena_text(memory, from->sample, strlen(from->sample));
    to->elements = copy(memory, from->elements, from->element_count, sizeof *to->elements);
    to->references = copy(memory, from->references, from->count, sizeof *to->references);
    to->errors = copy(memory, from->errors, from->count, sizeof *to->errors);
    return to->name && to->sample && to->elements && to->references && to->errors
               ? ULP_OK
               : ulp_fail_memory(error, "out of memory for the tolerance");
}

static struct ulp_tolerance_output *find_output(const struct ulp_tolerance *all, const char *name)
{
    for (size_t o = 0; o < all->output_count; o++)
        if (strcmp(all->outputs[o].name, name) == 0)
            return &all->outputs[o];
    return NULL;
}

/* The first sample had no such output, or one of another shape in the arithmetic. */
static enum ulp_status add_output(struct ulp_tolerance *all,
                                  const struct ulp_tolerance_output *from, struct ulp_error *error)
{
    struct ulp_tolerance_output *outputs =
        ulp_arena_take(all->memory, all->output_count + 1, sizeof *outputs);
    if (!outputs)
        return ulp_fail_memory(error, "out of memory for the tolerance");
    memcpy(outputs, all->outputs, all->output_count * sizeof *outputs);
    all->outputs = outputs;
    return take_output(all->memory, &outputs[all->output_count++], from, error);
}

enum ulp_status ulp_tolerance_join(struct ulp_tolerance *all, const struct ulp_tolerance *one,
                                   struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    enum ulp_status status = ULP_OK;
    if (strcmp(all->arithmetic, one->arithmetic) != 0 ||
        strcmp(all->reference, one->reference) != 0 || all->trials != one->trials)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "tolerances of other arithmetics or trials cannot be joined");
    for (size_t o = 0; o < one->output_count && status == ULP_OK; o++) {
        const struct ulp_tolerance_output *from = &one->outputs[o];
        struct ulp_tolerance_output *to = find_output(all, from->name);
        if (!to)
            status = add_output(all, from, error);
        else if (is_worse(from, to))
            status = take_output(all->memory, to, from, error);
        else
            to->open |= from->open;
    }
    if (!all->no_bound)
        all->no_bound = one->no_bound;
    all->sample_count += one->sample_count;
    all->seconds += one->seconds;
    return status;
}
