/* What factors and quantised tensors are measured by alike: elements, and the blocks they lie in.
 */
#include <math.h>

#include "analysis/measure/quantile.h"
#include "analysis/scales/scales.h"
#include "number/function/math.h"

bool ulp_scales_add(struct ulp_scales_block *block, double x, double error, bool zero, bool clipped,
                    struct ulp_scaled_tensor *out, struct ulp_scales_sums *sums)
{
    const double size = fabs(x);
    if (!isfinite(error)) {
        out->nonfinite++;
        return false;
    }
    out->zeros += x != 0 && zero;
    out->clipped += clipped;
    sums->signal += x * x;
    sums->error += error * error;
    sums->clipping += clipped ? error * error : 0;
    block->largest = ulp_math_max(block->largest, size);
    if (size > 0)
        block->smallest = block->smallest > 0 ? ulp_math_min(block->smallest, size) : size;
    return true;
}

void ulp_scales_look(const struct ulp_scales_block *blocks, double *ranges,
                     struct ulp_scaled_tensor *out)
{
    size_t count = 0;
    for (size_t b = 0; b < out->blocks; b++)
        if (blocks[b].smallest > 0)
            ranges[count++] = blocks[b].largest / blocks[b].smallest;
    ulp_numbers_sort(ranges, count);
    out->range_bits = count ? ulp_math_log2(ranges[count / 2]) : 0;
}
