/* A growing text buffer, number formatting that round-trips, and files written beside and renamed. */
#ifndef ULP_BASE_TEXT_H
#define ULP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <ulpscope/status.h>

/* Zero-initialise. After an allocation failure `failed` is set and further calls do nothing, so a
 * writer checks once, at the end. */
struct ulp_text {
    char *data;
    size_t length, capacity;
    bool failed;
};
void ulp_text_add(struct ulp_text *text, const char *format, ...) ULP_PRINTF(2, 3);
void ulp_text_free(struct ulp_text *text);

/* FNV-1a 64-bit of a string or of bytes. */
unsigned long long ulp_hash(const void *bytes, size_t count);

/* Write bytes to path through a temporary file in the same folder and rename: the file is whole or
 * untouched. */
enum ulp_status ulp_file_write(const char *path, const void *bytes, size_t count, struct ulp_error *error);
/* Read a whole file; *out is freed with free(). Refuses more than max_bytes. */
enum ulp_status ulp_file_read(const char *path, size_t max_bytes, unsigned char **out, size_t *count,
                              struct ulp_error *error);

#endif
