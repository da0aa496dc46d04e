/* Rows of steps.def. */
#include "ops/steps.h"

#include <string.h>

enum ulp_steps_rule {
    STRICT, /* every step, also of sums, is rounded to storage, as in NAME-strict */
    FUSED   /* the epilogue is added to the sum before its rounding */
};

static const struct {
    enum ulp_steps runtime;
    const char *name;
    enum ulp_steps_rule rule;
} rows[] = {
#define STEPS(runtime, name, rule, ...) {ULP_STEPS_##runtime, name, rule},
#include "number/format/steps.def"
#undef STEPS
};

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
    if (arithmetic->steps == ULP_STEPS_ALIKE)
        return arithmetic;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].runtime != arithmetic->steps || strcmp(rows[i].name, op->name) != 0)
            continue;
        *room = *arithmetic;
        if (rows[i].rule == STRICT)
            make_strict(room);
        else
            room->schedule.epilogue_rounded = false;
        return room;
    }
    return arithmetic;
}
