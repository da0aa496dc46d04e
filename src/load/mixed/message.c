/* Messages of protobuf-c that are changed: their memory is the allocator's, so that the model's
 * message frees all of it. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "load/mixed/writer.h"

static enum ulp_status take_budgeted(struct mixed *mixed, void *out, size_t count, size_t bytes,
                                     struct ulp_error *error)
{
    void *memory = NULL;
    enum ulp_status status =
        ulp_allocate_zero(&memory, count, bytes, mixed->budget, "the model that is written", error);
    *(void **)out = memory;
    return status;
}

enum ulp_status mixed_new(struct mixed *mixed, void *out,
                          const ProtobufCMessageDescriptor *descriptor, struct ulp_error *error)
{
    ULP_TRY(take_budgeted(mixed, out, 1, descriptor->sizeof_message, error));
    descriptor->message_init(*(void **)out);
    return ULP_OK;
}

enum ulp_status mixed_set_text(struct mixed *mixed, ProtobufCBinaryData *out, const char *text,
                               struct ulp_error *error)
{
    const size_t length = strlen(text);
    uint8_t *copy;
    ULP_TRY(take_budgeted(mixed, &copy, length + 1, 1, error));
    memcpy(copy, text, length);
    ulp_free(out->data);
    *out = (ProtobufCBinaryData){length, copy};
    return ULP_OK;
}

const char *mixed_text(struct mixed *mixed, ProtobufCBinaryData bytes)
{
    return ulp_arena_text(mixed->arena, bytes.data ? (const char *)bytes.data : "", bytes.len);
}

enum ulp_status mixed_append(struct mixed *mixed, void *array, size_t *count, void *item,
                             struct ulp_error *error)
{
    void **grown, **items = *(void ***)array;
    ULP_TRY(take_budgeted(mixed, &grown, *count + 1, sizeof *grown, error));
    if (*count)
        memcpy(grown, items, *count * sizeof *grown);
    grown[(*count)++] = item;
    ulp_free(items);
    *(void ***)array = grown;
    return ULP_OK;
}

enum ulp_status mixed_take(struct mixed *mixed, void *array, size_t *count, void *message,
                           struct ulp_error *error)
{
    const enum ulp_status status = mixed_append(mixed, array, count, message, error);
    if (status != ULP_OK)
        ulp_unpack_free(&mixed->loader.unpacker, message);
    return status;
}

enum ulp_status mixed_add(struct mixed *mixed, void *array, size_t *count,
                          const ProtobufCMessageDescriptor *descriptor, void *out,
                          struct ulp_error *error)
{
    ULP_TRY(mixed_new(mixed, out, descriptor, error));
    return mixed_take(mixed, array, count, *(void **)out, error);
}

enum ulp_status mixed_add_name(struct mixed *mixed, ProtobufCBinaryData **names, size_t *count,
                               const char *name, struct ulp_error *error)
{
    ProtobufCBinaryData *grown;
    ULP_TRY(take_budgeted(mixed, &grown, *count + 1, sizeof *grown, error));
    if (*count)
        memcpy(grown, *names, *count * sizeof *grown);
    ulp_free(*names);
    *names = grown;
    return mixed_set_text(mixed, &grown[(*count)++], name, error);
}

enum ulp_status mixed_add_entry(struct mixed *mixed, Ulp__EntryProto ***entries, size_t *count,
                                const char *key, const char *value, struct ulp_error *error)
{
    Ulp__EntryProto *entry;
    ULP_TRY(mixed_add(mixed, entries, count, &ulp__entry_proto__descriptor, &entry, error));
    entry->has_key = entry->has_value = true;
    ULP_TRY(mixed_set_text(mixed, &entry->key, key, error));
    return mixed_set_text(mixed, &entry->value, value, error);
}

void mixed_drop(struct mixed *mixed, void *place)
{
    ulp_unpack_free(&mixed->loader.unpacker, *(void **)place);
    *(void **)place = NULL;
}

void mixed_close_gaps(void *messages, size_t *count)
{
    void **items = messages;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (items[i])
            items[kept++] = items[i];
    *count = kept;
}

void mixed_clear(struct mixed *mixed, void *messages, size_t *count)
{
    for (; *count; --*count)
        mixed_drop(mixed, (void **)messages + *count - 1);
}

static bool is_domain(ProtobufCBinaryData bytes, const char *domain)
{
    return mixed_is_text(bytes, domain) || (!*domain && mixed_is_text(bytes, "ai.onnx"));
}

enum ulp_status mixed_import(struct mixed *mixed, Ulp__OpsetProto ***imports, size_t *count,
                             const char *domain, int64_t version, struct ulp_error *error)
{
    Ulp__OpsetProto *import;
    bool imported = false;
    for (size_t i = 0; i < *count; i++)
        if (is_domain((*imports)[i]->domain, domain)) {
            import = (*imports)[i];
            import->version = import->version < version ? version : import->version;
            import->has_version = true;
            imported = true;
        }
    if (imported)
        return ULP_OK;
    ULP_TRY(mixed_add(mixed, imports, count, &ulp__opset_proto__descriptor, &import, error));
    import->has_domain = *domain;
    import->has_version = true;
    import->version = version;
    return *domain ? mixed_set_text(mixed, &import->domain, domain, error) : ULP_OK;
}

enum ulp_status mixed_pack(struct mixed *mixed, const ProtobufCMessage *message,
                           ProtobufCBinaryData *out, struct ulp_error *error)
{
    const size_t length = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes;
    ULP_TRY(take_budgeted(mixed, &bytes, length + 1, 1, error));
    protobuf_c_message_pack(message, bytes);
    ulp_free(out->data);
    *out = (ProtobufCBinaryData){length, bytes};
    return ULP_OK;
}

enum ulp_status mixed_clone(struct mixed *mixed, const ProtobufCMessage *message, void *out,
                            struct ulp_error *error)
{
    ProtobufCBinaryData bytes = {0};
    *(void **)out = NULL;
    enum ulp_status status = mixed_pack(mixed, message, &bytes, error);
    if (status == ULP_OK)
        status = ulp_unpack(&mixed->loader.unpacker, out, message->descriptor, bytes.data,
                            bytes.len, "model", error);
    ulp_free(bytes.data);
    return status;
}

enum ulp_status mixed_fresh(struct mixed *mixed, const char *name, const char *end,
                            const char **out, struct ulp_error *error)
{
    const size_t size = strlen(name) + strlen(end) + 24;
    char *text = ulp_arena_take(mixed->arena, size, 1);
    ULP_TRY(ulp_taken(text, error));
    snprintf(text, size, "%s_%s", name, end);
    for (unsigned i = 2; ulp_names_find(&mixed->names, text) >= 0; i++)
        snprintf(text, size, "%s_%s_%u", name, end, i);
    *out = text;
    return ulp_names_add(&mixed->names, text, 0) ? ULP_OK : ulp_out_of_memory(error);
}

bool mixed_is_text(ProtobufCBinaryData bytes, const char *text)
{
    return bytes.len == strlen(text) && (!bytes.len || memcmp(bytes.data, text, bytes.len) == 0);
}

bool mixed_is_function(const Ulp__FunctionProto *proto, const struct ulp_function *function)
{
    return mixed_is_text(proto->name, function->name) &&
           mixed_is_text(proto->overload, function->overload) &&
           is_domain(proto->domain, function->domain);
}

enum ulp_status mixed_attribute(struct mixed *mixed, Ulp__NodeProto *node, const char *name,
                                int32_t type, Ulp__AttributeProto **out, struct ulp_error *error)
{
    *out = NULL;
    for (size_t a = 0; a < node->n_attribute && !*out; a++)
        if (mixed_is_text(node->attribute[a]->name, name))
            *out = node->attribute[a];
    if (!*out) {
        ULP_TRY(mixed_add(mixed, &node->attribute, &node->n_attribute,
                          &ulp__attribute_proto__descriptor, out, error));
        ULP_TRY(mixed_set_text(mixed, &(*out)->name, name, error));
    }
    (*out)->has_name = (*out)->has_type = true;
    (*out)->type = type;
    ulp_free((*out)->ref_attr_name.data);
    (*out)->ref_attr_name = (ProtobufCBinaryData){0};
    (*out)->has_ref_attr_name = false;
    return ULP_OK;
}

enum ulp_status mixed_name_node(struct mixed *mixed, Ulp__NodeProto *node, const char *op,
                                const char *name, struct ulp_error *error)
{
    node->has_op_type = node->has_name = true;
    ULP_TRY(mixed_set_text(mixed, &node->op_type, op, error));
    return mixed_set_text(mixed, &node->name, name, error);
}

enum ulp_status mixed_set_number(struct mixed *mixed, Ulp__NodeProto *node, const char *name,
                                 int64_t number, struct ulp_error *error)
{
    const struct ulp_attribute attribute = {.name = name, .kind = ULP_ATTRIBUTE_INT, .i = number};
    return mixed_copy_attribute(mixed, node, &attribute, error);
}

static enum ulp_status set_ints(struct mixed *mixed, Ulp__AttributeProto *proto,
                                const struct ulp_attribute *attribute, struct ulp_error *error)
{
    void *ints = NULL;
    ULP_TRY(ulp_allocate_zero(&ints, attribute->count + 1, sizeof(int64_t), mixed->budget,
                              "an attribute", error));
    memcpy(ints, attribute->ints, attribute->count * sizeof(int64_t));
    proto->ints = ints;
    proto->n_ints = attribute->count;
    return ULP_OK;
}

enum ulp_status mixed_copy_attribute(struct mixed *mixed, Ulp__NodeProto *node,
                                     const struct ulp_attribute *attribute, struct ulp_error *error)
{
    const int32_t type = attribute->kind == ULP_ATTRIBUTE_INT     ? ATTRIBUTE_INT
                         : attribute->kind == ULP_ATTRIBUTE_FLOAT ? ATTRIBUTE_FLOAT
                         : attribute->kind == ULP_ATTRIBUTE_INTS  ? ATTRIBUTE_INTS
                                                                  : ATTRIBUTE_STRING;
    Ulp__AttributeProto *proto;
    ULP_TRY(mixed_attribute(mixed, node, attribute->name, type, &proto, error));
    proto->has_i = type == ATTRIBUTE_INT;
    proto->i = attribute->i;
    proto->has_f = type == ATTRIBUTE_FLOAT;
    proto->f = attribute->f;
    proto->has_s = type == ATTRIBUTE_STRING;
    if (type == ATTRIBUTE_INTS)
        return set_ints(mixed, proto, attribute, error);
    return type == ATTRIBUTE_STRING ? mixed_set_text(mixed, &proto->s, attribute->s, error)
                                    : ULP_OK;
}
