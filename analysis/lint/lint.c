/* Running the rules. */
#include "analysis/lint/lint.h"

#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "data/data.h"
#include "base/options.h"

#define ULP_LINT_WEAK (ULP_TARGET_TRT8 | ULP_TARGET_TRT10)
#define ULP_LINT_TRT (ULP_TARGET_TRT8 | ULP_TARGET_TRT10 | ULP_TARGET_TRT11 | ULP_TARGET_TRT_RTX)
#define RULE_node(function) .node = function
#define RULE_each(operators) .ops = operators, RULE_node
#define RULE_entry(function) .entry = function
#define RULE_request(function) .request = function
#define RULE_once(function) .once = function
#define RULE_harmless(function) .once = function, .harmless = true
#define RULE_refuses(function) .once = function, .refuses = true
#define RULE(id, kind, function, severity, targets, what, why, fix, source) \
    {{id, ULP_SEVERITY_##severity, targets, what, why, fix, source}, RULE_##kind(function)},
const struct ulp_lint_row ulp_lint_rows[] = {
#include "analysis/lint/rule.def"
};
const size_t ulp_lint_row_count = sizeof ulp_lint_rows / sizeof *ulp_lint_rows;

ULP_NAMES(ulp_severity_name, enum ulp_severity, "note", "warning", "error")

bool ulp_lint_rule(size_t index, struct ulp_lint_rule *out)
{
    if (index < ulp_lint_row_count)
        *out = ulp_lint_rows[index].rule;
    return index < ulp_lint_row_count;
}

ptrdiff_t ulp_lint_rule_find(const char *id)
{
    for (size_t i = 0; i < ulp_lint_row_count; i++)
        if (strcmp(ulp_lint_rows[i].rule.id, id) == 0)
            return (ptrdiff_t)i;
    return -1;
}

static enum ulp_status read_options(struct ulp_lint *lint, struct ulp_error *error)
{
    const struct ulp_lint_options *options = lint->options;
    if (options->layer_precisions)
        ULP_TRY(ulp_layer_options_parse(options->layer_precisions, ULP_LAYER_PRECISIONS,
                                        lint->arena, &lint->precisions, error));
    if (options->layer_output_types)
        ULP_TRY(ulp_layer_options_parse(options->layer_output_types, ULP_LAYER_OUTPUT_TYPES,
                                        lint->arena, &lint->output_types, error));
    return ULP_OK;
}

static void run_rules(struct ulp_lint *lint)
{
    for (size_t r = 0; r < ulp_lint_row_count; r++) {
        const struct ulp_lint_row *row = &ulp_lint_rows[r];
        if (!(row->rule.targets & lint->targets))
            continue;
        lint->common = (struct ulp_finding){.row = r,
                                            .rule = row->rule.id,
                                            .severity = row->rule.severity,
                                            .what = row->rule.what,
                                            .fix = row->rule.fix};
        if (row->once)
            row->once(lint);
        if (row->entry)
            ulp_lint_each_entry(lint, row->entry);
        if (row->request)
            ulp_lint_each_request(lint, row->request);
        for (size_t n = 0; n < lint->node_count && row->node; n++)
            if (!row->ops || ulp_lint_is_any(lint->places[n], row->ops))
                row->node(lint, lint->places[n]);
    }
}

/* "batch, x[2]": the inputs' free dimensions that no one gave a size. False: no memory. */
static bool list_assumed(const struct ulp_lint *lint, const char **out)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (!lint->options->inputs)
        ulp_dims_say_open(&text, lint->model, lint->options->dims, lint->options->dim_count, ", ",
                          false);
    *out = text.length ? ulp_arena_text(lint->arena, text.data, text.length) : NULL;
    return !text.failed && (!text.length || *out);
}

/* The graph as pages draw it. */
static bool list_places(struct ulp_lint *lint, struct ulp_lint_result *out)
{
    out->places = ulp_arena_take(lint->arena, lint->node_count + 1, sizeof *out->places);
    for (size_t n = 0; out->places && n < lint->node_count; n++) {
        const struct ulp_lint_place at = lint->places[n];
        struct ulp_place *place = &out->places[out->place_count++];
        const char *name = ulp_lint_node_name(lint, at.graph, at.node->name);
        place->name = name ? ulp_arena_copy(lint->arena, name) : NULL;
        place->op = ulp_arena_copy(lint->arena, at.node->op_type);
        place->inputs =
            ulp_arena_take(lint->arena, at.node->input_count + 1, sizeof *place->inputs);
        if (!place->name || !place->op || !place->inputs)
            return false;
        for (size_t i = 0; i < at.node->input_count; i++) {
            const int value = ulp_lint_input(at, i);
            if (value < 0)
                continue;
            const struct ulp_lint_place source = ulp_lint_producer(at.graph, value);
            place->inputs[place->input_count++] =
                (struct ulp_link){.name = ulp_arena_copy(lint->arena,
                                                         ulp_lint_value_name(at.graph, value)),
                                  .node = source.node ? (ptrdiff_t)ulp_lint_number(source) : -1,
                                  .constant = ulp_lint_constant(at.graph, value) != NULL};
        }
    }
    return out->places != NULL;
}

static enum ulp_status look_for_findings(struct ulp_lint *lint, struct ulp_lint_result *out,
                                         struct ulp_error *error)
{
    ULP_TRY(ulp_lint_view(lint, error));
    ULP_TRY(read_options(lint, error));
    run_rules(lint);
    if (lint->failed && lint->unplanned) /* how much memory a plan would take, and at which node */
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s", lint->unplanned);
    out->model_path = ulp_arena_copy(lint->arena, lint->model->path);
    out->unplanned = lint->unplanned;
    ULP_TRY(ulp_taken(!lint->failed && out->model_path && list_assumed(lint, &out->assumed) &&
                          list_places(lint, out),
                      error));
    out->targets = lint->targets;
    out->node_count = lint->node_count;
    out->findings = lint->findings;
    out->finding_count = lint->finding_count;
    for (size_t f = 0; f < out->finding_count; f++)
        out->counts[out->findings[f].severity]++;
    return ULP_OK;
}

enum ulp_status ulp_lint_run(const struct ulp_model *model, const struct ulp_lint_options *options,
                             struct ulp_lint_result *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_lint_result){0};
    ULP_OPTIONS_TAKE(ulp_lint_options, options, error);
    ULP_TRY(ulp_dims_check(model, options->dims, options->dim_count, error));
    const double started = ulp_seconds_now();
    struct ulp_lint lint = {.model = model, .options = options};
    lint.targets = lint.options->targets ? lint.options->targets : ULP_TARGET_ALL;
    enum ulp_status status = ulp_arena_create(&lint.arena, ulp_model_budget(model), error);
    out->memory = lint.arena;
    ULP_THEN(status, look_for_findings(&lint, out, error));
    ulp_lint_free_plans(&lint);
    ulp_layer_options_free(&lint.precisions);
    ulp_layer_options_free(&lint.output_types);
    ulp_names_free(&lint.names);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_lint_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_lint_free, struct ulp_lint_result)
