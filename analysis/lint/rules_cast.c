/* Rules about Casts and the types of values. */
#include "analysis/lint/lint.h"

/* A Cast between float types: the types; false: it is none. */
static bool read_cast(struct ulp_lint_place place, enum ulp_type *from, enum ulp_type *to)
{
    if (!ulp_lint_is(place, "Cast"))
        return false;
    *from = ulp_lint_type(place.graph, ulp_lint_input(place, 0));
    *to = ulp_lint_type(place.graph, ulp_lint_output(place, 0));
    return ulp_type_is_float(*from) && ulp_type_is_float(*to);
}

/* Two Casts in a row, as a Cast of floats and the one before it. */
struct pair {
    struct ulp_lint_place before;
    enum ulp_type first, middle, last;
};
static bool read_pair(struct ulp_lint_place place, struct pair *out)
{
    enum ulp_type from;
    if (!read_cast(place, &from, &out->last))
        return false;
    out->before = ulp_lint_source(place, 0);
    return read_cast(out->before, &out->first, &out->middle) && out->middle == from &&
           !ulp_lint_constant(out->before.graph, ulp_lint_input(out->before, 0));
}

static void add_pair(struct ulp_lint *lint, struct ulp_lint_place place, const struct pair *pair,
                     const char *changed)
{
    ulp_lint_add(lint, place, NULL, "%s -> %s -> %s: %s by '%s' before",
                 ulp_lint_type_text(pair->first), ulp_lint_type_text(pair->middle),
                 ulp_lint_type_text(pair->last), changed, pair->before.node->name);
}

void ulp_lint_cast_twice(struct ulp_lint *lint, struct ulp_lint_place place)
{
    struct pair pair;
    if (read_pair(place, &pair) && !ulp_lint_type_holds(pair.middle, pair.first) &&
        !ulp_lint_type_holds(pair.last, pair.middle))
        add_pair(lint, place, &pair, "rounded");
}

void ulp_lint_cast_thrash(struct ulp_lint *lint, struct ulp_lint_place place)
{
    struct pair pair;
    if (read_pair(place, &pair) && !ulp_lint_type_holds(pair.middle, pair.first) &&
        ulp_lint_type_holds(pair.last, pair.middle) && pair.last != pair.middle)
        add_pair(lint, place, &pair, "rounded");
}

void ulp_lint_cast_back(struct ulp_lint *lint, struct ulp_lint_place place)
{
    struct pair pair;
    if (read_pair(place, &pair) && pair.first == pair.last && pair.first != pair.middle &&
        ulp_lint_type_holds(pair.middle, pair.first))
        add_pair(lint, place, &pair, "widened");
}

void ulp_lint_cast_constant(struct ulp_lint *lint, struct ulp_lint_place place)
{
    enum ulp_type from, to;
    const int value = place.node->input_count ? place.node->inputs[0] : -1;
    const struct ulp_tensor *constant = ulp_lint_constant(place.graph, value);
    /* one number is folded, and mostly a whole one */
    if (constant && constant->count > 1 && read_cast(place, &from, &to) && ulp_lint_is_half(from) &&
        to != from && ulp_lint_type_holds(to, from))
        ulp_lint_add(lint, place, ulp_lint_value_name(place.graph, value),
                     "the %s constant '%s' (%zu elements) is cast to %s", ulp_lint_type_text(from),
                     ulp_lint_value_name(place.graph, value), constant->count,
                     ulp_lint_type_text(to));
}

/* ---- one type for all inputs ---- */

/* Operators whose inputs from `first` to `last` have one float type. */
static const struct {
    const char *op;
    size_t first, last;
} uniform[] = {
    {"Add", 0, 1},      {"Sub", 0, 1},           {"Mul", 0, 1},     {"Div", 0, 1},
    {"MatMul", 0, 1},   {"Gemm", 0, 2},          {"Conv", 0, 2},    {"Where", 1, 2},
    {"Concat", 0, 999}, {"Min", 0, 999},         {"Max", 0, 999},   {"Sum", 0, 999},
    {"PRelu", 0, 1},    {"Equal", 0, 1},         {"Greater", 0, 1}, {"Less", 0, 1},
    {"Clip", 0, 2},     {"ConvTranspose", 0, 2}, {"Mean", 0, 999},  {"ScatterND", 0, 2},
};

static void check_inputs(struct ulp_lint *lint, struct ulp_lint_place place, size_t first,
                         size_t last)
{
    const enum ulp_type type = ulp_lint_type(place.graph, ulp_lint_input(place, first));
    for (size_t i = first; i < place.node->input_count && i <= last; i++) {
        const enum ulp_type other = ulp_lint_type(place.graph, place.node->inputs[i]);
        if (ulp_type_is_float(type) && ulp_type_is_float(other) && type != other) {
            ulp_lint_add(lint, place, ulp_lint_value_name(place.graph, place.node->inputs[i]),
                         "input %zu is %s and input %zu is %s", first, ulp_lint_type_text(type), i,
                         ulp_lint_type_text(other));
            return;
        }
    }
}

void ulp_lint_type_conflict(struct ulp_lint *lint, struct ulp_lint_place place)
{
    for (size_t u = 0; u < sizeof uniform / sizeof *uniform && !*place.node->domain; u++)
        if (ulp_lint_is(place, uniform[u].op))
            check_inputs(lint, place, uniform[u].first, uniform[u].last);
    const int out = ulp_lint_output(place, 0);
    const enum ulp_type declared = out >= 0 ? place.graph->graph->values[out].info.type
                                            : ULP_TYPE_UNDEFINED,
                        computed = ulp_lint_type(place.graph, out);
    if (ulp_type_is_float(declared) && ulp_type_is_float(computed) && declared != computed)
        ulp_lint_add(lint, place, ulp_lint_value_name(place.graph, out),
                     "'%s' is declared %s, and the node gives %s",
                     ulp_lint_value_name(place.graph, out), ulp_lint_type_text(declared),
                     ulp_lint_type_text(computed));
}

void ulp_lint_type_later(struct ulp_lint *lint, struct ulp_lint_place place)
{
    /* the opset from which on input 0 may be FLOAT, or INT32 and INT64 (ONNX's schemas) */
    static const struct {
        const char *op;
        bool floats;
        int since;
    } rows[] = {{"Clip", false, 12},  {"Equal", true, 11},   {"Flatten", false, 9},
                {"Gemm", false, 9},   {"Greater", false, 9}, {"Less", false, 9},
                {"MatMul", false, 9}, {"Max", false, 12},    {"Min", false, 12},
                {"PRelu", false, 9},  {"Pad", false, 11},    {"Pow", false, 12},
                {"Relu", false, 14},  {"TopK", false, 11}};
    const int64_t opset = ulp_lint_opset(place);
    const enum ulp_type type = ulp_lint_type(place.graph, ulp_lint_input(place, 0));
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !*place.node->domain; i++)
        if (ulp_lint_is(place, rows[i].op) && opset < rows[i].since &&
            (rows[i].floats ? ulp_type_is_float(type)
                            : type == ULP_TYPE_INT32 || type == ULP_TYPE_INT64))
            ulp_lint_add(lint, place, NULL,
                         "of %s, which it takes from opset %d on: here it is %lld",
                         ulp_lint_type_text(type), rows[i].since, (long long)opset);
}

/* ---- integers ---- */

/* How far back a search goes, in nodes. */
enum { SEARCH_MAX = 48 };

/* May the value be NaN or infinite by what computes it? Found: that node. Stops at what gives
 * finite values, at guards, and at inputs, which are taken for finite. */
static struct ulp_lint_place find_nonfinite(const struct ulp_lint_graph *graph, int value,
                                            int *budget)
{
    static const char through[] = "Add Sub Mul Neg Abs Floor Ceil Round Sum Min Max Clip Relu Cast "
                                  "ReduceMax ReduceMin ReduceSum ReduceMean";
    const struct ulp_lint_place place = ulp_lint_producer(graph, value), none = {0};
    if (!place.node || *place.node->domain || --*budget < 0 ||
        !ulp_type_is_float(ulp_lint_type(graph, value)))
        return none;
    const struct ulp_lint_figures *divisor =
        ulp_lint_figures(place.graph, ulp_lint_input(place, 1));
    const bool safe_division =
        ulp_lint_is(place, "Div") && divisor && !divisor->nonfinite && !divisor->zeros;
    if (ulp_lint_is_any(place, "Div Log Reciprocal Acos Asin Atanh Acosh") && !safe_division)
        return place;
    struct ulp_lint_place found = none;
    if (safe_division || ulp_lint_is_any(place, through) || ulp_lint_moves(place))
        for (size_t i = 0; i < place.node->input_count && !found.node; i++)
            found = find_nonfinite(place.graph, place.node->inputs[i], budget);
    return found;
}

static bool is_integer(enum ulp_type type)
{
    return type != ULP_TYPE_UNDEFINED && type != ULP_TYPE_BOOL && type != ULP_TYPE_STRING &&
           !ulp_type_is_float(type);
}

/* Does the value come from the shape of something, by nothing but arithmetic on constants? */
static bool is_length(const struct ulp_lint_graph *graph, int value, int *budget)
{
    static const char arithmetic[] =
        "Add Sub Mul Div Floor Ceil Round Cast Sqrt Pow Neg Min Max Mod ReduceProd";
    const struct ulp_lint_place place = ulp_lint_producer(graph, value);
    if (!place.node || --*budget < 0)
        return false;
    if (ulp_lint_is_any(place, "Shape Size"))
        return true;
    if (!ulp_lint_is_any(place, arithmetic) && !ulp_lint_moves(place))
        return false;
    bool any = false;
    for (size_t i = 0; i < place.node->input_count; i++) {
        const int input = place.node->inputs[i];
        if (input < 0 || ulp_lint_constant(place.graph, input))
            continue;
        if (!is_length(place.graph, input, budget))
            return false;
        any = true;
    }
    return any;
}

void ulp_lint_cast_integer(struct ulp_lint *lint, struct ulp_lint_place place)
{
    int budget = SEARCH_MAX, length_budget = SEARCH_MAX;
    const int in = ulp_lint_input(place, 0);
    if (!ulp_type_is_float(ulp_lint_type(place.graph, in)) ||
        !is_integer(ulp_lint_type(place.graph, ulp_lint_output(place, 0))) ||
        is_length(place.graph, in, &length_budget))
        return;
    const struct ulp_lint_place birth = find_nonfinite(place.graph, in, &budget);
    if (birth.node)
        ulp_lint_add(lint, place, NULL, "cast to %s; NaN or infinity may come from '%s' (%s)",
                     ulp_lint_type_text(ulp_lint_type(place.graph, ulp_lint_output(place, 0))),
                     birth.node->name, birth.node->op_type);
}

void ulp_lint_length_half(struct ulp_lint *lint, struct ulp_lint_place place)
{
    int budget = SEARCH_MAX;
    const enum ulp_type to = ulp_lint_type(place.graph, ulp_lint_output(place, 0));
    if (ulp_lint_is_half(to) && is_integer(ulp_lint_type(place.graph, ulp_lint_input(place, 0))) &&
        is_length(place.graph, ulp_lint_input(place, 0), &budget))
        ulp_lint_add(lint, place, NULL, "a length is cast to %s, exact up to %d",
                     ulp_lint_type_text(to), to == ULP_TYPE_FLOAT16 ? 2048 : 256);
}

/* Where arithmetic on lengths in FP32 ends. */
void ulp_lint_length_float(struct ulp_lint *lint, struct ulp_lint_place place)
{
    int budget = SEARCH_MAX;
    if (ulp_lint_type(place.graph, ulp_lint_input(place, 0)) == ULP_TYPE_FLOAT &&
        is_integer(ulp_lint_type(place.graph, ulp_lint_output(place, 0))) &&
        is_length(place.graph, ulp_lint_input(place, 0), &budget))
        ulp_lint_add(lint, place, NULL, "ends a computation of a length in FP32");
}

/* ---- FP64 ---- */

void ulp_lint_double(struct ulp_lint *lint)
{
    size_t nodes = 0;
    struct ulp_lint_place first = {0};
    for (size_t n = 0; n < lint->node_count; n++) {
        const struct ulp_lint_place place = lint->places[n];
        if (ulp_lint_is(place, "Constant") ||
            ulp_lint_type(place.graph, ulp_lint_output(place, 0)) != ULP_TYPE_DOUBLE)
            continue;
        first = nodes++ ? first : place;
    }
    if (nodes)
        ulp_lint_add(lint, first, NULL, "%zu node%s in FP64, this is the first", nodes,
                     nodes == 1 ? "" : "s");
}
