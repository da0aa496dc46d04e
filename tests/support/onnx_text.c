#include "tests/support/onnx_text.h"

#include <ctype.h>

#include "base/bits.h"
#include "load/load.h"
#include "tests/support/element.h"
#include "tests/support/test.h"

/* The rest of the text. */
static const char *at;

static const struct {
    const char *name;
    int type, bytes;
} types[] = {
    {"float", ULP_TYPE_FLOAT, 4},      {"double", ULP_TYPE_DOUBLE, 8},
    {"float16", ULP_TYPE_FLOAT16, 2},  {"bfloat16", ULP_TYPE_BFLOAT16, 2},
    {"fp8", ULP_TYPE_FLOAT8E4M3FN, 1}, /* powers of two and nan */
    {"int8", ULP_TYPE_INT8, 1},        {"uint8", ULP_TYPE_UINT8, 1},
    {"int32", ULP_TYPE_INT32, 4},      {"int64", ULP_TYPE_INT64, 8},
    {"bool", ULP_TYPE_BOOL, 1},        {"int4", ULP_TYPE_INT4, 0}, /* of inputs alone */
};

static void skip_spaces(void)
{
    at += strspn(at, " \t\n");
}

static bool take(const char *word)
{
    skip_spaces();
    const bool found = strncmp(at, word, strlen(word)) == 0;
    at += found ? strlen(word) : 0;
    return found;
}

static void need(const char *word)
{
    if (!take(word))
        ck_abort_msg("expected '%s' before: %.60s", word, at);
}

static const char *read_name(char out[64])
{
    size_t length = 0;
    skip_spaces();
    while (isalnum((unsigned char)at[length]) || (at[length] && strchr("_./:-", at[length])))
        length++;
    ck_assert_msg(length < 64, "a long name: %.80s", at);
    memcpy(out, at, length);
    out[length] = 0;
    at += length;
    return out;
}

/* Which type the text begins with; -1: none. */
static int take_type(void)
{
    skip_spaces();
    const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (strlen(types[t].name) == length && strncmp(at, types[t].name, length) == 0) {
            at += length;
            return (int)t;
        }
    return -1;
}

/* -1: there are no brackets. sizes: what a free dimension is given with, "[N=3]". */
static int read_dims(int64_t dims[8], int64_t sizes[8])
{
    int rank = 0;
    char name[64];
    if (!take("["))
        return -1;
    while (!take("]")) {
        skip_spaces();
        if (isdigit((unsigned char)*at)) {
            dims[rank++] = strtoll(at, (char **)(uintptr_t)&at, 10);
        } else if (take("?")) {
            dims[rank++] = -'?';
        } else {
            read_name(name);
            dims[rank++] = -(int64_t)name[0];
        }
        sizes[rank - 1] = take("=") ? strtoll(at, (char **)(uintptr_t)&at, 10) : dims[rank - 1];
        take(",");
    }
    return rank;
}

static double read_number(void)
{
    char *end;
    skip_spaces();
    const double value = strtod(at, &end);
    ck_assert_msg(end > at, "expected a number before: %.60s", at);
    at = end[-1] == '.' && *end == '.' ? end - 1 : end; /* "1..." */
    return value;
}

/* The bits of a normal number, zero or infinity in a 16-bit format, which holds it. */
static uint16_t half_bits(double value, int fraction_bits)
{
    const int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const uint16_t sign = (uint16_t)(signbit(value) ? 0x8000 : 0);
    int exponent;
    if (value == 0)
        return sign;
    if (isinf(value))
        return (uint16_t)(sign | ((1 << exponent_bits) - 1) << fraction_bits);
    const double fraction = frexp(fabs(value), &exponent);
    return (uint16_t)(sign + (exponent - 2 + bias) * (1 << fraction_bits) +
                      (int)ldexp(fraction, fraction_bits + 1));
}

static void add_element(struct proto *bytes, int type, double value)
{
    uint64_t bits;
    switch (types[type].type) {
    case ULP_TYPE_FLOAT: bits = ulp_float_bits((float)value); break;
    case ULP_TYPE_DOUBLE: bits = ulp_double_bits(value); break;
    case ULP_TYPE_FLOAT16: bits = half_bits(value, 10); break;
    case ULP_TYPE_BFLOAT16: bits = half_bits(value, 7); break;
    case ULP_TYPE_FLOAT8E4M3FN:
        bits = isnan(value) ? 0x7f : (uint16_t)((ilogb(value) + 7) << 3);
        break;
    default: bits = (uint64_t)(int64_t)value;
    }
    proto_little(bytes, bits, (size_t)types[type].bytes);
}

static size_t count_elements(int rank, const int64_t *dims)
{
    size_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= (size_t)dims[d];
    return count;
}

/* {1, 2 * 8, 3...} or {random}: so many numbers. */
static double *read_numbers(const char *name, size_t count)
{
    double *values = calloc(count + 1, sizeof *values);
    size_t given = 0;
    ck_assert_ptr_nonnull(values);
    need("{");
    for (bool drawn = take("random"); drawn && given < count; given++)
        values[given] = ulp_random_uniform(count, given) - 0.5;
    while (!take("}")) {
        const bool again = take("...");
        const double value = again ? values[given - 1] : read_number();
        const size_t times = again ? count - given : take("*") ? (size_t)read_number() : 1;
        ck_assert_msg(given + times <= count, "%s: more than %zu elements", name, count);
        for (const size_t end = given + times; given < end; given++)
            values[given] = value;
        take(",");
    }
    ck_assert_msg(given == count, "%s: %zu elements of %zu", name, given, count);
    return values;
}

static struct proto read_tensor(int type, const char *name, int rank, const int64_t *dims)
{
    struct proto tensor = proto_tensor(name, types[type].type, rank < 0 ? 0 : rank, dims),
                 bytes = {0};
    const size_t count = count_elements(rank, dims);
    SCOPED_MEMORY double *values = read_numbers(name, count);
    for (size_t i = 0; i < count; i++)
        add_element(&bytes, type, values[i]);
    proto_bytes(&tensor, TENSOR_RAW, bytes.data, bytes.count);
    proto_free(&bytes);
    return tensor;
}

/* Where values of inputs go. */
static struct ulp_tensor_set *inputs;

static void read_input(int type, const char *name, int rank, const int64_t *sizes)
{
    struct ulp_tensor tensor;
    ck_assert_msg(inputs, "%s: nobody takes the values of inputs", name);
    ck_ok(ulp_tensor_create(&tensor, (enum ulp_type)types[type].type, ULP_ELEMENT_COUNT, 0,
                            rank < 0 ? 0 : rank, sizes, &why));
    double *values = read_numbers(name, tensor.count);
    for (size_t e = 0; e < tensor.count; e++)
        test_set_element(&tensor, e, values[e]);
    free(values);
    ck_ok(ulp_tensor_set_add(inputs, name, &tensor, &why));
}

static struct proto read_graph(void);

static bool is_float(void)
{
    const size_t length = strcspn(at, " ,>]\n");
    for (size_t i = 0; i < length; i++)
        if (strchr(".ein", at[i]))
            return true;
    return false;
}

static void add_list(struct proto *attribute)
{
    bool floats = false;
    while (!take("]")) {
        skip_spaces();
        floats |= is_float();
        const double value = read_number();
        if (floats)
            proto_float(attribute, ATTRIBUTE_FLOATS, (float)value);
        else
            proto_int(attribute, ATTRIBUTE_INTS, (int64_t)value);
        take(",");
    }
    proto_int(attribute, ATTRIBUTE_TYPE, floats ? 6 : 7);
}

static void add_text(struct proto *attribute)
{
    char text[64];
    const size_t length = strcspn(at, "\"");
    snprintf(text, sizeof text, "%.*s", (int)length, at);
    at += length;
    need("\"");
    proto_text(attribute, ATTRIBUTE_S, text);
    proto_int(attribute, ATTRIBUTE_TYPE, 3);
}

static void add_attribute(struct proto *node, int field)
{
    struct proto attribute = {0}, part;
    int64_t dims[8], sizes[8];
    char name[64];
    proto_text(&attribute, ATTRIBUTE_NAME, read_name(name));
    need("=");
    skip_spaces();
    const int type = take_type();
    if (type >= 0) {
        const int rank = read_dims(dims, sizes);
        part = read_tensor(type, "", rank, dims);
        proto_message(&attribute, ATTRIBUTE_T, &part);
        proto_int(&attribute, ATTRIBUTE_TYPE, 4);
    } else if (take("@")) {
        proto_text(&attribute, ATTRIBUTE_REFERENCE, read_name(name));
        proto_int(&attribute, ATTRIBUTE_TYPE, 1);
    } else if (*at == '(') {
        part = read_graph();
        proto_message(&attribute, ATTRIBUTE_G, &part);
        proto_int(&attribute, ATTRIBUTE_TYPE, 5);
    } else if (take("[")) {
        add_list(&attribute);
    } else if (take("\"")) {
        add_text(&attribute);
    } else if (is_float()) {
        proto_float(&attribute, ATTRIBUTE_F, (float)read_number());
        proto_int(&attribute, ATTRIBUTE_TYPE, 1);
    } else {
        proto_int(&attribute, ATTRIBUTE_I, (int64_t)read_number());
        proto_int(&attribute, ATTRIBUTE_TYPE, 2);
    }
    proto_message(node, field, &attribute);
}

/* Names up to `end`, as fields of the message. */
static void read_names(struct proto *node, int field, const char *end)
{
    char name[64];
    while (!take(end)) {
        proto_text(node, field, read_name(name));
        take(",");
    }
}

static struct proto read_node(void)
{
    struct proto node = {0};
    char op[64];
    if (take("[")) {
        proto_bytes(&node, NODE_NAME, at, strcspn(at, "]"));
        at += strcspn(at, "]") + 1;
    }
    read_names(&node, NODE_OUTPUT, "=");
    read_name(op);
    char *dot = strrchr(op, '.');
    if (dot) {
        *dot = 0;
        proto_text(&node, NODE_DOMAIN, op);
    }
    proto_text(&node, NODE_OP, dot ? dot + 1 : op);
    if (take("<"))
        while (!take(">")) {
            add_attribute(&node, NODE_ATTRIBUTE);
            take(",");
        }
    need("(");
    read_names(&node, NODE_INPUT, ")");
    return node;
}

/* "float[2] x" as a value, or with "= {...}" as an initializer or an input that has a value, up to
 * `end`. */
static void read_values(struct proto *graph, int field, const char *end)
{
    int64_t dims[8], sizes[8];
    char name[64];
    while (!take(end)) {
        const int type = take_type();
        ck_assert_msg(type >= 0, "expected a type before: %.60s", at);
        const int rank = read_dims(dims, sizes);
        read_name(name);
        const bool given = take("=");
        if (given && field == GRAPH_INPUT)
            read_input(type, name, rank, sizes);
        if (given && field != GRAPH_INPUT) {
            struct proto tensor = read_tensor(type, name, rank, dims);
            proto_message(graph, GRAPH_INITIALIZER, &tensor);
        } else {
            proto_value(graph, field, name, types[type].type, rank, dims);
        }
        take(",");
    }
}

static struct proto read_graph(void)
{
    struct proto graph = {0};
    proto_text(&graph, GRAPH_NAME, "g");
    need("(");
    read_values(&graph, GRAPH_INPUT, ")");
    need("=>");
    need("(");
    read_values(&graph, GRAPH_OUTPUT, ")");
    if (take("<"))
        read_values(&graph, GRAPH_VALUE_INFO, ">");
    need("{");
    while (!take("}")) {
        struct proto node = read_node();
        proto_message(&graph, GRAPH_NODE, &node);
    }
    return graph;
}

/* local.F<given, other=0.5>(a) => (b) { ... } */
static struct proto read_function(int64_t version)
{
    struct proto function = {0}, opset = {0}, node;
    char name[64];
    proto_text(&opset, 1, "");
    proto_int(&opset, 2, version);
    proto_message(&function, FUNCTION_OPSET, &opset);
    char *dot = strrchr(read_name(name), '.');
    ck_assert_msg(dot, "%s: a function without a domain", name);
    *dot = 0;
    proto_text(&function, FUNCTION_DOMAIN, name);
    proto_text(&function, FUNCTION_NAME, dot + 1);
    if (take("<"))
        while (!take(">")) {
            const char *start = at;
            read_name(name);
            skip_spaces();
            const bool given = *at != '=';
            at = given ? at : start;
            if (given)
                proto_text(&function, FUNCTION_ATTRIBUTE, name);
            else
                add_attribute(&function, FUNCTION_DEFAULT);
            take(",");
        }
    need("(");
    read_names(&function, FUNCTION_INPUT, ")");
    need("=>");
    need("(");
    read_names(&function, FUNCTION_OUTPUT, ")");
    need("{");
    while (!take("}")) {
        node = read_node();
        proto_message(&function, FUNCTION_NODE, &node);
    }
    return function;
}

struct proto onnx_text(int64_t opset, const char *text)
{
    struct proto domains = {0};
    char name[64];
    at = text;
    if (take("["))
        while (!take("]")) {
            proto_opset(&domains, read_name(name), 1);
            take(",");
        }
    struct proto graph = read_graph(), model = proto_model(10, opset, &graph);
    proto_opset(&model, "com.microsoft", 1);
    proto_raw(&model, domains.data, domains.count);
    proto_free(&domains);
    for (skip_spaces(); *at; skip_spaces()) {
        struct proto function = read_function(opset);
        proto_message(&model, MODEL_FUNCTION, &function);
    }
    return model;
}

struct ulp_model *onnx_text_load(int64_t opset, const char *text)
{
    return onnx_text_given(opset, text, NULL, NULL);
}

struct ulp_model *onnx_text_given(int64_t opset, const char *text, struct ulp_tensor_set *given,
                                  struct ulp_budget *budget)
{
    if (given)
        *given = (struct ulp_tensor_set){0};
    inputs = given;
    scoped_proto bytes = onnx_text(opset, text);
    struct ulp_model *model = NULL;
    ck_ok(ulp_model_load_bytes("text.onnx", bytes.data, bytes.count, budget, &model, &why));
    return model;
}
