/* Fused runs against their definition, one primitive of the strip tables after the other: every
 * bit, whatever the vectors, the lengths, the rows and the places of the operands. NaN is NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine/cpu.h"
#include "number/strip/fused.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

#define ROWS 3
#define LENGTH 300
#define STEP (LENGTH + 5)
#define LINKS 6

static enum ulp_primitive draw_primitive(uint64_t *state)
{
    enum ulp_primitive primitive;
    do
        primitive = (enum ulp_primitive)(oracle_random(state) % ULP_PRIMITIVE_COUNT);
    while (!ulp_primitive_rows[primitive].fusible);
    return primitive;
}

/* Values of every kind, small integers among them so that equal ones, zeros and cancellation are
 * frequent. */
static double draw(uint64_t *state)
{
    static const double specials[] = {0,        -0.0,       INFINITY,       -INFINITY, NAN,
                                      0x1p-149, -0x1p-1074, 0x1.fffffep127, 1,         -1};
    const uint64_t x = oracle_random(state), pick = x >> 60;
    if (pick < 3)
        return specials[x % (sizeof specials / sizeof *specials)];
    if (pick < 8)
        return (double)(int64_t)(x % 17) - 8;
    return ldexp((double)(x & 0xffffffffffff) - 0x1p47, (int)(x >> 48 & 63) - 80);
}

static void fill(bool doubles, void *out, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        if (doubles)
            ((double *)out)[i] = draw(state);
        else
            ((float *)out)[i] = (float)draw(state);
}

static double read_element(bool doubles, const void *x, size_t i)
{
    return doubles ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void check_same(bool doubles, const void *got, const void *want, size_t n, size_t length)
{
    for (size_t i = 0; i < n; i++) {
        const double x = read_element(doubles, got, i), y = read_element(doubles, want, i);
        if (!((isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y))))
            ck_abort_msg("element %zu of %s, rows of %zu: %a, expected %a", i,
                         doubles ? "doubles" : "floats", length, x, y);
    }
}

static _Alignas(64) double in[ROWS * STEP], operands[LINKS][ROWS * STEP], out[ROWS * STEP],
    want[ROWS * STEP], work[STEP], spread[STEP];

/* Each row through one primitive at a time. */
static void run_primitives(const struct ulp_strip_rule *rule, const struct ulp_fused_link *links,
                           int link_count, size_t bytes, size_t n)
{
    const struct ulp_strip_table *table = ulp_strip_tables[rule->carrier];
    for (size_t row = 0; row < ROWS; row++) {
        char *to = (char *)want + row * STEP * bytes;
        memcpy(to, (const char *)in + row * STEP * bytes, n * bytes);
        for (int l = 0; l < link_count; l++) {
            const void *operand = (const char *)links[l].operand + row * links[l].row_step * bytes;
            if (links[l].one) {
                memcpy(spread, operand, bytes);
                table->spread(rule, spread, spread, 0, n);
                operand = spread;
            }
            memcpy(work, to, n * bytes);
            table->primitive[links[l].primitive](rule, to, links[l].reversed ? operand : work,
                                                 links[l].reversed ? work : operand, NULL, n,
                                                 (struct ulp_strip_place){0});
        }
    }
}

/* Random fused runs over rows of every length, past two blocks of the widest vectors. */
static void check_chains(enum ulp_strip_carrier carrier, unsigned cpu, uint64_t *state)
{
    const bool doubles = carrier == ULP_STRIP_DOUBLE;
    const size_t bytes = doubles ? sizeof(double) : sizeof(float);
    const struct ulp_strip_rule rule = oracle_rule(doubles ? "fp64" : "fp32");
    ulp_fused_fn *fused = ulp_fused_of(carrier, cpu);
    for (size_t n = 1; n <= LENGTH; n++) {
        struct ulp_fused_link links[LINKS];
        const int link_count = 1 + (int)(oracle_random(state) % LINKS);
        fill(doubles, in, ROWS * STEP, state);
        for (int l = 0; l < link_count; l++) {
            const uint64_t x = oracle_random(state);
            const bool one = x >> 40 & 1;
            fill(doubles, operands[l], ROWS * STEP, state);
            links[l] = (struct ulp_fused_link){.primitive = draw_primitive(state),
                                               .one = one,
                                               .operand = operands[l],
                                               .row_step = x >> 41 & 1 ? 0
                                                           : one       ? 1
                                                                       : STEP};
            links[l].reversed = ulp_primitive_rows[links[l].primitive].arity > 1 && x >> 42 & 1;
            if (ulp_primitive_rows[links[l].primitive].arity == 1 && x >> 43 & 1)
                links[l].one = false;
        }
        if (!test_takes(n, LENGTH))
            continue;
        run_primitives(&rule, links, link_count, bytes, n);
        memset(out, 0x55, sizeof out);
        for (int l = 0; l < link_count; l++)
            if (ulp_primitive_rows[links[l].primitive].arity == 1)
                links[l].operand = NULL;
        fused(out, STEP, in, STEP, links, link_count, ROWS, n);
        for (size_t row = 0; row < ROWS; row++) {
            const char *end = (const char *)out + (row * STEP + n) * bytes;
            check_same(doubles, (const char *)out + row * STEP * bytes,
                       (const char *)want + row * STEP * bytes, n, n);
            for (size_t i = 0; i < (STEP - n) * bytes; i++)
                ck_expect((unsigned char)end[i] == 0x55, "rows of %zu: written past the end", n);
        }
        /* In place; then over the operand of the last link. */
        memcpy(out, in, sizeof in);
        fused(out, STEP, out, STEP, links, link_count, ROWS, n);
        for (size_t row = 0; row < ROWS; row++)
            check_same(doubles, (const char *)out + row * STEP * bytes,
                       (const char *)want + row * STEP * bytes, n, n);
        const struct ulp_fused_link *last = &links[link_count - 1];
        if (last->operand && !last->one && last->row_step) {
            void *over = operands[link_count - 1];
            fused(over, STEP, in, STEP, links, link_count, ROWS, n);
            for (size_t row = 0; row < ROWS; row++)
                check_same(doubles, (const char *)over + row * STEP * bytes,
                           (const char *)want + row * STEP * bytes, n, n);
        }
    }
}

TEST_LOOP(chains_are_their_primitives, 0, 4)
{
    static const unsigned sets[] = {0, ULP_CPU_AVX2, ~0u};
    uint64_t state = (uint64_t)_i;
    const int rounds = (int)test_count(2, 50);
    for (int round = 0; round < rounds; round++)
        for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
            check_chains(ULP_STRIP_FLOAT, ulp_cpu_features() & sets[s], &state);
            check_chains(ULP_STRIP_DOUBLE, ulp_cpu_features() & sets[s], &state);
        }
}

/* Reductions of windows as primitives on gathered strips; the elements end where the last window's
 * last one does. */
TEST_LOOP(windows_are_their_primitives, 0, 6)
{
    static const struct {
        enum ulp_reduction kind;
        enum ulp_primitive primitive;
    } reductions[] = {{ULP_REDUCTION_SUM, ULP_PRIMITIVE_ADD},
                      {ULP_REDUCTION_MAX, ULP_PRIMITIVE_MAX},
                      {ULP_REDUCTION_MIN, ULP_PRIMITIVE_MIN}};
    static const unsigned sets[] = {0, ULP_CPU_AVX2, ~0u};
    const bool doubles = _i % 2;
    const enum ulp_strip_carrier carrier = doubles ? ULP_STRIP_DOUBLE : ULP_STRIP_FLOAT;
    const size_t bytes = doubles ? sizeof(double) : sizeof(float);
    const struct ulp_strip_rule rule = oracle_rule(doubles ? "fp64" : "fp32");
    const unsigned cpu = ulp_cpu_features() & sets[_i / 2];
    uint64_t state = (uint64_t)_i;
    for (size_t n = 1; n <= 130; n++)
        for (size_t stride = 1; stride <= 3; stride++) {
            const size_t offset_count = 1 + oracle_random(&state) % 9,
                         reduction = oracle_random(&state) % 3;
            int64_t offset[9], largest = 0;
            for (size_t t = 0; t < offset_count; t++) {
                offset[t] = (int64_t)(oracle_random(&state) % 60);
                largest = offset[t] > largest ? offset[t] : largest;
            }
            const size_t count = (size_t)largest + (n - 1) * stride + 1;
            char *data = malloc(count * bytes); /* exact: sanitizers see what is read behind it */
            ck_assert_ptr_nonnull(data);
            fill(doubles, data, count, &state);
            for (size_t t = 0; t < offset_count; t++) {
                for (size_t i = 0; i < n; i++)
                    memcpy((char *)spread + i * bytes,
                           data + ((size_t)offset[t] + i * stride) * bytes, bytes);
                if (t == 0) {
                    memcpy(want, spread, n * bytes);
                    continue;
                }
                memcpy(work, want, n * bytes);
                ulp_strip_tables[carrier]->primitive[reductions[reduction].primitive](
                    &rule, want, work, spread, NULL, n, (struct ulp_strip_place){0});
            }
            memset(out, 0x55, sizeof out);
            ulp_windows_of(carrier, cpu)(reductions[reduction].kind, out, data, offset,
                                         offset_count, stride, n);
            check_same(doubles, out, want, n, n);
            ck_assert_int_eq(((const unsigned char *)out)[n * bytes], 0x55);
            free(data);
        }
}

TEST(only_native_carriers_have_chains)
{
    ck_assert_ptr_null(ulp_fused_of(ULP_STRIP_MPFR, ulp_cpu_features()));
    ck_assert_ptr_null(ulp_fused_of(ULP_STRIP_INT64, ulp_cpu_features()));
}
