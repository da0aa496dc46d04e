/* Decisions followed back: what derivatives cannot say is given to the nodes that took it otherwise
 * than the reference, and by them to the errors of the margins by which they decide. */
#include <math.h>

#include "analysis/attribution/attribution.h"
#include "analysis/audit/divergence/turned.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "formula/adjoint.h"
#include "number/function/math.h"
#include "run/pass/backward.h"

/* A formula jumps somewhere: a comparison, a rounding to integers. */
static bool has_jump(const struct ulp_tape *tape)
{
    for (int i = 0; tape && i < tape->instruction_count; i++)
        if (tape->instructions[i].kind == ULP_TAPE_PRIMITIVE &&
            ulp_primitive_is_decision(tape->instructions[i].primitive))
            return true;
    return false;
}

static bool can_jump(const struct ulp_bound *bound)
{
    if (bound->stops || bound->compares || has_jump(bound->tape))
        return true;
    for (size_t f = 0; bound->formulas && bound->op->formulas[f]; f++)
        if (has_jump(bound->formulas[f]))
            return true;
    return false;
}

/* ---- on the way forward ---- */

struct collecting {
    struct ulp_attributor *attributor;
    struct ulp_moved *moved;
    const struct ulp_step *step;
};

static enum ulp_status keep_turned(void *context, const struct ulp_turned *turned,
                                   struct ulp_error *error)
{
    const struct collecting *collecting = context;
    struct ulp_moved *moved = collecting->moved;
    if (turned->own || !(fabs(turned->error) > 0) || isinf(turned->error)) { /* NaN, too */
        moved->own++;
        return ULP_OK;
    }
    moved->turned++;
    moved->logs += ulp_math_log(fabs(turned->error));
    for (size_t t = 0; t < turned->term_count; t++) {
        const struct ulp_turned_term *term = &turned->terms[t];
        ULP_TRY(ulp_grow(&moved->terms, moved->count, &moved->capacity, sizeof *moved->terms,
                         collecting->attributor->budget, "margins of decisions", error));
        moved->terms[moved->count++] =
            (struct ulp_moved_term){.slot = collecting->step->inputs[term->input],
                                    .element = term->element,
                                    .slope = term->slope,
                                    .error = turned->error,
                                    .first = t == 0};
    }
    return ULP_OK;
}

enum ulp_status ulp_attribution_moved(struct ulp_attributor *attributor, size_t l,
                                      const struct ulp_event *event, struct ulp_error *error)
{
    struct ulp_choices ignored;
    struct collecting collecting = {attributor, &attributor->lanes[l - 1].moved[event->index],
                                    attributor->program->nodes[event->index].step};
    const struct ulp_deciding deciding = {.program = attributor->program,
                                          .event = event,
                                          .lane = l - 1,
                                          .turned = keep_turned,
                                          .context = &collecting};
    return ulp_choices_look(&deciding, &ignored, error);
}

/* ---- and back ---- */

/* The node whose integers, other than the reference's, the step reads; SIZE_MAX: it reads none. */
static size_t find_decided(const struct ulp_attributed *lane, const struct ulp_block *block,
                           const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        const struct ulp_step *maker = slot >= 0 ? ulp_block_producer(block, slot) : NULL;
        if (maker && lane->decided[maker->number] &&
            !ulp_element_is_float(lane->values[slot].element))
            return maker->number;
    }
    return SIZE_MAX;
}

/* Integers may have passed through others: back to where they were floats. */
static size_t find_root(const struct ulp_attributor *attributor, const struct ulp_attributed *lane,
                        size_t node)
{
    for (size_t next; (next = find_decided(lane, attributor->program->main,
                                           attributor->program->nodes[node].step)) != SIZE_MAX;)
        node = next;
    return node;
}

/* The square of a margin's error, cut where it is far beyond the others' (their geometric mean):
 * what another decision before has sent somewhere else altogether is one decision of many here. */
static double weigh(const struct ulp_moved *moved, const struct ulp_moved_term *term)
{
    enum { FAR = 4 };
    const double most = FAR * ulp_math_exp(moved->logs / (double)moved->turned);
    return ulp_math_min(term->error * term->error, most * most);
}

/* The node's part of the error to the elements that its margins are made of. */
static enum ulp_status hand_on(const struct ulp_reverse *sweep, const struct ulp_moved *moved,
                               double part, struct ulp_error *error)
{
    const struct ulp_block *block = sweep->program->main;
    double all = 0;
    for (size_t t = 0; t < moved->count; t++)
        all += moved->terms[t].first ? weigh(moved, &moved->terms[t]) : 0;
    for (size_t t = 0; t < moved->count; t++) {
        const struct ulp_moved_term *term = &moved->terms[t];
        double *owed;
        if (block->slots[term->slot].constant || term->element >= sweep->values[term->slot].count)
            continue;
        ULP_TRY(ulp_reverse_cotangents(sweep, term->slot, sweep->values[term->slot].count, &owed,
                                       error));
        owed[term->element] += part * weigh(moved, term) / all * term->slope / term->error;
    }
    return ULP_OK;
}

enum ulp_status ulp_attribution_decide(const struct ulp_reverse *sweep, const struct ulp_step *step,
                                       struct ulp_error *error)
{
    struct ulp_course *course = sweep->context;
    const struct ulp_attributed *lane = course->lane;
    const size_t node = step->number, root = find_root(course->attributor, lane, node);
    const struct ulp_moved *moved = &lane->moved[node];
    const bool decided =
        root != node || lane->decided[node] || course->stopped[node] || can_jump(&step->bound);
    *(decided ? &course->nodes[root].decision : &course->nodes[root].missing) +=
        sweep->remainders[node];
    if (course->nodes[node].decision == 0 || !moved->turned || root != node)
        return ULP_OK;
    const double part =
        course->nodes[node].decision * (double)moved->turned / (double)(moved->turned + moved->own);
    course->nodes[node].decision -= part;
    course->nodes[node].shows += part;
    return hand_on(sweep, moved, part, error);
}

bool ulp_attribution_follows(const struct ulp_attributor *attributor,
                             const struct ulp_attributed *lane, int slot, size_t *node)
{
    const struct ulp_step *maker = ulp_block_producer(attributor->program->main, slot);
    if (lane->parted != SIZE_MAX && !lane->errors[slot])
        *node = lane->parted;
    else if (maker && lane->decided[maker->number])
        *node = maker->number;
    else
        return false;
    *node = find_root(attributor, lane, *node);
    return true;
}
