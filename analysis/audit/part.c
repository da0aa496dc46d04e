/* One function for each structure writes its fields or reads them, so that the two cannot differ.
 * Numbers are eight bytes, the low one first; a double is its bits. What is read comes from a file:
 * counts and indexes are checked before they are used. */
#include "analysis/audit/part.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/measure/figure.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/text/text.h"

#define TEXT_MAX ((size_t)1 << 24)

struct coder {
    struct ulp_text *out; /* NULL: reading */
    const unsigned char *at, *end;
    struct ulp_arena *arena;
    bool wrong, no_memory;
    size_t node_count;
};

static void code_number(struct coder *coder, uint64_t *number)
{
    unsigned char bytes[8];
    if (coder->out) {
        for (int i = 0; i < 8; i++)
            bytes[i] = (unsigned char)(*number >> 8 * i);
        ulp_text_put(coder->out, (const char *)bytes, sizeof bytes);
        return;
    }
    *number = 0;
    coder->wrong |= coder->end - coder->at < 8;
    if (coder->wrong)
        return;
    for (int i = 0; i < 8; i++)
        *number |= (uint64_t)coder->at[i] << 8 * i;
    coder->at += 8;
}

static void code_double(struct coder *coder, double *value)
{
    uint64_t bits = 0;
    if (coder->out)
        memcpy(&bits, value, sizeof bits);
    code_number(coder, &bits);
    memcpy(value, &bits, sizeof bits);
}

static void code_size(struct coder *coder, size_t *size)
{
    uint64_t number = *size;
    code_number(coder, &number);
    *size = (size_t)number;
}

static void code_flag(struct coder *coder, bool *flag)
{
    uint64_t number = *flag;
    code_number(coder, &number);
    coder->wrong |= number > 1;
    *flag = number == 1;
}

/* -1, or below count. */
static void code_index(struct coder *coder, ptrdiff_t *index, size_t count)
{
    uint64_t number = (uint64_t)*index + 1;
    code_number(coder, &number);
    if (coder->out)
        return;
    coder->wrong |= number > count;
    *index = coder->wrong ? -1 : (ptrdiff_t)number - 1;
}

/* A count of things of which each takes eight bytes at least. */
static void code_count(struct coder *coder, size_t *count)
{
    code_size(coder, count);
    if (!coder->out && (coder->wrong || *count > (size_t)(coder->end - coder->at) / 8)) {
        coder->wrong = true;
        *count = 0;
    }
}

static void *take(struct coder *coder, size_t count, size_t bytes)
{
    void *memory = coder->no_memory ? NULL : ulp_arena_take(coder->arena, count + 1, bytes);
    coder->no_memory |= !memory;
    return memory;
}

/* NULL is kept apart from the empty text. */
static void code_text(struct coder *coder, char **text)
{
    bool given = coder->out && *text;
    size_t length = given ? strlen(*text) : 0;
    code_flag(coder, &given);
    code_size(coder, &length);
    if (coder->out) {
        ulp_text_put(coder->out, given ? *text : "", length);
        return;
    }
    *text = NULL;
    coder->wrong |= length > TEXT_MAX || length > (size_t)(coder->end - coder->at) ||
                    (!given && length) || memchr(coder->at, 0, coder->wrong ? 0 : length);
    if (coder->wrong || !given)
        return;
    *text = ulp_arena_text(coder->arena, (const char *)coder->at, length);
    coder->no_memory |= !*text;
    coder->at += length;
}

static void code_metrics(struct coder *coder, struct ulp_metrics *metrics)
{
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        code_double(coder, ulp_figure(metrics, f));
    code_size(coder, &metrics->nonfinite);
    code_size(coder, &metrics->worst_index);
    code_size(coder, &metrics->count);
    code_size(coder, &metrics->unmeasured);
    code_double(coder, &metrics->value_norm);
    code_double(coder, &metrics->base_norm);
    code_flag(coder, &metrics->diverged);
}

static void code_divergence(struct coder *coder, struct ulp_divergence *divergence)
{
    code_flag(coder, &divergence->reshaped);
    code_size(coder, &divergence->differing);
    code_size(coder, &divergence->count);
    code_size(coder, &divergence->first);
    code_double(coder, &divergence->margin);
    code_double(coder, &divergence->margin_error);
    code_flag(coder, &divergence->followed.given);
    code_metrics(coder, &divergence->followed.metrics);
    code_flag(coder, &divergence->matched.given);
    code_double(coder, &divergence->matched.rms);
    code_double(coder, &divergence->matched.max_abs);
    code_size(coder, &divergence->matched.rows);
    code_size(coder, &divergence->matched.moved);
    code_size(coder, &divergence->matched.differing);
}

static void code_output(struct coder *coder, struct ulp_audit_output *output)
{
    uint64_t type = output->type, rank = (uint64_t)output->rank;
    bool diverged = output->divergence != NULL;
    code_text(coder, &output->name);
    code_number(coder, &type);
    code_number(coder, &rank);
    coder->wrong |= type >= ULP_TYPE_COUNT || rank > ULP_RANK_MAX || !(output->name || coder->out);
    if (coder->wrong)
        return;
    output->type = (enum ulp_type)type;
    output->rank = (int)rank;
    for (int d = 0; d < output->rank; d++) {
        uint64_t dim = (uint64_t)output->dims[d];
        code_number(coder, &dim);
        output->dims[d] = (int64_t)dim;
    }
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        code_metrics(coder, ulp_view(output, v));
    code_double(coder, &output->range.ref_rms);
    code_double(coder, &output->range.ref_max);
    code_double(coder, &output->range.ref_min_nonzero);
    code_double(coder, &output->range.headroom_bits);
    code_flag(coder, &output->unpaired);
    code_flag(coder, &diverged);
    if (diverged && !coder->out)
        output->divergence = take(coder, 1, sizeof *output->divergence);
    if (diverged && !coder->no_memory)
        code_divergence(coder, output->divergence);
}

static void code_node(struct coder *coder, struct ulp_audit_node *node, size_t overflow_count)
{
    double *const figures[] = {&node->share,       &node->gain,     &node->condition,
                               &node->share_worst, &node->decision, &node->missing,
                               &node->grew};
    bool *const flags[] = {&node->born,    &node->poisoned, &node->reads_overflow,
                           &node->absorbs, &node->decided,  &node->stops};
    code_size(coder, &node->executions);
    code_count(coder, &node->output_count);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        code_flag(coder, flags[i]);
    code_index(coder, &node->overflow, overflow_count);
    code_index(coder, &node->source, coder->node_count);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        code_double(coder, figures[i]);
    for (int c = 0; c < ULP_SHARE_CAUSES; c++)
        code_double(coder, &node->causes[c]);
    if (!coder->out)
        node->outputs = take(coder, node->output_count, sizeof *node->outputs);
    for (size_t o = 0; o < node->output_count && !coder->wrong && !coder->no_memory; o++)
        code_output(coder, &node->outputs[o]);
}

static void code_overflow(struct coder *coder, struct ulp_audit_overflow *overflow, size_t count)
{
    ptrdiff_t node = (ptrdiff_t)overflow->node;
    code_index(coder, &node, coder->node_count);
    coder->wrong |= node < 0;
    overflow->node = (size_t)node;
    code_index(coder, &overflow->absorbed_by, coder->node_count);
    code_size(coder, &overflow->absorber_count);
    code_index(coder, &overflow->spoils, coder->node_count);
    code_flag(coder, &overflow->reaches_output);
    code_index(coder, &overflow->joins, count);
}

static void code_attribution(struct coder *coder, struct ulp_attribution *attribution)
{
    char *reason = (char *)(uintptr_t)attribution->reason;
    code_flag(coder, &attribution->given);
    code_text(coder, &reason);
    attribution->reason = reason;
    code_text(coder, &attribution->output);
    code_double(coder, &attribution->sum);
    code_double(coder, &attribution->worst);
    code_double(coder, &attribution->inputs);
    code_double(coder, &attribution->decisions);
    code_count(coder, &attribution->verified_count);
    if (!coder->out)
        attribution->verified =
            take(coder, attribution->verified_count, sizeof *attribution->verified);
    for (size_t v = 0; v < attribution->verified_count && !coder->no_memory; v++) {
        struct ulp_verified *verified = &attribution->verified[v];
        ptrdiff_t node = (ptrdiff_t)verified->node;
        code_index(coder, &node, coder->node_count);
        coder->wrong |= node < 0;
        verified->node = (size_t)node;
        code_double(coder, &verified->share);
        code_double(coder, &verified->held);
        code_double(coder, &verified->gain);
        code_double(coder, &verified->kept);
    }
}

static void code_lane(struct coder *coder, struct ulp_audit_lane *lane)
{
    code_count(coder, &lane->overflow_count);
    coder->wrong |= lane->overflow_count > coder->node_count;
    if (!coder->out && !coder->wrong)
        lane->overflows = take(coder, lane->overflow_count, sizeof *lane->overflows);
    for (size_t i = 0; i < lane->overflow_count && !coder->wrong && !coder->no_memory; i++)
        code_overflow(coder, &lane->overflows[i], lane->overflow_count);
    for (size_t n = 0; n < coder->node_count && !coder->wrong && !coder->no_memory; n++)
        code_node(coder, &lane->nodes[n], lane->overflow_count);
    code_attribution(coder, &lane->attribution);
    code_index(coder, &lane->first_decided, coder->node_count);
    code_index(coder, &lane->qdq_divergence.first, coder->node_count);
    code_index(coder, &lane->qdq_divergence.first_step, coder->node_count);
    code_size(coder, &lane->qdq_divergence.steps);
    code_size(coder, &lane->qdq_divergence.count);
}

/* Exponents of doubles. */
enum { FIRST_EXPONENT = -1023, LAST_EXPONENT = 1023 };

static void code_histogram(struct coder *coder, struct ulp_histogram *histogram)
{
    uint64_t above = (uint64_t)(histogram->first - FIRST_EXPONENT);
    code_size(coder, &histogram->zeros);
    code_size(coder, &histogram->nonfinite);
    code_number(coder, &above);
    code_count(coder, &histogram->count);
    if (!coder->out) {
        coder->wrong |= above > LAST_EXPONENT - FIRST_EXPONENT ||
                        histogram->count > LAST_EXPONENT - FIRST_EXPONENT + 1 - above;
        if (coder->wrong)
            return;
        histogram->first = (int)above + FIRST_EXPONENT;
        histogram->counts = take(coder, histogram->count, sizeof *histogram->counts);
    }
    for (size_t i = 0; i < histogram->count && !coder->no_memory; i++)
        code_size(coder, &histogram->counts[i]);
}

/* The reference's values of the node's outputs; what follows from the model is not encoded. */
static void code_place(struct coder *coder, struct ulp_place *place)
{
    code_count(coder, &place->output_count);
    if (!coder->out && place->output_count)
        place->histograms = take(coder, place->output_count, sizeof *place->histograms);
    for (size_t o = 0; o < place->output_count && !coder->wrong && !coder->no_memory; o++)
        code_histogram(coder, &place->histograms[o]);
}

static void code_inputs(struct coder *coder, struct ulp_audit *audit)
{
    code_count(coder, &audit->nonfinite_input_count);
    if (!coder->out)
        audit->nonfinite_inputs =
            take(coder, audit->nonfinite_input_count, sizeof *audit->nonfinite_inputs);
    for (size_t i = 0; i < audit->nonfinite_input_count && !coder->wrong && !coder->no_memory;
         i++) {
        code_text(coder, &audit->nonfinite_inputs[i].name);
        code_size(coder, &audit->nonfinite_inputs[i].count);
        coder->wrong |= !audit->nonfinite_inputs[i].name;
    }
}

static void code_quick(struct coder *coder, struct ulp_quick_check *quick)
{
    size_t node = (size_t)(quick->worst_node + 1);
    code_flag(coder, &quick->given);
    code_size(coder, &quick->exact);
    code_size(coder, &quick->sampled);
    code_size(coder, &quick->whole);
    code_size(coder, &quick->unjudged);
    code_size(coder, &quick->elements);
    code_double(coder, &quick->worst_ratio);
    code_size(coder, &node);
    code_size(coder, &quick->doubtful);
    code_size(coder, &quick->recomputed);
    coder->wrong |= node > coder->node_count;
    quick->worst_node = (ptrdiff_t)node - 1;
}

/* Lanes and nodes are there. */
static void code_audit(struct coder *coder, struct ulp_audit *audit)
{
    uint64_t lanes = audit->lane_count, nodes = coder->node_count;
    code_number(coder, &lanes);
    code_number(coder, &nodes);
    coder->wrong |= lanes != audit->lane_count || nodes != coder->node_count;
    code_text(coder, audit->sample_names);
    coder->wrong |= !coder->no_memory && !audit->sample_names[0];
    code_inputs(coder, audit);
    code_flag(coder, &audit->certificate.given);
    code_double(coder, &audit->certificate.output_digits);
    code_double(coder, &audit->certificate.node_digits);
    code_text(coder, &audit->certificate.node);
    code_quick(coder, &audit->quick);
    code_double(coder, &audit->seconds);
    code_size(coder, &audit->peak_bytes);
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
    struct coder coder = {.out = &text, .node_count = sample->lanes[0].node_count};
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
    return ulp_fail_memory(error, "out of memory for the figures of a sample");
}

enum ulp_status ulp_part_decode(struct ulp_audit *out, const void *bytes, size_t count,
                                size_t lane_count, size_t node_count, struct ulp_arena *arena,
                                struct ulp_error *error)
{
    struct coder coder = {.at = bytes,
                          .end = (const unsigned char *)bytes + count,
                          .arena = arena,
                          .node_count = node_count};
    *out =
        (struct ulp_audit){.lane_count = lane_count, .sample_count = 1, .place_count = node_count};
    out->places = take(&coder, node_count, sizeof *out->places);
    out->sample_names = take(&coder, 1, sizeof *out->sample_names);
    out->lanes = take(&coder, lane_count, sizeof *out->lanes);
    for (size_t l = 0; l < lane_count && !coder.no_memory; l++) {
        out->lanes[l].node_count = node_count;
        out->lanes[l].nodes = take(&coder, node_count, sizeof *out->lanes[l].nodes);
    }
    if (!coder.no_memory)
        code_audit(&coder, out);
    if (coder.no_memory)
        return ulp_fail_memory(error, "out of memory for the figures of a sample");
    return coder.wrong || coder.at != coder.end
               ? ulp_fail(error, ULP_ERROR_INPUT,
                          "does not hold the figures of a sample of this model in %zu arithmetics",
                          lane_count)
               : ULP_OK;
}
