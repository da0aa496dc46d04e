/* Contractions of factors with scales against the oracle of the unit, on factors rounded here by
 * the rules as doc/scales.md states them. */
#include "base/bits.h"
#include "base/machine/cpu.h"
#include "kernels/contract.h"
#include "kernels/operand/scaled_fit.h"
#include "kernels/scaled_contract.h"
#include "kernels/unit/fp4.h"
#include "number/round/round.h"
#include "kernels/unit/unit.h"
#include "number/format/scaling.h"
#include "tests/support/test.h"

enum { K_MAX = 4096 };

/* A line rounded by hand: elements, a scale for each k, the tensor's scale. */
struct line {
    double element[K_MAX], scale[K_MAX / 16];
};

static double largest_of(const float *x, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fabs((double)x[i]) > largest ? fabs((double)x[i]) : largest;
    return largest;
}

static double to_element(const char *name, double x)
{
    struct ulp_format format;
    ck_assert_int_eq(ulp_format_find(name, &format, NULL), ULP_OK);
    const double rounded =
        ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN,
                         fabs(x) > format.max_finite ? copysign(format.max_finite, x) : x, 0, 0);
    return rounded;
}

static void round_line(struct line *out, const float *x, size_t k, const char *element, int block,
                       double top, int emax, double tensor)
{
    struct ulp_format e4m3;
    ck_assert_int_eq(ulp_format_find("fp8-e4m3", &e4m3, NULL), ULP_OK);
    for (size_t first = 0; first < k; first += (size_t)block) {
        const size_t count = k - first < (size_t)block ? k - first : (size_t)block;
        const double m = largest_of(x + first, count);
        double scale = 0x1p-127, whole;
        if (block == 32 && m > 0)
            scale = ldexp(1, (int)floor(log2(m)) - emax < -127 ? -127 : (int)floor(log2(m)) - emax);
        if (block == 16)
            scale = ulp_format_round(&e4m3, ULP_ROUND_NEAREST_EVEN,
                                     (float)((float)m / (float)top) / (float)tensor, 0, 0);
        whole = block == 16 ? (double)((float)scale * (float)tensor) : scale;
        out->scale[first / (size_t)block] = scale;
        for (size_t i = first; i < first + count; i++)
            out->element[i] = whole == 0 ? 0 : to_element(element, (float)((double)x[i] / whole));
    }
}

/* Values over many binades, some zero; blocks of zeros. */
static void draw(float *x, size_t count, uint64_t *state, int binades)
{
    for (size_t i = 0; i < count; i++) {
        const double u = ulp_random_uniform(7, (*state)++), v = ulp_random_uniform(8, *state);
        x[i] = i / 48 % 7 == 3 || v < 0.05 ? 0 : (float)ldexp(2 * u - 1, (int)(v * binades));
    }
}

struct product {
    size_t m, n, k;
    struct ulp_tensor a, b, out;
    int64_t *offsets;
    struct ulp_contraction problem;
};

static struct product make(size_t m, size_t n, size_t k, uint64_t *state, int binades)
{
    struct product p = {.m = m, .n = n, .k = k};
    const int64_t a_dims[] = {(int64_t)m, (int64_t)k}, b_dims[] = {(int64_t)n, (int64_t)k},
                  out_dims[] = {(int64_t)m, (int64_t)n};
    ck_ok(ulp_tensor_create(&p.a, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, a_dims, &why));
    ck_ok(ulp_tensor_create(&p.b, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, b_dims, &why));
    ck_ok(ulp_tensor_create(&p.out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, out_dims, &why));
    draw(p.a.data, m * k, state, binades);
    draw(p.b.data, n * k, state, binades);
    p.offsets = malloc((2 * (m + n) + k) * sizeof *p.offsets);
    ck_assert_ptr_nonnull(p.offsets);
    int64_t *at = p.offsets;
    for (size_t i = 0; i < m; i++) {
        at[i] = (int64_t)(i * k);
        at[m + i] = (int64_t)(i * n);
    }
    for (size_t i = 0; i < n; i++) {
        at[2 * m + i] = (int64_t)(i * k);
        at[2 * m + n + i] = (int64_t)i;
    }
    for (size_t i = 0; i < k; i++)
        at[2 * (m + n) + i] = (int64_t)i;
    return p;
}

static void set_problem(struct product *p)
{
    int64_t *at = p->offsets, *k = at + 2 * (p->m + p->n);
    p->problem = (struct ulp_contraction){.batch_count = 1,
                                          .m = p->m,
                                          .n = p->n,
                                          .k = p->k,
                                          .a = {.tensor = &p->a, .line_offset = at, .k_offset = k},
                                          .b = {.tensor = &p->b,
                                                .line_offset = at + 2 * p->m,
                                                .k_offset = k},
                                          .out = &p->out,
                                          .out_row_offset = at + p->m,
                                          .out_column_offset = at + 2 * p->m + p->n,
                                          .store = true};
}

static void unmake(struct product *p)
{
    ulp_tensor_free(&p->a);
    ulp_tensor_free(&p->b);
    ulp_tensor_free(&p->out);
    free(p->offsets);
}

static const struct family {
    const char *name, *unit, *element;
    int block;
    double top;
    int emax;
} families[] = {
    {"mxfp8", "b200.tcgen05.mxe4m3.f32", "fp8-e4m3", 32, 448, 8},
    {"mxfp8-e5m2", "b200.tcgen05.mxe5m2.f32", "fp8-e5m2", 32, 57344, 15},
    {"mxfp6", "b200.tcgen05.mxe2m3.f32", "fp6-e2m3", 32, 7.5, 2},
    {"mxfp6-e3m2", "b200.tcgen05.mxe3m2.f32", "fp6-e3m2", 32, 28, 4},
    {"mxfp4", "b200.tcgen05.mxf4.f32", "fp4-e2m1", 32, 6, 2},
    {"nvfp4", "b200.tcgen05.nvf4.f32", "fp4-e2m1", 16, 6, 2},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

static void compare_product(const struct family *f, const struct family *g, struct product p,
                            int binades)
{
    static struct line a[8], b[40];
    const size_t m = p.m, n = p.n, k = p.k;
    char name[96], pair[64];
    set_problem(&p);
    snprintf(name, sizeof name, "fp32,factor=%s%s%s", f->name,
             f == g ? "" : ",factor-b=", f == g ? "" : g->name);
    const struct ulp_arithmetic arithmetic = test_arithmetic(name);
    snprintf(pair, sizeof pair, "b200.tcgen05.mx%s-mx%s.f32", f->unit + 15, g->unit + 15);
    if (f != g) /* "b200.tcgen05.mxe4m3-mxe2m1.f32": FP4 beside another */
        snprintf(pair, sizeof pair, "b200.tcgen05.mx%.4s-mx%.4s.f32", f->element + 4,
                 g->element + 4);
    const struct ulp_unit *unit = ulp_unit_find(f == g ? f->unit : pair);
    ck_assert_msg(unit != NULL, "%s", pair);
    ck_ok(ulp_contract(&arithmetic, &p.problem, NULL, &why));
    const float *x = p.a.data, *y = p.b.data;
    const bool two = f->block == 16;
    const float ta = two ? (float)largest_of(x, m * k) / (6 * 448.0F) : 1,
                tb = two ? (float)largest_of(y, n * k) / (6 * 448.0F) : 1;
    for (size_t i = 0; i < m; i++)
        round_line(&a[i], x + i * k, k, f->element, f->block, f->top, f->emax, (double)ta);
    for (size_t j = 0; j < n; j++)
        round_line(&b[j], y + j * k, k, g->element, g->block, g->top, g->emax, (double)tb);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const float want = (float)ulp_unit_chain(unit, a[i].element, b[j].element, a[i].scale,
                                                     b[j].scale, k, 0) *
                               (ta * tb);
            const float got = ((const float *)p.out.data)[i * n + j];
            ck_expect(memcmp(&want, &got, sizeof got) == 0, "%s, k %zu, binades %d: %a, oracle %a",
                      name, k, binades, (double)got, (double)want);
        }
    unmake(&p);
}

static void compare(const struct family *f, const struct family *g, size_t m, size_t n, size_t k,
                    int binades, uint64_t *state)
{
    compare_product(f, g, make(m, n, k, state, binades), binades);
}

TEST_LOOP(units_on_all_bits, 0, FAMILIES)
{
    const struct family *f = &families[_i];
    uint64_t state = 100 * (uint64_t)_i;
    static const size_t lengths[] = {32, 33, 64, 65, 100, 128, 496, 1024, 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int binades = 1; binades < 200; binades = binades * 5 + 3)
            compare(f, f, 3 + i % 4, 1 + 13 * (i % 4), lengths[i], binades < 100 ? binades : 60,
                    &state);
}

TEST(mixed_operands)
{
    uint64_t state = 5;
    for (int f = 0; f < 5; f++)
        for (int g = 0; g < 5; g++)
            if (f != g)
                compare(&families[f], &families[g], 5, 37, 160, 12, &state);
}

/* A term of 2^q, or 81 times that with NVFP4's scales, beside others that cancel, which is kept to
 * the last q and cut off from the next one on: where the exponent of products decides, and where
 * that of c does. */
TEST(small_terms_of_fp4)
{
    static const struct {
        size_t family;
        float large, small, more; /* more: the largest of small's block over it */
        int first, last;
    } cases[] = {{4, 4, 0.5F, 8, 20, 40}, {5, 6 * 448, 0.5625F, 12, -6, 15}};
    for (size_t which = 0; which < 2; which++)
        for (int turn = 2 * cases[which].first; turn < 2 * cases[which].last; turn++) {
            const size_t blocks = turn % 2 ? 2 : 1, k = 64 * blocks, small = k - 32;
            const int shift = turn >> 1;
            uint64_t state = 1;
            struct product p = make(1, 1, k, &state, 1);
            float *a = p.a.data, *b = p.b.data;
            memset(a, 0, k * sizeof *a);
            memset(b, 0, k * sizeof *b);
            for (size_t i = 0; i < 32; i++) {
                const size_t at = blocks == 1 ? i : 64 + i;
                a[i] = b[i] = a[at] = cases[which].large;
                b[at] = blocks == 1 && i < 16 ? a[i] : -a[i];
            }
            a[small] = ldexpf(cases[which].small, -(shift >> 1));
            b[small] = ldexpf(cases[which].small, (shift >> 1) - shift);
            a[small + 1] = cases[which].more * a[small]; /* the scales' */
            b[small + 2] = cases[which].more * b[small];
            compare_product(&families[cases[which].family], &families[cases[which].family], p,
                            shift);
        }
}

/* Portable C, AVX2 and AVX-512 of the FP4 unit. */
TEST(instruction_sets_are_equal)
{
    static const unsigned sets[] = {0, ULP_CPU_AVX2, ULP_CPU_AVX2 | ULP_CPU_AVX512};
    const char *const names[] = {"fp32,factor=nvfp4", "fp32,factor=mxfp4"};
    uint64_t state = 9;
    for (int which = 0; which < 2; which++)
        for (size_t repeat = 0; repeat < 20; repeat++) {
            struct product p = make(7, 45, 16 + 48 * repeat, &state, repeat % 2 ? 4 : 60);
            struct ulp_scaled sides[2];
            float first[7 * 45];
            set_problem(&p);
            const struct ulp_arithmetic arithmetic = test_arithmetic(names[which]);
            for (int side = 0; side < 2; side++)
                ck_ok(ulp_scaled_make(&sides[side], &arithmetic.scaling[side], &p.problem, side,
                                      false, ULP_ROUND_NEAREST_EVEN, NULL, &why));
            for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
                if ((ulp_cpu_features() & sets[s]) != sets[s])
                    continue;
                ck_ok(ulp_unit_run_fp4(sets[s], &arithmetic, &p.problem, sides, NULL, &why));
                if (s == 0)
                    memcpy(first, p.out.data, sizeof first);
                ck_assert_msg(memcmp(first, p.out.data, sizeof first) == 0, "set %zu", s);
            }
            ulp_scaled_free(&sides[0]);
            ulp_scaled_free(&sides[1]);
            unmake(&p);
        }
}

/* ---- integers ---- */

/* QuantizeLinear and DequantizeLinear of a block, as ONNX states them. */
static void quantise_block(double *out, const float *x, size_t count, int bits, bool zero_point)
{
    double least = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        least = (double)x[i] < least ? (double)x[i] : least;
        largest = (double)x[i] > largest ? (double)x[i] : largest;
    }
    const double top = zero_point ? (double)((1 << bits) - 1) : (double)((1 << (bits - 1)) - 1),
                 most = -least > largest ? -least : largest,
                 span = zero_point ? largest - least : most;
    const float scale = span > 0 ? (float)(span / top) : 1;
    const double zero = zero_point ? (double)nearbyintf((float)-least / scale) : 0,
                 low = zero_point ? 0 : -top;
    for (size_t i = 0; i < count; i++) {
        const double code = (double)nearbyintf(x[i] / scale) + zero;
        out[i] = ((code < low ? low : code > top ? top : code) - zero) * (double)scale;
    }
}

/* Each value that is multiplied is the oracle's, of tensors, rows and blocks, with a shorter block
 * at the end of a row, and values all on one side of 0. */
TEST(integers_as_onnx_states_them)
{
    static const struct {
        const char *name;
        int bits;
        bool zero_point;
        size_t block; /* 0: the tensor; SIZE_MAX: a row */
    } rows[] = {{"int8-tensor", 8, false, 0},     {"int8-row", 8, false, SIZE_MAX},
                {"uint8-tensor", 8, true, 0},     {"uint8-row", 8, true, SIZE_MAX},
                {"int16-tensor", 16, false, 0},   {"uint16-tensor", 16, true, 0},
                {"int4-row", 4, false, SIZE_MAX}, {"int4-32", 4, false, 32},
                {"int4-128", 4, false, 128},      {"uint4-32", 4, true, 32},
                {"uint4-128", 4, true, 128}};
    enum { M = 5, K = 300 };
    static double want[M * K];
    uint64_t state = 11;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (int turn = 0; turn < 4; turn++) {
            struct product p = make(M, 3, K, &state, turn % 2 ? 3 : 12);
            struct ulp_scaling scaling;
            struct ulp_scaled side;
            const float *x = p.a.data;
            for (size_t i = 0; turn > 1 && i < M * K; i++)
                ((float *)p.a.data)[i] = (turn == 2 ? 1.0F : -1.0F) * fabsf(x[i]);
            const size_t block = rows[r].block == 0          ? M * K
                                 : rows[r].block == SIZE_MAX ? K
                                                             : rows[r].block;
            for (size_t row = 0; row < (rows[r].block ? M : 1); row++)
                for (size_t at = 0; at < (rows[r].block ? K : M * K); at += block) {
                    const size_t end = rows[r].block ? K : M * K;
                    quantise_block(want + row * K + at, x + row * K + at,
                                   block < end - at ? block : end - at, rows[r].bits,
                                   rows[r].zero_point);
                }
            set_problem(&p);
            ck_assert(ulp_scaling_find(rows[r].name, &scaling));
            const struct ulp_format fp64 = test_format("fp64");
            ck_ok(ulp_scaled_make(&side, &scaling, &p.problem, 0, true, ULP_ROUND_NEAREST_EVEN,
                                  NULL, &why));
            ck_ok(ulp_scaled_back(&side, &fp64, ULP_ELEMENT_F64, NULL, &why));
            for (size_t i = 0; i < M * K; i++) {
                const double got =
                    ((const double *)
                         side.elements.data)[side.line_offset[i / K] + side.k_offset[i % K]];
                ck_expect(got == want[i], "%s, turn %d, %zu (%a): %a, oracle %a", rows[r].name,
                          turn, i, (double)x[i], got, want[i]);
            }
            ulp_scaled_free(&side);
            unmake(&p);
        }
}

/* ---- h200_fp8_scaled.npz ---- */

static const struct ulp_tensor *find_part(const struct ulp_tensor_set *set, const char *name,
                                          const char *part)
{
    char member[96];
    snprintf(member, sizeof member, "%s.%s", name, part);
    const struct ulp_tensor *tensor = ulp_tensor_set_find(set, member);
    ck_assert_msg(tensor != NULL, "%s", member);
    return tensor;
}

/* The factor as it was multiplied: elements and scales as recorded. */
static void set_side(struct ulp_scaled *side, const struct ulp_tensor *codes,
                     const struct ulp_tensor *scales)
{
    float *x = side->elements.data;
    ck_assert_uint_eq(side->elements.count, codes->count);
    ck_assert_uint_eq(side->line_count * side->block_count, scales->count);
    for (size_t i = 0; i < codes->count; i++)
        x[i] = (float)ulp_format_decode(&side->scaling->element, ((const uint8_t *)codes->data)[i]);
    memcpy(side->scale, scales->data, scales->count * sizeof(float));
}

static void compare_recorded(const struct ulp_tensor_set *set, const char *name)
{
    char scales[8], a[8], b[8], result[8], speed[8], arithmetic_name[96];
    struct ulp_scaled sides[2];
    uint64_t state = 1;
    ck_assert_int_eq(sscanf(name, "%*[^.].%7[^.].%7[^.].%7[^.].%7[^.].%7s", scales, a, b, result,
                            speed),
                     5);
    const bool blocks = strcmp(scales, "block") == 0;
    const struct ulp_tensor *codes[] = {find_part(set, name, "a"), find_part(set, name, "b")};
    const char *types[] = {a, b}, *kind = blocks ? "1x128" : scales;
    struct product p = make(2, 2, (size_t)codes[0]->dims[1], &state, 1);
    set_problem(&p);
    snprintf(arithmetic_name, sizeof arithmetic_name, "%s,factor=fp8-%s%s,factor-b=fp8-%s%s%s",
             result[0] == 'b'             ? "bf16"
             : strcmp(result, "f16") == 0 ? "fp16"
                                          : "fp32",
             types[0][1] == '4' ? "" : "e5m2-", kind, types[1][1] == '4' ? "" : "e5m2-", kind,
             !blocks && strcmp(speed, "slow") == 0 ? ",promote=128" : "");
    const struct ulp_arithmetic arithmetic = test_arithmetic(arithmetic_name);
    for (int side = 0; side < 2; side++) {
        ck_ok(ulp_scaled_make(&sides[side], &arithmetic.scaling[side], &p.problem, side, false,
                              ULP_ROUND_NEAREST_EVEN, NULL, &why));
        set_side(&sides[side], codes[side], find_part(set, name, side ? "scale_b" : "scale_a"));
    }
    ck_ok(ulp_contract_elements(&arithmetic, &p.problem, sides, NULL, &why));
    ck_assert_msg(memcmp(p.out.data, find_part(set, name, "d")->data, 4 * sizeof(float)) == 0,
                  "%s in %s", name, arithmetic.name);
    ulp_scaled_free(&sides[0]);
    ulp_scaled_free(&sides[1]);
    unmake(&p);
}

TEST(products_of_an_h200)
{
    scoped_tensor_set set = {0};
    size_t count = 0;
    ck_ok(ulp_tensor_set_read(test_data("unit/h200_fp8_scaled.npz"), NULL, &set, &why));
    for (size_t i = 0; i < set.count; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s", set.items[i].name);
        char *dot = strrchr(name, '.');
        if (strcmp(dot, ".a") != 0)
            continue;
        *dot = 0;
        compare_recorded(&set, name);
        count++;
    }
    ck_assert_uint_eq(count, 93);
}

/* One block whose largest magnitude is m, and the scale that each rule gives; worked out by hand.
 */
TEST(rules_of_scales)
{
    static const struct {
        const char *name;
        float m;
        double scale;
    } cases[] = {
        {"mxfp8", 448, 1},
        {"mxfp8", 500, 1}, /* clipped at 448 */
        {"mxfp8", 511, 1},
        {"mxfp8", 512, 2},
        {"mxfp8", 0x1p-130F, 0x1p-127},
        {"mxfp8", 0x1.fffffep127F, 0x1p119},
        {"mxfp8,scale=up", 448, 1},
        {"mxfp8,scale=up", 449, 2},
        {"mxfp8,scale=up", 512, 2},
        {"mxfp8,scale=even", 479, 1}, /* 1.87 rounds to 1.875 */
        {"mxfp8,scale=even", 495, 1},
        {"mxfp8,scale=even", 496, 2}, /* 1.9375, halfway between 1.875 and 2 */
        {"mxfp4", 6, 1},
        {"mxfp4", 7, 1},
        {"mxfp4,scale=up", 7, 2},
        {"mxfp4,scale=even", 6.9F, 1},
        {"mxfp4,scale=even", 7, 2}, /* 1.75 rounds to 2 */
        {"mxfp6", 7.5F, 1},
        {"mxfp6-e3m2", 28, 1},
        {"mxfp6-e3m2", 31, 1},
        {"nvfp4", 6, 448}, /* beside a tensor's scale of 6 / (6 * 448) */
        {"nvfp4,scale=four-six", 6, 256},
        {"fp8-tensor", 896, 2},
        {"fp8-row", 0, 1},
    };
    uint64_t state = 3;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[64];
        struct product p = make(1, 1, 32, &state, 1);
        struct ulp_scaled scaled;
        set_problem(&p);
        memset(p.a.data, 0, 32 * sizeof(float));
        ((float *)p.a.data)[5] = -cases[i].m;
        snprintf(name, sizeof name, "bf16,factor=%s", cases[i].name);
        const struct ulp_arithmetic arithmetic = test_arithmetic(name);
        ck_ok(ulp_scaled_make(&scaled, &arithmetic.scaling[0], &p.problem, 0, true,
                              ULP_ROUND_NEAREST_EVEN, NULL, &why));
        ck_expect((double)scaled.scale[0] == cases[i].scale, "%s, %a: %a", name, (double)cases[i].m,
                  (double)scaled.scale[0]);
        ulp_scaled_free(&scaled);
        unmake(&p);
    }
}

/* A block that holds NaN or an infinity makes every product with it NaN; the other rows' stay. FP8
 * with FP32 scales loses the element alone, and its row's product with it. */
TEST(what_is_not_finite)
{
    static const char *const names[] = {"mxfp8",   "mxfp4",      "nvfp4",
                                        "fp8-row", "fp8-tensor", "fp8-1x128"};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    uint64_t state = 3;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (size_t v = 0; v < 3; v++) {
            char name[64];
            struct product p = make(3, 5, 96, &state, 2);
            set_problem(&p);
            ((float *)p.a.data)[96 + 40] = bad[v];
            snprintf(name, sizeof name, "fp32,factor=%s", names[i]);
            const struct ulp_arithmetic arithmetic = test_arithmetic(name);
            ck_ok(ulp_contract(&arithmetic, &p.problem, NULL, &why));
            for (size_t j = 0; j < 15; j++)
                ck_expect(!isnan(((float *)p.out.data)[j]) == (j / 5 != 1), "%s, %g: %zu", name,
                          (double)bad[v], j);
            unmake(&p);
        }
}

/* A sum of no products is 0 in every format, those of a single row too. */
TEST(sums_of_nothing)
{
    static const char *const names[] = {"bf16,factor=mxfp8",
                                        "bf16,factor=mxfp4",
                                        "bf16,factor=nvfp4",
                                        "bf16,factor=fp8-row",
                                        "bf16,factor=fp8-tensor",
                                        "bf16,factor=fp8-1x128",
                                        "bf16,factor=mxfp6",
                                        "bf16,factor=fp8-128x128",
                                        "bf16,weights=nvfp4",
                                        "fp32,factor=nvfp4",
                                        "trt11:nvfp4"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (size_t m = 1; m <= 3; m += 2) {
            uint64_t state = 1;
            struct product p = make(m, 5, 0, &state, 2);
            const struct ulp_arithmetic arithmetic = test_arithmetic(names[i]);
            set_problem(&p);
            for (size_t j = 0; j < m * 5; j++)
                ((float *)p.out.data)[j] = NAN;
            ck_ok(ulp_contract(&arithmetic, &p.problem, NULL, &why));
            for (size_t j = 0; j < m * 5; j++)
                ck_expect(((float *)p.out.data)[j] == 0, "%s: %zu", names[i], j);
            unmake(&p);
        }
}

/* Every product is large but some of 2^-shift: of the last tap with a cell in the middle, which is
 * negative, the last digit of the sum or nothing beside it; or of the sixth tap, negative, and the
 * seventh, which is of another block where a block has two runs. */
static void draw_small_terms(struct product *p, struct ulp_tensor *image, int shift)
{
    float *a = p->a.data, *x = image->data;
    const bool pair = shift % 2;
    for (size_t i = 0; i < p->a.count; i++) {
        const size_t tap = i % p->k;
        a[i] = pair && tap == 5    ? -ldexpf(6, -shift)
               : pair && tap == 6  ? ldexpf(6, -shift)
               : !pair && tap == 8 ? ldexpf(6, -shift / 2)
                                   : 6;
    }
    for (size_t i = 0; i < image->count; i++)
        x[i] = 6;
    if (!pair)
        x[image->count / 2] = -ldexpf(6, -shift / 2);
}

/* A convolution's lines, which share cells, give the bits of the same lines copied one by one. */
TEST(cells_that_lines_share)
{
    enum { M = 5, H = 9, W = 19, N_MAX = 7 * 17, TAPS = 9, CHANNELS = 7, SHIFTS = 40 };
    static const char *const names[] = {
        "bf16,factor=mxfp8",     "fp32,factor=mxfp4",           "bf16,factor=nvfp4,scale=four-six",
        "fp32,factor=fp8-1x128", "bf16,factor=mxfp6,unit=none", "fp32,factor=nvfp4"};
    static const int channels[CHANNELS] = {1, 16, 20, 32, 45, 130, 1};
    for (size_t which = 0; which < sizeof names / sizeof *names; which++)
        for (size_t turn = 0; turn < 2 * CHANNELS + SHIFTS; turn++) {
            const size_t c = turn < 2 * CHANNELS ? turn % CHANNELS : 0;
            const int64_t run = channels[c], k = run * TAPS, stride = turn < CHANNELS ? 2 : 1,
                          out_w = (W - 3) / stride + 1, n = ((H - 3) / stride + 1) * out_w;
            uint64_t state = which + 10 * c;
            struct ulp_tensor image;
            const int64_t dims[] = {run, H, W};
            const struct ulp_arithmetic arithmetic = test_arithmetic(names[which]);
            float first[M * N_MAX];
            int64_t line_offset[N_MAX], k_offset[130 * TAPS];
            struct product p = make(M, (size_t)n, (size_t)k, &state, 12);
            set_problem(&p);
            ck_ok(ulp_tensor_create(&image, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 3, dims, &why));
            draw(image.data, image.count, &state, c == CHANNELS - 1 ? 16 : 12);
            if (turn >= 2 * CHANNELS)
                draw_small_terms(&p, &image, (int)(turn - 2 * CHANNELS));
            if (c == 2 || turn == 2 * CHANNELS - 1)
                ((float *)image.data)[5 * W + 3] = NAN;
            for (int64_t j = 0; j < n; j++)
                line_offset[j] = (j / out_w * W + j % out_w) * stride;
            for (int64_t i = 0; i < k; i++)
                k_offset[i] = i % run * H * W + i / run / 3 * W + i / run % 3;
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < k; i++)
                    ((float *)p.b.data)[j * k + i] =
                        ((const float *)image.data)[line_offset[j] + k_offset[i]];
            p.problem.k_run = (size_t)run;
            ck_ok(ulp_contract(&arithmetic, &p.problem, NULL, &why));
            memcpy(first, p.out.data, (size_t)(M * n) * sizeof *first);
            p.problem.b = (struct ulp_factor){.tensor = &image,
                                              .line_offset = line_offset,
                                              .k_offset = k_offset};
            struct ulp_scaled scaled;
            ck_ok(ulp_scaled_make(&scaled, &arithmetic.scaling[1], &p.problem, 1, true,
                                  ULP_ROUND_NEAREST_EVEN, NULL, &why));
            ck_assert(scaled.shared && scaled.cell_count < (size_t)n * TAPS);
            ulp_scaled_free(&scaled);
            ck_ok(ulp_contract(&arithmetic, &p.problem, NULL, &why));
            for (size_t i = 0; i < (size_t)(M * n); i++)
                ck_expect(ulp_float_pattern(first[i]) ==
                              ulp_float_pattern(((const float *)p.out.data)[i]),
                          "%s, %d channels, stride %d, %zu: %a, copied %a", names[which],
                          channels[c], (int)stride, i, (double)((const float *)p.out.data)[i],
                          (double)first[i]);
            ulp_tensor_free(&image);
            unmake(&p);
        }
}

/* ---- weights that are rounded by their sums ---- */

enum { FIT_K = 40, FIT_LINES = 19 };

/* out = the inverse of the matrix of the places in `left`, by Gauss and Jordan. */
static void invert(const long double *h, const size_t *left, size_t n, long double *out)
{
    long double a[FIT_K][2 * FIT_K];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            a[i][j] = h[left[i] * FIT_K + left[j]];
            a[i][n + j] = i == j;
        }
    for (size_t c = 0; c < n; c++)
        for (size_t r = 0; r < n; r++) { /* positive definite: no pivots are sought */
            const long double x = r == c ? 1 - 1 / a[c][c] : a[r][c] / a[c][c];
            for (size_t j = 0; j < 2 * n; j++)
                a[r][j] -= x * a[c][j];
        }
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * n, a[i] + n, n * sizeof *out);
}

/* As GPTQ's paper has it: each weight is rounded, and the others that are left move by the inverse
 * of their own pairs. Which comes next: the largest square. */
static void fit_by_inverse(const struct ulp_scaling *scaling, const long double *h, float *line)
{
    const size_t block = scaling->k ? (size_t)scaling->k : FIT_K;
    const double top = scaling->element.max_finite;
    long double now[FIT_K], inverse[FIT_K * FIT_K];
    size_t left[FIT_K];
    float own[FIT_K];
    memcpy(own, line, sizeof own);
    for (size_t i = 0; i < FIT_K; i++) {
        now[i] = (long double)line[i];
        left[i] = i;
    }
    for (size_t n = FIT_K; n > 0; n--) {
        size_t at = 0, most;
        for (size_t i = 1; i < n; i++)
            if (h[left[i] * FIT_K + left[i]] >= h[left[at] * FIT_K + left[at]])
                at = i;
        const size_t first = left[at] / block * block, me = left[at];
        most = first;
        for (size_t i = first; i < first + block && i < FIT_K; i++)
            most = fabsf(own[i]) > fabsf(own[most]) ? i : most;
        const float scale = fabsf(own[most]) / (float)top;
        const double wanted = me == most ? (double)own[me] : (double)now[me],
                     code = fmax(fmin(rint(wanted / (double)scale), top), -top);
        line[me] = (float)(code * (double)scale);
        invert(h, left, n, inverse);
        const long double off =
            (now[me] - (long double)(code * (double)scale)) / inverse[at * n + at];
        for (size_t i = 0; i < n; i++)
            now[left[i]] -= inverse[i * n + at] * off;
        memmove(left + at, left + at + 1, (n - at - 1) * sizeof *left);
    }
}

/* Values that go together, so that the pairs are far from independent. */
TEST(weights_are_rounded_by_their_sums)
{
    static const char *const words[] = {"int8", "int4-32"};
    static double gram[FIT_K * (FIT_K + 1) / 2], row[FIT_K];
    static long double h[FIT_K * FIT_K];
    uint64_t state = 11;
    for (size_t turn = 0; turn < 8; turn++) {
        struct ulp_scaling scaling[2];
        float lines[FIT_LINES * FIT_K], expected[FIT_K];
        long double mean = 0;
        ck_assert(ulp_scaling_find_word(words[turn % 2], scaling) && ulp_scaled_fits(&scaling[1]));
        memset(gram, 0, sizeof gram);
        memset(h, 0, sizeof h);
        for (size_t r = 0; r < (turn < 4 ? 3 * FIT_K : FIT_K / 4); r++) {
            const double common = ulp_random_uniform(3, state++);
            for (size_t i = 0; i < FIT_K; i++)
                row[i] =
                    i == 5 && turn == 3 ? 0 : common + ulp_random_uniform(4, state++) * (double)i;
            ulp_gram_add(gram, FIT_K, row);
            for (size_t i = 0; i < FIT_K; i++)
                for (size_t j = 0; j < FIT_K; j++)
                    h[i * FIT_K + j] += (long double)row[i] * row[j];
        }
        for (size_t i = 0; i < FIT_K; i++)
            mean += h[i * FIT_K + i] / FIT_K;
        for (size_t i = 0; i < FIT_K; i++)
            h[i * FIT_K + i] += 0.01L * mean;
        for (size_t i = 0; i < FIT_LINES * FIT_K; i++)
            lines[i] = (float)(2 * ulp_random_uniform(5, state++) - 1);
        float given[FIT_LINES * FIT_K];
        memcpy(given, lines, sizeof given);
        ck_ok(ulp_scaled_fit(&scaling[1], gram, FIT_K, lines, FIT_LINES, NULL, NULL, &why));
        for (size_t l = 0; l < FIT_LINES; l++) {
            memcpy(expected, given + l * FIT_K, sizeof expected);
            fit_by_inverse(&scaling[1], h, expected);
            for (size_t i = 0; i < FIT_K; i++)
                ck_expect(expected[i] == lines[l * FIT_K + i], "turn %zu, line %zu, %zu: %a for %a",
                          turn, l, i, (double)lines[l * FIT_K + i], (double)expected[i]);
        }
    }
}

/* A line that is cut in parts: all values go together, so that only the sum of what weights were
 * rounded off counts. In each part the weight that is rounded last takes it to half a step, and the
 * noise, a hundredth of the squares of 600 places, to a few thousandths more; the nearest of 2400
 * codes are off by the root of 2400 / 12, 14 steps. */
TEST(parts_of_long_lines_make_their_sums_good)
{
    enum { K = 2400, LINES = 3 };
    struct ulp_scaling scaling[2];
    const size_t room = ulp_gram_room(K);
    double *gram = calloc(room, sizeof *gram), row[K];
    float *lines = calloc((size_t)LINES * K, sizeof *lines), *given;
    uint64_t state = 7;
    size_t parts = 0;
    for (size_t first = 0; first < K; first = ulp_gram_end(K, first))
        parts++;
    ck_assert(gram && lines && parts > 1 && ulp_gram_part(2304) == 2304);
    ck_assert(ulp_scaling_find_word("int8", scaling));
    for (size_t i = 0; i < K; i++)
        row[i] = 1;
    for (size_t r = 0; r < 3; r++)
        ulp_gram_add_line(gram, K, row);
    for (size_t i = 0; i < (size_t)LINES * K; i++)
        lines[i] = (float)(2 * ulp_random_uniform(5, state++) - 1);
    given = malloc((size_t)LINES * K * sizeof *given);
    ck_assert(given != NULL);
    memcpy(given, lines, (size_t)LINES * K * sizeof *given);
    ck_ok(ulp_scaled_fit(&scaling[1], gram, K, lines, LINES, NULL, NULL, &why));
    for (size_t l = 0; l < LINES; l++) {
        double largest = 0, off = 0;
        for (size_t i = l * K; i < (l + 1) * K; i++)
            largest = fmax(largest, fabs((double)given[i]));
        const double step = largest / 127;
        for (size_t i = l * K; i < (l + 1) * K; i++) {
            const double code = (double)lines[i] / step;
            off += (double)given[i] - (double)lines[i];
            ck_expect(fabs(code - rint(code)) < 1e-4 && fabs(code) < 127.001,
                      "line %zu: %g is no code", l, code);
        }
        ck_expect(fabs(off) <= (double)parts * step, "line %zu: off by %g steps", l, off / step);
    }
    free(gram);
    free(lines);
    free(given);
}

TEST_SUITE("scaled", 60)
