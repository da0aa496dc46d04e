/* Lengths that are computed in floats, back in integers; others: rewrite.def. */
#include <math.h>

#include "analysis/lint/proposal.h"

bool ulp_lint_is_whole(const struct ulp_tensor *constant)
{
    bool whole = ulp_type_is_float(constant->type) && constant->rank <= 1;
    for (size_t i = 0; i < constant->count && whole; i++) {
        const double x = ulp_tensor_get(constant, i);
        whole = x == floor(x) && fabs(x) < 0x1p31;
    }
    return whole;
}

struct ulp_edit_input ulp_build_whole(struct ulp_building *b, enum ulp_type type,
                                      const struct ulp_tensor *from)
{
    struct ulp_tensor *tensor = ulp_build_tensor(b, type, from->rank, from->count);
    for (size_t i = 0; tensor && i < from->count; i++)
        ((int64_t *)tensor->data)[i] = (int64_t)ulp_tensor_get(from, i);
    return (struct ulp_edit_input){.kind = ULP_EDIT_TENSOR, .tensor = tensor};
}

static struct ulp_edit_input build_of_two(struct ulp_building *b, const char *op,
                                          struct ulp_edit_input x, struct ulp_edit_input y)
{
    struct ulp_edit_input out;
    ulp_build_part(b, op, (struct ulp_edit_input[]){x, y}, 2, &out);
    return out;
}

static struct ulp_edit_input cast(struct ulp_building *b, struct ulp_edit_input x, int64_t type)
{
    struct ulp_edit_input out;
    struct ulp_edit_part *part = ulp_build_part(b, "Cast", &x, 1, &out);
    if (part)
        ulp_build_attribute(part, "to", ULP_ATTRIBUTE_INT)->i = type;
    return out;
}

bool ulp_lint_is_integer(enum ulp_type type)
{
    return type == ULP_TYPE_INT64 || type == ULP_TYPE_INT32 || type == ULP_TYPE_INT16 ||
           type == ULP_TYPE_INT8 || type == ULP_TYPE_UINT16 || type == ULP_TYPE_UINT8;
}

/* ---- lengths ---- */

static struct ulp_edit_input convert(struct ulp_building *b, const struct ulp_lint_graph *graph,
                                     int value, int depth);

/* floor(x / c), as integers have it for every sign: x less what is left of it, divided; Ceil: by
 * what is left of -x. */
static struct ulp_edit_input build_quotient(struct ulp_building *b, struct ulp_lint_place quotient,
                                            bool ceils, int depth)
{
    double c = 0;
    const bool divides = ulp_lint_is(quotient, "Div");
    const struct ulp_edit_input none = {.number = -1};
    if ((!divides && !ulp_lint_is(quotient, "Mul")) ||
        !ulp_lint_scalar(quotient.graph, ulp_lint_input(quotient, 1), &c))
        b->failed = true;
    c = divides ? c : 1 / c;
    b->failed |= !(c >= 1 && c == floor(c) && c < 0x1p31);
    if (b->failed)
        return none;
    const struct ulp_edit_input x =
        convert(b, quotient.graph, ulp_lint_input(quotient, 0), depth + 1);
    struct ulp_tensor *tensor = ulp_build_tensor(b, ULP_TYPE_INT64, 0, 1);
    const struct ulp_edit_input divisor = {.kind = ULP_EDIT_TENSOR, .tensor = tensor};
    struct ulp_edit_input negative = x;
    if (!tensor)
        return none;
    *(int64_t *)tensor->data = (int64_t)c;
    if (ceils)
        ulp_build_part(b, "Neg", &x, 1, &negative);
    return build_of_two(b, "Div",
                        build_of_two(b, ceils ? "Add" : "Sub", x,
                                     build_of_two(b, "Mod", negative, divisor)),
                        divisor);
}

/* The float value as INT64. */
static struct ulp_edit_input convert(struct ulp_building *b, const struct ulp_lint_graph *graph,
                                     int value, int depth)
{
    enum { DEPTH_MAX = 24 };
    const struct ulp_edit_input none = {.number = -1};
    const struct ulp_lint_place place = ulp_lint_producer(graph, value);
    const struct ulp_tensor *constant = ulp_lint_constant(graph, value);
    b->failed |= depth == DEPTH_MAX || value < 0 || (!constant && place.graph != graph);
    if (constant && ulp_lint_is_whole(constant) && !b->failed)
        return ulp_build_whole(b, ULP_TYPE_INT64, constant);
    if (b->failed || constant || !place.node) {
        b->failed = true;
        return none;
    }
    if (ulp_lint_is(place, "Cast") &&
        ulp_lint_is_integer(ulp_lint_type(graph, ulp_lint_input(place, 0))))
        return cast(b, (struct ulp_edit_input){.number = ulp_lint_input(place, 0)}, ULP_TYPE_INT64);
    if (ulp_lint_is_any(place, "Floor Ceil")) {
        const struct ulp_lint_place inside = ulp_lint_source(place, 0);
        if (ulp_lint_is(inside, "Div") || (ulp_lint_is(inside, "Mul") && inside.graph == graph))
            return build_quotient(b, inside, ulp_lint_is(place, "Ceil"), depth);
        return convert(b, graph, ulp_lint_input(place, 0), depth + 1);
    }
    if (!ulp_lint_is_any(place, "Add Sub Mul")) {
        b->failed = true;
        return none;
    }
    const struct ulp_edit_input x = convert(b, graph, ulp_lint_input(place, 0), depth + 1),
                                y = convert(b, graph, ulp_lint_input(place, 1), depth + 1);
    return b->failed ? none : build_of_two(b, place.node->op_type, x, y);
}

/* A Cast of what is computed from integers, whole at each step. */
static void convert_length(struct ulp_lint_proposals *p, struct ulp_lint_place place)
{
    const int input = ulp_lint_is(place, "Cast") ? ulp_lint_input(place, 0) : -1;
    const enum ulp_type to = ulp_lint_type(place.graph, ulp_lint_output(place, 0));
    struct ulp_building b = {.p = p};
    if (input < 0 || !ulp_lint_is_integer(to) || ulp_lint_constant(place.graph, input) ||
        !ulp_type_is_float(ulp_lint_type(place.graph, input)) || ulp_lint_opset(place) < 10 ||
        ulp_lint_is(ulp_lint_source(place, 0), "Cast"))
        return;
    const struct ulp_edit_input whole = convert(&b, place.graph, input, 0);
    if (b.failed)
        return;
    cast(&b, whole, (int64_t)to);
    ulp_build_propose(&b, place, "length-in-float", "it is computed in integers");
}

void ulp_lint_whole_numbers(struct ulp_lint_proposals *p)
{
    for (size_t n = 0; n < p->lint.node_count; n++) {
        const struct ulp_lint_place place = p->lint.places[n];
        if (!place.graph->function && !*place.node->domain)
            convert_length(p, place);
    }
}
