/* GroupNormalization written out: x as [N, groups, rest], normalised along the last axis by an
 * InstanceNormalization or by nodes, in x's shape again, times a scale and plus a bias of each
 * channel. */
#include "analysis/lint/proposal.h"
#include "run/idiom/idiom.h"

enum { OPSET = 21 }; /* in which scale and bias are of channels */

struct group {
    struct ulp_lint_place root;  /* the sum */
    int x, folded, flat, result; /* values: as [N, groups, rest], and normalised, in x's shape */
    const struct ulp_tensor *scale, *bias;
    int64_t channels, groups;
    double epsilon;
};

static bool is_filled(const struct ulp_tensor *constant, double number)
{
    for (size_t i = 0; constant && i < constant->count; i++)
        if (ulp_tensor_get(constant, i) != number)
            return false;
    return constant != NULL;
}

/* The other input of a node that also reads a constant. */
static bool split(struct ulp_lint_place place, const char *op, const struct ulp_tensor **constant,
                  int *other)
{
    for (size_t i = 0; ulp_lint_is(place, op) && i < 2; i++) {
        *constant = ulp_lint_constant(place.graph, ulp_lint_input(place, i));
        *other = ulp_lint_input(place, 1 - i);
        if (*constant && ulp_type_is_float((*constant)->type) &&
            !ulp_lint_constant(place.graph, *other))
            return true;
    }
    return false;
}

/* A normalisation that is one of several nodes, without scale and bias. */
static bool is_written(const struct ulp_lint *lint, struct ulp_lint_place norm, struct group *out)
{
    const struct ulp_lint_planned *given = lint->planned;
    for (size_t b = 0; b < given->block_count; b++)
        for (size_t i = 0; i < given->idioms[b].count; i++) {
            const struct ulp_idiom *idiom = &given->idioms[b].items[i];
            const struct ulp_block *block = given->idioms[b].block;
            if (idiom->kind != ULP_IDIOM_LAYER_NORM || idiom->axes != UINT32_C(1) << 2 ||
                idiom->holes[ULP_IDIOM_GAMMA] >= 0 || idiom->holes[ULP_IDIOM_BETA] >= 0 ||
                ulp_lint_place_of(lint, &block->steps[idiom->root]).node != norm.node)
                continue;
            out->folded = ulp_lint_value_in(lint, norm.graph, block, idiom->holes[ULP_IDIOM_X]);
            out->epsilon = idiom->epsilon;
            return out->folded >= 0;
        }
    return false;
}

static bool find_norm(const struct ulp_lint *lint, struct ulp_lint_place norm, struct group *out)
{
    const struct ulp_attribute *epsilon =
        norm.node ? ulp_node_attribute(norm.node, "epsilon") : NULL;
    if (!ulp_lint_is(norm, "InstanceNormalization"))
        return norm.node && is_written(lint, norm, out);
    out->folded = ulp_lint_input(norm, 0);
    out->epsilon = epsilon ? (double)epsilon->f : 1e-5;
    return is_filled(ulp_lint_constant(norm.graph, ulp_lint_input(norm, 1)), 1) &&
           is_filled(ulp_lint_constant(norm.graph, ulp_lint_input(norm, 2)), 0);
}

/* Has a constant one number for each of x's channels? */
static bool is_of_channels(const struct ulp_tensor *constant, const struct ulp_tensor *x)
{
    const int at = constant->rank - (x->rank - 1);
    return at >= 0 && at <= 1 && constant->dims[at] == x->dims[1] &&
           constant->count == (size_t)x->dims[1];
}

/* In one plan: the shapes of the Reshapes. */
static bool is_group(const struct ulp_lint *lint, size_t at, const void *of)
{
    const struct group *g = of;
    const struct ulp_lint_graph *graph = g->root.graph;
    const struct ulp_tensor *x = ulp_lint_shape_of(lint, at, graph, g->x),
                            *folded = ulp_lint_shape_of(lint, at, graph, g->folded),
                            *flat = ulp_lint_shape_of(lint, at, graph, g->flat),
                            *result = ulp_lint_shape_of(lint, at, graph, g->result);
    return x && folded && flat && result && x->rank >= 3 && folded->rank == 3 &&
           ulp_tensor_same_shape(x, result) && ulp_tensor_same_shape(folded, flat) &&
           folded->dims[0] == x->dims[0] && folded->dims[1] == g->groups &&
           x->dims[1] == g->channels && g->channels % g->groups == 0 &&
           is_of_channels(g->scale, x) && is_of_channels(g->bias, x);
}

static struct ulp_edit_input flatten(struct ulp_building *b, const struct ulp_tensor *constant)
{
    struct ulp_tensor *flat = ulp_build_tensor(b, constant->type, 1, constant->count);
    for (size_t i = 0; flat && i < constant->count; i++)
        ((float *)flat->data)[i] = (float)ulp_tensor_get(constant, i);
    return (struct ulp_edit_input){.kind = ULP_EDIT_TENSOR, .tensor = flat};
}

static void join(struct ulp_lint_proposals *p, struct ulp_lint_place root)
{
    struct group g = {.root = root};
    int scaled;
    const char *why;
    if (!split(root, "Add", &g.bias, &scaled) ||
        !split(ulp_lint_producer(root.graph, scaled), "Mul", &g.scale, &g.result))
        return;
    const struct ulp_lint_place back = ulp_lint_producer(root.graph, g.result);
    g.flat = ulp_lint_is(back, "Reshape") ? ulp_lint_input(back, 0) : -1;
    if (g.flat < 0 || !find_norm(&p->lint, ulp_lint_producer(root.graph, g.flat), &g))
        return;
    const struct ulp_lint_place front = ulp_lint_producer(root.graph, g.folded);
    g.x = ulp_lint_is(front, "Reshape") ? ulp_lint_input(front, 0) : -1;
    const struct ulp_tensor *x = ulp_lint_shape_of(&p->lint, 0, root.graph, g.x),
                            *folded = ulp_lint_shape_of(&p->lint, 0, root.graph, g.folded);
    if (!x || !folded || x->rank < 3 || folded->rank != 3 || folded->dims[1] < 1)
        return;
    g.channels = x->dims[1];
    g.groups = folded->dims[1];
    if (!ulp_lint_holds(&p->lint, is_group, &g, &why)) {
        if (why)
            ulp_lint_leave(p, ULP_GROUP_RULE, root, true, why, "it is one GroupNormalization");
        return;
    }
    struct ulp_building b = {.p = p};
    const struct ulp_edit_input inputs[] = {{.number = g.x},
                                            flatten(&b, g.scale),
                                            flatten(&b, g.bias)};
    struct ulp_edit_input result;
    struct ulp_edit_part *part = ulp_build_part(&b, "GroupNormalization", inputs, 3, &result);
    if (!part)
        return;
    ulp_build_attribute(part, "num_groups", ULP_ATTRIBUTE_INT)->i = g.groups;
    ulp_build_attribute(part, "epsilon", ULP_ATTRIBUTE_FLOAT)->f = (float)g.epsilon;
    ulp_build_propose(&b, root, ULP_GROUP_RULE, true, "it is one GroupNormalization");
}

void ulp_lint_join_groups(struct ulp_lint_proposals *p)
{
    for (size_t n = 0; n < p->lint.node_count; n++) {
        const struct ulp_lint_place place = p->lint.places[n];
        if (!place.graph->function && ulp_lint_is(place, "Add") && ulp_lint_opset(place) >= OPSET &&
            ulp_lint_in_half(&p->lint, ulp_lint_type(place.graph, ulp_lint_output(place, 0))) &&
            !p->covered[n])
            join(p, place);
    }
}
