/* What to do about the tensors that formats with scales cost most, and what the graph's
 * QuantizeLinear nodes clip. */
#include <math.h>
#include <string.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/report/report_json.h"
#include "analysis/writing/first_screen.h"

/* What is worth a word: part of a tensor's error, decibels, part of its values. */
#define PART_MATTERS 0.1
#define OUTLIER_DB 1
#define ZEROS_MATTER 0.1
#define POOR_DB 20.0
#define FAIR_DB 40.0

static bool quantises(const struct ulp_scaled_tensor *tensor)
{
    return strcmp(tensor->op, "QuantizeLinear") == 0;
}

static double part_of(size_t part, size_t all)
{
    return all ? (double)part / (double)all : 0;
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

/* A part of a quantiser's error that is its reason. */
#define MOST 0.5

bool ulp_scaled_cuts_nothing(const struct ulp_audit_lane *lane, const char *node)
{
    bool nothing = false;
    for (size_t i = 0; node && i < lane->scaled_count; i++)
        nothing |= quantises(&lane->scaled[i]) && strcmp(lane->scaled[i].node, node) == 0 &&
                   lane->scaled[i].clipping < PART_MATTERS;
    return nothing;
}

void ulp_scaled_quantiser(struct ulp_text *out, struct ulp_text *fix,
                          const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    const char *before = node->source < 0 ? "" : lane->nodes[node->source].name;
    const struct ulp_scaled_tensor *t = NULL;
    for (size_t i = 0; i < lane->scaled_count && !t; i++)
        if (quantises(&lane->scaled[i]) && (strcmp(lane->scaled[i].node, node->name) == 0 ||
                                            strcmp(lane->scaled[i].node, before) == 0))
            t = &lane->scaled[i];
    if (!t || !isfinite(t->sqnr_db))
        return;
    ulp_text_show(out, "; %s leaves '%s' at %.1f dB in the first sample, ", t->node, t->name,
                  t->sqnr_db);
    ulp_text_show(fix, "give %s ", t->node);
    if (t->sqnr_db >= FAIR_DB) {
        ulp_text_add(out, "by its largest values: those that count are small beside its steps");
        ulp_text_add(fix, "a type of more bits, or no values that need its range and do not count");
    } else if (t->clipping >= MOST) {
        ulp_text_add(out, "%.0f %% of it by clipping %zu of %zu values", 100 * t->clipping,
                     t->clipped, t->elements);
        ulp_text_add(fix, "a larger scale");
    } else if (t->scaling >= MOST) {
        ulp_text_add(out, "%.0f %% of it by its scale: %zu of %zu values become 0",
                     100 * t->scaling, t->zeros, t->elements);
        ulp_text_add(fix, "the scale that its largest value asks for");
    } else {
        ulp_text_show(out, "by the few bits of %s", t->format);
        ulp_text_add(fix, "a scale for each channel or a type of more bits");
    }
    ulp_text_add(fix, ", or leave it and its DequantizeLinear out");
}

/* Of the graph's own quantisation: the one that clips most, and the one that loses most to 0. */
static void add_quantised(json_t **notes, const struct ulp_audit_lane *lane)
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
                      "%zu of %zu QuantizeLinear nodes clip values in the first sample, most "
                      "'%s' (%s): %.3g %%, %.0f %% of its error; a larger scale clips fewer",
                      clipping, all, clips->name, clips->node,
                      100 * part_of(clips->clipped, clips->elements), 100 * clips->clipping);
    if (loses)
        ulp_text_show(&lost,
                      "%zu of %zu QuantizeLinear nodes make a tenth of their values 0, or more, "
                      "and leave less than %.0f dB, most '%s' (%s): %.3g %%; a smaller scale, or "
                      "one for each channel, keeps small values",
                      losing, all, POOR_DB, loses->name, loses->node,
                      100 * part_of(loses->zeros, loses->elements));
    if (clips)
        ulp_note_text(notes, "", &clipped);
    if (loses)
        ulp_note_text(notes, "", &lost);
}

void ulp_report_scaled_notes(json_t **notes, const struct ulp_audit *audit,
                             const struct ulp_audit_lane *lane)
{
    struct ulp_text remedy = {0};
    const struct ulp_scaled_tensor *most = NULL;
    double share = -1;
    for (size_t i = 0; i < lane->scaled_count; i++) {
        const double own = fabs(find_share(lane, &lane->scaled[i]));
        if (!quantises(&lane->scaled[i]) && (!most || own > share)) {
            most = &lane->scaled[i];
            share = own;
        }
    }
    if (most) {
        add_remedy(&remedy, audit, lane, most);
        ulp_note_text(notes, "", &remedy);
    }
    add_quantised(notes, lane);
}
