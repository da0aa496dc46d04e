/* A node and its figures in report.json; its schema is in doc/report.md. */
#include "analysis/report/json_node.h"

#include <math.h>

#include "analysis/audit/audit_overflow.h"
#include "analysis/measure/figure.h"

#define SET(object, values, NAME) ulp_json_set(object, #NAME, ulp_json_number((values)->NAME))

json_t *ulp_json_metrics(const struct ulp_metrics *m)
{
    json_t *object = json_object();
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        ulp_json_set(&object, ulp_figure_rows[f].name, ulp_json_number(ulp_figure_get(m, f)));
    ulp_json_set(&object, "nonfinite", json_integer((json_int_t)m->nonfinite));
    ulp_json_set(&object, "worst_index", json_integer((json_int_t)m->worst_index));
    if (m->unmeasured)
        ulp_json_set(&object, "unmeasured", json_integer((json_int_t)m->unmeasured));
    if (m->count && m->rms == 0 && !m->nonfinite && !m->diverged)
        ulp_json_set(&object, "exact", json_true()); /* sqnr_db is infinite: null */
    if (m->diverged)
        ulp_json_set(&object, "diverged", json_true());
    return object;
}

static json_t *make_divergence(const struct ulp_divergence *divergence)
{
    json_t *object = json_object(), *matched = json_object();
    if (divergence->reshaped)
        ulp_json_set(&object, "reshaped", json_true());
    if (divergence->count) {
        ulp_json_set(&object, "differing", json_integer((json_int_t)divergence->differing));
        ulp_json_set(&object, "count", json_integer((json_int_t)divergence->count));
        ulp_json_set(&object, "first",
                     divergence->differing ? json_integer((json_int_t)divergence->first)
                                           : json_null());
    }
    if (!isnan(divergence->margin)) {
        ulp_json_set(&object, "margin", ulp_json_number(divergence->margin));
        ulp_json_set(&object, "margin_error", ulp_json_number(divergence->margin_error));
    }
    if (divergence->followed.given)
        ulp_json_set(&object, "followed", ulp_json_metrics(&divergence->followed.metrics));
    ulp_json_set(&matched, "rms", ulp_json_number(divergence->matched.rms));
    ulp_json_set(&matched, "max_abs", ulp_json_number(divergence->matched.max_abs));
    ulp_json_set(&matched, "rows", json_integer((json_int_t)divergence->matched.rows));
    ulp_json_set(&matched, "moved", json_integer((json_int_t)divergence->matched.moved));
    ulp_json_set(&matched, "differing", json_integer((json_int_t)divergence->matched.differing));
    if (divergence->matched.given)
        ulp_json_set(&object, "matched", matched);
    else
        json_decref(matched);
    return object;
}

/* What limits hold against: of a node only counts of values that are not finite. */
static json_t *make_limits(const struct ulp_audit_output *output, bool is_graphs)
{
    json_t *object = json_object();
    for (int v = 0; v < ULP_VIEW_COUNT; v++) {
        const struct ulp_metrics *limit = ulp_view_limit_get(output, v);
        json_t *count = is_graphs || !limit->nonfinite ? NULL : json_object();
        if (count)
            ulp_json_set(&count, "nonfinite", json_integer((json_int_t)limit->nonfinite));
        if (is_graphs || limit->nonfinite)
            ulp_json_set(&object, ulp_view_names[v], is_graphs ? ulp_json_metrics(limit) : count);
    }
    return object;
}

static json_t *make_output(const struct ulp_audit *audit, const struct ulp_audit_output *output,
                           bool is_graphs)
{
    json_t *object = json_object(), *shape = json_array(), *range = json_object();
    ulp_json_set(&object, "name", ulp_json_text(output->name));
    ulp_json_set(&object, "type", json_string(ulp_type_name(output->type)));
    for (int d = 0; d < output->rank; d++)
        ulp_json_append(&shape, json_integer(output->dims[d]));
    ulp_json_set(&object, "shape", shape);
    if (output->unpaired)
        ulp_json_set(&object, "unpaired", json_true());
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        ulp_json_set(&object, ulp_view_names[v], ulp_json_metrics(ulp_view_get(output, v)));
    if (output->divergence)
        ulp_json_set(&object, "divergence", make_divergence(output->divergence));
    SET(&range, &output->range, ref_rms);
    SET(&range, &output->range, ref_max);
    SET(&range, &output->range, ref_min_nonzero);
    SET(&range, &output->range, headroom_bits);
    ulp_json_set(&object, "range", range);
    if (audit->sample_count > 1) {
        json_t *mean = json_object();
        for (int v = 0; v < ULP_VIEW_COUNT; v++)
            ulp_json_set(&mean, ulp_view_names[v], ulp_json_metrics(ulp_view_mean_get(output, v)));
        ulp_json_set(&object, "mean_over_samples", mean);
        ulp_json_set(&object, "worst_over_samples", make_limits(output, is_graphs));
        ulp_json_set(&object, "worst_sample",
                     ulp_json_text(audit->sample_names[output->worst_sample]));
    }
    return object;
}

json_t *ulp_json_outputs(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                         const struct ulp_audit_node *node)
{
    json_t *array = json_array();
    for (size_t o = 0; o < node->output_count; o++)
        ulp_json_append(&array, make_output(audit, &node->outputs[o], node == &lane->outputs));
    return array;
}

/* What derivatives miss at a node is rounding below this. */
#define MISSING_SHOWN 1e-4

/* Those that are not 0. */
static json_t *make_causes(const struct ulp_audit_node *node)
{
    json_t *object = json_object();
    for (int c = 0; c < ULP_SHARE_CAUSES; c++)
        if (node->causes[c] != 0)
            ulp_json_set(&object, ulp_share_cause_name((enum ulp_share_cause)c, NULL, NULL),
                         ulp_json_number(node->causes[c]));
    return object;
}

json_t *ulp_json_node(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *node)
{
    json_t *entry = json_object();
    ulp_json_set(&entry, "index", json_integer((json_int_t)node->index));
    ulp_json_set(&entry, "name", ulp_json_text(node->name));
    ulp_json_set(&entry, "op", ulp_json_text(node->op));
    if (node->kept >= 0)
        ulp_json_set(&entry, "arithmetic", ulp_json_text(lane->kept[node->kept].name));
    if (node->kernel.kernel)
        ulp_json_set(&entry, "kernel", json_integer((json_int_t)node->kernel.kernel));
    if (node->kernel.unstored)
        ulp_json_set(&entry, "stored", json_false());
    if (ulp_audit_is_absorbed(lane, node))
        ulp_json_set(&entry, "overflow_absorbed", json_true());
    if (node->types.product) {
        ulp_json_set(&entry, "weight_type",
                     node->types.weight == ULP_TYPE_UNDEFINED
                         ? json_null()
                         : ulp_json_text(ulp_type_name(node->types.weight)));
        ulp_json_set(&entry, "compute_type", ulp_json_text(node->types.compute));
    }
    if (node->executions != audit->sample_count)
        ulp_json_set(&entry, "executions", json_integer((json_int_t)node->executions));
    if (node->born)
        ulp_json_set(&entry, "nonfinite_born", json_true());
    if (node->zeroed)
        ulp_json_set(&entry, "zeroed_input", ulp_json_text(node->zeroed));
    if (node->poisoned)
        ulp_json_set(&entry, "nonfinite_poisoned", json_true());
    if (isfinite(node->grew))
        ulp_json_set(&entry, "grew", ulp_json_number(node->grew));
    if (lane->attribution.given) {
        ulp_json_set(&entry, "share", ulp_json_number(node->share));
        ulp_json_set(&entry, "gain", ulp_json_number(node->gain));
        if (node->share != 0)
            ulp_json_set(&entry, "causes", make_causes(node));
        ulp_json_set(&entry, "condition", ulp_json_number(node->condition));
        if (lane->attribution.sample_count > 1)
            ulp_json_set(&entry, "share_worst", ulp_json_number(node->share_worst));
        if (node->decision != 0)
            ulp_json_set(&entry, "decision", ulp_json_number(node->decision));
        if (fabs(node->missing) >= MISSING_SHOWN)
            ulp_json_set(&entry, "missing", ulp_json_number(node->missing));
        if (node->stops)
            ulp_json_set(&entry, "derivative_stops", json_true());
    }
    ulp_json_set(&entry, "outputs", ulp_json_outputs(audit, lane, node));
    return entry;
}

static json_t *make_histogram(const struct ulp_histogram *histogram)
{
    json_t *object = json_object(), *counts = json_array();
    ulp_json_set(&object, "zeros", json_integer((json_int_t)histogram->zeros));
    ulp_json_set(&object, "nonfinite", json_integer((json_int_t)histogram->nonfinite));
    ulp_json_set(&object, "first", json_integer(histogram->first));
    for (size_t i = 0; i < histogram->count; i++)
        ulp_json_append(&counts, json_integer((json_int_t)histogram->counts[i]));
    ulp_json_set(&object, "counts", counts);
    return object;
}

json_t *ulp_json_place(const struct ulp_place *place)
{
    json_t *object = json_object(), *inputs = json_array(), *histograms = json_array();
    ulp_json_set(&object, "formula", place->formula ? ulp_json_text(place->formula) : json_null());
    for (size_t i = 0; i < place->input_count; i++) {
        const struct ulp_link *link = &place->inputs[i];
        json_t *input = json_object();
        ulp_json_set(&input, "name", ulp_json_text(link->name));
        if (link->node >= 0)
            ulp_json_set(&input, "node", json_integer(link->node));
        if (link->constant)
            ulp_json_set(&input, "constant", json_true());
        ulp_json_append(&inputs, input);
    }
    ulp_json_set(&object, "inputs", inputs);
    for (size_t o = 0; o < place->output_count; o++)
        ulp_json_append(&histograms, make_histogram(&place->histograms[o]));
    ulp_json_set(&object, "histograms", histograms);
    return object;
}
