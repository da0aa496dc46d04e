/* What a power of two does in a node (powers.def), and what fits a format. */
#include <math.h>

#include "analysis/fix/powers.h"

static const struct power_row {
    const char *op;
    enum ulp_power_kind kind;
    unsigned inputs;
    double power;
} rows[] = {
#define ALL ~0u
#define POWER(op, kind, inputs, power) {op, ULP_POWER_##kind, inputs, power},
#include "analysis/fix/powers.def"
#undef ALL
};

static bool has(struct ulp_lint_place place, const char *attribute)
{
    return ulp_node_attribute(place.node, attribute) != NULL;
}

static bool is_constant(const struct ulp_powers *powers, struct ulp_lint_place place, size_t input)
{
    const struct ulp_tensor *constant =
        ulp_lint_constant(powers->view, ulp_lint_input(place, input));
    return constant && ulp_type_is_float(constant->type);
}

/* Bounds and the like that are attributes or have a size of their own; a bias that is computed;
 * integers, and what gives statistics or trains. */
static bool is_beyond_rows(const struct ulp_powers *powers, struct ulp_lint_place place,
                           enum ulp_power_kind kind)
{
    if (kind == ULP_POWER_FREE || kind == ULP_POWER_COMPARE)
        return false;
    for (size_t i = 2; kind == ULP_POWER_PRODUCT && i < place.node->input_count; i++)
        if (ulp_lint_input(place, i) >= 0 && !is_constant(powers, place, i))
            return true;
    return has(place, "min") || has(place, "max") || has(place, "value") ||
           has(place, "extrapolation_value") || *place.node->domain ||
           !ulp_type_is_float(ulp_lint_type(powers->view, ulp_lint_output(place, 0))) ||
           (ulp_lint_is(place, "Cast") &&
            !ulp_type_is_float(ulp_lint_type(powers->view, ulp_lint_input(place, 0)))) ||
           (kind == ULP_POWER_NORM && place.node->output_count > 1) ||
           (kind == ULP_POWER_BATCHNORM &&
            (ulp_lint_int(place, "training_mode", 0) || !is_constant(powers, place, 1) ||
             !is_constant(powers, place, 2) || !is_constant(powers, place, 3) ||
             !is_constant(powers, place, 4)));
}

static struct ulp_power_node classify(const struct ulp_powers *powers, struct ulp_lint_place place)
{
    struct ulp_power_node node = {.constant = -1};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (ulp_lint_is(place, rows[r].op))
            node = (struct ulp_power_node){.kind = rows[r].kind,
                                           .inputs = rows[r].inputs,
                                           .power = rows[r].power,
                                           .constant = -1};
    const bool pairs = node.kind == ULP_POWER_PRODUCT || node.kind == ULP_POWER_QUOTIENT;
    double exponent;
    if (node.kind == ULP_POWER_FIXED || is_beyond_rows(powers, place, node.kind))
        return (struct ulp_power_node){.constant = -1};
    for (int i = 0; pairs && i < 2; i++)
        if (is_constant(powers, place, (size_t)i))
            node.constant = node.constant < 0 ? i : 2;
    if (node.constant == 2 || (pairs && place.node->input_count < 2) ||
        (pairs && node.constant < 0 && ulp_lint_is(place, "Einsum") &&
         place.node->input_count != 2))
        return (struct ulp_power_node){.constant = -1};
    if (ulp_lint_is(place, "Pow")) {
        if (!ulp_lint_scalar(powers->view, ulp_lint_input(place, 1), &exponent) ||
            !(fabs(exponent) <= 4) || rint(4 * exponent) != 4 * exponent || exponent == 0)
            return (struct ulp_power_node){.constant = -1};
        node.power = exponent;
    }
    if (node.kind == ULP_POWER_NORM) /* what gives another factor; else its result has none */
        node.constant = is_constant(powers, place, 1) &&
                                (ulp_lint_input(place, 2) < 0 || is_constant(powers, place, 2))
                            ? 1
                            : -1;
    node.tied = (pairs && node.constant < 0) || node.kind == ULP_POWER_SAME ||
                node.kind == ULP_POWER_POWER || node.kind == ULP_POWER_COMPARE;
    return node;
}

/* What bodies read stays as it is, and so do inputs, outputs, and all of a node that is too large
 * to be edited. */
static void bind_values(struct ulp_powers *powers, struct ulp_lint_place place)
{
    for (size_t i = 0; i < place.node->input_count; i++)
        if (place.node->input_count > ULP_EDIT_INPUTS_MAX && place.node->inputs[i] >= 0)
            powers->bound[place.node->inputs[i]] = true;
    for (size_t a = 0; a < place.node->attribute_count; a++)
        if (place.node->attributes[a].graph)
            for (size_t v = 0; v < powers->graph->value_count; v++)
                for (size_t i = 0; i < ulp_lint_reader_count(powers->view, (int)v); i++)
                    powers->bound[v] |= ulp_lint_reader(powers->view, (int)v, i).node == place.node;
    for (size_t o = 0; o < place.node->output_count; o++)
        if (place.node->input_count > ULP_EDIT_INPUTS_MAX && place.node->outputs[o] >= 0)
            powers->bound[place.node->outputs[o]] = true;
}

void ulp_powers_classify(struct ulp_powers *powers)
{
    static const char *const sensitive[] = {"Log", "Sqrt", "Reciprocal", "Div"};
    const struct ulp_graph *graph = powers->graph;
    for (size_t v = 0; v < graph->value_count; v++)
        powers->bound[v] = powers->view->is_output[v] || graph->values[v].producer < 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_lint_place place = {powers->view, &graph->nodes[n]};
        const struct ulp_power_node seen = powers->nodes[n];
        powers->nodes[n] = classify(powers, place);
        powers->nodes[n].born = seen.born;
        bind_values(powers, place);
        for (size_t s = 0; s < sizeof sensitive / sizeof *sensitive; s++) {
            const int value = ulp_lint_input(place, strcmp(sensitive[s], "Div") == 0);
            if (ulp_lint_is(place, sensitive[s]) && value >= 0)
                powers->ranges[value].sensitive = true;
        }
    }
}

/* Twice as much may come with other inputs; what is stored as it was may be as large as it was. */
static bool fits(const struct ulp_format *format, double most, double typical, int e)
{
    const double room = e == 0 ? 1 : 2;
    return ldexp(most, -e) * room <= format->max_finite &&
           (e <= 0 || ldexp(typical, -e) >= ldexp(1, format->emin));
}

bool ulp_power_fits(const struct ulp_powers *powers, int value, int e)
{
    const struct ulp_power_range *range = &powers->ranges[value];
    return !range->count ||
           fits(powers->format, range->most,
                range->sensitive ? range->least : sqrt(range->squares / (double)range->count), e);
}

bool ulp_power_constant_fits(const struct ulp_powers *powers, int value, int e)
{
    const struct ulp_lint_figures *figures = ulp_lint_figures(powers->view, value);
    const size_t count = figures ? figures->count - figures->zeros - figures->nonfinite : 0;
    return !count ||
           (ldexp(figures->largest, -e) <= powers->format->max_finite &&
            ldexp(sqrt(figures->squares / (double)count), -e) >= ldexp(1, powers->format->emin));
}

bool ulp_power_may_follow(const struct ulp_node *node)
{
    bool may = node->output_count == 1 && node->attribute_count <= ULP_EDIT_ATTRIBUTES_MAX &&
               node->input_count <= ULP_EDIT_INPUTS_MAX && !*node->domain;
    for (size_t a = 0; a < node->attribute_count; a++) {
        const enum ulp_attribute_kind kind = node->attributes[a].kind;
        may &= kind == ULP_ATTRIBUTE_INT || kind == ULP_ATTRIBUTE_FLOAT ||
               kind == ULP_ATTRIBUTE_INTS || kind == ULP_ATTRIBUTE_STRING;
    }
    return may;
}
