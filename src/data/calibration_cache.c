#include "data/calibration_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/machine/file.h"

#define FIRST "TRT-"
enum { BYTES_MOST = 1 << 26, DIGITS = 8 };

static int by_name(const void *a, const void *b)
{
    const struct ulp_tensor_scale *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* The line, which ends with 0; a name may have any characters. */
static bool read_line(char *line, struct ulp_tensor_scale *out)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    char *colon = strrchr(line, ':'), *at = colon ? colon + 1 + strspn(colon + 1, " ") : NULL;
    const size_t count = at ? strspn(at, digits) : 0;
    if (!count || count > DIGITS || at[count] || colon == line)
        return false;
    *colon = '\0';
    *out = (struct ulp_tensor_scale){line, ulp_float_from((uint32_t)strtoul(at, NULL, 16))};
    return isfinite(out->scale) && out->scale >= 0;
}

static enum ulp_status read_lines(char *text, size_t room, struct ulp_calibration_cache *out,
                                  struct ulp_error *error)
{
    size_t number = 1;
    char *end = strchr(text, '\n');
    if (strncmp(text, FIRST, strlen(FIRST)) != 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "no calibration cache of TensorRT's: it does not begin with " FIRST);
    for (char *line = end ? end + 1 : text + strlen(text); *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end ? (*end = '\0', 1) : 0;
        line[strcspn(line, "\r")] = '\0';
        number++;
        if (*line && (out->count >= room || !read_line(line, &out->items[out->count++])))
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "line %zu: expected TENSOR: SCALE, the bits of a finite FP32 number, 0 "
                            "or above, in hexadecimal",
                            number);
    }
    qsort(out->items, out->count, sizeof *out->items, by_name);
    for (size_t i = 1; i < out->count; i++)
        if (strcmp(out->items[i - 1].name, out->items[i].name) == 0)
            return ulp_fail(error, ULP_ERROR_INPUT, "two scales of tensor '%s'",
                            out->items[i].name);
    return ULP_OK;
}

enum ulp_status ulp_calibration_cache_read(const char *path, struct ulp_arena *memory,
                                           struct ulp_calibration_cache *out,
                                           struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) void *bytes = NULL;
    unsigned char *read;
    size_t count, lines = 1;
    *out = (struct ulp_calibration_cache){0};
    ULP_TRY(ulp_file_read(path, BYTES_MOST, ulp_arena_budget(memory), &read, &count, error));
    bytes = read;
    if (memchr(read, 0, count))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: a byte is 0", path);
    for (size_t i = 0; i < count; i++)
        lines += read[i] == '\n';
    char *text = ulp_arena_text(memory, (const char *)read, count);
    ULP_TRY(ulp_taken(text, error));
    ULP_TAKE(out->items, memory, lines, error);
    return ulp_fail_at(error, read_lines(text, lines, out, error), "%s", path);
}

float ulp_calibration_cache_find(const struct ulp_calibration_cache *cache, const char *name)
{
    const struct ulp_tensor_scale wanted = {.name = name},
                                  *found = name && cache->count
                                               ? bsearch(&wanted, cache->items, cache->count,
                                                         sizeof wanted, by_name)
                                               : NULL;
    return found ? found->scale : 0;
}
