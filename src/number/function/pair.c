/* Elementary functions as unevaluated sums of two doubles: tables bring the argument so near to a
 * known value that few terms of a series are left, of which the first are summed as pairs. Vectors
 * are GNU C's, so that every instruction set runs the same text. The low parts' bits differ between
 * them, as some have a fused multiply-add; the bounds hold for all, and only correctly rounded
 * results leave number/function. Derivation: number/README.md, 7.2. */
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

#define ERF_ROW 17 /* doubles: three pairs, then coefficients 3 to 13 */
/* Of arguments. From the last three on a result is 1 but for 2^-55. */
#define EXP_MAX 650
#define ANGLE_MAX 0x1p15
#define TANH_MAX 22
#define ERF_MAX 6
#define SIGMOID_MAX 40

typedef void pair_fn(double *restrict high, double *restrict low, double *restrict error,
                     const double *restrict a, const double *restrict b, size_t n);

#if ULP_X86_VECTORS
#include <immintrin.h>
#endif
#define TEMPLATE "number/function/pair_template.h"
#include "base/machine/each_cpu_template.h"

void ulp_function_pairs(enum ulp_primitive primitive, double *restrict high, double *restrict low,
                        double *restrict error, const double *restrict a, const double *restrict b,
                        size_t n)
{
    pair_fn *run = ULP_BY_CPU(functions_avx512, functions_avx2, functions_portable)[primitive];
    const double *second = b ? b : a;
    const size_t rest = n % BLOCK, whole = n - rest;
    run(high, low, error, a, second, whole);
    if (rest) {
        double out[3][BLOCK], in[2][BLOCK] = {{0}};
        memcpy(in[0], a + whole, rest * sizeof *a);
        memcpy(in[1], second + whole, rest * sizeof *a);
        run(out[0], out[1], out[2], in[0], in[1], BLOCK);
        memcpy(high + whole, out[0], rest * sizeof *high);
        memcpy(low + whole, out[1], rest * sizeof *low);
        memcpy(error + whole, out[2], rest * sizeof *error);
    }
}
