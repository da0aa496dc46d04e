/* What is tried against an error: other arithmetics, and nodes kept in other ones. Each is a lane,
 * judged by the worst of the model's outputs; what commands offer as remedies, they have run here.
 */
#pragma once

#include "analysis/measure/metrics.h"
#include "run/program/program.h"

/* How a lane's outputs come out. Zeroed, then added to. */
struct ulp_outcome {
    bool any;         /* there is a float output that can be compared */
    size_t output;    /* the worst of them: its number */
    double sqnr_db;   /* of that; -infinity: not finite, or of another shape */
    double finite_db; /* of its finite elements; NaN: there are none */
    size_t nonfinite; /* elements that are not what the reference's are */
    size_t turned;    /* integers that are not the reference's */
};
/* attempts.c. One more output, whose elements the format stores. */
enum ulp_status ulp_outcome_add(struct ulp_outcome *outcome, size_t output,
                                const struct ulp_tensor *value, const struct ulp_tensor *truth,
                                const struct ulp_format *format, struct ulp_error *error);
/* Integers that are not the truth's; *first: the first. */
size_t ulp_outcome_turned(const struct ulp_tensor *value, const struct ulp_tensor *truth,
                          size_t *first);

/* One thing to try. */
struct ulp_attempt {
    struct ulp_arithmetic arithmetic;
    struct ulp_keeps keeps;
    struct ulp_outcome outcome;
    size_t cast_count; /* borders (struct ulp_border) */
    const char *what;  /* as it is called: "keep 2 nodes in FP32" */
    const char *in;    /* "FP32" */
    size_t changed;    /* nodes that are kept in it, its last keep */
};
/* attempt_list.c. What is wrong with an arithmetic: which rows of attempt.def may help. */
enum ulp_against {
    ULP_AGAINST_OVERFLOW = 1,
    ULP_AGAINST_CONSTANT = 2,
    ULP_AGAINST_SINGLE = 4,
    ULP_AGAINST_FACTOR = 8,
    ULP_AGAINST_WEIGHT = 16
};
struct ulp_trouble {
    unsigned against;
    struct ulp_attempt as_is;
    const size_t *nodes; /* to blame */
    size_t node_count;
    double largest; /* number that the format holds where they overflow */
};
/* The arithmetic as it is, and behind it what is tried. */
enum ulp_status ulp_attempts_list(const struct ulp_trouble *trouble, struct ulp_arena *memory,
                                  struct ulp_attempt **items, size_t *count,
                                  struct ulp_error *error);
/* A program of them, lanes behind the reference. redrawn: NULL: as it is. */
enum ulp_status ulp_attempts_open(const struct ulp_model *model,
                                  const struct ulp_arithmetic *reference,
                                  const struct ulp_attempt *items, size_t count,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_perturbation *redrawn, struct ulp_program **out,
                                  struct ulp_error *error);
/* All of them, lanes of one run beside the reference; outcomes are added to. truth: gains its
 * outputs that a node computes, freed by the caller; may be NULL. */
enum ulp_status ulp_attempts_run(const struct ulp_model *model,
                                 const struct ulp_arithmetic *reference, struct ulp_attempt *items,
                                 size_t count, const struct ulp_tensor_set *inputs,
                                 const struct ulp_run_options *run,
                                 const struct ulp_observer *observer, struct ulp_tensor_set *truth,
                                 struct ulp_error *error);

/* alone.c. What lane l of the program keeps by itself, with room for one more. */
enum ulp_status ulp_lane_keeps(const struct ulp_program *program, size_t l,
                               struct ulp_arena *memory, struct ulp_keep **out, size_t *count,
                               struct ulp_error *error);
/* Lane l of the program by itself, or as lane 1 beside the reference, with the nodes that
 * it keeps. ULP_ERROR_UNSUPPORTED: its nodes would be others. Freed in either case. */
struct ulp_alone {
    struct ulp_arena *memory;
    struct ulp_program *program;
    struct ulp_keep *keeps;  /* the lane's own, and room for one more */
    size_t keep_count, lane; /* lane: its number in the program */
};
enum ulp_status ulp_alone_create(const struct ulp_program *program, size_t l, bool beside_reference,
                                 const struct ulp_tensor_set *inputs, struct ulp_alone *out,
                                 struct ulp_error *error);
void ulp_alone_free(struct ulp_alone *alone);
/* From now on it keeps these nodes in the arithmetic, too; count 0: no more than its own. */
enum ulp_status ulp_alone_keep(struct ulp_alone *alone, const size_t *nodes, size_t count,
                               const struct ulp_arithmetic *arithmetic, struct ulp_error *error);
