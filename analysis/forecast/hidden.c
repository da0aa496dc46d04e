/* What a node holds inside, over all samples (ops/probe.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/forecast/forecaster.h"
#include "base/error.h"
#include "number/function/math.h"

enum ulp_status ulp_forecast_node(struct ulp_forecaster *forecaster, size_t lane, size_t number,
                                  struct ulp_forecast_node **out, struct ulp_error *error)
{
    struct ulp_forecast_node **node = &forecaster->lanes[lane].nodes[number];
    struct ulp_arena *memory = forecaster->forecast.memory;
    const struct ulp_step *step = forecaster->forward.plan->nodes[number].step;
    const char *op = step->bound.node->op_type;
    *out = *node;
    if (*node)
        return ULP_OK;
    *out = *node = ulp_arena_take(forecaster->memory, 1, sizeof **node);
    if (!*node)
        return ulp_forecast_memory(error);
    (*node)->index = number;
    (*node)->name = ulp_arena_text(memory, step->name, strlen(step->name));
    (*node)->op = ulp_arena_text(memory, op, strlen(op));
    (*node)->moves = step->bound.op->work == ULP_WORK_MOVE;
    return (*node)->name && (*node)->op ? ULP_OK : ulp_forecast_memory(error);
}

/* The entry of that value, which may be computed more than once: in other samples, by other calls
 * of the formula. */
static enum ulp_status find_hidden(struct ulp_forecaster *forecaster,
                                   struct ulp_forecast_node *node, const struct ulp_hidden *told,
                                   struct ulp_forecast_hidden **out, struct ulp_error *error)
{
    struct ulp_arena *memory = forecaster->forecast.memory;
    for (size_t h = 0; h < node->hidden_count; h++)
        if (node->hidden[h].sum == told->sum && strcmp(node->hidden[h].words, told->words) == 0) {
            *out = &node->hidden[h];
            return ULP_OK;
        }
    if (!ulp_plan_grow(memory, &node->hidden, node->hidden_count,
                       &forecaster->lanes[forecaster->lane].hidden_capacity[node->index],
                       sizeof *node->hidden))
        return ulp_forecast_memory(error);
    *out = &node->hidden[node->hidden_count];
    **out = (struct ulp_forecast_hidden){.words = ulp_arena_text(memory, told->words,
                                                                 strlen(told->words)),
                                         .sum = told->sum,
                                         .k = -1,
                                         .first = -1};
    if (!(*out)->words)
        return ulp_forecast_memory(error);
    node->hidden_count++;
    return ULP_OK;
}

/* In what the arithmetic computes it. */
static const struct ulp_format *find_own(const struct ulp_forecaster *forecaster, size_t number,
                                         const struct ulp_hidden *told)
{
    const struct ulp_arithmetic *arithmetic =
        ulp_plan_node_arithmetic(forecaster->forward.plan, forecaster->lane + 1, number);
    return told->sum ? &arithmetic->accumulator : &arithmetic->compute;
}

/* Is it near the end of its format, or does it vanish there: must the arithmetic decide? */
static void look_inside(struct ulp_forecaster *forecaster, const struct ulp_hidden *told,
                        const struct ulp_format *own)
{
    forecaster->near_inside |= !(told->bound <= own->max_finite / 2) ||
                               (told->zero && own->emin >= forecaster->probe.format.emin);
    if (told->largest > own->max_finite && !forecaster->inside.any) {
        forecaster->inside.any = true;
        forecaster->inside.sum = told->sum;
        snprintf(forecaster->inside.words, sizeof forecaster->inside.words, "%s", told->words);
    }
}

static void add_figures(struct ulp_forecast_hidden *hidden, const struct ulp_hidden *told,
                        size_t sample)
{
    hidden->count += (double)told->count;
    hidden->subnormal += (double)told->subnormal;
    hidden->zero += (double)told->zero;
    hidden->bound = ulp_math_max(hidden->bound, told->bound);
    if (told->smallest > 0 && (hidden->smallest == 0 || told->smallest < hidden->smallest))
        hidden->smallest = told->smallest;
    if (told->first >= 0 && (hidden->first < 0 || told->first < hidden->first))
        hidden->first = told->first;
    if (told->largest > hidden->largest) {
        hidden->largest = told->largest;
        hidden->sample = sample;
        hidden->index = told->index;
        hidden->k = told->k;
    }
}

enum ulp_status ulp_forecast_tell(void *context, size_t number, const struct ulp_hidden *told,
                                  bool result, struct ulp_error *error)
{
    struct ulp_forecaster *forecaster = context;
    struct ulp_forecast_node *node;
    struct ulp_forecast_hidden *hidden = NULL;
    enum ulp_status status = ulp_forecast_node(forecaster, forecaster->lane, number, &node, error);
    if (status != ULP_OK)
        return status;
    node->additions += (double)told->additions;
    node->absorbed += (double)told->absorbed;
    if (result)
        return ULP_OK;
    const struct ulp_format *own = find_own(forecaster, number, told);
    look_inside(forecaster, told, own);
    status = find_hidden(forecaster, node, told, &hidden, error);
    if (status != ULP_OK)
        return status;
    add_figures(hidden, told, forecaster->sample);
    hidden->own.format = *own;
    hidden->narrow.format = forecaster->probe.format;
    return ULP_OK;
}

/* A sum whose bound is beyond the format, and whose partial sums in order are not, may overflow in
 * another order. */
static void judge_inside(const struct ulp_forecast_hidden *hidden,
                         struct ulp_forecast_inside *inside)
{
    const double most = inside->format.max_finite;
    inside->headroom_bits = hidden->largest > 0 ? ulp_math_log2(most / hidden->largest) : INFINITY;
    if (hidden->largest > most)
        inside->verdict = ULP_FORECAST_OVERFLOWS;
    else if (hidden->bound > most || !(inside->headroom_bits >= 1))
        inside->verdict = ULP_FORECAST_1_BIT;
    else
        inside->verdict = inside->headroom_bits >= 3 ? ULP_FORECAST_SAFE : ULP_FORECAST_3_BITS;
}

void ulp_forecast_judge_hidden(struct ulp_forecast_node *node)
{
    for (size_t h = 0; h < node->hidden_count; h++) {
        struct ulp_forecast_hidden *hidden = &node->hidden[h];
        judge_inside(hidden, &hidden->own);
        judge_inside(hidden, &hidden->narrow);
        node->own = hidden->own.verdict > node->own ? hidden->own.verdict : node->own;
        node->narrow =
            hidden->narrow.verdict > node->narrow ? hidden->narrow.verdict : node->narrow;
    }
}
