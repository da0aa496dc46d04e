/* Timings: what is known of them without a clock (sums, counts, names), and sleeps of known length
 * that must be found where they were slept. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/timings/timings.h"
#include "tests/support/text_model.h"

#define SLEEP_SECONDS 0.002
#define ITERATIONS 3 /* what text_inputs gives integers */

static const struct text_graph loop_body = {"i_n b_c s",
                                            "b_d t",
                                            {NODE("Mul", "half", "s two", "h"),
                                             NODE("Add", "grow", "h s", "t"),
                                             NODE("Identity", "go", "b_c", "b_d")}};
static const struct text_graph graph = {
    "x i_count",
    "y",
    {NODE("MatMul", "product", "x w", "p"), NODE("Add", "first", "p x", "q"),
     CONTROL("Loop", "loop", "i_count b_yes q", "z", &loop_body), NODE("Add", "last", "z x", "y")}};

static enum ulp_status sleep_a_while(void *context, const struct ulp_event *event,
                                     struct ulp_error *error)
{
    const struct timespec time = {0, (long)(SLEEP_SECONDS * 1e9)};
    (void)event, (void)error;
    ++*(size_t *)context;
    nanosleep(&time, NULL);
    return ULP_OK;
}

/* Two runs of three lanes, observed by a sleeper, and a sleep in the phase of writing. */
struct timed {
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    struct ulp_program *program;
    struct ulp_timer *timer;
    struct ulp_timings timings;
    size_t calls;
};

static void run_timed(struct timed *timed)
{
    const struct ulp_run_options run = {.thread_count = 1, .audit = true};
    const struct ulp_observer sleeper = {.context = &timed->calls, .node_done = sleep_a_while};
    *timed = (struct timed){.model = text_load(&graph)};
    timed->inputs = text_inputs(timed->model, 1, NAN, true);
    ck_ok(ulp_timer_create(&timed->timer, &why));
    ulp_timer_phase(timed->timer, ULP_TIMED_PLANNING);
    timed->program = text_plan(timed->model, &timed->inputs, 0, 3);
    ulp_timer_phase(timed->timer, ULP_TIMED_RUNNING);
    const struct ulp_observer observers[] = {ulp_timer_observer(timed->timer, timed->program),
                                             ulp_timer_watch(timed->timer, ULP_TIMED_MEASURING,
                                                             &sleeper)};
    for (int i = 0; i < 2; i++)
        ck_ok(
            ulp_program_run(timed->program, &timed->inputs, &run, observers, 2, NULL, NULL, &why));
    ulp_timer_phase(timed->timer, ULP_TIMED_WRITING);
    sleep_a_while(&timed->calls, NULL, NULL);
    ulp_timer_phase(timed->timer, ULP_TIMED_OTHER);
    ulp_program_free(timed->program); /* names outlive it */
    ck_ok(ulp_timings_read(timed->timer, &timed->timings, &why));
}

static void free_timed(struct timed *timed)
{
    ulp_timings_free(&timed->timings);
    ulp_timer_free(timed->timer);
    ulp_tensor_set_free(&timed->inputs);
    ulp_model_free(timed->model);
}

static const struct ulp_time *find(const struct ulp_time *times, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(times[i].name ? times[i].name : times[i].op, name) == 0)
            return &times[i];
    ck_abort_msg("%s is not there", name);
}

/* Sums of n doubles, each an addition of at most `all`: n * 2^-53 * all, with room. */
static void expect_sum(double a, double b, double all, const char *what)
{
    ck_assert_msg(fabs(a - b) <= 1e-12 * all, "%s: %.17g, expected %.17g", what, a, b);
}

START_TEST(times_add_up)
{
    struct timed timed;
    run_timed(&timed);
    const struct ulp_timings *t = &timed.timings;
    double phases = 0, nodes = 0, operators = 0, lanes[3] = {0}, measuring = 0;
    ck_assert_uint_eq(t->lane_count, 3);
    for (int p = 0; p < ULP_TIMED_COUNT; p++)
        phases += t->phases[p];
    for (size_t l = 0; l < 3; l++)
        phases += t->lane_seconds[l];
    expect_sum(phases, t->seconds, t->seconds, "phases and lanes");
    for (size_t i = 0; i < t->node_count; i++) {
        ck_assert(t->nodes[i].fastest >= 0);
        ck_assert(t->nodes[i].fastest <=
                  t->nodes[i].seconds - t->nodes[i].measuring + 1e-12 * t->seconds);
        nodes += t->nodes[i].seconds;
        measuring += t->nodes[i].measuring;
        ck_assert(i == 0 || t->nodes[i].seconds <= t->nodes[i - 1].seconds);
        for (size_t l = 0; l < 3; l++)
            lanes[l] += t->nodes[i].lanes[l];
    }
    for (size_t i = 0; i < t->operator_count; i++)
        operators += t->operators[i].seconds;
    expect_sum(operators, nodes, nodes, "operators");
    expect_sum(measuring, t->phases[ULP_TIMED_MEASURING], measuring, "measuring");
    for (size_t l = 0; l < 3; l++) {
        expect_sum(lanes[l], t->lane_seconds[l], nodes, "lane");
        ck_assert_str_eq(t->lanes[l], text_lanes[l]);
        ck_assert(t->lane_seconds[l] > 0);
    }
    free_timed(&timed);
}
END_TEST

START_TEST(counts_and_names)
{
    struct timed timed;
    run_timed(&timed);
    const struct ulp_timings *t = &timed.timings;
    const struct ulp_time *adds = find(t->operators, t->operator_count, "Add");
    ck_assert_uint_eq(t->node_count, 7);
    ck_assert_uint_eq(adds->nodes, 3);
    ck_assert_uint_eq(adds->executions, 2 * (2 + ITERATIONS));
    ck_assert_uint_eq(find(t->nodes, t->node_count, "loop/grow")->executions, 2 * ITERATIONS);
    ck_assert_uint_eq(find(t->nodes, t->node_count, "product")->executions, 2);
    free_timed(&timed);
}
END_TEST

/* A sleep lasts what was asked for, or longer. */
START_TEST(sleeps_are_found)
{
    struct timed timed;
    run_timed(&timed);
    const struct ulp_timings *t = &timed.timings;
    const size_t executions = 2 * (4 + 3 * ITERATIONS);
    ck_assert_uint_eq(timed.calls, executions + 1);
    ck_assert(t->phases[ULP_TIMED_MEASURING] >= (double)executions * SLEEP_SECONDS);
    ck_assert(t->phases[ULP_TIMED_WRITING] >= SLEEP_SECONDS);
    ck_assert(find(t->nodes, t->node_count, "loop/half")->measuring >=
              2 * ITERATIONS * SLEEP_SECONDS);
    /* the Loop's own are those of its two executions; what observers slept on nodes inside is
     * theirs */
    const struct ulp_time *loop = find(t->nodes, t->node_count, "loop");
    ck_assert(loop->measuring >= 2 * SLEEP_SECONDS);
    ck_assert_msg(loop->seconds - loop->measuring < 3 * ITERATIONS * SLEEP_SECONDS,
                  "%g s are said to be the Loop's", loop->seconds - loop->measuring);
    free_timed(&timed);
}
END_TEST

START_TEST(no_timer_is_no_work)
{
    struct ulp_timings timings;
    const struct ulp_observer sleeper = {.node_done = sleep_a_while};
    ulp_timer_phase(NULL, ULP_TIMED_WRITING);
    ulp_timer_restart(NULL);
    ulp_timer_free(NULL);
    ck_assert(!ulp_timer_observer(NULL, NULL).node_done);
    ck_assert(ulp_timer_watch(NULL, ULP_TIMED_MEASURING, &sleeper).node_done == sleep_a_while);
    ck_ok(ulp_timings_read(NULL, &timings, &why));
    ck_assert(timings.seconds == 0 && timings.node_count == 0);
    ulp_timings_free(&timings);
}
END_TEST

START_TEST(another_plan_is_refused)
{
    static const struct text_graph other = {"x", "y", {NODE("Neg", "minus", "x", "y")}};
    struct ulp_error error;
    struct timed timed;
    run_timed(&timed);
    struct ulp_model *model = text_load(&other);
    struct ulp_tensor_set inputs = text_inputs(model, 1, NAN, true);
    struct ulp_program *program = text_plan(model, &inputs, 0, 3);
    const struct ulp_observer observer = ulp_timer_observer(timed.timer, program);
    ck_assert_int_eq(ulp_program_run(program, &inputs, NULL, &observer, 1, NULL, NULL, &error),
                     ULP_ERROR_USAGE);
    ulp_timer_restart(timed.timer);
    const struct ulp_observer anew = ulp_timer_observer(timed.timer, program);
    ck_ok(ulp_program_run(program, &inputs, NULL, &anew, 1, NULL, NULL, &why));
    ulp_timings_free(&timed.timings);
    ck_ok(ulp_timings_read(timed.timer, &timed.timings, &why));
    ck_assert_uint_eq(timed.timings.node_count, 1);
    ck_assert_str_eq(timed.timings.nodes[0].name, "minus");
    ulp_program_free(program);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    free_timed(&timed);
}
END_TEST

/* The sleeps are nearly all of it, and the sentence says so. */
START_TEST(text_names_the_largest)
{
    struct timed timed;
    char *text;
    run_timed(&timed);
    ck_ok(ulp_timings_text(&timed.timings, 2, &text, &why));
    ck_assert_msg(strstr(text, "% of the time goes to measuring errors"), "%s", text);
    ck_assert_msg(strstr(text, "means of 2 runs"), "%s", text);
    ck_assert_msg(strstr(text, "reference mpfr:128"), "%s", text);
    ck_assert_msg(strstr(text, "loop/grow"), "%s", text);
    free(text);
    free_timed(&timed);
}
END_TEST

/* report.json has them when the audit has, and reads as before when not. */
START_TEST(report_has_them)
{
    struct timed timed;
    struct ulp_audit audit;
    run_timed(&timed);
    text_audit(&graph, 1, NAN, true, 1, &audit);
    for (int given = 0; given < 2; given++) {
        audit.timings = given ? &timed.timings : NULL;
        ck_ok(ulp_report_write(&audit, test_folder("report"), &why));
        json_t *report = json_load_file(test_folder("report/report.json"), 0, NULL);
        const json_t *times = json_object_get(report, "timings");
        ck_assert(report && !times == !given);
        if (given) {
            ck_assert_uint_eq(json_array_size(json_object_get(times, "nodes")), 7);
            ck_assert_uint_eq(json_array_size(json_object_get(times, "lanes")), 3);
            ck_assert(
                json_number_value(json_object_get(json_object_get(times, "phases"), "measuring")) ==
                timed.timings.phases[ULP_TIMED_MEASURING]);
        }
        json_decref(report);
    }
    ulp_audit_free(&audit);
    free_timed(&timed);
}
END_TEST

TEST_MAIN("timings", 0)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
    tcase_add_test(tests, times_add_up);
    tcase_add_test(tests, counts_and_names);
    tcase_add_test(tests, sleeps_are_found);
    tcase_add_test(tests, no_timer_is_no_work);
    tcase_add_test(tests, another_plan_is_refused);
    tcase_add_test(tests, text_names_the_largest);
    tcase_add_test(tests, report_has_them);
}
