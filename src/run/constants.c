/* Constants that a lane's arithmetics cannot hold, and what becomes of them. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "run/program/program.h"
#include "tensor/lower.h"

/* One reading of a constant. */
struct reading {
    const struct ulp_tensor *constant;
    const char *name;
    const struct ulp_arithmetic *in;
    size_t node;
};

struct readings {
    struct ulp_budget *budget;
    struct reading *items;
    size_t count, capacity;
};

static enum ulp_status add_reading(struct readings *readings, struct reading reading,
                                   struct ulp_error *error)
{
    if (!ulp_element_is_float(reading.constant->element) || reading.in->as_declared)
        return ULP_OK;
    ULP_TRY(ulp_grow(&readings->items, readings->count, &readings->capacity,
                     sizeof *readings->items, readings->budget, "constants of a lane", error));
    readings->items[readings->count++] = reading;
    return ULP_OK;
}

/* What the node reads of initializers and the like, and what its attributes hold. */
static enum ulp_status add_constants_read(struct readings *readings,
                                          const struct ulp_program *program,
                                          const struct ulp_mix *mix, size_t node,
                                          struct ulp_error *error)
{
    const struct ulp_block *block = program->nodes[node].block;
    const struct ulp_step *step = program->nodes[node].step;
    const struct ulp_arithmetic *in = ulp_mix_arithmetic(mix, node);
    for (size_t i = 0; i < step->own_input_count && !step->folded; i++) {
        const int *joined = ulp_mix_joins(mix, node), slot = ulp_step_slot(step, i, in, joined);
        if (slot >= 0 && block->slots[slot].constant && !ulp_reads_declared(step, i, in, joined))
            ULP_TRY(add_reading(readings,
                                (struct reading){block->slots[slot].constant,
                                                 block->slots[slot].name, in, node},
                                error));
    }
    for (size_t a = 0; a < step->bound.attribute_count && !step->folded; a++)
        if (step->bound.attributes[a].tensor)
            ULP_TRY(add_reading(readings,
                                (struct reading){step->bound.attributes[a].tensor, step->name, in,
                                                 node},
                                error));
    return ULP_OK;
}

static int by_constant(const void *a, const void *b)
{
    const struct reading *x = a, *y = b;
    if (x->constant != y->constant)
        return x->constant < y->constant ? -1 : 1;
    if (x->in != y->in)
        return x->in < y->in ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int by_reader(const void *a, const void *b)
{
    const struct ulp_changed_constant *x = a, *y = b;
    if (x->readers[0] != y->readers[0])
        return x->readers[0] < y->readers[0] ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The readings [first, end) are of one constant in one arithmetic. */
static void add_constant(struct ulp_changed_constants *out, const struct ulp_program *program,
                         const struct reading *readings, size_t first, size_t end, size_t *readers)
{
    const struct reading *reading = &readings[first];
    const struct ulp_arithmetic *in = reading->in;
    (void)ulp_model_fetch(program->model, reading->constant, 0);
    const struct ulp_lowered lowered =
        ulp_tensor_count_lowered(reading->constant, &in->storage, in->constants, in->rounding);
    ulp_model_give_back(program->model, reading->constant);
    if (!lowered.overflowed && !lowered.underflowed)
        return;
    struct ulp_changed_constant *constant = &out->items[out->count++];
    *constant = (struct ulp_changed_constant){.name = reading->name,
                                              .in = in,
                                              .elements = reading->constant->count,
                                              .overflowed = lowered.overflowed,
                                              .underflowed = lowered.underflowed,
                                              .largest = lowered.largest,
                                              .readers = readers + first};
    for (size_t r = first; r < end; r++)
        if (r == first || readings[r].node != readings[r - 1].node)
            readers[first + constant->reader_count++] = readings[r].node;
}

enum ulp_status ulp_program_constants(const struct ulp_program *program, size_t lane,
                                      struct ulp_changed_constants *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_budget *budget = ulp_model_budget(program->model);
    struct readings readings = {.budget = budget};
    void *items = NULL, *readers = NULL;
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_changed_constants){0};
    for (size_t n = 0; n < program->node_count && status == ULP_OK; n++)
        status = add_constants_read(&readings, program, &program->mixes[lane], n, error);
    ULP_THEN(status, ulp_allocate(&items, readings.count + 1, sizeof *out->items, budget,
                                  "constants of a lane", error));
    ULP_THEN(status, ulp_allocate(&readers, readings.count + 1, sizeof *out->readers, budget,
                                  "constants of a lane", error));
    out->items = items;
    out->readers = readers;
    if (readings.count && status == ULP_OK)
        qsort(readings.items, readings.count, sizeof *readings.items, by_constant);
    for (size_t first = 0, end; first < readings.count && status == ULP_OK; first = end) {
        const struct reading *reading = &readings.items[first];
        for (end = first + 1; end < readings.count; end++)
            if (readings.items[end].constant != reading->constant ||
                readings.items[end].in != reading->in)
                break;
        add_constant(out, program, readings.items, first, end, out->readers);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_reader);
    ulp_free(readings.items);
    if (status != ULP_OK)
        ulp_changed_constants_free(out);
    return status;
}

void ulp_changed_constants_free(struct ulp_changed_constants *constants)
{
    ulp_free(constants->items);
    ulp_free(constants->readers);
    *constants = (struct ulp_changed_constants){0};
}
