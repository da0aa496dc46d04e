/* Strips: one table-driven conformance test over arithmetics x primitives against the oracle, in
 * place too. */
#include "number/mpfr_record.h"
#include "number/round/round.h"
#include "strip_oracle.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define STRIP_BYTES (ULP_STRIP * (sizeof(struct ulp_record) + 64))

/* Arithmetic names; those whose functions go through MPFR one by one get fewer elements. */
#define CASES "strip.cases"

/* One operand strip of each position, and the same values for the oracle. */
struct operands {
    _Alignas(16) unsigned char strips[3][STRIP_BYTES];
    mpfr_t values[3][ULP_STRIP];
};
static struct operands operands;
static _Alignas(16) unsigned char result[STRIP_BYTES], again[STRIP_BYTES];

static void make_operands(const struct ulp_strip_rule *rule, uint64_t *state, size_t n)
{
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < n; i++)
            mpfr_init2(operands.values[k][i],
                       rule->carrier == ULP_STRIP_MPFR ? rule->precision : 53);
    for (size_t i = 0; i < n; i++) {
        mpfr_ptr a = operands.values[0][i], b = operands.values[1][i], c = operands.values[2][i];
        /* Every pair of specials when there is room, in an order that starts with one of each. */
        const unsigned u = (unsigned)i;
        oracle_operand(a, &rule->format, state,
                       u < 2 * ORACLE_SPECIALS ? u % ORACLE_SPECIALS : ORACLE_SPECIALS);
        oracle_operand(b, &rule->format, state,
                       u < 2 * ORACLE_SPECIALS ? (u * 7 + u / ORACLE_SPECIALS) % ORACLE_SPECIALS
                                               : ORACLE_SPECIALS);
        oracle_operand(c, &rule->format, state,
                       u < ORACLE_SPECIALS ? (u * 5) % ORACLE_SPECIALS : ORACLE_SPECIALS);
        if (i % 8 == 5) { /* near cancellation; into the format, which may have no -0 */
            mpfr_neg(b, a, MPFR_RNDN);
            ulp_round_mpfr(&rule->format, ULP_ROUND_NEAREST_EVEN, b, b, 0, 0, 0);
        }
        if (i % 8 == 6) {
            mpfr_mul(c, a, b, MPFR_RNDN);
            mpfr_neg(c, c, MPFR_RNDN);
            ulp_round_mpfr(&rule->format, ULP_ROUND_NEAREST_EVEN, c, c, 0, 0, 0);
        }
        for (int k = 0; k < 3; k++)
            strip_put(rule, operands.strips[k], i, operands.values[k][i]);
    }
}

static void free_operands(size_t n)
{
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < n; i++)
            mpfr_clear(operands.values[k][i]);
}

static void check_primitive(const char *name, const struct ulp_strip_rule *rule,
                            enum ulp_primitive primitive, size_t n)
{
    const struct ulp_strip_place place = {77, 1000};
    const int arity = ulp_primitive_rows[primitive].arity;
    ulp_strip_fn *run = ulp_strip_tables[rule->carrier]->primitive[primitive];
    const void *a = operands.strips[0], *b = arity > 1 ? operands.strips[1] : NULL,
               *c = arity > 2 ? operands.strips[2] : NULL;
    run(rule, result, a, b, c, n, place);
    scoped_mpfr exact, want, got;
    mpfr_init2(exact, oracle_precision(primitive));
    mpfr_inits2(rule->carrier == ULP_STRIP_MPFR ? rule->precision : 53, want, got, (mpfr_ptr)0);
    for (size_t i = 0; i < n; i++) {
        oracle_compute(primitive, exact, operands.values[0][i], operands.values[1][i],
                       operands.values[2][i]);
        oracle_round(rule, want, exact, place.stream, place.first + i);
        strip_get(rule, result, i, got);
        if (!oracle_same(got, want)) {
            char text[1024];
            mpfr_snprintf(text, sizeof text, "%s: %s(%Ra, %Ra, %Ra) = %Ra, expected %Ra", name,
                          ulp_primitive_rows[primitive].name, operands.values[0][i],
                          operands.values[1][i], operands.values[2][i], got, want);
            ck_abort_msg("%s", text);
        }
    }
    /* In place, over each operand; and with one operand in every position. */
    const size_t bytes = n * ulp_strip_element_bytes(rule->carrier, rule->precision);
    for (int k = 0; k < arity; k++) {
        const void *in[3] = {a, b, c};
        memcpy(again, in[k], bytes);
        in[k] = again;
        run(rule, again, in[0], in[1], in[2], n, place);
        for (size_t i = 0; i < n; i++) {
            strip_get(rule, result, i, want);
            strip_get(rule, again, i, got);
            if (!oracle_same(got, want))
                ck_abort_msg("%s: %s in place of operand %d differs at %zu", name,
                             ulp_primitive_rows[primitive].name, k, i);
        }
    }
    if (arity > 1) {
        run(rule, result, a, a, arity > 2 ? a : NULL, n, place);
        memcpy(again, a, bytes);
        run(rule, again, again, again, arity > 2 ? again : NULL, n, place);
        for (size_t i = 0; i < n; i++) {
            strip_get(rule, result, i, want);
            strip_get(rule, again, i, got);
            if (!oracle_same(got, want))
                ck_abort_msg("%s: %s over one strip differs at %zu", name,
                             ulp_primitive_rows[primitive].name, i);
        }
    }
}

TEST_LOOP(every_primitive_rounds_once, 0, text_case_count(CASES))
{
    const char *name = text_case(CASES, (size_t)_i, "", 0);
    const struct ulp_strip_rule rule = oracle_rule(name);
    uint64_t state = (uint64_t)_i;
    const int rounds = test_long() ? 40 : 1;
    for (int round = 0; round < rounds; round++) {
        make_operands(&rule, &state, ULP_STRIP);
        for (int p = 0; p < ULP_PRIMITIVE_COUNT; p++) {
            const bool function =
                oracle_precision((enum ulp_primitive)p) == ORACLE_FUNCTION_PRECISION;
            if (ulp_strip_tables[rule.carrier]->primitive[p] &&
                test_takes((uint64_t)(p + _i), ULP_PRIMITIVE_COUNT))
                check_primitive(name, &rule, (enum ulp_primitive)p,
                                function && p != ULP_PRIMITIVE_DIV && p != ULP_PRIMITIVE_SQRT &&
                                        !test_long()
                                    ? 96
                                    : ULP_STRIP);
        }
        free_operands(ULP_STRIP);
    }
}

TEST(tables_have_every_meaning)
{
    static const enum ulp_primitive only_integer[] = {
        ULP_PRIMITIVE_BIT_AND, ULP_PRIMITIVE_BIT_OR,     ULP_PRIMITIVE_BIT_XOR,
        ULP_PRIMITIVE_BIT_NOT, ULP_PRIMITIVE_SHIFT_LEFT, ULP_PRIMITIVE_SHIFT_RIGHT};
    for (int carrier = ULP_STRIP_FLOAT; carrier <= ULP_STRIP_MPFR; carrier++)
        for (int p = 0; p < ULP_PRIMITIVE_COUNT; p++) {
            bool integer = false;
            for (size_t k = 0; k < sizeof only_integer / sizeof only_integer[0]; k++)
                integer |= p == (int)only_integer[k];
            if ((ulp_strip_tables[carrier]->primitive[p] == NULL) != integer)
                ck_abort_msg("carrier %d, %s", carrier, ulp_primitive_rows[p].name);
        }
    for (int p = 0; p < ULP_PRIMITIVE_COUNT; p++)
        ck_assert_int_eq(ulp_strip_tables[ULP_STRIP_INT64]->primitive[p] == NULL,
                         ulp_strip_tables[ULP_STRIP_UINT64]->primitive[p] == NULL);
}

/* The carrier each arithmetic is computed in: the proofs in number/README.md name these. */
TEST(carriers_are_the_cheapest_exact_ones)
{
    static const struct {
        const char *name;
        enum ulp_strip_carrier carrier;
        bool each_step;
    } rows[] = {
        {"fp32", ULP_STRIP_FLOAT, false},
        {"fp16", ULP_STRIP_FLOAT, false},
        {"fp16-strict", ULP_STRIP_FLOAT, true},
        {"bf16-strict", ULP_STRIP_DOUBLE, true},
        {"tf32-strict", ULP_STRIP_DOUBLE, true},
        {"e7m10", ULP_STRIP_FLOAT, true},
        {"e8m10", ULP_STRIP_DOUBLE, true},
        {"e5m11", ULP_STRIP_DOUBLE, true},
        {"e8m50", ULP_STRIP_DOUBLE, true},
        {"fp32,round=rz", ULP_STRIP_DOUBLE, true},
        {"fp64", ULP_STRIP_DOUBLE, false},
        {"fp64,round=rz", ULP_STRIP_MPFR, true},
        {"e11m51", ULP_STRIP_MPFR, true},
        {"mpfr:128", ULP_STRIP_MPFR, false},
        {"fp32,each-step,subnormals=flush", ULP_STRIP_DOUBLE, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ulp_strip_rule rule = oracle_rule(rows[i].name);
        if (rule.carrier != rows[i].carrier || rule.each_step != rows[i].each_step)
            ck_abort_msg("%s: carrier %d, each step %d", rows[i].name, rule.carrier,
                         rule.each_step);
    }
}

TEST_SUITE("strips", 1200)
