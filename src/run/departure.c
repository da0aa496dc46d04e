/* All lanes' values before the first step in which one decides otherwise than the reference: up to
 * there a run that follows the reference computes what the run before it has computed. */
#include "run/departure.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/memory/budget.h"
#include "tensor/tensor.h"

/* BUSY: being filled, or lent to a run. LOST: it was here, or found no memory. */
enum state { EMPTY, BUSY, GIVEN, LOST };

struct ulp_departure {
    const struct ulp_program *program;
    struct ulp_budget budget;
    /* guards the state; not held by who asks for memory, which may call reclaim */
    pthread_mutex_t mutex;
    enum state state;
    size_t step;
    struct ulp_tensor *values; /* [lane * slots + slot]; type UNDEFINED: none */
};

static size_t count_values(const struct ulp_departure *departure)
{
    return departure->values ? departure->program->lane_count * departure->program->main->slot_count
                             : 0;
}

static void free_values(struct ulp_departure *departure)
{
    for (size_t v = 0; v < count_values(departure); v++)
        ulp_tensor_free(&departure->values[v]);
    ulp_free(departure->values);
    departure->values = NULL;
}

/* What the budget asks for. */
static bool reclaim(void *owner)
{
    struct ulp_departure *departure = owner;
    pthread_mutex_lock(&departure->mutex);
    const bool given = departure->state == GIVEN;
    if (given) {
        free_values(departure);
        departure->state = LOST;
    }
    pthread_mutex_unlock(&departure->mutex);
    return given;
}

enum ulp_status ulp_departure_create(const struct ulp_program *program, struct ulp_departure **out,
                                     struct ulp_error *error)
{
    struct ulp_departure *departure = calloc(1, sizeof *departure);
    *out = departure;
    ULP_TRY(ulp_taken(departure, error));
    departure->program = program;
    pthread_mutex_init(&departure->mutex, NULL);
    ulp_budget_open(&departure->budget, ulp_model_budget(program->model));
    ulp_budget_set_reclaim(&departure->budget, reclaim, departure);
    return ULP_OK;
}

void ulp_departure_free(struct ulp_departure *departure)
{
    if (!departure)
        return;
    ulp_budget_set_reclaim(&departure->budget, NULL, NULL);
    free_values(departure);
    ulp_budget_close(&departure->budget);
    pthread_mutex_destroy(&departure->mutex);
    free(departure);
}

enum ulp_status ulp_departure_check(const struct ulp_departure *departure,
                                    const struct ulp_program *program, struct ulp_error *error)
{
    return !departure || departure->program == program
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "the departure was created for another program: a run takes one of its own");
}

size_t ulp_departure_bytes(const struct ulp_departure *departure)
{
    return departure ? departure->budget.peak_bytes : 0;
}

/* From that state to another; false: it was in a third. */
static bool change(struct ulp_departure *departure, enum state from, enum state to)
{
    pthread_mutex_lock(&departure->mutex);
    const bool was = departure->state == from;
    if (was)
        departure->state = to;
    pthread_mutex_unlock(&departure->mutex);
    return was;
}

void ulp_departure_clear(struct ulp_departure *departure)
{
    if (departure && change(departure, GIVEN, BUSY)) {
        free_values(departure);
        change(departure, BUSY, EMPTY);
    } else if (departure) {
        change(departure, LOST, EMPTY);
    }
}

/* Values that no run makes anew from the inputs and the constants. */
static bool is_computed(const struct ulp_block *block, size_t slot)
{
    bool given = block->slots[slot].constant;
    for (size_t i = 0; i < block->input_count && !given; i++)
        given = block->inputs[i] == (int)slot;
    return !given;
}

static enum ulp_status copy_values(struct ulp_departure *departure, const struct ulp_frame *frame,
                                   struct ulp_error *error)
{
    const struct ulp_block *block = frame->block;
    const size_t lanes = departure->program->lane_count, slots = block->slot_count;
    void *values;
    enum ulp_status status =
        ulp_allocate_zero(&values, lanes * slots + 1, sizeof(struct ulp_tensor), &departure->budget,
                          "values of lanes", error);
    departure->values = values;
    for (size_t v = 0; v < slots && status == ULP_OK; v++)
        for (size_t l = 0; l < lanes && status == ULP_OK && is_computed(block, v); l++)
            if (frame->lanes[l].values[v].type != ULP_TYPE_UNDEFINED)
                status = ulp_tensor_copy(&departure->values[l * slots + v],
                                         &frame->lanes[l].values[v], &departure->budget, error);
    return status;
}

void ulp_departure_leave(struct ulp_departure *departure, const struct ulp_frame *frame,
                         const struct ulp_step *step)
{
    struct ulp_error ignored;
    if (!change(departure, EMPTY, BUSY))
        return;
    departure->step = (size_t)(step - frame->block->steps);
    const bool all = copy_values(departure, frame, &ignored) == ULP_OK;
    if (!all)
        free_values(departure);
    change(departure, BUSY, all ? GIVEN : LOST);
}

/* Of a step that is not run. */
static void drop_inputs(struct ulp_tensor *values, const struct ulp_block *block,
                        const struct ulp_step *step)
{
    for (size_t d = 0; d < step->dead_count; d++)
        if (!block->slots[step->dead[d]].constant)
            ulp_tensor_free(&values[step->dead[d]]);
}

size_t ulp_departure_enter(struct ulp_departure *departure, const struct ulp_frame *frame)
{
    const size_t slots = frame->block->slot_count;
    if (!change(departure, GIVEN, BUSY))
        return 0;
    for (size_t l = 0; l < departure->program->lane_count; l++) {
        struct ulp_tensor *values = frame->lanes[l].values;
        for (size_t s = 0; s < departure->step; s++)
            drop_inputs(values, frame->block, &frame->block->steps[s]);
        for (size_t v = 0; v < slots; v++)
            if (departure->values[l * slots + v].type != ULP_TYPE_UNDEFINED)
                values[v] = ulp_tensor_view(&departure->values[l * slots + v]);
    }
    return departure->step;
}

void ulp_departure_release(struct ulp_departure *departure)
{
    change(departure, BUSY, GIVEN);
}
