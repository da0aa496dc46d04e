/* What the files of the quick reference share. */
#ifndef ULP_ANALYSIS_QUICK_H
#define ULP_ANALYSIS_QUICK_H

#include <ulpscope/analysis.h>

#include "run/lane.h"

struct ulp_quick {
    const struct ulp_plan *plan;
    struct ulp_pool *pool;
    struct ulp_arithmetic exact; /* mpfr:128 */
    struct ulp_mix mix;
    struct ulp_lane lane; /* of the main graph, without values */
    bool open;
    struct ulp_quick_node {
        enum { ULP_QUICK_UNSEEN, ULP_QUICK_EXACT, ULP_QUICK_SAMPLED, ULP_QUICK_WHOLE } seen;
        double rms;     /* of its own error, over what was recomputed of it; infinite: not finite */
        double error;   /* what is estimated of its value; infinite: nothing is known */
        bool doubtful;  /* FP64 is not known to be enough */
        bool explained; /* by nodes before it that are widened */
        bool widened;   /* ... and to be computed at 128 bits: for its own error, or others' */
    } * nodes;
    size_t elements; /* recomputed */
};

#endif
