/* run and analysis: nodes inside If, Loop and Scan. Their figures are, bit for bit, those of the
 * same graph written without control flow, and the iterations of a Loop or Scan are one row. */
#include "tests/support/text_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/load.h"
#include "analysis/measure/metrics.h"

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

static const struct text_graph inner_then = {
    "", "p", {NODE("Mul", "scale", "a x", "s"), NODE("MatMul", "project", "s w", "p")}};
static const struct text_graph inner_else = {"", "q", {NODE("Neg", "minus", "a", "q")}};
static const struct text_graph outer_then = {"",
                                             "t",
                                             {NODE("Sigmoid", "gate", "h", "a"),
                                              CONTROL("If", "inner", "b_flag", "r", &inner_then,
                                                      &inner_else),
                                              NODE("Softmax", "soft", "r", "t")}};
static const struct text_graph outer_else = {"", "e", {NODE("Exp", "power", "h", "e")}};
static const struct text_graph nested_if = {"x b_flag",
                                            "y",
                                            {NODE("MatMul", "first", "x w", "h"),
                                             CONTROL("If", "if", "b_flag", "z", &outer_then,
                                                     &outer_else),
                                             NODE("Mul", "last", "z x", "y")}};
static const struct text_graph flat_then = {
    "x b_flag",
    "y",
    {NODE("MatMul", "first", "x w", "h"), NODE("Sigmoid", "gate", "h", "a"),
     NODE("Mul", "scale", "a x", "s"), NODE("MatMul", "project", "s w", "r"),
     NODE("Softmax", "soft", "r", "z"), NODE("Mul", "last", "z x", "y")}};
static const struct text_graph flat_else = {"x b_flag",
                                            "y",
                                            {NODE("MatMul", "first", "x w", "h"),
                                             NODE("Exp", "power", "h", "z"),
                                             NODE("Mul", "last", "z x", "y")}};
/* the same with a condition that planning knows */
static const struct text_graph known_then = {"",
                                             "t",
                                             {NODE("Sigmoid", "gate", "h", "a"),
                                              CONTROL("If", "inner", "b_yes", "r", &inner_then,
                                                      &inner_else),
                                              NODE("Softmax", "soft", "r", "t")}};
static const struct text_graph known_if = {
    "x b_flag",
    "y",
    {NODE("MatMul", "first", "x w", "h"),
     CONTROL("If", "if", "b_yes", "z", &known_then, &outer_else), NODE("Mul", "last", "z x", "y")}};

static const char *const if_prefixes[] = {"", "if/", "if/inner/", NULL};

START_TEST(nodes_of_branches_are_those_of_the_flat_graph)
{
    struct ulp_audit nested, flat;
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
    ulp_audit_free(&flat);
    ulp_audit_free(&nested);
}
END_TEST

START_TEST(an_if_with_a_known_condition_is_its_branch)
{
    struct ulp_audit known, flat;
    text_audit(&known_if, 1, 0, true, 1, &known);
    text_audit(&flat_then, 1, 0, true, 1, &flat);
    expect_flat(&known, &flat, if_prefixes);
    ck_assert_uint_eq(known.lanes[0].node_count, flat.lanes[0].node_count);
    ck_assert_str_eq(audit_node(&known, 0, "if/soft")->outputs[0].name, "z");
    ulp_audit_free(&flat);
    ulp_audit_free(&known);
}
END_TEST

/* Branches that give a captured value, a constant, and one value twice; straight to the graph's
 * outputs, and into other bodies. */
static const struct text_graph aliases_then = {"", "h w d d", {NODE("Relu", "relu", "h", "d")}};
static const struct text_graph aliases_else = {"",
                                               "h h h h",
                                               {NODE("Relu", "other", "h", "unused")}};
static const struct text_graph uses_then = {"", "u", {NODE("Add", "add", "p r", "u")}};
static const struct text_graph uses_else = {"", "v", {NODE("Sub", "subtract", "p s", "v")}};
#define ALIASES(CONDITION)                                                               \
    {                                                                                    \
        "x b_flag", "p q r s y",                                                         \
        {                                                                                \
            NODE("MatMul", "first", "x w", "h"),                                         \
                CONTROL("If", "if", CONDITION, "p q r s", &aliases_then, &aliases_else), \
                CONTROL("If", "uses", "b_flag", "v", &uses_then, &uses_else),            \
                NODE("MatMul", "last", "v q", "y")                                       \
        }                                                                                \
    }
static const struct text_graph aliases[] = {ALIASES("b_yes"), ALIASES("b_flag")};

START_TEST(branches_may_give_what_is_not_theirs)
{
    struct ulp_tensor_set outputs[2];
    struct ulp_error error;
    for (int known = 0; known < 2; known++) {
        struct ulp_model *model = text_load(&aliases[known]);
        struct ulp_tensor_set inputs = text_inputs(model, 3, 0, true);
        struct ulp_plan *plan = text_plan(model, &inputs, 1, 1);
        ck_ulp_ok(ulp_plan_run(plan, &inputs, NULL, NULL, 0, &outputs[known], NULL, &error), error);
        ck_assert_uint_eq(outputs[known].count, 5);
        ulp_plan_free(plan);
        struct ulp_audit result;
        text_audit_samples(model, &inputs, 1, 1, &result);
        ulp_audit_free(&result);
        ulp_tensor_set_free(&inputs);
        ulp_model_free(model);
    }
    for (size_t o = 0; o < 5; o++)
        ck_assert(test_same_bits(&outputs[0].items[o].tensor, &outputs[1].items[o].tensor));
    ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
}
END_TEST

/* ---- Loop and Scan ---- */

static const struct text_graph loop_body = {"i_n b_c s",
                                            "b_d t r",
                                            {NODE("MatMul", "step", "s w", "m"),
                                             NODE("Add", "add", "m x", "a"),
                                             NODE("Tanh", "bend", "a", "t"),
                                             NODE("Mul", "square", "t t", "r"),
                                             NODE("Identity", "go", "b_c", "b_d")}};
static const struct text_graph looped = {
    "x i_count", "y z", {CONTROL("Loop", "loop", "i_count b_yes x", "y z", &loop_body)}};
static const struct text_graph unrolled = {
    "x i_count",
    "t2 z",
    {NODE("MatMul", "0/step", "x w", "m0"), NODE("Add", "0/add", "m0 x", "a0"),
     NODE("Tanh", "0/bend", "a0", "t0"), NODE("Mul", "0/square", "t0 t0", "r0"),
     NODE("MatMul", "1/step", "t0 w", "m1"), NODE("Add", "1/add", "m1 x", "a1"),
     NODE("Tanh", "1/bend", "a1", "t1"), NODE("Mul", "1/square", "t1 t1", "r1"),
     NODE("MatMul", "2/step", "t1 w", "m2"), NODE("Add", "2/add", "m2 x", "a2"),
     NODE("Tanh", "2/bend", "a2", "t2"), NODE("Mul", "2/square", "t2 t2", "r2"),
     NODE("Concat", "z", "r0 r1 r2", "z")}};

static const struct text_graph scan_body = {"s e",
                                            "t r",
                                            {NODE("Add", "add", "s e", "a"),
                                             NODE("Sigmoid", "bend", "a", "t"),
                                             NODE("MatMul", "step", "t w", "r")}};
static const struct text_graph scanned = {"x",
                                          "y z",
                                          {NODE("Gather", "initial", "x i_1", "s"),
                                           SCAN("Scan", "loop", "s x", "y z", &scan_body, 1)}};
static const struct text_graph scanned_back = {"x",
                                               "y z",
                                               {NODE("Gather", "initial", "x i_1", "s"),
                                                {.op = "Scan",
                                                 .name = "loop",
                                                 .inputs = "s x",
                                                 .outputs = "y z",
                                                 .bodies = {&scan_body},
                                                 .scan_inputs = 1,
                                                 .back = true}}};
#define SCAN_UNROLLED(FIRST, LAST)                                                             \
    {                                                                                          \
        "x", "t2",                                                                             \
        {                                                                                      \
            NODE("Gather", "initial", "x i_1", "s"), NODE("Gather", "e0", "x " FIRST, "e0"),   \
                NODE("Gather", "e1", "x i_1", "e1"), NODE("Gather", "e2", "x " LAST, "e2"),    \
                NODE("Add", "0/add", "s e0", "a0"), NODE("Sigmoid", "0/bend", "a0", "t0"),     \
                NODE("MatMul", "0/step", "t0 w", "r0"), NODE("Add", "1/add", "t0 e1", "a1"),   \
                NODE("Sigmoid", "1/bend", "a1", "t1"), NODE("MatMul", "1/step", "t1 w", "r1"), \
                NODE("Add", "2/add", "t1 e2", "a2"), NODE("Sigmoid", "2/bend", "a2", "t2"),    \
                NODE("MatMul", "2/step", "t2 w", "r2")                                         \
        }                                                                                      \
    }
static const struct text_graph scan_unrolled = SCAN_UNROLLED("i_0", "i_2"),
                               back_unrolled = SCAN_UNROLLED("i_2", "i_0");

START_TEST(rounds_are_one_row)
{
    const struct text_graph *texts[][2] = {{&looped, &unrolled},
                                           {&scanned, &scan_unrolled},
                                           {&scanned_back, &back_unrolled}};
    static const char *const names[][4] = {{"step", "add", "bend", "square"},
                                           {"step", "add", "bend", NULL},
                                           {"step", "add", "bend", NULL}};
    struct ulp_audit nested, flat;
    struct text_graph by_hand = *texts[_i % 3][1];
    if (_i % 3 == 0) /* Concat needs its axis; the rows do not need Concat */
        by_hand.outputs = "t2", by_hand.nodes[12] = (struct text_node){0};
    text_audit(texts[_i % 3][0], 5, 0, true, _i < 3 ? 1 : 3, &nested);
    text_audit(&by_hand, 5, 0, true, 1, &flat);
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
    ulp_audit_free(&flat);
    ulp_audit_free(&nested);
}
END_TEST

/* Samples that take different branches, and several samples of a loop: means and worst over those
 * that ran a node. */
START_TEST(samples_may_take_different_branches)
{
    struct ulp_model *model = text_load(&nested_if);
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
    ulp_model_free(model);
}
END_TEST

static const struct text_graph negated = {"", "e", {NODE("Neg", "minus", "x", "e")}};

/* A Loop in a branch planning knows, an If in the Loop that is taken in iterations 0 and 2, a Scan
 * in that If; values are captured from every level. */
static const struct text_graph deep_scan = {
    "c e", "d f", {NODE("Add", "sum", "c e", "d"), NODE("Mul", "weigh", "d k", "f")}};
static const struct text_graph deep_then = {"",
                                            "t",
                                            {NODE("Gather", "row", "s i_0", "g"),
                                             SCAN("Scan", "scan", "g s", "last t", &deep_scan, 1)}};
static const struct text_graph deep_else = {"", "e", {NODE("MatMul", "turn", "s w", "e")}};
static const struct text_graph deep_body = {
    "i_n b_c s",
    "b_d u",
    {NODE("Equal", "odd", "i_n i_1", "b_o"), NODE("Not", "even", "b_o", "b_e"),
     CONTROL("If", "if", "b_e", "v", &deep_then, &deep_else), NODE("Tanh", "bend", "v", "u"),
     NODE("Identity", "go", "b_c", "b_d")}};
static const struct text_graph deep_branch = {
    "",
    "o",
    {NODE("Sigmoid", "gate", "h", "k8"), NODE("ReduceMax", "most", "k8", "k"),
     CONTROL("Loop", "loop", "i_count b_yes h", "o", &deep_body)}};
static const struct text_graph deep = {"x i_count",
                                       "y",
                                       {NODE("MatMul", "first", "x w", "h"),
                                        CONTROL("If", "if", "b_yes", "z", &deep_branch, &negated),
                                        NODE("Mul", "last", "z x", "y")}};
/* the first iteration by hand, as far as the Scan's sums */
static const struct text_graph deep_flat = {
    "x i_count",
    "ff2",
    {NODE("MatMul", "first", "x w", "h"), NODE("Sigmoid", "if/gate", "h", "k8"),
     NODE("ReduceMax", "if/most", "k8", "k1"), NODE("Gather", "row", "h i_0", "g"),
     NODE("Gather", "e1", "h i_1", "e1"), NODE("Gather", "e2", "h i_2", "e2"),
     NODE("Add", "0/sum", "g g", "d0"), NODE("Add", "1/sum", "d0 e1", "d1"),
     NODE("Add", "2/sum", "d1 e2", "ff2")}};

struct watched {
    double progress;
    size_t events, *executions, sums;
    size_t cancel_at; /* 0: never */
    struct ulp_metrics sum[3];
};

static enum ulp_status watch(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct watched *watched = context;
    ck_assert(event->index < event->node_count && event->progress >= watched->progress &&
              event->progress <= 1 + 1e-12);
    ck_assert(event->seconds >= 0);
    ck_assert_uint_eq(event->execution, watched->executions[event->index]++);
    watched->progress = event->progress;
    watched->events++;
    const char *end = strrchr(event->name, '/');
    if (end && strcmp(end, "/sum") == 0 && watched->sums < 3)
        return ulp_metrics_measure(event->values[event->output_count].entire,
                                   event->values[0].entire, &event->arithmetics[1].storage,
                                   &watched->sum[watched->sums++], error);
    return ULP_OK;
}

static bool is_late(void *context)
{
    const struct watched *watched = context;
    return watched->cancel_at && watched->events >= watched->cancel_at;
}

START_TEST(control_flow_nests)
{
    struct ulp_budget budget = {0};
    struct ulp_model *model = text_load_within(&deep, &budget);
    struct ulp_tensor_set inputs = text_inputs(model, 9, 0, true);
    struct ulp_plan *plan = text_plan(model, &inputs, 0, TEXT_LANES);
    const struct ulp_run_options options = {.thread_count = 1, .audit = true};
    struct watched watched = {.executions = calloc(ulp_plan_node_count(plan), sizeof(size_t))};
    const struct ulp_observer observer = {.context = &watched,
                                          .node_done = watch,
                                          .cancelled = is_late};
    struct ulp_audit nested, flat;
    struct ulp_error error;
    ck_ulp_ok(ulp_plan_run(plan, &inputs, &options, &observer, 1, NULL, NULL, &error), error);
    ck_assert(fabs(watched.progress - 1) < 1e-12);
    text_audit_samples(model, &inputs, 1, 1, &nested);
    text_audit(&deep_flat, 9, 0, true, 1, &flat);
    static const struct {
        const char *name;
        size_t executions;
    } wanted[] = {{"first", 1},
                  {"if/gate", 1},
                  {"if/loop", 1},
                  {"if/loop/even", 3},
                  {"if/loop/if", 3},
                  {"if/loop/if/turn", 1},
                  {"if/loop/if/row", 2},
                  {"if/loop/if/scan", 2},
                  {"if/loop/if/scan/weigh", 6},
                  {"if/loop/bend", 3},
                  {"last", 1}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct ulp_audit_node *node = audit_node(&nested, 0, wanted[i].name);
        ck_assert_msg(node->executions == wanted[i].executions, "%s: %zu executions", node->name,
                      node->executions);
        ck_assert_uint_eq(watched.executions[node->index], wanted[i].executions);
    }
    for (size_t i = 0; i < 3; i++) {
        char name[] = "0/sum";
        name[0] = (char)('0' + i);
        ck_assert(
            audit_same_metrics(&watched.sum[i], &audit_node(&flat, 0, name)->outputs[0].entire));
    }
    audit_expect_same(audit_node(&nested, 2, "if/gate"), audit_node(&flat, 2, "if/gate"));
    /* ended at every step, and by every limit of memory */
    for (watched.cancel_at = watched.events; watched.cancel_at-- > 1;) {
        memset(watched.executions, 0, ulp_plan_node_count(plan) * sizeof(size_t));
        watched.events = 0, watched.progress = 0;
        ck_assert_int_eq(ulp_plan_run(plan, &inputs, &options, &observer, 1, NULL, NULL, &error),
                         ULP_ERROR_CANCELLED);
    }
    int failures = 0;
    for (size_t limit = 1000; limit < 100000; limit += 500) {
        budget.limit_bytes = budget.used_bytes + limit;
        enum ulp_status status = ulp_plan_run(plan, &inputs, &options, NULL, 0, NULL, NULL, &error);
        ck_assert(status == ULP_OK || status == ULP_ERROR_MEMORY);
        failures += status != ULP_OK;
    }
    ck_assert_int_gt(failures, 10);
    budget.limit_bytes = 0;
    free(watched.executions);
    ulp_audit_free(&nested);
    ulp_audit_free(&flat);
    ulp_plan_free(plan);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

START_TEST(reports_say_rounds)
{
    struct ulp_audit result;
    struct ulp_error error;
    char text[100];
    size_t found = 0, lines = 0;
    text_audit(&looped, 5, 0, true, 1, &result);
    ck_ulp_ok(ulp_report_write(&result, test_folder(""), &error), error);
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
    char *summary;
    ck_ulp_ok(ulp_report_summary(&result, 100, false, &summary, &error), error);
    ck_assert_ptr_nonnull(strstr(summary, "MatMul x3 "));
    for (const char *start = summary; *start; start += strcspn(start, "\n") + 1)
        ck_assert_uint_le(strcspn(start, "\n"), 100);
    free(summary);
    ulp_audit_free(&result);
}
END_TEST

/* A body that captures a parameter of its function which the call omits: absent as an input,
 * refused as a result. */
START_TEST(omitted_parameters_are_absent_in_bodies)
{
    struct proto graph = {0}, function = {0}, call = proto_node("F", "call", "x - b_flag", "y");
    struct proto node = proto_node("If", "if", "c", "r"), minus = {0}, clip = {0};
    text_add_values(&clip, GRAPH_OUTPUT, _i ? "limit" : "t", false);
    text_add_values(&minus, GRAPH_OUTPUT, "e", false);
    struct proto clipping = proto_node("Clip", "clip", "a - limit", "t"),
                 negating = proto_node("Neg", "minus", "a", "e");
    proto_message(&clip, GRAPH_NODE, &clipping);
    proto_message(&minus, GRAPH_NODE, &negating);
    text_add_attribute(&node, "then_branch", &clip, 0);
    text_add_attribute(&node, "else_branch", &minus, 0);
    proto_text(&function, FUNCTION_NAME, "F");
    proto_text(&function, FUNCTION_DOMAIN, "d");
    proto_text(&function, FUNCTION_INPUT, "a");
    proto_text(&function, FUNCTION_INPUT, "limit");
    proto_text(&function, FUNCTION_INPUT, "c");
    proto_text(&function, FUNCTION_OUTPUT, "r");
    proto_message(&function, FUNCTION_NODE, &node);
    struct proto opset = {0};
    proto_int(&opset, 2, 16);
    proto_message(&function, FUNCTION_OPSET, &opset);
    proto_text(&call, NODE_DOMAIN, "d");
    proto_text(&graph, GRAPH_NAME, "g");
    text_add_values(&graph, GRAPH_INPUT, "x b_flag", true);
    text_add_values(&graph, GRAPH_OUTPUT, "y", true);
    proto_message(&graph, GRAPH_NODE, &call);
    struct proto bytes = proto_model(8, 16, &graph);
    proto_opset(&bytes, "d", 1);
    proto_message(&bytes, MODEL_FUNCTION, &function);
    struct ulp_model *model;
    struct ulp_error error;
    ck_ulp_ok(ulp_model_load_bytes("omitted.onnx", bytes.data, bytes.count, NULL, &model, &error),
              error);
    proto_free(&bytes);
    struct ulp_tensor_set inputs = text_inputs(model, 3, 0, true), outputs;
    if (_i) {
        struct ulp_arithmetic lane;
        struct ulp_plan *plan;
        lane = test_arithmetic("fp32");
        ck_assert_int_eq(ulp_plan_create(model, &lane, 1, NULL, &plan, &error), ULP_ERROR_INPUT);
        ck_assert_ptr_nonnull(strstr(error.message, "'limit' is an input that the call omits"));
    } else {
        struct ulp_plan *plan = text_plan(model, &inputs, 2, 1);
        ck_ulp_ok(ulp_plan_run(plan, &inputs, NULL, NULL, 0, &outputs, NULL, &error), error);
        ck_assert_int_eq(memcmp(outputs.items[0].tensor.data, inputs.items[0].tensor.data,
                                24 * sizeof(float)),
                         0);
        ulp_tensor_set_free(&outputs);
        ulp_plan_free(plan);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

static struct ulp_spreads measure_spreads(const struct text_graph *text, const char *base_name)
{
    struct ulp_model *model = text_load(text);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_arithmetic reference, base;
    struct ulp_spreads spreads;
    struct ulp_error error;
    reference = test_arithmetic("mpfr:128");
    base = test_arithmetic(base_name);
    ck_ulp_ok(ulp_spreads_measure(model, &reference, &base, &inputs, &options, NULL, &spreads,
                                  &error),
              error);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    return spreads;
}

START_TEST(schedules_reach_products_inside)
{
    struct ulp_spreads nested = measure_spreads(&nested_if, "fp32"),
                       flat = measure_spreads(&flat_then, "fp32");
    ck_assert_uint_eq(nested.count, flat.count);
    for (size_t i = 0; i < flat.count; i++)
        ck_assert(nested.items[i].width_rms == flat.items[i].width_rms &&
                  nested.items[i].ref_rms == flat.items[i].ref_rms && flat.items[i].width_rms > 0);
    ulp_spreads_free(&nested);
    ulp_spreads_free(&flat);
    struct text_graph by_hand = unrolled;
    by_hand.outputs = "t2", by_hand.nodes[12] = (struct text_node){0};
    nested = measure_spreads(&looped, "fp32"), flat = measure_spreads(&by_hand, "fp32");
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("bodies");
    TCase *tests = tcase_create("bodies");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, nodes_of_branches_are_those_of_the_flat_graph, 0, 4);
    tcase_add_test(tests, an_if_with_a_known_condition_is_its_branch);
    tcase_add_test(tests, branches_may_give_what_is_not_theirs);
    tcase_add_loop_test(tests, rounds_are_one_row, 0, 6);
    tcase_add_test(tests, samples_may_take_different_branches);
    tcase_add_test(tests, control_flow_nests);
    tcase_add_loop_test(tests, omitted_parameters_are_absent_in_bodies, 0, 2);
    tcase_add_test(tests, schedules_reach_products_inside);
    suite_add_tcase(suite, tests);
    TCase *reports = tcase_create("reports");
    tcase_add_checked_fixture(reports, test_folder_create, test_folder_remove);
    tcase_add_test(reports, reports_say_rounds);
    suite_add_tcase(suite, reports);
    return test_run(suite, NULL);
}
