/* The names of figures and views, from metric.def and view.def. */
#include "analysis/measure/figure.h"

#include <math.h>
#include <stddef.h>

const struct ulp_figure_row ulp_figure_rows[] = {
#define METRIC(name, worst) {#name, offsetof(struct ulp_metrics, name), ULP_WORST_##worst},
#include "analysis/measure/metric.def"
#undef METRIC
};

double *ulp_figure(struct ulp_metrics *metrics, int figure)
{
    return (double *)(void *)((char *)metrics + ulp_figure_rows[figure].offset);
}

double ulp_figure_get(const struct ulp_metrics *metrics, int figure)
{
    return *(const double *)(const void *)((const char *)metrics + ulp_figure_rows[figure].offset);
}

bool ulp_figure_worse(int figure, double a, double b)
{
    if (isnan(b))
        return false;
    switch (ulp_figure_rows[figure].worst) {
    case ULP_WORST_LARGEST: return !(a <= b);
    case ULP_WORST_FARTHEST: return !(fabs(a) <= fabs(b));
    case ULP_WORST_SMALLEST: break;
    }
    return !(a >= b);
}

struct ulp_metrics ulp_metrics_undefined(void)
{
    struct ulp_metrics metrics = {0};
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        *ulp_figure(&metrics, f) = NAN;
    return metrics;
}

const char *const ulp_view_names[] = {
#define VIEW(NAME, name) #name,
#include "analysis/measure/view.def"
#undef VIEW
};

static const struct view_row {
    size_t output, mean, limit;
} view_rows[] = {
#define VIEW(NAME, name)                                                                       \
    {offsetof(struct ulp_audit_output, name), offsetof(struct ulp_audit_samples, name##_mean), \
     offsetof(struct ulp_audit_samples, name##_limit)},
#include "analysis/measure/view.def"
#undef VIEW
};

struct ulp_metrics *ulp_view(struct ulp_audit_output *output, int view)
{
    return (struct ulp_metrics *)(void *)((char *)output + view_rows[view].output);
}

const struct ulp_metrics *ulp_view_get(const struct ulp_audit_output *output, int view)
{
    return (const struct ulp_metrics *)(const void *)((const char *)output +
                                                      view_rows[view].output);
}

struct ulp_metrics *ulp_view_mean(struct ulp_audit_samples *samples, int view)
{
    return (struct ulp_metrics *)(void *)((char *)samples + view_rows[view].mean);
}

struct ulp_metrics *ulp_view_limit(struct ulp_audit_samples *samples, int view)
{
    return (struct ulp_metrics *)(void *)((char *)samples + view_rows[view].limit);
}

const struct ulp_metrics *ulp_view_limit_get(const struct ulp_audit_output *output, int view)
{
    return output->samples ? ulp_view_limit(output->samples, view) : ulp_view_get(output, view);
}
