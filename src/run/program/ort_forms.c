/* What ONNX Runtime's optimiser makes one operator of, for CUDA, whose kernel rounds elsewhere than
 * the nodes did: QuickGelu in steps of storage, FusedMatMul with a factor that its sums are
 * multiplied by instead of a value before it. By the graphs that it saved
 * (lab/record_ort_joins.py). */
#include "base/error.h"
#include "run/idiom/idiom_read.h"
#include "run/program/program.h"

static int find_index(const struct ulp_block *block, const struct ulp_step *step)
{
    return (int)(step - block->steps);
}

/* The step that computes the slot, which one step alone reads. */
static const struct ulp_step *find_own(const struct ulp_block *block, int slot, const char *name)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    return step && ulp_step_is(step, name) && ulp_block_is_own(block, slot) ? step : NULL;
}

/* A Mul of a value by a number: the value's slot; -1: it is none. */
static int find_scaled(const struct ulp_block *block, const struct ulp_step *mul, double *number)
{
    for (size_t i = 0; mul && i < 2; i++)
        if (ulp_slot_is_scalar(block, ulp_step_input(mul, i), number))
            return ulp_step_input(mul, !i);
    return -1;
}

static struct ulp_attribute float_attribute(const char *name, double value)
{
    return (struct ulp_attribute){.name = name, .kind = ULP_ATTRIBUTE_FLOAT, .f = (float)value};
}

/* x * sigmoid(alpha * x) */
static enum ulp_status find_quick_gelu(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_step *step, struct ulp_error *error)
{
    for (size_t i = 0; ulp_step_is(step, "Mul") && i < 2; i++) {
        const int x = ulp_step_input(step, i);
        const struct ulp_step *sigmoid = find_own(block, ulp_step_input(step, !i), "Sigmoid"),
                              *mul = sigmoid ? find_own(block, ulp_step_input(sigmoid, 0), "Mul")
                                             : NULL;
        double alpha = 1;
        const bool scaled = mul && find_scaled(block, mul, &alpha) == x;
        if (!sigmoid || (!scaled && ulp_step_input(sigmoid, 0) != x))
            continue;
        const struct ulp_own_operator own = {.op = "QuickGelu",
                                             .count = 1,
                                             .attributes = {float_attribute("alpha", alpha)}};
        ULP_TRY(ulp_step_add_form(program, block, step, step, NULL, &own, ULP_FORM_OPTIMISED, &x, 1,
                                  error));
        step->integer->taken[step->integer->taken_count++] = find_index(block, sigmoid);
        if (scaled)
            step->integer->taken[step->integer->taken_count++] = find_index(block, mul);
        return ULP_OK;
    }
    return ULP_OK;
}

/* A constant that is added behind makes a Gemm of the product first. */
static bool becomes_gemm(const struct ulp_block *block, int slot)
{
    const struct ulp_reading *all;
    bool is = false;
    for (size_t r = ulp_block_readings(block, slot, &all); r-- > 0 && !is;) {
        const struct ulp_step *add = all[r].step < 0 ? NULL : &block->steps[all[r].step];
        is = add && ulp_step_is(add, "Add") && ulp_slot_known(block, add->inputs[!all[r].input]);
    }
    return is;
}

/* (a * number) @ (b * number) */
static enum ulp_status find_scaled_product(struct ulp_program *program, struct ulp_block *block,
                                           struct ulp_step *step, struct ulp_error *error)
{
    double alpha = 1;
    int slots[2], taken[2];
    size_t count = 0;
    if (!ulp_step_is(step, "MatMul") || becomes_gemm(block, step->outputs[0]))
        return ULP_OK;
    for (size_t i = 0; i < 2; i++) {
        double number;
        const struct ulp_step *mul = find_own(block, ulp_step_input(step, i), "Mul");
        const int value = find_scaled(block, mul, &number);
        slots[i] = value < 0 ? ulp_step_input(step, i) : value;
        if (value < 0)
            continue;
        alpha *= number;
        taken[count++] = find_index(block, mul);
    }
    const struct ulp_own_operator own = {.op = "FusedMatMul",
                                         .count = 1,
                                         .attributes = {float_attribute("alpha", alpha)}};
    if (!count)
        return ULP_OK;
    ULP_TRY(ulp_step_add_form(program, block, step, step, NULL, &own, ULP_FORM_OPTIMISED, slots, 2,
                              error));
    for (size_t i = 0; i < count; i++)
        step->integer->taken[step->integer->taken_count++] = taken[i];
    return ULP_OK;
}

enum ulp_status ulp_program_ort_forms(struct ulp_program *program, struct ulp_block *block,
                                      struct ulp_error *error)
{
    bool wanted = false;
    for (size_t l = 0; l < program->lane_count; l++)
        wanted |= program->lanes[l].fuse == ULP_FUSE_ORT;
    for (size_t s = 0; wanted && s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        if (step->folded || step->integer || (step->bound.op->domain && *step->bound.op->domain))
            continue;
        ULP_TRY(find_quick_gelu(program, block, step, error));
        ULP_TRY(find_scaled_product(program, block, step, error));
    }
    return ULP_OK;
}
