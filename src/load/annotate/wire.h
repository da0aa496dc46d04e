/* Protobuf's wire format as it is: fields found in bytes, and changes to them, from which new bytes
 * follow. Nothing is parsed into messages. */
#ifndef ULP_LOAD_ANNOTATE_WIRE_H
#define ULP_LOAD_ANNOTATE_WIRE_H

#include "base/memory/alloc.h"
#include "base/text/text.h"
#include "load/annotate/annotate.h"

/* Field numbers of ONNX (load/onnx.proto). */
enum {
    MODEL_GRAPH = 7,
    MODEL_METADATA = 14,
    MODEL_FUNCTIONS = 25,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_SPARSE = 15,
    FUNCTION_NAME = 1,
    FUNCTION_NODE = 7,
    FUNCTION_DOMAIN = 10,
    FUNCTION_OVERLOAD = 13,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOC = 6,
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8,
    NODE_METADATA = 9,
    ATTRIBUTE_TENSOR = 5,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_TENSORS = 10,
    ATTRIBUTE_GRAPHS = 11,
    ATTRIBUTE_SPARSE = 22,
    ATTRIBUTE_SPARSES = 23,
    SPARSE_VALUES = 1,
    SPARSE_INDICES = 2,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2
};

struct wire_bytes {
    const uint8_t *data;
    size_t count;
};

/* A field; where it begins with its tag, where its length stands, its payload (of a number: none,
 * but its value). */
struct wire_field {
    uint64_t number, value;
    const uint8_t *start, *length;
    struct wire_bytes payload;
    bool is_bytes;
};

/* The next field of `rest`, which is moved behind it. False: the end, or *damaged. */
bool wire_next(struct wire_bytes *rest, struct wire_field *out, bool *damaged);
bool wire_is(struct wire_bytes bytes, const char *text);
/* A number, and a field of bytes, as they are encoded. */
void wire_add_number(struct ulp_text *out, uint64_t value);
void wire_add_field(struct ulp_text *out, unsigned number, const void *bytes, size_t count);

/* Changes to a file's bytes, in the order of their places. */
struct wire_edits {
    const uint8_t *base;
    size_t count, capacity;
    struct wire_edit {
        size_t at, removed;       /* of the file */
        size_t text, text_length; /* what comes instead, in `texts` */
    } * items;
    struct ulp_text texts;
    struct ulp_budget *budget;
    enum ulp_status status;
    struct ulp_error *error;
};
/* The number of a new edit, which changes nothing yet but stands at this place. */
size_t wire_edit(struct wire_edits *edits, const uint8_t *at);
/* At edit `index` these bytes come instead of `removed` ones; returns how much longer all gets. */
int64_t wire_replace(struct wire_edits *edits, size_t index, size_t removed, const void *bytes,
                     size_t count);
/* The edit stands at the length of the field, whose payload gets longer by that much. */
int64_t wire_replace_length(struct wire_edits *edits, size_t index, const struct wire_field *field,
                            int64_t grown);
/* The changed bytes in new memory, freed with ulp_free. */
enum ulp_status wire_apply(struct wire_edits *edits, struct wire_bytes file,
                           struct wire_bytes *out);
void wire_free(struct wire_edits *edits);

/* The changed bytes, piece by piece. */
struct wire_stream {
    const struct wire_edits *edits;
    struct wire_bytes file;
    size_t edit, at;
};
/* False: the end. A piece is not empty. */
bool wire_piece(struct wire_stream *stream, struct wire_bytes *out);

/* Where tensors have external data. */
struct wire_external {
    const char *first; /* of the first such tensor, in the arena; NULL: none has */
    /* Whether it may lie there, in a file beside the model; it says why not. */
    enum ulp_status (*accept)(void *context, const char *location, struct ulp_error *error);
    void *context;
};
/* annotate.c: the changes that annotate a model. */
enum ulp_status wire_annotate(struct wire_bytes model, const struct ulp_annotator *annotator,
                              struct ulp_arena *arena, struct wire_edits *edits,
                              struct wire_external *external, struct ulp_error *error);
/* annotate_strip.c: the changes that take all annotations out of a model. */
enum ulp_status wire_strip(struct wire_bytes model, struct wire_edits *out,
                           struct ulp_error *error);
/* Whether any change is one. */
bool wire_changes(const struct wire_edits *edits);

#endif
