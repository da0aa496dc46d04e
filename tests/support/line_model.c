#include "tests/support/line_model.h"

#include <ctype.h>

#include "load/load.h"

struct writer {
    struct proto graph;
    char known[4096]; /* names that are declared, each between spaces */
};

static bool is_known(struct writer *writer, const char *name)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, " %s ", name);
    if (strstr(writer->known, wanted))
        return true;
    const size_t length = strlen(writer->known);
    ck_assert(length + strlen(wanted) + 1 < sizeof writer->known);
    snprintf(writer->known + length, sizeof writer->known - length, "%s", wanted);
    return false;
}

static void add_floats(struct writer *writer, const char *name)
{
    int64_t dims[2] = {0};
    char *end;
    int rank = 0;
    for (const char *at = name + 1; isdigit((unsigned char)*at) && rank < 2;
         at = end + (*end == 'x'))
        dims[rank++] = strtoll(at, &end, 10);
    const size_t count = (size_t)(dims[0] * (rank > 1 ? dims[1] : 1));
    SCOPED_MEMORY float *values = calloc(count, sizeof *values);
    struct proto tensor = proto_tensor(name, ULP_TYPE_FLOAT, rank, dims);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(2 * ulp_random_uniform(ulp_hash(name, strlen(name)), i) - 1);
    proto_numbers(&tensor, TENSOR_RAW, values, count * sizeof *values);
    proto_message(&writer->graph, GRAPH_INITIALIZER, &tensor);
}

static void add_integers(struct writer *writer, const char *name)
{
    int64_t values[8], count = 0;
    char *end;
    for (const char *at = name + 1; *at && *at != ']'; at = end + (*end == ','))
        values[count++] = strtoll(at, &end, 10);
    struct proto tensor = proto_tensor(name, ULP_TYPE_INT64, 1, &count);
    proto_numbers(&tensor, TENSOR_RAW, values, (size_t)count * sizeof *values);
    proto_message(&writer->graph, GRAPH_INITIALIZER, &tensor);
}

static void add_argument(struct writer *writer, const char *name)
{
    static const int64_t dims[3] = {2, 3, 8};
    if (strcmp(name, "-") == 0 || is_known(writer, name))
        return;
    if (*name == '[') {
        add_integers(writer, name);
    } else if (*name == 'w' && isdigit((unsigned char)name[1])) {
        add_floats(writer, name);
    } else if (isdigit((unsigned char)*name) || *name == '-') {
        const float number = strtof(name, NULL);
        struct proto tensor = proto_tensor(name, ULP_TYPE_FLOAT, 0, NULL);
        proto_numbers(&tensor, TENSOR_RAW, &number, sizeof number);
        proto_message(&writer->graph, GRAPH_INITIALIZER, &tensor);
    } else {
        const bool integer = strncmp(name, "i_", 2) == 0, list = strncmp(name, "l_", 2) == 0,
                   scalar = strncmp(name, "s_", 2) == 0;
        proto_value(&writer->graph, GRAPH_INPUT, name,
                    integer || list ? ULP_TYPE_INT64 : ULP_TYPE_FLOAT,
                    scalar    ? 0
                    : list    ? 1
                    : integer ? 2
                              : 3,
                    list ? (const int64_t[]){1} : dims);
    }
}

static void add_attribute(struct proto *node, const char *text)
{
    struct proto attribute = {0};
    char name[40], *end;
    const char *value = strchr(text, '=') + 1;
    snprintf(name, sizeof name, "%.*s", (int)(value - 1 - text), text);
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    if (strchr(value, '.')) {
        proto_int(&attribute, ATTRIBUTE_TYPE, 1);
        proto_float(&attribute, ATTRIBUTE_F, strtof(value, NULL));
    } else if (strchr(value, ',') || strcmp(name, "axes") == 0) {
        proto_int(&attribute, ATTRIBUTE_TYPE, 7);
        for (const char *at = value; *at && *at != ' '; at = end + (*end == ','))
            proto_int(&attribute, ATTRIBUTE_INTS, strtoll(at, &end, 10));
    } else {
        proto_int(&attribute, ATTRIBUTE_TYPE, 2);
        proto_int(&attribute, ATTRIBUTE_I, strtoll(value, NULL, 10));
    }
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

/* "y = Op(a, b) attribute=value" */
static void add_line(struct writer *writer, char *line, char *result, size_t size)
{
    char op[40], arguments[400] = "", *at = strchr(line, '('), *end = strrchr(line, ')');
    ck_assert_msg(at && end && sscanf(line, "%79s = %39[A-Za-z0-9]", result, op) == 2, "%s", line);
    (void)size;
    *end = 0;
    for (char *name = at + 1; *name;) {
        name += strspn(name, " ");
        size_t length = *name == '[' ? strcspn(name, "]") + 1 : strcspn(name, ", ");
        char text[80];
        snprintf(text, sizeof text, "%.*s", (int)length, name);
        add_argument(writer, text);
        strcat(strcat(arguments, text), " ");
        name += length;
        name += strspn(name, ", ");
    }
    is_known(writer, result);
    struct proto node = proto_node(op, result, arguments, result);
    for (char *word = strtok(end + 1, " "); word; word = strtok(NULL, " "))
        add_attribute(&node, word);
    proto_message(&writer->graph, GRAPH_NODE, &node);
}

struct ulp_model *line_model(const char *lines, int64_t opset)
{
    struct writer writer = {.known = " "};
    char text[4096], result[80] = "", *rest = text;
    struct ulp_model *model;
    snprintf(text, sizeof text, "%s", lines);
    proto_text(&writer.graph, GRAPH_NAME, "g");
    while (rest && *rest) {
        char *line = rest;
        rest = strpbrk(line, "\n;");
        if (rest)
            *rest++ = 0;
        add_line(&writer, line, result, sizeof result);
    }
    proto_value(&writer.graph, GRAPH_OUTPUT, result, ULP_TYPE_FLOAT, -1, NULL);
    scoped_proto bytes = proto_model(8, opset, &writer.graph);
    ck_ok(ulp_model_load_bytes("lines.onnx", bytes.data, bytes.count, NULL, &model, &why));
    return model;
}
