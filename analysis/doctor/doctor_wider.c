/* Of what FP32 itself makes wrong: whether FP64 in the nodes between where the error begins and
 * where it is made to count for more mends it, by running that. */
#include <math.h>
#include <stdio.h>

#include "analysis/doctor/doctoring.h"
#include "analysis/measure/judged.h"
#include "analysis/report/report.h"
#include "analysis/tried/tried.h"
#include "base/error.h"

/* From this share on a node before the cause belongs to it. */
#define MAKES_SOME 0.02

/* From the first node that makes some of the error to the one that magnifies it. */
static bool find_range(struct ulp_doctoring *x)
{
    const struct ulp_doctor *doctor = x->doctor;
    const struct ulp_doctor_cause *cause = doctor->causes;
    struct ulp_magnified magnified;
    if (!doctor->cause_count || cause->index < 0 || cause->reason != ULP_DOCTOR_ERROR)
        return false;
    size_t first = (size_t)cause->index, last = first;
    if (ulp_report_magnifier(doctor->audit, x->lane, &x->lane->nodes[first], &magnified))
        last = magnified.at->index;
    x->failed |= magnified.failed;
    for (size_t n = first; n-- > 0;)
        if (x->lane->nodes[n].share >= MAKES_SOME)
            first = n;
    x->wide_first = first;
    x->wide_last = last;
    return true;
}

/* The worst output of all samples, without the nodes in FP64 and with them. */
static enum ulp_status run(const struct ulp_doctoring *x, const struct ulp_keep *keep,
                           struct ulp_outcome *before, struct ulp_outcome *after,
                           struct ulp_error *error)
{
    const struct ulp_run_options options = {.thread_count = x->options->thread_count};
    for (size_t s = 0; s < x->sample_count; s++) {
        struct ulp_attempt tried[] = {{.arithmetic = x->lane->arithmetic},
                                      {.arithmetic = x->lane->arithmetic,
                                       .keeps = {.count = 1, .items = keep}}};
        ULP_TRY(ulp_attempts_run(x->model, &x->options->reference, tried, 2, x->samples[s].inputs,
                                 &options, NULL, NULL, error));
        if (!s || tried[0].outcome.sqnr_db < before->sqnr_db)
            *before = tried[0].outcome;
        if (!s || tried[1].outcome.sqnr_db < after->sqnr_db)
            *after = tried[1].outcome;
    }
    return ULP_OK;
}

enum ulp_status ulp_doctor_try_wider(struct ulp_doctoring *x, struct ulp_error *error)
{
    char pattern[64];
    struct ulp_keep keep = {.pattern = pattern};
    struct ulp_outcome before = {0}, after = {0};
    struct ulp_text text = {0};
    x->is_wide = find_range(x);
    if (!x->is_wide || x->options->engine || x->options->original || x->failed)
        return x->failed ? ulp_out_of_memory(error) : ULP_OK;
    snprintf(pattern, sizeof pattern, "#%zu-%zu", x->wide_first, x->wide_last);
    ULP_TRY(ulp_arithmetic_find("fp64", &keep.arithmetic, error));
    ULP_TRY(run(x, &keep, &before, &after, error));
    if (!after.any || !before.any || after.output >= x->lane->outputs.output_count ||
        before.output >= x->lane->outputs.output_count)
        return ULP_OK;
    const struct ulp_audit_node *outputs = &x->lane->outputs;
    ulp_text_add(&text, "with node%s %zu", x->wide_first == x->wide_last ? "" : "s", x->wide_first);
    if (x->wide_last > x->wide_first)
        ulp_text_add(&text, " to %zu", x->wide_last);
    ulp_text_add(&text, " in FP64 ");
    ulp_judged_say_sqnr(&text, outputs->outputs[after.output].name, after.sqnr_db);
    ulp_text_add(&text, ", without them ");
    if (before.output == after.output && isfinite(before.sqnr_db))
        ulp_text_add(&text, "at %.1f dB", ulp_tenths(before.sqnr_db));
    else
        ulp_judged_say_sqnr(&text, outputs->outputs[before.output].name, before.sqnr_db);
    x->doctor->remedy = ulp_doctor_copy(x, text.data);
    x->failed |= text.failed;
    ulp_text_free(&text);
    return x->failed ? ulp_out_of_memory(error) : ULP_OK;
}
