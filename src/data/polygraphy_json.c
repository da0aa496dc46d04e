/* Polygraphy's JSON: arrays are npy files in base64.
 *   array    {"array": TEXT, "polygraphy_class": "ndarray"}
 *   inputs   [{NAME: array, ...}, ...], one object an iteration
 *   results  {"lst": [[RUNNER, [{"outputs": {NAME: {"values": array, ...}}, ...}, ...]], ...],
 *             "polygraphy_class": "RunResults"}
 * Older versions wrote the marker "__polygraphy_encoded_ndarray", the npy file (or an npz with one
 * member) as latin-1 text, and the list of results without the object around it; keys decide what a
 * value is, so that the markers need not be read. A folder, as 0.53.6 streams into, has such a file
 * for each iteration: 0000000000.json, ... */
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "data/data.h"
#include "data/json_file.h"

/* The bytes of UTF-8 text whose characters stand for bytes; false: one is beyond 255. */
static bool decode_latin1(const char *text, size_t length, unsigned char *out, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= 0x80 && (c > 0xc3 || i + 1 == length))
            return false;
        out[(*count)++] =
            c < 0x80 ? c : (unsigned char)((c & 3) << 6 | ((unsigned char)text[++i] & 0x3f));
    }
    return true;
}

static bool is_npy(const unsigned char *bytes, size_t count)
{
    return count > 6 && memcmp(bytes, "\x93NUMPY", 6) == 0;
}

static bool is_zip(const unsigned char *bytes, size_t count)
{
    return count >= 4 && memcmp(bytes, "PK\3\4", 4) == 0;
}

static enum ulp_status take_first(struct ulp_tensor *out, const unsigned char *bytes, size_t count,
                                  struct ulp_budget *budget, struct ulp_error *error)
{
    struct ulp_tensor_set members;
    ULP_TRY(ulp_npz_parse("its npz", bytes, count, budget, &members, error));
    if (members.count == 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "its npz is empty");
    *out = members.items[0].tensor;
    members.items[0].tensor = (struct ulp_tensor){0};
    ulp_tensor_set_free(&members);
    return ULP_OK;
}

static enum ulp_status parse_array(struct ulp_tensor *out, const json_t *text,
                                   struct ulp_budget *budget, struct ulp_error *error)
{
    const char *value = json_string_value(text);
    const size_t length = json_string_length(text);
    ULP_SCOPED(ulp_free_of) void *bytes = NULL;
    size_t count = 0;
    ULP_TRY(ulp_allocate(&bytes, length, 1, budget, "its bytes", error));
    const bool base64 = ulp_base64_decode(value, length, bytes, &count) &&
                        (is_npy(bytes, count) || is_zip(bytes, count));
    if (!base64 && !decode_latin1(value, length, bytes, &count))
        return ulp_fail(error, ULP_ERROR_INPUT, "its \"array\" is no base64 text");
    else if (is_zip(bytes, count))
        ULP_TRY(take_first(out, bytes, count, budget, error));
    else
        ULP_TRY(ulp_npy_parse(out, bytes, count, budget, error));
    return ULP_OK;
}

/* An array, or an object that holds one as "values" (LazyArray) or "array" (FormattedArray). */
static enum ulp_status read_value(struct ulp_tensor *out, const json_t *value,
                                  struct ulp_budget *budget, struct ulp_error *error)
{
    for (int depth = 0; depth < 4 && json_is_object(value); depth++) {
        const json_t *inner = json_object_get(value, "values"),
                     *array = json_object_get(value, "array");
        if (json_is_string(array))
            return parse_array(out, array, budget, error);
        if (json_object_get(value, "tensor"))
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "is a pickled torch tensor, which is never read; record it as a numpy "
                            "array");
        value = inner ? inner : array;
    }
    return ulp_fail(error, ULP_ERROR_INPUT, "is no array: expected {\"array\": BASE64}");
}

static enum ulp_status read_arrays(const json_t *object, struct ulp_tensor_set *out,
                                   struct ulp_budget *budget, struct ulp_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor tensor = {0};
        enum ulp_status status = read_value(&tensor, value, budget, error);
        ULP_THEN(status, ulp_tensor_set_add(out, name, &tensor, error));
        if (status != ULP_OK) {
            ulp_tensor_set_free(out);
            return ulp_fail_at(error, status, "'%.200s'", name);
        }
    }
    return ULP_OK;
}

/* Where the recordings of a file go. */
struct reading {
    const char *path;
    size_t first; /* iteration of the file */
    struct ulp_budget *budget;
    struct ulp_recording_list *list;
};

static enum ulp_status add_iteration(const struct reading *to, const char *runner, size_t iteration,
                                     const json_t *arrays, struct ulp_error *error)
{
    struct ulp_tensor_set tensors = {0};
    if (!json_is_object(arrays))
        return ulp_fail(error, ULP_ERROR_INPUT, "iteration %zu is no object of arrays", iteration);
    ULP_TRY(ulp_fail_at(error, read_arrays(arrays, &tensors, to->budget, error), "iteration %zu",
                        iteration));
    return ulp_recording_add(to->list, to->path, runner, to->first + iteration, &tensors, error);
}

static bool is_runner(const json_t *pair)
{
    return json_array_size(pair) == 2 && json_is_string(json_array_get(pair, 0)) &&
           json_is_array(json_array_get(pair, 1));
}

static enum ulp_status read_results(const json_t *runners, const struct reading *to,
                                    struct ulp_error *error)
{
    const size_t count = json_array_size(runners);
    for (size_t r = 0; r < count; r++) {
        const json_t *pair = json_array_get(runners, r);
        if (!is_runner(pair))
            return ulp_fail(error, ULP_ERROR_INPUT, "entry %zu of \"lst\" is no [RUNNER, [...]]",
                            r);
        const char *runner = json_string_value(json_array_get(pair, 0));
        const json_t *iterations = json_array_get(pair, 1);
        for (size_t i = 0; i < json_array_size(iterations); i++) {
            const json_t *arrays = json_object_get(json_array_get(iterations, i), "outputs");
            ULP_TRY(ulp_fail_at(error,
                                add_iteration(to, count > 1 ? runner : NULL, i, arrays, error),
                                "runner '%.100s'", runner));
        }
    }
    return ULP_OK;
}

static enum ulp_status read_root(const json_t *root, const struct reading *to,
                                 struct ulp_error *error)
{
    const json_t *results = json_object_get(root, "lst");
    const size_t count = json_array_size(root);
    if (json_is_array(results))
        return read_results(results, to, error);
    if (count && is_runner(json_array_get(root, 0)))
        return read_results(root, to, error);
    for (size_t i = 0; i < count; i++)
        ULP_TRY(add_iteration(to, NULL, i, json_array_get(root, i), error));
    return count ? ULP_OK
                 : ulp_fail(error, ULP_ERROR_INPUT,
                            "is neither Polygraphy's --save-outputs (an object with \"lst\") nor "
                            "its --save-inputs (a list of objects)");
}

enum { JSON_FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL };

/* A file is mapped, as arrays in it take more than all else; a pipe is read. */
static enum ulp_status load_json(json_t **out, const char *path, struct ulp_budget *budget,
                                 size_t *charged, struct ulp_error *error)
{
    struct stat info;
    size_t count;
    *charged = 0;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        ULP_SCOPED(ulp_free_of) unsigned char *bytes = NULL;
        ULP_TRY(ulp_file_read(path, SIZE_MAX, budget, &bytes, &count, error));
        return ulp_json_parse(path, bytes, count, JSON_FLAGS, budget, out, charged, error);
    }
    void *mapped;
    ULP_TRY(ulp_file_map(path, SIZE_MAX, &mapped, &count, error));
    enum ulp_status status =
        ulp_json_parse(path, mapped, count, JSON_FLAGS, budget, out, charged, error);
    if (mapped)
        munmap(mapped, count);
    return status;
}

enum ulp_status ulp_polygraphy_read(const char *path, const char *name, size_t first,
                                    struct ulp_budget *budget, struct ulp_recording_list *list,
                                    struct ulp_error *error)
{
    const size_t before = list->count;
    json_t *root = NULL;
    size_t charged;
    enum ulp_status status = load_json(&root, path, budget, &charged, error);
    if (status == ULP_OK) {
        status = read_root(root, &(struct reading){name, first, budget, list}, error);
        if (status == ULP_OK && list->count == before)
            status = ulp_fail(error, ULP_ERROR_INPUT, "holds no iteration");
        ulp_fail_at(error, status, "%s", path);
    }
    json_decref(root);
    ulp_budget_discharge(budget, charged);
    return status;
}
