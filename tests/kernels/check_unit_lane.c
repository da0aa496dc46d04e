/* Matrix units: tiles of ordinary values with one sum that is not: NaN, Inf, sums outside of int32,
 * exponents at the limits of the fast path, infinite sums, in one row and lane and in any block of
 * the chain. */
#include "tests/support/test.h"
#include "unit_tile.h"

enum { COLUMNS = ULP_UNIT_COLUMNS, ROWS = UNIT_TILE_ROWS };

/* The sum that stands out, and the k of its block that begins there. */
struct place {
    size_t row, lane, block, k_first, k_count;
};

/* Products of a few binades around 1, sums that no block takes out of the limits. */
static void draw_ordinary(struct unit_tile *it, uint64_t *state)
{
    unit_tile_draw(it, NORMAL, state);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        it->before[i] = (float)((int)(draw(state) % 2001) - 1000) / 64;
}

static struct place draw_place(const struct unit_tile *it, uint64_t *state)
{
    const struct ulp_unit_layout *layout = &it->layout;
    struct place at = {draw(state) % ROWS, draw(state) % COLUMNS, draw(state) % layout->block_count,
                       0, 0};
    at.k_first = (size_t)layout->slot_k[at.block * (size_t)layout->unit.block];
    at.k_count = layout->block_used[at.block];
    return at;
}

static float *a_at(struct unit_tile *it, const struct place *at, size_t i)
{
    return it->a + at->row * it->k + at->k_first + i;
}

static float *b_at(struct unit_tile *it, const struct place *at, size_t i)
{
    return it->b + at->lane * it->k + at->k_first + i;
}

/* The row has no products; its sums stay what they are. */
static void clear_row(struct unit_tile *it, const struct place *at)
{
    for (size_t i = 0; i < it->k; i++)
        it->a[at->row * it->k + i] = 0;
}

static float *before_at(struct unit_tile *it, const struct place *at)
{
    return it->before + at->row * COLUMNS + at->lane;
}

static bool is_half(const struct unit_tile *it)
{
    return it->layout.unit.output == ULP_UNIT_RNE_FP16;
}

static float special(const struct unit_tile *it, uint64_t *state)
{
    const bool infinite = it->arithmetic.factor.overflow == ULP_OVERFLOW_INFINITY;
    return draw(state) % 2 && infinite ? (draw(state) % 2 ? INFINITY : -INFINITY) : NAN;
}

static void put_special_a(struct unit_tile *it, const struct place *at, uint64_t *state)
{
    *a_at(it, at, draw(state) % at->k_count) = special(it, state);
}

static void put_special_b(struct unit_tile *it, const struct place *at, uint64_t *state)
{
    *b_at(it, at, draw(state) % at->k_count) = special(it, state);
}

static void put_special_c(struct unit_tile *it, const struct place *at, uint64_t *state)
{
    *before_at(it, at) = draw(state) % 2 ? NAN : draw(state) % 2 ? INFINITY : -INFINITY;
}

/* The largest products onto the largest c of one exponent, all of one sign: 16 products of 8 bits
 * and more, and c, leave int32 at 25 fraction bits, and 32 of any without c. */
static void put_full(struct unit_tile *it, const struct place *at, uint64_t *state)
{
    const float largest = (float)(2 - ldexp(1, 1 - it->arithmetic.factor.precision)),
                sign = draw(state) % 2 ? 1 : -1;
    clear_row(it, at);
    for (size_t i = 0; i < at->k_count; i++) {
        *a_at(it, at, i) = sign * largest;
        *b_at(it, at, i) = largest;
    }
    *before_at(it, at) = sign * 1.998046875f;
}

/* c = 0 after the block. */
static void put_cancelling(struct unit_tile *it, const struct place *at, uint64_t *state)
{
    const size_t i = draw(state) % at->k_count;
    clear_row(it, at);
    *a_at(it, at, i) = 1;
    *b_at(it, at, i) = 1.5f;
    *before_at(it, at) = -1.5f;
}

/* The sum after the block is infinite. */
static void put_infinite_sum(struct unit_tile *it, const struct place *at, uint64_t *state)
{
    const struct ulp_format *format = &it->arithmetic.factor;
    const size_t i = draw(state) % at->k_count;
    const int emax = is_half(it) ? 15 : 127, e = format->emax < emax / 2 ? format->emax : emax / 2;
    const float sign = draw(state) % 2 ? 1 : -1;
    clear_row(it, at);
    *before_at(it, at) = sign * (is_half(it) ? 65504 : 0x1.fffffep127f);
    *a_at(it, at, i) = sign * (float)ldexp(1, e);
    *b_at(it, at, i) = (float)ldexp(1.5, e + 1 < format->emax ? e + 1 : e);
}

/* Of FP16, c is a subnormal, which reads exponent -14: the smaller product is lost, and the sum is
 * a tie (measured, check_unit_vectors.c). */
static void put_subnormal(struct unit_tile *it, const struct place *at, uint64_t *state)
{
    const struct ulp_format *format = &it->arithmetic.factor;
    const float sign = draw(state) % 2 ? 1 : -1;
    if (format->emin - format->precision + 1 > -20 || at->k_count < 2)
        return;
    clear_row(it, at);
    *before_at(it, at) = sign * 0x1p-24f;
    *a_at(it, at, 0) = sign * 0x1p-13f;
    *b_at(it, at, 0) = 0x1p-12f;
    *a_at(it, at, 1) = sign * -0x1p-20f;
    *b_at(it, at, 1) = 0x1p-20f;
}

/* c is smaller than any product, alone or before a product, and has bits that a product loses. */
static void put_small(struct unit_tile *it, const struct place *at, uint64_t *state)
{
    static const float small[] = {0x1p-24f,        0x1.fffffep-29f, 0x1p-53f,  0x1.8p-54f,
                                  0x1.000002p-60f, 0x1p-99f,        0x1p-101f, 0x1p-149f};
    const float sign = draw(state) % 2 ? 1 : -1, c = small[draw(state) % 8];
    clear_row(it, at);
    *before_at(it, at) = is_half(it) ? 0x1p-24f : sign * c;
    *a_at(it, at, 0) = draw(state) % 2 ? 0 : (float)ldexp(1, it->arithmetic.factor.emin);
    *b_at(it, at, 0) = (float)ldexp(1, it->arithmetic.factor.emin);
}

static const struct {
    const char *name;
    void (*put)(struct unit_tile *it, const struct place *at, uint64_t *state);
} events[] = {
    {"nothing", NULL},
    {"NaN or Inf in a", put_special_a},
    {"NaN or Inf in b", put_special_b},
    {"NaN or Inf in c", put_special_c},
    {"full sums", put_full},
    {"c cancelled", put_cancelling},
    {"an infinite sum", put_infinite_sum},
    {"a subnormal c", put_subnormal},
    {"a small c", put_small},
};
#define EVENT_COUNT (sizeof events / sizeof events[0])

/* 2^e, or with the largest significand. */
static float power(const struct ulp_format *format, int e, bool full)
{
    const double x = ldexp(full ? 2 - ldexp(1, 1 - format->precision) : 1, e);
    return (float)(x < format->max_finite ? x : format->max_finite);
}

/* The block's only product has exponent e; no product if the format has none. */
static void put_product(struct unit_tile *it, const struct place *at, int e, uint64_t *state)
{
    const struct ulp_format *format = &it->arithmetic.factor;
    const size_t i = draw(state) % at->k_count;
    const int low = e - format->emax > format->emin ? e - format->emax : format->emin,
              high = e - format->emin < format->emax ? e - format->emin : format->emax;
    clear_row(it, at);
    if (low > high)
        return;
    const int a_e = low + (int)(draw(state) % (uint64_t)(high - low + 1));
    const bool full = draw(state) % 4;
    *a_at(it, at, i) = power(format, a_e, full);
    *b_at(it, at, i) = power(format, e - a_e, full) * (draw(state) % 2 ? 1 : -1);
    *before_at(it, at) = draw(state) % 2 ? 0 : (float)ldexp(1.25, is_half(it) ? -14 : e - 3);
}

/* c has exponent e, as far as its format has it. */
static void put_sum(struct unit_tile *it, const struct place *at, int e, uint64_t *state)
{
    const int most = is_half(it) ? 15 : 127, least = is_half(it) ? -24 : -149;
    e = e > most ? most : e < least ? least : e;
    *before_at(it, at) = (float)ldexp(e < least + 2 ? 1 : draw(state) % 2 ? 1.25 : -1.25, e);
}

static void compare(struct unit_tile *it, const char *event, int e, const struct place *at)
{
    char what[96];
    snprintf(what, sizeof what, "%s (%d), row %zu, lane %zu, block %zu", event, e, at->row,
             at->lane, at->block);
    unit_tile_compare(it, what);
}

/* Exponents at and around the limits: of the unit's floor, of the path, of FP16's sums, and of
 * FP32's, which become infinite in whatever mode tiles round. */
static void compare_exponents(struct unit_tile *it, size_t repeats, uint64_t *state)
{
    const struct ulp_unit_limits limits = ulp_unit_limits(&it->layout.unit);
    const int edges[] = {limits.lowest, limits.high, it->layout.unit.floor, 15, 126};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (int e = edges[i] - 2; e <= edges[i] + 2; e++)
            for (size_t repeat = 0; repeat < repeats && e > -300; repeat++) {
                draw_ordinary(it, state);
                struct place at = draw_place(it, state);
                put_product(it, &at, e, state);
                compare(it, "a product's exponent", e, &at);
                draw_ordinary(it, state);
                at = draw_place(it, state);
                if (draw(state) % 2)
                    clear_row(it, &at);
                put_sum(it, &at, e, state);
                compare(it, "c's exponent", e, &at);
            }
}

static int count_units(void)
{
    int count = 0;
    while (ulp_unit_row((size_t)count))
        count++;
    return count;
}

TEST_LOOP(one_sum_stands_out, 0, count_units())
{
    const struct ulp_unit *unit = ulp_unit_row((size_t)_i);
    if (!unit_tile_serves(unit) || !unit_is_first_alike((size_t)_i))
        return;
    const size_t repeats = test_long() ? 40 : 2;
    uint64_t state = (uint64_t)_i << 32;
    struct unit_tile it;
    unit_tile_create(&it, unit, 3 * (size_t)unit->block + 3);
    for (size_t event = 0; event < EVENT_COUNT; event++)
        for (size_t repeat = 0; repeat < repeats; repeat++) {
            draw_ordinary(&it, &state);
            const struct place at = draw_place(&it, &state);
            if (events[event].put)
                events[event].put(&it, &at, &state);
            compare(&it, events[event].name, (int)repeat, &at);
        }
    compare_exponents(&it, repeats, &state);
    unit_tile_free(&it);
}

TEST_SUITE("unit-lane", test_long() ? 3600 : 60)
