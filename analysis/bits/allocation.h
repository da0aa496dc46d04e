/* The inside of the search for the fewest bits (ulpscope/bits.h). */
#ifndef ULP_ANALYSIS_BITS_ALLOCATION_H
#define ULP_ANALYSIS_BITS_ALLOCATION_H

#include <ulpscope/bits.h>

#include "analysis/emulation/emulation.h"
#include "base/memory/alloc.h"

/* A format that layers may get. */
struct ulp_bits_choice {
    struct ulp_arithmetic arithmetic;
    char name[24];
    int exponent, mantissa;
};

/* A layer. By choice c: */
struct ulp_bits_room {
    size_t first; /* its first node */
    size_t node_count;
    bool product;
    double weight;
    double largest, smallest;
    /* bits of a value; 0: the layer's values do not fit its range */
    int *bits;
    /* The error's power if this layer alone had choice c is power * relative[c]. relative: 4^-m,
     * and what underflow adds. power: in units of the error allowed, squared. */
    double power, *relative;
    double prior;   /* power, before single layers were emulated with fewer bits */
    int16_t *lower; /* ulp_bits_lower's */
};

/* An allocation: the choice of each layer. */
typedef uint16_t ulp_bits_of;

struct ulp_bits_search {
    struct ulp_emulation emulation;
    const struct ulp_bits_options *options;
    double deadline; /* by ulp_seconds_now; INFINITY: none */
    bool over;       /* it has passed */
    bool grid;       /* the choices are all of eXmY; else a list */
    size_t choice_count;
    struct ulp_bits_choice *choices; /* the widest first, which is that of nodes without a layer */
    size_t layer_count;
    struct ulp_bits_room *layers;
    ptrdiff_t *layer_of; /* by node; -1: none */
    double total_weight;
    bool measured;  /* the powers: the model's error can be limited */
    double full;    /* the ratio with the widest choice in every layer */
    double allowed; /* the ratio that is being searched for: 1, for the frontier others */
    uint16_t *kept; /* by node: of what is run */
    /* The fewest bits that met the tolerance, and of the same search: `without` by layer, which was
     * tried with choice `fewer`. */
    ulp_bits_of *best;
    double best_cost, best_ratio;
    bool given, minimal;
    double *without;
    ptrdiff_t *fewer;
    /* what was emulated in all samples */
    struct ulp_bits_seen {
        double cost, mantissa, ratio;
    } * seen;
    size_t seen_count, seen_room;
};

/* choices.c. The formats; memory: of the result. */
enum ulp_status ulp_bits_choose(struct ulp_bits_search *search, struct ulp_arena *memory,
                                struct ulp_error *error);
/* In order of execution; their ranges and powers by an audit in which every node was kept in
 * `probe`. */
enum ulp_status ulp_bits_layers(struct ulp_bits_search *search, const struct ulp_audit *audit,
                                const struct ulp_arithmetic *probe, struct ulp_error *error);
/* range.c: bits and relative of the layer, whose nodes are known. */
enum ulp_status ulp_bits_range(struct ulp_bits_search *search, const struct ulp_audit *audit,
                               size_t layer, struct ulp_error *error);

/* model.c: what the layers' powers say. */
double ulp_bits_cost(const struct ulp_bits_search *search, const ulp_bits_of *of);
double ulp_bits_mean_mantissa(const struct ulp_bits_search *search, const ulp_bits_of *of);
/* The ratio that is expected by powers as ulp_bits_measure left them. */
double ulp_bits_expect(const struct ulp_bits_search *search, const ulp_bits_of *of);
/* The ratio that is expected, and the power of one layer's error. */
double ulp_bits_predict(const struct ulp_bits_search *search, const ulp_bits_of *of);
double ulp_bits_power(const struct ulp_bits_search *search, size_t layer, ulp_bits_of choice);
/* The fewest bits for a ratio, by the model; false: none. */
bool ulp_bits_solve(const struct ulp_bits_search *search, double ratio, ulp_bits_of *out);
/* The mean bits for ratio 1 if they could be fractions: a bound of what the model has. */
double ulp_bits_relaxed(const struct ulp_bits_search *search);
/* The layer's choices of fewer bits, from its bits. */
enum ulp_status ulp_bits_order(struct ulp_bits_search *search, struct ulp_bits_room *room,
                               struct ulp_error *error);
/* The n-th choice of the next lower number of bits for the layer, n = 0, 1, ... until -1. */
ptrdiff_t ulp_bits_lower(const struct ulp_bits_search *search, size_t layer, ulp_bits_of from,
                         size_t n);
/* The best choice of the next higher number of bits; -1: there is none. */
ptrdiff_t ulp_bits_higher(const struct ulp_bits_search *search, size_t layer, ulp_bits_of from);

/* emulate.c. Every sample, and what meets the tolerance with fewer bits becomes the best. When the
 * time is over nothing runs, and the ratio is infinite. */
enum ulp_status ulp_bits_emulate(struct ulp_bits_search *search, const ulp_bits_of *of,
                                 double *ratio, struct ulp_error *error);
/* The same, left at the first sample that fails. */
enum ulp_status ulp_bits_try(struct ulp_bits_search *search, const ulp_bits_of *of, double *ratio,
                             struct ulp_error *error);
/* One of these two: where samples are left out when one fails, they fail by the tolerance, not by
 * search->allowed. */
enum ulp_status ulp_bits_attempt(struct ulp_bits_search *search, const ulp_bits_of *of,
                                 double *ratio, struct ulp_error *error);
/* One choice for all; false: some layer cannot have it. */
bool ulp_bits_same(const struct ulp_bits_search *search, ulp_bits_of choice, ulp_bits_of *out);

/* uniform.c. One format for every layer: the smallest that meets the tolerance, into out->uniforms,
 * and the layers' powers in the scale that these runs show. */
enum ulp_status ulp_bits_uniforms(struct ulp_bits_search *search, struct ulp_bits *out,
                                  struct ulp_error *error);
/* Where the model's error is limited, too, once it is known: the same again. */
enum ulp_status ulp_bits_uniforms_again(struct ulp_bits_search *search, struct ulp_bits *out,
                                        struct ulp_error *error);
/* For the frontier: more of them, down to an error `least` times what is allowed. */
enum ulp_status ulp_bits_more_uniforms(struct ulp_bits_search *search, double least,
                                       struct ulp_bits *out, struct ulp_error *error);
/* learn.c. Each layer's power from an emulation in which it alone is narrow. work: room for an
 * allocation. */
enum ulp_status ulp_bits_measure(struct ulp_bits_search *search, ulp_bits_of *work,
                                 struct ulp_error *error);
/* And from what layers with fewer bits did to the best allocation. */
void ulp_bits_learn(struct ulp_bits_search *search);
/* search.c. All of it, after the layers are known. */
enum ulp_status ulp_bits_run(struct ulp_bits_search *search, struct ulp_bits *out,
                             struct ulp_error *error);
/* frontier.c. Emulate allocations for other tolerances; and of all that were emulated, the best for
 * each. */
enum ulp_status ulp_bits_frontier(struct ulp_bits_search *search, struct ulp_bits *out,
                                  struct ulp_error *error);
enum ulp_status ulp_bits_points(struct ulp_bits_search *search, struct ulp_bits *out,
                                struct ulp_error *error);
/* approach.c: allocations by the model for search->allowed, corrected by what they measure,
 * `rounds` of them; the one of fewest bits that keeps to it. */
struct ulp_bits_found {
    ulp_bits_of *of; /* room for one */
    bool given;
    double cost, ratio;
};
void ulp_bits_offer(const struct ulp_bits_search *search, struct ulp_bits_found *found,
                    const ulp_bits_of *of, double ratio);
/* What the model says of the best, over what it measures. */
double ulp_bits_factor(const struct ulp_bits_search *search);
/* What has been computed, in whole runs of all samples. */
double ulp_bits_work(const struct ulp_bits_search *search);
enum ulp_status ulp_bits_approach(struct ulp_bits_search *search, int rounds, ulp_bits_of *work,
                                  struct ulp_bits_found *found, struct ulp_error *error);
/* descend.c: from an allocation that keeps to search->allowed, with its ratio, to one that no
 * single layer can leave; `likely`: only by steps that the model expects to do. */
enum ulp_status ulp_bits_descend(struct ulp_bits_search *search, ulp_bits_of *of, double *ratio,
                                 bool likely, struct ulp_error *error);
/* merge.c: from an allocation that keeps to search->allowed, with its ratio, towards another: each
 * layer that can have the other's choice gets it. */
enum ulp_status ulp_bits_merge(struct ulp_bits_search *search, const ulp_bits_of *target,
                               ulp_bits_of *of, double *ratio, struct ulp_error *error);
/* bits_report.c */
enum ulp_status ulp_bits_sample_set(struct ulp_bits_sample *out, const char *name,
                                    const struct ulp_judgement *judgement, struct ulp_arena *memory,
                                    struct ulp_error *error);
enum ulp_status ulp_bits_report(struct ulp_bits_search *search, struct ulp_bits *out,
                                struct ulp_error *error);

#endif
