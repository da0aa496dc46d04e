/* Measures of an error on one core: ns an element of ulp_metrics_measure and ulp_range_measure, for
 * references in doubles and in records of 128 bits; and ns an element and view of the four views
 * that an audit has of an output in a lane, and of two lanes' (ulp_metrics_measure_pairs).
 *
 *   bench_measure [WORD]     rows whose name contains WORD, as JSON
 *
 * Values are the reference's rounded to FP32 or FP16, with a few units of error. Time is this
 * process's on a processor, the best of several runs. */
#include <math.h>

#include "analysis/measure/metrics.h"
#include "base/random.h"
#include "bench.h"
#include "number/double_pair.h"
#include "tensor/tensor.h"

#define COUNT ((size_t)1 << 20)
#define LANES_MAX 2

static const struct row {
    const char *name;
    enum ulp_element value, base;
    const char *format;
    enum { MEASURE, RANGE, VIEWS, LANES } what;
} rows[] = {
    {"fp32 against fp64", ULP_ELEMENT_F32, ULP_ELEMENT_F64, "fp32", MEASURE},
    {"fp64 against fp64", ULP_ELEMENT_F64, ULP_ELEMENT_F64, "fp16", MEASURE},
    {"fp32 against fp32", ULP_ELEMENT_F32, ULP_ELEMENT_F32, "fp16", MEASURE},
    {"fp32 against pair", ULP_ELEMENT_F32, ULP_ELEMENT_PAIR, "fp32", MEASURE},
    {"pair against pair", ULP_ELEMENT_PAIR, ULP_ELEMENT_PAIR, "fp32", MEASURE},
    {"four views, fp64", ULP_ELEMENT_F32, ULP_ELEMENT_F64, "fp32", VIEWS},
    {"four views, pair", ULP_ELEMENT_F32, ULP_ELEMENT_PAIR, "fp32", VIEWS},
    {"two lanes' views, pair", ULP_ELEMENT_F32, ULP_ELEMENT_PAIR, "fp32", LANES},
    {"range of fp64", ULP_ELEMENT_F64, ULP_ELEMENT_F64, "fp32", RANGE},
    {"range of pair", ULP_ELEMENT_PAIR, ULP_ELEMENT_PAIR, "fp32", RANGE},
};

static void put(struct ulp_tensor *tensor, size_t i, double x)
{
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[i] = (float)x;
    else if (tensor->element == ULP_ELEMENT_F64)
        ((double *)tensor->data)[i] = x;
    else
        ((struct ulp_double_pair *)tensor->data)[i] = (struct ulp_double_pair){x, 0x1p-60 * x};
}

/* Normal deviates, with relative errors up to `error` below the units of a double. */
static void fill(struct ulp_tensor *tensor, enum ulp_element element, double error)
{
    struct ulp_error message;
    const int64_t dim = (int64_t)COUNT;
    if (ulp_tensor_create(tensor, ULP_TYPE_FLOAT, element, 0, 1, &dim, &message) != ULP_OK)
        bench_stop(message.message);
    for (size_t i = 0; i < COUNT; i++) {
        const double u = ulp_random_uniform(1, 2 * i), v = ulp_random_uniform(1, 2 * i + 1);
        const double x = sqrt(-2 * log(1 - u)) * cos(6.28318530717958648 * v);
        put(tensor, i, x * (1 + error * (ulp_random_uniform(2, i) - 0.5)));
    }
}

/* Beside the base an audit has, of each lane, the value, the value on the reference's inputs, and
 * the reference's on the value's inputs. */
struct measured {
    struct ulp_tensor base;
    struct measured_lane {
        struct ulp_tensor value, single, here;
    } lanes[LANES_MAX];
    struct ulp_format format;
    struct ulp_pool *pool; /* keeps memory from call to call, as an audit's does */
};

static size_t count_pairs(const struct row *row)
{
    return row->what == LANES ? 8 : row->what == VIEWS ? 4 : 1;
}

static void measure_once(const struct row *row, const struct measured *m)
{
    struct ulp_metrics out[4 * LANES_MAX];
    struct ulp_metrics_pair pairs[4 * LANES_MAX];
    struct ulp_range range;
    struct ulp_error error;
    for (size_t l = 0; l < LANES_MAX; l++) {
        const struct measured_lane *lane = &m->lanes[l];
        const struct ulp_tensor *sides[4][2] = {{&lane->value, &m->base},
                                                {&lane->single, &m->base},
                                                {&lane->value, &lane->here},
                                                {&lane->here, &m->base}};
        for (size_t v = 0; v < 4; v++)
            pairs[4 * l + v] = (struct ulp_metrics_pair){sides[v][0], sides[v][1], &m->format,
                                                         .out = &out[4 * l + v]};
    }
    if (row->what == RANGE)
        ulp_range_measure(&m->base, &m->format, m->pool, &range);
    else if (ulp_metrics_measure_pairs(pairs, count_pairs(row), m->pool, &error) != ULP_OK)
        bench_stop(error.message);
}

static void fill_all(struct measured *m, const struct row *row)
{
    fill(&m->base, row->base, 0);
    for (size_t l = 0; l < LANES_MAX; l++) {
        const double error = 1e-6 * (double)(l + 1);
        fill(&m->lanes[l].value, row->value, error);
        fill(&m->lanes[l].single, row->value, error / 2);
        fill(&m->lanes[l].here, row->base, error / 3);
    }
}

static void free_all(struct measured *m)
{
    ulp_tensor_free(&m->base);
    for (size_t l = 0; l < LANES_MAX; l++) {
        ulp_tensor_free(&m->lanes[l].value);
        ulp_tensor_free(&m->lanes[l].single);
        ulp_tensor_free(&m->lanes[l].here);
    }
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[argc - 1] : "";
    bool first = true;
    printf("[");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct row *row = &rows[r];
        struct measured m = {0};
        struct ulp_error error;
        if (!strstr(row->name, word))
            continue;
        if (ulp_format_find(row->format, &m.format, &error) != ULP_OK)
            bench_stop(error.message);
        if (ulp_pool_create(&m.pool, 1, &error) != ULP_OK)
            bench_stop(error.message);
        fill_all(&m, row);
        struct bench_timer timer = {.run_min = 3, .run_max = 30, .seconds = 0.5};
        while (bench_next(&timer))
            measure_once(row, &m);
        const double ns = timer.best * 1e9 / (double)COUNT / (double)count_pairs(row);
        printf("%s{\"name\": \"%s\", \"ns\": %.3f}", first ? "" : ", ", row->name, ns);
        first = false;
        free_all(&m);
        ulp_pool_free(m.pool);
    }
    printf("]\n");
    return 0;
}
