/* What a verdict says beside the original of a converted model: which pair costs most, and where
 * the graph, not the arithmetic, begins to be off. */
#include <math.h>
#include <string.h>

#include "analysis/report/report.h"

/* From here on a pair is what to mend. */
#define PAIR_GAINS_DB 1

/* ", but the worst of 8 samples loses 1.2 dB": what it does beyond the first. */
static void add_worst(struct ulp_text *out, const struct ulp_qdq_pair *pair)
{
    if (pair->sample_count < 2)
        return;
    ulp_text_add(out, ", %s the worst of %zu samples ", pair->worst_db > 0 ? "and" : "but",
                 pair->sample_count);
    if (isfinite(pair->worst_db) && pair->worst_db != 0)
        ulp_text_add(out, "%s %.1f dB", pair->worst_db < 0 ? "loses" : "gains",
                     fabs(pair->worst_db));
    else
        ulp_text_add(out, pair->worst_db > 0   ? "is exact"
                          : pair->worst_db < 0 ? "is not finite"
                                               : "gains nothing");
}

/* "; without the pair of node 4 q (QuantizeLinear), which clips 51 of 640 elements, it gains 12.3
 * dB", or by its steps, where it clips none; of weights ", and with a scale for each of their
 * channels 3.7 dB"; what is exact then is said to be; of several samples in which, and what all
 * gain. */
bool ulp_report_pair(struct ulp_text *out, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane)
{
    const struct ulp_qdq_pair *pair = lane->qdq_pairs;
    if (!lane->qdq_pair_count || !(pair->gained_db >= PAIR_GAINS_DB))
        return false;
    const struct ulp_audit_node *node =
        &lane->nodes[pair->quantizer < 0 ? (ptrdiff_t)pair->dequantizer : pair->quantizer];
    ulp_text_show(out, "; without %s of node %zu %s (%s)",
                  pair->quantizer < 0 ? "the quantised weights" : "the pair", node->index,
                  node->name, node->op);
    if (pair->clipped)
        ulp_text_add(out, ", which clips %zu of %zu elements,", pair->clipped, pair->elements);
    else if (pair->quantizer >= 0)
        ulp_text_add(out, ", by its steps (its range clips nothing),");
    if (isfinite(pair->gained_db))
        ulp_text_add(out, " it gains %.1f dB", pair->gained_db);
    else
        ulp_text_add(out, " it is exact");
    if (audit->sample_count > 1)
        ulp_text_show(out, " in sample %s", audit->sample_names[0]);
    add_worst(out, pair);
    if (!(pair->channels_db >= PAIR_GAINS_DB))
        return true;
    ulp_text_add(out, ", and with a scale for each of their channels ");
    if (isfinite(pair->channels_db))
        ulp_text_add(out, "%.1f dB", pair->channels_db);
    else
        ulp_text_add(out, "%s", isfinite(pair->gained_db) ? "it is exact" : "too");
    return true;
}

/* Another draw of the roundings gains or loses as much. */
#define WORTH_SAYING_DB 0.05

double ulp_report_stored_gain(const struct ulp_audit_lane *lane,
                              const struct ulp_stored_fault *fault)
{
    for (size_t p = 0; p < lane->qdq_pair_count; p++)
        if (lane->qdq_pairs[p].quantizer < 0 &&
            lane->qdq_pairs[p].dequantizer == fault->dequantizer)
            return lane->qdq_pairs[p].blocks_db;
    return NAN;
}

void ulp_report_stored(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_stored_fault *fault)
{
    const struct ulp_audit_node *node = &lane->nodes[fault->dequantizer];
    const double gained = ulp_report_stored_gain(lane, fault);
    if (fault->loose)
        ulp_text_show(out,
                      "In %zu of %zu blocks of %s (node %zu %s) the scale is at least twice what "
                      "the largest value asks for",
                      fault->loose, fault->blocks, fault->value, node->index, node->name);
    if (fault->summed >= 0) {
        const struct ulp_audit_node *reader = &lane->nodes[fault->reader];
        if (fault->loose)
            ulp_text_add(out, ", and they");
        else
            ulp_text_show(out, "Blocks of %s (node %zu %s)", fault->value, node->index, node->name);
        ulp_text_show(out, " lie along axis %td, where node %zu %s sums along axis %td",
                      fault->axis, reader->index, reader->name, fault->summed);
    }
    ulp_text_add(out, "; quantise the original's weights again%s",
                 fault->summed >= 0 ? " along that" : "");
    if (gained >= WORTH_SAYING_DB)
        ulp_text_add(out, ", which gains %s%s", ULP_FIGURE("%.1f dB", gained),
                     audit->sample_count > 1 ? " in the first sample" : "");
    else if (!isnan(gained))
        ulp_text_add(out, ", which gains nothing in the first sample");
    if (audit->stored_fault_count > 1 && fault == audit->stored_faults)
        ulp_text_add(out, "; the same holds for %zu more tensor%s of weights",
                     audit->stored_fault_count - 1, audit->stored_fault_count == 2 ? "" : "s");
}

/* A part of the worst output's relative error from which a node is as far off, and one below which
 * what nodes introduce is not the reason. */
#define AS_FAR 0.5
#define OWN_PART 0.1

/* Beside the original of a converted model, and where no node introduces as much: the first node
 * that is as far off as the worst output. NULL: there is none. */
static const struct ulp_audit_node *find_change(const struct ulp_audit_lane *lane,
                                                const struct ulp_audit_output *worst,
                                                double introduced)
{
    const double relative = worst->entire.rms / worst->range.ref_rms;
    const struct ulp_audit_node *change = NULL;
    bool converted = false;
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++) {
            const struct ulp_audit_output *output = &lane->nodes[n].outputs[o];
            converted |= output->unpaired; /* the original has no such value */
            if (!change && !output->unpaired && ulp_type_is_float(output->type) &&
                !output->entire.diverged &&
                output->entire.rms >= AS_FAR * relative * output->range.ref_rms)
                change = &lane->nodes[n];
        }
    return converted && introduced < OWN_PART * relative ? change : NULL;
}

/* Where the change comes from: the Cast, or the quantiser, without which its value would have been
 * the original's, where only such as the original does not have lie between. */
static const struct ulp_audit_node *find_border(const struct ulp_audit_lane *lane,
                                                const struct ulp_audit_node *change)
{
    const struct ulp_audit_node *border = change;
    for (ptrdiff_t at = change->source; at >= 0; at = lane->nodes[at].source) {
        const struct ulp_audit_node *node = &lane->nodes[at];
        bool unpaired = node->output_count > 0;
        for (size_t o = 0; o < node->output_count; o++)
            unpaired &= node->outputs[o].unpaired || !ulp_type_is_float(node->outputs[o].type);
        if (!unpaired)
            break;
        if (strcmp(node->op, "Cast") == 0 || strstr(node->op, "uantizeLinear"))
            border = node;
    }
    return border;
}

bool ulp_report_change(struct ulp_text *out, const struct ulp_audit_lane *lane,
                       const struct ulp_audit_output *worst, double introduced)
{
    const struct ulp_audit_node *change = find_change(lane, worst, introduced),
                                *border = change ? find_border(lane, change) : NULL;
    if (border != change)
        ulp_text_show(out, ", by the graph and not by the arithmetic, from node %zu %s (%s) on",
                      border->index, border->name, border->op);
    else if (change)
        ulp_text_show(
            out,
            ", by the graph and not by the arithmetic; node %zu %s (%s) is the first that "
            "is as far off",
            change->index, change->name, change->op);
    return change != NULL;
}
