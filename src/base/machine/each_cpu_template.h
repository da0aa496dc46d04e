/* The file TEMPLATE, once for each instruction set that ULP_BY_CPU (base/machine/cpu.h) chooses
 * among. What it finds defined:
 *   NAMED(name)    the name with the instruction set's suffix: _portable, _avx2, _avx512
 *   ATTRIBUTES     of its functions: __attribute__((target(...))) or nothing
 *   VECTOR_BITS    128, 256 or 512; from 256 on there is a fused multiply-add */
#define NAMED(name) name##_portable
#define ATTRIBUTES
#define VECTOR_BITS 128
#include TEMPLATE
#undef NAMED
#undef ATTRIBUTES
#undef VECTOR_BITS

#if ULP_X86_VECTORS
#define NAMED(name) name##_avx2
#define ATTRIBUTES __attribute__((target("avx2,fma")))
#define VECTOR_BITS 256
#include TEMPLATE
#undef NAMED
#undef ATTRIBUTES
#undef VECTOR_BITS

#define NAMED(name) name##_avx512
#define ATTRIBUTES \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma" ULP_VECTOR_WIDTH(512))))
#define VECTOR_BITS 512
#include TEMPLATE
#undef NAMED
#undef ATTRIBUTES
#undef VECTOR_BITS
#endif
#undef TEMPLATE
