/* A calibration in the making: what is seen of factors, and the ranges that follow. */
#pragma once

#include "analysis/scales/scales.h"

/* Magnitudes are counted in bins of equal upper bits as FP32, which hold each value of FP16 and
 * BF16 apart; where elements have a zero point those of negative values stand behind the others.
 * Bins of an octave are there from its first value on. */
enum {
    ULP_BIN_SHIFT = 13,
    ULP_BINS = 1 << (31 - ULP_BIN_SHIFT),
    ULP_OCTAVE = 1 << (23 - ULP_BIN_SHIFT)
};
/* Samples are counted in two halves: ranges of one are judged by the other. */
enum { ULP_HALVES = 2 };
struct ulp_ends {
    float least, largest;
};
static inline struct ulp_ends ulp_ends_join(struct ulp_ends a, struct ulp_ends b)
{
    return (struct ulp_ends){a.least < b.least ? a.least : b.least,
                             a.largest > b.largest ? a.largest : b.largest};
}
/* What samples had of a value, or of a factor that shares its scale with no other. */
struct ulp_seen {
    const char *node, *factor; /* the first that read it */
    const char *value;         /* of integers: whose scale it has; NULL: its own */
    struct ulp_scaling scaling;
    struct ulp_seen_half {
        struct ulp_ends ends; /* magnitudes; with zero points the ends */
        uint64_t *octaves[2 * ULP_BINS / ULP_OCTAVE];
    } halves[ULP_HALVES];
    /* largest magnitudes: of the current sample, of the one that has the largest, of all others */
    float current, most, others;
    const char *most_sample;
};

struct ulp_calibrating {
    const struct ulp_model *model;
    const struct ulp_calibration_options *options;
    struct ulp_arena *memory;
    struct ulp_seen **items;
    size_t count, capacity;
    struct ulp_seen_factor {
        const char *node, *factor;
        struct ulp_seen *of;
    } * factors;
    size_t factor_count, factor_capacity;
    const struct ulp_samples *samples;
    bool apart;           /* those in memory round no weights */
    bool counts;          /* the ends of values are not enough */
    const char *results;  /* operators whose results have ranges, too; NULL: none */
    struct ulp_fit *fits; /* calibrate_fit.c: weights */
    size_t fit_count, fit_capacity;
    bool fits_now; /* the sample's rows count */
    size_t half;   /* the sample's */
};

/* How many values of the half, or of both (ULP_HALVES), are in the bin. */
static inline uint64_t ulp_bin_count(const struct ulp_seen *seen, size_t half, size_t bin)
{
    uint64_t count = 0;
    for (size_t h = 0; h < ULP_HALVES; h++)
        if ((half == ULP_HALVES || half == h) && seen->halves[h].octaves[bin / ULP_OCTAVE])
            count += seen->halves[h].octaves[bin / ULP_OCTAVE][bin % ULP_OCTAVE];
    return count;
}

/* calibrate_range.c: the bins that count, by their values, of one half or of both. */
struct ulp_filled_bins {
    float *values, *room; /* room: as many floats */
    double *counts;
    size_t count;
    struct ulp_ends ends; /* of all values */
};
enum ulp_status ulp_calibrate_fill(const struct ulp_calibrating *c, const struct ulp_seen *seen,
                                   size_t half, struct ulp_arena *memory,
                                   struct ulp_filled_bins *out, struct ulp_error *error);
/* What a static scale is of. */
enum ulp_status ulp_calibrate_range(const struct ulp_seen *seen, const struct ulp_filled_bins *bins,
                                    const struct ulp_scales_rule *rule, struct ulp_arena *memory,
                                    struct ulp_ends *out, struct ulp_error *error);
/* calibrate_fit.c: one product's rows (struct ulp_factor_taker); then the weights, as ranges of
 * their own, into memory. */
enum ulp_status ulp_calibrate_weight(void *calibrating, const char *node, const char *name,
                                     const struct ulp_scaling *scaling,
                                     const struct ulp_contraction *problem, int side,
                                     struct ulp_error *error);
enum ulp_status ulp_calibrate_fit(const struct ulp_calibrating *c, struct ulp_arena *memory,
                                  struct ulp_factor_ranges *out, struct ulp_error *error);
/* calibrate_stretched.c: ranges that few values, or one sample, stretch; into memory. */
enum ulp_status ulp_calibrate_stretched(const struct ulp_calibrating *c, struct ulp_arena *memory,
                                        struct ulp_stretched_list *out, struct ulp_error *error);
/* The value that stands for a bin: its only one in FP16 and BF16, else its middle. */
float ulp_bin_value(const struct ulp_calibrating *c, size_t bin);
/* calibrate_write.c: the file. */
enum ulp_status ulp_calibrate_write(const struct ulp_calibration_options *options,
                                    size_t sample_count, const struct ulp_factor_ranges *ranges,
                                    const char *path, struct ulp_error *error);
