/* An audit of one arithmetic beside the reference together with its shares, over samples. Of
 * several shapes each sample is audited by itself, and these audits are added up (ulpscope/part.h).
 */
#ifndef ULP_ANALYSIS_ATTRIBUTION_AUDITED_H
#define ULP_ANALYSIS_ATTRIBUTION_AUDITED_H

#include <ulpscope/analysis.h>
#include <ulpscope/mixed.h>

struct ulp_audited {
    const struct ulp_plan *plan; /* lanes: the reference, the arithmetic */
    struct ulp_plans *plans;     /* whose first it is; NULL: all samples have its shapes */
    const struct ulp_find_sample *samples;
    size_t sample_count;
    const char *output, *folder; /* as in struct ulp_attribution_options, like verify */
    size_t verify;
    bool causes; /* as ulp_attributor_causes */
    int thread_count;
    const struct ulp_observer *observers; /* of every run besides: 6 at most */
    size_t observer_count;
    /* Each may be NULL. Before a sample's run, with its plan; and after it, with the outputs of
     * both lanes, which become the callee's. */
    void *context;
    void (*begins)(void *context, size_t sample, const struct ulp_plan *plan);
    void (*ends)(void *context, size_t sample, struct ulp_tensor_set *outputs);
};
/* Free *out with ulp_audit_free. */
enum ulp_status ulp_audited_run(const struct ulp_audited *given, struct ulp_audit *out,
                                struct ulp_error *error);

#endif
