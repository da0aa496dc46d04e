/* The state of a trace that encloses: numbers are intervals. */
#pragma once

#include "ops/trace/trace_enclose.h"
#include "ops/trace/gate.h"

struct ulp_enclosing {
    struct ulp_arithmetic lane; /* that is bounded */
    /* by number */
    struct ulp_intervals at;
    uint32_t *joint, *stamp; /* stamp: the last line or row in which a gate met it */
    struct ulp_affine *affine;
    size_t count, capacity;
    /* numbers of earlier nodes: memory that they have left still has their names */
    size_t base;
    uint32_t stamps;
    struct ulp_joint *joints;
    size_t joint_count, joint_capacity;
    struct ulp_hidden_bound *hidden;
    size_t hidden_count, hidden_capacity;
    bool unknown_integers;
    /* memory for what makes bounds narrower was refused: bounds never depend on memory, so the node
     * fails with that */
    enum ulp_status status;
    struct ulp_error failure;
    /* unknowns of affine forms: so many there are, so many there may be; terms of this node */
    uint32_t symbol_count, symbols_max;
    size_t term_count;
};

static inline double ulp_enclosing_name(const struct ulp_enclosing *e, size_t number)
{
    return ulp_name_of(e->base + number);
}
static inline size_t ulp_enclosing_number(const struct ulp_enclosing *e, double name)
{
    const size_t number = ulp_number_of(name);
    return number == ULP_NO_NUMBER || number < e->base || number - e->base >= e->count
               ? ULP_NO_NUMBER
               : number - e->base;
}

enum ulp_status ulp_enclosing_reserve(struct ulp_trace *trace, size_t count,
                                      struct ulp_error *error);
/* Memory of the node's, for what makes bounds narrower. False: the node fails (`status`). */
bool ulp_enclosing_take(struct ulp_trace *trace, size_t count, size_t bytes, void *out);
/* A new joint; ULP_NO_JOINT: out of memory, the node fails. */
uint32_t ulp_enclosing_add_joint(struct ulp_trace *trace, struct ulp_joint joint);
/* The number's form from now on; its terms are copied. */
void ulp_enclosing_set_affine(struct ulp_trace *trace, size_t number,
                              const struct ulp_affine *form);
void ulp_enclosing_hide(struct ulp_trace *trace, struct ulp_hidden_bound hidden);

/* The arithmetic in which the lane passes a gate that the names pass in `arithmetic`, and a format
 * of it. */
struct ulp_arithmetic ulp_enclosing_arithmetic(const struct ulp_enclosing *e,
                                               const struct ulp_arithmetic *arithmetic);
struct ulp_format ulp_enclosing_format(const struct ulp_enclosing *e,
                                       const struct ulp_format *format);

/* The norms of some elements, each a number of its own (a name) or a known one, without a factor's
 * padding (NULL: of none). */
struct ulp_norms {
    double l1, l2, most;
};
struct ulp_norms ulp_enclosing_norms(struct ulp_enclosing *e, const double *elements,
                                     const int64_t *places, size_t count,
                                     const struct ulp_factor *factor);

/* enclose_tape.c, enclose_contract.c */
enum ulp_status ulp_enclosing_tape(struct ulp_trace *trace, const struct ulp_tape_call *call,
                                   struct ulp_error *error);
enum ulp_status ulp_enclosing_contract(struct ulp_trace *trace,
                                       const struct ulp_arithmetic *arithmetic,
                                       const struct ulp_contraction *problem, struct ulp_pool *pool,
                                       struct ulp_error *error);
