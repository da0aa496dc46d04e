/* Reductions of native numbers with the running values in registers: the same operations in the
 * same order as one primitive at a time, hence the same bits. */
#pragma once

#include "number/strip.h"

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
ulp_windows_fn *ulp_windows_of(enum ulp_strip_carrier carrier, unsigned cpu);
ulp_reduce_fn *ulp_reduce_of(enum ulp_strip_carrier carrier, unsigned cpu);
