/* run: every network of the measured data. Each audits without error in the reference and an
 * emulated lane, recorded outputs agree, the reference agrees with FP64 runs to FP64 accuracy, Cast
 * chains of mixed graphs are obeyed. The short run leaves the large ones out. */
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#include "data/data.h"
#include "graph/graph.h"
#include "analysis/audit/auditor.h"

/* How a recording is met. */
enum agreement {
    CLOSE,    /* fp32 within rtol 1e-3 and atol 1e-5, the bound the data's makers give */
    DECLARED, /* `model` within that: the graph's own FP16 types were obeyed */
    /* pair within that: integer kernels made it, whose sums are exact (doc/accuracy.md) */
    INTEGERS,
};

struct row {
    char path[60];
    bool heavy;
    enum agreement agreement;
    size_t recordings;
    char inputs[60]; /* folder whose inputs.npz is taken; "-": its own, or test_data_set_0 */
};

#define CASES "networks.cases"
enum { GENERATED = 28, MIXED = 36 };

static struct row read_row(int number)
{
    struct row row = {.heavy = false};
    char agreement[10], heavy[6] = "";
    ck_assert_int_ge(sscanf(text_case(CASES, (size_t)number, "", 0), "%59s %9s %zu %59s %5s",
                            row.path, agreement, &row.recordings, row.inputs, heavy),
                     4);
    row.heavy = *heavy != '\0';
    row.agreement = *agreement == 'd' ? DECLARED : *agreement == 'i' ? INTEGERS : CLOSE;
    return row;
}

static const char *join(char *buffer, size_t size, const char *folder, const char *name)
{
    snprintf(buffer, size, "%s/%s", folder, name);
    return test_shared(buffer);
}

static bool load_row(const struct row *row, struct ulp_model **model)
{
    char path[512];
    const char *file =
        row->heavy && !test_long() ? NULL : join(path, sizeof path, row->path, "model.onnx");
    if (file)
        ck_ok(ulp_model_load(file, NULL, model, &why));
    return file;
}

static void read_inputs(const struct row *row, const struct ulp_model *model,
                        struct ulp_tensor_set *inputs)
{
    char path[512];
    const char *folder = *row->inputs != '-' ? row->inputs : row->path;
    if (strncmp(folder, "generated/", 10) == 0)
        ck_ok(ulp_test_data_set_read(join(path, sizeof path, folder, "test_data_set_0"), "input",
                                     model, NULL, inputs, &why));
    else
        ck_ok(
            ulp_tensor_set_read(join(path, sizeof path, folder, "inputs.npz"), NULL, inputs, &why));
}

static void run_model(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                      const char *const *names, size_t count, struct ulp_tensor_set *outputs)
{
    const struct ulp_run_options options = {.thread_count = 2};
    scoped_program *program = test_plan_names(model, inputs, names, count);
    ck_ok(ulp_program_run(program, inputs, &options, NULL, 0, outputs, NULL, &why));
}

/* A Cast to a float type, as the types say: the format's own rounding of what came in (exhaustively
 * tested on its own). */
static enum ulp_status check_cast(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    size_t *casts = context;
    (void)error;
    if (strcmp(event->op, "Cast") != 0 || event->input_count != 1)
        return ULP_OK;
    const struct ulp_tensor *in = event->inputs[event->lane_count - 1].entire;
    const struct ulp_tensor *out =
        event->values[(event->lane_count - 1) * event->output_count].entire;
    struct ulp_format format;
    if (!ulp_type_is_float(out->type))
        return ULP_OK;
    ck_ulp_ok(ulp_format_find(out->type == ULP_TYPE_FLOAT16 ? "fp16" : "fp32", &format, error),
              *error);
    for (size_t i = 0; i < out->count; i++) {
        double want =
                   ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, ulp_tensor_get(in, i), 0, 0),
               got = ulp_tensor_get(out, i);
        ck_expect(got == want || (isnan(got) && isnan(want)), "%s[%zu]: %a, expected %a",
                  event->name, i, got, want);
    }
    ++*casts;
    return ULP_OK;
}

/* Without error, every node told of, and in mixed graphs every Cast obeyed. */
TEST_LOOP(every_network_audits, 0, text_case_count(CASES))
{
    const struct row own = read_row(_i), *row = &own;
    const char *const names[] = {"pair", row->agreement == DECLARED ? "model" : "fp32", "fp16"};
    const size_t lanes = _i >= MIXED ? 2 : 3;
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    size_t casts = 0;
    if (!load_row(row, &model))
        return;
    read_inputs(row, model, &inputs);
    scoped_program *program = test_plan_names(model, &inputs, names, lanes);
    const struct ulp_observer observer = {.context = &casts, .node_done = check_cast};
    scoped_audit audit = test_audit(program, &inputs, _i >= MIXED ? &observer : NULL);
    ck_assert_uint_eq(audit.lane_count, lanes - 1);
    for (size_t l = 0; l < audit.lane_count; l++) {
        ck_assert_uint_gt(audit.lanes[l].node_count, 0);
        ck_assert_uint_eq(audit.lanes[l].outputs.output_count, ulp_model_output_count(model));
    }
    ck_assert(_i < MIXED || casts > 0);
}

static void compare_recording(const struct row *row, const struct ulp_tensor_set *got,
                              const struct ulp_tensor_set *want)
{
    for (size_t i = 0; i < want->count; i++) {
        const struct ulp_tensor *recorded = &want->items[i].tensor,
                                *ours = ulp_tensor_set_find(got, want->items[i].name);
        ck_assert_msg(ours && ours->count == recorded->count,
                      "%s: output %s is missing or has another shape", row->path,
                      want->items[i].name);
        for (size_t e = 0; e < ours->count; e++) {
            double x = ulp_tensor_get(ours, e), w = ulp_tensor_get(recorded, e);
            ck_expect(fabs(x - w) <= 1e-5 + 1e-3 * fabs(w), "%s %s[%zu]: %.9g, recorded %.9g",
                      row->path, want->items[i].name, e, x, w);
        }
    }
}

TEST_LOOP(every_recording_agrees, 0, MIXED)
{
    static const char *const arithmetics[] = {
        [CLOSE] = "fp32", [DECLARED] = "model", [INTEGERS] = "pair"};
    const struct row own = read_row(_i), *row = &own;
    scoped_model *model = NULL;
    if (!load_row(row, &model))
        return;
    for (size_t set = 0; set < row->recordings; set++) {
        char path[512], name[64];
        scoped_tensor_set inputs = {0}, want = {0}, got = {0};
        snprintf(name, sizeof name, "test_data_set_%zu", set);
        const char *folder = join(path, sizeof path, row->path, name);
        ck_ok(ulp_test_data_set_read(folder, "output", model, NULL, &want, &why));
        ck_ok(ulp_test_data_set_read(folder, "input", model, NULL, &inputs, &why));
        run_model(model, &inputs, &arithmetics[row->agreement], 1, &got);
        compare_recording(row, &got, &want);
    }
}

/* A constant of the exporter's source text, which the FP64 run had in double and the graph has
 * rounded to FP32. */
static const struct constant {
    double exact;
    float rounded;
} constants[] = {{1e-5, 1e-5f}, {1.702, 1.702f}, {1.41421356237309504880, 1.41421356237309504880f}};

/* Every scalar FLOAT tensor and float attribute equal to `from` becomes `to`. Returns how many
 * there were. */
static size_t replace_constant(struct ulp_model *model, float from, float to)
{
    size_t replaced = 0;
    for (size_t t = 0; t < model->tensor_count; t++)
        if (model->tensors[t]->type == ULP_TYPE_FLOAT && model->tensors[t]->count == 1 &&
            *(float *)model->tensors[t]->data == from) {
            *(float *)model->tensors[t]->data = to;
            replaced++;
        }
    for (size_t n = 0; n < model->graph->node_count; n++)
        for (size_t a = 0; a < model->graph->nodes[n].attribute_count; a++) {
            struct ulp_attribute *attribute =
                (struct ulp_attribute *)(uintptr_t)&model->graph->nodes[n].attributes[a];
            if (attribute->kind == ULP_ATTRIBUTE_FLOAT && attribute->f == from) {
                attribute->f = to;
                replaced++;
            }
        }
    return replaced;
}

/* Every weight one ulp up or down, at random: what folding a BatchNormalization into FP32 weights
 * does to each. */
static void disturb_weights(struct ulp_model *model, unsigned seed)
{
    for (size_t t = 0; t < model->tensor_count; t++) {
        float *values = model->tensors[t]->data;
        for (size_t i = 0;
             model->tensors[t]->type == ULP_TYPE_FLOAT && i < model->tensors[t]->count; i++) {
            seed = seed * 1664525u + 1013904223u;
            values[i] = nextafterf(values[i], seed >> 31 ? INFINITY : -INFINITY);
        }
    }
}

static double largest_difference(const struct ulp_tensor *a, const double *b)
{
    double worst = 0;
    for (size_t e = 0; e < a->count; e++) {
        const double d = fabs(ulp_tensor_get(a, e) - b[e]);
        worst = d <= worst ? worst : d; /* NaN stays */
    }
    return worst;
}

/* The reference's output i at the constants' exact values: y + (exact - c) / (c' - c) * (y' - y)
 * with c' the next float. What is left is the second order, (2^-24)^2 of y times what the network
 * amplifies. */
static double *extrapolate(struct ulp_model *model, const struct ulp_tensor_set *inputs, size_t i)
{
    const char *const reference = "pair";
    struct ulp_tensor_set at, next;
    run_model(model, inputs, &reference, 1, &at);
    const size_t count = at.items[i].tensor.count;
    double *y = malloc((count + 1) * sizeof *y);
    ck_assert_ptr_nonnull(y);
    for (size_t e = 0; e < count; e++)
        y[e] = ulp_tensor_get(&at.items[i].tensor, e);
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
        const float moved = nextafterf(constants[c].rounded, 2 * constants[c].rounded);
        if (!replace_constant(model, constants[c].rounded, moved))
            continue;
        run_model(model, inputs, &reference, 1, &next);
        const double share = (constants[c].exact - (double)constants[c].rounded) /
                             ((double)moved - (double)constants[c].rounded);
        for (size_t e = 0; e < count; e++)
            y[e] += share * (ulp_tensor_get(&next.items[i].tensor, e) -
                             ulp_tensor_get(&at.items[i].tensor, e));
        ulp_tensor_set_free(&next);
        replace_constant(model, moved, constants[c].rounded);
    }
    ulp_tensor_set_free(&at);
    return y;
}

/* ref64: PyTorch in FP64, which errs as any FP64 run does. Ours (fp64) measures by how much: the
 * bound is 8 times its largest error plus an ulp of the largest output, as for FP32 in check_run.
 * The graph holds three of PyTorch's constants only rounded to FP32; the reference is extrapolated
 * to their exact values. The ResNets' BatchNormalizations were folded into FP32 weights when
 * exported: their bound is 4 times the effect of one ulp on every weight (scale, product and sum
 * are rounded: at most 2 ulps, in both directions alike). */
TEST_LOOP(the_reference_agrees_with_fp64, GENERATED, MIXED)
{
    const struct row own = read_row(_i), *row = &own;
    const bool folded = strstr(row->path, "resnet");
    const char *const fp64 = "fp64", *const reference = "pair";
    char path[512];
    scoped_model *model = NULL;
    struct ulp_tensor_set inputs, want, near;
    if (!load_row(row, &model))
        return;
    const char *folder = join(path, sizeof path, row->path, "test_data_set_0");
    ck_ok(ulp_test_data_set_read(folder, "ref64_output", model, NULL, &want, &why));
    read_inputs(row, model, &inputs);
    for (size_t i = 0; i < want.count; i++) {
        SCOPED_MEMORY double *y = extrapolate(model, &inputs, i);
        const struct ulp_tensor *recorded = &want.items[i].tensor;
        double largest = 0, *plain = malloc((recorded->count + 1) * sizeof *plain);
        run_model(model, &inputs, &reference, 1, &near);
        ck_assert_ptr_nonnull(plain);
        ck_assert_uint_eq(near.items[i].tensor.count, recorded->count);
        for (size_t e = 0; e < recorded->count; e++) {
            plain[e] = ulp_tensor_get(&near.items[i].tensor, e);
            largest = fmax(largest, fabs(plain[e]));
        }
        ulp_tensor_set_free(&near);
        if (folded)
            disturb_weights(model, 1);
        run_model(model, &inputs, folded ? &reference : &fp64, 1, &near);
        const double effect = largest_difference(&near.items[i].tensor, plain),
                     error64 = largest_difference(recorded, y);
        const double bound = folded ? 4 * effect : 8 * effect + 0x1p-52 * largest;
        ck_assert_msg(error64 <= bound, "%s output %zu: ref64 is %.3g from pair, allowed %.3g",
                      row->path, i, error64, bound);
        ck_assert_msg(folded || bound <= 1e-12 * largest, "%s: %.3g is no FP64 accuracy", row->path,
                      bound);
        if (getenv("ULPSCOPE_TEST_VERBOSE"))
            printf("%s output %zu: ref64 is %.3g from pair, allowed %.3g\n", row->path, i, error64,
                   bound);
        ulp_tensor_set_free(&near);
        free(plain);
    }
    ulp_tensor_set_free(&want);
    ulp_tensor_set_free(&inputs);
}

TEST_SUITE("networks", test_long() ? 1200 : 120)
