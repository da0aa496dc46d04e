/* Shape rules that many rows share. Each describes outputs from inputs; see ulp_infer_fn. */
#pragma once

#include "formula/layout.h"
#include "ops/call.h"

ulp_infer_fn ulp_infer_first;      /* output 0 is as input 0; further outputs too */
ulp_infer_fn ulp_infer_first_bool; /* the shape of input 0, BOOL */
/* all inputs broadcast; the type of the first input without a kind letter */
ulp_infer_fn ulp_infer_broadcast;
ulp_infer_fn ulp_infer_broadcast_bool; /* all inputs broadcast, BOOL */
/* as input 0, with 1 in the place of every axis from the third on */
ulp_infer_fn ulp_infer_global;
/* normalisations along the axes from `axis` on: outputs 0 and 3 (a sum) are as input 0, the others
 * have one element for each row */
ulp_infer_fn ulp_infer_norm;

/* Elements before, at and after `axis` of a tensor: it is outer x size x inner. */
struct ulp_split {
    size_t outer, size, inner;
};
struct ulp_split ulp_split_at(const struct ulp_tensor *tensor, int axis);

/* Row-major strides, in elements. */
void ulp_strides(const struct ulp_tensor *tensor, int64_t *strides);

enum ulp_status ulp_check_rank(size_t rank, struct ulp_error *error);

/* The layout request of a formula row's call. */
struct ulp_layout ulp_call_layout(const struct ulp_call *call, struct ulp_rows *rows,
                                  struct ulp_operand *operands, struct ulp_operand *outputs);
/* Replace an operand's tensor by a view with its elements along `axis` of `rank` dimensions (a
 * channel's scale). */
enum ulp_status ulp_call_along(const struct ulp_call *call, struct ulp_operand *operand, int rank,
                               int axis);
/* Set the derived operands low and high, if the row has them, to the ends of an integer type, to
 * -inf and inf for floats, and `integer` to 1 or 0. operands start with input 0. */
enum ulp_status ulp_call_set_range(const struct ulp_call *call, struct ulp_operand *operands,
                                   enum ulp_type type);
/* Operands broadcast to output 0, the inputs after the first along axis 1: channels' parameters. */
ulp_rows_fn ulp_rows_channels;
/* Rows of ulp_infer_norm. */
ulp_rows_fn ulp_rows_norm;
