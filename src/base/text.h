/* A growing text buffer, number formatting that round-trips, and files written beside and
 * renamed. */
#ifndef ULP_BASE_TEXT_H
#define ULP_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <ulpscope/status.h>

/* Zero-initialise. After an allocation failure `failed` is set and further calls do nothing, so a
 * writer checks once, at the end. */
struct ulp_text {
    char *data;
    size_t length, capacity;
    bool failed;
    struct ulp_new_file *file; /* data holds what is not written yet; NULL: the whole text */
};
void ulp_text_add(struct ulp_text *text, const char *format, ...) ULP_PRINTF(2, 3);
/* As ulp_text_add, text arguments made harmless (base/shown.h). */
void ulp_text_show(struct ulp_text *text, const char *format, ...) ULP_PRINTF(2, 3);
void ulp_text_show_list(struct ulp_text *text, const char *format, va_list list);
void ulp_text_free(struct ulp_text *text);

/* Whether text is longer than `end` and ends in it: ".npz". */
bool ulp_text_ends(const char *text, const char *end);

/* FNV-1a 64-bit of a string or of bytes. */
unsigned long long ulp_hash(const void *bytes, size_t count);

/* Make *text, which is zero, one that goes to a file as it grows. The file is made beside and
 * renamed when it is closed: it is whole or untouched. keep false: it is not kept. Either way *text
 * is freed; a failure to add or to write is reported here. */
enum ulp_status ulp_text_open(struct ulp_text *text, const char *path, struct ulp_error *error);
/* Write all of it now; closing then only gives the name. */
enum ulp_status ulp_text_flush(struct ulp_text *text, struct ulp_error *error);
enum ulp_status ulp_text_close(struct ulp_text *text, bool keep, struct ulp_error *error);

/* Write bytes to path through a temporary file in the same folder and rename: the file is whole or
 * untouched. */
enum ulp_status ulp_file_write(const char *path, const void *bytes, size_t count,
                               struct ulp_error *error);
/* Read a whole file into memory charged to budget (may be NULL); *out is freed with ulp_free.
 * Refuses more than max_bytes. */
struct ulp_budget;
enum ulp_status ulp_file_read(const char *path, size_t max_bytes, struct ulp_budget *budget,
                              unsigned char **out, size_t *count, struct ulp_error *error);
/* A whole file as read-only memory, which the system reads when it is used; *address is NULL for an
 * empty one. Freed with munmap. A file that is cut short by another process meanwhile ends this one
 * (SIGBUS). */
enum ulp_status ulp_file_map(const char *path, size_t max_bytes, void **address, size_t *count,
                             struct ulp_error *error);

#endif
