/* analysis: a format of a list for each layer. The oracle runs every allocation of small graphs by
 * a program that is told to keep their nodes in these formats, and measures the outputs in its own
 * doubles; then what a search gives: files, ranges, sums, texts, refusals. */
#include "tests/analysis/plan_oracle.h"
#include "tests/support/text_model.h"

static const struct text_graph three = {
    "x", "y", "[first] a = MatMul(x, w) [middle] b = Softmax(a) [last] y = MatMul(b, w)"};
/* Fork and join. */
static const struct text_graph forked = {
    "x", "y", "[left] a = MatMul(x, w) [right] b = Tanh(x) [join] y = Add(a, b)"};
/* 300 x 300 is beyond 5 exponent bits, and comes back. */
static const struct text_graph too_large = {
    "x", "y",
    "[first] a = MatMul(x, w) [positive] b = Exp(a) [large] c = Mul(b, big) [larger] d = Mul(c, "
    "big) [back] e = Div(d, big) [again] y = Div(e, big)"};

enum { LAYERS_MAX = 3, SAMPLES = 2 };

static const char *const listed[] = {"e8m1", "e8m2", "e8m3", "e8m4",  "e8m5",
                                     "e8m6", "e8m8", "e8m9", "e8m11", "e8m23"};
enum { LISTED = sizeof listed / sizeof *listed };

/* The last sample is held out, too. */
static enum ulp_status find(const struct ulp_model *model, struct ulp_search_options options,
                            const char *tolerance, const struct ulp_tensor_set *samples,
                            size_t sample_count, struct ulp_search *out, struct ulp_error *error)
{
    struct ulp_sample list[SAMPLES];
    for (size_t s = 0; s < sample_count; s++)
        list[s] = (struct ulp_sample){s ? "two" : "one", &samples[s], 0};
    options.reference = test_arithmetic("mpfr:128");
    if (!options.formats) {
        options.formats = listed;
        options.format_count = LISTED;
    }
    options.tolerances = &tolerance;
    options.tolerance_count = 1;
    options.frontier = true;
    if (!options.thread_count)
        options.thread_count = 1;
    return ulp_search_run(model, &options, list, sample_count, &list[sample_count - 1], 1, out,
                          error);
}

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
    ck_ok(ulp_program_create(model, lanes, 2, &options, &oracle->program, &why));
    ck_assert_uint_eq(ulp_program_node_count(oracle->program), oracle->layers);
    for (size_t s = 0; s < oracle->sample_count; s++) {
        struct ulp_tensor_set outputs[2];
        ck_ok(ulp_program_run(oracle->program, &oracle->samples[s], NULL, NULL, 0, outputs, NULL,
                              &why));
        oracle->truths[s] = outputs[0];
        ulp_tensor_set_free(&outputs[1]);
    }
    ulp_program_free(oracle->program);
    ck_ok(ulp_program_create(model, &lanes[1], 1, &options, &oracle->program, &why));
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
    double least = INFINITY;
    for (size_t l = 0; l < oracle->layers; l++) {
        nodes[l] = l;
        items[l] = (struct ulp_keep){.nodes = &nodes[l],
                                     .node_count = 1,
                                     .arithmetic = oracle->formats[of[l]]};
    }
    const struct ulp_keeps keeps = {.count = oracle->layers, .items = items};
    ck_ok(ulp_program_keep(oracle->program, 0, &keeps, &why));
    const struct ulp_run_options run = {.thread_count = 1};
    for (size_t s = 0; s < oracle->sample_count; s++) {
        scoped_tensor_set outputs = {0};
        ck_ok(ulp_program_run(oracle->program, &oracle->samples[s], &run, NULL, 0, &outputs, NULL,
                              &why));
        for (size_t o = 0; o < outputs.count; o++)
            least = fmin(least, oracle_power_db(&outputs.items[o].tensor,
                                                &oracle->truths[s].items[o].tensor));
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

static const struct text_graph *const graphs[] = {&three, &forked};

TEST_LOOP(the_least_of_a_list_is_found, 0, 2)
{
    scoped_model *model = text_load(graphs[_i]);
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
            scoped_search bits = {0};
            char tolerance[64];
            snprintf(tolerance, sizeof tolerance, "sqnr_db=%.17g", limit);
            ck_ok(find(model, (struct ulp_search_options){0}, tolerance, samples, samples_used,
                       &bits, &why));
            const int more = expect_least(&oracle, &bits, db, count, limit);
            if (bits.met)
                expect_minimal(&oracle, &bits, db, limit);
            ck_assert_uint_eq(bits.validated_met, bits.met);
            ck_assert_int_le(more, 4);
            excess += more;
            cases += bits.met;
        }
        free(db);
        close_oracle(&oracle);
    }
    /* No search of this kind finds the least in all cases. */
    ck_assert_int_gt(cases, 10);
    ck_assert_msg(8 * excess <= cases, "%d bits more than the least in %d cases", excess, cases);
    for (size_t s = 0; s < SAMPLES; s++)
        ulp_tensor_set_free(&samples[s]);
}

/* ---- what is written ---- */

static const struct text_graph *const written[] = {&three, &too_large, &text_with_bodies};

TEST_LOOP(an_allocation_is_read_back, 0, 3)
{
    scoped_model *model = text_load(written[_i]);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    for (double limit = 20; limit < 80; limit += 25) {
        struct ulp_precision_plan read;
        scoped_search bits = {0};
        char tolerance[64], *text;
        snprintf(tolerance, sizeof tolerance, "sqnr_db=%.17g", limit);
        ck_ok(find(model, (struct ulp_search_options){0}, tolerance, &inputs, 1, &bits, &why));
        ck_assert(bits.met && bits.minimal && bits.layer_count > 0);
        ck_ok(ulp_search_write(&bits, ULP_OUTPUT_FOLDER, test_folder("out"), &why));
        ck_assert(oracle_file_has(test_folder("out/plan.json"), "\"verdict\": \"Of "));
        ck_ok(ulp_precision_plan_read(test_folder("out/plan.json"), NULL, &read, &why));
        /* the same nodes in the same formats: the same figure, but for the doubles' sums */
        ck_assert_double_eq_tol(oracle_outputs_db(model, &inputs, &read), bits.samples[0].value,
                                1e-6);
        ck_assert_double_ge(bits.samples[0].value, limit);
        ck_ok(ulp_search_text(&bits, 0, false, &text, &why));
        ck_assert_msg(strncmp(text, "Of ", 3) == 0 &&
                          strstr(text, "No single layer can do with fewer bits") &&
                          strstr(text, "1 of 1 held-out samples"),
                      "%s", text);
        free(text);
        ulp_precision_plan_free(&read);
    }
}

/* Every layer's format holds what it reads and makes. */
TEST(formats_hold_the_values)
{
    static const char *const formats[] = {"e5m3", "e5m6", "fp16", "bf16", "fp32"};
    scoped_model *model = text_load(&too_large);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    scoped_search found = {0};
    size_t large = 0, small = 0;
    ck_ok(find(model, (struct ulp_search_options){.formats = formats, .format_count = 5},
               "sqnr_db=30", &inputs, 1, &found, &why));
    ck_assert(found.met);
    for (size_t l = 0; l < found.layer_count; l++) {
        const struct ulp_search_layer *layer = &found.layers[l];
        struct ulp_format format;
        ck_ok(ulp_format_find(found.formats[layer->format].name, &format, &why));
        ck_assert_double_ge(format.max_finite, layer->largest);
        large += layer->largest > 65504;
        small += format.max_finite < 65536;
    }
    ck_assert(large && small);
}

/* ---- the rest ---- */

TEST(threads_do_not_matter)
{
    scoped_model *model = text_load(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 7, 0, true);
    char *texts[3];
    for (int t = 0; t < 3; t++) {
        scoped_search bits = {0};
        ck_ok(find(model, (struct ulp_search_options){.thread_count = 2 * t + 1}, "sqnr_db=33",
                   &inputs, 1, &bits, &why));
        ck_ok(ulp_search_text(&bits, 0, false, &texts[t], &why));
    }
    ck_assert_str_eq(texts[0], texts[1]);
    ck_assert_str_eq(texts[0], texts[2]);
    for (int t = 0; t < 3; t++)
        free(texts[t]);
}

/* The sum of bits is what the layers say, by any weight, and no frontier point is dominated. */
TEST(bits_are_counted)
{
    scoped_model *model = text_load(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 7, 0, true);
    for (size_t c = 0; ulp_search_cost_name(c); c++) {
        const double per_bit = strcmp(ulp_search_cost_name(c), "bytes") == 0 ? 0.125 : 1;
        scoped_search bits = {0};
        double sum = 0, weights = 0, share = 0;
        ck_ok(find(model, (struct ulp_search_options){.cost = ulp_search_cost_name(c)},
                   "sqnr_db=33", &inputs, 1, &bits, &why));
        ck_assert(bits.met);
        for (size_t l = 0; l < bits.layer_count; l++) {
            sum += bits.layers[l].weight * bits.layers[l].bits;
            weights += bits.layers[l].weight;
            share += bits.layers[l].share;
            ck_assert_double_ge(bits.layers[l].weight, 1);
        }
        ck_assert_double_eq_tol(bits.total_cost, sum * per_bit, 1e-9 * sum);
        ck_assert_double_eq_tol(bits.bits, sum / weights, 1e-9 * sum / weights);
        ck_assert_double_eq_tol(share, 1, 1e-9);
        ck_assert_int_ge(bits.uniform, 0);
        ck_assert_double_le(bits.bits, bits.uniforms[bits.uniform].bits);
        for (size_t p = 0; p < bits.point_count; p++) {
            const struct ulp_search_point *point = &bits.frontier[p];
            ck_assert_double_le(point->ratio, point->allowed);
            ck_assert(!(point->bits > point->uniform_bits));
            ck_assert(p == 0 || point->bits >= bits.frontier[p - 1].bits);
            ck_assert(point->allowed != 1 || point->bits == bits.bits);
        }
        ck_assert_uint_gt(bits.point_count, 3);
    }
}

static void expect_text(const struct ulp_search *bits, const char *begins)
{
    char *text;
    ck_ok(ulp_search_text(bits, 0, false, &text, &why));
    ck_assert_msg(strncmp(text, begins, strlen(begins)) == 0, "%s", text);
    free(text);
    ck_ok(ulp_search_write(bits, ULP_OUTPUT_FOLDER, test_folder("out"), &why));
}

TEST(some_tolerances_are_not_met)
{
    static const char *const tolerances[] = {"sqnr_db=300", "max_abs=0", "rms=0"};
    scoped_model *model = text_load(&three);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    for (size_t t = 0; t < sizeof tolerances / sizeof *tolerances; t++) {
        scoped_search bits = {0};
        char begins[64];
        ck_ok(find(model, (struct ulp_search_options){0}, tolerances[t], &inputs, 1, &bits, &why));
        ck_assert(!bits.met && !bits.minimal && bits.layer_count == 0 && bits.full > 1);
        snprintf(begins, sizeof begins, "No allocation meets %s\n  why   with ", tolerances[t]);
        expect_text(&bits, begins);
    }
}

/* Nothing rounds: no layer. */
static const struct text_graph whole = {"i_a", "i_b", "[add] i_b = Add(i_a, i_1)"};

TEST(models_without_floats_have_no_layers)
{
    scoped_model *model = text_load(&whole);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    scoped_search bits = {0};
    ck_ok(find(model, (struct ulp_search_options){0}, "max_abs=0", &inputs, 1, &bits, &why));
    ck_assert(bits.met && bits.layer_count == 0);
    expect_text(&bits, "Nothing to allocate: ");
}

/* What leans on no rounding has more bits, and is expected to meet the tolerance. */
TEST(the_expected_error_can_be_limited)
{
    scoped_model *model = text_load(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 7, 0, true);
    double total[2];
    for (int limited = 0; limited < 2; limited++) {
        scoped_search bits = {0};
        ck_ok(find(model, (struct ulp_search_options){.expected = limited ? 0.5 : 0}, "sqnr_db=33",
                   &inputs, 1, &bits, &why));
        ck_assert(bits.met && bits.minimal && bits.ratio <= 1);
        ck_assert(!limited || bits.predicted <= 0.5);
        ck_assert(limited || bits.predicted > 0.5);
        total[limited] = bits.total_cost;
    }
    ck_assert_double_gt(total[1], total[0]);
}

TEST(the_time_can_be_over)
{
    scoped_model *model = text_load(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    scoped_search bits = {0};
    ck_ok(find(model, (struct ulp_search_options){.seconds = 1e-9}, "sqnr_db=40", &inputs, 1, &bits,
               &why));
    /* every layer in the widest format has run, and meets it */
    ck_assert(bits.timed_out && bits.met && !bits.minimal);
    ck_assert_double_eq(bits.bits, 32);
    expect_text(&bits, "Of 6 layers ");
}

TEST(what_cannot_be_asked_is_refused)
{
    static const char *const lists[][2] = {{"fp16", "fp16"},
                                           {"mpfr:64", "fp32"},
                                           {"model", "fp32"},
                                           {"fp16,fuse=pointwise", "fp32"},
                                           {"nothing", "fp32"}};
    scoped_model *model = text_load(&three);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    struct ulp_search bits;
    struct ulp_error error;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ck_assert_int_eq(find(model,
                              (struct ulp_search_options){.formats = lists[i], .format_count = 2},
                              "sqnr_db=40", &inputs, 1, &bits, &error),
                         ULP_ERROR_USAGE);
    ck_assert_int_eq(find(model, (struct ulp_search_options){0}, "z:rms=0", &inputs, 1, &bits,
                          &error),
                     ULP_ERROR_USAGE);
}

TEST_MAIN("a format for each layer", 300)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
