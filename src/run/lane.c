/* A lane's values: converting constants and inputs, freeing after the last use. */
#include "run/lane.h"

#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "number/round/round.h"
#include "run/kept.h"
#include "tensor/lower.h"
#include "tensor/stored.h"
#include "number/format/scaling.h"

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
    void *values, *kept = NULL;
    enum ulp_status status =
        ulp_allocate(&values, count, sizeof *out->values, budget, "values of a lane", error);
    for (size_t v = 0; v < count && status == ULP_OK; v++)
        clear_value((struct ulp_tensor *)values + v);
    if (status == ULP_OK)
        status =
            ulp_allocate_zero(&kept, count, sizeof *out->kept, budget, "values of a lane", error);
    out->values = values;
    out->kept = kept;
    return status;
}

/* Of a run of the lane's values, which begins with that one, the slot's: its value, or its constant
 * as the lane uses it in one of its arithmetics. */
static void drop_value(struct ulp_lane *lane, size_t first, size_t slot)
{
    const size_t value = first + slot;
    struct ulp_tensor *tensor = &lane->values[value];
    const struct ulp_tensor *constant = lane->block->slots[slot].constant;
    const bool is_own = tensor->type != ULP_TYPE_UNDEFINED,
               left = lane->left && (constant || (first == 0 && lane->block->slots[slot].left));
    if (!is_own && !left && !lane->kept[value])
        return;
    if (lane->kept[value])
        ulp_packed_drop(lane->packed, is_own ? tensor : constant);
    else if (left && (is_own || constant))
        ulp_packed_pass(lane->packed, is_own ? tensor : constant);
    if (left && is_own && !tensor->owned)
        ulp_kept_release(lane->left, lane->left_place + value);
    lane->kept[value] = false;
    ulp_tensor_free(tensor);
}

static void drop_slot(struct ulp_lane *lane, int slot)
{
    for (size_t run = 0; run < count_values(lane); run += lane->block->slot_count)
        drop_value(lane, run, (size_t)slot);
}

/* Keep (or drop) the constants of a step's bodies, and of bodies in them. */
static enum ulp_status keep_bodies(struct ulp_lane *lane, const struct ulp_step *step, bool keep,
                                   struct ulp_error *error)
{
    for (int a = 0; a < ULP_ATTRIBUTES_MAX; a++) {
        const struct ulp_block *body = step->bound.blocks[a];
        for (size_t v = 0; body && v < body->slot_count; v++)
            if (ulp_is_factor(&body->slots[v]) && keep)
                ULP_TRY(ulp_packed_keep(lane->packed, body->slots[v].constant, error));
            else if (ulp_is_factor(&body->slots[v]))
                ulp_packed_drop(lane->packed, body->slots[v].constant);
        for (size_t s = 0; body && s < body->step_count; s++)
            if (body->steps[s].bound.blocks)
                ULP_TRY(keep_bodies(lane, &body->steps[s], keep, error));
    }
    return ULP_OK;
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
        return ulp_format_find(ulp_type_format(arithmetic, type), out, error);
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
    bool same = (value->element == element ||
                 (value->element == ULP_ELEMENT_STORED && element == ULP_ELEMENT_F32)) &&
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
    ULP_TRY(ulp_lane_format(arithmetic, value->type, &storage, error));
    if (!ulp_needs_conversion(value, from, &storage, mixed))
        return ulp_tensor_in_memory(out, value, budget, pool, error);
    enum ulp_status status =
        ulp_tensor_describe(out, value->type, ulp_storage_element(&storage), storage.precision,
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

const struct ulp_arithmetic *ulp_lane_holder(const struct ulp_lane *lane, int slot)
{
    const size_t holder = ulp_slot_holder(lane->block, slot);
    return holder == ULP_NO_NODE ? lane->mix->items : ulp_mix_holds(lane->mix, holder);
}

const struct ulp_arithmetic *ulp_lane_reads(const struct ulp_lane *lane,
                                            const struct ulp_step *step, size_t i)
{
    return ulp_mix_reads_inside(lane->mix, step, i)
               ? &lane->mix->fusion->items[ulp_mix_index(lane->mix, step->number)].inner
               : ulp_mix_arithmetic(lane->mix, step->number);
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
    if (status == ULP_OK)
        status = ulp_adapt(converted, &stored, &storage, &lane->mix->items[reader.arithmetic],
                           reader.mixed, lane->budget, lane->pool, error);
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

/* How a reader has the constant lowered. */
struct lowering {
    const struct ulp_arithmetic *arithmetic;
    struct ulp_format from, storage;
    bool converts;
    size_t bytes; /* of the result */
};

static enum ulp_status find_lowering(const struct ulp_lane *lane, const struct ulp_tensor *constant,
                                     struct ulp_reader reader, struct lowering *out,
                                     struct ulp_error *error)
{
    out->arithmetic = reader.inside ? &lane->mix->fusion->items[reader.arithmetic].inner
                                    : &lane->mix->items[reader.arithmetic];
    ULP_TRY(ulp_format_find(ulp_type_rows[constant->type].format, &out->from, error));
    ULP_TRY(ulp_lane_format(out->arithmetic, constant->type, &out->storage, error));
    out->converts =
        !reader.declared && ulp_needs_conversion(constant, &out->from, &out->storage, reader.mixed);
    out->bytes =
        constant->count * (out->converts ? ulp_element_bytes(ulp_storage_element(&out->storage),
                                                             out->storage.precision)
                                         : sizeof(float));
    return ULP_OK;
}

/* As a converter to the arithmetic does; a constant that needs no conversion stays the model's
 * where it is in memory. */
static enum ulp_status lower_constant(struct ulp_tensor *out, struct ulp_plan_slot *slot,
                                      struct ulp_reader reader, struct ulp_lane *lane,
                                      struct ulp_error *error)
{
    const struct ulp_tensor *constant = slot->constant;
    struct lowering how;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor bounded = ulp_tensor_view(constant);
    struct ulp_budget *budget = NULL;
    if (constant->element == ULP_ELEMENT_PACKED)
        return ulp_tensor_in_memory(out, constant, lane->budget, lane->pool, error);
    ULP_TRY(find_lowering(lane, constant, reader, &how, error));
    if (!how.converts && constant->element != ULP_ELEMENT_STORED)
        return ULP_OK;
    if (how.converts)
        ULP_TRY(ulp_tensor_lower(&bounded, constant, &how.storage, how.arithmetic->constants,
                                 &slot->magnitudes, lane->budget, error));
    if (lane->left)
        budget = ulp_kept_room(lane->left, how.bytes);
    if (!budget)
        budget = lane->budget;
    return how.converts ? ulp_adapt(out, &bounded, &how.from, how.arithmetic, reader.mixed, budget,
                                    lane->pool, error)
                        : ulp_tensor_in_memory(out, constant, budget, lane->pool, error);
}

/* Leaves the value to further runs where it was charged to them. */
static bool is_left(struct ulp_lane *lane, size_t at)
{
    struct ulp_tensor *value = &lane->values[at];
    return lane->left && ulp_charged(value->data) != lane->budget &&
           ulp_kept_leave(lane->left, lane->left_place + at, value);
}

struct ulp_budget *ulp_lane_room(const struct ulp_lane *lane, const struct ulp_step *step)
{
    size_t bytes = 0;
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && lane->block->slots[step->outputs[o]].left)
            bytes += (size_t)ulp_slot_bytes(&lane->block->slots[step->outputs[o]],
                                            ulp_lane_arithmetic(lane, step));
    struct ulp_budget *room = lane->left && bytes ? ulp_kept_room(lane->left, bytes) : NULL;
    return room ? room : lane->budget;
}

void ulp_lane_leave(struct ulp_lane *lane, int slot)
{
    const struct ulp_tensor *value = &lane->values[slot];
    if (value->owned && value->count)
        is_left(lane, (size_t)slot);
}

bool ulp_lane_find_left(struct ulp_lane *lane)
{
    const struct ulp_block *block = lane->block;
    bool found = true;
    for (size_t v = 0; v < block->slot_count && found; v++)
        found = !block->slots[v].left ||
                ulp_kept_find(lane->left, lane->left_place + v, &lane->values[v]);
    for (size_t v = 0; v < block->slot_count && !found; v++)
        if (block->slots[v].left)
            drop_value(lane, 0, v);
    return found;
}

/* Which run of the lane's values has constants for the reader. */
static size_t find_run(const struct ulp_lane *lane, struct ulp_reader reader)
{
    const size_t inner = reader.inside ? lane->mix->count : 0;
    return reader.declared ? (lane->mix->fusion ? 2 : 1) * lane->mix->count
                           : reader.arithmetic + inner;
}

/* FP32 where that is what is stored, as most constants are: it is neither lowered nor left to
 * further runs, which is seen without looking for it among those that were. An arithmetic may take
 * FP32's subnormals or infinity from it. */
static bool stays_as_it_lies(const struct ulp_lane *lane, const struct ulp_tensor *constant,
                             struct ulp_reader reader)
{
    const struct ulp_arithmetic *arithmetic = &lane->mix->items[reader.arithmetic];
    return lane->left && constant->type == ULP_TYPE_FLOAT && constant->element == ULP_ELEMENT_F32 &&
           !reader.inside && !arithmetic->as_declared && arithmetic->storage.subnormals &&
           arithmetic->storage.overflow == ULP_OVERFLOW_INFINITY &&
           strcmp(arithmetic->storage.name, "fp32") == 0;
}

/* The constant in an arithmetic of the lane. */
static enum ulp_status read_constant(struct ulp_lane *lane, int slot, struct ulp_reader reader,
                                     const struct ulp_tensor **out, struct ulp_error *error)
{
    struct ulp_plan_slot *planned = &lane->block->slots[slot];
    const size_t at = find_run(lane, reader) * lane->block->slot_count + (size_t)slot;
    struct ulp_tensor *value = &lane->values[at];
    *out = value->type == ULP_TYPE_UNDEFINED ? planned->constant : value;
    if (planned->constant->element == ULP_ELEMENT_PACKED && reader.packed) {
        *out = planned->constant;
        return ULP_OK;
    }
    if (*out == value || stays_as_it_lies(lane, planned->constant, reader) ||
        (!ulp_is_stored(planned->constant) &&
         (reader.declared || !ulp_element_is_float(planned->constant->element))))
        return ULP_OK;
    if (lane->left && ulp_kept_find(lane->left, lane->left_place + at, value)) {
        *out = value;
        return ULP_OK;
    }
    enum ulp_status status = lower_constant(value, planned, reader, lane, error);
    if (status != ULP_OK) {
        ulp_tensor_free(value);
        return ulp_fail_at(error, status, "constant '%s'", planned->name);
    }
    bool stays = lane->left;
    if (value->owned) {
        *out = value;
        stays = is_left(lane, at);
    } else {
        *value = (struct ulp_tensor){0};
    }
    if (!lane->repeats || stays || lane->kept[at] || !ulp_is_factor(planned))
        return ULP_OK;
    status = ulp_packed_keep(lane->packed, *out, error);
    lane->kept[at] = status == ULP_OK;
    return status;
}

/* Draws of stochastic rounding are numbered by places in the whole product. */
static bool draws(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->rounding == ULP_ROUND_STOCHASTIC ||
           arithmetic->schedule.operand_rounding == ULP_ROUND_STOCHASTIC;
}

static struct ulp_reader find_reader(const struct ulp_lane *lane, const struct ulp_step *step,
                                     size_t i)
{
    return (struct ulp_reader){ulp_mix_index(lane->mix, step->number),
                               ulp_takes_mixed(step, i) ||
                                   (i == 0 && ulp_views_constant(lane, step)),
                               ulp_mix_reads_inside(lane->mix, step, i),
                               ulp_reads_declared(step, i, ulp_lane_arithmetic(lane, step)),
                               ulp_takes_packed(step, i) && !lane->trace && !lane->probe};
}

bool ulp_takes_blocks(const struct ulp_lane *lane, const struct ulp_step *step, size_t i)
{
    const struct ulp_tensor *constant =
        i < step->bound.input_slot_count && step->bound.inputs[i].in_blocks && step->inputs[i] >= 0
            ? lane->block->slots[step->inputs[i]].constant
            : NULL;
    struct lowering how;
    return constant && constant->rank == 2 && constant->count > lane->lowered_bytes_max / 1024 &&
           !lane->trace && !lane->probe && !ulp_scaling_is_used(ulp_lane_arithmetic(lane, step)) &&
           (constant->element == ULP_ELEMENT_STORED || constant->element == ULP_ELEMENT_F32) &&
           !draws(ulp_lane_arithmetic(lane, step)) && !draws(ulp_lane_reads(lane, step, i)) &&
           !ulp_step_integer(lane->mix, lane->block, step) &&
           find_lowering(lane, constant, find_reader(lane, step, i), &how, NULL) == ULP_OK &&
           how.bytes > lane->lowered_bytes_max &&
           (how.converts || constant->element == ULP_ELEMENT_STORED);
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
        return read_constant(lane, slot, reader, out, error);
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
    for (size_t i = 0; inputs->converted && i < inputs->count; i++)
        ulp_tensor_free(&inputs->converted[i]);
}

enum ulp_status ulp_lane_input(struct ulp_lane *lane, const struct ulp_step *step, size_t i,
                               struct ulp_tensor *converted, const struct ulp_tensor **out,
                               struct ulp_error *error)
{
    const int slot = ulp_step_slot(step, i, ulp_lane_arithmetic(lane, step));
    if (slot >= 0 && (ulp_is_captured(step, i) ||
                      (ulp_lane_is_uniform(lane) && !lane->block->slots[slot].constant)))
        return read_held(lane, slot, out, error);
    if (slot < 0 || !(ulp_takes_table(lane, step, i) || ulp_takes_blocks(lane, step, i)))
        return ulp_lane_value(lane, slot, find_reader(lane, step, i), converted, out, error);
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
