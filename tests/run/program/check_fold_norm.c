/* run: batchnorm=folded computes a BatchNormalization as multiplier and shift, made in FP32 and
 * then lowered. The oracle is written out below, in C's float and ulp_format_round. */
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

enum { CHANNELS = 16, PIXELS = 3 };
#define EPSILON 1e-3F

/* Parameters over many magnitudes; variances from below FP16's least number to beyond its largest.
 */
struct parameters {
    float scale[CHANNELS], bias[CHANNELS], mean[CHANNELS], variance[CHANNELS];
};

static struct parameters make_parameters(void)
{
    struct parameters p;
    for (int c = 0; c < CHANNELS; c++) {
        p.scale[c] = (float)(c - 5) * 1.37F + 0.3F;
        p.bias[c] = 0.61F * (float)(c % 5) - 1;
        p.variance[c] = ldexpf(1.1F + 0.05F * (float)c, 2 * c - 4); /* 0.07 to 1.2e8 */
        p.mean[c] = sqrtf(p.variance[c]) * 0.4F;
    }
    return p;
}

static void put_list(char *text, size_t size, const char *type, const char *name,
                     const float *values)
{
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used, "%s[%d] %s = {", type, CHANNELS, name);
    for (int c = 0; c < CHANNELS; c++)
        used += (size_t)snprintf(text + used, size - used, "%s%.17g", c ? ", " : "", values[c]);
    snprintf(text + used, size - used, "}");
}

/* With the variance as a constant, or as an input. */
static struct ulp_model *make_model(const struct parameters *p, const char *type, bool constant)
{
    char text[4000] = "";
    snprintf(text, sizeof text, "(%s[1,%d,%d] x%s) => (%s[1,%d,%d] y) <", type, CHANNELS, PIXELS,
             constant ? "" : ", float[16] v", type, CHANNELS, PIXELS);
    put_list(text, sizeof text, type, "g", p->scale);
    strcat(text, ", ");
    put_list(text, sizeof text, type, "b", p->bias);
    strcat(text, ", ");
    put_list(text, sizeof text, type, "m", p->mean);
    if (constant) {
        strcat(text, ", ");
        put_list(text, sizeof text, type, "v", p->variance);
    }
    strcat(text, "> { [bn] y = BatchNormalization<epsilon=0.001>(x, g, b, m, v) }");
    return onnx_text_load(13, text);
}

static void add_floats(struct ulp_tensor_set *set, const char *name, int rank, const int64_t *dims,
                       const float *values)
{
    scoped_tensor tensor = {0};
    ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, rank, dims, &why));
    for (size_t i = 0; i < tensor.count; i++)
        ((float *)tensor.data)[i] = values[i];
    ck_ok(ulp_tensor_set_add(set, name, &tensor, &why));
}

static struct ulp_tensor_set make_inputs(const struct parameters *p, bool constant)
{
    struct ulp_tensor_set inputs = {0};
    float x[CHANNELS * PIXELS];
    for (int i = 0; i < CHANNELS * PIXELS; i++)
        x[i] = p->mean[i / PIXELS] * (1 + 0.21F * (float)(i % PIXELS));
    add_floats(&inputs, "x", 3, (const int64_t[]){1, CHANNELS, PIXELS}, x);
    if (!constant)
        add_floats(&inputs, "v", 1, (const int64_t[]){CHANNELS}, p->variance);
    return inputs;
}

static void run(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                const char *lane, double precision, double y[CHANNELS * PIXELS])
{
    const struct ulp_arithmetic arithmetic = test_arithmetic(lane);
    const struct ulp_program_options options = {.inputs = inputs,
                                                .perturbation = {.precision = (int)precision}};
    const struct ulp_run_options once = {.thread_count = 1};
    scoped_tensor_set outputs = {0};
    scoped_program *program = NULL;
    ck_ok(ulp_program_create(model, &arithmetic, 1, &options, &program, &why));
    ck_ok(ulp_program_run(program, inputs, &once, NULL, 0, &outputs, NULL, &why));
    for (int i = 0; i < CHANNELS * PIXELS; i++)
        y[i] = ulp_tensor_get(ulp_tensor_set_find(&outputs, "y"), (size_t)i);
}

static float lower(const struct ulp_format *format, float x)
{
    return (float)ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
}

/* Step by step in FP32, as the formula of the operator is computed in these lanes. */
static float expect(const struct parameters *p, const struct ulp_format *format, int c, float x)
{
    const float root = sqrtf(p->variance[c] + EPSILON), multiplier = p->scale[c] / root,
                moved = p->mean[c] * multiplier, shift = p->bias[c] - moved,
                product = lower(format, x) * lower(format, multiplier);
    return lower(format, product + lower(format, shift));
}

TEST_LOOP(folded, 0, 5)
{
    static const char *const lanes[] = {"fp16,batchnorm=folded", "bf16,batchnorm=folded",
                                        "fp32,batchnorm=folded", "tf32@a100,batchnorm=folded",
                                        "fp16,batchnorm=folded,fuse=reduce,fuse-constants=stored"};
    const struct parameters p = make_parameters();
    scoped_model *model = make_model(&p, "float", true);
    scoped_tensor_set inputs = make_inputs(&p, true);
    const struct ulp_tensor *x = ulp_tensor_set_find(&inputs, "x");
    const struct ulp_arithmetic lane = test_arithmetic(lanes[_i]);
    double y[CHANNELS * PIXELS];
    run(model, &inputs, lanes[_i], 0, y);
    for (int i = 0; i < CHANNELS * PIXELS; i++) {
        const float expected =
            expect(&p, &lane.storage, i / PIXELS, (float)ulp_tensor_get(x, (size_t)i));
        ck_assert_msg(y[i] == expected, "%s, element %d: %.9g, expected %.9g", lanes[_i], i, y[i],
                      expected);
    }
}

/* What is no constant is computed, whatever is asked for. */
/* Parameters and values that are FP16's already: a model that declares them so is folded as one
 * that does not. */
TEST(folded_as_declared)
{
    struct parameters p = make_parameters();
    float *const lists[] = {p.scale, p.bias, p.mean, p.variance};
    const struct ulp_format half = test_arithmetic("fp16").storage;
    double y[CHANNELS * PIXELS], declared[CHANNELS * PIXELS];
    for (int l = 0; l < 4; l++)
        for (int c = 0; c < CHANNELS; c++)
            lists[l][c] = lower(&half, fminf(lists[l][c], 60000));
    scoped_model *model = make_model(&p, "float", true), *typed = make_model(&p, "float16", true);
    scoped_tensor_set inputs = make_inputs(&p, true);
    run(model, &inputs, "fp16,batchnorm=folded", 0, y);
    run(typed, &inputs, "fp16,batchnorm=folded", 0, declared);
    ck_assert_mem_eq(y, declared, sizeof y);
}

TEST(not_constant)
{
    const struct parameters p = make_parameters();
    scoped_model *model = make_model(&p, "float", false);
    scoped_tensor_set inputs = make_inputs(&p, false);
    double asked[CHANNELS * PIXELS], plain[CHANNELS * PIXELS];
    run(model, &inputs, "bf16,batchnorm=folded", 0, asked);
    run(model, &inputs, "bf16", 0, plain);
    for (int i = 0; i < CHANNELS * PIXELS; i++)
        ck_assert(asked[i] == plain[i]);
}

/* Of parameters that were moved, it is those that are folded: in FP32 both ways are within their
 * roundings of each other (eight steps of 2^-24, times what the subtraction of the shift cancels,
 * below 8 here: 2^-18 of the largest term), while the parameters have moved by 2^-8. */
TEST(follows_a_perturbation)
{
    const struct parameters p = make_parameters();
    scoped_model *model = make_model(&p, "float", true);
    scoped_tensor_set inputs = make_inputs(&p, true);
    double mine[CHANNELS * PIXELS], plain[CHANNELS * PIXELS], before[CHANNELS * PIXELS];
    double moved = 0;
    run(model, &inputs, "fp32,batchnorm=folded", 8, mine);
    run(model, &inputs, "fp32", 8, plain);
    run(model, &inputs, "fp32", 0, before);
    for (int i = 0; i < CHANNELS * PIXELS; i++) {
        const double largest =
            fabs(p.scale[i / PIXELS]) * 0.4 * (1 + 0.21 * PIXELS) + fabs(p.bias[i / PIXELS]);
        ck_assert(fabs(mine[i] - plain[i]) <= ldexp(largest, -18));
        moved = fmax(moved, fabs(before[i] - plain[i]) / largest);
    }
    ck_assert(moved > ldexp(1, -10));
}

/* Constants that a lane cannot hold: the variance is one where it is stored, not where it is folded
 * away. */
TEST(told_constants)
{
    static const char *const lanes[] = {"fp16", "fp16,batchnorm=folded"};
    const struct parameters p = make_parameters();
    scoped_model *model = make_model(&p, "float", true);
    struct ulp_arithmetic arithmetics[2] = {test_arithmetic(lanes[0]), test_arithmetic(lanes[1])};
    struct ulp_changed_constants changed;
    scoped_program *program = test_plan_lanes(model, NULL, arithmetics, 2);
    ck_ok(ulp_program_constants(program, 0, &changed, &why));
    ck_assert_uint_eq(changed.count, 1);
    ck_assert_str_eq(changed.items[0].name, "v");
    ulp_changed_constants_free(&changed);
    ck_ok(ulp_program_constants(program, 1, &changed, &why));
    ck_assert_uint_eq(changed.count, 0);
    ulp_changed_constants_free(&changed);
}

TEST_SUITE("fold_norm", 0)
