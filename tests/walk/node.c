/* Nodes of random graphs: a case of the operators' harness, varied, wired, tried and written. */
#include "builder.h"
#include "tests/ops/harness/rows.h"
#include "tests/ops/harness/variants.h"
#include "tests/support/element.h"
#include "tests/support/test.h"

#define CALL_MEMORY_MAX ((size_t)4 << 20)
#define OTHER_DOMAINS 1 /* the version of every domain but ai.onnx */

bool try_node(struct builder *b, const struct ulp_node *node, const struct ulp_tensor *const *in,
              struct ulp_tensor *outputs, const struct ulp_operator **row)
{
    scoped_arena *arena = NULL, *scratch = NULL;
    struct ulp_bound bound;
    struct ulp_budget budget = {.limit_bytes = CALL_MEMORY_MAX};
    memset(outputs, 0, CASE_INPUTS * sizeof *outputs);
    for (size_t i = 0; i < node->input_count; i++)
        if (in[i] && (!in[i]->data || in[i]->count > ELEMENTS_MAX || in[i]->rank > 8))
            return false;
    ck_expect(ulp_arena_create(&arena, NULL, NULL) == ULP_OK &&
                  ulp_arena_create(&scratch, NULL, NULL) == ULP_OK,
              "out of memory");
    bool good =
        ulp_bind(&bound, node, *node->domain ? OTHER_DOMAINS : b->opset, arena, NULL) == ULP_OK;
    if (good) {
        struct ulp_call call = {.bound = &bound,
                                .arithmetic = &b->lane,
                                .in = in,
                                .input_count = node->input_count,
                                .out = outputs,
                                .output_count = node->output_count,
                                .scratch = scratch,
                                .budget = &budget};
        good = bound.op->work != ULP_WORK_CONTROL && ulp_call_run(&call, NULL) == ULP_OK;
        *row = bound.op;
    }
    ulp_unbind(&bound);
    for (size_t o = 0; good && o < node->output_count; o++)
        good = node->outputs[o] < 0 ||
               (outputs[o].data && outputs[o].count <= ELEMENTS_MAX && outputs[o].rank <= 8);
    for (size_t o = 0; o < node->output_count; o++) {
        /* charged to a budget that ends here */
        struct ulp_tensor copy = {0};
        if (good && node->outputs[o] >= 0)
            good = ulp_tensor_copy(&copy, &outputs[o], NULL, NULL) == ULP_OK;
        ulp_tensor_free(&outputs[o]);
        outputs[o] = copy;
    }
    if (!good)
        case_free_outputs(outputs);
    return good;
}

void count_row(struct builder *b, const char *name, const struct ulp_operator *row)
{
    struct random_graph *graph = b->graph;
    size_t index = 0;
    if (graph->node_count == RANDOM_NODES_MAX)
        return;
    while (ulp_operator_row(index) != row)
        index++;
    struct random_node *node = &graph->nodes[graph->node_count++];
    node->row = index;
    snprintf(node->name, sizeof node->name, "%s", name);
}

/* ---- files ---- */

static void write_attribute(struct proto *node, const struct ulp_attribute *a)
{
    /* AttributeProto.AttributeType */
    static const int types[] = {
        [ULP_ATTRIBUTE_FLOAT] = 1,   [ULP_ATTRIBUTE_INT] = 2,    [ULP_ATTRIBUTE_STRING] = 3,
        [ULP_ATTRIBUTE_TENSOR] = 4,  [ULP_ATTRIBUTE_FLOATS] = 6, [ULP_ATTRIBUTE_INTS] = 7,
        [ULP_ATTRIBUTE_STRINGS] = 8, [ULP_ATTRIBUTE_GRAPH] = 5,  [ULP_ATTRIBUTE_OTHER] = 0};
    struct proto out = {0}, tensor;
    proto_text(&out, ATTRIBUTE_NAME, a->name);
    proto_int(&out, ATTRIBUTE_TYPE, types[a->kind]);
    if (a->kind == ULP_ATTRIBUTE_FLOAT)
        proto_float(&out, ATTRIBUTE_F, a->f);
    if (a->kind == ULP_ATTRIBUTE_INT)
        proto_int(&out, ATTRIBUTE_I, a->i);
    if (a->kind == ULP_ATTRIBUTE_STRING)
        proto_text(&out, ATTRIBUTE_S, a->s);
    if (a->kind == ULP_ATTRIBUTE_TENSOR) {
        tensor = random_tensor_message("", a->tensor);
        proto_message(&out, ATTRIBUTE_T, &tensor);
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->kind == ULP_ATTRIBUTE_FLOATS)
            proto_float(&out, ATTRIBUTE_FLOATS, a->floats[i]);
        if (a->kind == ULP_ATTRIBUTE_INTS)
            proto_int(&out, ATTRIBUTE_INTS, a->ints[i]);
        if (a->kind == ULP_ATTRIBUTE_STRINGS)
            proto_text(&out, ATTRIBUTE_STRINGS, a->strings[i]);
    }
    proto_message(node, NODE_ATTRIBUTE, &out);
}

bool add_node(struct builder *b, const struct ulp_node *node, const int *inputs, size_t *outputs)
{
    const struct ulp_tensor *in[ARITY_MAX] = {NULL};
    struct ulp_tensor made[CASE_INPUTS];
    const struct ulp_operator *row;
    struct proto message = {0};
    char name[48];
    for (size_t i = 0; i < node->input_count; i++)
        in[i] = inputs[i] < 0 ? NULL : &b->values[inputs[i]].tensor;
    if (b->value_count + node->output_count > VALUES_MAX - 32 || !try_node(b, node, in, made, &row))
        return false;
    snprintf(name, sizeof name, "%.30s_%d", node->op_type, b->names++);
    for (size_t i = 0; i < node->input_count; i++) {
        proto_text(&message, NODE_INPUT, inputs[i] < 0 ? "" : b->values[inputs[i]].name);
        if (inputs[i] >= 0)
            b->values[inputs[i]].read = true;
    }
    for (size_t o = 0; o < node->output_count; o++) {
        size_t v = 0;
        if (node->outputs[o] >= 0) {
            v = add_value(b, "t", &made[o]);
            if (outputs)
                *outputs = v;
            outputs = NULL;
        }
        proto_text(&message, NODE_OUTPUT, node->outputs[o] < 0 ? "" : b->values[v].name);
    }
    proto_text(&message, NODE_NAME, name);
    proto_text(&message, NODE_OP, node->op_type);
    if (*node->domain)
        proto_text(&message, NODE_DOMAIN, node->domain);
    for (size_t a = 0; a < node->attribute_count; a++)
        write_attribute(&message, &node->attributes[a]);
    proto_message(b->body, GRAPH_NODE, &message);
    count_row(b, name, row);
    return true;
}

int add_simple(struct builder *b, const char *op, int first, int second, const char *name,
               int64_t number)
{
    const struct ulp_attribute attribute = {.name = name, .kind = ULP_ATTRIBUTE_INT, .i = number};
    const int numbers[] = {0, 1}, inputs[] = {first, second};
    const struct ulp_node node = {.name = op,
                                  .op_type = op,
                                  .domain = "",
                                  .input_count = second < 0 ? 1 : 2,
                                  .output_count = 1,
                                  .inputs = numbers,
                                  .outputs = numbers,
                                  .attributes = &attribute,
                                  .attribute_count = name != NULL};
    size_t out;
    return add_node(b, &node, inputs, &out) ? (int)out : -1;
}

/* ---- cases ---- */

/* One or two changes of those that the walk over the table makes. */
static void vary(struct builder *b, struct node_case *c, const struct ulp_operator *row)
{
    scoped_text what = {0};
    for (size_t changes = 1 + below(b, 2); changes > 0; changes--) {
        const size_t count = variant_list(row, c, NULL);
        SCOPED_MEMORY struct variant *list = malloc((count + 1) * sizeof *list);
        ck_expect(list != NULL, "out of memory");
        variant_list(row, c, list);
        const struct variant *chosen = &list[below(b, count)];
        if (chosen->kind != VARIANT_CONSTANT) /* lies in memory in another way */
            variant_apply(c, row, &b->lane, chosen, &what);
    }
}

/* Other floats of the range that the case has, or of that times a power of ten. */
static void stir(struct builder *b, struct node_case *c)
{
    const double scale = chance(b, 20) ? pow(10, (double)below(b, 12) - 6) : 1;
    for (size_t i = 0; i < c->node.input_count; i++) {
        struct ulp_tensor *tensor = &c->inputs[i];
        double low = INFINITY, high = -INFINITY;
        if (!c->in[i] || !tensor->data || !ulp_type_is_float(tensor->type) ||
            tensor->element != ULP_ELEMENT_F32)
            continue;
        for (size_t e = 0; e < tensor->count; e++) {
            low = fmin(low, ulp_tensor_get(tensor, e));
            high = fmax(high, ulp_tensor_get(tensor, e));
        }
        if (isfinite(low) && isfinite(high))
            for (size_t e = 0; e < tensor->count; e++)
                test_set_element(tensor, e, uniform(b, low, high) * scale);
    }
}

static void make_case(struct builder *b, struct node_case *c, const struct ulp_operator *row,
                      int strength)
{
    size_t count = 0;
    while (case_hint(row, count))
        count++;
    case_make(c, row, count ? case_hint(row, below(b, count)) : NULL, &b->lane);
    if (strength > 1)
        vary(b, c, row);
    if (strength > 0)
        stir(b, c);
}

/* The case's node on values of the graph: wired freely, or with its own numbers as constants. */
static bool place(struct builder *b, struct node_case *c, bool existing)
{
    int inputs[ARITY_MAX];
    for (size_t i = 0; i < c->node.input_count; i++)
        inputs[i] = !c->in[i]  ? -1
                    : existing ? (int)wire(b, c->in[i], true)
                               : (int)add_constant(b, c->in[i]);
    return add_node(b, &c->node, inputs, NULL);
}

bool draw_node(struct builder *b, const struct ulp_operator *row)
{
    if (row->work == ULP_WORK_CONTROL)
        return draw_control(b, row);
    int strength = (int)below(b, 3);
    for (int attempt = 0; attempt < 6; attempt++, strength -= attempt % 2) {
        struct ulp_tensor outputs[CASE_INPUTS];
        const struct ulp_operator *found;
        struct node_case c;
        make_case(b, &c, row, strength);
        bool good = b->value_count + 8 * c.node.input_count < VALUES_MAX - 64 &&
                    c.node.input_count <= ARITY_MAX && try_node(b, &c.node, c.in, outputs, &found);
        if (good) {
            case_free_outputs(outputs);
            good = place(b, &c, true) || place(b, &c, true) || place(b, &c, false);
        }
        case_free(&c);
        if (good)
            return true;
    }
    return false;
}

bool draw_any_node(struct builder *b)
{
    size_t rows = 0;
    while (ulp_operator_row(rows))
        rows++;
    for (int attempt = 0; attempt < 20; attempt++) {
        const struct ulp_operator *row = ulp_operator_row(below(b, rows));
        const struct ulp_operator *found =
            ulp_operator_find(row->domain, row->name, row->domain ? OTHER_DOMAINS : b->opset);
        if (found && found->since == row->since &&
            (row->work != ULP_WORK_CONTROL || b->depth < 2) && draw_node(b, row))
            return true;
    }
    return false;
}

/* What reads rows as a whole: a product with a constant matrix, and perhaps that times a number, or
 * the sum of a row's products with itself. */
void draw_product(struct builder *b)
{
    const int v = find_float(b), rank = v < 0 ? 0 : b->values[v].tensor.rank;
    const size_t k = rank ? (size_t)b->values[v].tensor.dims[rank - 1] : 0, n = 1 + below(b, 6);
    float weights[ELEMENTS_MAX], scale = (float)pow(10, uniform(b, -3, 2));
    struct ulp_tensor matrix = {.type = ULP_TYPE_FLOAT,
                                .element = ULP_ELEMENT_F32,
                                .rank = 2,
                                .dims = {(int64_t)k, (int64_t)n},
                                .count = k * n,
                                .element_bytes = sizeof *weights,
                                .data = weights};
    if (!k || k * n > ELEMENTS_MAX)
        return;
    for (size_t e = 0; e < k * n; e++)
        weights[e] = scale * (float)uniform(b, -1, 1);
    const int product = add_simple(b, "MatMul", v, (int)add_constant(b, &matrix), NULL, 0);
    matrix = (struct ulp_tensor){.type = ULP_TYPE_FLOAT,
                                 .element = ULP_ELEMENT_F32,
                                 .count = 1,
                                 .element_bytes = sizeof scale,
                                 .data = &scale};
    if (product >= 0 && chance(b, 50))
        add_simple(b, "Mul", product, chance(b, 50) ? product : (int)add_constant(b, &matrix), NULL,
                   0);
}
