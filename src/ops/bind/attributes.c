/* The attributes of a row: its text is parsed, the node's values or defaults are read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ops/bind/binding.h"

/* "int" -> INT, ... with a NULL at the end. */
static const struct attribute_kind {
    const char *name;
    enum ulp_attribute_kind kind;
} attribute_kinds[] = {
    {"int", ULP_ATTRIBUTE_INT},       {"float", ULP_ATTRIBUTE_FLOAT},
    {"string", ULP_ATTRIBUTE_STRING}, {"ints", ULP_ATTRIBUTE_INTS},
    {"floats", ULP_ATTRIBUTE_FLOATS}, {"strings", ULP_ATTRIBUTE_STRINGS},
    {"tensor", ULP_ATTRIBUTE_TENSOR}, {"graph", ULP_ATTRIBUTE_GRAPH},
};

bool ulp_attribute_next(const char **text, struct ulp_attribute_text *out)
{
    const char *p = *text ? *text + strspn(*text, "; ") : "";
    if (!*p)
        return false;
    size_t length = strcspn(p, ";");
    *text = p + length;
    *out = (struct ulp_attribute_text){.name = p, .name_length = strcspn(p, ":;")};
    out->kind = p + out->name_length + 1;
    if (*out->kind == '!') {
        out->required = true;
        out->kind++;
    }
    out->kind_length = strcspn(out->kind, "=;");
    if (out->kind[out->kind_length] == '=') {
        out->fallback = out->kind + out->kind_length + 1;
        out->fallback_length = (size_t)(p + length - out->fallback);
    }
    return true;
}

bool ulp_attribute_find(const struct ulp_operator *op, const char *name, size_t length,
                        struct ulp_attribute_text *out)
{
    for (const char *text = op->attributes; ulp_attribute_next(&text, out);)
        if (out->name_length == length && strncmp(out->name, name, length) == 0)
            return true;
    return false;
}

static const struct attribute_kind *find_kind(const struct ulp_attribute_text *text)
{
    for (size_t i = 0; i < sizeof attribute_kinds / sizeof *attribute_kinds; i++)
        if (strlen(attribute_kinds[i].name) == text->kind_length &&
            strncmp(attribute_kinds[i].name, text->kind, text->kind_length) == 0)
            return &attribute_kinds[i];
    return NULL;
}

const struct ulp_attribute *ulp_attribute_given(const struct ulp_node *node, const char *name,
                                                size_t length)
{
    for (size_t i = 0; i < node->attribute_count; i++)
        if (strlen(node->attributes[i].name) == length &&
            strncmp(node->attributes[i].name, name, length) == 0)
            return &node->attributes[i];
    return NULL;
}

static size_t count_items(const char *text, size_t length)
{
    size_t count = length > 0;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',';
    return count;
}

static enum ulp_status read_default(const struct ulp_binding *b,
                                    const struct ulp_attribute_text *entry,
                                    enum ulp_attribute_kind kind, struct ulp_attribute_value *out)
{
    char *text = ulp_arena_text(b->arena, entry->fallback, entry->fallback_length);
    size_t count = count_items(entry->fallback, entry->fallback_length);
    int64_t *ints = ulp_arena_take(b->arena, count + 1, sizeof *ints);
    float *floats = ulp_arena_take(b->arena, count + 1, sizeof *floats);
    const char **strings = ulp_arena_take(b->arena, count + 1, sizeof *strings);
    if (!text || !ints || !floats || !strings)
        return ulp_bind_fail_memory(b);
    *out = (struct ulp_attribute_value){
        .present = true, .count = count, .ints = ints, .floats = floats, .strings = strings};
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(text, ",");
        char *item = text;
        text += length + (text[length] == ',');
        item[length] = 0;
        ints[i] = atoll(item);
        floats[i] = strtof(item, NULL);
        strings[i] = item;
    }
    bool scalar =
        kind == ULP_ATTRIBUTE_INT || kind == ULP_ATTRIBUTE_FLOAT || kind == ULP_ATTRIBUTE_STRING;
    if (scalar) {
        out->i = ints[0];
        out->f = floats[0];
        out->s = count ? strings[0] : "";
    }
    return ULP_OK;
}

static struct ulp_attribute_value read_given(const struct ulp_attribute *given)
{
    return (struct ulp_attribute_value){
        .present = true,
        .i = given->i,
        .f = given->f,
        .s = given->s,
        .count = given->count,
        .ints = given->ints,
        .floats = given->floats,
        .strings = given->strings,
        .tensor = given->tensor,
        .graph = given->graph,
    };
}

/* The number as exact text, for formulas. */
static enum ulp_status write_constant(const struct ulp_binding *b, enum ulp_attribute_kind kind,
                                      const struct ulp_attribute_value *value,
                                      struct ulp_slot *slot)
{
    char text[64];
    if (!value->present || (kind != ULP_ATTRIBUTE_INT && kind != ULP_ATTRIBUTE_FLOAT))
        return ULP_OK;
    int length = kind == ULP_ATTRIBUTE_INT
                     ? snprintf(text, sizeof text, "%lld", (long long)value->i)
                     : snprintf(text, sizeof text, "%a", (double)value->f);
    slot->text = ulp_arena_text(b->arena, text, (size_t)length);
    return slot->text ? ULP_OK : ulp_bind_fail_memory(b);
}

static enum ulp_status read_attribute(const struct ulp_binding *b,
                                      const struct ulp_attribute_text *entry, struct ulp_slot *slot,
                                      struct ulp_attribute_value *value)
{
    const struct attribute_kind *kind = find_kind(entry);
    const struct ulp_attribute *given =
        ulp_attribute_given(b->bound->node, entry->name, entry->name_length);
    slot->name = ulp_arena_text(b->arena, entry->name, entry->name_length);
    slot->optional = !entry->required;
    if (!slot->name)
        return ulp_bind_fail_memory(b);
    if (!kind)
        return ulp_fail(b->error, ULP_ERROR_USAGE, "the row's attribute %s has an unknown kind",
                        slot->name);
    if (given && given->kind != kind->kind)
        return ulp_fail(b->error, ULP_ERROR_INPUT, "attribute %s has the wrong kind: expected %s",
                        slot->name, kind->name);
    if (given)
        *value = read_given(given);
    else if (entry->fallback)
        ULP_TRY(read_default(b, entry, kind->kind, value));
    else if (entry->required)
        return ulp_fail(b->error, ULP_ERROR_INPUT, "attribute %s is missing", slot->name);
    return write_constant(b, kind->kind, value, slot);
}

static enum ulp_status refuse_unknown_attributes(const struct ulp_binding *b)
{
    const struct ulp_bound *bound = b->bound;
    for (size_t i = 0; i < bound->node->attribute_count; i++) {
        const char *name = bound->node->attributes[i].name;
        size_t a = 0;
        while (a < bound->attribute_count && strcmp(bound->attribute_slots[a].name, name) != 0)
            a++;
        if (a == bound->attribute_count)
            return ulp_fail(b->error, ULP_ERROR_UNSUPPORTED,
                            "attribute %s is not supported in opset %lld", name,
                            (long long)bound->opset);
    }
    return ULP_OK;
}

/* What lasts takes no more room in the arena than it needs. */
static const void *copy_lasting(const struct ulp_binding *b, const void *items, size_t count,
                                size_t bytes)
{
    void *kept = ulp_arena_take(b->arena, count, bytes);
    if (kept && count)
        memcpy(kept, items, count * bytes);
    return kept;
}

enum ulp_status ulp_bind_attributes(const struct ulp_binding *b)
{
    struct ulp_bound *bound = b->bound;
    struct ulp_slot slots[ULP_ATTRIBUTES_MAX] = {0};
    struct ulp_attribute_value values[ULP_ATTRIBUTES_MAX] = {0};
    struct ulp_attribute_text entry;
    size_t count = 0;
    for (const char *text = bound->op->attributes; ulp_attribute_next(&text, &entry); count++) {
        if (count == ULP_ATTRIBUTES_MAX)
            return ulp_fail(b->error, ULP_ERROR_USAGE, "the row has more than %d attributes",
                            ULP_ATTRIBUTES_MAX);
        ULP_TRY(read_attribute(b, &entry, &slots[count], &values[count]));
    }
    bound->attribute_slots = copy_lasting(b, slots, count, sizeof *slots);
    bound->attributes = copy_lasting(b, values, count, sizeof *values);
    if (!bound->attribute_slots || !bound->attributes)
        return ulp_bind_fail_memory(b);
    bound->attribute_count = count;
    return refuse_unknown_attributes(b);
}
