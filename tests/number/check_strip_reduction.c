/* Reductions against their definition, level by level, with every step rounded by the oracle;
 * independence of how the elements are cut into strips. Integers against 128-bit arithmetic. */
#include "strip_oracle.h"
#include "tests/support/test.h"

#define COUNT 700
#define RECORD_BYTES 48

static const char *const arithmetics[] = {"fp32",
                                          "fp16-strict",
                                          "bf16-strict",
                                          "fp64",
                                          "fp32,round=rz",
                                          "fp8-e4m3-strict",
                                          "mpfr:128",
                                          "fp64,round=ru",
                                          "fp32,round=sr,seed=8",
                                          "fp16-strict,round=sr"};
enum { ARITHMETICS = sizeof arithmetics / sizeof arithmetics[0], DETERMINISTIC = 8 };

static mpfr_t tree[COUNT];
static _Alignas(16) unsigned char strip[COUNT * RECORD_BYTES], out[RECORD_BYTES];

/* *a = a step b. */
static void step(const struct ulp_strip_rule *rule, enum ulp_reduction kind, mpfr_t a,
                 const mpfr_t b)
{
    static const enum ulp_primitive primitive[] = {ULP_PRIMITIVE_ADD, ULP_PRIMITIVE_MAX,
                                                   ULP_PRIMITIVE_MIN, ULP_PRIMITIVE_MUL};
    scoped_mpfr exact;
    mpfr_init2(exact, ORACLE_PRECISION);
    oracle_compute(primitive[kind], exact, a, b, b);
    oracle_round(rule, a, exact, 0, 0);
}

/* The definition: tree[0] becomes the result. */
static void fold_sequentially(const struct ulp_strip_rule *rule, enum ulp_reduction kind,
                              size_t first, size_t n)
{
    for (size_t i = 1; i < n; i++)
        step(rule, kind, tree[first], tree[first + i]);
}
static void fold_pairwise(const struct ulp_strip_rule *rule, enum ulp_reduction kind, size_t n)
{
    for (; n > 1; n = (n + 1) / 2)
        for (size_t i = 0; 2 * i < n; i++) {
            mpfr_set(tree[i], tree[2 * i], MPFR_RNDN);
            if (2 * i + 1 < n)
                step(rule, kind, tree[i], tree[2 * i + 1]);
        }
}
static void fold_blocked(const struct ulp_strip_rule *rule, enum ulp_reduction kind, size_t n,
                         size_t block)
{
    size_t blocks = 0;
    for (size_t first = 0; first < n; first += block, blocks++) {
        fold_sequentially(rule, kind, first, n - first < block ? n - first : block);
        mpfr_set(tree[blocks], tree[first], MPFR_RNDN);
    }
    fold_sequentially(rule, kind, 0, blocks);
}

/* Parts of every parts-th element; neighbouring groups of parts; halves. */
static void fold_parts(const struct ulp_strip_rule *rule, enum ulp_reduction kind, size_t n,
                       size_t parts, size_t group)
{
    for (size_t i = parts; i < n; i++)
        step(rule, kind, tree[i % parts], tree[i]);
    for (size_t i = 0; i < parts && i < n; i++)
        if (i % group)
            step(rule, kind, tree[i - i % group], tree[i]);
    for (size_t half = parts / group / 2; half; half /= 2)
        for (size_t t = 0; t < half; t++)
            if ((t + half) * group < n)
                step(rule, kind, tree[t * group], tree[(t + half) * group]);
}

/* n elements in strips of random lengths up to `longest`. */
static void run_fold(const struct ulp_strip_rule *rule, enum ulp_reduction kind,
                     enum ulp_order order, int block, size_t n, size_t longest, uint64_t *state,
                     void *result)
{
    const size_t step_bytes = ulp_strip_element_bytes(rule->carrier, rule->precision);
    const struct ulp_reduction_order how = {.order = order,
                                            .block = block,
                                            .parts = block,
                                            .group = block / 8 ? 8 : 1};
    SCOPED_MEMORY struct ulp_reduction_state *reduction = calloc(1, ulp_reduction_bytes(rule, how));
    ck_assert_ptr_nonnull(reduction);
    ulp_reduction_begin(reduction, rule, kind, how);
    for (size_t i = 0; i < n;) {
        size_t length = longest == ULP_STRIP ? longest : 1 + oracle_random(state) % longest;
        length = length < n - i ? length : n - i;
        ulp_reduction_add(reduction, strip + i * step_bytes, length,
                          (struct ulp_strip_place){4, 1000 + i});
        i += length;
    }
    ulp_reduction_end(reduction, result);
}

static void make_values(const struct ulp_strip_rule *rule, uint64_t *state, size_t n, bool specials)
{
    for (size_t i = 0; i < n; i++) {
        mpfr_init2(tree[i], rule->carrier == ULP_STRIP_MPFR ? rule->precision : 53);
        oracle_operand(tree[i], &rule->format, state, ORACLE_SPECIALS);
        if (mpfr_regular_p(tree[i]) && mpfr_get_exp(tree[i]) > 0)
            mpfr_set_exp(tree[i], 0); /* so that sums stay finite */
        if (specials && i == n / 2)
            oracle_operand(tree[i], &rule->format, state,
                           (unsigned)(oracle_random(state) % ORACLE_SPECIALS));
        strip_put(rule, strip, i, tree[i]);
    }
}
static void free_values(size_t n)
{
    for (size_t i = 0; i < n; i++)
        mpfr_clear(tree[i]);
}

TEST_LOOP(folds_follow_their_definition, 0, DETERMINISTIC)
{
    static const size_t counts[] = {1, 2, 3, 5, 7, 8, 9, 31, 64, 100, 513, 700};
    const struct ulp_strip_rule rule = oracle_rule(arithmetics[_i]);
    uint64_t state = 5;
    scoped_mpfr got;
    mpfr_init2(got, rule.carrier == ULP_STRIP_MPFR ? rule.precision : 53);
    for (int kind = 0; kind < ULP_REDUCTION_COUNT; kind++)
        for (int order = 0; order < 4; order++)
            for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
                const size_t n = counts[k],
                             block = order == ULP_ORDER_WARP ? (size_t)1 << k % 8 : 1 + k % 5 * 8;
                make_values(&rule, &state, n, k % 3 == 1);
                run_fold(&rule, (enum ulp_reduction)kind, (enum ulp_order)order, (int)block, n,
                         k % 2 ? ULP_STRIP : 40, &state, out);
                if (order == ULP_ORDER_SEQUENTIAL)
                    fold_sequentially(&rule, (enum ulp_reduction)kind, 0, n);
                else if (order == ULP_ORDER_PAIRWISE)
                    fold_pairwise(&rule, (enum ulp_reduction)kind, n);
                else if (order == ULP_ORDER_BLOCKED)
                    fold_blocked(&rule, (enum ulp_reduction)kind, n, block);
                else
                    fold_parts(&rule, (enum ulp_reduction)kind, n, block, block / 8 ? 8 : 1);
                strip_get(&rule, out, 0, got);
                if (!oracle_same(got, tree[0]))
                    ck_abort_msg("%s: kind %d, order %d, %zu elements: %g, expected %g",
                                 arithmetics[_i], kind, order, n, mpfr_get_d(got, MPFR_RNDN),
                                 mpfr_get_d(tree[0], MPFR_RNDN));
                free_values(n);
            }
}

TEST_LOOP(folds_do_not_depend_on_the_cuts, 0, ARITHMETICS)
{
    const struct ulp_strip_rule rule = oracle_rule(arithmetics[_i]);
    uint64_t state = 6;
    static _Alignas(16) unsigned char first[RECORD_BYTES];
    make_values(&rule, &state, COUNT, false);
    for (int order = 0; order < 4; order++)
        for (int attempt = 0; attempt < 6; attempt++) {
            static const size_t longest[] = {ULP_STRIP, 1, 3, 64, 100, 511};
            run_fold(&rule, ULP_REDUCTION_SUM, (enum ulp_order)order, 32, COUNT, longest[attempt],
                     &state, attempt ? out : first);
            if (attempt != 0 &&
                memcmp(out, first, ulp_strip_element_bytes(rule.carrier, rule.precision)) != 0)
                ck_abort_msg("%s, order %d, strips of up to %zu", arithmetics[_i], order,
                             longest[attempt]);
        }
    free_values(COUNT);
}

TEST(empty_folds)
{
    static const double neutral[ULP_REDUCTION_COUNT] = {0, -__builtin_inf(), __builtin_inf(), 1};
    for (int a = 0; a < ARITHMETICS; a++)
        for (int kind = 0; kind < ULP_REDUCTION_COUNT; kind++)
            for (int order = 0; order < 4; order++) {
                const struct ulp_strip_rule rule = oracle_rule(arithmetics[a]);
                uint64_t state = 0;
                scoped_mpfr got, want;
                mpfr_inits2(64, got, want, (mpfr_ptr)0);
                mpfr_set_d(want, neutral[kind], MPFR_RNDN);
                oracle_round(&rule, want, want, 0, 0);
                run_fold(&rule, (enum ulp_reduction)kind, (enum ulp_order)order, 4, 0, 1, &state,
                         out);
                strip_get(&rule, out, 0, got);
                if (!oracle_same(got, want))
                    ck_abort_msg("%s, kind %d", arithmetics[a], kind);
            }
    const struct ulp_strip_rule rule = ulp_strip_rule_integer(ULP_TYPE_INT32);
    static const int64_t ends[ULP_REDUCTION_COUNT] = {0, INT32_MIN, INT32_MAX, 1};
    for (int kind = 0; kind < ULP_REDUCTION_COUNT; kind++) {
        int64_t got;
        uint64_t state = 0;
        run_fold(&rule, (enum ulp_reduction)kind, ULP_ORDER_SEQUENTIAL, 0, 0, 1, &state, out);
        memcpy(&got, out, sizeof got);
        ck_assert_int_eq(got, ends[kind]);
    }
}

typedef __int128 wide;

/* The mathematical result, modulo 2^64 when stored. `u` tells how the operands' bits are meant. */
static wide integer_oracle(enum ulp_primitive primitive, bool is_unsigned, uint64_t ua, uint64_t ub,
                           uint64_t uc)
{
    const wide a = is_unsigned ? (wide)ua : (wide)(int64_t)ua,
               b = is_unsigned ? (wide)ub : (wide)(int64_t)ub;
    wide r = 1;
    switch (primitive) {
    case ULP_PRIMITIVE_COPY: return a;
    case ULP_PRIMITIVE_NEG: return -a;
    case ULP_PRIMITIVE_ABS: return a < 0 ? -a : a;
    case ULP_PRIMITIVE_SIGN: return (a > 0) - (a < 0);
    case ULP_PRIMITIVE_NOT: return a == 0;
    case ULP_PRIMITIVE_ADD: return a + b;
    case ULP_PRIMITIVE_SUB: return a - b;
    case ULP_PRIMITIVE_MUL: return (wide)(ua * ub);
    case ULP_PRIMITIVE_FMA: return (wide)(ua * ub + uc);
    case ULP_PRIMITIVE_DIV: return b == 0 ? 0 : a / b;
    case ULP_PRIMITIVE_FMOD: return b == 0 ? 0 : a % b;
    case ULP_PRIMITIVE_MOD: return b == 0 ? 0 : ((a % b) + b) % b;
    case ULP_PRIMITIVE_MIN: return a < b ? a : b;
    case ULP_PRIMITIVE_MAX: return a < b ? b : a;
    case ULP_PRIMITIVE_LESS: return a < b;
    case ULP_PRIMITIVE_LESS_EQUAL: return a <= b;
    case ULP_PRIMITIVE_EQUAL: return a == b;
    case ULP_PRIMITIVE_AND: return a && b;
    case ULP_PRIMITIVE_OR: return a || b;
    case ULP_PRIMITIVE_XOR: return !a != !b;
    case ULP_PRIMITIVE_BIT_AND: return (wide)(ua & ub);
    case ULP_PRIMITIVE_BIT_OR: return (wide)(ua | ub);
    case ULP_PRIMITIVE_BIT_XOR: return (wide)(ua ^ ub);
    case ULP_PRIMITIVE_BIT_NOT: return (wide)~ua;
    case ULP_PRIMITIVE_SHIFT_LEFT: return ub < 64 ? (wide)(ua << ub) : 0;
    case ULP_PRIMITIVE_SHIFT_RIGHT: return ub < 64 ? a >> ub : a < 0 ? -1 : 0;
    case ULP_PRIMITIVE_SELECT: return a != 0 ? (wide)ub : (wide)uc;
    case ULP_PRIMITIVE_POW:
        if (b < 0)
            return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
        for (wide i = 0; i < (b < 4096 ? b : 4096); i++)
            r = (wide)((uint64_t)r * ua);
        return r;
    default: ck_abort_msg("no oracle for %s", ulp_primitive_rows[primitive].name);
    }
    return 0;
}

TEST_LOOP(integers_wrap_and_never_trap, 0, 2)
{
    static const uint64_t specials[] = {0,
                                        1,
                                        2,
                                        3,
                                        7,
                                        63,
                                        64,
                                        65,
                                        UINT64_MAX,
                                        UINT64_MAX - 1,
                                        UINT64_C(1) << 63,
                                        (UINT64_C(1) << 63) - 1,
                                        (UINT64_C(1) << 63) + 1,
                                        UINT32_MAX,
                                        100};
    enum { SPECIALS = sizeof specials / sizeof specials[0] };
    const bool is_unsigned = _i == 1;
    const struct ulp_strip_rule rule =
        ulp_strip_rule_integer(is_unsigned ? ULP_TYPE_UINT64 : ULP_TYPE_INT8);
    uint64_t state = 9, a[ULP_STRIP], b[ULP_STRIP], c[ULP_STRIP], got[ULP_STRIP];
    ck_assert_int_eq(rule.carrier, is_unsigned ? ULP_STRIP_UINT64 : ULP_STRIP_INT64);
    for (size_t i = 0; i < ULP_STRIP; i++) {
        const uint64_t random = oracle_random(&state);
        a[i] = i < SPECIALS * SPECIALS ? specials[i % SPECIALS]
                                       : (uint64_t)((int64_t)oracle_random(&state) >> random % 64);
        b[i] = i < SPECIALS * SPECIALS
                   ? specials[i / SPECIALS]
                   : (uint64_t)((int64_t)oracle_random(&state) >> (random >> 8) % 64);
        c[i] = oracle_random(&state);
    }
    for (int p = 0; p < ULP_PRIMITIVE_COUNT; p++) {
        ulp_strip_fn *run = ulp_strip_tables[rule.carrier]->primitive[p];
        if (!run)
            continue;
        run(&rule, got, a, b, c, ULP_STRIP, (struct ulp_strip_place){0, 0});
        for (size_t i = 0; i < ULP_STRIP; i++) {
            if (p == ULP_PRIMITIVE_POW && (int64_t)b[i] > 4096 && i >= SPECIALS * SPECIALS)
                continue;
            if (p == ULP_PRIMITIVE_POW && (b[i] > 4096 && (is_unsigned || (int64_t)b[i] > 0)) &&
                (a[i] & 1) && a[i] != 1)
                continue; /* the oracle multiplies one by one; even bases are 0 by then */
            const uint64_t want =
                (uint64_t)integer_oracle((enum ulp_primitive)p, is_unsigned, a[i], b[i], c[i]);
            if (got[i] != want)
                ck_abort_msg("%s(%lld, %lld, %lld) = %lld, expected %lld",
                             ulp_primitive_rows[p].name, (long long)a[i], (long long)b[i],
                             (long long)c[i], (long long)got[i], (long long)want);
        }
    }
}

TEST(integers_wrap_to_the_tensors_type)
{
    static const struct {
        enum ulp_type type;
        enum ulp_element element;
        size_t bytes;
        int64_t in, out;
    } rows[] = {
        {ULP_TYPE_INT8, ULP_ELEMENT_I8, 1, 200, -56},
        {ULP_TYPE_UINT8, ULP_ELEMENT_U8, 1, -1, 255},
        {ULP_TYPE_UINT8, ULP_ELEMENT_U8, 1, 256, 0},
        {ULP_TYPE_INT16, ULP_ELEMENT_I16, 2, 40000, -25536},
        {ULP_TYPE_UINT16, ULP_ELEMENT_U16, 2, 65537, 1},
        {ULP_TYPE_INT32, ULP_ELEMENT_I32, 4, INT64_C(1) << 31, INT32_MIN},
        {ULP_TYPE_UINT32, ULP_ELEMENT_U32, 4, -2, 4294967294},
        {ULP_TYPE_INT64, ULP_ELEMENT_I64, 8, INT64_MIN, INT64_MIN},
        {ULP_TYPE_UINT64, ULP_ELEMENT_U64, 8, -1, -1},
        {ULP_TYPE_BOOL, ULP_ELEMENT_BOOL, 1, 256, 1},
        {ULP_TYPE_INT4, ULP_ELEMENT_I8, 1, 9, -7},
        {ULP_TYPE_UINT4, ULP_ELEMENT_U8, 1, 17, 1},
        {ULP_TYPE_INT2, ULP_ELEMENT_I8, 1, 2, -2},
        {ULP_TYPE_UINT2, ULP_ELEMENT_U8, 1, 7, 3},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const struct ulp_strip_rule rule = ulp_strip_rule_integer(rows[k].type);
        uint64_t memory[4] = {0};
        struct ulp_tensor tensor = {.type = rows[k].type,
                                    .element = rows[k].element,
                                    .rank = 1,
                                    .dims = {4},
                                    .count = 4,
                                    .element_bytes = rows[k].bytes,
                                    .data = memory};
        int64_t got = 0;
        const struct ulp_strip_table *table = ulp_strip_tables[rule.carrier];
        table->store(&rule, NULL, &tensor, 3, NULL, 1, &rows[k].in, 1,
                     (struct ulp_strip_place){0, 0});
        table->load(&rule, &got, &tensor, 3, NULL, 1, 1);
        if (got != rows[k].out)
            ck_abort_msg("type %d: %lld stored as %lld, expected %lld", rows[k].type,
                         (long long)rows[k].in, (long long)got, (long long)rows[k].out);
    }
}

TEST(integer_constants_and_float_elements)
{
    const struct ulp_strip_rule rule = ulp_strip_rule_integer(ULP_TYPE_INT64),
                                big = ulp_strip_rule_integer(ULP_TYPE_UINT64);
    int64_t values[8];
    ulp_strip_tables[rule.carrier]->constant(&rule, values, "-9223372036854775807", 8);
    ck_assert_int_eq(values[7], -INT64_MAX);
    ulp_strip_tables[rule.carrier]->constant(&rule, values, "3.9", 1);
    ck_assert_int_eq(values[0], 3);
    ulp_strip_tables[rule.carrier]->constant(&rule, values, "1e30", 1);
    ck_assert_int_eq(values[0], INT64_MAX);
    ulp_strip_tables[big.carrier]->constant(&big, values, "18446744073709551615", 1);
    ck_assert_uint_eq((uint64_t)values[0], UINT64_MAX);
    float floats[3] = {-2.5f, 1e20f, __builtin_nanf("")};
    struct ulp_tensor tensor = {.type = ULP_TYPE_FLOAT,
                                .element = ULP_ELEMENT_F32,
                                .rank = 1,
                                .dims = {3},
                                .count = 3,
                                .element_bytes = 4,
                                .data = floats};
    ulp_strip_tables[rule.carrier]->load(&rule, values, &tensor, 0, NULL, 1, 3);
    ck_assert_int_eq(values[0], -2);
    ck_assert_int_eq(values[1], INT64_MAX);
    ck_assert_int_eq(values[2], 0);
    ulp_strip_tables[rule.carrier]->store(&rule, NULL, &tensor, 1, NULL, 1, values, 1,
                                          (struct ulp_strip_place){0, 0});
    ck_assert(floats[1] == -2);
    ulp_strip_tables[rule.carrier]->spread(&rule, values, values, 1, 8);
    ck_assert_int_eq(values[0], INT64_MAX);
}
