/* The editor of model files, under all writers: the file that a model was loaded from is read again
 * and its bodies opened; a writer changes nodes, values and tensors; then nodes that were put in
 * get their places, what lost its readers goes, external data moves to the new file, and the model
 * is written. Everything else of the file stays: names, comments, metadata and fields that this
 * program does not know. The memory of messages is the allocator's, so that the model's message
 * frees all of it. */
#pragma once

#include "base/text/names.h"
#include "base/text/text.h"
#include "load/load.h"

/* The main graph, a body of a node, or a function. */
struct edit_graph {
    struct edit_graph *parent; /* whose values it may read */
    const struct ulp_graph *source;
    Ulp__AttributeProto *attribute; /* whose bytes a body becomes; else NULL */
    Ulp__GraphProto *proto;         /* NULL: a function */
    Ulp__FunctionProto *function;   /* NULL: a graph */
    Ulp__NodeProto ***nodes;
    size_t *node_count;
    Ulp__ValueInfoProto ***infos;
    size_t *info_count;
    struct edit_insert {
        size_t position; /* of the node in the file that it comes before */
        size_t order;
        Ulp__NodeProto *node;
    } * inserts;
    size_t insert_count, insert_capacity;
    bool dropped;           /* with its node */
    struct ulp_names names; /* of its values, while their readers are counted */
};

struct editor {
    /* set by the writer: */
    const struct ulp_model *model;
    const char *path; /* of the new file; external data goes to path.data */
    /* the model's bytes go there instead of a file, and external data stays where it is, for
     * ulp_model_load_bytes; NULL: to the file */
    ProtobufCBinaryData *packed;
    enum { EDIT_DROP_CONSTANTS, EDIT_DROP_NODES } drops; /* what lost all of its readers */
    bool drops_idle;                                     /* also initializers that never had one */
    enum ulp_type low; /* the type whose constants are lowered by the rule; of others: SATURATED */
    enum ulp_constants constants;

    size_t converted; /* constants in another type than in the file */
    bool external;    /* there is a file path.data */
    struct ulp_error *error;
    struct ulp_loader loader; /* of the file: its messages and its external data */
    Ulp__ModelProto *proto;
    struct ulp_arena *arena;
    struct ulp_budget *budget;
    struct ulp_names names;     /* every name of the model */
    struct ulp_names read;      /* of these, what the model reads; and new ones */
    struct edit_graph **graphs; /* the main graph; each before those inside it */
    size_t graph_count, graph_capacity;
    size_t *reads;        /* by number in the graphs' names; NULL: they are not counted */
    struct ulp_text data; /* the file of external data, while it is open */
    size_t data_bytes;
    const char *data_name;
};

/* editor.c: open the file, change it, save it; the writer's struct begins with its editor.
 * ULP_ERROR_INPUT: the file is not the one that the model was loaded from any more. */
typedef enum ulp_status edit_change(struct editor *editor);
enum ulp_status edit_model(struct editor *editor, edit_change *change, struct ulp_error *error);
enum ulp_status edit_fail_changed(struct editor *editor);
/* The body that an attribute holds; NULL: it has none. */
struct edit_graph *edit_body(const struct editor *editor, const Ulp__AttributeProto *attribute);
/* A function, which a writer has cloned; packed before all bodies that were opened earlier. */
enum ulp_status edit_open_function(struct editor *editor, const struct ulp_graph *source,
                                   Ulp__FunctionProto *function, struct edit_graph **out);
/* Graphs from `first` on are ready: nodes in their places, bodies bytes of their attributes. */
enum ulp_status edit_close_graphs(struct editor *editor, size_t first);
/* A new node of ai.onnx before the one at `position`, whose name is that of its output; the inputs
 * end with NULL. Of several at one position the first stays the first. */
enum ulp_status edit_add_node(struct editor *editor, struct edit_graph *graph, size_t position,
                              const char *op, const char *const *inputs, const char *out,
                              Ulp__NodeProto **node);
/* A node once more, which gives `out` and is named after it. */
enum ulp_status edit_add_clone(struct editor *editor, struct edit_graph *graph, size_t position,
                               const Ulp__NodeProto *original, const char *end, const char *out,
                               Ulp__NodeProto **node);
/* Bodies of a node that loses its attributes are written no more. */
enum ulp_status edit_drop_bodies(struct editor *editor, const Ulp__NodeProto *node);

/* AttributeProto.AttributeType */
enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_TENSOR, ATTRIBUTE_INTS = 7 };

/* message.c */
enum ulp_status edit_new(struct editor *editor, void *out,
                         const ProtobufCMessageDescriptor *descriptor);
enum ulp_status edit_set_text(struct editor *editor, ProtobufCBinaryData *out, const char *text);
/* A zero-terminated copy in the arena; NULL: out of memory. */
const char *edit_text(struct editor *editor, ProtobufCBinaryData bytes);
enum ulp_status edit_append(struct editor *editor, void *array, size_t *count, void *item);
/* The same, of a message that is freed when this fails. */
enum ulp_status edit_take(struct editor *editor, void *array, size_t *count, void *message);
/* A new message at the end of an array. */
enum ulp_status edit_add(struct editor *editor, void *array, size_t *count,
                         const ProtobufCMessageDescriptor *descriptor, void *out);
/* One more input or output of a node. */
enum ulp_status edit_add_name(struct editor *editor, ProtobufCBinaryData **names, size_t *count,
                              const char *name);
/* Messages of an array: one freed, whose place is empty then; empty places closed; all freed. */
void edit_drop(struct editor *editor, void *place);
void edit_close_gaps(void *messages, size_t *count);
void edit_clear(struct editor *editor, void *messages, size_t *count);
/* The domain is imported in that version at least. */
enum ulp_status edit_import(struct editor *editor, Ulp__OpsetProto ***imports, size_t *count,
                            const char *domain, int64_t version);
enum ulp_status edit_pack(struct editor *editor, const ProtobufCMessage *message,
                          ProtobufCBinaryData *out);
enum ulp_status edit_clone(struct editor *editor, const ProtobufCMessage *message, void *out);
/* The type of a declaration that has one. */
void edit_set_info(Ulp__ValueInfoProto *info, enum ulp_type type);
bool edit_is_text(ProtobufCBinaryData bytes, const char *text);
bool edit_is_function(const Ulp__FunctionProto *proto, const struct ulp_function *function);
/* A name that the model does not have: "x_fp16". */
enum ulp_status edit_fresh(struct editor *editor, const char *name, const char *end,
                           const char **out);
/* The node's attribute of that name, which is made when missing, without a value. */
enum ulp_status edit_attribute(struct editor *editor, Ulp__NodeProto *node, const char *name,
                               int32_t type, Ulp__AttributeProto **out);
enum ulp_status edit_set_number(struct editor *editor, Ulp__NodeProto *node, const char *name,
                                int64_t number);
/* The same, with a number, a text or integers. */
enum ulp_status edit_copy_attribute(struct editor *editor, Ulp__NodeProto *node,
                                    const struct ulp_attribute *attribute);

/* edit_tensor.c: *proto with the elements in that type; its name and dims are set. */
enum ulp_status edit_convert(struct editor *editor, Ulp__TensorProto *proto,
                             const struct ulp_tensor *tensor, enum ulp_type type);
enum ulp_status edit_new_tensor(struct editor *editor, Ulp__TensorProto **out, const char *name,
                                const struct ulp_tensor *tensor, enum ulp_type type);
/* An initializer of the main graph; raw is taken over. */
enum ulp_status edit_add_raw(struct editor *editor, const char *name, enum ulp_type type,
                             const struct ulp_tensor *shape, ProtobufCBinaryData raw);
/* An initializer of the main graph, and a tensor, with the elements that it has.
 * ULP_ERROR_UNSUPPORTED: they are smaller than a byte. */
enum ulp_status edit_add_same(struct editor *editor, const char *name,
                              const struct ulp_tensor *tensor);
enum ulp_status edit_same_tensor(struct editor *editor, Ulp__TensorProto **out, const char *name,
                                 const struct ulp_tensor *tensor);
/* The value of a Constant or ConstantOfShape. */
enum ulp_status edit_set_constant(struct editor *editor, Ulp__NodeProto *node,
                                  const struct ulp_tensor *tensor, enum ulp_type type);
/* External data of the graph goes to the new file. */
enum ulp_status edit_move_data(struct editor *editor, const struct edit_graph *graph);
enum ulp_status edit_close_data(struct editor *editor, bool keep);
