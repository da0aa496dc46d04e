/* Powers of two as an edit of the graph. */
#include <math.h>

#include "analysis/fix/powers.h"
#include "tensor/tensor.h"

struct writing {
    struct ulp_powers *powers;
    struct ulp_lint_place place;
    const struct ulp_power_node *row;
    struct ulp_building building;
    struct ulp_edit_part own;
    bool changed;
    size_t *constants, *products;
};

static bool is_computed(const struct writing *w, size_t i)
{
    return ulp_power_computed(w->powers, ulp_lint_input(w->place, i));
}

static int power_of(const struct writing *w, size_t i)
{
    return is_computed(w, i) ? w->powers->of[ulp_lint_input(w->place, i)] : 0;
}

static int result_power(const struct writing *w)
{
    const int value = ulp_lint_output(w->place, 0);
    return ulp_power_computed(w->powers, value) ? w->powers->of[value] : 0;
}

/* ---- pieces ---- */

/* x * 2^shift: by several numbers where one would leave FP16. */
static struct ulp_edit_input multiply(struct writing *w, struct ulp_edit_input x, int shift,
                                      enum ulp_type type)
{
    enum { UP_MOST = 15, DOWN_MOST = 14 };
    while (shift) {
        const int step = shift > UP_MOST ? UP_MOST : shift < -DOWN_MOST ? -DOWN_MOST : shift;
        struct ulp_tensor *factor = ulp_build_tensor(&w->building, type, 0, 1);
        if (!factor)
            break;
        *(float *)factor->data = (float)ldexp(1, step);
        const struct ulp_edit_input inputs[] = {x, {.kind = ULP_EDIT_TENSOR, .tensor = factor}};
        ulp_build_part(&w->building, "Mul", inputs, 2, &x);
        shift -= step;
        *w->products += 1;
    }
    w->changed = true;
    return x;
}

/* The input once more, as v * 2^-e. */
static void read_at(struct writing *w, size_t i, int e)
{
    const int shift = power_of(w, i) - e;
    if (!shift || !is_computed(w, i))
        return;
    for (size_t before = 0; before < i; before++) /* a square reads it twice */
        if (w->place.node->inputs[before] == w->place.node->inputs[i] &&
            w->own.inputs[before].kind == ULP_EDIT_PART) {
            w->own.inputs[i] = w->own.inputs[before];
            return;
        }
    w->own.inputs[i] = multiply(w, w->own.inputs[i], shift,
                                ulp_lint_type(w->powers->view, w->place.node->inputs[i]));
}

/* A constant's elements times 2^-e: exactly, or nothing is written. */
static void scale_constant(struct writing *w, size_t i, int e)
{
    const struct ulp_tensor *from = ulp_lint_constant(w->powers->view, ulp_lint_input(w->place, i));
    if (!e || !from || !ulp_type_is_float(from->type))
        return;
    struct ulp_tensor *to = ulp_build_tensor(&w->building, from->type, from->rank, from->count);
    if (!to)
        return;
    for (int d = 0; d < from->rank; d++)
        to->dims[d] = from->dims[d];
    for (size_t k = 0; k < from->count; k++) {
        const double x = ulp_tensor_get(from, k), y = ldexp(x, -e);
        ((float *)to->data)[k] = (float)y;
        w->building.failed |= (double)(float)y != y && fabs(x) > 0x1p-100;
    }
    w->own.inputs[i] = (struct ulp_edit_input){.kind = ULP_EDIT_TENSOR, .tensor = to};
    w->changed = true;
    *w->constants += 1;
}

/* By what it adds to its variance, which is of squares. */
static void scale_epsilon(struct writing *w, int e)
{
    const double epsilon = ulp_node_float(w->place.node, "epsilon", 1e-5);
    if (!e || ulp_lint_is(w->place, "LpNormalization"))
        return;
    ulp_build_attribute(&w->own, "epsilon", ULP_ATTRIBUTE_FLOAT)->f = (float)ldexp(epsilon, -2 * e);
    w->changed = true;
}

/* ---- nodes ---- */

/* Of a product's bias and of one's factors: times 2^-e. */
static void read_pair(struct writing *w, int *out)
{
    const bool product = w->row->kind == ULP_POWER_PRODUCT;
    const int constant = w->row->constant;
    if (constant < 0) {
        read_at(w, 0, w->row->in[0]);
        read_at(w, 1,
                ulp_lint_input(w->place, 0) == ulp_lint_input(w->place, 1) ? w->row->in[0]
                                                                           : w->row->in[1]);
        *out = w->row->out;
    } else {
        const int x = power_of(w, (size_t)(1 - constant));
        *out = result_power(w);
        scale_constant(w, (size_t)constant, product ? *out - x : constant ? x - *out : *out + x);
    }
    for (size_t i = 2; product && i < w->place.node->input_count; i++)
        scale_constant(w, i, *out);
}

/* What the node computes, into w->own; *out: the e of its result. */
static void read_inputs(struct writing *w, int *out)
{
    const size_t count = w->place.node->input_count;
    *out = 0;
    switch (w->row->kind) {
    case ULP_POWER_PRODUCT:
    case ULP_POWER_QUOTIENT: read_pair(w, out); return;
    case ULP_POWER_SAME:
    case ULP_POWER_COMPARE:
    case ULP_POWER_POWER:
        for (size_t i = 0; i < count; i++) {
            const int e = ulp_power_scales(w->row, i) ? w->row->in[0] : 0;
            read_at(w, i, e);
            scale_constant(w, i, e);
        }
        *out = w->row->out;
        return;
    case ULP_POWER_NORM:
        scale_epsilon(w, power_of(w, 0));
        *out = w->row->constant < 0 ? 0 : result_power(w);
        for (size_t i = 1; i < count; i++) {
            read_at(w, i, 0);
            scale_constant(w, i, *out);
        }
        return;
    case ULP_POWER_BATCHNORM:
        *out = result_power(w);
        scale_constant(w, 1, *out - power_of(w, 0));
        scale_constant(w, 2, *out);
        scale_constant(w, 3, power_of(w, 0));
        return;
    case ULP_POWER_FREE: return;
    case ULP_POWER_LOG: return;
    case ULP_POWER_FIXED:
        for (size_t i = 0; i < count; i++)
            read_at(w, i, 0);
    }
}

/* The node itself before others: its operator and attributes are written out. */
static struct ulp_edit_input put_own(struct writing *w)
{
    struct ulp_edit_input result;
    struct ulp_edit_part *part = ulp_build_part(&w->building, w->place.node->op_type, w->own.inputs,
                                                w->own.input_count, &result);
    w->building.failed |= !ulp_power_may_follow(w->place.node);
    if (w->building.failed || !part)
        return result;
    for (size_t a = 0; a < w->own.attribute_count; a++)
        part->attributes[part->attribute_count++] = w->own.attributes[a];
    for (size_t a = 0; a < w->place.node->attribute_count; a++) {
        const struct ulp_attribute *from = &w->place.node->attributes[a];
        if (!(w->own.attribute_count && strcmp(from->name, w->own.attributes[0].name) == 0))
            part->attributes[part->attribute_count++] = *from;
    }
    return result;
}

/* log(v) is log(v * 2^-e) + e * log(2): the term in two pieces where its type has few bits. */
static void add_term(struct writing *w, double term, struct ulp_edit_input *result)
{
    const enum ulp_type type = ulp_lint_type(w->powers->view, ulp_lint_output(w->place, 0));
    struct ulp_format format;
    const bool half = ulp_lint_is_half(type) &&
                      ulp_format_find(ulp_type_rows[type].format, &format, NULL) == ULP_OK;
    for (int piece = 0; piece <= half && !w->building.failed; piece++) {
        const double now =
            half ? ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, term, 0, 0) : term;
        struct ulp_tensor *tensor = ulp_build_tensor(&w->building, type, 0, 1);
        const struct ulp_edit_input inputs[] = {*result,
                                                {.kind = ULP_EDIT_TENSOR, .tensor = tensor}};
        if (!tensor)
            return;
        *(float *)tensor->data = (float)now;
        term -= now;
        ulp_build_part(&w->building, "Add", inputs, 2, result);
    }
}

static void follow(struct writing *w, int out)
{
    const int log = w->row->kind == ULP_POWER_LOG ? power_of(w, 0) : 0,
              shift = out - result_power(w);
    struct ulp_edit_input result;
    if (!log && !shift) {
        if (w->building.count < ULP_BUILDING_MAX)
            w->building.parts[w->building.count] = w->own;
        w->building.failed |= w->building.count++ >= ULP_BUILDING_MAX;
        return;
    }
    result = put_own(w);
    if (log)
        add_term(w, log * 0x1.62e42fefa39efp-1, &result);
    multiply(w, result, shift, ulp_lint_type(w->powers->view, ulp_lint_output(w->place, 0)));
}

static void write_node(struct writing *w)
{
    int out;
    const struct ulp_node *node = w->place.node;
    if (node->input_count > ULP_EDIT_INPUTS_MAX || !node->output_count)
        return;
    w->own.input_count = node->input_count;
    for (size_t i = 0; i < node->input_count; i++)
        w->own.inputs[i].number = node->inputs[i];
    read_inputs(w, &out);
    follow(w, out);
}

void ulp_powers_propose(struct ulp_powers *powers, struct ulp_lint_place place)
{
    struct ulp_lint_proposals *p = powers->p;
    size_t constants = 0, products = 0, values = 0;
    int least = 0, most = 0;
    for (size_t v = 0; v < powers->graph->value_count; v++) {
        values += powers->of[v] != 0;
        least = powers->of[v] < least ? powers->of[v] : least;
        most = powers->of[v] > most ? powers->of[v] : most;
    }
    for (size_t n = 0; n < powers->graph->node_count && !p->lint.failed; n++) {
        struct writing w = {.powers = powers,
                            .place = {powers->view, &powers->graph->nodes[n]},
                            .row = &powers->nodes[n],
                            .building.p = p,
                            .constants = &constants,
                            .products = &products};
        write_node(&w);
        if (!w.changed)
            continue;
        struct ulp_edit_part *parts =
            ulp_arena_take(p->lint.arena, w.building.count, sizeof *parts);
        powers->failed |= w.building.failed || !parts;
        if (powers->failed)
            return;
        memcpy(parts, w.building.parts, w.building.count * sizeof *parts);
        const struct ulp_edit edit = {.graph = powers->graph,
                                      .node = w.place.node,
                                      .parts = parts,
                                      .part_count = w.building.count};
        if (p->count)
            ulp_lint_propose_more(p, &edit);
        else
            ulp_lint_propose_edit(p, &edit, ULP_POWERS_RULE, place, true, "%s", "");
    }
    if (p->count && !p->lint.failed)
        p->items[0].said.text =
            ulp_lint_say(p,
                         "%zu values are stored times 2^%d to 2^%d, which %zu constants take in "
                         "and %zu multiplications",
                         values, -most, -least, constants, products);
}
