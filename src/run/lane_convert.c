/* What a lane converts: values for an arithmetic; constants, lowered when a step reads them first.
 */

#include "base/error.h"
#include "number/format/scaling.h"
#include "number/round/round.h"
#include "run/lane.h"
#include "tensor/lower.h"
#include "tensor/stored.h"

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
    enum ulp_status status = ulp_tensor_create_like(out, value, ulp_storage_element(&storage),
                                                    storage.precision, budget, error);
    ULP_THEN(status, ulp_tensor_convert(out, value, is_narrow(value) ? NULL : &storage,
                                        arithmetic->rounding, arithmetic->seed, pool, error));
    if (status != ULP_OK)
        ulp_tensor_free(out);
    return status;
}

/* How a reader has the constant lowered. */
struct lowering {
    const struct ulp_arithmetic *arithmetic;
    struct ulp_format from, storage;
    bool converts;
    size_t bytes; /* of the result */
};

static enum ulp_status find_lowering(const struct ulp_lane *lane,
                                     const struct ulp_program_slot *slot, struct ulp_reader reader,
                                     struct lowering *out, struct ulp_error *error)
{
    const struct ulp_tensor *constant = slot->constant;
    out->arithmetic = reader.inside ? &lane->mix->fusion->items[reader.arithmetic].inner
                                    : &lane->mix->items[reader.arithmetic];
    ULP_TRY(ulp_format_find(slot->wide ? "fp32" : ulp_type_rows[constant->type].format, &out->from,
                            error));
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
static enum ulp_status lower_constant(struct ulp_tensor *out, struct ulp_program_slot *slot,
                                      struct ulp_reader reader, struct ulp_lane *lane,
                                      struct ulp_error *error)
{
    const struct ulp_tensor *constant = slot->constant;
    struct lowering how;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor bounded = ulp_tensor_view(constant);
    if (constant->element == ULP_ELEMENT_PACKED)
        return ulp_tensor_in_memory(out, constant, lane->budget, lane->pool, error);
    ULP_TRY(find_lowering(lane, slot, reader, &how, error));
    if (!how.converts && constant->element != ULP_ELEMENT_STORED)
        return ULP_OK;
    if (how.converts)
        ULP_TRY(ulp_tensor_lower(&bounded, constant, &how.storage, how.arithmetic->constants,
                                 &slot->magnitudes, lane->budget, error));
    return how.converts ? ulp_adapt(out, &bounded, &how.from, how.arithmetic, reader.mixed,
                                    lane->budget, lane->pool, error)
                        : ulp_tensor_in_memory(out, constant, lane->budget, lane->pool, error);
}

/* Which run of slot_count of the lane's values (struct ulp_lane) has constants as the reader takes
 * them: one for each arithmetic, then one for each that computes inside kernels, then the declared
 * ones. */
static size_t constant_run(const struct ulp_lane *lane, struct ulp_reader reader)
{
    const size_t inner = reader.inside ? lane->mix->count : 0;
    return reader.declared ? (lane->mix->fusion ? 2 : 1) * lane->mix->count
                           : reader.arithmetic + inner;
}

enum ulp_status ulp_lane_constant(struct ulp_lane *lane, int slot, struct ulp_reader reader,
                                  const struct ulp_tensor **out, struct ulp_error *error)
{
    struct ulp_program_slot *source = &lane->block->slots[slot];
    const size_t at = constant_run(lane, reader) * lane->block->slot_count + (size_t)slot;
    struct ulp_tensor *value = &lane->values[at];
    *out = value->type == ULP_TYPE_UNDEFINED ? source->constant : value;
    if (source->constant->element == ULP_ELEMENT_PACKED && reader.packed) {
        *out = source->constant;
        return ULP_OK;
    }
    if (*out == value || (!ulp_is_stored(source->constant) &&
                          (reader.declared || !ulp_element_is_float(source->constant->element))))
        return ULP_OK;
    enum ulp_status status = lower_constant(value, source, reader, lane, error);
    if (status != ULP_OK) {
        ulp_tensor_free(value);
        return ulp_fail_at(error, status, "constant '%s'", source->name);
    }
    if (value->owned) {
        *out = value;
    } else {
        *value = (struct ulp_tensor){0};
    }
    return ULP_OK;
}

struct ulp_reader ulp_lane_reader(const struct ulp_lane *lane, const struct ulp_step *step,
                                  size_t i)
{
    return (struct ulp_reader){ulp_mix_index(lane->mix, step->number),
                               ulp_takes_mixed(step, i) ||
                                   (i == 0 && ulp_views_constant(lane, step)),
                               ulp_mix_reads_inside(lane->mix, step, i),
                               ulp_reads_declared(step, i, ulp_lane_arithmetic(lane, step),
                                                  ulp_mix_joins(lane->mix, step->number)),
                               ulp_takes_packed(step, i) && !lane->trace && !lane->probe};
}

const struct ulp_arithmetic *ulp_lane_reads(const struct ulp_lane *lane,
                                            const struct ulp_step *step, size_t i)
{
    return ulp_mix_reads_inside(lane->mix, step, i)
               ? &lane->mix->fusion->items[ulp_mix_index(lane->mix, step->number)].inner
               : ulp_mix_arithmetic(lane->mix, step->number);
}

/* Draws of stochastic rounding are numbered by places in the whole product. */
static bool draws(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->rounding == ULP_ROUND_STOCHASTIC ||
           arithmetic->schedule.operand_rounding == ULP_ROUND_STOCHASTIC;
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
           find_lowering(lane, &lane->block->slots[step->inputs[i]], ulp_lane_reader(lane, step, i),
                         &how, NULL) == ULP_OK &&
           how.bytes > lane->lowered_bytes_max &&
           (how.converts || constant->element == ULP_ELEMENT_STORED);
}
