/* Saturating pairs of bytes (integers=saturating16) against loops over the definition: every pair
 * of weights beside bytes at and around the ends, and shapes whose blocks end anywhere, on threads.
 */
#include "instance.h"

/* The definition: neighbours' products are added in 16 bits. */
static int32_t add_pair(int a0, int w0, int a1, int w1)
{
    const int sum = a0 * w0 + a1 * w1;
    return sum < -32768 ? -32768 : sum > 32767 ? 32767 : sum;
}

/* Lines of bytes, raw; the contraction gets the unsigned ones less `zero`. */
struct bytes {
    size_t count[2], k; /* lines of the first and the second factor */
    int *data[2];
    bool second_is_unsigned;
    int zero;
};

static int64_t *make_table(size_t count, int64_t step)
{
    int64_t *table = calloc(count + 1, sizeof *table);
    ck_assert_ptr_nonnull(table);
    for (size_t i = 0; i < count; i++)
        table[i] = (int64_t)i * step;
    return table;
}

/* What the exact sums of the raw bytes gain, as INT32 that begin with 7. */
static void contract(const struct bytes *b, int32_t *out, struct ulp_pool *pool)
{
    struct ulp_error error = {0};
    struct ulp_tensor tensors[3];
    const struct ulp_pairs pairs = {b->second_is_unsigned, b->zero};
    const int64_t counts[] = {(int64_t)(b->count[0] * b->k), (int64_t)(b->count[1] * b->k),
                              (int64_t)(b->count[0] * b->count[1])};
    int64_t *tables[] = {make_table(b->count[0], (int64_t)b->k),
                         make_table(b->count[1], (int64_t)b->k), make_table(b->k, 1),
                         make_table(b->count[0], (int64_t)b->count[1]), make_table(b->count[1], 1)};
    struct ulp_arithmetic arithmetic;
    ck_ulp_ok(ulp_arithmetic_find("fp32,integers=saturating16", &arithmetic, &error), error);
    ck_assert(arithmetic.schedule.integers_saturate);
    for (int t = 0; t < 3; t++)
        ck_ulp_ok(ulp_tensor_create(&tensors[t], ULP_TYPE_INT32, ULP_ELEMENT_COUNT, 0, 1,
                                    &counts[t], &error),
                  error);
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < counts[side]; i++)
            ((int32_t *)tensors[side].data)[i] =
                b->data[side][i] - (b->second_is_unsigned == (side == 1) ? b->zero : 0);
    for (int64_t i = 0; i < counts[2]; i++)
        ((int32_t *)tensors[2].data)[i] = 7;
    const struct ulp_contraction problem = {
        .batch_count = 1,
        .m = b->count[0],
        .n = b->count[1],
        .k = b->k,
        .a = {.tensor = &tensors[0], .line_offset = tables[0], .k_offset = tables[2]},
        .b = {.tensor = &tensors[1], .line_offset = tables[1], .k_offset = tables[2]},
        .out = &tensors[2],
        .out_row_offset = tables[3],
        .out_column_offset = tables[4],
        .pairs = &pairs,
    };
    ck_ulp_ok(ulp_contract(&arithmetic, &problem, pool, &error), error);
    memcpy(out, tensors[2].data, (size_t)counts[2] * sizeof *out);
    for (int t = 0; t < 3; t++)
        ulp_tensor_free(&tensors[t]);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        free(tables[t]);
}

static void check(const struct bytes *b, struct ulp_pool *pool)
{
    SCOPED_MEMORY int32_t *out = calloc(b->count[0] * b->count[1] + 1, sizeof *out);
    ck_assert_ptr_nonnull(out);
    contract(b, out, pool);
    for (size_t i = 0; i < b->count[0]; i++)
        for (size_t j = 0; j < b->count[1]; j++) {
            const int *x = b->data[0] + i * b->k, *y = b->data[1] + j * b->k;
            int32_t expected = 7;
            for (size_t k = 0; k + 1 < b->k; k += 2)
                expected +=
                    add_pair(x[k], y[k], x[k + 1], y[k + 1]) - x[k] * y[k] - x[k + 1] * y[k + 1];
            const int32_t got = out[i * b->count[1] + j];
            ck_expect(got == expected, "k %zu, line %zu by %zu: %d, expected %d", b->k, i, j, got,
                      expected);
        }
}

/* Every pair of weights beside every pair of bytes where products reach the ends. */
TEST(every_pair_of_weights)
{
    static const int ends[] = {0, 1, 127, 128, 129, 254, 255};
    enum { ENDS = sizeof ends / sizeof *ends };
    struct bytes b = {.count = {ENDS * ENDS, 65536}, .k = 2, .zero = 128};
    for (int side = 0; side < 2; side++) {
        b.data[side] = calloc(b.count[side] * 2, sizeof *b.data[side]);
        ck_assert_ptr_nonnull(b.data[side]);
    }
    for (size_t i = 0; i < b.count[0]; i++) {
        b.data[0][2 * i] = ends[i / ENDS];
        b.data[0][2 * i + 1] = ends[i % ENDS];
    }
    for (size_t i = 0; i < b.count[1]; i++) {
        b.data[1][2 * i] = (int)(i / 256) - 128;
        b.data[1][2 * i + 1] = (int)(i % 256) - 128;
    }
    check(&b, NULL);
    free(b.data[0]);
    free(b.data[1]);
}

/* Blocks that end anywhere, odd k, either side unsigned, weights that may and may not reach the
 * ends; equal on one thread and on three. */
TEST(every_shape)
{
    scoped_pool *pool = test_pool(3);
    srand(5);
    for (int round = 0; round < 120; round++) {
        struct bytes b = {.count = {1 + (size_t)(rand() % 140), 1 + (size_t)(rand() % 140)},
                          .k = (size_t)(rand() % (round % 4 ? 40 : 300)),
                          .second_is_unsigned = round % 2,
                          .zero = rand() % 256};
        const int reach = round % 3 ? 128 : 64;
        for (int side = 0; side < 2; side++) {
            b.data[side] = calloc(b.count[side] * b.k + 1, sizeof *b.data[side]);
            ck_assert_ptr_nonnull(b.data[side]);
            for (size_t i = 0; i < b.count[side] * b.k; i++)
                b.data[side][i] = b.second_is_unsigned == (side == 1)
                                      ? rand() % 256
                                      : rand() % (2 * reach) - reach;
        }
        check(&b, round % 5 ? pool : NULL);
        free(b.data[0]);
        free(b.data[1]);
    }
}
