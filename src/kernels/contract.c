/* The entry point: checks, and which way a contraction goes. */
#include "kernels/contract.h"

#include "base/error.h"
#include "kernels/chains.h"
#include "base/cpu.h"
#include "kernels/unit.h"
#include "kernels/wide.h"

enum ulp_element ulp_accumulator_element(const struct ulp_arithmetic *arithmetic)
{
    return ulp_storage_element(&arithmetic->accumulator);
}

static enum ulp_status contract_floats(const struct ulp_arithmetic *arithmetic, const struct ulp_contraction *problem,
                                       struct ulp_pool *pool, struct ulp_error *error)
{
    if (arithmetic->accumulator.carrier == ULP_CARRIER_MPFR)
        return ulp_contract_wide(arithmetic, problem, pool, error);
    if (arithmetic->schedule.unit_class[0])
        return ulp_contract_unit(arithmetic, problem, pool, error);
    struct ulp_chains chains = ulp_chains_make(arithmetic, problem);
    if (arithmetic->factor.carrier == ULP_CARRIER_MPFR)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "%s: factors in %s need an accumulator in mpfr:P, not %s",
                        arithmetic->name, arithmetic->factor.name, arithmetic->accumulator.name);
    if (chains.rule.step == ULP_STEP_EXACT && !chains.rule.fused && arithmetic->compute.carrier == ULP_CARRIER_MPFR)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "%s: products of %s in %s need an accumulator in mpfr:P, not %s; give compute= a format of at "
                        "most 53 bits",
                        arithmetic->name, arithmetic->factor.name, arithmetic->compute.name,
                        arithmetic->accumulator.name);
    return ulp_chains_run(&chains, arithmetic, problem, ulp_cpu_features(), pool, error);
}

static uint64_t integer_at(const struct ulp_tensor *tensor, size_t i)
{
    return (uint64_t)ulp_tensor_get_int(tensor, i);
}

/* *out: the factor's tensor widened to U32 or U64; sums modulo 2^bits only need the operands modulo 2^bits. */
static enum ulp_status widen(struct ulp_tensor *out, const struct ulp_tensor *in, enum ulp_type type,
                             struct ulp_error *error)
{
    enum ulp_element element = type == ULP_TYPE_UINT32 ? ULP_ELEMENT_U32 : ULP_ELEMENT_U64;
    enum ulp_status status = ulp_tensor_create(out, type, element, 0, in->rank, in->dims, error);
    if (status != ULP_OK)
        return status;
    for (size_t i = 0; i < in->count; i++)
        if (element == ULP_ELEMENT_U32)
            ((uint32_t *)out->data)[i] = (uint32_t)integer_at(in, i);
        else
            ((uint64_t *)out->data)[i] = integer_at(in, i);
    return ULP_OK;
}

static enum ulp_status contract_integers(const struct ulp_arithmetic *arithmetic, const struct ulp_contraction *problem,
                                         struct ulp_pool *pool, struct ulp_error *error)
{
    bool small = problem->out->element_bytes <= sizeof(uint32_t);
    struct ulp_tensor a = {0}, b = {0};
    struct ulp_contraction widened = *problem;
    widened.a.tensor = &a;
    widened.b.tensor = &b;
    enum ulp_status status = widen(&a, problem->a.tensor, small ? ULP_TYPE_UINT32 : ULP_TYPE_UINT64, error);
    if (status == ULP_OK)
        status = widen(&b, problem->b.tensor, small ? ULP_TYPE_UINT32 : ULP_TYPE_UINT64, error);
    if (status == ULP_OK) {
        struct ulp_chains chains = {.rule = {.step = small ? ULP_STEP_UINT32 : ULP_STEP_UINT64, .fused = true}};
        status = ulp_chains_run(&chains, arithmetic, &widened, ulp_cpu_features(), pool, error);
    }
    ulp_tensor_free(&a);
    ulp_tensor_free(&b);
    return status;
}

enum ulp_status ulp_contract(const struct ulp_arithmetic *arithmetic, const struct ulp_contraction *problem,
                             struct ulp_pool *pool, struct ulp_error *error)
{
    bool float_a = ulp_element_is_float(problem->a.tensor->element);
    bool float_b = ulp_element_is_float(problem->b.tensor->element);
    bool float_out = ulp_element_is_float(problem->out->element);
    if (float_a != float_out || float_b != float_out)
        return ulp_fail(error, ULP_ERROR_USAGE, "contraction of %s with %s into %s: integers and floats do not mix",
                        ulp_type_name(problem->a.tensor->type), ulp_type_name(problem->b.tensor->type),
                        ulp_type_name(problem->out->type));
    return float_out ? contract_floats(arithmetic, problem, pool, error)
                     : contract_integers(arithmetic, problem, pool, error);
}
