/* What the forecast's files share. */
#pragma once

#include <ulpscope/overflow.h>

#include <jansson.h>
#include <math.h>

#include "analysis/audit/birth.h"
#include "analysis/writing/columns.h"
#include "ops/probe.h"
#include "run/pass/forward.h"

/* One lane while samples are added. */
struct ulp_overflow_course {
    struct ulp_overflow_node **nodes; /* by number; NULL: not computed yet */
    size_t *hidden_capacity;          /* by number */
    /* what becomes of overflows, as an audit follows them (audit/audit_overflow.h) */
    struct ulp_audit_lane audit;
    /* by slot of the main graph, in the current sample: what the lane has where it comes from an
     * overflow and is not finite; type UNDEFINED: nothing of that kind */
    struct ulp_tensor *poisoned;
    ptrdiff_t *overflow; /* by slot: which one */
    bool saturates;      /* constants that are too large become finite, as a mask of -3.4e38 */
    /* by slot what the lane has, where that is no rounding of the reference's value: finite, where
     * that would be infinite; zero by a zero that it has read, where that would be none */
    struct ulp_tensor *held;
    size_t evaluated, computed; /* nodes, and those in the lane's own arithmetic */
};

struct ulp_overflow_meter {
    struct ulp_forward forward;
    struct ulp_overflow_forecast forecast;
    struct ulp_arena *memory; /* of what only collecting needs */
    struct ulp_overflow_course *lanes;
    size_t sample, sample_capacity;
    int thread_count;
    /* of the reference in the sample that runs: a result is not finite; are its digits lost? */
    bool nonfinite;
    struct ulp_lost lost;
    struct ulp_probe probe;
    /* of the node that runs now, in one lane */
    size_t lane;
    bool near_inside; /* a hidden value comes near the end of what it is computed in */
    struct inside_overflow {
        bool any, sum;
        char words[160];
    } inside; /* the first that is beyond it */
};

/* overflow.c. Zeroed; the program outlives it, or is followed by another of other shapes: of other
 * nodes ULP_ERROR_INPUT. Freed in either case. */
enum ulp_status ulp_overflow_meter_take(struct ulp_overflow_meter *meter,
                                        const struct ulp_program *program, int thread_count,
                                        struct ulp_error *error);
void ulp_overflow_meter_free(struct ulp_overflow_meter *meter);
enum ulp_status ulp_overflow_meter_sample(struct ulp_overflow_meter *meter, const char *name,
                                          const struct ulp_tensor_set *inputs,
                                          const struct ulp_observer *observer,
                                          struct ulp_error *error);
/* The forecast over all samples; the meter takes no more. */
enum ulp_status ulp_overflow_meter_finish(struct ulp_overflow_meter *meter,
                                          struct ulp_overflow_forecast *out,
                                          struct ulp_error *error);
/* remedy.c: try what may help lane `lane` (of the forecast) on one sample, which the program is
 * of. */
enum ulp_status ulp_overflow_remedies(struct ulp_overflow_forecast *forecast,
                                      const struct ulp_program *program, size_t lane,
                                      const struct ulp_tensor_set *inputs,
                                      const struct ulp_overflow_options *options,
                                      struct ulp_error *error);

/* One node in one lane and sample. */
struct ulp_overflow_view {
    const struct ulp_step *step;
    size_t lane;                             /* of the program */
    const struct ulp_tensor *const *rounded; /* its inputs: the reference's, as the lane has them */
    const struct ulp_tensor *exact;          /* results in FP64 on these */
    const struct ulp_tensor *stored;         /* by the lane: rounded, or computed by itself */
    struct ulp_arena *arena;
};

/* " -a fp16 --keep 'op:Softmax=bf16'", of the lane's name, which says what it keeps. */
void ulp_overflow_add_lane(struct ulp_text *out, const struct ulp_overflow_lane *lane);
/* "by weight cast w", "as its epsilon becomes 0"; culprit NULL: not said. */
void ulp_overflow_say_cause(struct ulp_text *out, enum ulp_overflow_cause cause,
                            const char *culprit);
/* overflow_text.c: what is concluded of a format. */
void ulp_overflow_headline(const struct ulp_overflow_forecast *forecast,
                           const struct ulp_overflow_lane *lane, struct ulp_headline *head);
/* Headroom as both show it: in tenths, and without a sign where that is nothing. */
static inline double ulp_overflow_bits(double bits)
{
    return fabs(bits) < 0.05 ? 0 : bits;
}
/* Do values inside operators have no more range than results? */
static inline bool ulp_overflow_computes_narrow(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->compute.max_finite <= arithmetic->storage.max_finite;
}

/* Does the value round to more than the largest number, were there an infinity? */
static inline bool ulp_overflow_is_beyond(const struct ulp_format *format, double value)
{
    struct ulp_format open = *format;
    open.overflow = ULP_OVERFLOW_INFINITY;
    return fabs(value) > format->max_finite &&
           isinf(ulp_format_round(&open, ULP_ROUND_NEAREST_EVEN, value, 0, 0));
}
static inline const struct ulp_tensor *ulp_overflow_truth(const struct ulp_overflow_meter *meter,
                                                          int slot)
{
    return &meter->forward.lanes[0].values[slot];
}
/* Elements of a float tensor that are infinite where the truth's are finite, or NaN where these are
 * numbers (also where a format has no infinity); *first: the first. */
size_t ulp_overflow_nonfinite(const struct ulp_tensor *value, const struct ulp_tensor *truth,
                              size_t *first);

/* overflow_words.c: what cannot be told is worse than what is safe, and no more. */
bool ulp_overflow_is_worse(enum ulp_overflow_verdict verdict, enum ulp_overflow_verdict than);
/* hidden.c: the node's entry, made when it is new; what is told of its inside; the verdicts. */
enum ulp_status ulp_overflow_node(struct ulp_overflow_meter *meter, size_t lane, size_t number,
                                  struct ulp_overflow_node **out, struct ulp_error *error);
enum ulp_status ulp_overflow_tell(void *meter, size_t node, const struct ulp_hidden *hidden,
                                  bool result, struct ulp_error *error);
void ulp_overflow_judge_hidden(struct ulp_overflow_node *node);

/* overflow_sample.c: a sample's beginning and end. */
enum ulp_status ulp_overflow_begin(struct ulp_overflow_meter *meter, const char *name,
                                   const struct ulp_tensor_set *inputs, struct ulp_error *error);
/* Is there anything to judge in the outputs of the reference, and in the inputs? */
enum ulp_status ulp_overflow_judge_outputs(struct ulp_overflow_meter *meter,
                                           const struct ulp_tensor_set *inputs,
                                           struct ulp_error *error);
/* Does the reference itself overflow here, or a sum drop a term? Its infinity may be exact (1 / 0);
 * which of the two, a reference of more range says. */
enum ulp_status ulp_overflow_look_at_reference(struct ulp_overflow_meter *meter,
                                               const struct ulp_step *step, struct ulp_arena *arena,
                                               struct ulp_error *error);

/* look.c: does some value come so near the format's largest that rounding inside the node could
 * decide? */
bool ulp_overflow_is_near(const struct ulp_tensor *exact, const struct ulp_format *format);
/* The node's figures with this sample's; *born: it overflows by itself. */
enum ulp_status ulp_overflow_look(struct ulp_overflow_meter *meter, struct ulp_overflow_node *node,
                                  const struct ulp_overflow_view *view, bool *born,
                                  struct ulp_error *error);

/* look.c: the slot of an input of which some element has become zero; -1: there is none. */
int ulp_overflow_find_zero(const struct ulp_overflow_meter *meter,
                           const struct ulp_overflow_view *view);

/* look.c: the results of a node in a body, as a probe gives them. */
enum ulp_status ulp_overflow_give(void *meter, size_t node, const struct ulp_tensor *const *inputs,
                                  size_t input_count, const struct ulp_tensor *outputs,
                                  struct ulp_error *error);

/* fate.c: what the node does with what its inputs bear, and with what is born in it. */
enum ulp_status ulp_overflow_follow(struct ulp_overflow_meter *meter,
                                    const struct ulp_overflow_view *view, bool born,
                                    struct ulp_error *error);
/* A sample is over: which overflows its outputs bear. */
void ulp_overflow_reach(struct ulp_overflow_meter *meter, size_t lane);
/* What comes of constants that the lane has made finite stays the lane's own. */
enum ulp_status ulp_overflow_hold(struct ulp_overflow_meter *meter,
                                  const struct ulp_overflow_view *view, struct ulp_error *error);
void ulp_overflow_drop(struct ulp_overflow_course *lane, const struct ulp_step *step);
/* After all samples. */
void ulp_overflow_judge(const struct ulp_program *program, const struct ulp_overflow_course *from,
                        struct ulp_overflow_lane *to);

/* overflow_text.c */
extern const struct ulp_said ulp_overflow_said;
