/* split-k=N: one count of slices alone gives what a library that cut k computed. The oracle of
 * recorded products is the kernels' launch: the third number of its grid. */
#include "tests/support/test.h"

static const struct ulp_tensor *member(const struct ulp_tensor_set *set, const char *shape,
                                       const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", shape, part);
    const struct ulp_tensor *found = ulp_tensor_set_find(set, name);
    ck_assert_msg(found, "%s", name);
    return found;
}

/* ---- matrices ---- */

static void expect_slices(const struct ulp_tensor *a, const struct ulp_tensor *b,
                          const struct ulp_tensor *d, int wanted, const char *what)
{
    const size_t k = (size_t)a->dims[1];
    int found = 0;
    for (int tried = 1; tried <= 32; tried++) {
        /* slices are whole blocks of 16: another count of the same length is the same sum */
        const size_t count = (size_t)tried, cut = (size_t)wanted;
        const size_t length = ((k + count - 1) / count + 15) / 16,
                     recorded = ((k + cut - 1) / cut + 15) / 16;
        char name[64];
        scoped_tensor product = {0};
        snprintf(name, sizeof name, "fp16,acc=fp16,split-k=%d", tried);
        const struct ulp_arithmetic arithmetic = test_arithmetic(name);
        ck_ok(ulp_array_matmul(&product, &arithmetic, a, b, 2, &why));
        size_t equal = 0;
        for (size_t e = 0; e < d->count; e++)
            equal += ulp_tensor_get(&product, e) == ulp_tensor_get(d, e);
        ck_assert_msg((equal == d->count) == (length == recorded),
                      "%s: %zu of %zu elements equal with %zu slices", what, equal, d->count,
                      count);
        if (!found && equal == d->count)
            found = tried;
    }
    ck_assert_msg(found == wanted, "%s: %d slices, recorded %d", what, found, wanted);
}

TEST(sampled_products)
{
    scoped_tensor_set set = {0};
    size_t products = 0;
    ck_ok(ulp_tensor_set_read(test_data("unit/h200_gemm16.npz"), NULL, &set, &why));
    for (size_t i = 0; i < set.count; i++) {
        const char *dot = strrchr(set.items[i].name, '.');
        char shape[64];
        if (strcmp(dot, ".A") != 0)
            continue;
        snprintf(shape, sizeof shape, "%.*s", (int)(dot - set.items[i].name), set.items[i].name);
        expect_slices(member(&set, shape, "A"), member(&set, shape, "B"), member(&set, shape, "D"),
                      (int)ulp_tensor_get_int(member(&set, shape, "slices"), 0), shape);
        products++;
    }
    ck_assert_uint_eq(products, 7);
}

/* FP16 stored as bare patterns. */
static struct ulp_tensor as_half(const struct ulp_tensor *bits)
{
    struct ulp_tensor out;
    ck_assert_uint_eq(bits->element_bytes, 2);
    ck_ok(ulp_tensor_create(&out, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, bits->rank, bits->dims,
                            &why));
    for (size_t i = 0; i < bits->count; i++) {
        const unsigned pattern = (unsigned)ulp_tensor_get_int(bits, i) & 0xffff;
        const int exponent = (int)(pattern >> 10 & 31);
        const double fraction = (pattern & 1023) / 1024.0;
        ck_assert_int_lt(exponent, 31);
        const double value =
            exponent ? (1 + fraction) * (double)(1 << exponent) / 32768 : fraction / 16384;
        ((float *)out.data)[i] = (float)(pattern & 0x8000 ? -value : value);
    }
    return out;
}

/* The whole recorded products: K = 512 in 8 slices, K = 2048 in 16, all 4096 elements. */
TEST(recorded_products)
{
    static const struct {
        const char *shape;
        int slices;
    } products[] = {{"gemm.512", 8}, {"gemm.2048", 16}};
    const char *path = test_shared("gpu/h200_gemm_acc16.npz");
    scoped_tensor_set set = {0};
    if (!path)
        return;
    ck_ok(ulp_tensor_set_read(path, NULL, &set, &why));
    for (size_t p = 0; p < 2; p++) {
        scoped_tensor a = as_half(member(&set, products[p].shape, "A"));
        scoped_tensor b = as_half(member(&set, products[p].shape, "B"));
        scoped_tensor d = as_half(member(&set, products[p].shape, "f16.acc16"));
        ck_assert_uint_eq(d.count, 4096);
        expect_slices(&a, &b, &d, products[p].slices, products[p].shape);
    }
}

TEST_SUITE("slices", 60)
