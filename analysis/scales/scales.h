/* Formats with scales in the making (ulpscope/scales.h). */
#pragma once

#include <ulpscope/audit.h>
#include <ulpscope/scales.h>

#include "base/memory/alloc.h"
#include "kernels/operand/scaled.h"

/* Sums over the elements of one factor, which several products of a node may add to. */
struct ulp_scales_sums {
    double signal, error, clipping, exact; /* exact: error with scales that are not rounded */
    double product_signal, product_error;
};

/* A block of elements that share a scale, or a line of them. */
struct ulp_scales_block {
    double largest, smallest; /* magnitudes, 0: none above 0 */
};

/* scales_block.c: an element of the block, its error (what is read back less it), whether it has
 * become zero and whether it is clipped. False: what is read back is not finite, and not measured.
 */
bool ulp_scales_add(struct ulp_scales_block *block, double x, double error, bool zero, bool clipped,
                    struct ulp_scaled_tensor *out, struct ulp_scales_sums *sums);
/* The range inside out->blocks of them (ranges: room for as many). */
void ulp_scales_look(const struct ulp_scales_block *blocks, double *ranges,
                     struct ulp_scaled_tensor *out);

/* scales_factor.c: one factor of one product into *out and *sums. */
enum ulp_status ulp_scales_measure(const struct ulp_scaling *scaling,
                                   const struct ulp_contraction *problem, int side,
                                   struct ulp_budget *budget, struct ulp_scaled_tensor *out,
                                   struct ulp_scales_sums *sums, struct ulp_error *error);
/* scales_quantize.c: the tensor of a QuantizeLinear, its inputs (the zero point: NULL) and its
 * result. *known false: its scales lie as none of the operator's. */
struct ulp_node;
enum ulp_status ulp_scales_quantise(const struct ulp_node *node,
                                    const struct ulp_tensor *const inputs[3],
                                    const struct ulp_tensor *codes, struct ulp_budget *budget,
                                    struct ulp_scaled_tensor *out, struct ulp_scales_sums *sums,
                                    bool *known, struct ulp_error *error);
/* scales.c: tell `take` of each factor with scales that is no weight, and of results that are
 * stored (run/program/stored_values.h). value: whose scale it has, by name; NULL: its own. */
struct ulp_factor_taker {
    enum ulp_status (*take)(void *context, const char *node, const char *name, const char *value,
                            const struct ulp_scaling *scaling, const struct ulp_factor *factor,
                            struct ulp_error *error);
    /* of each weight of a node's own, where the factor is all of the input; NULL: not wanted */
    enum ulp_status (*weigh)(void *context, const char *node, const char *name,
                             const struct ulp_scaling *scaling,
                             const struct ulp_contraction *problem, int side,
                             struct ulp_error *error);
    void *context;
    const char *results; /* of these operators; "": of none */
};
enum ulp_status ulp_scales_tell(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                const struct ulp_scales_options *options,
                                const struct ulp_factor_taker *taker, struct ulp_error *error);
/* scales.c: out->tensors, into out->memory, of a lane with kept nodes and groups. */
struct ulp_scales_lane {
    struct ulp_keeps keeps;
    struct ulp_groups groups;
};
enum ulp_status ulp_scales_list(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                const struct ulp_scales_options *options,
                                const struct ulp_scales_lane *lane, struct ulp_scales *out,
                                struct ulp_error *error);
/* scales_choices.c: what the worst output has in each of the arithmetics, lanes of one run;
 * products of bodies, of which no static scales are, stay as they are stored where the first has
 * these. */
enum ulp_status ulp_scales_judge(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                 const struct ulp_scales_options *options,
                                 const struct ulp_arithmetic *arithmetics, size_t count,
                                 double *sqnr_db, struct ulp_error *error);
/* calibrate.c: the ranges of several calibrators, from one look at the samples; halves: behind them
 * those of every second sample from the first on, and of the others. apart: those whose
 * inputs are there round no weights; else every fourth rounds none.
 * results: of products of these operators have ranges, too, as they are stored; "": none. Lists,
 * stretched ranges and weights are of `memory`. */
extern const char *const ulp_calibrator_names[];
struct ulp_scales_rule {
    enum ulp_calibrator calibrator;
    double percentile; /* of that calibrator */
};
/* Does the sample judge weights that the others round? Too few: all of them, and none are rounded.
 */
static inline bool ulp_calibrate_judges(size_t sample, size_t count)
{
    return count < 4 || sample % 4 == 3;
}
struct ulp_stretched_list {
    size_t count;
    struct ulp_stretched {
        const char *node, *factor;
        const char *sample;  /* whose values they are alone; NULL: of several */
        float largest, rest; /* magnitudes: the largest, and of all but those far out */
        double part;         /* of the values are far out; NaN: not counted */
        size_t place;        /* in the order of the graph */
    } * items;               /* the furthest first, then by sample */
};
enum ulp_status ulp_scales_calibrate(const struct ulp_model *model,
                                     const struct ulp_samples *samples, bool apart,
                                     const struct ulp_calibration_options *options,
                                     const char *results, const struct ulp_scales_rule *rules,
                                     size_t count, bool halves, struct ulp_factor_ranges *lists,
                                     struct ulp_arena *memory, struct ulp_stretched_list *stretched,
                                     struct ulp_factor_ranges *weights, struct ulp_error *error);
/* scales_choices.c: out->choices and sqnr_db. */
enum ulp_status ulp_scales_choose(const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_scales_options *options, struct ulp_scales *out,
                                  struct ulp_error *error);
