/* Messages of protobuf-c that are changed: their memory is the allocator's, so that the model's
 * message frees all of it. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "load/mixed/editor.h"

static enum ulp_status take_budgeted(struct editor *editor, void *out, size_t count, size_t bytes)
{
    return ulp_allocate_zero(out, count, bytes, editor->budget, "the model that is written",
                             editor->error);
}

enum ulp_status edit_new(struct editor *editor, void *out,
                         const ProtobufCMessageDescriptor *descriptor)
{
    ULP_TRY(take_budgeted(editor, out, 1, descriptor->sizeof_message));
    descriptor->message_init(*(void **)out);
    return ULP_OK;
}

enum ulp_status edit_set_text(struct editor *editor, ProtobufCBinaryData *out, const char *text)
{
    const size_t length = strlen(text);
    uint8_t *copy;
    ULP_TRY(take_budgeted(editor, &copy, length + 1, 1));
    memcpy(copy, text, length);
    ulp_free(out->data);
    *out = (ProtobufCBinaryData){length, copy};
    return ULP_OK;
}

const char *edit_text(struct editor *editor, ProtobufCBinaryData bytes)
{
    return ulp_arena_text(editor->arena, bytes.data ? (const char *)bytes.data : "", bytes.len);
}

/* Room for one more item of that size at the end of an array. */
static enum ulp_status grow(struct editor *editor, void *array, size_t count, size_t bytes)
{
    void *grown, *items = *(void **)array;
    ULP_TRY(take_budgeted(editor, &grown, count + 1, bytes));
    if (count)
        memcpy(grown, items, count * bytes);
    ulp_free(items);
    *(void **)array = grown;
    return ULP_OK;
}

enum ulp_status edit_append(struct editor *editor, void *array, size_t *count, void *item)
{
    ULP_TRY(grow(editor, array, *count, sizeof item));
    (*(void ***)array)[(*count)++] = item;
    return ULP_OK;
}

enum ulp_status edit_take(struct editor *editor, void *array, size_t *count, void *message)
{
    const enum ulp_status status = edit_append(editor, array, count, message);
    if (status != ULP_OK)
        ulp_unpack_free(&editor->loader.unpacker, message);
    return status;
}

enum ulp_status edit_add(struct editor *editor, void *array, size_t *count,
                         const ProtobufCMessageDescriptor *descriptor, void *out)
{
    ULP_TRY(edit_new(editor, out, descriptor));
    return edit_take(editor, array, count, *(void **)out);
}

enum ulp_status edit_add_name(struct editor *editor, ProtobufCBinaryData **names, size_t *count,
                              const char *name)
{
    ULP_TRY(grow(editor, names, *count, sizeof **names));
    return edit_set_text(editor, &(*names)[(*count)++], name);
}

void edit_drop(struct editor *editor, void *place)
{
    ulp_unpack_free(&editor->loader.unpacker, *(void **)place);
    *(void **)place = NULL;
}

void edit_close_gaps(void *messages, size_t *count)
{
    void **items = messages;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (items[i])
            items[kept++] = items[i];
    *count = kept;
}

void edit_clear(struct editor *editor, void *messages, size_t *count)
{
    for (; *count; --*count)
        edit_drop(editor, (void **)messages + *count - 1);
}

static bool is_domain(ProtobufCBinaryData bytes, const char *domain)
{
    return edit_is_text(bytes, domain) || (!*domain && edit_is_text(bytes, "ai.onnx"));
}

enum ulp_status edit_import(struct editor *editor, Ulp__OpsetProto ***imports, size_t *count,
                            const char *domain, int64_t version)
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
    ULP_TRY(edit_add(editor, imports, count, &ulp__opset_proto__descriptor, &import));
    import->has_domain = *domain;
    import->has_version = true;
    import->version = version;
    return *domain ? edit_set_text(editor, &import->domain, domain) : ULP_OK;
}

enum ulp_status edit_pack(struct editor *editor, const ProtobufCMessage *message,
                          ProtobufCBinaryData *out)
{
    const size_t length = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes;
    ULP_TRY(take_budgeted(editor, &bytes, length + 1, 1));
    protobuf_c_message_pack(message, bytes);
    ulp_free(out->data);
    *out = (ProtobufCBinaryData){length, bytes};
    return ULP_OK;
}

enum ulp_status edit_clone(struct editor *editor, const ProtobufCMessage *message, void *out)
{
    ProtobufCBinaryData bytes = {0};
    *(void **)out = NULL;
    enum ulp_status status = edit_pack(editor, message, &bytes);
    ULP_THEN(status, ulp_unpack(&editor->loader.unpacker, out, message->descriptor, bytes.data,
                                bytes.len, "model", editor->error));
    ulp_free(bytes.data);
    return status;
}

enum ulp_status edit_fresh(struct editor *editor, const char *name, const char *end,
                           const char **out)
{
    const size_t size = strlen(name) + strlen(end) + 24;
    char *text = ulp_arena_take(editor->arena, size, 1);
    ULP_TRY(ulp_taken(text, editor->error));
    snprintf(text, size, "%s_%s", name, end);
    for (unsigned i = 2; ulp_names_find(&editor->names, text) >= 0; i++)
        snprintf(text, size, "%s_%s_%u", name, end, i);
    *out = text;
    return ulp_taken(ulp_names_add(&editor->names, text, 0) &&
                         ulp_names_add(&editor->read, text, 0),
                     editor->error);
}

bool edit_is_text(ProtobufCBinaryData bytes, const char *text)
{
    return bytes.len == strlen(text) && (!bytes.len || memcmp(bytes.data, text, bytes.len) == 0);
}

bool edit_is_function(const Ulp__FunctionProto *proto, const struct ulp_function *function)
{
    return edit_is_text(proto->name, function->name) &&
           edit_is_text(proto->overload, function->overload) &&
           is_domain(proto->domain, function->domain);
}

enum ulp_status edit_attribute(struct editor *editor, Ulp__NodeProto *node, const char *name,
                               int32_t type, Ulp__AttributeProto **out)
{
    *out = NULL;
    for (size_t a = 0; a < node->n_attribute && !*out; a++)
        if (edit_is_text(node->attribute[a]->name, name))
            *out = node->attribute[a];
    if (!*out) {
        ULP_TRY(edit_add(editor, &node->attribute, &node->n_attribute,
                         &ulp__attribute_proto__descriptor, out));
        ULP_TRY(edit_set_text(editor, &(*out)->name, name));
    }
    (*out)->has_name = (*out)->has_type = true;
    (*out)->type = type;
    ulp_free((*out)->ref_attr_name.data);
    (*out)->ref_attr_name = (ProtobufCBinaryData){0};
    (*out)->has_ref_attr_name = false;
    return ULP_OK;
}

void edit_set_info(Ulp__ValueInfoProto *info, enum ulp_type type)
{
    if (type != ULP_TYPE_UNDEFINED && info->type && info->type->tensor_type) {
        info->type->tensor_type->has_elem_type = true;
        info->type->tensor_type->elem_type = (int32_t)type;
    }
}

enum ulp_status edit_set_number(struct editor *editor, Ulp__NodeProto *node, const char *name,
                                int64_t number)
{
    const struct ulp_attribute attribute = {.name = name, .kind = ULP_ATTRIBUTE_INT, .i = number};
    return edit_copy_attribute(editor, node, &attribute);
}

static enum ulp_status set_ints(struct editor *editor, Ulp__AttributeProto *proto,
                                const struct ulp_attribute *attribute)
{
    ULP_TRY(take_budgeted(editor, &proto->ints, attribute->count + 1, sizeof *proto->ints));
    memcpy(proto->ints, attribute->ints, attribute->count * sizeof *proto->ints);
    proto->n_ints = attribute->count;
    return ULP_OK;
}

enum ulp_status edit_copy_attribute(struct editor *editor, Ulp__NodeProto *node,
                                    const struct ulp_attribute *attribute)
{
    const int32_t type = attribute->kind == ULP_ATTRIBUTE_INT     ? ATTRIBUTE_INT
                         : attribute->kind == ULP_ATTRIBUTE_FLOAT ? ATTRIBUTE_FLOAT
                         : attribute->kind == ULP_ATTRIBUTE_INTS  ? ATTRIBUTE_INTS
                                                                  : ATTRIBUTE_STRING;
    Ulp__AttributeProto *proto;
    ULP_TRY(edit_attribute(editor, node, attribute->name, type, &proto));
    proto->has_i = type == ATTRIBUTE_INT;
    proto->i = attribute->i;
    proto->has_f = type == ATTRIBUTE_FLOAT;
    proto->f = attribute->f;
    proto->has_s = type == ATTRIBUTE_STRING;
    if (type == ATTRIBUTE_INTS)
        return set_ints(editor, proto, attribute);
    return type == ATTRIBUTE_STRING ? edit_set_text(editor, &proto->s, attribute->s) : ULP_OK;
}
