/* The main graph forward in the reference's arithmetic alone, and each node at will once more on
 * what another lane would read there: the reference's values rounded to that lane's storage. On
 * these the node can run in FP64 (what the lane's values would be if it computed without error) or
 * in the lane's own arithmetic. */
#pragma once

#include "run/lane.h"

struct ulp_forward {
    const struct ulp_program *program;
    struct ulp_budget *budget;
    struct ulp_pool *pool;
    struct ulp_lane *lanes; /* of the plan: the reference's has values, the others constants */
    struct ulp_lane wide;   /* FP64, without values */
    struct ulp_arithmetic arithmetic;
    struct ulp_mix mix;
    struct ulp_tensor *fitted; /* the inputs of the sample, as the model declares them */
};
enum ulp_status ulp_forward_open(struct ulp_forward *out, const struct ulp_program *program,
                                 int thread_count, struct ulp_error *error);
void ulp_forward_close(struct ulp_forward *forward);

/* A sample. What it holds is used until the next one. */
enum ulp_status ulp_forward_begin(struct ulp_forward *forward, const struct ulp_tensor_set *inputs,
                                  struct ulp_error *error);
/* R(r) of the step, which become values of lanes[0]. */
enum ulp_status ulp_forward_step(struct ulp_forward *forward, const struct ulp_step *step,
                                 struct ulp_arena *arena, struct ulp_error *error);
/* Free what no later step needs. */
void ulp_forward_drop(struct ulp_forward *forward, const struct ulp_step *step);
/* Forget the sample. */
void ulp_forward_end(struct ulp_forward *forward);

/* What a step reads. Freed with ulp_forward_inputs_free. */
struct ulp_forward_inputs {
    size_t count;
    const struct ulp_tensor **at; /* NULL: omitted */
    struct ulp_tensor *own;       /* conversions that at points to */
};
void ulp_forward_inputs_free(struct ulp_forward_inputs *inputs);
/* As lane l would read the reference's values: rounded once to its storage, constants lowered. */
enum ulp_status ulp_forward_rounded(struct ulp_forward *forward, size_t l,
                                    const struct ulp_step *step, struct ulp_arena *arena,
                                    struct ulp_forward_inputs *out, struct ulp_error *error);
/* The same numbers in FP64; at[i] of `replace` (may be NULL) where that is not NULL, a value as
 * lane l holds it. */
enum ulp_status ulp_forward_widened(struct ulp_forward *forward, size_t l,
                                    const struct ulp_step *step,
                                    const struct ulp_tensor *const *rounded,
                                    const struct ulp_tensor *const *replace,
                                    struct ulp_arena *arena, struct ulp_forward_inputs *out,
                                    struct ulp_error *error);
/* FP64 results as lane l would store them: rounded once. */
enum ulp_status ulp_forward_store(struct ulp_forward *forward, size_t l,
                                  const struct ulp_step *step, const struct ulp_tensor *value,
                                  struct ulp_tensor *out, struct ulp_error *error);
/* The format that lane l stores an output of the step of that type in. */
enum ulp_status ulp_forward_format(const struct ulp_forward *forward, size_t l,
                                   const struct ulp_step *step, enum ulp_type type,
                                   struct ulp_format *out, struct ulp_error *error);
