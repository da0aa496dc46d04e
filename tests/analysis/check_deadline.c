/* analysis: what a deadline does to a plan. The clock is this file's: every look at it is a second
 * later, so that a search ends at any of its looks, and always at the same one. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/analysis/plan_oracle.h"
#include "tests/support/text_model.h"

static bool counts;
static time_t looks;

int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!counts)
        return (int)syscall(SYS_clock_gettime, clock, out);
    *out = (struct timespec){.tv_sec = ++looks};
    return 0;
}

static const struct text_graph graph = {
    "x", "y",
    "[first] a = MatMul(x, w) [bend] b = Tanh(a) [second] c = MatMul(b, w) [rows] d = Softmax(c) "
    "[third] e = MatMul(d, w) [peak] y = ReduceMax(e)"};
enum { DRAWS = 50 };

static void find(const struct ulp_model *model, const struct ulp_tensor_set *inputs, double seconds,
                 struct ulp_search *out)
{
    static const char *const formats[] = {"fp32", "trt:fp16"}, *const tolerances[] = {"sqnr_db=80"};
    const struct ulp_sample sample = {"one", inputs, 0};
    const struct ulp_search_options options = {.reference = test_arithmetic("mpfr:128"),
                                               .formats = formats,
                                               .format_count = 2,
                                               .by_node = true,
                                               .tolerances = tolerances,
                                               .tolerance_count = 1,
                                               .seconds = seconds,
                                               .thread_count = 1};
    struct ulp_error error;
    looks = 0;
    counts = true;
    const enum ulp_status status =
        ulp_search_run(model, &options, &sample, 1, NULL, 0, out, &error);
    counts = false;
    ck_ulp_ok(status, error);
}

static double run_plan(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                       const struct ulp_search *found)
{
    size_t nodes[16];
    struct ulp_keep keep = {.nodes = nodes, .arithmetic = test_arithmetic("fp32")};
    for (; keep.node_count < found->kept_count; keep.node_count++)
        nodes[keep.node_count] = found->kept[keep.node_count].index;
    const struct ulp_precision_plan plan = {
        .arithmetic = test_arithmetic("trt:fp16,fuse=none"),
        .keeps = {.count = keep.node_count > 0, .items = &keep},
    };
    return oracle_outputs_db(model, inputs, &plan);
}

static bool says(const struct ulp_search *found, const char *what)
{
    SCOPED_MEMORY char *text = NULL;
    ck_ok(ulp_search_text(found, 1000, false, &text, &why));
    const bool is = strstr(text, what) != NULL;
    return is;
}

static bool same_kept(const struct ulp_search *a, const struct ulp_search *b)
{
    bool same = a->kept_count == b->kept_count;
    for (size_t k = 0; same && k < a->kept_count; k++)
        same = a->kept[k].index == b->kept[k].index;
    return same;
}

/* What was tried of the plan holds, and what it says is of as many draws. */
static void check_cut(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                      const struct ulp_search *found)
{
    ck_assert(found->timed_out && says(found, "The time was over before"));
    ck_assert_double_le(found->samples[0].ratio, 1);
    ck_assert_double_eq_tol(found->samples[0].value, run_plan(model, inputs, found), 1e-6);
    for (size_t t = 0; t < found->target_count; t++)
        ck_assert_uint_eq(found->targets[t].held_count, found->targets[t].draw_count);
    const size_t made = found->target_count ? found->targets[0].draw_count : 0;
    ck_assert(found->met == (made == DRAWS));
    ck_assert(says(found, "whether it holds where roundings fall otherwise is not known") ==
              (made < DRAWS));
    ck_assert(says(found, "before any draw") == (made == 0));
}

/* At its looks at the clock, one after the other: the first ones, and then ever so many. */
enum { FIRST = 4, CUTS = 96 };
static void cut_everywhere(size_t *without_draws, size_t *some, size_t *met)
{
    scoped_model *model = text_load(&graph);
    scoped_tensor_set inputs = text_inputs(model, 11, 0, true);
    struct ulp_search whole, found;
    find(model, &inputs, 0, &whole);
    ck_assert(whole.met && !whole.timed_out && whole.kept_count);
    find(model, &inputs, 1e9, &found);
    const time_t all = looks;
    ck_assert(same_kept(&whole, &found) && !found.timed_out);
    ulp_search_free(&found);
    for (time_t cut = 1; cut < all; cut += cut < FIRST ? 1 : 1 + all / CUTS) {
        find(model, &inputs, (double)cut, &found);
        if (found.timed_out) {
            const size_t made = found.target_count ? found.targets[0].draw_count : 0;
            check_cut(model, &inputs, &found);
            *without_draws += made == 0;
            *some += made > 0 && made < DRAWS;
            *met += found.met;
        } else {
            ck_assert(same_kept(&whole, &found)); /* nothing was left to try */
        }
        ulp_search_free(&found);
    }
    ulp_search_free(&whole);
}

TEST(a_plan_cut_short_holds_in_what_was_tried)
{
    size_t without = 0, some = 0, met = 0;
    cut_everywhere(&without, &some, &met);
    ck_assert_uint_gt(without, 0);
    ck_assert_uint_gt(some, 0);
    ck_assert_uint_gt(met, 0);
}

TEST_SUITE("deadline", 600)
