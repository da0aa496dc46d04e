/* trtexec's options for single layers: reading, matching, writing. */
#include "data/layer_options.h"

#include <string.h>

#include "base/error.h"
#include "base/text/shown.h"

static const struct {
    const char *name;
    enum ulp_type type;
} types[] = {
    {"fp32", ULP_TYPE_FLOAT},  {"fp16", ULP_TYPE_FLOAT16},     {"bf16", ULP_TYPE_BFLOAT16},
    {"int8", ULP_TYPE_INT8},   {"fp8", ULP_TYPE_FLOAT8E4M3FN}, {"int32", ULP_TYPE_INT32},
    {"int64", ULP_TYPE_INT64}, {"uint8", ULP_TYPE_UINT8},      {"bool", ULP_TYPE_BOOL},
    {"int4", ULP_TYPE_INT4},
};
#define TYPE_COUNT (sizeof types / sizeof *types)
/* How Polygraphy, ONNX and numpy spell them. */
static const struct {
    const char *other, *name;
} spellings[] = {
    {"float32", "fp32"}, {"float", "fp32"}, {"float16", "fp16"},  {"half", "fp16"},
    {"FP32", "fp32"},    {"FP16", "fp16"},  {"FLOAT", "fp32"},    {"FLOAT16", "fp16"},
    {"f32", "fp32"},     {"f16", "fp16"},   {"bfloat16", "bf16"}, {"BF16", "bf16"},
    {"kFLOAT", "fp32"},  {"kHALF", "fp16"}, {"HALF", "fp16"},     {"INT8", "int8"},
    {"tf32", "fp32"},    {"float8", "fp8"},
};

const char *ulp_layer_type_name(enum ulp_type type)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (types[i].type == type)
            return types[i].name;
    return NULL;
}

const char *ulp_layer_option_flag(enum ulp_layer_option_kind kind)
{
    return kind == ULP_LAYER_PRECISIONS ? "--layerPrecisions" : "--layerOutputTypes";
}

/* A piece of the text. */
struct piece {
    const char *at;
    size_t length;
};

static struct piece cut(struct piece *rest, char separator)
{
    const char *end = memchr(rest->at, separator, rest->length);
    struct piece piece = {rest->at, end ? (size_t)(end - rest->at) : rest->length};
    rest->at += piece.length + (end != NULL);
    rest->length -= piece.length + (end != NULL);
    return piece;
}

static size_t count_of(struct piece piece, char character)
{
    size_t count = 0;
    for (size_t i = 0; i < piece.length; i++)
        count += piece.at[i] == character;
    return count;
}

static enum ulp_status refuse_type(enum ulp_layer_option_kind kind, struct piece entry,
                                   struct piece type, struct ulp_error *error)
{
    const char *hint = NULL;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings && !hint; i++)
        if (strlen(spellings[i].other) == type.length &&
            memcmp(spellings[i].other, type.at, type.length) == 0)
            hint = spellings[i].name;
    return ulp_fail(error, ULP_ERROR_USAGE, "%s: '%.*s': trtexec has no type '%.*s'%s%s%s",
                    ulp_layer_option_flag(kind), (int)entry.length, entry.at, (int)type.length,
                    type.at, hint ? ", it is called " : ": expected fp32, fp16, bf16, int8, ...",
                    hint ? hint : "",
                    kind == ULP_LAYER_PRECISIONS && count_of(type, '+')
                        ? " (several types are for --layerOutputTypes)"
                        : "");
}

static enum ulp_status read_types(enum ulp_layer_option_kind kind, struct piece entry,
                                  struct piece text, struct ulp_arena *arena,
                                  struct ulp_layer_option *out, struct ulp_error *error)
{
    const size_t count = kind == ULP_LAYER_PRECISIONS ? 1 : count_of(text, '+') + 1;
    enum ulp_type *read = ulp_arena_take(arena, count, sizeof *read);
    if (!read)
        return ulp_fail_memory(error, "out of memory for %s", ulp_layer_option_flag(kind));
    for (size_t i = 0; i < count; i++) {
        const struct piece name = kind == ULP_LAYER_PRECISIONS ? text : cut(&text, '+');
        size_t t = 0;
        while (t < TYPE_COUNT && (strlen(types[t].name) != name.length ||
                                  memcmp(types[t].name, name.at, name.length) != 0))
            t++;
        if (t == TYPE_COUNT)
            return refuse_type(kind, entry, name, error);
        read[i] = types[t].type;
    }
    out->types = read;
    out->type_count = count;
    return ULP_OK;
}

/* The name, and the type after it. */
static enum ulp_status split(enum ulp_layer_option_kind kind, struct piece entry,
                             struct piece name[2], struct piece *type, struct ulp_error *error)
{
    const char *flag = ulp_layer_option_flag(kind);
    const size_t quotes = count_of(entry, '\'');
    struct piece rest = entry;
    if (quotes != 0 && quotes != 2)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: '%.*s' has %zu single quote%s, expected none or two (commas part "
                        "entries also inside quotes)",
                        flag, (int)entry.length, entry.at, quotes, quotes == 1 ? "" : "s");
    name[0] = name[1] = (struct piece){entry.at, 0};
    if (quotes) {
        name[0] = cut(&rest, '\'');
        name[1] = cut(&rest, '\'');
    } else {
        while (rest.length && memchr(rest.at, ':', rest.length))
            cut(&rest, ':');
        name[0].length = rest.at > entry.at ? (size_t)(rest.at - 1 - entry.at) : 0;
        rest = (struct piece){entry.at + name[0].length, entry.length - name[0].length};
    }
    if (rest.length < 2 || rest.at[0] != ':' || name[0].length + name[1].length == 0)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: '%.*s': expected NAME:TYPE, as conv1:fp32 (a name cannot hold a "
                        "comma: write '*' in its place)",
                        flag, (int)entry.length, entry.at);
    *type = (struct piece){rest.at + 1, rest.length - 1};
    return ULP_OK;
}

static enum ulp_status read_entry(enum ulp_layer_option_kind kind, struct piece entry,
                                  struct ulp_arena *arena, struct ulp_layer_option *out,
                                  struct ulp_error *error)
{
    struct piece parts[2] = {{0}}, type = {0};
    ULP_TRY(split(kind, entry, parts, &type, error));
    char *name = ulp_arena_take(arena, parts[0].length + parts[1].length + 1, 1);
    if (!name)
        return ulp_fail_memory(error, "out of memory for %s", ulp_layer_option_flag(kind));
    memcpy(name, parts[0].at, parts[0].length);
    memcpy(name + parts[0].length, parts[1].at, parts[1].length);
    *out = (struct ulp_layer_option){.name = name, .pattern = strchr(name, '*') != NULL};
    return read_types(kind, entry, type, arena, out, error);
}

/* The last entry of a name counts. */
static bool index_names(struct ulp_layer_options *options)
{
    for (size_t i = options->count; i-- > 0;)
        if (ulp_names_find(&options->exact, options->items[i].name) < 0 &&
            !ulp_names_add(&options->exact, options->items[i].name, (int)i))
            return false;
    return true;
}

enum ulp_status ulp_layer_options_parse(const char *text, enum ulp_layer_option_kind kind,
                                        struct ulp_arena *arena, struct ulp_layer_options *out,
                                        struct ulp_error *error)
{
    *out = (struct ulp_layer_options){.exact.budget = ulp_arena_budget(arena)};
    struct piece rest = {text, strlen(text)};
    const size_t count = rest.length ? count_of(rest, ',') + 1 : 0;
    out->items = ulp_arena_take(arena, count + 1, sizeof *out->items);
    enum ulp_status status = ULP_OK;
    if (!out->items)
        status = ulp_fail_memory(error, "out of memory for %s", ulp_layer_option_flag(kind));
    for (size_t i = 0; i < count && status == ULP_OK; i++)
        status = read_entry(kind, cut(&rest, ','), arena, &out->items[i], error);
    if (status == ULP_OK) {
        out->count = count;
        if (!index_names(out))
            status = ulp_fail_memory(error, "out of memory for %s", ulp_layer_option_flag(kind));
    }
    if (status != ULP_OK)
        ulp_layer_options_free(out);
    return status;
}

void ulp_layer_options_free(struct ulp_layer_options *options)
{
    ulp_names_free(&options->exact);
    *options = (struct ulp_layer_options){0};
}

bool ulp_layer_option_matches(const struct ulp_layer_option *option, const char *layer)
{
    const char *star = strchr(option->name, '*');
    if (!star)
        return strcmp(option->name, layer) == 0;
    const size_t front = (size_t)(star - option->name), back = strlen(star + 1),
                 length = strlen(layer);
    return length >= front + back && memcmp(layer, option->name, front) == 0 &&
           memcmp(layer + length - back, star + 1, back) == 0;
}

const struct ulp_layer_option *ulp_layer_options_find(const struct ulp_layer_options *options,
                                                      const char *layer)
{
    const int exact = ulp_names_find(&options->exact, layer);
    if (exact >= 0)
        return &options->items[exact];
    for (size_t i = 0; i < options->count; i++)
        if (options->items[i].pattern && ulp_layer_option_matches(&options->items[i], layer))
            return &options->items[ulp_names_find(&options->exact, options->items[i].name)];
    return NULL;
}

/* The first part of text that cannot be written: trtexec's own characters, and those that text for
 * a terminal or a shell's line must not hold. *end: behind it; NULL: there is none. */
static const char *find_special(const char *text, const char **end)
{
    static const char special[] = ",'*";
    for (const char *last = text + strlen(text); text < last; text = *end) {
        struct ulp_shown shown;
        *end = ulp_show_character(&shown, text, last);
        const size_t bytes = (size_t)(*end - text);
        if (strchr(special, *text) || shown.length != bytes || memcmp(shown.text, text, bytes) != 0)
            return text;
    }
    return NULL;
}

void ulp_layer_option_add(struct ulp_text *out, const char *name, enum ulp_type type)
{
    const char *end, *rest = name, *front = find_special(name, &end);
    for (const char *at = front; at; at = find_special(end, &end))
        rest = end;
    ulp_text_add(out, out->length ? "," : "");
    ulp_text_put(out, name, front ? (size_t)(front - name) : 0);
    if (front)
        ulp_text_put(out, "*", 1);
    ulp_text_put(out, rest, strlen(rest));
    ulp_text_add(out, ":%s", ulp_layer_type_name(type));
}
