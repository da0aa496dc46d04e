/* What reports call things. */
#include <ulpscope/overflow.h>

const char *ulp_overflow_verdict_name(enum ulp_overflow_verdict verdict)
{
    static const char *const names[] = {[ULP_OVERFLOW_SAFE] = "safe",
                                        [ULP_OVERFLOW_3_BITS] = "within 3 bits",
                                        [ULP_OVERFLOW_1_BIT] = "within 1 bit",
                                        [ULP_OVERFLOW_HAPPENS] = "overflows"};
    return names[verdict];
}

const char *ulp_overflow_cause_name(enum ulp_overflow_cause cause)
{
    static const char *const names[] = {
        [ULP_OVERFLOW_RESULT] = "result",     [ULP_OVERFLOW_INPUT] = "input cast",
        [ULP_OVERFLOW_CONSTANT] = "constant", [ULP_OVERFLOW_WEIGHT] = "weight cast",
        [ULP_OVERFLOW_ZERO] = "becomes zero", [ULP_OVERFLOW_HIDDEN] = "hidden value",
        [ULP_OVERFLOW_SUM] = "partial sum",   [ULP_OVERFLOW_UPSTREAM] = "upstream"};
    return names[cause];
}

const char *ulp_overflow_effect_name(enum ulp_overflow_effect effect)
{
    static const char *const names[] = {[ULP_OVERFLOW_NO_EFFECT] = "none",
                                        [ULP_OVERFLOW_POISONS] = "poisons outputs",
                                        [ULP_OVERFLOW_SPOILS] = "makes results wrong",
                                        [ULP_OVERFLOW_ABSORBED] = "absorbed",
                                        [ULP_OVERFLOW_UNUSED] = "unused"};
    return names[effect];
}
