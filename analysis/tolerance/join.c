/* Tolerances of several samples: of each output the figures of the sample with the largest error.
 */
#include <string.h>
#include <ulpscope/tolerance.h>

#include "analysis/measure/judge.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"

static bool is_worse(const struct ulp_tolerance_output *a, const struct ulp_tolerance_output *b)
{
    return a->nonfinite != b->nonfinite ? a->nonfinite > b->nonfinite : a->max_abs > b->max_abs;
}

static void *copy_items(struct ulp_arena *memory, const void *items, size_t count, size_t size)
{
    void *to = ulp_arena_take(memory, count + 1, size);
    if (to && count)
        memcpy(to, items, count * size);
    return to;
}

static enum ulp_status copy_output(struct ulp_arena *memory,
                                   const struct ulp_tolerance_output *from,
                                   struct ulp_tolerance_output *to, struct ulp_error *error)
{
    *to = *from;
    to->next = NULL;
    to->name = ulp_arena_text(memory, from->name, strlen(from->name));
    to->sample = ulp_arena_text(memory, from->sample, strlen(from->sample));
    to->elements = copy_items(memory, from->elements, from->element_count, sizeof *to->elements);
    to->references = copy_items(memory, from->references, from->count, sizeof *to->references);
    to->errors = copy_items(memory, from->errors, from->count, sizeof *to->errors);
    return to->name && to->sample && to->elements && to->references && to->errors
               ? ULP_OK
               : ulp_out_of_memory(error);
}

/* The worst comes first. */
static enum ulp_status join_output(struct ulp_arena *memory, struct ulp_tolerance_output *to,
                                   const struct ulp_tolerance_output *from, struct ulp_error *error)
{
    struct ulp_tolerance_output *other = ulp_arena_take(memory, 1, sizeof *other), one;
    const bool open = to->open || from->open;
    ULP_TRY(other ? copy_output(memory, from, &one, error) : ulp_out_of_memory(error));
    const bool worse = is_worse(&one, to);
    *other = worse ? *to : one;
    other->next = to->next;
    *to = worse ? one : *to;
    to->next = other;
    to->open = open;
    return ULP_OK;
}

static struct ulp_tolerance_output *find_output(const struct ulp_tolerance *all, const char *name)
{
    for (size_t o = 0; o < all->output_count; o++)
        if (strcmp(all->outputs[o].name, name) == 0)
            return &all->outputs[o];
    return NULL;
}

/* The first sample had no such output, or one of another shape in the arithmetic. */
static enum ulp_status append_output(struct ulp_tolerance *all,
                                     const struct ulp_tolerance_output *from,
                                     struct ulp_error *error)
{
    struct ulp_tolerance_output *outputs;
    ULP_TAKE(outputs, all->memory, all->output_count + 1, error);
    memcpy(outputs, all->outputs, all->output_count * sizeof *outputs);
    all->outputs = outputs;
    return copy_output(all->memory, from, &outputs[all->output_count++], error);
}

enum ulp_status ulp_tolerance_join(struct ulp_tolerance *all, const struct ulp_tolerance *one,
                                   struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    if (strcmp(all->arithmetic, one->arithmetic) != 0 ||
        strcmp(all->reference, one->reference) != 0 || all->trials != one->trials)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "tolerances of other arithmetics or trials cannot be joined");
    for (size_t o = 0; o < one->output_count; o++)
        for (const struct ulp_tolerance_output *from = &one->outputs[o]; from; from = from->next) {
            struct ulp_tolerance_output *to = find_output(all, from->name);
            ULP_TRY(to ? join_output(all->memory, to, from, error)
                       : append_output(all, from, error));
        }
    for (size_t u = 0; u < one->unjudged.count; u++)
        if (!ulp_unjudged_add(all->memory, &all->unjudged, one->unjudged.items[u]))
            return ulp_out_of_memory(error);
    if (!all->no_bound)
        all->no_bound = one->no_bound;
    all->sample_count += one->sample_count;
    all->drawn |= one->drawn;
    all->seconds += one->seconds;
    return ULP_OK;
}
