/* JSON documents that a caller writes, small ones: plans, groups; and reports. */
#pragma once

#include <jansson.h>
#include <ulpscope/status.h>

#include "base/memory/alloc.h"

/* Takes what is in the document, in memory of the arena; name: the file's, without its folder. */
typedef enum ulp_status ulp_json_take(void *out, const char *name, const json_t *root,
                                      struct ulp_arena *arena, struct ulp_error *error);
/* Read the file, one object, and take it into the `bytes` of *out, which are 0 before and on
 * failure. Where the budget has no limit the file may have 64 MiB. *memory: the arena, which the
 * caller frees; NULL on failure. Errors name the file. */
enum ulp_status ulp_json_file_read(const char *path, struct ulp_budget *budget, ulp_json_take *take,
                                   void *out, size_t bytes, void **memory, struct ulp_error *error);

/* Of all results that are written, and read again. Refuse a document of another schema (those of
 * plans had none at first), and say which version of the program reads it. */
enum { ULP_JSON_SCHEMA = 2 };
enum ulp_status ulp_json_check_schema(const json_t *root, struct ulp_error *error);

/* Refuse an object with a key that is not among known[0..count): a key misspelt would change the
 * meaning in silence. */
enum ulp_status ulp_json_check_keys(const json_t *object, const char *const *known, size_t count,
                                    struct ulp_error *error);

/* As json_loadb, but NULL also where memory ended meanwhile: jansson leaves
 * characters of texts out then (lex_save of its load.c). For ulp_json_fail. */
json_t *ulp_json_load(const char *text, size_t length, size_t flags, json_error_t *reason);
/* json_dumps, for free; NULL also where memory ended meanwhile: it leaves a key out then (do_dump
 * of its dump.c). */
char *ulp_json_dump(const json_t *value, size_t flags);
/* Why these have made no document. jansson calls a token that it has no memory
 * for an invalid one. */
enum ulp_status ulp_json_fail(const json_error_t *where, struct ulp_error *error);

/* The document in these bytes of a file. Before it is parsed, as much as it may take in memory is
 * charged to the budget; *charged says how much, for ulp_json_file_free, also on failure. */
enum ulp_status ulp_json_parse(const char *path, const unsigned char *bytes, size_t count,
                               size_t flags, struct ulp_budget *budget, json_t **root,
                               size_t *charged, struct ulp_error *error);
/* That of the file itself, one object. */
enum ulp_status ulp_json_file_load(const char *path, struct ulp_budget *budget, json_t **root,
                                   size_t *charged, struct ulp_error *error);
void ulp_json_file_free(json_t *root, struct ulp_budget *budget, size_t charged);
