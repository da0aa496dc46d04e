/* What an audit knows of each value in a lane beside its figures: whether it is not finite, comes
 * from an overflow, or has diverged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ulpscope/tensor.h>

/* What is known of a lane's value in the current sample, by the address of its name (names live
 * with the program). */
struct ulp_taint {
    const char *name;
    bool nonfinite; /* differs from the reference in being finite */
    bool beyond;    /* nonfinite, and the reference's largest lies beyond its storage */
    bool within;    /* nonfinite where the reference's lie within its storage */
    bool shows;     /* nonfinite, or the reference's largest lies beyond its storage */
    bool diverged;  /* comes from another shape, index or decision than the reference's */
    bool zero;      /* some element has become 0 */
    bool stepped;   /* holds amounts in steps of a scale, and some differ from the reference's */
    enum ulp_type type;
    size_t node;        /* that computes it */
    bool absorbed;      /* a term that the reference dropped is missing in it (lost.h) */
    double most, least; /* there: its magnitudes that are not 0 */
    uint64_t births;    /* of the reference, that it is not finite by (birth.h) */
    /* the lane's overflow that it bears; -1: none */
    ptrdiff_t overflow;
    double relative; /* entire.rms / ref_rms; 0: equal, or not defined */
};
struct ulp_taint_set {
    struct ulp_taint *slots;
    size_t capacity, count;
    struct ulp_budget *budget;
};

/* NULL: nothing is known of it. */
struct ulp_taint *ulp_taint_find(const struct ulp_taint_set *set, const char *name);
/* Adds or replaces; false: out of memory. */
bool ulp_taint_add(struct ulp_taint_set *set, struct ulp_taint taint);
void ulp_taint_clear(struct ulp_taint_set *set);
