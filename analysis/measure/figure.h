/* Access to the figures of struct ulp_metrics and to the four errors (views) of an output by
 * number, for code that treats all of them alike. */
#pragma once

#include <ulpscope/audit.h>

enum ulp_worst { ULP_WORST_LARGEST, ULP_WORST_FARTHEST, ULP_WORST_SMALLEST };

enum ulp_figure {
#define METRIC(name, worst) ULP_FIGURE_##name,
#include "analysis/measure/metric.def"
#undef METRIC
    ULP_FIGURE_COUNT
};

struct ulp_figure_row {
    const char *name;
    size_t offset; /* of a double in struct ulp_metrics */
    enum ulp_worst worst;
};
extern const struct ulp_figure_row ulp_figure_rows[ULP_FIGURE_COUNT];
double *ulp_figure(struct ulp_metrics *metrics, int figure);
double ulp_figure_get(const struct ulp_metrics *metrics, int figure);
/* Is a not as good as b? A figure that does not exist is worse than any. */
bool ulp_figure_worse(int figure, double a, double b);
/* No figure exists. */
struct ulp_metrics ulp_metrics_undefined(void);

enum ulp_view {
#define VIEW(NAME, name) ULP_VIEW_##NAME,
#include "analysis/measure/view.def"
#undef VIEW
    ULP_VIEW_COUNT
};
extern const char *const ulp_view_names[ULP_VIEW_COUNT];
/* Of the worst sample, and over all samples. */
struct ulp_metrics *ulp_view(struct ulp_audit_output *output, int view);
const struct ulp_metrics *ulp_view_get(const struct ulp_audit_output *output, int view);
struct ulp_metrics *ulp_view_mean(struct ulp_audit_samples *samples, int view);
struct ulp_metrics *ulp_view_limit(struct ulp_audit_samples *samples, int view);
/* The latter of an output, whether it ran in several samples or in one, which is all of these then.
 */
const struct ulp_metrics *ulp_view_limit_get(const struct ulp_audit_output *output, int view);
