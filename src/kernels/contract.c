/* The entry point of contractions: checks the operands, and chooses chains, a matrix unit or the
 * reference. */
#include "kernels/contract.h"

#include <string.h>

#include "base/error.h"
#include "kernels/chain/chains.h"
#include "kernels/byte_pairs.h"
#include "kernels/cublas.h"
#include "base/machine/cpu.h"
#include "base/vectorise.h"
#include "kernels/unit/unit.h"
#include "kernels/pair/pair_contract.h"
#include "kernels/reference.h"
#include "kernels/scaled_contract.h"
#include "number/strip.h"

/* vectors=scalar: one row or column; in TF32 also matrices by matrices for which cuBLAS has no
 * kernel (ONNX Runtime 1.31.1 on an H200: 3,936 of 3,960 shapes so). */
static bool is_off_unit(const struct ulp_arithmetic *arithmetic,
                        const struct ulp_contraction *problem)
{
    return problem->m == 1 || problem->n == 1 ||
           (problem->is_matrices && problem->batch_count > 1 &&
            strcmp(arithmetic->factor.name, "tf32") == 0 &&
            ulp_cublas_find(true, problem->batch_count, problem->m, problem->n, problem->k, false)
                .chain);
}

static enum ulp_status contract_floats(const struct ulp_arithmetic *arithmetic,
                                       const struct ulp_contraction *problem, struct ulp_pool *pool,
                                       struct ulp_error *error);

void ulp_leave_unit(struct ulp_arithmetic *arithmetic)
{
    arithmetic->factor = arithmetic->storage;
    memset(arithmetic->scaling, 0, sizeof arithmetic->scaling);
    arithmetic->schedule.gpu[0] = arithmetic->schedule.unit_class[0] = 0;
    arithmetic->schedule.vectors_scalar = arithmetic->schedule.matmul_scalar = false;
    arithmetic->schedule.operand_rounding = ULP_ROUND_NEAREST_EVEN;
    arithmetic->schedule.fused = arithmetic->order != ULP_ORDER_PAIRWISE;
}

/* Factors with scales that are scaled back, those of the sides (bit 0: a, bit 1: b). */
static enum ulp_status contract_back(const struct ulp_arithmetic *arithmetic,
                                     const struct ulp_contraction *problem, unsigned which,
                                     struct ulp_pool *pool, struct ulp_error *error)
{
    struct ulp_arithmetic plain = *arithmetic;
    struct ulp_contraction sub = *problem;
    ULP_SCOPED(ulp_scaled_free_sides) struct ulp_scaled sides[2] = {{0}};
    memset(plain.scaling, 0, sizeof plain.scaling);
    memset(&plain.weights, 0, sizeof plain.weights);
    for (int side = 0; side < 2; side++) {
        if (!(which >> side & 1))
            continue;
        ULP_TRY(ulp_scaled_make(&sides[side], ulp_scaled_choose(arithmetic, problem, side), problem,
                                side, false, ULP_ROUND_NEAREST_EVEN, pool, error));
        ULP_TRY(ulp_scaled_back(&sides[side], &arithmetic->factor,
                                ulp_storage_element(&arithmetic->storage), pool, error));
        struct ulp_factor *factor = side ? &sub.b : &sub.a;
        *factor = ulp_scaled_factor(&sides[side]);
        factor->ready = false;
    }
    return contract_floats(&plain, &sub, pool, error);
}

static enum ulp_status contract_floats(const struct ulp_arithmetic *arithmetic,
                                       const struct ulp_contraction *problem, struct ulp_pool *pool,
                                       struct ulp_error *error)
{
    if (problem->onto && arithmetic->order != ULP_ORDER_BLOCKED)
        return ulp_contract_unit(arithmetic, problem, pool, error);
    if (arithmetic->accumulator.pairs)
        return ulp_contract_by_pairs(arithmetic, problem, pool, error);
    if (arithmetic->accumulator.carrier == ULP_CARRIER_MPFR)
        return ulp_contract_wide(arithmetic, problem, pool, error);
    if (arithmetic->weights.name[0])
        return contract_back(arithmetic, problem, problem->weights, pool, error);
    /* sums of nothing have no scales, either */
    if (problem->k == 0 || (arithmetic->schedule.matmul_scalar && !problem->is_cudnn) ||
        (arithmetic->schedule.vectors_scalar && is_off_unit(arithmetic, problem))) {
        struct ulp_arithmetic scalar = *arithmetic;
        ulp_leave_unit(&scalar);
        struct ulp_chains chains = ulp_chains_make(&scalar, problem);
        return ulp_chains_run(&chains, &scalar, problem, ulp_cpu_features(), pool, error);
    }
    if (ulp_scaling_is_fake(arithmetic))
        return contract_back(arithmetic, problem, 3, pool, error);
    if (arithmetic->scaling[0].name[0])
        return ulp_contract_scaled(arithmetic, problem, pool, error);
    if (arithmetic->schedule.unit_class[0])
        return ulp_contract_unit(arithmetic, problem, pool, error);
    struct ulp_chains chains = ulp_chains_make(arithmetic, problem);
    if (arithmetic->factor.carrier == ULP_CARRIER_MPFR)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "%s: factors in %s need an accumulator in mpfr:P, not %s", arithmetic->name,
                        arithmetic->factor.name, arithmetic->accumulator.name);
    if (chains.rule.step == ULP_STEP_EXACT && !chains.rule.fused &&
        arithmetic->compute.carrier == ULP_CARRIER_MPFR)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "%s: products of %s in %s need an accumulator in mpfr:P, not %s; give "
                        "compute= a format of at most 53 bits",
                        arithmetic->name, arithmetic->factor.name, arithmetic->compute.name,
                        arithmetic->accumulator.name);
    return ulp_chains_run(&chains, arithmetic, problem, ulp_cpu_features(), pool, error);
}

static int64_t integer_at(const struct ulp_tensor *tensor, size_t i)
{
    return tensor->element == ULP_ELEMENT_I32 ? ((const int32_t *)tensor->data)[i]
                                              : ulp_tensor_get_int(tensor, i);
}

/* *out: the factor's tensor in another element: U32 or U64, as sums modulo 2^bits only need the
 * operands modulo 2^bits, or a float that holds every value. */
static enum ulp_status convert_factor(struct ulp_tensor *out, const struct ulp_tensor *in,
                                      enum ulp_type type, struct ulp_pool *pool,
                                      struct ulp_error *error)
{
    const struct ulp_strip_rule as_it_is = {.each_step = false};
    ULP_TRY(ulp_tensor_describe(out, type, ULP_ELEMENT_COUNT, 0, in->rank, in->dims, error));
    ULP_TRY(ulp_tensor_allocate(out, ulp_pool_scratch(pool), error));
    if (!ulp_element_is_float(out->element))
        return ulp_tensor_convert(out, in, NULL, ULP_ROUND_NEAREST_EVEN, 0, pool, error);
    ulp_strip_tables[out->element == ULP_ELEMENT_F32 ? ULP_STRIP_FLOAT : ULP_STRIP_DOUBLE]->load(
        &as_it_is, out->data, in, 0, NULL, 1, in->count);
    return ULP_OK;
}

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? -(uint64_t)x : (uint64_t)x;
}
static double larger(double x, double y)
{
    return x > y ? x : y;
}

/* Of INT32, as most factors are. */
ULP_VECTORISE static double find_largest_of(const int32_t *x, size_t count)
{
    int32_t low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return larger(-(double)low, (double)high);
}

/* The largest magnitude; 2^64 for any above 2^53. */
static double find_largest_integer(const struct ulp_tensor *tensor)
{
    uint64_t largest = 0;
    if (tensor->element == ULP_ELEMENT_I32)
        return find_largest_of(tensor->data, tensor->count);
    for (size_t i = 0; i < tensor->count; i++) {
        const uint64_t x = magnitude(integer_at(tensor, i));
        largest = x > largest ? x : largest;
    }
    return largest > (uint64_t)1 << 53 ? 0x1p64 : (double)largest;
}

/* The largest sum of a line's magnitudes, exact below 2^53: rounded sums of positive numbers do not
 * come back below it. */
static double find_largest_line(const struct ulp_factor *factor, size_t batch_count,
                                size_t line_count, size_t k_count)
{
    double result = 0;
    for (size_t g = 0; g < batch_count; g++)
        for (size_t i = 0; i < line_count; i++) {
            const int64_t first =
                (factor->batch_offset ? factor->batch_offset[g] : 0) + factor->line_offset[i];
            double sum = 0;
            for (size_t k = 0; k < k_count; k++)
                sum += (double)magnitude(
                    integer_at(factor->tensor, (size_t)(first + factor->k_offset[k])));
            result = larger(result, sum);
        }
    return result;
}

#define FLOAT_LIMIT 0x1p24
#define DOUBLE_LIMIT 0x1p53

/* No sum of some of an output's products is above this: the largest products k times or, when that
 * is too much for floats, the sums of one side's lines times the other side's largest element.
 * Rounding is monotone, so what is below 2^53 here is so exactly. */
static double bound_sums(const struct ulp_contraction *problem)
{
    const double a = find_largest_integer(problem->a.tensor),
                 b = find_largest_integer(problem->b.tensor);
    const double products = a * b * (double)problem->k;
    if (products < FLOAT_LIMIT || a * b >= DOUBLE_LIMIT)
        return products;
    const double lines =
        problem->m <= problem->n
            ? find_largest_line(&problem->a, problem->batch_count, problem->m, problem->k) * b
            : find_largest_line(&problem->b, problem->batch_count, problem->n, problem->k) * a;
    return lines < products ? lines : products;
}

/* Exact sums modulo 2^bits of out's type. When every partial sum is an integer that FP32 or FP64
 * holds, |sum| < 2^24 or 2^53, their chains are exact and far faster than the integers' own: 8-bit
 * factors have such sums for any k there is memory for. */
static enum ulp_status contract_integers(const struct ulp_contraction *problem,
                                         struct ulp_pool *pool, struct ulp_error *error)
{
    const unsigned cpu = ulp_cpu_features();
    const bool small = problem->out->element_bytes <= sizeof(uint32_t);
    /* plain float tiles are no faster */
    const double bound = cpu & ULP_CPU_AVX2 ? bound_sums(problem) : DOUBLE_LIMIT;
    const bool is_float = bound < FLOAT_LIMIT, is_double = !is_float && bound < DOUBLE_LIMIT;
    const enum ulp_type type = is_float    ? ULP_TYPE_FLOAT
                               : is_double ? ULP_TYPE_DOUBLE
                               : small     ? ULP_TYPE_UINT32
                                           : ULP_TYPE_UINT64;
    const struct ulp_arithmetic arithmetic = {0}; /* nothing is rounded */
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor a = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor b = {0};
    struct ulp_contraction converted = *problem;
    converted.a.tensor = &a;
    converted.b.tensor = &b;
    converted.a.padding = converted.b.padding = NULL; /* nothing is infinite: the zeros there do */
    converted.store = false;
    const struct ulp_chains chains = {.rule = {.step = is_float    ? ULP_STEP_FLOAT
                                                       : is_double ? ULP_STEP_DOUBLE
                                                       : small     ? ULP_STEP_UINT32
                                                                   : ULP_STEP_UINT64,
                                               .fused = true}};
    ULP_TRY(convert_factor(&a, problem->a.tensor, type, pool, error));
    ULP_TRY(convert_factor(&b, problem->b.tensor, type, pool, error));
    return ulp_chains_run(&chains, &arithmetic, &converted, cpu, pool, error);
}

enum ulp_status ulp_contract(const struct ulp_arithmetic *arithmetic,
                             const struct ulp_contraction *problem, struct ulp_pool *pool,
                             struct ulp_error *error)
{
    bool float_a = ulp_element_is_float(problem->a.tensor->element);
    bool float_b = ulp_element_is_float(problem->b.tensor->element);
    bool float_out = ulp_element_is_float(problem->out->element);
    if (float_a != float_out || float_b != float_out)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "contraction of %s with %s into %s: integers and floats do not mix",
                        ulp_type_name(problem->a.tensor->type),
                        ulp_type_name(problem->b.tensor->type), ulp_type_name(problem->out->type));
    if (problem->pairs)
        return ulp_contract_pairs(problem, pool, error);
    if (!float_out)
        return contract_integers(problem, pool, error);
    return contract_floats(arithmetic, problem, pool, error);
}
