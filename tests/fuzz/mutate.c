/* Damage as files suffer it and as attackers write it. Half of the copies get flipped bits, changed
 * bytes, pieces removed, doubled or moved; most of those stop the protobuf parser. The other half
 * is changed as protobuf: one field somewhere in the tree is removed, repeated, renumbered or given
 * another value, and the lengths around it are made right again, so that the loader behind the
 * parser sees the damage. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "tests/fuzz/fuzz_load.h"
#include "tests/support/proto.h"

/* Where a piece is inserted the copy grows by at most this much. */
#define PIECE_MAX 64
#define STEPS_MAX 6

struct source {
    uint64_t seed, counter;
};

static size_t draw(struct source *source, size_t below)
{
    return (size_t)(ulp_random_bits(source->seed, source->counter++) % below);
}

static void insert(uint8_t *bytes, size_t *count, size_t at, const uint8_t *piece, size_t length)
{
    memmove(bytes + at + length, bytes + at, *count - at);
    memcpy(bytes + at, piece, length);
    *count += length;
}

/* One change; bytes has room for PIECE_MAX more. */
static void damage(struct source *source, uint8_t *bytes, size_t *count)
{
    static const uint8_t values[] = {0, 1, 2, 4, 8, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x1a, 0x32};
    static const uint8_t huge[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    uint8_t piece[PIECE_MAX];
    if (!*count)
        return;
    size_t at = draw(source, *count), left = *count - at;
    size_t length = 1 + draw(source, left < PIECE_MAX ? left : PIECE_MAX);
    memcpy(piece, bytes + at, length);
    switch (draw(source, 7)) {
    case 0: bytes[at] ^= (uint8_t)(1u << draw(source, 8)); break;
    case 1: bytes[at] = values[draw(source, sizeof values)]; break;
    case 2: bytes[at] = (uint8_t)draw(source, 256); break;
    case 3:
        memmove(bytes + at, bytes + at + length, left - length);
        *count -= length;
        break;
    case 4: insert(bytes, count, draw(source, *count), piece, length); break;
    case 5: insert(bytes, count, at, huge, 1 + draw(source, sizeof huge)); break;
    case 6:
        if (draw(source, 8) == 0)
            *count = at;
        else
            bytes[at] = (uint8_t)(bytes[at] + 1);
        break;
    }
}

static uint8_t *copy_with_room(const uint8_t *bytes, size_t count)
{
    uint8_t *copy = malloc(count + STEPS_MAX * PIECE_MAX + 1);
    if (!copy)
        abort();
    if (count)
        memcpy(copy, bytes, count);
    return copy;
}

/* A field of a message: bytes [start, end), of which the last `length` are its payload. */
struct field {
    size_t start, end, length;
    uint64_t key, value;
};

static bool read_varint(const uint8_t *bytes, size_t count, size_t *at, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && *at < count; shift += 7) {
        uint8_t byte = bytes[(*at)++];
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool read_field(const uint8_t *bytes, size_t count, size_t at, struct field *field)
{
    *field = (struct field){.start = at};
    if (!read_varint(bytes, count, &at, &field->key) || field->key < 8)
        return false;
    size_t before = at;
    switch (field->key & 7) {
    case 0:
        if (!read_varint(bytes, count, &at, &field->value))
            return false;
        field->length = at - before;
        break;
    case 1:
        field->length = 8;
        at += 8;
        break;
    case 2:
        if (!read_varint(bytes, count, &at, &field->value) || field->value > count - at)
            return false;
        field->length = (size_t)field->value;
        at += field->length;
        break;
    case 5:
        field->length = 4;
        at += 4;
        break;
    default: return false;
    }
    field->end = at;
    return at <= count;
}

/* How many fields the bytes have as a message; 0 when they are none. */
static size_t count_fields(const uint8_t *bytes, size_t count)
{
    struct field field;
    size_t fields = 0;
    for (size_t at = 0; at < count; at = field.end, fields++)
        if (!read_field(bytes, count, at, &field))
            return 0;
    return fields;
}

static void change_value(struct source *source, struct proto *out, const uint8_t *bytes,
                         const struct field *field)
{
    static const int64_t numbers[] = {0,     1,         -1,        2,         7,
                                      16,    17,        64,        255,       256,
                                      65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    if ((field->key & 7) == 0) {
        proto_varint(out, field->key);
        proto_varint(out, draw(source, 2)
                              ? (uint64_t)numbers[draw(source, sizeof numbers / sizeof *numbers)]
                              : field->value + draw(source, 9) - 4);
    } else if ((field->key & 7) == 2) {
        size_t count = field->length;
        uint8_t *copy = copy_with_room(bytes + field->end - count, count);
        damage(source, copy, &count);
        proto_bytes(out, (int)(field->key >> 3), copy, count);
        free(copy);
    } else {
        proto_raw(out, bytes + field->start, field->end - field->start - field->length);
        for (size_t i = 0; i < field->length; i++) {
            uint8_t byte = (uint8_t)draw(source, 256);
            proto_raw(out, &byte, 1);
        }
    }
}

static void change_message(struct source *source, struct proto *out, const uint8_t *bytes,
                           size_t count, size_t fields);

static void change_field(struct source *source, struct proto *out, const uint8_t *bytes,
                         const struct field *field)
{
    const uint8_t *payload = bytes + field->end - field->length;
    size_t inner = (field->key & 7) == 2 ? count_fields(payload, field->length) : 0;
    if (inner && draw(source, 8)) {
        struct proto message = {0};
        change_message(source, &message, payload, field->length, inner);
        proto_message(out, (int)(field->key >> 3), &message);
        return;
    }
    switch (draw(source, 5)) {
    case 0: break;
    case 1:
        proto_raw(out, bytes + field->start, field->end - field->start);
        proto_raw(out, bytes + field->start, field->end - field->start);
        break;
    case 2:
        proto_varint(out, (1 + draw(source, 26)) << 3 | (field->key & 7));
        if ((field->key & 7) == 2)
            proto_varint(out, field->length);
        proto_raw(out, payload, field->length);
        break;
    default: change_value(source, out, bytes, field);
    }
}

static void change_message(struct source *source, struct proto *out, const uint8_t *bytes,
                           size_t count, size_t fields)
{
    struct field field;
    size_t target = draw(source, fields), index = 0;
    for (size_t at = 0; at < count; at = field.end, index++) {
        if (!read_field(bytes, count, at, &field))
            abort();
        if (index == target)
            change_field(source, out, bytes, &field);
        else
            proto_raw(out, bytes + field.start, field.end - field.start);
    }
}

static uint8_t *mutate_fields(struct source *source, const uint8_t *bytes, size_t count,
                              size_t *out_count)
{
    struct proto now = {0};
    proto_raw(&now, bytes, count);
    for (size_t steps = 1 + draw(source, 3), fields;
         steps > 0 && (fields = count_fields(now.data, now.count)); steps--) {
        struct proto next = {0};
        change_message(source, &next, now.data, now.count, fields);
        proto_free(&now);
        now = next;
    }
    *out_count = now.count;
    return now.data ? now.data : copy_with_room(NULL, 0);
}

uint8_t *fuzz_mutate(const uint8_t *bytes, size_t count, uint64_t seed, size_t *out_count)
{
    struct source source = {.seed = seed};
    if (seed % 2)
        return mutate_fields(&source, bytes, count, out_count);
    uint8_t *copy = copy_with_room(bytes, count);
    *out_count = count;
    for (size_t steps = 1 + draw(&source, STEPS_MAX); steps > 0; steps--)
        damage(&source, copy, out_count);
    return copy;
}
