/* What reports call things. */
#include <string.h>

#include "analysis/overflow/meter.h"
#include "base/error.h"

ULP_NAMES(ulp_overflow_verdict_name, enum ulp_overflow_verdict, [ULP_OVERFLOW_SAFE] = "safe",
          [ULP_OVERFLOW_3_BITS] = "within 3 bits", [ULP_OVERFLOW_1_BIT] = "within 1 bit",
          [ULP_OVERFLOW_HAPPENS] = "overflows", [ULP_OVERFLOW_UNKNOWN] = "cannot tell")

bool ulp_overflow_is_worse(enum ulp_overflow_verdict verdict, enum ulp_overflow_verdict than)
{
    if (verdict == ULP_OVERFLOW_UNKNOWN || than == ULP_OVERFLOW_SAFE)
        return than == ULP_OVERFLOW_SAFE && verdict != ULP_OVERFLOW_SAFE;
    return than == ULP_OVERFLOW_UNKNOWN ? verdict != ULP_OVERFLOW_SAFE : verdict > than;
}

ULP_NAMES(
    ulp_overflow_cause_name,
    enum ulp_overflow_cause, [ULP_OVERFLOW_RESULT] = "result", [ULP_OVERFLOW_INPUT] = "input cast",
    [ULP_OVERFLOW_CONSTANT] = "constant", [ULP_OVERFLOW_WEIGHT] = "weight cast",
    [ULP_OVERFLOW_ZERO] = "becomes zero", [ULP_OVERFLOW_HIDDEN] = "hidden value",
    [ULP_OVERFLOW_SUM] = "partial sum", [ULP_OVERFLOW_UPSTREAM] = "upstream")

void ulp_overflow_say_cause(struct ulp_text *out, enum ulp_overflow_cause cause,
                            const char *culprit)
{
    if (cause == ULP_OVERFLOW_ZERO && culprit)
        ulp_text_show(out, "as its %s becomes 0", culprit);
    else
        ulp_text_show(out, "by %s%s%s", ulp_overflow_cause_name(cause), culprit ? " " : "",
                      culprit ? culprit : "");
}

ULP_NAMES(ulp_overflow_effect_name, enum ulp_overflow_effect, [ULP_OVERFLOW_NO_EFFECT] = "none",
          [ULP_OVERFLOW_POISONS] = "poisons outputs", [ULP_OVERFLOW_SPOILS] = "makes results wrong",
          [ULP_OVERFLOW_ABSORBED] = "absorbed", [ULP_OVERFLOW_UNUSED] = "unused")

void ulp_overflow_add_lane(struct ulp_text *out, const struct ulp_overflow_lane *lane)
{
    static const char keep[] = ",keep=";
    const char *kept = strstr(lane->name, keep);
    ulp_text_show(out, " -a %.*s", (int)(kept ? kept - lane->name : (ptrdiff_t)strlen(lane->name)),
                  lane->name);
    while (kept) {
        const char *own = kept + sizeof keep - 1;
        kept = strstr(own, keep);
        ULP_SCOPED(ulp_text_free) struct ulp_text word = {0};
        ulp_text_put(&word, own, kept ? (size_t)(kept - own) : strlen(own));
        ulp_text_add(out, word.data && strchr(word.data, '=') ? " --keep" : " --plan");
        ulp_word_add(out, word.data ? word.data : "");
        out->failed |= word.failed;
    }
}
