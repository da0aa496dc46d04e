/* Samples at other sizes of a model's free dimensions, and what a model that is written of another
 * changes, there and at the samples' own sizes. */
#pragma once

#include <ulpscope/run.h>

#include "base/machine/thread.h"
#include "base/text/text.h"

struct ulp_resizing {
    const struct ulp_model *model;
    const struct ulp_arithmetic *lane; /* the reference, of the samples */
    const struct ulp_sample *samples;  /* the first one's elements are taken */
    size_t sample_count;               /* 0: that one is refused */
    /* of the samples, in which other sizes are run, too: such as leave other nodes to compute are
     * not taken. NULL: they are, and run in FP64, which costs a small part of a reference */
    struct ulp_programs *programs;
    int thread_count;
    const struct ulp_observer *progress; /* may be NULL */
};
/* Two at sizes that the model takes, of a few times the first sample's cost at most; fewer were
 * found: none. */
enum { ULP_RESIZED = 2 };
struct ulp_resized {
    bool is_free; /* a dimension is */
    size_t count;
    struct ulp_sample samples[ULP_RESIZED];                          /* called "N=5, T=3" */
    struct ulp_tensor_set inputs[ULP_RESIZED], outputs[ULP_RESIZED]; /* as they were run */
    struct ulp_arithmetic fp64;
    struct ulp_text names[ULP_RESIZED];
};
/* Free *out with ulp_resized_free, also after a failure. */
enum ulp_status ulp_resized_find(const struct ulp_resizing *given, struct ulp_resized *out,
                                 struct ulp_error *error);
void ulp_resized_free(struct ulp_resized *resized);
/* "at the samples' sizes and at N=5, T=3 and N=2, T=7", "at the samples' sizes only". */
void ulp_resized_say(struct ulp_text *out, const struct ulp_resized *resized, size_t sample_count);

/* What is left of an output's rms by roundings alone. */
#define ULP_ALTERED_LEAST 1e-6
/* What another model's outputs are off by: of the worst output, the rms over the original's;
 * infinity where one of both is not finite. At other sizes by FP64, and by the reference where FP64
 * says that it is more than ULP_ALTERED_LEAST. */
struct ulp_altered {
    double most;
    bool refused;         /* it is not computed where the original is, or has other shapes */
    struct ulp_text text; /* where most is, or why it is refused: "at N=5, T=3 output y" */
};
void ulp_altered_free(struct ulp_altered *change);
/* outputs: of the samples, in the reference. *change begins as zeros, or with that of others. */
enum ulp_status ulp_altered_measure(const struct ulp_resizing *given,
                                    const struct ulp_tensor_set *outputs,
                                    const struct ulp_resized *resized,
                                    const struct ulp_model *model, struct ulp_pool *pool,
                                    struct ulp_altered *change, struct ulp_error *error);
