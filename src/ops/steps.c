/* Rows of number/format/steps.def. */
#include "ops/steps.h"

#include <string.h>

enum ulp_steps_rule {
    STRICT,  /* every step, also of sums, is rounded to storage, as in NAME-strict */
    STEPPED, /* the same of what has a formula for it, so that an attribute can choose */
    SUMMED,  /* the same, but rows are added as elsewhere, and their sums stored */
    HALVED,  /* the same; products are added on the matrix unit, into storage */
    FUSED    /* the epilogue is added to the sum before its rounding */
};

static const struct row {
    enum ulp_steps runtime;
    const char *name;
    enum ulp_steps_rule rule;
} rows[] = {
#define STEPS(runtime, name, rule, ...) {ULP_STEPS_##runtime, name, rule},
#include "number/format/steps.def"
#undef STEPS
};

static const struct row *find_row(enum ulp_steps runtime, const struct ulp_operator *op)
{
    for (size_t i = 0; runtime != ULP_STEPS_ALIKE && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].runtime == runtime && strcmp(rows[i].name, op->name) == 0)
            return &rows[i];
    return NULL;
}

bool ulp_steps_halve(const struct ulp_arithmetic *arithmetic, const struct ulp_operator *op)
{
    const struct row *row = find_row(arithmetic->steps, op);
    return row && row->rule == HALVED;
}

static void make_strict(struct ulp_arithmetic *out)
{
    out->factor = out->accumulator = out->compute = out->rows = out->sum = out->storage;
    out->place = ULP_ROUND_EACH_STEP;
    out->order = out->reduce = ULP_ORDER_SEQUENTIAL;
    out->cuda_functions = false;
    out->schedule = (struct ulp_schedule){.qdq_integer = out->schedule.qdq_integer};
}

const struct ulp_arithmetic *ulp_steps_arithmetic(const struct ulp_arithmetic *arithmetic,
                                                  const struct ulp_operator *op,
                                                  struct ulp_arithmetic *room)
{
    const struct row *row = find_row(arithmetic->steps, op);
    if (!row || (row->rule == STEPPED && !op->stepped))
        return arithmetic;
    *room = *arithmetic;
    if (row->rule == FUSED)
        room->schedule.epilogue_rounded = false;
    else
        make_strict(room);
    if (row->rule == HALVED)
        room->schedule = arithmetic->schedule;
    if (row->rule == SUMMED) {
        room->rows = arithmetic->rows;
        room->reduce = arithmetic->reduce;
    }
    return room;
}
