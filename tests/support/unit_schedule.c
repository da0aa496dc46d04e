#include "tests/support/unit_schedule.h"

float unit_schedule(const struct ulp_unit *unit, const struct ulp_schedule *schedule,
                    const double *a, const double *b, size_t k)
{
    struct ulp_format fp16;
    ulp_format_find("fp16", &fp16, NULL);
    size_t length = ulp_unit_slice_length(unit, k, schedule);
    float total = 0;
    for (size_t first = 0; first < k; first += length) {
        size_t last = k - first < length ? k : first + length;
        size_t interval = schedule->promote > 0 ? (size_t)schedule->promote : length;
        float sum = 0;
        for (size_t start = first; start < last; start += interval) {
            size_t count = last - start < interval ? last - start : interval;
            sum += (float)ulp_unit_chain(unit, a + start, b + start, NULL, NULL, count, 0);
        }
        total += sum;
        /* as the H200's cutlass h16816gemm and h161616gemm do */
        if (unit->output == ULP_UNIT_RNE_FP16 && schedule->promote <= 0)
            total = (float)ulp_format_round(&fp16, ULP_ROUND_NEAREST_EVEN, total, 0, 0);
    }
    return total;
}
