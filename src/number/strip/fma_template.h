/* y = u * v + w of the carrier's own arithmetic, by the processor's instruction where it has one.
 * Includer: REAL, FUSE_BUILTIN (the compiler's fma of REAL) and FUSE_SOFTWARE(u, v, w), equal in
 * every bit. */

#if ULP_X86_VECTORS
__attribute__((target("avx2,fma"))) static void fuse_by_hardware(REAL *y, const REAL *u,
                                                                 const REAL *v, const REAL *w,
                                                                 size_t n)
{
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) y[i] = FUSE_BUILTIN(u[i], v[i], w[i]);
}
#endif

static void fuse(REAL *y, const REAL *u, const REAL *v, const REAL *w, size_t n)
{
#if ULP_X86_VECTORS
    if (ulp_cpu_features() & ULP_CPU_AVX2) {
        fuse_by_hardware(y, u, v, w, n);
        return;
    }
#endif
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) y[i] = FUSE_SOFTWARE(u[i], v[i], w[i]);
}
