/* SHA-256 (FIPS 180-4), by which a page says what file a report is of: any tool computes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a whole file, as 64 hexadecimal digits; *bytes is its length. False: it is no regular file, or
 * cannot be read. */
bool ulp_file_sha256(const char *path, char out[65], uint64_t *bytes);
