/* A model looked at in runs, for edits of it. */
#include "analysis/fix/fixing.h"
#include "base/error.h"

enum ulp_status ulp_fix_look_open(struct ulp_fix_looking *looking, const struct ulp_model *model,
                                  struct ulp_error *error)
{
    static const struct ulp_lint_options defaults;
    struct ulp_lint *lint = &looking->p.lint;
    const struct ulp_graph *graph = model->graph;
    lint->model = model;
    lint->options = &defaults;
    lint->targets = ULP_TARGET_ALL;
    lint->overriding = true;
    looking->names.budget = ulp_model_budget(model);
    ULP_TRY(ulp_arena_create(&lint->arena, ulp_model_budget(model), error));
    for (size_t v = 0; v < graph->value_count; v++)
        ULP_TRY(ulp_taken(ulp_names_find(&looking->names, graph->values[v].name) >= 0 ||
                              ulp_names_add(&looking->names, graph->values[v].name, (int)v),
                          error));
    return ulp_lint_view(lint, error);
}

enum ulp_status ulp_fix_look_run(const struct ulp_fixing *x, const struct ulp_fix_looking *looking,
                                 const struct ulp_arithmetic *lanes, size_t lane_count,
                                 const struct ulp_observer *observer, struct ulp_error *error)
{
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = looking->p.lint.model,
                                    .lanes = lanes,
                                    .lane_count = lane_count};
    const struct ulp_run_options run = {.thread_count = x->options->thread_count};
    for (size_t s = 0; s < x->sample_count; s++)
        ULP_TRY(ulp_programs_look(&programs, x->samples[s].inputs, &run, observer,
                                  x->options->progress, NULL, error));
    return ULP_OK;
}

void ulp_fix_look_close(struct ulp_fix_looking *looking)
{
    ulp_names_free(&looking->names);
    ulp_lint_proposals_free(&looking->p);
}
