/* The loops over CUDA's functions (base/machine/each_cpu_template.h). */

/* a b + c, rounded once. The product of two floats is exact in double; its sum with c, rounded to
 * odd, then rounds once. */
#if VECTOR_BITS > 128
#define FUSE(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FUSE(a, b, c) (float)ulp_odd_add((double)(a) * (double)(b), (double)(c))
#endif

/* t + t P(t^2) below the threshold, 1 - ex2(-(t + t Q(t))) from there on; from 64 on ex2(-q) is
 * lost beside 1. NaN takes the first. */
ULP_VECTORISE ATTRIBUTES static void NAMED(run_ERF)(float *out, const float *a, size_t n)
{
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)
    {
        const float x = a[i], t = magnitude(x);
        const bool far = t >= ERF_THRESHOLD;
        const float y = far ? t : t * t;
        float p = far ? erf_far[ERF_DEGREE] : erf_near[ERF_DEGREE];
        _Pragma("GCC unroll 8") for (int k = ERF_DEGREE - 1; k >= 0; k--) p =
            FUSE(p, y, far ? erf_far[k] : erf_near[k]);
        const float q = FUSE(p, t, t);
        const float beyond = 1 - take_ex2(bound(-q, 64));
        out[i] = with_sign(select(far, beyond, q), x);
    }
}

/* 2^k ex2(x log2(e) - k) with log2(e) in two floats. k: the product's floor, but 126 more is formed
 * as 252 times a float between 0 and 1, so that 0 begins at some -2.6e-6; what is left is beyond
 * +-64 only where the result is 0 or infinite. */
ULP_VECTORISE ATTRIBUTES INLINE float NAMED(take_exp)(float x)
{
    const float log2e = 0x1.715476p0f, log2e_rest = 0x1.4ae0cp-26f, part = 0x1.77313cp-8f;
    const float share = FUSE(x, part, 0.5f);
    const float inside = select(share > 0, select(share < 1, share, 1), 0);
    const float k = (float)((int32_t)((double)inside * 252) - 126);
    const float r = FUSE(x, log2e_rest, FUSE(x, log2e, -k));
    return select(x == x, take_power(k) * take_ex2(bound(r, 64)), x);
}
ULP_VECTORISE ATTRIBUTES static void NAMED(run_SIGMOID)(float *out, const float *a, size_t n)
{
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) out[i] = 1 / (1 + NAMED(take_exp)(-a[i]));
}
ULP_VECTORISE ATTRIBUTES static void NAMED(run_EXP)(float *out, const float *a, size_t n)
{
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) out[i] = NAMED(take_exp)(a[i]);
}

/* t + t t^2 P(t^2) below the threshold, 1 - 2 / (e^2t + 1) from there on, which is 1 long
 * before 40. NaN takes the first. */
ULP_VECTORISE ATTRIBUTES static void NAMED(run_TANH)(float *out, const float *a, size_t n)
{
    const float twice_log2e = 0x1.715476p1f;
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)
    {
        const float x = a[i], t = magnitude(x), square = t * t;
        float p = tanh_near[TANH_TERMS - 1];
        _Pragma("GCC unroll 8") for (int k = TANH_TERMS - 2; k >= 0; k--) p =
            FUSE(p, square, tanh_near[k]);
        const float near = FUSE(p * square, t, t);
        const float far = 1 - 2 * take_rcp(take_ex2(bound(t, 40) * twice_log2e) + 1);
        out[i] = with_sign(select(t >= TANH_THRESHOLD, far, near), x);
    }
}

static cuda_fn *const NAMED(functions)[ULP_PRIMITIVE_COUNT] = {
    [ULP_PRIMITIVE_ERF] = NAMED(run_ERF), [ULP_PRIMITIVE_SIGMOID] = NAMED(run_SIGMOID),
    [ULP_PRIMITIVE_EXP] = NAMED(run_EXP), [ULP_PRIMITIVE_TANH] = NAMED(run_TANH),
    [ULP_PRIMITIVE_RSQRT] = run_RSQRT,
};

#undef FUSE
