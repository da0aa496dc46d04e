/* What an operator holds inside. While a call with a probe runs in FP64, the gates through which
 * all arithmetic goes report it: of a formula the values of each instruction, of its row sums and
 * of contractions the partial sums. An operator needs nothing for it. */
#pragma once

#include "formula/tape.h"
#include "kernels/contract.h"

struct ulp_call;

/* One value inside, over all its elements. */
struct ulp_hidden {
    const struct ulp_call *call; /* that holds it */
    const char *words; /* of the formula; of a contraction "sum over k". Valid during the call */
    bool sum;          /* of partial sums in increasing k */
    /* magnitudes of finite ones: the largest, and the smallest that is not zero; 0: all are zero */
    double largest, smallest;
    /* no partial sum is larger, in any order; equal to largest where no partial sums were formed */
    double bound;
    size_t count, subnormal, zero; /* elements; of the probe's format: as in ulpscope/overflow.h */
    size_t index;                  /* of the element with the largest; of a row: the row's */
    ptrdiff_t k;     /* of a sum: its term with which it is largest; -1: not known, or no sum */
    ptrdiff_t first; /* of a sum: the first term (of any element) with which one leaves the probe's
                        format; -1: none does */
    /* additions that the format would round to their larger term, of all of terms not zero */
    size_t additions, absorbed;
};

struct ulp_probe {
    /* called for each value inside a node that is not the node's own result (`result`: it is, and
     * only its additions are of interest) */
    enum ulp_status (*tell)(void *context, size_t node, const struct ulp_hidden *hidden,
                            bool result, struct ulp_error *error);
    /* called for the results of each node in a body of an If, Loop or Scan, and what it read; NULL:
     * not wanted */
    enum ulp_status (*give)(void *context, size_t node, const struct ulp_tensor *const *inputs,
                            size_t input_count, const struct ulp_tensor *outputs,
                            struct ulp_error *error);
    /* called for each product of floats before it is computed, and alone where `tell` is NULL;
     * NULL: not wanted */
    enum ulp_status (*factors)(void *context, size_t node, const struct ulp_contraction *problem,
                               struct ulp_error *error);
    void *context;
    struct ulp_format format;
    size_t node; /* that runs, set by run/block.c */
};

/* The gates, for ops/call/formula.c, before they compute. */
enum ulp_status ulp_probe_tape(const struct ulp_call *call, const struct ulp_tape_call *run,
                               struct ulp_error *error);
enum ulp_status ulp_probe_contract(const struct ulp_call *call,
                                   const struct ulp_contraction *problem, struct ulp_error *error);

/* Does `format` round big + small to the larger of the two? */
bool ulp_hidden_is_absorbed(const struct ulp_format *format, double a, double b);
