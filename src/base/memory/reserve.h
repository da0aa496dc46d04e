/* The reserve of GMP's allocation functions: ulp_memory_reserve in ulpscope/memory.h. */
#pragma once

#include <ulpscope/memory.h>

/* How often the reserve was drawn on. Results stay right: a walk that sees another count than it
 * began with ends, while the reserve still lasts. */
size_t ulp_reserve_draws(void);
/* ULP_ERROR_MEMORY when the count is not `draws` any more; gives back what MPFR's caches of this
 * thread hold of the reserve. */
enum ulp_status ulp_reserve_check(size_t draws, struct ulp_error *error);
