/* Detecting processor features, by CPUID and XGETBV: what the compiler's own detection says depends
 * on a run-time library that some compilers leave empty. Processors other than x86-64 and aarch64
 * have none of them, and portable C is used. */
#include "base/machine/cpu.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if ULP_X86_VECTORS
#include <cpuid.h>
#endif

static const struct {
    const char *name;
    unsigned feature, builds_on;
} feature_rows[] = {
    {"avx2", ULP_CPU_AVX2, 0},
    {"f16c", ULP_CPU_F16C, ULP_CPU_AVX2},
    {"avx512", ULP_CPU_AVX512, ULP_CPU_AVX2 | ULP_CPU_F16C},
    {"avx512fp16", ULP_CPU_AVX512FP16, ULP_CPU_AVX512},
    {"neon", ULP_CPU_NEON, 0},
};
#define FEATURE_COUNT (sizeof feature_rows / sizeof feature_rows[0])

#if ULP_X86_VECTORS
/* All these bits are set. */
static int has(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}
/* Intel 64 manual, volume 2A, CPUID, leaves 1 and 7; volume 1, 13.3: the states that the operating
 * system saves (XCR0): XMM and YMM, then the masks and both halves of ZMM. */
static unsigned detect(void)
{
    unsigned eax, ebx, ecx, edx, low = 0, high = 0, present = 0;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !has(ecx, 1U << 27)) /* OSXSAVE */
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const unsigned first = ecx;
    if (!has(low, 0x06) || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return 0;
    if (has(ebx, 1U << 5) && has(first, 1U << 12 | 1U << 28)) /* AVX2; FMA, AVX */
        present |= ULP_CPU_AVX2;
    if (has(first, 1U << 29))
        present |= ULP_CPU_F16C;
    if (!has(low, 0xE6))
        return present;
    if (has(ebx, 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31)) /* F, DQ, BW, VL */
        present |= ULP_CPU_AVX512;
    if (has(edx, 1U << 23))
        present |= ULP_CPU_AVX512FP16;
    return present;
}
bool ulp_cpu_sums_bytes(void)
{
    unsigned eax, ebx, ecx, edx, avx_vnni;
    if (!(detect() & ULP_CPU_AVX2))
        return true; /* its kernels for SSE2 multiply words */
    if (!__get_cpuid_count(7, 1, &avx_vnni, &ebx, &ecx, &edx) ||
        !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return false;
    return has(avx_vnni, 1U << 4) || (has(ecx, 1U << 11) && detect() & ULP_CPU_AVX512);
}
#else
static unsigned detect(void)
{
#if defined(__aarch64__)
    return ULP_CPU_NEON; /* the ABI passes floats in its registers */
#else
    return 0;
#endif
}
bool ulp_cpu_sums_bytes(void)
{
    return true;
}
#endif

/* Does the comma-separated list name it? */
static int lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    while (list && *list) {
        list += strspn(list, ", ");
        size_t word = strcspn(list, ", ");
        if (word == length && memcmp(list, name, length) == 0)
            return 1;
        list += word;
    }
    return 0;
}

unsigned ulp_cpu_without(unsigned present, const char *disabled)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++) /* in order of dependency, so one pass is enough */
        if (lists(disabled, feature_rows[i].name) ||
            (present & feature_rows[i].builds_on) != feature_rows[i].builds_on)
            present &= ~feature_rows[i].feature;
    return present;
}

static pthread_once_t features_once = PTHREAD_ONCE_INIT;

_Atomic unsigned ulp_cpu_found = ULP_CPU_UNKNOWN;

static void find_features(void)
{
    atomic_store(&ulp_cpu_found, ulp_cpu_without(detect(), getenv("ULPSCOPE_DISABLE_CPU")));
}

unsigned ulp_cpu_find(void)
{
    pthread_once(&features_once, find_features);
    return atomic_load(&ulp_cpu_found);
}

const char *ulp_cpu_names(char *out, unsigned set)
{
    size_t used = 0;
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        if (set & feature_rows[i].feature)
            used += (size_t)snprintf(out + used, ULP_CPU_NAMES_BYTES - used, "%s%s",
                                     used ? ", " : "", feature_rows[i].name);
    if (!used)
        snprintf(out, ULP_CPU_NAMES_BYTES, "none: portable C");
    return out;
}
