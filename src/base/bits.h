/* Floating-point numbers and their IEEE 754 patterns. */
#ifndef ULP_BASE_BITS_H
#define ULP_BASE_BITS_H

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

#endif
