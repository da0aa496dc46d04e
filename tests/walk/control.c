/* If, Loop and Scan in random graphs: bodies of nodes drawn like others, which read values from
 * outside, too. What a body computes is made to fit by taking its elements again and again. */
#include "builder.h"
#include "tests/support/test.h"

#define STEPS_MAX 4

/* A node under construction, and its bodies. */
struct control {
    const struct ulp_operator *row;
    struct proto node, body, *outer;
    size_t outside; /* values from before the body */
    char name[48];
};

static void open_node(struct builder *b, struct control *c, const struct ulp_operator *row)
{
    *c = (struct control){.row = row};
    snprintf(c->name, sizeof c->name, "%s_%d", row->name, b->names++);
    proto_text(&c->node, NODE_NAME, c->name);
    proto_text(&c->node, NODE_OP, row->name);
}

static void open_body(struct builder *b, struct control *c)
{
    c->outside = b->value_count;
    c->outer = b->body;
    c->body = (struct proto){0};
    proto_text(&c->body, GRAPH_NAME, "body");
    b->body = &c->body;
    b->depth++;
}

static void close_body(struct builder *b, struct control *c, const char *attribute)
{
    struct proto message = {0};
    b->depth--;
    b->body = c->outer;
    drop_values(b, c->outside);
    proto_text(&message, ATTRIBUTE_NAME, attribute);
    proto_int(&message, ATTRIBUTE_TYPE, 5);
    proto_message(&message, ATTRIBUTE_G, &c->body);
    proto_message(&c->node, NODE_ATTRIBUTE, &message);
}

static void give_number(struct control *c, const char *name, int64_t number)
{
    struct proto message = {0};
    proto_text(&message, ATTRIBUTE_NAME, name);
    proto_int(&message, ATTRIBUTE_TYPE, 2);
    proto_int(&message, ATTRIBUTE_I, number);
    proto_message(&c->node, NODE_ATTRIBUTE, &message);
}

static void give_list(struct control *c, const char *name, int64_t number)
{
    struct proto message = {0};
    proto_text(&message, ATTRIBUTE_NAME, name);
    proto_int(&message, ATTRIBUTE_TYPE, 7);
    proto_int(&message, ATTRIBUTE_INTS, number);
    proto_message(&c->node, NODE_ATTRIBUTE, &message);
}

static void read_value(struct builder *b, struct control *c, int v)
{
    proto_text(&c->node, NODE_INPUT, v < 0 ? "" : b->values[v].name);
    if (v >= 0)
        b->values[v].read = true;
}

/* The elements again and again, or the first of them, with another shape. */
static struct ulp_tensor copy_part(const struct ulp_tensor *of, int rank, const int64_t *dims)
{
    struct ulp_tensor out;
    ck_ok(ulp_tensor_create(&out, of->type, of->element, 0, rank, dims, &why));
    for (size_t e = 0; e < out.count; e++)
        memcpy((char *)out.data + e * out.element_bytes,
               (const char *)of->data + e % of->count * of->element_bytes, of->element_bytes);
    return out;
}

/* An input of the body with that example. */
static int body_input(struct builder *b, struct control *c, struct ulp_tensor tensor)
{
    const size_t v = add_value(b, "p", &tensor);
    const struct ulp_tensor *example = &b->values[v].tensor;
    proto_value(&c->body, GRAPH_INPUT, b->values[v].name, (int)example->type, example->rank,
                example->dims);
    return (int)v;
}

/* The name that the body's output has: of a value computed in it. */
static int body_output(struct builder *b, struct control *c, int v)
{
    v = v < 0 ? -1 : add_simple(b, "Identity", v, -1, NULL, 0);
    if (v >= 0)
        proto_value(&c->body, GRAPH_OUTPUT, b->values[v].name, (int)b->values[v].tensor.type, -1,
                    NULL);
    return v;
}

static void write_result(struct builder *b, struct control *c, struct ulp_tensor *tensor)
{
    const size_t v = add_value(b, "r", tensor);
    proto_text(&c->node, NODE_OUTPUT, b->values[v].name);
}

static void draw_nodes(struct builder *b)
{
    for (size_t count = 1 + below(b, 3); count > 0; count--)
        draw_any_node(b);
}

/* A float that the body computes, of that shape. */
static int draw_result(struct builder *b, const struct control *c, int rank, const int64_t *dims)
{
    int v = -1;
    for (int attempt = 0; attempt < 8 && (v < 0 || (size_t)v < c->outside); attempt++)
        v = find_float(b);
    return v < 0 || !dims ? v : reshape(b, (size_t)v, rank, dims);
}

static size_t wire_number(struct builder *b, enum ulp_type type, int64_t number)
{
    scoped_tensor tensor = {0};
    ck_ok(ulp_tensor_create(&tensor, type, ULP_ELEMENT_COUNT, 0, 0, NULL, &why));
    ulp_tensor_set_int(&tensor, 0, number);
    const size_t v = wire(b, &tensor, true);
    return v;
}

/* ---- the operators ---- */

static bool draw_if(struct builder *b, struct control *c)
{
    static const char *const branches[] = {"then_branch", "else_branch"};
    const size_t condition = wire_number(b, ULP_TYPE_BOOL, (int64_t)below(b, 2));
    const bool truth = ulp_tensor_get_int(&b->values[condition].tensor, 0) != 0;
    struct ulp_tensor results[2] = {{0}};
    read_value(b, c, (int)condition);
    bool good = true;
    for (int i = 0; i < 2; i++) {
        open_body(b, c);
        draw_nodes(b);
        int v = good ? draw_result(b, c, i ? results[0].rank : 0, i ? results[0].dims : NULL) : -1;
        good = (v = body_output(b, c, v)) >= 0;
        if (good)
            results[i] =
                copy_part(&b->values[v].tensor, b->values[v].tensor.rank, b->values[v].tensor.dims);
        close_body(b, c, branches[i]);
    }
    if (good)
        write_result(b, c, &results[truth ? 0 : 1]);
    ulp_tensor_free(&results[0]);
    ulp_tensor_free(&results[1]);
    return good;
}

/* What goes around a Loop or Scan, and what it collects. */
struct around {
    int carried, collected; /* in the body; -1: none */
    struct ulp_tensor state, row;
};

static bool end_body(struct builder *b, struct control *c, struct around *around,
                     const struct ulp_tensor *state)
{
    around->carried = body_output(b, c, draw_result(b, c, state->rank, state->dims));
    around->collected = body_output(b, c, draw_result(b, c, 0, NULL));
    const bool good = around->carried >= 0 && around->collected >= 0;
    if (good) {
        const struct ulp_tensor *row = &b->values[around->collected].tensor;
        around->state = copy_part(&b->values[around->carried].tensor, state->rank, state->dims);
        around->row = copy_part(row, row->rank, row->dims);
    }
    close_body(b, c, "body");
    return good;
}

/* The row once for each step, behind `batch` axes of one. */
static struct ulp_tensor stack(const struct ulp_tensor *row, int64_t steps, int batch)
{
    int64_t dims[ULP_RANK_MAX] = {1};
    dims[batch] = steps;
    memcpy(dims + 1 + batch, row->dims, (size_t)row->rank * sizeof *dims);
    return copy_part(row, row->rank + 1 + batch, dims);
}

static bool draw_loop(struct builder *b, struct control *c)
{
    const size_t limit = wire_number(b, ULP_TYPE_INT64, 1 + (int64_t)below(b, STEPS_MAX));
    const int condition = chance(b, 50) ? -1 : (int)wire_number(b, ULP_TYPE_BOOL, 1),
              state = find_float(b);
    const int64_t steps = ulp_tensor_get_int(&b->values[limit].tensor, 0);
    struct around around = {0};
    if (state < 0 || steps < 1 || steps > STEPS_MAX)
        return false;
    const struct ulp_tensor shape = ulp_tensor_view(&b->values[state].tensor);
    int64_t zero = 0;
    uint8_t yes = 1;
    const struct ulp_tensor number = {.type = ULP_TYPE_INT64,
                                      .element = ULP_ELEMENT_I64,
                                      .count = 1,
                                      .element_bytes = sizeof zero,
                                      .data = &zero},
                            truth = {.type = ULP_TYPE_BOOL,
                                     .element = ULP_ELEMENT_BOOL,
                                     .count = 1,
                                     .element_bytes = 1,
                                     .data = &yes};
    read_value(b, c, (int)limit);
    read_value(b, c, condition);
    read_value(b, c, state);
    open_body(b, c);
    body_input(b, c, copy_part(&number, 0, NULL));
    const int keep = body_input(b, c, copy_part(&truth, 0, NULL));
    body_input(b, c, copy_part(&shape, shape.rank, shape.dims));
    draw_nodes(b);
    const int again = chance(b, 30) ? (int)wire(b, &truth, true) : keep;
    bool good = body_output(b, c, again) >= 0;
    good = end_body(b, c, &around, &shape) && good;
    if (good) {
        struct ulp_tensor rows = stack(&around.row, steps, 0);
        write_result(b, c, &around.state);
        write_result(b, c, &rows);
    }
    ulp_tensor_free(&around.state);
    ulp_tensor_free(&around.row);
    return good;
}

/* Version 8 has an axis of samples before all others, here of length one. */
static bool draw_scan(struct builder *b, struct control *c)
{
    const int batch = c->row->since == 8;
    const int64_t steps = 1 + (int64_t)below(b, STEPS_MAX), width = 1 + (int64_t)below(b, 6),
                  inner[] = {width}, rows[] = {1, steps, width}, states[] = {1, width};
    int state = find_float(b), input = find_float(b);
    struct around around = {0};
    if (state < 0 || input < 0 ||
        (state = reshape(b, (size_t)state, 1 + batch, states + 1 - batch)) < 0 ||
        (input = reshape(b, (size_t)input, 2 + batch, rows + 1 - batch)) < 0)
        return false;
    const struct ulp_tensor shape = ulp_tensor_view(&b->values[state].tensor),
                            given = ulp_tensor_view(&b->values[input].tensor);
    if (batch)
        read_value(b, c, -1);
    read_value(b, c, state);
    read_value(b, c, input);
    open_body(b, c);
    struct ulp_tensor item = copy_part(&shape, 1, inner);
    body_input(b, c, copy_part(&shape, 1, inner));
    body_input(b, c, copy_part(&given, 1, inner));
    draw_nodes(b);
    const bool good = end_body(b, c, &around, &item);
    ulp_tensor_free(&item);
    give_number(c, "num_scan_inputs", 1);
    if (batch && chance(b, 30))
        give_list(c, "directions", 1);
    if (!batch && chance(b, 30))
        give_list(c, "scan_input_directions", 1);
    if (!batch && chance(b, 30))
        give_list(c, "scan_output_directions", 1);
    if (good) {
        struct ulp_tensor states_left = copy_part(&around.state, 1 + batch, states + 1 - batch),
                          items = stack(&around.row, steps, batch);
        write_result(b, c, &states_left);
        write_result(b, c, &items);
    }
    ulp_tensor_free(&around.state);
    ulp_tensor_free(&around.row);
    return good;
}

bool draw_control(struct builder *b, const struct ulp_operator *row)
{
    struct control c;
    if (b->depth > 1 || b->value_count > VALUES_MAX / 2)
        return false;
    while (find_float(b) < 0) {
        static const int64_t dims[] = {2, 3};
        if (add_input(b, ULP_TYPE_FLOAT, 2, dims, -1, 1) < 0)
            return false;
    }
    open_node(b, &c, row);
    const bool good = strcmp(row->name, "If") == 0     ? draw_if(b, &c)
                      : strcmp(row->name, "Loop") == 0 ? draw_loop(b, &c)
                                                       : draw_scan(b, &c);
    if (!good) {
        proto_free(&c.node);
        return false;
    }
    proto_message(b->body, GRAPH_NODE, &c.node);
    count_row(b, c.name, row);
    return true;
}
