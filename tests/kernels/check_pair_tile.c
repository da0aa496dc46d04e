/* Sums of products of pairs, and of triples: within 2^-91, and 2^-114, of the sum of magnitudes of
 * what MPFR finds without any rounding; the same bits on every instruction set, any number of
 * threads, with sides exchanged and with kept factors; and what they leave to exact sums. */

#include "base/machine/cpu.h"
#include "kernels/pair/pair_tile.h"
#include "number/mpfr_record.h"
#include "tests/support/stream.h"
#include "tests/support/test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { RECORD_BITS = 192 };
enum element { SINGLE, DOUBLE, PAIR, TRIPLE };
enum kind {
    RANDOM,
    CANCELLING, /* neighbours in k are nearly opposite */
    SWALLOWED,  /* one large product, all the others below half an ulp of it, of one sign */
    INTEGERS,   /* small: sums that are zero happen */
    KIND_COUNT
};

struct setup {
    size_t batch_count, m, n, k;
    enum element a, b;
    enum kind kind;
    int spread; /* exponents are within +- so much */
};

static const struct setup setups[] = {
    {1, 1, 1, 5, PAIR, PAIR, RANDOM, 40},
    {1, 1, 40, 300, PAIR, SINGLE, RANDOM, 8},
    {2, 17, 2, 289, SINGLE, PAIR, RANDOM, 20},
    {3, 3, 33, 144, PAIR, PAIR, CANCELLING, 4},
    {1, 5, 70, 145, DOUBLE, PAIR, RANDOM, 60},
    {1, 20, 3, 600, PAIR, DOUBLE, CANCELLING, 10},
    {2, 9, 18, 1000, SINGLE, SINGLE, RANDOM, 8},
    {1, 4, 16, 20000, PAIR, PAIR, SWALLOWED, 0},
    {1, 300, 140, 20, PAIR, SINGLE, RANDOM, 0},
    {1, 7, 9, 4608, PAIR, PAIR, RANDOM, 20},
    {2, 2, 130, 50, PAIR, PAIR, INTEGERS, 0},
    {1, 40, 6, 433, DOUBLE, DOUBLE, SWALLOWED, 0},
    {1, 3, 5, 0, PAIR, PAIR, RANDOM, 0},
    {1, 1, 2, 1 << 17, PAIR, PAIR, SWALLOWED, 0},
    {2, 9, 33, 600, TRIPLE, TRIPLE, RANDOM, 30},
    {1, 30, 7, 289, SINGLE, TRIPLE, RANDOM, 8},
    {1, 3, 40, 144, TRIPLE, DOUBLE, CANCELLING, 4},
    {1, 4, 9, 20000, TRIPLE, TRIPLE, SWALLOWED, 0},
    {2, 2, 13, 50, TRIPLE, SINGLE, INTEGERS, 0},
    {1, 3, 5, 0, TRIPLE, TRIPLE, RANDOM, 0},
};

/* Elements of a lie as [batch][line][k], of b as [batch][k][line]. */
struct side {
    struct ulp_tensor tensor;
    int64_t *batch_offset, *line_offset, *k_offset;
};
struct world {
    struct setup setup;
    struct side a, b;
    struct ulp_tensor out;
    int64_t *out_batch, *out_row, *out_column;
    struct ulp_contraction problem;
    unsigned char *exceptions;
};

static void put(struct side *side, size_t at, double high, double low)
{
    if (side->tensor.element_bytes == sizeof(float)) {
        ((float *)side->tensor.data)[at] = (float)high;
        return;
    }
    double *to = (double *)side->tensor.data + at * side->tensor.element_bytes / sizeof(double);
    to[0] = high;
    if (side->tensor.element_bytes > sizeof(double)) {
        to[0] = high + low;
        to[1] = low - (to[0] - high);
    }
    if (side->tensor.element_bytes > 2 * sizeof(double))
        to[2] = -0x1.8p-55 * to[1];
}

static void draw(struct side *side, const struct setup *setup, int which, size_t line, size_t k,
                 size_t at, struct stream *stream)
{
    const double unit = (double)(int64_t)stream_draw(stream) * 0x1p-63,
                 other = (double)(int64_t)stream_draw(stream) * 0x1p-63;
    const int exponent =
        setup->spread ? (int)(stream_draw(stream) % (2u * (unsigned)setup->spread)) - setup->spread
                      : 0;
    double high = ldexp(unit, exponent);
    if (setup->kind == CANCELLING)
        high = which ? (double)(1 + (line + k / 2) % 7)
                     : (k % 2 ? -1 : 1) * (1 + (double)(line % 5) + unit * 0x1p-40);
    if (setup->kind == SWALLOWED)
        high = which || k == 0 ? 1 - fabs(unit) * 0x1p-8 : 0x1p-54 * (1 + fabs(unit) * 0.5);
    if (setup->kind == INTEGERS)
        high = (double)(stream_draw(stream) % 7) - 3;
    put(side, at, high, setup->kind == INTEGERS ? 0 : high * 0x1p-54 * other);
}

static void side_create(struct side *side, const struct setup *setup, int which,
                        struct stream *stream)
{
    static const size_t bytes[] = {sizeof(float), sizeof(double), 2 * sizeof(double),
                                   3 * sizeof(double)};
    const enum element element = which ? setup->b : setup->a;
    const size_t lines = which ? setup->n : setup->m, count = lines * setup->k;
    side->tensor = (struct ulp_tensor){
        .element = element == SINGLE ? ULP_ELEMENT_F32 : ULP_ELEMENT_F64,
        .element_bytes = bytes[element],
        .count = setup->batch_count * count,
        .data = calloc(setup->batch_count * count + 1, bytes[element]),
    };
    side->batch_offset = calloc(setup->batch_count, sizeof(int64_t));
    side->line_offset = calloc(lines, sizeof(int64_t));
    side->k_offset = calloc(setup->k + 1, sizeof(int64_t));
    for (size_t g = 0; g < setup->batch_count; g++)
        side->batch_offset[g] = (int64_t)(g * count);
    for (size_t i = 0; i < lines; i++)
        side->line_offset[i] = (int64_t)(which ? i : i * setup->k);
    for (size_t k = 0; k < setup->k; k++)
        side->k_offset[k] = (int64_t)(which ? k * lines : k);
    for (size_t g = 0; g < setup->batch_count; g++)
        for (size_t i = 0; i < lines; i++)
            for (size_t k = 0; k < setup->k; k++)
                draw(side, setup, which, i, k,
                     (size_t)(side->batch_offset[g] + side->line_offset[i] + side->k_offset[k]),
                     stream);
}

static struct ulp_factor factor_of(const struct side *side)
{
    return (struct ulp_factor){.tensor = &side->tensor,
                               .batch_offset = side->batch_offset,
                               .line_offset = side->line_offset,
                               .k_offset = side->k_offset};
}

static bool has_triples(const struct world *world)
{
    return world->setup.a == TRIPLE || world->setup.b == TRIPLE;
}
static double find_most(const struct world *world)
{
    return has_triples(world) ? 0x1p-114 : 0x1p-91;
}

static size_t count_outputs(const struct world *world)
{
    return world->setup.batch_count * world->setup.m * world->setup.n;
}

static void world_create(struct world *world, struct setup setup)
{
    struct stream stream = {setup.m * 100 + setup.n, setup.k};
    *world = (struct world){.setup = setup};
    side_create(&world->a, &setup, 0, &stream);
    side_create(&world->b, &setup, 1, &stream);
    const size_t count = count_outputs(world);
    const size_t bytes = has_triples(world) ? 16 + RECORD_BITS / 8 : 2 * sizeof(double);
    world->out =
        (struct ulp_tensor){.element = has_triples(world) ? ULP_ELEMENT_WIDE : ULP_ELEMENT_PAIR,
                            .precision = RECORD_BITS,
                            .element_bytes = bytes,
                            .count = count,
                            .data = calloc(count, bytes)};
    world->exceptions = calloc(count, 1);
    world->out_batch = calloc(setup.batch_count, sizeof(int64_t));
    world->out_row = calloc(setup.m, sizeof(int64_t));
    world->out_column = calloc(setup.n, sizeof(int64_t));
    for (size_t g = 0; g < setup.batch_count; g++)
        world->out_batch[g] = (int64_t)(g * setup.m * setup.n);
    for (size_t i = 0; i < setup.m; i++)
        world->out_row[i] = (int64_t)(i * setup.n);
    for (size_t j = 0; j < setup.n; j++)
        world->out_column[j] = (int64_t)j;
    world->problem = (struct ulp_contraction){
        .batch_count = setup.batch_count,
        .m = setup.m,
        .n = setup.n,
        .k = setup.k,
        .a = factor_of(&world->a),
        .b = factor_of(&world->b),
        .out = &world->out,
        .out_batch_offset = world->out_batch,
        .out_row_offset = world->out_row,
        .out_column_offset = world->out_column,
    };
}

static void side_free(struct side *side)
{
    free(side->tensor.data);
    free(side->batch_offset);
    free(side->line_offset);
    free(side->k_offset);
}

static void world_free(struct world *world)
{
    side_free(&world->a);
    side_free(&world->b);
    free(world->out.data);
    free(world->out_batch);
    free(world->out_row);
    free(world->out_column);
    free(world->exceptions);
}

/* The number of exceptions. */
static size_t run(struct world *world, int thread_count)
{
    const size_t count = count_outputs(world);
    struct ulp_pool *pool = thread_count > 1 ? test_pool(thread_count) : NULL;
    memset(world->out.data, 0xA5, count * world->out.element_bytes);
    memset(world->exceptions, 0, count);
    if (has_triples(world))
        ck_ok(ulp_triple_tile(&world->problem, world->exceptions, pool, &why));
    else
        ck_ok(ulp_pair_tile(&world->problem, world->exceptions, pool, &why));
    ulp_pool_free(pool);
    size_t exceptions = 0;
    for (size_t i = 0; i < count; i++)
        exceptions += world->exceptions[i];
    return exceptions;
}

static void get(mpfr_t out, const struct side *side, size_t batch, size_t line, size_t k)
{
    const size_t at =
        (size_t)(side->batch_offset[batch] + side->line_offset[line] + side->k_offset[k]);
    const double *doubles =
        (const double *)side->tensor.data + at * side->tensor.element_bytes / sizeof(double);
    if (side->tensor.element_bytes == sizeof(float))
        mpfr_set_flt(out, ((const float *)side->tensor.data)[at], MPFR_RNDN);
    else
        mpfr_set_d(out, doubles[0], MPFR_RNDN);
    for (size_t part = 1; part < side->tensor.element_bytes / sizeof(double); part++)
        mpfr_add_d(out, out, doubles[part], MPFR_RNDN);
}

/* off: how far output o is from the sum. */
static void find_off(mpfr_t off, const struct world *world, size_t o, const mpfr_t sum)
{
    if (has_triples(world)) {
        mpfr_t got;
        ulp_record_open(got, ulp_record_at(world->out.data, o, RECORD_BITS), RECORD_BITS);
        mpfr_sub(off, sum, got, MPFR_RNDN);
        return;
    }
    const double *got = (const double *)world->out.data + 2 * o;
    ck_expect(got[0] + got[1] == got[0] && (got[0] != 0 || !signbit(got[0])), "%a + %a is no pair",
              got[0], got[1]);
    mpfr_sub_d(off, sum, got[0], MPFR_RNDN);
    mpfr_sub_d(off, off, got[1], MPFR_RNDN);
}

/* The largest error of the outputs, relative to the sums of magnitudes. */
static double find_worst(const struct world *world)
{
    double worst = 0;
    scoped_mpfr a, b, product, sum, magnitudes, off;
    mpfr_inits2(900, a, b, product, sum, off, (mpfr_ptr)0); /* of which no bit is lost */
    mpfr_init2(magnitudes, 64);
    for (size_t o = 0; o < count_outputs(world); o++) {
        const size_t j = o % world->setup.n, i = o / world->setup.n % world->setup.m,
                     g = o / world->setup.n / world->setup.m;
        mpfr_set_zero(sum, 1);
        mpfr_set_zero(magnitudes, 1);
        for (size_t k = 0; k < world->setup.k; k++) {
            get(a, &world->a, g, i, k);
            get(b, &world->b, g, j, k);
            ck_expect(mpfr_mul(product, a, b, MPFR_RNDN) == 0, "a product was rounded");
            ck_expect(mpfr_add(sum, sum, product, MPFR_RNDN) == 0, "a sum was rounded");
            mpfr_abs(product, product, MPFR_RNDN);
            mpfr_add(magnitudes, magnitudes, product, MPFR_RNDD);
        }
        find_off(off, world, o, sum);
        if (mpfr_zero_p(off))
            continue;
        mpfr_abs(off, off, MPFR_RNDN);
        mpfr_div(off, off, magnitudes, MPFR_RNDU);
        worst = fmax(worst, mpfr_get_d(off, MPFR_RNDU));
    }
    return worst;
}

TEST_LOOP(errors_are_bounded, 0, COUNT(setups))
{
    struct world world;
    world_create(&world, setups[_i]);
    ck_assert_uint_eq(run(&world, 1), 0);
    const double worst = find_worst(&world);
    printf("setup %d: errs by 2^%.2f of the magnitudes\n", _i, log2(worst));
    ck_assert_msg(worst <= find_most(&world), "errs by 2^%.2f", log2(worst));
    world_free(&world);
}

/* Random ones, in make check-long a million. */
TEST(random_sums)
{
    const uint64_t count = test_count(100, 100000);
    struct stream stream = {91, 0};
    double most[2] = {0};
    for (uint64_t i = 0; i < count; i++) {
        struct world world;
        struct setup setup = {1,
                              1 + stream_draw(&stream) % 6,
                              1 + stream_draw(&stream) % 20,
                              1 + stream_draw(&stream) % 400,
                              stream_draw(&stream) % 3,
                              stream_draw(&stream) % 3,
                              stream_draw(&stream) % KIND_COUNT,
                              (int)(stream_draw(&stream) % 60)};
        if (i % 4 == 3) {
            setup.a = setup.a == PAIR ? TRIPLE : setup.a;
            setup.b = TRIPLE;
        }
        world_create(&world, setup);
        ck_assert_uint_eq(run(&world, 1), 0);
        const double worst = find_worst(&world);
        ck_assert_double_le(worst, find_most(&world));
        most[has_triples(&world)] = fmax(most[has_triples(&world)], worst);
        world_free(&world);
    }
    printf("random sums err by 2^%.2f of the magnitudes, of triples by 2^%.2f\n", log2(most[0]),
           log2(most[1]));
}

/* a and b of the problem, and where their sums go, change places. */
static void exchange(struct world *world)
{
    struct ulp_contraction *problem = &world->problem;
    const struct ulp_factor a = problem->a;
    const int64_t *row = problem->out_row_offset;
    const size_t m = problem->m;
    problem->a = problem->b;
    problem->b = a;
    problem->m = problem->n;
    problem->n = m;
    problem->out_row_offset = problem->out_column_offset;
    problem->out_column_offset = row;
}

TEST_LOOP(bits_depend_on_operands_alone, 0, COUNT(setups))
{
    static const char *const disabled[] = {"", "avx512", "avx2"};
    const unsigned present = ulp_cpu_features();
    struct world world;
    world_create(&world, setups[_i]);
    const size_t bytes = count_outputs(&world) * world.out.element_bytes;
    SCOPED_MEMORY void *first = malloc(bytes);
    run(&world, 1);
    memcpy(first, world.out.data, bytes);
    for (size_t s = 0; s < COUNT(disabled); s++)
        for (int way = 0; way < 4; way++) {
            ulp_cpu_found = ulp_cpu_without(present, disabled[s]);
            ck_assert_uint_eq(run(&world, way & 1 ? 3 : 1), 0);
            ck_assert_mem_eq(first, world.out.data, bytes);
            if (way & 2)
                exchange(&world);
        }
    world_free(&world);
}

/* Row 2 of a and column 3 of b get an element each; how many outputs are then left to exact sums.
 */
static size_t count_left(double a, double b, size_t k)
{
    struct world world;
    world_create(&world, (struct setup){1, 5, 20, k, PAIR, DOUBLE, RANDOM, 3});
    put(&world.a, 2 * k + 1, a, 0);
    put(&world.b, 20 + 3, b, 0);
    const size_t left = run(&world, 1);
    for (size_t o = 0; o < 100; o++)
        ck_assert_int_eq(world.exceptions[o], left > 1
                                                  ? (left == 20 || left == 24) &&
                                                        (o / 20 == 2 || (left == 24 && o % 20 == 3))
                                                  : left == 1 && o == 2 * 20 + 3);
    world_free(&world);
    return left;
}

TEST(exceptions)
{
    ck_assert_uint_eq(count_left(1, 1, 30), 0);
    ck_assert_uint_eq(count_left(0, -0.0, 30), 0);
    ck_assert_uint_eq(count_left(0x1p440, 0x1p440, 30), 0);
    ck_assert_uint_eq(count_left(0x1p450, 0x1p450, 30), 1); /* times 30 */
    ck_assert_uint_eq(count_left(0x1p-480, 0x1p-480, 30), 0);
    ck_assert_uint_eq(count_left(0x1p-490, 0x1p-490, 30), 1);
    ck_assert_uint_eq(count_left(NAN, 1, 30), 20);
    ck_assert_uint_eq(count_left(-INFINITY, 0, 30), 20);
    ck_assert_uint_eq(count_left(NAN, INFINITY, 30), 24);
    ck_assert_uint_eq(count_left(0x1p901, 0x1p-30, 30), 20);
    ck_assert_uint_eq(count_left(0x1p-990, 1, 30), 20);
}

/* A line that is not finite meets zeros; sums below 2^-900; too many products. */
TEST(more_exceptions)
{
    struct world world;
    world_create(&world, (struct setup){1, 2, 3, 4, PAIR, PAIR, RANDOM, 3});
    for (size_t k = 0; k < 4; k++) {
        put(&world.a, k, 0, 0);
        put(&world.a, 4 + k, k ? 0 : 0x1p-470, 0);
        for (size_t j = 0; j < 3; j++)
            put(&world.b, k * 3 + j, j == 0 ? INFINITY : j == 1 ? 0x1p-440 : 1, 0);
    }
    ck_assert_uint_eq(run(&world, 1), 3);
    static const unsigned char want[] = {1, 0, 0, 1, 1, 0};
    ck_assert_mem_eq(world.exceptions, want, sizeof want);
    world.problem.k = ULP_PAIR_K_MAX + 1;
    ck_assert_uint_eq(run(&world, 1), 6);
    world_free(&world);
}

TEST_SUITE("sums of products of pairs", 3600)
