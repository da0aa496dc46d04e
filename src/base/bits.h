/* Floating-point numbers and their IEEE 754 patterns. */
#pragma once

#include <stdint.h>
#include <string.h>

#define ULP_BITS_INLINE static inline __attribute__((always_inline))

ULP_BITS_INLINE uint32_t ulp_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
ULP_BITS_INLINE float ulp_float_from(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
ULP_BITS_INLINE uint64_t ulp_double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
ULP_BITS_INLINE double ulp_double_from(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* As above, and for every NaN the same pattern: the sign and payload of one that an operation makes
 * or passes on are the processor's (x86's has the sign, ARM's has none, RISC-V drops payloads). */
ULP_BITS_INLINE uint32_t ulp_float_pattern(float x)
{
    return x == x ? ulp_float_bits(x) : UINT32_C(0x7fc00000);
}
ULP_BITS_INLINE uint64_t ulp_double_pattern(double x)
{
    return x == x ? ulp_double_bits(x) : UINT64_C(0x7ff8000000000000);
}
