/* Engine descriptions: the file and its form. */
#include <ctype.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "data/engine/reading.h"

/* The largest seen are of 0.2 MB. */
#define BYTES_MAX ((size_t)512 << 20)

/* JSON, or a log whose lines begin in "[11/22/2026-10:00:00] [I]"? */
static bool looks_like_json(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && isspace((unsigned char)text[i]))
        i++;
    if (i == length || (text[i] != '{' && text[i] != '[' && text[i] != '"'))
        return false;
    if (text[i] != '[')
        return true;
    for (i++; i < length && isspace((unsigned char)text[i]);)
        i++;
    return i < length && strchr("{\"]", text[i]);
}

/* jansson refuses control characters inside strings, which TensorRT writes between the items of
 * Metadata; whatever stands between these, they are told apart by their brackets. */
static void tame(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == 0x1e || text[i] == 0x1f || text[i] == 0)
            text[i] = ' ';
}

static enum ulp_status read_bytes(struct ulp_engine_reading *reading, char *text, size_t length,
                                  struct ulp_error *error)
{
    tame(text, length);
    return looks_like_json(text, length) ? ulp_engine_read_json(reading, text, length, error)
                                         : ULP_OK;
}

/* A model by its name, all else by its first character. */
static enum ulp_status read_file(struct ulp_engine_reading *reading, const char *path,
                                 struct ulp_budget *budget, struct ulp_error *error)
{
    unsigned char *bytes;
    size_t length;
    if (ulp_text_ends(path, ".onnx"))
        return ulp_engine_read_onnx(reading, path, error);
    ULP_TRY(ulp_file_read(path, BYTES_MAX, budget, &bytes, &length, error));
    enum ulp_status status = read_bytes(reading, (char *)bytes, length, error);
    ulp_free(bytes);
    if (status == ULP_OK && reading->engine->layer_count == 0)
        status = ulp_fail(error, ULP_ERROR_INPUT,
                          "holds no layer of an engine: expected TensorRT's layer information, as "
                          "trtexec --exportLayerInfo=FILE --profilingVerbosity=detailed writes it");
    return ulp_fail_at(error, status, "%s", path);
}

/* What can be said of the version when the file does not: convolutions are "correlation" from 11
 * on, rows of Myelin's stand beside others since 8.6. */
static const char *guess_version(const struct ulp_engine_reading *reading)
{
    const char *version = "";
    for (size_t l = 0; l < reading->engine->layer_count; l++) {
        const char *kind = reading->layers[l].kind;
        if (strcmp(kind, "correlation") == 0)
            return "TensorRT 11 (by its layers)";
        if (strcmp(kind, "kgen") == 0 || strcmp(kind, "gemm") == 0)
            version = "TensorRT 8.6 or later (by its layers)";
    }
    return version;
}

static enum ulp_status finish_engine(struct ulp_engine_reading *reading, struct ulp_error *error)
{
    struct ulp_engine *engine = reading->engine;
    ULP_TAKE_ARRAY(struct ulp_engine_layer, layers, reading->arena, engine->layer_count + 1, error);
    ULP_TAKE_ARRAY(const char *, bindings, reading->arena, engine->binding_count + 1, error);
    engine->names_only = true;
    for (size_t l = 0; l < engine->layer_count; l++) {
        layers[l] = reading->layers[l];
        if (*layers[l].kind)
            engine->names_only = false;
    }
    for (size_t b = 0; b < engine->binding_count; b++)
        bindings[b] = reading->bindings[b];
    engine->layers = layers;
    engine->bindings = bindings;
    if (!*engine->version)
        engine->version = guess_version(reading);
    return ULP_OK;
}

enum ulp_status ulp_engine_read(const char *path, struct ulp_budget *budget, struct ulp_engine *out,
                                struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_engine_reading reading = {.engine = out};
    *out = (struct ulp_engine){.version = "", .profile_count = 1};
    enum ulp_status status = ulp_arena_create(&reading.arena, budget, error);
    if (status == ULP_OK) {
        out->memory = reading.arena;
        status = ulp_engine_text(&reading, path, strlen(path), &out->path, error);
    }
    ULP_THEN(status, read_file(&reading, path, budget, error));
    ULP_THEN(status, finish_engine(&reading, error));
    ulp_free(reading.layers);
    ulp_free(reading.bindings);
    if (status == ULP_OK)
        return ULP_OK;
    ulp_engine_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_engine_free, struct ulp_engine)
