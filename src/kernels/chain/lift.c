#include "kernels/chain/lift.h"

#include <string.h>

#include "kernels/operand/pack.h"
#include "base/memory/alloc.h"

/* Patterns of floats, in the order of their magnitudes: 2^-126, 2^-62, 2^63, infinity. */
enum { NORMAL = 0x00800000, LOW = 0x20800000, HIGH = 0x5f000000, INFINITE = 0x7f800000 };

/* With fewer lines copies cost more. */
enum { LINES_MIN = 8 };

/* Is there a subnormal number in one cache line of 64? Fewer cost little. */
static bool meets_subnormal(const struct ulp_tensor *tensor)
{
    enum { LINE = 16, STEP = 64 * LINE };
    const uint32_t *x = tensor->data;
    uint32_t any = 0;
    for (size_t at = 0; at + LINE <= tensor->count; at += STEP)
        for (size_t i = 0; i < LINE; i++)
            any |= (x[at + i] & INT32_MAX) - 1 < NORMAL - 1;
    return any;
}

/* The least magnitude but zero, less one (all ones: there is none), and the greatest. */
struct ends {
    uint32_t low, high;
};

static struct ends find_ends(const struct ulp_tensor *tensor)
{
    const uint32_t *x = tensor->data;
    struct ends ends = {UINT32_MAX, 0};
    for (size_t i = 0; i < tensor->count; i++) {
        const uint32_t magnitude = x[i] & INT32_MAX;
        ends.low = magnitude - 1 < ends.low ? magnitude - 1 : ends.low;
        ends.high = magnitude > ends.high ? magnitude : ends.high;
    }
    return ends;
}

/* All is finite, and times 2^64 or 2^-64 finite and zero or normal. */
static bool may_rise(const struct ulp_tensor *tensor)
{
    return find_ends(tensor).high < HIGH;
}
static bool may_sink(const struct ulp_tensor *tensor)
{
    const struct ends ends = find_ends(tensor);
    return ends.high < INFINITE && (ends.low == UINT32_MAX || ends.low + 1 >= LOW);
}

/* Is every step a product and a sum of the factors' floats, rounded once? */
static bool is_fused(const struct ulp_chains *chains, const struct ulp_arithmetic *arithmetic,
                     const struct ulp_contraction *problem)
{
    return !problem->onto && chains->rule.step == ULP_STEP_FLOAT && chains->rule.fused &&
           !chains->pairwise && !ulp_pack_make(arithmetic, problem, 0).round &&
           !ulp_pack_make(arithmetic, problem, 1).round;
}

/* Times 2^64, by its pattern: the processor would take its time for this product, too. */
static inline uint32_t raise(uint32_t x)
{
    enum { POWER = 64 << 23 };
    const uint32_t magnitude = x & INT32_MAX;
    const float subnormal = (float)(int32_t)magnitude * 0x1p-85f; /* magnitude * 2^-149 * 2^64 */
    uint32_t pattern;
    memcpy(&pattern, &subnormal, sizeof pattern);
    return (x & ~(uint32_t)INT32_MAX) | (magnitude < NORMAL ? pattern : magnitude + POWER);
}

/* The tensor times 2^64, or 2^-64, at `to`; the end of it. */
static void *scale(struct ulp_tensor *out, const struct ulp_tensor *in, void *to, bool up)
{
    const uint32_t *x = in->data;
    uint32_t *raised = to;
    float *sunk = to;
    for (size_t i = 0; i < in->count && up; i++)
        raised[i] = raise(x[i]);
    for (size_t i = 0; i < in->count && !up; i++)
        sunk[i] = ((const float *)in->data)[i] * 0x1p-64f;
    *out = ulp_tensor_view(in);
    out->data = to;
    return raised + in->count;
}

const struct ulp_contraction *ulp_lift(struct ulp_lifted *lifted, const struct ulp_chains *chains,
                                       const struct ulp_arithmetic *arithmetic,
                                       const struct ulp_contraction *problem, struct ulp_pool *pool)
{
    const struct ulp_tensor *a = problem->a.tensor, *b = problem->b.tensor;
    struct ulp_error ignored;
    lifted->memory = NULL;
    if (a->element != ULP_ELEMENT_F32 || b->element != ULP_ELEMENT_F32 || problem->m < LINES_MIN ||
        problem->n < LINES_MIN || !is_fused(chains, arithmetic, problem))
        return problem;
    const bool up = meets_subnormal(a); /* else b rises */
    if (!(up || meets_subnormal(b)) || !may_rise(up ? a : b) || !may_sink(up ? b : a) ||
        ulp_allocate(&lifted->memory, a->count + b->count, sizeof(float), ulp_pool_scratch(pool),
                     "factors without subnormal numbers", &ignored) != ULP_OK)
        return problem;
    void *rest = scale(&lifted->factors[0], a, lifted->memory, up);
    scale(&lifted->factors[1], b, rest, !up);
    lifted->problem = *problem;
    lifted->problem.a.tensor = &lifted->factors[0];
    lifted->problem.b.tensor = &lifted->factors[1];
    return &lifted->problem;
}
