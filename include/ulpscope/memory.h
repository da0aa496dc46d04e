/* Limiting memory. A budget is charged for everything that is made with it: a model loaded with it,
 * that model's programs, random inputs, runs and audits, and tensors read with it. A request that
 * would exceed the limit fails with ULP_ERROR_MEMORY before memory is taken; what existed before
 * the failing call stays valid, and what the call had made is freed.
 *
 * Not charged: files that are mapped and not read (external weights), stacks of threads, tables of
 * functions that the process shares (some MB, made once), buffers inside zlib, MPFR and jansson,
 * and names in a struct ulp_tensor_set. Budgets are thread-safe. */
#ifndef ULPSCOPE_MEMORY_H
#define ULPSCOPE_MEMORY_H

#include <stddef.h>
#include <ulpscope/status.h>

struct ulp_budget;

/* Create a budget of limit_bytes; 0: no limit, bytes are only counted. Free it with
 * ulp_budget_free, after everything that is charged to it. */
ULP_API enum ulp_status ulp_budget_create(size_t limit_bytes, struct ulp_budget **out,
                                          struct ulp_error *error);
ULP_API void ulp_budget_free(struct ulp_budget *budget);

/* Bytes that this process could still take: the least of what the kernel calls available
 * (MemAvailable in /proc/meminfo) and of what the limits of its control groups leave (cgroup v1 and
 * v2, the group's and those above it). 0: the system does not say. */
ULP_API size_t ulp_memory_available(void);

/* Bytes charged now, and the largest number so far. */
ULP_API size_t ulp_budget_used(const struct ulp_budget *budget);
ULP_API size_t ulp_budget_peak(const struct ulp_budget *budget);

/* Keep the process alive when memory runs out inside MPFR.
 *
 * MPFR, which computes the reference and the tables of functions, takes memory from GMP's
 * allocation functions. They have no way to report failure: GMP's own abort the process. This call
 * replaces them, for the whole process, by functions that fall back on a reserve of `bytes`, taken
 * now. Every program and run that is under way when they do so ends in ULP_ERROR_MEMORY at its next
 * node. When the reserve is used up too, the function that GMP had before is called. 1 MiB and 64
 * KiB for each thread are enough for precisions up to 4096 bits. Call it once, before other threads
 * use GMP, and only where GMP's memory is malloc's (as it is unless the process has changed it). */
ULP_API enum ulp_status ulp_memory_reserve(size_t bytes, struct ulp_error *error);

#endif
