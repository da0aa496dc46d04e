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

/* The worst comes first. */
static enum ulp_status join_output(struct ulp_arena *memory, struct ulp_tolerance_output *to,
                                   const struct ulp_tolerance_output *from, struct ulp_error *error)
{
    const bool open = to->open || from->open, worse = is_worse(from, to);
    ULP_TAKE_ARRAY(struct ulp_tolerance_output, other, memory, 1, error);
    *other = worse ? *to : *from;
    other->next = to->next;
    if (worse)
        *to = *from;
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
    ULP_TAKE_ARRAY(struct ulp_tolerance_output, outputs, all->memory, all->output_count + 1, error);
    memcpy(outputs, all->outputs, all->output_count * sizeof *outputs);
    all->outputs = outputs;
    outputs[all->output_count] = *from;
    outputs[all->output_count++].next = NULL;
    return ULP_OK;
}

enum ulp_status ulp_tolerance_join(struct ulp_tolerance *all, const struct ulp_tolerance *one,
                                   struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    if (strcmp(all->arithmetic, one->arithmetic) != 0 ||
        strcmp(all->reference, one->reference) != 0 || all->trials != one->trials)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "tolerances of other arithmetics or trials cannot be joined");
    ulp_arena_take_over(all->memory, one->memory);
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
