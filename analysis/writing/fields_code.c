/* Structs as bytes, and back, by the tables of their members (base/text/coder.h). What is read
 * comes from a file, and is checked. */
#include <limits.h>

#include "analysis/writing/fields.h"

static void code_word(struct ulp_coder *coder, const struct ulp_field *field, int *value)
{
    uint64_t number = (uint64_t)(int64_t)*value;
    ulp_code_number(coder, &number);
    const int64_t signed_number = (int64_t)number;
    coder->wrong |= field->words ? number >= (uint64_t)field->words
                                 : signed_number < INT_MIN || signed_number > INT_MAX;
    *value = coder->wrong ? 0 : (int)signed_number;
}

/* A node of which there is one. */
static void code_node(struct ulp_coder *coder, size_t *node)
{
    ptrdiff_t index = (ptrdiff_t)*node;
    ulp_code_index(coder, &index, coder->index_count);
    coder->wrong |= index < 0;
    *node = coder->wrong ? 0 : (size_t)index;
}

static void code_element(struct ulp_coder *coder, const struct ulp_field *field, void *at)
{
    switch (field->kind) {
    case ULP_FIELD_FLAG: ulp_code_flag(coder, at); break;
    case ULP_FIELD_INT:
    case ULP_FIELD_WORD: code_word(coder, field, at); break;
    case ULP_FIELD_INT64:
    case ULP_FIELD_UINT64: ulp_code_number(coder, at); break;
    case ULP_FIELD_SIZE:
        if (field->node)
            code_node(coder, at);
        else
            ulp_code_size(coder, at);
        break;
    case ULP_FIELD_INDEX:
        ulp_code_index(coder, at, field->node ? coder->index_count : PTRDIFF_MAX);
        break;
    case ULP_FIELD_DOUBLE: ulp_code_double(coder, at); break;
    case ULP_FIELD_TEXT: ulp_code_text(coder, at); break;
    case ULP_FIELD_STRUCT: ulp_code_struct(coder, field->type, at); break;
    case ULP_FIELD_UINT: /* of no figure of a sample */
    case ULP_FIELD_LETTERS:
    case ULP_FIELD_NAMED: coder->wrong = true; break;
    }
}

static void code_count(struct ulp_coder *coder, const struct ulp_field *field, void *at)
{
    size_t count = field->kind == ULP_FIELD_INT ? (size_t) * (int *)at : *(size_t *)at;
    ulp_code_count(coder, &count);
    coder->wrong |= count > INT_MAX;
    if (field->kind == ULP_FIELD_INT)
        *(int *)at = coder->wrong ? 0 : (int)count;
    else
        *(size_t *)at = coder->wrong ? 0 : count;
}

static void code_member(struct ulp_coder *coder, const struct ulp_field *field, void *object)
{
    const size_t bytes = ulp_field_bytes(field);
    bool given = ulp_field_elements(field, object) != 0;
    void **pointer = (void **)(void *)((char *)object + field->offset);
    if (field->points && !field->counted) {
        ulp_code_flag(coder, &given);
        if (given && !coder->out)
            *pointer = ulp_code_take(coder, 1, bytes);
    } else if (field->points && !coder->out) {
        *pointer = ulp_code_take(coder, ulp_field_elements(field, object), bytes);
    } else if (field->counted && !field->points) {
        coder->wrong |= ulp_field_elements(field, object) > field->length;
    }
    const size_t count = given ? ulp_field_elements(field, object) : 0;
    for (size_t i = 0; i < count && !coder->wrong && !coder->no_memory; i++)
        code_element(coder, field, (char *)ulp_field_at(field, object) + i * bytes);
}

void ulp_code_struct(struct ulp_coder *coder, const struct ulp_struct *type, void *object)
{
    for (size_t f = 0; f < type->count; f++)
        if (type->fields[f].counts && !type->fields[f].whole)
            code_count(coder, &type->fields[f], (char *)object + type->fields[f].offset);
    for (size_t f = 0; f < type->count && !coder->wrong && !coder->no_memory; f++)
        if (!type->fields[f].counts && !type->fields[f].whole)
            code_member(coder, &type->fields[f], object);
}
