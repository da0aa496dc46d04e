/* A model that was converted or quantised beside its original. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/audit/truth.h"
#include "run/program/program.h"

/* The QuantizeLinear whose integers the step reads as they are; NULL: there is none. */
const struct ulp_step *ulp_twin_quantizer(const struct ulp_block *block,
                                          const struct ulp_step *dequantizer);
/* A copy of the constant that stands in the original where the dequantizer's readers read: what
 * options.pairs say, or input i of the step that computes a value of the same name. out stays as it
 * is, of type UNDEFINED, where there is none of that shape. */
enum ulp_status ulp_twin_weight(const struct ulp_audit_options *options,
                                const struct ulp_program *program,
                                const struct ulp_program *original,
                                const struct ulp_step *dequantizer, struct ulp_tensor *out,
                                struct ulp_error *error);
/* The Relu or Clip of the original that the range of the pair's quantiser has taken in, and that is
 * no node of its own: all that reads there what the pair reads, or computes it. NULL: there is
 * none. */
const struct ulp_step *ulp_twin_folded(const struct ulp_program *program,
                                       const struct ulp_program *original,
                                       const struct ulp_step *dequantizer);
/* What such a pair gives is that step's result, which the truth is told. */
enum ulp_status ulp_twin_pair_folded(const struct ulp_program *program,
                                     const struct ulp_program *original, struct ulp_truth *truth,
                                     struct ulp_error *error);
/* Do to the floats, in place, what the step does. */
void ulp_twin_activate(const struct ulp_program *original, const struct ulp_step *step,
                       struct ulp_tensor *floats);
/* Copies of those constants, by the names of what the dequantizers of `plan` give. */
enum ulp_status ulp_twin_weights(const struct ulp_audit_options *options,
                                 const struct ulp_program *program,
                                 const struct ulp_program *original, struct ulp_tensor_set *out,
                                 struct ulp_error *error);
/* Views of what the original has for the floats of the program's main graph, by their names: the
 * truth, weights, and behind Casts and pairs of quantisers what stands before them. */
enum ulp_status ulp_twin_values(const struct ulp_truth *truth, const struct ulp_program *program,
                                const struct ulp_tensor_set *inputs,
                                const struct ulp_tensor_set *weights, struct ulp_tensor_set *out,
                                struct ulp_error *error);
