/* ulpscope selftest: what this program is, what it runs on, and whether it computes what it should
 * there. Each check has an oracle that is not the code itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/command/example.h"

struct selftest {
    struct ulp_tensor_set files[EXAMPLE_COUNT]; /* of those that are arrays */
    uint64_t random;
    size_t values;   /* compared by the check */
    char wrong[160]; /* the first that is not as it should be; "": none */
};

static uint32_t draw(struct selftest *self)
{
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(self->random >> 32);
}

static void note(struct selftest *self, bool right, size_t index, double got, double expected)
{
    self->values++;
    if (!right && !*self->wrong)
        snprintf(self->wrong, sizeof self->wrong, "value %zu is %.9g, expected %.9g", index, got,
                 expected);
}

/* ---- rounding: beside integers ---- */

/* A float's pattern rounded to FP16's, to nearest even, by integers alone. */
static uint16_t round_pattern(uint32_t pattern)
{
    const uint16_t sign = (uint16_t)(pattern >> 16 & 0x8000);
    const int32_t exponent = (int32_t)(pattern >> 23 & 255) - 127;
    const uint32_t whole = (pattern & 0x7fffff) | 0x800000;
    if (exponent < -25)
        return sign;
    /* below 2^-14 fewer bits are kept */
    const int cut = exponent < -14 ? 13 - 14 - exponent : 13;
    const uint32_t kept = whole >> cut, rest = whole & ((1u << cut) - 1), half = 1u << (cut - 1);
    const uint32_t rounded = kept + (rest > half || (rest == half && (kept & 1)));
    const uint32_t value = exponent < -14 ? rounded : ((uint32_t)(exponent + 14) << 10) + rounded;
    return (uint16_t)(sign | (value > 0x7c00 ? 0x7c00 : value));
}

static float float_of(uint32_t pattern)
{
    float value;
    memcpy(&value, &pattern, sizeof value);
    return value;
}

enum { ROUNDED = 1 << 18 };

static enum ulp_status check_rounding(struct selftest *self, struct ulp_error *error)
{
    struct ulp_format half;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor in = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor out = {0};
    const int64_t count = ROUNDED;
    ULP_TRY(ulp_format_find("fp16", &half, error));
    ULP_TRY(ulp_tensor_create(&in, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1, &count, error));
    ULP_TRY(ulp_tensor_create(&out, ULP_TYPE_UINT16, ULP_ELEMENT_COUNT, 0, 1, &count, error));
    float *values = in.data;
    for (size_t i = 0; i < ROUNDED; i++) /* 2^-27 to 2^17, where all happens */
        values[i] = float_of((draw(self) & 0x807fffff) | (100 + draw(self) % 45) << 23);
    ULP_TRY(ulp_array_encode(&out, &in, &half, 0, error));
    const uint16_t *patterns = out.data;
    for (size_t i = 0; i < ROUNDED; i++) {
        uint32_t pattern;
        memcpy(&pattern, &values[i], sizeof pattern);
        note(self, patterns[i] == round_pattern(pattern), i, patterns[i], round_pattern(pattern));
    }
    return ULP_OK;
}

/* ---- products ---- */

enum { SIDE = 24, DEPTH = 200 };

static enum ulp_status multiply(const char *arithmetic, enum ulp_type type, void *a, void *b,
                                struct ulp_tensor *out, struct ulp_error *error)
{
    const int64_t left[] = {SIDE, DEPTH}, right[] = {DEPTH, SIDE};
    struct ulp_arithmetic found;
    struct ulp_tensor first, second;
    ULP_TRY(ulp_arithmetic_find(arithmetic, &found, error));
    ULP_TRY(ulp_tensor_wrap(&first, type, 2, left, a, error));
    ULP_TRY(ulp_tensor_wrap(&second, type, 2, right, b, error));
    return ulp_array_matmul(out, &found, &first, &second, 0, error);
}

/* FP32 is a chain of fused multiply-adds in increasing k: the processor's own. */
static enum ulp_status check_chain(struct selftest *self, struct ulp_error *error)
{
    static float a[SIDE * DEPTH], b[DEPTH * SIDE];
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor out = {0};
    for (size_t i = 0; i < SIDE * DEPTH; i++) {
        a[i] = float_of((draw(self) & 0x807fffff) | (120 + draw(self) % 12) << 23);
        b[i] = float_of((draw(self) & 0x807fffff) | (120 + draw(self) % 12) << 23);
    }
    ULP_TRY(multiply("fp32", ULP_TYPE_FLOAT, a, b, &out, error));
    const float *values = out.data;
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        float sum = 0;
        for (size_t k = 0; k < DEPTH; k++)
            sum = fmaf(a[i / SIDE * DEPTH + k], b[k * SIDE + i % SIDE], sum);
        note(self, memcmp(&values[i], &sum, sizeof sum) == 0, i, values[i], sum);
    }
    return ULP_OK;
}

/* The reference adds without rounding: of whole numbers below 2^26, as 64-bit integers do. What
 * cancels leaves a sum that floats would have lost. */
static enum ulp_status check_reference(struct selftest *self, struct ulp_error *error)
{
    static double a[SIDE * DEPTH], b[DEPTH * SIDE];
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor out = {0};
    for (size_t i = 0; i < SIDE * DEPTH; i++) {
        a[i] = (double)(draw(self) >> 6);
        b[i] = (double)(draw(self) >> 6);
    }
    for (size_t i = 0; i < SIDE * DEPTH; i++) /* each product's negative, off by one, follows it */
        if (i % DEPTH % 2) {
            const size_t k = i % DEPTH, row = i / DEPTH;
            a[i] = -a[i - 1];
            b[k * SIDE + row] = b[(k - 1) * SIDE + row] + 1;
        }
    ULP_TRY(multiply("mpfr:128", ULP_TYPE_DOUBLE, a, b, &out, error));
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        int64_t sum = 0;
        for (size_t k = 0; k < DEPTH; k++)
            sum += (int64_t)a[i / SIDE * DEPTH + k] * (int64_t)b[k * SIDE + i % SIDE];
        const double value = ulp_tensor_get(&out, i);
        note(self, value == (double)sum, i, value, (double)sum);
    }
    return ULP_OK;
}

/* ---- matrix units: beside what an H200 gave ---- */

static const struct {
    const char *recorded, *unit;
} recorded_units[] = {
    {"mma.f16_k16_f32", "h200.mma.f16.f32"},   {"mma.f16_k16_f16", "h200.mma.f16.f16"},
    {"mma.bf16_k16_f32", "h200.mma.bf16.f32"}, {"mma.tf32_k8_f32", "h200.mma.tf32.f32"},
    {"mma.e4m3_k32_f32", "h200.mma.e4m3.f32"}, {"mma.e5m2_k32_f32", "h200.mma.e5m2.f32"},
};

static enum ulp_status check_unit(struct selftest *self, const char *recorded, const char *unit,
                                  struct ulp_error *error)
{
    static const char *const letters[] = {"A", "B", "C", "D"}, *const names[] = {"a", "b", "c"};
    const struct ulp_tensor *found[4];
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set arrays = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor out = {0};
    for (size_t i = 0; i < 4; i++) {
        char name[64];
        struct ulp_tensor view;
        snprintf(name, sizeof name, "%s.%s", recorded, letters[i]);
        found[i] = ulp_tensor_set_find(&self->files[EXAMPLE_UNITS], name);
        if (!found[i])
            return ulp_fail(error, ULP_ERROR_INPUT, "the recording has no %s", name);
        view = *found[i];
        view.owned = false;
        if (i < 3)
            ULP_TRY(ulp_tensor_set_add(&arrays, names[i], &view, error));
    }
    ULP_TRY(ulp_unit_multiply(unit, &arrays, 0, NULL, &out, error));
    for (size_t i = 0; i < out.count; i++)
        note(self, ulp_tensor_get(&out, i) == ulp_tensor_get(found[3], i), i,
             ulp_tensor_get(&out, i), ulp_tensor_get(found[3], i));
    return ULP_OK;
}

static enum ulp_status check_units(struct selftest *self, struct ulp_error *error)
{
    for (size_t u = 0; u < sizeof recorded_units / sizeof *recorded_units; u++)
        ULP_TRY(check_unit(self, recorded_units[u].recorded, recorded_units[u].unit, error));
    return ULP_OK;
}

/* ---- a model: beside what its training's framework recorded, in FP32 ---- */

static enum ulp_status run_example(struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                   struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    ULP_SCOPED(ulp_plan_free_of) struct ulp_plan *plan = NULL;
    const struct ulp_plan_options options = {.inputs = inputs};
    ULP_TRY(ulp_arithmetic_find("fp32", &arithmetic, error));
    ULP_TRY(ulp_plan_create(model, &arithmetic, 1, &options, &plan, error));
    return ulp_plan_run(plan, inputs, NULL, NULL, 0, outputs, NULL, error);
}

static enum ulp_status check_model(struct selftest *self, struct ulp_error *error)
{
    const struct example_file *file = &example_files[EXAMPLE_MODEL];
    const struct ulp_tensor *got = NULL,
                            *expected =
                                ulp_tensor_set_find(&self->files[EXAMPLE_EXPECTED], "logits");
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
    ULP_TRY(ulp_model_load_bytes(file->name, file->bytes, file->count, NULL, &model, error));
    ULP_TRY(run_example(model, &self->files[EXAMPLE_INPUTS], &outputs, error));
    got = ulp_tensor_set_find(&outputs, "logits");
    if (!got || !expected || got->count != expected->count)
        return ulp_fail(error, ULP_ERROR_INPUT, "the example has no logits");
    /* logits reach 26 through some 20 layers, each of which may be off by some ulp of FP32, 2^-23
     */
    for (size_t i = 0; i < got->count; i++) {
        const double value = ulp_tensor_get(got, i), wanted = ulp_tensor_get(expected, i);
        note(self, fabs(value - wanted) <= 26 * 20 * 0x1p-23, i, value, wanted);
    }
    return ULP_OK;
}

/* ---- the command ---- */

static const struct {
    enum ulp_status (*run)(struct selftest *self, struct ulp_error *error);
    const char *name, *oracle;
} checks[] = {
    {check_rounding, "rounding", "FP32 to FP16, beside integers"},
    {check_chain, "chains", "a product in FP32, beside the processor's fused multiply-adds"},
    {check_reference, "reference", "a product in mpfr:128, beside 64-bit integers"},
    {check_units, "matrix units", "six of an H200's, beside the bits that it gave"},
    {check_model, "a model", "a trained transformer in FP32, beside its framework's outputs"},
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* 1 where it failed. */
static int run_check(struct selftest *self, size_t c)
{
    struct ulp_error error;
    const double started = now();
    self->values = 0;
    *self->wrong = '\0';
    if (checks[c].run(self, &error) != ULP_OK)
        snprintf(self->wrong, sizeof self->wrong, "%.*s", (int)sizeof self->wrong - 1,
                 error.message);
    say(stdout, "%-4s  %-12s  %s: %zu values, %.2f s\n", *self->wrong ? "FAIL" : "ok",
        checks[c].name, checks[c].oracle, self->values, now() - started);
    if (*self->wrong)
        say(stdout, "      %s\n", self->wrong);
    return *self->wrong != '\0';
}

/* The arrays among the program's files, by way of a folder that is removed. */
static enum ulp_status read_arrays(struct selftest *self, struct ulp_error *error)
{
    char folder[4096];
    const char *parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    enum ulp_status status = ULP_OK;
    if (snprintf(folder, sizeof folder, "%s/ulpscope-XXXXXX", parent) >= (int)sizeof folder ||
        !mkdtemp(folder))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "no folder can be made in %s (TMPDIR names another)", parent);
    for (int e = EXAMPLE_INPUTS; e < EXAMPLE_COUNT && status == ULP_OK; e++) {
        char *path = NULL;
        status = example_write((enum example)e, folder, &path, error);
        if (status == ULP_OK)
            status = ulp_tensor_set_read(path, NULL, &self->files[e], error);
        if (path)
            unlink(path);
        free(path);
    }
    rmdir(folder);
    return status;
}

static void say_machine(void)
{
    char line[256], *model = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !model && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && (model = strchr(line, ':')))
            model[strcspn(model, "\n")] = '\0';
    if (file)
        fclose(file);
    say(stdout, "ulpscope %s\nprocessor         %s, %ld online\ninstruction sets  %s\n",
        ulp_version(), model ? model + 2 : "unknown", sysconf(_SC_NPROCESSORS_ONLN),
        ulp_instruction_sets());
}

static const char documentation[] =
    "Say which version this is, on which processor and with which instruction sets, and check in "
    "seconds that it computes what it should here: rounding, products, the reference, matrix "
    "units, a model. Exit code 1: a check failed."
    "\vExamples:\n"
    "  ulpscope selftest\n"
    "  ULPSCOPE_DISABLE_CPU=avx512,avx2 ulpscope selftest\n"
    "      without these instruction sets: the same bits";

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    refuse(state, "'%s': the selftest takes no arguments", argument);
    return 0;
}

int command_selftest(int argc, char **argv)
{
    static const struct argp argp = {NULL, parse_option, "", documentation, NULL, NULL, NULL};
    struct selftest self = {.random = 1};
    struct ulp_error error;
    int failed = 0, code = parse_arguments(&argp, argc, argv, NULL);
    if (code == ULP_OK && read_arrays(&self, &error) != ULP_OK)
        code = fail(&error);
    if (code == ULP_OK)
        say_machine();
    for (size_t c = 0; c < sizeof checks / sizeof *checks && code == ULP_OK; c++)
        failed += run_check(&self, c);
    for (size_t e = 0; e < EXAMPLE_COUNT; e++)
        ulp_tensor_set_free(&self.files[e]);
    return failed ? ULP_ERROR_LIMIT : code;
}
