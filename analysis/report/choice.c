/* Arithmetics of one audit that differ by one choice: what it makes of the worst output. */
#include <math.h>
#include <string.h>

#include "analysis/report/report.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

static const struct ulp_audit_lane *lane_of(const struct ulp_audit *audit,
                                            const struct ulp_choice *choice, size_t i)
{
    return &audit->lanes[choice->lanes[i]];
}

/* The error relative to the reference's rms; infinite: the value is not finite where it should be;
 * NaN: it diverged, or has no error that can be told. */
static double relative(const struct ulp_audit_output *output)
{
    const struct ulp_metrics *m = &output->entire;
    return !ulp_type_is_float(output->type) || m->diverged ? NAN
           : m->nonfinite                                  ? INFINITY
           : output->range.ref_rms > 0                     ? m->rms / output->range.ref_rms
                                                           : NAN;
}

/* The largest error of an output; infinite when one is not finite. */
static double worst(const struct ulp_audit_lane *lane)
{
    double figure = NAN;
    for (size_t o = 0; o < lane->outputs.output_count; o++)
        figure = ulp_math_max(figure, relative(&lane->outputs.outputs[o]));
    return figure;
}

/* "with compiled", but "without VNNI" as it stands. */
static const char *with(const char *word)
{
    return strncmp(word, "with", 4) == 0 ? "" : "with ";
}

static void add_sentence(const struct ulp_page *page, const struct ulp_audit *audit,
                         const struct ulp_choice *choice)
{
    const size_t last = choice->count - 1;
    const double a = worst(lane_of(audit, choice, 0)), b = worst(lane_of(audit, choice, last));
    const char *x = choice->words[0], *y = choice->words[last];
    struct ulp_text text = {0};
    if (isnan(a) || isnan(b))
        ulp_text_add(&text, "no output can be compared in both");
    else if (isinf(a) && isinf(b))
        ulp_text_add(&text, "an output is not finite in either: the choice does not help");
    else if (isinf(a) || isinf(b))
        ulp_text_add(&text,
                     "an output is not finite %s%s and is %s%s: make sure which of the two you "
                     "deploy",
                     with(isinf(a) ? x : y), isinf(a) ? x : y, with(isinf(a) ? y : x),
                     isinf(a) ? y : x);
    else if (!(a > 0) && !(b > 0))
        ulp_text_add(&text, "the outputs are exact in both");
    else if (!(a > 0) || !(b > 0))
        ulp_text_add(&text, "the outputs are exact %s%s alone", with(a > 0 ? y : x), a > 0 ? y : x);
    else if (b / a > 0.8 && b / a < 1.25)
        ulp_text_add(&text,
                     "the worst output's error is %.2f times as large %s%s as %s%s: the choice "
                     "changes little",
                     b / a, with(y), y, with(x), x);
    else
        ulp_text_add(&text, "the worst output's error is %.3g times as large %s%s as %s%s", b / a,
                     with(y), y, with(x), x);
    ulp_text_add(page->out, "  %s", page->bold);
    ulp_page_broken(page, &text, 4, 2);
    ulp_text_add(page->out, "%s", page->off);
}

/* Where the two are sums that nobody recorded, and one of them is fine. */
static void add_assumed(const struct ulp_page *page, const struct ulp_audit *audit,
                        const struct ulp_choice *choice)
{
    struct ulp_assumed assumed;
    for (size_t h = 0; ulp_report_assumed(audit, h, &assumed); h++) {
        const size_t *lanes = choice->lanes;
        if ((lanes[0] != assumed.fine || lanes[1] != assumed.wrong) &&
            (lanes[0] != assumed.wrong || lanes[1] != assumed.fine))
            continue;
        struct ulp_text text = {0};
        ulp_report_assumed_say(&text, audit, &assumed);
        ulp_text_add(page->out, "  ");
        ulp_page_broken(page, &text, 4, 2);
    }
}

enum ulp_status ulp_report_choice(const struct ulp_audit *audit, const struct ulp_choice *choice,
                                  int width, bool colour, char **out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    const struct ulp_page sheet = ulp_page_make(&text, width, colour), *page = &sheet;
    *out = NULL;
    if (choice->count < 2)
        return ulp_fail(error, ULP_ERROR_USAGE, "a choice is between two arithmetics or more");
    for (size_t i = 0; i < choice->count; i++)
        if (choice->lanes[i] >= audit->lane_count)
            return ulp_fail(error, ULP_ERROR_USAGE, "the audit has %zu arithmetics, no number %zu",
                            audit->lane_count, choice->lanes[i]);
    ulp_text_add(page->out, "\n%s", page->bold);
    ulp_page_wrapped(page, choice->title, 2, 0);
    ulp_text_add(page->out, "%s", page->off);
    add_sentence(page, audit, choice);
    add_assumed(page, audit, choice);
    return ulp_page_take(&text, ULP_OK, out, error);
}
