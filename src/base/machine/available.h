/* How much memory the process may still take. */
#pragma once

#include <stddef.h>

/* ulp_memory_available, with /proc and /sys in the folder root. */
size_t ulp_memory_available_under(const char *root);
