#include "tests/support/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void proto_free(struct proto *p)
{
    free(p->data);
    *p = (struct proto){0};
}

void proto_write(const struct proto *p, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(p->data, 1, p->count, file) != p->count || fclose(file)) {
        perror(path);
        abort();
    }
}

void proto_raw(struct proto *p, const void *bytes, size_t count)
{
    if (p->capacity - p->count < count) {
        p->capacity = 2 * p->capacity + count + 64;
        p->data = realloc(p->data, p->capacity);
        if (!p->data) {
            perror("proto_raw");
            exit(EXIT_FAILURE);
        }
    }
    if (count)
        memcpy(p->data + p->count, bytes, count);
    p->count += count;
}

void proto_varint(struct proto *p, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        proto_raw(p, &byte, 1);
        value >>= 7;
    } while (value);
}

static void write_key(struct proto *p, int field, int wire_type)
{
    proto_varint(p, (uint64_t)field << 3 | (uint64_t)wire_type);
}

void proto_int(struct proto *p, int field, int64_t value)
{
    write_key(p, field, 0);
    proto_varint(p, (uint64_t)value);
}

void proto_little(struct proto *p, uint64_t bits, size_t bytes)
{
    for (size_t b = 0; b < bytes; b++)
        proto_raw(p, &(unsigned char){(unsigned char)(bits >> 8 * b)}, 1);
}

/* The number of `bytes` bytes that is in memory as this machine has it. */
static uint64_t bits_of(const void *at, size_t bytes)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1: return memcpy(&one, at, 1), one;
    case 2: return memcpy(&two, at, 2), two;
    case 4: return memcpy(&four, at, 4), four;
    default: return memcpy(&eight, at, 8), eight;
    }
}

void proto_float(struct proto *p, int field, float value)
{
    write_key(p, field, 5);
    proto_little(p, bits_of(&value, sizeof value), sizeof value);
}

void proto_elements(struct proto *p, int field, const void *values, size_t bytes, size_t bytes_each)
{
    write_key(p, field, 2);
    proto_varint(p, bytes);
    for (size_t at = 0; at < bytes; at += bytes_each)
        proto_little(p, bits_of((const char *)values + at, bytes_each), bytes_each);
}

void proto_bytes(struct proto *p, int field, const void *bytes, size_t count)
{
    write_key(p, field, 2);
    proto_varint(p, count);
    proto_raw(p, bytes, count);
}

void proto_text(struct proto *p, int field, const char *text)
{
    proto_bytes(p, field, text, strlen(text));
}

void proto_message(struct proto *p, int field, struct proto *message)
{
    proto_bytes(p, field, message->data, message->count);
    proto_free(message);
}

void proto_opset(struct proto *model, const char *domain, int64_t version)
{
    struct proto opset = {0};
    proto_text(&opset, 1, domain);
    proto_int(&opset, 2, version);
    proto_message(model, MODEL_OPSET, &opset);
}

void proto_value(struct proto *graph, int field, const char *name, int type, int rank,
                 const int64_t *dims)
{
    struct proto shape = {0}, tensor = {0}, value_type = {0}, value = {0};
    for (int d = 0; d < rank; d++) {
        struct proto dim = {0};
        const char letter[] = {(char)(dims[d] == -1 ? 'N' : -dims[d]), '\0'};
        if (dims[d] >= 0)
            proto_int(&dim, 1, dims[d]);
        else if (*letter != '?')
            proto_text(&dim, 2, letter);
        proto_message(&shape, 1, &dim);
    }
    proto_int(&tensor, 1, type);
    if (rank >= 0)
        proto_message(&tensor, 2, &shape);
    proto_message(&value_type, 1, &tensor);
    proto_text(&value, 1, name);
    proto_message(&value, 2, &value_type);
    proto_message(graph, field, &value);
    proto_free(&shape);
}

static void write_names(struct proto *p, int field, const char *names)
{
    while (*names) {
        const size_t length = strcspn(names, " "), comma = length && names[length - 1] == ',';
        proto_bytes(p, field, names, length - comma == 1 && *names == '-' ? 0 : length - comma);
        names += length + (names[length] == ' ');
    }
}

struct proto proto_node(const char *op, const char *name, const char *inputs, const char *outputs)
{
    struct proto node = {0};
    write_names(&node, NODE_INPUT, inputs);
    write_names(&node, NODE_OUTPUT, outputs);
    if (*name)
        proto_text(&node, NODE_NAME, name);
    proto_text(&node, NODE_OP, op);
    return node;
}

struct proto proto_tensor(const char *name, int type, int rank, const int64_t *dims)
{
    struct proto tensor = {0};
    for (int d = 0; d < rank; d++)
        proto_int(&tensor, TENSOR_DIMS, dims[d]);
    proto_int(&tensor, TENSOR_TYPE, type);
    proto_text(&tensor, TENSOR_NAME, name);
    return tensor;
}

struct proto proto_model(int64_t ir, int64_t opset, struct proto *graph)
{
    struct proto model = {0};
    proto_int(&model, MODEL_IR, ir);
    proto_message(&model, MODEL_GRAPH, graph);
    proto_opset(&model, "", opset);
    return model;
}
