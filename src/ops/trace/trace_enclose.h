/* Bounds of an operator from its own definition. A trace (ops/trace/trace.h) can enclose instead of
 * record: every number that a name stands for is then an interval (formula/enclose/interval.h), and
 * the gates compute with intervals. Whatever moves names moves bounds, so operators need nothing of
 * their own.
 *
 * Beside intervals, *joints* are known: sets of elements of a tensor with a bound of their l1 and
 * l2 norms, such as the rows of a normalised tensor (l2) or of a Softmax (l1). In a contraction,
 * |sum a b| <= min(sum |a||b|, l2(a) l2(b), l1(a) max|b|, max|a| l1(b)).
 *
 * All bounds hold for the values of a lane in `arithmetic`, every rounding included; doc/prove.md
 * has the theorem. */
#pragma once

#include "formula/enclose/interval.h"
#include "ops/trace/trace.h"

#define ULP_NO_JOINT UINT32_MAX

struct ulp_joint {
    double l1, l2; /* INFINITY: not known */
};

/* centre + sum of terms[s - first] e_s + r with |e_s| <= 1, the same e_s wherever they occur, and
 * |r| <= rest (ops/trace/affine.h). */
struct ulp_affine {
    double centre, rest; /* rest INFINITY: there is no such form */
    double spread;       /* sum of |terms|, or a little more */
    uint32_t first, count;
    const double *terms;
};

/* What is known of a tensor: owned memory. */
struct ulp_enclosure {
    size_t count;
    struct ulp_intervals at;
    struct ulp_affine *affine; /* of each element; NULL: none */
    void *affine_memory;
    uint32_t *joint; /* of each element, or ULP_NO_JOINT */
    struct ulp_joint *joints;
    size_t joint_count;
    void *memory;
};
/* Room for count elements and joints, without joints. */
enum ulp_status ulp_enclosure_create(struct ulp_enclosure *out, size_t count, size_t joint_count,
                                     struct ulp_budget *budget, struct ulp_error *error);
enum ulp_status ulp_enclosure_copy(struct ulp_enclosure *out, const struct ulp_enclosure *from,
                                   struct ulp_budget *budget, struct ulp_error *error);
void ulp_enclosure_free(struct ulp_enclosure *enclosure);

/* The largest magnitude that something inside a node can have: an instruction of a formula, by its
 * column, or (tape NULL) the partial sums of a contraction. */
struct ulp_hidden_bound {
    const struct ulp_tape *tape;
    int instruction;
    double largest, limit;
};

struct ulp_enclosing;
/* The arithmetic in which names run through operators in place of a lane's: what operators decide
 * by is the lane's, its formats are FP64, called by their part in the lane, so that a gate knows in
 * which of them the lane passes it. */
struct ulp_arithmetic ulp_enclosing_names(const struct ulp_arithmetic *lane);
/* The formats that a row of steps (ops/steps.h) has put in place of the lane's hold names, too:
 * FP64 under their own name. Nothing happens where the trace does not enclose. */
void ulp_enclosing_carry(const struct ulp_trace *trace, struct ulp_arithmetic *arithmetic);
/* Make the trace enclose, in that arithmetic from now on. symbols: unknowns that affine forms may
 * have altogether, 0: there are none. */
enum ulp_status ulp_trace_enclose(struct ulp_trace *trace, const struct ulp_arithmetic *arithmetic,
                                  uint32_t symbols, struct ulp_error *error);
/* Elements without an affine form get one, with an unknown of their own each, and those whose form
 * has much rest give that to an unknown; unless there are too many. */
enum ulp_status ulp_trace_give_symbols(struct ulp_trace *trace, struct ulp_enclosure *enclosure,
                                       struct ulp_error *error);
/* Forget all names and what the last node hides. */
void ulp_trace_enclose_clear(struct ulp_trace *trace);
/* As ulp_trace_name, of a tensor of that type and shape. */
enum ulp_status ulp_trace_name_enclosure(struct ulp_trace *trace, struct ulp_tensor *out,
                                         const struct ulp_tensor *shape,
                                         const struct ulp_enclosure *enclosure,
                                         struct ulp_error *error);
/* What the elements of a tensor of a float element are known to be; those without a name are
 * numbers. */
enum ulp_status ulp_trace_take_enclosure(struct ulp_trace *trace, const struct ulp_tensor *named,
                                         struct ulp_enclosure *out, struct ulp_error *error);
/* Is the element no name? */
bool ulp_trace_is_number(double element);
/* Was there memory for all that the node's bounds need? */
enum ulp_status ulp_trace_enclosed(const struct ulp_trace *trace, struct ulp_error *error);
/* Did the node take integers or truth values from numbers that are not known? */
bool ulp_trace_has_unknown_integers(const struct ulp_trace *trace);
const struct ulp_hidden_bound *ulp_trace_hidden(const struct ulp_trace *trace, size_t *count);

/* A stored value of [lo, hi] at place i: rounded to the format, or not; beyond the largest finite
 * value: anything. */
void ulp_interval_store(const struct ulp_arithmetic *arithmetic, const struct ulp_format *format,
                        const struct ulp_intervals *x, size_t i);
