/* run and analysis: nodes inside If, Loop and Scan. Their figures are, bit for bit, those of the
 * same graph written without control flow, and the iterations of a Loop or Scan are one row. */
#include "tests/support/text_model.h"

#include "analysis/measure/metrics.h"
#include "analysis/schedule/schedule.h"

/* Every node of `flat` is in `nested` under its name after one of the prefixes, with the same
 * figures. */
static void expect_flat(const struct ulp_audit *nested, const struct ulp_audit *flat,
                        const char *const *prefixes)
{
    for (size_t l = 0; l < flat->lane_count; l++)
        for (size_t n = 0; n < flat->lanes[l].node_count; n++) {
            const struct ulp_audit_node *wanted = &flat->lanes[l].nodes[n], *found = NULL;
            for (size_t i = 0; i < nested->lanes[l].node_count && !found; i++)
                for (const char *const *prefix = prefixes; *prefix && !found; prefix++) {
                    const char *name = nested->lanes[l].nodes[i].name;
                    size_t length = strlen(*prefix);
                    if (strncmp(name, *prefix, length) == 0 &&
                        strcmp(name + length, wanted->name) == 0)
                        found = &nested->lanes[l].nodes[i];
                }
            ck_assert_msg(found, "%s is not there", wanted->name);
            ck_assert_uint_eq(found->executions, wanted->executions);
            audit_expect_same(found, wanted);
        }
}

/* ---- If ---- */

static const struct text_graph inner_then = {"", "p",
                                             "[scale] s = Mul(a, x) [project] p = MatMul(s, w)"};
static const struct text_graph inner_else = {"", "q", "[minus] q = Neg(a)"};
static const struct text_graph outer_then = {
    "",
    "t",
    "[gate] a = Sigmoid(h) [inner] r = If(b_flag) [soft] t = Softmax(r)",
    {&inner_then, &inner_else}};
static const struct text_graph outer_else = {"", "e", "[power] e = Exp(h)"};
static const struct text_graph nested_if = {
    "x b_flag",
    "y",
    "[first] h = MatMul(x, w) [if] z = If(b_flag) [last] y = Mul(z, x)",
    {&outer_then, &outer_else}};
static const struct text_graph flat_then = {
    "x b_flag", "y",
    "[first] h = MatMul(x, w) [gate] a = Sigmoid(h) [scale] s = Mul(a, x) [project] r = MatMul(s, "
    "w) [soft] z = Softmax(r) [last] y = Mul(z, x)"};
static const struct text_graph flat_else = {
    "x b_flag", "y", "[first] h = MatMul(x, w) [power] z = Exp(h) [last] y = Mul(z, x)"};
/* the same with a condition that compiling knows */
static const struct text_graph known_then = {
    "",
    "t",
    "[gate] a = Sigmoid(h) [inner] r = If(b_yes) [soft] t = Softmax(r)",
    {&inner_then, &inner_else}};
static const struct text_graph known_if = {
    "x b_flag",
    "y",
    "[first] h = MatMul(x, w) [if] z = If(b_yes) [last] y = Mul(z, x)",
    {&known_then, &outer_else}};

static const char *const if_prefixes[] = {"", "if/", "if/inner/", NULL};

TEST_LOOP(nodes_of_branches_are_those_of_the_flat_graph, 0, 4)
{
    scoped_audit nested = {0}, flat = {0};
    const bool truth = _i % 2 == 0;
    text_audit(&nested_if, 1, 0, truth, _i < 2 ? 1 : 3, &nested);
    text_audit(truth ? &flat_then : &flat_else, 1, 0, truth, 1, &flat);
    expect_flat(&nested, &flat, if_prefixes);
    for (size_t l = 0; l < nested.lane_count; l++) {
        const struct ulp_audit_node *node = audit_node(&nested, l, "if"),
                                    *idle = audit_node(&nested, l, truth ? "if/power" : "if/gate");
        const struct ulp_audit_node *last = audit_node(&nested, l, truth ? "if/soft" : "if/power");
        ck_assert(idle->executions == 0 && idle->output_count == 0);
        ck_assert(node->executions == 1 && node->outputs[0].introduced.max_abs == 0);
        ck_assert(audit_same_metrics(&node->outputs[0].entire, &last->outputs[0].entire));
        ck_assert(audit_same_metrics(&node->outputs[0].entire, &node->outputs[0].carried));
        ck_assert(last->index < node->index && nested.lanes[l].first_decided < 0);
        ck_assert_str_eq(nested.lanes[l].outputs.outputs[0].name, "y");
    }
}

TEST(an_if_with_a_known_condition_is_its_branch)
{
    scoped_audit known = {0}, flat = {0};
    text_audit(&known_if, 1, 0, true, 1, &known);
    text_audit(&flat_then, 1, 0, true, 1, &flat);
    expect_flat(&known, &flat, if_prefixes);
    ck_assert_uint_eq(known.lanes[0].node_count, flat.lanes[0].node_count);
    ck_assert_str_eq(audit_node(&known, 0, "if/soft")->outputs[0].name, "z");
}

/* A branch for other inputs than these, as exporters leave them: its product does not fit, and what
 * follows of it is unknown. */
static const struct text_graph other_inner = {"", "o", "[turn] o = Transpose(m)"};
static const struct text_graph other_else = {
    "",
    "e",
    "[misfit] m = MatMul(w, h) [soft] n = Softmax(m) [inner] r = If(b_flag) [sum] e = Add(n, r)",
    {&other_inner, &other_inner}};
static const struct text_graph misfit_if = {
    "x b_flag",
    "y",
    "[first] h = MatMul(x, w) [if] z = If(b_flag) [last] y = Mul(z, x)",
    {&outer_then, &other_else}};

TEST(a_branch_that_does_not_fit_is_an_error_where_it_is_entered)
{
    struct ulp_audit nested, flat;
    text_audit(&misfit_if, 1, 0, true, 1, &nested);
    text_audit(&flat_then, 1, 0, true, 1, &flat);
    expect_flat(&nested, &flat, if_prefixes);
    ck_assert_uint_eq(audit_node(&nested, 0, "if/inner/turn")->executions, 0);
    ulp_audit_free(&flat);
    ulp_audit_free(&nested);

    scoped_model *model = text_load(&misfit_if);
    scoped_tensor_set inputs = text_inputs(model, 1, 0, false);
    scoped_program *program = text_plan(model, &inputs, 0, TEXT_LANES);
    ck_fails(ULP_ERROR_INPUT, "node misfit (MatMul)",
             ulp_program_run(program, &inputs, NULL, NULL, 0, NULL, NULL, &why));
}

/* Branches that give a captured value, a constant, and one value twice; straight to the graph's
 * outputs, and into other bodies. */
static const struct text_graph aliases_then = {"", "h w d d", "[relu] d = Relu(h)"};
static const struct text_graph aliases_else = {"", "h h h h", "[other] unused = Relu(h)"};
static const struct text_graph uses_then = {"", "u", "[add] u = Add(p, r)"};
static const struct text_graph uses_else = {"", "v", "[subtract] v = Sub(p, s)"};
#define ALIASES(CONDITION)                                                                        \
    {                                                                                             \
        "x b_flag", "p q r s y",                                                                  \
            "[first] h = MatMul(x, w) [if] p, q, r, s = If(" CONDITION ") [uses] v = If(b_flag) " \
            "[last] y = MatMul(v, q)",                                                            \
        {                                                                                         \
            &aliases_then, &aliases_else, &uses_then, &uses_else                                  \
        }                                                                                         \
    }
static const struct text_graph aliases[] = {ALIASES("b_yes"), ALIASES("b_flag")};

TEST(branches_may_give_what_is_not_theirs)
{
    struct ulp_tensor_set outputs[2];
    for (int known = 0; known < 2; known++) {
        scoped_model *model = text_load(&aliases[known]);
        scoped_tensor_set inputs = text_inputs(model, 3, 0, true);
        struct ulp_program *program = text_plan(model, &inputs, 1, 1);
        ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &outputs[known], NULL, &why));
        ck_assert_uint_eq(outputs[known].count, 5);
        ulp_program_free(program);
        scoped_audit result = {0};
        text_audit_samples(model, &inputs, 1, 1, &result);
    }
    for (size_t o = 0; o < 5; o++)
        ck_assert(test_same_bits(&outputs[0].items[o].tensor, &outputs[1].items[o].tensor));
    ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
}

/* ---- Loop and Scan ---- */

static const struct text_graph loop_body = {
    "i_n b_c s", "b_d t r",
    "[step] m = MatMul(s, w) [add] a = Add(m, x) [bend] t = Tanh(a) [square] r = Mul(t, t) [go] "
    "b_d = Identity(b_c)"};
static const struct text_graph looped = {"x i_count",
                                         "y z",
                                         "[loop] y, z = Loop(i_count, b_yes, x)",
                                         {&loop_body}};
static const struct text_graph unrolled = {
    "x i_count", "t2",
    "[0/step] m0 = MatMul(x, w) [0/add] a0 = Add(m0, x) [0/bend] t0 = Tanh(a0) [0/square] r0 = "
    "Mul(t0, t0) [1/step] m1 = MatMul(t0, w) [1/add] a1 = Add(m1, x) [1/bend] t1 = Tanh(a1) "
    "[1/square] r1 = Mul(t1, t1) [2/step] m2 = MatMul(t1, w) [2/add] a2 = Add(m2, x) [2/bend] t2 = "
    "Tanh(a2) [2/square] r2 = Mul(t2, t2)"};

static const struct text_graph scan_body = {
    "s e", "t r", "[add] a = Add(s, e) [bend] t = Sigmoid(a) [step] r = MatMul(t, w)"};
static const struct text_graph scanned = {
    "x", "y z", "[initial] s = Gather(x, i_1) [loop] y, z = Scan<1>(s, x)", {&scan_body}};
static const struct text_graph scanned_back = {
    "x", "y z", "[initial] s = Gather(x, i_1) [loop] y, z = Scan<1->(s, x)", {&scan_body}};
#define SCAN_UNROLLED(FIRST, LAST)                                                             \
    {                                                                                          \
        "x", "t2",                                                                             \
            "[initial] s = Gather(x, i_1) [e0] e0 = Gather(x, " FIRST                          \
            ") [e1] e1 = Gather(x, i_1) "                                                      \
            "[e2] e2 = Gather(x, " LAST ") [0/add] a0 = Add(s, e0) [0/bend] t0 = Sigmoid(a0) " \
            "[0/step] r0 = MatMul(t0, w) [1/add] a1 = Add(t0, e1) [1/bend] t1 = Sigmoid(a1) "  \
            "[1/step] r1 = MatMul(t1, w) [2/add] a2 = Add(t1, e2) [2/bend] t2 = Sigmoid(a2) "  \
            "[2/step] r2 = MatMul(t2, w)"                                                      \
    }
static const struct text_graph scan_unrolled = SCAN_UNROLLED("i_0", "i_2"),
                               back_unrolled = SCAN_UNROLLED("i_2", "i_0");

TEST_LOOP(rounds_are_one_row, 0, 6)
{
    const struct text_graph *texts[][2] = {{&looped, &unrolled},
                                           {&scanned, &scan_unrolled},
                                           {&scanned_back, &back_unrolled}};
    static const char *const names[][4] = {{"step", "add", "bend", "square"},
                                           {"step", "add", "bend", NULL},
                                           {"step", "add", "bend", NULL}};
    scoped_audit nested = {0}, flat = {0};
    text_audit(texts[_i % 3][0], 5, 0, true, _i < 3 ? 1 : 3, &nested);
    text_audit(texts[_i % 3][1], 5, 0, true, 1, &flat);
    for (size_t l = 0; l < nested.lane_count; l++) {
        for (int i = 0; i < 4 && names[_i % 3][i]; i++) {
            struct ulp_audit_output joined = {0};
            char name[40];
            for (int iteration = 0; iteration < 3; iteration++) {
                snprintf(name, sizeof name, "%d/%s", iteration, names[_i % 3][i]);
                const struct ulp_audit_output *output = audit_node(&flat, l, name)->outputs;
                if (iteration == 0) {
                    joined = *output;
                    continue;
                }
                ulp_metrics_join(&joined.single, &output->single);
                ulp_metrics_join(&joined.entire, &output->entire);
                ulp_metrics_join(&joined.introduced, &output->introduced);
                ulp_metrics_join(&joined.carried, &output->carried);
                joined.range.ref_max = fmax(joined.range.ref_max, output->range.ref_max);
            }
            snprintf(name, sizeof name, "loop/%s", names[_i % 3][i]);
            const struct ulp_audit_node *row = audit_node(&nested, l, name);
            ck_assert_uint_eq(row->executions, 3);
            ck_assert_uint_eq(row->output_count, 1);
            ck_assert_msg(audit_same_metrics(&row->outputs[0].single, &joined.single) &&
                              audit_same_metrics(&row->outputs[0].entire, &joined.entire) &&
                              audit_same_metrics(&row->outputs[0].introduced, &joined.introduced) &&
                              audit_same_metrics(&row->outputs[0].carried, &joined.carried),
                          "%s of %s", name, text_lanes[l + 1]);
            ck_assert(row->outputs[0].range.ref_max == joined.range.ref_max);
        }
        const struct ulp_audit_node *loop = audit_node(&nested, l, "loop"),
                                    *last = audit_node(&flat, l, "2/bend");
        ck_assert(loop->executions == 1 &&
                  audit_same_metrics(&loop->outputs[0].entire, &last->outputs[0].entire));
        ck_assert(loop->outputs[0].introduced.max_abs == 0 &&
                  loop->outputs[1].introduced.max_abs == 0);
        ck_assert(nested.lanes[l].first_decided < 0 && nested.lanes[l].first_born < 0);
    }
}

/* Samples that take different branches, and several samples of a loop: means and worst over those
 * that ran a node. */
TEST(samples_may_take_different_branches)
{
    scoped_model *model = text_load(&nested_if);
    struct ulp_tensor_set samples[] = {text_inputs(model, 1, 0, false),
                                       text_inputs(model, 2, 0, true),
                                       text_inputs(model, 3, 0, true)};
    struct ulp_audit all, one[3];
    text_audit_samples(model, samples, 3, 1, &all);
    for (int s = 0; s < 3; s++)
        text_audit_samples(model, &samples[s], 1, 1, &one[s]);
    for (size_t l = 0; l < all.lane_count; l++) {
        const struct ulp_audit_output *gate = audit_node(&all, l, "if/gate")->outputs;
        const struct ulp_audit_output *a = audit_node(&one[1], l, "if/gate")->outputs,
                                      *c = audit_node(&one[2], l, "if/gate")->outputs;
        ck_assert_uint_eq(audit_node(&all, l, "if/gate")->executions, 2);
        ck_assert_uint_eq(audit_node(&all, l, "first")->executions, 3);
        ck_assert(gate->samples->entire_mean.rms == (a->entire.rms + c->entire.rms) / 2);
        ck_assert(gate->entire.rms == fmax(a->entire.rms, c->entire.rms));
        ck_assert_uint_eq(gate->worst_sample, a->entire.rms >= c->entire.rms ? 1 : 2);
        const struct ulp_audit_node *power = audit_node(&all, l, "if/power");
        ck_assert(power->executions == 1 && power->outputs[0].worst_sample == 0);
        ck_assert(audit_same_metrics(&power->outputs[0].entire,
                                     &audit_node(&one[0], l, "if/power")->outputs[0].entire));
    }
    for (int s = 0; s < 3; s++) {
        ulp_audit_free(&one[s]);
        ulp_tensor_set_free(&samples[s]);
    }
    ulp_audit_free(&all);
}

TEST(reports_say_rounds)
{
    scoped_audit result = {0};
    char text[100];
    size_t found = 0, lines = 0;
    text_audit(&looped, 5, 0, true, 1, &result);
    ck_ok(ulp_report_write(&result, test_folder(""), &why));
    FILE *file = fopen(test_folder("report.json"), "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(text, sizeof text, file))
        found += strstr(text, "\"executions\": 3") != NULL;
    fclose(file);
    ck_assert_uint_eq(found, 5 * result.lane_count);
    char *line = NULL;
    size_t room = 0;
    file = fopen(test_folder("layers.csv"), "r");
    ck_assert_ptr_nonnull(file);
    for (found = 0; getline(&line, &room, file) > 0; lines++) {
        const char *last = strrchr(line, ',');
        found += strstr(line, "\"loop/") && strcmp(last, ",3\n") == 0;
        ck_assert(lines == 0 ? strcmp(last, ",executions\n") == 0
                             : strcmp(last, ",3\n") == 0 || strcmp(last, ",1\n") == 0);
    }
    fclose(file);
    free(line);
    ck_assert_uint_eq(found, 5 * result.lane_count);
    SCOPED_MEMORY char *summary = NULL;
    ck_ok(ulp_report_text(&result, 100, false, &summary, &why));
    for (const char *start = summary; *start; start += strcspn(start, "\n") + 1)
        ck_assert_uint_le(strcspn(start, "\n"), 100);
}

static struct ulp_spreads measure_spreads(const struct text_graph *text, const char *base_name)
{
    scoped_model *model = text_load(text);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_spreads spreads;
    const struct ulp_arithmetic reference = test_arithmetic("mpfr:128");
    const struct ulp_arithmetic base = test_arithmetic(base_name);
    ck_ok(ulp_spreads_measure(model, &reference, &base, &inputs, &options, NULL, &spreads, &why));
    return spreads;
}

TEST(schedules_reach_products_inside)
{
    struct ulp_spreads nested = measure_spreads(&nested_if, "fp32"),
                       flat = measure_spreads(&flat_then, "fp32");
    ck_assert_uint_eq(nested.count, flat.count);
    for (size_t i = 0; i < flat.count; i++)
        ck_assert(nested.items[i].width_rms == flat.items[i].width_rms &&
                  nested.items[i].ref_rms == flat.items[i].ref_rms && flat.items[i].width_rms > 0);
    ulp_spreads_free(&nested);
    ulp_spreads_free(&flat);
    nested = measure_spreads(&looped, "fp32"), flat = measure_spreads(&unrolled, "fp32");
    ck_assert_uint_eq(nested.count, 1);
    ck_assert_uint_eq(flat.count, 3);
    double most = 0, sum2 = 0;
    for (size_t i = 0; i < 3; i++) {
        most = fmax(most, flat.items[i].width_max_abs);
        sum2 += flat.items[i].width_rms * flat.items[i].width_rms;
    }
    ck_assert(nested.items[0].width_max_abs == most &&
              fabs(nested.items[0].width_rms - sqrt(sum2 / 3)) <= 1e-14 * sqrt(sum2 / 3));
    ulp_spreads_free(&nested);
    ulp_spreads_free(&flat);
}

TEST_MAIN("bodies", 120)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
