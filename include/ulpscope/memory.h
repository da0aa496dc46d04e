/* Limiting memory. A budget is shared by all that is charged to it: a model loaded with it, and
 * through the model its plans, random inputs, runs and audits; and tensors read with it. What would
 * exceed the limit fails with ULP_ERROR_MEMORY before memory is taken, and everything that was made
 * by then is as it was or freed.
 *
 * Not charged are files that are mapped and not read (external weights), the stacks of threads,
 * tables of functions that the process shares (some MB, made once), buffers inside zlib, MPFR and
 * jansson, and names in a struct ulp_tensor_set. Budgets are thread-safe. */
#ifndef ULPSCOPE_MEMORY_H
#define ULPSCOPE_MEMORY_H

#include <stddef.h>
#include <ulpscope/status.h>

struct ulp_budget;

/* limit_bytes 0: no limit; what is charged is only counted. Free with ulp_budget_free, after
 * everything that is charged to it. */
ULP_API enum ulp_status ulp_budget_create(size_t limit_bytes, struct ulp_budget **out,
                                          struct ulp_error *error);
ULP_API void ulp_budget_free(struct ulp_budget *budget);

/* Bytes charged now, and the most that ever were. */
ULP_API size_t ulp_budget_used(const struct ulp_budget *budget);
ULP_API size_t ulp_budget_peak(const struct ulp_budget *budget);

/* The reference and the tables of functions are computed with MPFR, whose memory comes from GMP's
 * allocation functions. These cannot fail: GMP's own end the process (abort) when there is no
 * memory. A host that wants to go on replaces them by this, for the whole process: they then fall
 * back on `bytes` of memory that are taken now, and every plan and run that is under way when they
 * do ends in ULP_ERROR_MEMORY at its next node. When the reserve is used up as well, the function
 * that GMP had before is called. 1 MiB and 64 KiB for each thread are enough for precisions up to
 * 4096 bits. Call it once, before other threads use GMP, and only where GMP's memory is malloc's
 * (as it is unless someone has changed it). */
ULP_API enum ulp_status ulp_memory_reserve(size_t bytes, struct ulp_error *error);

#endif
