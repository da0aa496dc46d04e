/* Messages of protobuf-c that are changed: their memory is the allocator's, so that the model's
 * message frees all of it. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "load/mixed/writer.h"

static enum ulp_status take(struct mixed *mixed, void *out, size_t count, size_t bytes,
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
    ULP_TRY(take(mixed, out, 1, descriptor->sizeof_message, error));
    descriptor->message_init(*(void **)out);
    return ULP_OK;
}

enum ulp_status mixed_set_text(struct mixed *mixed, ProtobufCBinaryData *out, const char *text,
                               struct ulp_error *error)
{
    const size_t length = strlen(text);
    uint8_t *copy;
    ULP_TRY(take(mixed, &copy, length + 1, 1, error));
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
    ULP_TRY(take(mixed, &grown, *count + 1, sizeof *grown, error));
    if (*count)
        memcpy(grown, items, *count * sizeof *grown);
    grown[(*count)++] = item;
    ulp_free(items);
    *(void ***)array = grown;
    return ULP_OK;
}

enum ulp_status mixed_pack(struct mixed *mixed, const ProtobufCMessage *message,
                           ProtobufCBinaryData *out, struct ulp_error *error)
{
    const size_t length = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes;
    ULP_TRY(take(mixed, &bytes, length + 1, 1, error));
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
           (mixed_is_text(proto->domain, function->domain) ||
            (!*function->domain && mixed_is_text(proto->domain, "ai.onnx")));
}

enum ulp_status mixed_attribute(struct mixed *mixed, Ulp__NodeProto *node, const char *name,
                                int32_t type, Ulp__AttributeProto **out, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *out = NULL;
    for (size_t a = 0; a < node->n_attribute && !*out; a++)
        if (mixed_is_text(node->attribute[a]->name, name))
            *out = node->attribute[a];
    if (!*out) {
        status = mixed_new(mixed, out, &ulp__attribute_proto__descriptor, error);
        if (status == ULP_OK) {
            status = mixed_append(mixed, &node->attribute, &node->n_attribute, *out, error);
            if (status != ULP_OK)
                ulp_unpack_free(&mixed->loader.unpacker, *out);
        }
        if (status == ULP_OK)
            status = mixed_set_text(mixed, &(*out)->name, name, error);
    }
    if (status != ULP_OK)
        return status;
    (*out)->has_name = true;
    (*out)->has_type = true;
    (*out)->type = type;
    ulp_free((*out)->ref_attr_name.data);
    (*out)->ref_attr_name = (ProtobufCBinaryData){0};
    (*out)->has_ref_attr_name = false;
    return ULP_OK;
}

/* AttributeProto.AttributeType */
enum { COPIED_FLOAT = 1, COPIED_INT = 2, COPIED_STRING = 3, COPIED_INTS = 7 };

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
    const int32_t type = attribute->kind == ULP_ATTRIBUTE_INT     ? COPIED_INT
                         : attribute->kind == ULP_ATTRIBUTE_FLOAT ? COPIED_FLOAT
                         : attribute->kind == ULP_ATTRIBUTE_INTS  ? COPIED_INTS
                                                                  : COPIED_STRING;
    Ulp__AttributeProto *proto;
    ULP_TRY(mixed_attribute(mixed, node, attribute->name, type, &proto, error));
    proto->has_i = type == COPIED_INT;
    proto->i = attribute->i;
    proto->has_f = type == COPIED_FLOAT;
    proto->f = attribute->f;
    proto->has_s = type == COPIED_STRING;
    if (type == COPIED_INTS)
        return set_ints(mixed, proto, attribute, error);
    return type == COPIED_STRING ? mixed_set_text(mixed, &proto->s, attribute->s, error) : ULP_OK;
}
