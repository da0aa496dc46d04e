/* Tiles of stochastic rounding against the steps that define them, where whole contractions do not
 * come: counters above 2^32, streams whose lower half ends between two steps or two numbers of one,
 * odd outputs, and values at all edges of the formats. */
#include <math.h>
#include <string.h>

#include "base/machine/cpu.h"
#include "base/random.h"
#include "kernels/chain/tile.h"
#include "number/round/round.h"
#include "tests/support/test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
enum { STEPS = 6, ROWS = 4, COLUMNS = 16 };

static const char *const arithmetics[] = {
    "fp16-strict,round=sr,seed=3", "fp16-strict,fma,round=sr,seed=81985529216486895",
    "bf16-strict,round=sr",        "bf16-strict,fma,round=sr",
    "fp8-e4m3-strict,round=sr",    "fp16-strict,subnormals=flush,round=sr",
    "tf32-strict,round=sr",        "fp16,unit=none,round=sr",
};

/* Numbers of the format, many of them at its edges: their products and sums are above, below and
 * between its numbers. */
static double operand(const struct ulp_format *format, uint64_t place)
{
    const uint64_t bits = ulp_random_bits(11, place);
    const double sign = bits & 1 ? -1 : 1, fraction = 1 + ulp_random_uniform(12, place);
    const int half = format->emin / 2;
    double x = sign * ldexp(fraction, (int)(bits >> 8 & 7) - 4);
    switch (bits >> 1 & 15) {
    case 0: x = sign * 0; break;
    case 1: x = sign * ldexp(fraction, format->emin - (int)(bits >> 8 & 15)); break;
    case 2: x = sign * format->max_finite; break;
    case 3: x = bits >> 8 & 7 ? x : sign * INFINITY; break;
    case 4: x = bits >> 8 & 7 ? x : NAN; break;
    case 5:
    case 6:
    case 7: x = sign * ldexp(fraction, half - (int)(bits >> 8 & 7)); break;
    default: break;
    }
    ulp_round_doubles(format, ULP_ROUND_NEAREST_EVEN, &x, 1, 0, 0, 0);
    return x;
}

static void run_steps(const struct ulp_step_rule *rule, double *sums, const double *rows,
                      const double *columns, size_t row_count, size_t column_count,
                      struct ulp_tile_place place)
{
    const struct ulp_step_row *step = &ulp_step_rows[rule->step];
    for (size_t k = 0; k < STEPS; k++)
        for (size_t i = 0; i < row_count; i++) {
            double product[COLUMNS], *sum = sums + i * column_count;
            struct ulp_draw draw = {place.output + i * place.row_pitch,
                                    (place.k + k) * ULP_DRAWS + ULP_DRAW_PRODUCT};
            const double *a = rows + k * row_count + i, *b = columns + k * column_count;
            if (!rule->fused)
                step->multiply(rule, product, a, b, column_count, draw);
            draw.number += ULP_DRAW_SUM - ULP_DRAW_PRODUCT;
            if (rule->fused)
                step->multiply_add(rule, sum, a, b, column_count, draw);
            else
                step->add(rule, sum, sum, product, column_count, draw);
        }
}

static void check_tile(const char *name, const struct ulp_step_rule *rule,
                       const struct ulp_tile *tile, size_t row_count, struct ulp_tile_place place,
                       uint64_t round)
{
    _Alignas(64) double rows[STEPS * ROWS], columns[STEPS * COLUMNS], got[ROWS * COLUMNS];
    double wanted[ROWS * COLUMNS];
    for (size_t i = 0; i < STEPS * ROWS; i++)
        rows[i] = operand(&rule->factor, round << 10 | i);
    for (size_t i = 0; i < STEPS * COLUMNS; i++)
        columns[i] = operand(&rule->factor, round << 10 | 512 | i);
    memset(got, 0, sizeof got);
    memset(wanted, 0, sizeof wanted);
    tile->run[row_count](rule, got, rows, columns, STEPS, place);
    run_steps(rule, wanted, rows, columns, row_count, tile->columns, place);
    for (size_t i = 0; i < row_count * tile->columns; i++)
        ck_expect(memcmp(&got[i], &wanted[i], sizeof got[i]) == 0 ||
                      (isnan(got[i]) && isnan(wanted[i])),
                  "%s: sum %zu of %zu x %zu from output %llu, k %llu on, stream %llx is %a, not %a",
                  name, i, row_count, tile->columns, (unsigned long long)place.output,
                  (unsigned long long)place.k, (unsigned long long)rule->stream, got[i], wanted[i]);
}

TEST_LOOP(tiles_are_the_steps, 0, (int)COUNT(arithmetics))
{
    static const uint64_t outputs[] = {0,
                                       7,
                                       (UINT64_C(1) << 33) - 6,
                                       (UINT64_C(1) << 33) - 13,
                                       (UINT64_C(1) << 33) + 5,
                                       UINT64_C(5) << 40},
                          streams[] = {0, UINT64_C(0xfedcba9876543210),
                                       (UINT64_C(1) << 32) - 3 * ULP_DRAWS,
                                       (UINT64_C(1) << 32) - 3 * ULP_DRAWS - 1, UINT64_MAX};
    static const char *const disabled[] = {"", "avx512"};
    const char *const name = arithmetics[_i];
    const struct ulp_arithmetic arithmetic = test_arithmetic(name);
    struct ulp_step_rule rule = ulp_step_rule_make(&arithmetic);
    ck_assert_int_eq(rule.step, ULP_STEP_ROUNDED);
    for (size_t set = 0; set < COUNT(disabled); set++) {
        const struct ulp_tile *tile =
            ulp_tile_find(&rule, ulp_cpu_without(ulp_cpu_features(), disabled[set]));
        ck_assert(tile->columns <= COLUMNS && ulp_tile_rows_max(tile) <= ROWS);
        for (uint64_t round = 0; round < 240; round++) {
            rule.stream = streams[round % COUNT(streams)];
            check_tile(name, &rule, tile, round % 4 == 3 ? 1 : ulp_tile_rows(tile, ROWS),
                       (struct ulp_tile_place){.output = outputs[round % COUNT(outputs)],
                                               .row_pitch = 20 + round % 2,
                                               .k = round % 3},
                       round);
        }
    }
}

TEST_SUITE("drawn", 60)
