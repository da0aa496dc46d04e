/* npy against bytes written here by hand. */
#include "base/bits.h"
#include "data/data.h"
#include "npy_file.h"
#include "tests/fuzz/fuzz_load.h"
#include "tests/support/test.h"

static struct ulp_tensor parse_good(struct proto file)
{
    struct ulp_tensor tensor;
    ck_ok(ulp_npy_parse(&tensor, file.data, file.count, NULL, &why));
    proto_free(&file);
    return tensor;
}

/* The bits of a value of the table; FP16 by its definition. */
static uint64_t value_bits(int row, double value)
{
    uint64_t bits = 0;
    if (dtypes[row].type == ULP_TYPE_FLOAT16) {
        int exponent;
        uint64_t sign = signbit(value) ? 0x8000 : 0;
        double m = frexp(fabs(value), &exponent);
        if (isinf(value))
            return sign | 0x7c00;
        return sign | (exponent < -13
                           ? (uint64_t)ldexp(m, exponent + 24)
                           : (uint64_t)(exponent + 14) << 10 | ((uint64_t)ldexp(m, 11) & 0x3ff));
    }
    if (dtypes[row].type == ULP_TYPE_FLOAT) {
        bits = ulp_float_bits((float)value);
    } else if (dtypes[row].type == ULP_TYPE_DOUBLE) {
        memcpy(&bits, &value, sizeof value);
    } else {
        bits = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    }
    return bits;
}

/* A 2 x 3 array in every type, byte order, element order and file version. */
TEST_LOOP(every_dtype_and_order, 0, dtype_count)
{
    for (int variant = 0; variant < 12; variant++) {
        int version = 1 + variant / 4;
        bool big = variant & 1, fortran = variant & 2;
        unsigned char raw[48];
        char literal[100];
        size_t bytes = (size_t)dtypes[_i].bytes;
        for (size_t i = 0; i < 6; i++) {
            uint64_t bits = value_bits(_i, dtypes[_i].values[i]);
            size_t place = fortran ? i % 3 * 2 + i / 3 : i;
            for (size_t b = 0; b < bytes; b++)
                raw[place * bytes + (big ? bytes - 1 - b : b)] = (unsigned char)(bits >> (8 * b));
        }
        snprintf(literal, sizeof literal,
                 "{'descr': '%c%c%d', 'fortran_order': %s, 'shape': (2, 3), }   \n",
                 big          ? '>'
                 : bytes == 1 ? '|'
                              : '<',
                 dtypes[_i].kind, dtypes[_i].bytes, fortran ? "True" : "False");
        scoped_tensor tensor = parse_good(npy(version, literal, raw, 6 * bytes));
        ck_assert_int_eq(tensor.type, dtypes[_i].type);
        ck_assert(tensor.rank == 2 && tensor.dims[0] == 2 && tensor.dims[1] == 3);
        for (size_t i = 0; i < 6; i++)
            ck_assert_msg(ulp_tensor_get(&tensor, i) == dtypes[_i].values[i],
                          "variant %d element %zu: %a", variant, i, ulp_tensor_get(&tensor, i));
    }
}

TEST(header_spellings)
{
    static const struct {
        const char *literal;
        int rank;
        size_t count;
    } good[] = {
        {"{\"shape\":(4,),\"fortran_order\":False,\"descr\":\"|u1\"}", 1, 4},
        {"{'shape': (4L,), 'fortran_order': False, 'descr': 'u1'}\n", 1, 4},
        {"{ 'descr' : '=u1' , 'shape' : ( 2 , 2 ) , 'fortran_order' : True , }", 2, 4},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 4, 1, 1), }", 4, 4},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (0, 4), }", 2, 0},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 0, 1},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        scoped_tensor tensor = parse_good(npy(1, good[i].literal, "\1\2\3\4", good[i].count));
        ck_assert_int_eq(tensor.rank, good[i].rank);
        ck_assert_uint_eq(tensor.count, good[i].count);
    }
}

static const struct {
    int version;
    const char *literal;
    size_t bytes;
    enum ulp_status status;
    const char *text;
} bad_npy[] = {
    {4, "{}", 0, ULP_ERROR_UNSUPPORTED, "npy version 4"},
    {1, "", 0, ULP_ERROR_INPUT, "not a dictionary"},
    {1, "{'descr'", 0, ULP_ERROR_INPUT, "malformed"},
    {1, "{'descr': '<f4'", 0, ULP_ERROR_INPUT, "malformed after 'descr'"},
    {1, "{'descr': '<f4', 'fortran_order': False}", 0, ULP_ERROR_INPUT, "lacks shape"},
    {1, "{'fortran_order': False, 'shape': ()}", 0, ULP_ERROR_INPUT, "lacks descr"},
    {1, "{'descr': '<f4', 'shape': ()}", 0, ULP_ERROR_INPUT, "lacks fortran_order"},
    {1, "{'descr': '<f4', 'fortran_order': None, 'shape': ()}", 4, ULP_ERROR_INPUT,
     "neither True nor False"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': 3}", 4, ULP_ERROR_INPUT, "not a tuple"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4, ULP_ERROR_INPUT,
     "malformed at dimension 0"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", 4, ULP_ERROR_INPUT,
     "malformed at dimension 0"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 99999999999999999999)}", 4,
     ULP_ERROR_INPUT, "too large"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", 4,
     ULP_ERROR_INPUT, "more than memory"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}", 4, ULP_ERROR_INPUT,
     "expected 4398046511104"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7, ULP_ERROR_INPUT,
     "7 bytes of elements"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9, ULP_ERROR_INPUT,
     "9 bytes of elements"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", 4, ULP_ERROR_INPUT,
     "unknown entry 'more'"},
    {1, "{'descr': '|O', 'fortran_order': False, 'shape': ()}", 8, ULP_ERROR_UNSUPPORTED,
     "pickled Python objects"},
    {1, "{'descr': '|V2', 'fortran_order': False, 'shape': ()}", 2, ULP_ERROR_UNSUPPORTED,
     "BF16 and FP8"},
    {1, "{'descr': '<c8', 'fortran_order': False, 'shape': ()}", 8, ULP_ERROR_UNSUPPORTED,
     "dtype '<c8'"},
    {1, "{'descr': '<f16', 'fortran_order': False, 'shape': ()}", 16, ULP_ERROR_UNSUPPORTED,
     "dtype '<f16'"},
    {1, "{'descr': '', 'fortran_order': False, 'shape': ()}", 4, ULP_ERROR_UNSUPPORTED, "dtype ''"},
    {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", 4, ULP_ERROR_UNSUPPORTED,
     "structured"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", 4,
     ULP_ERROR_UNSUPPORTED, "more than 16 dimensions"},
};

TEST_LOOP(bad_headers_are_explained, 0, sizeof bad_npy / sizeof bad_npy[0])
{
    static const char zeros[64];
    struct ulp_tensor tensor;
    struct ulp_error error = {0};
    scoped_proto file = npy(bad_npy[_i].version, bad_npy[_i].literal, zeros, bad_npy[_i].bytes);
    ck_assert_int_eq(ulp_npy_parse(&tensor, file.data, file.count, NULL, &error),
                     bad_npy[_i].status);
    ck_assert_msg(strstr(error.message, bad_npy[_i].text) != NULL, "%s", error.message);
    ck_assert_ptr_null(tensor.data);
}

/* Whatever NaN a processor makes, one pattern is in the file; numbers beside it are as they are. */
TEST(every_nan_is_one)
{
    static const uint32_t singles[] = {0xffc00000, 0x7fc00000, 0x7fa12345, 0xbf800000};
    static const uint64_t doubles[] = {0xfff8000000000000, 0x7ff8000000000000, 0xfff4000000000001,
                                       0x8000000000000001};
    float x[4];
    double y[4];
    memcpy(x, singles, sizeof x);
    memcpy(y, doubles, sizeof y);
    const int64_t dims[] = {4};
    for (int wide = 0; wide < 2; wide++) {
        struct ulp_tensor tensor;
        struct ulp_npy npy;
        ck_ok(ulp_tensor_describe(&tensor, wide ? ULP_TYPE_DOUBLE : ULP_TYPE_FLOAT,
                                  wide ? ULP_ELEMENT_F64 : ULP_ELEMENT_F32, 0, 1, dims, &why));
        tensor.data = wide ? (void *)y : (void *)x;
        ck_ok(ulp_npy_encode(&npy, &tensor, &why));
        const unsigned char *bytes = npy.data;
        ck_assert_uint_eq(npy.data_bytes, wide ? 32 : 16);
        for (size_t i = 0; i < 4; i++) {
            uint64_t bits = 0;
            for (size_t b = 0, n = wide ? 8 : 4; b < n; b++)
                bits |= (uint64_t)bytes[i * n + b] << (8 * b);
            ck_assert_uint_eq(bits, i == 3 ? (wide ? doubles[3] : singles[3])
                                           : (wide ? 0x7ff8000000000000 : 0x7fc00000));
        }
        ulp_npy_free(&npy);
    }
}

/* Every prefix and random damage end in a status; a sanitizer sees the rest. */
TEST(damaged_npy)
{
    static const float elements[6];
    scoped_proto file = npy(1, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }",
                            elements, sizeof elements);
    for (uint64_t seed = 0; seed < test_count(1000, 20000) + file.count; seed++) {
        size_t count = seed;
        SCOPED_MEMORY uint8_t *damaged = NULL;
        scoped_tensor tensor = {0};
        if (seed < file.count && (damaged = malloc(count + 1)))
            memcpy(damaged, file.data, count);
        else
            damaged = fuzz_mutate(file.data, file.count, 2 * seed, &count);
        enum ulp_status status = ulp_npy_parse(&tensor, damaged, count, NULL, NULL);
        ck_assert(status == ULP_OK || status == ULP_ERROR_INPUT || status == ULP_ERROR_UNSUPPORTED);
        ck_assert(seed >= file.count || status != ULP_OK);
    }
}

TEST_SUITE("npy", 60)
