/* Polygraphy's run results, written iteration by iteration: no more than one array's text is in
 * memory. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "base/memory/alloc.h"
#include "base/text/shown.h"
#include "data/data.h"
#include "data/json_file.h"

struct ulp_recording_writer {
    struct ulp_text file;
    char *path, *runner; /* as JSON, with quotation marks */
    size_t count;        /* of iterations */
};

/* The text in quotation marks; NULL: out of memory. */
static char *quote(const char *text)
{
    json_t *string = json_string_nocheck(text);
    char *quoted = string ? ulp_json_dump(string, JSON_ENCODE_ANY) : NULL;
    json_decref(string);
    return quoted;
}

static void put_words(struct ulp_text *out, const char *text)
{
    ulp_text_put(out, text, strlen(text));
}

static void free_writer(struct ulp_recording_writer *writer)
{
    free(writer->path);
    free(writer->runner);
    free(writer);
}

enum ulp_status ulp_recording_writer_open(const char *path, const char *runner,
                                          struct ulp_recording_writer **out,
                                          struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = NULL;
    if (!ulp_is_utf8(runner))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: the name of runner '%.200s' is not UTF-8",
                        path, runner);
    struct ulp_recording_writer *writer = calloc(1, sizeof *writer);
    if (!writer || !(writer->path = strdup(path)) || !(writer->runner = quote(runner))) {
        if (writer)
            free_writer(writer);
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory", path);
    }
    const enum ulp_status status = ulp_text_open(&writer->file, path, error);
    if (status != ULP_OK) {
        free_writer(writer);
        return status;
    }
    put_words(&writer->file, "{\n    \"lst\": [\n        [\n            ");
    put_words(&writer->file, writer->runner);
    put_words(&writer->file, ",\n            [");
    *out = writer;
    return ULP_OK;
}

/* "NAME": {"values": {"array": BASE64, ...}, ...} */
static enum ulp_status add_array(struct ulp_recording_writer *writer, const char *name,
                                 const struct ulp_tensor *tensor, struct ulp_error *error)
{
    struct ulp_npy npy;
    ULP_SCOPED(ulp_scoped_free) char *quoted = ulp_is_utf8(name) ? quote(name) : NULL;
    if (!ulp_is_utf8(name))
        return ulp_fail(error, ULP_ERROR_INPUT, "its name is not UTF-8");
    ULP_TRY(quoted ? ulp_npy_encode(&npy, tensor, error) : ulp_out_of_memory(error));
    const void *const parts[] = {npy.header, npy.data};
    const size_t counts[] = {npy.header_bytes, npy.data_bytes};
    ULP_SCOPED(ulp_free_of)
    char *text =
        ulp_base64_encode(parts, counts, 2, tensor->owned ? ulp_charged(tensor->data) : NULL);
    ulp_npy_free(&npy);
    ULP_TRY(ulp_taken(text, error));
    put_words(&writer->file, quoted);
    put_words(&writer->file, ": {\n                            \"values\": {\n"
                             "                                \"array\": \"");
    put_words(&writer->file, text);
    put_words(&writer->file,
              "\",\n                                \"polygraphy_class\": \"ndarray\"\n"
              "                            },\n"
              "                            \"polygraphy_class\": \"LazyArray\"\n"
              "                        }");
    return ULP_OK;
}

enum ulp_status ulp_recording_writer_add(struct ulp_recording_writer *writer,
                                         const struct ulp_tensor_set *tensors,
                                         struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text *out = &writer->file;
    put_words(out, writer->count++ ? ",\n                {\n" : "\n                {\n");
    put_words(out, "                    \"outputs\": {");
    for (size_t i = 0; i < tensors->count; i++) {
        put_words(out, i ? ",\n                        " : "\n                        ");
        const enum ulp_status status =
            add_array(writer, tensors->items[i].name, &tensors->items[i].tensor, error);
        ULP_TRY(ulp_fail_at(error, status, "%s: '%.200s'", writer->path, tensors->items[i].name));
    }
    put_words(out, "\n                    },\n                    \"runtime\": null,\n"
                   "                    \"runner_name\": ");
    put_words(out, writer->runner);
    put_words(
        out, ",\n                    \"polygraphy_class\": \"IterationResult\"\n                }");
    return ULP_OK;
}

enum ulp_status ulp_recording_writer_close(struct ulp_recording_writer *writer, bool keep,
                                           struct ulp_error *error)
{
    ULP_ENTER(error);
    if (!writer)
        return ULP_OK;
    put_words(&writer->file, "\n            ]\n        ]\n    ],\n"
                             "    \"polygraphy_class\": \"RunResults\"\n}\n");
    const enum ulp_status status = ulp_text_close(&writer->file, keep, error);
    free_writer(writer);
    return status;
}

enum ulp_status ulp_recording_write_json(const char *path, const char *runner,
                                         const struct ulp_tensor_set *tensors,
                                         struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_recording_writer *writer;
    enum ulp_status status = ulp_recording_writer_open(path, runner, &writer, error);
    ULP_THEN(status, ulp_recording_writer_add(writer, tensors, error));
    const enum ulp_status closed =
        ulp_recording_writer_close(writer, status == ULP_OK, status == ULP_OK ? error : NULL);
    return status == ULP_OK ? closed : status;
}
