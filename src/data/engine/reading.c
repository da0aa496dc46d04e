/* The engine as it grows: its texts, its layers, and the types that are written in them. */
#include "data/engine/reading.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const struct {
    const char *word;
    enum ulp_type type;
} words[] = {
#define WORD(word, type) {word, ULP_TYPE_##type},
#include "data/engine/engine_type.def"
#undef WORD
};

static enum ulp_type find_word(const char *at, size_t length)
{
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strlen(words[w].word) == length && memcmp(words[w].word, at, length) == 0)
            return words[w].type;
    return ULP_TYPE_UNDEFINED;
}

enum ulp_type ulp_engine_type(const char *text)
{
    while (*text) {
        size_t length = 0;
        while (isalnum((unsigned char)text[length]))
            length++;
        const enum ulp_type type = length ? find_word(text, length) : ULP_TYPE_UNDEFINED;
        if (type != ULP_TYPE_UNDEFINED)
            return type;
        text += length ? length : 1;
    }
    return ULP_TYPE_UNDEFINED;
}

/* Weights are matrices; what scales a sum has one element, a bias one row. */
static size_t count_lines(const struct ulp_engine_tensor *tensor)
{
    size_t longer = 0;
    for (int d = 0; d < tensor->rank; d++)
        longer += tensor->dims[d] > 1;
    return longer;
}

enum ulp_type ulp_engine_weights(const struct ulp_engine_layer *layer, size_t constants)
{
    for (size_t t = 0; t < layer->input_count; t++) {
        const struct ulp_engine_tensor *tensor = &layer->inputs[t];
        const bool constant = t + constants >= layer->input_count ||
                              strstr(tensor->name, "dconst") || strstr(tensor->name, "_constant");
        if (constant && count_lines(tensor) > 1)
            return tensor->type;
    }
    return ULP_TYPE_UNDEFINED;
}

enum ulp_status ulp_engine_text(struct ulp_engine_reading *reading, const char *text, size_t length,
                                const char **out, struct ulp_error *error)
{
    *out = length ? ulp_arena_text(reading->arena, text, length) : "";
    return ulp_taken(*out, error);
}

/* " [profile 1]" behind the name. */
static int find_profile(const char *name)
{
    static const char mark[] = " [profile ";
    const char *at = NULL;
    for (const char *next = strstr(name, mark); next; next = strstr(next + 1, mark))
        at = next;
    if (!at)
        return 0;
    char *end;
    const unsigned long number = strtoul(at + sizeof mark - 1, &end, 10);
    return *end == ']' && end[1] == 0 && number < 1000 ? (int)number : 0;
}

enum ulp_status ulp_engine_add_layer(struct ulp_engine_reading *reading,
                                     const struct ulp_engine_layer *layer, struct ulp_error *error)
{
    struct ulp_engine *engine = reading->engine;
    ULP_TRY(ulp_grow(&reading->layers, engine->layer_count, &reading->layer_capacity,
                     sizeof *reading->layers, ulp_arena_budget(reading->arena), "layers", error));
    struct ulp_engine_layer *out = &reading->layers[engine->layer_count++];
    *out = *layer;
    out->profile = find_profile(layer->name);
    if ((size_t)out->profile >= engine->profile_count)
        engine->profile_count = (size_t)out->profile + 1;
    return ULP_OK;
}

enum ulp_status ulp_engine_add_binding(struct ulp_engine_reading *reading, const char *name,
                                       size_t length, struct ulp_error *error)
{
    struct ulp_engine *engine = reading->engine;
    const char *text;
    ULP_TRY(ulp_engine_text(reading, name, length, &text, error));
    ULP_TRY(ulp_grow(&reading->bindings, engine->binding_count, &reading->binding_capacity,
                     sizeof *reading->bindings, ulp_arena_budget(reading->arena), "bindings",
                     error));
    reading->bindings[engine->binding_count++] = text;
    return ULP_OK;
}
