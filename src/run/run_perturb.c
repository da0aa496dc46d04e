/* Multiplying a program's float constants by random factors near 1 (struct ulp_perturbation). */
#include "base/error.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* Scalars and short lists are parts of formulas (an epsilon, an exponent, a factor), and a formula
 * with another exponent is no problem close by. */
#define COUNT_MIN 16

/* What stands for `from` in every slot that has it: one change for all its readers. */
static enum ulp_status find_perturbed(struct ulp_program *program, const struct ulp_tensor *from,
                                      const char *name, const struct ulp_perturbation *perturbation,
                                      struct ulp_tensor **out, struct ulp_error *error)
{
    struct ulp_perturbed *perturbed = program->perturbed;
    while (perturbed && perturbed->from != from)
        perturbed = perturbed->before;
    *out = perturbed ? &perturbed->tensor : NULL;
    if (perturbed)
        return ULP_OK;
    ULP_TAKE(perturbed, program->arena, 1, error);
    *perturbed = (struct ulp_perturbed){.from = from, .before = program->perturbed};
    program->perturbed = perturbed;
    *out = &perturbed->tensor;
    ULP_TRY(ulp_tensor_perturb(&perturbed->tensor, from, perturbation->precision,
                               perturbation->seed, name, &program->constants, error));
    if (perturbation->held)
        ulp_tensor_shorten(&perturbed->tensor, from, perturbation->precision);
    return ULP_OK;
}

enum ulp_status ulp_program_perturb(struct ulp_program *program,
                                    const struct ulp_perturbation *perturbation,
                                    struct ulp_error *error)
{
    for (size_t b = 0; b < program->block_count; b++)
        for (size_t v = 0; v < program->blocks[b]->slot_count; v++) {
            struct ulp_program_slot *slot = &program->blocks[b]->slots[v];
            struct ulp_tensor *moved;
            if (!slot->constant || !ulp_type_is_float(slot->constant->type) ||
                slot->constant->count < COUNT_MIN)
                continue;
            enum ulp_status status =
                find_perturbed(program, slot->constant, slot->name, perturbation, &moved, error);
            ULP_TRY(ulp_fail_at(error, status, "constant '%s'", slot->name));
            slot->constant = moved;
        }
    for (size_t b = 0; b < program->block_count; b++) {
        ULP_TRY(ulp_program_fold_norms(program, program->blocks[b], error));
        ULP_TRY(ulp_program_fold_convs(program, program->blocks[b], error));
    }
    return ULP_OK;
}
