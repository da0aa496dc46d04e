/* From ONNX's protobuf bytes to the model of graph/: shared by the files of this folder, by the
 * reader of test_data_set folders, and by the fuzzer. */
#pragma once

#include "graph/graph.h"
#include "load/onnx.pb-c.h"

/* Subgraphs inside subgraphs: deeper models are refused, so that the stack cannot run out. */
#define ULP_LOAD_DEPTH_MAX 64
#define ULP_MODEL_BYTES_MAX ((size_t)INT32_MAX) /* protobuf's own limit */
#define ULP_LOAD_IR_MIN 3
#define ULP_LOAD_IR_MAX 14
#define ULP_LOAD_IR_DEFAULTS 4 /* from it on an initializer that is an input is a default */

/* The allocator handed to protobuf-c. Memory is ulp_allocate's, so that a tensor can take over the
 * bytes of its raw_data, and is charged to the budget; the sum of all requests is limited, because
 * two bytes of a hostile file can ask for two hundred. */
struct ulp_unpacker {
    ProtobufCAllocator allocator;
    size_t taken_bytes, limit_bytes;
    /* What is parsed is a mapped file: the more has been copied out of it, the less of it stays in
     * memory. NULL: it is not */
    void *mapped;
    size_t mapped_bytes, copied_bytes;
    bool refused, exhausted; /* why the last request failed: the limit, or `failure` */
    struct ulp_budget *budget;
    struct ulp_error failure;
};
void ulp_unpacker_init(struct ulp_unpacker *unpacker, size_t file_bytes, struct ulp_budget *budget);
/* Parse a message of that type; *out is freed with ulp_unpack_free. `what` is named in errors. */
enum ulp_status ulp_unpack(struct ulp_unpacker *unpacker, void **out,
                           const ProtobufCMessageDescriptor *descriptor, const void *bytes,
                           size_t count, const char *what, struct ulp_error *error);
void ulp_unpack_free(struct ulp_unpacker *unpacker, void *message);

/* What loading one model needs; the model is complete enough for ulp_model_free at every moment. */
struct ulp_loader {
    struct ulp_model *model;
    struct ulp_unpacker unpacker;
    struct ulp_error *error; /* where failures are told */
    char *folder;            /* of the model: external data lies inside */
    char **locations;        /* as the model gives them; parallel to model->mappings */
    size_t location_count, tensor_capacity;
    size_t dense_count; /* elements of sparse tensors, made dense */
};

/* A loader of the model at path, whose file has `count` bytes; ended with ulp_loader_free, also
 * after an error. */
enum ulp_status ulp_loader_open(struct ulp_loader *loader, const char *path, size_t count,
                                struct ulp_budget *budget, struct ulp_error *error);

/* A zero-terminated copy in the model's arena. Errors: zero bytes inside (`what` is the thing for
 * the message). */
enum ulp_status ulp_load_text(struct ulp_loader *loader, const char **out,
                              ProtobufCBinaryData bytes, const char *what);
enum ulp_status ulp_load_opsets(struct ulp_loader *loader, const struct ulp_opset **out,
                                size_t *out_count, Ulp__OpsetProto *const *protos, size_t count);

/* A graph; parent is the scope it may capture values from, or NULL. proto's tensors lose their
 * raw_data. */
struct ulp_scope;
enum ulp_status ulp_load_graph(struct ulp_loader *loader, struct ulp_graph **out,
                               Ulp__GraphProto *proto, struct ulp_scope *parent);
/* As ulp_load_graph for the body of a function, where attributes may refer to the function's. */
enum ulp_status ulp_load_body(struct ulp_loader *loader, struct ulp_graph **out,
                              Ulp__GraphProto *proto);
enum ulp_status ulp_load_function(struct ulp_loader *loader, struct ulp_function *out,
                                  Ulp__FunctionProto *proto);
/* Attributes of a node (or the defaults of a function), in the file's order; scope is for their
 * subgraphs. */
enum ulp_status ulp_load_attributes(struct ulp_loader *loader, struct ulp_attribute **out,
                                    size_t *out_count, Ulp__AttributeProto *const *protos,
                                    size_t count, struct ulp_scope *scope);
bool ulp_scope_in_function(const struct ulp_scope *scope);

/* A tensor owned by the model; stored: a large one may be as the file has it (tensor/stored.h). The
 * message does not name it: callers know better what it is to the user. */
enum ulp_status ulp_load_tensor(struct ulp_loader *loader, const struct ulp_tensor **out,
                                Ulp__TensorProto *proto, bool stored);
enum ulp_status ulp_load_sparse_tensor(struct ulp_loader *loader, const struct ulp_tensor **out,
                                       Ulp__SparseTensorProto *proto);
bool ulp_entry_is(const Ulp__EntryProto *entry, const char *key);
/* Bytes of an external data file; they live as long as the model. needed: what type and shape ask
 * for. */
enum ulp_status ulp_load_external(struct ulp_loader *loader, const unsigned char **out,
                                  size_t needed, const Ulp__TensorProto *proto);
void ulp_loader_free(struct ulp_loader *loader);

/* A tensor without a model, from the bytes of a TensorProto file; *name (malloc'd) is "" when it
 * has none. Errors do not name the file. */
enum ulp_status ulp_tensor_parse(struct ulp_tensor *out, char **name, const void *bytes,
                                 size_t count, struct ulp_budget *budget, struct ulp_error *error);

/* count elements of raw_data's layout (little endian; 4 and 2 bits packed from the low end) to
 * memory's. */
void ulp_elements_decode(struct ulp_tensor *out, const unsigned char *raw);
/* The bytes raw_data needs for count elements; false when they are more than memory can address. */
bool ulp_raw_bytes(enum ulp_type type, size_t count, size_t *out);
/* Memory holds such elements exactly as raw_data does. */
bool ulp_raw_is_memory(enum ulp_type type);
