/* analysis: the views of an audit are those of each pair of tensors measured by itself, whether
 * they were measured side by side, or taken from one another where a node only moves values. */
#include "tests/support/text_model.h"

#include "analysis/measure/figure.h"
#include "analysis/measure/metrics.h"
#include "base/machine/cpu.h"
#include "number/double_pair.h"
#include "run/lane.h"
#include "tests/analysis/wide.h"
#include "analysis/audit/auditor.h"

enum { TENSORS = 5, PAIRS = ULP_VIEW_COUNT };

/* Two of floats, two of pairs (or one of them and one of 128 bits), one of doubles: near one
 * another, with what is not finite and what no double holds in between. */
static void make_tensors(struct ulp_tensor tensors[TENSORS], const int64_t counts[TENSORS],
                         bool specials, bool records)
{
    const enum ulp_element elements[TENSORS] = {ULP_ELEMENT_F32, ULP_ELEMENT_F32, ULP_ELEMENT_PAIR,
                                                records ? ULP_ELEMENT_WIDE : ULP_ELEMENT_PAIR,
                                                ULP_ELEMENT_F64};
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 0x1p-140};
    for (size_t t = 0; t < TENSORS; t++) {
        ck_ok(ulp_tensor_create(&tensors[t], t == TENSORS - 1 ? ULP_TYPE_DOUBLE : ULP_TYPE_FLOAT,
                                elements[t], elements[t] == ULP_ELEMENT_WIDE ? 128 : 0, 1,
                                &counts[t], &why));
        for (size_t i = 0; i < tensors[t].count; i++) {
            const double common = ldexp(ulp_random_uniform(1, i) - 0.5,
                                        (int)(ulp_random_bits(2, i) % 30) - 15),
                         off = common * 1e-3 * (ulp_random_uniform(3 + t, i) - 0.5);
            const bool special = specials && ulp_random_bits(20 + t, i) % 700 == 0;
            const double x = special ? odd[ulp_random_bits(30 + t, i) % 6] : common + off;
            if (elements[t] == ULP_ELEMENT_F32)
                ((float *)tensors[t].data)[i] = (float)x;
            else if (elements[t] == ULP_ELEMENT_F64)
                ((double *)tensors[t].data)[i] = x;
            else if (elements[t] == ULP_ELEMENT_PAIR)
                ((struct ulp_double_pair *)tensors[t].data)[i] =
                    (struct ulp_double_pair){x, isfinite(x) && x != 0 ? x * 0x1p-80 : 0};
            else
                test_set_wide(&tensors[t], i, x, isfinite(x) ? x * 0x1p-80 : 0);
        }
    }
}

/* Pairs that share tensors, one of another number of elements, and one of two shapes. */
TEST(pairs_are_as_each_alone)
{
    static const size_t sets[][PAIRS][2] = {
        {{0, 2}, {1, 2}, {1, 3}, {3, 2}}, /* an audit's */
        {{0, 1}, {4, 0}, {4, 2}, {2, 4}}, /* plain and wide sides both ways */
        {{0, 0}, {2, 2}, {3, 3}, {4, 4}},
    };
    struct ulp_format formats[3];
    static const char *const names[] = {"fp16", "fp64", "bf16"};
    for (size_t f = 0; f < 3; f++)
        ck_ok(ulp_format_find(names[f], &formats[f], &why));
    /* the last ones of one kind, and so many that medians take a sample */
    for (int64_t count = 0; count < 300000; count = count * 3 + 1)
        for (int kind = count < 50000 ? 0 : 1; kind < (count < 50000 ? 4 : 2); kind++) {
            /* kind 2: a tensor of another shape; 3: the last two of another number of elements */
            const int64_t few = count / 2,
                          counts[TENSORS] = {kind == 2 ? few : count, count, count,
                                             kind == 3 ? few : count, kind == 3 ? few : count};
            struct ulp_tensor tensors[TENSORS];
            make_tensors(tensors, counts, kind > 0, true);
            struct ulp_pool *pool = test_pool(3);
            for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
                struct ulp_metrics got[PAIRS], alone;
                struct ulp_metrics_pair pairs[PAIRS];
                for (size_t p = 0; p < PAIRS; p++)
                    pairs[p] =
                        (struct ulp_metrics_pair){&tensors[sets[s][p][0]], &tensors[sets[s][p][1]],
                                                  &formats[s], .out = &got[p]};
                ck_ok(ulp_metrics_measure_pairs(pairs, PAIRS, pool, &why));
                for (size_t p = 0; p < PAIRS; p++) {
                    ck_ok(ulp_metrics_measure(&tensors[sets[s][p][0]], &tensors[sets[s][p][1]],
                                              &formats[s], &alone, &why));
                    ck_assert_msg(audit_same_metrics(&alone, &got[p]) &&
                                      alone.unmeasured == got[p].unmeasured,
                                  "%lld elements, kind %d, set %zu, pair %zu", (long long)count,
                                  kind, s, p);
                }
            }
            ulp_pool_free(pool);
            for (size_t t = 0; t < TENSORS; t++)
                ulp_tensor_free(&tensors[t]);
        }
}

/* ---- in an audit ---- */

/* Nodes that add errors, and others that only hand them on. */
static const struct text_graph graph = {
    "x", "y",
    "[product] a = MatMul(x, w) [relu] b = Relu(a) [same] c = Identity(b) [exp] d = Exp(c) [neg] e "
    "= Neg(d) [max] f = Max(e, a) [scale] g = Mul(f, big) [last] y = Identity(g)"};
enum { NODES = 8 };

/* The figures of every node in every lane, each pair measured by itself. */
struct direct {
    struct ulp_metrics views[TEXT_LANES - 1][NODES][ULP_VIEW_COUNT];
};

static enum ulp_status measure_alone(void *context, const struct ulp_event *event,
                                     struct ulp_error *error)
{
    struct direct *direct = context;
    const struct ulp_tensor *truth = event->values[0].entire;
    enum ulp_status status = ULP_OK;
    for (size_t l = 1; l < event->lane_count && status == ULP_OK; l++) {
        const struct ulp_lane_value *lane = &event->values[l * event->output_count];
        const struct ulp_tensor *pairs[ULP_VIEW_COUNT][2] = {
            [ULP_VIEW_SINGLE] = {lane->single, truth},
            [ULP_VIEW_ENTIRE] = {lane->entire, truth},
            [ULP_VIEW_INTRODUCED] = {lane->entire, lane->here},
            [ULP_VIEW_CARRIED] = {lane->here, truth},
        };
        struct ulp_format format;
        status = ulp_lane_format(&event->arithmetics[l], truth->type, &format, error);
        for (int v = 0; v < ULP_VIEW_COUNT && status == ULP_OK; v++)
            status = ulp_metrics_measure(pairs[v][0], pairs[v][1], &format,
                                         &direct->views[l - 1][event->index][v], error);
    }
    return status;
}

static void check_audit(double x0)
{
    scoped_model *model = text_load(&graph);
    scoped_tensor_set inputs = text_inputs(model, 1, x0, true);
    scoped_program *program = text_plan(model, &inputs, 0, TEXT_LANES);
    SCOPED_MEMORY struct direct *direct = calloc(1, sizeof *direct);
    const struct ulp_observer observer = {.context = direct, .node_done = measure_alone};
    ck_assert_ptr_nonnull(direct);
    scoped_audit audit = test_audit(program, &inputs, &observer);
    size_t handed_on = 0;
    for (size_t l = 0; l < audit.lane_count; l++)
        for (size_t n = 0; n < NODES; n++) {
            const struct ulp_audit_output *output = &audit.lanes[l].nodes[n].outputs[0];
            const struct ulp_metrics *got[ULP_VIEW_COUNT] = {[ULP_VIEW_SINGLE] = &output->single,
                                                             [ULP_VIEW_ENTIRE] = &output->entire,
                                                             [ULP_VIEW_INTRODUCED] =
                                                                 &output->introduced,
                                                             [ULP_VIEW_CARRIED] = &output->carried};
            for (int v = 0; v < ULP_VIEW_COUNT; v++)
                ck_assert_msg(audit_same_metrics(got[v], &direct->views[l][n][v]),
                              "%s, node %zu, view %d, from %g", text_lanes[l + 1], n, v, x0);
            handed_on += output->entire.max_abs > 0 && output->introduced.max_abs == 0;
        }
    ck_assert_uint_ge(handed_on, isnan(x0) ? 5 : 0); /* else nothing was taken from another view */
}

TEST(an_audit_has_the_figures_of_each_view)
{
    static const double starts[] = {NAN, 0, 300, 70000, 1e38};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        check_audit(starts[i]);
}

TEST_SUITE("views", 60)
