/* run: where a node moves or chooses what it reads, R(p) is P(p) itself. The same values come out
 * where R(p) is computed: in a lane one of whose nodes is kept in another arithmetic, which takes
 * no such way. */
#include "tests/support/text_model.h"

/* Nodes named "same..." round nothing, others do, or read a constant, which the reference has as it
 * is in the model. */
static const struct text_graph graph = {
    "x b_t",
    "out",
    "[product] m = MatMul(x, w) [same relu] a = Relu(m) [same neg] n = Neg(m) [same floor] f = "
    "Floor(m) [same max] g = Max(n, a) [same reduce] h = ReduceMax(g) [same transpose] t = "
    "Transpose(g) [same back] t2 = Transpose(t) [same flatten] v = Flatten(f) [same where] k = "
    "Where(b_t, v, g) [with a constant] c = Max(k, two) [same identity] e = Identity(h) [sigmoid] "
    "s = Sigmoid(c) [sum] u = Add(s, t2) [last] out = Add(u, e)",
};

enum { OUTPUTS_MAX = 16 };
struct seen {
    size_t count, same;
    char names[OUTPUTS_MAX][32];
    double *here[OUTPUTS_MAX];
    size_t counts[OUTPUTS_MAX];
};

static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct seen *seen = context;
    const struct ulp_lane_value *value = &event->values[event->output_count];
    (void)error;
    ck_assert_uint_lt(seen->count, OUTPUTS_MAX);
    seen->same += value->here == value->entire;
    snprintf(seen->names[seen->count], sizeof seen->names[0], "%s", event->name);
    double *here = malloc((value->here->count + 1) * sizeof *here);
    for (size_t i = 0; i < value->here->count; i++)
        here[i] = ulp_tensor_get(value->here, i);
    seen->here[seen->count] = here;
    seen->counts[seen->count] = value->here->count;
    if (strncmp(event->name, "same", 4) != 0)
        ck_assert_msg(value->here != value->entire, "%s rounds", event->name);
    seen->count++;
    return ULP_OK;
}

static void walk(struct seen *seen, const char *arithmetic, const struct ulp_model *model,
                 const struct ulp_tensor_set *inputs, bool mixed)
{
    const struct ulp_run_options run = {.thread_count = 1, .audit = true};
    const struct ulp_keep keep = {.pattern = "last", .arithmetic = test_arithmetic("fp64")};
    const struct ulp_keeps keeps = {.count = 1, .items = &keep};
    const struct ulp_observer observer = {.context = seen, .node_done = look};
    *seen = (struct seen){0};
    scoped_program *program = test_plan(model, inputs, "pair", arithmetic);
    if (mixed)
        ck_ok(ulp_program_keep(program, 1, &keeps, &why));
    ck_ok(ulp_program_run(program, inputs, &run, &observer, 1, NULL, NULL, &why));
}

static void forget(struct seen *seen)
{
    for (size_t i = 0; i < seen->count; i++)
        free(seen->here[i]);
}

static const char *const lanes[] = {"fp16",     "bf16",        "tf32", "fp32",
                                    "fp8-e4m3", "bf16-strict", "model"};

TEST_LOOP(moved_values_are_the_lanes_own, 0, sizeof lanes / sizeof *lanes)
{
    scoped_model *model = text_load(&graph);
    scoped_tensor_set inputs = text_inputs(model, 1, NAN, true);
    struct seen own, computed;
    walk(&own, lanes[_i], model, &inputs, false);
    walk(&computed, lanes[_i], model, &inputs, true);
    size_t named = 0;
    for (size_t n = 0; n < own.count; n++) {
        named += strncmp(own.names[n], "same", 4) == 0;
        ck_assert_str_eq(own.names[n], computed.names[n]);
        ck_assert_uint_eq(own.counts[n], computed.counts[n]);
        if (strcmp(own.names[n], "last") != 0)
            ck_assert_msg(memcmp(own.here[n], computed.here[n],
                                 own.counts[n] * sizeof *own.here[n]) == 0,
                          "%s in %s", own.names[n], lanes[_i]);
    }
    ck_assert_uint_eq(own.count, 15);
    ck_assert_uint_eq(own.same, named);
    ck_assert_uint_eq(computed.same, 0);
    forget(&own);
    forget(&computed);
}

TEST_SUITE("exact nodes", 0)
