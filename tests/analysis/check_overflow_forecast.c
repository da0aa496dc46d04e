/* Forecasts of small graphs: which nodes overflow, by what, and what becomes of it. Expected values
 * follow from the graphs by hand. e4m20's largest value is 256 (1 - 2^-21); "big" is 300. */
#include "tests/support/text_model.h"

/* One sample after another, each of x0, against FP64. */
static void forecast(const struct text_graph *graph, const char *lane, const double *x0,
                     size_t samples, struct ulp_overflow_forecast *out)
{
    const struct ulp_arithmetic lanes[] = {test_arithmetic("fp64"), test_arithmetic(lane)};
    const struct ulp_overflow_options options = {.thread_count = 1};
    scoped_model *model = text_load(graph);
    struct ulp_tensor_set sets[4];
    struct ulp_sample items[4] = {0};
    ck_assert_uint_le(samples, 4);
    for (size_t s = 0; s < samples; s++) {
        sets[s] = text_inputs(model, 3, x0[s], true);
        items[s] = (struct ulp_sample){"sample", &sets[s], 0};
    }
    const struct ulp_samples all = {.count = samples, .items = items};
    ck_ok(ulp_overflow_run(model, lanes, 2, &all, &options, out, &why));
    for (size_t s = 0; s < samples; s++)
        ulp_tensor_set_free(&sets[s]);
}

struct expected {
    const char *node;
    enum ulp_overflow_verdict verdict;
    enum ulp_overflow_cause cause;
    const char *culprit;
    enum ulp_overflow_effect effect;
    const char *effect_node;
    bool keep;
};

static void expect_nodes(const struct text_graph *graph, const char *lane_name, double x0,
                         const struct expected *expected, size_t count)
{
    scoped_overflow_forecast got = {0};
    forecast(graph, lane_name, &x0, 1, &got);
    const struct ulp_overflow_lane *lane = &got.lanes[0];
    ck_assert_uint_eq(lane->node_count, count);
    for (size_t n = 0; n < count; n++) {
        const struct ulp_overflow_node *node = &lane->nodes[n];
        const struct ulp_overflow_output *output = &node->outputs[0];
        const struct expected *e = &expected[n];
        ck_assert_str_eq(node->name, e->node);
        ck_assert_msg(node->verdict == e->verdict, "%s %s: %s, expected %s", lane_name, e->node,
                      ulp_overflow_verdict_name(node->verdict),
                      ulp_overflow_verdict_name(e->verdict));
        ck_assert_int_eq(node->keep, e->keep);
        ck_assert_msg(node->effect == e->effect, "%s %s: %s", lane_name, e->node,
                      ulp_overflow_effect_name(node->effect));
        ck_assert_str_eq(node->effect_node < 0 ? "-" : lane->nodes[node->effect_node].name,
                         e->effect_node ? e->effect_node : "-");
        if (e->verdict != ULP_OVERFLOW_HAPPENS)
            continue;
        ck_assert_msg(output->cause == e->cause, "%s %s: %s", lane_name, e->node,
                      ulp_overflow_cause_name(output->cause));
        ck_assert_str_eq(output->culprit ? output->culprit : "-", e->culprit ? e->culprit : "-");
    }
}

enum { NODES_MAX = 3 };

/* A graph, a lane, x0, and what becomes of each node. */
#define HAPPENS(name, ...)                                         \
    {                                                              \
        .node = name, .verdict = ULP_OVERFLOW_HAPPENS, __VA_ARGS__ \
    }
#define KEPT(name, ...) HAPPENS(name, .keep = true, __VA_ARGS__)
static const struct text_graph
    mask = {"x", "s", "[shift] m = Sub(x, big) [soft] s = Tanh(m)"},
    root = {"x", "r", "[square] a = Mul(x, x) [root] b = Sqrt(a) [inverse] r = Reciprocal(b)"},
    same = {"x", "y", "[same] y = Identity(x)"},
    inverse = {"x", "y", "[inverse] y = Reciprocal(x)"},
    small = {"x", "y", "[small] a = Mul(x, two) [root] b = Sqrt(a) [inverse] y = Reciprocal(b)"},
    twice = {"x", "y", "[sum] y = Add(x, x)"};
static const struct {
    const struct text_graph *graph;
    const char *lane;
    double x0;
    struct expected nodes[NODES_MAX];
} verdicts[] = {
    /* 2 - 300: the mask saturates to -256 (2 - 256 fits), or becomes -Inf. */
    {&mask, "e4m20", 2, {{.node = "shift"}, {.node = "soft"}}},
    {&mask,
     "e4m20,constants=ieee",
     2,
     {HAPPENS("shift", .cause = ULP_OVERFLOW_CONSTANT, .culprit = "big",
              .effect = ULP_OVERFLOW_ABSORBED, .effect_node = "soft"),
      {.node = "soft"}}},
    /* x * x is 400; 1 / Inf is 0, not 1/20. The root reads what has overflowed. */
    {&root,
     "e4m20",
     20,
     {KEPT("square", .cause = ULP_OVERFLOW_RESULT, .effect = ULP_OVERFLOW_SPOILS,
           .effect_node = "inverse"),
      KEPT("root", .cause = ULP_OVERFLOW_UPSTREAM, .culprit = "a"),
      {.node = "inverse"}}},
    {&root, "fp16", 20, {{.node = "square"}, {.node = "root"}, {.node = "inverse"}}},
    /* 300 as an input; it reaches the output. */
    {&same,
     "e4m20",
     300,
     {KEPT("same", .cause = ULP_OVERFLOW_INPUT, .culprit = "x", .effect = ULP_OVERFLOW_POISONS)}},
    /* 2^-20 is zero in e4m3 (least 2^-9), and 1 / 0 is infinite where 2^20 would only be too large:
     * in e8m3, whose largest is 2^128, 2^-140 is (least 2^-129). */
    {&inverse,
     "e4m3,result-only",
     0x1p-20,
     {KEPT("inverse", .cause = ULP_OVERFLOW_ZERO, .culprit = "x", .effect = ULP_OVERFLOW_POISONS)}},
    /* 2^-11 is zero in e4m3, and so is its root, which would be 2^-5.5: 1 / 0. All three are kept.
     */
    {&small,
     "e4m3,result-only",
     0x1p-12,
     {{.node = "small", .keep = true},
      {.node = "root", .keep = true},
      KEPT("inverse", .cause = ULP_OVERFLOW_ZERO, .culprit = "b", .effect = ULP_OVERFLOW_POISONS)}},
    /* OCP's E4M3 saturating: 500 becomes 448. */
    {&twice,
     "fp8-e4m3,overflow=saturate",
     250,
     {KEPT("sum", .cause = ULP_OVERFLOW_RESULT, .effect = ULP_OVERFLOW_SPOILS,
           .effect_node = "sum")}},
};

TEST_LOOP(verdicts_are_these, 0, (int)(sizeof verdicts / sizeof *verdicts))
{
    size_t count = 0;
    while (count < NODES_MAX && verdicts[_i].nodes[count].node)
        count++;
    expect_nodes(verdicts[_i].graph, verdicts[_i].lane, verdicts[_i].x0, verdicts[_i].nodes, count);
}

static void expect_summary(const struct ulp_overflow_forecast *got, const char *text, bool wanted)
{
    SCOPED_MEMORY char *out = NULL;
    ck_ok(ulp_overflow_text(got, 0, false, &out, &why));
    ck_assert_msg((strstr(out, text) != NULL) == wanted, "%s: %s", text, out);
}

/* 300 where x is negative, else x, which is less than 2: the mask is made 256, and x has more than
 * 7 bits to spare. */
TEST(masks_hide_no_headroom)
{
    const struct text_graph graph = {"x", "s",
                                     "[minus] n = Neg(x) [negative] b_negative = Less(x, n) [mask] "
                                     "m = Where(b_negative, big, x) [soft] s = Tanh(m)"};
    scoped_overflow_forecast got = {0};
    forecast(&graph, "e4m20", &(double){0}, 1, &got);
    const struct ulp_overflow_lane *lane = &got.lanes[0];
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_overflow_output *output = lane->nodes[n].outputs;
        ck_assert_int_eq(lane->nodes[n].verdict, ULP_OVERFLOW_SAFE);
        if (strcmp(lane->nodes[n].name, "mask") == 0)
            ck_assert(output->largest < 2 && output->headroom_bits > 7);
    }
    expect_summary(&got, " 0.0 bits below", false);
    expect_summary(&got, "masks, beyond e4m20 and made finite by it, are left out at 1 node\n",
                   true);
}

/* One overflow, which one more node hands on: one count where it is told. */
TEST(an_overflow_is_counted_once)
{
    scoped_overflow_forecast got = {0};
    forecast(&root, "e4m20", &(double){20}, 1, &got);
    expect_summary(&got, "e4m20: overflows at 1 of 3 nodes: square", true);
    expect_summary(&got, "1 more only hands it on, 0 within 1 bit", true);
    expect_summary(&got, "2 of 3", false);
}

TEST(a_zero_is_followed)
{
    scoped_overflow_forecast got = {0};
    forecast(&small, "e4m3,result-only", &(double){0x1p-12}, 1, &got);
    expect_summary(&got, "is not finite at 1 of 3 nodes: inverse (Reciprocal)", true);
    expect_summary(&got, "overflows at", false);
}

/* Verdicts by headroom: 240 is the largest of e4m3; 240 / 2 is one bit below, 240 / 8 three. */
TEST(verdicts_follow_headroom)
{
    static const struct {
        double x;
        enum ulp_overflow_verdict verdict;
    } rows[] = {{240, ULP_OVERFLOW_1_BIT}, {128, ULP_OVERFLOW_1_BIT},  {120, ULP_OVERFLOW_3_BITS},
                {31, ULP_OVERFLOW_3_BITS}, {30, ULP_OVERFLOW_SAFE},    {0, ULP_OVERFLOW_SAFE},
                {247, ULP_OVERFLOW_1_BIT}, {248, ULP_OVERFLOW_HAPPENS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scoped_overflow_forecast got = {0};
        forecast(&same, "e4m3", &rows[i].x, 1, &got);
        const struct ulp_overflow_output *output = &got.lanes[0].nodes[0].outputs[0];
        ck_assert_msg(output->verdict == rows[i].verdict, "%g: %s", rows[i].x,
                      ulp_overflow_verdict_name(output->verdict));
    }
}

/* Samples of 3, 100 and 2^-10: figures of all, the place in the second. */
TEST(samples_come_together)
{
    static const double x[] = {3, 100, 0x1p-10};
    const struct text_graph graph = {"x", "y", "[square] y = Mul(x, x)"};
    scoped_overflow_forecast got = {0};
    forecast(&graph, "fp16", x, 3, &got);
    const struct ulp_overflow_output *output = &got.lanes[0].nodes[0].outputs[0];
    ck_assert_uint_eq(got.sample_count, 3);
    ck_assert(output->largest == 10000 && output->smallest == 0x1p-20);
    ck_assert(output->count == 72 && output->subnormal == 24 && output->zero == 0);
    ck_assert(fabs(output->headroom_bits - log2(65504.0 / 10000)) < 1e-12);
    ck_assert_uint_eq(output->sample, 1);
    ck_assert_int_eq(output->verdict, ULP_OVERFLOW_3_BITS);
}

TEST(summary_and_refusal)
{
    const struct text_graph graph = {"x", "y", "[square] a = Mul(x, x) [root] y = Sqrt(a)"};
    const double x = 20;
    scoped_overflow_forecast got = {0};
    SCOPED_MEMORY char *text = NULL;
    forecast(&graph, "e4m20", &x, 1, &got);
    ck_ok(ulp_overflow_text(&got, 0, false, &text, &why));
    static const char begins[] =
        "e4m20: overflows at 1 of 2 nodes: square (Mul)\n"
        "  why   its values reach 400, and the largest e4m20 is 256; keep 2 nodes in FP32: output "
        "y equals\n"
        "        the reference, and without it 24 elements are not finite\n"
        "  do    ulpscope audit bodies.onnx -a e4m20 --keep 'square=fp32' --keep 'root=fp32'\n";
    ck_assert_msg(strncmp(text, begins, sizeof begins - 1) == 0, "%s", text);
}

/* In a Loop, 2 * 300 overflows; what is divided by 300 again is small in exact arithmetic, and
 * infinite in the format's. */
TEST(bodies_have_verdicts)
{
    static const struct text_graph body = {
        "i_n b_c s", "b_d t",
        "[up] m = Mul(s, big) [down] t = Div(m, big) [go] b_d = Identity(b_c)"};
    static const struct text_graph graph = {"x i_count",
                                            "y",
                                            "[loop] y = Loop(i_count, b_yes, x)",
                                            {&body}};
    static const struct {
        const char *name;
        enum ulp_overflow_cause cause;
        const char *culprit;
    } expected[] = {{"up", ULP_OVERFLOW_RESULT, NULL}, {"loop", ULP_OVERFLOW_HIDDEN, "loop/m"}};
    const double x = 2;
    scoped_overflow_forecast got = {0};
    forecast(&graph, "e4m20", &x, 1, &got);
    const struct ulp_overflow_lane *lane = &got.lanes[0];
    ck_assert_uint_eq(lane->counts[ULP_OVERFLOW_HAPPENS], 2);
    for (size_t e = 0; e < 2; e++) {
        const struct ulp_overflow_node *node = NULL;
        for (size_t n = 0; n < lane->node_count; n++)
            if (strcmp(strrchr(lane->nodes[n].name, '/') ? strrchr(lane->nodes[n].name, '/') + 1
                                                         : lane->nodes[n].name,
                       expected[e].name) == 0)
                node = &lane->nodes[n];
        ck_assert_msg(node && node->output_count == 1, "%s has no output", expected[e].name);
        const struct ulp_overflow_output *output = &node->outputs[0];
        ck_assert_int_eq(output->verdict, ULP_OVERFLOW_HAPPENS);
        ck_assert_msg(output->cause == expected[e].cause, "%s: %s", expected[e].name,
                      ulp_overflow_cause_name(output->cause));
        ck_assert_str_eq(output->culprit ? output->culprit : "-",
                         expected[e].culprit ? expected[e].culprit : "-");
        ck_assert(node->born == (e == 1));
    }
    const struct ulp_overflow_output *up = &lane->nodes[0].outputs[0];
    ck_assert_double_eq(up->largest, 600); /* all elements in each of 3 iterations */
    ck_assert_double_eq(up->count, 3 * 24);
    ck_assert_double_eq(up->overflowed, 3 * 24);
}

/* e5m2 has 3 bits: additions of a product's terms that it rounds to the larger of both, counted by
 * hand. All 24 sums of 8 terms are looked at. */
TEST(products_lose_terms)
{
    static const struct text_graph graph = {"x", "y", "[y] y = MatMul(x, w)"};
    const double random = 0;
    scoped_overflow_forecast got = {0};
    scoped_model *model = text_load(&graph);
    scoped_tensor_set inputs = text_inputs(model, 3, 0, true);
    size_t additions = 0, absorbed = 0;
    const struct ulp_format format = test_format("e5m2");
    for (size_t e = 0; e < 24; e++) {
        double sum = 0;
        for (size_t k = 0; k < 8; k++) {
            const double x = ulp_tensor_get(&inputs.items[0].tensor, e / 8 * 8 + k),
                         w = (double)(float)(ulp_random_uniform(7, 8 * k + e % 8) - 0.5),
                         term = ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, x, 0, 0) *
                                ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, w, 0, 0),
                         larger = fabs(sum) < fabs(term) ? term : sum;
            if (sum != 0 && term != 0) {
                additions++;
                absorbed += ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, sum + term, 0, 0) ==
                            ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, larger, 0, 0);
            }
            sum += term;
        }
    }
    forecast(&graph, "e5m2", &random, 1, &got);
    ck_assert_double_eq(got.lanes[0].nodes[0].additions, (double)additions);
    ck_assert_double_eq(got.lanes[0].nodes[0].absorbed, (double)absorbed);
    ck_assert(absorbed > 0 && absorbed < additions);
}

static const struct ulp_overflow_remedy *find_remedy(const struct ulp_overflow_lane *lane,
                                                     const char *what)
{
    for (size_t r = 0; r < lane->remedy_count; r++)
        if (strncmp(lane->remedies[r].what, what, strlen(what)) == 0)
            return &lane->remedies[r];
    return NULL;
}

/* 20 * 20 / 300 in e4m20: Inf as it is. Kept in FP32 or scaled by 2^-2 (400 has to fit with a bit
 * to spare) it is right up to roundings: of FP32 or of 21 bits, at most two of half an ulp each,
 * and 20 log10(2^20) is 120 dB. In BF16, 8 bits, it is above 20 log10(2^7) = 42 dB less 6. */
TEST(remedies_are_tried)
{
    const struct text_graph graph = {"x", "y", "[square] a = Mul(x, x) [ratio] y = Div(a, two)"};
    const double x = 20.3;
    struct ulp_overflow_forecast got;
    forecast(&graph, "e4m20,result-only", &x, 1, &got);
    const struct ulp_overflow_lane *lane = &got.lanes[0];
    const struct ulp_overflow_remedy *as_is = find_remedy(lane, "as it is"),
                                     *wide = find_remedy(lane, "keep 2 nodes in FP32"),
                                     *bf16 = find_remedy(lane, "keep 2 nodes in BF16");
    ck_assert(as_is && wide && bf16 && lane->remedy_count == 3);
    ck_assert_uint_eq(as_is->nonfinite, 24);
    ck_assert_uint_eq(wide->nonfinite + bf16->nonfinite, 0);
    ck_assert_msg(wide->sqnr_db >= 114, "%g dB", wide->sqnr_db);
    ck_assert_msg(bf16->sqnr_db >= 36 && bf16->sqnr_db < 70, "%g dB", bf16->sqnr_db);
    ck_assert_str_eq(wide->output, "y");
    ulp_overflow_free(&got);
}

/* 2 - 300 in e4m20 with its constants as they are: -Inf, and with the mask of 256, the format's
 * largest, all of it finite: 2 - 256. Only FP16 has a converter that makes masks of 1e4. */
TEST(masks_are_tried)
{
    const struct text_graph graph = {"x", "y", "[shift] y = Sub(x, big)"};
    const double x = 2;
    struct ulp_overflow_forecast got;
    forecast(&graph, "e4m20,constants=ieee", &x, 1, &got);
    const struct ulp_overflow_lane *lane = &got.lanes[0];
    const struct ulp_overflow_remedy *as_is = find_remedy(lane, "as it is"),
                                     *bounded =
                                         find_remedy(lane, "constants (masks) of at most 256");
    ck_assert(as_is && bounded && find_remedy(lane, "keep 1 node in FP32"));
    ck_assert(!find_remedy(lane, "constants (masks) of at most 10000"));
    ck_assert(as_is->nonfinite == 24 && bounded->nonfinite == 0 && bounded->node_count == 0);
    ulp_overflow_free(&got);
}

TEST_SUITE("forecast", 0)
