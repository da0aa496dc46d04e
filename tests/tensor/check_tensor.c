/* tensor: shapes, hostile sizes, broadcasting, and conversion between every pair of elements. */
#include "tests/support/test.h"

#include "number/mpfr_record.h"
#include "tensor/lower.h"
#include "tensor/stored.h"

TEST(hostile_shapes_are_refused)
{
    struct ulp_tensor t;
    struct ulp_error error;
    ck_assert_int_eq(ulp_tensor_create(&t, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2,
                                       (int64_t[]){-1, 2}, &error),
                     ULP_ERROR_INPUT);
    ck_assert_int_eq(ulp_tensor_create(&t, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 3,
                                       (int64_t[]){INT64_MAX, INT64_MAX, 4}, &error),
                     ULP_ERROR_MEMORY);
    ck_assert_int_eq(ulp_tensor_create(&t, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 3,
                                       (int64_t[]){INT64_MAX, 0, INT64_MAX}, &error),
                     ULP_ERROR_MEMORY);
    ck_assert_int_eq(ulp_tensor_create(&t, ULP_TYPE_STRING, ULP_ELEMENT_COUNT, 0, 0, NULL, &error),
                     ULP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(ulp_tensor_create(&t, 99, ULP_ELEMENT_COUNT, 0, 0, NULL, &error),
                     ULP_ERROR_INPUT);
    ck_ok(ulp_tensor_create(&t, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2, (int64_t[]){0, 3}, &why));
    ck_assert_uint_eq(t.count, 0);
    ulp_tensor_free(&t);
    ck_ok(ulp_tensor_create(&t, ULP_TYPE_INT4, ULP_ELEMENT_COUNT, 0, 0, NULL, &why));
    ck_assert_uint_eq(t.count, 1);
    ulp_tensor_free(&t);
}

TEST(shapes_broadcast_as_numpy)
{
    struct ulp_tensor a, b, c;
    struct ulp_error error;
    int rank;
    int64_t dims[ULP_RANK_MAX];
    ulp_tensor_describe(&a, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 3, (int64_t[]){4, 1, 3}, &error);
    ulp_tensor_describe(&b, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2, (int64_t[]){5, 1}, &error);
    ulp_tensor_describe(&c, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1, (int64_t[]){2}, &error);
    ck_ok(ulp_broadcast_shape(3, (const struct ulp_tensor *[]){&a, NULL, &b}, &rank, dims, &why));
    ck_assert(rank == 3 && dims[0] == 4 && dims[1] == 5 && dims[2] == 3);
    ck_assert_int_eq(ulp_broadcast_shape(2, (const struct ulp_tensor *[]){&a, &c}, &rank, dims,
                                         &error),
                     ULP_ERROR_INPUT);
    b.dims[1] = 0;
    a.dims[2] = 1;
    ck_ok(ulp_broadcast_shape(2, (const struct ulp_tensor *[]){&a, &b}, &rank, dims, &why));
    ck_assert(dims[2] == 0);
}

static void convert_one(enum ulp_type to, enum ulp_element element, int precision,
                        const char *format, const struct ulp_tensor *in, struct ulp_tensor *out)
{
    struct ulp_format storage;
    ck_ok(ulp_tensor_create(out, to, element, precision, 1, (int64_t[]){(int64_t)in->count}, &why));
    if (format)
        ck_ok(ulp_format_find(format, &storage, &why));
    ck_ok(ulp_tensor_convert(out, in, format ? &storage : NULL, ULP_ROUND_NEAREST_EVEN, 0, NULL,
                             &why));
}

/* 1 + 2^-11 + 2^-80 lies just above the tie between FP16 1 and 1 + 2^-10: one rounding goes up, a
 * rounding through FP32 or double first would go to the even neighbour 1. */
/* Kernels look over a whole factor: a view must not reach beyond the tensor's end. */
TEST(views_end_where_the_tensor_ends)
{
    float values[6] = {0, 1, 2, 3, 4, 5};
    const struct ulp_tensor tensor = {.type = ULP_TYPE_FLOAT,
                                      .element = ULP_ELEMENT_F32,
                                      .rank = 2,
                                      .dims = {2, 3},
                                      .count = 6,
                                      .element_bytes = sizeof(float),
                                      .data = values};
    for (size_t first = 0; first < 6; first++) {
        const struct ulp_tensor view = ulp_tensor_view_from(&tensor, first);
        ck_assert_uint_eq(view.count, 6 - first);
        ck_assert(view.rank == 1 && view.dims[0] == (int64_t)(6 - first) && !view.owned);
        ck_assert(ulp_tensor_get(&view, 0) == (double)first &&
                  ulp_tensor_get(&view, view.count - 1) == 5);
    }
    ck_assert_uint_eq(ulp_tensor_view_from(&tensor, 7).count, 0);
}

/* Every element type that has bytes, by each element alone: bit for bit, NaN included. */
TEST(a_range_is_its_elements)
{
    enum { COUNT = 300 };
    _Alignas(16) unsigned char bytes[COUNT * 16];
    double out[COUNT];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(ulp_random_bits(7, i) & 255);
    for (int element = 0; element < ULP_ELEMENT_COUNT; element++) {
        const struct ulp_tensor tensor = {.element = (enum ulp_element)element,
                                          .rank = 1,
                                          .dims = {COUNT},
                                          .count = COUNT,
                                          .element_bytes =
                                              ulp_element_bytes((enum ulp_element)element, 0),
                                          .data = bytes};
        if (element == ULP_ELEMENT_WIDE || !tensor.element_bytes)
            continue;
        for (size_t first = 0; first < COUNT; first += 37) {
            ulp_tensor_read_range(out, &tensor, first, COUNT - first);
            for (size_t i = first; i < COUNT; i++) {
                const double wanted = ulp_tensor_get(&tensor, i);
                ck_expect(memcmp(&wanted, &out[i - first], sizeof wanted) == 0,
                          "element type %d: %a, not %a", element, out[i - first], wanted);
            }
        }
    }
}

TEST(boxes_lie_where_their_indices_say)
{
    static const struct {
        int rank;
        int64_t dims[4], steps[4];
    } boxes[] = {{0, {0}, {0}},
                 {1, {7}, {-3}},
                 {1, {0}, {1}},
                 {2, {3, 5}, {100, 2}},
                 {3, {2, 0, 4}, {1, 1, 1}},
                 {3, {3000000000, 3000000000, 0}, {1, 1, 1}},
                 {4, {2, 3, 1, 4}, {1000, -7, 5, 0}}};
    for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) {
        int64_t offsets[64], count = 1;
        memset(offsets, 0x55, sizeof offsets);
        for (int d = 0; d < boxes[b].rank; d++)
            count *= boxes[b].dims[d];
        ulp_box_offsets(offsets, boxes[b].rank, boxes[b].dims, boxes[b].steps, 11);
        for (int64_t i = 0; i < count; i++) {
            int64_t rest = i, expected = 11;
            for (int d = boxes[b].rank - 1; d >= 0; d--) {
                expected += rest % boxes[b].dims[d] * boxes[b].steps[d];
                rest /= boxes[b].dims[d];
            }
            ck_assert_int_eq(offsets[i], expected);
        }
        ck_assert_int_eq(offsets[count], 0x5555555555555555);
    }
}

TEST(wide_to_half_is_one_rounding)
{
    struct ulp_tensor in, half, one = {0};
    mpfr_t x;
    ck_ok(ulp_tensor_create(&in, ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, 128, 1, (int64_t[]){1}, &why));
    ulp_record_begin(x, in.data, 128);
    mpfr_set_ui_2exp(x, 1, -80, MPFR_RNDN);
    mpfr_add_d(x, x, 1 + 0x1p-11, MPFR_RNDN);
    ulp_record_close(in.data, x);
    convert_one(ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, "fp16", &in, &half);
    ck_assert(ulp_tensor_get(&half, 0) == 1 + 0x1p-10);
    convert_one(ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, "fp64", &in, &one);
    ck_assert(ulp_tensor_get(&one, 0) == 1 + 0x1p-11);
    ulp_tensor_free(&one);
    /* Below double's range: 2^-2000 rounds to zero, upward it would be the smallest subnormal. */
    ulp_record_begin(x, in.data, 128);
    mpfr_set_si_2exp(x, -1, -2000, MPFR_RNDN);
    ulp_record_close(in.data, x);
    ulp_tensor_free(&half);
    convert_one(ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, "fp16", &in, &half);
    ck_assert(ulp_tensor_get(&half, 0) == 0 && signbit(ulp_tensor_get(&half, 0)));
    ulp_tensor_free(&half);
    ulp_tensor_free(&in);
}

TEST(big_integers_round_once)
{
    struct ulp_tensor in, out;
    /* 2^62 + 2^38 is the tie between FP32 neighbours 2^62 and 2^62 + 2^39; one more goes up, though
     * double cannot hold it. */
    ck_ok(ulp_tensor_create(&in, ULP_TYPE_INT64, ULP_ELEMENT_COUNT, 0, 1, (int64_t[]){3}, &why));
    int64_t *v = in.data;
    v[0] = (INT64_C(1) << 62) + (INT64_C(1) << 38);
    v[1] = v[0] + 1;
    v[2] = INT64_MIN;
    convert_one(ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, "fp32", &in, &out);
    ck_assert(ulp_tensor_get(&out, 0) == 0x1p62);
    ck_assert(ulp_tensor_get(&out, 1) == 0x1p62 + 0x1p39);
    ck_assert(ulp_tensor_get(&out, 2) == -0x1p63);
    ulp_tensor_free(&out);
    convert_one(ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, 128, NULL, &in, &out);
    mpfr_t x;
    ulp_record_open_const(x, ulp_record_at_const(out.data, 1, 128), 128);
    ck_assert_int_eq(mpfr_cmp_si(x, v[1]), 0);
    ulp_tensor_free(&out);
    ulp_tensor_free(&in);
}

TEST(floats_to_integers_saturate)
{
    struct ulp_tensor in, out;
    const double values[] = {1.9, -1.9, NAN,  INFINITY, -INFINITY,
                             3e9, 300,  -0.5, 0x1p63,   9007199254740993.0 * 4};
    ck_ok(ulp_tensor_create(&in, ULP_TYPE_DOUBLE, ULP_ELEMENT_COUNT, 0, 1, (int64_t[]){10}, &why));
    memcpy(in.data, values, sizeof values);
    static const struct {
        enum ulp_type type;
        int64_t expected[10];
    } rows[] = {
        {ULP_TYPE_INT32, {1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, 300, 0, INT32_MAX, INT32_MAX}},
        {ULP_TYPE_UINT8, {1, 0, 0, 255, 0, 255, 255, 0, 255, 255}},
        {ULP_TYPE_INT64,
         {1, -1, 0, INT64_MAX, INT64_MIN, 3000000000, 300, 0, INT64_MAX, 36028797018963968}},
        {ULP_TYPE_INT4, {1, -1, 0, 7, -8, 7, 7, 0, 7, 7}},
        {ULP_TYPE_BOOL, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        convert_one(rows[r].type, ULP_ELEMENT_COUNT, 0, NULL, &in, &out);
        for (size_t i = 0; i < 10; i++)
            ck_assert_msg(ulp_tensor_get_int(&out, i) == rows[r].expected[i], "%s[%zu]: %lld",
                          ulp_type_name(rows[r].type), i, (long long)ulp_tensor_get_int(&out, i));
        ulp_tensor_free(&out);
    }
    ulp_tensor_free(&in);
}

/* FP32 is moved by the draw of its place, one uniform number each, in every instruction set. */
TEST(floats_are_moved_by_their_draws)
{
    const size_t count = 1003; /* no whole number of blocks */
    const uint64_t seed = 5, key = seed ^ ulp_hash("w", 1);
    scoped_tensor in = {0}, out = {0};
    ck_ok(ulp_tensor_create(&in, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1,
                            (int64_t[]){(int64_t)count}, &why));
    float *x = in.data;
    for (size_t i = 0; i < count; i++)
        x[i] = i % 7 == 5   ? FLT_MAX
               : i % 7 == 6 ? -0.0F
                            : (float)ldexp((double)i + 0.3, (int)(i % 280) - 150);
    ck_ok(ulp_tensor_perturb(&out, &in, 11, seed, "w", NULL, &why));
    for (size_t i = 0; i < count; i++) {
        const double u = ulp_random_uniform(key, i), change = 0x1p-9 * (2 * u - 1);
        const float moved = (float)((double)x[i] * (1 + change)),
                    expected = isfinite(moved) ? moved : x[i], got = ((float *)out.data)[i];
        ck_expect(memcmp(&got, &expected, sizeof got) == 0, "%zu: %a is %a, not %a", i, x[i], got,
                  expected);
    }
}

/* Every element moves, by no more than the bound, on the type's own grid; whole numbers and numbers
 * that are none stay, and so does a tensor of whole numbers. */
TEST(perturbed_tensors_are_close)
{
    static const struct {
        enum ulp_type type;
        int precision;
        double most;
    } rows[] = {{ULP_TYPE_FLOAT, 24, 0x1p-22},  {ULP_TYPE_FLOAT, 11, 0x1p-9},
                {ULP_TYPE_DOUBLE, 53, 0x1p-51}, {ULP_TYPE_FLOAT16, 24, 0x1p-9},
                {ULP_TYPE_FLOAT, 4, 0x1p-3},    {ULP_TYPE_FLOAT16, 8, 0x1p-6}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        scoped_tensor in = {0}, out = {0}, again = {0}, other = {0};
        size_t moved = 0;
        ck_ok(
            ulp_tensor_create(&in, rows[r].type, ULP_ELEMENT_COUNT, 0, 1, (int64_t[]){1000}, &why));
        for (size_t i = 0; i < in.count; i++)
            if (in.element == ULP_ELEMENT_F32)
                ((float *)in.data)[i] = i == 7   ? INFINITY
                                        : i == 9 ? NAN
                                                 : 1.5f + (float)i * 0x1p-10f;
            else
                ((double *)in.data)[i] = i == 7 ? INFINITY : 1.5 + (double)i * 0x1p-10;
        ck_ok(ulp_tensor_perturb(&out, &in, rows[r].precision, 3, "w", NULL, &why));
        ck_ok(ulp_tensor_perturb(&again, &in, rows[r].precision, 3, "w", NULL, &why));
        ck_ok(ulp_tensor_perturb(&other, &in, rows[r].precision, 4, "w", NULL, &why));
        ck_assert_int_eq(memcmp(out.data, again.data, out.count * out.element_bytes), 0);
        ck_assert_int_ne(memcmp(out.data, other.data, out.count * out.element_bytes), 0);
        for (size_t i = 0; i < in.count; i++) {
            const double x = ulp_tensor_get(&in, i), y = ulp_tensor_get(&out, i);
            const struct ulp_format format = test_format(ulp_type_rows[in.type].format);
            /* the change itself, and half an ulp by which its result is rounded */
            ck_expect(!(isfinite(x)) ||
                          fabs(y - x) <= rows[r].most * x + ulp_format_ulp(&format, x) / 2,
                      "%g became %g", x, y);
            ck_expect(ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, y, 0, 0) == y ||
                          (isnan(x) && isnan(y)),
                      "%a is no %s", y, format.name);
            moved += x != y;
        }
        ck_assert_uint_gt(moved, 700);
    }
    struct ulp_tensor whole, view;
    float counts[] = {-2, 0, 3};
    ck_ok(
        ulp_tensor_describe(&whole, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1, (int64_t[]){3}, &why));
    whole.data = counts;
    ck_ok(ulp_tensor_perturb(&view, &whole, 24, 1, "w", NULL, &why));
    ck_assert_ptr_eq(view.data, counts);
    ck_assert(!view.owned);
}

/* onnxconverter-common's convert_np_to_float16 written again: its bounds in FP32, signs kept. */
static float converter_value(float x)
{
    if (0 < x && x < 1e-7f)
        return 1e-7f;
    if (-1e-7f < x && x < 0)
        return -1e-7f;
    if (1e4f < x && x < INFINITY)
        return 1e4f;
    return -INFINITY < x && x < -1e4f ? -1e4f : x;
}

TEST(constants_are_lowered_by_rule)
{
    static const float x[] = {0,     -0.0f,    1.5f,      65504,    65505,     -65519.9f,
                              65520, 1e5f,     -3.4e38f,  5e-8f,    -5.97e-8f, 2.98e-8f,
                              2e-8f, -1e-40f,  1e4f,      10001,    2e4f,      -9e-8f,
                              1e-7f, INFINITY, -INFINITY, 0x1p-24f, 0x1p-25f,  NAN};
    enum { COUNT = sizeof x / sizeof *x };
    const int64_t dims[] = {COUNT};
    struct ulp_tensor in, out;
    const struct ulp_format fp16 = test_format("fp16");
    ck_ok(ulp_tensor_create(&in, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, &why));
    memcpy(in.data, x, sizeof x);
    struct ulp_magnitudes known = {.of = NULL};
    const int rules = ULP_CONSTANTS_ONNXCONVERTER + 1;
    for (int pass = ULP_CONSTANTS_SATURATED; pass < 2 * rules; pass++) {
        const int rule = pass % rules;
        size_t overflowed = 0, underflowed = 0;
        ck_ok(ulp_tensor_lower(&out, &in, &fp16, (enum ulp_constants)rule,
                               pass < rules ? NULL : &known, NULL, &why));
        for (size_t i = 0; i < COUNT; i++) {
            const bool finite = isfinite(x[i]);
            const float magnitude = fabsf(x[i]),
                        high = rule == ULP_CONSTANTS_ONNXCONVERTER ? 1e4f : 65504;
            float expected = x[i];
            overflowed += finite && magnitude > high;
            if (rule == ULP_CONSTANTS_ONNXCONVERTER) {
                expected = converter_value(x[i]);
                underflowed += x[i] != 0 && magnitude < 1e-7f;
            } else if (rule != ULP_CONSTANTS_IEEE && finite && magnitude > 65504) {
                expected = copysignf(65504, x[i]);
            } else if (rule == ULP_CONSTANTS_TENSORRT && x[i] != 0 && magnitude < 0x1p-24f) {
                expected = copysignf(0x1p-24f, x[i]);
            }
            if (rule == ULP_CONSTANTS_TENSORRT)
                underflowed += x[i] != 0 && magnitude < 0x1p-24f;
            else if (rule != ULP_CONSTANTS_ONNXCONVERTER)
                underflowed += x[i] != 0 && magnitude <= 0x1p-25f; /* a tie goes to zero */
            ck_assert_msg(memcmp(&((float *)out.data)[i], &expected, sizeof expected) == 0,
                          "rule %d: %g becomes %g, expected %g", rule, (double)x[i],
                          (double)((float *)out.data)[i], (double)expected);
        }
        const struct ulp_lowered counts =
            ulp_tensor_count_lowered(&in, &fp16, (enum ulp_constants)rule, ULP_ROUND_NEAREST_EVEN);
        ck_assert_uint_eq(counts.overflowed, overflowed);
        ck_assert_uint_eq(counts.underflowed, underflowed);
        ck_assert(counts.largest == (double)3.4e38f);
        ulp_tensor_free(&out);
    }
    ck_assert_ptr_eq(known.of, &in);
    ck_assert(known.least == (double)1e-40f && known.largest == (double)3.4e38f);
    ulp_tensor_free(&in);
}

/* Nothing is copied where the storage holds every value of the type. */
TEST(constants_that_fit_stay)
{
    const int64_t dims[] = {2};
    static const char *const formats[] = {"fp32", "fp64", "mpfr:128"};
    struct ulp_tensor in, out;
    ck_ok(ulp_tensor_create(&in, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, &why));
    memcpy(in.data, (const float[]){3.4e38f, 1e-45f}, 2 * sizeof(float));
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        const struct ulp_format format = test_format(formats[f]);
        ck_ok(ulp_tensor_lower(&out, &in, &format, ULP_CONSTANTS_TENSORRT, NULL, NULL, &why));
        ck_assert_ptr_eq(out.data, in.data);
        ck_assert(!out.owned);
    }
    ulp_tensor_free(&in);
}

/* Every code, by the definition of the type (ulp_float_decode) one by one, in runs of any length
 * and place, as an element, and converted. */
TEST(stored_floats_are_their_codes)
{
    static const enum ulp_type types[] = {ULP_TYPE_FLOAT16,      ULP_TYPE_BFLOAT16,
                                          ULP_TYPE_FLOAT8E4M3FN, ULP_TYPE_FLOAT8E4M3FNUZ,
                                          ULP_TYPE_FLOAT8E5M2,   ULP_TYPE_FLOAT8E5M2FNUZ,
                                          ULP_TYPE_FLOAT8E8M0};
    static unsigned char raw[1 + 2 * 65536];
    static float wanted[65536], got[65536];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const size_t bytes = (size_t)ulp_type_rows[types[t]].file_bits / 8,
                     count = (size_t)1 << 8 * bytes;
        struct ulp_tensor stored, copy;
        for (size_t i = 0; i < count; i++) {
            raw[1 + bytes * i] = (unsigned char)i;
            if (bytes == 2)
                raw[2 + 2 * i] = (unsigned char)(i >> 8);
            wanted[i] = ulp_float_decode(types[t], (uint32_t)i);
        }
        ck_ok(ulp_tensor_describe(&stored, types[t], ULP_ELEMENT_STORED, 0, 1,
                                  (int64_t[]){(int64_t)count}, &why));
        stored.data = raw + 1;
        ck_ok(ulp_tensor_in_memory(&copy, &stored, NULL, NULL, &why));
        ck_expect(memcmp(copy.data, wanted, count * sizeof *wanted) == 0, "type %d", (int)types[t]);
        for (size_t first = 0, n = 1; first + n <= count; first += n, n = n * 3 + 1) {
            ulp_floats_read(&stored, first, n, got);
            ck_expect(memcmp(got, wanted + first, n * sizeof *got) == 0, "%zu from %zu", n, first);
        }
        for (size_t i = 0; i < count; i++) {
            const double x = ulp_tensor_get(&stored, i), y = (double)wanted[i];
            ck_expect(isnan(x) ? isnan(y) : x == y, "code %zu: %g, expected %g", i, x, y);
        }
        ulp_tensor_free(&copy);
    }
}

/* Codes of 4 and 2 bits by their definition, at any place of a byte, as elements and in memory. */
TEST(packed_integers_are_their_codes)
{
    static const enum ulp_type types[] = {ULP_TYPE_INT4, ULP_TYPE_UINT4, ULP_TYPE_INT2,
                                          ULP_TYPE_UINT2};
    unsigned char raw[1 + 256];
    for (int i = 0; i < 256; i++)
        raw[1 + i] = (unsigned char)(i * 37 + 11); /* every byte once */
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const bool four = t < 2, is_signed = t % 2 == 0;
        const int codes = four ? 16 : 4, per_byte = four ? 2 : 4;
        const size_t count = 256 * (size_t)per_byte - 1;
        struct ulp_tensor packed, copy;
        ck_ok(ulp_tensor_describe(&packed, types[t], ULP_ELEMENT_PACKED, 0, 1,
                                  (int64_t[]){(int64_t)count}, &why));
        packed.data = raw + 1;
        ck_expect(ulp_tensor_bytes(&packed) == 256, "%zu bytes", ulp_tensor_bytes(&packed));
        ck_ok(ulp_tensor_in_memory(&copy, &packed, NULL, NULL, &why));
        for (size_t i = 0; i < count; i++) {
            int wanted = raw[1 + i / (size_t)per_byte];
            for (size_t skip = i % (size_t)per_byte; skip > 0; skip--)
                wanted /= codes;
            wanted %= codes;
            wanted -= is_signed && wanted >= codes / 2 ? codes : 0;
            const int64_t got = ulp_tensor_get_int(&packed, i),
                          inside = ulp_tensor_get_int(&copy, i);
            ck_expect(got == wanted && inside == wanted, "type %d, code %zu: %d and %d, not %d",
                      (int)types[t], i, (int)got, (int)inside, wanted);
            ck_expect(ulp_tensor_get(&packed, i) == wanted, "%g", ulp_tensor_get(&packed, i));
        }
        ulp_tensor_free(&copy);
    }
}

TEST_SUITE("tensor", 60)
