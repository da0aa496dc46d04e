/* Fused runs: some primitives one after the other on strips of native numbers, the running value
 * staying in registers. The same operations in the same order as one primitive at a time, hence the
 * same bits. */
#pragma once

#include "number/strip.h"

/* value = primitive(value, operand), or primitive(operand, value) when reversed. */
struct ulp_fused_link {
    enum ulp_primitive primitive;
    bool reversed;
    bool one;            /* the operand is one value for all elements of a row, else a strip */
    const void *operand; /* not read by primitives of one operand */
    size_t row_step;     /* elements from one row's operand to the next one's */
};

/* Rows of n elements (any number): a row of `out` is the one of `in` led through the links. Rows
 * are out_step and in_step elements apart. out may be the same memory as `in` or an operand.
 * Results have the carrier's own rounding. */
typedef void ulp_fused_fn(void *out, size_t out_step, const void *in, size_t in_step,
                          const struct ulp_fused_link *links, int link_count, size_t row_count,
                          size_t n);

/* Reductions of windows: out[i] is the reduction (SUM, MAX or MIN) of in[offset[t] + i * stride]
 * over t < offset_count, at least one, in that order, as primitives ADD, MAX and MIN on the value
 * so far and the next. */
typedef void ulp_windows_fn(enum ulp_reduction kind, void *out, const void *in,
                            const int64_t *offset, size_t offset_count, size_t stride, size_t n);

/* Rows that reduce side by side: sums[i] is combined with in[i], in[n + i], ..., of `count` rows of
 * n elements, in that order. */
typedef void ulp_reduce_fn(enum ulp_reduction kind, void *sums, const void *in, size_t count,
                           size_t n);

/* Of a carrier, on a processor with the features `cpu` (base/machine/cpu.h); NULL: it has none. */
ulp_fused_fn *ulp_fused_of(enum ulp_strip_carrier carrier, unsigned cpu);
ulp_windows_fn *ulp_windows_of(enum ulp_strip_carrier carrier, unsigned cpu);
ulp_reduce_fn *ulp_reduce_of(enum ulp_strip_carrier carrier, unsigned cpu);
