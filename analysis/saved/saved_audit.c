/* The part of an audit that limits need, out of report.json: names, and figures of outputs. */
#include <math.h>
#include <string.h>

#include "analysis/measure/figure.h"
#include "analysis/saved/saved.h"
#include "base/error.h"
#include "base/machine/environment.h"

struct taking {
    struct ulp_arena *arena;
    bool several; /* samples */
    bool failed;  /* no memory */
    bool older;   /* the report lacks what limits hold against */
};

static size_t read_count(const json_t *object, const char *key)
{
    const json_int_t count = json_integer_value(json_object_get(object, key));
    return count > 0 ? (size_t)count : 0;
}

static char *copy_text(struct taking *taking, const char *text)
{
    char *copy = ulp_arena_text(taking->arena, text, strlen(text));
    taking->failed |= !copy;
    return copy;
}

static void *take(struct taking *taking, size_t count, size_t bytes)
{
    void *array = ulp_arena_take(taking->arena, count ? count : 1, bytes);
    taking->failed |= !array;
    return array;
}

/* Infinite figures are null in JSON: the sqnr of what is equal, and of errors where the reference
 * is 0. How many elements were measured is not known, only whether there were any. */
static struct ulp_metrics read_metrics(const json_t *json)
{
    struct ulp_metrics m = {0};
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        *ulp_figure(&m, f) = ulp_saved_number(json, ulp_figure_rows[f].name);
    if (isnan(m.sqnr_db) && !isnan(m.rms))
        m.sqnr_db = ulp_saved_true(json, "exact") ? (double)INFINITY : (double)-INFINITY;
    m.nonfinite = read_count(json, "nonfinite");
    m.worst_index = read_count(json, "worst_index");
    m.unmeasured = read_count(json, "unmeasured");
    m.diverged = ulp_saved_true(json, "diverged");
    m.count = !isnan(m.rms);
    return m;
}

static struct ulp_audit_output read_output(struct taking *taking, const json_t *json)
{
    struct ulp_audit_output output = {.name = copy_text(taking, ulp_saved_text(json, "name")),
                                      .unpaired = ulp_saved_true(json, "unpaired")};
    const json_t *worst = json_object_get(json, "worst_over_samples"),
                 *followed = json_object_get(json_object_get(json, "divergence"), "followed");
    taking->older |= taking->several && !worst;
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        *ulp_view(&output, v) =
            read_metrics(json_object_get(taking->several ? worst : json, ulp_view_names[v]));
    if (followed && (output.divergence = take(taking, 1, sizeof *output.divergence)) != NULL)
        output.divergence->followed = (struct ulp_followed){true, read_metrics(followed)};
    return output;
}

static void read_outputs(struct taking *taking, struct ulp_audit_node *node, const json_t *list)
{
    const json_t *output;
    size_t o;
    node->outputs = take(taking, json_array_size(list), sizeof *node->outputs);
    json_array_foreach(node->outputs ? list : NULL, o, output) node->outputs[node->output_count++] =
        read_output(taking, output);
}

static void read_lane(struct taking *taking, struct ulp_audit_lane *lane, const json_t *json)
{
    const json_t *nodes = json_object_get(json, "nodes"), *node;
    size_t n;
    lane->name = copy_text(taking, ulp_saved_text(json, "name"));
    lane->nodes = take(taking, json_array_size(nodes), sizeof *lane->nodes);
    json_array_foreach(lane->nodes ? nodes : NULL, n, node)
    {
        struct ulp_audit_node *into = &lane->nodes[lane->node_count++];
        into->index = read_count(node, "index");
        into->name = copy_text(taking, ulp_saved_text(node, "name"));
        into->op = copy_text(taking, ulp_saved_text(node, "op"));
        read_outputs(taking, into, json_object_get(node, "outputs"));
    }
    read_outputs(taking, &lane->outputs, json_object_get(json, "outputs"));
}

static void read_inputs(struct taking *taking, struct ulp_audit *audit, const json_t *list)
{
    const json_t *input;
    size_t i;
    audit->nonfinite_inputs = take(taking, json_array_size(list), sizeof *audit->nonfinite_inputs);
    json_array_foreach(audit->nonfinite_inputs ? list : NULL, i, input)
    {
        const size_t sample = read_count(input, "sample");
        if (sample < audit->sample_count)
            audit->nonfinite_inputs[audit->nonfinite_input_count++] =
                (struct ulp_audit_input){copy_text(taking, ulp_saved_text(input, "input")), sample,
                                         read_count(input, "count")};
    }
}

static struct ulp_audit *read_audit(struct taking *taking, const struct ulp_saved *saved)
{
    const json_t *samples = json_object_get(saved->root, "samples"), *lane, *sample;
    struct ulp_audit *audit = take(taking, 1, sizeof *audit);
    size_t i;
    if (!audit)
        return NULL;
    audit->model_path =
        copy_text(taking, ulp_saved_text(json_object_get(saved->root, "model"), "path"));
    audit->seconds = ulp_saved_number(saved->root, "seconds");
    audit->sample_names = take(taking, json_array_size(samples), sizeof *audit->sample_names);
    json_array_foreach(audit->sample_names ? samples : NULL, i, sample)
    {
        const char *name = json_string_value(sample);
        audit->sample_names[audit->sample_count++] = copy_text(taking, name ? name : "");
    }
    read_inputs(taking, audit, json_object_get(saved->root, "nonfinite_inputs"));
    audit->lanes = take(taking, json_array_size(saved->arithmetics), sizeof *audit->lanes);
    taking->several = audit->sample_count > 1;
    json_array_foreach(audit->lanes ? saved->arithmetics : NULL, i, lane)
        read_lane(taking, &audit->lanes[audit->lane_count++], lane);
    return audit;
}

enum ulp_status ulp_saved_audit(struct ulp_saved *saved, const struct ulp_audit **out,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct taking taking = {0};
    enum ulp_status status = ULP_OK;
    if (!saved->arena)
        status = ulp_arena_create(&saved->arena, saved->budget, error);
    taking.arena = saved->arena;
    if (status == ULP_OK && !saved->audit) {
        struct ulp_audit *audit = read_audit(&taking, saved);
        if (taking.failed)
            status = ulp_fail_memory(error, "%s: out of memory for its figures", saved->path);
        else if (taking.older)
            status = ulp_fail(error, ULP_ERROR_INPUT,
                              "%s: an earlier version wrote it, without the worst figures of its "
                              "samples that limits hold against: audit again",
                              saved->path);
        else
            saved->audit = audit;
    }
    *out = saved->audit;
    return status;
}
