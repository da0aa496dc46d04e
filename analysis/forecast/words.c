/* What reports call things. */
#include <ulpscope/forecast.h>

const char *ulp_forecast_verdict_name(enum ulp_forecast_verdict verdict)
{
    static const char *const names[] = {[ULP_FORECAST_SAFE] = "safe",
                                        [ULP_FORECAST_3_BITS] = "within 3 bits",
                                        [ULP_FORECAST_1_BIT] = "within 1 bit",
                                        [ULP_FORECAST_OVERFLOWS] = "overflows"};
    return names[verdict];
}

const char *ulp_forecast_cause_name(enum ulp_forecast_cause cause)
{
    static const char *const names[] = {
        [ULP_FORECAST_RESULT] = "result",     [ULP_FORECAST_INPUT] = "input cast",
        [ULP_FORECAST_CONSTANT] = "constant", [ULP_FORECAST_WEIGHT] = "weight cast",
        [ULP_FORECAST_ZERO] = "becomes zero", [ULP_FORECAST_HIDDEN] = "hidden value",
        [ULP_FORECAST_SUM] = "partial sum",   [ULP_FORECAST_UPSTREAM] = "upstream"};
    return names[cause];
}

const char *ulp_forecast_effect_name(enum ulp_forecast_effect effect)
{
    static const char *const names[] = {[ULP_FORECAST_NO_EFFECT] = "none",
                                        [ULP_FORECAST_POISONS] = "poisons outputs",
                                        [ULP_FORECAST_SPOILS] = "makes results wrong",
                                        [ULP_FORECAST_ABSORBED] = "absorbed",
                                        [ULP_FORECAST_UNUSED] = "unused"};
    return names[effect];
}
