/* Matrix units against recorded GPUs, bit for bit: samples in tests/data/unit, whole files in
 * ULPSCOPE_TEST_DATA. */
#include <stdarg.h>
#include <unistd.h>

#include "kernels/unit/unit.h"
#include "number/round/round.h"
#include "tests/support/test.h"

/* The sample and, where there is one, the whole file. Returns how many of paths are set. */
static size_t find_files(const char *name, const char *paths[2])
{
    char relative[64];
    snprintf(relative, sizeof relative, "unit/%s", name);
    paths[0] = test_data(relative);
    snprintf(relative, sizeof relative, "gpu/%s", name);
    paths[1] = test_shared(relative);
    return paths[1] && access(paths[1], R_OK) == 0 ? 2 : 1;
}

static const struct ulp_tensor *find_member(const struct ulp_tensor_set *set, const char *format,
                                            ...)
{
    char name[64];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    return ulp_tensor_set_find(set, name);
}

static void *take(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* ---- h200_mma.npz, h200_wgmma.npz, h200_units.npz
 * ---------------------------------------------------------------- */

/* NaN compares as NaN: the recorded patterns of it are canonical, and so are ours. */
static void compare_instruction(const struct ulp_tensor_set *set, const char *member)
{
    char class[16], input[16], accumulator[16], name[64];
    int k;
    ck_assert_int_eq(sscanf(member, "%15[^.].%15[^_]_k%d_%15[^.]", class, input, &k, accumulator),
                     4);
    snprintf(name, sizeof name, "h200.%s.%s.%s", class, input, accumulator);
    const struct ulp_unit *unit = ulp_unit_find(name);
    ck_assert_msg(unit != NULL, "%s", name);
    const int length = (int)(strrchr(member, '.') - member);
    const struct ulp_tensor *a = find_member(set, "%.*s.A", length, member);
    const struct ulp_tensor *b = find_member(set, "%.*s.B", length, member);
    const struct ulp_tensor *c = find_member(set, "%.*s.C", length, member);
    const struct ulp_tensor *d = find_member(set, "%.*s.D", length, member);
    ck_assert(a && b && c && d && a->dims[2] == k);
    ck_assert_int_eq((int)a->element_bytes * 8, ulp_unit_input(unit, 0)->bits);
    ck_assert_int_eq((int)c->element_bytes * 8, ulp_unit_accumulator_bits(unit));
    SCOPED_MEMORY void *got = take(d->count * d->element_bytes);
    struct ulp_unit_problem problem = {.t = (size_t)a->dims[0],
                                       .m = (size_t)a->dims[1],
                                       .n = (size_t)b->dims[1],
                                       .k = (size_t)k,
                                       .a = a->data,
                                       .b = b->data,
                                       .c = c->data,
                                       .d = got};
    ck_ok(ulp_unit_run(unit, &problem, NULL, &why));
    const size_t bytes = d->element_bytes;
    for (size_t i = 0; i < d->count; i++)
        ck_assert_msg(memcmp((char *)got + i * bytes, (char *)d->data + i * bytes, bytes) == 0,
                      "%s, element %zu", member, i);
}

static void compare_instructions(const char *file, size_t expected)
{
    const char *paths[2];
    const size_t count = find_files(file, paths);
    for (size_t i = 0; i < count; i++) {
        scoped_tensor_set set = {0};
        size_t instructions = 0;
        ck_ok(ulp_tensor_set_read(paths[i], NULL, &set, &why));
        for (size_t j = 0; j < set.count; j++)
            if (strcmp(strrchr(set.items[j].name, '.'), ".A") == 0) {
                compare_instruction(&set, set.items[j].name);
                instructions++;
            }
        ck_assert_uint_eq(instructions, expected);
    }
}

TEST(h200_mma_sync)
{
    compare_instructions("h200_mma.npz", 10);
}

TEST(h200_wgmma)
{
    compare_instructions("h200_wgmma.npz", 7);
}

/* Sums that are zero, underflow or cancel. */
TEST(h200_small_sums)
{
    compare_instructions("h200_units.npz", 21);
}

/* ---- mmasim.npz
 * ---------------------------------------------------------------------------------------------- */

/* A row: the bytes of a, b, c, the scales and d. NaN is canonical, but of FP64. */
static void compare_mmasim(const struct ulp_tensor *rows, const char *member)
{
    char name[64];
    int k;
    ck_assert_int_eq(sscanf(member, "%63s k%d", name, &k), 2);
    const struct ulp_unit *unit = ulp_unit_find(name);
    ck_assert_msg(unit != NULL, "%s", name);
    const size_t operands = (size_t)k * (size_t)ulp_unit_input(unit, 0)->bits / 8,
                 sum = (size_t)ulp_unit_accumulator_bits(unit) / 8,
                 scales = unit->scale_block ? (size_t)(k / unit->scale_block) : 0;
    ck_assert_uint_eq((size_t)rows->dims[1], 2 * operands + 2 * sum + 2 * scales);
    for (int64_t row = 0; row < rows->dims[0]; row++) {
        uint8_t a[512], b[512], c[8], scale_a[8], scale_b[8], d[8], got[8];
        const struct {
            uint8_t *to;
            size_t bytes;
        } parts[] = {{a, operands},     {b, operands},     {c, sum},
                     {scale_a, scales}, {scale_b, scales}, {d, sum}};
        const uint8_t *from = (const uint8_t *)rows->data + row * rows->dims[1];
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; from += parts[i++].bytes)
            memcpy(parts[i].to, from, parts[i].bytes);
        const struct ulp_unit_problem problem = {1, 1, 1,       (size_t)k, a,
                                                 b, c, scale_a, scale_b,   got};
        ck_ok(ulp_unit_run(unit, &problem, NULL, &why));
        double x, y;
        memcpy(&x, got, sizeof x);
        memcpy(&y, d, sizeof y);
        ck_assert_msg(memcmp(got, d, sum) == 0 || (sum == 8 && isnan(x) && isnan(y)), "%s, row %d",
                      member, (int)row);
    }
}

TEST(every_class_of_mmasim)
{
    scoped_tensor_set set = {0};
    ck_ok(ulp_tensor_set_read(test_data("unit/mmasim.npz"), NULL, &set, &why));
    for (size_t i = 0; i < set.count; i++)
        compare_mmasim(&set.items[i].tensor, set.items[i].name);
    ck_assert_uint_eq(set.count, 261);
}

/* ---- other_gpus.npz
 * ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *gpu, *unit;
} gpus[] = {{"V100", "v100"}, {"A100", "a100"}, {"A2", "a2"},     {"Ada", "ada"},
            {"L40S", "l40s"}, {"H100", "h100"}, {"H200", "h200"}, {"B200", "b200"}};
static const struct {
    const char *format, *input;
} inputs[] = {
    {"fp16", "f16"}, {"bf16", "bf16"}, {"tf32", "tf32"}, {"E4M3", "e4m3"}, {"E5M2", "e5m2"}};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Element i as the value it stands for: 16-bit patterns, or FP32 images. */
static double image(const struct ulp_tensor *tensor, const struct ulp_format *format, size_t i)
{
    if (tensor->element_bytes == 2)
        return ulp_format_decode(format, ((const uint16_t *)tensor->data)[i]);
    float x;
    memcpy(&x, (const uint32_t *)tensor->data + i, sizeof x);
    return x;
}

/* One GPU, operand format and accumulator. On H100 and H200 the recorded FP8 -> FP32 is wgmma with
 * c = 0. */
static bool compare_dots(const struct ulp_tensor_set *set, size_t gpu, size_t input, bool half)
{
    const char *prefix = gpus[gpu].gpu, *format_name = inputs[input].format;
    const struct ulp_tensor *d =
        find_member(set, "%s.%s.d.%s", prefix, format_name, half ? "fp16" : "fp32");
    if (!d)
        return false;
    const struct ulp_tensor *a = find_member(set, "%s.%s.a", prefix, format_name);
    const struct ulp_tensor *b = find_member(set, "%s.%s.b", prefix, format_name);
    const struct ulp_tensor *c = find_member(set, "%s.%s.c.fp32", prefix, format_name);
    ck_assert(a && b && c);
    const bool wgmma = prefix[0] == 'H' && format_name[0] == 'E' && !half;
    char name[64];
    snprintf(name, sizeof name, "%s.%s.%s.%s", gpus[gpu].unit, wgmma ? "wgmma" : "mma",
             inputs[input].input, half ? "f16" : "f32");
    const struct ulp_unit *unit = ulp_unit_find(name);
    ck_assert_msg(unit != NULL, "%s", name);
    struct ulp_format operand = {0}, fp16, fp32;
    ulp_format_find("fp16", &fp16, NULL);
    ulp_format_find("fp32", &fp32, NULL);
    ck_assert_int_eq(ulp_format_find(ulp_unit_input(unit, 0)->format, &operand, NULL), ULP_OK);
    const size_t k = (size_t)a->dims[1];
    for (size_t i = 0; i < d->count; i++) {
        double x[32], y[32], start = wgmma ? 0 : image(c, &fp32, i);
        for (size_t j = 0; j < k; j++) {
            x[j] = image(a, &operand, i * k + j);
            y[j] = image(b, &operand, i * k + j);
        }
        if (half)
            ulp_round_doubles(&fp16, ULP_ROUND_NEAREST_EVEN, &start, 1, 0, 0, 0);
        const double got = ulp_unit_chain(unit, x, y, NULL, NULL, k, start),
                     wanted = image(d, &fp32, i);
        ck_assert_msg(memcmp(&got, &wanted, sizeof got) == 0 || (isnan(got) && isnan(wanted)),
                      "%s, row %zu: %a, recorded %a", name, i, got, wanted);
    }
    return true;
}

TEST(eight_gpus)
{
    const char *paths[2];
    const size_t count = find_files("other_gpus.npz", paths);
    for (size_t i = 0; i < count; i++) {
        scoped_tensor_set set = {0};
        size_t compared = 0;
        ck_ok(ulp_tensor_set_read(paths[i], NULL, &set, &why));
        for (size_t gpu = 0; gpu < COUNT(gpus); gpu++)
            for (size_t input = 0; input < COUNT(inputs); input++)
                for (int half = 0; half < 2; half++)
                    compared += compare_dots(&set, gpu, input, half);
        ck_assert_uint_eq(compared, 48);
    }
}

/* ---- h200_gemm.npz: cuBLAS, its schedules set in the arithmetic
 * -------------------------------------------------- */

static const struct {
    int k;
    /* gemm.K.MEMBER; operands rounded to the arithmetic's storage first */
    const char *member, *arithmetic;
} gemms[] = {
    {8, "f16.red0", "fp16"},
    {16, "f16.red0", "fp16"},
    {32, "f16.red0", "fp16"},
    {64, "f16.red0", "fp16"},
    {1024, "f16.red0", "fp16"},
    {8, "f16.red1", "fp16"},
    {16, "f16.red1", "fp16"},
    {32, "f16.red1", "fp16"},
    {64, "f16.red1", "fp16"},
    {1024, "f16.red1", "fp16"},
    {8, "bf16", "bf16"},
    {16, "bf16", "bf16"},
    {32, "bf16", "bf16"},
    {64, "bf16", "bf16"},
    {1024, "bf16", "bf16"},
    {8, "f16.acc16", "fp16,acc=fp16"},
    {16, "f16.acc16", "fp16,acc=fp16,split-k=2"},
    {32, "f16.acc16", "fp16,acc=fp16,split-k=4"},
    {64, "f16.acc16", "fp16,acc=fp16"},
    {1024, "f16.acc16", "fp16,acc=fp16,split-k=8"},
    {8, "tf32", "tf32,operands=rne,split-k=2"},
    {16, "tf32", "tf32,operands=rne,split-k=4"},
    {32, "tf32", "tf32,operands=rne"},
    {64, "tf32", "tf32,operands=rne,split-k=2"},
    {1024, "tf32", "tf32,operands=rne,split-k=16"},
    {16, "e4m3.fast1", "fp8-e4m3"},
    {32, "e4m3.fast1", "fp8-e4m3"},
    {64, "e4m3.fast1", "fp8-e4m3"},
    {1024, "e4m3.fast1", "fp8-e4m3"},
    {16, "e4m3.fast0", "fp8-e4m3,promote=128"},
    {32, "e4m3.fast0", "fp8-e4m3,promote=128"},
    {64, "e4m3.fast0", "fp8-e4m3,promote=128"},
    {1024, "e4m3.fast0", "fp8-e4m3,promote=128"},
};

/* a and b are matrices that hold the arithmetic's values after rounding to its storage; element
 * (line, k) at line * line_step + k * k_step. Compares every output with the recorded one, an FP32
 * image or a pattern of storage. */
struct matrix {
    struct ulp_tensor tensor;
    int64_t line_step, k_step;
};

static struct matrix read_matrix(const struct ulp_tensor *file,
                                 const struct ulp_arithmetic *arithmetic, bool transposed)
{
    struct matrix out = {.line_step = transposed ? 1 : file->dims[1],
                         .k_step = transposed ? file->dims[1] : 1};
    ck_assert_int_eq(ulp_tensor_create(&out.tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2,
                                       file->dims, NULL),
                     ULP_OK);
    float *x = out.tensor.data;
    for (size_t i = 0; i < file->count; i++)
        x[i] = file->element_bytes == 1 ? (float)ulp_format_decode(&arithmetic->storage,
                                                                   ((const uint8_t *)file->data)[i])
                                        : ((const float *)file->data)[i];
    ulp_round_floats(&arithmetic->storage, ULP_ROUND_NEAREST_EVEN, x, file->count, 0, 0, 0);
    return out;
}

static int64_t *steps(size_t count, int64_t step)
{
    int64_t *offset = take(count * sizeof *offset);
    for (size_t i = 0; i < count; i++)
        offset[i] = (int64_t)i * step;
    return offset;
}

/* store: the recorded result is in storage; else accumulators. */
static void compare_product(const char *what, const struct ulp_arithmetic *arithmetic,
                            const struct matrix *a, const struct matrix *b, size_t k,
                            const struct ulp_tensor *wanted, bool store)
{
    const size_t m = (size_t)wanted->dims[0], n = (size_t)wanted->dims[1];
    scoped_tensor out = {0};
    ck_ok(ulp_tensor_create(&out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, wanted->dims, &why));
    int64_t *const tables[] = {steps(m, a->line_step), steps(k, a->k_step),  steps(n, b->line_step),
                               steps(k, b->k_step),    steps(m, (int64_t)n), steps(n, 1)};
    struct ulp_contraction problem = {
        .batch_count = 1,
        .m = m,
        .n = n,
        .k = k,
        .store = store,
        .out = &out,
        .a = {.tensor = &a->tensor, .line_offset = tables[0], .k_offset = tables[1]},
        .b = {.tensor = &b->tensor, .line_offset = tables[2], .k_offset = tables[3]},
        .out_row_offset = tables[4],
        .out_column_offset = tables[5]};
    ck_ok(ulp_contract_unit(arithmetic, &problem, NULL, &why));
    for (size_t i = 0; i < out.count; i++) {
        const double x =
            wanted->element_bytes == 2
                ? ulp_format_decode(&arithmetic->storage, ((const uint16_t *)wanted->data)[i])
                : ulp_tensor_get(wanted, i);
        const double got = ulp_tensor_get(&out, i);
        ck_assert_msg(got == x, "%s, element %zu: %a, recorded %a", what, i, got, x);
    }
    for (size_t i = 0; i < COUNT(tables); i++)
        free(tables[i]);
}

static void compare_gemm(const struct ulp_tensor_set *set, size_t row)
{
    const int k = gemms[row].k;
    char what[64];
    const struct ulp_arithmetic arithmetic = test_arithmetic(gemms[row].arithmetic);
    const bool fp8 = arithmetic.storage.storage_bits == 8;
    const struct ulp_tensor *wanted = find_member(set, "gemm.%d.%s", k, gemms[row].member);
    const struct ulp_tensor *a_file = find_member(set, fp8 ? "gemm.%d.e4m3.A" : "gemm.%d.A", k);
    const struct ulp_tensor *b_file = find_member(set, fp8 ? "gemm.%d.e4m3.B" : "gemm.%d.B", k);
    ck_assert(wanted && a_file && b_file);
    struct matrix a = read_matrix(a_file, &arithmetic, false),
                  b = read_matrix(b_file, &arithmetic, true);
    snprintf(what, sizeof what, "gemm.%d.%s", k, gemms[row].member);
    compare_product(what, &arithmetic, &a, &b, (size_t)k, wanted, !fp8);
    ulp_tensor_free(&a.tensor);
    ulp_tensor_free(&b.tensor);
}

TEST(h200_cublas)
{
    const char *paths[2];
    const size_t count = find_files("h200_gemm.npz", paths);
    for (size_t i = 0; i < count; i++) {
        scoped_tensor_set set = {0};
        ck_ok(ulp_tensor_set_read(paths[i], NULL, &set, &why));
        for (size_t row = 0; row < COUNT(gemms); row++)
            compare_gemm(&set, row);
    }
}

/* ---- h200_conv_fp8.npz: cuDNN's convolutions and PyTorch's scaled products ---- */

static const char conv_fp8[] = "unit/h200_conv_fp8.npz";

/* As matrices: a row for each output pixel, whose k runs over the kernel's rows, its columns, and
 * channels innermost. The kernels are tensor-core ones that sum in FP16 and in FP32. */
static void compare_convolution(const struct ulp_tensor_set *set, const char *shape,
                                const char *result, const char *name)
{
    const struct ulp_arithmetic arithmetic = test_arithmetic(name);
    const struct ulp_tensor *wanted = find_member(set, "conv.%s.%s", shape, result);
    const struct ulp_tensor *a_file = find_member(set, "conv.%s.A", shape);
    const struct ulp_tensor *b_file = find_member(set, "conv.%s.B", shape);
    ck_assert(wanted && a_file && b_file);
    struct matrix a = read_matrix(a_file, &arithmetic, false),
                  b = read_matrix(b_file, &arithmetic, true);
    compare_product(shape, &arithmetic, &a, &b, (size_t)a_file->dims[1], wanted, true);
    ulp_tensor_free(&a.tensor);
    ulp_tensor_free(&b.tensor);
}

TEST(h200_convolutions)
{
    static const char *const shapes[] = {"1x1", "deep1x1", "3x3", "3x3s2", "5x5"};
    scoped_tensor_set set = {0};
    ck_ok(ulp_tensor_set_read(test_data(conv_fp8), NULL, &set, &why));
    for (size_t s = 0; s < COUNT(shapes); s++) {
        compare_convolution(&set, shapes[s], "acc16", "fp16,acc=fp16");
        compare_convolution(&set, shapes[s], "acc32", "fp16");
    }
}

/* A scaled product is the plain one's FP32 sum times the scales: of tensors times their product, of
 * rows and columns times the column's and then the row's, each rounded to FP32. */
static void compare_scaled(const struct ulp_tensor_set *set, int k, const char *speed)
{
    const float *plain = find_member(set, "scaled.%d.one.%s", k, speed)->data,
                *tensor = find_member(set, "scaled.%d.tensor.%s", k, speed)->data,
                *rows = find_member(set, "scaled.%d.rows.%s", k, speed)->data,
                *scales = find_member(set, "scale.tensor")->data,
                *row = find_member(set, "scale.rows.a")->data,
                *column = find_member(set, "scale.rows.b")->data;
    const float both = scales[0] * scales[1];
    for (size_t m = 0; m < 16; m++)
        for (size_t n = 0; n < 24; n++) {
            const float sum = plain[24 * m + n], by_column = sum * column[n];
            ck_assert_float_eq(tensor[24 * m + n], sum * both);
            ck_assert_float_eq(rows[24 * m + n], by_column * row[m]);
        }
}

TEST(h200_scaled_products)
{
    static const int lengths[] = {512, 2048};
    scoped_tensor_set set = {0};
    ck_ok(ulp_tensor_set_read(test_data(conv_fp8), NULL, &set, &why));
    for (size_t i = 0; i < COUNT(lengths); i++) {
        const int k = lengths[i];
        for (int slow = 0; slow < 2; slow++) {
            const struct ulp_arithmetic arithmetic =
                test_arithmetic(slow ? "fp8-e4m3,promote=128" : "fp8-e4m3");
            const struct ulp_tensor *wanted =
                find_member(&set, "scaled.%d.one.%s", k, slow ? "slow" : "fast");
            struct matrix a = read_matrix(find_member(&set, "scaled.%d.A", k), &arithmetic, false),
                          b = read_matrix(find_member(&set, "scaled.%d.B", k), &arithmetic, true);
            compare_product("scaled", &arithmetic, &a, &b, (size_t)k, wanted, false);
            compare_scaled(&set, k, slow ? "slow" : "fast");
            ulp_tensor_free(&a.tensor);
            ulp_tensor_free(&b.tensor);
        }
    }
}

TEST_SUITE("unit-recorded", 60)
