/* Estimating the memory of a run: the largest set of values alive at one step, over all lanes,
 * with an audit's further evaluations. */
#include <string.h>

#include "base/error.h"
#include "run/lane.h"

/* In all lanes; an input of the model takes none where it is held as given. */
static double lanes_bytes(const struct ulp_program *program, const struct ulp_block *block,
                          int slot)
{
    const size_t holder = ulp_slot_holder(block, slot);
    double bytes = 0;
    for (size_t l = 0; l < program->lane_count; l++)
        if (holder != ULP_NO_NODE || !program->mixes[l].of_node)
            bytes += ulp_slot_bytes(
                &block->slots[slot],
                &program->mixes[l]
                     .items[holder == ULP_NO_NODE ? 0 : ulp_mix_index(&program->mixes[l], holder)]);
    return bytes;
}

/* The lane's own copies of constants that the step uses and the lane cannot take as the model has
 * them. Weights that are lowered in blocks take none that counts. */
static double converted_bytes(const struct ulp_program *program, const struct ulp_block *block,
                              const struct ulp_step *step, const struct ulp_arithmetic *lane)
{
    const size_t limit = ulp_budget_limit(&program->budget);
    double bytes = 0;
    for (size_t i = 0; i < step->input_count; i++) {
        const struct ulp_tensor *constant =
            step->inputs[i] >= 0 ? block->slots[step->inputs[i]].constant : NULL;
        const struct ulp_slot *slot =
            i < step->bound.input_slot_count ? &step->bound.inputs[i] : NULL;
        struct ulp_format from, storage;
        if (constant && constant->element == ULP_ELEMENT_PACKED && !(slot && slot->packed))
            bytes += (double)constant->count;
        if (!constant || (slot && slot->table) || !ulp_element_is_float(constant->element) ||
            ulp_format_find(ulp_type_rows[constant->type].format, &from, NULL) != ULP_OK ||
            ulp_lane_format(lane, constant->type, &storage, NULL) != ULP_OK)
            continue;
        const bool converts =
            !ulp_reads_declared(step, i, lane, NULL) &&
            ulp_needs_conversion(constant, &from, &storage, ulp_takes_mixed(step, i));
        const size_t element_bytes =
            converts ? ulp_element_bytes(ulp_storage_element(&storage), storage.precision)
            : constant->element == ULP_ELEMENT_STORED ? sizeof(float)
                                                      : 0;
        const double own = (double)constant->count * (double)element_bytes;
        if (!limit || !(slot && slot->in_blocks) || own <= (double)(limit / ULP_TUNE_LOWERED_SHARE))
            bytes += own;
    }
    return bytes;
}

/* What auditing lane 1, 2, ... adds while a step is observed: single in the lane's storage, here in
 * the reference's, and of one lane at a time what is read for that. */
static double audit_bytes(const struct ulp_program *program, const struct ulp_block *block,
                          const struct ulp_step *step)
{
    double bytes = 0;
    for (size_t o = 0; o < step->output_count; o++)
        for (size_t l = 1; step->outputs[o] >= 0 && l < program->lane_count; l++)
            bytes += ulp_slot_bytes(&block->slots[step->outputs[o]],
                                    ulp_mix_arithmetic(&program->mixes[l], step->number)) +
                     ulp_slot_bytes(&block->slots[step->outputs[o]],
                                    ulp_mix_arithmetic(&program->mixes[0], step->number));
    for (size_t i = 0; program->lane_count > 1 && i < step->input_count; i++)
        if (step->inputs[i] >= 0 && !block->slots[step->inputs[i]].constant)
            bytes += ulp_slot_bytes(&block->slots[step->inputs[i]],
                                    ulp_mix_arithmetic(&program->mixes[0], step->number));
    return bytes;
}

/* The most that is alive at one step of the block, or of the branches in it, beside `live` bytes
 * that are there throughout. */
static struct ulp_peak find_peak(const struct ulp_program *program, const struct ulp_block *block,
                                 bool audit, double live)
{
    struct ulp_peak peak = {0};
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        struct ulp_peak least = {
            0}; /* of an If's branches; a Loop or Scan may have no iteration at all */
        for (size_t a = 0; step->bound.blocks && a < step->bound.attribute_count; a++)
            if (step->bound.blocks[a] && strcmp(step->bound.op->name, "If") == 0) {
                struct ulp_peak inside = find_peak(program, step->bound.blocks[a], audit, live);
                least = !least.node || inside.bytes < least.bytes ? inside : least;
            }
        for (size_t o = 0; o < step->output_count; o++)
            if (step->outputs[o] >= 0)
                live += lanes_bytes(program, block, step->outputs[o]);
        double now = live + (audit ? audit_bytes(program, block, step) : 0);
        for (size_t l = 0; l < program->lane_count && !step->folded; l++)
            now += converted_bytes(program, block, step,
                                   ulp_mix_arithmetic(&program->mixes[l], step->number));
        if (least.bytes > now)
            now = least.bytes;
        if (now > peak.bytes || !peak.node)
            peak =
                (struct ulp_peak){now, least.bytes == now && least.node ? least.node : step->name};
        for (size_t d = 0; d < step->dead_count; d++)
            /* what is captured is the enclosing block's */
            if (block->slots[step->dead[d]].outer < 0)
                live -= lanes_bytes(program, block, step->dead[d]);
    }
    return peak;
}

static struct ulp_peak find_values_peak(const struct ulp_program *program, bool audit)
{
    const struct ulp_block *block = program->main;
    double live = 0;
    for (size_t i = 0; i < block->input_count; i++)
        live += lanes_bytes(program, block, block->inputs[i]);
    return find_peak(program, block, audit, live);
}

void ulp_program_find_peak(struct ulp_program *program)
{
    program->peak = find_values_peak(program, false);
    program->peak_limit = ulp_budget_limit(&program->budget);
}

double ulp_program_peak(const struct ulp_program *program, bool audit, const char **node)
{
    const struct ulp_peak peak = audit || program->peak_limit != ulp_budget_limit(&program->budget)
                                     ? find_values_peak(program, audit)
                                     : program->peak;
    if (node)
        *node = peak.node;
    return (double)program->model->budget.used_bytes + (double)program->budget.used_bytes +
           (double)program->constants.used_bytes + peak.bytes;
}

enum ulp_status ulp_program_check_memory(const struct ulp_program *program, bool audit,
                                         struct ulp_error *error)
{
    const size_t limit_bytes = ulp_budget_limit(&program->budget);
    const char *node = NULL;
    const double bytes = limit_bytes ? ulp_program_peak(program, audit, &node) : 0;
    if (bytes <= (double)limit_bytes)
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_MEMORY,
                    "%s: at node '%s' the model and the values of %zu lane%s need %.1f MiB, more "
                    "than the memory limit of %.1f MiB; raise --max-memory or audit fewer "
                    "arithmetics at once",
                    program->model->path, node, program->lane_count,
                    program->lane_count == 1 ? "" : "s", bytes / 0x1p20,
                    (double)limit_bytes / 0x1p20);
}
