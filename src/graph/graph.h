/* Our own model in memory: what the loader makes and everything else sees. No protobuf.
 * Everything is owned by the model's arena (tensor data by the model); const after loading. */
#pragma once

#include <sys/types.h>
#include <ulpscope/model.h>

#include "base/memory/alloc.h"
#include "graph/scoped.h"

struct ulp_graph;

enum ulp_attribute_kind {
    ULP_ATTRIBUTE_INT,
    ULP_ATTRIBUTE_FLOAT,
    ULP_ATTRIBUTE_STRING,
    ULP_ATTRIBUTE_TENSOR,
    ULP_ATTRIBUTE_GRAPH,
    ULP_ATTRIBUTE_INTS,
    ULP_ATTRIBUTE_FLOATS,
    ULP_ATTRIBUTE_STRINGS,
    /* Sparse tensors, type protos, lists of tensors or graphs, strings with zero bytes inside: kept
     * by name so that they can be refused where they are used. */
    ULP_ATTRIBUTE_OTHER,
};
struct ulp_attribute {
    const char *name;
    enum ulp_attribute_kind kind;
    /* inside a function body: the name of the function's attribute; else NULL */
    const char *reference;
    int64_t i;
    float f;
    const char *s; /* zero-terminated */
    const struct ulp_tensor *tensor;
    const struct ulp_graph *graph;
    size_t count; /* of the lists */
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
};

/* Values are numbered per graph; a node refers to them by number, -1 for an omitted optional
 * one. */
struct ulp_value {
    const char *name;
    struct ulp_value_info info; /* as declared, type UNDEFINED when not */
    const char *container; /* "sequence", "optional", ...: declared as no dense tensor; else NULL */
    const struct ulp_tensor *initializer; /* constant data; NULL when computed or given */
    /* it is an input, too, from IR 4 on: a default, in whose place a caller may give another value
     * (before, every initializer had to be one) */
    bool overridable;
    int producer; /* node index; -1: input, initializer, or captured */
    int outer;    /* captured from the enclosing graph: its value number there; -1: not captured */
};
/* So many inputs of a node, or step, of any operator may be looked at: -1 where it has fewer. */
enum { ULP_INPUTS_LOOKED_AT = 2 };
struct ulp_node {
    int index;                    /* position in topological order */
    int position;                 /* in the file */
    const char *name;             /* "OP_index" (its position in the file) when the file has none */
    bool named;                   /* the file has that name; false: none, or another node's, too */
    const char *op_type, *domain; /* "ai.onnx" is normalised to "" */
    const char *overload;         /* of the called function; "" when there is none */
    const char
        *scopes; /* "['', 'fc', 'linear']": of PyTorch's exporter, modules and the node; "" */
    size_t input_count, output_count, attribute_count;
    const int *inputs, *outputs;
    const struct ulp_attribute *attributes;
};
/* The call that a function's body is expanded for; calls of several levels down to it. */
struct ulp_call_path {
    const struct ulp_node *node;
    const struct ulp_call_path *outer; /* the call around it; NULL: a graph of the model */
};
struct ulp_graph {
    const char *name;
    size_t node_count, value_count, input_count, output_count;
    /* in topological order, whatever the file's order; stable otherwise */
    const struct ulp_node *nodes;
    struct ulp_value *values;
    /* value numbers; inputs that are also initializers are listed too */
    const int *inputs, *outputs;
    const int *free_inputs; /* those without an initializer */
    size_t free_input_count;
    const struct ulp_graph *parent; /* NULL for the main graph */
};
struct ulp_opset {
    const char *domain;
    int64_t version;
};
/* A function body as a template; expanded by the compiler of programs (run/) with the caller's
 * attributes. */
struct ulp_function {
    const char *name, *domain, *overload;
    size_t input_count, output_count, opset_count;
    const struct ulp_graph *body;                   /* inputs and outputs in the function's order */
    const struct ulp_attribute *attribute_defaults; /* attribute_default_count of them, by name */
    size_t attribute_default_count;
    const struct ulp_opset *opsets; /* by domain */
};
struct ulp_model {
    struct ulp_budget budget; /* of its own memory; the root is what it was loaded with */
    struct ulp_arena *arena;
    char *path;
    char *arguments; /* ulp_model_set_arguments; NULL: none */
    bool nonfinite_inputs_meant;
    /* the file, where it was never written (ulp_edit_load); NULL: it is at path, if at_path */
    void *bytes;
    size_t byte_count;
    bool at_path; /* false: loaded from bytes, of which path is but the name in messages */
    int64_t ir_version;
    const char *producer_name, *producer_version;
    size_t opset_count, function_count;
    const struct ulp_opset *opsets;       /* by domain */
    const struct ulp_function *functions; /* by name, domain and overload */
    struct ulp_graph *graph;
    /* external data files, mapped read-only; unmapped by ulp_model_free */
    struct ulp_mapping *mappings;
    size_t mapping_count;
    struct ulp_tensor **tensors; /* every tensor of the model, freed with it */
    size_t tensor_count;
};

/* Can its file be read again, to be written with changes or told from another? Not of a model that
 * was loaded from bytes. */
enum ulp_status ulp_model_check_file(const struct ulp_model *model, struct ulp_error *error);

/* An external data file, mapped read-only; address NULL when it is empty. It must not be changed
 * while the model lives: a page cut off the file raises SIGBUS (base/machine/file.h). */
struct ulp_mapping {
    void *address;
    size_t bytes;
    dev_t device; /* which file it is */
    ino_t number;
};

/* A STRING or COMPLEX tensor is described (type, shape, count) but has no data: data is NULL and
 * element is ULP_ELEMENT_COUNT. Whoever needs its values refuses it. Every other tensor of a model
 * has data, also when count is 0. */

/* The node's attribute of that name, or NULL. For names an operator asks for: it looks through the
 * node's list. */
const struct ulp_attribute *ulp_node_attribute(const struct ulp_node *node, const char *name);
/* Its integer, and its float; `fallback` where it has none of that name. */
int64_t ulp_node_int(const struct ulp_node *node, const char *name, int64_t fallback);
double ulp_node_float(const struct ulp_node *node, const char *name, double fallback);

/* The node of the graph that computes a value, and the constant that the value is: an initializer,
 * or a Constant's tensor. NULL: there is none, or value is negative. */
const struct ulp_node *ulp_value_producer(const struct ulp_graph *graph, int value);
const struct ulp_tensor *ulp_value_constant(const struct ulp_graph *graph, int value);

/* The version of a domain's operator set, 0 when it is not imported. `opsets` are in order, as
 * ulp_opsets_sort leaves them. */
void ulp_opsets_sort(struct ulp_opset *opsets, size_t count);
int64_t ulp_opset_find(const struct ulp_opset *opsets, size_t count, const char *domain);
/* The function the node calls, or NULL; an attribute's default in it, or NULL. The lists are in
 * order, as these leave them. ulp_functions_sort returns one of two with the same name, domain and
 * overload, or NULL: there are none. */
const struct ulp_function *ulp_functions_sort(struct ulp_function *functions, size_t count);
const struct ulp_function *ulp_function_find(const struct ulp_model *model,
                                             const struct ulp_node *node);
void ulp_attributes_sort(struct ulp_attribute *attributes, size_t count);
const struct ulp_attribute *ulp_function_default(const struct ulp_function *function,
                                                 const char *name);

/* "" for "ai.onnx", else the domain itself. */
const char *ulp_domain_normal(const char *domain);

/* Put graph's nodes (the same array, not const yet) into topological order, the captures of their
 * subgraphs included; of the nodes that are ready the one earliest in the file comes first, so an
 * ordered graph stays as it is. On entry values[].producer is a position in the array, on return
 * too, and node->index is set. ULP_ERROR_INPUT: there is a cycle, whose nodes the message names.
 * What sorting needs is charged to budget. */
enum ulp_status ulp_graph_sort(struct ulp_graph *graph, struct ulp_node *nodes,
                               struct ulp_budget *budget, struct ulp_error *error);

/* mapped.c. All external data. */
size_t ulp_model_mapped_bytes(const struct ulp_model *model);
/* Begin to read the tensor's elements, bytes_max at most, where they are external data; how many
 * bytes they are there, else 0. And give back the memory they took, until they are read again. */
size_t ulp_model_fetch(const struct ulp_model *model, const struct ulp_tensor *tensor,
                       size_t bytes_max);
void ulp_model_give_back(const struct ulp_model *model, const struct ulp_tensor *tensor);
