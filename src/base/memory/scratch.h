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
enum ulp_status ulp_scratch_write(int descriptor, const void *bytes, size_t count, uint64_t at,
                                  struct ulp_error *error);
enum ulp_status ulp_scratch_read(int descriptor, void *bytes, size_t count, uint64_t at,
                                 struct ulp_error *error);
