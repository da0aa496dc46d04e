/* + - * / sqrt, min and max of the MPFR carrier, in portable C and in batches: equal bits to MPFR's
 * at every precision they serve, on operands that provoke trouble, in place too, and that they are
 * taken. ULPSCOPE_TEST_LONG=1: a hundred times as many operands. */
#include <stdio.h>
#include <string.h>

#include "number/mpfr_record.h"
#include "number/fixed/arithmetic.h"
#include "number/fixed/batch.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

#define COUNT 67 /* batches of eight and a rest */
#define RECORD_MAX (sizeof(struct ulp_record) + 16 * sizeof(mp_limb_t))
#define ROUNDS 60

static const enum ulp_primitive primitives[] = {ULP_PRIMITIVE_ADD,  ULP_PRIMITIVE_SUB,
                                                ULP_PRIMITIVE_MUL,  ULP_PRIMITIVE_DIV,
                                                ULP_PRIMITIVE_SQRT, ULP_PRIMITIVE_MIN,
                                                ULP_PRIMITIVE_MAX};
enum { PRIMITIVES = sizeof primitives / sizeof primitives[0] };
static const int precisions[] = {2,   24,  53,  63,  64,  65,  113, 127, 128,
                                 129, 191, 192, 193, 250, 255, 256, 257, 1000};
enum { PRECISIONS = sizeof precisions / sizeof precisions[0] };

struct strips {
    _Alignas(64) unsigned char a[COUNT * RECORD_MAX], b[COUNT * RECORD_MAX],
        out[COUNT * RECORD_MAX], expected[COUNT * RECORD_MAX];
};

/* What a strip's operands are like. */
struct style {
    bool special; /* some are zeros, some infinities or NaN */
    bool zeros;   /* some are zeros */
    /* 0: all alike; 1: some words apart; 2: about the limit of 2^24; 3: at MPFR's own */
    int exponent_kind;
};

static uint64_t draw(uint64_t *state, uint64_t below)
{
    return oracle_random(state) % below;
}

/* A significand in [1/2, 1): random bits, long runs of equal bits, few bits, a power of two, or all
 * ones. */
static void draw_significand(mpfr_t x, uint64_t *state)
{
    const mpfr_prec_t precision = mpfr_get_prec(x);
    const uint64_t kind = draw(state, 6);
    mpz_t bits;
    mpz_init_set_ui(bits, 1);
    for (mpfr_prec_t made = 1; made < precision;) {
        const mpfr_prec_t left = precision - made;
        mpfr_prec_t run = kind < 2 ? 1 : kind < 4 ? 1 + (mpfr_prec_t)draw(state, 70) : left;
        run = run < left ? run : left;
        mpz_mul_2exp(bits, bits, (mp_bitcnt_t)run);
        if (kind == 4 ? true : kind == 5 ? false : draw(state, 2)) {
            mpz_t ones;
            mpz_init_set_ui(ones, 1);
            mpz_mul_2exp(ones, ones, (mp_bitcnt_t)run);
            mpz_sub_ui(ones, ones, 1);
            mpz_ior(bits, bits, ones);
            mpz_clear(ones);
        }
        made += run;
    }
    if (kind == 1) { /* few bits */
        const mp_bitcnt_t cut = (mp_bitcnt_t)draw(state, (uint64_t)precision);
        mpz_tdiv_q_2exp(bits, bits, cut);
    }
    mpfr_set_z(x, bits, MPFR_RNDN);
    mpfr_set_exp(x, 0);
    mpz_clear(bits);
}

static void move(mpfr_t x, int steps)
{
    for (; steps > 0; steps--)
        mpfr_nextabove(x);
    for (; steps < 0; steps++)
        mpfr_nextbelow(x);
}

static void draw_exponent(mpfr_t x, const struct style *style, uint64_t *state)
{
    static const long middles[] = {0, 0, 1 << 24, (1 << 30) - 1}, widths[] = {4, 300, 70, 140};
    const long width = widths[style->exponent_kind];
    long exponent =
        middles[style->exponent_kind] + (long)draw(state, (uint64_t)(2 * width)) - width;
    exponent = exponent > (1 << 30) - 1 ? (1 << 30) - 1 : exponent;
    mpfr_set_exp(x, draw(state, 2) ? exponent : -exponent);
}

/* Operands of the primitive: apart, or near each other, or such that the result is near a tie or a
 * short number. */
static void draw_pair(mpfr_t a, mpfr_t b, enum ulp_primitive primitive, const struct style *style,
                      uint64_t *state)
{
    const mpfr_prec_t precision = mpfr_get_prec(a);
    draw_significand(a, state);
    draw_significand(b, state);
    const uint64_t near = draw(state, 4);
    const int steps = (int)draw(state, 7) - 3;
    if (near < 2 && (primitive == ULP_PRIMITIVE_DIV || primitive == ULP_PRIMITIVE_SQRT)) {
        mpfr_t result;
        mpfr_init2(result, precision + (near ? 1 : 0));
        draw_significand(result, state);
        if (near) /* the middle of two neighbours */
            mpfr_nextabove(result);
        if (primitive == ULP_PRIMITIVE_DIV)
            mpfr_mul(a, b, result, MPFR_RNDN);
        else
            mpfr_sqr(a, result, MPFR_RNDN);
        mpfr_set_exp(a, draw(state, 2) ? 0 : 1);
        move(a, steps);
        mpfr_clear(result);
    } else if (near == 0) {
        mpfr_set(b, a, MPFR_RNDN);
        move(b, steps);
    }
    draw_exponent(a, style, state);
    if (near == 0)
        mpfr_set_exp(b, mpfr_get_exp(a));
    else
        draw_exponent(b, style, state);
    for (int k = 0; k < 2; k++) {
        mpfr_ptr x = k ? b : a;
        const uint64_t special = draw(state, 24);
        if ((style->zeros || style->special) && special < 5)
            mpfr_set_zero(x, 1);
        if (style->special && special == 5)
            mpfr_set_inf(x, 1);
        if (style->special && special == 6)
            mpfr_set_nan(x);
        mpfr_setsign(x, x,
                     primitive == ULP_PRIMITIVE_SQRT && !style->special ? 0 : (int)draw(state, 2),
                     MPFR_RNDN);
    }
}

static void fill(struct strips *s, enum ulp_primitive primitive, int precision,
                 const struct style *style, uint64_t *state)
{
    for (size_t i = 0; i < COUNT; i++) {
        mpfr_t x, y, z;
        struct ulp_record *const out = ulp_record_at(s->expected, i, precision);
        struct ulp_record *const a = ulp_record_at(s->a, i, precision), *const b = ulp_record_at(
                                                                            s->b, i, precision);
        ulp_record_begin(x, a, precision);
        ulp_record_begin(y, b, precision);
        ulp_record_begin(z, out, precision);
        draw_pair(x, y, primitive, style, state);
        const bool nan = mpfr_nan_p(x) || (primitive != ULP_PRIMITIVE_SQRT && mpfr_nan_p(y));
        switch (primitive) {
        case ULP_PRIMITIVE_ADD: mpfr_add(z, x, y, MPFR_RNDN); break;
        case ULP_PRIMITIVE_SUB: mpfr_sub(z, x, y, MPFR_RNDN); break;
        case ULP_PRIMITIVE_MUL: mpfr_mul(z, x, y, MPFR_RNDN); break;
        case ULP_PRIMITIVE_DIV: mpfr_div(z, x, y, MPFR_RNDN); break;
        case ULP_PRIMITIVE_SQRT: mpfr_sqrt(z, x, MPFR_RNDN); break;
        case ULP_PRIMITIVE_MIN: mpfr_min(z, x, y, MPFR_RNDN); break;
        default: mpfr_max(z, x, y, MPFR_RNDN);
        }
        if (nan)
            mpfr_set_nan(z);
        ulp_record_close(a, x);
        ulp_record_close(b, y);
        ulp_record_close(out, z);
    }
}

static void compare(enum ulp_primitive primitive, int precision, const struct strips *s,
                    const unsigned char *out, size_t i)
{
    const size_t bytes = ulp_record_bytes(precision);
    if (memcmp(out + i * bytes, s->expected + i * bytes, bytes) == 0)
        return;
    mpfr_t x, y, z, w;
    char text[2048];
    ulp_record_open_const(x, ulp_record_at_const(s->a, i, precision), precision);
    ulp_record_open_const(y, ulp_record_at_const(s->b, i, precision), precision);
    ulp_record_open_const(z, ulp_record_at_const(out, i, precision), precision);
    ulp_record_open_const(w, ulp_record_at_const(s->expected, i, precision), precision);
    mpfr_snprintf(text, sizeof text, "%s at %d bits of %Ra (and %Ra): %Ra instead of %Ra",
                  ulp_primitive_rows[primitive].name, precision, x, y, z, w);
    ck_abort_msg("%s", text);
}

/* The function over the strips, past what it leaves to MPFR; how many elements those are. */
static size_t run(ulp_wide_fn *function, enum ulp_primitive primitive, int precision,
                  struct strips *s)
{
    const size_t bytes = ulp_record_bytes(precision);
    size_t left = 0;
    memset(s->out, 0xA5, sizeof s->out);
    for (size_t i = 0; i < COUNT; i++, left++) {
        const size_t first = i;
        i += function(precision, s->out + i * bytes, s->a + i * bytes, s->b + i * bytes, COUNT - i);
        ck_expect(i <= COUNT, "%s counts too far", ulp_primitive_rows[primitive].name);
        for (size_t k = first; k < i; k++)
            compare(primitive, precision, s, s->out, k);
        for (size_t k = i * bytes; k < COUNT * bytes; k++)
            ck_expect(s->out[k] == 0xA5, "%s touches what it leaves",
                      ulp_primitive_rows[primitive].name);
        if (i == COUNT)
            break;
    }
    return left;
}

/* Through the carrier's table, into memory of its own and over its operands. */
static void run_strips(const struct ulp_strip_rule *rule, enum ulp_primitive primitive,
                       struct strips *s)
{
    unsigned char saved[COUNT * RECORD_MAX];
    const size_t size = COUNT * ulp_record_bytes(rule->precision);
    unsigned char *const places[] = {s->out, s->a, s->b};
    for (size_t p = 0; p < 3; p++) {
        memcpy(saved, places[p], size);
        ulp_strip_tables[rule->carrier]->primitive[primitive](rule, places[p], s->a, s->b, NULL,
                                                              COUNT,
                                                              (struct ulp_strip_place){0, 0});
        unsigned char result[COUNT * RECORD_MAX];
        memcpy(result, places[p], size);
        memcpy(places[p], saved, size);
        for (size_t i = 0; i < COUNT; i++)
            compare(primitive, rule->precision, s, result, i);
    }
}

TEST_LOOP(equals_mpfr, 0, PRIMITIVES)
{
    static const struct style styles[] = {
        {.exponent_kind = 0}, {.exponent_kind = 1},
        {.zeros = true},      {.special = true, .exponent_kind = 1},
        {.exponent_kind = 2}, {.special = true, .exponent_kind = 3},
    };
    enum { STYLES = sizeof styles / sizeof styles[0], EASY = 3 };
    const enum ulp_primitive primitive = primitives[_i];
    static struct strips s;
    uint64_t state = 77 + (uint64_t)_i;
    size_t seen = 0, left = 0;
    for (int p = 0; p < PRECISIONS; p++) {
        const int precision = precisions[p];
        char name[32];
        snprintf(name, sizeof name, "mpfr:%d", precision);
        const struct ulp_strip_rule rule = oracle_rule(name);
        ulp_wide_fn *const scalar = ulp_wide_arithmetic(primitive, precision),
                           *const batch = ulp_wide_batch(primitive, precision);
        const int rounds = ROUNDS * (test_long() ? 100 : 1);
        for (int round = 0; round < rounds; round++) {
            const struct style *const style = &styles[round % STYLES];
            if (!test_takes((uint64_t)(round / STYLES), (uint64_t)(rounds / STYLES)))
                continue;
            fill(&s, primitive, precision, style, &state);
            if (scalar)
                run(scalar, primitive, precision, &s);
            if (batch) {
                const size_t refused = run(batch, primitive, precision, &s);
                if (round % STYLES < EASY && !(primitive == ULP_PRIMITIVE_DIV && style->zeros)) {
                    seen += COUNT;
                    left += refused;
                }
            }
            run_strips(&rule, primitive, &s);
        }
    }
    /* Batches decide nearly all; a rest that portable C refuses is fewer than 8 of 67. */
    ck_assert_msg(left * 6 <= seen, "%s: %zu of %zu by MPFR", ulp_primitive_rows[primitive].name,
                  left, seen);
}

TEST_SUITE("wide arithmetic", 3600)
