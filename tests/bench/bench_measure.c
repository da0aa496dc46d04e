/* Measures of an error on one core: ns an element of ulp_metrics_measure and ulp_range_measure, for
 * references in doubles and in records of 128 bits; and ns an element and view of the four views
 * that an audit has of an output (ulp_metrics_measure_pairs).
 *
 *   bench_measure [--json] [WORD]     rows whose name contains WORD
 *
 * Values are the reference's rounded to FP32 or FP16, with a few units of error. Time is this
 * process's on a processor, the best of several runs. */
#include <math.h>

#include "analysis/measure/metrics.h"
#include "base/random.h"
#include "bench.h"
#include "number/mpfr_record.h"
#include "tensor/tensor.h"

#define COUNT ((size_t)1 << 20)

static const struct row {
    const char *name;
    enum ulp_element value, base;
    int precision;
    const char *format;
    enum { MEASURE, RANGE, VIEWS } what;
} rows[] = {
    {"fp32 against fp64", ULP_ELEMENT_F32, ULP_ELEMENT_F64, 0, "fp32", MEASURE},
    {"fp64 against fp64", ULP_ELEMENT_F64, ULP_ELEMENT_F64, 0, "fp16", MEASURE},
    {"fp32 against fp32", ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, "fp16", MEASURE},
    {"fp32 against mpfr:128", ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 128, "fp32", MEASURE},
    {"mpfr:128 against mpfr:128", ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, "fp32", MEASURE},
    {"four views, fp64", ULP_ELEMENT_F32, ULP_ELEMENT_F64, 0, "fp32", VIEWS},
    {"four views, mpfr:128", ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 128, "fp32", VIEWS},
    {"range of fp64", ULP_ELEMENT_F64, ULP_ELEMENT_F64, 0, "fp32", RANGE},
    {"range of mpfr:128", ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, "fp32", RANGE},
};

static void put(struct ulp_tensor *tensor, size_t i, double x)
{
    mpfr_t wide;
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[i] = (float)x;
    else if (tensor->element == ULP_ELEMENT_F64)
        ((double *)tensor->data)[i] = x;
    else {
        struct ulp_record *record = ulp_record_at(tensor->data, i, tensor->precision);
        ulp_record_begin(wide, record, tensor->precision);
        mpfr_set_d(wide, x, MPFR_RNDN);
        ulp_record_close(record, wide);
    }
}

/* Normal deviates, with relative errors up to `error` below the units of a double. */
static void fill(struct ulp_tensor *tensor, enum ulp_element element, int precision, double error)
{
    struct ulp_error message;
    const int64_t dim = (int64_t)COUNT;
    if (ulp_tensor_create(tensor, ULP_TYPE_FLOAT, element, precision, 1, &dim, &message) != ULP_OK)
        bench_stop(message.message);
    for (size_t i = 0; i < COUNT; i++) {
        const double u = ulp_random_uniform(1, 2 * i), v = ulp_random_uniform(1, 2 * i + 1);
        const double x = sqrt(-2 * log(1 - u)) * cos(6.28318530717958648 * v);
        put(tensor, i, x * (1 + error * (ulp_random_uniform(2, i) - 0.5)));
    }
}

/* Beside the value and the base an audit has the value on the reference's inputs, and the
 * reference's on the value's inputs. */
struct measured {
    struct ulp_tensor value, base, single, here;
    struct ulp_format format;
    struct ulp_pool *pool; /* keeps memory from call to call, as an audit's does */
};

static void measure_once(const struct row *row, const struct measured *m)
{
    struct ulp_metrics out[4];
    struct ulp_range range;
    struct ulp_error error;
    const struct ulp_metrics_pair views[4] = {{&m->single, &m->base, &out[0]},
                                              {&m->value, &m->base, &out[1]},
                                              {&m->value, &m->here, &out[2]},
                                              {&m->here, &m->base, &out[3]}};
    if (row->what == RANGE)
        ulp_range_measure(&m->base, &m->format, m->pool, &range);
    else if (ulp_metrics_measure_pairs(&views[row->what == VIEWS ? 0 : 1],
                                       row->what == VIEWS ? 4 : 1, &m->format, m->pool,
                                       &error) != ULP_OK)
        bench_stop(error.message);
}

int main(int argc, char **argv)
{
    bool json;
    const char *word = bench_word(argc, argv, &json);
    printf(json ? "[" : "%-28s %8s\n", "measures, one core", "ns");
    bool first = true;
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
        fill(&m.value, row->value, row->precision, 1e-6);
        fill(&m.base, row->base, row->precision, 0);
        fill(&m.single, row->value, row->precision, 5e-7);
        fill(&m.here, row->base, row->precision, 3e-7);
        struct bench_timer timer = {.run_min = 3, .run_max = 30, .seconds = 0.5};
        while (bench_next(&timer))
            measure_once(row, &m);
        const double ns = timer.best * 1e9 / (double)COUNT / (row->what == VIEWS ? 4 : 1);
        if (json)
            printf("%s{\"name\": \"%s\", \"ns\": %.3f}", first ? "" : ", ", row->name, ns);
        else
            printf("%-28s %8.2f\n", row->name, ns);
        first = false;
        ulp_tensor_free(&m.value);
        ulp_tensor_free(&m.base);
        ulp_tensor_free(&m.single);
        ulp_tensor_free(&m.here);
        ulp_pool_free(m.pool);
    }
    if (json)
        printf("]\n");
    return 0;
}
