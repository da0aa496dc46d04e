/* Elementary functions as unevaluated sums of two doubles: tables bring the argument so near to a
 * known value that few terms of a series are left, of which the first are summed as pairs. Vectors
 * are GNU C's, so that every instruction set runs the same text, and gives the same bits: the fused
 * multiply-add only finds residuals of products. Derivation: number/README.md, 7.2. */
#include "number/function/pair.h"
#include "base/machine/cpu.h"
#include "number/function/pair_tables.h"

#include <float.h>
#include <string.h>

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))
#define UNDECIDED ((double)__builtin_nanf(""))
#define SIGN UINT64_C(0x8000000000000000)
#define BLOCK 8 /* a multiple of every width */

/* Adding 1.5 * 2^52 rounds to an integer, which the sum's low bits then hold. */
#define SHIFTER 0x1.8p52

#define ERF_ROW 22 /* doubles */
/* Of arguments. */
#define EXP_MAX 650
#define ANGLE_MAX 0x1p15

/* in: the high and low parts of a, then of b. */
typedef void pair_fn(double *high, double *low, double *error, const double *const in[4], size_t n);

#if ULP_X86_VECTORS
#include <immintrin.h>
#endif
#define TEMPLATE "number/function/pair_template.h"
#include "base/machine/each_cpu_template.h"

void ulp_function_pairs(enum ulp_primitive primitive, double *high, double *low, double *error,
                        const double *a_high, const double *a_low, const double *b_high,
                        const double *b_low, size_t n)
{
    static const double zeros[ULP_STRIP];
    pair_fn *run = ULP_BY_CPU(functions_avx512, functions_avx2, functions_portable)[primitive];
    const double *const in[4] = {a_high, a_low ? a_low : zeros, b_high ? b_high : zeros,
                                 b_low ? b_low : zeros};
    const size_t rest = n % BLOCK, whole = n - rest;
    double copies[4][BLOCK] = {{0}}, out[3][BLOCK];
    const double *const last[4] = {copies[0], copies[1], copies[2], copies[3]};
    for (int k = 0; k < 4; k++)
        memcpy(copies[k], in[k] + whole, rest * sizeof(double));
    run(high, low, error, in, whole);
    if (rest) {
        run(out[0], out[1], out[2], last, BLOCK);
        memcpy(high + whole, out[0], rest * sizeof *high);
        memcpy(low + whole, out[1], rest * sizeof *low);
        memcpy(error + whole, out[2], rest * sizeof *error);
    }
}

bool ulp_pairs_to_odd(double *high, double *low, double *error, size_t n)
{
    for (size_t i = n; i % BLOCK != 0; i++)
        high[i] = low[i] = error[i] = 0;
    return ULP_BY_CPU(round_to_odd_avx512, round_to_odd_avx2, round_to_odd_portable)(high, low,
                                                                                     error, n);
}
