#include "digest.h"

#include "base/machine/file.h"
#include "base/memory/alloc.h"
#include "base/text/text.h"

void add_bytes(struct digest *digest, const void *bytes, size_t count)
{
    unsigned long long both[2] = {digest->value, ulp_hash(bytes, count)};
    digest->value = ulp_hash(both, sizeof both);
}

void add_tensor(struct digest *digest, const struct ulp_tensor *tensor)
{
    add_bytes(digest, tensor->data, tensor->count * tensor->element_bytes);
}

void add_set(struct digest *digest, const struct ulp_tensor_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        add_tensor(digest, &set->items[i].tensor);
}

void add_file(struct digest *digest, const char *path)
{
    unsigned char *bytes;
    size_t count;
    ck_ok(ulp_file_read(path, 1 << 24, NULL, &bytes, &count, &why));
    add_bytes(digest, bytes, count);
    ulp_free(bytes);
}

/* x w: sums; the rest: functions near the ends of float. */
static const struct text_graph graph = {
    "x", "p q s t u",
    "[product] p = MatMul(x, w) [exp] q = Exp(p) [square] t = Mul(x, x) [softmax] s = Softmax(q) "
    "[ratio] r = Div(x, p) [root] u = Sqrt(t)"};

static const struct text_graph product = {"x", "p", "[product] p = MatMul(x, w)"};
static const struct text_graph logs = {"x", "y",
                                       "[product] p = MatMul(x, w) [logs] y = LogSoftmax(p)"};

struct ulp_model *model, *product_model, *logs_model;
struct ulp_tensor_set inputs;

enum ulp_status see_host(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    (void)event, (void)error;
    ++*(size_t *)context;
    expect_state("a call of node_done");
    return ULP_OK;
}

bool ask_host(void *context)
{
    ++*(size_t *)context;
    expect_state("a call of cancelled");
    return false;
}

static const char *const lane_names[LANE_COUNT] = {"mpfr:128",    "fp16",          "fp32",
                                                   "bf16-strict", "e5m7,round=ru", "model"};

void find_lanes(struct ulp_arithmetic *lanes)
{
    for (size_t l = 0; l < LANE_COUNT; l++)
        CALL(ulp_arithmetic_find(lane_names[l], &lanes[l], e));
}

void tell_host(void *context, size_t part, size_t part_count)
{
    (void)part, (void)part_count;
    ++*(size_t *)context;
    expect_state("a call of begins");
}

void subjects_open(void)
{
    static const float scales[] = {0x1p-140f, 0x1p-70f, 1,       0x1p-18f,
                                   0x1p-10f,  20,       0x1p12f, 0x1p-128f};
    model = text_load(&graph);
    product_model = text_load(&product);
    logs_model = text_load(&logs);
    inputs = text_inputs(model, 3, 0, true);
    float *x = inputs.items[0].tensor.data;
    for (size_t i = 0; i < inputs.items[0].tensor.count; i++)
        x[i] *= scales[i % 8];
}

void subjects_close(void)
{
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    ulp_model_free(product_model);
    ulp_model_free(logs_model);
}
