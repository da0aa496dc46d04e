/* analysis: samples at other sizes, and what a model that is written of another changes there. */
#include "analysis/resized/resized.h"
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

#define SUMMED "{ s = ReduceSum<keepdims=1>(x, axis) y = Mul(s, quarter) }"
#define CONSTANTS "<int64[1] axis = {1}, float quarter = {0.25}, float[2] long = {1e12, 1e12}> "

struct held {
    struct ulp_model *model;
    struct ulp_arithmetic lane;
    struct ulp_tensor_set inputs, outputs;
    struct ulp_sample sample;
    struct ulp_resizing given;
    struct ulp_resized resized;
};

/* x [dims] = 0, 1, 2, ... */
static void hold(struct held *h, const char *text, const int64_t dims[2])
{
    struct ulp_tensor x;
    *h = (struct held){.model = onnx_text_load(18, text), .lane = test_arithmetic("mpfr:128")};
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2, dims, &why));
    for (size_t i = 0; i < x.count; i++)
        ((float *)x.data)[i] = (float)i;
    ck_ok(ulp_tensor_set_add(&h->inputs, "x", &x, &why));
    h->sample = (struct ulp_sample){.name = "sample", .inputs = &h->inputs};
    h->given = (struct ulp_resizing){.model = h->model,
                                     .lane = &h->lane,
                                     .samples = &h->sample,
                                     .sample_count = 1,
                                     .thread_count = 1};
    h->outputs = test_outputs(h->model, &h->inputs, "mpfr:128");
    ck_ok(ulp_resized_find(&h->given, &h->resized, &why));
}

static void let_go(struct held *h)
{
    ulp_resized_free(&h->resized);
    ulp_tensor_set_free(&h->outputs);
    ulp_tensor_set_free(&h->inputs);
    ulp_model_free(h->model);
}

static struct ulp_altered measure(const struct held *h, const char *text)
{
    struct ulp_altered altered = {0};
    scoped_model *model = onnx_text_load(18, text);
    ck_ok(ulp_altered_measure(&h->given, &h->outputs, &h->resized, model, NULL, &altered, &why));
    return altered;
}

static void expect_said(const struct held *h, const char *wanted)
{
    scoped_text text = {0};
    ulp_resized_say(&text, &h->resized, 1);
    ck_assert_str_eq(text.data, wanted);
}

/* Names have one size, elements are the sample's own, again and again. */
TEST(sizes)
{
    struct held h;
    hold(&h, "(float[N,N] x) => (float[N,N] y) { y = Relu(x) }", (const int64_t[]){2, 2});
    ck_assert_uint_eq(h.resized.count, ULP_RESIZED);
    ck_assert_str_ne(h.resized.names[0].data, h.resized.names[1].data);
    for (size_t r = 0; r < h.resized.count; r++) {
        const struct ulp_tensor *x = ulp_tensor_set_find(&h.resized.inputs[r], "x");
        ck_assert_int_eq(x->dims[0], x->dims[1]);
        ck_assert_int_ne(x->dims[0], 2);
        for (size_t i = 0; i < x->count; i++) {
            const size_t row = i / (size_t)x->dims[1], column = i % (size_t)x->dims[1];
            ck_assert(ulp_tensor_get(x, i) == (double)(row % 2 * 2 + column % 2));
        }
    }
    let_go(&h);
}

/* What the model refuses is drawn again; one size alone is none; nothing is free. */
TEST(refused)
{
    struct held h;
    hold(&h, "(float[3,N] x) => (float[3,N] y) <float[1,4] w = {1...}> { y = Add(x, w) }",
         (const int64_t[]){3, 4});
    ck_assert_uint_eq(h.resized.count, 0);
    expect_said(&h, "at the sample's sizes only");
    let_go(&h);
    hold(&h, "(float[3,4] x) => (float[3,4] y) { y = Relu(x) }", (const int64_t[]){3, 4});
    ck_assert(!h.resized.is_free);
    expect_said(&h, "at the sample's sizes");
    let_go(&h);
}

/* Right at the sample's sizes, and another at others. */
TEST(particular)
{
    struct held h;
    hold(&h, "(float[2,N] x) => (float[2,1] y) " CONSTANTS SUMMED, (const int64_t[]){2, 4});
    struct ulp_altered altered = measure(&h, "(float[2,N] x) => (float[2,1] y) " CONSTANTS SUMMED);
    ck_assert(altered.most == 0 && !altered.refused);
    ulp_altered_free(&altered);
    altered = measure(&h, "(float[2,N] x) => (float[2,1] y) " CONSTANTS
                          "{ y = ReduceMean<keepdims=1>(x, axis) }");
    ck_assert(altered.most > 0.1 && !altered.refused);
    ck_assert_msg(strncmp(altered.text.data, "at N=", 5) == 0, "%s", altered.text.data);
    ulp_altered_free(&altered);
    altered = measure(&h, "(float[2,N] x) => (float[2,1] y) <int64[1] axis = {1}, float quarter = "
                          "{0.25}, int64[2] to = {2, 4}> { r = Reshape(x, to) s = "
                          "ReduceSum<keepdims=1>(r, axis) y = Mul(s, quarter) }");
    ck_assert(altered.refused && isinf(altered.most));
    ulp_altered_free(&altered);
    let_go(&h);
}

/* Elements that are not finite in both are equal; digits that FP64 loses are the reference's. */
TEST(not_finite)
{
    struct held h;
    hold(&h, "(float[2,N] x) => (float[2,N] y) { l = Log(x) y = Mul(l, l) }",
         (const int64_t[]){2, 2});
    struct ulp_altered altered = measure(
        &h, "(float[2,N] x) => (float[2,N] y) <float two = {2}> { l = Log(x) y = Pow(l, two) }");
    ck_assert(altered.most <= ULP_ALTERED_LEAST);
    ulp_altered_free(&altered);
    altered = measure(&h, "(float[2,N] x) => (float[2,N] y) <float e = {1}> { t = Max(x, e) l = "
                          "Log(t) y = Mul(l, l) }");
    ck_assert(isinf(altered.most) && !altered.refused);
    ulp_altered_free(&altered);
    let_go(&h);
    hold(&h, "(float[2,N] x) => (float[2,N] y) { y = Relu(x) }", (const int64_t[]){2, 2});
    altered = measure(&h, "(float[2,N] x) => (float[2,N] y) <float large = {1.1e16}> { r = Relu(x) "
                          "t = Add(r, large) y = Sub(t, large) }");
    ck_assert(altered.most <= ULP_ALTERED_LEAST);
    ulp_altered_free(&altered);
    let_go(&h);
}

TEST_SUITE("resized", 0)
