/* run: scales of Q/DQ stay as the model declares them, also behind nodes that only move them;
 * qdq-scales=lowered lowers them. The lanes have e4m20, which 300 ("big") is beyond: lowered it is
 * 256. 140 / 300 rounds to 0, 140 / 256 to 1. */
#include "tests/support/text_model.h"

static const struct text_graph at_once = {"x",
                                          "y",
                                          {NODE("QuantizeLinear", "q", "x big", "u"),
                                           NODE("DequantizeLinear", "d", "u two", "y")}};
static const struct text_graph behind_movers = {"x",
                                                "y",
                                                {NODE("Identity", "same", "big", "a"),
                                                 NODE("Identity", "again", "a", "b"),
                                                 NODE("QuantizeLinear", "q", "x b", "u"),
                                                 NODE("DequantizeLinear", "d", "u two", "y")}};
/* a value that is data, too, is the lane's */
static const struct text_graph also_data = {"x",
                                            "a y",
                                            {NODE("Identity", "same", "big", "a"),
                                             NODE("QuantizeLinear", "q", "x a", "u"),
                                             NODE("DequantizeLinear", "d", "u two", "y")}};

static const struct row {
    const struct text_graph *graph;
    const char *lane;
    double expected;
} rows[] = {
    {&at_once, "fp32", 0},
    {&at_once, "e4m20", 0},
    {&at_once, "e4m20,qdq-scales=lowered", 2},
    {&behind_movers, "e4m20", 0},
    {&behind_movers, "e4m20,qdq-scales=lowered", 2},
    {&behind_movers, "fp16", 0},
    {&behind_movers, "fp16,qdq-scales=lowered", 0},
    {&behind_movers, "model", 0},
    {&also_data, "fp32", 0},
    {&also_data, "e4m20", 2},
};

TEST_LOOP(scales_stay_as_declared, 0, sizeof rows / sizeof *rows)
{
    const struct row *row = &rows[_i];
    struct ulp_arithmetic lane;
    struct ulp_program *program;
    struct ulp_tensor_set outputs;
    struct ulp_model *model = text_load(row->graph);
    struct ulp_tensor_set inputs = text_inputs(model, 1, 140, true);
    const struct ulp_program_options options = {.inputs = &inputs};
    const struct ulp_run_options run = {.thread_count = 1};
    lane = test_arithmetic(row->lane);
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    ck_ok(ulp_program_run(program, &inputs, &run, NULL, 0, &outputs, NULL, &why));
    const struct ulp_tensor *y = ulp_tensor_set_find(&outputs, "y");
    for (size_t i = 0; i < y->count; i++)
        ck_assert_msg(ulp_tensor_get(y, i) == row->expected, "%s: %g", row->lane,
                      ulp_tensor_get(y, i));
    ulp_tensor_set_free(&outputs);
    ulp_program_free(program);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}

/* A scale that is moved is told as the constant it is, in every lane, and has no error. */
TEST(moved_scales_have_no_error)
{
    struct ulp_audit audit;
    text_audit(&behind_movers, 1, 140, true, 1, &audit);
    for (size_t l = 0; l < audit.lane_count; l++) {
        const struct ulp_audit_node *node = audit_node(&audit, l, "again");
        ck_assert_uint_eq(node->output_count, 1);
        ck_assert(node->outputs[0].entire.max_abs == 0);
        ck_assert(node->outputs[0].introduced.max_abs == 0);
        ck_assert(node->outputs[0].range.ref_max == 300);
    }
    ulp_audit_free(&audit);
}

TEST_SUITE("scales", 0)
