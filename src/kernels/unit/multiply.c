/* Matrix units for other code: by index, by arithmetic, and products of arrays of raw patterns. */
#include <ulpscope/unit.h>

#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/thread.h"
#include "kernels/unit/unit.h"
#include "number/format/gpu.h"

static void describe_unit(struct ulp_unit_info *out, const struct ulp_unit *unit)
{
    *out = (struct ulp_unit_info){.block = unit->block,
                                  .fraction_bits = unit->fraction_bits,
                                  .operand_bits = ulp_unit_input(unit, 0)->bits,
                                  .accumulator_bits = ulp_unit_accumulator_bits(unit),
                                  .scale_block = unit->scale_block,
                                  .source = ulp_unit_status(unit)};
    ulp_unit_name(unit, out->name, sizeof out->name);
}

bool ulp_unit_info(size_t index, struct ulp_unit_info *out)
{
    const struct ulp_unit *unit = ulp_unit_row(index);
    if (unit)
        describe_unit(out, unit);
    return unit;
}

bool ulp_gpu_info(size_t index, struct ulp_gpu_info *out)
{
    if (index >= ULP_GPU_COUNT)
        return false;
    const struct ulp_gpu_row *row = &ulp_gpus[index];
    *out = (struct ulp_gpu_info){.name = row->name, .unit = row->unit, .known = row->known};
    return true;
}

bool ulp_arithmetic_unit(const struct ulp_arithmetic *arithmetic, struct ulp_unit_info *out)
{
    const struct ulp_unit *unit =
        *arithmetic->schedule.unit_class ? ulp_unit_of(arithmetic, NULL) : NULL;
    if (unit)
        describe_unit(out, unit);
    return unit;
}

/* Bits of an unsigned integer element; 0: it is none. */
static int unsigned_bits(const struct ulp_tensor *tensor)
{
    switch (tensor->element) {
    case ULP_ELEMENT_U8: return 8;
    case ULP_ELEMENT_U16: return 16;
    case ULP_ELEMENT_U32: return 32;
    case ULP_ELEMENT_U64: return 64;
    default: return 0;
    }
}

/* Array `name` of the set with these dimensions (0: any) and bits. Missing: *out is NULL. */
static enum ulp_status find_array(const struct ulp_tensor_set *set, const char *name, int bits,
                                  const int64_t dims[3], const struct ulp_tensor **out,
                                  struct ulp_error *error)
{
    const struct ulp_tensor *tensor = ulp_tensor_set_find(set, name);
    *out = tensor;
    if (!tensor)
        return ULP_OK;
    if (unsigned_bits(tensor) != bits)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "array '%s' is %s: this unit takes raw patterns as UINT%d", name,
                        ulp_type_name(tensor->type), bits);
    bool fits = tensor->rank == 3;
    for (int d = 0; d < 3 && fits; d++)
        fits = dims[d] == 0 || tensor->dims[d] == dims[d];
    if (!fits)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "array '%s': expected 3 dimensions that fit the others: a [T,M,K], b "
                        "[T,N,K], c [T,M,N]",
                        name);
    return ULP_OK;
}

static enum ulp_status missing(const char *name, struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_INPUT, "there is no array '%s'", name);
}

static enum ulp_status multiply_set(const struct ulp_unit *unit, const struct ulp_tensor_set *set,
                                    struct ulp_pool *pool, struct ulp_budget *budget,
                                    struct ulp_tensor *d, struct ulp_error *error)
{
    static const enum ulp_type types[] = {
        [2] = ULP_TYPE_UINT16, [4] = ULP_TYPE_UINT32, [8] = ULP_TYPE_UINT64};
    int bits = ulp_unit_input(unit, 0)->bits, accumulator_bits = ulp_unit_accumulator_bits(unit);
    const struct ulp_tensor *a, *b, *c, *scale_a = NULL, *scale_b = NULL;
    ULP_TRY(find_array(set, "a", bits, (int64_t[3]){0, 0, 0}, &a, error));
    if (!a)
        ULP_TRY(missing("a", error));
    ULP_TRY(find_array(set, "b", bits, (int64_t[3]){a->dims[0], 0, a->dims[2]}, &b, error));
    if (!b)
        ULP_TRY(missing("b", error));
    int64_t dims[3] = {a->dims[0], a->dims[1], b->dims[1]};
    ULP_TRY(find_array(set, "c", accumulator_bits, dims, &c, error));
    if (unit->scale_block) {
        int64_t scales = (a->dims[2] + unit->scale_block - 1) / unit->scale_block;
        ULP_TRY(find_array(set, "scale_a", 8, (int64_t[3]){a->dims[0], a->dims[1], scales},
                           &scale_a, error));
        ULP_TRY(find_array(set, "scale_b", 8, (int64_t[3]){b->dims[0], b->dims[1], scales},
                           &scale_b, error));
        if (!scale_a || !scale_b)
            ULP_TRY(missing(scale_a ? "scale_b" : "scale_a", error));
    }
    ULP_TRY(
        ulp_tensor_describe(d, types[accumulator_bits / 8], ULP_ELEMENT_COUNT, 0, 3, dims, error));
    ULP_TRY(ulp_tensor_allocate(d, budget, error));
    memset(d->data, 0, d->count * d->element_bytes);
    struct ulp_unit_problem problem = {
        .t = (size_t)dims[0],
        .m = (size_t)dims[1],
        .n = (size_t)dims[2],
        .k = (size_t)a->dims[2],
        .a = a->data,
        .b = b->data,
        .c = c ? c->data : d->data,
        .scale_a = scale_a ? scale_a->data : NULL,
        .scale_b = scale_b ? scale_b->data : NULL,
        .d = d->data,
    };
    return ulp_unit_run(unit, &problem, pool, error);
}

enum ulp_status ulp_unit_multiply(const char *name, const struct ulp_tensor_set *arrays,
                                  int thread_count, struct ulp_budget *budget, struct ulp_tensor *d,
                                  struct ulp_error *error)
{
    ULP_ENTER(error);
    const struct ulp_unit *unit = ulp_unit_find(name);
    ULP_SCOPED(ulp_pool_free_of) struct ulp_pool *pool = NULL;
    *d = (struct ulp_tensor){0};
    if (!unit)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "there is no unit '%s'; ulpscope list units has their names", name);
    enum ulp_status status = ulp_pool_create(&pool, thread_count, error);
    ULP_THEN(status, multiply_set(unit, arrays, pool, budget, d, error));
    if (status != ULP_OK)
        ulp_tensor_free(d);
    return status;
}
