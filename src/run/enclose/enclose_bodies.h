/* Between enclose_body.c, iterations.c and enclose_bodies.c: an If, Loop or Scan that is being
 * followed. */
#pragma once

#include "ops/control/control.h"
#include "run/enclose/enclosed.h"

struct scan_output {
    struct ulp_slot_bounds *parts;
    size_t count;
};

struct bodies {
    struct ulp_enclosing_walk *outer, inner;
    const struct ulp_step *step;
    const struct ulp_block *body;
    struct ulp_arena *arena;
    enum ulp_control_kind kind;
    /* of the body: carried values, which begin at that input and result, then scan inputs */
    size_t carried_count, scan_input_count, scan_count, first_input, first_result;
    struct ulp_slot_bounds *carried;
    struct ulp_slot_bounds *scanned; /* by scan input: the whole value */
    int axes[ULP_ATTRIBUTES_MAX];
    struct ulp_slot_bounds *results; /* of the last iteration, by output of the body */
    struct scan_output *scans;
    bool assumed;
};

/* enclose_body.c. The body that is the step's attribute. */
const struct ulp_block *ulp_bodies_find(const struct ulp_step *step, const char *name);
/* What is known of the step's input i, a copy; without it zeros. */
enum ulp_status ulp_bodies_read(struct bodies *b, size_t i, struct ulp_slot_bounds *out);
/* The step's input i, one integer or truth value: is it known? Without it `otherwise`. */
bool ulp_bodies_know(const struct bodies *b, size_t i, int64_t otherwise, int64_t *out);
enum ulp_status ulp_bodies_open(struct bodies *b, const struct ulp_block *body);
/* The body on inputs, which become its own; b->results are then its results. */
enum ulp_status ulp_bodies_run(struct bodies *b, struct ulp_slot_bounds *inputs, size_t count);

void ulp_bodies_free_results(struct bodies *b);

/* iterations.c */
enum ulp_status ulp_bodies_loop(struct bodies *b, struct ulp_slot_bounds *outputs);
enum ulp_status ulp_bodies_scan(struct bodies *b, struct ulp_slot_bounds *outputs);
void ulp_bodies_free_parts(struct bodies *b);
