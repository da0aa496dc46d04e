/* Random operands of every kind, their contraction, and mpfr_dot as its oracle: see world.h. */
#include "world.h"

static const char *const kind_names[KIND_COUNT] = {"normal",   "spread",     "short", "zeros",
                                                   "integers", "cancelling", "ties",  "edges",
                                                   "full",     "specials"};

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
        mpfr_add_ui(x, x, stream_draw(stream) >> (64 - chunk), MPFR_RNDN);
    }
    mpfr_mul_2si(x, x, e - bits, MPFR_RNDN);
    if (stream_draw(stream) & 1)
        mpfr_neg(x, x, MPFR_RNDN);
}

static long between(struct stream *stream, long low, long high)
{
    return low + (long)stream_draw_below(stream, (uint64_t)(high - low + 1));
}

/* One element of side 0 (a) or 1 (b) at (line, k). previous: the element at (line, k - 1). */
static void random_element(mpfr_t x, struct stream *stream, const struct setup *setup, int side,
                           size_t line, size_t k, const mpfr_t previous)
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
        if (stream_draw_below(stream, 10))
            mpfr_set_zero(x, stream_draw(stream) & 1 ? 1 : -1);
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
            for (uint64_t steps = stream_draw_below(stream, 3); steps && !mpfr_zero_p(x); steps--)
                mpfr_nextabove(x);
        }
        break;
    case TIES:
        /* 1 * x0 + 2^-P * x1 + 2^-2P * x2, ...: small integers times powers that are P apart */
        mpfr_set_si(x, side ? between(stream, -2, 2) : 1, MPFR_RNDN);
        if (side == 0)
            mpfr_mul_2si(x, x,
                         -(long)(k % 3) * (element == ULP_ELEMENT_F32 && setup->precision > 60
                                               ? 60
                                               : setup->precision),
                         MPFR_RNDN);
        break;
    case EDGES: {
        long far = element == ULP_ELEMENT_WIDE ? 1L << 40 : high + 20;
        long e = stream_draw(stream) & 1 ? between(stream, far - 20, far)
                                         : between(stream, -far - 60, -far);
        random_number(x, stream, bits, e);
        break;
    }
    case FULL:
        mpfr_set_ui(x, 1, MPFR_RNDN);
        mpfr_nextbelow(x);
        if (line % 3 == 1)
            mpfr_neg(x, x, MPFR_RNDN);
        break;
    default:
        random_number(x, stream, bits, between(stream, -4, 4));
        switch (stream_draw_below(stream, 40)) {
        case 0: mpfr_set_nan(x); break;
        case 1: mpfr_set_inf(x, 1); break;
        case 2: mpfr_set_inf(x, -1); break;
        case 3: mpfr_set_zero(x, -1); break;
        case 4: mpfr_set_zero(x, 1); break;
        }
    }
}

void world_put(struct ulp_tensor *tensor, size_t i, const mpfr_t value)
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

void world_get(mpfr_t value, const struct ulp_tensor *tensor, size_t i)
{
    if (tensor->element == ULP_ELEMENT_F32) {
        mpfr_set_flt(value, ((const float *)tensor->data)[i], MPFR_RNDN);
    } else if (tensor->element == ULP_ELEMENT_F64) {
        mpfr_set_d(value, ((const double *)tensor->data)[i], MPFR_RNDN);
    } else {
        mpfr_t x;
        ulp_record_open_const(x, ulp_record_at_const(tensor->data, i, tensor->precision),
                              tensor->precision);
        mpfr_set(value, x, MPFR_RNDN);
    }
}

/* Side 0 (a) or 1 (b) of the setup. Elements lie as [k][batch][line], so that every stride is
 * unlike a dense matrix's. */
static void side_create(struct side *side, const struct setup *setup, int which,
                        struct stream *stream)
{
    size_t lines = which ? setup->n : setup->m, batches = setup->batch_count, k_count = setup->k;
    enum ulp_element element = which ? setup->b : setup->a;
    int precision = which ? setup->b_precision : setup->a_precision;
    int64_t dims[] = {(int64_t)(k_count * batches * lines)};
    ck_ok(ulp_tensor_create(&side->tensor,
                            element == ULP_ELEMENT_F64 ? ULP_TYPE_DOUBLE : ULP_TYPE_FLOAT, element,
                            element == ULP_ELEMENT_WIDE ? precision : 0, 1, dims, &why));
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
    scoped_mpfr x, previous;
    mpfr_init2(x, precision_of(element, precision));
    mpfr_init2(previous, precision_of(element, precision));
    for (size_t g = 0; g < batches; g++)
        for (size_t i = 0; i < lines; i++)
            for (size_t k = 0; k < k_count; k++) {
                size_t at = k * batches * lines + g * lines + i;
                random_element(x, stream, setup, which, i, k, previous);
                if (setup->padding && stream_draw_below(stream, 5) == 0) {
                    side->padding[at] = 1;
                    mpfr_set_zero(x, 1);
                }
                world_put(&side->tensor, at, x);
                mpfr_set(previous, x, MPFR_RNDN);
            }
}

static void side_free(struct side *side)
{
    ulp_tensor_free(&side->tensor);
    free(side->batch_offset);
    free(side->line_offset);
    free(side->k_offset);
    free(side->padding);
}

static struct ulp_factor side_factor(const struct side *side)
{
    return (struct ulp_factor){.tensor = &side->tensor,
                               .batch_offset = side->batch_offset,
                               .line_offset = side->line_offset,
                               .k_offset = side->k_offset,
                               .padding = side->padding};
}

void world_find_expected(struct world *world)
{
    const struct setup *setup = &world->setup;
    mpfr_t *values = malloc((2 * setup->k + 1) * sizeof *values);
    mpfr_ptr *a = malloc((setup->k + 1) * sizeof *a), *b = malloc((setup->k + 1) * sizeof *b);
    for (size_t k = 0; k < setup->k; k++) {
        mpfr_init2(values[2 * k], precision_of(setup->a, setup->a_precision));
        mpfr_init2(values[2 * k + 1], precision_of(setup->b, setup->b_precision));
    }
    scoped_mpfr sum;
    mpfr_init2(sum, setup->precision);
    for (size_t g = 0; g < setup->batch_count; g++)
        for (size_t i = 0; i < setup->m; i++)
            for (size_t j = 0; j < setup->n; j++) {
                size_t count = 0;
                for (size_t k = 0; k < setup->k; k++) {
                    size_t at = (size_t)(world->a.batch_offset[g] + world->a.line_offset[i] +
                                         world->a.k_offset[k]);
                    size_t bt = (size_t)(world->b.batch_offset[g] + world->b.line_offset[j] +
                                         world->b.k_offset[k]);
                    if (setup->padding && (world->a.padding[at] || world->b.padding[bt]))
                        continue;
                    a[count] = values[2 * count];
                    b[count] = values[2 * count + 1];
                    world_get(a[count], &world->a.tensor, at);
                    world_get(b[count], &world->b.tensor, bt);
                    count++;
                }
                mpfr_dot(sum, a, b, count, MPFR_RNDN);
                if (mpfr_zero_p(sum))
                    mpfr_set_zero(sum, 1);
                world_put(&world->expected,
                          (size_t)(world->out_batch[g] + world->out_row[i] + world->out_column[j]),
                          sum);
            }
    for (size_t k = 0; k < setup->k; k++) {
        mpfr_clear(values[2 * k]);
        mpfr_clear(values[2 * k + 1]);
    }
    free(values);
    free(a);
    free(b);
}

void world_create(struct world *world, struct setup setup)
{
    struct stream stream = {setup.seed, 0};
    memset(world, 0, sizeof *world);
    world->setup = setup;
    side_create(&world->a, &setup, 0, &stream);
    side_create(&world->b, &setup, 1, &stream);
    int64_t dims[] = {(int64_t)(setup.batch_count * setup.m * setup.n)};
    ck_ok(ulp_tensor_create(&world->out, ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, setup.precision, 1, dims,
                            &why));
    ck_ok(ulp_tensor_create(&world->expected, ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, setup.precision, 1,
                            dims, &why));
    world->out_batch = calloc(setup.batch_count + 1, sizeof(int64_t));
    world->out_row = calloc(setup.m + 1, sizeof(int64_t));
    world->out_column = calloc(setup.n + 1, sizeof(int64_t));
    for (size_t g = 0; g < setup.batch_count; g++)
        world->out_batch[g] = (int64_t)g;
    for (size_t i = 0; i < setup.m; i++)
        world->out_row[i] = (int64_t)(i * setup.batch_count);
    for (size_t j = 0; j < setup.n; j++)
        world->out_column[j] = (int64_t)(j * setup.batch_count * setup.m);
    struct ulp_format format = {.name = "mpfr",
                                .precision = setup.precision,
                                .emin = -(1 << 30),
                                .emax = 1 << 30,
                                .max_finite = INFINITY,
                                .subnormals = true,
                                .signed_zero = true,
                                .carrier = ULP_CARRIER_MPFR};
    world->arithmetic = (struct ulp_arithmetic){.name = "mpfr:P",
                                                .storage = format,
                                                .factor = format,
                                                .accumulator = format,
                                                .compute = format};
    world->problem = (struct ulp_contraction){.batch_count = setup.batch_count,
                                              .m = setup.m,
                                              .n = setup.n,
                                              .k = setup.k,
                                              .a = side_factor(&world->a),
                                              .b = side_factor(&world->b),
                                              .out = &world->out,
                                              .out_batch_offset = world->out_batch,
                                              .out_row_offset = world->out_row,
                                              .out_column_offset = world->out_column};
    world_find_expected(world);
}

void world_free(struct world *world)
{
    side_free(&world->a);
    side_free(&world->b);
    ulp_tensor_free(&world->out);
    ulp_tensor_free(&world->expected);
    free(world->out_batch);
    free(world->out_row);
    free(world->out_column);
}

bool world_same_record(const struct ulp_record *x, const struct ulp_record *y, int precision)
{
    if (x->kind != y->kind)
        return llabs(x->kind) == MPFR_NAN_KIND && llabs(y->kind) == MPFR_NAN_KIND;
    if (llabs(x->kind) != MPFR_REGULAR_KIND)
        return true;
    return x->exponent == y->exponent &&
           memcmp(x->limbs, y->limbs, ulp_record_bytes(precision) - sizeof(struct ulp_record)) == 0;
}

void world_compare(struct world *world, int thread_count)
{
    const struct setup *setup = &world->setup;
    struct ulp_pool *pool = thread_count > 1 ? test_pool(thread_count) : NULL;
    memset(world->out.data, 0x5a, world->out.count * world->out.element_bytes);
    ck_ok(ulp_contract_wide(&world->arithmetic, &world->problem, pool, &why));
    ulp_pool_free(pool);
    for (size_t i = 0; i < world->out.count; i++) {
        const struct ulp_record *found = ulp_record_at_const(world->out.data, i, setup->precision);
        const struct ulp_record *right =
            ulp_record_at_const(world->expected.data, i, setup->precision);
        if (world_same_record(found, right, setup->precision))
            continue;
        mpfr_t x, y;
        ulp_record_open_const(x, found, setup->precision);
        ulp_record_open_const(y, right, setup->precision);
        mpfr_printf("found %Ra\nright %Ra\n", x, y);
        ck_abort_msg("%s, P %d, %zux%zux%zux%zu, elements %d:%d %d:%d, padding %d, "
                     "threads %d, seed %llu: output %zu",
                     kind_names[setup->kind], setup->precision, setup->batch_count, setup->m,
                     setup->n, setup->k, (int)setup->a, setup->a_precision, (int)setup->b,
                     setup->b_precision, (int)setup->padding, thread_count,
                     (unsigned long long)setup->seed, i);
    }
}

/* Pairs of elements; a precision of 0 stands for P. */
static const struct {
    enum ulp_element a, b;
    int a_precision, b_precision;
} pairs[WORLD_PAIRS] = {
    {ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, 0},      {ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 0},
    {ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 0, 0},     {ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 0, 0},
    {ULP_ELEMENT_F64, ULP_ELEMENT_F64, 0, 0},      {ULP_ELEMENT_F64, ULP_ELEMENT_WIDE, 0, 0},
    {ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 37, 700},
};

struct setup world_setup(size_t pair, int precision, enum kind kind, uint64_t seed)
{
    struct stream stream = {seed ^ 0x77, 0};
    size_t scale = precision > 1000 ? 1 : test_long() ? 4 : 2;
    return (
        struct setup){.batch_count = 1 + stream_draw_below(&stream, 2),
                      .m = 1 + stream_draw_below(&stream, 9 * scale),
                      .n = 1 + stream_draw_below(&stream, 14 * scale),
                      .k = stream_draw_below(&stream, 20 * scale),
                      .a = pairs[pair].a,
                      .b = pairs[pair].b,
                      .a_precision = pairs[pair].a_precision ? pairs[pair].a_precision : precision,
                      .b_precision = pairs[pair].b_precision ? pairs[pair].b_precision : precision,
                      .precision = precision,
                      .kind = kind,
                      .padding = stream_draw_below(&stream, 3) == 0,
                      .seed = seed};
}
