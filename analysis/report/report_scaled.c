/* What formats with scales do to the tensors that most of the error comes from, and what to do
 * about the first of them; what the graph's QuantizeLinear nodes clip. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/report/report_page.h"

#define TENSORS_SHOWN 5
#define NAME_AT 70 /* columns before the name in the table */
/* What is worth a word: part of a tensor's error, decibels, part of its values. */
#define PART_MATTERS 0.1
#define OUTLIER_DB 1
#define ZEROS_MATTER 0.1
#define POOR_DB 20.0

struct scaled {
    const struct ulp_scaled_tensor *tensor;
    double share; /* of what its node rounds of weights, or of values; NaN: not known */
};

static bool quantises(const struct ulp_scaled_tensor *tensor)
{
    return strcmp(tensor->op, "QuantizeLinear") == 0;
}

static double part_of(size_t part, size_t all)
{
    return all ? (double)part / (double)all : 0;
}

static int by_share(const void *a, const void *b)
{
    const struct scaled *x = a, *y = b;
    const double p = isnan(x->share) ? 0 : fabs(x->share), q = isnan(y->share) ? 0 : fabs(y->share);
    if (p != q)
        return p < q ? 1 : -1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static double find_share(const struct ulp_audit_lane *lane, const struct ulp_scaled_tensor *tensor)
{
    for (size_t n = 0; n < lane->node_count && lane->attribution.given; n++)
        if (strcmp(lane->nodes[n].name, tensor->node) == 0)
            return lane->nodes[n].causes[tensor->weight ? ULP_SHARE_WEIGHTS : ULP_SHARE_INPUTS];
    return NAN;
}

/* What there is against it, on one line, and the first reason that makes much of its error. */
static void add_remedy(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_scaled_tensor *t)
{
    const bool power = strncmp(t->format, "mx", 2) == 0,
               smooth = t->outlier_gain_db >= OUTLIER_DB && !t->outlier_is_line && !t->weight;
    const struct ulp_asked asked = ulp_audit_asked(lane);
    ulp_command_add(out, smooth ? "fix" : "quantise", audit->arguments);
    ulp_text_show(out, " -a %.*s%s # '%s' of %s: ", asked.length, asked.text,
                  smooth ? " --only outlier-channel -o fixed.onnx" : "", t->name, t->node);
    if (t->nonfinite)
        ulp_text_add(out, "%zu of its values are not finite, or share a block with one",
                     t->nonfinite);
    else if (t->clipping >= PART_MATTERS)
        ulp_text_add(out, "%zu values are clipped, which makes %.0f %% of its error; %s",
                     t->clipped, 100 * t->clipping,
                     lane->arithmetic.scales_static
                         ? "calibrate with samples that reach as far, or with --calibrator max"
                     : power ? "scale=up clips none"
                             : "another scale= may clip fewer");
    else if (t->outlier_gain_db >= OUTLIER_DB)
        ulp_text_add(out,
                     "%s %zu is %.3g times as large as the median, and without it the others are "
                     "%.1f dB more exact",
                     !t->outlier_is_line ? "channel"
                     : t->weight         ? "output channel"
                                         : "row",
                     t->outlier, t->outlier_ratio, t->outlier_gain_db);
    else if (t->scaling >= 2 * PART_MATTERS)
        ulp_text_add(out, "the rounding of scales makes %.0f %% of its error; %s", 100 * t->scaling,
                     power ? "scales that are no powers of two (nvfp4, fp8-row) round less"
                           : "another scale= may round less");
    else if (t->range_bits > t->format_bits)
        ulp_text_add(out,
                     "half of its blocks span more than %.1f bits, of which %s has %.1f; smaller "
                     "blocks, or a format of more bits, hold them",
                     t->range_bits, t->format, t->format_bits);
    else
        ulp_text_add(
            out,
            "the few bits of its elements make %.0f %% of its error; a format of more bits "
            "rounds less",
            100 * t->rounding);
}

void ulp_scaled_remedy(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const char *node)
{
    const struct ulp_scaled_tensor *found = NULL;
    double most = 0;
    for (size_t i = 0; i < lane->scaled_count; i++) {
        const struct ulp_scaled_tensor *t = &lane->scaled[i];
        const double share = fabs(find_share(lane, t));
        if (strcmp(t->node, node) == 0 && !quantises(t) && share > most) {
            most = share;
            found = t;
        }
    }
    if (found)
        add_remedy(out, audit, lane, found);
}

static void add_tensors(const struct ulp_page *page, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane, const struct scaled *items, size_t count)
{
    struct ulp_text *out = page->out, remedy = {0};
    ulp_text_add(out,
                 "  %swhat formats with scales do to factors, by their shares%s, in the first "
                 "sample\n  %s%10s %8s %8s %6s %6s %6s %6s %5s  %s%s\n",
                 page->bold, page->off, page->dim, "share", "zeros", "clipped", "elem", "scale",
                 "clip", "bits", "of", "factor (format, node)", page->off);
    for (size_t i = 0; i < count && i < TENSORS_SHOWN; i++) {
        const struct ulp_scaled_tensor *t = items[i].tensor;
        ulp_text_add(out, "  %10s %7.3g%% %7.3g%% %5.0f%% %5.0f%% %5.0f%% %6.1f %5.1f  ",
                     ULP_FIGURE("%.1f%%", 100 * items[i].share),
                     100 * part_of(t->zeros, t->elements), 100 * part_of(t->clipped, t->elements),
                     100 * t->rounding, 100 * t->scaling, 100 * t->clipping, t->range_bits,
                     t->format_bits);
        ulp_page_name(page, t->name, NAME_AT);
        ulp_text_show(out, " (%s, %s)\n", t->format, t->node);
    }
    if (count > TENSORS_SHOWN)
        ulp_text_add(out, "    %zu more in report.json\n", count - TENSORS_SHOWN);
    add_remedy(&remedy, audit, lane, items[0].tensor);
    const char *reason = remedy.length ? ulp_command_comment(remedy.data) : NULL;
    if (reason) {
        ulp_text_put(out, "  ", 2);
        ulp_text_put(out, remedy.data, (size_t)(reason - remedy.data)); /* to be copied */
        ulp_text_add(out, "\n    ");
        ulp_page_wrapped(page, reason + 1, 4, 6);
    }
    out->failed |= remedy.failed;
    ulp_text_free(&remedy);
}

/* Of the graph's own quantisation: the one that clips most, and the one that loses most to 0. */
static void add_quantised(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    const struct ulp_scaled_tensor *clips = NULL, *loses = NULL;
    size_t all = 0, clipping = 0, losing = 0;
    struct ulp_text clipped = {0}, lost = {0};
    for (size_t i = 0; i < lane->scaled_count; i++) {
        const struct ulp_scaled_tensor *t = &lane->scaled[i];
        const double zeros = part_of(t->zeros, t->elements);
        const bool poor = zeros >= ZEROS_MATTER && t->sqnr_db < POOR_DB;
        if (!quantises(t))
            continue;
        all++;
        clipping += t->clipped > 0;
        losing += poor;
        if (t->clipped &&
            (!clips || part_of(t->clipped, t->elements) > part_of(clips->clipped, clips->elements)))
            clips = t;
        if (poor && (!loses || zeros > part_of(loses->zeros, loses->elements)))
            loses = t;
    }
    if (clips)
        ulp_text_show(&clipped,
                      "  %zu of %zu QuantizeLinear nodes clip values in the first sample, most "
                      "'%s' (%s): %.3g %%, %.0f %% of its error; a larger scale clips fewer",
                      clipping, all, clips->name, clips->node,
                      100 * part_of(clips->clipped, clips->elements), 100 * clips->clipping);
    if (loses)
        ulp_text_show(&lost,
                      "  %zu of %zu QuantizeLinear nodes make a tenth of their values 0, or more, "
                      "and leave less than %.0f dB, most '%s' (%s): %.3g %%; a smaller scale, or "
                      "one for each channel, keeps small values",
                      losing, all, POOR_DB, loses->name, loses->node,
                      100 * part_of(loses->zeros, loses->elements));
    ulp_page_broken(page, &clipped, 4, 0);
    ulp_page_broken(page, &lost, 4, 0);
}

void ulp_page_scaled(const struct ulp_page *page, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane)
{
    struct scaled *items = calloc(lane->scaled_count + 1, sizeof *items);
    size_t count = 0;
    if (!items) {
        page->out->failed = true;
        return;
    }
    for (size_t i = 0; i < lane->scaled_count; i++)
        if (!quantises(&lane->scaled[i]))
            items[count++] = (struct scaled){&lane->scaled[i], find_share(lane, &lane->scaled[i])};
    qsort(items, count, sizeof *items, by_share);
    if (count)
        add_tensors(page, audit, lane, items, count);
    add_quantised(page, lane);
    free(items);
}
