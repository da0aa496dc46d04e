/* run: what follows from constants alone is computed by the second run of a program and left to
 * further ones, which have the bits of a first run and compute none of it. */
#include "run/carried.h"
#include "run/program/program.h"
#include "tests/support/text_model.h"

enum { LEFT = 7 };
/* Behind constants alone: two nodes of a weight, one of which others read, an output, one that a
 * branch captures; in the branch one that is handed out and one that is not, in the iterations of a
 * Loop the same one. */
static const struct text_graph settled = {
    "x b_c i_count",
    "y u e k o",
    "[left_turn] t = Transpose(w) [left_scale] v = Mul(t, two) [product] y = MatMul(x, v) "
    "[left_out] u = Neg(row) [left_row] r = Add(row, two) [if] e, k = If(b_c) [loop] o = "
    "Loop(i_count, b_yes, x)",
    {&(const struct text_graph){"", "f g",
                                "[add] a = Add(x, r) [left_branch] d = Transpose(w) [by] f = "
                                "MatMul(a, d) [left_handed] g = Mul(row, big)"},
     &(const struct text_graph){"", "f g", "[minus] f = Neg(x) [other] g = Neg(row)"},
     &(const struct text_graph){"i_at b_go h", "b_more h2",
                                "[go_on] b_more = Identity(b_go) [left_iteration] c = Div(row, "
                                "big) [less] h2 = Sub(h, c)"}}};

static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    (void)context;
    (void)event;
    (void)error;
    return ULP_OK;
}

static enum ulp_status try_run(const struct ulp_program *program,
                               const struct ulp_tensor_set *inputs, bool unused, bool audit,
                               struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    const struct ulp_observer observer = {.node_done = look, .values_unused = unused};
    const struct ulp_run_options options = {.thread_count = 1, .audit = audit};
    return ulp_program_run(program, inputs, &options, &observer, 1, outputs, NULL, error);
}

static struct ulp_tensor_set *run(const struct ulp_program *program,
                                  const struct ulp_tensor_set *inputs, bool unused, bool audit)
{
    static struct ulp_tensor_set outputs[2];
    ck_ok(try_run(program, inputs, unused, audit, outputs, &why));
    return outputs;
}

static void expect_same(const struct ulp_tensor_set *first, struct ulp_tensor_set *again)
{
    for (size_t l = 0; l < 2; l++) {
        for (size_t o = 0; o < first[l].count; o++)
            ck_assert_msg(test_same_bits(&first[l].items[o].tensor, &again[l].items[o].tensor),
                          "%s", first[l].items[o].name);
        ulp_tensor_set_free(&again[l]);
    }
}

static enum ulp_status refuse(struct ulp_call *call, struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "%s is computed", call->name);
}

/* Does such a run compute what can be left? With operators there that only fail; where none does,
 * the outputs are those of the first run. */
static bool computes(const struct ulp_program *program, const struct ulp_tensor_set *inputs,
                     bool unused, bool audit, const struct ulp_tensor_set *first)
{
    static struct ulp_operator failing[LEFT];
    const struct ulp_operator *own[LEFT];
    struct ulp_step *steps[LEFT];
    struct ulp_tensor_set outputs[2] = {{0}};
    struct ulp_error error;
    size_t count = 0;
    for (size_t b = 0; b < program->block_count; b++)
        for (size_t i = 0; i < program->blocks[b]->step_count; i++) {
            struct ulp_step *step = &program->blocks[b]->steps[i];
            if (strncmp(step->bound.node->name, "left_", 5) != 0)
                continue;
            ck_assert_uint_lt(count, LEFT);
            own[count] = step->bound.op;
            failing[count] = *own[count];
            failing[count].run = refuse;
            step->bound.op = &failing[count];
            steps[count++] = step;
        }
    ck_assert_uint_eq(count, LEFT);
    const enum ulp_status status = try_run(program, inputs, unused, audit, outputs, &error);
    for (size_t i = 0; i < LEFT; i++)
        steps[i]->bound.op = own[i];
    if (status == ULP_OK)
        expect_same(first, outputs);
    else
        ck_assert_msg(strstr(error.message, "is computed"), "%s", error.message);
    return status != ULP_OK;
}

TEST(further_runs_compute_none_of_it)
{
    struct ulp_budget budget = {0};
    struct ulp_model *model = text_load_within(&settled, &budget);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true), first[2];
    struct ulp_error error;
    for (size_t l = 0; l + 1 < TEXT_LANES; l++) {
        scoped_program *program = text_plan(model, &inputs, l, 2);
        memcpy(first, run(program, &inputs, false, false), sizeof first);
        /* the second run leaves it; who looks at values, or audits, has them computed */
        for (int r = 1; r < 8; r++) {
            const bool unused = r != 3, audit = r == 5;
            ck_assert_msg(computes(program, &inputs, unused, audit, first) ==
                              (r == 1 || !unused || audit),
                          "run %d", r);
            expect_same(first, run(program, &inputs, unused, audit));
        }
        /* other constants */
        const struct ulp_perturbation moved = {.precision = 8, .seed = 1};
        ck_ok(ulp_program_perturb(program, &moved, &why));
        ck_assert(computes(program, &inputs, true, false, first));
        struct ulp_tensor_set *now = run(program, &inputs, true, false);
        ck_assert(!test_same_bits(&first[0].items[0].tensor, &now[0].items[0].tensor));
        for (size_t i = 0; i < 2; i++) {
            ulp_tensor_set_free(&first[i]);
            first[i] = now[i];
        }
        for (int r = 0; r < 3; r++)
            expect_same(first, run(program, &inputs, true, false));
        ck_assert(!computes(program, &inputs, true, false, first));
        /* by every limit of memory, without a leak */
        size_t works = 0;
        for (size_t limit = 0; limit < 200000; limit += 3000) {
            budget.limit_bytes = budget.used_bytes - ulp_carried_bytes(program->carried) + limit;
            struct ulp_tensor_set *outputs = (struct ulp_tensor_set[2]){{0}};
            const enum ulp_status status =
                ulp_program_run(program, &inputs, NULL, NULL, 0, outputs, NULL, &error);
            ck_assert(status == ULP_OK || (status == ULP_ERROR_MEMORY && !works));
            works += status == ULP_OK;
            if (status == ULP_OK)
                expect_same(first, outputs);
        }
        ck_assert_uint_gt(works, 0);
        budget.limit_bytes = 0;
        ulp_tensor_set_free(&first[0]);
        ulp_tensor_set_free(&first[1]);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    ck_assert_uint_eq(budget.used_bytes, 0);
}

/* FP32 without what a constant is, a subnormal number or infinity, lowers it in every run. */
TEST_LOOP(further_runs_lower_constants_alike, 0, 2)
{
    static const struct {
        const char *arithmetic;
        float constant;
        double x;
    } cases[] = {{"fp32,subnormals=flush", 0x1p-130f, 0x1p+100},
                 {"fp32,overflow=saturate", INFINITY, 0x1p-20}};
    static const struct text_graph scaled = {"x", "y", "[scale] y = Mul(x, two)"};
    scoped_model *model = text_load(&scaled);
    struct ulp_tensor_set inputs = text_inputs(model, 0, cases[_i].x, true), outputs;
    const struct ulp_arithmetic arithmetic = test_arithmetic(cases[_i].arithmetic);
    const float wanted = isinf(cases[_i].constant) ? FLT_MAX * (float)cases[_i].x : 0;
    scoped_program *program = test_plan_lanes(model, &inputs, &arithmetic, 1);
    for (size_t v = 0; v < program->main->slot_count; v++)
        if (program->main->slots[v].constant && strcmp(program->main->slots[v].name, "two") == 0)
            *(float *)program->main->slots[v].constant->data = cases[_i].constant;
    for (int r = 0; r < 3; r++) {
        ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &outputs, NULL, &why));
        ck_expect(*(const float *)outputs.items[0].tensor.data == wanted, "run %d gives %a", r,
                  (double)*(const float *)outputs.items[0].tensor.data);
        ulp_tensor_set_free(&outputs);
    }
    ulp_tensor_set_free(&inputs);
}

TEST_SUITE("carried", 0)
