/* Creating a program, and checking inputs against it. */
#include "run/program/open_program.h"

#include <stdlib.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "number/format/scaling.h"
#include "base/options.h"
#include "base/memory/reserve.h"

static bool wants_integers(const struct ulp_arithmetic *lanes, size_t lane_count,
                           const struct ulp_keeps *keeps)
{
    bool wants = false;
    for (size_t l = 0; l < lane_count; l++) {
        wants |= lanes[l].schedule.qdq_integer;
        for (size_t k = 0; keeps && k < keeps[l].count; k++)
            wants |= keeps[l].items[k].arithmetic.schedule.qdq_integer;
    }
    return wants;
}

/* In which types lanes fold BatchNormalizations into weights: with fuse=ort, where what they keep
 * is FP32, fuse=bias and fuse=openvino, and ort-cpu. */
static void find_norms(struct ulp_program *program, const struct ulp_keeps *keeps)
{
    for (size_t l = 0; l < program->lane_count; l++) {
        program->joins_norms[ULP_FOLD_GIVEN] |= program->lanes[l].fuse == ULP_FUSE_OPENVINO;
        program->joins_norms[ULP_FOLD_SINGLE] |=
            program->lanes[l].half_as_float || program->lanes[l].fuse == ULP_FUSE_BIAS;
        if (program->lanes[l].fuse != ULP_FUSE_ORT)
            continue;
        const bool half = strcmp(program->lanes[l].storage.name, "fp16") == 0;
        program->joins_norms[ULP_FOLD_HALF] |= half;
        program->joins_norms[ULP_FOLD_SINGLE] |=
            !half || program->lanes[l].types_declared || (keeps && keeps[l].count);
    }
}

/* Formats of caches are attention's: what they cannot reach is refused. */
static enum ulp_status check_caches(const struct ulp_program *program, struct ulp_error *error)
{
    const struct ulp_written_attention *written = &program->written;
    const struct ulp_arithmetic *cached = NULL;
    size_t found = 0;
    for (size_t l = 0; l < program->lane_count; l++)
        if (ulp_scaling_is_cached(&program->lanes[l]))
            cached = &program->lanes[l];
    for (size_t n = 0; n < program->node_count; n++) {
        const char *kernel = program->nodes[n].step->bound.op->kernel;
        found += kernel && strcmp(kernel, "attention") == 0;
    }
    if (!cached || (found && !written->apart))
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "%s: formats of caches need attention%s%s%s%s",
                    cached->name,
                    written->apart ? ", and that before node "
                                   : "; the graph has none that is known",
                    written->apart ? written->node : "", written->apart ? " is not known: " : "",
                    written->apart ? written->why : "");
}

static enum ulp_status fill_plan(struct ulp_program *program, const struct ulp_arithmetic *lanes,
                                 size_t lane_count, const struct ulp_program_options *options,
                                 const struct ulp_opening *opening, struct ulp_error *error)
{
    const size_t draws = ulp_reserve_draws();
    ULP_TRY(ulp_arena_create(&program->arena, &program->budget, error));
    ULP_TRY(ulp_pool_create(&program->pool, 1, error));
    program->lanes = ulp_arena_take(program->arena, lane_count, sizeof *lanes);
    ULP_TRY(ulp_taken(program->lanes, error));
    memcpy(program->lanes, lanes, lane_count * sizeof *lanes);
    program->lane_count = lane_count;
    ULP_TAKE(program->mixes, program->arena, lane_count, error);
    ULP_TAKE(program->groupings, program->arena, lane_count, error);
    ULP_TAKE(program->names, program->arena, lane_count, error);
    for (size_t l = 0; l < lane_count; l++)
        program->mixes[l] = (struct ulp_mix){.count = 1, .items = &program->lanes[l]};
    program->spelled = options->spelled;
    program->wants_integers = wants_integers(lanes, lane_count, options->keeps);
    find_norms(program, options->keeps);
    ulp_pool_set_root(program->pool, program->budget.root);
    for (size_t l = 0; l < lane_count; l++)
        program->joins_attention |= lanes[l].attention_joined;
    ULP_TRY(ulp_arithmetic_find("fp32", &program->exact, error));
    if (opening) {
        ULP_TAKE(program->opening, program->arena, 1, error);
        *program->opening = *opening;
    }
    ULP_TRY(ulp_program_expand(program, error));
    if (options->inputs)
        ULP_TRY(ulp_model_check_inputs(program->model, options->inputs, error));
    ULP_TRY(ulp_program_fold(program, options, error));
    ULP_TRY(check_caches(program, error));
    static const struct ulp_keeps none;
    for (size_t l = 0; l < lane_count; l++) {
        const char *name = options->names ? options->names[l] : NULL;
        if (name && !(program->names[l] = ulp_arena_copy(program->arena, name)))
            return ulp_out_of_memory(error);
        if (lanes[l].scales_static && !lanes[l].ranges)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s: static scales need ranges, of a file: scales=ranges.json; "
                            "ulpscope quantise --calibrate writes one",
                            lanes[l].name);
        if (lanes[l].fuse == ULP_FUSE_GROUPS)
            ULP_TRY(
                ulp_program_group(program, l, options->groups ? &options->groups[l] : NULL, error));
        ULP_TRY(ulp_program_keep(program, l, options->keeps ? &options->keeps[l] : &none, error));
    }
    if (options->perturbation.precision > 0)
        ULP_TRY(ulp_program_perturb(program, &options->perturbation, error));
    ULP_TRY(ulp_reserve_check(draws, error));
    ulp_pool_free(program->pool);
    program->pool = NULL;
    return program->opening ? ULP_OK : ulp_program_check_memory(program, false, error);
}

enum ulp_status ulp_program_create(const struct ulp_model *model,
                                   const struct ulp_arithmetic *lanes, size_t lane_count,
                                   const struct ulp_program_options *options,
                                   struct ulp_program **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = NULL;
    ULP_OPTIONS_TAKE(ulp_program_options, options, error);
    return ulp_program_make(model, lanes, lane_count, options, NULL, out, error);
}

enum ulp_status ulp_program_make(const struct ulp_model *model, const struct ulp_arithmetic *lanes,
                                 size_t lane_count, const struct ulp_program_options *options,
                                 const struct ulp_opening *opening, struct ulp_program **out,
                                 struct ulp_error *error)
{
    *out = NULL;
    if (lane_count == 0)
        return ulp_fail(error, ULP_ERROR_USAGE, "a program needs at least one arithmetic");
    struct ulp_program *program = calloc(1, sizeof *program);
    ULP_TRY(ulp_taken(program, error));
    program->model = model;
    ulp_budget_open(&program->budget, ulp_model_budget(model));
    ulp_budget_open(&program->constants, ulp_model_budget(model));
    ulp_budget_open(&program->prepared, ulp_model_budget(model));
    const enum ulp_status status = fill_plan(program, lanes, lane_count, options, opening, error);
    if (status == ULP_OK)
        *out = program;
    else
        ulp_program_free(program);
    return status;
}

void ulp_program_free(struct ulp_program *program)
{
    if (!program)
        return;
    for (size_t b = 0; b < program->block_count; b++) {
        struct ulp_block *block = program->blocks[b];
        for (size_t v = 0; v < block->slot_count; v++)
            ulp_tensor_free(block->slots[v].folded);
        bool moved = block->inlined_in && block->inlined_in->folded; /* its steps are freed there */
        for (size_t s = 0; s < block->step_count && !moved; s++) {
            ulp_unbind(&block->steps[s].bound);
            for (struct ulp_integer_form *form = block->steps[s].integer; form; form = form->next)
                ulp_unbind(&form->bound);
        }
    }
    for (size_t i = 0; i < program->removed_count; i++)
        ulp_unbind(&program->removed[i]);
    ulp_names_free(&program->problems.names);
    ulp_names_free(&program->slots);
    for (size_t l = 0; program->mixes && l < program->lane_count; l++)
        ulp_arena_free(program->mixes[l].memory);
    for (struct ulp_perturbed *p = program->perturbed; p; p = p->before)
        ulp_tensor_free(&p->tensor);
    ulp_arena_free(program->arena);
    ulp_pool_free(program->pool);
    free(program);
}

bool ulp_program_takes(const struct ulp_program *program, const struct ulp_tensor_set *inputs)
{
    const struct ulp_block *block = program->main;
    bool same = true;
    for (size_t i = 0; i < block->input_count && same; i++) {
        const struct ulp_program_slot *slot = &block->slots[block->inputs[i]];
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, slot->name);
        same = !given || ulp_tensor_same_shape(given, &slot->shape);
    }
    return same;
}

bool ulp_program_same_nodes(const struct ulp_program *a, const struct ulp_program *b)
{
    const size_t nodes = a->node_count, slots = a->main->slot_count;
    bool same =
        b->node_count == nodes && b->main->slot_count == slots && b->lane_count == a->lane_count;
    for (size_t n = 0; n < nodes && same; n++)
        same = strcmp(ulp_program_node_name(a, n), ulp_program_node_name(b, n)) == 0 &&
               strcmp(ulp_program_node_op(a, n), ulp_program_node_op(b, n)) == 0;
    for (size_t v = 0; v < slots && same; v++)
        same = strcmp(a->main->slots[v].name, b->main->slots[v].name) == 0;
    return same;
}

size_t ulp_program_node_count(const struct ulp_program *program)
{
    return program->node_count;
}

const char *ulp_program_node_name(const struct ulp_program *program, size_t index)
{
    return program->nodes[index].step->name;
}

const char *ulp_program_node_op(const struct ulp_program *program, size_t index)
{
    return program->nodes[index].step->bound.node->op_type;
}
