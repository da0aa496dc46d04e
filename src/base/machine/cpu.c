/* Detecting processor features: by the compiler's own detection, which also asks whether the
 * operating system saves the wide registers, and by CPUID for features that compilers have no name
 * for, which build on features asked about first. Processors other than x86-64 and aarch64 have
 * none of them, and portable C is used. */
#include "base/machine/cpu.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

static const struct {
    const char *name;
    unsigned feature, builds_on;
} feature_rows[] = {
    {"avx2", ULP_CPU_AVX2, 0},
    {"f16c", ULP_CPU_F16C, ULP_CPU_AVX2},
    {"avx512", ULP_CPU_AVX512, ULP_CPU_AVX2 | ULP_CPU_F16C},
    {"avx512ifma", ULP_CPU_AVX512IFMA, ULP_CPU_AVX512},
    {"avx512fp16", ULP_CPU_AVX512FP16, ULP_CPU_AVX512},
    {"neon", ULP_CPU_NEON, 0},
};
#define FEATURE_COUNT (sizeof feature_rows / sizeof feature_rows[0])

static unsigned detect(void)
{
    unsigned present = 0;
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        present |= ULP_CPU_AVX2;
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx >> 29 & 1))
        present |= ULP_CPU_F16C;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        present |= ULP_CPU_AVX512;
    if (__builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512cd"))
        present |= ULP_CPU_AVX512IFMA;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx >> 23 & 1))
        present |= ULP_CPU_AVX512FP16;
#elif defined(__aarch64__)
    present |= ULP_CPU_NEON; /* the ABI passes floats in its registers */
#endif
    return present;
}

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
