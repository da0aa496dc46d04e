/* What an attribution keeps of one sample, between the run and the sweep back. */
#ifndef ULP_ANALYSIS_ATTRIBUTION_H
#define ULP_ANALYSIS_ATTRIBUTION_H

#include <ulpscope/analysis.h>

#include "run/plan/plan.h"

/* What one output of a node introduced, the execution-th time it ran. */
struct ulp_introduced {
    struct ulp_introduced *next;
    size_t execution, count;
    int position;
    float *error; /* P(p) - R(p) */
    float *gain;  /* P(p) less R(p) as it would be stored */
};

extern const char ulp_attribution_nonfinite[];

/* One lane in the current sample. */
struct ulp_attributed {
    struct ulp_tensor *values;          /* by slot of the main graph: (P + R) / 2, integers R's */
    struct ulp_introduced **introduced; /* by node */
    double **errors;    /* by slot: P - R of what is explained and of the model's inputs */
    double *norms;      /* by slot, of these: the norm of R */
    bool *decided;      /* by node: an integer is not the reference's */
    const char *reason; /* why this sample has no shares */
    bool nonfinite;     /* somewhere only one of P and R is finite */
    /* sums over samples, by node */
    double *share, *gain, *condition, *worst;
    bool *stops;
    double sum, inputs, residual_worst;
    size_t sample_count;
    struct ulp_verified *verified;
    size_t verified_count;
};

/* What is explained: elements of values of the main graph. */
struct ulp_target {
    int slot;
    bool one; /* element `index` alone */
    size_t index;
    double sign;
};

struct ulp_attributor {
    const struct ulp_plan *plan;
    struct ulp_budget *budget;
    struct ulp_pool *pool;
    struct ulp_arena *memory; /* of what lives as long as this */
    char *output;             /* as it was asked for; NULL: all */
    struct ulp_target *targets;
    size_t target_count;
    bool difference; /* the targets are the terms of one number */
    bool *wanted;    /* by slot: its error is kept */
    struct ulp_attributed *lanes;
    size_t lane_count, kept_bytes;
    const struct ulp_tensor_set *inputs; /* of the sample */
    size_t verify_count;                 /* in the next sweep; 0: nothing is verified */
};

/* attribution_target.c: reads `output`. An index is checked when shapes are known. */
enum ulp_status ulp_attribution_targets(struct ulp_attributor *attributor, const char *output,
                                        struct ulp_error *error);
/* attribution_collect.c: the model's inputs, then each node. */
enum ulp_status ulp_attribution_inputs(struct ulp_attributor *attributor,
                                       const struct ulp_tensor_set *inputs,
                                       struct ulp_error *error);
enum ulp_status ulp_attribution_collect(void *attributor, const struct ulp_event *event,
                                        struct ulp_error *error);
void ulp_attribution_drop(struct ulp_attributor *attributor, struct ulp_attributed *lane);

/* attribution_verify.c: runs without the error of one node of lane l. share, gain: by node,
 * predicted; weights: by slot, of what is explained. */
enum ulp_status ulp_attribution_verify(struct ulp_attributor *attributor, size_t l,
                                       const double *share, const double *gain,
                                       double *const *weights, struct ulp_error *error);

#endif
