/* Edits are right at every size. Cases: what holds at the sizes given alone is not made, and says
 * which size is free; its twin, whose sizes are declared or proven, is made. A walk: small graphs
 * around the patterns of edits, each dimension declared, 1 or free at random; all edits that are
 * proposed at one set of sizes are made, and the edited model computes in MPFR what the given one
 * does at other sizes, wherever that takes them. */
#include "analysis/lint/proposal.h"
#include "run/program/program.h"
#include "tests/support/onnx_text.h"
#include "tests/support/stream.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

enum { NAMELESS = 0, LETTERS = 128 };

/* ---- a model at sizes ---- */

/* From a file, which is edited. */
static struct ulp_model *load(int opset, const char *text)
{
    struct proto bytes = onnx_text(opset, text);
    struct ulp_model *model = NULL;
    proto_write(&bytes, test_folder("given.onnx"));
    proto_free(&bytes);
    ck_ok(ulp_model_load(test_folder("given.onnx"), NULL, &model, &why));
    return model;
}

/* Sizes by letter; those of dimensions without a name are drawn. */
struct at {
    int64_t sizes[LETTERS];
    struct stream *stream;
};

static int64_t draw_size(struct stream *stream)
{
    static const int64_t sizes[] = {1, 1, 2, 3, 4, 8, 16};
    return sizes[stream_draw_below(stream, sizeof sizes / sizeof *sizes)];
}

/* Inputs of magnitude 0.3 to 2, so that quotients and roots are harmless. */
static void make_inputs(const struct ulp_model *model, const struct at *at,
                        struct ulp_tensor_set *out)
{
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        int64_t dims[ULP_RANK_MAX] = {0};
        struct ulp_tensor tensor = {0};
        for (int d = 0; d < info.rank; d++)
            dims[d] = info.dims[d] >= 0   ? info.dims[d]
                      : info.dim_names[d] ? at->sizes[(unsigned char)info.dim_names[d][0] % LETTERS]
                                          : draw_size(at->stream);
        ck_ok(ulp_tensor_create(&tensor, info.type, ULP_ELEMENT_COUNT, 0, info.rank, dims, &why));
        for (size_t e = 0; e < tensor.count; e++) {
            const double size = 0.3 + (double)stream_draw_below(at->stream, 1700) / 1000;
            ((float *)tensor.data)[e] = (float)(stream_draw_below(at->stream, 2) ? size : -size);
        }
        ck_ok(ulp_tensor_set_add(out, info.name, &tensor, &why));
    }
}

/* false: the model does not take the inputs. *plain: an Attention has the shapes that ONNX
 * Runtime's kernels take, which broadcast a mask's batch and heads alone. */
static bool run(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                struct ulp_tensor_set *out, bool *plain)
{
    scoped_program *program = NULL;
    struct ulp_error error;
    const struct ulp_program_options options = {.inputs = inputs};
    const struct ulp_run_options once = {.thread_count = 1};
    const struct ulp_arithmetic exact = test_arithmetic("mpfr:128");
    bool ran = ulp_program_create(model, &exact, 1, &options, &program, &error) == ULP_OK;
    for (size_t s = 0; ran && s < program->main->step_count; s++) {
        const struct ulp_step *step = &program->main->steps[s];
        const struct ulp_tensor *of[4] = {NULL};
        if (strcmp(step->bound.op->name, "Attention") != 0)
            continue;
        for (size_t i = 0; i < step->own_input_count && i < 4; i++)
            of[i] = &program->main->slots[step->inputs[i]].shape;
        for (int d = 0; d < 2; d++)
            *plain &= of[0]->dims[d] == of[1]->dims[d] && of[0]->dims[d] == of[2]->dims[d];
        const int64_t scores[] = {of[0]->dims[2], of[1]->dims[2]};
        for (int d = 1; of[3] && d <= 2; d++)
            *plain &= of[3]->dims[of[3]->rank - d] == scores[2 - d];
    }
    ran = ran && ulp_program_run(program, inputs, &once, NULL, 0, out, NULL, &error) == ULP_OK;
    return ran;
}

static bool is_same(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b)
{
    const struct ulp_tensor *x = &a->items[0].tensor, *y = &b->items[0].tensor;
    double largest = 0;
    bool same = ulp_tensor_same_shape(x, y);
    for (size_t e = 0; e < x->count; e++)
        if (isfinite(ulp_tensor_get(x, e)))
            largest = fmax(largest, fabs(ulp_tensor_get(x, e)));
    for (size_t e = 0; e < x->count && same; e++) {
        const double from = ulp_tensor_get(x, e), to = ulp_tensor_get(y, e);
        /* an attribute is an FP32 number */
        same = from == to || (isnan(from) && isnan(to)) || fabs(from - to) <= 1e-6 * largest;
    }
    return same;
}

/* Proposals at the inputs' sizes (NULL: none are given), and the model with all of their edits. */
static size_t edit(const struct ulp_model *model, unsigned targets,
                   const struct ulp_tensor_set *inputs, struct ulp_lint_proposals *proposals,
                   struct ulp_model **edited)
{
    const struct ulp_lint_options options = {.targets = targets, .inputs = inputs};
    size_t made = 0;
    ck_ok(ulp_lint_propose(model, &options, 0x1p-24, proposals, &why));
    SCOPED_MEMORY bool *taken = calloc(proposals->count + 1, sizeof *taken);
    for (size_t i = 0; i < proposals->count; i++) {
        taken[i] = proposals->items[i].edit_count > 0 && proposals->items[i].said.exact;
        made += taken[i];
    }
    *edited = NULL;
    if (made && edited)
        ck_ok(ulp_lint_load_edited(proposals, taken, true, edited, &why));
    return made;
}

/* ---- cases ---- */

#define CASES "sizes.cases"

TEST_LOOP(sizes_of_cases, 0, text_case_count(CASES))
{
    const struct text_head head = text_case_head(CASES, (size_t)_i);
    const char *colon = strstr(head.rest, ": "), *reason = colon ? colon + 2 : NULL;
    const char *given = strncmp(head.rest, " at ", 4) == 0 ? head.rest + 4 : NULL;
    scoped_model *model = load(head.opset, text_case(CASES, (size_t)_i, "model", 0)),
                 *edited = NULL;
    scoped_lint_proposals proposals = {0};
    scoped_tensor_set inputs = {0};
    struct stream stream = {.key = (uint64_t)_i};
    struct at at = {.stream = &stream};
    const char *why = NULL;
    bool made = false;
    for (const char *g = given ? given : ""; *g && *g != ':'; g += 2)
        at.sizes[(unsigned char)*g] = g[1] - '0';
    if (given)
        make_inputs(model, &at, &inputs);
    edit(model, head.targets, given ? &inputs : NULL, &proposals, &edited);
    for (size_t i = 0; i < proposals.count; i++) {
        const struct ulp_lint_proposal *item = &proposals.items[i];
        if (strcmp(item->said.rule, head.name) != 0)
            continue;
        made |= item->edit_count > 0;
        why = item->said.reason ? item->said.reason : why;
    }
    ck_assert_msg(made == !reason, "case %d (%s): %s", _i, head.name, made ? "made" : "not made");
    ck_assert_msg(!why == !reason && (!why || strstr(why, reason)), "case %d (%s): %s", _i,
                  head.name, why ? why : "no reason");
}

/* ---- initializers that are inputs ---- */

static const struct override_case {
    int opset;
    const char *target;
    const char *inputs, *rest; /* around the constants, which are inputs or not */
    const char *constants;
} overridden[] = {
    {17, NULL, "float[4,8] x, float[8,4] z", "{ p = MatMul(x, z) y = Mul(p, k) }", "float[] k"},
    {17, NULL, "float[4,8] x", "{ y = BatchNormalization(x, k, b, m, v) }",
     "float[8] k, float[8] b, float[8] m, float[8] v"},
    {17, "coreml-ane", "float[4,8] x", "{ p = Gemm(x, w) y = BatchNormalization(p, k, b, m, v) }",
     "float[8,8] w, float[8] k, float[8] b, float[8] m, float[8] v"},
    {17, NULL, "float[4,8] x",
     "{ m = ReduceMean <axes = [1]> (x) d = Sub(x, m) q = Mul(d, d) v = ReduceMean <axes = [1]> "
     "(q) w = Add(v, k) s = Sqrt(w) n = Div(d, s) y = Mul(n, g) }",
     "float[] k, float[8] g"},
};
enum { OVERRIDDEN = sizeof overridden / sizeof *overridden };

/* "float[8] k" as "float[8] k = {0.125...}". */
static void give(const char *constants, char out[400])
{
    size_t length = 0;
    for (const char *at = constants; *at; at++) {
        const bool ends =
            !at[1] || (at[1] == ',' && at[2] == ' ' && strncmp(at + 3, "float", 5) == 0);
        out[length++] = *at;
        if (ends)
            length += (size_t)sprintf(out + length, *at == 'v'   ? " = {1e6...}"
                                                    : *at == 'k' ? " = {0.125...}"
                                                                 : " = {2...}");
    }
    out[length] = '\0';
}

TEST_LOOP(overridable, 0, OVERRIDDEN)
{
    const struct override_case *c = &overridden[_i];
    char given[400], text[2000];
    give(c->constants, given);
    for (int way = 0; way < 3; way++) {
        scoped_lint_proposals proposals = {0};
        scoped_model *edited = NULL;
        if (way == 0) /* a constant */
            snprintf(text, sizeof text, "(%s) => (float y) <%s> %s", c->inputs, given, c->rest);
        else /* a default; an input */
            snprintf(text, sizeof text, "(%s, %s) => (float y) <%s> %s", c->inputs, c->constants,
                     way == 1 ? given : "float unused = {1}", c->rest);
        scoped_model *model = load(c->opset, text);
        const size_t made =
            edit(model, c->target ? ulp_target_find(c->target)->bit : 0, NULL, &proposals, &edited);
        ck_assert_msg((made > 0) == (way == 0), "case %d, way %d: %zu edits", _i, way, made);
    }
}

/* ---- the walk ---- */

#define PATTERNS "patterns.cases"

/* Letters stand for dimensions that are free, some of them for two. */
static void fill(const char *pattern, struct stream *stream, const struct at *at, char out[3000])
{
    static const double counts[] = {1, 2, 4, 8, 16, 32, 64};
    char dims[10][8];
    size_t length = 0;
    for (int d = 0; d < 10; d++) {
        const uint64_t kind = stream_draw_below(stream, 8);
        if (kind < 3)
            snprintf(dims[d], sizeof *dims, "%c",
                     'a' + (int)stream_draw_below(stream, 2) + 2 * d % 6);
        else if (kind == 3)
            snprintf(dims[d], sizeof *dims, "?");
        else if (kind == 4 && d > 0)
            memcpy(dims[d], dims[stream_draw_below(stream, (uint64_t)d)], sizeof *dims);
        else
            snprintf(dims[d], sizeof *dims, "%d", (int)draw_size(stream));
    }
    (void)at;
    for (const char *from = pattern; *from; from++)
        if (*from == '$')
            length += (size_t)sprintf(out + length, "%s", dims[*++from - '0']);
        else if (*from == '%')
            length +=
                (size_t)sprintf(out + length, "%.10g", 1 / counts[stream_draw_below(stream, 7)]);
        else if (*from == '#')
            length += (size_t)sprintf(out + length, "%d", (int)stream_draw_below(stream, 2));
        else
            out[length++] = *from;
    out[length] = '\0';
}

static void draw_sizes(struct at *at)
{
    for (int l = 0; l < LETTERS; l++)
        at->sizes[l] = draw_size(at->stream);
}

/* What became of the edits of one graph. */
struct walked {
    size_t graphs, edits, compared, violations;
};

static void compare(const struct ulp_model *model, const struct ulp_model *edited, struct at *at,
                    const char *text, struct walked *walked)
{
    scoped_tensor_set inputs = {0}, before = {0}, after = {0};
    bool plain = true;
    draw_sizes(at);
    make_inputs(model, at, &inputs);
    if (run(model, &inputs, &before, &plain)) {
        plain = true;
        walked->compared++;
        if (!run(edited, &inputs, &after, &plain) || !plain || !is_same(&before, &after)) {
            if (walked->violations++ < 10)
                printf("not the same at other sizes: %s\n", text);
        }
    }
}

static void walk(uint64_t seed, struct walked *walked)
{
    enum { OTHERS = 6, TRIES = 12 };
    struct stream stream = {.key = seed};
    struct at at = {.stream = &stream};
    const size_t number = seed % text_case_count(PATTERNS);
    const struct text_head head = text_case_head(PATTERNS, number);
    scoped_model *edited = NULL;
    struct ulp_lint_proposals proposals;
    struct ulp_tensor_set inputs = {0}, ignored = {0};
    char text[3000];
    bool plain = true, takes = false;
    fill(text_case(PATTERNS, number, "model", 0), &stream, &at, text);
    scoped_model *model = load(head.opset, text);
    for (int t = 0; t < TRIES && !takes; t++) { /* sizes that the model takes */
        ulp_tensor_set_free(&inputs);
        draw_sizes(&at);
        make_inputs(model, &at, &inputs);
        takes = run(model, &inputs, &ignored, &plain);
        ulp_tensor_set_free(&ignored);
    }
    if (takes) {
        walked->graphs++;
        walked->edits += edit(model, head.targets, stream_draw_below(&stream, 4) ? &inputs : NULL,
                              &proposals, &edited);
        for (int o = 0; o < OTHERS && edited; o++)
            compare(model, edited, &at, text, walked);
        ulp_lint_proposals_free(&proposals);
    }
    ulp_tensor_set_free(&inputs);
}

TEST(other_sizes)
{
    struct walked walked = {0};
    const uint64_t count = test_count(3000, 20000);
    for (uint64_t seed = 0; seed < count; seed++)
        walk(seed, &walked);
    printf("%zu edits of %zu graphs compared %zu times: %zu are not the same\n", walked.edits,
           walked.graphs, walked.compared, walked.violations);
    ck_assert_uint_gt(walked.edits, count / 10);
    ck_assert_uint_eq(walked.violations, 0);
}

TEST_MAIN("open_sizes", 900)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
