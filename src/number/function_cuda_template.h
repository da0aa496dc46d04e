/* The loops over CUDA's functions, once for each instruction set. Parameters:
 *   NAMED(name)    the name with the instruction set's suffix
 *   ATTRIBUTES     of the functions: __attribute__((target(...))) or nothing
 *   FUSE(a, b, c)  a b + c, rounded once */

/* t + t P(t^2) below the threshold, 1 - ex2(-(t + t Q(t))) from there on; from 64 on ex2(-q) is lost beside 1. NaN takes the first. */
ATTRIBUTES static void NAMED(run_ERF)(float *out, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = a[i], t = magnitude(x);
        const bool far = t >= ERF_THRESHOLD;
        const float y = far ? t : t * t;
        float p = far ? erf_far[ERF_DEGREE] : erf_near[ERF_DEGREE];
        for (int k = ERF_DEGREE - 1; k >= 0; k--)
            p = FUSE(p, y, far ? erf_far[k] : erf_near[k]);
        const float q = FUSE(p, t, t);
        const float beyond = 1 - take_ex2(q < 64 ? -q : -64.f);
        out[i] = with_sign(far ? beyond : q, x);
    }
}
