/* analysis: finding a precision plan. The oracle runs every subset of the nodes of a small graph by
 * a plan that is told to keep them, and measures the outputs in its own doubles. */
#include "tests/analysis/plan_oracle.h"
#include "tests/support/text_model.h"

/* 300 x 300 is beyond FP16, and comes back. */
static const struct text_graph too_large = {
    "x", "y",
    "[first] a = MatMul(x, w) [positive] b = Exp(a) [large] c = Mul(b, big) [larger] d = Mul(c, "
    "big) [back] e = Div(d, big) [again] f = Div(e, big) [turned] y = Neg(f)"};

static const struct text_graph branches = {
    "x", "y z",
    "[start] a = MatMul(x, w) [left] b = Softmax(a) [right] c = Exp(a) [join] d = Add(b, c) [side] "
    "z = Neg(c) [scale] e = Mul(d, two) [last] y = MatMul(e, w)"};

static const struct text_graph *const graphs[] = {&text_chain, &too_large, &branches};
enum { GRAPHS = 3, SAMPLES = 2, NODES_MAX = 8 };

/* ---- the oracle ---- */

/* The least sqnr_db of samples and outputs with the nodes of the bits kept. */
static double run_subset(struct ulp_program *program, const struct ulp_tensor_set *samples,
                         size_t sample_count, unsigned bits)
{
    size_t nodes[NODES_MAX], count = 0;
    double least = INFINITY;
    for (size_t n = 0; n < ulp_program_node_count(program); n++)
        if (bits >> n & 1)
            nodes[count++] = n;
    const struct ulp_keep keep = {.nodes = nodes,
                                  .node_count = count,
                                  .arithmetic = test_arithmetic("fp32")};
    const struct ulp_keeps keeps = {count > 0, &keep, NULL};
    ck_ok(ulp_program_keep(program, 1, &keeps, &why));
    for (size_t s = 0; s < sample_count; s++) {
        struct ulp_tensor_set outputs[2];
        ck_ok(ulp_program_run(program, &samples[s], NULL, NULL, 0, outputs, NULL, &why));
        for (size_t o = 0; o < outputs[0].count; o++)
            least = fmin(least,
                         oracle_power_db(&outputs[1].items[o].tensor, &outputs[0].items[o].tensor));
        ulp_tensor_set_free(&outputs[0]);
        ulp_tensor_set_free(&outputs[1]);
    }
    return least;
}

static unsigned bits_of(const struct ulp_search *found)
{
    unsigned bits = 0;
    for (size_t k = 0; k < found->kept_count; k++)
        bits |= 1u << found->kept[k].index;
    return bits;
}

static enum ulp_status find(const struct ulp_model *model, struct ulp_search_options options,
                            const char *tolerance, const struct ulp_tensor_set *samples,
                            size_t sample_count, struct ulp_search *out, struct ulp_error *error)
{
    static const char *const formats[] = {"fp32", "fp16"};
    struct ulp_sample list[SAMPLES];
    for (size_t s = 0; s < sample_count; s++)
        list[s] = (struct ulp_sample){s ? "two" : "one", &samples[s], 0};
    options.formats = formats;
    options.format_count = 2;
    options.by_node = true;
    options.reference = test_arithmetic("mpfr:128");
    options.tolerances = &tolerance;
    options.tolerance_count = 1;
    options.thread_count = 1;
    return ulp_search_run(model, &options, list, sample_count, &list[sample_count - 1], 1, out,
                          error);
}

/* ---- a budget ---- */

/* The least error for so many nodes, beside every subset. */
TEST_LOOP(the_least_error_for_a_budget, 0, GRAPHS)
{
    scoped_model *model = text_load(graphs[_i]);
    struct ulp_tensor_set samples[SAMPLES] = {text_inputs(model, 5, 0, true),
                                              text_inputs(model, 6, 0, true)};
    struct ulp_program *program = test_plan(model, samples, "mpfr:128", "fp16");
    const size_t nodes = ulp_program_node_count(program);
    const double limit = 110;
    double *db = calloc((size_t)1 << nodes, sizeof *db), excess = 0, cases = 0;
    ck_assert_uint_le(nodes, NODES_MAX);
    for (unsigned subset = 0; subset < 1u << nodes; subset++)
        db[subset] = run_subset(program, samples, SAMPLES, subset);
    for (size_t budget = 1; budget <= nodes; budget++) {
        const struct ulp_search_options options = {.budget = (double)budget};
        scoped_search found = {0};
        double most = -INFINITY;
        ck_ok(find(model, options, "sqnr_db=110", samples, SAMPLES, &found, &why));
        const unsigned bits = bits_of(&found);
        for (unsigned subset = 0; subset < 1u << nodes; subset++)
            if ((size_t)__builtin_popcount(subset) <= budget)
                most = fmax(most, db[subset]);
        ck_assert_uint_le(found.kept_count, budget);
        if (isinf(most) && most < 0)
            continue; /* something overflows, whatever is kept */
        ck_assert_double_eq_tol(found.ratio, pow(10, (limit - db[bits]) / 20), 1e-6 * found.ratio);
        excess += most - db[bits];
        cases++;
    }
    /* No search of this kind finds the least in all cases. */
    ck_assert_double_ge(cases, 2);
    ck_assert_msg(excess <= 0.5 * cases, "%g dB more than the least in %g cases", excess, cases);
    free(db);
    ulp_program_free(program);
    for (size_t s = 0; s < SAMPLES; s++)
        ulp_tensor_set_free(&samples[s]);
}

/* ---- options ---- */

/* plan.json is a plan for --plan: the same nodes, so the same figures. */
TEST(a_plan_is_read_back)
{
    scoped_model *model = text_load(&too_large);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    scoped_search found = {0};
    scoped_precision_plan read = {0};
    SCOPED_MEMORY char *text = NULL;
    /* no format has scales, and no product is kept: TF32 is no matter */
    static const char *const contents[][2] = {
        {"plan.json", "\"verdict\": \"Keep "},
        {"trtexec.txt", "--fp16 --precisionConstraints=obey '--layerPrecisions="},
        {"npps.py", "    \"larger\": trt.float32,\n"},
        {"autocast.txt", "'^larger$'"},
        {"strongly_typed.txt", "  larger (Mul)\n"}};
    ck_ok(find(model, (struct ulp_search_options){0}, "sqnr_db=50", &inputs, 1, &found, &why));
    ck_assert(found.met && found.kept_count > 0);
    ck_assert(isinf(found.before));
    ck_ok(ulp_search_write(&found, ULP_OUTPUT_FOLDER, test_folder("out"), &why));
    size_t known = 0;
    for (size_t f = 0; f < sizeof contents / sizeof *contents; f++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", test_folder("out"), contents[f][0]);
        ck_assert_msg(oracle_file_has(path, contents[f][1]), "%s", path);
        for (size_t n = 0; ulp_search_file_name(n); n++)
            known += strcmp(ulp_search_file_name(n), contents[f][0]) == 0;
    }
    ck_assert_uint_eq(known, sizeof contents / sizeof *contents);
    ck_ok(ulp_precision_plan_read(test_folder("out/plan.json"), NULL, &read, &why));
    const double db = oracle_outputs_db(model, &inputs, &read);
    ck_assert_double_ge(db, 50);
    ck_assert_double_eq_tol(db, found.samples[0].value, 1e-6);
    ck_ok(ulp_search_text(&found, 0, false, &text, &why));
    ck_assert_msg(strncmp(text, "Keep ", 5) == 0 && strstr(text, "meets sqnr_db=50") &&
                      strstr(text, "larger") && strstr(text, "1 of 1 held-out samples"),
                  "%s", text);
}

/* Loop bodies: the entries give exactly the nodes found, whatever the Loop itself is. */
static const struct text_graph with_loop = {
    "x i_count",
    "y z",
    "[first] h = MatMul(x, w) [loop] y, z = Loop(i_count, b_yes, h)",
    {&text_loop_body}};

TEST(bodies_are_searched)
{
    scoped_model *model = text_load(&with_loop);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    size_t kept = 0;
    for (double limit = 62; limit < 120; limit += 6) {
        scoped_search found = {0};
        scoped_precision_plan read = {0};
        char tolerance[64];
        snprintf(tolerance, sizeof tolerance, "sqnr_db=%.17g", limit);
        ck_ok(find(model, (struct ulp_search_options){0}, tolerance, &inputs, 1, &found, &why));
        ck_ok(ulp_search_write(&found, ULP_OUTPUT_FOLDER, test_folder("out"), &why));
        ck_ok(ulp_precision_plan_read(test_folder("out/plan.json"), NULL, &read, &why));
        ck_assert_double_eq_tol(oracle_outputs_db(model, &inputs, &read), found.samples[0].value,
                                1e-6);
        kept += found.kept_count;
    }
    ck_assert_uint_gt(kept, 0);
}

TEST(nodes_can_be_asked_for)
{
    scoped_model *model = text_load(&branches);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    static const char *const side = "side", *const nothing = "nothing", *const all = "*";
    struct ulp_search found;
    struct ulp_error error;
    ck_ok(find(model,
               (struct ulp_search_options){.always = &side,
                                           .always_count = 1,
                                           .never = (const char *const[]){"last"},
                                           .never_count = 1},
               "y:sqnr_db=68", &inputs, 1, &found, &why));
    bool has_side = false;
    for (size_t k = 0; k < found.kept_count; k++) {
        ck_assert_str_ne(found.kept[k].name, "last");
        has_side |= strcmp(found.kept[k].name, "side") == 0 && found.kept[k].always;
    }
    ck_assert(has_side);
    ulp_search_free(&found);

    ck_ok(find(model, (struct ulp_search_options){.never = &all, .never_count = 1}, "sqnr_db=100",
               &inputs, 1, &found, &why));
    ck_assert(!found.met && !(found.full <= 1) && found.kept_count == 0);
    ulp_search_free(&found);

    ck_assert_int_eq(find(model, (struct ulp_search_options){.never = &nothing, .never_count = 1},
                          "sqnr_db=100", &inputs, 1, &found, &error),
                     ULP_ERROR_USAGE);
    ck_assert_int_eq(find(model, (struct ulp_search_options){0}, "z:nonfinite=0", &inputs, 1,
                          &found, &error),
                     ULP_ERROR_USAGE);
    ck_assert_int_eq(find(model, (struct ulp_search_options){0}, "w:rms=0", &inputs, 1, &found,
                          &error),
                     ULP_ERROR_USAGE);
}

TEST_MAIN("plan", 120)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
