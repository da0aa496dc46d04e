/* A lane's values: reading them, freeing after the last use. How they are converted:
 * lane_convert.c. */
#include "run/lane.h"

#include "base/memory/alloc.h"
#include "base/error.h"

static size_t count_values(const struct ulp_lane *lane)
{
    return ulp_lane_value_count(lane->mix, lane->block);
}

/* But for dims: they are most of a tensor, and there are none. */
static void clear_value(struct ulp_tensor *value)
{
    value->type = ULP_TYPE_UNDEFINED;
    value->element = ULP_ELEMENT_F32;
    value->precision = value->rank = 0;
    value->count = value->element_bytes = 0;
    value->data = NULL;
    value->owned = false;
}

enum ulp_status ulp_lane_create(struct ulp_lane *out, const struct ulp_mix *mix,
                                const struct ulp_block *block, struct ulp_budget *budget,
                                struct ulp_pool *pool, struct ulp_error *error)
{
    *out = (struct ulp_lane){
        .mix = mix, .block = block, .lowered_bytes_max = SIZE_MAX, .budget = budget, .pool = pool};
    const size_t count = count_values(out) + 1;
    ULP_TRY(
        ulp_allocate(&out->values, count, sizeof *out->values, budget, "values of a lane", error));
    for (size_t v = 0; v < count; v++)
        clear_value(&out->values[v]);
    return ULP_OK;
}

/* The slot's value, or its constant as the lane uses it in each of its arithmetics. */
static void drop_slot(struct ulp_lane *lane, int slot)
{
    for (size_t run = 0; run < count_values(lane); run += lane->block->slot_count)
        ulp_tensor_free(&lane->values[run + (size_t)slot]);
}

void ulp_lane_free(struct ulp_lane *lane)
{
    for (size_t v = 0; lane->values && v < lane->block->slot_count; v++)
        drop_slot(lane, (int)v);
    ulp_free(lane->values);
    ulp_arena_free(lane->scratch);
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

void ulp_lane_clear_inputs(struct ulp_lane *lane, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && !stays(lane, step->inputs[i]))
            drop_slot(lane, step->inputs[i]);
}

void ulp_lane_drop(struct ulp_lane *lane, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->dead_count; i++)
        if (!stays(lane, step->dead[i]))
            drop_slot(lane, step->dead[i]);
}

const struct ulp_arithmetic *ulp_lane_holder(const struct ulp_lane *lane, int slot)
{
    const size_t holder = ulp_slot_holder(lane->block, slot);
    return holder == ULP_NO_NODE ? lane->mix->items : ulp_mix_holds(lane->mix, holder);
}

enum ulp_status ulp_lane_held(const struct ulp_lane *lane, int slot, const struct ulp_tensor *value,
                              struct ulp_format *out, struct ulp_error *error)
{
    return !ulp_lane_is_uniform(lane) && ulp_slot_holder(lane->block, slot) == ULP_NO_NODE
               ? ulp_format_find(ulp_type_rows[value->type].format, out, error)
               : ulp_lane_format(ulp_lane_holder(lane, slot), value->type, out, error);
}

/* What a kernel holds and stores in its storage, for a reader with another. */
static enum ulp_status read_stored(struct ulp_lane *lane, size_t holder,
                                   const struct ulp_tensor *value, const struct ulp_format *from,
                                   struct ulp_reader reader, struct ulp_tensor *converted,
                                   struct ulp_error *error)
{
    const struct ulp_arithmetic *stores = ulp_mix_arithmetic(lane->mix, holder);
    struct ulp_tensor stored;
    struct ulp_format storage;
    ULP_TRY(ulp_adapt(&stored, value, from, stores, false, lane->budget, lane->pool, error));
    enum ulp_status status = ulp_lane_format(stores, value->type, &storage, error);
    ULP_THEN(status, ulp_adapt(converted, &stored, &storage, &lane->mix->items[reader.arithmetic],
                               reader.mixed, lane->budget, lane->pool, error));
    if (status == ULP_OK && !converted->owned)
        *converted = stored;
    else
        ulp_tensor_free(&stored);
    return status;
}

/* A computed value, converted for a reader in another arithmetic than its holder's. */
static enum ulp_status read_across(struct ulp_lane *lane, int slot, struct ulp_reader reader,
                                   struct ulp_tensor *converted, const struct ulp_tensor **out,
                                   struct ulp_error *error)
{
    const size_t holder = ulp_slot_holder(lane->block, slot);
    const struct ulp_tensor *value = &lane->values[slot];
    struct ulp_format from;
    if (!ulp_element_is_float(value->element) || ulp_is_as_given(lane->block, slot) ||
        reader.inside ||
        (holder != ULP_NO_NODE &&
         ulp_mix_holds(lane->mix, holder) == &lane->mix->items[reader.arithmetic]))
        return ULP_OK;
    ULP_TRY(ulp_lane_held(lane, slot, value, &from, error));
    *out = converted;
    if (holder != ULP_NO_NODE && lane->mix->fusion && lane->mix->fusion->nodes[holder].held &&
        ulp_mix_index(lane->mix, holder) != reader.arithmetic)
        return read_stored(lane, holder, value, &from, reader, converted, error);
    return ulp_adapt(converted, value, &from, &lane->mix->items[reader.arithmetic], reader.mixed,
                     lane->budget, lane->pool, error);
}

static enum ulp_status read_held(const struct ulp_lane *lane, int slot,
                                 const struct ulp_tensor **out, struct ulp_error *error)
{
    *out = &lane->values[slot];
    return (*out)->type != ULP_TYPE_UNDEFINED
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_UNSUPPORTED, "value '%s' has not been computed",
                          lane->block->slots[slot].name);
}

enum ulp_status ulp_lane_value(struct ulp_lane *lane, int slot, struct ulp_reader reader,
                               struct ulp_tensor *converted, const struct ulp_tensor **out,
                               struct ulp_error *error)
{
    *out = NULL;
    if (slot < 0)
        return ULP_OK;
    if (lane->block->slots[slot].constant)
        return ulp_lane_constant(lane, slot, reader, out, error);
    const enum ulp_status status = read_held(lane, slot, out, error);
    return status != ULP_OK || ulp_lane_is_uniform(lane)
               ? status
               : read_across(lane, slot, reader, converted, out, error);
}

bool ulp_is_as_given(const struct ulp_block *block, int slot)
{
    for (; block->slots[slot].outer >= 0; block = block->parent)
        slot = block->slots[slot].outer;
    return block->slots[slot].given && !block->slots[slot].data;
}

enum ulp_status ulp_inputs_create(struct ulp_inputs *out, const struct ulp_lane *lane,
                                  const struct ulp_step *step, struct ulp_arena *arena,
                                  struct ulp_error *error)
{
    const bool uniform = ulp_lane_is_uniform(lane);
    const size_t room = step->input_count + 1;
    *out = (struct ulp_inputs){.count = step->input_count,
                               .at = ulp_arena_take(arena, room, sizeof *out->at),
                               .converted =
                                   uniform ? NULL
                                           : ulp_arena_take(arena, room, sizeof *out->converted)};
    return out->at && (uniform || out->converted) ? ULP_OK : ulp_out_of_memory(error);
}

void ulp_inputs_free(struct ulp_inputs *inputs)
{
    ulp_tensors_free(inputs->converted, inputs->count);
}

enum ulp_status ulp_lane_input(struct ulp_lane *lane, const struct ulp_step *step, size_t i,
                               struct ulp_tensor *converted, const struct ulp_tensor **out,
                               struct ulp_error *error)
{
    const int slot = ulp_step_slot(step, i, ulp_lane_arithmetic(lane, step),
                                   ulp_mix_joins(lane->mix, step->number));
    if (slot >= 0 && (ulp_is_captured(step, i) ||
                      (ulp_lane_is_uniform(lane) && !lane->block->slots[slot].constant)))
        return read_held(lane, slot, out, error);
    if (slot < 0 || !(ulp_takes_table(lane, step, i) || ulp_takes_blocks(lane, step, i)))
        return ulp_lane_value(lane, slot, ulp_lane_reader(lane, step, i), converted, out, error);
    *out = lane->block->slots[slot].constant;
    return ULP_OK;
}

enum ulp_status ulp_lane_inputs(struct ulp_lane *lane, const struct ulp_step *step,
                                struct ulp_inputs *out, struct ulp_error *error)
{
    for (size_t i = 0; i < step->input_count; i++)
        ULP_TRY(ulp_lane_input(lane, step, i, out->converted ? &out->converted[i] : NULL,
                               &out->at[i], error));
    return ULP_OK;
}

enum ulp_status ulp_lane_output(struct ulp_lane *lane, int slot, const char *name,
                                struct ulp_budget *budget, struct ulp_tensor_set *outputs,
                                struct ulp_error *error)
{
    const struct ulp_tensor *value;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor converted = {0};
    const size_t holder = ulp_slot_holder(lane->block, slot);
    struct ulp_reader reader = {0};
    if (holder != ULP_NO_NODE) {
        reader.arithmetic = ulp_mix_index(lane->mix, holder);
        reader.inside = lane->mix->fusion && lane->mix->fusion->nodes[holder].cast;
    }
    ULP_TRY(ulp_lane_value(lane, slot, reader, &converted, &value, error));
    ULP_TRY(ulp_tensor_copy(&copy, value, budget, error));
    return ulp_tensor_set_add(outputs, name, &copy, error);
}

enum ulp_status ulp_fit_input(struct ulp_tensor *out, const struct ulp_tensor *given,
                              enum ulp_type declared, struct ulp_budget *budget,
                              struct ulp_pool *pool, struct ulp_error *error)
{
    struct ulp_format format;
    *out = ulp_tensor_view(given);
    if (declared != ULP_TYPE_UNDEFINED && given->element == ulp_type_rows[declared].element &&
        !ulp_type_is_float(declared))
        out->type = declared; /* bytes for integers of 4 bits, as ulp_model_check_inputs allows */
    if (given->type == declared || !ulp_type_is_float(given->type) || !ulp_type_is_float(declared))
        return ULP_OK;
    ULP_TRY(ulp_format_find(ulp_type_rows[declared].format, &format, error));
    ULP_TRY(
        ulp_tensor_describe(out, declared, ULP_ELEMENT_COUNT, 0, given->rank, given->dims, error));
    ULP_TRY(ulp_tensor_allocate(out, budget, error));
    return ulp_tensor_convert(out, given, &format, ULP_ROUND_NEAREST_EVEN, 0, pool, error);
}
