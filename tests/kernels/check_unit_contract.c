/* Contractions on matrix units against the oracle of their schedules: shapes, batches, padding,
 * schedules, threads, rounding of the results; every instruction set gives the same bits. */
#include "base/machine/cpu.h"
#include "kernels/chain/step.h"
#include "kernels/unit/fast.h"
#include "number/round/round.h"
#include "tests/support/test.h"
#include "tests/support/unit_schedule.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct setup {
    size_t batch_count, m, n, k;
    size_t a_special, b_special; /* one element in so many is infinite or NaN; 0: none */
    bool shared;                 /* all batches use the same b */
    bool padding;                /* one element in five of a does not exist */
    bool store;
    unsigned zeros; /* of eight elements of a so many are zero, beside others */
};

struct instance {
    struct ulp_tensor a, b, out;
    uint8_t *padding;
    int64_t *tables[9];
    struct ulp_contraction problem;
};

static int64_t *steps(size_t count, int64_t step)
{
    int64_t *offset = malloc((count + 1) * sizeof *offset);
    ck_assert_ptr_nonnull(offset);
    for (size_t i = 0; i < count; i++)
        offset[i] = (int64_t)i * step;
    return offset;
}

static void fill(struct ulp_tensor *out, const struct ulp_format *format, size_t count,
                 uint64_t key, size_t special)
{
    const int64_t dims[] = {(int64_t)count};
    ck_assert_int_eq(ulp_tensor_create(out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, NULL),
                     ULP_OK);
    float *x = out->data;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = ulp_random_bits(key, 2 * i);
        x[i] = (float)ldexp(2 * ulp_random_uniform(key, 2 * i + 1) - 1, (int)(bits % 8) - 4);
        if (bits >> 32 & 1 && bits >> 33 & 1)
            x[i] = 0;
        if (special && (bits >> 8) % special == 0)
            x[i] = bits & 16 && format->overflow == ULP_OVERFLOW_INFINITY
                       ? (bits & 32 ? INFINITY : -INFINITY)
                       : NAN;
    }
    ulp_round_floats(format, ULP_ROUND_NEAREST_EVEN, x, count, 0, 0, 0);
}

/* As activations behind a Relu. */
static void clear(struct ulp_tensor *tensor, unsigned zeros, uint64_t key)
{
    float *x = tensor->data;
    for (size_t i = 0; i < tensor->count; i++)
        if (ulp_random_bits(key, i) % 8 < zeros)
            x[i] = 0;
}

static void instance_create(struct instance *it, const struct ulp_arithmetic *arithmetic,
                            const struct setup *s, uint64_t key)
{
    const size_t a_count = s->batch_count * s->m * s->k,
                 b_count = (s->shared ? 1 : s->batch_count) * s->n * s->k;
    *it = (struct instance){0};
    fill(&it->a, &arithmetic->storage, a_count + 1, key, s->a_special);
    fill(&it->b, &arithmetic->storage, b_count + 1, key + 1, s->b_special);
    clear(&it->a, s->zeros, key + 3);
    it->padding = calloc(a_count + 1, 1);
    for (size_t i = 0; s->padding && i < a_count; i++)
        if (ulp_random_bits(key + 2, i) % 5 == 0) {
            it->padding[i] = 1;
            ((float *)it->a.data)[i] = 0;
        }
    const int64_t dims[] = {(int64_t)(s->batch_count * s->m * s->n)};
    ck_assert_int_eq(ulp_tensor_create(&it->out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, NULL),
                     ULP_OK);
    const int64_t m = (int64_t)s->m, n = (int64_t)s->n, k = (int64_t)s->k;
    int64_t *const tables[] = {steps(s->batch_count, m * k),
                               steps(s->m, k),
                               steps(s->k, 1),
                               steps(s->batch_count, s->shared ? 0 : n * k),
                               steps(s->n, 1),
                               steps(s->k, n),
                               steps(s->batch_count, m * n),
                               steps(s->m, n),
                               steps(s->n, 1)};
    memcpy(it->tables, tables, sizeof tables);
    it->problem = (struct ulp_contraction){.batch_count = s->batch_count,
                                           .m = s->m,
                                           .n = s->n,
                                           .k = s->k,
                                           .store = s->store,
                                           .node_key = 5,
                                           .out = &it->out,
                                           .a = {.tensor = &it->a,
                                                 .batch_offset = it->tables[0],
                                                 .line_offset = it->tables[1],
                                                 .k_offset = it->tables[2],
                                                 .padding = s->padding ? it->padding : NULL},
                                           .b = {.tensor = &it->b,
                                                 .batch_offset = it->tables[3],
                                                 .line_offset = it->tables[4],
                                                 .k_offset = it->tables[5]},
                                           .out_batch_offset = it->tables[6],
                                           .out_row_offset = it->tables[7],
                                           .out_column_offset = it->tables[8]};
}

static void instance_free(struct instance *it)
{
    for (size_t i = 0; i < COUNT(it->tables); i++)
        free(it->tables[i]);
    free(it->padding);
    ulp_tensor_free(&it->a);
    ulp_tensor_free(&it->b);
    ulp_tensor_free(&it->out);
}

static float expect(const struct ulp_arithmetic *arithmetic, const struct ulp_unit *unit,
                    const struct ulp_contraction *p, size_t g, size_t i, size_t j)
{
    double *x = malloc((2 * p->k + 1) * sizeof *x), *y = x + p->k;
    for (size_t k = 0; k < p->k; k++) {
        const int64_t at = ulp_factor_offset(&p->a, g, i, k);
        x[k] = ulp_tensor_get(p->a.tensor, (size_t)at);
        y[k] = ulp_tensor_get(p->b.tensor, (size_t)ulp_factor_offset(&p->b, g, j, k));
        if ((p->a.padding && p->a.padding[at]) ||
            (p->b.padding && p->b.padding[ulp_factor_offset(&p->b, g, j, k)]))
            x[k] = y[k] = 0;
    }
    ulp_round_doubles(&arithmetic->factor, arithmetic->schedule.operand_rounding, x, 2 * p->k, 0, 0,
                      0);
    float value = unit_schedule(unit, &arithmetic->schedule, x, y, p->k);
    if (p->store)
        ulp_round_floats(&arithmetic->storage, arithmetic->rounding, &value, 1, arithmetic->seed,
                         p->node_key + p->k * ULP_DRAWS + ULP_DRAW_STORE,
                         (g * p->m + i) * p->n + j);
    free(x);
    return value;
}

static const char *const arithmetics[] = {
    "fp16",
    "bf16",
    "tf32",
    "tf32-trunc",
    "fp8-e4m3",
    "fp8-e5m2",
    "fp16,acc=fp16",
    "fp16@v100",
    "fp16@a100",
    "tf32@a100",
    "fp16@v100,acc=fp16",
    "fp8-e4m3@l40s",
    "fp8-e4m3,unit=mma",
    "fp8-e5m2,unit=mma,acc=fp16",
    "fp16,round=sr,seed=3",
    "fp16,split-k=3",
    "tf32,split-k=4",
    "fp16,acc=fp16,split-k=5",
    "fp8-e4m3,promote=128",
    "fp16,promote=24",
    "fp8-e4m3,unit=mma,promote=48,split-k=2",
    "fp16,acc=fp16,promote=32,split-k=2",
    "fp16,split-k=100",
};
static const struct setup setups[] = {
    {1, 1, 1, 1, 0, 0, false, false, true, 0},
    {1, 5, 7, 0, 0, 0, false, false, true, 0},
    {1, 9, 40, 33, 0, 0, false, false, true, 0},
    {1, 70, 3, 150, 0, 0, false, false, false, 0}, /* sides swapped */
    {3, 6, 33, 64, 0, 0, false, false, true, 0},
    {3, 4, 35, 70, 0, 0, true, false, false, 0},
    {2, 17, 20, 45, 0, 0, false, true, true, 0},
    {2, 17, 20, 45, 0, 40, false, true, true, 0},
    {1, 40, 12, 45, 0, 40, false, true, false, 0},
    {1, 12, 64, 300, 0, 40, false, false, true, 0},
    {1, 3, 5, 513, 0, 0, false, false, false, 0},
    {1, 30, 40, 70, 100, 100, false, false, true, 0},
    {2, 20, 34, 45, 3, 2, false, true, true, 0},
    {1, 40, 33, 200, 400, 50, false, true, false, 0},
    {1, 4, 1700, 9, 0, 0, false, false, true, 0}, /* more panels than an item has */
    {1, 70, 65, 200, 0, 0, false, false, true, 5},
    {3, 40, 129, 70, 0, 0, true, true, false, 4},
    {1, 33, 64, 530, 0, 0, false, false, true, 7},
    {1, 70, 65, 200, 500, 0, false, false, true, 5},
    {1, 70, 65, 200, 0, 500, false, false, true, 5},
};

static bool same(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* Every output of every instruction set against the oracle; elements of the output that are none
 * stay as they were. */
static void compare_instance(const char *name, const struct ulp_arithmetic *arithmetic,
                             struct instance *it)
{
    static const unsigned features[] = {0, ULP_CPU_AVX2 | ULP_CPU_F16C, ~0u};
    struct ulp_error error;
    const struct ulp_unit *unit = ulp_unit_of(arithmetic, &error);
    ck_assert_msg(unit != NULL, "%s", error.message);
    const struct ulp_contraction *p = &it->problem;
    const size_t bytes = it->out.count * sizeof(float);
    float *wanted = malloc(bytes), *out = it->out.data;
    memset(wanted, 0xA5, bytes);
    for (size_t g = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++)
                wanted[p->out_batch_offset[g] + p->out_row_offset[i] + p->out_column_offset[j]] =
                    expect(arithmetic, unit, p, g, i, j);
    for (size_t f = 0; f < COUNT(features); f++) {
        memset(out, 0xA5, bytes);
        ck_ok(ulp_unit_contract(ulp_cpu_features() & features[f], unit, arithmetic, p, NULL, &why));
        for (size_t i = 0; i < it->out.count; i++)
            ck_assert_msg(same(out[i], wanted[i]),
                          "%s, %zu x %zu x %zu x %zu, features %x, element %zu: %a, oracle %a",
                          name, p->batch_count, p->m, p->n, p->k, features[f], i, (double)out[i],
                          (double)wanted[i]);
    }
    free(wanted);
}

static void compare(const char *name, const struct setup *setup, uint64_t key)
{
    struct instance it;
    const struct ulp_arithmetic arithmetic = test_arithmetic(name);
    instance_create(&it, &arithmetic, setup, key);
    compare_instance(name, &arithmetic, &it);
    instance_free(&it);
}

/* ---- convolutions: columns that are read where they lie ---- */

struct window {
    size_t batch, in, out; /* images times groups, channels of a group */
    size_t height, width, kernel_height, kernel_width, stride, dilation, pad;
    size_t special;  /* one element in so many is infinite or NaN; 0: none */
    size_t out_step; /* between neighbours in the output */
    bool image_is_a; /* the image is factor a */
    bool store;
    unsigned zeros; /* of eight elements of the image, beside others */
};

static const struct window windows[] = {
    {3, 1, 1, 7, 9, 3, 3, 1, 1, 1, 0, 1, false, true, 0}, /* depthwise */
    {2, 1, 1, 14, 14, 3, 3, 1, 1, 1, 0, 1, false, false, 0},
    {2, 1, 1, 9, 40, 3, 3, 1, 1, 0, 0, 1, true, true, 0},
    /* a channel multiplier, odd width by two */
    {2, 1, 2, 11, 15, 3, 3, 2, 1, 1, 0, 1, false, true, 0},
    {2, 1, 1, 8, 33, 5, 5, 1, 1, 2, 0, 1, false, true, 0}, /* two blocks */
    {1, 1, 1, 13, 17, 3, 3, 1, 2, 2, 0, 1, false, true, 0},
    {1, 1, 1, 19, 25, 3, 3, 3, 1, 1, 0, 2, false, true, 0}, /* as ConvTranspose stores */
    {2, 1, 1, 1, 70, 1, 9, 1, 1, 4, 0, 1, false, true, 0},
    {1, 4, 4, 9, 21, 3, 3, 1, 1, 1, 0, 1, false, true, 0}, /* grouped */
    {2, 3, 5, 10, 12, 3, 2, 2, 2, 1, 0, 3, true, false, 0},
    {1, 40, 2, 6, 7, 1, 1, 1, 1, 0, 0, 1, false, true, 0},
    {1, 20, 9, 6, 11, 3, 3, 1, 1, 1, 0, 1, false, true, 0},
    /* some batches with NaN and Inf, some without */
    {4, 1, 1, 9, 11, 3, 3, 1, 1, 1, 150, 1, false, true, 0},
    {2, 2, 3, 9, 12, 3, 3, 1, 1, 1, 9, 1, true, true, 0},
    {1, 20, 70, 12, 13, 3, 3, 1, 1, 1, 0, 1, false, true, 5},
    {1, 34, 33, 15, 15, 3, 2, 2, 1, 1, 0, 1, true, true, 4},
    {1, 40, 100, 7, 8, 1, 1, 1, 1, 0, 0, 3, false, false, 4}, /* no runs in the output */
};

/* The image with zeros around it, marked as padding. */
static void draw_image(struct instance *it, const struct window *w, struct ulp_tensor *image,
                       size_t count)
{
    const size_t wide = w->width + 2 * w->pad, plane = wide * (w->height + 2 * w->pad);
    it->padding = calloc(count + 1, 1);
    for (size_t i = 0; i < count; i++) {
        const size_t y = i % plane / wide, x = i % wide;
        if (y < w->pad || y >= w->pad + w->height || x < w->pad || x >= w->pad + w->width) {
            it->padding[i] = 1;
            ((float *)image->data)[i] = 0;
        }
    }
}

static void window_create(struct instance *it, const struct ulp_arithmetic *arithmetic,
                          const struct window *w, uint64_t key)
{
    const size_t wide = w->width + 2 * w->pad, high = w->height + 2 * w->pad, plane = wide * high;
    const size_t columns = (wide - (w->kernel_width - 1) * w->dilation - 1) / w->stride + 1;
    const size_t lines = (high - (w->kernel_height - 1) * w->dilation - 1) / w->stride + 1,
                 pixels = lines * columns;
    const size_t taps = w->kernel_height * w->kernel_width, k = w->in * taps,
                 count = w->batch * w->in * plane;
    *it = (struct instance){0};
    struct ulp_tensor *image = w->image_is_a ? &it->a : &it->b,
                      *weights = w->image_is_a ? &it->b : &it->a;
    fill(image, &arithmetic->storage, count, key, w->special);
    fill(weights, &arithmetic->storage, w->batch * w->out * k, key + 1,
         w->special ? 10 * w->special : 0);
    clear(image, w->zeros, key + 2);
    draw_image(it, w, image, count);
    int64_t *const tables[] = {steps(w->batch, (int64_t)(w->out * k)),
                               steps(w->out, (int64_t)k),
                               steps(k, 1),
                               steps(w->batch, (int64_t)(w->in * plane)),
                               steps(pixels, 0),
                               steps(k, 0),
                               steps(w->batch, (int64_t)(w->out * pixels * w->out_step)),
                               steps(w->out, (int64_t)(pixels * w->out_step)),
                               steps(pixels, (int64_t)w->out_step)};
    for (size_t i = 0; i < pixels; i++)
        tables[4][i] = (int64_t)((i / columns * wide + i % columns) * w->stride);
    for (size_t i = 0; i < k; i++) /* kernel position, then channel */
        tables[5][i] = (int64_t)(i % w->in * plane + (i / w->in / w->kernel_width * wide +
                                                      i / w->in % w->kernel_width) *
                                                         w->dilation);
    memcpy(it->tables, tables, sizeof tables);
    const int64_t dims[] = {(int64_t)(w->batch * w->out * pixels * w->out_step)};
    ck_assert_int_eq(ulp_tensor_create(&it->out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, NULL),
                     ULP_OK);
    const struct ulp_factor x = {.tensor = image,
                                 .batch_offset = tables[3],
                                 .line_offset = tables[4],
                                 .k_offset = tables[5],
                                 .padding = it->padding};
    const struct ulp_factor y = {.tensor = weights,
                                 .batch_offset = tables[0],
                                 .line_offset = tables[1],
                                 .k_offset = tables[2]};
    it->problem = (struct ulp_contraction){.batch_count = w->batch,
                                           .m = w->image_is_a ? pixels : w->out,
                                           .n = w->image_is_a ? w->out : pixels,
                                           .k = k,
                                           .out = &it->out,
                                           .a = w->image_is_a ? x : y,
                                           .b = w->image_is_a ? y : x,
                                           .out_batch_offset = tables[6],
                                           .store = w->store,
                                           .node_key = 5,
                                           .out_row_offset = tables[w->image_is_a ? 8 : 7],
                                           .out_column_offset = tables[w->image_is_a ? 7 : 8]};
}

TEST_LOOP(convolutions_follow_the_oracle, 0, (int)COUNT(arithmetics))
{
    struct instance it;
    const struct ulp_arithmetic arithmetic = test_arithmetic(arithmetics[_i]);
    for (size_t i = 0; i < COUNT(windows); i++)
        for (uint64_t repeat = 0; repeat < (test_long() ? 20 : 1); repeat++) {
            if (!test_takes((size_t)_i + i, COUNT(windows)))
                continue;
            window_create(&it, &arithmetic, &windows[i], 100 * repeat + i);
            compare_instance(arithmetics[_i], &arithmetic, &it);
            instance_free(&it);
        }
}

TEST_LOOP(contractions_follow_the_oracle, 0, (int)COUNT(arithmetics))
{
    for (size_t i = 0; i < COUNT(setups); i++)
        for (uint64_t repeat = 0; repeat < (test_long() ? 20 : 1); repeat++)
            if (test_takes((size_t)_i + i, COUNT(setups)))
                compare(arithmetics[_i], &setups[i], 100 * repeat + i);
}

/* Every row of the table by the name of its arithmetic, cut and promoted. */
TEST_LOOP(every_unit_follows_the_oracle, 0, 4)
{
    static const struct setup setup = {1, 10, 12, 256, 0, 0, false, false, true, 0};
    static const char *const schedules[] = {"", ",split-k=4", ",promote=64",
                                            ",split-k=2,promote=32"};
    const struct ulp_unit *unit;
    size_t units = 0;
    for (size_t row = 0; (unit = ulp_unit_row(row)) != NULL; row++) {
        char name[256];
        const bool half = unit->output == ULP_UNIT_RNE_FP16;
        if ((unit->kind != ULP_UNIT_TRUNCATED && unit->kind != ULP_UNIT_HALVES) ||
            !ulp_unit_is_plain(unit) || !test_takes(7 * units++ + (size_t)_i, 60))
            continue;
        snprintf(name, sizeof name, "fp32@%s,factor=%s,acc=%s,unit=%s%s", unit->gpu,
                 ulp_unit_input(unit, 0)->format, half ? "fp16" : "fp32", unit->unit_class,
                 schedules[_i]);
        const struct ulp_arithmetic arithmetic = test_arithmetic(name);
        ck_assert_msg(ulp_unit_of(&arithmetic, NULL) == unit, "%s", name);
        compare(name, &setup, row);
    }
    ck_assert_uint_ge(units, 60);
}

static void compare_threads(const struct ulp_arithmetic *arithmetic, struct instance *it)
{
    static const int threads[] = {1, 2, 7};
    SCOPED_MEMORY float *first = malloc(it->out.count * sizeof *first);
    memset(it->out.data, 0xA5, it->out.count * sizeof *first);
    ck_ok(ulp_contract_unit(arithmetic, &it->problem, NULL, &why));
    memcpy(first, it->out.data, it->out.count * sizeof *first);
    for (size_t i = 0; i < COUNT(threads); i++) {
        scoped_pool *pool = test_pool(threads[i]);
        memset(it->out.data, 0xA5, it->out.count * sizeof *first);
        ck_ok(ulp_contract_unit(arithmetic, &it->problem, pool, &why));
        ck_assert_int_eq(memcmp(first, it->out.data, it->out.count * sizeof *first), 0);
    }
    instance_free(it);
}

TEST(bits_do_not_depend_on_threads)
{
    static const struct setup setup = {3, 90, 70, 200, 1000, 40, false, true, true, 0};
    /* whose panels are cut into parts */
    static const struct setup many_columns = {1, 22, 5000, 20, 0, 0, false, true, true, 0};
    struct instance it;
    const struct ulp_arithmetic arithmetic = test_arithmetic("fp16");
    instance_create(&it, &arithmetic, &setup, 9);
    compare_threads(&arithmetic, &it);
    const struct ulp_arithmetic in_panels = test_arithmetic("fp16,round=sr,seed=3");
    instance_create(&it, &in_panels, &many_columns, 9);
    compare_threads(&in_panels, &it);
    for (size_t i = 0; i < COUNT(windows); i++) {
        window_create(&it, &arithmetic, &windows[i], i);
        compare_threads(&arithmetic, &it);
    }
}

TEST(slices_cover_the_sum)
{
    const struct ulp_unit *unit = ulp_unit_find("h200.mma.tf32.f32");
    static const struct {
        size_t k, length;
        int split, tile;
    } cases[] = {
        {8, 4, 2, 0}, /* whole: shorter than a block */
        {256, 32, 8, 0},     {100, 40, 3, 0} /* 34, up to a block */,
        {100, 100, 1, 0},    {100, 100, 0, 0},
        {3, 8, 7, 0},        {4096, 1408, 3, 64} /* 22 of 64 tiles, as recorded */,
        {8192, 2048, 4, 64}, {5600, 1152, 5, 64},
        {5600, 5600, 1, 64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ulp_schedule schedule = {.split_k = cases[i].split,
                                              .slice_tile = cases[i].tile};
        ck_assert_uint_eq(ulp_unit_slice_length(unit, cases[i].k, &schedule), cases[i].length);
    }
}

/* vectors=scalar: chains of fmaf over the stored values where a product has one row or one column,
 * and in TF32 where matrices of a batch have other than fours or fewer than 32 terms, and the
 * unit's sums everywhere else. */
TEST_LOOP(vectors_beside_a_unit, 0, 14)
{
    static const char *const names[][2] = {{"tf32,vectors=scalar", "tf32"},
                                           {"fp16,vectors=scalar", "fp16"}};
    static const struct setup shapes[] = {
        {1, 1, 37, 100, 0, 0, false, false, false, 0}, {3, 20, 1, 45, 0, 0, false, false, false, 0},
        {2, 1, 1, 300, 0, 0, true, false, false, 0},   {2, 2, 3, 100, 0, 0, false, false, false, 0},
        {2, 2, 4, 100, 0, 0, false, false, false, 0},  {2, 2, 4, 28, 0, 0, false, false, false, 0},
        {2, 2, 3, 256, 0, 0, false, false, false, 0},
    };
    const size_t n = _i % 2, s = _i / 2;
    const struct ulp_arithmetic arithmetic = test_arithmetic(names[n][0]),
                                on_unit = test_arithmetic(names[n][1]);
    struct ulp_error error;
    struct instance it;
    instance_create(&it, &on_unit, &shapes[s], 7 + s);
    it.problem.is_matrices = true;
    const struct ulp_contraction *p = &it.problem;
    const float *out = it.out.data;
    const bool held = n == 1 || s == 4 || s == 6;
    ck_ok(ulp_contract(&arithmetic, p, NULL, &why));
    for (size_t g = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                float sum = 0;
                for (size_t k = 0; k < p->k; k++)
                    sum = fmaf(((float *)it.a.data)[ulp_factor_offset(&p->a, g, i, k)],
                               ((float *)it.b.data)[ulp_factor_offset(&p->b, g, j, k)], sum);
                if (p->m > 1 && p->n > 1 && held)
                    sum = expect(&on_unit, ulp_unit_of(&on_unit, &error), p, g, i, j);
                ck_assert(same(out[(g * p->m + i) * p->n + j], sum));
            }
    instance_free(&it);
}

TEST(what_no_unit_does_is_refused)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    ck_assert_int_eq(ulp_arithmetic_find("fp32,vectors=scalar", &arithmetic, &error),
                     ULP_ERROR_USAGE);
    arithmetic = test_arithmetic("bf16@a100");
    snprintf(arithmetic.schedule.gpu, sizeof arithmetic.schedule.gpu, "v100");
    ck_assert_ptr_null(ulp_unit_of(&arithmetic, &error));
    ck_assert_int_eq(error.status, ULP_ERROR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.message, "mma fp16 -> fp32"));
}

TEST_SUITE("unit-contract", test_long() ? 600 : 60)
