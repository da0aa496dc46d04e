/* Files: read whole, and written so that they are whole or untouched. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <ulpscope/memory.h>

#include "base/text/text.h"

/* Read a whole file into memory charged to budget (may be NULL); *out is freed with ulp_free.
 * Refuses more than max_bytes. */
enum ulp_status ulp_file_read(const char *path, size_t max_bytes, struct ulp_budget *budget,
                              unsigned char **out, size_t *count, struct ulp_error *error);
/* A whole file as read-only memory, which the system reads when it is used; *address is NULL for an
 * empty one. Freed with munmap. Where another process cuts the file short meanwhile, reading
 * what is gone raises SIGBUS, which a library cannot take for its host: the program does (a line
 * and exit code 3); the host of the library does so, too, or keeps such files from being written.
 */
enum ulp_status ulp_file_map(const char *path, size_t max_bytes, void **address, size_t *count,
                             struct ulp_error *error);

/* Parts of such memory, any address and size: begin to read them, because they are wanted soon; and
 * give back the memory of the pages that lie inside, which come again when they are read. */
void ulp_mapped_fetch(const void *address, size_t bytes);
void ulp_mapped_give_back(const void *address, size_t bytes);

/* The bytes of an open file of that path, as ulp_file_map gives them. */
enum ulp_status ulp_descriptor_map(int file, const char *path, size_t count, void **address,
                                   struct ulp_error *error);

/* A new file has no name until it is whole and on the disk, so that nothing of it stays when the
 * process is killed; where the file system cannot do that, it has a name beside path
 * (PATH.tmpXXXXXX). A symbolic link to a file is refused (ULP_ERROR_USAGE), also one that leads
 * nowhere. A device or a pipe is written directly. */
enum ulp_status ulp_file_write(const char *path, const void *bytes, size_t count,
                               struct ulp_error *error);
/* Several together: from ulp_files_hold to ulp_files_release all that this thread writes gets no
 * name, though it is on the disk (no memory is taken any more): at the release each file gets its
 * own, or with a status other than ULP_OK none does. ulp_files_hold is true, and its release does
 * something, where it is the outermost. Between ulp_files_pause, whose result ulp_files_resume
 * takes, and the latter files get their names at once: those that stay whatever becomes of the
 * rest. */
bool ulp_files_hold(void);
enum ulp_status ulp_files_release(bool begun, enum ulp_status status, struct ulp_error *error);
bool ulp_files_pause(void);
/* A file of an earlier result that a new one has not: it goes when those that are held get their
 * names, or at once. None may be there. */
enum ulp_status ulp_file_retire(const char *folder, const char *name, struct ulp_error *error);
void ulp_files_resume(bool holding);
/* What this thread holds is read under the name that it will have, by ulp_file_read and
 * ulp_file_map, too: a descriptor, or -1 when no file of that path is held. Dropped, it is gone. */
int ulp_held_open(const char *path);
void ulp_files_drop(const char *path);

/* A text that goes to a file as it grows. Closing it frees it and reports any failure to add or to
 * write; keep false: there is no file then. */
enum ulp_status ulp_text_open(struct ulp_text *text, const char *path, struct ulp_error *error);
/* Write all of it now; closing then only gives the name. */
enum ulp_status ulp_text_flush(struct ulp_text *text, struct ulp_error *error);
enum ulp_status ulp_text_close(struct ulp_text *text, bool keep, struct ulp_error *error);
