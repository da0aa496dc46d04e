/* Creating a plan, and checking inputs against it. */
#include "run/plan/open_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "base/options.h"
#include "base/memory/reserve.h"
#include "run/kept.h"

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

/* The steps of a plan are those of all its lanes; what is exact anyway may stand beside. */
static enum ulp_status find_joining(struct ulp_plan *plan, struct ulp_error *error)
{
    enum { EXACT_BITS = 53 };
    const struct ulp_arithmetic *other = NULL;
    for (size_t l = 0; l < plan->lane_count; l++) {
        plan->joins_attention |= plan->lanes[l].attention_joined;
        if (!plan->lanes[l].attention_joined &&
            (plan->lanes[l].as_declared || plan->lanes[l].storage.precision < EXACT_BITS))
            other = &plan->lanes[l];
    }
    return plan->joins_attention && other
               ? ulp_fail(error, ULP_ERROR_USAGE,
                          "written-attention=kernel makes other nodes of the graph, which all "
                          "arithmetics of a run have: add it to '%s', too, or run that by itself",
                          other->name)
               : ULP_OK;
}

static enum ulp_status fill_plan(struct ulp_plan *plan, const struct ulp_arithmetic *lanes,
                                 size_t lane_count, const struct ulp_plan_options *options,
                                 const struct ulp_opening *opening, struct ulp_error *error)
{
    const size_t draws = ulp_reserve_draws();
    ULP_TRY(ulp_arena_create(&plan->arena, &plan->budget, error));
    ULP_TRY(ulp_pool_create(&plan->pool, 1, error));
    plan->lanes = ulp_arena_take(plan->arena, lane_count, sizeof *lanes);
    ULP_TRY(ulp_taken(plan->lanes, error));
    memcpy(plan->lanes, lanes, lane_count * sizeof *lanes);
    plan->lane_count = lane_count;
    ULP_TAKE(plan->mixes, plan->arena, lane_count, error);
    ULP_TAKE(plan->groupings, plan->arena, lane_count, error);
    ULP_TAKE(plan->names, plan->arena, lane_count, error);
    for (size_t l = 0; l < lane_count; l++)
        plan->mixes[l] = (struct ulp_mix){.count = 1, .items = &plan->lanes[l]};
    plan->wants_integers = wants_integers(lanes, lane_count, options->keeps);
    ulp_pool_set_root(plan->pool, plan->budget.root);
    ULP_TRY(find_joining(plan, error));
    ULP_TRY(ulp_arithmetic_find("fp32", &plan->exact, error));
    if (opening) {
        ULP_TAKE(plan->opening, plan->arena, 1, error);
        *plan->opening = *opening;
    }
    ULP_TRY(ulp_plan_expand(plan, error));
    if (options->inputs)
        ULP_TRY(ulp_model_check_inputs(plan->model, options->inputs, error));
    ULP_TRY(ulp_plan_fold(plan, options, error));
    static const struct ulp_keeps none;
    for (size_t l = 0; l < lane_count; l++) {
        const char *name = options->names ? options->names[l] : NULL;
        if (name && !(plan->names[l] = ulp_arena_copy(plan->arena, name)))
            return ulp_out_of_memory(error);
        if (lanes[l].scales_static && !lanes[l].ranges)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s: static scales need ranges, of a file: scales=ranges.json; "
                            "ulpscope scales --calibrate writes one",
                            lanes[l].name);
        if (lanes[l].fuse == ULP_FUSE_GROUPS)
            ULP_TRY(ulp_plan_group(plan, l, options->groups ? &options->groups[l] : NULL, error));
        ULP_TRY(ulp_plan_keep(plan, l, options->keeps ? &options->keeps[l] : &none, error));
    }
    if (options->perturbation.precision > 0)
        ULP_TRY(ulp_plan_perturb(plan, &options->perturbation, error));
    ULP_TRY(ulp_reserve_check(draws, error));
    ulp_pool_free(plan->pool);
    plan->pool = NULL;
    return plan->opening ? ULP_OK : ulp_plan_check_memory(plan, false, error);
}

enum ulp_status ulp_plan_create(const struct ulp_model *model, const struct ulp_arithmetic *lanes,
                                size_t lane_count, const struct ulp_plan_options *options,
                                struct ulp_plan **out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    *out = NULL;
    ULP_OPTIONS_TAKE(ulp_plan_options, options, error);
    return ulp_plan_make(model, lanes, lane_count, options, NULL, out, error);
}

enum ulp_status ulp_plan_make(const struct ulp_model *model, const struct ulp_arithmetic *lanes,
                              size_t lane_count, const struct ulp_plan_options *options,
                              const struct ulp_opening *opening, struct ulp_plan **out,
                              struct ulp_error *error)
{
    *out = NULL;
    if (lane_count == 0)
        return ulp_fail(error, ULP_ERROR_USAGE, "a plan needs at least one arithmetic");
    struct ulp_plan *plan = calloc(1, sizeof *plan);
    ULP_TRY(ulp_taken(plan, error));
    plan->model = model;
    ulp_budget_open(&plan->budget, ulp_model_budget(model));
    ulp_budget_open(&plan->constants, ulp_model_budget(model));
    ulp_budget_open(&plan->prepared, ulp_model_budget(model));
    enum ulp_status status = ulp_kept_create(&plan->kept, ulp_model_budget(model), error);
    if (status == ULP_OK)
        status = fill_plan(plan, lanes, lane_count, options, opening, error);
    if (status == ULP_OK)
        *out = plan;
    else
        ulp_plan_free(plan);
    return status;
}

void ulp_plan_free(struct ulp_plan *plan)
{
    if (!plan)
        return;
    ulp_kept_free(plan->kept);
    for (size_t b = 0; b < plan->block_count; b++) {
        struct ulp_block *block = plan->blocks[b];
        for (size_t v = 0; v < block->slot_count; v++)
            ulp_tensor_free(block->slots[v].folded);
        bool moved = block->inlined_in && block->inlined_in->folded; /* its steps are freed there */
        for (size_t s = 0; s < block->step_count && !moved; s++) {
            ulp_unbind(&block->steps[s].bound);
            if (block->steps[s].integer)
                ulp_unbind(&block->steps[s].integer->bound);
        }
    }
    for (size_t i = 0; i < plan->left_count; i++)
        ulp_unbind(&plan->left[i]);
    ulp_names_free(&plan->problems.names);
    for (size_t l = 0; plan->mixes && l < plan->lane_count; l++)
        ulp_arena_free(plan->mixes[l].memory);
    for (struct ulp_perturbed *p = plan->perturbed; p; p = p->before)
        ulp_tensor_free(&p->tensor);
    ulp_arena_free(plan->arena);
    ulp_pool_free(plan->pool);
    ulp_budget_close(&plan->budget);
    ulp_budget_close(&plan->constants);
    ulp_budget_close(&plan->prepared);
    free(plan);
}

bool ulp_plan_takes(const struct ulp_plan *plan, const struct ulp_tensor_set *inputs)
{
    const struct ulp_block *block = plan->main;
    bool same = true;
    for (size_t i = 0; i < block->input_count && same; i++) {
        const struct ulp_plan_slot *slot = &block->slots[block->inputs[i]];
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, slot->name);
        same = !given || ulp_tensor_same_shape(given, &slot->shape);
    }
    return same;
}

bool ulp_plan_same_nodes(const struct ulp_plan *a, const struct ulp_plan *b)
{
    const size_t nodes = a->node_count, slots = a->main->slot_count;
    bool same =
        b->node_count == nodes && b->main->slot_count == slots && b->lane_count == a->lane_count;
    for (size_t n = 0; n < nodes && same; n++)
        same = strcmp(ulp_plan_node_name(a, n), ulp_plan_node_name(b, n)) == 0 &&
               strcmp(ulp_plan_node_op(a, n), ulp_plan_node_op(b, n)) == 0;
    for (size_t v = 0; v < slots && same; v++)
        same = strcmp(a->main->slots[v].name, b->main->slots[v].name) == 0;
    return same;
}

size_t ulp_plan_node_count(const struct ulp_plan *plan)
{
    return plan->node_count;
}

const char *ulp_plan_node_name(const struct ulp_plan *plan, size_t index)
{
    return plan->nodes[index].step->name;
}

const char *ulp_plan_node_op(const struct ulp_plan *plan, size_t index)
{
    return plan->nodes[index].step->bound.node->op_type;
}
