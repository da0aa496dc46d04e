/* What an operator's row says of its work, and what follows from it: which nodes `audit
 * --schedules` runs, and the types of weights that a program knows. One node a model. */
#include "tests/support/test.h"

#include "load/load.h"
#include "tests/support/proto.h"
#include "analysis/schedule/schedule.h"

/* Inputs as words NAME:TYPE[dims], f FLOAT, u UINT8, i INT64; of a name that starts with x a value
 * of the caller's, else a constant. Attributes as words NAME=VALUE, a text if it starts with a
 * quote. */
struct one_node {
    const char *domain, *op, *inputs, *attributes;
    bool contraction;
    enum ulp_type weight;
};

static const struct one_node nodes[] = {
    {"", "MatMul", "x:f[3,8] w:f[8,4]", "", true, ULP_TYPE_FLOAT},
    {"", "Gemm", "x:f[3,8] w:f[8,4]", "", true, ULP_TYPE_FLOAT},
    {"", "Einsum", "x:f[3,8] w:f[8,4]", "equation='ij,jk->ik", true, ULP_TYPE_FLOAT},
    {"", "Conv", "x:f[1,2,5,5] w:f[3,2,3,3]", "", true, ULP_TYPE_FLOAT},
    {"", "ConvTranspose", "x:f[1,2,5,5] w:f[2,3,3,3]", "", true, ULP_TYPE_FLOAT},
    {"", "DeformConv", "x:f[1,2,5,5] w:f[3,2,3,3] x2:f[1,18,3,3]", "", true, ULP_TYPE_FLOAT},
    {"", "RNN", "x:f[3,2,4] w:f[1,5,4] r:f[1,5,5]", "hidden_size=5", true, ULP_TYPE_FLOAT},
    {"", "GRU", "x:f[3,2,4] w:f[1,15,4] r:f[1,15,5]", "hidden_size=5", true, ULP_TYPE_FLOAT},
    {"", "LSTM", "x:f[3,2,4] w:f[1,20,4] r:f[1,20,5]", "hidden_size=5", true, ULP_TYPE_FLOAT},
    {"", "Attention", "x:f[1,2,3,4] x2:f[1,2,3,4] x3:f[1,2,3,4]", "", true, ULP_TYPE_UNDEFINED},
    {"com.microsoft", "FusedMatMul", "x:f[3,8] w:f[8,4]", "", true, ULP_TYPE_FLOAT},
    {"com.microsoft", "FusedConv", "x:f[1,2,5,5] w:f[3,2,3,3]", "activation='Relu", true,
     ULP_TYPE_FLOAT},
    {"com.microsoft", "NhwcConv", "x:f[1,5,5,2] w:f[3,3,3,2]", "", true, ULP_TYPE_FLOAT},
    {"com.microsoft", "MatMulNBits", "x:f[2,32] w:u[4,1,16] s:f[4]",
     "K=32 N=4 bits=4 block_size=32", true, ULP_TYPE_UINT8},
    {"", "Cast", "x:f[3,8]", "to=1", false, ULP_TYPE_UNDEFINED},
    {"", "Transpose", "x:f[3,8]", "", false, ULP_TYPE_UNDEFINED},
    {"", "Softmax", "x:f[3,8]", "", false, ULP_TYPE_UNDEFINED},
    {"", "CumSum", "x:f[3,8] a:i[]", "", false, ULP_TYPE_UNDEFINED},
    {"com.microsoft", "RotaryEmbedding", "x:f[1,3,8] p:i[1] c:f[9,4] s:f[9,4]", "num_heads=1",
     false, ULP_TYPE_UNDEFINED},
};

static size_t element_bytes(char type)
{
    return type == 'f' ? sizeof(float) : type == 'i' ? sizeof(int64_t) : 1;
}

/* Floats in [-1/2, 1/2], integers 0, bytes of any value. */
static void *make_values(char type, size_t count)
{
    void *data = calloc(count + 1, element_bytes(type));
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < count; i++)
        if (type == 'f')
            ((float *)data)[i] = (float)(ulp_random_uniform(3, i) - 0.5);
        else if (type == 'u')
            ((uint8_t *)data)[i] = (uint8_t)ulp_random_bits(4, i);
    return data;
}

static int read_dims(const char *text, int64_t *dims, size_t *count)
{
    int rank = 0;
    *count = 1;
    for (char *end; *text && *text != ']'; text = *end == ',' ? end + 1 : end) {
        dims[rank] = strtoll(text, &end, 10);
        *count *= (size_t)dims[rank++];
    }
    return rank;
}

static void add_inputs(const struct one_node *node, struct proto *graph, char *names,
                       struct ulp_tensor_set *values)
{
    char word[64];
    int used;
    *names = '\0';
    for (const char *at = node->inputs; sscanf(at, " %63s%n", word, &used) == 1; at += used) {
        const char type = strchr(word, ':')[1];
        const int code = type == 'f'   ? ULP_TYPE_FLOAT
                         : type == 'u' ? ULP_TYPE_UINT8
                                       : ULP_TYPE_INT64;
        int64_t dims[8];
        size_t count;
        const int rank = read_dims(strchr(word, '[') + 1, dims, &count);
        SCOPED_MEMORY void *data = make_values(type, count);
        *strchr(word, ':') = '\0';
        strcat(strcat(names, *names ? " " : ""), word);
        if (*word == 'x') {
            struct ulp_tensor tensor;
            proto_value(graph, GRAPH_INPUT, word, code, rank, dims);
            ck_ok(ulp_tensor_create(&tensor, (enum ulp_type)code, ULP_ELEMENT_COUNT, 0, rank, dims,
                                    &why));
            memcpy(tensor.data, data, count * element_bytes(type));
            ck_ok(ulp_tensor_set_add(values, word, &tensor, &why));
        } else {
            struct proto tensor = proto_tensor(word, code, rank, dims);
            proto_elements(&tensor, TENSOR_RAW, data, count * element_bytes(type),
                           element_bytes(type));
            proto_message(graph, GRAPH_INITIALIZER, &tensor);
        }
    }
}

static void add_attributes(const char *text, struct proto *node)
{
    char word[64];
    int used;
    for (; sscanf(text, " %63s%n", word, &used) == 1; text += used) {
        struct proto attribute = {0};
        char *value = strchr(word, '=');
        *value++ = '\0';
        proto_text(&attribute, ATTRIBUTE_NAME, word);
        proto_int(&attribute, ATTRIBUTE_TYPE, *value == '\'' ? 3 : 2);
        if (*value == '\'')
            proto_text(&attribute, ATTRIBUTE_S, value + 1);
        else
            proto_int(&attribute, ATTRIBUTE_I, atoll(value));
        proto_message(node, NODE_ATTRIBUTE, &attribute);
    }
}

static struct ulp_model *make_model(const struct one_node *from, struct ulp_tensor_set *values)
{
    struct proto graph = {0};
    struct ulp_model *model;
    char names[128];
    *values = (struct ulp_tensor_set){0};
    proto_text(&graph, GRAPH_NAME, "g");
    add_inputs(from, &graph, names, values);
    proto_value(&graph, GRAPH_OUTPUT, "out", ULP_TYPE_FLOAT, -1, NULL);
    struct proto node = proto_node(from->op, "node", names, "out");
    if (*from->domain)
        proto_text(&node, NODE_DOMAIN, from->domain);
    add_attributes(from->attributes, &node);
    proto_message(&graph, GRAPH_NODE, &node);
    scoped_proto bytes = proto_model(10, 23, &graph);
    proto_opset(&bytes, "com.microsoft", 1);
    ck_ok(ulp_model_load_bytes("work.onnx", bytes.data, bytes.count, NULL, &model, &why));
    return model;
}

TEST_LOOP(weights_have_types, 0, sizeof nodes / sizeof *nodes)
{
    const struct one_node *node = &nodes[_i];
    scoped_tensor_set values = {0};
    scoped_model *model = make_model(node, &values);
    struct ulp_node_types types;
    scoped_program *program = test_plan(model, &values, "mpfr:128", "tf32");
    ulp_program_node_types(program, 1, 0, &types);
    ck_assert_msg(types.product == node->contraction, "%s: a product is %d", node->op,
                  types.product);
    ck_assert_msg(types.weight == node->weight, "%s: the weight's type is %d", node->op,
                  types.weight);
}

TEST_LOOP(schedules_are_of_contractions, 0, sizeof nodes / sizeof *nodes)
{
    const struct one_node *node = &nodes[_i];
    scoped_tensor_set values = {0};
    scoped_model *model = make_model(node, &values);
    const struct ulp_run_options options = {.thread_count = 1};
    scoped_spreads spreads = {0};
    const struct ulp_arithmetic reference = test_arithmetic("mpfr:128");
    const struct ulp_arithmetic base = test_arithmetic("fp32");
    ck_ok(ulp_spreads_measure(model, &reference, &base, &values, &options, NULL, &spreads, &why));
    ck_assert_msg(spreads.count == (size_t)node->contraction, "%s: %zu entries", node->op,
                  spreads.count);
    /* and the schedules reach its sum */
    for (size_t i = 0; i < spreads.count; i++)
        ck_assert_msg(spreads.items[i].width_rms > 0, "%s: every schedule gives the same",
                      node->op);
}

TEST_SUITE("work", 0)
