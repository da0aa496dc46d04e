/* The inside of the search for a precision plan (ulpscope/plan.h). */
#ifndef ULP_ANALYSIS_PLAN_SEARCH_H
#define ULP_ANALYSIS_PLAN_SEARCH_H

#include <ulpscope/plan.h>

#include "analysis/emulation/emulation.h"
#include "base/memory/alloc.h"

/* Estimates of how much a node matters, as relative powers. */
enum ulp_estimate {
    ULP_ESTIMATE_CONDITION,   /* what it introduces, as its condition amplifies it */
    ULP_ESTIMATE_SHARE,       /* its share and gain */
    ULP_ESTIMATE_SHARE_ALONE, /* its share, as its own */
    ULP_ESTIMATE_INTRODUCED,  /* what it introduces, as its own */
    ULP_ESTIMATE_COUNT
};

struct ulp_search {
    struct ulp_emulation emulation;
    const struct ulp_find_options *options;
    /* by node */
    bool *always, *free; /* free: may be kept and released */
    bool *required;      /* what overflows, with what reads it */
    bool *kept;          /* the set found so far */
    double *without;     /* the ratio when this one alone is released from `kept` */
    bool *passes;        /* adds no error: it moves elements, say */
    /* What it adds to the error of the outputs by computing, and by storing its result: one
     * estimate of several (enum ulp_estimate) for each */
    double *own[ULP_ESTIMATE_COUNT], *stored[ULP_ESTIMATE_COUNT];
    uint16_t *runs_with; /* of a set that is being run: struct ulp_trial's form of it */
    double audit_seconds;
    double *seen;                         /* by count of kept nodes: the least ratio; NaN: none */
    struct ulp_judgement *before, *after; /* by sample */
};

/* powers.c: the plan's lane keeps the nodes. */
enum ulp_status ulp_search_keep(struct ulp_search *search, const bool *kept,
                                struct ulp_error *error);
/* Audit every sample; truths, required, own and stored. */
enum ulp_status ulp_search_audit(struct ulp_search *search, struct ulp_error *error);

/* links.c: the order in which nodes are to be released, those first whose release is expected to
 * cost least. start: which estimate; beyond the last the first one, each node's changed by a random
 * factor. out: room for all nodes; *count of them are in it. */
enum ulp_status ulp_search_order(const struct ulp_search *search, const bool *kept, size_t start,
                                 size_t *out, size_t *count, struct ulp_error *error);

/* held_out.c: a judgement as reports have it. */
enum ulp_status ulp_found_figure_set(struct ulp_found_figure *out,
                                     const struct ulp_judgement *judgement,
                                     struct ulp_arena *memory, struct ulp_error *error);
/* Samples that the plan was not searched by. The plan's lane keeps what was found. */
enum ulp_status ulp_search_validate(struct ulp_search *search, const struct ulp_sample *held_out,
                                    size_t count, struct ulp_found *found, struct ulp_error *error);

/* plan_onnx.c: what was found as mixed.onnx, and its error where that keeps more than the plan. */
enum ulp_status ulp_search_mixed(struct ulp_search *search, struct ulp_found *found,
                                 struct ulp_error *error);

/* plan_try.c. All samples with a set of nodes, each judgement (may be NULL) and the worst ratio. */
enum ulp_status ulp_search_judge_all(struct ulp_search *search, const bool *kept,
                                     struct ulp_judgement *judgements, double *ratio,
                                     struct ulp_error *error);
enum ulp_status ulp_search_try(struct ulp_search *search, const bool *kept, double *ratio,
                               struct ulp_error *error);
/* The set in the form in which it is run; valid until the next call. */
const uint16_t *ulp_search_as_run(const struct ulp_search *search, const bool *kept);
size_t ulp_search_count(const struct ulp_search *search, const bool *kept);

/* release.c: nodes leave search->kept, which meets the tolerance, until no single one can; `work`
 * has room for a set. */
enum ulp_status ulp_search_release(struct ulp_search *search, size_t start, bool *work,
                                   struct ulp_error *error);
/* Nodes leave until `budget` are left, the one that is missed least first. */
enum ulp_status ulp_search_release_to(struct ulp_search *search, size_t budget, bool *work,
                                      struct ulp_error *error);
/* From a few nodes on, those that help most are added while the set stays smaller than `than`.
 * *found: it meets the tolerance. */
enum ulp_status ulp_search_add(struct ulp_search *search, size_t than, bool *work, bool *found,
                               struct ulp_error *error);
/* `from` without the order's nodes from first to last. False: they had left before. */
bool ulp_search_leave(const struct ulp_search *search, const bool *from, const size_t *order,
                      size_t first, size_t last, bool *out);

/* From all free nodes to a set that meets the tolerance and that no single node can leave. */
enum ulp_status ulp_search_run(struct ulp_search *search, struct ulp_found *found,
                               struct ulp_error *error);

#endif
