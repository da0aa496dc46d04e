/* A file without a name for bytes that would not fit in memory: gone when it is closed or the
 * process ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <ulpscope/status.h>

/* *descriptor stays -1 after a failure. Errors name the folder. */
enum ulp_status ulp_scratch_open(int *descriptor, const char *folder, struct ulp_error *error);
/* -1: nothing. */
void ulp_scratch_close(int descriptor);
/* The bytes, of which there are some, in the file and in the address space, where the system brings
 * them into memory and takes them out as it likes; *end: where the file's first free page is. */
enum ulp_status ulp_scratch_keep(int descriptor, const void *bytes, size_t count, uint64_t *end,
                                 void **out, struct ulp_error *error);
void ulp_scratch_drop(void *bytes, size_t count);
