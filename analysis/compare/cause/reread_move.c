/* Nodes of a chain in another order. */
#include "analysis/compare/cause/reread.h"
#include "base/error.h"

#define CHAIN_MAX 4

struct chain {
    struct ulp_node nodes[CHAIN_MAX];       /* as they are */
    size_t at[CHAIN_MAX], input[CHAIN_MAX]; /* which, and by which input they are on the chain */
    size_t count;
};

/* The only node that reads a value, and by which input; false: it is an output, or there is none,
 * or more. */
static bool find_reader(const struct ulp_graph *graph, int value, size_t *node, size_t *input)
{
    size_t readers = 0;
    for (size_t o = 0; o < graph->output_count; o++)
        readers += 2 * (graph->outputs[o] == value);
    for (size_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] == value) {
                readers++;
                *node = n;
                *input = i;
            }
    return readers == 1;
}

/* Its result has the shape of what it reads along the chain. */
static bool is_link(const struct ulp_reread *reread, const struct ulp_node *node, size_t input)
{
    const struct ulp_tensor *in = ulp_reread_shape(reread, node, (int)input),
                            *out = ulp_reread_shape(reread, node, -1);
    return node->output_count == 1 && in && out && in->type == out->type &&
           ulp_tensor_same_shape(in, out);
}

static bool find_chain(const struct ulp_reread_change *change, size_t count, struct chain *chain)
{
    const struct ulp_reread *reread = change->reread;
    size_t n = change->n, input = change->input;
    for (chain->count = 0; chain->count < count; chain->count++) {
        const struct ulp_node *node = &reread->nodes[n];
        if (!is_link(reread, node, input))
            return false;
        chain->nodes[chain->count] = *node;
        chain->at[chain->count] = n;
        chain->input[chain->count] = input;
        if (chain->count + 1 < count && !find_reader(&reread->graph, node->outputs[0], &n, &input))
            return false;
    }
    return true;
}

/* What else it reads must be there already. */
static bool is_ready(const struct ulp_reread *reread, const struct ulp_node *node, size_t input,
                     size_t at)
{
    bool ready = true;
    for (size_t i = 0; i < node->input_count; i++)
        ready = ready && (i == input || node->inputs[i] < 0 ||
                          reread->graph.values[node->inputs[i]].producer < (int)at);
    return ready;
}

/* @behind: the node takes the place of the last of those behind it; @before: that one its. */
enum ulp_status ulp_reread_move(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    struct chain chain;
    const size_t count = (size_t)(change->text[0] - '0') + 1,
                 first = change->word[3] == 'h' ? 1 : count - 1; /* @be[h]ind */
    if (!find_chain(change, count, &chain))
        return ULP_OK;
    for (size_t c = 0; c < count; c++) {
        const size_t from = (c + first) % count;
        if (!is_ready(reread, &chain.nodes[from], chain.input[from], chain.at[c]))
            return ULP_OK;
    }
    for (size_t c = 0; c < count; c++) {
        const size_t from = (c + first) % count;
        struct ulp_node *node = &reread->nodes[chain.at[c]];
        node->op_type = chain.nodes[from].op_type;
        node->domain = chain.nodes[from].domain;
        node->attributes = chain.nodes[from].attributes;
        node->attribute_count = chain.nodes[from].attribute_count;
        node->inputs = chain.nodes[from].inputs;
        node->input_count = chain.nodes[from].input_count;
        ULP_TRY(ulp_reread_set_input(reread, node, chain.input[from],
                                     chain.nodes[c].inputs[chain.input[c]], error));
    }
    change->changed = true;
    return ULP_OK;
}
