/* The text of a limit, for those that judge without an audit. */
#pragma once

struct ulp_limit {
    const char *output; /* a name of the model's; NULL: all outputs */
    int figure;         /* enum ulp_figure, of the whole error */
    double value;
};
/* "METRIC=VALUE" or "OUTPUT:METRIC=VALUE". */
enum ulp_status ulp_limit_read(const char *text, const struct ulp_model *model,
                               struct ulp_limit *out, struct ulp_error *error);
/* May it be a plan's --tolerance, too? */
bool ulp_limit_is_tolerance(const char *text);
/* NaN is beyond any limit. */
bool ulp_limit_is_beyond(int figure, double value, double limit);
