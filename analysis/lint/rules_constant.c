/* Rules about constants that are lowered to FP16. */
#include "analysis/lint/lint.h"

#include <math.h>

/* A constant that stands in the model, not one that another value repeats. */
static bool is_own(const struct ulp_lint_graph *graph, size_t value)
{
    const struct ulp_value *v = &graph->graph->values[value];
    const struct ulp_lint_place producer = ulp_lint_producer(graph, (int)value);
    return v->outer < 0 && (v->initializer || ulp_lint_is(producer, "Constant"));
}

/* What a constant is for, by who reads it. The error of an addend on FP16's grid, 2^-25 at most, is
 * no larger than half the least spacing of the sum that it goes into. */
enum use { UNUSED, BOUND, SCALE, ADDEND, MULTIPLIER, FACTOR };

/* Operators with inputs of these uses; `addends`: bits of inputs that are added. */
static const struct {
    const char *op;
    enum use use;
    unsigned addends;
} readers[] = {
    {"Add", ADDEND, 3},
    {"BatchNormalization", FACTOR, 28}, /* the variance is added to epsilon */
    {"Cast", BOUND, 0},
    {"Clip", BOUND, 0},
    {"Concat", ADDEND, ~0u},
    {"Conv", FACTOR, 4},
    {"ConvTranspose", FACTOR, 4},
    {"DequantizeLinear", SCALE, 0},
    {"Div", MULTIPLIER, 0},
    {"Equal", BOUND, 0},
    {"Expand", ADDEND, 1},
    {"Gemm", FACTOR, 4},
    {"Greater", BOUND, 0},
    {"GreaterOrEqual", BOUND, 0},
    {"GroupNormalization", FACTOR, 4},
    {"InstanceNormalization", FACTOR, 4},
    {"LayerNormalization", FACTOR, 4},
    {"Less", BOUND, 0},
    {"LessOrEqual", BOUND, 0},
    {"Max", BOUND, 0},
    {"Min", BOUND, 0},
    {"Mul", MULTIPLIER, 0},
    {"Pad", ADDEND, 5},
    {"QuantizeLinear", SCALE, 0},
    {"Range", BOUND, 0},
    {"Resize", BOUND, 0},
    {"Sub", ADDEND, 3},
    {"Sum", ADDEND, ~0u},
    {"Upsample", BOUND, 0},
    {"Where", ADDEND, 6},
};

static enum use find_use_in(struct ulp_lint_place place, int value)
{
    size_t r = 0, input = 0;
    while (r < sizeof readers / sizeof *readers && !ulp_lint_is(place, readers[r].op))
        r++;
    if (strstr(place.node->op_type, "QLinear") || strstr(place.node->op_type, "Integer"))
        return SCALE;
    if (r == sizeof readers / sizeof *readers)
        return FACTOR;
    while (input < place.node->input_count && place.node->inputs[input] != value)
        input++;
    return readers[r].addends >> (input < 31 ? input : 31) & 1 ? ADDEND : readers[r].use;
}

/* Operators that only move the elements of their first input: what these are for, their readers
 * say. */
static bool is_view(struct ulp_lint_place place, int value)
{
    return ulp_lint_is_any(place, "Flatten Identity Reshape Slice Squeeze Transpose Unsqueeze") &&
           place.node->inputs[0] == value && place.node->output_count == 1;
}

/* Views behind views that are followed. */
#define VIEWS_MAX 8

static void add_uses(const struct ulp_lint_graph *graph, int value, int depth, enum use *use,
                     struct ulp_lint_place *reader)
{
    for (size_t i = 0; i < ulp_lint_reader_count(graph, value); i++) {
        const struct ulp_lint_place place = ulp_lint_reader(graph, value, i);
        if (depth < VIEWS_MAX && is_view(place, value) &&
            ulp_lint_reader_count(graph, place.node->outputs[0])) {
            add_uses(graph, place.node->outputs[0], depth + 1, use, reader);
            continue;
        }
        const enum use here = find_use_in(place, value);
        if (here > *use) {
            *use = here;
            *reader = place;
        }
    }
}

/* The use that matters most, and a reader that has it. */
static enum use find_use(const struct ulp_lint_graph *graph, int value,
                         struct ulp_lint_place *reader)
{
    enum use use = UNUSED;
    *reader = (struct ulp_lint_place){0};
    add_uses(graph, value, 0, &use, reader);
    return use;
}

struct constant {
    const char *name;
    enum use use;
    struct ulp_lint_place reader; /* node NULL: nobody reads it */
    bool lowered;                 /* FP32 so far */
    const struct ulp_lint_figures *figures;
};

/* Visit the constants that an engine would hold in FP16. */
static void each_constant(struct ulp_lint *lint,
                          void (*visit)(struct ulp_lint *, const struct constant *, void *),
                          void *context)
{
    for (size_t g = 0; g < lint->graph_count; g++)
        for (size_t v = 0; v < lint->graphs[g].graph->value_count; v++) {
            const struct ulp_lint_graph *graph = &lint->graphs[g];
            const enum ulp_type type = ulp_lint_type(graph, (int)v);
            struct constant constant = {.name = graph->graph->values[v].name,
                                        .lowered = type == ULP_TYPE_FLOAT,
                                        .figures = graph->figures[v]};
            if (!constant.figures || !ulp_lint_in_half(lint, type) || !is_own(graph, v))
                continue;
            constant.use = find_use(graph, (int)v, &constant.reader);
            visit(lint, &constant, context);
        }
}

/* ---- masks ---- */

static bool is_mask(const struct constant *constant)
{
    return constant->use == ADDEND || constant->use == MULTIPLIER;
}

/* A mask's size is free, so it is one number, a large one or beside zeros alone; what differs from
 * element to element is data, as the squared norms of centres are. */
#define MASK_LEAST 1e6

static bool is_level(const struct ulp_lint_figures *figures)
{
    return figures->largest >= MASK_LEAST ? figures->overflow_least == figures->largest
                                          : figures->zeros && figures->smallest == figures->largest;
}

static void check_range(struct ulp_lint *lint, const struct constant *constant, void *context)
{
    const bool level = *(const bool *)context;
    if (is_mask(constant) && constant->figures->overflowing && is_level(constant->figures) == level)
        ulp_lint_add(lint, constant->reader, constant->name, "constant '%s' reaches %.3g",
                     constant->name, constant->figures->largest);
}

/* What a ConstantOfShape fills with; 0: an integer, or not known. */
static double find_fill(const struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_attribute *value =
        ulp_lint_is(place, "ConstantOfShape") ? ulp_node_attribute(place.node, "value") : NULL;
    return value && value->kind == ULP_ATTRIBUTE_TENSOR && value->tensor->count == 1 &&
                   value->tensor->data && ulp_lint_in_half(lint, value->tensor->type)
               ? ulp_tensor_get(value->tensor, 0)
               : 0;
}

void ulp_lint_constant_range(struct ulp_lint *lint)
{
    bool level = true;
    each_constant(lint, check_range, &level);
    for (size_t n = 0; n < lint->node_count; n++) {
        const double fill = find_fill(lint, lint->places[n]);
        if (isfinite(fill) && fabs(fill) >= 65520)
            ulp_lint_add(lint, lint->places[n], NULL, "fills a tensor with %.3g", fill);
    }
}

void ulp_lint_number_range(struct ulp_lint *lint)
{
    bool level = false;
    each_constant(lint, check_range, &level);
}

static void check_infinite_mask(struct ulp_lint *lint, const struct constant *constant,
                                void *context)
{
    (void)context;
    if (is_mask(constant) && constant->figures->nonfinite)
        ulp_lint_add(lint, constant->reader, constant->name,
                     "constant '%s' has %zu infinite or NaN elements", constant->name,
                     constant->figures->nonfinite);
}

void ulp_lint_mask_infinite(struct ulp_lint *lint)
{
    each_constant(lint, check_infinite_mask, NULL);
    for (size_t n = 0; n < lint->node_count; n++) {
        const double fill = find_fill(lint, lint->places[n]);
        if (!isfinite(fill))
            ulp_lint_add(lint, lint->places[n], NULL, "fills a tensor with %.3g", fill);
    }
}

/* ---- weights ---- */

static void check_infinite(struct ulp_lint *lint, const struct constant *constant, void *context)
{
    const struct ulp_lint_figures *figures = constant->figures;
    (void)context;
    if (constant->use == FACTOR && (figures->overflowing || figures->nonfinite))
        ulp_lint_add(lint, constant->reader, constant->name,
                     "'%s': %zu of %zu elements, the largest is %.3g", constant->name,
                     figures->overflowing + figures->nonfinite, figures->count, figures->largest);
}

void ulp_lint_weight_infinite(struct ulp_lint *lint)
{
    each_constant(lint, check_infinite, NULL);
}

/* Rounding x to 11 bits makes an error of at most half a unit, 2^-11 of the lower end of x's
 * binade; uniform in that interval and with x's logarithm uniform in the binade, the mean of
 * (error / x)^2 is 2^-20 / 12 times the mean 3 / (8 ln 2) of (2^e / x)^2. */
#define ROUNDING_SQUARE (0x1p-20 / 12 * 0.541)

/* Does what FP16 loses of small elements matter? It does in what is multiplied, when it is more
 * than the error of rounding the others, unless the products are nothing in FP16 anyway: with the
 * largest inputs a sum of all of them is below half the smallest number. */
static bool is_harmed(const struct constant *constant)
{
    const struct ulp_lint_figures *figures = constant->figures;
    return (constant->use == FACTOR || constant->use == MULTIPLIER) &&
           figures->tiny_error > ROUNDING_SQUARE * figures->squares &&
           figures->largest * (double)figures->count * 65504 > 0x1p-25;
}

static void check_vanishing(struct ulp_lint *lint, const struct constant *constant, void *context)
{
    const struct ulp_lint_figures *figures = constant->figures;
    (void)context;
    if (constant->lowered && figures->count > 1 && is_harmed(constant))
        ulp_lint_add(lint, constant->reader, constant->name,
                     "'%s': of %zu elements %zu become 0 and %zu subnormal (the smallest is "
                     "%.3g): a relative error of %.2g",
                     constant->name, figures->count, figures->vanishing, figures->subnormal,
                     figures->smallest, sqrt(figures->tiny_error / figures->squares));
}

void ulp_lint_weight_vanishes(struct ulp_lint *lint)
{
    each_constant(lint, check_vanishing, NULL);
}

struct tally {
    size_t tensors, elements, subnormal, vanishing, most;
    const char *worst;
};

static void count_tiny(struct ulp_lint *lint, const struct constant *constant, void *context)
{
    struct tally *tally = context;
    const struct ulp_lint_figures *figures = constant->figures;
    const size_t tiny = figures->vanishing + figures->subnormal;
    (void)lint;
    if (!constant->lowered || constant->use < ADDEND || figures->count < 2 || !tiny ||
        is_harmed(constant))
        return;
    tally->tensors++;
    tally->elements += figures->count;
    tally->subnormal += figures->subnormal;
    tally->vanishing += figures->vanishing;
    if (tiny > tally->most) {
        tally->most = tiny;
        tally->worst = constant->name;
    }
}

void ulp_lint_weight_subnormal(struct ulp_lint *lint)
{
    struct tally tally = {0};
    const struct ulp_lint_place nowhere = {0};
    each_constant(lint, count_tiny, &tally);
    if (tally.tensors)
        ulp_lint_add(lint, nowhere, tally.worst,
                     "in %zu tensors of %zu elements %zu become subnormal and %zu zero, most of "
                     "them (%zu) in '%s'",
                     tally.tensors, tally.elements, tally.subnormal, tally.vanishing, tally.most,
                     tally.worst);
}

/* ---- FP64 ---- */

static void check_double(struct ulp_lint *lint, const struct ulp_lint_graph *graph, size_t value)
{
    const struct ulp_lint_figures *figures = graph->figures[value];
    const char *name = graph->graph->values[value].name;
    struct ulp_lint_place reader;
    if (!figures || !figures->rounded_twice || !is_own(graph, value))
        return;
    find_use(graph, (int)value, &reader);
    ulp_lint_add(lint, reader, name, "'%s': %zu of %zu elements", name, figures->rounded_twice,
                 figures->count);
}

void ulp_lint_double_constant(struct ulp_lint *lint)
{
    for (size_t g = 0; g < lint->graph_count; g++)
        for (size_t v = 0; v < lint->graphs[g].graph->value_count; v++)
            check_double(lint, &lint->graphs[g], v);
}
