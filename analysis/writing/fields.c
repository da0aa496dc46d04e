#include "analysis/writing/fields.h"

#include <string.h>

bool ulp_field_is_array(const struct ulp_field *field)
{
    return field->length || field->counted;
}

size_t ulp_field_bytes(const struct ulp_field *field)
{
    switch (field->kind) {
    case ULP_FIELD_FLAG: return sizeof(bool);
    case ULP_FIELD_INT:
    case ULP_FIELD_WORD: return sizeof(int);
    case ULP_FIELD_UINT: return sizeof(unsigned);
    case ULP_FIELD_INT64:
    case ULP_FIELD_UINT64: return sizeof(uint64_t);
    case ULP_FIELD_SIZE:
    case ULP_FIELD_INDEX: return sizeof(size_t);
    case ULP_FIELD_DOUBLE: return sizeof(double);
    case ULP_FIELD_TEXT: return sizeof(char *);
    case ULP_FIELD_LETTERS: return 1;
    case ULP_FIELD_NAMED:
    case ULP_FIELD_STRUCT: break;
    }
    return field->type->bytes;
}

void *ulp_field_at(const struct ulp_field *field, const void *object)
{
    char *at = (char *)(uintptr_t)object + field->offset;
    return field->points ? *(void **)(void *)at : at;
}

size_t ulp_field_elements(const struct ulp_field *field, const void *object)
{
    const char *count = (const char *)object + field->count;
    if (field->counted)
        return field->count_is_int ? (size_t) * (const int *)(const void *)count
                                   : *(const size_t *)(const void *)count;
    return field->length ? field->length : ulp_field_at(field, object) != NULL;
}

const struct ulp_field *ulp_field_find(const struct ulp_struct *type, const char *name)
{
    size_t f = 0;
    while (strcmp(type->fields[f].name, name) != 0)
        f++;
    return &type->fields[f];
}
