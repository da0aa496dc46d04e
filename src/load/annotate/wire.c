#include "load/annotate/wire.h"

#include <string.h>

#include "base/error.h"

static bool read_number(struct wire_bytes *rest, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 70 && rest->count; shift += 7) {
        const uint8_t byte = *rest->data++;
        rest->count--;
        if (shift < 64)
            *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool skip(struct wire_bytes *rest, uint64_t count)
{
    if (count > rest->count)
        return false;
    rest->data += count;
    rest->count -= (size_t)count;
    return true;
}

bool wire_next(struct wire_bytes *rest, struct wire_field *out, bool *damaged)
{
    uint64_t tag, count;
    *damaged = false;
    if (!rest->count)
        return false;
    *out = (struct wire_field){.start = rest->data};
    bool good = read_number(rest, &tag) && tag >> 3 != 0;
    out->number = tag >> 3;
    switch (good ? tag & 7 : 8) {
    case 0: good = read_number(rest, &out->value); break;
    case 1: good = skip(rest, 8); break;
    case 2:
        out->is_bytes = true;
        out->length = rest->data;
        good = read_number(rest, &count);
        out->payload.data = rest->data;
        good = good && skip(rest, count);
        out->payload.count = good ? (size_t)count : 0;
        break;
    case 5: good = skip(rest, 4); break;
    default: good = false; /* groups, which ONNX never had */
    }
    *damaged = !good;
    return good;
}

bool wire_is(struct wire_bytes bytes, const char *text)
{
    return bytes.count == strlen(text) && memcmp(bytes.data, text, bytes.count) == 0;
}

void wire_add_number(struct ulp_text *out, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (char)((value & 0x7f) | (value >= 0x80 ? 0x80 : 0));
        value >>= 7;
    } while (value);
    ulp_text_put(out, bytes, count);
}

void wire_add_field(struct ulp_text *out, unsigned number, const void *bytes, size_t count)
{
    wire_add_number(out, number << 3 | 2);
    wire_add_number(out, count);
    if (count)
        ulp_text_put(out, bytes, count);
}

size_t wire_edit(struct wire_edits *edits, const uint8_t *at)
{
    if (edits->status == ULP_OK)
        edits->status =
            ulp_grow(&edits->items, edits->count, &edits->capacity, sizeof *edits->items,
                     edits->budget, "the annotations of a model", edits->error);
    if (edits->status != ULP_OK)
        return 0;
    edits->items[edits->count] = (struct wire_edit){.at = (size_t)(at - edits->base)};
    return edits->count++;
}

int64_t wire_replace(struct wire_edits *edits, size_t index, size_t removed, const void *bytes,
                     size_t count)
{
    const size_t text = edits->texts.length;
    if (count)
        ulp_text_put(&edits->texts, bytes, count);
    if (edits->texts.failed && edits->status == ULP_OK)
        edits->status = ulp_out_of_memory(edits->error);
    if (edits->status != ULP_OK)
        return 0;
    edits->items[index] = (struct wire_edit){edits->items[index].at, removed, text, count};
    return (int64_t)count - (int64_t)removed;
}

int64_t wire_replace_length(struct wire_edits *edits, size_t index, const struct wire_field *field,
                            int64_t grown)
{
    struct ulp_text text = {0};
    wire_add_number(&text, (uint64_t)((int64_t)field->payload.count + grown));
    const size_t removed = (size_t)(field->payload.data - field->length);
    grown += wire_replace(edits, index, removed, text.data, text.length);
    if (text.failed && edits->status == ULP_OK)
        edits->status = ulp_out_of_memory(edits->error);
    ulp_text_free(&text);
    return grown;
}

bool wire_changes(const struct wire_edits *edits)
{
    bool changes = false;
    for (size_t i = 0; i < edits->count; i++)
        changes |= edits->items[i].removed || edits->items[i].text_length;
    return changes;
}

enum ulp_status wire_apply(struct wire_edits *edits, struct wire_bytes file, struct wire_bytes *out)
{
    struct wire_stream stream = {.edits = edits, .file = file};
    struct wire_bytes piece;
    size_t size = 0;
    void *memory;
    while (wire_piece(&stream, &piece))
        size += piece.count;
    enum ulp_status status =
        ulp_allocate(&memory, size, 1, edits->budget, "a model without annotations", edits->error);
    if (status != ULP_OK)
        return status;
    *out = (struct wire_bytes){memory, 0};
    stream = (struct wire_stream){.edits = edits, .file = file};
    while (wire_piece(&stream, &piece)) {
        memcpy((uint8_t *)memory + out->count, piece.data, piece.count);
        out->count += piece.count;
    }
    return ULP_OK;
}

void wire_free(struct wire_edits *edits)
{
    ulp_free(edits->items);
    ulp_text_free(&edits->texts);
}

bool wire_piece(struct wire_stream *stream, struct wire_bytes *out)
{
    const struct wire_edits *edits = stream->edits;
    for (;;) {
        const struct wire_edit *edit =
            stream->edit < edits->count ? &edits->items[stream->edit] : NULL;
        const size_t end = edit ? edit->at : stream->file.count;
        if (stream->at < end) {
            *out = (struct wire_bytes){stream->file.data + stream->at, end - stream->at};
            stream->at = end;
            return true;
        }
        if (!edit)
            return false;
        stream->edit++;
        stream->at = edit->at + edit->removed;
        if (edit->text_length) {
            *out = (struct wire_bytes){(const uint8_t *)edits->texts.data + edit->text,
                                       edit->text_length};
            return true;
        }
    }
}
