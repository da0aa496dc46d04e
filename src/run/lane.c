#include "run/lane.h"

#include <string.h>

#include "base/error.h"
#include "number/round/round.h"

enum ulp_status ulp_lane_create(struct ulp_lane *out, const struct ulp_arithmetic *arithmetic,
                                const struct ulp_block *block, struct ulp_budget *budget,
                                struct ulp_pool *pool, struct ulp_error *error)
{
    *out =
        (struct ulp_lane){.arithmetic = arithmetic, .block = block, .budget = budget, .pool = pool};
    void *values, *kept = NULL;
    enum ulp_status status = ulp_allocate_zero(&values, block->slot_count + 1, sizeof *out->values,
                                               budget, "values of a lane", error);
    if (status == ULP_OK)
        status = ulp_allocate_zero(&kept, block->slot_count + 1, sizeof *out->kept, budget,
                                   "values of a lane", error);
    out->values = values;
    out->kept = kept;
    return status;
}

/* The slot's constant as the lane uses it. */
static const struct ulp_tensor *own_constant(const struct ulp_lane *lane, int slot)
{
    return lane->values[slot].type == ULP_TYPE_UNDEFINED ? lane->block->slots[slot].constant
                                                         : &lane->values[slot];
}

static void drop_slot(struct ulp_lane *lane, int slot)
{
    if (lane->kept[slot])
        ulp_packed_drop(lane->packed, own_constant(lane, slot));
    lane->kept[slot] = false;
    ulp_tensor_free(&lane->values[slot]);
}

static bool is_factor(const struct ulp_plan_slot *slot)
{
    return slot->constant && ulp_element_is_float(slot->constant->element) &&
           slot->constant->count > 1;
}

/* Keep (or drop) the constants of a step's bodies, and of bodies in them. */
static enum ulp_status keep_bodies(struct ulp_lane *lane, const struct ulp_step *step, bool keep,
                                   struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (int a = 0; a < ULP_ATTRIBUTES_MAX && status == ULP_OK; a++) {
        const struct ulp_block *body = step->bound.blocks[a];
        for (size_t v = 0; body && v < body->slot_count && status == ULP_OK; v++)
            if (is_factor(&body->slots[v]) && keep)
                status = ulp_packed_keep(lane->packed, body->slots[v].constant, error);
            else if (is_factor(&body->slots[v]))
                ulp_packed_drop(lane->packed, body->slots[v].constant);
        for (size_t s = 0; body && s < body->step_count && status == ULP_OK; s++)
            if (body->steps[s].bound.blocks)
                status = keep_bodies(lane, &body->steps[s], keep, error);
    }
    return status;
}

static void drop_bodies(struct ulp_lane *lane)
{
    if (lane->bodies_of)
        keep_bodies(lane, lane->bodies_of, false, NULL);
    lane->bodies_of = NULL;
}

enum ulp_status ulp_lane_keep_bodies(struct ulp_lane *lane, const struct ulp_step *step,
                                     struct ulp_error *error)
{
    if (!step->bound.blocks || lane->bodies_of == step)
        return ULP_OK;
    drop_bodies(lane);
    lane->bodies_of = step;
    return keep_bodies(lane, step, true, error);
}

void ulp_lane_free(struct ulp_lane *lane)
{
    for (size_t v = 0; lane->values && lane->kept && v < lane->block->slot_count; v++)
        drop_slot(lane, (int)v);
    drop_bodies(lane);
    ulp_free(lane->values);
    ulp_free(lane->kept);
    *lane = (struct ulp_lane){0};
}

/* A constant of a block that runs again. */
static bool stays(const struct ulp_lane *lane, int slot)
{
    return lane->keeps_constants && lane->block->slots[slot].constant;
}

void ulp_lane_clear(struct ulp_lane *lane)
{
    for (size_t v = 0; lane->values && v < lane->block->slot_count; v++)
        if (!stays(lane, (int)v))
            drop_slot(lane, (int)v);
}

void ulp_lane_drop(struct ulp_lane *lane, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->dead_count; i++)
        if (!stays(lane, step->dead[i]))
            drop_slot(lane, step->dead[i]);
    drop_bodies(lane);
}

enum ulp_status ulp_lane_format(const struct ulp_arithmetic *arithmetic, enum ulp_type type,
                                struct ulp_format *out, struct ulp_error *error)
{
    if (arithmetic->as_declared)
        return ulp_format_find(ulp_type_rows[type].format, out, error);
    *out = arithmetic->storage;
    return ULP_OK;
}

/* Floats of 8 bits and fewer keep their own format in every lane: ulp_call_storage. */
static bool is_narrow(const struct ulp_tensor *value)
{
    return ulp_type_rows[value->type].file_bits <= 8;
}

bool ulp_needs_conversion(const struct ulp_tensor *value, const struct ulp_format *from,
                          const struct ulp_format *storage, bool mixed)
{
    enum ulp_element element = ulp_storage_element(storage);
    bool same = value->element == element &&
                (element != ULP_ELEMENT_WIDE || value->precision == storage->precision);
    return !(is_narrow(value) || ulp_format_holds(storage, from)) || !(same || mixed);
}

enum ulp_status ulp_adapt(struct ulp_tensor *out, const struct ulp_tensor *value,
                          const struct ulp_format *from, const struct ulp_arithmetic *arithmetic,
                          bool mixed, struct ulp_budget *budget, struct ulp_pool *pool,
                          struct ulp_error *error)
{
    struct ulp_format storage;
    *out = ulp_tensor_view(value);
    if (!ulp_element_is_float(value->element))
        return ULP_OK;
    enum ulp_status status = ulp_lane_format(arithmetic, value->type, &storage, error);
    if (status != ULP_OK)
        return status;
    if (!ulp_needs_conversion(value, from, &storage, mixed))
        return ULP_OK;
    status = ulp_tensor_describe(out, value->type, ulp_storage_element(&storage), storage.precision,
                                 value->rank, value->dims, error);
    if (status == ULP_OK)
        status = ulp_tensor_allocate(out, budget, error);
    if (status == ULP_OK)
        status = ulp_tensor_convert(out, value, is_narrow(value) ? NULL : &storage,
                                    arithmetic->rounding, arithmetic->seed, pool, error);
    if (status != ULP_OK)
        ulp_tensor_free(out);
    return status;
}

enum ulp_status ulp_lane_value(struct ulp_lane *lane, int slot, bool mixed,
                               const struct ulp_tensor **out, struct ulp_error *error)
{
    *out = NULL;
    if (slot < 0)
        return ULP_OK;
    struct ulp_tensor *value = &lane->values[slot];
    const struct ulp_tensor *constant = lane->block->slots[slot].constant;
    *out = value;
    if (value->type != ULP_TYPE_UNDEFINED)
        return ULP_OK;
    if (!constant)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "value '%s' has not been computed",
                        lane->block->slots[slot].name);
    *out = constant;
    if (!ulp_element_is_float(constant->element))
        return ULP_OK;
    struct ulp_format from;
    enum ulp_status status = ulp_format_find(ulp_type_rows[constant->type].format, &from, error);
    if (status == ULP_OK)
        status = ulp_adapt(value, constant, &from, lane->arithmetic, mixed, lane->budget,
                           lane->pool, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "constant '%s'", lane->block->slots[slot].name);
    if (value->owned)
        *out = value;
    else
        *value = (struct ulp_tensor){0};
    if (!lane->repeats || lane->kept[slot] || !is_factor(&lane->block->slots[slot]))
        return ULP_OK;
    status = ulp_packed_keep(lane->packed, *out, error);
    lane->kept[slot] = status == ULP_OK;
    return status;
}

bool ulp_is_parameter(const struct ulp_step *step, size_t i)
{
    return (i < step->bound.input_slot_count && i < step->own_input_count &&
            step->bound.inputs[i].kind == 'p') ||
           (i >= step->own_input_count && !step->bound.blocks);
}

enum ulp_status ulp_lane_input(struct ulp_lane *lane, const struct ulp_step *step, size_t i,
                               const struct ulp_tensor **out, struct ulp_error *error)
{
    int slot = step->inputs[i];
    const struct ulp_tensor *constant =
        slot >= 0 && ulp_is_parameter(step, i) ? lane->block->slots[slot].constant : NULL;
    if (!constant)
        return ulp_lane_value(lane, slot, ulp_takes_mixed(step, i), out, error);
    *out = constant;
    return ULP_OK;
}
