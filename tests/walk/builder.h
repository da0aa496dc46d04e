/* Between the files that build random graphs. */
#pragma once

#include "base/text/text.h"
#include "ops/call.h"
#include "random_graph.h"
#include "tests/support/stream.h"

#define VALUES_MAX 256
/* A value has no more elements, and a node no more inputs. */
#define ELEMENTS_MAX 2048
#define ARITY_MAX 24

/* A value that nodes written from now on can read, and an example of it: floats in FP32. */
struct value {
    char name[24];
    struct ulp_tensor tensor;
    bool fixed; /* a constant */
    bool read;
};
struct builder {
    struct random_graph *graph;
    struct stream stream;
    int64_t opset; /* of ai.onnx */
    struct ulp_arithmetic lane;
    struct proto *main, *body; /* where inputs go; where nodes go, the same outside of bodies */
    struct value values[VALUES_MAX];
    size_t value_count;
    int depth, names;
};

static inline size_t below(struct builder *b, size_t bound)
{
    return (size_t)stream_draw_below(&b->stream, bound);
}
static inline bool chance(struct builder *b, size_t percent)
{
    return below(b, 100) < percent;
}
double uniform(struct builder *b, double low, double high);

/* ---- random_graph.c: values. Each returns a value's number ---- */

/* A value with this example, which it takes over; a full builder ends the test. */
size_t add_value(struct builder *b, const char *stem, struct ulp_tensor *tensor);
size_t add_constant(struct builder *b, const struct ulp_tensor *tensor);
size_t add_integers(struct builder *b, size_t count, bool scalar, const int64_t *values);
/* -1: there are enough. */
int add_input(struct builder *b, enum ulp_type type, int rank, const int64_t *dims, double low,
              double high);
/* The tensor's file form, for proto_free: floats lie in FP32, whatever their type. */
struct proto random_tensor_message(const char *name, const struct ulp_tensor *tensor);
/* Forget the values from `count` on. */
void drop_values(struct builder *b, size_t count);

/* ---- node.c ---- */

/* Write the node if it computes from the examples: inputs are values, -1 omitted. outputs, unless
 * NULL: the first one's number. What is refused, and what gives no numbers, is not written. */
bool add_node(struct builder *b, const struct ulp_node *node, const int *inputs, size_t *outputs);
/* An operator without attributes, or with one integer ("axis"). Its first output, or -1. */
int add_simple(struct builder *b, const char *op, int first, int second, const char *name,
               int64_t number);
/* Whether the node computes from these tensors; outputs freed by case_free_outputs. */
bool try_node(struct builder *b, const struct ulp_node *node, const struct ulp_tensor *const *in,
              struct ulp_tensor *outputs, const struct ulp_operator **row);
void count_row(struct builder *b, const char *name, const struct ulp_operator *row);
/* A node of the row, wired to what there is. */
bool draw_node(struct builder *b, const struct ulp_operator *row);
/* One of a row that the opset has. */
bool draw_any_node(struct builder *b);
/* Sums over the rows of a value that there is, where it has any. */
void draw_product(struct builder *b);

/* ---- wire.c ---- */

/* A value like `wanted`: an existing one, an input, a constant or computed. */
size_t wire(struct builder *b, const struct ulp_tensor *wanted, bool existing);
/* A value with the elements of v, again and again or the first of them, in another shape; -1: the
 * opset has no nodes for it. */
int reshape(struct builder *b, size_t v, int rank, const int64_t *dims);
/* An existing float value; -1: there is none. */
int find_float(struct builder *b);

/* ---- control.c ---- */

bool draw_control(struct builder *b, const struct ulp_operator *row);
