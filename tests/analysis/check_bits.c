/* analysis: the fewest bits for each layer. The oracle runs every allocation of small graphs by a
 * plan that is told to keep their nodes in these formats, and measures the outputs in its own
 * doubles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/analysis/bits_test.h"
#include "tests/analysis/plan_oracle.h"
#include "tests/support/text_model.h"

/* Fork and join. */
static const struct text_graph forked = {"x",
                                         "y",
                                         {NODE("MatMul", "left", "x w", "a"),
                                          NODE("Tanh", "right", "x", "b"),
                                          NODE("Add", "join", "a b", "y")}};
static const struct text_graph two = {
    "x", "y", {NODE("MatMul", "first", "x w", "a"), NODE("Tanh", "last", "a", "y")}};
enum { LAYERS_MAX = 3 };

/* ---- the oracle ---- */

struct oracle {
    struct ulp_program *program; /* lanes: the reference, another */
    const struct ulp_tensor_set *samples;
    struct ulp_tensor_set truths[SAMPLES];
    size_t sample_count, layers, choices;
    const struct ulp_arithmetic *formats;
    const int *bits;
};

static void open_oracle(struct oracle *oracle, const struct ulp_model *model, const char *base)
{
    const struct ulp_arithmetic lanes[] = {test_arithmetic("mpfr:128"), test_arithmetic(base)};
    const struct ulp_program_options options = {.inputs = oracle->samples};
    struct ulp_error error;
    ck_ulp_ok(ulp_program_create(model, lanes, 2, &options, &oracle->program, &error), error);
    ck_assert_uint_eq(ulp_program_node_count(oracle->program), oracle->layers);
    for (size_t s = 0; s < oracle->sample_count; s++) {
        struct ulp_tensor_set outputs[2];
        ck_ulp_ok(ulp_program_run(oracle->program, &oracle->samples[s], NULL, NULL, 0, outputs,
                                  NULL, &error),
                  error);
        oracle->truths[s] = outputs[0];
        ulp_tensor_set_free(&outputs[1]);
    }
    ulp_program_free(oracle->program);
    ck_ulp_ok(ulp_program_create(model, &lanes[1], 1, &options, &oracle->program, &error), error);
}

static void close_oracle(struct oracle *oracle)
{
    for (size_t s = 0; s < oracle->sample_count; s++)
        ulp_tensor_set_free(&oracle->truths[s]);
    ulp_program_free(oracle->program);
}

/* The least sqnr_db of the samples with node n in the format of[n]. */
static double run_allocation(const struct oracle *oracle, const size_t *of)
{
    size_t nodes[LAYERS_MAX];
    struct ulp_keep items[LAYERS_MAX];
    struct ulp_error error;
    double least = INFINITY;
    for (size_t l = 0; l < oracle->layers; l++) {
        nodes[l] = l;
        items[l] = (struct ulp_keep){.nodes = &nodes[l],
                                     .node_count = 1,
                                     .arithmetic = oracle->formats[of[l]]};
    }
    const struct ulp_keeps keeps = {.count = oracle->layers, .items = items};
    ck_ulp_ok(ulp_program_keep(oracle->program, 0, &keeps, &error), error);
    const struct ulp_run_options run = {.thread_count = 1};
    for (size_t s = 0; s < oracle->sample_count; s++) {
        struct ulp_tensor_set outputs;
        ck_ulp_ok(ulp_program_run(oracle->program, &oracle->samples[s], &run, NULL, 0, &outputs,
                                  NULL, &error),
                  error);
        for (size_t o = 0; o < outputs.count; o++)
            least = fmin(least, oracle_power_db(&outputs.items[o].tensor,
                                                &oracle->truths[s].items[o].tensor));
        ulp_tensor_set_free(&outputs);
    }
    return least;
}

/* db of every allocation, the last layer's format changing first. */
static double *run_all(const struct oracle *oracle, size_t *count)
{
    *count = 1;
    for (size_t l = 0; l < oracle->layers; l++)
        *count *= oracle->choices;
    double *db = calloc(*count, sizeof *db);
    for (size_t a = 0; a < *count; a++) {
        size_t of[LAYERS_MAX], rest = a;
        for (size_t l = oracle->layers; l-- > 0; rest /= oracle->choices)
            of[l] = rest % oracle->choices;
        db[a] = run_allocation(oracle, of);
    }
    return db;
}

static int cost_of(const struct oracle *oracle, size_t allocation)
{
    int cost = 0;
    for (size_t l = 0; l < oracle->layers; l++, allocation /= oracle->choices)
        cost += oracle->bits[allocation % oracle->choices];
    return cost;
}

static int find_least(const struct oracle *oracle, const double *db, size_t count, double limit)
{
    int least = INT32_MAX;
    for (size_t a = 0; a < count; a++)
        if (db[a] >= limit && cost_of(oracle, a) < least)
            least = cost_of(oracle, a);
    return least;
}

/* The index of the result's allocation, whose formats are among the oracle's. */
static size_t index_of(const struct oracle *oracle, const struct ulp_search *bits)
{
    size_t index = 0;
    ck_assert_uint_eq(bits->layer_count, oracle->layers);
    for (size_t l = 0; l < bits->layer_count; l++) {
        const char *name = bits->formats[bits->layers[l].format].arithmetic;
        size_t c = 0;
        ck_assert_uint_eq(bits->layers[l].index, l);
        while (c < oracle->choices && strcmp(oracle->formats[c].name, name) != 0)
            c++;
        ck_assert_msg(c < oracle->choices, "%s is none of the oracle's formats", name);
        index = index * oracle->choices + c;
    }
    return index;
}

/* ---- every allocation was tried ---- */

/* What is found against all allocations; returns the bits more than the least. */
static int expect_least(const struct oracle *oracle, const struct ulp_search *bits,
                        const double *db, size_t count, double limit)
{
    const int least = find_least(oracle, db, count, limit);
    ck_assert_int_eq(bits->met, least < INT32_MAX);
    if (!bits->met)
        return 0;
    const size_t index = index_of(oracle, bits);
    ck_assert_msg(db[index] >= limit, "%.17g dB", db[index]);
    ck_assert_double_eq_tol(bits->samples[0].ratio <= 1 ? bits->ratio : NAN,
                            pow(10, (limit - db[index]) / 20), 1e-6 * bits->ratio);
    ck_assert_double_eq(bits->total_cost, cost_of(oracle, index));
    ck_assert(bits->minimal);
    ck_assert_int_ge(cost_of(oracle, index), least);
    return cost_of(oracle, index) - least;
}

/* No layer can get the next lower number of bits: the oracle says so, too. */
static void expect_minimal(const struct oracle *oracle, const struct ulp_search *bits,
                           const double *db, double limit)
{
    const size_t index = index_of(oracle, bits);
    for (size_t l = oracle->layers, place = 1; l-- > 0; place *= oracle->choices) {
        const size_t c = index / place % oracle->choices;
        int next = 0;
        for (size_t k = 0; k < oracle->choices; k++)
            if (oracle->bits[k] < oracle->bits[c] && oracle->bits[k] > next)
                next = oracle->bits[k];
        for (size_t k = 0; k < oracle->choices; k++)
            if (next && oracle->bits[k] == next)
                ck_assert_msg(db[index - c * place + k * place] < limit, "layer %zu in %s", l,
                              oracle->formats[k].name);
        ck_assert(next == 0 || bits->layers[l].without > 1);
    }
}

static const char *const listed[] = {"e8m1", "e8m2", "e8m3", "e8m4",  "e8m5",
                                     "e8m6", "e8m8", "e8m9", "e8m11", "e8m23"};
enum { LISTED = sizeof listed / sizeof *listed };
static const struct text_graph *const graphs[] = {&three, &forked};

START_TEST(the_least_of_a_list_is_found)
{
    struct ulp_model *model = text_load(graphs[_i]);
    struct ulp_tensor_set samples[SAMPLES] = {text_inputs(model, 5, 0, true),
                                              text_inputs(model, 6, 0, true)};
    struct ulp_arithmetic formats[LISTED];
    int widths[LISTED], excess = 0, cases = 0;
    for (size_t f = 0; f < LISTED; f++) {
        formats[f] = test_arithmetic(listed[f]);
        widths[f] = formats[f].storage.storage_bits;
    }
    for (size_t samples_used = 1; samples_used <= SAMPLES; samples_used++) {
        struct oracle oracle = {.samples = samples,
                                .sample_count = samples_used,
                                .layers = 3,
                                .choices = LISTED,
                                .formats = formats,
                                .bits = widths};
        size_t count;
        open_oracle(&oracle, model, "e8m23");
        double *db = run_all(&oracle, &count);
        for (double limit = 4.25; limit < 160; limit += limit < 60 ? 3.5 : 40) {
            const struct ulp_search_options options = {.formats = listed, .format_count = LISTED};
            struct ulp_search bits;
            struct ulp_error error;
            char tolerance[64];
            snprintf(tolerance, sizeof tolerance, "sqnr_db=%.17g", limit);
            ck_ulp_ok(find(model, options, tolerance, samples, samples_used, &bits, &error), error);
            const int more = expect_least(&oracle, &bits, db, count, limit);
            if (bits.met)
                expect_minimal(&oracle, &bits, db, limit);
            ck_assert_uint_eq(bits.validated_met, bits.met);
            ck_assert_int_le(more, 4);
            excess += more;
            cases += bits.met;
            ulp_search_free(&bits);
        }
        free(db);
        close_oracle(&oracle);
    }
    /* No search of this kind finds the least in all cases. */
    ck_assert_int_gt(cases, 10);
    ck_assert_msg(8 * excess <= cases, "%d bits more than the least in %d cases", excess, cases);
    for (size_t s = 0; s < SAMPLES; s++)
        ulp_tensor_set_free(&samples[s]);
    ulp_model_free(model);
}
END_TEST

/* Mantissa and exponent apart: two layers in all formats of up to 10 mantissa bits. What the
 * oracle's layers may have is not bounded by headroom, nor is the search's. */
START_TEST(the_least_of_exponent_and_mantissa_is_found)
{
    enum { MANTISSAS = 10, EXPONENTS = 7, COUNT = MANTISSAS * EXPONENTS };
    struct ulp_model *model = text_load(&two);
    struct ulp_tensor_set samples[1] = {text_inputs(model, 5, 0, true)};
    struct ulp_arithmetic *formats = calloc(COUNT, sizeof *formats);
    int widths[COUNT], excess = 0, cases = 0;
    for (int e = 0; e < EXPONENTS; e++)
        for (int m = 0; m < MANTISSAS; m++) {
            char name[128];
            snprintf(name, sizeof name, "e%dm%d,%s", e + 2, m + 1, ULP_SEARCH_PARTS);
            formats[e * MANTISSAS + m] = test_arithmetic(name);
            widths[e * MANTISSAS + m] = e + m + 4;
        }
    struct oracle oracle = {.samples = samples,
                            .sample_count = 1,
                            .layers = 2,
                            .choices = COUNT,
                            .formats = formats,
                            .bits = widths};
    size_t count;
    open_oracle(&oracle, model, "e8m23," ULP_SEARCH_PARTS);
    double *db = run_all(&oracle, &count);
    for (double limit = 8.25; limit < 45; limit += 4) {
        struct ulp_search bits;
        struct ulp_error error;
        char tolerance[64];
        snprintf(tolerance, sizeof tolerance, "sqnr_db=%.17g", limit);
        ck_ulp_ok(find(model, (struct ulp_search_options){0}, tolerance, samples, 1, &bits, &error),
                  error);
        const int more = expect_least(&oracle, &bits, db, count, limit);
        ck_assert_int_le(more, 1);
        excess += more;
        cases++;
        ulp_search_free(&bits);
    }
    ck_assert_msg(3 * excess <= cases, "%d bits more than the least in %d cases", excess, cases);
    free(db);
    free(formats);
    close_oracle(&oracle);
    ulp_tensor_set_free(&samples[0]);
    ulp_model_free(model);
}
END_TEST

TEST_MAIN("bits", 300)
{
    tcase_add_loop_test(tests, the_least_of_a_list_is_found, 0, 2);
    tcase_add_test(tests, the_least_of_exponent_and_mantissa_is_found);
}
