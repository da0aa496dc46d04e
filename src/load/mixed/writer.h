/* The inside of the writer of models with other types. */
#pragma once

#include "base/text/names.h"
#include "base/text/text.h"
#include "load/load.h"
#include "load/mixed/mixed.h"

/* A place in the file where a value is named, and the type that is wanted there. */
struct mixed_use {
    struct mixed_use *next;
    ProtobufCBinaryData *where;
    enum ulp_type type;
    bool renames; /* the place names another value so far */
};

enum mixed_kind {
    MIXED_GIVEN,    /* an input of the graph, body or function */
    MIXED_TENSOR,   /* an initializer */
    MIXED_CONSTANT, /* of a Constant node, or a ConstantOfShape that is one */
    MIXED_COMPUTED
};

struct mixed_value {
    const char *name;
    enum mixed_kind kind;
    /* floats of 16 bits and more: as in the model, and as it is held now; others UNDEFINED */
    enum ulp_type declared, held;
    enum ulp_type output; /* of an output of the model: its type there; else UNDEFINED */
    bool declares;        /* its further names have been declared */
    bool loses;           /* a reader reads another value in its place now */
    /* the elements of a constant; NULL: it is only converted by Casts */
    const struct ulp_tensor *tensor;
    Ulp__TensorProto *proto;   /* of an initializer */
    Ulp__NodeProto *producer;  /* of what a node gives */
    ProtobufCBinaryData *slot; /* where producer names it */
    int position;              /* of producer in the file; -1: before all nodes */
    struct mixed_use *uses;
    struct mixed_value *origin; /* a narrower value that a Cast has only widened; NULL: none */
    /* the same before a Cast narrows it, which its producer only hands on; NULL: none */
    struct mixed_value *wide;
    /* what the Transpose that gives it and moves the first dimension reads; NULL: none does */
    struct mixed_use *transposed;
    const char *names[ULP_TYPE_COUNT]; /* in each type it is needed in, once settled */
};

/* A graph of the file, or the body of a function. */
struct mixed_scope {
    struct mixed *mixed;
    struct mixed_scope *parent; /* whose values it may capture */
    const struct ulp_graph *source;
    const struct ulp_call_path *call;
    int64_t opset;          /* of ai.onnx */
    Ulp__GraphProto *graph; /* NULL: a function */
    Ulp__NodeProto ***nodes;
    size_t *node_count;
    Ulp__ValueInfoProto ***infos;
    size_t *info_count;
    struct mixed_value *values; /* by number in source */
    struct mixed_insert {
        int position; /* of the node in the file that it follows */
        size_t order;
        Ulp__NodeProto *node;
    } * inserts;
    size_t insert_count, insert_capacity;
};

/* A subgraph that is a message of its own until all names in it are settled. */
struct mixed_body {
    Ulp__AttributeProto *attribute;
    Ulp__GraphProto *graph;
};

/* A function as some calls need it. */
struct mixed_variant {
    const struct ulp_function *function;
    Ulp__FunctionProto *proto;
    ProtobufCBinaryData packed; /* with the function's own name */
    const char *name;
};

struct mixed {
    const struct ulp_mixed_request *request;
    struct ulp_mixed_written *written;
    struct ulp_loader loader; /* of the file: its messages and its external data */
    Ulp__ModelProto *proto;
    struct ulp_arena *arena;
    struct ulp_budget *budget;
    struct ulp_names names; /* every name of the model */
    struct mixed_body *bodies;
    size_t body_count, body_capacity;
    struct mixed_variant *variants;
    size_t variant_count, variant_capacity;
    /* the model's bytes go there instead of a file, and external data stays where it is, for
     * ulp_model_load_bytes; NULL: to the file */
    ProtobufCBinaryData *packed;
    struct ulp_text data; /* the file of external data, while it is open */
    size_t data_bytes;
    const char *data_name;
};

/* Floats that a node may have in another type. */
static inline bool mixed_is_float(enum ulp_type type)
{
    return type == ULP_TYPE_FLOAT || type == ULP_TYPE_DOUBLE || type == ULP_TYPE_FLOAT16 ||
           type == ULP_TYPE_BFLOAT16;
}

/* mixed_write.c: the model's file read again, changed and written to the request's path; of *mixed
 * only the request is set. */
typedef enum ulp_status mixed_change(struct mixed *mixed, struct ulp_error *error);
enum ulp_status mixed_rewrite(struct mixed *mixed, mixed_change *change, struct ulp_error *error);
enum ulp_status mixed_fail_changed(struct ulp_error *error);
/* Every name of the model, for mixed_fresh. */
enum ulp_status mixed_collect_names(struct mixed *mixed, struct ulp_error *error);

/* AttributeProto.AttributeType */
enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_TENSOR, ATTRIBUTE_INTS = 7 };

/* message.c: messages, whose memory protobuf-c frees with the model's. */
enum ulp_status mixed_new(struct mixed *mixed, void *out,
                          const ProtobufCMessageDescriptor *descriptor, struct ulp_error *error);
enum ulp_status mixed_set_text(struct mixed *mixed, ProtobufCBinaryData *out, const char *text,
                               struct ulp_error *error);
/* A zero-terminated copy in the arena; NULL: out of memory. */
const char *mixed_text(struct mixed *mixed, ProtobufCBinaryData bytes);
enum ulp_status mixed_append(struct mixed *mixed, void *array, size_t *count, void *item,
                             struct ulp_error *error);
/* The same, of a message that is freed when this fails. */
enum ulp_status mixed_take(struct mixed *mixed, void *array, size_t *count, void *message,
                           struct ulp_error *error);
/* A new message at the end of an array. */
enum ulp_status mixed_add(struct mixed *mixed, void *array, size_t *count,
                          const ProtobufCMessageDescriptor *descriptor, void *out,
                          struct ulp_error *error);
/* One more input or output of a node. */
enum ulp_status mixed_add_name(struct mixed *mixed, ProtobufCBinaryData **names, size_t *count,
                               const char *name, struct ulp_error *error);
enum ulp_status mixed_add_entry(struct mixed *mixed, Ulp__EntryProto ***entries, size_t *count,
                                const char *key, const char *value, struct ulp_error *error);
/* Messages of an array: one freed, whose place is empty then; empty places closed; all freed. */
void mixed_drop(struct mixed *mixed, void *place);
void mixed_close_gaps(void *messages, size_t *count);
void mixed_clear(struct mixed *mixed, void *messages, size_t *count);
/* The domain is imported in that version at least. */
enum ulp_status mixed_import(struct mixed *mixed, Ulp__OpsetProto ***imports, size_t *count,
                             const char *domain, int64_t version, struct ulp_error *error);
enum ulp_status mixed_pack(struct mixed *mixed, const ProtobufCMessage *message,
                           ProtobufCBinaryData *out, struct ulp_error *error);
enum ulp_status mixed_clone(struct mixed *mixed, const ProtobufCMessage *message, void *out,
                            struct ulp_error *error);
bool mixed_is_text(ProtobufCBinaryData bytes, const char *text);
bool mixed_is_function(const Ulp__FunctionProto *proto, const struct ulp_function *function);
/* A name that the model does not have: "x_fp16". */
enum ulp_status mixed_fresh(struct mixed *mixed, const char *name, const char *end,
                            const char **out, struct ulp_error *error);
/* The node's attribute of that name, which is made when missing, without a value. */
enum ulp_status mixed_attribute(struct mixed *mixed, Ulp__NodeProto *node, const char *name,
                                int32_t type, Ulp__AttributeProto **out, struct ulp_error *error);
enum ulp_status mixed_name_node(struct mixed *mixed, Ulp__NodeProto *node, const char *op,
                                const char *name, struct ulp_error *error);
enum ulp_status mixed_set_number(struct mixed *mixed, Ulp__NodeProto *node, const char *name,
                                 int64_t number, struct ulp_error *error);
/* The same, with a number, a text or integers. */
enum ulp_status mixed_copy_attribute(struct mixed *mixed, Ulp__NodeProto *node,
                                     const struct ulp_attribute *attribute,
                                     struct ulp_error *error);

/* mixed_tensor.c: *proto with the elements in that type; its name and dims are set. */
enum ulp_status mixed_convert(struct mixed *mixed, Ulp__TensorProto *proto,
                              const struct ulp_tensor *tensor, enum ulp_type type,
                              struct ulp_error *error);
enum ulp_status mixed_new_tensor(struct mixed *mixed, Ulp__TensorProto **out, const char *name,
                                 const struct ulp_tensor *tensor, enum ulp_type type,
                                 struct ulp_error *error);
/* An initializer of the main graph; raw is taken over. */
enum ulp_status mixed_add_raw(struct mixed *mixed, const char *name, enum ulp_type type,
                              const struct ulp_tensor *shape, ProtobufCBinaryData raw,
                              struct ulp_error *error);
/* An initializer of the main graph, and a tensor, with the elements that it has.
 * ULP_ERROR_UNSUPPORTED: they are smaller than a byte. */
enum ulp_status mixed_add_same(struct mixed *mixed, const char *name,
                               const struct ulp_tensor *tensor, struct ulp_error *error);
enum ulp_status mixed_same_tensor(struct mixed *mixed, Ulp__TensorProto **out, const char *name,
                                  const struct ulp_tensor *tensor, struct ulp_error *error);
/* External data of the nodes and of the graph (may be NULL) goes to the new file. */
enum ulp_status mixed_move_data(struct mixed *mixed, Ulp__NodeProto *const *nodes, size_t count,
                                Ulp__GraphProto *graph, struct ulp_error *error);
enum ulp_status mixed_close_data(struct mixed *mixed, bool keep, struct ulp_error *error);

/* scope.c */
enum ulp_status mixed_open_scope(struct mixed_scope *scope, struct ulp_error *error);
void mixed_close_scope(struct mixed_scope *scope);
/* What the node gives, by its types in the model and now. */
void mixed_set_output(struct mixed_scope *scope, const struct ulp_node *node, Ulp__NodeProto *proto,
                      size_t o, enum ulp_type declared, enum ulp_type held);
/* The type of a declaration that has one. */
void mixed_set_info(Ulp__ValueInfoProto *info, enum ulp_type type);
struct mixed_value *mixed_find(struct mixed_scope *scope, int number);
/* `where` names another value of the scope, and reads this one instead, in that type. */
enum ulp_status mixed_read_other(struct mixed_scope *scope, struct mixed_value *value,
                                 ProtobufCBinaryData *where, enum ulp_type type,
                                 struct ulp_error *error);
/* `where` names the value and wants it in that type; UNDEFINED: as declared. */
enum ulp_status mixed_read(struct mixed_scope *scope, int number, ProtobufCBinaryData *where,
                           enum ulp_type type, struct ulp_error *error);
/* The scope takes the node over, also when this fails. */
enum ulp_status mixed_insert(struct mixed_scope *scope, int position, Ulp__NodeProto *node,
                             struct ulp_error *error);

/* node.c, body.c: types of all nodes of the scope, their bodies and the functions they call. */
enum ulp_status mixed_visit(struct mixed_scope *scope, struct ulp_error *error);
enum ulp_status mixed_visit_bodies(struct mixed_scope *scope, const struct ulp_node *node,
                                   Ulp__NodeProto *proto, const struct ulp_mixed_node *entry,
                                   struct ulp_error *error);
enum ulp_status mixed_visit_call(struct mixed_scope *scope, const struct ulp_node *node,
                                 Ulp__NodeProto *proto, const struct ulp_function *function,
                                 struct ulp_error *error);
/* A Constant, or a ConstantOfShape that is one, as a value. */
enum ulp_status mixed_visit_constant(struct mixed_scope *scope, const struct ulp_node *node,
                                     Ulp__NodeProto *proto, struct ulp_error *error);
/* Subgraphs from `first` on become bytes of their attributes. */
enum ulp_status mixed_pack_bodies(struct mixed *mixed, size_t first, struct ulp_error *error);

/* settle.c: after all readers of the scope's values are known: Casts, constants in their types,
 * and the names that the readers use. */
enum ulp_status mixed_settle(struct mixed_scope *scope, struct ulp_error *error);
enum ulp_status mixed_set_constant(struct mixed *mixed, Ulp__NodeProto *node,
                                   const struct ulp_tensor *tensor, enum ulp_type type,
                                   struct ulp_error *error);
