/* What this processor can do, found at run time. Kernels choose by it between intrinsics and
 * portable C; results are equal bit for bit, so the choice is about time only.
 *
 * The environment variable ULPSCOPE_DISABLE_CPU switches features off for tests: a list of the
 * names below, separated by commas. Switching one off also switches off those that build on it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

enum ulp_cpu_feature {
    ULP_CPU_AVX2 = 1 << 0,       /* avx2: AVX2 and FMA3 */
    ULP_CPU_F16C = 1 << 1,       /* f16c: FP16 conversions; builds on avx2 */
    ULP_CPU_AVX512 = 1 << 2,     /* avx512: AVX-512 F, BW, DQ, VL; builds on avx2 and f16c */
    ULP_CPU_AVX512FP16 = 1 << 3, /* avx512fp16: arithmetic on FP16; builds on avx512 */
    ULP_CPU_NEON = 1 << 4,       /* neon: of aarch64, which always has it */
    ULP_CPU_UNKNOWN = 1 << 30,   /* they were not looked for yet */
};

/* The set of features of this process: the processor's without the disabled ones. Constant while
 * the process runs; the environment is read at the first call. Thread-safe. Asked
 * for every few hundred elements, so it is only a load. */
extern _Atomic unsigned ulp_cpu_found;
unsigned ulp_cpu_find(void);
static inline unsigned ulp_cpu_features(void)
{
    const unsigned found = atomic_load_explicit(&ulp_cpu_found, memory_order_relaxed);
    return found & ULP_CPU_UNKNOWN ? ulp_cpu_find() : found;
}

/* Does ONNX Runtime sum unsigned by signed bytes exactly here? An x86-64 without VNNI (AVX-VNNI, or
 * AVX-512's beside BW, DQ and VL) saturates them; nothing switches it off. */
bool ulp_cpu_sums_bytes(void);

/* Are there functions for x86-64's instruction sets beside those in portable C? */
#if defined(__x86_64__) && defined(__GNUC__)
#define ULP_X86_VECTORS 1
#else
#define ULP_X86_VECTORS 0
#endif

/* The one of three that a processor of these features, or this one, can run: functions that were
 * compiled for several instruction sets, or tables of them. */
#if ULP_X86_VECTORS
#define ULP_BY_FEATURES(cpu, avx512, avx2, portable) \
    (ULP_CPU_AVX512 & (cpu) ? (avx512) : ULP_CPU_AVX2 & (cpu) ? (avx2) : (portable))
#else
#define ULP_BY_FEATURES(cpu, avx512, avx2, portable) ((void)(cpu), (portable))
#endif
#define ULP_BY_CPU(avx512, avx2, portable) \
    ULP_BY_FEATURES(ulp_cpu_features(), avx512, avx2, portable)

/* The features of `present` that remain with the names in `disabled` (NULL: none) switched off. */
unsigned ulp_cpu_without(unsigned present, const char *disabled);

/* The names of a set's features with ", " between them, "none: portable C" for the empty set; out
 * has room for ULP_CPU_NAMES_BYTES and is returned. */
#define ULP_CPU_NAMES_BYTES 80
const char *ulp_cpu_names(char *out, unsigned set);

/* Behind the features of a target attribute: gcc then takes vectors of that many bits. clang does
 * not know it. */
#ifdef __clang__
#define ULP_VECTOR_WIDTH(bits) ""
#else
#define ULP_VECTOR_WIDTH(bits) ",prefer-vector-width=" #bits
#endif
