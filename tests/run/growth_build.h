/* Building the models of growth_models.h. */
#pragma once

#include <ulpscope.h>

#include "tests/support/proto.h"

#define ONE_DIM ((const int64_t[]){4})

/* A node of names that hold its number as %zu, any number of times up to three. */
struct proto numbered(const char *op, const char *inputs, const char *outputs, size_t i);
void add_node(struct proto *graph, const char *op, const char *inputs, const char *outputs,
              size_t i);
void add_value(struct proto *graph, int field, const char *name, size_t i);
/* A constant of `rank` dimensions of 4, all ones. */
void add_floats(struct proto *graph, const char *name, int rank, size_t i);
/* The graph x -> y, and the model around one. */
struct proto start_graph(void);
struct proto end_graph(struct proto graph);
void add_attribute(struct proto *node, int field, const char *name, size_t i, int type,
                   struct proto value);
struct proto number(int64_t value);
struct proto fraction(float value);
struct proto body(struct proto graph);

/* growth_bodies.c: models with many functions, branches, loops. */
struct proto make_functions(size_t count);
struct proto make_given_attributes(size_t count);
struct proto make_default_attributes(size_t count);
struct proto make_parameters(size_t count);
struct proto make_ifs(size_t count);
struct proto make_known_ifs(size_t count);
struct proto make_captures(size_t count);
struct proto make_branch_outputs(size_t count);
struct proto make_loop_nodes(size_t count);
struct proto make_loop_values(size_t count);
struct proto make_long_names(size_t count);
