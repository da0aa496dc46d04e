/* R(p) of sums and products of two tensors of floats, in FP64 where that is exact: the same numbers
 * as in pairs, in half of the memory. Sums are where no number of either tensor is so
 * large, and none has a last bit so small, that a sum of two may have more than 53 bits; products
 * of 24 bits by 24 always are, and stay within doubles' range. */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/vectorise.h"
#include "run/walk.h"

/* Exponents as floats have them: x is below 2^(most - 126) and a multiple of 2^(least - 150). */
struct span {
    const float *x;
    atomic_int least, most;
};
#define EXPONENT_END 255 /* of what is not finite */
/* Fewer results take no time in pairs, and their node is compiled once more. */
#define RESULTS_MIN ((size_t)1 << 15)

static ULP_VECTORISE void find_exponents(const float *x, size_t count, int *least_out,
                                         int *most_out)
{
    int least = *least_out, most = *most_out;
    for (size_t i = 0; i < count; i++) {
        int bits;
        memcpy(&bits, &x[i], sizeof bits);
        const int exponent = bits >> 23 & 0xFF, own = exponent > 1 ? exponent : 1,
                  significand = (bits & 0x7FFFFF) | (exponent ? 1 << 23 : 0);
        const float last = (float)(significand & -significand); /* a power of two, or 0 */
        int last_bits;
        memcpy(&last_bits, &last, sizeof last_bits);
        const int unit = significand ? own + (last_bits >> 23) - 127 : EXPONENT_END;
        least = unit < least ? unit : least;
        most = own > most ? own : most;
    }
    *least_out = least;
    *most_out = most;
}

ULP_WORK(look_at_part)
{
    struct span *span = context;
    int least = EXPONENT_END, most = 0;
    find_exponents(span->x + first, last - first, &least, &most);
    for (int seen = atomic_load(&span->least);
         least < seen && !atomic_compare_exchange_weak(&span->least, &seen, least);)
        ;
    for (int seen = atomic_load(&span->most);
         most > seen && !atomic_compare_exchange_weak(&span->most, &seen, most);)
        ;
    return ULP_OK;
}

enum ulp_status ulp_evaluate_exact(struct ulp_lane *reference, const struct ulp_step *step,
                                   const struct ulp_linear *from, struct ulp_evaluation *out,
                                   bool *done, struct ulp_error *error)
{
    const struct ulp_operator *op = step->bound.op;
    const struct ulp_tensor *const *inputs = from->inputs;
    const bool product = strcmp(op->name, "Mul") == 0,
               sum = strcmp(op->name, "Add") == 0 || strcmp(op->name, "Sub") == 0;
    int least = EXPONENT_END, most = 0;
    *done = false;
    if (!from->moved || op->domain || !(product || sum) || step->input_count != 2 ||
        from->results->count < RESULTS_MIN || !ulp_evaluates_plainly(reference, step, from, out) ||
        inputs[0]->element != ULP_ELEMENT_F32 || inputs[1]->element != ULP_ELEMENT_F32)
        return ULP_OK;
    for (int i = 0; i < 2; i++) {
        struct span span = {.x = inputs[i]->data, .least = EXPONENT_END};
        ULP_TRY(ulp_parallel_for(reference->pool, inputs[i]->count, ulp_grain(1), look_at_part,
                                 &span, error));
        least = span.least < least ? span.least : least;
        most = span.most > most ? span.most : most;
    }
    /* |x| + |y| < 2^(most - 125) */
    *done = most < EXPONENT_END && (product || most - 125 - (least - 150) <= 53);
    return *done ? ulp_run_in_doubles(reference, step, inputs, out->here, error) : ULP_OK;
}
