/* What a node holds inside, over all samples (ops/probe.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/overflow/meter.h"
#include "base/error.h"
#include "number/function/math.h"
#include "ops/steps.h"

enum ulp_status ulp_overflow_node(struct ulp_overflow_meter *meter, size_t lane, size_t number,
                                  struct ulp_overflow_node **out, struct ulp_error *error)
{
    struct ulp_overflow_node **node = &meter->lanes[lane].nodes[number];
    struct ulp_arena *memory = meter->forecast.memory;
    const struct ulp_step *step = meter->forward.program->nodes[number].step;
    const char *op = step->bound.node->op_type;
    *out = *node;
    if (*node)
        return ULP_OK;
    *out = *node = ulp_arena_take(meter->memory, 1, sizeof **node);
    ULP_TRY(ulp_taken(*node, error));
    (*node)->index = number;
    (*node)->name = ulp_arena_copy(memory, step->name);
    (*node)->op = ulp_arena_copy(memory, op);
    (*node)->moves = step->bound.op->work == ULP_WORK_MOVE;
    return (*node)->name && (*node)->op ? ULP_OK : ulp_out_of_memory(error);
}

/* The entry of that value, which may be computed more than once: in other samples, by other calls
 * of the formula. */
static enum ulp_status find_hidden(struct ulp_overflow_meter *meter, struct ulp_overflow_node *node,
                                   const struct ulp_hidden *told, struct ulp_overflow_hidden **out,
                                   struct ulp_error *error)
{
    struct ulp_arena *memory = meter->forecast.memory;
    for (size_t h = 0; h < node->hidden_count; h++)
        if (node->hidden[h].sum == told->sum && strcmp(node->hidden[h].words, told->words) == 0) {
            *out = &node->hidden[h];
            return ULP_OK;
        }
    ULP_GROW(node->hidden, memory, node->hidden_count,
             meter->lanes[meter->lane].hidden_capacity[node->index], error);
    *out = &node->hidden[node->hidden_count];
    **out = (struct ulp_overflow_hidden){.words = ulp_arena_copy(memory, told->words),
                                         .sum = told->sum,
                                         .k = -1,
                                         .first = -1};
    ULP_TRY(ulp_taken((*out)->words, error));
    node->hidden_count++;
    return ULP_OK;
}

/* In what the arithmetic computes it, by the node's own steps where it has such (steps=). */
static struct ulp_format find_own(const struct ulp_overflow_meter *meter, size_t number,
                                  const struct ulp_hidden *told)
{
    const struct ulp_program *program = meter->forward.program;
    struct ulp_arithmetic room;
    const struct ulp_arithmetic *arithmetic =
        ulp_steps_arithmetic(ulp_program_node_arithmetic(program, meter->lane + 1, number),
                             told->call, &room);
    return told->sum ? arithmetic->accumulator : arithmetic->compute;
}

/* Is it near the end of its format, or does it vanish there: must the arithmetic decide? */
static void look_inside(struct ulp_overflow_meter *meter, const struct ulp_hidden *told,
                        const struct ulp_format *own)
{
    meter->near_inside |= !(told->bound <= own->max_finite / 2) ||
                          (told->zero && own->emin >= meter->probe.format.emin);
    if (ulp_overflow_is_beyond(own, told->largest) && !meter->inside.any) {
        meter->inside.any = true;
        meter->inside.sum = told->sum;
        snprintf(meter->inside.words, sizeof meter->inside.words, "%s", told->words);
    }
}

static void add_figures(struct ulp_overflow_hidden *hidden, const struct ulp_hidden *told,
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

enum ulp_status ulp_overflow_tell(void *context, size_t number, const struct ulp_hidden *told,
                                  bool result, struct ulp_error *error)
{
    struct ulp_overflow_meter *meter = context;
    struct ulp_overflow_node *node;
    struct ulp_overflow_hidden *hidden = NULL;
    ULP_TRY(ulp_overflow_node(meter, meter->lane, number, &node, error));
    node->additions += (double)told->additions;
    node->absorbed += (double)told->absorbed;
    if (result)
        return ULP_OK;
    const struct ulp_format own = find_own(meter, number, told);
    look_inside(meter, told, &own);
    ULP_TRY(find_hidden(meter, node, told, &hidden, error));
    add_figures(hidden, told, meter->sample);
    hidden->own.format = own;
    hidden->narrow.format = meter->probe.format;
    return ULP_OK;
}

/* A sum whose bound is beyond the format, and whose partial sums in order are not, may overflow in
 * another order. */
static void judge_inside(const struct ulp_overflow_hidden *hidden,
                         struct ulp_overflow_inside *inside)
{
    const double most = inside->format.max_finite;
    inside->headroom_bits = hidden->largest > 0 ? ulp_math_log2(most / hidden->largest) : INFINITY;
    if (ulp_overflow_is_beyond(&inside->format, hidden->largest))
        inside->verdict = ULP_OVERFLOW_HAPPENS;
    else if (ulp_overflow_is_beyond(&inside->format, hidden->bound) ||
             !(inside->headroom_bits >= 1))
        inside->verdict = ULP_OVERFLOW_1_BIT;
    else
        inside->verdict = inside->headroom_bits >= 3 ? ULP_OVERFLOW_SAFE : ULP_OVERFLOW_3_BITS;
}

void ulp_overflow_judge_hidden(struct ulp_overflow_node *node)
{
    for (size_t h = 0; h < node->hidden_count; h++) {
        struct ulp_overflow_hidden *hidden = &node->hidden[h];
        judge_inside(hidden, &hidden->own);
        judge_inside(hidden, &hidden->narrow);
        node->own = hidden->own.verdict > node->own ? hidden->own.verdict : node->own;
        node->narrow =
            hidden->narrow.verdict > node->narrow ? hidden->narrow.verdict : node->narrow;
    }
}
