/* Products whose factors have formats with scales, as a graph says them: each factor is quantised
 * in front of the node, in blocks along the axis that is summed. */
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "graph/graph.h"

/* The dimension of the input, the axis counted from the front or, negative, from the end; 0: it is
 * not known. */
static size_t find_dim(const struct ulp_program_node *node, size_t input, int axis)
{
    const int slot = input < node->step->own_input_count ? node->step->inputs[input] : -1;
    const struct ulp_tensor *shape = slot >= 0 ? &node->block->slots[slot].shape : NULL;
    if (!shape || !ulp_type_is_float(shape->type))
        return 0;
    const int at = axis < 0 ? axis + shape->rank : axis;
    return at >= 0 && at < shape->rank && shape->rank > 1 ? (size_t)shape->dims[at] : 0;
}

/* What TensorRT's operators quantise: blocks fill the last axis of a value, and what it is
 * multiplied with is a constant. */
static bool is_for_tensorrt(const struct ulp_searcher *search, const struct ulp_program_node *node,
                            size_t run)
{
    const int slot = node->step->inputs[1];
    const char *op = node->step->bound.node->op_type;
    bool blocks = false, whole = true;
    for (size_t c = 0; c < search->choice_count; c++) {
        const int block = search->choices[c].arithmetic.scaling[0].k;
        blocks |= block > 0;
        whole &= !block || run % (size_t)block == 0;
    }
    return node->block->slots[slot].constant &&
           (!blocks || (whole && strcmp(op, "Conv") != 0 &&
                        ulp_search_factor_axis(node, 0) ==
                            node->block->slots[node->step->inputs[0]].shape.rank - 1));
}

static bool is_product(const struct ulp_searcher *search, const struct ulp_program_node *node,
                       size_t *k, size_t *run)
{
    const struct ulp_node *from = node->step->bound.node;
    const char *op = from->op_type;
    *k = *run = 0;
    const struct ulp_graph *graph = search->emulation.given.model->graph;
    if (from < graph->nodes || from >= graph->nodes + graph->node_count || *from->domain)
        return false; /* of a body or a function */
    if (strcmp(op, "MatMul") == 0 && find_dim(node, 1, -2))
        *k = *run = find_dim(node, 0, -1);
    if (strcmp(op, "Gemm") == 0)
        *k = *run = find_dim(node, 0, ulp_node_int(from, "transA", 0) ? 0 : 1);
    if (strcmp(op, "Conv") == 0) {
        const size_t channels = find_dim(node, 1, 1);
        *k = *run = channels;
        for (int d = 2; find_dim(node, 1, d); d++)
            *k *= find_dim(node, 1, d);
        if (ulp_node_int(from, "group", 1) == 1)
            return channels > 0;
        /* blocks of a graph lie along all channels, those of a product in a group's */
        for (size_t c = 0; c < search->choice_count; c++) {
            const int block = search->choices[c].arithmetic.scaling[0].k;
            if (block && channels % (size_t)block)
                return false;
        }
    }
    return *k > 0;
}

bool ulp_search_is_product(const struct ulp_searcher *search, const struct ulp_program_node *node,
                           size_t *k, size_t *run)
{
    return is_product(search, node, k, run) &&
           (!search->options->tensorrt || is_for_tensorrt(search, node, *run));
}

enum ulp_status ulp_search_report_left(const struct ulp_searcher *search, struct ulp_search *out,
                                       struct ulp_error *error)
{
    const struct ulp_program *program = search->emulation.program;
    const struct ulp_graph *graph = search->emulation.given.model->graph;
    ULP_TAKE(out->left, out->memory, program->node_count + 1, error);
    out->many_outputs = ulp_model_output_count(search->emulation.given.model) > 1;
    for (size_t n = 0; n < program->node_count && search->given && !search->options->by_node; n++) {
        const struct ulp_step *step = program->nodes[n].step;
        const bool inner =
            step->node < graph->nodes || step->node >= graph->nodes + graph->node_count;
        if (*step->node->domain || !ulp_is_word(step->node->op_type, "MatMul Gemm Conv"))
            continue;
        out->called_count += step->call != NULL;
        out->inner_count += inner && !step->call;
        if (step->call || inner || ulp_search_choice_of(search, search->best, n) != search->base)
            continue;
        struct ulp_search_left *left = &out->left[out->left_count++];
        left->named = step->node->named;
        left->name = ulp_arena_copy(out->memory, ulp_program_node_name(program, n));
        ULP_TRY(ulp_taken(left->name, error));
    }
    return ULP_OK;
}

int ulp_search_factor_axis(const struct ulp_program_node *node, size_t input)
{
    const struct ulp_node *from = node->step->bound.node;
    const int rank = node->block->slots[node->step->inputs[input]].shape.rank;
    if (strcmp(from->op_type, "MatMul") == 0)
        return input ? rank - 2 : rank - 1;
    if (strcmp(from->op_type, "Gemm") == 0)
        return (ulp_node_int(from, input ? "transB" : "transA", 0) != 0) == (input == 1);
    return 1; /* channels */
}

int ulp_search_channel_axis(const struct ulp_program_node *node, size_t input, int axis)
{
    const char *op = node->step->bound.node->op_type;
    return strcmp(op, "MatMul") == 0 ? (input ? axis + 1 : axis - 1)
           : strcmp(op, "Gemm") == 0 ? 1 - axis
                                     : 0;
}

static double count_bits(const struct ulp_scaling *scaling, size_t run)
{
    const size_t block = (size_t)scaling->k;
    const double scales = !block || scaling->lines > 1 ? 0
                          : run == SIZE_MAX            ? 1.0 / (double)block
                                            : (double)ulp_size_divide_up(run, block) / (double)run;
    return scaling->element.storage_bits + scaling->scale.storage_bits * scales;
}

double ulp_search_factor_bits(const struct ulp_scaling scaling[2], size_t run)
{
    return (count_bits(&scaling[0], run) + count_bits(&scaling[1], run)) / 2;
}
