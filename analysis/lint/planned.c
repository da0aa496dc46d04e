/* Values of a graph or a body as a plan has them: a step's inputs and outputs stand in the order of
 * its node's. */
#include "analysis/lint/lint.h"
#include "run/plan/plan.h"

struct ulp_lint_place ulp_lint_place_of(const struct ulp_lint *lint, const struct ulp_step *step)
{
    const struct ulp_node *node = step->bound.node;
    for (size_t g = 0; g < lint->graph_count; g++) {
        const struct ulp_graph *graph = lint->graphs[g].graph;
        if (node >= graph->nodes && node < graph->nodes + graph->node_count)
            return (struct ulp_lint_place){&lint->graphs[g], node};
    }
    return (struct ulp_lint_place){0};
}

static bool is_in(const struct ulp_lint *lint, const struct ulp_step *step,
                  const struct ulp_lint_graph *graph)
{
    return !step->call && ulp_lint_place_of(lint, step).graph == graph;
}

/* The one that stands where the other has `what`; -1: it has it nowhere. */
static int beside(const int *has, size_t count, int what, const int *other, size_t other_count)
{
    for (size_t i = 0; i < count && i < other_count; i++)
        if (has[i] == what)
            return other[i];
    return -1;
}

const struct ulp_tensor *ulp_lint_shape_of(const struct ulp_lint *lint,
                                           const struct ulp_lint_graph *graph, int value)
{
    for (size_t b = 0; lint->plan && value >= 0 && b < lint->plan->block_count; b++) {
        const struct ulp_block *block = lint->plan->blocks[b];
        for (size_t s = 0; s < block->step_count; s++) {
            const struct ulp_step *step = &block->steps[s];
            const struct ulp_node *node = step->bound.node;
            if (!is_in(lint, step, graph))
                continue;
            int slot =
                beside(node->inputs, node->input_count, value, step->inputs, step->own_input_count);
            if (slot < 0)
                slot = beside(node->outputs, node->output_count, value, step->outputs,
                              step->output_count);
            if (slot >= 0)
                return block->slots[slot].shape.type == ULP_TYPE_UNDEFINED
                           ? NULL
                           : &block->slots[slot].shape;
        }
    }
    return NULL;
}

int ulp_lint_value_in(const struct ulp_lint *lint, const struct ulp_lint_graph *graph,
                      const struct ulp_block *block, int slot)
{
    int value = -1;
    for (size_t s = 0; slot >= 0 && value < 0 && s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        const struct ulp_node *node = step->bound.node;
        if (!is_in(lint, step, graph))
            continue;
        value = beside(step->inputs, step->own_input_count, slot, node->inputs, node->input_count);
        if (value < 0)
            value =
                beside(step->outputs, step->output_count, slot, node->outputs, node->output_count);
    }
    return value;
}
