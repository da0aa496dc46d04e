/* Small JSON documents that a caller writes: plans, groups. */
#ifndef ULP_DATA_JSON_FILE_H
#define ULP_DATA_JSON_FILE_H

#include <jansson.h>
#include <ulpscope/status.h>

#include "base/memory/alloc.h"

/* Takes what is in the document, in memory of the arena; name: the file's, without its folder. */
typedef enum ulp_status ulp_json_take(void *out, const char *name, const json_t *root,
                                      struct ulp_arena *arena, struct ulp_error *error);
/* Read the file, of 64 MiB at most and one object, and take it. *memory: the arena, which the
 * caller frees; NULL on failure. Errors name the file. */
enum ulp_status ulp_json_file_read(const char *path, struct ulp_budget *budget, ulp_json_take *take,
                                   void *out, void **memory, struct ulp_error *error);

#endif
