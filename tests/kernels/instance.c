/* Contractions of random elements: offsets of matrices, of sliding windows and of elements
 * anywhere, values near one, of every pattern and special. See instance.h. */
#include "instance.h"

#include "number/round/round.h"

static int64_t *table(struct instance *instance, int number, size_t count, int64_t base,
                      int64_t step)
{
    int64_t *offsets = malloc((count + 1) * sizeof *offsets);
    for (size_t i = 0; i < count; i++)
        offsets[i] = base + (int64_t)i * step;
    return instance->tables[number] = offsets;
}

static int64_t *random_table(struct instance *instance, struct stream *stream, int number,
                             size_t count, size_t bound)
{
    int64_t *offsets = table(instance, number, count, 0, 0);
    for (size_t i = 0; i < count; i++)
        offsets[i] = (int64_t)stream_draw_below(stream, bound);
    return offsets;
}

static double random_value(struct stream *stream, const struct ulp_format *format,
                           enum values values)
{
    static const double specials[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
    double x = (double)(int64_t)stream_draw(stream) * 0x1p-63;
    if (values == SMALL_INTEGERS)
        x = (double)(int)stream_draw_below(stream, 7) - 3;
    else if (values == WITH_SPECIALS && stream_draw_below(stream, 40) == 0)
        x = specials[stream_draw_below(stream, COUNT(specials))];
    else if (values == PATTERNS && format->storage_bits > 0 && format->storage_bits <= 32)
        x = ulp_format_decode(format, (uint32_t)stream_draw(stream) &
                                          (uint32_t)((1ull << format->storage_bits) - 1));
    else if (values == PATTERNS)
        x = ldexp(x, format->emin +
                         (int)stream_draw_below(stream, (size_t)(format->emax - format->emin)));
    ulp_round_doubles(format, ULP_ROUND_NEAREST_EVEN, &x, 1, 0, 0, 0);
    return x;
}

static void put(struct ulp_tensor *tensor, size_t i, double x)
{
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[i] = (float)x;
    else
        ((double *)tensor->data)[i] = x;
}

static void fill(struct ulp_tensor *tensor, const struct ulp_arithmetic *arithmetic, size_t count,
                 struct stream *stream, enum values values)
{
    int64_t dim = (int64_t)count;
    enum ulp_element element = ulp_storage_element(&arithmetic->storage);
    ck_assert_int_eq(ULP_OK, ulp_tensor_create(tensor, ULP_TYPE_FLOAT, element, 0, 1, &dim, NULL));
    for (size_t i = 0; i < count; i++)
        put(tensor, i, random_value(stream, &arithmetic->storage, values));
}

/* Lines are places of rows that are up to 40 long, k planes of them. */
static size_t lay_out_image(struct instance *instance, struct ulp_factor *factor,
                            struct stream *stream, const struct setup *setup, int first_table,
                            size_t lines)
{
    const size_t width = 1 + stream_draw_below(stream, 40), step = setup->layout == IMAGE ? 1 : 2,
                 pitch = width * step + 1, rows = (lines + width - 1) / width,
                 last = (rows - 1) * pitch + (lines - 1) % width * step,
                 largest = rows > 1 ? (rows - 2) * pitch + (width - 1) * step : 0,
                 plane = (last > largest ? last : largest) + 1;
    int64_t *line = table(instance, first_table + 1, lines, 0, 0);
    for (size_t i = 0; i < lines; i++)
        line[i] = (int64_t)(i / width * pitch + i % width * step);
    factor->line_offset = line;
    factor->batch_offset =
        table(instance, first_table, setup->batch_count, 0, (int64_t)(plane * setup->k));
    factor->k_offset = table(instance, first_table + 2, setup->k, 0, (int64_t)plane);
    return setup->batch_count * plane * setup->k + (setup->k == 0);
}

/* Tables of one side: lines and k of matrices, random places, or a window that slides over a row
 * (as a convolution). */
static size_t lay_out(struct instance *instance, struct ulp_factor *factor, struct stream *stream,
                      const struct setup *setup, int first_table, size_t lines)
{
    size_t k = setup->k, batch_count = setup->batch_count, count = batch_count * lines * k + 1;
    if (setup->layout == GATHERED) {
        factor->batch_offset = random_table(instance, stream, first_table, batch_count, count);
        factor->line_offset = random_table(instance, stream, first_table + 1, lines, count);
        factor->k_offset = random_table(instance, stream, first_table + 2, k, count);
        return 3 * count;
    }
    if (first_table && (setup->layout == IMAGE || setup->layout == STRIDED_IMAGE))
        return lay_out_image(instance, factor, stream, setup, first_table, lines);
    bool columns = setup->layout == COLUMNS;
    size_t line_step = columns ? 1 : k, k_step = columns ? lines : 1;
    if (first_table == 0 && (setup->layout == WINDOW || setup->layout == STRIDED_WINDOW))
        line_step = setup->layout == WINDOW ? 1 : 2;
    factor->batch_offset = batch_count == 1
                               ? NULL
                               : table(instance, first_table, batch_count, 0, (int64_t)(lines * k));
    factor->line_offset = table(instance, first_table + 1, lines, 0, (int64_t)line_step);
    factor->k_offset = table(instance, first_table + 2, k, 0, (int64_t)k_step);
    /* No element more than is used: what reads beyond is seen by the sanitizers. */
    return (batch_count - 1) * lines * k + (lines - 1) * line_step + (k ? k - 1 : 0) * k_step + 1;
}

void instance_create(struct instance *instance, const struct ulp_arithmetic *arithmetic,
                     const struct setup *setup)
{
    struct stream stream = {.key = setup->seed};
    *instance = (struct instance){0};
    struct ulp_contraction *problem = &instance->problem;
    *problem = (struct ulp_contraction){.batch_count = setup->batch_count,
                                        .m = setup->m,
                                        .n = setup->n,
                                        .k = setup->k,
                                        .store = setup->store,
                                        .out = &instance->out,
                                        .node_key = 77};
    size_t a_count = lay_out(instance, &problem->a, &stream, setup, 0, setup->m);
    size_t b_count = lay_out(instance, &problem->b, &stream, setup, 3, setup->n);
    fill(&instance->a, arithmetic, a_count, &stream, setup->values);
    fill(&instance->b, arithmetic, b_count, &stream, setup->values);
    problem->a.tensor = &instance->a;
    problem->b.tensor = &instance->b;
    if (setup->padding) {
        problem->a.padding = instance->padding = calloc(a_count, 1);
        for (size_t i = 0; i < a_count; i++)
            if ((instance->padding[i] = stream_draw_below(&stream, 5) == 0))
                put(&instance->a, i, 0);
    }
    size_t m = setup->m, n = setup->n;
    int64_t out_count = (int64_t)(setup->batch_count * m * n);
    enum ulp_element element = setup->store ? ulp_storage_element(&arithmetic->storage)
                                            : ulp_accumulator_element(arithmetic);
    ck_assert_int_eq(ULP_OK, ulp_tensor_create(&instance->out, ULP_TYPE_FLOAT, element, 0, 1,
                                               &out_count, NULL));
    problem->out_batch_offset = table(instance, 6, setup->batch_count, 0, (int64_t)(m * n));
    problem->out_row_offset = table(instance, 7, m, 0, setup->transposed_out ? 1 : (int64_t)n);
    problem->out_column_offset = table(instance, 8, n, 0, setup->transposed_out ? (int64_t)m : 1);
}

void instance_free(struct instance *instance)
{
    for (size_t i = 0; i < COUNT(instance->tables); i++)
        free(instance->tables[i]);
    free(instance->padding);
    ulp_tensor_free(&instance->a);
    ulp_tensor_free(&instance->b);
    ulp_tensor_free(&instance->out);
}

struct ulp_arithmetic instance_arithmetic(const char *name)
{
    const struct ulp_arithmetic arithmetic = test_arithmetic(name);
    return arithmetic;
}
