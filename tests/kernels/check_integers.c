/* Contractions of integers against a loop modulo 2^64: every pair of types, quantised values in
 * every layout, values where floats end and sums that wrap. */
#include "instance.h"

#include "kernels/operand/pack.h"

/* Makes an element of an integer tensor: number `at` of side 0 or 1. */
typedef int64_t make_integer(struct stream *stream, int side, size_t at, const void *context);

/* A contraction of integers against a loop modulo 2^64; what it does not compute it does not
 * write. */
static void check_integers(const struct setup *setup, const enum ulp_type types[3],
                           make_integer *make, const void *context, struct ulp_pool *pool)
{
    struct ulp_arithmetic arithmetic = instance_arithmetic("fp16");
    struct stream stream = {.key = setup->seed + 1000};
    struct instance instance;
    instance_create(&instance, &arithmetic, setup);
    struct ulp_contraction *p = &instance.problem;
    struct ulp_tensor factors[2], out;
    for (int side = 0; side < 2; side++) {
        const struct ulp_tensor *shape = side ? &instance.b : &instance.a;
        ck_ok(ulp_tensor_create(&factors[side], types[side], ULP_ELEMENT_COUNT, 0, 1, shape->dims,
                                &why));
        for (size_t i = 0; i < shape->count; i++)
            ulp_tensor_set_int(&factors[side], i,
                               side == 0 && p->a.padding && p->a.padding[i]
                                   ? 0
                                   : make(&stream, side, i, context));
    }
    const int64_t out_count = (int64_t)instance.out.count + 3;
    ck_ok(ulp_tensor_create(&out, types[2], ULP_ELEMENT_COUNT, 0, 1, &out_count, &why));
    for (size_t i = 0; i < out.count; i++)
        ulp_tensor_set_int(&out, i, 77);
    p->a.tensor = &factors[0], p->b.tensor = &factors[1], p->out = &out;
    ck_ok(ulp_contract(&arithmetic, p, pool, &why));
    for (size_t g = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                uint64_t sum = 0;
                for (size_t k = 0; k < p->k; k++)
                    sum += (uint64_t)ulp_tensor_get_int(&factors[0],
                                                        (size_t)ulp_factor_offset(&p->a, g, i, k)) *
                           (uint64_t)ulp_tensor_get_int(&factors[1],
                                                        (size_t)ulp_factor_offset(&p->b, g, j, k));
                const size_t at = (size_t)(p->out_batch_offset[g] + p->out_row_offset[i] +
                                           p->out_column_offset[j]);
                const int64_t got = ulp_tensor_get_int(&out, at);
                ulp_tensor_set_int(&out, at, (int64_t)sum);
                ck_expect(got == ulp_tensor_get_int(&out, at),
                          "%zu x %zu x %zu x %zu: (%zu, %zu, %zu) is %lld, expected %lld",
                          p->batch_count, p->m, p->n, p->k, g, i, j, (long long)got,
                          (long long)ulp_tensor_get_int(&out, at));
            }
    for (size_t i = instance.out.count; i < out.count; i++)
        ck_assert_int_eq(ulp_tensor_get_int(&out, i), 77);
    ulp_tensor_free(&factors[0]);
    ulp_tensor_free(&factors[1]);
    ulp_tensor_free(&out);
    instance_free(&instance);
}

static int64_t make_any(struct stream *stream, int side, size_t at, const void *context)
{
    (void)side, (void)at, (void)context;
    return (int64_t)stream_draw(stream);
}

/* Integers of every pair of types. */
TEST(integers_are_exact)
{
    static const enum ulp_type types[] = {ULP_TYPE_INT8, ULP_TYPE_UINT8, ULP_TYPE_INT32,
                                          ULP_TYPE_INT64, ULP_TYPE_UINT64};
    static const enum ulp_type out_types[] = {ULP_TYPE_INT32, ULP_TYPE_INT64, ULP_TYPE_INT8,
                                              ULP_TYPE_UINT32};
    struct stream stream = {.key = 11};
    for (size_t round = 0; round < 100; round++) {
        struct setup setup = {.batch_count = 1 + round % 2,
                              .m = 1 + stream_draw_below(&stream, 20),
                              .n = 1 + stream_draw_below(&stream, 40),
                              .k = stream_draw_below(&stream, 300),
                              .layout = (enum layout)(round % 2),
                              .seed = round};
        check_integers(&setup,
                       (enum ulp_type[]){types[stream_draw_below(&stream, 5)],
                                         types[stream_draw_below(&stream, 5)],
                                         out_types[round % 4]},
                       make_any, NULL, NULL);
    }
}

/* Values of a factor less its zero point: nine bits, often the ends. */
static int64_t make_quantised(struct stream *stream, int side, size_t at, const void *context)
{
    (void)side, (void)at;
    const int64_t end = *(const int64_t *)context;
    const size_t choice = stream_draw_below(stream, 4);
    return choice == 0   ? end
           : choice == 1 ? -end
                         : (int64_t)stream_draw_below(stream, (size_t)(2 * end + 1)) - end;
}

/* Every layout, padding, long sums on several threads, one row (a depthwise convolution) and
 * many. */
TEST(quantised_values_are_exact)
{
    static const int64_t ends[] = {255, 128, 7};
    struct stream stream = {.key = 12};
    scoped_pool *pool = test_pool(3);
    for (size_t round = 0; round < 300; round++) {
        struct setup setup = {.batch_count = 1 + stream_draw_below(&stream, 3),
                              .m = 1 + stream_draw_below(&stream, round % 3 ? 3 : 70),
                              .n = 1 + stream_draw_below(&stream, round % 5 ? 100 : 2),
                              .k = stream_draw_below(&stream, round % 4 ? 40 : 900),
                              .layout = (enum layout)(round % LAYOUT_COUNT),
                              .padding = round % 2,
                              .transposed_out = stream_draw_below(&stream, 2),
                              .seed = round};
        check_integers(&setup,
                       (enum ulp_type[]){ULP_TYPE_INT32, ULP_TYPE_INT32,
                                         round % 7 ? ULP_TYPE_INT32 : ULP_TYPE_INT64},
                       make_quantised, &ends[round % COUNT(ends)], round % 2 ? pool : NULL);
    }
}

static int64_t make_constant(struct stream *stream, int side, size_t at, const void *context)
{
    (void)stream, (void)at;
    return ((const int64_t *)context)[side];
}

/* Sums at and around 2^24 and 2^53, where floats end, and across 2^31, where INT32 wraps. 3 (2^24 -
 * 1) is no FP32 value, 3 (2^53 - 1) no FP64 value. */
TEST(integers_are_exact_where_floats_end)
{
    static const int bits[] = {8, 22, 23, 24, 25, 26, 31, 32, 51, 52, 53, 54, 62, 63};
    static const int64_t others[] = {0, 1, -1, 3, 255, -4097, (int64_t)1 << 29, INT64_MIN};
    static const size_t lengths[] = {0, 1, 2, 3, 5, 65, 257, 258, 300};
    static const enum ulp_type out_types[] = {ULP_TYPE_INT32, ULP_TYPE_INT64, ULP_TYPE_INT8,
                                              ULP_TYPE_UINT64};
    for (size_t b = 0; b < COUNT(bits); b++)
        for (int64_t difference = -1; difference <= 1; difference++)
            for (size_t o = 0; o < COUNT(others); o++)
                for (size_t l = 0; l < COUNT(lengths); l++) {
                    const int64_t values[] = {(int64_t)(((uint64_t)1 << bits[b]) +
                                                        (uint64_t)difference),
                                              others[o]};
                    struct setup setup = {.batch_count = 1,
                                          .m = 2 + l % 2 * 3,
                                          .n = 3,
                                          .k = lengths[l],
                                          .layout = (enum layout)(l % 2)};
                    check_integers(&setup,
                                   (enum ulp_type[]){ULP_TYPE_INT64, ULP_TYPE_INT64,
                                                     out_types[(b + o + l) % 4]},
                                   make_constant, values, NULL);
                }
}

/* 255 * -128 * k passes INT32's end at k = 65,794. */
TEST(long_sums_wrap)
{
    static const int64_t values[] = {255, -128};
    static const enum ulp_type types[] = {ULP_TYPE_UINT8, ULP_TYPE_INT8, ULP_TYPE_INT32};
    for (size_t k = 65792; k <= 65796; k++)
        check_integers(&(struct setup){.batch_count = 1, .m = 3, .n = 2, .k = k}, types,
                       make_constant, values, NULL);
    check_integers(&(struct setup){.batch_count = 1, .m = 1, .n = 1, .k = 1000003}, types,
                   make_constant, values, NULL);
}
