/* Small models written as text, for tests of control flow: made, run, audited, and the figures
 * compared. */
#pragma once

#include "tests/support/proto.h"
#include "tests/support/test.h"

/* A graph as text: names of inputs and outputs, and nodes, "[name] y, z = Op(a, b)". A name that
 * starts with i_ is INT64, with b_ BOOL, others FLOAT. bodies: those of its Ifs (then and else),
 * Loops and Scans, in their order, left out where there are none; "Scan<1>" has one scan input,
 * "Scan<1->" from its end. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
struct text_graph {
    const char *inputs, *outputs, *nodes;
    const struct text_graph *bodies[8];
};

/* A tree that forks once; an If and a Loop one behind the other, and their bodies. */
extern const struct text_graph text_chain, text_then_body, text_else_body, text_loop_body,
    text_with_bodies;

/* Parts of messages: declarations of the names (unless `shaped` without dimensions; floats are
 * [3,8], others scalars), and an attribute that is a graph (freed) or a number. */
void text_add_values(struct proto *graph, int field, const char *names, bool shaped);
void text_add_attribute(struct proto *node, const char *name, struct proto *graph, int64_t number);

/* The text's model, with the constants w [8,8], row [8], two, big (300), b_yes, i_0, i_1, i_2. */
struct ulp_model *text_load(const struct text_graph *text);
/* Its file, for proto_free. */
struct proto text_message(const struct text_graph *text);
struct ulp_model *text_load_within(const struct text_graph *text, struct ulp_budget *budget);
/* x random (or all x0), integers 3, truth as told. */
struct ulp_tensor_set text_inputs(const struct ulp_model *model, uint64_t seed, double x0,
                                  bool truth);

#define TEXT_LANES 6
extern const char *const text_lanes[TEXT_LANES];
struct ulp_program *text_plan(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                              size_t first, size_t count);
/* Audit with the samples; the outputs that each lane gives must be those it gives alone. */
void text_audit_samples(const struct ulp_model *model, const struct ulp_tensor_set *samples,
                        size_t sample_count, int threads, struct ulp_audit *out);
void text_audit(const struct text_graph *text, uint64_t seed, double x0, bool truth, int threads,
                struct ulp_audit *out);

const struct ulp_audit_node *audit_node(const struct ulp_audit *audit, size_t lane,
                                        const char *name);
bool audit_same_metrics(const struct ulp_metrics *a, const struct ulp_metrics *b);
/* The same judgement, and figures of equal bits. */
void audit_expect_same(const struct ulp_audit_node *a, const struct ulp_audit_node *b);
