/* Attacks on proofs (ulpscope/prove.h): inputs of the box, random ones and ones that climb towards
 * the bound of an element, and every proven output held against its bounds. */
#pragma once

#include <ulpscope/prove.h>

struct subject {
    struct ulp_model *model;
    struct ulp_program *program;
    struct ulp_proof proof;
    size_t random, climbed;            /* inputs that were run */
    size_t tensors, values;            /* compared */
    size_t outside;                    /* values, of those of which the first is told */
    size_t refused;                    /* runs */
    double attained;                   /* the largest share of a finite bound that was met */
    const struct ulp_proof_node *node; /* at hand */
    bool overflowed;                   /* in this run: an output that is not proven, or an input */
    /* NULL, or told of what is wrong, which else fails the test; then runs may be refused */
    void (*wrong)(void *context, const char *what);
    /* NULL, or makes the inputs of a seed, in place of the box' own */
    void (*make)(void *context, uint64_t seed, struct ulp_tensor_set *out);
    void *context;
};
/* low > high: the model's own ranges. Takes the model. */
void subject_begin(struct subject *out, struct ulp_model *model, const char *format, double low,
                   double high, const struct ulp_tensor_set *inputs);
void subject_begin_in(struct subject *out, struct ulp_model *model, const char *format,
                      const struct ulp_prove_box *box, const struct ulp_tensor_set *inputs);
void subject_end(struct subject *subject);

/* A value outside its bounds fails the test. shapes: of the inputs, NULL the model's; inputs differ
 * for other seeds. Random: three quarters of the elements at the ends of the box. Climbing: from
 * there to the corner to which the gradient points, of an element of each node's output in turn;
 * indexes of a table to the row that goes farthest its way, of some that are tried; up to three
 * times. */
void attack_randomly(struct subject *subject, size_t count, uint64_t seed,
                     const struct ulp_tensor_set *shapes);
void attack_climbing(struct subject *subject, size_t count, uint64_t seed,
                     const struct ulp_tensor_set *shapes);
