/* Rules about the range of FP16: epsilons, and operators that leave it. */
#include "analysis/lint/lint.h"

#include <math.h>

/* ---- epsilons ---- */

/* Is the value of the node a divisor, or under a root or logarithm? */
static bool protects(struct ulp_lint_place place)
{
    const int out = ulp_lint_output(place, 0);
    for (size_t i = 0; i < ulp_lint_reader_count(place.graph, out); i++) {
        const struct ulp_lint_place reader = ulp_lint_reader(place.graph, out, i);
        if (ulp_lint_is_any(reader, "Sqrt Reciprocal Log Pow") ||
            (ulp_lint_is(reader, "Div") && ulp_lint_input(reader, 1) == out))
            return true;
    }
    return false;
}

bool ulp_lint_epsilon(const struct ulp_lint *lint, struct ulp_lint_place place, double *out)
{
    /* (BatchNormalization is folded into products, LayerNormalization computes in FP32) */
    static const char norms[] = "InstanceNormalization GroupNormalization RMSNormalization";
    const enum ulp_type type = ulp_lint_type(place.graph, ulp_lint_output(place, 0));
    if (ulp_lint_is_any(place, norms) && type == ULP_TYPE_FLOAT16) {
        *out = ulp_node_float(place.node, "epsilon", 1e-5);
        return true;
    }
    if (!ulp_lint_is_any(place, "Add Max Clip Sub") || !ulp_lint_in_half(lint, type) ||
        !protects(place))
        return false;
    for (size_t i = 0; i < place.node->input_count && i < 2; i++)
        if (ulp_lint_scalar(place.graph, place.node->inputs[i], out))
            return true;
    return false;
}

void ulp_lint_eps_zero(struct ulp_lint *lint, struct ulp_lint_place place)
{
    double epsilon;
    if (!ulp_lint_epsilon(lint, place, &epsilon) || !(fabs(epsilon) <= 0x1p-25))
        return;
    if (epsilon != 0)
        ulp_lint_add(lint, place, NULL, "epsilon %.3g is 0 in FP16", epsilon);
    else if (ulp_lint_type(place.graph, ulp_lint_output(place, 0)) == ULP_TYPE_FLOAT16)
        ulp_lint_add(lint, place, NULL, "the epsilon in FP16 is 0: a conversion has lost it");
}

void ulp_lint_eps_subnormal(struct ulp_lint *lint, struct ulp_lint_place place)
{
    double epsilon;
    if (ulp_lint_epsilon(lint, place, &epsilon) && fabs(epsilon) > 0x1p-25 &&
        fabs(epsilon) < 0x1p-14)
        ulp_lint_add(lint, place, NULL, "epsilon %.3g is subnormal in FP16", epsilon);
}

/* Back along first inputs over such operators, to one that is none of them. */
static struct ulp_lint_place behind(struct ulp_lint_place place, size_t input, const char *ops)
{
    struct ulp_lint_place source = ulp_lint_source(place, input);
    for (int depth = 0; depth < 6 && ulp_lint_is_any(source, ops); depth++)
        source = ulp_lint_source(source, 0);
    return source;
}

/* Is what the node divides by the largest of what it divides? */
static bool divides_by_largest(struct ulp_lint_place place)
{
    bool largest = false;
    struct ulp_lint_place at = ulp_lint_source(place, 1);
    for (int depth = 0;
         depth < 6 && ulp_lint_is_any(at, "Abs Add Cast Clip Max ReduceL2 ReduceMax Reshape");
         depth++) {
        largest |= ulp_lint_is_any(at, "ReduceL2 ReduceMax");
        if (ulp_lint_input(at, 0) == ulp_lint_input(place, 0))
            return largest;
        at = ulp_lint_source(at, 0);
    }
    return false;
}

/* What is added to squares of x / max(x) counts max(x)^2 times as much beside squares of x. */
void ulp_lint_eps_scaled(struct ulp_lint *lint, struct ulp_lint_place place)
{
    static const char squares[] =
        "Abs Cast Mul Pow ReduceMean ReduceSum ReduceSumSquare Reshape Squeeze Sqrt Unsqueeze";
    double epsilon;
    if (!ulp_lint_is_any(place, "Add Max") || !protects(place))
        return;
    for (size_t i = 0; i < 2; i++) {
        const struct ulp_lint_place source = behind(place, 1 - i, squares);
        if (ulp_lint_scalar(place.graph, ulp_lint_input(place, i), &epsilon) && epsilon > 0 &&
            ulp_lint_is(source, "Div") && divides_by_largest(source))
            ulp_lint_add(lint, place, NULL,
                         "epsilon %.3g is added to what '%s' has divided by its largest element: "
                         "beside the original's it counts that element's square times as much",
                         epsilon, source.node->name);
    }
}

/* ---- operators ---- */

void ulp_lint_pow(struct ulp_lint *lint, struct ulp_lint_place place)
{
    double exponent;
    if (ulp_lint_scalar(place.graph, ulp_lint_input(place, 1), &exponent) &&
        exponent == rint(exponent) && fabs(exponent) <= 8 && exponent != 1 &&
        ulp_lint_in_half(lint, ulp_lint_type(place.graph, ulp_lint_input(place, 0))) &&
        !ulp_lint_in_idiom(lint, place))
        ulp_lint_add(lint, place, NULL, "the exponent is %g", exponent);
}

static bool is_square(struct ulp_lint_place place)
{
    double exponent;
    return (ulp_lint_is(place, "Mul") && ulp_lint_input(place, 0) == ulp_lint_input(place, 1)) ||
           (ulp_lint_is(place, "Pow") &&
            ulp_lint_scalar(place.graph, ulp_lint_input(place, 1), &exponent) && exponent == 2);
}

/* In declared FP16: what the graph says will happen. */
static bool reads_half(struct ulp_lint_place place)
{
    return ulp_lint_type(place.graph, ulp_lint_input(place, 0)) == ULP_TYPE_FLOAT16;
}

void ulp_lint_square(struct ulp_lint *lint, struct ulp_lint_place place)
{
    if (reads_half(place) && is_square(ulp_lint_source(place, 0)))
        ulp_lint_add(lint, place, NULL, "adds up the squares of '%s'",
                     ulp_lint_source(place, 0).node->name);
}

bool ulp_lint_scales_late(struct ulp_lint_place place, int *constant)
{
    double factor = 0;
    const bool divides = ulp_lint_is(place, "Div");
    if (!divides && !ulp_lint_is(place, "Mul"))
        return false;
    for (*constant = 1; *constant >= 0; --*constant)
        if (ulp_lint_scalar(place.graph, ulp_lint_input(place, (size_t)*constant), &factor))
            break;
    if (*constant < 0 || (divides && *constant == 0) || factor == 0)
        return false;
    const struct ulp_lint_place product = ulp_lint_source(place, (size_t)(1 - *constant)),
                                reader = ulp_lint_is(product, "MatMul")
                                             ? ulp_lint_only_reader(product)
                                             : (struct ulp_lint_place){0};
    return fabs(divides ? 1 / factor : factor) < 1 && reader.node == place.node &&
           !ulp_lint_constant(product.graph, ulp_lint_input(product, 0)) &&
           !ulp_lint_constant(product.graph, ulp_lint_input(product, 1));
}

void ulp_lint_late_scale(struct ulp_lint *lint, struct ulp_lint_place place)
{
    int constant;
    if (ulp_lint_scales_late(place, &constant) &&
        ulp_lint_in_half(lint, ulp_lint_type(place.graph, ulp_lint_output(place, 0))))
        ulp_lint_add(lint, place, NULL, "scales the product '%s', which is stored before",
                     ulp_lint_source(place, (size_t)(1 - constant)).node->name);
}

void ulp_lint_log_softmax(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const enum ulp_type type = ulp_lint_type(place.graph, ulp_lint_output(place, 0));
    if (ulp_lint_is(ulp_lint_source(place, 0), "Softmax") && ulp_lint_in_half(lint, type))
        ulp_lint_add(lint, place, NULL, "the logarithm of '%s'",
                     ulp_lint_source(place, 0).node->name);
}

static bool is_mean(struct ulp_lint_place place)
{
    return ulp_lint_is(place, "ReduceMean") || ulp_lint_is(place, "GlobalAveragePool");
}

void ulp_lint_variance(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_lint_place of_squares = ulp_lint_source(place, 0),
                                of_mean = ulp_lint_source(place, 1);
    if (!is_mean(of_squares) || !of_mean.node || !is_square(of_mean))
        return;
    const struct ulp_lint_place square = ulp_lint_source(of_squares, 0),
                                mean = ulp_lint_source(of_mean, 0);
    if (square.node && is_square(square) && is_mean(mean) &&
        ulp_lint_input(square, 0) == ulp_lint_input(mean, 0))
        ulp_lint_add(lint, place, NULL, "the mean of squares '%s' less the square '%s'",
                     of_squares.node->name, of_mean.node->name);
}

void ulp_lint_plain(struct ulp_lint *lint, struct ulp_lint_place place)
{
    ulp_lint_add(lint, place, NULL, "%s is 0 where something inside it passes FP16's range",
                 place.node->op_type);
}

void ulp_lint_reduce(struct ulp_lint *lint, struct ulp_lint_place place)
{
    /* at most 1 each, and most of them far less: their sums are small */
    if (reads_half(place) && !is_square(ulp_lint_source(place, 0)) &&
        !ulp_lint_is_any(ulp_lint_source(place, 0), "Softmax Sigmoid HardSigmoid Exp"))
        ulp_lint_add(lint, place, NULL, "%s in FP16", place.node->op_type);
}

void ulp_lint_exp(struct ulp_lint *lint, struct ulp_lint_place place)
{
    if (!reads_half(place))
        return;
    const struct ulp_lint_place source = ulp_lint_source(place, 0);
    const bool shifted =
        ulp_lint_is(source, "Sub") && ulp_lint_is(ulp_lint_source(source, 1), "ReduceMax");
    if (!shifted && !ulp_lint_is_any(source, "Clip Min LogSoftmax Tanh Sigmoid"))
        ulp_lint_add(lint, place, NULL, "Exp in FP16 of what '%s' gives",
                     source.node ? source.node->name : "an input");
}

/* The value's producer behind operators that only move elements. */
static struct ulp_lint_place behind_moves(struct ulp_lint_place place, size_t input)
{
    struct ulp_lint_place source = ulp_lint_source(place, input);
    for (int depth = 0; depth < 8 && source.node && source.node->input_count &&
                        (ulp_lint_moves(source) || ulp_lint_is(source, "Cast"));
         depth++)
        source = ulp_lint_source(source, 0);
    return source;
}

static bool is_scaled(struct ulp_lint_place place)
{
    double scale;
    return (ulp_lint_is(place, "Mul") || ulp_lint_is(place, "Div")) &&
           (ulp_lint_scalar(place.graph, ulp_lint_input(place, 1), &scale) ||
            ulp_lint_scalar(place.graph, ulp_lint_input(place, 0), &scale) ||
            ulp_lint_is(ulp_lint_source(place, 1), "Sqrt"));
}

void ulp_lint_softmax(struct ulp_lint *lint, struct ulp_lint_place place)
{
    if (!reads_half(place))
        return;
    struct ulp_lint_place source = behind_moves(place, 0);
    if (ulp_lint_is(source, "Add")) /* a mask */
        source = ulp_lint_is(behind_moves(source, 0), "MatMul") ? behind_moves(source, 0)
                                                                : behind_moves(source, 1);
    if (!ulp_lint_is(source, "MatMul"))
        return;
    for (size_t i = 0; i < 2; i++)
        if (ulp_lint_constant(source.graph, ulp_lint_input(source, i)) ||
            is_scaled(behind_moves(source, i)))
            return;
    ulp_lint_add(lint, place, NULL, "the scores are those of '%s'", source.node->name);
}
