/* Of what FP32 itself makes wrong: whether FP64 in the nodes between where the error begins and
 * where it is made to count for more mends it, by running that. */
#include <float.h>
#include <math.h>

#include "analysis/doctor/doctoring.h"
#include "analysis/measure/judged.h"
#include "analysis/report/report.h"
#include "analysis/tried/tried.h"
#include "base/error.h"

/* From this share on a node before the cause belongs to it. */
#define MAKES_SOME 0.02

/* Behind a node that overflows: the last that reads what FP32 does not hold. */
static size_t find_last(const struct ulp_doctoring *x, size_t last)
{
    const struct ulp_audit *audit = x->doctor->audit;
    for (size_t n = last + 1; n < audit->place_count; n++)
        for (size_t i = 0; i < audit->places[n].input_count; i++) {
            const ptrdiff_t from = audit->places[n].inputs[i].node;
            if (from >= 0 && x->lane->nodes[from].output_count &&
                x->lane->nodes[from].outputs[0].range.ref_max > FLT_MAX)
                last = n;
        }
    return last;
}

/* From the first node that makes some of the error to the one that magnifies it. */
static bool find_range(struct ulp_doctoring *x)
{
    const struct ulp_doctor *doctor = x->doctor;
    const struct ulp_doctor_cause *cause = doctor->causes;
    struct ulp_magnified magnified = {0};
    const bool overflows = doctor->cause_count && cause->reason == ULP_DOCTOR_OVERFLOW;
    if (!doctor->cause_count || cause->index < 0 ||
        !(overflows || cause->reason == ULP_DOCTOR_ERROR))
        return false;
    size_t first = (size_t)cause->index, last = overflows ? find_last(x, first) : first;
    if (!overflows &&
        ulp_report_magnifier(doctor->audit, x->lane, &x->lane->nodes[first], &magnified))
        last = magnified.at->index;
    x->failed |= magnified.failed;
    for (size_t n = first; n-- > 0 && !overflows;)
        if (x->lane->nodes[n].share >= MAKES_SOME)
            first = n;
    x->wide_first = first;
    x->wide_last = last;
    return true;
}

/* Attempts with these nodes, in all samples: without, and the best of them; NULL: there is none. */
static enum ulp_status try_all(struct ulp_doctoring *x, struct ulp_attempt **items,
                               const struct ulp_attempt **best, struct ulp_error *error)
{
    const struct ulp_run_options options = {.thread_count = x->options->thread_count};
    struct ulp_trouble trouble = {.against = ULP_AGAINST_SINGLE,
                                  .as_is = {.arithmetic = x->lane->arithmetic}};
    size_t count;
    ULP_TAKE_ARRAY(size_t, nodes, x->doctor->memory, x->wide_last - x->wide_first + 1, error);
    for (size_t n = x->wide_first; n <= x->wide_last; n++)
        nodes[trouble.node_count++] = n;
    trouble.nodes = nodes;
    ULP_TRY(ulp_attempts_list(&trouble, x->doctor->memory, items, &count, error));
    for (size_t s = 0; s < x->sample_count; s++)
        ULP_TRY(ulp_attempts_run(x->model, &x->options->reference, *items, count,
                                 x->samples[s].inputs, &options, NULL, NULL, error));
    *best = NULL;
    for (size_t i = 1; i < count; i++)
        if (!*best || (*items)[i].outcome.sqnr_db > (*best)->outcome.sqnr_db)
            *best = &(*items)[i];
    return ULP_OK;
}

enum ulp_status ulp_doctor_try_wider(struct ulp_doctoring *x, struct ulp_error *error)
{
    struct ulp_attempt *items;
    const struct ulp_attempt *best;
    struct ulp_text text = {0};
    if (!find_range(x) || x->options->engine || x->options->original || x->failed)
        return x->failed ? ulp_out_of_memory(error) : ULP_OK;
    ULP_TRY(try_all(x, &items, &best, error));
    if (!best)
        return ULP_OK;
    const struct ulp_audit_node *outputs = &x->lane->outputs;
    const struct ulp_outcome *before = &items->outcome, *after = &best->outcome;
    x->wide_in = best->keeps.items->arithmetic.name;
    if (!after->any || !before->any || after->output >= outputs->output_count ||
        before->output >= outputs->output_count)
        return ULP_OK;
    ulp_text_add(&text, "with node%s %zu", x->wide_first == x->wide_last ? "" : "s", x->wide_first);
    if (x->wide_last > x->wide_first)
        ulp_text_add(&text, " to %zu", x->wide_last);
    ulp_text_add(&text, " in %s ", best->in);
    ulp_judged_say_sqnr(&text, outputs->outputs[after->output].name, after->sqnr_db);
    ulp_text_add(&text, ", without them ");
    if (before->output == after->output && isfinite(before->sqnr_db))
        ulp_text_add(&text, "at %.1f dB", ulp_tenths(before->sqnr_db));
    else
        ulp_judged_say_sqnr(&text, outputs->outputs[before->output].name, before->sqnr_db);
    x->doctor->remedy = ulp_doctor_keep(x, &text);
    return ulp_taken(x->doctor->remedy, error);
}
