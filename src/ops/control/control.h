/* If, Loop and Scan as a sequence of iterations: which body runs next, on which inputs. The caller
 * (run/) runs the bodies, so that the lanes of an audit can go through an iteration side by side:
 *
 *     begin; while (control.body) { run the body on control.inputs into control.results; take; }
 *     end; free
 *
 * The call must not move meanwhile; everything else is in its scratch memory. */
#pragma once

#include "ops/call.h"

enum ulp_control_kind {
    ULP_CONTROL_IF,
    ULP_CONTROL_LOOP,
    ULP_CONTROL_SCAN,
    ULP_CONTROL_SCAN_BATCH
};

/* Parts of a scan output, one of each iteration. */
struct ulp_gathered {
    size_t count, room;
    struct ulp_tensor *parts; /* owned */
};

struct ulp_control {
    struct ulp_call *call;
    const struct ulp_block *body;     /* what runs next; NULL: nothing, go on with end */
    size_t input_count, result_count; /* of the body */
    const struct ulp_tensor **inputs;
    struct ulp_tensor *results; /* to be filled by the body; take makes them its own */

    enum ulp_control_kind kind;
    const struct ulp_block *branch; /* the body of all iterations */
    const struct ulp_graph *graph;
    int64_t iteration, iteration_count; /* within the item */
    size_t item, item_count;            /* Scan 8: of the batch; else one */
    size_t carried_count, scan_count, scan_input_count;
    /* the node's input that is the first carried value, or scan input without any */
    size_t first_input;
    size_t first_result;                /* the body's result that is the first carried value */
    struct ulp_tensor *carried;         /* owned once an iteration has made them */
    struct ulp_gathered *scans, *items; /* items: Scan 8's results of each item, by output */
    struct ulp_tensor *slices, *views;  /* scan inputs: the iteration's slice, the item's part */
    uint8_t go_on;                      /* Loop: the condition */
    struct ulp_tensor number, keep;     /* Loop: iteration and go_on as tensors */
};

enum ulp_status ulp_control_begin(struct ulp_control *out, struct ulp_call *call);
/* The body has run: its results become carried values and parts of outputs, and the next iteration
 * is prepared. */
enum ulp_status ulp_control_take(struct ulp_control *control);
/* The node's outputs, call->out. */
enum ulp_status ulp_control_end(struct ulp_control *control);
void ulp_control_free(struct ulp_control *control);

/* Where a value comes from: an input of the node, a result of the body's iteration before, or
 * (negative) neither. */
struct ulp_control_source {
    int input, result;
};
/* Of the body's input i in the iteration to come. */
struct ulp_control_source ulp_control_input_source(const struct ulp_control *control, size_t i);
/* Of the node's output i after the last iteration. */
struct ulp_control_source ulp_control_output_source(const struct ulp_control *control, size_t i);
