/* How far the nodes' errors reach, of first order: one sweep from one element. */
#include <math.h>

#include "analysis/attribution/attribution.h"
#include "base/error.h"
#include "number/function/math.h"
#include "run/pass/backward.h"

struct course {
    struct ulp_attributor *attributor;
    const struct ulp_attributed *lane;
    size_t lane_number; /* in the program */
    double squares, bound;
};

static void add_errors(struct course *course, size_t node, int position, const double *cotangents,
                       const float *introduced, size_t count)
{
    const struct ulp_program *program = course->attributor->program;
    const struct ulp_program_node *where = &program->nodes[node];
    const struct ulp_format *storage =
        &ulp_mix_arithmetic(&program->mixes[course->lane_number], node)->storage;
    const double unit = ldexp(1, -storage->precision);
    const struct ulp_tensor *value = where->block == program->main
                                         ? &course->lane->values[where->step->outputs[position]]
                                         : NULL;
    const float *values =
        value && value->element == ULP_ELEMENT_F32 && value->count == count ? value->data : NULL;
    bool rounds = false; /* what only moves numbers or chooses among them makes no error */
    for (size_t i = 0; i < count && !rounds; i++)
        rounds = introduced[i] != 0;
    for (size_t i = 0; i < count && rounds; i++) {
        const double slope = fabs(cotangents[i]), d = fabs((double)introduced[i]),
                     y = values && isfinite(values[i]) ? fabs((double)values[i]) : 0;
        course->squares += slope * d * slope * d;
        course->bound += slope * ulp_math_max(d, unit * y);
    }
}

static enum ulp_status add_node_bound(void *context, size_t node, size_t execution, int position,
                                      const double *cotangents, size_t count, double *part,
                                      struct ulp_error *error)
{
    struct course *course = context;
    (void)part, (void)error;
    const struct ulp_introduced *item =
        ulp_attribution_find(course->lane, node, execution, position);
    if (item && item->count == count)
        add_errors(course, node, position, cotangents, item->kept.data, count);
    return ULP_OK;
}

static void add_inputs(struct course *course, double *const *cotangents)
{
    const struct ulp_block *block = course->attributor->program->main;
    for (size_t i = 0; i < block->input_count; i++) {
        const int slot = block->inputs[i];
        const double *owed = cotangents[slot], *e = course->lane->errors[slot];
        for (size_t k = 0; owed && e && k < course->lane->values[slot].count; k++) {
            const double carried = fabs(owed[k] * e[k]);
            course->squares += carried * carried;
            course->bound += carried;
        }
    }
}

enum ulp_status ulp_attribution_bound(struct ulp_attributor *attributor, size_t l, int slot,
                                      size_t element, double *random, double *bound,
                                      struct ulp_error *error)
{
    const struct ulp_program *program = attributor->program;
    struct ulp_attributed *lane = &attributor->lanes[l];
    struct course course = {.attributor = attributor, .lane = lane, .lane_number = l + 1};
    struct ulp_arena *arena;
    double *seeds;
    ULP_TRY(ulp_arena_create(&arena, attributor->budget, error));
    struct ulp_reverse sweep = {
        .program = program,
        .values = lane->values,
        .errors = lane->differences,
        .plain = true,
        .cotangents = ulp_arena_take(arena, program->main->slot_count + 1, sizeof(double *)),
        .stopped = ulp_arena_take(arena, program->node_count + 1, sizeof(bool)),
        .passed = ulp_arena_take(arena, program->node_count + 1, sizeof(bool)),
        .budget = attributor->budget,
        .pool = attributor->pool,
        .node = add_node_bound,
        .context = &course};
    enum ulp_status status =
        sweep.cotangents && sweep.stopped && sweep.passed
            ? ulp_reverse_cotangents(&sweep, slot, lane->values[slot].count, &seeds, error)
            : ulp_out_of_memory(error);
    if (status == ULP_OK) {
        seeds[element] = 1;
        status = ulp_reverse_run(&sweep, 1, error);
    }
    if (status == ULP_OK)
        add_inputs(&course, sweep.cotangents);
    for (size_t s = 0; sweep.cotangents && s < program->main->slot_count; s++)
        ulp_free(sweep.cotangents[s]);
    ulp_arena_free(arena);
    if (lane->borders[slot]) { /* rounded behind the last node */
        course.squares += lane->borders[slot][element] * lane->borders[slot][element];
        course.bound += fabs(lane->borders[slot][element]);
    }
    *random = sqrt(course.squares);
    *bound = course.bound;
    return status;
}
