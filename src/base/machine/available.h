/* How much memory the process may still take. */
#ifndef ULP_BASE_MACHINE_AVAILABLE_H
#define ULP_BASE_MACHINE_AVAILABLE_H

#include <stddef.h>

/* ulp_memory_available, with /proc and /sys in the folder root. */
size_t ulp_memory_available_under(const char *root);

#endif
