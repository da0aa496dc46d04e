/* Products of arrays against cuBLAS on an H200, bit for bit: sums of one scalar after the other,
 * cut as the launches of the kernels said, and masked sums, which every other order changes. Units'
 * other products are in check_unit_recorded. */
#include "tests/support/test.h"

/* An array of numbers, or of patterns of `format`, as numbers. */
static struct ulp_tensor read_numbers(const struct ulp_tensor_set *set, const char *name,
                                      const char *format_name)
{
    const struct ulp_tensor *given = ulp_tensor_set_find(set, name);
    struct ulp_tensor out;
    ck_assert_msg(given != NULL, "%s", name);
    const struct ulp_format format = test_format(format_name);
    ck_ok(ulp_tensor_create(&out, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2, given->dims, &why));
    if (given->type == ULP_TYPE_UINT8 || given->type == ULP_TYPE_UINT16)
        ck_ok(ulp_array_decode(&out, given, &format, 1, &why));
    else
        for (size_t i = 0; i < given->count; i++)
            ((float *)out.data)[i] = (float)ulp_tensor_get(given, i);
    return out;
}

struct recorded {
    const char *a, *b, *c, *arithmetic, *patterns;
};

static void compare(const struct ulp_tensor_set *set, const struct recorded *row)
{
    scoped_tensor a = read_numbers(set, row->a, row->patterns);
    scoped_tensor b = read_numbers(set, row->b, row->patterns);
    scoped_tensor c = read_numbers(set, row->c, row->patterns);
    scoped_tensor product = {0};
    const struct ulp_arithmetic arithmetic = test_arithmetic(row->arithmetic);
    ck_ok(ulp_array_matmul(&product, &arithmetic, &a, &b, 2, &why));
    ck_assert_uint_eq(product.count, c.count);
    for (size_t i = 0; i < c.count; i++)
        ck_assert_msg(ulp_tensor_get(&product, i) == ulp_tensor_get(&c, i),
                      "%s as %s, element %zu: %a, recorded %a", row->c, row->arithmetic, i,
                      ulp_tensor_get(&product, i), ulp_tensor_get(&c, i));
}

/* Slices are the third number of the launch's grid; E4M3 without fast accumulation is promoted
 * after 128 products, as PyTorch documents. */
TEST(masked_sums)
{
    static const struct {
        const char *kind, *arithmetic, *patterns;
    } kinds[] = {
        {"f16", "fp16@h200", "fp16"},
        {"bf16", "bf16@h200", "bf16"},
        {"tf32", "tf32@h200,split-k=16", "fp32"},
        {"f32", "fp32,split-k=16", "fp32"},
        {"f16.acc16", "fp16@h200,acc=fp16,split-k=8", "fp16"},
        {"e4m3.slow", "tf32@h200,factor=fp8-e4m3,promote=128", "fp8-e4m3"},
        {"e4m3.fast", "tf32@h200,factor=fp8-e4m3", "fp8-e4m3"},
    };
    scoped_tensor_set set = {0};
    char names[3][64];
    ck_ok(ulp_tensor_set_read(test_data("unit/h200_probes.npz"), NULL, &set, &why));
    for (size_t r = 0; r < sizeof kinds / sizeof *kinds; r++) {
        for (int i = 0; i < 3; i++)
            snprintf(names[i], sizeof names[i], "%s.16x16x512.%c", kinds[r].kind, 'a' + i);
        compare(&set, &(struct recorded){names[0], names[1], names[2], kinds[r].arithmetic,
                                         kinds[r].patterns});
    }
}

static void compare_chains(const char *path)
{
    static const struct {
        int k;
        const char *arithmetic;
    } chains[] = {{8, "fp32,split-k=2"},
                  {16, "fp32,split-k=4"},
                  {32, "fp32"},
                  {64, "fp32"},
                  {1024, "fp32,split-k=16"}};
    scoped_tensor_set set = {0};
    char names[3][64];
    ck_ok(ulp_tensor_set_read(path, NULL, &set, &why));
    for (size_t r = 0; r < sizeof chains / sizeof *chains; r++) {
        static const char *const parts[] = {"A", "B", "f32"};
        for (int i = 0; i < 3; i++)
            snprintf(names[i], sizeof names[i], "gemm.%d.%s", chains[r].k, parts[i]);
        compare(&set,
                &(struct recorded){names[0], names[1], names[2], chains[r].arithmetic, "fp32"});
    }
}

TEST(scalar_chains)
{
    const char *path = test_shared("gpu/h200_gemm.npz");
    compare_chains(test_data("unit/h200_gemm.npz"));
    if (path)
        compare_chains(path);
}

TEST_SUITE("recorded products", 60)
