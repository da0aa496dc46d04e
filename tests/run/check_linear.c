/* run: R(p) of products with constants, which is R(r) and what FP64 makes of p - r where that is
 * exact enough. The oracle is the exact sum, by MPFR. */
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine/cpu.h"
#include "base/random.h"
#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "run/pass/weigh.h"
#include "tensor/tensor.h"

/* Two convolutions, the first of which reads the model's input, and a product with constants on
 * either side: 1.2 to 2.7 million products each; and one of these normalised. */
enum { IN = 8, MIDDLE = 32, OUT = 16, SIDE = 24, WIDTH = 128 };
static const struct constant {
    const char *name, *shape;
    int count;
} constants[] = {
    {"w1", "32,8,3,3", MIDDLE *IN * 9},
    {"b1", "32", MIDDLE},
    {"w2", "16,32,3,3", OUT *MIDDLE * 9},
    {"b2", "16", OUT},
    {"right", "24,128", SIDE *WIDTH},
    {"left", "128,24", WIDTH *SIDE},
    {"scale", "16", OUT},
    {"bias", "16", OUT},
    {"mean", "16", OUT},
    {"var", "16", OUT},
};
enum { CONSTANTS = sizeof constants / sizeof *constants, SCALE = 6, BIAS, MEAN, VAR };

struct subject {
    float *values[CONSTANTS];
    /* FP16 rounds what the first node computes to integers, and computes the second one exactly;
     * the reference has integers and a little more */
    bool whole;
    bool asks;    /* for R(p) - R(r) where that will do */
    float bias;   /* of the second node, times 1 where it is 0 */
    size_t moved; /* of the second node's results that are not the rounded exact sum */
    size_t nodes, differences;
    uint64_t bits; /* of all R(p) */
    bool norm;     /* the normalised ones are shown as differences */
};

static double next_value(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const double x = (double)(*seed >> 33) * 0x1p-30 - 1;
    return x * x * x;
}

static float next_constant(int constant, int i, uint64_t *seed)
{
    const double x = next_value(seed);
    const int of_channel = i / 9 % IN;
    return (float)(constant == 0   ? of_channel == IN - 1 ? 0x1p-20 * x : rint(x)
                     : constant == 1 ? 256
                   : constant == 2 ? fabs(x) > 0.95
                   : constant == 3 ? 0
                                   : x);
}

static struct ulp_model *make_model(struct subject *subject)
{
    const size_t room = 1 << 20;
    char *text = malloc(room);
    uint64_t seed = 7;
    size_t n = (size_t)snprintf(text, room,
                                "(float[1,8,24,24] x) => (float[1,16,24,128] r, "
                                "float[1,16,128,24] l, float[1,16,24,128] n) <");
    for (int c = 0; c < CONSTANTS; c++) {
        subject->values[c] = malloc((size_t)constants[c].count * sizeof(float));
        n += (size_t)snprintf(text + n, room - n, "%sfloat[%s] %s = {", c ? ", " : "",
                              constants[c].shape, constants[c].name);
        for (int i = 0; i < constants[c].count; i++) {
            subject->values[c][i] =
                subject->whole ? next_constant(c, i, &seed) : (float)next_value(&seed);
            if (c == VAR)
                subject->values[c][i] = fabsf(subject->values[c][i]);
            if (c == 3 && subject->bias > 0)
                subject->values[c][i] *= subject->bias;
            n += (size_t)snprintf(text + n, room - n, "%s%.9g", i ? ", " : "",
                                  (double)subject->values[c][i]);
        }
        n += (size_t)snprintf(text + n, room - n, "}");
    }
    snprintf(text + n, room - n,
             "> { a = Conv<pads=[1,1,1,1]>(x, w1, b1)\n b = Relu(a)\n"
             "c = Conv<pads=[1,1,1,1]>(b, w2, b2)\n r = MatMul(c, right)\n l = MatMul(left, c)\n"
             "n = BatchNormalization(r, scale, bias, mean, var) }");
    struct ulp_model *model = onnx_text_load(13, text);
    free(text);
    return model;
}

static void add_product(mpfr_t sum, const struct ulp_tensor *p, size_t i, float w)
{
    mpfr_t x, y;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_set_d(x, ulp_tensor_get(p, i), MPFR_RNDN);
    mpfr_set_d(y, (double)w, MPFR_RNDN);
    mpfr_fma(sum, x, y, sum, MPFR_RNDN);
    mpfr_clears(x, y, (mpfr_ptr)0);
}

/* (x - mean) / sqrt(var + epsilon) * scale + bias */
static void normalise(mpfr_t out, const struct subject *subject, double x, size_t channel)
{
    mpfr_t root;
    mpfr_init2(root, 700);
    mpfr_set_d(root, (double)subject->values[VAR][channel], MPFR_RNDN);
    mpfr_add_d(root, root, (double)1e-5F, MPFR_RNDN);
    mpfr_sqrt(root, root, MPFR_RNDN);
    mpfr_set_d(out, x, MPFR_RNDN);
    mpfr_sub_d(out, out, (double)subject->values[MEAN][channel], MPFR_RNDN);
    mpfr_mul_d(out, out, (double)subject->values[SCALE][channel], MPFR_RNDN);
    mpfr_div(out, out, root, MPFR_RNDN);
    mpfr_add_d(out, out, (double)subject->values[BIAS][channel], MPFR_RNDN);
    mpfr_clear(root);
}

/* Result i of the node exactly, but for the bias, which is added to the sum as it is rounded. */
static void sum_exactly(mpfr_t sum, const struct subject *subject, const char *output,
                        const struct ulp_tensor *p, size_t i)
{
    const size_t area = SIDE * SIDE;
    mpfr_set_zero(sum, 1);
    if (*output == 'n') {
        normalise(sum, subject, ulp_tensor_get(p, i), i / (SIDE * WIDTH));
        return;
    }
    if (*output == 'a' || *output == 'c') {
        const bool first = *output == 'a';
        const size_t channels = first ? IN : MIDDLE, channel = i / area;
        const int row = (int)(i % area / SIDE), column = (int)(i % SIDE);
        const float *w = subject->values[first ? 0 : 2] + channel * channels * 9;
        for (size_t c = 0; c < channels; c++)
            for (int tap = 0; tap < 9; tap++) {
                const int y = row + tap / 3 - 1, x = column + tap % 3 - 1;
                if (y >= 0 && y < SIDE && x >= 0 && x < SIDE)
                    add_product(sum, p, c * area + (size_t)(y * SIDE + x), w[c * 9 + (size_t)tap]);
            }
        mpfr_prec_round(sum, 128, MPFR_RNDN);
        mpfr_add_d(sum, sum, (double)subject->values[first ? 1 : 3][channel], MPFR_RNDN);
        mpfr_prec_round(sum, 700, MPFR_RNDN);
        return;
    }
    const bool right = *output == 'r';
    const size_t columns = right ? WIDTH : SIDE, rows = right ? SIDE : WIDTH;
    const size_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
    for (size_t k = 0; k < SIDE; k++)
        add_product(sum, p, matrix * area + (right ? row * SIDE + k : k * SIDE + column),
                    subject->values[right ? 4 : 5][right ? k * WIDTH + column : row * SIDE + k]);
    mpfr_prec_round(sum, 128, MPFR_RNDN);
    mpfr_prec_round(sum, 700, MPFR_RNDN);
}

/* Element i, exactly, of 300 bits. */
static void read_element(mpfr_t out, const struct ulp_tensor *tensor, size_t i)
{
    mpfr_t record;
    if (tensor->element == ULP_ELEMENT_WIDE) {
        ulp_record_open_const(record, ulp_record_at_const(tensor->data, i, 128), 128);
        mpfr_set(out, record, MPFR_RNDN);
    } else if (tensor->element == ULP_ELEMENT_PAIR) {
        const struct ulp_double_pair *pair = (const struct ulp_double_pair *)tensor->data + i;
        ulp_pair_get(out, pair->high, pair->low);
    } else {
        mpfr_set_d(out, ulp_tensor_get(tensor, i), MPFR_RNDN);
    }
}

static double subtract(const struct ulp_tensor *a, const struct ulp_tensor *b, size_t i)
{
    mpfr_t x, y;
    mpfr_inits2(300, x, y, (mpfr_ptr)0);
    read_element(x, a, i);
    read_element(y, b, i);
    mpfr_sub(x, x, y, MPFR_RNDN);
    const double difference = mpfr_get_d(x, MPFR_RNDN);
    mpfr_clears(x, y, (mpfr_ptr)0);
    return difference;
}

static double find_rms(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    double sum = 0;
    for (size_t i = 0; i < a->count; i++)
        sum += subtract(a, b, i) * subtract(a, b, i);
    return sqrt(sum / (double)a->count);
}

/* R(p) of R(r) and what was shown in its place. */
static void add_moved(struct ulp_tensor *out, const struct ulp_tensor *r,
                      const struct ulp_tensor *moved)
{
    mpfr_t x, sum;
    mpfr_init2(x, 300);
    ck_assert_int_eq(moved->element, ULP_ELEMENT_F64);
    ck_assert_uint_eq(moved->count, r->count);
    ck_ok(ulp_tensor_create(out, r->type, ULP_ELEMENT_WIDE, 128, r->rank, r->dims, &why));
    for (size_t i = 0; i < r->count; i++) {
        struct ulp_record *record = ulp_record_at(out->data, i, 128);
        read_element(x, r, i);
        ulp_record_begin(sum, record, 128);
        mpfr_add_d(sum, x, ulp_tensor_get(moved, i), MPFR_RNDN);
        ulp_record_close(record, sum);
    }
    mpfr_clear(x);
}

/* An element of R(p) errs by less than 2^-23 of the rms of what was introduced, and of what was
 * carried (run_linear.c); where neither is there to be seen, by nothing. So does what measuring
 * rounds R(r) + R(p) - R(r) by, where it is shown their difference. */
static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct subject *subject = context;
    const struct ulp_lane_value *value = &event->values[1];
    const struct ulp_tensor *r = event->values[0].entire, *here = value->here;
    const bool differs = event->moved && event->moved[1];
    struct ulp_tensor sum = {0};
    (void)error;
    ck_assert_int_eq(event->moved != NULL, subject->asks);
    if (strcmp(event->op, "Relu") == 0)
        return ULP_OK;
    if (differs)
        add_moved(&sum, r, here);
    here = differs ? &sum : here;
    const double introduced = find_rms(value->entire, here),
                 carried = here == r ? 0 : find_rms(here, r),
                 allowed = 0x1p-23 * (introduced < carried ? introduced : carried);
    mpfr_t exact, rounded, found, off;
    mpfr_inits2(700, exact, off, (mpfr_ptr)0);
    mpfr_init2(found, 300);
    mpfr_init2(rounded, 128);
    for (size_t i = 0; i < here->count; i += 37) {
        sum_exactly(exact, subject, event->output_names[0], event->inputs[1].entire, i);
        read_element(found, here, i);
        mpfr_set(rounded, exact, MPFR_RNDN);
        subject->moved += *event->output_names[0] == 'c' && !mpfr_equal_p(rounded, found);
        ck_expect(!differs || 0x1p-104 * fabs(ulp_tensor_read(r, i)) < allowed,
                  "%s element %zu, %g, is more than %g can be told of", event->name, i,
                  ulp_tensor_read(r, i), allowed);
        mpfr_sub(off, found, rounded, MPFR_RNDN);
        ck_expect(mpfr_zero_p(off) || fabs(mpfr_get_d(off, MPFR_RNDN)) < allowed,
                  "%s element %zu is off by %g, not below %g", event->name, i,
                  mpfr_get_d(off, MPFR_RNDN), allowed);
    }
    mpfr_clears(exact, off, rounded, found, (mpfr_ptr)0);
    ulp_tensor_free(&sum);
    for (size_t i = 0; i < value->here->count * value->here->element_bytes; i++)
        subject->bits = (subject->bits ^ ((const uint8_t *)value->here->data)[i]) * 1099511628211u;
    subject->nodes++;
    subject->differences += differs;
    subject->norm |= differs && *event->output_names[0] == 'n';
    return ULP_OK;
}

/* `see` is called for each node of the model; it and the inputs are freed. */
static void run_beside_reference(
    struct ulp_model *model, struct ulp_tensor_set *inputs, const char *arithmetic, bool moved,
    enum ulp_status (*see)(void *context, const struct ulp_event *event, struct ulp_error *error),
    const void *context)
{
    struct ulp_program *program;
    const struct ulp_arithmetic lanes[] = {test_arithmetic("pair"), test_arithmetic(arithmetic)};
    const struct ulp_run_options run = {.thread_count = 2, .audit = true, .moved = moved};
    const struct ulp_observer observer = {.context = (void *)(uintptr_t)context, .node_done = see};
    const struct ulp_program_options options = {.inputs = inputs};
    ck_ok(ulp_program_create(model, lanes, 2, &options, &program, &why));
    ck_ok(ulp_program_run(program, inputs, &run, &observer, 1, NULL, NULL, &why));
    ulp_program_free(program);
    ulp_tensor_set_free(inputs);
    ulp_model_free(model);
}

static void audit(struct subject *subject, const char *arithmetic)
{
    struct ulp_model *model = make_model(subject);
    struct ulp_tensor x;
    struct ulp_tensor_set inputs = {0};
    uint64_t seed = 11;
    const int64_t dims[] = {1, IN, SIDE, SIDE};
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 4, dims, &why));
    for (size_t i = 0; i < x.count; i++)
        ((float *)x.data)[i] =
            (float)(subject->whole && i / SIDE / SIDE < IN - 1 ? rint(2 * next_value(&seed))
                                                               : next_value(&seed));
    ck_ok(ulp_tensor_set_add(&inputs, "x", &x, &why));
    run_beside_reference(model, &inputs, arithmetic, subject->asks, look, subject);
    for (int c = 0; c < CONSTANTS; c++)
        free(subject->values[c]);
}

/* A product of 200 x 128 in which some results are sums of one or two inputs, which doubles hold:
 * R(p) must be these, bit for bit, although the errors of other results are clear. */
enum { ROWS = 64, DEPTH = 200 };
static const struct exact_case {
    const char *name, *arithmetic;
    int rows, columns; /* exact results are in rows from there on, or in columns before */
    float taps[3];     /* by which column j takes the inputs j and after it */
    float other, small;
    float large; /* one weight of the last column, times this */
} exact_cases[] = {
    {"most columns", "fp16", ROWS, 90, {1}, 1, 1, 1}, /* nothing is introduced: a median of 0 */
    {"all that are finite", "fp16", ROWS, 90, {1}, 1e4F, 1, 1},      /* and a rms of 0 */
    {"rows that underflow", "fp16", ROWS - 1, 0, {0}, 1, 1e-12F, 1}, /* 0 has no relative error */
    /* B is 2^-28 or so for the large weight, and what others introduce 2^-9 */
    {"few that are clear", "bf16", ROWS, 30, {1, 0x1p-20F}, 0x1p-7F, 1, 0x1p19F},
    /* 2^-41 is introduced, and 2^12 B is 2^-34 */
    {"most that are small", "bf16", ROWS, 80, {1, 0x1p-40F}, 1, 1, 1},
    /* where two numbers of p are equal, R(p) is 2^-39, and 2^12 B is 2^-37 */
    {"some that are nearly 0", "fp16", ROWS, 10, {1, -1, 0x1p-38F}, 1, 1, 1},
};

static enum ulp_status look_at_exact(void *context, const struct ulp_event *event,
                                     struct ulp_error *error)
{
    const struct exact_case *exact = context;
    const struct ulp_lane_value *value = &event->values[1];
    (void)error;
    ck_assert(strcmp(event->op, "MatMul") != 0 || !event->moved[1]);
    for (size_t i = 0; strcmp(event->op, "MatMul") == 0 && i < value->here->count; i++) {
        const size_t row = i / WIDTH, column = i % WIDTH;
        double sum = 0;
        mpfr_t here;
        if ((int)row < exact->rows && (int)column >= exact->columns)
            continue;
        for (size_t tap = 0; tap < 3; tap++)
            sum += (double)exact->taps[tap] *
                   ulp_tensor_get(event->inputs[1].entire, row * DEPTH + column + tap);
        mpfr_init2(here, 300);
        read_element(here, value->here, i);
        ck_expect(mpfr_cmp_d(here, sum) == 0, "%s: element %zu is not %g", exact->name, i, sum);
        mpfr_clear(here);
    }
    return ULP_OK;
}

static void audit_exact(const struct exact_case *exact)
{
    const size_t room = 1 << 20;
    char *text = malloc(room);
    uint64_t seed = 5;
    size_t n = (size_t)snprintf(text, room,
                                "(float[64,200] x) => (float[64,128] y) <float[200,128] w = {");
    for (int i = 0; i < DEPTH * WIDTH; i++) {
        const int tap = i / WIDTH - i % WIDTH;
        n += (size_t)snprintf(text + n, room - n, "%s%.9g", i ? ", " : "",
                              i % WIDTH >= exact->columns
                                  ? (double)exact->other * (1 + fabs(next_value(&seed))) *
                                        (i == WIDTH - 1 ? (double)exact->large : 1)
                              : tap >= 0 && tap < 3 ? (double)exact->taps[tap]
                                                    : 0);
    }
    snprintf(text + n, room - n, "}> { a = Tanh(x)\n y = MatMul(a, w) }");
    struct ulp_model *model = onnx_text_load(13, text);
    free(text);
    struct ulp_tensor x;
    struct ulp_tensor_set inputs = {0};
    const int64_t dims[] = {ROWS, DEPTH};
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &why));
    for (size_t i = 0; i < x.count; i++)
        ((float *)x.data)[i] = (float)(0.1 + fabs(next_value(&seed))) *
                               ((int)(i / DEPTH) < exact->rows ? 1 : exact->small);
    ck_ok(ulp_tensor_set_add(&inputs, "x", &x, &why));
    run_beside_reference(model, &inputs, exact->arithmetic, true, look_at_exact, exact);
}

TEST_LOOP(exact_results_stay_exact_beside_others, 0, sizeof exact_cases / sizeof *exact_cases)
{
    audit_exact(&exact_cases[_i]);
}

/* Normalised by constants of which those of the mean and the bias are far larger than what is left
 * of both; and by the statistics of what is read. In pairs all that the first node reads of FP64
 * is left, bit for bit; of the other, R(p) in doubles errs by 2^-40 of the largest. */
static const struct norm_case {
    const char *attributes, *arithmetic;
    float far;
    bool trains;
} norm_cases[] = {
    {"epsilon=0.0", "fp64", 0x1p60F, false},
    {"training_mode=1", "fp16", 0, true},
    {"training_mode=1", "tf32", 0, true},
};
enum { CHANNELS = 4, AREA = 9000 };

static enum ulp_status look_at_norm(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    const struct norm_case *row = context;
    const struct ulp_tensor *here = event->values[1].here, *p = event->inputs[1].entire;
    (void)error;
    for (size_t c = 0; strcmp(event->op, "Tanh") != 0 && c < CHANNELS; c++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < AREA; i++)
            mean += ulp_tensor_get(p, c * AREA + i) / AREA;
        for (size_t i = 0; i < AREA; i++)
            squares += pow(ulp_tensor_get(p, c * AREA + i) - mean, 2) / AREA;
        for (size_t i = c * AREA; i < (c + 1) * AREA; i++) {
            const double x = ulp_tensor_get(p, i),
                         exact = row->trains ? (x - mean) / sqrt(squares + (double)1e-5F) : x;
            mpfr_t found;
            ck_assert_int_eq(here->element, ULP_ELEMENT_PAIR);
            mpfr_init2(found, 300);
            read_element(found, here, i);
            ck_expect(row->trains ? fabs(mpfr_get_d(found, MPFR_RNDN) - exact) <= 0x1p-36
                                  : mpfr_cmp_d(found, exact) == 0,
                      "element %zu is %a, not %a", i, mpfr_get_d(found, MPFR_RNDN), exact);
            mpfr_clear(found);
        }
    }
    return ULP_OK;
}

TEST_LOOP(norms_are_linear_where_their_constants_are_all, 0, sizeof norm_cases / sizeof *norm_cases)
{
    const struct norm_case *row = &norm_cases[_i];
    char text[600];
    snprintf(text, sizeof text,
             "(float[1,4,90,100] x) => (float[1,4,90,100] y) <float[4] one = {1, 1, 1, 1}, "
             "float[4] far = {%.9g, %.9g, %.9g, %.9g}> { a = Tanh(x)\n"
             "y = BatchNormalization<%s>(a, one, far, far, one) }",
             (double)row->far, (double)row->far, (double)row->far, (double)row->far,
             row->attributes);
    struct ulp_model *model = onnx_text_load(15, text);
    struct ulp_tensor x;
    struct ulp_tensor_set inputs = {0};
    uint64_t seed = 29;
    const int64_t dims[] = {1, CHANNELS, 90, 100};
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 4, dims, &why));
    for (size_t i = 0; i < x.count; i++)
        ((float *)x.data)[i] = (float)(0.1 + fabs(next_value(&seed)));
    ck_ok(ulp_tensor_set_add(&inputs, "x", &x, &why));
    run_beside_reference(model, &inputs, row->arithmetic, true, look_at_norm, row);
}

static const char *const arithmetics[] = {"fp16", "bf16", "tf32", "fp32", "fp64"};

TEST_LOOP(sums_are_as_exact_as_they_must_be, 0, (int)(sizeof arithmetics / sizeof *arithmetics))
{
    struct subject subject = {.asks = true};
    audit(&subject, arithmetics[_i]);
    ck_assert_uint_eq(subject.nodes, 5);
    ck_assert_uint_gt(subject.differences, 0);
    ck_assert(subject.norm);
    ck_assert_uint_gt(subject.moved, 0); /* else nothing was tested */
}

TEST(instruction_sets_agree)
{
    static const unsigned without[] = {0, ULP_CPU_AVX512, ULP_CPU_AVX512 | ULP_CPU_AVX2};
    const unsigned present = ulp_cpu_features();
    struct subject subjects[3];
    for (int set = 0; set < 3; set++) {
        subjects[set] = (struct subject){.asks = true};
        atomic_store(&ulp_cpu_found, present & ~without[set]);
        audit(&subjects[set], "tf32");
        ck_assert_uint_eq(subjects[set].bits, subjects[0].bits);
    }
}

TEST(differences_are_shown_where_measuring_keeps_them)
{
    struct subject subject = {.asks = true, .bias = 0x1p34F};
    audit(&subject, "fp64");
    ck_assert_uint_eq(subject.nodes, 5);
}

TEST(what_is_exact_stays_exact)
{
    struct subject subject = {.whole = true, .asks = true};
    audit(&subject, "fp16");
    ck_assert_uint_eq(subject.nodes, 5);
    ck_assert_uint_eq(subject.moved, 0);
}

/* Sums of cotangents times errors: the same bits by any number of threads, and within n 2^-53 of
 * the sum of magnitudes of MPFR's; of squares the same with three roundings more in each. */
TEST(weighed_errors_are_sums_of_products)
{
    enum { MOST = 5000 };
    static double a[MOST];
    static float b[MOST], less[MOST];
    struct ulp_pool *pool;
    mpfr_t sums[3], term;
    mpfr_inits2(2200, sums[0], sums[1], sums[2], term, (mpfr_ptr)0);
    ck_ok(ulp_pool_create(&pool, 3, &why));
    for (size_t i = 0; i < MOST; i++) {
        a[i] = ldexp((double)(int64_t)ulp_random_bits(3, i), -70 + (int)(i % 40));
        b[i] = (float)ldexp((double)(int32_t)ulp_random_bits(4, i), -40);
        less[i] = b[i] * 0x1p-12f;
    }
    for (size_t n = 0; n <= MOST; n += n < 40 ? 1 : 991) {
        double found[3] = {0};
        for (int k = 0; k < 3; k++)
            mpfr_set_ui(sums[k], 0, MPFR_RNDN);
        for (size_t i = 0; i < n; i++) {
            mpfr_set_d(term, a[i], MPFR_RNDN);
            mpfr_mul_d(term, term, (double)b[i], MPFR_RNDN);
            mpfr_add(sums[0], sums[0], term, MPFR_RNDN);
            mpfr_abs(term, term, MPFR_RNDN);
            mpfr_add(sums[1], sums[1], term, MPFR_RNDN);
            mpfr_set_d(term, (double)b[i] - (double)less[i] / 2, MPFR_RNDN); /* 36 bits: exact */
            mpfr_mul_d(term, term, a[i], MPFR_RNDN);
            mpfr_sqr(term, term, MPFR_RNDN);
            mpfr_add(sums[2], sums[2], term, MPFR_RNDN);
        }
        for (int s = 0; s < 2; s++) {
            const double again[3] = {ulp_weigh_errors(s ? pool : NULL, a, b, n),
                                     ulp_weigh_magnitudes(s ? pool : NULL, a, b, n),
                                     ulp_weigh_squares(s ? pool : NULL, a, b, less, n)};
            if (s == 0)
                memcpy(found, again, sizeof found);
            ck_expect(memcmp(found, again, sizeof found) == 0, "%zu by threads", n);
        }
        for (int k = 0; k < 3; k++) {
            const double size = mpfr_get_d(sums[k == 0 ? 1 : k], MPFR_RNDU);
            mpfr_sub_d(term, sums[k], found[k], MPFR_RNDN);
            ck_expect(fabs(mpfr_get_d(term, MPFR_RNDA)) <= (double)(n + 3) * 0x1p-53 * size,
                      "sum %d of %zu is off by %g of %g", k, n, mpfr_get_d(term, MPFR_RNDA), size);
        }
    }
    mpfr_clears(sums[0], sums[1], sums[2], term, (mpfr_ptr)0);
    ulp_pool_free(pool);
}

TEST_SUITE("linear nodes", 20)
