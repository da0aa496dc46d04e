/* 0 / 0 in the model as it is: of what follows from it nothing can be judged. Where values may
 * change the divisor is 1 where it is 0, so that the result is 0. */
#include <math.h>

#include "analysis/fix/fixing.h"
#include "analysis/measure/judge.h"
#include "base/error.h"

struct guarding {
    struct ulp_fix_looking looking;
    bool *taken; /* by node, later by proposal */
};

static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct guarding *g = context;
    size_t nans = 0;
    (void)error;
    if (strcmp(event->op, "Div") != 0)
        return ULP_OK;
    const struct ulp_tensor *value = event->values[0].entire;
    for (size_t i = 0; value && ulp_element_is_float(value->element) && i < value->count; i++)
        nans += isnan(ulp_tensor_get(value, i));
    for (size_t i = 0; i < event->input_count; i++)
        if (event->inputs[i].entire && ulp_judge_count_nonfinite(event->inputs[i].entire))
            nans = 0;
    const int number = nans ? ulp_names_find(&g->looking.names, event->output_names[0]) : -1;
    const struct ulp_graph *graph = g->looking.p.lint.model->graph;
    if (number >= 0 && graph->values[number].producer >= 0)
        g->taken[graph->values[number].producer] = true;
    return ULP_OK;
}

static enum ulp_status make(struct ulp_fixing *x, struct guarding *g, struct ulp_error *error)
{
    struct ulp_lint_proposals *p = &g->looking.p;
    const struct ulp_graph *graph = x->model->graph;
    const struct ulp_observer looking = {.context = g, .node_done = look, .modes_unused = true};
    ULP_TRY(ulp_fix_look_open(&g->looking, x->model, error));
    ULP_TAKE(g->taken, p->lint.arena, graph->node_count + 1, error);
    ULP_TRY(ulp_fix_look_run(x, &g->looking, &x->options->reference, 1, &looking, error));
    for (size_t n = 0; n < graph->node_count; n++)
        if (g->taken[n])
            ulp_lint_rewrite_by(p, (struct ulp_lint_place){&p->lint.graphs[0], &graph->nodes[n]},
                                ULP_GUARD_RULE);
    ULP_TRY(ulp_taken(!p->lint.failed, error));
    for (size_t i = 0; i < p->count; i++)
        g->taken[i] = true;
    return p->count ? ulp_lint_load_edited(p, g->taken, true, &x->guarded, error) : ULP_OK;
}

/* For the result, whose edits begin with those that are tried. */
static enum ulp_status keep_said(struct ulp_fixing *x, const struct ulp_lint_proposals *p,
                                 struct ulp_error *error)
{
    ULP_TAKE(x->guards, x->fix->memory, p->count, error);
    for (size_t i = 0; i < p->count; i++) {
        struct ulp_lint_edit *said = &x->guards[x->guard_count++];
        *said = p->items[i].said;
        said->node = ulp_arena_copy(x->fix->memory, said->node);
        said->text = ulp_arena_copy(x->fix->memory, said->text);
        ULP_TRY(ulp_taken(said->node && said->text, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_fix_guard(struct ulp_fixing *x, struct ulp_error *error)
{
    struct guarding g = {0};
    enum ulp_status status = make(x, &g, error);
    if (status == ULP_OK && x->guarded)
        status = keep_said(x, &g.looking.p, error);
    if (status == ULP_OK && x->guarded)
        x->model = x->guarded;
    ulp_fix_look_close(&g.looking);
    return status;
}
