/* Which instance of the fast path a processor runs. */
#include "base/machine/cpu.h"
#include "kernels/unit/fast.h"

const struct ulp_unit_instance *ulp_unit_choose(unsigned cpu)
{
#if ULP_X86_VECTORS
    if (cpu & ULP_CPU_AVX512)
        return &ulp_unit_avx512;
    if ((cpu & ULP_CPU_AVX2) && (cpu & ULP_CPU_F16C))
        return &ulp_unit_avx2;
#endif
    (void)cpu;
    return &ulp_unit_c;
}
