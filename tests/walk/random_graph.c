
#include "builder.h"
#include "tests/ops/harness/cases.h"
#include "tests/support/element.h"
#include "tests/support/test.h"

#define ATTEMPTS_MAX 64
#define OPSET_MAX 28
#define MEMORY_MAX ((size_t)64 << 20)

double uniform(struct builder *b, double low, double high)
{
    return low + (high - low) * ulp_random_uniform(b->stream.key, b->stream.next++);
}

/* ---- samples ---- */

/* Uniform in the logarithm of the magnitude, from the largest down over 60 binades. */
static double draw_magnitude(double low, double high, double u, double v)
{
    const double largest = fmax(fabs(low), fabs(high)),
                 x = ldexp(largest, -(int)(60 * u)) * (v < 0.5 ? -1 : 1);
    return x < low ? low : x > high ? high : x;
}

double random_graph_element(const struct random_graph *graph, size_t i, uint64_t n, size_t e,
                            size_t count)
{
    const struct random_input *input = &graph->inputs[i];
    const uint64_t key = ulp_mix(graph->seed * 64 + i + 1) + n;
    const double u = ulp_random_uniform(key, 2 * e), v = ulp_random_uniform(key, 2 * e + 1),
                 w = ulp_random_uniform(key + UINT64_C(0x123456789), 0), low = input->low,
                 high = input->high, inside = low * (1 - v) + high * v;
    double x = inside;
    if (n == 1 || n == 2)
        x = n == 1 ? low : high;
    else if (n == 3)
        x = e % 2 ? low : high;
    else if (n >= 4 && n % 4 == 0)
        x = u < 0.375 ? low : u < 0.75 ? high : inside;
    else if (n >= 4 && n % 4 == 2)
        x = e == (size_t)(w * (double)count) ? (n % 8 < 4 ? high : low) : (n % 8 < 4 ? low : high);
    else if (n >= 4 && n % 4 == 3)
        x = draw_magnitude(low, high, u, v);
    if (!ulp_type_is_float(input->type)) {
        x = n % 4 == 1 && n > 3 ? floor(low + v * (high - low + 1)) : floor(x + 0.5);
        if (n == 0)
            x = floor(low + v * (high - low + 1));
    }
    return x < low ? low : x > high ? high : x;
}

void random_graph_sample(const struct random_graph *graph, uint64_t n, struct ulp_tensor_set *out)
{
    *out = (struct ulp_tensor_set){0};
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct random_input *input = &graph->inputs[i];
        struct ulp_tensor tensor;
        ck_ok(ulp_tensor_create(&tensor, input->type, ULP_ELEMENT_COUNT, 0, input->rank,
                                input->dims, &why));
        for (size_t e = 0; e < tensor.count; e++)
            test_set_element(&tensor, e, random_graph_element(graph, i, n, e, tensor.count));
        ck_ok(ulp_tensor_set_add(out, input->name, &tensor, &why));
    }
}

char *random_graph_options(const struct random_graph *graph)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s", "");
    for (size_t i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].type != ULP_TYPE_BOOL)
            ulp_text_add(&text, "--val-range=%s=%.17g,%.17g\n", graph->inputs[i].name,
                         graph->inputs[i].low, graph->inputs[i].high);
    ck_assert(!text.failed);
    return text.data;
}

/* ---- values ---- */

size_t add_value(struct builder *b, const char *stem, struct ulp_tensor *tensor)
{
    ck_expect(b->value_count < VALUES_MAX, "too many values");
    struct value *value = &b->values[b->value_count];
    *value = (struct value){.tensor = *tensor};
    snprintf(value->name, sizeof value->name, "%.12s%d", stem, b->names++);
    *tensor = (struct ulp_tensor){0};
    return b->value_count++;
}

void drop_values(struct builder *b, size_t count)
{
    while (b->value_count > count)
        ulp_tensor_free(&b->values[--b->value_count].tensor);
}

/* Integers of less than a byte, as many to one as fit, the first lowest. */
static void write_packed(struct proto *message, const struct ulp_tensor *tensor, int bits)
{
    uint8_t bytes[ELEMENTS_MAX] = {0};
    for (size_t e = 0; e < tensor->count; e++) {
        const uint64_t whole = (uint64_t)ulp_tensor_get_int(tensor, e) & ((1u << bits) - 1);
        bytes[e * (size_t)bits / 8] |= (uint8_t)(whole << e * (size_t)bits % 8);
    }
    proto_bytes(message, TENSOR_RAW, bytes, (tensor->count * (size_t)bits + 7) / 8);
}

struct proto random_tensor_message(const char *name, const struct ulp_tensor *tensor)
{
    struct proto message = proto_tensor(name, (int)tensor->type, tensor->rank, tensor->dims);
    const int bits = ulp_type_rows[tensor->type].file_bits;
    if (tensor->type == ULP_TYPE_DOUBLE) {
        double values[ELEMENTS_MAX];
        for (size_t e = 0; e < tensor->count; e++)
            values[e] = ulp_tensor_get(tensor, e);
        proto_numbers(&message, TENSOR_RAW, values, tensor->count * sizeof *values);
    } else if (ulp_type_is_float(tensor->type) && tensor->type != ULP_TYPE_FLOAT) {
        scoped_tensor patterns = {0};
        const struct ulp_format format = test_format(ulp_type_rows[tensor->type].format);
        ck_ok(ulp_tensor_create(&patterns, bits > 8 ? ULP_TYPE_UINT16 : ULP_TYPE_UINT8,
                                ULP_ELEMENT_COUNT, 0, tensor->rank, tensor->dims, &why));
        ck_ok(ulp_array_encode(&patterns, tensor, &format, 1, &why));
        if (bits < 8)
            write_packed(&message, &patterns, bits);
        else
            proto_elements(&message, TENSOR_RAW, patterns.data, tensor->count * (size_t)bits / 8,
                           (size_t)bits / 8);
    } else if (bits < 8) {
        write_packed(&message, tensor, bits);
    } else {
        proto_elements(&message, TENSOR_RAW, tensor->data, tensor->count * (size_t)bits / 8,
                       (size_t)bits / 8);
    }
    return message;
}

/* An initializer, or a node of its own. */
size_t add_constant(struct builder *b, const struct ulp_tensor *tensor)
{
    struct ulp_tensor copy;
    ck_ok(ulp_tensor_copy(&copy, tensor, NULL, &why));
    const size_t v = add_value(b, "c", &copy);
    struct value *value = &b->values[v];
    value->fixed = true;
    if (chance(b, 90)) {
        struct proto message = random_tensor_message(value->name, &value->tensor);
        proto_message(b->body, GRAPH_INITIALIZER, &message);
        return v;
    }
    struct proto node = proto_node("Constant", "", "", value->name), attribute = {0},
                 message = random_tensor_message("", &value->tensor);
    proto_text(&attribute, ATTRIBUTE_NAME, "value");
    proto_int(&attribute, ATTRIBUTE_TYPE, 4);
    proto_message(&attribute, ATTRIBUTE_T, &message);
    proto_message(&node, NODE_ATTRIBUTE, &attribute);
    proto_message(b->body, GRAPH_NODE, &node);
    return v;
}

size_t add_integers(struct builder *b, size_t count, bool scalar, const int64_t *values)
{
    const struct ulp_tensor tensor = {.type = ULP_TYPE_INT64,
                                      .element = ULP_ELEMENT_I64,
                                      .rank = scalar ? 0 : 1,
                                      .dims = {(int64_t)count},
                                      .count = count,
                                      .element_bytes = sizeof *values,
                                      .data = (void *)(uintptr_t)values};
    return add_constant(b, &tensor);
}

int add_input(struct builder *b, enum ulp_type type, int rank, const int64_t *dims, double low,
              double high)
{
    struct random_graph *graph = b->graph;
    struct ulp_tensor tensor;
    if (graph->input_count == RANDOM_INPUTS_MAX)
        return -1;
    const size_t i = graph->input_count++;
    struct random_input *input = &graph->inputs[i];
    const bool real = ulp_type_is_float(type);
    ck_ok(ulp_tensor_create(&tensor, type, real ? ULP_ELEMENT_F32 : ULP_ELEMENT_COUNT, 0, rank,
                            dims, &why));
    *input = (struct random_input){.type = type, .rank = rank, .low = low, .high = high};
    if (rank)
        memcpy(input->dims, dims, (size_t)rank * sizeof *dims);
    for (size_t e = 0; e < tensor.count; e++)
        test_set_element(&tensor, e, random_graph_element(graph, i, 0, e, tensor.count));
    const size_t v = add_value(b, "x", &tensor);
    snprintf(input->name, sizeof input->name, "%s", b->values[v].name);
    proto_value(b->main, GRAPH_INPUT, input->name, (int)type, rank, dims);
    return (int)v;
}

/* ---- graphs ---- */

static bool has_row(const struct ulp_operator *row, int64_t opset)
{
    const struct ulp_operator *found = ulp_operator_find(row->domain, row->name, opset);
    return found && found->since == row->since;
}

/* An opset of ai.onnx that has the row; rows of other domains are in every one. */
static int64_t draw_opset(struct builder *b, const struct ulp_operator *row)
{
    int64_t opsets[OPSET_MAX + 1];
    size_t count = 0;
    for (int64_t opset = row->since; !row->domain && opset <= OPSET_MAX; opset++)
        if (has_row(row, opset) && (opset >= 7 || !has_row(row, 7)))
            opsets[count++] = opset;
    return count ? opsets[below(b, count)] : 13 + (int64_t)below(b, OPSET_MAX - 12);
}

static size_t count_rows(void)
{
    size_t count = 0;
    while (ulp_operator_row(count))
        count++;
    return count;
}

static void write_outputs(struct builder *b)
{
    size_t written = 0;
    for (size_t v = b->value_count; v-- > 0;)
        if (!b->values[v].fixed && *b->values[v].name != 'x' &&
            (!b->values[v].read || !written || chance(b, 5)) && written++ < 12)
            proto_value(b->main, GRAPH_OUTPUT, b->values[v].name, (int)b->values[v].tensor.type, -1,
                        NULL);
}

/* Whether the file loads, and runs on sample 0. */
static bool runs(const struct random_graph *graph)
{
    struct ulp_budget budget = {.limit_bytes = MEMORY_MAX};
    const struct ulp_arithmetic lane = test_arithmetic("fp32");
    const struct ulp_run_options once = {.thread_count = 1};
    scoped_model *model = NULL;
    struct ulp_program *program;
    scoped_tensor_set inputs = {0};
    if (ulp_model_load_bytes("random.onnx", graph->model.data, graph->model.count, &budget, &model,
                             NULL) != ULP_OK)
        return false;
    random_graph_sample(graph, 0, &inputs);
    const struct ulp_program_options options = {.inputs = &inputs};
    bool good = ulp_program_create(model, &lane, 1, &options, &program, NULL) == ULP_OK;
    if (good) {
        good = ulp_program_run(program, &inputs, &once, NULL, 0, NULL, NULL, NULL) == ULP_OK;
        ulp_program_free(program);
    }
    return good;
}

/* A graph around a node of the row; false: the draw was refused. */
static bool build(struct random_graph *out, const struct ulp_operator *row, uint64_t key)
{
    struct proto graph = {0};
    struct builder *b = calloc(1, sizeof *b);
    ck_assert_ptr_nonnull(b);
    b->graph = out;
    b->stream = (struct stream){.key = key};
    b->main = b->body = &graph;
    b->lane = test_arithmetic("fp32");
    b->opset = draw_opset(b, row);
    out->input_count = out->node_count = 0;
    const size_t before = below(b, 4), behind = below(b, 5);
    proto_text(&graph, GRAPH_NAME, "random");
    for (size_t n = 0; n < before; n++)
        draw_any_node(b);
    bool good = draw_node(b, row);
    if (good && chance(b, 50))
        draw_product(b);
    for (size_t n = 0; n < behind && good; n++)
        draw_any_node(b);
    write_outputs(b);
    out->model = proto_model(10, b->opset, &graph);
    proto_opset(&out->model, "com.microsoft", 1);
    proto_opset(&out->model, "trt", 1);
    drop_values(b, 0);
    free(b);
    random_arithmetic(key, out->arithmetic, sizeof out->arithmetic);
    if (good && runs(out))
        return true;
    proto_free(&out->model);
    return false;
}

void random_graph_make(uint64_t seed, struct random_graph *out)
{
    const size_t rows = count_rows();
    *out = (struct random_graph){.seed = seed};
    /* a row that is always refused leaves its turn to another */
    for (uint64_t attempt = 0; attempt < 4 * ATTEMPTS_MAX; attempt++) {
        const uint64_t key = ulp_mix(ulp_mix(seed + 1) + attempt),
                       turn = ulp_mix(ulp_mix(seed + 1) + attempt / ATTEMPTS_MAX) >> 20;
        if (build(out, ulp_operator_row(turn % rows), key))
            return;
    }
    ck_abort_msg("no graph for seed %llu", (unsigned long long)seed);
}

void random_graph_free(struct random_graph *graph)
{
    proto_free(&graph->model);
}
