/* What verdicts of searches are made of. */
#include <math.h>

#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/search/written/search_files.h"
#include "analysis/search/written/search_text.h"

void ulp_search_say_tolerances(struct ulp_text *out, const struct ulp_search *found)
{
    for (size_t t = 0; t < found->tolerance_count; t++)
        ulp_text_show(out, "%s%s", t ? " and " : "", found->tolerances[t]);
    ulp_text_add(out, "%s%s%s", found->by_default ? " (the default)" : "",
                 found->scored && found->tolerance_count ? " and " : "",
                 found->scored ? "--metric" : "");
}

const struct ulp_search_sample *ulp_search_worst(const struct ulp_search_sample *samples,
                                                 size_t count)
{
    const struct ulp_search_sample *worst = NULL;
    for (size_t s = 0; s < count; s++)
        if (!worst || samples[s].ratio > worst->ratio)
            worst = &samples[s];
    return worst;
}

/* "logits is at 63.1 dB", "logits equals the reference", "logits has no element to compare" */
void ulp_search_say_figure(struct ulp_text *out, const struct ulp_search_sample *sample)
{
    const char *reason = ulp_judge_find_reason(sample->metric);
    if (reason)
        ulp_text_show(out, "%s %s", sample->output, reason);
    else if (strcmp(sample->metric, "sqnr_db") == 0)
        ulp_judged_say_sqnr(out, sample->output, sample->value);
    else
        ulp_text_show(out, "%s is at %s %.4g", sample->output, sample->metric, sample->value);
}

void ulp_search_say_full(struct ulp_text *out, const struct ulp_search *found)
{
    if (isfinite(found->full))
        ulp_text_add(out, "the error is %.3g times what is allowed.", found->full);
    else
        ulp_text_add(out, "nothing is allowed and there is an error, or something is not finite.");
}

const struct ulp_target *ulp_search_target(const char *arithmetic)
{
    static const char ends[] = ":@,";
    const size_t length = strcspn(arithmetic, ends);
    const struct ulp_target *target;
    for (size_t i = 0; (target = ulp_target(i)); i++)
        if (strcspn(target->lowered, ends) == length &&
            strncmp(target->lowered, arithmetic, length) == 0)
            return target;
    return NULL;
}
