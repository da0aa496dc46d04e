/* What a part of a pair's elements adds to its figures. Terms are scaled by the power of two of the
 * largest, so that squares neither overflow nor vanish. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/measure/metrics_strip.h"

struct ulp_partial {
    double max_abs, max_value, max_base, max_rel, max_ulp;
    struct ulp_metrics_sums sums; /* each magnitude is scaled by its maximum's scale */
    size_t nonfinite, first_nonfinite, worst, count;
    bool integer_differs;
};

/* How a pair is measured. */
struct ulp_partial_rule {
    const struct ulp_metrics_code *code;
    const struct ulp_format *format;
    bool integers;
    bool units; /* ulps of the format and their inverses are normal doubles, and wanted */
};

/* A partial while strips are added: sums scaled by the maxima so far, and, once elements have been
 * left out that are not finite, up to seven that wait until they are eight. */
struct ulp_partial_desk {
    struct ulp_metrics_running running;
    double value[8 + ULP_METRICS_STRIP], base[8 + ULP_METRICS_STRIP],
        difference[8 + ULP_METRICS_STRIP];
    size_t waiting;
};

/* One element of a pair as doubles, and its difference as one. Padded as sums want it. */
struct ulp_partial_strip {
    double *value, *base, *difference;
    double *ulps; /* found: |difference| in ulps; -1: left out */
    size_t first, count;
};

void ulp_partial_begin(struct ulp_partial *partial, struct ulp_partial_desk *desk, size_t first);
/* Strips in order; only the last may have a count that is no multiple of eight. */
void ulp_partial_add(struct ulp_partial *partial, struct ulp_partial_desk *desk,
                     const struct ulp_partial_rule *rule, const struct ulp_partial_strip *strip);
void ulp_partial_end(struct ulp_partial *partial, struct ulp_partial_desk *desk,
                     const struct ulp_partial_rule *rule);
/* The figures of `count` elements from all their partials, in order; all but the median. */
void ulp_partial_combine(const struct ulp_partial *partials, size_t partial_count, size_t count,
                         struct ulp_metrics *out);
