/* What the parts of check_engine share: a small model and engines that were built of it. */
#pragma once

#include "tests/support/test.h"

/* Its nodes. */
enum { NODES = 5, MATMUL = 0, ADD, RELU, SECOND, SOFTMAX };

/* Of the current test. */
extern struct ulp_model *model;
extern struct ulp_program *program;
extern struct ulp_tensor_set inputs;
extern struct ulp_error error;

/* An engine, mapped. */
struct subject {
    struct ulp_engine engine;
    struct ulp_engine_map built;
};
void begin(struct subject *out, const char *file);
void begin_with(struct subject *out, const char *file,
                const struct ulp_engine_map_options *options);
void end(struct subject *subject);
/* The layer that computes a node. */
const struct ulp_engine_map_layer *layer_of(const struct subject *subject, size_t node);

struct ulp_program *make_plan(struct ulp_model *of);
void write_file(const char *name, const char *content);
/* The outputs of one lane: of an arithmetic, of what was built, of one by its name. */
struct ulp_tensor_set run_lane(const struct ulp_arithmetic *arithmetic,
                               const struct ulp_keeps *keeps, const struct ulp_groups *groups,
                               const char *name);
struct ulp_tensor_set run_built(const struct subject *subject);
struct ulp_tensor_set run_plain(const char *name);
size_t count_unequal(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b);

/* Before and after each test: that model and a folder. */
void engine_test_begin(void);
void engine_test_end(void);
