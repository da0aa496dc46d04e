/* What the range of a format makes of a layer's values: nothing may overflow, and what underflow
 * adds to the error counts. */
#include <math.h>
#include <string.h>

#include "analysis/search/searcher.h"
#include "analysis/measure/histogram.h"
#include "base/error.h"
#include "number/function/math.h"

/* A value that the layer reads or makes. */
struct value {
    struct ulp_histogram histogram;
    double largest; /* that must not overflow */
};

struct values {
    struct ulp_searcher *search;
    const struct ulp_audit *audit;
    struct ulp_arena *memory;
    struct value *items;
    size_t count, room;
    struct ulp_exponents *scratch;
};

static enum ulp_status take_value(struct values *values, struct value **out,
                                  struct ulp_error *error)
{
    if (values->count == values->room) {
        const size_t room = 2 * values->room + 16;
        struct value *items = ulp_arena_take(values->memory, room, sizeof *items);
        ULP_TRY(ulp_taken(items, error));
        if (values->count)
            memcpy(items, values->items, values->count * sizeof *items);
        values->items = items;
        values->room = room;
    }
    *out = &values->items[values->count++];
    **out = (struct value){0};
    return ULP_OK;
}

/* A constant, or an input of the model. Constants beyond a format become its largest number: of the
 * mask that is added to scores only products' weights must fit. */
static enum ulp_status add_tensor(struct values *values, const struct ulp_tensor *tensor,
                                  bool must_fit, struct ulp_error *error)
{
    struct value *value = NULL;
    enum { BLOCK = 512 };
    double block[BLOCK];
    if (!ulp_element_is_float(tensor->element) || !tensor->count)
        return ULP_OK;
    ULP_TRY(take_value(values, &value, error));
    memset(values->scratch, 0, sizeof *values->scratch);
    for (size_t i = 0; i < tensor->count;) {
        size_t count = 0;
        for (; count < BLOCK && i < tensor->count; i++)
            block[count++] = ulp_tensor_get(tensor, i);
        ulp_exponents_count(values->scratch, block, count);
        for (size_t k = 0; k < count && must_fit; k++)
            if (isfinite(block[k]))
                value->largest = ulp_math_max(value->largest, fabs(block[k]));
    }
    return ulp_histogram_add(&value->histogram, values->scratch, values->memory, error);
}

/* Output `name` of a node, NULL: every one. */
static enum ulp_status add_outputs(struct values *values, size_t node, const char *name,
                                   struct ulp_error *error)
{
    const struct ulp_audit_node *audited = &values->audit->lanes[0].nodes[node];
    const struct ulp_place *place = &values->audit->places[node];
    for (size_t o = 0; o < audited->output_count && o < place->output_count; o++) {
        const struct ulp_audit_output *output = &audited->outputs[o];
        struct value *value = NULL;
        if (!ulp_type_is_float(output->type) || (name && strcmp(output->name, name) != 0))
            continue;
        ULP_TRY(take_value(values, &value, error));
        *value = (struct value){place->histograms[o], output->range.ref_max};
    }
    return ULP_OK;
}

static enum ulp_status add_input(struct values *values, const struct ulp_program_node *node,
                                 size_t i, struct ulp_error *error)
{
    const struct ulp_step *step = node->step;
    const int slot = step->inputs[i];
    if (slot < 0)
        return ULP_OK;
    const struct ulp_program_slot *read = &node->block->slots[slot];
    if (read->constant)
        return add_tensor(values, read->constant,
                          step->bound.op->work == ULP_WORK_CONTRACTION &&
                              ulp_is_weight(&step->bound, i),
                          error);
    const size_t from = ulp_slot_holder(node->block, slot);
    if (from != ULP_NO_NODE && from < step->number)
        return add_outputs(values, from, read->name, error);
    const struct ulp_emulated *given = &values->search->emulation.given;
    for (size_t s = 0; s < given->sample_count && read->given; s++) {
        const struct ulp_tensor *input = ulp_tensor_set_find(given->samples[s].inputs, read->name);
        if (input)
            ULP_TRY(add_tensor(values, input, true, error));
    }
    return ULP_OK;
}

static enum ulp_status add_values(struct values *values, size_t layer, struct ulp_error *error)
{
    const struct ulp_searcher *search = values->search;
    const struct ulp_program *program = search->emulation.program;
    for (size_t n = 0; n < program->node_count; n++) {
        if (search->layer_of[n] != (ptrdiff_t)layer)
            continue;
        ULP_TRY(add_outputs(values, n, NULL, error));
        for (size_t i = 0; i < program->nodes[n].step->own_input_count; i++)
            ULP_TRY(add_input(values, &program->nodes[n], i, error));
    }
    return ULP_OK;
}

/* Error powers of elements of binary exponent e in a format of unit roundoff 2^-(m + 1): a rounding
 * spreads over 2^(e - m), below the normal numbers over 2^(emin - m); nothing loses more than
 * itself, whose square is 7/3 4^e in the mean of a binade. What all elements lose over what they
 * would without a smallest exponent. */
static double find_underflow(const struct ulp_histogram *histogram, const struct ulp_format *format)
{
    const int m = format->precision - 1;
    double lost = 0, normal = 0;
    for (size_t i = 0; i < histogram->count; i++) {
        const int e = histogram->first + (int)i;
        const double count = (double)histogram->counts[i], rounding = ldexp(1, -2 * m) / 12,
                     itself = 7.0 / 3 * ldexp(1, 2 * e),
                     below = format->subnormals ? ldexp(rounding, 2 * format->emin) : itself;
        normal += count * ldexp(rounding, 2 * e);
        lost += count * (e >= format->emin ? ldexp(rounding, 2 * e) : ulp_math_min(below, itself));
    }
    return normal > 0 ? lost / normal : 1;
}

static void set_choice(struct ulp_searcher *search, struct ulp_searched_layer *layer,
                       const struct values *values, size_t c)
{
    const struct ulp_arithmetic *arithmetic = &search->choices[c].arithmetic;
    const struct ulp_format *storage = &arithmetic->storage, *factor = &arithmetic->factor;
    const bool narrow = layer->product && factor->precision < storage->precision;
    const int precision = narrow ? factor->precision : storage->precision;
    double underflow = 1;
    for (size_t v = 0; v < values->count; v++)
        underflow = ulp_math_max(underflow, find_underflow(&values->items[v].histogram, storage));
    layer->relative[c] = ldexp(underflow, -2 * (precision - 1));
    layer->bits[c] = storage->storage_bits - storage->precision + precision;
    if (search->scaled) {
        size_t k, run;
        ulp_search_is_product(search, &search->emulation.program->nodes[layer->first], &k, &run);
        layer->bits[c] = arithmetic->scaling[0].name[0]
                             ? ulp_search_factor_bits(arithmetic->scaling, run)
                             : search->choices[c].bits;
        layer->relative[c] = ldexp(1, -2 * search->choices[c].mantissa);
        return; /* everything is stored in one format, whatever factors are rounded to */
    }
    if (search->options->by_node && layer->bits[c] < 1) /* of a format without a width */
        layer->bits[c] = 1;
    /* the widest is what there is for values that fit nothing */
    if (c > 0 && !search->options->by_node && !(layer->largest <= storage->max_finite))
        layer->bits[c] = 0;
}

enum ulp_status ulp_search_range(struct ulp_searcher *search, const struct ulp_audit *audit,
                                 size_t index, struct ulp_error *error)
{
    struct ulp_searched_layer *layer = &search->layers[index];
    struct ulp_arena *kept = search->emulation.memory;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_TAKE(layer->bits, kept, search->choice_count, error);
    ULP_TAKE(layer->relative, kept, search->choice_count, error);
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(search->emulation.given.model), error));
    struct values values = {.search = search, .audit = audit, .memory = memory};
    ULP_TAKE(values.scratch, memory, 1, error);
    if (!search->options->by_node && !search->scaled)
        ULP_TRY(add_values(&values, index, error));
    for (size_t v = 0; v < values.count; v++) {
        const struct ulp_histogram *histogram = &values.items[v].histogram;
        size_t first = 0;
        layer->largest = ulp_math_max(layer->largest, values.items[v].largest);
        while (first < histogram->count && !histogram->counts[first])
            first++;
        const double smallest =
            first < histogram->count ? ldexp(1, histogram->first + (int)first) : 0;
        if (smallest > 0 && (layer->smallest == 0 || smallest < layer->smallest))
            layer->smallest = smallest;
    }
    for (size_t c = 0; c < search->choice_count; c++)
        set_choice(search, layer, &values, c);
    return ULP_OK;
}
