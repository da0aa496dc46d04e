/* Structs read back from JSON by the tables of their members. */
#include <math.h>
#include <string.h>

#include "analysis/writing/fields.h"

struct reading {
    struct ulp_arena *arena;
    bool failed; /* out of memory */
};

static void read_struct(struct reading *reading, const json_t *json, const struct ulp_struct *type,
                        void *object);

static size_t read_size(const json_t *json)
{
    const json_int_t value = json_integer_value(json);
    return value > 0 ? (size_t)value : 0;
}

static int read_word(const struct ulp_field *field, const json_t *json)
{
    const char *text = json_string_value(json);
    for (int w = 0; text && w < field->words; w++)
        if (strcmp(field->word(w), text) == 0)
            return w;
    return 0;
}

/* One element; what is missing is NULL. */
static void read_element(struct reading *reading, const json_t *json, const struct ulp_field *field,
                         void *at)
{
    const char *text = json_string_value(json);
    switch (field->kind) {
    case ULP_FIELD_FLAG: *(bool *)at = json_is_true(json); break;
    case ULP_FIELD_INT: *(int *)at = (int)json_integer_value(json); break;
    case ULP_FIELD_UINT: *(unsigned *)at = (unsigned)json_integer_value(json); break;
    case ULP_FIELD_INT64:
    case ULP_FIELD_UINT64: *(int64_t *)at = json_integer_value(json); break;
    case ULP_FIELD_SIZE: *(size_t *)at = read_size(json); break;
    case ULP_FIELD_INDEX:
        *(ptrdiff_t *)at = json_is_integer(json) ? (ptrdiff_t)json_integer_value(json) : -1;
        break;
    case ULP_FIELD_DOUBLE:
        *(double *)at = json_is_number(json) ? json_number_value(json) : (double)NAN;
        break;
    case ULP_FIELD_TEXT:
        if (text && !(*(char **)at = ulp_arena_copy(reading->arena, text)))
            reading->failed = true;
        break;
    case ULP_FIELD_WORD: *(int *)at = read_word(field, json); break;
    case ULP_FIELD_STRUCT: read_struct(reading, json, field->type, at); break;
    case ULP_FIELD_LETTERS: /* names that nothing is done with but reading */
    case ULP_FIELD_NAMED: break;
    }
}

static void set_count(const struct ulp_field *field, void *object, size_t count)
{
    char *at = (char *)object + field->count;
    if (field->count_is_int)
        *(int *)(void *)at = (int)count;
    else
        *(size_t *)(void *)at = count;
}

static void read_list(struct reading *reading, const json_t *json, const struct ulp_field *field,
                      void *object)
{
    size_t count = json_array_size(json);
    const size_t bytes = ulp_field_bytes(field);
    if (field->points)
        *(void **)(void *)((char *)object + field->offset) =
            ulp_arena_take(reading->arena, count + 1, bytes);
    else if (count > field->length)
        count = field->length;
    char *at = ulp_field_at(field, object);
    reading->failed |= !at;
    if (field->counted)
        set_count(field, object, at ? count : 0);
    for (size_t i = 0; at && i < count; i++)
        read_element(reading, json_array_get(json, i), field, at + i * bytes);
}

static void read_member(struct reading *reading, const json_t *json, const struct ulp_field *field,
                        void *object)
{
    if (field->key) {
        for (size_t i = 0; i < field->length; i++) {
            const json_t *value = json_object_get(json, field->key((int)i));
            if (value)
                read_element(reading, value, field,
                             (char *)ulp_field_at(field, object) + i * ulp_field_bytes(field));
        }
    } else if (ulp_field_is_array(field))
        read_list(reading, json, field, object);
    else if (field->points && json_is_object(json)) {
        void *one = ulp_arena_take(reading->arena, 1, ulp_field_bytes(field));
        *(void **)(void *)((char *)object + field->offset) = one;
        reading->failed |= !one;
        if (one)
            read_element(reading, json, field, one);
    } else if (!field->points)
        read_element(reading, json, field, ulp_field_at(field, object));
}

static void read_struct(struct reading *reading, const json_t *json, const struct ulp_struct *type,
                        void *object)
{
    for (size_t f = 0; f < type->count; f++) {
        const struct ulp_field *field = &type->fields[f];
        if (!field->counts && !field->apart && !reading->failed)
            read_member(reading, field->node ? NULL : json_object_get(json, field->name), field,
                        object);
    }
}

bool ulp_json_read(const json_t *json, const struct ulp_struct *type, void *object,
                   struct ulp_arena *arena)
{
    struct reading reading = {.arena = arena};
    read_struct(&reading, json, type, object);
    return !reading.failed;
}
