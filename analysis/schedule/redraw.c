#include "analysis/schedule/redraw.h"

#include "run/program/program.h"
#include "tensor/tensor.h"

/* The types of a graph as declared say it themselves: perturbing takes a type's own where it has
 * fewer. */
static int find_precision(const struct ulp_arithmetic *arithmetic)
{
    if (arithmetic->as_declared)
        return 53;
    return arithmetic->factor.precision < arithmetic->storage.precision
               ? arithmetic->factor.precision
               : arithmetic->storage.precision;
}

struct ulp_perturbation ulp_redraw(const struct ulp_arithmetic *arithmetic, uint64_t seed)
{
    return (struct ulp_perturbation){.precision = find_precision(arithmetic), .seed = seed};
}

enum ulp_status ulp_redraw_inputs(const struct ulp_tensor_set *inputs,
                                  const struct ulp_perturbation *perturbation,
                                  struct ulp_budget *budget, struct ulp_tensor_set *out,
                                  struct ulp_error *error)
{
    for (size_t i = 0; i < inputs->count; i++) {
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor moved = {0};
        ULP_TRY(ulp_tensor_perturb(&moved, &inputs->items[i].tensor, perturbation->precision,
                                   perturbation->seed, inputs->items[i].name, budget, error));
        if (perturbation->held)
            ulp_tensor_shorten(&moved, &inputs->items[i].tensor, perturbation->precision);
        ULP_TRY(ulp_tensor_set_add(out, inputs->items[i].name, &moved, error));
    }
    return ULP_OK;
}

/* FP64 is exact beside what has half its bits. */
static bool is_exact_beside(const struct ulp_program *program,
                            const struct ulp_arithmetic *arithmetic)
{
    const struct ulp_block *block = program->main;
    if (!arithmetic->as_declared)
        return arithmetic->storage.precision <= 26;
    for (size_t v = 0; v < block->slot_count; v++)
        if (block->slots[v].shape.type == ULP_TYPE_DOUBLE)
            return false;
    return true;
}

enum ulp_status ulp_redraw_reference(const struct ulp_program *program,
                                     const struct ulp_arithmetic *reference,
                                     const struct ulp_arithmetic *arithmetic,
                                     struct ulp_arithmetic *out, struct ulp_error *error)
{
    *out = *reference;
    return is_exact_beside(program, arithmetic) ? ulp_arithmetic_find("fp64", out, error) : ULP_OK;
}
