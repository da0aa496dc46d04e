#include "data/json_file.h"

#include <string.h>

#include "base/error.h"
#include "base/machine/file.h"

#define BYTES_MAX ((size_t)64 << 20)

enum ulp_status ulp_json_file_read(const char *path, struct ulp_budget *budget, ulp_json_take *take,
                                   void *out, void **memory, struct ulp_error *error)
{
    unsigned char *bytes;
    size_t count;
    json_error_t where;
    struct ulp_arena *arena;
    const char *slash = strrchr(path, '/');
    *memory = NULL;
    enum ulp_status status = ulp_file_read(path, BYTES_MAX, budget, &bytes, &count, error);
    if (status != ULP_OK)
        return status;
    json_t *root = json_loadb((const char *)bytes, count, JSON_REJECT_DUPLICATES, &where);
    ulp_free(bytes);
    if (!root)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: line %d: %s", path, where.line, where.text);
    status = ulp_arena_create(&arena, budget, error);
    if (status == ULP_OK) {
        status = json_is_object(root) ? take(out, slash ? slash + 1 : path, root, arena, error)
                                      : ulp_fail(error, ULP_ERROR_INPUT, "is no JSON object");
        *memory = arena;
    }
    json_decref(root);
    if (status == ULP_OK)
        return ULP_OK;
    ulp_arena_free(*memory);
    *memory = NULL;
    return ulp_fail_at(error, status, "%s", path);
}
