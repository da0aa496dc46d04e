/* One function for each structure writes its fields or reads them, so that the two cannot differ
 * (base/text/coder.h). */
#include "analysis/audit/part.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/measure/figure.h"
#include "base/error.h"
#include "base/machine/environment.h"

void ulp_code_metrics(struct ulp_coder *coder, struct ulp_metrics *metrics)
{
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        ulp_code_double(coder, ulp_figure(metrics, f));
    ulp_code_size(coder, &metrics->nonfinite);
    ulp_code_size(coder, &metrics->worst_index);
    ulp_code_size(coder, &metrics->count);
    ulp_code_size(coder, &metrics->unmeasured);
    ulp_code_double(coder, &metrics->value_norm);
    ulp_code_double(coder, &metrics->base_norm);
    ulp_code_flag(coder, &metrics->diverged);
}

static void code_divergence(struct ulp_coder *coder, struct ulp_divergence *divergence)
{
    ulp_code_flag(coder, &divergence->reshaped);
    ulp_code_size(coder, &divergence->differing);
    ulp_code_size(coder, &divergence->count);
    ulp_code_size(coder, &divergence->first);
    ulp_code_double(coder, &divergence->margin);
    ulp_code_double(coder, &divergence->margin_error);
    ulp_code_flag(coder, &divergence->followed.given);
    ulp_code_metrics(coder, &divergence->followed.metrics);
    ulp_code_flag(coder, &divergence->matched.given);
    ulp_code_double(coder, &divergence->matched.rms);
    ulp_code_double(coder, &divergence->matched.max_abs);
    ulp_code_size(coder, &divergence->matched.rows);
    ulp_code_size(coder, &divergence->matched.moved);
    ulp_code_size(coder, &divergence->matched.differing);
}

static void code_output(struct ulp_coder *coder, struct ulp_audit_output *output)
{
    uint64_t type = output->type, rank = (uint64_t)output->rank;
    bool diverged = output->divergence != NULL;
    ulp_code_text(coder, &output->name);
    ulp_code_number(coder, &type);
    ulp_code_number(coder, &rank);
    coder->wrong |= type >= ULP_TYPE_COUNT || rank > ULP_RANK_MAX || !(output->name || coder->out);
    if (coder->wrong)
        return;
    output->type = (enum ulp_type)type;
    output->rank = (int)rank;
    for (int d = 0; d < output->rank; d++) {
        uint64_t dim = (uint64_t)output->dims[d];
        ulp_code_number(coder, &dim);
        output->dims[d] = (int64_t)dim;
    }
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        ulp_code_metrics(coder, ulp_view(output, v));
    ulp_code_double(coder, &output->range.ref_rms);
    ulp_code_double(coder, &output->range.ref_max);
    ulp_code_double(coder, &output->range.ref_min_nonzero);
    ulp_code_double(coder, &output->range.headroom_bits);
    ulp_code_flag(coder, &output->unpaired);
    ulp_code_flag(coder, &diverged);
    if (diverged && !coder->out)
        output->divergence = ulp_code_take(coder, 1, sizeof *output->divergence);
    if (diverged && !coder->no_memory)
        code_divergence(coder, output->divergence);
}

static void code_node(struct ulp_coder *coder, struct ulp_audit_node *node, size_t overflow_count)
{
    double *const figures[] = {&node->share,       &node->gain,     &node->condition,
                               &node->share_worst, &node->decision, &node->missing,
                               &node->grew};
    bool *const flags[] = {&node->born,    &node->poisoned, &node->reads_overflow, &node->absorbs,
                           &node->decided, &node->stops,    &node->zeroes};
    ulp_code_size(coder, &node->executions);
    ulp_code_count(coder, &node->output_count);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        ulp_code_flag(coder, flags[i]);
    ulp_code_index(coder, &node->overflow, overflow_count);
    ulp_code_index(coder, &node->source, coder->index_count);
    ulp_code_text(coder, &node->zeroed);
    ulp_code_index(coder, &node->zeroed_by, coder->index_count);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        ulp_code_double(coder, figures[i]);
    for (int c = 0; c < ULP_SHARE_CAUSES; c++)
        ulp_code_double(coder, &node->causes[c]);
    if (!coder->out)
        node->outputs = ulp_code_take(coder, node->output_count, sizeof *node->outputs);
    for (size_t o = 0; o < node->output_count && !coder->wrong && !coder->no_memory; o++)
        code_output(coder, &node->outputs[o]);
}

static void code_overflow(struct ulp_coder *coder, struct ulp_audit_overflow *overflow,
                          size_t count)
{
    ptrdiff_t node = (ptrdiff_t)overflow->node;
    ulp_code_index(coder, &node, coder->index_count);
    coder->wrong |= node < 0;
    overflow->node = (size_t)node;
    ulp_code_index(coder, &overflow->absorbed_by, coder->index_count);
    ulp_code_size(coder, &overflow->absorber_count);
    ulp_code_index(coder, &overflow->spoils, coder->index_count);
    ulp_code_flag(coder, &overflow->reaches_output);
    ulp_code_index(coder, &overflow->joins, count);
}

static void code_node_shares(struct ulp_coder *coder, struct ulp_node_shares *shares)
{
    double *const figures[] = {&shares->share,       &shares->gain,     &shares->condition,
                               &shares->share_worst, &shares->decision, &shares->missing};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        ulp_code_double(coder, figures[i]);
    for (int c = 0; c < ULP_SHARE_CAUSES; c++)
        ulp_code_double(coder, &shares->causes[c]);
    ulp_code_flag(coder, &shares->stops);
}

static void code_output_shares(struct ulp_coder *coder, struct ulp_output_shares *shares)
{
    ulp_code_text(coder, &shares->output);
    ulp_code_size(coder, &shares->sample_count);
    ulp_code_double(coder, &shares->sum);
    ulp_code_double(coder, &shares->worst);
    ulp_code_double(coder, &shares->inputs);
    ulp_code_double(coder, &shares->decisions);
    coder->wrong |= !shares->output && !coder->out && !coder->no_memory;
    if (!coder->out)
        shares->nodes = ulp_code_take(coder, coder->index_count, sizeof *shares->nodes);
    for (size_t n = 0; n < coder->index_count && !coder->wrong && !coder->no_memory; n++)
        code_node_shares(coder, &shares->nodes[n]);
}

static void code_attribution(struct ulp_coder *coder, struct ulp_attribution *attribution)
{
    char *reason = (char *)(uintptr_t)attribution->reason;
    ulp_code_flag(coder, &attribution->given);
    ulp_code_text(coder, &reason);
    attribution->reason = reason;
    ulp_code_text(coder, &attribution->output);
    ulp_code_text(coder, &attribution->verified_output);
    ulp_code_count(coder, &attribution->output_count);
    if (!coder->out)
        attribution->outputs =
            ulp_code_take(coder, attribution->output_count, sizeof *attribution->outputs);
    for (size_t o = 0; o < attribution->output_count && !coder->wrong && !coder->no_memory; o++)
        code_output_shares(coder, &attribution->outputs[o]);
    ulp_code_double(coder, &attribution->sum);
    ulp_code_double(coder, &attribution->worst);
    ulp_code_double(coder, &attribution->inputs);
    ulp_code_double(coder, &attribution->decisions);
    ulp_code_count(coder, &attribution->verified_count);
    if (!coder->out)
        attribution->verified =
            ulp_code_take(coder, attribution->verified_count, sizeof *attribution->verified);
    for (size_t v = 0; v < attribution->verified_count && !coder->no_memory; v++) {
        struct ulp_verified *verified = &attribution->verified[v];
        ptrdiff_t node = (ptrdiff_t)verified->node;
        ulp_code_index(coder, &node, coder->index_count);
        coder->wrong |= node < 0;
        verified->node = (size_t)node;
        ulp_code_double(coder, &verified->share);
        ulp_code_double(coder, &verified->held);
        ulp_code_double(coder, &verified->gain);
        ulp_code_double(coder, &verified->kept);
    }
}

static void code_lane(struct ulp_coder *coder, struct ulp_audit_lane *lane)
{
    ulp_code_count(coder, &lane->overflow_count);
    coder->wrong |= lane->overflow_count > coder->index_count;
    if (!coder->out && !coder->wrong)
        lane->overflows = ulp_code_take(coder, lane->overflow_count, sizeof *lane->overflows);
    for (size_t i = 0; i < lane->overflow_count && !coder->wrong && !coder->no_memory; i++)
        code_overflow(coder, &lane->overflows[i], lane->overflow_count);
    for (size_t n = 0; n < coder->index_count && !coder->wrong && !coder->no_memory; n++)
        code_node(coder, &lane->nodes[n], lane->overflow_count);
    code_attribution(coder, &lane->attribution);
    ulp_code_index(coder, &lane->first_decided, coder->index_count);
    ulp_code_index(coder, &lane->qdq_divergence.first, coder->index_count);
    ulp_code_index(coder, &lane->qdq_divergence.first_step, coder->index_count);
    ulp_code_size(coder, &lane->qdq_divergence.steps);
    ulp_code_size(coder, &lane->qdq_divergence.count);
}

/* Exponents of doubles. */
enum { FIRST_EXPONENT = -1023, LAST_EXPONENT = 1023 };

static void code_histogram(struct ulp_coder *coder, struct ulp_histogram *histogram)
{
    uint64_t above = (uint64_t)(histogram->first - FIRST_EXPONENT);
    ulp_code_size(coder, &histogram->zeros);
    ulp_code_size(coder, &histogram->nonfinite);
    ulp_code_number(coder, &above);
    ulp_code_count(coder, &histogram->count);
    if (!coder->out) {
        coder->wrong |= above > LAST_EXPONENT - FIRST_EXPONENT ||
                        histogram->count > LAST_EXPONENT - FIRST_EXPONENT + 1 - above;
        if (coder->wrong)
            return;
        histogram->first = (int)above + FIRST_EXPONENT;
        histogram->counts = ulp_code_take(coder, histogram->count, sizeof *histogram->counts);
    }
    for (size_t i = 0; i < histogram->count && !coder->no_memory; i++)
        ulp_code_size(coder, &histogram->counts[i]);
}

/* The reference's values of the node's outputs; what follows from the model is not encoded. */
static void code_place(struct ulp_coder *coder, struct ulp_place *place)
{
    ulp_code_count(coder, &place->output_count);
    if (!coder->out && place->output_count)
        place->histograms = ulp_code_take(coder, place->output_count, sizeof *place->histograms);
    for (size_t o = 0; o < place->output_count && !coder->wrong && !coder->no_memory; o++)
        code_histogram(coder, &place->histograms[o]);
}

static void code_inputs(struct ulp_coder *coder, struct ulp_audit *audit)
{
    ulp_code_count(coder, &audit->nonfinite_input_count);
    if (!coder->out)
        audit->nonfinite_inputs =
            ulp_code_take(coder, audit->nonfinite_input_count, sizeof *audit->nonfinite_inputs);
    for (size_t i = 0; i < audit->nonfinite_input_count && !coder->wrong && !coder->no_memory;
         i++) {
        ulp_code_text(coder, &audit->nonfinite_inputs[i].name);
        ulp_code_size(coder, &audit->nonfinite_inputs[i].count);
        coder->wrong |= !audit->nonfinite_inputs[i].name;
    }
}

static void code_quick(struct ulp_coder *coder, struct ulp_quick_check *quick)
{
    size_t node = quick->given ? (size_t)(quick->worst_node + 1) : 0; /* a model may have none */
    ulp_code_flag(coder, &quick->given);
    ulp_code_size(coder, &quick->exact);
    ulp_code_size(coder, &quick->sampled);
    ulp_code_size(coder, &quick->whole);
    ulp_code_size(coder, &quick->unjudged);
    ulp_code_size(coder, &quick->elements);
    ulp_code_double(coder, &quick->worst_ratio);
    ulp_code_size(coder, &node);
    ulp_code_size(coder, &quick->doubtful);
    coder->wrong |= node > coder->index_count;
    quick->worst_node = coder->wrong ? -1 : (ptrdiff_t)node - 1;
}

/* Lanes and nodes are there. */
static void code_audit(struct ulp_coder *coder, struct ulp_audit *audit)
{
    uint64_t lanes = audit->lane_count, nodes = coder->index_count;
    ulp_code_number(coder, &lanes);
    ulp_code_number(coder, &nodes);
    coder->wrong |= lanes != audit->lane_count || nodes != coder->index_count;
    ulp_code_text(coder, audit->sample_names);
    coder->wrong |= !coder->no_memory && !audit->sample_names[0];
    code_inputs(coder, audit);
    ulp_code_flag(coder, &audit->certificate.given);
    ulp_code_double(coder, &audit->certificate.output_digits);
    ulp_code_double(coder, &audit->certificate.node_digits);
    ulp_code_text(coder, &audit->certificate.node);
    code_quick(coder, &audit->quick);
    ulp_code_double(coder, &audit->seconds);
    ulp_code_size(coder, &audit->peak_bytes);
    for (size_t l = 0; l < audit->lane_count && !coder->wrong && !coder->no_memory; l++)
        code_lane(coder, &audit->lanes[l]);
    for (size_t n = 0; n < audit->place_count && !coder->wrong && !coder->no_memory; n++)
        code_place(coder, &audit->places[n]);
}

enum ulp_status ulp_part_encode(const struct ulp_audit *sample, unsigned char **bytes,
                                size_t *count, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text text = {0};
    struct ulp_audit audit = *sample; /* not changed: `out` is set */
    struct ulp_coder coder = {.out = &text, .index_count = sample->lanes[0].node_count};
    *bytes = NULL;
    if (sample->sample_count != 1)
        return ulp_fail(error, ULP_ERROR_USAGE, "an audit of one sample is encoded, not of %zu",
                        sample->sample_count);
    code_audit(&coder, &audit);
    *bytes = (unsigned char *)text.data;
    *count = text.length;
    if (!text.failed)
        return ULP_OK;
    ulp_text_free(&text);
    *bytes = NULL;
    return ulp_out_of_memory(error);
}

enum ulp_status ulp_part_decode(struct ulp_audit *out, const void *bytes, size_t count,
                                size_t lane_count, size_t node_count, struct ulp_arena *arena,
                                struct ulp_error *error)
{
    struct ulp_coder coder = {.at = bytes,
                              .end = (const unsigned char *)bytes + count,
                              .arena = arena,
                              .index_count = node_count};
    *out =
        (struct ulp_audit){.lane_count = lane_count, .sample_count = 1, .place_count = node_count};
    out->places = ulp_code_take(&coder, node_count, sizeof *out->places);
    out->sample_names = ulp_code_take(&coder, 1, sizeof *out->sample_names);
    out->lanes = ulp_code_take(&coder, lane_count, sizeof *out->lanes);
    for (size_t l = 0; l < lane_count && !coder.no_memory; l++) {
        out->lanes[l].node_count = node_count;
        out->lanes[l].nodes = ulp_code_take(&coder, node_count, sizeof *out->lanes[l].nodes);
    }
    if (!coder.no_memory)
        code_audit(&coder, out);
    if (coder.no_memory)
        return ulp_out_of_memory(error);
    return coder.wrong || coder.at != coder.end
               ? ulp_fail(error, ULP_ERROR_INPUT,
                          "does not hold the figures of a sample of this model in %zu arithmetics",
                          lane_count)
               : ULP_OK;
}
