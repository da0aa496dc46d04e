/* The table of matrix units, one row a (GPU, instruction class, operand type, accumulator), and
 * finding rows by name. Adding a unit is adding a row here, or a family of them. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "kernels/unit/unit.h"
#include "number/format/gpu.h"
#include "number/format/scaling.h"

/* clang-format off */
static const struct ulp_unit_input input_rows[] = {
    {.name = "f16", .format = "fp16", .bits = 16, .precision = 11, .emin = -14, .scale = ""},
    {.name = "bf16", .format = "bf16", .bits = 16, .precision = 8, .emin = -126, .scale = ""},
    {.name = "tf32", .format = "tf32", .bits = 32, .precision = 11, .emin = -126, .scale = ""},
    {.name = "e4m3", .format = "fp8-e4m3", .bits = 8, .precision = 4, .emin = -6, .scale = ""},
    {.name = "e5m2", .format = "fp8-e5m2", .bits = 8, .precision = 3, .emin = -14, .scale = ""},
    {.name = "e3m2", .format = "fp6-e3m2", .bits = 8, .precision = 3, .emin = -2, .scale = ""},
    {.name = "e2m3", .format = "fp6-e2m3", .bits = 8, .precision = 4, .emin = 0, .scale = ""},
    {.name = "e2m1", .format = "fp4-e2m1", .bits = 8, .precision = 2, .emin = 0, .scale = ""},
    {.name = "mxe4m3", .format = "fp8-e4m3", .bits = 8, .precision = 4, .emin = -6, .scale = "fp8-e8m0"},
    {.name = "mxe5m2", .format = "fp8-e5m2", .bits = 8, .precision = 3, .emin = -14, .scale = "fp8-e8m0"},
    {.name = "mxe3m2", .format = "fp6-e3m2", .bits = 8, .precision = 3, .emin = -2, .scale = "fp8-e8m0"},
    {.name = "mxe2m3", .format = "fp6-e2m3", .bits = 8, .precision = 4, .emin = 0, .scale = "fp8-e8m0"},
    {.name = "mxe2m1", .format = "fp4-e2m1", .bits = 8, .precision = 2, .emin = 0, .scale = "fp8-e8m0"},
    {.name = "mxf4", .format = "fp4-e2m1", .bits = 8, .precision = 2, .emin = 0, .scale = "fp8-e8m0"},
    {.name = "mxf4x16", .format = "fp4-e2m1", .bits = 8, .precision = 2, .emin = 0, .scale = "fp8-e8m0"},
    {.name = "nvf4", .format = "fp4-e2m1", .bits = 8, .precision = 2, .emin = 0,
     .scale = "fp8-e4m3"},
    {.name = "f64", .format = "fp64", .bits = 64, .precision = 53, .emin = -1022, .scale = ""},
    {.name = "s8", .format = "", .bits = 8, .precision = 8, .emin = 0, .scale = ""},
};
/* clang-format on */
#define INPUT_COUNT (sizeof input_rows / sizeof input_rows[0])

#define NO_FLOOR ULP_UNIT_NO_FLOOR

/* All 25 pairs of types of a and b that kind::f8f6f4 (X "") and kind::mxf8f6f4 (X "mx") multiply.
 */
/* clang-format off */
#define PAIRS_OF_EIGHT(ROW, X) \
    ROW(X "e4m3") ROW(X "e4m3-" X "e5m2") ROW(X "e5m2-" X "e4m3") ROW(X "e5m2")
#define PAIRS(ROW, X) \
    PAIRS_OF_EIGHT(ROW, X) ROW(X "e3m2") ROW(X "e2m3") ROW(X "e2m1") \
    ROW(X "e4m3-" X "e3m2") ROW(X "e4m3-" X "e2m3") ROW(X "e4m3-" X "e2m1") \
    ROW(X "e5m2-" X "e3m2") ROW(X "e5m2-" X "e2m3") ROW(X "e5m2-" X "e2m1") \
    ROW(X "e3m2-" X "e4m3") ROW(X "e3m2-" X "e5m2") ROW(X "e3m2-" X "e2m3") ROW(X "e3m2-" X "e2m1") \
    ROW(X "e2m3-" X "e4m3") ROW(X "e2m3-" X "e5m2") ROW(X "e2m3-" X "e3m2") ROW(X "e2m3-" X "e2m1") \
    ROW(X "e2m1-" X "e4m3") ROW(X "e2m1-" X "e5m2") ROW(X "e2m1-" X "e3m2") ROW(X "e2m1-" X "e2m3")
#define TCGEN05_F32(input) {"b200", "tcgen05", input, "f32", ULP_UNIT_TRUNCATED, ULP_UNIT_RZ_FP32, 32, 25, -133, 0, ULP_UNIT_PUBLISHED},
#define TCGEN05_F16(input) {"b200", "tcgen05", input, "f16", ULP_UNIT_TRUNCATED, ULP_UNIT_RNE_FP16, 32, 25, -133, 0, ULP_UNIT_PUBLISHED},
#define TCGEN05_MX(input) {"b200", "tcgen05", input, "f32", ULP_UNIT_SCALED, ULP_UNIT_RZ_FP32, 32, 25, -133, 32, ULP_UNIT_PUBLISHED},
#define RTX_F32(input) {"rtx5090", "mma", input, "f32", ULP_UNIT_TRUNCATED, ULP_UNIT_RZ_FP32, 32, 25, -133, 0, ULP_UNIT_PUBLISHED},
#define RTX_F16(input) {"rtx5090", "mma", input, "f16", ULP_UNIT_TRUNCATED, ULP_UNIT_RNE_FP16, 32, 25, -133, 0, ULP_UNIT_PUBLISHED},
#define RTX_MX(input) {"rtx5090", "mma", input, "f32", ULP_UNIT_SCALED, ULP_UNIT_RZ_FP32, 32, 25, -133, 32, ULP_UNIT_PUBLISHED},
/* clang-format on */

/* clang-format off */
#define UNIT(gpu, class, input, accumulator, kind, output, block, fraction, floor, scales, source) \
    {#gpu, #class, #input, #accumulator, ULP_UNIT_##kind, ULP_UNIT_##output, block, fraction, floor, scales, ULP_UNIT_##source},
/* Sums of 16-bit floats and of TF32, of which half as many are added at once. */
#define HALVES_AND_TF32(gpu, class, block, fraction, floor32, floor16, source) \
    UNIT(gpu, class, f16, f32, TRUNCATED, RZ_FP32, block, fraction, floor32, 0, source) \
    UNIT(gpu, class, f16, f16, TRUNCATED, RNE_FP16, block, fraction, floor16, 0, source) \
    UNIT(gpu, class, bf16, f32, TRUNCATED, RZ_FP32, block, fraction, floor32, 0, source) \
    UNIT(gpu, class, tf32, f32, TRUNCATED, RZ_FP32, (block) / 2, fraction, floor32, 0, source)
/* Of 8-bit floats; no unit was measured with a's type unlike b's. */
#define BYTES(gpu, class, kind, output, block, fraction, floor32, floor16, source32, source16) \
    UNIT(gpu, class, e4m3, f32, kind, output, block, fraction, floor32, 0, source32) \
    UNIT(gpu, class, e4m3, f16, kind, RNE_FP16, block, fraction, floor16, 0, source16) \
    UNIT(gpu, class, e5m2, f32, kind, output, block, fraction, floor32, 0, source32) \
    UNIT(gpu, class, e5m2, f16, kind, RNE_FP16, block, fraction, floor16, 0, source16) \
    UNIT(gpu, class, e4m3-e5m2, f32, kind, output, block, fraction, floor32, 0, INFERRED) \
    UNIT(gpu, class, e5m2-e4m3, f32, kind, output, block, fraction, floor32, 0, INFERRED) \
    UNIT(gpu, class, e4m3-e5m2, f16, kind, RNE_FP16, block, fraction, floor16, 0, INFERRED) \
    UNIT(gpu, class, e5m2-e4m3, f16, kind, RNE_FP16, block, fraction, floor16, 0, INFERRED)
static const struct ulp_unit unit_rows[] = {
    UNIT(v100, mma, f16, f32, TRUNCATED, RZ_FP32, 4, 23, NO_FLOOR, 0, MEASURED_PUBLIC)
    UNIT(v100, mma, f16, f16, TRUNCATED, RNE_FP16, 4, 23, -19, 0, MEASURED_PUBLIC)
    UNIT(t4, mma, f16, f32, TRUNCATED, RZ_FP32, 8, 24, -132, 0, PUBLISHED)
    UNIT(t4, mma, f16, f16, TRUNCATED, RNE_FP16, 8, 24, -20, 0, PUBLISHED)
    UNIT(t4, m8n8k4, f16, f32, TRUNCATED, RZ_FP32, 4, 23, NO_FLOOR, 0, PUBLISHED)
    UNIT(t4, m8n8k4, f16, f16, TRUNCATED, RNE_FP16, 4, 23, -19, 0, PUBLISHED)
    UNIT(t4, mma, s8, s32, INTEGER, INT32, 16, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(a100, mma, 8, 24, -132, -20, MEASURED_PUBLIC)
    UNIT(a100, mma, f64, f64, FMA, RNE_FP64, 4, 0, 0, 0, PUBLISHED)
    UNIT(a100, mma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(a2, mma, 8, 24, -132, -20, MEASURED_PUBLIC)
    UNIT(a2, mma, f64, f64, FMA, RNE_FP64, 4, 0, 0, 0, PUBLISHED)
    UNIT(a2, mma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(ada, mma, 8, 24, -132, -20, MEASURED_PUBLIC)
    BYTES(ada, mma, TRUNCATED, RZ_E8M13, 16, 13, -132, -20, MEASURED_PUBLIC, MEASURED_PUBLIC)
    UNIT(ada, mma, f64, f64, FMA, RNE_FP64, 4, 0, 0, 0, PUBLISHED)
    UNIT(ada, mma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(l40s, mma, 8, 24, -132, -20, MEASURED_PUBLIC)
    BYTES(l40s, mma, TRUNCATED, RZ_E8M13, 16, 13, -132, -20, MEASURED_PUBLIC, INFERRED)
    UNIT(l40s, mma, f64, f64, FMA, RNE_FP64, 4, 0, 0, 0, PUBLISHED)
    UNIT(l40s, mma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(h100, mma, 16, 25, -133, -21, MEASURED_PUBLIC)
    BYTES(h100, mma, HALVES, RZ_FP32, 32, 25, -133, -21, INFERRED, MEASURED_PUBLIC)
    UNIT(h100, mma, f64, f64, FMA, RNE_FP64, 4, 0, 0, 0, PUBLISHED)
    UNIT(h100, mma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(h100, wgmma, 16, 25, -133, -21, INFERRED)
    BYTES(h100, wgmma, TRUNCATED, RZ_E8M13, 32, 13, -133, -133, MEASURED_PUBLIC, INFERRED)
    UNIT(h100, wgmma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(h200, mma, 16, 25, -133, -21, MEASURED)
    BYTES(h200, mma, HALVES, RZ_FP32, 32, 25, -133, -21, MEASURED, MEASURED)
    UNIT(h200, mma, f64, f64, FMA, RNE_FP64, 4, 0, 0, 0, MEASURED)
    UNIT(h200, mma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(h200, wgmma, 16, 25, -133, -21, MEASURED)
    BYTES(h200, wgmma, TRUNCATED, RZ_E8M13, 32, 13, -133, -133, MEASURED, MEASURED)
    UNIT(h200, wgmma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(b200, mma, 16, 25, -133, -21, MEASURED_PUBLIC)
    BYTES(b200, mma, HALVES, RZ_FP32, 32, 25, -133, -21, MEASURED_PUBLIC, MEASURED_PUBLIC)
    UNIT(b200, mma, f64, f64, FMA, RNE_FP64, 4, 0, 0, 0, PUBLISHED)
    UNIT(b200, mma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(b200, tcgen05, 16, 25, -133, -21, PUBLISHED)
    PAIRS(TCGEN05_F32, "") PAIRS(TCGEN05_F16, "") PAIRS(TCGEN05_MX, "mx")
    UNIT(b200, tcgen05, mxf4, f32, SCALED_GROUPS, RZ_FP32, 64, 35, -139, 32, PUBLISHED)
    UNIT(b200, tcgen05, mxf4x16, f32, SCALED_GROUPS, RZ_FP32, 64, 35, -139, 16, PUBLISHED)
    UNIT(b200, tcgen05, nvf4, f32, SCALED_GROUPS, RZ_FP32, 64, 35, -139, 16, PUBLISHED)
    UNIT(b200, tcgen05, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
    HALVES_AND_TF32(rtx5090, mma, 16, 25, -133, -21, PUBLISHED)
    PAIRS(RTX_F32, "") PAIRS(RTX_F16, "") PAIRS(RTX_MX, "mx")
    UNIT(rtx5090, mma, mxf4, f32, SCALED_GROUPS, RZ_FP32, 64, 35, -139, 32, PUBLISHED)
    UNIT(rtx5090, mma, mxf4x16, f32, SCALED_GROUPS, RZ_FP32, 64, 35, -139, 16, PUBLISHED)
    UNIT(rtx5090, mma, nvf4, f32, SCALED_GROUPS, RZ_FP32, 64, 35, -139, 16, PUBLISHED)
    UNIT(rtx5090, mma, f64, f64, FMA, RNE_FP64, 4, 0, 0, 0, PUBLISHED)
    UNIT(rtx5090, mma, s8, s32, INTEGER, INT32, 32, 0, 0, 0, DEFINED)
};
/* clang-format on */
#define UNIT_COUNT (sizeof unit_rows / sizeof unit_rows[0])

static const char *const source_texts[] = {
    [ULP_UNIT_MEASURED] = "measured: every bit compared with this GPU for this project",
    [ULP_UNIT_MEASURED_PUBLIC] =
        ("measured: every bit compared with public vectors of this GPU (MATLAB-tensor-core); "
         "no sum there is zero, whose sign follows MMA-Sim and the H200"),
    [ULP_UNIT_INFERRED] = "inferred: the same unit as one that was measured; not compared itself",
    [ULP_UNIT_PUBLISHED] =
        "published model (MMA-Sim, arXiv 2511.10909); not compared with the hardware",
    [ULP_UNIT_DEFINED] = "exact by definition",
};

const struct ulp_unit *ulp_unit_row(size_t index)
{
    return index < UNIT_COUNT ? &unit_rows[index] : NULL;
}

char *ulp_unit_name(const struct ulp_unit *unit, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s.%s.%s.%s", unit->gpu, unit->unit_class, unit->input,
             unit->accumulator);
    return buffer;
}

const char *ulp_unit_status(const struct ulp_unit *unit)
{
    return source_texts[unit->source];
}

const char *ulp_unit_gpu(const char *gpu)
{
    const struct ulp_gpu_row *row = ulp_gpu_find(gpu);
    return row ? row->unit : gpu;
}

const struct ulp_unit *ulp_unit_find(const char *name)
{
    char gpu[16], own[64];
    const size_t length = strcspn(name, ".");
    if (length >= sizeof gpu)
        return NULL;
    snprintf(gpu, sizeof gpu, "%.*s", (int)length, name);
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (strcmp(unit_rows[i].gpu, ulp_unit_gpu(gpu)) == 0 &&
            strcmp(strchr(ulp_unit_name(&unit_rows[i], own, sizeof own), '.'), name + length) == 0)
            return &unit_rows[i];
    return NULL;
}

const struct ulp_unit_input *ulp_unit_input(const struct ulp_unit *unit, int side)
{
    const char *dash = strchr(unit->input, '-'), *name = dash && side ? dash + 1 : unit->input;
    const size_t length = dash && !side ? (size_t)(dash - name) : strlen(name);
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (strncmp(input_rows[i].name, name, length) == 0 && !input_rows[i].name[length])
            return &input_rows[i];
    return NULL; /* every row names an input: the tests walk the table */
}

bool ulp_unit_is_plain(const struct ulp_unit *unit)
{
    const struct ulp_unit_input *a = ulp_unit_input(unit, 0);
    return a == ulp_unit_input(unit, 1) && *a->format && !*a->scale &&
           strcmp(unit->unit_class, "m8n8k4") != 0;
}

int ulp_unit_accumulator_bits(const struct ulp_unit *unit)
{
    return unit->output == ULP_UNIT_RNE_FP16 ? 16 : unit->output == ULP_UNIT_RNE_FP64 ? 64 : 32;
}

/* The format of the row's accumulator as arithmetics name it. */
static const char *accumulator_format(const struct ulp_unit *unit)
{
    return unit->output == ULP_UNIT_RNE_FP16   ? "fp16"
           : unit->output == ULP_UNIT_RNE_FP64 ? "fp64"
                                               : "fp32";
}

/* Does the unit multiply the arithmetic's factors? With scales inside: of elements, types of scales
 * and blocks; FP4 beside FP4 has a unit of its own. */
static bool multiplies(const struct ulp_unit *unit, const struct ulp_arithmetic *arithmetic)
{
    const struct ulp_unit_input *a = ulp_unit_input(unit, 0), *b = ulp_unit_input(unit, 1);
    const struct ulp_scaling *scaling = arithmetic->scaling;
    const bool inside = ulp_scaling_is_inside(&scaling[0]);
    const char *second = scaling[0].name[0] && !ulp_scaling_is_fake(arithmetic)
                             ? scaling[1].element.name
                             : arithmetic->factor.name;
    const bool four =
        strcmp(arithmetic->factor.name, "fp4-e2m1") == 0 && strcmp(second, "fp4-e2m1") == 0;
    const bool own = inside && !ulp_scaling_is_fake(arithmetic);
    if (strcmp(a->format, arithmetic->factor.name) != 0 || strcmp(b->format, second) != 0 ||
        strcmp(unit->unit_class, "m8n8k4") == 0)
        return false;
    if (!own)
        return !*a->scale;
    return strcmp(a->scale, scaling[0].scale.name) == 0 && unit->scale_block == scaling[0].k &&
           four == (unit->kind == ULP_UNIT_SCALED_GROUPS);
}

const struct ulp_unit *ulp_unit_of(const struct ulp_arithmetic *arithmetic, struct ulp_error *error)
{
    const struct ulp_schedule *schedule = &arithmetic->schedule;
    const char *gpu = ulp_unit_gpu(schedule->gpu);
    struct ulp_text known = {0};
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        const struct ulp_unit *unit = &unit_rows[i];
        if (strcmp(unit->gpu, gpu) != 0)
            continue;
        if (strcmp(unit->unit_class, schedule->unit_class) == 0 && multiplies(unit, arithmetic) &&
            strcmp(accumulator_format(unit), arithmetic->accumulator.name) == 0) {
            ulp_text_free(&known);
            return unit;
        }
        if (ulp_unit_is_plain(unit))
            ulp_text_add(&known, "%s%s %s -> %s", known.length ? ", " : "", unit->unit_class,
                         ulp_unit_input(unit, 0)->format, accumulator_format(unit));
    }
    ulp_fail(error, ULP_ERROR_UNSUPPORTED,
             "arithmetic %s: no matrix unit of '%s' multiplies %s into %s with '%s'. It has: %s",
             arithmetic->name, schedule->gpu, arithmetic->factor.name, arithmetic->accumulator.name,
             schedule->unit_class,
             known.length ? known.data : "none; `ulpscope list units` shows all GPUs");
    ulp_text_free(&known);
    return NULL;
}
