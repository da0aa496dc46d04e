/* Loading, storing, constants and spreading: every element of memory into every carrier and back,
 * with at most one rounding. */
#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "number/round/round.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

#define COUNT 64
#define WIDE_PRECISION 120
#define RECORD_BYTES (sizeof(struct ulp_record) + 32)

static const char *const arithmetics[] = {"fp32",          "fp16-strict",   "bf16-strict",
                                          "fp64",          "fp32,round=rz", "fp32,round=ru",
                                          "fp64,round=rd", "e4m3",          "mpfr:128",
                                          "mpfr:53",       "mpfr:20",       "e11m20"};
enum { ARITHMETICS = sizeof arithmetics / sizeof arithmetics[0] };

static size_t element_bytes(enum ulp_element element)
{
    static const size_t bytes[ULP_ELEMENT_COUNT] = {
        [ULP_ELEMENT_F32] = 4, [ULP_ELEMENT_F64] = 8, [ULP_ELEMENT_PAIR] = 16,
        [ULP_ELEMENT_I8] = 1,  [ULP_ELEMENT_U8] = 1,  [ULP_ELEMENT_I16] = 2,
        [ULP_ELEMENT_U16] = 2, [ULP_ELEMENT_I32] = 4, [ULP_ELEMENT_U32] = 4,
        [ULP_ELEMENT_I64] = 8, [ULP_ELEMENT_U64] = 8, [ULP_ELEMENT_BOOL] = 1,
    };
    return element == ULP_ELEMENT_WIDE ? ulp_record_bytes(WIDE_PRECISION) : bytes[element];
}

static struct ulp_tensor make_tensor(enum ulp_element element, void *data)
{
    return (struct ulp_tensor){.element = element,
                               .precision = element == ULP_ELEMENT_WIDE ? WIDE_PRECISION : 0,
                               .rank = 1,
                               .dims = {COUNT},
                               .count = COUNT,
                               .element_bytes = element_bytes(element),
                               .data = data};
}

static void put_integer(struct ulp_tensor *tensor, size_t i, uint64_t value)
{
    if (tensor->element == ULP_ELEMENT_BOOL)
        value &= 1;
    /* The low bytes of a little or big endian integer of the element's size. */
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    const void *from = tensor->element_bytes == 1   ? (void *)&u8
                       : tensor->element_bytes == 2 ? (void *)&u16
                       : tensor->element_bytes == 4 ? (void *)&u32
                                                    : (void *)&value;
    memcpy((char *)tensor->data + i * tensor->element_bytes, from, tensor->element_bytes);
}

/* Element i, exactly. */
static void get_element(const struct ulp_tensor *tensor, size_t i, mpfr_t x)
{
    switch (tensor->element) {
    case ULP_ELEMENT_F32: mpfr_set_flt(x, ((const float *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_F64: mpfr_set_d(x, ((const double *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_PAIR: {
        const struct ulp_double_pair *pair = (const struct ulp_double_pair *)tensor->data + i;
        ulp_pair_get(x, pair->high, pair->low);
        return;
    }
    case ULP_ELEMENT_WIDE: {
        mpfr_t y;
        ulp_record_open_const(y, ulp_record_at_const(tensor->data, i, WIDE_PRECISION),
                              WIDE_PRECISION);
        mpfr_set(x, y, MPFR_RNDN);
        return;
    }
    case ULP_ELEMENT_I8: mpfr_set_sj(x, ((const int8_t *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_U8: mpfr_set_uj(x, ((const uint8_t *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_I16: mpfr_set_sj(x, ((const int16_t *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_U16: mpfr_set_uj(x, ((const uint16_t *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_I32: mpfr_set_sj(x, ((const int32_t *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_U32: mpfr_set_uj(x, ((const uint32_t *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_I64: mpfr_set_sj(x, ((const int64_t *)tensor->data)[i], MPFR_RNDN); return;
    case ULP_ELEMENT_U64: mpfr_set_uj(x, ((const uint64_t *)tensor->data)[i], MPFR_RNDN); return;
    default: mpfr_set_ui(x, ((const uint8_t *)tensor->data)[i] != 0, MPFR_RNDN);
    }
}

/* Values at which two roundings differ from one: halves of a last place plus or minus a little, in
 * every format's reach. */
static void random_wide(mpfr_t x, uint64_t *state)
{
    static const int places[] = {3, 4, 7, 8, 11, 20, 24, 53, 60};
    const int place = places[oracle_random(state) % 9];
    mpfr_set_ui_2exp(x, 1, -place, MPFR_RNDN);
    mpfr_add_ui(x, x, 1 + oracle_random(state) % 2, MPFR_RNDN);
    if (oracle_random(state) % 2)
        mpfr_nextabove(x);
    else if (oracle_random(state) % 2)
        mpfr_nextbelow(x);
    mpfr_mul_2si(x, x, (long)(oracle_random(state) % 340) - 170, MPFR_RNDN);
    if (oracle_random(state) % 3)
        mpfr_set_exp(x, (long)(oracle_random(state) % 12) - 4);
    if (oracle_random(state) % 2)
        mpfr_neg(x, x, MPFR_RNDN);
}

static void fill_tensor(struct ulp_tensor *tensor, uint64_t *state)
{
    static const double specials[] = {0,         -0.0,     INFINITY, -INFINITY, NAN,   1,
                                      0x1p-1074, 0x1p-149, 65520,    3e38,      -1e300};
    scoped_mpfr x;
    mpfr_init2(x, WIDE_PRECISION);
    for (size_t i = 0; i < COUNT; i++) {
        random_wide(x, state);
        if (i < sizeof specials / sizeof specials[0])
            mpfr_set_d(x, specials[i], MPFR_RNDN);
        else if (i % 5 == 0) /* beside ordinary numbers */
            mpfr_set_zero(x, i % 2 ? -1 : 1);
        if (tensor->element == ULP_ELEMENT_F32)
            ((float *)tensor->data)[i] = mpfr_get_flt(x, MPFR_RNDN);
        else if (tensor->element == ULP_ELEMENT_F64)
            ((double *)tensor->data)[i] = mpfr_get_d(x, MPFR_RNDN);
        else if (tensor->element == ULP_ELEMENT_PAIR) {
            struct ulp_double_pair *pair = (struct ulp_double_pair *)tensor->data + i;
            bool exact;
            if (!ulp_pair_set(pair, x, &exact))
                *pair = (struct ulp_double_pair){mpfr_get_d(x, MPFR_RNDN), 0};
        } else if (tensor->element == ULP_ELEMENT_WIDE) {
            struct ulp_record *record = ulp_record_at(tensor->data, i, WIDE_PRECISION);
            mpfr_t y;
            ulp_record_begin(y, record, WIDE_PRECISION);
            mpfr_set(y, x, MPFR_RNDN);
            ulp_record_close(record, y);
        } else {
            const uint64_t random = oracle_random(state);
            put_integer(tensor, i,
                        i < 4 ? (uint64_t)0 - (i & 1) * ((uint64_t)1 << 63) - (i >> 1)
                              : random >> random % 60);
        }
    }
}

/* Does the rule's carrier hold x? */
static bool carries(const struct ulp_strip_rule *rule, const mpfr_t x)
{
    struct ulp_format format = rule->format;
    if (rule->carrier != ULP_STRIP_MPFR)
        ulp_format_find(rule->carrier == ULP_STRIP_FLOAT ? "fp32" : "fp64", &format, NULL);
    scoped_mpfr y;
    mpfr_init2(y, rule->carrier == ULP_STRIP_MPFR ? rule->precision : 53);
    if (rule->carrier == ULP_STRIP_MPFR)
        mpfr_set(y, x, MPFR_RNDN);
    else
        ulp_round_mpfr(&format, ULP_ROUND_NEAREST_EVEN, y, x, 0, 0, 0);
    const bool same = oracle_same(x, y);
    return same;
}

/* The ways of addressing n elements: contiguous, one repeated, backwards with gaps, through a
 * table. */
struct addressing {
    int64_t base, stride;
    int64_t offsets[COUNT];
    bool table;
};
static void make_addressing(struct addressing *a, int way, uint64_t *state)
{
    *a = (struct addressing){.base = way == 2 ? COUNT - 1 : 0,
                             .stride = way == 0   ? 1
                                       : way == 1 ? 0
                                                  : -1,
                             .table = way == 3};
    for (size_t i = 0; i < COUNT; i++) /* a permutation, so that stores do not collide */
        a->offsets[i] = (int64_t)(i * 29 % COUNT);
    (void)state;
}
static size_t address(const struct addressing *a, size_t i)
{
    return (size_t)(a->base + (a->table ? a->offsets[i] : (int64_t)i * a->stride));
}

static _Alignas(16) unsigned char memory[COUNT * RECORD_BYTES], strip[COUNT * RECORD_BYTES];

TEST_LOOP(loads_are_exact_or_rounded_once, 0, ARITHMETICS)
{
    const struct ulp_strip_rule rule = oracle_rule(arithmetics[_i]);
    uint64_t state = 17;
    scoped_mpfr x, want, got;
    mpfr_init2(x, WIDE_PRECISION);
    mpfr_inits2(rule.carrier == ULP_STRIP_MPFR ? rule.precision : 53, want, got, (mpfr_ptr)0);
    /* what files hold is decoded before strips see it: tests/tensor/check_tensor.c */
    for (int element = 0; element < ULP_ELEMENT_STORED; element++)
        for (int way = 0; way < 4; way++) {
            struct ulp_tensor tensor = make_tensor((enum ulp_element)element, memory);
            struct addressing a;
            fill_tensor(&tensor, &state);
            make_addressing(&a, way, &state);
            ulp_strip_tables[rule.carrier]->load(&rule, strip, &tensor, a.base,
                                                 a.table ? a.offsets : NULL, a.stride, COUNT);
            for (size_t i = 0; i < COUNT; i++) {
                get_element(&tensor, address(&a, i), x);
                if (carries(&rule, x))
                    mpfr_set(want, x, MPFR_RNDN);
                else
                    oracle_round(&rule, want, x, 0, 0);
                strip_get(&rule, strip, i, got);
                if (!oracle_same(got, want)) {
                    char text[512];
                    mpfr_snprintf(text, sizeof text,
                                  "%s: element kind %d, way %d: %Ra loaded as %Ra, expected %Ra",
                                  arithmetics[_i], element, way, x, got, want);
                    ck_abort_msg("%s", text);
                }
            }
        }
}

static const char *const storages[] = {NULL,   "fp32",   "fp16",     "bf16",   "fp8-e4m3",
                                       "fp64", "e11m20", "mpfr:120", "mpfr:30"};

/* Does every value of the format fit the element? */
static bool element_holds(enum ulp_element element, const struct ulp_format *format)
{
    return element == ULP_ELEMENT_WIDE ||
           (element == ULP_ELEMENT_F64 && format->carrier != ULP_CARRIER_MPFR) ||
           format->carrier == ULP_CARRIER_FLOAT;
}

static void check_store(const char *name, const struct ulp_strip_rule *rule,
                        const char *storage_name, enum ulp_element element, int way,
                        uint64_t *state)
{
    struct ulp_format storage;
    if (storage_name)
        ck_ok(ulp_format_find(storage_name, &storage, &why));
    else
        storage = rule->format;
    if (element == ULP_ELEMENT_PAIR) /* check_strip_pair.c */
        return;
    if (!element_holds(element, &storage) || (!storage_name && storage.precision > WIDE_PRECISION))
        return;
    struct ulp_tensor tensor = make_tensor(element, memory);
    struct addressing a;
    scoped_mpfr x, want, got;
    make_addressing(&a, way, state);
    mpfr_init2(x, rule->carrier == ULP_STRIP_MPFR ? rule->precision : 53);
    mpfr_inits2(WIDE_PRECISION, want, got, (mpfr_ptr)0);
    for (size_t i = 0; i < COUNT; i++) {
        oracle_operand(x, &rule->format, state, (unsigned)i);
        strip_put(rule, strip, i, x);
    }
    const struct ulp_strip_place place = {3, 500};
    ulp_strip_tables[rule->carrier]->store(rule, storage_name ? &storage : NULL, &tensor, a.base,
                                           a.table ? a.offsets : NULL, a.stride, strip, COUNT,
                                           place);
    /* way 1: all into one element, the last stays */
    for (size_t i = way == 1 ? COUNT - 1 : 0; i < COUNT; i++) {
        strip_get(rule, strip, i, x);
        if (storage_name)
            ulp_round_mpfr(&storage, rule->rounding, want, x, rule->seed, place.stream,
                           place.first + i);
        else
            mpfr_set(want, x, MPFR_RNDN);
        get_element(&tensor, address(&a, i), got);
        if (!oracle_same(got, want)) {
            char text[512];
            mpfr_snprintf(text, sizeof text,
                          "%s to %s, element kind %d, way %d: %Ra stored as %Ra, expected %Ra",
                          name, storage_name ? storage_name : "itself", (int)element, way, x, got,
                          want);
            ck_abort_msg("%s", text);
        }
    }
}

TEST_LOOP(stores_round_once, 0, ARITHMETICS + 3)
{
    uint64_t state = 23;
    static const char *const more[] = {"fp32,round=sr,seed=4", "fp16-strict,round=sr",
                                       "fp64,round=sr"};
    const char *name = _i < ARITHMETICS ? arithmetics[_i] : more[_i - ARITHMETICS];
    const struct ulp_strip_rule rule = oracle_rule(name);
    for (int element = ULP_ELEMENT_F32; element <= ULP_ELEMENT_WIDE; element++)
        for (size_t k = 0; k < sizeof storages / sizeof storages[0]; k++)
            for (int way = 0; way < 4; way++)
                check_store(name, &rule, storages[k], (enum ulp_element)element, way, &state);
}

TEST(floats_store_as_integers_toward_zero)
{
    static const struct {
        enum ulp_element element;
        enum ulp_type type;
        double in;
        int64_t out;
    } rows[] = {
        {ULP_ELEMENT_I8, ULP_TYPE_INT8, -1.75, -1},
        {ULP_ELEMENT_I8, ULP_TYPE_INT8, 300, 127},
        {ULP_ELEMENT_I8, ULP_TYPE_INT8, -300, -128},
        {ULP_ELEMENT_U8, ULP_TYPE_UINT8, -0.5, 0},
        {ULP_ELEMENT_U8, ULP_TYPE_UINT8, -7, 0},
        {ULP_ELEMENT_U8, ULP_TYPE_UINT8, 255.5, 255},
        {ULP_ELEMENT_U8, ULP_TYPE_UINT8, 256, 255},
        {ULP_ELEMENT_I8, ULP_TYPE_INT4, 9, 7},
        {ULP_ELEMENT_I8, ULP_TYPE_INT4, -9, -8},
        {ULP_ELEMENT_U8, ULP_TYPE_UINT4, 99, 15},
        {ULP_ELEMENT_I16, ULP_TYPE_INT16, 40000, 32767},
        {ULP_ELEMENT_I32, ULP_TYPE_INT32, 0x1p31, INT32_MAX},
        {ULP_ELEMENT_I64, ULP_TYPE_INT64, 0x1p63, INT64_MAX},
        {ULP_ELEMENT_I64, ULP_TYPE_INT64, -0x1p63, INT64_MIN},
        {ULP_ELEMENT_I64, ULP_TYPE_INT64, -INFINITY, INT64_MIN},
        {ULP_ELEMENT_I64, ULP_TYPE_INT64, NAN, 0},
        {ULP_ELEMENT_I64, ULP_TYPE_INT64, 0x1p62, INT64_C(1) << 62},
        {ULP_ELEMENT_U64, ULP_TYPE_UINT64, 0x1p64, -1},
        {ULP_ELEMENT_U64, ULP_TYPE_UINT64, 0x1p63, INT64_MIN},
        {ULP_ELEMENT_U64, ULP_TYPE_UINT64, -1, 0},
        {ULP_ELEMENT_BOOL, ULP_TYPE_BOOL, 0.25, 1},
        {ULP_ELEMENT_BOOL, ULP_TYPE_BOOL, -0.0, 0},
        {ULP_ELEMENT_BOOL, ULP_TYPE_BOOL, NAN, 1},
    };
    static const char *const carriers[] = {"fp32", "fp64", "mpfr:128"};
    for (size_t c = 0; c < 3; c++)
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            const struct ulp_strip_rule rule = oracle_rule(carriers[c]);
            struct ulp_tensor tensor = make_tensor(rows[k].element, memory);
            scoped_mpfr x;
            tensor.type = rows[k].type;
            mpfr_init2(x, 64);
            mpfr_set_d(x, rows[k].in, MPFR_RNDN);
            strip_put(&rule, strip, 0, x);
            ulp_strip_tables[rule.carrier]->store(&rule, NULL, &tensor, 5, NULL, 1, strip, 1,
                                                  (struct ulp_strip_place){0, 0});
            get_element(&tensor, 5, x);
            const int64_t got = rows[k].element == ULP_ELEMENT_U64
                                    ? (int64_t)mpfr_get_uj(x, MPFR_RNDN)
                                    : mpfr_get_sj(x, MPFR_RNDN);
            if (got != rows[k].out)
                ck_abort_msg("%s: %g stored as %lld, expected %lld", carriers[c], rows[k].in,
                             (long long)got, (long long)rows[k].out);
        }
}

TEST_LOOP(constants_round_once, 0, ARITHMETICS)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "0.1",
        "-0.1",
        "1e-5",
        "0.7978845608028654",
        "0.044715",
        "3.4028235677973366e38",
        "1e400",
        "-1e400",
        "1e-400",
        "inf",
        "-inf",
        "nan",
        "pi",
        "0x1.fffffffp+3",
        "-0x1.00000000000008p0",
        "0x1p-1074",
        "65519.99999999999999999",
        "1.000000059604644775390625",
        "1.00000005960464477539062500000000000000000000000000000000000001",
        "448",
        "464.0000001"};
    const struct ulp_strip_rule rule = oracle_rule(arithmetics[_i]);
    scoped_mpfr exact, want, got;
    mpfr_init2(exact, ORACLE_PRECISION);
    mpfr_inits2(rule.carrier == ULP_STRIP_MPFR ? rule.precision : 53, want, got, (mpfr_ptr)0);
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        if (strcmp(texts[k], "pi") == 0)
            mpfr_const_pi(exact, MPFR_RNDN);
        else
            mpfr_set_str(exact, texts[k], 0, MPFR_RNDN);
        oracle_round(&rule, want, exact, 0, 0);
        ulp_strip_tables[rule.carrier]->constant(&rule, strip, texts[k], COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            strip_get(&rule, strip, i, got);
            if (!oracle_same(got, want))
                ck_abort_msg("%s: constant %s at %zu", arithmetics[_i], texts[k], i);
        }
    }
}

TEST_LOOP(spread_repeats_one_element, 0, ARITHMETICS)
{
    const struct ulp_strip_rule rule = oracle_rule(arithmetics[_i]);
    uint64_t state = 3;
    scoped_mpfr x, got;
    mpfr_inits2(rule.carrier == ULP_STRIP_MPFR ? rule.precision : 53, x, got, (mpfr_ptr)0);
    for (size_t i = 0; i < COUNT; i++) {
        oracle_operand(x, &rule.format, &state, ORACLE_SPECIALS);
        strip_put(&rule, memory, i, x);
    }
    strip_get(&rule, memory, 17, x);
    ulp_strip_tables[rule.carrier]->spread(&rule, strip, memory, 17, COUNT);
    ulp_strip_tables[rule.carrier]->spread(&rule, memory, memory, 17, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        strip_get(&rule, strip, i, got);
        ck_assert(oracle_same(got, x));
        strip_get(&rule, memory, i, got);
        ck_assert(oracle_same(got, x));
    }
}
