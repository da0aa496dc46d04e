/* run: nodes that are computed as one where nobody looks have the bits they have one by one. */
#include <string.h>

#include "load/load.h"
#include "run/program/program.h"
#include "tests/support/text_model.h"

/* A product that three nodes behind it read; and one whose first result is an output, too. */
static const struct text_graph gated = {"x",
                                        "y",
                                        {NODE("MatMul", "product", "x w", "h"),
                                         NODE("Sigmoid", "gate", "h", "g"),
                                         NODE("Mul", "weigh", "h g", "v"),
                                         NODE("Add", "skip", "v x", "z"),
                                         NODE("Relu", "end", "z", "y")}};
static const struct text_graph seen = {"x",
                                       "t u",
                                       {NODE("Sigmoid", "gate", "x", "u"),
                                        NODE("Neg", "turn", "u", "n"),
                                        NODE("Mul", "double", "n two", "t")}};
/* Over rows: each is run as one of one node. */
static const struct text_graph reduced = {"x",
                                          "y",
                                          {NODE("Softmax", "share", "x", "s"),
                                           NODE("Add", "skip", "s x", "a"),
                                           NODE("ReduceMax", "top", "a", "m"),
                                           NODE("Sub", "below", "a m", "y")}};
/* In a branch. */
static const struct text_graph squared = {"",
                                          "e",
                                          {NODE("Add", "add", "x x", "a"),
                                           NODE("Mul", "square", "a a", "q"),
                                           NODE("Tanh", "bend", "q", "e")}};
static const struct text_graph negated = {"", "e", {NODE("Neg", "minus", "x", "e")}};
static const struct text_graph branched = {"x b_c",
                                           "y",
                                           {CONTROL("If", "if", "b_c", "y", &squared, &negated)}};

static const struct {
    const struct text_graph *text;
    size_t hidden; /* results that are in no memory */
} cases[] = {{&gated, 4}, {&seen, 1}, {&reduced, 0}, {&branched, 2}};

/* How many were not shown with a value. */
static enum ulp_status count_hidden(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    (void)error;
    *(size_t *)context += !event->output_count;
    return ULP_OK;
}

/* Results that are in no memory. */
static size_t count_joined(const struct ulp_program *program)
{
    size_t count = 0;
    for (size_t b = 0; b < program->block_count; b++)
        for (size_t s = 0; s < program->blocks[b]->step_count; s++)
            count +=
                program->blocks[b]->steps[s].joined ? program->blocks[b]->steps[s].joined - 1 : 0;
    return count;
}

/* In two numbers of threads, twice in the last, seen and unseen. */
static void compare_runs(const struct ulp_program *program, const struct ulp_tensor_set *inputs)
{
    struct ulp_tensor_set outputs[2] = {{0}};
    for (int unused = 0; unused < 2; unused++)
        for (int r = 0; r < 3; r++) {
            size_t hidden = 0;
            const struct ulp_observer observer = {.context = &hidden,
                                                  .node_done = count_hidden,
                                                  .values_unused = unused};
            const struct ulp_run_options options = {.thread_count = r ? 2 : 1};
            ulp_tensor_set_free(&outputs[unused]);
            ck_ok(ulp_program_run(program, inputs, &options, &observer, 1, &outputs[unused], NULL,
                                  &why));
            ck_assert(!unused == !hidden);
        }
    for (size_t o = 0; o < outputs[0].count; o++) {
        const struct ulp_tensor *alone = &outputs[0].items[o].tensor,
                                *joined = &outputs[1].items[o].tensor;
        ck_assert(ulp_tensor_same_shape(alone, joined));
        ck_assert_mem_eq(alone->data, joined->data, alone->count * alone->element_bytes);
    }
    ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
}

TEST_LOOP(joined_nodes_have_equal_bits, 0, sizeof cases / sizeof *cases)
{
    struct ulp_budget budget = {0};
    struct ulp_model *model = text_load_within(cases[_i].text, &budget);
    struct ulp_tensor_set given[] = {text_inputs(model, 5, 0, true),
                                     text_inputs(model, 6, 0, true)};
    struct ulp_error error;
    for (size_t l = 0; l < TEXT_LANES; l++) {
        struct ulp_program *program = text_plan(model, &given[0], l, 1);
        ck_assert_uint_eq(count_joined(program), cases[_i].hidden);
        /* the first sample's runs note how to run once more, the second's go by that */
        for (size_t sample = 0; sample < 2; sample++)
            compare_runs(program, &given[sample]);
        /* by every limit of memory, without a leak */
        for (size_t limit = 0; limit < 20000; limit += 400) {
            budget.limit_bytes = budget.used_bytes + limit;
            const enum ulp_status status =
                ulp_program_run(program, &given[0], NULL, NULL, 0, NULL, NULL, &error);
            ck_assert(status == ULP_OK || status == ULP_ERROR_MEMORY);
        }
        budget.limit_bytes = 0;
        ulp_program_free(program);
    }
    ulp_tensor_set_free(&given[0]);
    ulp_tensor_set_free(&given[1]);
    ulp_model_free(model);
    ck_assert_uint_eq(budget.used_bytes, 0);
}

/* One by one, nodes have one result more in memory at once than a join. What the join needs itself,
 * its record and a strip of each value, is less than half a result of 128 KB. */
TEST_LOOP(joined_nodes_take_less_memory, 0, sizeof cases / sizeof *cases)
{
    if (!cases[_i].hidden)
        return;
    struct ulp_budget budget = {0};
    struct ulp_model *model = text_load_within(cases[_i].text, &budget);
    ck_ok(ulp_model_set_shape(model, "x", 2, (const int64_t[]){4096, 8}, &why));
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    size_t peak[2], shown = 0;
    for (int unused = 0; unused < 2; unused++) {
        struct ulp_program *program = text_plan(model, &inputs, 2, 1);
        const struct ulp_observer observer = {.context = &shown,
                                              .node_done = count_hidden,
                                              .values_unused = unused};
        const struct ulp_run_options options = {.thread_count = 1};
        budget.peak_bytes = budget.used_bytes;
        ck_ok(ulp_program_run(program, &inputs, &options, &observer, 1, NULL, NULL, &why));
        peak[unused] = budget.peak_bytes;
        ulp_program_free(program);
    }
    ck_assert_msg(peak[1] + 4096 * 8 * sizeof(float) / 2 <= peak[0],
                  "%zu bytes one by one, %zu joined", peak[0], peak[1]);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}

TEST_SUITE("joins", 0)
