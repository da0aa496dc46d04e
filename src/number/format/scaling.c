/* The table of formats with scales, and the rules by which scales are chosen. Adding one is adding
 * a row. */
#include "number/format/scaling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "number/format/request.h"

/* clang-format off */
static const struct {
    const char *name, *element;
    int k, lines;
    const char *scale;
    bool tensor_scale;
    int integer; /* bits of integers, whose element has no row of formats; below 0: with zero points */
} rows[] = {
    /* OCP Microscaling Formats 1.0: 32 elements share a power of two */
    {"mxfp8", "fp8-e4m3", 32, 1, "fp8-e8m0", false, 0},
    {"mxfp8-e5m2", "fp8-e5m2", 32, 1, "fp8-e8m0", false, 0},
    {"mxfp6", "fp6-e2m3", 32, 1, "fp8-e8m0", false, 0},
    {"mxfp6-e3m2", "fp6-e3m2", 32, 1, "fp8-e8m0", false, 0},
    {"mxfp4", "fp4-e2m1", 32, 1, "fp8-e8m0", false, 0},
    /* NVIDIA: 16 elements share an E4M3 number, and all of a tensor an FP32 number */
    {"nvfp4", "fp4-e2m1", 16, 1, "fp8-e4m3", true, 0},
    /* FP8 with FP32 scales: of the tensor; 1; of a row (a token of a, a channel of b); of 128 k of a
     * row; of 128 k of 128 rows */
    {"fp8-tensor", "fp8-e4m3", 0, 0, "fp32", false, 0},
    {"fp8-cast", "fp8-e4m3", 0, 0, "fp32", false, 0},
    {"fp8-row", "fp8-e4m3", 0, 1, "fp32", false, 0},
    {"fp8-1x128", "fp8-e4m3", 128, 1, "fp32", false, 0},
    {"fp8-128x128", "fp8-e4m3", 128, 128, "fp32", false, 0},
    {"fp8-e5m2-tensor", "fp8-e5m2", 0, 0, "fp32", false, 0},
    {"fp8-e5m2-row", "fp8-e5m2", 0, 1, "fp32", false, 0},
    /* ONNX's integers, as QuantizeLinear and DequantizeLinear have them: signed ones without a zero
     * point (-127 to 127), unsigned ones with one, of the tensor or of a row; of 32 and 128 k of a
     * row as MatMulNBits and blocks of opset 21 */
    {"int8-tensor", "int8", 0, 0, "fp32", false, 8},
    {"int8-row", "int8", 0, 1, "fp32", false, 8},
    {"uint8-tensor", "uint8", 0, 0, "fp32", false, -8},
    {"uint8-row", "uint8", 0, 1, "fp32", false, -8},
    {"int16-tensor", "int16", 0, 0, "fp32", false, 16},
    {"uint16-tensor", "uint16", 0, 0, "fp32", false, -16},
    {"int4-row", "int4", 0, 1, "fp32", false, 4},
    {"int4-32", "int4", 32, 1, "fp32", false, 4},
    {"int4-128", "int4", 128, 1, "fp32", false, 4},
    {"uint4-32", "uint4", 32, 1, "fp32", false, -4},
    {"uint4-128", "uint4", 128, 1, "fp32", false, -4},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* Words for both factors: activations, and weights, as the quantisers of runtimes make them. */
static const struct {
    const char *word, *first, *weights;
} both[] = {
    {"int8", "int8-tensor", "int8-row"},
    {"uint8", "uint8-tensor", "int8-row"},
    {"int16", "int16-tensor", "int8-row"},
    {"uint16", "uint16-tensor", "int8-row"},
};

static const struct {
    const char *scale; /* the format of the scales that it chooses; NULL: not powers of two */
    const char *tensor; /* NULL, or the only row */
    const char *meaning;
} rules[] = {
    [ULP_SCALE_FLOOR] = {"fp8-e8m0", NULL, "2^(floor(log2 m) - e), m the block's largest magnitude and e the element's largest exponent, as the specification says: a little is clipped"},
    [ULP_SCALE_UP] = {"fp8-e8m0", NULL, "the smallest power of two with which nothing is clipped"},
    [ULP_SCALE_EVEN] = {"fp8-e8m0", NULL, "as the specification's, of the largest magnitude rounded to the element's bits"},
    [ULP_SCALE_LARGEST] = {NULL, NULL, "the block's largest magnitude over the element's"},
    [ULP_SCALE_ONE] = {NULL, "fp8-cast", "1, so that values beyond the largest are clipped"},
    [ULP_SCALE_FOUR_SIX] = {NULL, "nvfp4", "each block's largest magnitude becomes 6 or 4, whichever leaves the smaller squared error"},
};
/* clang-format on */
const char *const ulp_scale_rule_names[] = {"floor",    "up",  "even", "largest",
                                            "four-six", "one", NULL};

const char *ulp_scaling_row(size_t index)
{
    return index < ROW_COUNT ? rows[index].name : NULL;
}

/* Integers are the numbers of one binade and of what lies below it: of 8 bits -127 to 127 where
 * the sign has one, 0 to 255 (and as many below 0, which a zero point cuts off) where it has none.
 */
static struct ulp_format make_integer(const char *name, int bits, bool is_signed)
{
    const int precision = bits - is_signed;
    struct ulp_format format = {.precision = precision,
                                .emin = precision - 1,
                                .emax = precision - 1,
                                .max_finite = (double)((1 << precision) - 1),
                                .subnormals = true,
                                .lacks = ULP_LACKS_NAN,
                                .carrier = ULP_CARRIER_FLOAT,
                                .storage_bits = bits};
    snprintf(format.name, sizeof format.name, "%s", name);
    return format;
}

bool ulp_scaling_find(const char *name, struct ulp_scaling *out)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0) {
            const bool power = strcmp(rows[i].scale, "fp8-e8m0") == 0;
            *out = (struct ulp_scaling){.k = rows[i].k,
                                        .lines = rows[i].lines,
                                        .tensor_scale = rows[i].tensor_scale,
                                        .zero_point = rows[i].integer < 0,
                                        .rule = power ? ULP_SCALE_FLOOR : ULP_SCALE_LARGEST};
            if (strcmp(name, rules[ULP_SCALE_ONE].tensor) == 0)
                out->rule = ULP_SCALE_ONE;
            if (rows[i].integer)
                out->element =
                    make_integer(rows[i].element, abs(rows[i].integer), rows[i].integer > 0);
            else
                ulp_format_find(rows[i].element, &out->element, NULL);
            ulp_format_find(rows[i].scale, &out->scale, NULL);
            out->element.overflow = ULP_OVERFLOW_SATURATE;
            snprintf(out->name, sizeof out->name, "%s", name);
            return true;
        }
    return false;
}

bool ulp_scaling_find_word(const char *word, struct ulp_scaling out[2])
{
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        if (strcmp(both[i].word, word) == 0)
            return ulp_scaling_find(both[i].first, &out[0]) &&
                   ulp_scaling_find(both[i].weights, &out[1]);
    const bool found = ulp_scaling_find(word, &out[0]);
    if (found)
        out[1] = out[0];
    return found;
}

static enum ulp_status set_rule(struct ulp_scaling *scaling, enum ulp_scale_rule rule,
                                struct ulp_error *error)
{
    const bool power = ulp_scaling_is_power(scaling);
    if (power != (rules[rule].scale != NULL) ||
        (rules[rule].tensor && strcmp(rules[rule].tensor, scaling->name) != 0))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "scale=%s is no rule for the scales of %s, which are %s; known there: %s",
                        ulp_scale_rule_names[rule], scaling->name, scaling->scale.name,
                        power                   ? "floor, up, even"
                        : scaling->tensor_scale ? "largest, four-six"
                                                : "largest");
    scaling->rule = rule;
    return ULP_OK;
}

const char *ulp_scale_rule_meaning(enum ulp_scale_rule rule)
{
    return rules[rule].meaning;
}

static bool is_named(const struct ulp_format *format, const char *name)
{
    return strcmp(format->name, name) == 0;
}

/* The rule that was said, for every scale that there is. */
static enum ulp_status resolve_rule(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    struct ulp_error *error)
{
    struct ulp_scaling *const scalings[] = {&out->scaling[0], &out->scaling[1], &out->weights};
    for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++) {
        if (scalings[i]->name[0] && request->given[ULP_PART_SCALE])
            ULP_TRY(
                set_rule(scalings[i], (enum ulp_scale_rule)request->choice[ULP_PART_SCALE], error));
    }
    const bool used = ulp_scaling_is_used(out), known = is_named(&out->storage, "fp16") ||
                                                        is_named(&out->storage, "bf16") ||
                                                        is_named(&out->storage, "fp32");
    static const enum ulp_part parts[] = {ULP_PART_SCALE, ULP_PART_SCALED, ULP_PART_STATIC};
    static const char *const words[] = {"scale=", "scaled=", "scales="};
    for (int i = 0; i < 3; i++)
        if (request->given[parts[i]] && !used)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s has no meaning without scales; factor=nvfp4 or weights=mxfp4 have "
                            "them",
                            words[i]);
    out->scaled_modelopt = request->given[ULP_PART_SCALED] && request->choice[ULP_PART_SCALED];
    out->scales_static = request->given[ULP_PART_STATIC] && request->choice[ULP_PART_STATIC];
    if (out->scales_static && !ulp_scaling_has_tensor(&out->scaling[0]))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "scales=static needs factors with a scale of the whole tensor, as "
                        "factor=fp8-tensor, fp8-e5m2-tensor and nvfp4 have; %s has none",
                        out->scaling[0].name[0] ? out->scaling[0].name : out->weights.name);
    if (used &&
        (!known || out->rounding != ULP_ROUND_NEAREST_EVEN || !is_named(&out->accumulator, "fp32")))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "formats with scales stand beside a storage of bf16, fp16 or fp32 that is "
                        "rounded to nearest even, and sums in fp32; here they are %s and %s",
                        out->storage.name, out->accumulator.name);
    return ULP_OK;
}

/* Caches are attention's, also of one that the graph writes out, which is joined then. */
static enum ulp_status resolve_caches(struct ulp_arithmetic *out, const struct ulp_request *request,
                                      struct ulp_error *error)
{
    static const enum ulp_part parts[] = {ULP_PART_KEYS, ULP_PART_VALUES};
    for (int i = 0; i < 2; i++)
        if (request->given[parts[i]] || request->given[ULP_PART_CACHES])
            out->caches[i] = request->given[parts[i]] ? request->caches[i] : request->caches[2];
    const bool any = ulp_scaling_is_cached(out);
    out->cached = request->given[ULP_PART_CACHED]
                      ? (enum ulp_cached)request->choice[ULP_PART_CACHED]
                      : ULP_CACHED_TOKEN;
    static const enum ulp_part scales[] = {ULP_PART_KEY_SCALE, ULP_PART_VALUE_SCALE};
    for (int i = 0; i < 2; i++) {
        struct ulp_scaling *cache = &out->caches[i];
        if (!request->given[scales[i]])
            continue;
        if (!cache->name[0] || cache->k + cache->lines != 0 || cache->zero_point || out->cached)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s-scale= needs a format of %ss with one scale, as fp8-tensor and "
                            "int8-tensor, and not cached=",
                            i ? "value" : "key", i ? "value" : "key");
        memcpy(&cache->fixed, &request->choice[scales[i]], sizeof cache->fixed);
    }
    if (request->given[ULP_PART_CACHED] && out->cached && !any)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "cached= has no meaning without a format of keys= or values=");
    if (any &&
        (out->storage.carrier == ULP_CARRIER_MPFR || out->rounding != ULP_ROUND_NEAREST_EVEN))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "caches with scales stand beside a storage of at most fp64 that is rounded "
                        "to nearest even");
    out->attention_joined |= any;
    return ULP_OK;
}

enum ulp_status ulp_scaling_resolve(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    struct ulp_error *error)
{
    if (request->given[ULP_PART_FACTOR])
        out->scaling[0] = out->scaling[1] = request->scaling[0];
    if (request->given[ULP_PART_WEIGHTS])
        out->weights = request->weights;
    if (request->given[ULP_PART_FACTOR_B]) {
        const struct ulp_scaling *a = &out->scaling[0], *b = &request->scaling[1];
        const bool integers = ulp_scaling_is_integer(a) && ulp_scaling_is_integer(b);
        if (ulp_scaling_is_integer(a) != ulp_scaling_is_integer(b) ||
            (!integers &&
             (!a->name[0] || strcmp(a->scale.name, b->scale.name) != 0 || a->k != b->k ||
              a->tensor_scale != b->tensor_scale || (!a->lines != !b->lines && a->k == 0))))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "factor-b=%s needs factor= with scales of the same kind, as "
                            "factor=mxfp8,factor-b=mxfp4 or factor=fp8-1x128,factor-b=fp8-128x128",
                            b->name);
        out->scaling[1] = *b;
    }
    if (out->scaling[0].name[0])
        out->factor = out->scaling[0].element;
    if (out->weights.name[0] && out->scaling[0].name[0])
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "weights=%s contradicts factor=%s, which says the weights' format, too; "
                        "say factor-b=",
                        out->weights.name, out->scaling[0].name);
    ULP_TRY(resolve_caches(out, request, error));
    return resolve_rule(out, request, error);
}

int ulp_factor_range_order(const void *a, const void *b)
{
    const struct ulp_factor_range *x = a, *y = b;
    const int nodes = strcmp(x->node, y->node);
    return nodes ? nodes : strcmp(x->factor, y->factor);
}
