/* What an attribution keeps of one sample, between the run and the sweep back. */
#pragma once

#include <float.h>
#include <ulpscope/audit.h>

#include "analysis/tried/tried.h"
#include "analysis/audit/audit_shares.h"
#include "base/memory/alloc.h"
#include "run/program/program.h"

/* Bytes kept until the sweep. */
struct ulp_attributed_bytes {
    void *data;
    size_t bytes;
    bool mapped; /* they are in the attributor's file */
    bool shared; /* another's, who has them as long */
};

/* Values that events of one mark (ulp_event.settled) have in common, kept once. */
struct ulp_attributed_settled {
    struct ulp_attributed_settled *next;
    const void *mark;
    int position;
    struct ulp_attributed_bytes value, introduced; /* bytes 0: not yet */
};

/* What one output of a node introduced, the execution-th time it ran. */
struct ulp_introduced {
    struct ulp_introduced *next;
    size_t execution, count;
    int position;
    /* floats: `count` of P(p) - R(p), then (both) `count` of P(p) less R(p) as it would be stored;
     * beside an original, whose values r are, the first with R(r) - r, which is added as `count`
     * more */
    struct ulp_attributed_bytes kept;
    bool both;     /* else the second follow from the first and P, which is kept */
    bool single;   /* behind them `count` of P(r) - R(r) */
    float *beyond; /* they, while the sweep is at the step */
};

/* An output of a node whose error is to be taken apart by its causes. */
struct ulp_owed {
    struct ulp_owed *next;
    size_t execution, count, group;
    int position;
    /* What the outputs' error owes to each element. borrowed: the sweep owns the data, which is
     * valid only while the sweep is at this node. */
    struct ulp_attributed_bytes kept;
    bool borrowed, visited;
    double share, gain; /* of this output in this execution */
    double bound;       /* of how far each of the causes may be off */
    double causes[ULP_SHARE_CAUSES];
    /* while the node runs again: what the stage before gave, and how the stage differs from it; of
     * the first of its execution and position (`first`), which the others share */
    double *before, *change;
    struct ulp_owed *first; /* NULL: it is not looked at */
};

/* What margins of a node's decisions that come out otherwise in the lane are made of: the sum of
 * each error[slot][element] times its slope is the margin's error. */
struct ulp_moved {
    struct ulp_moved_term {
        int slot;
        size_t element;
        double slope, error; /* error: the margin's */
        bool first;          /* of the margin's terms */
    } * terms;
    size_t count, capacity;
    double logs;        /* the sum of the logarithms of the margins' errors */
    size_t turned, own; /* margins: by the errors of what it reads; by the node's own arithmetic */
};

/* One lane in the current sample. */
struct ulp_attributed {
    /* By slot of the main graph: the lane's value P; of integers that are no amounts, the
     * reference's value R. The data lies in kept[], and behind it P - R, as floats. */
    struct ulp_tensor *values;
    struct ulp_attributed_bytes *kept;
    const float **differences; /* by slot: P - R, while it is in memory */
    bool *as_held; /* by slot: values[] is P, bit for bit, unless the lane is `nonfinite` */
    struct ulp_introduced **introduced; /* by node */
    struct ulp_attributed_settled *settled;
    struct ulp_owed **owed; /* by node */
    bool owed_any;
    double **errors;  /* by slot: P - R of what is explained and of the model's inputs */
    double *norms;    /* by slot, of these: the norm of R */
    double **borders; /* by slot, of these: what handing it out of the graph rounds off a value
                       * that its kernel holds; NULL: nothing */
    bool *decided;    /* by node: an integer is not the reference's */
    struct ulp_moved *moved; /* by node of the main graph */
    size_t parted; /* the node from which on nothing is kept, as a shape is another; SIZE_MAX */
    size_t room;   /* bytes that a sweep of this lane may keep in memory */
    bool leaving;  /* what the sweep has passed is not read again */
    const char *reason;             /* why this sample has no shares */
    bool nonfinite;                 /* somewhere only one of P and R is finite */
    struct ulp_output_shares *sums; /* over samples, by group */
    struct ulp_verified *verified;
    size_t verified_count, verified_group;
};

/* One sweep of a lane, and what it gives by node; of the sample. */
struct ulp_course {
    struct ulp_attributor *attributor;
    struct ulp_attributed *lane;
    size_t group;
    /* from 1 on: not the error is explained, but what some of the outputs' elements with signs at
     * random owe; 0: no */
    size_t projection;
    bool any;     /* there is an error to explain */
    bool decides; /* what is explained is the decision of node `root`, not an error */
    size_t root;
    double scale, inputs;          /* the error, relative; what the model's inputs make of it */
    double whole;                  /* the error of a difference */
    size_t erring;                 /* targets that have an error */
    struct ulp_node_shares *nodes; /* condition: a sum of squares */
    bool *stopped, *passed;
};

/* What is explained: elements of values of the main graph. */
struct ulp_attributed_value {
    int slot;
    bool one; /* element `index` alone */
    size_t index;
    double sign;
};

/* Attributing the error of the outputs to the nodes: an observer beside the auditor's in the same
 * runs. output: "NAME" of a float value of the main graph, "NAME[i,j]" of one element, or
 * "NAME[a]-NAME[b]" of a difference (a margin between classes); NULL: every float output of the
 * graph, each divided by its own error. For each sample: ulp_attributor_sample with its inputs,
 * which must stay valid until the sweep; the run; ulp_attributor_sweep, which goes back through the
 * graph. At the end ulp_attributor_finish writes into the audit. Values are kept from the run to
 * the sweep, in FP32, within a third of the memory limit and half of what the run leaves of it
 * (1 GiB without a limit). Where they do not fit there are no shares, and ulp_attribution.reason
 * says so, unless ulp_attributor_spill has named a folder: the rest goes to a file without a name
 * there, with equal results. Free with ulp_attributor_free. */
struct ulp_attributor {
    const struct ulp_program *program;
    struct ulp_budget *budget;
    struct ulp_pool *pool;
    struct ulp_arena *memory; /* of what lives as long as this */
    char *output;             /* as it was asked for; NULL: all */
    struct ulp_attributed_value *targets;
    size_t target_count;
    bool difference; /* the targets are the terms of one number */
    bool each;       /* each target is a group, explained by itself; else all are one */
    bool every;      /* also the groups whose error is much smaller than the worst one's */
    bool *wanted;    /* by slot: its error is kept */
    bool *amounts;   /* by slot: integers that are amounts (run/pass/amounts.h), kept as floats */
    struct ulp_attributed *lanes;
    size_t lane_count;
    size_t kept_max, room; /* bytes in memory: at most, and what is left in this sample */
    const char *folder;    /* of the file; NULL: none is to be made */
    int file;              /* -1: none yet */
    uint64_t file_end;
    const struct ulp_tensor_set *inputs; /* of the sample */
    size_t verify_count;                 /* in the next sweep; 0: nothing is verified */
    bool causes;                         /* shares are taken apart */
    const struct ulp_tensor_set *beside; /* the truth of values, by name; NULL: the reference's */
    const double
        *weights; /* of the one target's elements; NULL: they are weighed by their errors */
    struct ulp_attributed_heads *heads; /* by node; NULL: shares are whole */
};

/* The heads of a node's first output, which take turns every `length` elements: what each makes of
 * the node's share, by lane. count 0: it has none. */
struct ulp_attributed_heads {
    size_t count, length;
    double *shares[2];
};

/* Outputs times nodes, beyond which all outputs are explained together: a share of each takes some
 * 400 bytes. */
#define ULP_SHARES_APART_MAX ((size_t)1 << 22)

/* Unless every output is asked for the worst ones are explained, and of these none whose relative
 * error is less than NEAR_WORST of the worst one's: each takes a sweep of its own, and a decoder's
 * caches are outputs, too. */
enum { ULP_EXPLAINED_MAX = 4 };

/* How many groups of targets there are. */
static inline size_t ulp_attribution_groups(const struct ulp_attributor *attributor)
{
    return attributor->each ? attributor->target_count : 1;
}

/* attributed_value.c: reads `output`. An index is checked when shapes are known. */
enum ulp_status ulp_attribution_targets(struct ulp_attributor *attributor, const char *output,
                                        struct ulp_error *error);
/* The name of the output that a group explains, or what was asked for; "" of a mean of several. */
const char *ulp_attribution_output(const struct ulp_attributor *attributor, size_t group);
/* collect.c: the model's inputs, then each node. */
enum ulp_status ulp_attribution_inputs(struct ulp_attributor *attributor,
                                       const struct ulp_tensor_set *inputs,
                                       struct ulp_error *error);
enum ulp_status ulp_attribution_collect(void *attributor, const struct ulp_event *event,
                                        struct ulp_error *error);
/* Where values[slot] and differences[slot] lie, after kept[slot] has gone. */
void ulp_attribution_show(const struct ulp_attributed *lane, int slot);
/* An error beyond FP32's largest number is kept as that. */
static inline float ulp_kept_error(double error)
{
    return (float)(error > FLT_MAX ? FLT_MAX : error < -FLT_MAX ? -FLT_MAX : error);
}

/* beyond.c. In what the lane holds the node's results. */
const struct ulp_arithmetic *ulp_attribution_holder(const struct ulp_attributor *attributor,
                                                    const struct ulp_attributed *lane, size_t node);
/* P(p) less R(p) as it would be stored, of P(p), in floats, and what the node introduces. */
enum ulp_status ulp_attribution_beyond(struct ulp_attributor *attributor,
                                       const struct ulp_attributed *lane, size_t node,
                                       const struct ulp_tensor *value, const float *introduced,
                                       float *out, struct ulp_error *error);
void ulp_attribution_drop(struct ulp_attributor *attributor, struct ulp_attributed *lane);

/* store.c. The limit of what is kept in memory. */
size_t ulp_attribution_limit(const struct ulp_program *program);
/* What shares of one sample will take, about: values that are kept until the sweep, and beside
 * these what the sweep needs. */
struct ulp_attribution_need {
    double kept, swept;
};
struct ulp_attribution_need ulp_attribution_need(const struct ulp_program *program);
/* A sweep of one course takes so many bytes for each element of its largest step (names, numbers,
 * what a gate reads, cotangents), and each more of some values' cotangents. */
#define ULP_COURSE_BYTES 32
#define ULP_SWEEP_BYTES (64 + ULP_COURSE_BYTES)
extern const char ulp_attribution_too_large[], ulp_attribution_no_memory[], /* reasons */
    ulp_attribution_parted[];
/* Values that are not finite may be absorbed, and then the sum is whole without them. */
#define ULP_ATTRIBUTION_WHOLE 0.02
/* Memory for what is to be kept. NULL with status OK: there is no room, and the lane has a reason.
 */
enum ulp_status ulp_attribution_room(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                     size_t count, size_t bytes, void *out,
                                     struct ulp_error *error);
/* kept->data is complete: it stays, which lessens *room, or goes to the file; where that fails the
 * lane has a reason. */
enum ulp_status ulp_attribution_settle(struct ulp_attributor *attributor,
                                       struct ulp_attributed *lane,
                                       struct ulp_attributed_bytes *kept, size_t bytes,
                                       size_t *room, struct ulp_error *error);
void ulp_attribution_forget(struct ulp_attributed_bytes *kept);

/* attribution.c: what the node introduced in that output, the execution-th time it ran; NULL:
 * nothing is kept. */
struct ulp_introduced *ulp_attribution_find(const struct ulp_attributed *lane, size_t node,
                                            size_t execution, int position);

/* attributed_alone.c. How many projections the lane gets; has it scales? The cotangents of one; and
 * what they say, from the courses behind the groups'. */
struct ulp_reverse;
size_t ulp_alone_count(const struct ulp_attributor *attributor, const struct ulp_attributed *lane);
bool ulp_alone_wanted(const struct ulp_attributor *attributor, const struct ulp_attributed *lane);
enum ulp_status ulp_alone_seed(const struct ulp_course *course, const struct ulp_reverse *sweep,
                               struct ulp_error *error);
void ulp_alone_add(const struct ulp_course *courses, size_t groups, size_t projections);

/* decide.c. While collecting: what has moved a node of the main graph to decide otherwise in lane l
 * of the program. */
enum ulp_status ulp_attribution_moved(struct ulp_attributor *attributor, size_t l,
                                      const struct ulp_event *event, struct ulp_error *error);
/* While going back: the step's remainder is of the node that decided, or missing; and what the node
 * decided is owed by what moved it. */
enum ulp_status ulp_attribution_decide(const struct ulp_reverse *sweep, const struct ulp_step *step,
                                       struct ulp_error *error);
/* Whether the value of the main graph has no error that can be compared, for it has another shape
 * or other integers than the reference's, and the node that decided so. */
bool ulp_attribution_follows(const struct ulp_attributor *attributor,
                             const struct ulp_attributed *lane, int slot, size_t *node);

/* causes.c. While going back: what is needed to take an output's error apart, where it matters. */
enum ulp_status ulp_causes_keep(const struct ulp_course *course, size_t node,
                                const struct ulp_introduced *introduced, const double *cotangents,
                                double share, double gain, struct ulp_error *error);
void ulp_causes_drop(struct ulp_attributed *lane, size_t node);
/* Is the node to be run again afterwards? */
bool ulp_causes_wait(const struct ulp_attributed *lane, size_t node);
/* Of a step that has been told what it is owed: its causes, where the lane keeps what they need. */
enum ulp_status ulp_causes_visit(void *course, const struct ulp_step *step,
                                 struct ulp_error *error);
/* Afterwards: causes[node] of each course of lane l, which add up to its share[node]. For nodes
 * that are left, the lane runs once more. */
enum ulp_status ulp_attribution_causes(struct ulp_attributor *attributor, size_t l,
                                       const struct ulp_course *courses, struct ulp_error *error);

/* verify.c: runs without the error of one node of lane l. shares: by node, predicted; weights: by
 * slot, of what is explained. */
enum ulp_status ulp_attribution_verify(struct ulp_attributor *attributor, size_t l,
                                       const struct ulp_node_shares *shares, double *const *weights,
                                       struct ulp_error *error);

/* bound.c. How far the errors of all nodes of lane l reach at one element of a value of the main
 * graph, by their derivatives: as independent errors (*random), and if all add up (*bound;
 * ulpscope/tolerance.h). The lane has no reason not to. */
enum ulp_status ulp_attribution_bound(struct ulp_attributor *attributor, size_t l, int slot,
                                      size_t element, double *random, double *bound,
                                      struct ulp_error *error);

enum ulp_status ulp_attributor_create(const struct ulp_program *program, const char *output,
                                      int thread_count, struct ulp_attributor **out,
                                      struct ulp_error *error);
void ulp_attributor_free(struct ulp_attributor *attributor);
/* Of the next sample: its run is given these values (ulp_run_options.given), which are the truth.
 * Shares are not taken apart then. */
void ulp_attributor_beside(struct ulp_attributor *attributor, const struct ulp_tensor_set *values);
struct ulp_observer ulp_attributor_observer(struct ulp_attributor *attributor);
enum ulp_status ulp_attributor_sample(struct ulp_attributor *attributor,
                                      const struct ulp_tensor_set *inputs, struct ulp_error *error);
/* Before the first sample. */
enum ulp_status ulp_attributor_spill(struct ulp_attributor *attributor, const char *folder,
                                     struct ulp_error *error);
/* Every sweep also takes the shares that matter apart by their causes (ulp_audit_node.causes), for
 * which each lane runs once more by itself, and explains of several outputs the worst, or (every)
 * each, in a sweep of its own (ulp_attribution.outputs). Without this call only the rounding of
 * results is apart from the rest, and shares of several outputs are the means of theirs. Before the
 * first sample. */
void ulp_attributor_causes(struct ulp_attributor *attributor, bool every);
/* The next sweep explains, in every lane, the sum of the output's errors times these weights, which
 * stay the caller's; shares are then parts of that sum, not of 1. Of an attributor of one output.
 */
void ulp_attributor_weigh(struct ulp_attributor *attributor, const double *weights);
/* The next sweep also tries, in each lane, the `count` nodes of the largest shares and as many
 * random ones, each in runs of its own (struct ulp_verified). */
void ulp_attributor_verify(struct ulp_attributor *attributor, size_t count);
enum ulp_status ulp_attributor_sweep(struct ulp_attributor *attributor, struct ulp_error *error);
enum ulp_status ulp_attributor_finish(struct ulp_attributor *attributor, struct ulp_audit *audit,
                                      struct ulp_error *error);
