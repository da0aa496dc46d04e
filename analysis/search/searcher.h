/* The inside of the search for the cheapest allocation (ulpscope/search.h). */
#pragma once

#include <ulpscope/search.h>

#include "analysis/emulation/emulation.h"
#include "base/memory/alloc.h"

/* A format that layers may get. */
struct ulp_search_choice {
    struct ulp_arithmetic arithmetic;
    char name[sizeof((struct ulp_arithmetic *)0)->name];
    int mantissa; /* bits, without the hidden one */
    double bits;  /* of a value */
};

/* A layer is a node that gets a choice. The arrays are indexed by choice. */
struct ulp_searched_layer {
    size_t first;  /* the number of its first node */
    double weight; /* what a bit of its values costs */
    double *bits;  /* of a value */
    double *cost;  /* of the layer in the format */
    /* If this layer alone had choice c, the error's power would be power * relative[c], in units of
     * the squared error allowed. relative is 4^-m of m mantissa bits until single
     * layers have run (ulp_search_measure). */
    double power, *relative;
    double prior;   /* power as the runs of single layers left it; starts change power itself */
    int16_t *lower; /* the choices that ulp_search_lower gives, choice by choice */
};

/* The power of what does no harm. */
#define ULP_SEARCH_NO_POWER 1e-12

/* What the least error for a budget is measured by, where no tolerance is given. */
#define ULP_SEARCH_ANY_ERROR "sqnr_db=0"

/* An allocation: the choice of each layer. */
typedef uint16_t ulp_pick;

/* What an audit says of each node. */
struct ulp_search_nodes {
    bool *free;     /* may be kept and released */
    bool *required; /* for its range */
    bool *passes;   /* adds no error: it moves elements, say */
    /* what it adds to the error of the outputs by computing, and by storing its result: what it
     * introduces, as its condition amplifies it */
    double *own, *stored;
};

#define ULP_SEARCH_DRAWS 50 /* that decide */
#define ULP_SEARCH_TARGETS_MAX (ULP_BESIDE_MAX / 2)

/* An allocation in one of the arithmetics that it is for. */
struct ulp_search_verified {
    double *ratios;      /* of each draw */
    size_t count, held;  /* draws, and those within the tolerance */
    double own, freedom; /* the worst of the samples themselves; see struct ulp_search_target */
    struct ulp_judgement worst;
};

struct ulp_searcher {
    struct ulp_emulation emulation;
    const struct ulp_search_options *options;
    /* What a plan is for, as asked and node by node */
    const char *target_names[ULP_SEARCH_TARGETS_MAX]; /* of arithmetics as they were named */
    struct ulp_arithmetic targets[ULP_SEARCH_TARGETS_MAX], lowered[ULP_SEARCH_TARGETS_MAX];
    /* In which kept nodes are computed there, FLOAT in the graph; must TF32 be forbidden for it? */
    struct ulp_arithmetic floats[ULP_SEARCH_TARGETS_MAX];
    bool forbids[ULP_SEARCH_TARGETS_MAX];
    enum ulp_tf32 tf32; /* the setting of targets of which none was asked for */
    size_t target_count;
    /* In what it is judged: each target as it fuses, and node by node, as where tensors are marked
     * as outputs or a compiler breaks a graph */
    struct ulp_search_judged_in {
        const struct ulp_arithmetic *arithmetic;
        size_t target;
    } judged_in[ULP_BESIDE_MAX];
    size_t judged_in_count;
    struct ulp_search_verified *verified; /* by target; NULL: not asked for */
    bool holds;                           /* in as many draws as are to, in each target */
    struct ulp_search_nearly {
        size_t kept, held, drawn; /* nodes; draws, in the target where fewest held */
    } nearly; /* the smallest set that met the tolerance in the samples, not in all draws; or 0 */
    double deadline; /* by ulp_seconds_now; INFINITY: none */
    bool over;       /* it has passed */
    double limit;    /* what may be paid; INFINITY: as much as it takes */
    double most;     /* with a limit: the emulated ratio of one format everywhere within it */
    size_t choice_count;
    struct ulp_search_choice *choices; /* the widest first */
    size_t narrow;                     /* the narrowest of a list */
    size_t base; /* the choice of what has no layer, and of the emulation's second lane */
    size_t layer_count;
    struct ulp_searched_layer *layers;
    ptrdiff_t *layer_of; /* by node; -1: none */
    ptrdiff_t *fixed;    /* by node: the choice that was asked for; -1: none */
    double total_weight;
    struct ulp_search_nodes nodes;
    double audit_seconds;
    double emulated;     /* the ratio of the last run alone */
    bool measured;       /* the powers: the model's error can be limited */
    double before, full; /* the ratios with the narrowest and widest choice in every layer */
    uint16_t *kept;      /* by node: of what is run */
    struct ulp_judgement *judged;     /* by sample: with the narrowest choice everywhere */
    struct ulp_judgement *judgements; /* by sample: room for another choice */
    /* The cheapest allocation so far that met the tolerance, with its cost and its ratio */
    ulp_pick *best;
    double best_cost, best_ratio;
    bool given;   /* there is one */
    bool minimal; /* every single layer of it was tried with a cheaper choice, in vain */
    /* By layer: the ratio of `best` when that layer alone has choice `fewer` instead; NaN and -1
     * where that was not tried */
    double *without;
    ptrdiff_t *fewer;
    size_t seen_count; /* allocations that were emulated in all samples */
};

/* Names, arithmetics and words of a result. */
enum ulp_status ulp_search_copy(struct ulp_arena *memory, const char *text, char **out,
                                struct ulp_error *error);

/* choices.c. The formats; memory: of the result. */
enum ulp_status ulp_search_choose(struct ulp_searcher *search, struct ulp_arena *memory,
                                  struct ulp_error *error);
/* The narrower format of a plan is that of the target, node by node. */
void ulp_search_set_narrow(struct ulp_searcher *search, size_t target);
/* Nodes whose choice is asked for, and those that are free. */
enum ulp_status ulp_search_fix(struct ulp_searcher *search, struct ulp_error *error);
/* search_tf32.c: what TF32 is to the plan; without one as if it kept products. */
enum ulp_status ulp_search_report_tf32(const struct ulp_searcher *search, struct ulp_search *out,
                                       struct ulp_error *error);
/* search_audit.c. Of a plan one audit of all samples, else their truths; and the layers. */
enum ulp_status ulp_search_audit(struct ulp_searcher *search, struct ulp_error *error);
/* layers.c. In order of execution; their powers by an audit's lane in the narrowest choice; NULL:
 * one for all. */
enum ulp_status ulp_search_layers(struct ulp_searcher *search, const struct ulp_audit_lane *lane,
                                  struct ulp_error *error);
/* What the node adds to its results, relative to them, and what rounding does, as powers. */
double ulp_search_introduced(const struct ulp_audit_node *node);
double ulp_search_rounding(const struct ulp_arithmetic *arithmetic);
/* What is to be least: as asked for, or by default. */
const char *ulp_search_cost_used(const struct ulp_searcher *search);
/* A node's multiply-adds and element operations; its bytes in the widest format. */
void ulp_search_price(const struct ulp_searcher *search, const struct ulp_program_node *node,
                      double *macs, double *bytes);
/* products.c: is it a product whose factors a graph can quantise? *k, *run: the places that are
 * summed, and after how many of them blocks begin anew. */
bool ulp_search_is_product(const struct ulp_searcher *search, const struct ulp_program_node *node,
                           size_t *k, size_t *run);
/* Those of the main graph that the allocation leaves as they are. */
enum ulp_status ulp_search_report_left(const struct ulp_searcher *search, struct ulp_search *out,
                                       struct ulp_error *error);
/* Of such a product's factors, its inputs 0 and 1: the axis that is summed. */
int ulp_search_factor_axis(const struct ulp_program_node *node, size_t input);
/* Of a factor that is a constant, whose axis that is: the axis of output channels. */
int ulp_search_channel_axis(const struct ulp_program_node *node, size_t input, int axis);
/* Bits of a factor's value, with its part of the scale of its block: of both factors the mean. */
double ulp_search_factor_bits(const struct ulp_scaling scaling[2], size_t run);
/* model.c: what the layers' powers say. */
double ulp_search_cost(const struct ulp_searcher *search, const ulp_pick *of);
/* The mean over layers, weighted. */
double ulp_search_mean_bits(const struct ulp_searcher *search, const ulp_pick *of);
/* The ratio that is expected by powers as ulp_search_measure left them. */
double ulp_search_expect(const struct ulp_searcher *search, const ulp_pick *of);
/* The ratio that is expected, and the power of one layer's error. */
double ulp_search_predict(const struct ulp_searcher *search, const ulp_pick *of);
double ulp_search_power(const struct ulp_searcher *search, size_t layer, ulp_pick choice);
/* The cheapest for a ratio, by the model; false: none. */
bool ulp_search_solve(const struct ulp_searcher *search, double ratio, ulp_pick *out);
/* That of the least error for search->limit, by the model; false: there is none. */
bool ulp_search_solve_limit(const struct ulp_searcher *search, ulp_pick *out);
/* Layers but `fixed` (layer_count: all) get cheaper choices until the limit is kept, those first
 * that add least error for what they save, then dearer ones, as long as it is. False: in vain. */
bool ulp_search_fit_limit(const struct ulp_searcher *search, size_t fixed, ulp_pick *of);
/* The layer's cheaper choices, from its costs. */
enum ulp_status ulp_search_rank(struct ulp_searcher *search, struct ulp_searched_layer *layer,
                                struct ulp_error *error);
/* The n-th choice of the next lower cost for the layer, n = 0, 1, ... until -1. */
ptrdiff_t ulp_search_lower(const struct ulp_searcher *search, size_t layer, ulp_pick from,
                           size_t n);
/* The best choice of the next higher cost; -1: there is none. */
ptrdiff_t ulp_search_higher(const struct ulp_searcher *search, size_t layer, ulp_pick from);

/* emulate.c. The choice of a node, and of every node as runs take it, valid until the next call. */
size_t ulp_search_choice_of(const struct ulp_searcher *search, const ulp_pick *of, size_t node);
const uint16_t *ulp_search_as_run(const struct ulp_searcher *search, const ulp_pick *of);
/* The allocation as nodes kept over the choice of what has no layer. */
enum ulp_status ulp_search_keeps(const struct ulp_searcher *search, const ulp_pick *of,
                                 struct ulp_keeps *out, struct ulp_error *error);
/* The second lane of audits and held-out samples has the allocation. */
enum ulp_status ulp_search_keep(struct ulp_searcher *search, const ulp_pick *of,
                                struct ulp_error *error);
/* It becomes the best. */
void ulp_search_make_best(struct ulp_searcher *search, const ulp_pick *of, double ratio);
/* What was run before, its ratio without what the model expects, as if it were run now. */
double ulp_search_judge_again(struct ulp_searcher *search, const ulp_pick *of, double emulated);
/* Every sample, and what meets the tolerance at less cost becomes the best. When the time is over
 * nothing runs, and the ratio is infinite. judgements: of each sample; may be NULL. */
enum ulp_status ulp_search_judge(struct ulp_searcher *search, const ulp_pick *of,
                                 struct ulp_judgement *judgements, double *ratio,
                                 struct ulp_error *error);
enum ulp_status ulp_search_emulate(struct ulp_searcher *search, const ulp_pick *of, double *ratio,
                                   struct ulp_error *error);
/* The same, left at the first sample that fails. */
enum ulp_status ulp_search_try(struct ulp_searcher *search, const ulp_pick *of, double *ratio,
                               struct ulp_error *error);
/* With the widest choice everywhere. Where even so something is decided otherwise, figures are
 * those with the reference's decisions, as everywhere. */
enum ulp_status ulp_search_run_widest(struct ulp_searcher *search, ulp_pick *work, bool *follows,
                                      struct ulp_error *error);
/* What has been computed, in whole runs of all samples. */
double ulp_search_work(const struct ulp_searcher *search);
/* One choice for all; false: some layer cannot have it. */
bool ulp_search_same(const struct ulp_searcher *search, ulp_pick choice, ulp_pick *out);

/* confidence.c. The target in which a search is hardest; a problem drawn anew; a plan that holds in
 * draws, or the least error for a budget. */
enum ulp_status ulp_search_pick_target(struct ulp_searcher *search, size_t *out,
                                       struct ulp_error *error);
enum ulp_status ulp_search_prepare_draws(struct ulp_searcher *search, struct ulp_error *error);
enum ulp_status ulp_search_surely(struct ulp_searcher *search, struct ulp_search *out,
                                  struct ulp_error *error);
/* course.c. All of it, after the layers are known: by the model, any choices. */
enum ulp_status ulp_search_by_model(struct ulp_searcher *search, struct ulp_search *out,
                                    struct ulp_error *error);
/* within.c. All of it, after the layers are known: the least error for search->limit. */
enum ulp_status ulp_search_within(struct ulp_searcher *search, struct ulp_search *out,
                                  struct ulp_error *error);
/* descend.c: from an allocation that meets the tolerance, with its ratio, to one that no
 * single layer can leave; `likely`: only by steps that the model expects to do. */
enum ulp_status ulp_search_descend(struct ulp_searcher *search, ulp_pick *of, double *ratio,
                                   bool likely, struct ulp_error *error);
/* From the best on until no single layer of it can be cheaper. */
enum ulp_status ulp_search_finish(struct ulp_searcher *search, ulp_pick *work,
                                  struct ulp_error *error);

/* towards.c: from an allocation that meets the tolerance, with its ratio, towards another: each
 * layer that can have the other's choice gets it. */
enum ulp_status ulp_search_merge(struct ulp_searcher *search, const ulp_pick *target, ulp_pick *of,
                                 double *ratio, struct ulp_error *error);

/* search_casts.c: what the best converts. place: of each choice among out->formats. */
enum ulp_status ulp_search_report_casts(struct ulp_searcher *search, const size_t *place,
                                        struct ulp_search *out, struct ulp_error *error);
/* search_beside.c. Reports the outputs of which nothing is asked. */
enum ulp_status ulp_search_report_decided(struct ulp_searcher *search, struct ulp_search *out,
                                          struct ulp_error *error);
/* search_result.c */
enum ulp_status ulp_search_sample_set(struct ulp_search_sample *out, const char *name,
                                      const struct ulp_judgement *judgement,
                                      struct ulp_arena *memory, struct ulp_error *error);
enum ulp_status ulp_search_report_options(const struct ulp_searcher *search, struct ulp_search *out,
                                          struct ulp_error *error);
enum ulp_status ulp_search_report(struct ulp_searcher *search, struct ulp_search *out,
                                  struct ulp_error *error);
/* Runs the allocation with the factors' scales in the units that take them, for out->unit_ratio. */
enum ulp_status ulp_search_judge_unit(struct ulp_searcher *search, struct ulp_search *out,
                                      struct ulp_error *error);
/* search_quantised.c: the allocation as quantised.onnx. */
#define ULP_SEARCH_QUANTISED "quantised.onnx"
enum ulp_status ulp_search_write_quantised(struct ulp_searcher *search, struct ulp_search *out,
                                           struct ulp_error *error);
/* search_beside.c. Writes what was found as mixed.onnx, and judges it where that keeps more. */
enum ulp_status ulp_search_write_mixed(struct ulp_searcher *search, struct ulp_search *out,
                                       struct ulp_error *error);
