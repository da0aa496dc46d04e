/* run: kernels of fused nodes. A graph that is one kernel gives what FP32 gives, rounded once; a
 * value that is used inside and outside is rounded for the outside only. */
#include "tests/run/program/fusion_test.h"
#include "tests/support/onnx_text.h"

static struct ulp_tensor_set run_groups(const struct ulp_model *model,
                                        const struct ulp_tensor_set *inputs, const char *name,
                                        const struct ulp_groups *groups,
                                        const struct ulp_keeps *kept, int threads, bool audit)
{
    const struct ulp_arithmetic lanes[] = {test_arithmetic("mpfr:128"), test_arithmetic(name)};
    const struct ulp_groups of_lanes[] = {{0}, groups ? *groups : (struct ulp_groups){0}};
    const struct ulp_keeps keeps[] = {{0}, kept ? *kept : (struct ulp_keeps){0}};
    const struct ulp_program_options options = {.inputs = inputs,
                                                .groups = of_lanes,
                                                .keeps = keeps};
    const struct ulp_run_options how = {.thread_count = threads, .audit = audit};
    struct ulp_tensor_set out[2];
    scoped_program *program = NULL;
    ck_ok(ulp_program_create(model, lanes, 2, &options, &program, &why));
    ck_ok(ulp_program_run(program, inputs, &how, NULL, 0, out, NULL, &why));
    ulp_tensor_set_free(&out[0]);
    return out[1];
}

static struct ulp_tensor_set run(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                 const char *name, int threads, bool audit)
{
    return run_groups(model, inputs, name, NULL, NULL, threads, audit);
}

static float round_to(const char *format, float x)
{
    struct ulp_format found;
    ck_assert_int_eq(ulp_format_find(format, &found, NULL), ULP_OK);
    return (float)ulp_format_round(&found, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
}

/* The inputs, rounded to the format before they are given. */
static struct ulp_tensor_set rounded_inputs(const struct ulp_model *model, uint64_t seed,
                                            const char *format)
{
    struct ulp_tensor_set inputs = text_inputs(model, seed, 0, true);
    for (size_t i = 0; i < inputs.count; i++) {
        struct ulp_tensor *tensor = &inputs.items[i].tensor;
        for (size_t e = 0; e < tensor->count && tensor->element == ULP_ELEMENT_F32; e++)
            ((float *)tensor->data)[e] = round_to(format, ((float *)tensor->data)[e]);
    }
    return inputs;
}

static const float *values(const struct ulp_tensor_set *set, const char *name)
{
    const struct ulp_tensor *tensor = ulp_tensor_set_find(set, name);
    ck_assert_ptr_nonnull(tensor);
    ck_assert_int_eq(tensor->element, ULP_ELEMENT_F32);
    return tensor->data;
}

static size_t count(const struct ulp_tensor_set *set, const char *name)
{
    return ulp_tensor_set_find(set, name)->count;
}

static size_t count_differences(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b,
                                const char *name)
{
    const float *x = values(a, name), *y = values(b, name);
    size_t differences = 0;
    for (size_t i = 0; i < count(a, name); i++)
        differences += memcmp(&x[i], &y[i], sizeof *x) != 0;
    return differences;
}

static void expect_same(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b,
                        const char *name)
{
    ck_assert_uint_eq(count_differences(a, b, name), 0);
}

/* ---- elementwise: C's own float is the oracle ---- */

static const struct text_graph tree = {
    "x", "y",
    "[double] a = Mul(x, two) [sum] b = Add(a, x) [product] c = Mul(b, x) [difference] d = Sub(c, "
    "a) [abs] e = Abs(d) [root] y = Sqrt(e)"};

static const struct text_graph squared = {"x", "m",
                                          "[square] h = Mul(x, x) [product] m = MatMul(h, w)"};

TEST_LOOP(a_tree_is_rounded_once, 0, 12)
{
    static const char *const formats[] = {"fp16", "bf16", "fp8-e5m2"};
    const char *format = formats[_i % 3];
    char name[64];
    scoped_model *model = text_load(&tree);
    scoped_tensor_set inputs = rounded_inputs(model, 1 + (uint64_t)_i, format);
    snprintf(name, sizeof name, "%s,fuse=%s", format, _i / 3 % 2 ? "reduce" : "pointwise");
    scoped_tensor_set fused = run(model, &inputs, name, 1 + _i % 2, _i % 2);
    scoped_tensor_set apart = run(model, &inputs, format, 1, false);
    const float *x = values(&inputs, "x"), *y = values(&fused, "y");
    size_t gained = 0;
    for (size_t i = 0; i < count(&inputs, "x"); i++) {
        const float a = x[i] * 2, b = a + x[i], c = b * x[i], d = c - a;
        const float wanted = round_to(format, sqrtf(fabsf(d)));
        ck_assert_msg(memcmp(&wanted, &y[i], sizeof wanted) == 0, "%s: element %zu is %a, not %a",
                      name, i, (double)y[i], (double)wanted);
        gained += wanted != values(&apart, "y")[i];
    }
    ck_assert_uint_gt(gained, 0);
}

/* Each step inside in FP16: as node by node in the format that rounds every step. */
TEST(the_inner_format_rounds_every_step)
{
    scoped_model *model = text_load(&tree);
    scoped_tensor_set inputs = rounded_inputs(model, 7, "fp16");
    scoped_tensor_set inner = run(model, &inputs, "fp16,fuse=reduce,fuse-inner=fp16", 1, false);
    scoped_tensor_set apart = run(model, &inputs, "fp16-strict", 1, false);
    expect_same(&inner, &apart, "y");
}

/* ---- used inside and outside ---- */

TEST(a_library_reads_what_is_stored)
{
    scoped_model *model = text_load(&forked);
    scoped_tensor_set inputs = rounded_inputs(model, 3, "fp16");
    scoped_tensor_set fused = run(model, &inputs, "fp16,fuse=pointwise", 2, true);
    scoped_tensor_set apart = run(model, &inputs, "fp16", 1, false);
    const float *x = values(&inputs, "x"), *z = values(&fused, "z");
    expect_same(&fused, &apart, "m");
    ck_assert_uint_gt(count_differences(&fused, &apart, "z"), 0);
    for (size_t i = 0; i < count(&inputs, "x"); i++)
        ck_assert_float_eq(z[i], round_to("fp16", x[i] * x[i] + x[i]));
}

/* ---- rows ---- */

static const struct text_graph rows = {
    "x", "y", "[square] h = Mul(x, x) [soft] p = Softmax(h) [weigh] y = Mul(p, x)"};

/* One kernel: FP32's result of the whole graph, rounded once. Without the reduction in it three. */
TEST(rows_are_one_kernel)
{
    scoped_model *model = text_load(&rows);
    scoped_tensor_set inputs = rounded_inputs(model, 11, "fp16");
    scoped_tensor_set fused = run(model, &inputs, "fp16,fuse=reduce", 1, true);
    scoped_tensor_set pointwise = run(model, &inputs, "fp16,fuse=pointwise", 1, true);
    scoped_tensor_set apart = run(model, &inputs, "fp16", 1, false);
    scoped_tensor_set whole = run(model, &inputs, "fp32,reduce=warp,functions=cuda", 1, false);
    const float *y = values(&fused, "y"), *z = values(&whole, "y");
    for (size_t i = 0; i < count(&fused, "y"); i++)
        ck_assert_float_eq(y[i], round_to("fp16", z[i]));
    expect_same(&pointwise, &apart, "y");
    ck_assert_uint_gt(count_differences(&fused, &apart, "y"), 0);
}

/* ---- a product and what follows ---- */

static const struct text_graph product = {"x", "y",
                                          "[product] m = MatMul(x, w) [sum] y = Add(m, x)"};
static const struct text_graph gemm = {"x", "y", "[gemm] y = Gemm(x, w, x)"};

/* MatMul and Add are a Gemm; where a library stores its sums, they are not. */
TEST(the_epilogue_is_part_of_the_kernel)
{
    scoped_model *split = text_load(&product), *whole = text_load(&gemm);
    scoped_tensor_set inputs = rounded_inputs(split, 5, "fp16");
    scoped_tensor_set fused = run(split, &inputs, "fp16,fuse=pointwise", 1, true);
    scoped_tensor_set one = run(whole, &inputs, "fp16", 1, false);
    scoped_tensor_set stored = run(split, &inputs, "fp16,fuse=pointwise,epilogue=rounded", 1, true);
    scoped_tensor_set apart = run(split, &inputs, "fp16", 1, false);
    expect_same(&fused, &one, "y");
    expect_same(&stored, &apart, "y");
    ck_assert_uint_gt(count_differences(&fused, &apart, "y"), 0);
}

static const struct text_graph gated = {
    "x", "y", "[product] m = MatMul(x, w) [gate] s = Sigmoid(m) [silu] y = Mul(m, s)"};

/* OpenVINO's kernel of a product has x * sigmoid(x), as compilers' kernels; no sum with another
 * value, unless it is a Conv's. */
TEST(openvino_takes_what_goes_on_alone)
{
    scoped_model *silu = text_load(&gated), *sum = text_load(&product);
    scoped_tensor_set inputs = rounded_inputs(silu, 13, "bf16");
    scoped_tensor_set fused = run(silu, &inputs, "bf16,fuse=openvino", 1, true);
    scoped_tensor_set reduced = run(silu, &inputs, "bf16,fuse=reduce", 1, true);
    scoped_tensor_set apart = run(silu, &inputs, "bf16", 1, false);
    scoped_tensor_set stored = run(sum, &inputs, "bf16,fuse=openvino", 1, true);
    scoped_tensor_set added = run(sum, &inputs, "bf16", 1, false);
    expect_same(&fused, &reduced, "y");
    ck_assert_uint_gt(count_differences(&fused, &apart, "y"), 0);
    expect_same(&stored, &added, "y");
}

/* A multiplier and a BatchNormalization behind a Conv go into its weights before these are rounded:
 * as of the weights that they give, the bias being BF16 like any; alone the weight 1.003 is 1. */
TEST(openvino_folds_what_multiplies_a_conv)
{
    static const char *const written[] = {
        "float[1,1,1] k = {1.5}> { [conv] c = Conv(x, w) [scale] y = Mul(k, c) }",
        "float[1] s = {1.5}, float[1] b = {0}, float[1] m = {0}, float[1] v = {0.9999}> { [conv] c "
        "= Conv(x, w) [norm] y = BatchNormalization<epsilon=0.0001>(c, s, b, m, v) }"};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "(float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {1.003}, %s",
                 written[i]);
        scoped_model *model = onnx_text_load(17, text),
                     *folded = onnx_text_load(17, "(float[1,1,4,4] x) => (float[1,1,4,4] y) "
                                                  "<float[1,1,1,1] w = {1.5045}> { [conv] y = "
                                                  "Conv(x, w) }");
        scoped_tensor_set inputs = rounded_inputs(model, 17, "bf16");
        scoped_tensor_set fused = run(model, &inputs, "bf16,fuse=openvino", 1, true);
        scoped_tensor_set wanted = run(folded, &inputs, "bf16", 1, true);
        scoped_tensor_set apart = run(model, &inputs, "bf16,fuse=pointwise", 1, true);
        expect_same(&fused, &wanted, "y");
        ck_assert_uint_gt(count_differences(&fused, &apart, "y"), 0);
    }
}

/* A Gemm whose k is no multiple of 16 bytes has its factors padded: the bias is added behind the
 * library, as node by node with epilogue=rounded; with another k by it. Values of a bias are
 * FP16's. */
TEST(padded_factors)
{
    static const struct {
        const char *text, *as;
    } cases[] = {
        {"(float[5,12] x) => (float[5,8] y)\n<float[12,8] w = {0.3, -1.7, 0.9, 2.1, -0.4...},\n"
         " float[8] b = {1000, -37, 0.5, 250...}>\n{\n  [gemm] y = Gemm(x, w, b)\n}\n",
         "fp16,epilogue=rounded"},
        {"(float[5,16] x) => (float[5,8] y)\n<float[16,8] w = {0.3, -1.7, 0.9, 2.1, -0.4...},\n"
         " float[8] b = {1000, -37, 0.5, 250...}>\n{\n  [gemm] y = Gemm(x, w, b)\n}\n",
         "fp16"},
        {"(float[12,5] x) => (float[5,8] y)\n<float[12,8] w = {0.3, -1.7, 0.9, 2.1, -0.4...},\n"
         " float[8] b = {1000, -37, 0.5, 250...}>\n{\n  [gemm] y = Gemm<transA=1>(x, w, b)\n}\n",
         "fp16,epilogue=rounded"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        scoped_model *model = onnx_text_load(17, cases[c].text);
        scoped_tensor_set inputs = rounded_inputs(model, 5, "fp16");
        scoped_tensor_set fused = run(model, &inputs, "fp16,fuse=reduce,epilogue=rounded", 1, true);
        scoped_tensor_set whole = run(model, &inputs, "fp16", 1, false);
        scoped_tensor_set apart = run(model, &inputs, "fp16,epilogue=rounded", 1, false);
        expect_same(&fused, strcmp(cases[c].as, "fp16") == 0 ? &whole : &apart, "y");
        ck_assert_uint_gt(count_differences(&whole, &apart, "y"), 0);
    }
}

/* ---- groups that the caller names ---- */

static const char half_groups[] = "fp16,fuse=groups", bf16_groups[] = "bf16,fuse=groups";

/* C's own float, with a rounding where a group ends, and where one says so inside. */
TEST_LOOP(groups_are_rounded_where_they_end, 0, 4)
{
    static const char *const first[] = {"double"};
    const char *format = _i % 2 ? "bf16" : "fp16";
    struct ulp_group items[] = {GROUP("first", "double", "sum"),
                                GROUP(NULL, "#2", "difference", "difference", "abs"),
                                GROUP("last", "root", "abs")};
    if (_i >= 2) {
        items[0].rounded = first;
        items[0].rounded_count = 1;
    }
    const struct ulp_groups groups = {3, items, "three.json"};
    scoped_model *model = text_load(&tree);
    scoped_tensor_set inputs = rounded_inputs(model, 1 + (uint64_t)_i, format);
    scoped_tensor_set fused = run_groups(model, &inputs, _i % 2 ? bf16_groups : half_groups,
                                         &groups, NULL, 1 + _i % 2, true);
    const float *x = values(&inputs, "x"), *y = values(&fused, "y");
    for (size_t i = 0; i < count(&inputs, "x"); i++) {
        const float a = x[i] * 2, inner = _i >= 2 ? round_to(format, a) : a,
                    b = round_to(format, inner + x[i]), c = b * x[i],
                    d = c - round_to(format, a); /* the first group's, from memory */
        /* abs is in two groups, of which one has what it reads: it reads what is stored */
        const float wanted = round_to(format, sqrtf(fabsf(round_to(format, d))));
        ck_assert_msg(memcmp(&wanted, &y[i], sizeof wanted) == 0, "element %zu is %a, not %a", i,
                      (double)y[i], (double)wanted);
    }
}

/* A node of a group in FP32 is a kernel of its own: what it reads was stored. */
TEST(a_kept_node_reads_what_a_group_stores)
{
    const struct ulp_group item =
        GROUP(NULL, "double", "sum", "product", "difference", "abs", "root");
    const struct ulp_groups groups = {1, &item, NULL};
    const struct ulp_keep keep = {.pattern = "difference", .arithmetic = test_arithmetic("fp32")};
    const struct ulp_keeps keeps = {1, &keep, NULL};
    scoped_model *model = text_load(&tree);
    scoped_tensor_set inputs = rounded_inputs(model, 5, "fp16");
    scoped_tensor_set fused = run_groups(model, &inputs, half_groups, &groups, &keeps, 2, true);
    const float *x = values(&inputs, "x"), *y = values(&fused, "y");
    for (size_t i = 0; i < count(&inputs, "x"); i++) {
        const float a = x[i] * 2, c = (a + x[i]) * x[i],
                    d = round_to("fp16", c) - round_to("fp16", a); /* in FP32, stored so */
        ck_assert_float_eq(y[i], round_to("fp16", sqrtf(fabsf(round_to("fp16", d)))));
    }
}

static struct ulp_tensor_set run_kept(const struct ulp_model *model,
                                      const struct ulp_tensor_set *inputs, const char *name,
                                      const char *pattern)
{
    const struct ulp_keep keep = {.pattern = pattern, .arithmetic = test_arithmetic("fp32")};
    const struct ulp_keeps keeps = {1, &keep, NULL};
    return run_groups(model, inputs, name, NULL, &keeps, 1 + inputs->count % 2, false);
}

static const char casts_inner[] = "fp16,epilogue=rounded,fuse=reduce",
                  casts_stored[] = "fp16,epilogue=rounded,fuse=reduce,fuse-casts=stored";

/* Casts round nothing inside a kernel, nor does the one at the graph's output. */
TEST(casts_are_steps_of_a_kernel)
{
    scoped_model *model = text_load(&tree);
    scoped_tensor_set inputs = rounded_inputs(model, 5, "fp16");
    scoped_tensor_set inner = run_kept(model, &inputs, casts_inner, "difference");
    scoped_tensor_set stored = run_kept(model, &inputs, casts_stored, "difference");
    const float *x = values(&inputs, "x"), *y = values(&inner, "y"), *z = values(&stored, "y");
    for (size_t i = 0; i < count(&inputs, "x"); i++) {
        const float a = x[i] * 2, c = (a + x[i]) * x[i],
                    d = round_to("fp16", c) - round_to("fp16", a);
        ck_assert_float_eq(y[i], sqrtf(fabsf(c - a)));
        ck_assert_float_eq(z[i], round_to("fp16", sqrtf(fabsf(round_to("fp16", d)))));
    }
}

/* What a kept product reads, the kernel before it has cast and stored in FP32; what a lowered one
 * reads of a kept node is rounded once. */
TEST(what_a_library_reads_is_cast_before)
{
    scoped_model *model = text_load(&squared);
    scoped_tensor_set inputs = rounded_inputs(model, 5, "fp16");
    scoped_tensor_set inner = run_kept(model, &inputs, casts_inner, "product");
    scoped_tensor_set stored = run_kept(model, &inputs, casts_stored, "product");
    scoped_tensor_set whole = run(model, &inputs, "fp32", 1, false);
    scoped_tensor_set kept = run_kept(model, &inputs, casts_inner, "square");
    scoped_tensor_set kept_stored = run_kept(model, &inputs, casts_stored, "square");
    expect_same(&inner, &whole, "m");
    ck_assert_uint_gt(count_differences(&stored, &whole, "m"), 0);
    expect_same(&kept, &kept_stored, "m");
    ck_assert_uint_gt(count_differences(&kept, &whole, "m"), 0);
}

/* One group with a product is a Gemm, however libraries store their sums elsewhere; a product in
 * two groups is stored between them. */
TEST(a_group_with_a_product_is_its_library)
{
    const struct ulp_group one[] = {GROUP(NULL, "product", "sum")},
                           two[] = {GROUP(NULL, "product"), GROUP(NULL, "product", "sum")};
    scoped_model *split = text_load(&product), *whole = text_load(&gemm);
    scoped_tensor_set inputs = rounded_inputs(split, 5, "fp16");
    static const char rounded[] = "fp16,epilogue=rounded,fuse=groups";
    scoped_tensor_set together =
        run_groups(split, &inputs, rounded, &(struct ulp_groups){1, one, NULL}, NULL, 1, true);
    scoped_tensor_set stored =
        run_groups(split, &inputs, rounded, &(struct ulp_groups){2, two, NULL}, NULL, 1, true);
    scoped_tensor_set gemm_fused = run(whole, &inputs, "fp16", 1, false);
    scoped_tensor_set apart = run(split, &inputs, "fp16", 1, false);
    expect_same(&together, &gemm_fused, "y");
    expect_same(&stored, &apart, "y");
    ck_assert_uint_gt(count_differences(&together, &stored, "y"), 0);
}

/* The groups that the rules find, given as groups, are the same kernels. */
TEST(found_kernels_given_as_groups)
{
    const struct ulp_group item = GROUP(NULL, "square", "soft", "weigh");
    const struct ulp_groups groups = {1, &item, NULL};
    scoped_model *model = text_load(&rows);
    scoped_tensor_set inputs = rounded_inputs(model, 11, "fp16");
    scoped_tensor_set given = run_groups(model, &inputs, half_groups, &groups, NULL, 1, true);
    scoped_tensor_set found = run(model, &inputs, "fp16,fuse=reduce", 1, true);
    expect_same(&given, &found, "y");
}

TEST_LOOP(wrong_groups_are_refused, 0, 8)
{
    static const char *const other[] = {"root"};
    struct ulp_group rounded = GROUP("last", "abs");
    rounded.rounded = other;
    rounded.rounded_count = 1;
    const struct {
        struct ulp_group item;
        const char *message;
    } cases[] = {
        {GROUP("first", "abs", "roots"),
         "group 1 'first': no node is called 'roots' (did you mean \"root\"?)"},
        {GROUP(NULL, "e"), "group 1: no node is called 'e': it is a value, of node 'abs'"},
        {GROUP(NULL, "#6"), "group 1: no node is called '#6', and the model has 6 nodes, #0 to #5"},
        {GROUP(NULL, "#99999999999999999999"), "has 6 nodes"},
        {GROUP(NULL, "#1x"), "has 6 nodes"},
        {GROUP(NULL, "r*t"), "no node is called 'r*t'"},
        {rounded, "'root' is to be rounded there and is none of its nodes"},
        {{0}, "the program is given no groups"},
    };
    const struct ulp_groups groups = {cases[_i].item.nodes != NULL, &cases[_i].item, NULL};
    const struct ulp_arithmetic lane = test_arithmetic(half_groups);
    const struct ulp_program_options options = {.groups = &groups};
    scoped_model *model = text_load(&tree);
    struct ulp_program *program;
    ck_fails(ULP_ERROR_USAGE, cases[_i].message,
             ulp_program_create(model, &lane, 1, &options, &program, &why));
    ck_assert_ptr_null(program);
}

TEST_LOOP(files_of_groups, 0, 10)
{
    static const struct {
        const char *text, *message; /* NULL: it is read */
    } cases[] = {
        {"{\"groups\": [{\"name\": \"a\", \"nodes\": [\"x\", \"y\"], \"rounded\": [\"x\"]}, "
         "{\"nodes\": [\"z\"]}]}",
         NULL},
        {"[]", "is no JSON object"},
        {"{\"groups\": []}", "has no \"groups\""},
        {"{\"groups\": [{\"nodes\": [\"x\"]}, 3]}", "\"groups\"[1]: is no object"},
        {"{\"groups\": [{\"nodes\": \"x\"}]}", "has no \"nodes\""},
        {"{\"groups\": [{\"nodes\": [\"x\", 1]}]}", "\"nodes\"[1] is no text"},
        {"{\"groups\": [{\"nodes\": [\"x\"], \"stored\": []}]}", "unknown key \"stored\""},
        {"{\"groups\": [{\"nodes\": [\"x\"], \"rounded\": \"x\"}]}", "\"rounded\" is no list"},
        {"{\"groups\": [{\"nodes\": [\"x\"], \"name\": 1}]}", "\"name\" is no text"},
        {"{\"groups\": [", "line 1"},
    };
    struct ulp_group_list list;
    struct ulp_error error;
    FILE *file = fopen("groups.json", "w");
    ck_assert_ptr_nonnull(file);
    fputs(cases[_i].text, file);
    ck_assert_int_eq(fclose(file), 0);
    const enum ulp_status status = ulp_group_list_read("groups.json", NULL, &list, &error);
    remove("groups.json");
    if (cases[_i].message) {
        ck_assert_int_eq(status, ULP_ERROR_INPUT);
        ck_assert_msg(strstr(error.message, cases[_i].message) != NULL, "%s", error.message);
        ck_assert_ptr_null(list.memory);
    } else {
        ck_ulp_ok(status, error);
        ck_assert_uint_eq(list.groups.count, 2);
        ck_assert_str_eq(list.groups.name, "groups.json");
        ck_assert_str_eq(list.groups.items[0].nodes[1], "y");
        ck_assert_uint_eq(list.groups.items[0].rounded_count, 1);
        ck_assert_ptr_null(list.groups.items[1].name);
        ulp_group_list_free(&list);
    }
}

TEST_SUITE("fusion", 120)
