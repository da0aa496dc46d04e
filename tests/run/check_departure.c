/* run: a run that follows the reference begins where lanes left its decisions, and shows from there
 * on, bit for bit, what a run from the beginning shows. */
#include "tests/support/text_model.h"

#include "base/memory/alloc.h"
#include "base/memory/budget.h"
#include "tests/support/networks.h"
#include "run/departure.h"

/* t is h again but for two roundings: which elements are less than h depends on the arithmetic. */
#define PARTING "[product] h = MatMul(x, w) [scaled] s = Mul(h, big) [back] t = Div(s, big)"
static const struct text_graph body = {
    "i_n b_c s", "b_d u r",
    "[first inside] p = Mul(s, big) [back inside] q = Div(p, big) [departs inside] b_l = Less(q, "
    "s) [taken] u = Where(b_l, q, two) [scanned] r = Relu(u) [go] b_d = Identity(b_c)"};
static const struct text_graph
    loops = {"x i_count", "y z", PARTING " [loop] y, z = Loop(i_count, b_yes, h)", {&body}},
    compares = {"x", "b_c out",
                PARTING " [departs] b_c = Less(t, h) [chosen] k = Where(b_c, h, s) [last] out = "
                        "MatMul(k, w)"},
    rounds = {"x", "out f",
              PARTING
              " [departs] f = Floor(s) [product of both] g = Mul(f, t) [last] out = Relu(g)"},
    branches = {"x",
                "out h",
                PARTING " [most of t] tm = ReduceMax(t) [most of h] mh = ReduceMax(h) [departs] "
                        "b_c = Less(tm, mh) [choice] k = If(b_c) [last] out = Relu(k)",
                {&text_then_body, &text_else_body}},
    agrees = {"x", "out", PARTING " [last] out = Relu(t)"};
static const struct text_graph *const graphs[] = {&compares, &rounds, &branches, &loops, &agrees};
/* The first node that a run from the departure shows: a Loop's body comes before it. */
static const char *const firsts[] = {"departs", "departs", "departs", "loop/first inside", NULL};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

/* What a run showed: names, and a hash of each lane's value. */
struct shown {
    size_t count, room;
    struct entry {
        char name[64];
        size_t execution;
        uint64_t hash;
    } * items;
    double progress;
};

static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct shown *shown = context;
    (void)error;
    if (shown->count == shown->room) {
        shown->room = 2 * shown->room + 64;
        shown->items = realloc(shown->items, shown->room * sizeof *shown->items);
        ck_assert_ptr_nonnull(shown->items);
    }
    struct entry *entry = &shown->items[shown->count++];
    *entry = (struct entry){.execution = event->execution, .hash = 0xcbf29ce484222325u};
    snprintf(entry->name, sizeof entry->name, "%s", event->name);
    for (size_t v = 0; v < event->lane_count * event->output_count; v++) {
        const struct ulp_tensor *value = event->values[v].entire;
        const unsigned char *bytes = value ? value->data : NULL;
        for (size_t i = 0; value && i < value->count * value->element_bytes; i++)
            entry->hash = (entry->hash ^ bytes[i]) * 0x100000001b3u;
    }
    ck_assert(event->progress >= shown->progress && event->progress <= 1);
    shown->progress = event->progress;
    return ULP_OK;
}

/* outputs: TEXT_LANES sets. */
static struct shown walk(const struct ulp_program *program, const struct ulp_tensor_set *inputs,
                         bool follow, struct ulp_departure *departure,
                         struct ulp_tensor_set *outputs)
{
    const struct ulp_run_options run = {.thread_count = 2,
                                        .audit = !follow,
                                        .follow = follow,
                                        .departure = departure};
    struct shown shown = {0};
    const struct ulp_observer observer = {.context = &shown, .node_done = look};
    ck_ok(ulp_program_run(program, inputs, &run, &observer, 1, outputs, NULL, &why));
    return shown;
}

static void expect_entry(const struct entry *a, const struct entry *b)
{
    ck_assert_str_eq(a->name, b->name);
    ck_assert_uint_eq(a->execution, b->execution);
    ck_assert_msg(a->hash == b->hash, "%s, execution %zu", a->name, a->execution);
}

/* A run that follows from the departure shows the end of what `whole` shows. Returns how many nodes
 * it left out. */
static size_t expect_end(const struct ulp_program *program, const struct ulp_tensor_set *inputs,
                         struct ulp_departure *departure, const struct shown *whole,
                         const struct ulp_tensor_set *wanted)
{
    struct ulp_tensor_set outputs[TEXT_LANES];
    const struct shown end = walk(program, inputs, true, departure, outputs);
    ck_assert_uint_le(end.count, whole->count);
    const size_t left_out = whole->count - end.count;
    for (size_t i = 0; i < end.count; i++)
        expect_entry(&end.items[i], &whole->items[left_out + i]);
    for (size_t l = 0; l < TEXT_LANES; l++) {
        ck_assert_uint_eq(outputs[l].count, wanted[l].count);
        for (size_t o = 0; o < wanted[l].count; o++)
            ck_assert(test_same_bits(&outputs[l].items[o].tensor, &wanted[l].items[o].tensor));
        ulp_tensor_set_free(&outputs[l]);
    }
    free(end.items);
    return left_out;
}

/* first: the node that departs; "": any, NULL: none does. */
static void expect_same_end(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                            const char *first, struct ulp_budget *budget)
{
    scoped_program *program = text_plan(model, inputs, 0, TEXT_LANES);
    struct ulp_tensor_set wanted[TEXT_LANES];
    struct ulp_departure *departure;
    struct ulp_error error;
    ck_ok(ulp_departure_create(program, &departure, &why));
    const struct shown whole = walk(program, inputs, true, NULL, wanted);
    ck_assert_uint_eq(expect_end(program, inputs, departure, &whole, wanted), 0); /* it is empty */
    for (int time = 0; time < 2; time++) {
        const struct shown audited = walk(program, inputs, false, departure, NULL);
        const size_t left_out = expect_end(program, inputs, departure, &whole, wanted);
        ck_assert_uint_eq(expect_end(program, inputs, departure, &whole, wanted), left_out);
        for (size_t i = 0; i < left_out; i++)
            expect_entry(&audited.items[i], &whole.items[i]);
        if (!first)
            ck_assert_uint_eq(left_out, 0);
        else if (*first)
            ck_assert_str_eq(whole.items[left_out].name, first);
        free(audited.items);
    }
    if (budget && first) { /* what asks for more than there is makes it give way */
        void *block;
        budget->limit_bytes = budget->used_bytes + 4096;
        ck_assert(ulp_allocate(&block, (size_t)1 << 30, 1, budget, "a test", &error) ==
                  ULP_ERROR_MEMORY);
        budget->limit_bytes = 0;
        ck_assert_uint_eq(expect_end(program, inputs, departure, &whole, wanted), 0);
    }
    for (size_t l = 0; l < TEXT_LANES; l++)
        ulp_tensor_set_free(&wanted[l]);
    free(whole.items);
    ulp_departure_free(departure);
}

TEST_LOOP(small_graphs_go_on_where_lanes_part, 0, GRAPHS)
{
    static struct ulp_budget budget;
    struct ulp_model *model = text_load_within(graphs[_i], &budget);
    struct ulp_tensor_set inputs = text_inputs(model, 1, NAN, true);
    expect_same_end(model, &inputs, firsts[_i], &budget);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    ck_assert_uint_eq(budget.used_bytes, 0);
}

TEST(another_plans_departure_is_refused)
{
    scoped_model *model = text_load(&compares);
    scoped_tensor_set inputs = text_inputs(model, 1, NAN, true);
    struct ulp_program *programs[] = {text_plan(model, &inputs, 0, 2),
                                      text_plan(model, &inputs, 0, 3)};
    struct ulp_departure *departure;
    struct ulp_error error;
    ck_ok(ulp_departure_create(programs[0], &departure, &why));
    for (int follow = 0; follow < 2; follow++) {
        const struct ulp_run_options run = {.follow = follow, .departure = departure};
        ck_assert(ulp_program_run(programs[1], &inputs, &run, NULL, 0, NULL, NULL, &error) ==
                  ULP_ERROR_USAGE);
        ck_assert_ptr_nonnull(strstr(error.message, "another program"));
    }
    ulp_departure_free(departure);
    for (int i = 0; i < 2; i++)
        ulp_program_free(programs[i]);
}

TEST_LOOP(networks_go_on_where_lanes_part, 0, network_count)
{
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    if (!network_load(_i, &model, &inputs))
        return;
    expect_same_end(model, &inputs, "", NULL);
}

TEST_SUITE("departures", 0)
