/* Has the reference lost its own digits? A sum may drop a term beyond its precision (x^4 + 1e-45 in
 * pairs), which is nothing until a difference cancels what was kept. Where both happen, one
 * behind the other, the run is looked at again at more bits (certify.h). */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/audit/taint.h"
#include "run/program/program.h"

struct ulp_lost {
    const struct ulp_program *program;
    int bits; /* of the reference; 0: it has no more than others, nothing is said */
    int left; /* a difference is lost that has fewer bits left; 0: than FP64, which every other
               * arithmetic is within */
    struct ulp_taint_set values; /* magnitudes in the reference (most, least), and `absorbed` */
    size_t node;                 /* the first that drops a term */
    bool dropped, suspected;     /* suspected: a difference cancels behind it */
};
void ulp_lost_start(struct ulp_lost *lost);
/* The bits of a reference that can be looked at again: MPFR's. */
int ulp_lost_bits(const struct ulp_arithmetic *reference);
/* A node's results, in the reference or in FP64, whose magnitudes are the same; ranges: by output,
 * NULL: they are not known. Elements are looked at only in sums
 * whose magnitudes allow it. */
enum ulp_status ulp_lost_look(struct ulp_lost *lost, const struct ulp_event *event,
                              const struct ulp_range *ranges, struct ulp_error *error);
