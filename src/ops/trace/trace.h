/* Derivatives of an operator from its own definition. While a call with a trace runs, float values
 * (FP64) are replaced by names: doubles of a reserved binade that say which number they stand for.
 * Whatever moves bytes moves names, so run functions that copy, gather, transpose or pad need
 * nothing for it; the gates through which all arithmetic goes (formulas, contractions, conversions)
 * read the named numbers, compute, and give their results new names; what no one reads as a number
 * is computed when an adjoint asks for it, which most do not. Each number has one name and is
 * written once, so memory that is used again does no harm. Going back over the gates, each one's
 * adjoint adds to the cotangents of the numbers it read: of a formula another formula
 * (formula/adjoint.h), of a contraction two contractions with exchanged tables. */
#pragma once

#include "formula/tape.h"
#include "kernels/contract.h"

struct ulp_trace;

/* What is taken while recording is charged to the budget. */
enum ulp_status ulp_trace_create(struct ulp_trace **out, struct ulp_budget *budget,
                                 struct ulp_pool *pool, struct ulp_error *error);
void ulp_trace_free(struct ulp_trace *trace);
ULP_FREES(ulp_trace_free, struct ulp_trace)
/* Forget all numbers and gates; adjoints of formulas stay for the next call. */
void ulp_trace_clear(struct ulp_trace *trace);

/* *out: names for the elements of a float tensor, in FP64, or (part != 0) for these and so much
 * more of the elements of `of`. They are read when a derivative needs them, until the trace is
 * cleared; free *out after that, or before. */
enum ulp_status ulp_trace_name(struct ulp_trace *trace, struct ulp_tensor *out,
                               const struct ulp_tensor *values, double part, const float *of,
                               struct ulp_error *error);
/* Names back to numbers, in place. */
enum ulp_status ulp_trace_unname(struct ulp_trace *trace, struct ulp_tensor *tensor,
                                 struct ulp_error *error);
/* Is any element a name? */
bool ulp_trace_is_named(const struct ulp_tensor *tensor);

/* From now on QuantizeLinear gives the steps that it rounds, as floats, so that derivatives pass.
 */
void ulp_trace_pass_steps(struct ulp_trace *trace);
bool ulp_trace_passes_steps(const struct ulp_trace *trace);

/* The gates, for ops/call/formula.c. */
enum ulp_status ulp_trace_tape(struct ulp_trace *trace, const struct ulp_tape_call *call,
                               struct ulp_error *error);
enum ulp_status ulp_trace_contract(struct ulp_trace *trace, const struct ulp_arithmetic *arithmetic,
                                   const struct ulp_contraction *problem, struct ulp_pool *pool,
                                   struct ulp_error *error);
/* *in (when it is named) as numbers, a copy that the trace owns: derivatives stop there. */
enum ulp_status ulp_trace_numbers(struct ulp_trace *trace, const struct ulp_tensor **in,
                                  struct ulp_error *error);
/* The same under other names, which compare as their numbers do. */
enum ulp_status ulp_trace_order(struct ulp_trace *trace, const struct ulp_tensor **in,
                                struct ulp_error *error);

/* Go back: begin (sloped: what a gate owes is its derivatives times cotangents, not its adjoint of
 * them; shared: more than one sweep goes back over what was recorded, which keeps these), seed
 * (cotangents[i] is of element i, those of elements without a name are left out), reverse; then
 * ulp_trace_cotangents gives those of a tensor's names, times a weight, or adds them to out[]. */
enum ulp_status ulp_trace_begin_reverse(struct ulp_trace *trace, bool sloped, bool shared,
                                        struct ulp_error *error);
/* cotangents NULL: each 1. */
void ulp_trace_seed(struct ulp_trace *trace, const struct ulp_tensor *named,
                    const double *cotangents);
enum ulp_status ulp_trace_reverse(struct ulp_trace *trace, struct ulp_error *error);
/* Each element of `output` follows at most the same element of the `count` named inputs (others of
 * them have no data), so that what a seed of ones gives an input are its derivatives. */
bool ulp_trace_is_elementwise(const struct ulp_trace *trace, const struct ulp_tensor *inputs,
                              size_t count, const struct ulp_tensor *output);
/* The derivatives of such an output by each input, times `weight`, added to sums[], which are
 * allocated where they are NULL, where one formula reads each input once; else found is false. What
 * no formula reads stays as it is. */
enum ulp_status ulp_trace_slopes(struct ulp_trace *trace, const struct ulp_tensor *inputs,
                                 size_t count, double weight, double **sums, bool *found,
                                 struct ulp_error *error);
/* Of what the trace was told to remember under a key (a node inside a body, each time it ran): the
 * first, and then those after it, in the order they were remembered. NULL: no more. */
struct ulp_trace_mark {
    size_t key;
    int position;
    struct ulp_tensor named;
    struct ulp_trace_mark *next;
};
enum ulp_status ulp_trace_remember(struct ulp_trace *trace, size_t key, int position,
                                   const struct ulp_tensor *named, struct ulp_error *error);
const struct ulp_trace_mark *ulp_trace_remembered(const struct ulp_trace *trace);

void ulp_trace_cotangents(const struct ulp_trace *trace, const struct ulp_tensor *named,
                          double weight, bool add, double *out);
