/* Wide contractions: every output, bit for bit, against mpfr_dot, over kinds of operands chosen to break them: spread
 * exponents, cancellation, exact ties, zeros, subnormals, specials; every method, thread count and precision. */
#include "test.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernels/packed.h"
#include "kernels/wide.h"
#include "number/mpfr_record.h"
#include "number/round.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const method_names[] = {
    [ULP_WIDE_AUTO] = "auto",  [ULP_WIDE_SUM] = "sum",  [ULP_WIDE_DIRECT] = "direct",    [ULP_WIDE_DIGITS] = "tile 0",
    [ULP_WIDE_DIGITS + 1] = "tile 1", [ULP_WIDE_DIGITS + 2] = "tile 2", [ULP_WIDE_DIGITS + 3] = "tile 3"};

/* What the factors' elements are like. */
enum kind {
    NORMAL,     /* full significands, exponents within 8 */
    SPREAD,     /* exponents within 2000 */
    SHORT,      /* significands of 24 bits whatever the element */
    ZEROS,      /* nine in ten are zeros of either sign */
    INTEGERS,   /* -3 .. 3: sums that are zero happen */
    CANCELLING, /* neighbours in k are equal in b and nearly opposite in a */
    TIES,       /* sums that lie on or beside the middle between neighbours of P bits */
    EDGES,      /* the ends of the element's range: subnormals and huge numbers; records at 2^(+-2^40) */
    FULL,       /* every significand bit is set, signs change with the line: the largest sums of digits */
    PATTERN,    /* 1..1 0 1..1 0 ...: signed digits of 20 + seed % 5 bits are all as large as they can be */
    SPECIALS,   /* now and then NaN, Inf, -Inf, -0 */
    KIND_COUNT
};
static const char *const kind_names[KIND_COUNT] = {"normal", "spread", "short",    "zeros",   "integers", "cancelling",
                                                   "ties",   "edges",  "full",  "pattern",  "specials"};

struct setup {
    size_t batch_count, m, n, k;
    enum ulp_element a, b;
    int a_precision, b_precision; /* of WIDE */
    int precision;                /* P */
    enum kind kind;
    bool padding;
    uint64_t seed;
};

/* A stream of random numbers. */
struct stream {
    uint64_t key, next;
};
static uint64_t draw(struct stream *stream) { return ulp_random_bits(stream->key, stream->next++); }
static uint64_t draw_below(struct stream *stream, uint64_t bound) { return draw(stream) % bound; }

static int precision_of(enum ulp_element element, int precision)
{
    return element == ULP_ELEMENT_WIDE ? precision : element == ULP_ELEMENT_F64 ? 53 : 24;
}

/* A number of `bits` random significand bits with exponent e: 2^(e-1) <= |x| < 2^e. */
static void random_number(mpfr_t x, struct stream *stream, int bits, long e)
{
    mpfr_set_ui(x, 1, MPFR_RNDN);
    for (int done = 1; done < bits; done += 32) {
        int chunk = bits - done < 32 ? bits - done : 32;
        mpfr_mul_2ui(x, x, (unsigned long)chunk, MPFR_RNDN);
        mpfr_add_ui(x, x, draw(stream) >> (64 - chunk), MPFR_RNDN);
    }
    mpfr_mul_2si(x, x, e - bits, MPFR_RNDN);
    if (draw(stream) & 1)
        mpfr_neg(x, x, MPFR_RNDN);
}

static long between(struct stream *stream, long low, long high)
{
    return low + (long)draw_below(stream, (uint64_t)(high - low + 1));
}

/* One element of side 0 (a) or 1 (b) at (line, k). previous: the element at (line, k - 1). */
static void random_element(mpfr_t x, struct stream *stream, const struct setup *setup, int side, size_t line, size_t k,
                           const mpfr_t previous)
{
    enum ulp_element element = side ? setup->b : setup->a;
    int bits = precision_of(element, side ? setup->b_precision : setup->a_precision);
    long low = element == ULP_ELEMENT_F32 ? -140 : element == ULP_ELEMENT_F64 ? -1060 : -1000;
    long high = element == ULP_ELEMENT_F32 ? 127 : 1000;
    switch (setup->kind) {
    case NORMAL: random_number(x, stream, bits, between(stream, -4, 4)); break;
    case SPREAD: random_number(x, stream, bits, between(stream, low, high)); break;
    case SHORT: random_number(x, stream, bits < 24 ? bits : 24, between(stream, -4, 4)); break;
    case ZEROS:
        if (draw_below(stream, 10))
            mpfr_set_zero(x, draw(stream) & 1 ? 1 : -1);
        else
            random_number(x, stream, bits, between(stream, -4, 4));
        break;
    case INTEGERS: mpfr_set_si(x, between(stream, -3, 3), MPFR_RNDN); break;
    case CANCELLING:
        if (k % 2 == 0) {
            random_number(x, stream, bits, between(stream, -4, 4));
        } else if (side == 1) {
            mpfr_set(x, previous, MPFR_RNDN);
        } else {
            mpfr_neg(x, previous, MPFR_RNDN);
            for (uint64_t steps = draw_below(stream, 3); steps && !mpfr_zero_p(x); steps--)
                mpfr_nextabove(x);
        }
        break;
    case TIES: /* 1 * x0 + 2^-P * x1 + 2^-2P * x2, ...: small integers times powers that are P apart */
        mpfr_set_si(x, side ? between(stream, -2, 2) : 1, MPFR_RNDN);
        if (side == 0)
            mpfr_mul_2si(x, x, -(long)(k % 3) * (element == ULP_ELEMENT_F32 && setup->precision > 60 ? 60
                                                                                                     : setup->precision),
                         MPFR_RNDN);
        break;
    case EDGES: {
        long far = element == ULP_ELEMENT_WIDE ? 1L << 40 : high + 20;
        long e = draw(stream) & 1 ? between(stream, far - 20, far) : between(stream, -far - 60, -far);
        random_number(x, stream, bits, e);
        break;
    }
    case FULL:
        mpfr_set_ui(x, 1, MPFR_RNDN);
        mpfr_nextbelow(x);
        if (line % 3 == 1)
            mpfr_neg(x, x, MPFR_RNDN);
        break;
    case PATTERN: {
        long period = 20 + (long)(setup->seed % 5), done = period - 1;
        mpfr_set_ui(x, (1ul << done) - 1, MPFR_RNDZ);
        for (; done + period <= bits; done += period) {
            mpfr_mul_2si(x, x, period, MPFR_RNDN);
            mpfr_add_ui(x, x, (1ul << (period - 1)) - 1, MPFR_RNDN);
        }
        mpfr_mul_2si(x, x, -done, MPFR_RNDN);
        break;
    }
    default:
        random_number(x, stream, bits, between(stream, -4, 4));
        switch (draw_below(stream, 40)) {
        case 0: mpfr_set_nan(x); break;
        case 1: mpfr_set_inf(x, 1); break;
        case 2: mpfr_set_inf(x, -1); break;
        case 3: mpfr_set_zero(x, -1); break;
        case 4: mpfr_set_zero(x, 1); break;
        }
    }
}

struct side {
    struct ulp_tensor tensor;
    int64_t *batch_offset, *line_offset, *k_offset;
    uint8_t *padding;
};

static void put(struct ulp_tensor *tensor, size_t i, const mpfr_t value)
{
    if (tensor->element == ULP_ELEMENT_F32) {
        ((float *)tensor->data)[i] = mpfr_get_flt(value, MPFR_RNDN);
    } else if (tensor->element == ULP_ELEMENT_F64) {
        ((double *)tensor->data)[i] = mpfr_get_d(value, MPFR_RNDN);
    } else {
        mpfr_t x;
        struct ulp_record *record = ulp_record_at(tensor->data, i, tensor->precision);
        ulp_record_begin(x, record, tensor->precision);
        mpfr_set(x, value, MPFR_RNDN);
        ulp_record_close(record, x);
    }
}

static void get(mpfr_t value, const struct ulp_tensor *tensor, size_t i)
{
    if (tensor->element == ULP_ELEMENT_F32) {
        mpfr_set_flt(value, ((const float *)tensor->data)[i], MPFR_RNDN);
    } else if (tensor->element == ULP_ELEMENT_F64) {
        mpfr_set_d(value, ((const double *)tensor->data)[i], MPFR_RNDN);
    } else {
        mpfr_t x;
        ulp_record_open_const(x, ulp_record_at_const(tensor->data, i, tensor->precision), tensor->precision);
        mpfr_set(value, x, MPFR_RNDN);
    }
}

/* Elements lie as [k][batch][line], so that every stride is unlike a dense matrix's. */
static void make_side(struct side *side, const struct setup *setup, int which, struct stream *stream)
{
    size_t lines = which ? setup->n : setup->m, batches = setup->batch_count, k_count = setup->k;
    enum ulp_element element = which ? setup->b : setup->a;
    int precision = which ? setup->b_precision : setup->a_precision;
    struct ulp_error error;
    int64_t dims[] = {(int64_t)(k_count * batches * lines)};
    ck_ulp_ok(ulp_tensor_create(&side->tensor, element == ULP_ELEMENT_F64 ? ULP_TYPE_DOUBLE : ULP_TYPE_FLOAT, element,
                                element == ULP_ELEMENT_WIDE ? precision : 0, 1, dims, &error), error);
    side->batch_offset = calloc(batches + 1, sizeof(int64_t));
    side->line_offset = calloc(lines + 1, sizeof(int64_t));
    side->k_offset = calloc(k_count + 1, sizeof(int64_t));
    side->padding = setup->padding ? calloc(side->tensor.count + 1, 1) : NULL;
    for (size_t i = 0; i < batches; i++)
        side->batch_offset[i] = (int64_t)(i * lines);
    for (size_t i = 0; i < lines; i++)
        side->line_offset[i] = (int64_t)i;
    for (size_t i = 0; i < k_count; i++)
        side->k_offset[i] = (int64_t)(i * batches * lines);
    mpfr_t x, previous;
    mpfr_init2(x, precision_of(element, precision));
    mpfr_init2(previous, precision_of(element, precision));
    for (size_t g = 0; g < batches; g++)
        for (size_t i = 0; i < lines; i++)
            for (size_t k = 0; k < k_count; k++) {
                size_t at = k * batches * lines + g * lines + i;
                random_element(x, stream, setup, which, i, k, previous);
                if (setup->padding && draw_below(stream, 5) == 0) {
                    side->padding[at] = 1;
                    mpfr_set_zero(x, 1);
                }
                put(&side->tensor, at, x);
                mpfr_set(previous, x, MPFR_RNDN);
            }
    mpfr_clear(x);
    mpfr_clear(previous);
}

static void free_side(struct side *side)
{
    ulp_tensor_free(&side->tensor);
    free(side->batch_offset);
    free(side->line_offset);
    free(side->k_offset);
    free(side->padding);
}

struct world {
    struct setup setup;
    struct side a, b;
    struct ulp_tensor out, expected;
    int64_t *out_batch, *out_row, *out_column;
    struct ulp_arithmetic arithmetic;
    struct ulp_contraction problem;
};

/* mpfr_dot, one output at a time; a zero is +0. */
static void find_expected(struct world *world)
{
    const struct setup *setup = &world->setup;
    mpfr_t *values = malloc((2 * setup->k + 1) * sizeof *values);
    mpfr_ptr *a = malloc((setup->k + 1) * sizeof *a), *b = malloc((setup->k + 1) * sizeof *b);
    for (size_t k = 0; k < setup->k; k++) {
        mpfr_init2(values[2 * k], precision_of(setup->a, setup->a_precision));
        mpfr_init2(values[2 * k + 1], precision_of(setup->b, setup->b_precision));
    }
    mpfr_t sum;
    mpfr_init2(sum, setup->precision);
    for (size_t g = 0; g < setup->batch_count; g++)
        for (size_t i = 0; i < setup->m; i++)
            for (size_t j = 0; j < setup->n; j++) {
                size_t count = 0;
                for (size_t k = 0; k < setup->k; k++) {
                    size_t at = (size_t)(world->a.batch_offset[g] + world->a.line_offset[i] + world->a.k_offset[k]);
                    size_t bt = (size_t)(world->b.batch_offset[g] + world->b.line_offset[j] + world->b.k_offset[k]);
                    if (setup->padding && (world->a.padding[at] || world->b.padding[bt]))
                        continue;
                    a[count] = values[2 * count];
                    b[count] = values[2 * count + 1];
                    get(a[count], &world->a.tensor, at);
                    get(b[count], &world->b.tensor, bt);
                    count++;
                }
                mpfr_dot(sum, a, b, count, MPFR_RNDN);
                if (mpfr_zero_p(sum))
                    mpfr_set_zero(sum, 1);
                put(&world->expected, (size_t)(world->out_batch[g] + world->out_row[i] + world->out_column[j]), sum);
            }
    for (size_t k = 0; k < setup->k; k++) {
        mpfr_clear(values[2 * k]);
        mpfr_clear(values[2 * k + 1]);
    }
    mpfr_clear(sum);
    free(values);
    free(a);
    free(b);
}

static void make_world(struct world *world, struct setup setup)
{
    struct stream stream = {setup.seed, 0};
    struct ulp_error error;
    memset(world, 0, sizeof *world);
    world->setup = setup;
    make_side(&world->a, &setup, 0, &stream);
    make_side(&world->b, &setup, 1, &stream);
    int64_t dims[] = {(int64_t)(setup.batch_count * setup.m * setup.n)};
    ck_ulp_ok(ulp_tensor_create(&world->out, ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, setup.precision, 1, dims, &error),
              error);
    ck_ulp_ok(ulp_tensor_create(&world->expected, ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, setup.precision, 1, dims, &error),
              error);
    world->out_batch = calloc(setup.batch_count + 1, sizeof(int64_t));
    world->out_row = calloc(setup.m + 1, sizeof(int64_t));
    world->out_column = calloc(setup.n + 1, sizeof(int64_t));
    for (size_t g = 0; g < setup.batch_count; g++)
        world->out_batch[g] = (int64_t)g;
    for (size_t i = 0; i < setup.m; i++)
        world->out_row[i] = (int64_t)(i * setup.batch_count);
    for (size_t j = 0; j < setup.n; j++)
        world->out_column[j] = (int64_t)(j * setup.batch_count * setup.m);
    struct ulp_format format = {.name = "mpfr", .precision = setup.precision, .emin = -(1 << 30), .emax = 1 << 30,
                                .max_finite = INFINITY, .subnormals = true, .signed_zero = true,
                                .carrier = ULP_CARRIER_MPFR};
    world->arithmetic = (struct ulp_arithmetic){
        .name = "mpfr:P", .storage = format, .factor = format, .accumulator = format, .compute = format};
    world->problem = (struct ulp_contraction){
        .batch_count = setup.batch_count, .m = setup.m, .n = setup.n, .k = setup.k,
        .a = {&world->a.tensor, world->a.batch_offset, world->a.line_offset, world->a.k_offset, world->a.padding},
        .b = {&world->b.tensor, world->b.batch_offset, world->b.line_offset, world->b.k_offset, world->b.padding},
        .out = &world->out, .out_batch_offset = world->out_batch, .out_row_offset = world->out_row,
        .out_column_offset = world->out_column};
    find_expected(world);
}

static void free_world(struct world *world)
{
    free_side(&world->a);
    free_side(&world->b);
    ulp_tensor_free(&world->out);
    ulp_tensor_free(&world->expected);
    free(world->out_batch);
    free(world->out_row);
    free(world->out_column);
}

static bool same_record(const struct ulp_record *x, const struct ulp_record *y, int precision)
{
    if (x->kind != y->kind)
        return llabs(x->kind) == MPFR_NAN_KIND && llabs(y->kind) == MPFR_NAN_KIND;
    if (llabs(x->kind) != MPFR_REGULAR_KIND)
        return true;
    return x->exponent == y->exponent &&
           memcmp(x->limbs, y->limbs, ulp_record_bytes(precision) - sizeof(struct ulp_record)) == 0;
}

/* Returns the share of outputs that were not left to exact summation, 1 when there are none; -1: no such tile here. */
static double run_and_compare(struct world *world, enum ulp_wide_method method, int thread_count)
{
    const struct setup *setup = &world->setup;
    struct ulp_error error;
    struct ulp_wide_counts counts = {0, 0};
    struct ulp_pool *pool = NULL;
    if (thread_count > 1) {
        ck_ulp_ok(ulp_pool_create(&pool, thread_count, &error), error);
        ulp_pool_set_eager(pool);
    }
    memset(world->out.data, 0x5a, world->out.count * world->out.element_bytes);
    enum ulp_status status = ulp_contract_wide_by(method, &world->arithmetic, &world->problem, &counts, pool, &error);
    ulp_pool_free(pool);
    if (status == ULP_ERROR_UNSUPPORTED)
        return -1;
    ck_ulp_ok(status, error);
    for (size_t i = 0; i < world->out.count; i++) {
        const struct ulp_record *found = ulp_record_at_const(world->out.data, i, setup->precision);
        const struct ulp_record *right = ulp_record_at_const(world->expected.data, i, setup->precision);
        if (same_record(found, right, setup->precision))
            continue;
        mpfr_t x, y;
        ulp_record_open_const(x, found, setup->precision);
        ulp_record_open_const(y, right, setup->precision);
        mpfr_printf("found %Ra\nright %Ra\n", x, y);
        ck_abort_msg("method %s, %s, P %d, %zux%zux%zux%zu, elements %d:%d %d:%d, padding %d, "
                     "threads %d, seed %llu: output %zu",
                     method_names[method], kind_names[setup->kind], setup->precision, setup->batch_count, setup->m,
                     setup->n, setup->k, (int)setup->a, setup->a_precision, (int)setup->b, setup->b_precision,
                     (int)setup->padding, thread_count, (unsigned long long)setup->seed, i);
    }
    return counts.digits + counts.exact ? (double)counts.digits / (double)(counts.digits + counts.exact) : 1;
}

/* Every method on one setup. */
static void check_setup(struct setup setup, int thread_count)
{
    struct world world;
    make_world(&world, setup);
    for (size_t method = 0; method < COUNT(method_names); method++)
        run_and_compare(&world, (enum ulp_wide_method)method, thread_count);
    free_world(&world);
}

/* Pairs of elements; a precision of 0 stands for P. */
static const struct {
    enum ulp_element a, b;
    int a_precision, b_precision;
} pairs[] = {
    {ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, 0},   {ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 0},
    {ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 0, 0},  {ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 0, 0},
    {ULP_ELEMENT_F64, ULP_ELEMENT_F64, 0, 0},   {ULP_ELEMENT_F64, ULP_ELEMENT_WIDE, 0, 0},
    {ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 37, 700},
};
static const int precisions[] = {2, 24, 53, 64, 113, 128, 256, 500, 1024, 4096};

static struct setup make_setup(size_t pair, int precision, enum kind kind, uint64_t seed)
{
    struct stream stream = {seed ^ 0x77, 0};
    size_t scale = precision > 1000 ? 1 : test_long() ? 4 : 2;
    return (struct setup){
        .batch_count = 1 + draw_below(&stream, 2), .m = 1 + draw_below(&stream, 9 * scale),
        .n = 1 + draw_below(&stream, 14 * scale), .k = draw_below(&stream, 20 * scale),
        .a = pairs[pair].a, .b = pairs[pair].b,
        .a_precision = pairs[pair].a_precision ? pairs[pair].a_precision : precision,
        .b_precision = pairs[pair].b_precision ? pairs[pair].b_precision : precision,
        .precision = precision, .kind = kind, .padding = draw_below(&stream, 3) == 0, .seed = seed};
}

START_TEST(equals_mpfr_dot)
{
    enum kind kind = (enum kind)_i;
    for (size_t p = 0; p < COUNT(precisions); p++)
        for (size_t pair = 0; pair < COUNT(pairs); pair++)
            for (uint64_t round = 0; round < (test_long() ? 4 : 1); round++)
                check_setup(make_setup(pair, precisions[p], kind, 1000 * round + 100 * pair + p), 1);
}
END_TEST

/* Sizes with several blocks of k, panels of rows and of columns, and a last one of each that is not full. The digit
 * method must have decided nearly all outputs: only in this test is it known that it did. */
START_TEST(blocks_and_panels)
{
    static const struct setup setups[] = {
        {1, 19, 53, 700, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, 128, 128, NORMAL, false, 1},
        {1, 53, 19, 1030, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 128, 128, NORMAL, true, 2},
        {2, 11, 29, 300, ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 256, 0, 256, NORMAL, false, 3},
        {1, 9, 25, 513, ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, 0, 53, NORMAL, false, 4},
        {1, 9, 25, 257, ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, 0, 128, SPREAD, false, 5},
        {1, 3, 26, 150, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 1024, 1024, 1024, NORMAL, false, 6},
        {1, 33, 1, 300, ULP_ELEMENT_F64, ULP_ELEMENT_WIDE, 0, 64, 64, NORMAL, false, 7},
        {1, 1, 33, 300, ULP_ELEMENT_F64, ULP_ELEMENT_F32, 0, 0, 100, NORMAL, false, 8},
        {1, 5, 30, 4500, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, 128, 128, FULL, false, 9},
        {1, 5, 30, 2000, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 400, 400, 400, FULL, false, 10},
        {60, 7, 3, 9, ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 128, 0, 128, NORMAL, true, 11},
        {1, 10, 30, 600, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, 128, 128, SPREAD, false, 12},
        {1, 2, 17, 40, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 4096, 4096, 4096, NORMAL, false, 13},
        {1, 6, 5, 32900, ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, 0, 24, FULL, false, 14},
    };
    struct world world;
    make_world(&world, setups[_i]);
    for (int method = ULP_WIDE_DIGITS; method < (int)COUNT(method_names); method++) {
        double share = run_and_compare(&world, (enum ulp_wide_method)method, 1 + _i % 3);
        if (share >= 0)
            ck_assert_msg(share > 0.9, "setup %d, %s: %.3f of the outputs by digits", _i, method_names[method], share);
    }
    free_world(&world);
}
END_TEST
#define BLOCK_SETUPS 14

/* Sums that lie beside the middle between two neighbours of P bits, at every distance around the digit method's
 * error bound, which is therefore neither too small nor forgotten: a's first element is 1, and b's makes up the
 * difference. */
START_TEST(near_middles)
{
    static const struct {
        int precision;
        enum kind kind;
        size_t k;
        uint64_t seed;
    } rows[] = {{53, NORMAL, 37, 0},    {53, FULL, 400, 0},     {128, NORMAL, 37, 0},   {128, FULL, 400, 0},
                {256, NORMAL, 37, 0},   {256, FULL, 400, 0},    {128, PATTERN, 400, 0}, {128, PATTERN, 400, 1},
                {128, PATTERN, 400, 2}, {128, PATTERN, 400, 3}, {128, PATTERN, 400, 4}, {64, NORMAL, 37, 0},
                {192, FULL, 400, 0}};
    const int precision = rows[_i].precision, columns = 240;
    struct world world;
    make_world(&world, (struct setup){1, 1, (size_t)columns, rows[_i].k, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 300, 2000,
                                      precision, rows[_i].kind, false, rows[_i].seed});
    mpfr_t one, sum, target, step, rounded, factor;
    mpfr_inits2(4000, one, sum, target, step, (mpfr_ptr)NULL);
    mpfr_init2(rounded, precision);
    mpfr_init2(factor, 300); /* of b's elements but the first */
    mpfr_set_ui(one, 1, MPFR_RNDN);
    put(&world.a.tensor, 0, one);
    size_t k_count = world.setup.k;
    for (int j = 0; j < columns; j++) {
        mpfr_set_zero(sum, 1);
        for (size_t k = 1; k < k_count; k++) {
            get(target, &world.a.tensor, k);
            get(factor, &world.b.tensor, k * (size_t)columns + (size_t)j);
            mpfr_set(step, factor, MPFR_RNDN);
            put(&world.b.tensor, k * (size_t)columns + (size_t)j, factor);
            mpfr_mul(target, target, step, MPFR_RNDN);
            ck_assert_int_eq(mpfr_add(sum, sum, target, MPFR_RNDN), 0);
        }
        /* the middle above the sum rounded down, and j bits below that a step to either side */
        mpfr_set(rounded, sum, MPFR_RNDZ);
        mpfr_set(target, rounded, MPFR_RNDN);
        mpfr_set_si_2exp(step, mpfr_sgn(sum), mpfr_get_exp(sum) - precision - 1, MPFR_RNDN);
        ck_assert_int_eq(mpfr_add(target, target, step, MPFR_RNDN), 0);
        mpfr_div_2ui(step, step, (unsigned long)(1 + j / 2), MPFR_RNDN);
        if (j % 2)
            mpfr_neg(step, step, MPFR_RNDN);
        ck_assert_int_eq(mpfr_add(target, target, step, MPFR_RNDN), 0);
        ck_assert_int_eq(mpfr_sub(target, target, sum, MPFR_RNDN), 0);
        ck_assert_int_le((int)mpfr_min_prec(target), 2000); /* so that it is put exactly */
        put(&world.b.tensor, (size_t)j, target);
    }
    mpfr_clears(one, sum, target, step, rounded, factor, (mpfr_ptr)NULL);
    find_expected(&world);
    for (int method = ULP_WIDE_DIRECT; method < (int)COUNT(method_names); method++)
        run_and_compare(&world, (enum ulp_wide_method)method, 1);
    free_world(&world);
}
END_TEST

/* Sums just below powers of two, known exactly or nearly: all P bits carry into the exponent. */
START_TEST(rounds_up_to_powers_of_two)
{
    const int precision = 64 * (1 + _i / 2);
    const bool exact = _i % 2;
    struct world world;
    mpfr_t x, tiny;
    make_world(&world, (struct setup){1, 1, 24, 3, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 300, 2000, precision, INTEGERS, false, 1});
    mpfr_inits2(2000, x, tiny, (mpfr_ptr)NULL);
    for (size_t k = 0; k < 3; k++) {
        mpfr_set_ui(x, k < 2, MPFR_RNDN);
        put(&world.a.tensor, k, x);
        for (long j = 0; j < 24; j++) {
            mpfr_set_ui_2exp(tiny, 1, j - precision - 2 - (j & 3), MPFR_RNDN);
            mpfr_set_ui_2exp(x, 1, k == 0 ? j : j - 1500, MPFR_RNDN);
            if (k == 0)
                mpfr_sub(x, x, tiny, MPFR_RNDN);
            else if (exact)
                mpfr_set_zero(x, 1);
            if (j % 3 == 1)
                mpfr_neg(x, x, MPFR_RNDN);
            put(&world.b.tensor, k * 24 + (size_t)j, x);
        }
    }
    mpfr_clears(x, tiny, (mpfr_ptr)NULL);
    find_expected(&world);
    for (int method = ULP_WIDE_DIRECT; method < (int)COUNT(method_names); method++) {
        const double share = run_and_compare(&world, (enum ulp_wide_method)method, 1);
        ck_assert(method == ULP_WIDE_DIRECT || share < 0 || share == 1);
    }
    free_world(&world);
}
END_TEST

/* With features switched off AUTO takes what is left, and the tiles that need them are refused. */
START_TEST(disabled_features)
{
    static const char *const lists[] = {"avx512ifma", "avx512", "avx2"};
    setenv("ULPSCOPE_DISABLE_CPU", lists[_i], 1);
    struct world world;
    make_world(&world, (struct setup){1, 20, 30, 100, ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 128, 0, 128, NORMAL, false,
                                      3});
    ck_assert_double_ge(run_and_compare(&world, ULP_WIDE_AUTO, 1), 0.9);
#ifdef __x86_64__
    for (int tile = 0; tile <= _i; tile++)
        ck_assert_double_eq(run_and_compare(&world, ULP_WIDE_DIGITS + (enum ulp_wide_method)tile, 1), -1);
#endif
    free_world(&world);
}
END_TEST

START_TEST(threads_do_not_matter)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int threads = 2; threads <= 7; threads += 5)
            check_setup((struct setup){3, 31, 70, 40, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 128, 128, (enum kind)kind,
                                       false,
                                       (uint64_t)threads}, threads);
}
END_TEST

/* A sum rounded in each mode equals the oracle's rounding of the exact sum; factors are rounded to the factor
 * format. */
START_TEST(other_roundings_and_stores)
{
    static const mpfr_rnd_t modes[] = {[ULP_ROUND_TOWARD_ZERO] = MPFR_RNDZ, [ULP_ROUND_UP] = MPFR_RNDU,
                                       [ULP_ROUND_DOWN] = MPFR_RNDD};
    for (int mode = ULP_ROUND_TOWARD_ZERO; mode <= ULP_ROUND_DOWN; mode++) {
        struct world world;
        make_world(&world, (struct setup){1, 3, 5, 17, ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 100, 0, 100, NORMAL, false,
                                          5});
        world.arithmetic.rounding = (enum ulp_rounding)mode;
        mpfr_t x[17], y[17], sum;
        mpfr_ptr xs[17], ys[17];
        for (size_t k = 0; k < 17; k++) {
            mpfr_inits2(100, xs[k] = x[k], ys[k] = y[k], (mpfr_ptr)NULL);
            get(x[k], &world.a.tensor, k * 3 + 2);
            get(y[k], &world.b.tensor, k * 5 + 4);
        }
        mpfr_init2(sum, 100);
        mpfr_dot(sum, xs, ys, 17, modes[mode]);
        size_t at = (size_t)(world.out_row[2] + world.out_column[4]);
        put(&world.expected, at, sum);
        struct ulp_error error;
        ck_ulp_ok(ulp_contract_wide(&world.arithmetic, &world.problem, NULL, &error), error);
        ck_assert(same_record(ulp_record_at_const(world.out.data, at, 100),
                              ulp_record_at_const(world.expected.data, at, 100), 100));
        for (size_t k = 0; k < 17; k++)
            mpfr_clears(x[k], y[k], (mpfr_ptr)NULL);
        mpfr_clear(sum);
        free_world(&world);
    }
}
END_TEST

START_TEST(stores_into_a_narrow_format)
{
    struct world world;
    struct ulp_error error;
    make_world(&world, (struct setup){1, 4, 6, 400, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 200, 200, NORMAL, false, 9});
    int64_t dims[] = {24};
    struct ulp_tensor narrow;
    ck_ulp_ok(ulp_tensor_create(&narrow, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, &error), error);
    struct ulp_format fp32 = {.name = "fp32", .precision = 24, .emin = -126, .emax = 127, .max_finite = 0x1.fffffep127,
                              .subnormals = true, .signed_zero = true, .carrier = ULP_CARRIER_FLOAT,
                                  .storage_bits = 32};
    world.arithmetic.storage = world.arithmetic.factor = fp32;
    world.problem.out = &narrow;
    ck_assert_int_eq(ulp_contract_wide(&world.arithmetic, &world.problem, NULL, &error), ULP_ERROR_USAGE);
    world.problem.store = true;
    ck_ulp_ok(ulp_contract_wide(&world.arithmetic, &world.problem, NULL, &error), error);
    mpfr_t sum;
    mpfr_init2(sum, 200);
    for (size_t i = 0; i < 24; i++) {
        get(sum, &world.expected, i);
        ck_assert_float_eq(((float *)narrow.data)[i], mpfr_get_flt(sum, MPFR_RNDN));
    }
    mpfr_clear(sum);
    ulp_tensor_free(&narrow);
    free_world(&world);
}
END_TEST

/* With factors of 5 bits the sum is that of the rounded elements, exactly. */
START_TEST(rounds_factors)
{
    struct world world, rounded;
    struct ulp_error error;
    struct setup setup = {1, 4, 6, 30, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 90, 90, NORMAL, false, 11};
    make_world(&world, setup);
    make_world(&rounded, setup);
    struct ulp_format e5m4 = {.name = "e5m4", .precision = 5, .emin = -14, .emax = 15, .max_finite = 63488,
                              .subnormals = true, .signed_zero = true, .carrier = ULP_CARRIER_FLOAT,
                                  .storage_bits = 10};
    mpfr_t x, five;
    mpfr_init2(x, 90);
    mpfr_init2(five, 5);
    struct ulp_tensor *tensors[] = {&rounded.a.tensor, &rounded.b.tensor};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < tensors[side]->count; i++) {
            get(x, tensors[side], i);
            mpfr_set(five, x, MPFR_RNDN);
            put(tensors[side], i, five);
        }
    find_expected(&rounded);
    world.arithmetic.factor = e5m4;
    ck_ulp_ok(ulp_contract_wide(&world.arithmetic, &world.problem, NULL, &error), error);
    for (size_t i = 0; i < 24; i++)
        ck_assert(same_record(ulp_record_at_const(world.out.data, i, 90),
                              ulp_record_at_const(rounded.expected.data, i, 90), 90));
    mpfr_clears(x, five, (mpfr_ptr)NULL);
    free_world(&world);
    free_world(&rounded);
}
END_TEST

/* The one batch's lines one after the other, k along each. */
static void lay_along_k(struct side *side, size_t lines, size_t k_count)
{
    struct ulp_tensor turned;
    struct ulp_error error;
    uint8_t *padding = side->padding ? calloc(lines * k_count + 1, 1) : NULL;
    ck_ulp_ok(ulp_tensor_create(&turned, side->tensor.type, side->tensor.element, side->tensor.precision, 1, side->tensor.dims, &error),
              error);
    const size_t each = turned.element_bytes;
    for (size_t i = 0; i < lines; i++)
        for (size_t k = 0; k < k_count; k++) {
            const size_t from = (size_t)(side->line_offset[i] + side->k_offset[k]), to = i * k_count + k;
            memcpy((char *)turned.data + to * each, (const char *)side->tensor.data + from * each, each);
            if (padding)
                padding[to] = side->padding[from];
        }
    for (size_t i = 0; i < lines; i++)
        side->line_offset[i] = (int64_t)(i * k_count);
    for (size_t k = 0; k < k_count; k++)
        side->k_offset[k] = (int64_t)k;
    ulp_tensor_free(&side->tensor);
    free(side->padding);
    side->tensor = turned;
    side->padding = padding;
}

/* A few rows times floats that are cut in registers, along columns and along k: partial vectors, and more products than an accumulator
 * holds. */
START_TEST(vectors_times_floats)
{
    static const size_t sizes[][2] = {{5, 1}, {8, 7}, {9, 8}, {16, 15}, {17, 16}, {24, 33}, {40, 90}, {6, 2100}, {5, 32900}};
    const enum kind kind = (enum kind)(_i / 2);
    for (size_t size = 0; size < COUNT(sizes); size++)
        for (size_t pair = 0; pair < 5; pair++) {
            const bool large = sizes[size][1] > 1000;
            if (large && (pair > 1 || (kind != FULL && !(kind == NORMAL && sizes[size][1] < 3000))))
                continue;
            static const int x_precisions[] = {0, 0, 128, 160, 300};
            static const int sum_precisions[] = {24, 64, 128, 128, 256};
            const enum ulp_element x = pair == 0 ? ULP_ELEMENT_F32 : pair == 1 ? ULP_ELEMENT_F64 : ULP_ELEMENT_WIDE;
            struct world world;
            make_world(&world, (struct setup){1, 1 + (size + pair) % 4, sizes[size][0], sizes[size][1], x, ULP_ELEMENT_F32,
                                              x_precisions[pair], 0, sum_precisions[pair], kind, size % 4 == 3, 50 * size + pair});
            if (_i % 2)
                lay_along_k(&world.b, sizes[size][0], sizes[size][1]);
            world.problem.b.tensor = &world.b.tensor;
            world.problem.b.padding = world.b.padding;
            const double share = run_and_compare(&world, ULP_WIDE_DIGITS, 1 + (int)pair % 2);
            if (share >= 0 && (kind == NORMAL || kind == FULL))
                ck_assert_msg(share > 0.9, "%zu columns of %zu: %.3f of the outputs by digits", sizes[size][0], sizes[size][1], share);
            free_world(&world);
        }
}
END_TEST

/* What earlier calls left of a factor that stays as it is changes no bit, whatever the other factor becomes: new elements of the same
 * kind, of far exponents, infinities and NaN, and the first ones again. */
static void check_kept(struct setup setup, unsigned kept, enum ulp_wide_method method, int thread_count, struct ulp_packed *packed)
{
    static const enum kind kinds[] = {NORMAL, SPREAD, SPECIALS, CANCELLING, KIND_COUNT};
    struct ulp_error error;
    struct world world;
    make_world(&world, setup);
    struct side *sides[] = {&world.a, &world.b};
    for (int side = 0; side < 2; side++)
        if (kept >> side & 1)
            ck_ulp_ok(ulp_packed_keep(packed, &sides[side]->tensor, &error), error);
    world.problem.packed = packed;
    double share = run_and_compare(&world, method, thread_count);
    for (size_t i = 0; i < COUNT(kinds) && share >= 0; i++) {
        struct setup other = setup;
        other.kind = kinds[i] == KIND_COUNT ? setup.kind : kinds[i];
        other.seed += i;
        for (int side = 0; side < 2; side++)
            if (!(kept >> side & 1)) {
                struct stream stream = {other.seed, 1000};
                free_side(sides[side]);
                *sides[side] = (struct side){0};
                make_side(sides[side], &other, side, &stream);
            }
        world.problem.a = (struct ulp_factor){&world.a.tensor, world.a.batch_offset, world.a.line_offset, world.a.k_offset,
                                              world.a.padding};
        world.problem.b = (struct ulp_factor){&world.b.tensor, world.b.batch_offset, world.b.line_offset, world.b.k_offset,
                                              world.b.padding};
        find_expected(&world);
        run_and_compare(&world, method, thread_count);
        run_and_compare(&world, method, 1);
    }
    for (int side = 0; side < 2; side++)
        if (kept >> side & 1)
            ulp_packed_drop(packed, &sides[side]->tensor);
    free_world(&world);
}

START_TEST(kept_factors_change_no_bit)
{
    const enum kind kind = (enum kind)_i;
    struct ulp_error error;
    struct ulp_budget budget = {.keeps_blocks = true};
    struct ulp_packed *packed;
    ck_ulp_ok(ulp_packed_create(&packed, &budget, &error), error);
    for (size_t pair = 0; pair < COUNT(pairs); pair++) {
        static const int chosen[] = {24, 128, 256};
        struct setup setup = make_setup(pair, chosen[(pair + (size_t)kind) % COUNT(chosen)], kind, 100 * pair + 7);
        setup.m += 4, setup.n += 4, setup.k += 3;
        for (unsigned kept = 1; kept <= 3; kept++)
            for (int method = ULP_WIDE_DIGITS; method < (int)COUNT(method_names); method++)
                check_kept(setup, kept, (enum ulp_wide_method)method, kept == 2 ? 3 : 1, packed);
        check_kept(setup, 2, ULP_WIDE_AUTO, 1, packed);
    }
    ck_assert_uint_eq(budget.used_bytes, 0); /* every form went with its factor */
    ulp_packed_free(packed);
    ulp_budget_clear(&budget);
}
END_TEST

/* The weights of two images are packed once, at the first call, and found at the second by either tile; not when a factor is rounded
 * first, padded, or meets lines that were not kept. */
START_TEST(kept_factors_are_packed_once)
{
    struct ulp_error error;
    struct ulp_packed *packed;
    struct world world;
    make_world(&world, (struct setup){2, 20, 30, 100, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 128, 128, NORMAL, false, 3});
    ck_ulp_ok(ulp_packed_create(&packed, NULL, &error), error);
    world.problem.packed = packed;
    run_and_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 0);
    ck_ulp_ok(ulp_packed_keep(packed, &world.a.tensor, &error), error);
    for (size_t call = 0; call < 3; call++) {
        run_and_compare(&world, ULP_WIDE_AUTO, 1);
        ck_assert_uint_eq(ulp_packed_count(packed).made, 1);
        ck_assert_uint_eq(ulp_packed_count(packed).used, call);
    }
    /* Another view of the same memory is another form. */
    world.problem.m -= 3;
    struct ulp_wide_counts counts = {0, 0};
    ck_ulp_ok(ulp_contract_wide_by(ULP_WIDE_AUTO, &world.arithmetic, &world.problem, &counts, NULL, &error), error);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    world.problem.m += 3;
    run_and_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    /* Kept twice, dropped once: still there; dropped again: gone. */
    ck_ulp_ok(ulp_packed_keep(packed, &world.a.tensor, &error), error);
    ulp_packed_drop(packed, &world.a.tensor);
    run_and_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    ulp_packed_drop(packed, &world.a.tensor);
    const size_t used = ulp_packed_count(packed).used;
    run_and_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    ck_assert_uint_eq(ulp_packed_count(packed).used, used);
    ulp_packed_free(packed);
    free_world(&world);
}
END_TEST

/* Forms are given up before an allocation fails, and are not made where there is no room for them. */
START_TEST(forms_yield_to_tensors)
{
    struct ulp_error error;
    struct ulp_budget budget = {.limit_bytes = 1 << 20};
    struct ulp_packed *packed;
    struct world world;
    void *block, *other;
    make_world(&world, (struct setup){1, 20, 30, 100, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 128, 128, NORMAL, false, 3});
    ck_ulp_ok(ulp_packed_create(&packed, &budget, &error), error);
    ck_ulp_ok(ulp_packed_keep(packed, &world.a.tensor, &error), error);
    world.problem.packed = packed;
    run_and_compare(&world, ULP_WIDE_AUTO, 1);
    const size_t form = budget.used_bytes;
    ck_assert_uint_ge(form, 20 * 100 * sizeof(uint64_t));
    ck_ulp_ok(ulp_allocate(&block, (1 << 20) - 1000, 1, &budget, "a tensor", &error), error);
    ck_assert_uint_lt(budget.used_bytes, (1 << 20) + 1);
    run_and_compare(&world, ULP_WIDE_AUTO, 1); /* there is no room for it */
    ck_assert_uint_eq(ulp_packed_count(packed).made, 1);
    ck_assert_int_eq(ulp_allocate(&other, 2000, 1, &budget, "a tensor", &error), ULP_ERROR_MEMORY);
    ulp_free(block);
    ck_assert_uint_eq(budget.used_bytes, 0);
    run_and_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    ck_assert_uint_eq(budget.used_bytes, form);
    ulp_packed_free(packed);
    ck_assert_uint_eq(budget.used_bytes, 0);
    free_world(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wide");
    TCase *sums = tcase_create("sums");
    tcase_set_timeout(sums, test_long() ? 600 : 60);
    tcase_add_loop_test(sums, equals_mpfr_dot, 0, KIND_COUNT);
    tcase_add_loop_test(sums, blocks_and_panels, 0, BLOCK_SETUPS);
    tcase_add_loop_test(sums, near_middles, 0, 13);
    tcase_add_loop_test(sums, rounds_up_to_powers_of_two, 0, 8);
    tcase_add_loop_test(sums, disabled_features, 0, 3);
    tcase_add_test(sums, threads_do_not_matter);
    tcase_add_test(sums, other_roundings_and_stores);
    tcase_add_test(sums, stores_into_a_narrow_format);
    tcase_add_test(sums, rounds_factors);
    tcase_add_loop_test(sums, vectors_times_floats, 0, 2 * KIND_COUNT);
    tcase_add_loop_test(sums, kept_factors_change_no_bit, 0, KIND_COUNT);
    tcase_add_test(sums, kept_factors_are_packed_once);
    tcase_add_test(sums, forms_yield_to_tensors);
    suite_add_tcase(suite, sums);
    return test_run(suite, NULL);
}
