/* Structs written as JSON by the tables of their members. */
#include <math.h>

#include <ulpscope.h>

#include "analysis/writing/fields.h"
#include "analysis/writing/json_value.h"
#include "data/json_file.h"

/* An element of such a member as JSON; the member is no struct. NULL: out of memory. */
static json_t *make_value(const struct ulp_field *field, const void *at)
{
    switch (field->kind) {
    case ULP_FIELD_FLAG: return json_boolean(*(const bool *)at);
    case ULP_FIELD_INT: return json_integer(*(const int *)at);
    case ULP_FIELD_UINT: return json_integer((json_int_t) * (const unsigned *)at);
    case ULP_FIELD_INT64: return json_integer((json_int_t) * (const int64_t *)at);
    case ULP_FIELD_UINT64: return json_integer((json_int_t) * (const uint64_t *)at);
    case ULP_FIELD_SIZE: return json_integer((json_int_t) * (const size_t *)at);
    case ULP_FIELD_INDEX: return json_integer((json_int_t) * (const ptrdiff_t *)at);
    case ULP_FIELD_DOUBLE: return ulp_json_number(*(const double *)at);
    case ULP_FIELD_TEXT:
        return ulp_json_text(*(const char *const *)at ? *(const char *const *)at : "");
    case ULP_FIELD_LETTERS: return ulp_json_text(at);
    case ULP_FIELD_WORD: return ulp_json_text(field->word(*(const int *)at));
    case ULP_FIELD_NAMED:
    case ULP_FIELD_STRUCT: break;
    }
    return ulp_json_text((const char *)at + field->type->fields[0].offset);
}

/* Does the member say nothing? */
static bool is_silent(const struct ulp_field *field, const void *at)
{
    return field->kind == ULP_FIELD_FLAG    ? !*(const bool *)at
           : field->kind == ULP_FIELD_INDEX ? *(const ptrdiff_t *)at < 0
           : field->kind == ULP_FIELD_TEXT  ? !*(const char *const *)at
                                            : false;
}

/* Is there anything to say, by the struct's first member? */
static bool is_empty(const struct ulp_struct *type, const void *object)
{
    const struct ulp_field *first = &type->fields[0];
    const void *at = ulp_field_at(first, object);
    return first->kind == ULP_FIELD_SIZE ? !first->node && !*(const size_t *)at
                                         : is_silent(first, at);
}

/* What the element of a list of the document is called: a text, or the name of a struct. */
static json_t *make_listed(const struct ulp_json_writer *writer, const struct ulp_field *field,
                           const void *at)
{
    const struct ulp_field *list = ulp_field_find(writer->type, field->list);
    const size_t index = *(const size_t *)at;
    if (index >= ulp_field_elements(list, writer->result))
        return json_null();
    const char *element =
        (const char *)ulp_field_at(list, writer->result) + index * ulp_field_bytes(list);
    return list->kind == ULP_FIELD_STRUCT
               ? make_value(ulp_field_find(list->type, "name"),
                            ulp_field_at(ulp_field_find(list->type, "name"), element))
               : make_value(list, element);
}

static void put_element(struct ulp_json_writer *writer, const char *key,
                        const struct ulp_field *field, const void *at,
                        const struct ulp_json_how *how)
{
    if (field->kind == ULP_FIELD_STRUCT || field->kind == ULP_FIELD_NAMED) {
        for (size_t h = 0; h < how->hook_count; h++)
            if (how->hooks[h].type == field->type && how->hooks[h].instead) {
                how->hooks[h].instead(writer, key, at, how->context);
                return;
            }
        if (field->kind == ULP_FIELD_STRUCT) {
            ulp_json_struct(writer, key, field->type, at, how);
            return;
        }
    }
    if (field->list)
        ulp_json_put(writer, key, make_listed(writer, field, at));
    else if (field->node)
        ulp_json_put(writer, key, ulp_json_text(how->node(how->context, *(const size_t *)at)));
    else
        ulp_json_put(writer, key, make_value(field, at));
}

/* An object with the names of an enum, of what is not 0. */
static void put_words(struct ulp_json_writer *writer, const struct ulp_field *field,
                      const void *object, const struct ulp_json_how *how)
{
    const size_t bytes = ulp_field_bytes(field);
    const char *at = ulp_field_at(field, object);
    bool open = false;
    for (size_t i = 0; i < field->length; i++, at += bytes) {
        if (field->kind == ULP_FIELD_DOUBLE && !(fabs(*(const double *)(const void *)at) > 0))
            continue;
        if (!open)
            ulp_json_open(writer, field->name, '{');
        open = true;
        put_element(writer, field->key((int)i), field, at, how);
    }
    if (open)
        ulp_json_close(writer, '}');
}

static void put_member(struct ulp_json_writer *writer, const struct ulp_field *field,
                       const void *object, const struct ulp_json_how *how)
{
    const size_t count = ulp_field_elements(field, object), bytes = ulp_field_bytes(field);
    const char *at = ulp_field_at(field, object);
    if (!ulp_field_is_array(field) || field->kind == ULP_FIELD_LETTERS) {
        const bool empty =
            field->kind == ULP_FIELD_STRUCT && !field->points && at && is_empty(field->type, at);
        if (at && !empty && !is_silent(field, at))
            put_element(writer, field->name, field, at, how);
        return;
    }
    if (field->key) {
        put_words(writer, field, object, how);
        return;
    }
    ulp_json_open(writer, field->name, '[');
    for (size_t i = 0; i < count; i++)
        put_element(writer, NULL, field, at + i * bytes, how);
    ulp_json_close(writer, ']');
}

void ulp_json_members(struct ulp_json_writer *writer, const struct ulp_struct *type,
                      const void *object, const struct ulp_json_how *how)
{
    for (size_t f = 0; f < type->count; f++)
        if ((!type->fields[f].counts || type->fields[f].said) && !type->fields[f].apart)
            put_member(writer, &type->fields[f], object, how);
    for (size_t h = 0; h < how->hook_count; h++)
        if (how->hooks[h].type == type && how->hooks[h].also)
            how->hooks[h].also(writer, object, how->context);
}

void ulp_json_member(struct ulp_json_writer *writer, const struct ulp_struct *type,
                     const char *name, const void *object, const struct ulp_json_how *how)
{
    put_member(writer, ulp_field_find(type, name), object, how);
}

void ulp_json_struct(struct ulp_json_writer *writer, const char *key, const struct ulp_struct *type,
                     const void *object, const struct ulp_json_how *how)
{
    ulp_json_open(writer, key, '{');
    ulp_json_members(writer, type, object, how);
    ulp_json_close(writer, '}');
}

json_t *ulp_json_value(const struct ulp_struct *type, const void *object,
                       const struct ulp_json_how *how)
{
    struct ulp_json_writer writer = {.out = NULL};
    ulp_json_struct(&writer, NULL, type, object, how);
    return ulp_json_made(&writer);
}
