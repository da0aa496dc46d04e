/* Elementary functions: correctly rounded in FP32, in the small formats for every one of their
 * values, on every instruction set.
 *
 * Most FP32 results are checked by the C library's double functions, which are independent of ours
 * and err by a few units in 2^-53: where that leaves one float possible it is the answer, elsewhere
 * MPFR says. ULPSCOPE_TEST_LONG=1 checks 2^26 arguments of each function, ULPSCOPE_TEST_LONG=full
 * all 2^32. */
#include <pthread.h>

#include "number/function/function.h"
#include "number/round/round.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

static double sigmoid_by_libm(double x)
{
    return 1 / (1 + exp(-x));
}
static double softplus_by_libm(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double rsqrt_by_libm(double x)
{
    return 1 / sqrt(x);
}

static const struct function {
    enum ulp_primitive primitive;
    double (*libm)(double);
} functions[] = {
    {ULP_PRIMITIVE_EXP, exp},
    {ULP_PRIMITIVE_EXPM1, expm1},
    {ULP_PRIMITIVE_LOG, log},
    {ULP_PRIMITIVE_LOG1P, log1p},
    {ULP_PRIMITIVE_SIN, sin},
    {ULP_PRIMITIVE_COS, cos},
    {ULP_PRIMITIVE_TAN, tan},
    {ULP_PRIMITIVE_ASIN, asin},
    {ULP_PRIMITIVE_ACOS, acos},
    {ULP_PRIMITIVE_ATAN, atan},
    {ULP_PRIMITIVE_SINH, sinh},
    {ULP_PRIMITIVE_COSH, cosh},
    {ULP_PRIMITIVE_TANH, tanh},
    {ULP_PRIMITIVE_ASINH, asinh},
    {ULP_PRIMITIVE_ACOSH, acosh},
    {ULP_PRIMITIVE_ATANH, atanh},
    {ULP_PRIMITIVE_ERF, erf},
    {ULP_PRIMITIVE_SIGMOID, sigmoid_by_libm},
    {ULP_PRIMITIVE_SOFTPLUS, softplus_by_libm},
    {ULP_PRIMITIVE_RSQRT, rsqrt_by_libm},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Instruction sets switched off; the tests run in processes of their own, before which no feature
 * was asked for. */
static const char *const disabled[] = {"", "avx512", "avx2"};
enum { DISABLED = sizeof disabled / sizeof disabled[0] };

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static bool same_float(float a, float b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static float round_by_mpfr(enum ulp_primitive primitive, float a, float b)
{
    scoped_mpfr x, y, z;
    mpfr_init2(z, 64);
    mpfr_inits2(24, x, y, (mpfr_ptr)0);
    mpfr_set_flt(x, a, MPFR_RNDN);
    mpfr_set_flt(y, b, MPFR_RNDN);
    oracle_compute(primitive, z, x, y, y); /* to odd, so that mpfr_get_flt rounds once */
    const float result = mpfr_get_flt(z, MPFR_RNDN);
    return result;
}

/* The only float within 2^-45 of glibc's value, or MPFR's verdict; not of other libraries' values:
 * musl's acosh of numbers far below 0 is no NaN. */
static float expected(const struct function *f, float x)
{
#ifndef __GLIBC__
    return round_by_mpfr(f->primitive, x, 0);
#endif
    const double y = f->libm((double)x);
    const float low = (float)(y - y * 0x1p-45), high = (float)(y + y * 0x1p-45);
    if (isnan(y)) /* the domain is not a matter of precision */
        return NAN;
    if (y == 0 && fabsf(x) > 2) /* underflow, beyond doubt for a float */
        return (float)y;
    return y != 0 && low == high ? low : round_by_mpfr(f->primitive, x, 0);
}

static void check_floats(const struct function *f, const float *x, size_t n, bool only_mpfr)
{
    float got[ULP_STRIP];
    ulp_function_floats(f->primitive, got, x, NULL, n);
    for (size_t i = 0; i < n; i++) {
        const float want = only_mpfr ? round_by_mpfr(f->primitive, x[i], 0) : expected(f, x[i]);
        if (!same_float(got[i], want))
            ck_abort_msg("%s(%a) = %a, expected %a", ulp_primitive_rows[f->primitive].name,
                         (double)x[i], (double)got[i], (double)want);
    }
}

/* Every power of two, its neighbours and 3/2 times it, both signs; zeros, infinities, NaN: all by
 * MPFR. */
TEST_LOOP(fp32_at_binades, 0, FUNCTIONS)
{
    float x[ULP_STRIP];
    size_t n = 0;
    for (uint32_t exponent = 0; exponent < 256; exponent++)
        for (uint32_t k = 0; k < 8; k++) {
            static const uint32_t offsets[4] = {0, 1, UINT32_C(0x400000), UINT32_C(0x7fffff)};
            x[n++] = float_of((k & 1) << 31 | exponent << 23 | offsets[k >> 1]);
            if (n == ULP_STRIP || (exponent == 255 && k == 7)) {
                check_floats(&functions[_i], x, n, true);
                n = 0;
            }
        }
}

TEST_LOOP(fp32_correctly_rounded, 0, FUNCTIONS *DISABLED)
{
    const char *mode = getenv("ULPSCOPE_TEST_LONG");
    const bool all = mode && strcmp(mode, "full") == 0;
    const struct function *f = &functions[_i % FUNCTIONS];
    const uint64_t many = _i < FUNCTIONS ? UINT64_C(1) << 26 : UINT64_C(1) << 22;
    const uint64_t count = all ? UINT64_C(1) << 32 : test_count(200000, many);
    setenv("ULPSCOPE_DISABLE_CPU", disabled[_i / FUNCTIONS], 1);
    if (_i >= FUNCTIONS && all)
        return;
    uint64_t state = (uint64_t)_i;
    float x[ULP_STRIP];
    for (uint64_t done = 0; done < count; done += ULP_STRIP) {
        for (size_t i = 0; i < ULP_STRIP; i++) {
            const uint64_t random = oracle_random(&state);
            /* Half of them with exponents from -24 to 7, where the functions are not almost
             * constant or linear. */
            const uint32_t near = (uint32_t)(random & UINT32_C(0x807fffff)) |
                                  (103 + (uint32_t)(random >> 32) % 32) << 23;
            x[i] = float_of(all ? (uint32_t)(done + i) : random >> 63 ? near : (uint32_t)random);
        }
        check_floats(f, x, ULP_STRIP, false);
    }
}

TEST_LOOP(fp32_powers, 0, DISABLED)
{
    static const float specials[] = {0.f,     -0.f,      1.f,
                                     -1.f,    2.f,       -2.f,
                                     3.f,     -3.f,      0.5f,
                                     -0.5f,   INFINITY,  -INFINITY,
                                     NAN,     0x1p-149f, 0x1.fffffep127f,
                                     0x1p24f, -0x1p24f,  0x1.fffffep23f,
                                     1.5f,    0x1p-126f};
    enum { SPECIALS = sizeof specials / sizeof specials[0] };
    const uint64_t count = test_count(20000, UINT64_C(1) << 22);
    uint64_t state = 4;
    float x[ULP_STRIP], y[ULP_STRIP], got[ULP_STRIP];
    setenv("ULPSCOPE_DISABLE_CPU", disabled[_i], 1);
    for (uint64_t done = 0; done < count; done += ULP_STRIP) {
        for (size_t i = 0; i < ULP_STRIP; i++) {
            const uint64_t random = oracle_random(&state), k = done + i;
            x[i] = float_of((uint32_t)(random & UINT32_C(0x807fffff)) |
                            (96 + (uint32_t)(random >> 40) % 64) << 23);
            y[i] = random >> 62 == 0   ? (float)((int)(random >> 32 & 31) - 15)
                   : random >> 62 == 1 ? (float)((int)(random >> 32 & 63) - 31) * 0.5f
                                       : (float)((double)(int64_t)oracle_random(&state) * 0x1p-63 *
                                                 130 / (fabs(log2(fabs((double)x[i]))) + 0.01));
            if (random >> 60 == 15) /* few bits: the power may lie exactly between two floats */
                x[i] = (float)(random >> 20 & 8191);
            if (k < SPECIALS * SPECIALS)
                x[i] = specials[k % SPECIALS], y[i] = specials[k / SPECIALS];
        }
        if (done == 4 * ULP_STRIP) /* squares have a way of their own */
            for (size_t i = 0; i < ULP_STRIP; i++)
                x[i] = i < SPECIALS ? specials[i] : x[i], y[i] = 2;
        ulp_function_floats(ULP_PRIMITIVE_POW, got, x, y, ULP_STRIP);
        for (size_t i = 0; i < ULP_STRIP; i++) {
            const float want = round_by_mpfr(ULP_PRIMITIVE_POW, x[i], y[i]);
            if (!same_float(got[i], want))
                ck_abort_msg("pow(%a, %a) = %a, expected %a", (double)x[i], (double)y[i],
                             (double)got[i], (double)want);
        }
    }
}

/* Formats with encodings: every value, or in the short test every stride-th, in every deterministic
 * rounding mode. */
static const struct small_format {
    const char *arithmetic;
    int stride;
} small_formats[] = {
    {"fp16-strict", 13},
    {"bf16-strict", 61},
    {"fp8-e4m3-strict", 1},
    {"fp8-e5m2-strict", 1},
    {"e5m7", 11},
    {"fp8-e4m3fnuz-strict", 1},
    {"fp16-strict,round=ru", 251},
    {"bf16-strict,round=rz", 509},
    {"fp16-strict,subnormals=flush", 251},
    {"fp8-e4m3-strict,overflow=saturate", 1},
    {"e7m8", 251},
};
enum { SMALL_FORMATS = sizeof small_formats / sizeof small_formats[0] };

TEST_LOOP(small_formats_exhaustively, 0, SMALL_FORMATS)
{
    const struct small_format *small = &small_formats[_i];
    const struct ulp_strip_rule rule = oracle_rule(small->arithmetic);
    const uint32_t patterns = UINT32_C(1) << rule.format.storage_bits;
    const uint32_t stride = test_long() ? 1 : (uint32_t)small->stride;
    static _Alignas(16) double in[ULP_STRIP], out[ULP_STRIP];
    scoped_mpfr x, exact, want, got;
    mpfr_init2(exact, 64);
    mpfr_inits2(53, x, want, got, (mpfr_ptr)0);
    for (int k = 0; k < FUNCTIONS; k++) {
        const enum ulp_primitive primitive = functions[k].primitive;
        for (uint32_t first = (uint32_t)k % stride; first < patterns; first += ULP_STRIP * stride) {
            size_t n = 0;
            for (uint32_t code = first; n < ULP_STRIP && code < patterns; code += stride) {
                mpfr_set_d(x, ulp_format_decode(&rule.format, code), MPFR_RNDN);
                strip_put(&rule, in, n++, x);
            }
            ulp_strip_tables[rule.carrier]->primitive[primitive](&rule, out, in, NULL, NULL, n,
                                                                 (struct ulp_strip_place){0, 0});
            for (size_t i = 0; i < n; i++) {
                strip_get(&rule, in, i, x);
                strip_get(&rule, out, i, got);
                oracle_compute(primitive, exact, x, x, x);
                oracle_round(&rule, want, exact, 0, 0);
                if (!oracle_same(got, want))
                    ck_abort_msg("%s: %s(%a) = %a, expected %a", small->arithmetic,
                                 ulp_primitive_rows[primitive].name, mpfr_get_d(x, MPFR_RNDN),
                                 mpfr_get_d(got, MPFR_RNDN), mpfr_get_d(want, MPFR_RNDN));
            }
        }
    }
}

/* Operands that are not values of the format (an integer tensor's, say) are computed, not looked
 * up. */
TEST(strays_are_not_looked_up)
{
    const struct ulp_strip_rule rule = oracle_rule("fp16-strict");
    static const float strays[] = {2049,     1.00048828125f + 0x1p-20f,
                                   70000,    -70000,
                                   0x1p-25f, 0x1p-149f,
                                   1e30f,    0x1.004p-15f};
    enum { STRAYS = sizeof strays / sizeof strays[0] };
    float out[STRAYS];
    scoped_mpfr x, exact, want, got;
    mpfr_init2(exact, 64);
    mpfr_inits2(53, x, want, got, (mpfr_ptr)0);
    for (int k = 0; k < FUNCTIONS; k++)
        for (size_t i = 0; i < STRAYS; i++) {
            const float in[2] = {strays[i], 1};
            ulp_strip_tables[rule.carrier]->primitive[functions[k].primitive](
                &rule, out, in, NULL, NULL, 2, (struct ulp_strip_place){0, 0});
            mpfr_set_flt(x, strays[i], MPFR_RNDN);
            mpfr_set_flt(got, out[0], MPFR_RNDN);
            oracle_compute(functions[k].primitive, exact, x, x, x);
            oracle_round(&rule, want, exact, 0, 0);
            if (!oracle_same(got, want))
                ck_abort_msg("%s(%a) = %a", ulp_primitive_rows[functions[k].primitive].name,
                             (double)strays[i], (double)out[0]);
        }
}

/* The first use of a table by several threads at once: all get the values of one alone. */
#define THREADS 4
struct table_user {
    pthread_t thread;
    struct ulp_strip_rule rule;
    float out[ULP_STRIP];
};
static void *use_table(void *context)
{
    struct table_user *user = context;
    const struct ulp_strip_rule *rule = &user->rule;
    float in[ULP_STRIP];
    for (int i = 0; i < ULP_STRIP; i++)
        in[i] = (float)(i - 256) * 0.03125f;
    ulp_strip_tables[rule->carrier]->primitive[ULP_PRIMITIVE_TANH](rule, user->out, in, NULL, NULL,
                                                                   ULP_STRIP,
                                                                   (struct ulp_strip_place){0, 0});
    mpfr_free_cache();
    return NULL;
}

TEST(tables_are_filled_once_by_threads)
{
    static struct table_user users[THREADS], alone;
    alone.rule = oracle_rule("fp16-strict");
    for (int k = 0; k < THREADS; k++)
        users[k].rule = alone.rule;
    for (int k = 0; k < THREADS; k++)
        ck_assert_int_eq(pthread_create(&users[k].thread, NULL, use_table, &users[k]), 0);
    for (int k = 0; k < THREADS; k++)
        ck_assert_int_eq(pthread_join(users[k].thread, NULL), 0);
    use_table(&alone);
    for (int k = 0; k < THREADS; k++)
        ck_assert_int_eq(memcmp(users[k].out, alone.out, sizeof alone.out), 0);
}

TEST_SUITE("functions", 3600)
