/* What the files of the quick reference share. */
#pragma once

#include <ulpscope/audit.h>

#include "run/lane.h"

/* A quick reference: FP64, whose error is looked at while it runs. Of each node of the main graph
 * some elements (256 of a formula, 4 rows of a product or normalisation, a line of a convolution;
 * of other operators all) are recomputed at 128 bits from the FP64 values it read. The same
 * elements in every run. The plan's lane 0 must be fp64. The plan must outlive it; for one thread.
 */
struct ulp_quick {
    const struct ulp_program *program;
    struct ulp_pool *pool;
    struct ulp_arithmetic exact; /* mpfr:128 */
    struct ulp_mix mix;
    struct ulp_lane lane; /* of the main graph, without values */
    bool open;
    struct ulp_quick_node {
        enum { ULP_QUICK_UNSEEN, ULP_QUICK_EXACT, ULP_QUICK_SAMPLED, ULP_QUICK_WHOLE } seen;
        double rms;    /* of its own error, over what was recomputed of it; infinite: not finite */
        double error;  /* what is estimated of its value; infinite: nothing is known */
        bool doubtful; /* FP64 is not known to be enough */
    } * nodes;
    size_t elements; /* recomputed */
};

enum ulp_status ulp_quick_create(const struct ulp_program *program, int thread_count,
                                 struct ulp_quick **out, struct ulp_error *error);
void ulp_quick_free(struct ulp_quick *quick);
/* For the run that the auditor observes, of one sample. */
struct ulp_observer ulp_quick_observer(struct ulp_quick *quick);
/* Fill audit->quick of the finished audit of that sample. What is measured: each node's own error,
 * on the elements recomputed. What is estimated: its growth on the way, eight times what the
 * arithmetics' errors did; decisions (indices, comparisons) are not judged. */
enum ulp_status ulp_quick_judge(struct ulp_quick *quick, struct ulp_audit *audit,
                                struct ulp_error *error);
