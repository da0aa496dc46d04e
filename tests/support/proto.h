/* Writing protobuf and ONNX messages by hand, so that tests can make models, broken ones included,
 * without any library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tests/support/scoped.h"

/* A growing message. Zero-initialise; free with proto_free. Running out of memory ends the test. */
struct proto {
    unsigned char *data;
    size_t count, capacity;
};
void proto_free(struct proto *p);
#define scoped_proto ULP_SCOPED(proto_free) struct proto
/* As a file. What cannot be written ends the test. */
void proto_write(const struct proto *p, const char *path);
void proto_raw(struct proto *p, const void *bytes, size_t count);
void proto_varint(struct proto *p, uint64_t value);
/* Fields: a number, a float, bytes, a text, and a message, which is freed. */
void proto_int(struct proto *p, int field, int64_t value);
/* The low bytes of bits, least significant first. */
void proto_little(struct proto *p, uint64_t bits, size_t bytes);
void proto_float(struct proto *p, int field, float value);
void proto_bytes(struct proto *p, int field, const void *bytes, size_t count);
/* Numbers in memory, of bytes_each bytes: files have them least significant byte first. */
void proto_elements(struct proto *p, int field, const void *values, size_t bytes,
                    size_t bytes_each);
#define proto_numbers(p, field, values, bytes) \
    proto_elements(p, field, values, bytes, sizeof *(values))
void proto_text(struct proto *p, int field, const char *text);
void proto_message(struct proto *p, int field, struct proto *message);

/* Field numbers of ONNX's messages, where tests need them. */
enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE = 15,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    NODE_METADATA = 9,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_REFERENCE = 21,
    ATTRIBUTE_SPARSE = 22,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_SEGMENT = 3,
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_STRINGS = 6,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
    SPARSE_VALUES = 1,
    SPARSE_INDICES = 2,
    SPARSE_DIMS = 3,
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_ATTRIBUTE = 6,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_DEFAULT = 11,
};

/* An opset_import, a value's declaration (dims -1: symbolic "N", -letter:
 * of that name, -'?': of none), a node, and a TensorProto's name,
 * type and dims. Lists of names are separated by spaces, or commas and spaces; "-" is an empty
 * name. */
void proto_opset(struct proto *model, const char *domain, int64_t version);
void proto_value(struct proto *graph, int field, const char *name, int type, int rank,
                 const int64_t *dims);
struct proto proto_node(const char *op, const char *name, const char *inputs, const char *outputs);
struct proto proto_tensor(const char *name, int type, int rank, const int64_t *dims);
/* IR version, ai.onnx's version, and the graph, which is freed. */
struct proto proto_model(int64_t ir, int64_t opset, struct proto *graph);
