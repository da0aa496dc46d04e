/* Rules about what a target's parser takes (parser.def). */
#include "analysis/lint/lint.h"

#include "ops/operator.h"

enum { MINOR = 100 }; /* a version is major * MINOR + minor; 0: none */

static const struct parser {
    unsigned bit;
    const char *name;
    int first, last;
} parsers[] = {
#define PARSER(bit, name, first, major, minor) {bit, name, first * MINOR, major * MINOR + minor},
#include "analysis/lint/parser.def"
};

static const struct {
    const char *name;
    int since;
} operators[] = {
#define OPERATOR(name, major, minor) {name, major * MINOR + minor},
#include "analysis/lint/parser.def"
};

/* The oldest of the parsers that the lint is asked about, and of nothing else: a model that no one
 * wants to give to it need not please it. */
static const struct parser *find_parser(const struct ulp_lint *lint)
{
    unsigned rest = lint->options->targets;
    const struct parser *oldest = NULL;
    for (size_t p = sizeof parsers / sizeof *parsers; p-- > 0;)
        if (rest & parsers[p].bit) {
            rest &= ~parsers[p].bit;
            oldest = &parsers[p];
        }
    return rest ? NULL : oldest;
}

static bool is_contributed(const char *domain)
{
    return strcmp(domain, "com.microsoft") == 0 || strncmp(domain, "com.microsoft.", 14) == 0 ||
           strncmp(domain, "ai.onnx.", 8) == 0;
}

/* Of operators that the lists do not have only those are said to be missing that ONNX or ONNX
 * Runtime has; others are plugins, or functions of the model. */
static bool is_missing(const struct ulp_lint *lint, struct ulp_lint_place place, int *since)
{
    const struct ulp_node *node = place.node;
    *since = 0;
    for (size_t f = 0; f < lint->model->function_count; f++)
        if (strcmp(lint->model->functions[f].name, node->op_type) == 0)
            return false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].name, node->op_type) == 0) {
            *since = operators[i].since;
            return true;
        }
    return is_contributed(node->domain) ||
           (!*node->domain && ulp_operator_find("", node->op_type, ulp_lint_opset(place)));
}

/* One finding an operator, at the first of its nodes: those that the last known version lacks, or
 * those that only a later one than the target's first has. */
static void find_operators(struct ulp_lint *lint, bool missing)
{
    const struct parser *parser = find_parser(lint);
    for (size_t n = 0; parser && n < lint->node_count; n++) {
        const struct ulp_lint_place place = lint->places[n];
        size_t count = 0, before = 0;
        int since;
        if (!is_missing(lint, place, &since) ||
            (missing ? since && since <= parser->last
                     : since <= parser->first || since > parser->last))
            continue;
        for (size_t i = 0; i < lint->node_count; i++) {
            const bool same = strcmp(lint->places[i].node->op_type, place.node->op_type) == 0;
            count += same;
            before += same && i < n;
        }
        if (before)
            continue;
        const char *nodes = count == 1 ? "" : "s";
        if (since)
            ulp_lint_add(lint, place, NULL, "TensorRT has %s (%zu node%s) from %d.%d on",
                         place.node->op_type, count, nodes, since / MINOR, since % MINOR);
        else
            ulp_lint_add(lint, place, NULL, "%s's parser does not have %s (%zu node%s)",
                         parser->name, place.node->op_type, count, nodes);
    }
}

void ulp_lint_operator_missing(struct ulp_lint *lint)
{
    find_operators(lint, true);
}

void ulp_lint_operator_newer(struct ulp_lint *lint)
{
    find_operators(lint, false);
}

/* Does the parser take quantised values of that type? FP8, FP4 and INT4 are TensorRT 10's; UINT8 is
 * read as INT8 where it is computed, and refused as a constant. */
static bool is_taken(enum ulp_type type, bool computed, int last)
{
    switch (type) {
    case ULP_TYPE_UNDEFINED:
    case ULP_TYPE_INT8: return true;
    case ULP_TYPE_UINT8: return computed;
    case ULP_TYPE_FLOAT8E4M3FN:
    case ULP_TYPE_FLOAT4E2M1:
    case ULP_TYPE_INT4: return last >= 10 * MINOR;
    default: return false;
    }
}

/* A type of quantised values is one decision, too. */
void ulp_lint_qdq_type(struct ulp_lint *lint)
{
    const struct parser *parser = find_parser(lint);
    struct ulp_lint_place first = {0};
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    size_t count = 0;
    for (size_t n = 0; parser && n < lint->node_count; n++) {
        const struct ulp_lint_place place = lint->places[n];
        const bool narrows = ulp_lint_is(place, "QuantizeLinear");
        if (!narrows && !ulp_lint_is(place, "DequantizeLinear"))
            continue;
        const int value = narrows ? ulp_lint_output(place, 0) : ulp_lint_input(place, 0);
        const enum ulp_type here = ulp_lint_type(place.graph, value);
        if (is_taken(here, !ulp_lint_constant(place.graph, value), parser->last))
            continue;
        if (!count++) {
            first = place;
            type = here;
        }
    }
    if (count)
        ulp_lint_add(lint, first, NULL,
                     "the type is %s, and of %zu node%s in all it is one that %s does not take",
                     ulp_type_name(type), count, count == 1 ? "" : "s", parser->name);
}
