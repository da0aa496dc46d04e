/* Instances of metrics_strip_template.h, and the choice between them. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/machine/cpu.h"
#include "analysis/measure/metrics_strip.h"

_Static_assert(GMP_NUMB_BITS == 64, "limbs of 64 bits");

#define METRICS_LANES 8
typedef double metrics_lanes __attribute__((vector_size(METRICS_LANES * sizeof(double))));
typedef uint64_t metrics_patterns __attribute__((vector_size(METRICS_LANES * sizeof(uint64_t))));

#define TARGET
#define SUFFIX(name) name##_portable
#include "analysis/measure/metrics_strip_template.h"

#ifdef __x86_64__
#define TARGET __attribute__((target("avx2" ULP_VECTOR_WIDTH(256))))
#define SUFFIX(name) name##_avx2
#include "analysis/measure/metrics_strip_template.h"
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl" ULP_VECTOR_WIDTH(512))))
#define SUFFIX(name) name##_avx512
#include "analysis/measure/metrics_strip_template.h"
#endif

#define CODE(suffix)                                                                           \
    {                                                                                          \
        open_wide_##suffix, subtract_##suffix, subtract_from_plain_##suffix, compare_##suffix, \
            sum_##suffix, gather_##suffix                                                      \
    }

const struct ulp_metrics_code *ulp_metrics_code_find(void)
{
    static const struct ulp_metrics_code portable = CODE(portable);
#ifdef __x86_64__
    static const struct ulp_metrics_code avx2 = CODE(avx2), avx512 = CODE(avx512);
    const unsigned features = ulp_cpu_features();
    if (features & ULP_CPU_AVX512)
        return &avx512;
    if (features & ULP_CPU_AVX2)
        return &avx2;
#endif
    return &portable;
}
