/* The layers: their nodes, what they weigh and cost, and the power of their errors. */
#include <math.h>
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "number/function/math.h"

/* ---- errors ---- */

/* How far a float result of the node is from exact arithmetic on its inputs, relative, as a power:
 * the whole. */
double ulp_search_introduced(const struct ulp_audit_node *node)
{
    double power = 0;
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_audit_output *output = &node->outputs[o];
        const double relative = output->introduced.rms / output->range.ref_rms;
        if (ulp_type_is_float(output->type) && isfinite(relative))
            power = ulp_math_max(power, relative * relative);
    }
    return power;
}

/* Rounding to nearest spreads the error over half an ulp on both sides: relative to a value whose
 * binade is not known, u / sqrt(3) times the mean of 1 / m^2 over 1 <= m < 2, which is 1 / 2. */
double ulp_search_rounding(const struct ulp_arithmetic *arithmetic)
{
    return ldexp(1, -2 * arithmetic->storage.precision) / 6;
}

/* ---- costs ---- */

enum cost { COST_NODES, COST_BITS, COST_MACS, COST_BYTES, COST_WEIGHTS, COST_BOTH, COST_COUNT };
static const char *const cost_names[COST_COUNT] = {"nodes", "bits",    "macs",
                                                   "bytes", "weights", "nodes+macs"};

const char *ulp_search_cost_name(size_t cost)
{
    return cost < COST_COUNT ? cost_names[cost] : NULL;
}

/* A budget of a plan counts nodes. */
const char *ulp_search_cost_used(const struct ulp_searcher *search)
{
    const struct ulp_search_options *options = search->options;
    return options->cost         ? options->cost
           : !options->by_node   ? cost_names[COST_WEIGHTS]
           : options->budget > 0 ? cost_names[COST_NODES]
                                 : cost_names[COST_BOTH];
}

static enum cost find_cost(const struct ulp_searcher *search)
{
    size_t cost = 0;
    while (cost < COST_COUNT && strcmp(ulp_search_cost_used(search), cost_names[cost]) != 0)
        cost++;
    return (enum cost)cost;
}

static double find_weight(const struct ulp_program_node *node, enum cost cost)
{
    const struct ulp_step *step = node->step;
    double elements = 0;
    if (cost == COST_NODES)
        return 1;
    if (cost == COST_MACS || cost == COST_BOTH)
        return step->cost;
    for (size_t i = 0; i < step->own_input_count && (cost == COST_BYTES || cost == COST_WEIGHTS);
         i++) {
        const struct ulp_tensor *constant =
            step->inputs[i] >= 0 ? node->block->slots[step->inputs[i]].constant : NULL;
        if (constant && ulp_element_is_float(constant->element))
            elements += (double)constant->count;
    }
    for (size_t o = 0; o < step->output_count && cost == COST_BYTES; o++)
        if (step->outputs[o] >= 0)
            elements += (double)node->block->slots[step->outputs[o]].shape.count;
    return elements;
}

void ulp_search_price(const struct ulp_searcher *search, const struct ulp_program_node *node,
                      double *macs, double *bytes)
{
    *macs = find_weight(node, COST_MACS);
    *bytes = find_weight(node, COST_BYTES) * search->choices[0].arithmetic.storage.storage_bits / 8;
}

/* Of a layer in each choice. */
static void set_costs(struct ulp_searcher *search, struct ulp_searched_layer *layer, enum cost cost)
{
    for (size_t c = 0; c < search->choice_count; c++)
        layer->cost[c] = (cost == COST_NODES || cost == COST_BOTH) && search->options->by_node
                             ? (c != search->narrow) * layer->weight
                         : cost == COST_BYTES ? layer->weight * layer->bits[c] / 8
                                              : layer->weight * layer->bits[c];
}

/* Of all layers a hundred, half of it for each and half for what it computes. */
static void weigh_both(struct ulp_searcher *search)
{
    double total = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        total += search->layers[l].weight;
    for (size_t l = 0; l < search->layer_count; l++)
        search->layers[l].weight =
            50.0 / (double)search->layer_count + 50 * search->layers[l].weight / total;
}

/* Bits of a value in each choice, and the power of its roundings: of a plan everything that the
 * layer makes is stored in the choice's format, else factors alone are rounded to it. */
static enum ulp_status describe_choices(struct ulp_searcher *search,
                                        struct ulp_searched_layer *layer, struct ulp_error *error)
{
    const struct ulp_program_node *node = &search->emulation.program->nodes[layer->first];
    const bool product = node->step->bound.op->work == ULP_WORK_CONTRACTION;
    struct ulp_arena *memory = search->emulation.memory;
    size_t k, run = 0;
    ULP_TAKE(layer->bits, memory, search->choice_count, error);
    ULP_TAKE(layer->relative, memory, search->choice_count, error);
    if (!search->options->by_node)
        ulp_search_is_product(search, node, &k, &run);
    for (size_t c = 0; c < search->choice_count; c++) {
        const struct ulp_arithmetic *arithmetic = &search->choices[c].arithmetic;
        const struct ulp_format *storage = &arithmetic->storage, *factor = &arithmetic->factor;
        if (!search->options->by_node) {
            layer->relative[c] = ldexp(1, -2 * search->choices[c].mantissa);
            layer->bits[c] = arithmetic->scaling[0].name[0]
                                 ? ulp_search_factor_bits(arithmetic->scaling, run)
                                 : search->choices[c].bits;
            continue;
        }
        const int precision = product && factor->precision < storage->precision
                                  ? factor->precision
                                  : storage->precision;
        layer->relative[c] = ldexp(1, -2 * (precision - 1));
        layer->bits[c] = ulp_math_max(1, storage->storage_bits - storage->precision + precision);
    }
    return ULP_OK;
}

/* ---- layers ---- */

/* The power of the node's error as if it were rounded to one bit. A node that adds no error of its
 * own where all nodes have one format would add its rounding where they do not. */
static double find_power(const struct ulp_searcher *search, const struct ulp_audit_node *audited,
                         bool given)
{
    const struct ulp_arithmetic *narrow = &search->choices[search->narrow].arithmetic;
    const double introduced = ulp_search_introduced(audited),
                 condition = given && isfinite(audited->condition) ? audited->condition : !given;
    return condition * condition * (introduced > 0 ? introduced : ulp_search_rounding(narrow)) *
           ldexp(1, 2 * (narrow->storage.precision - 1));
}

/* Without an audit all have one power, until each is run alone. */
static void add_layer(struct ulp_searcher *search, size_t n, const struct ulp_audit_lane *lane)
{
    const size_t index = search->layer_count++;
    search->layer_of[n] = (ptrdiff_t)index;
    search->layers[index] = (struct ulp_searched_layer){
        .first = n,
        .weight = find_weight(&search->emulation.program->nodes[n], find_cost(search)),
        .power = lane ? find_power(search, &lane->nodes[n], lane->attribution.given) : 1};
}

/* What all layers may cost. */
static void set_limit(struct ulp_searcher *search)
{
    const struct ulp_search_options *options = search->options;
    double fewest = 0, narrow = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        narrow += search->layers[l].cost[search->narrow];
    search->limit = !(options->budget > 0) ? INFINITY
                    : options->by_node     ? narrow + options->budget
                                           : options->budget * search->total_weight;
    for (size_t l = 0; l < search->layer_count; l++) {
        const struct ulp_searched_layer *layer = &search->layers[l];
        double least = INFINITY;
        for (size_t c = 0; c < search->choice_count; c++)
            if (layer->bits[c])
                least = ulp_math_min(least, layer->cost[c]);
        fewest += least;
    }
    if (options->budget_yields && search->limit < fewest)
        search->limit = fewest * (1 + 0x1p-40); /* summed in any order */
}

enum ulp_status ulp_search_layers(struct ulp_searcher *search, const struct ulp_audit_lane *lane,
                                  struct ulp_error *error)
{
    const struct ulp_program *program = search->emulation.program;
    struct ulp_arena *memory = search->emulation.memory;
    search->layer_count = 0;
    ULP_TAKE(search->layers, memory, program->node_count + 1, error);
    ULP_TAKE(search->layer_of, memory, program->node_count + 1, error);
    for (size_t n = 0; n < program->node_count; n++) {
        search->layer_of[n] = -1;
        if (search->nodes.free[n])
            add_layer(search, n, lane);
    }
    const enum cost cost = find_cost(search);
    if (!search->options->by_node && search->options->budget > 0 && cost == COST_BYTES)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a budget of bits is a mean weighted by weights, macs, bits or nodes: give "
                        "one of these as the cost");
    for (size_t l = 0; l < search->layer_count; l++) {
        struct ulp_searched_layer *layer = &search->layers[l];
        layer->weight = cost == COST_BITS ? 1 : ulp_math_max(layer->weight, 1);
    }
    if (cost == COST_BOTH)
        weigh_both(search);
    for (size_t l = 0; l < search->layer_count; l++) {
        struct ulp_searched_layer *layer = &search->layers[l];
        ULP_TAKE(layer->cost, search->emulation.memory, search->choice_count, error);
        ULP_TRY(describe_choices(search, layer, error));
        set_costs(search, layer, cost);
    }
    for (size_t l = 0; l < search->layer_count; l++) {
        search->total_weight += search->layers[l].weight;
        ULP_TRY(ulp_search_rank(search, &search->layers[l], error));
    }
    set_limit(search);
    return ULP_OK;
}
