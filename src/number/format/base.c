/* The table of bases: the first word of an arithmetic's name and what it sets. Adding a base is
 * adding a row. */
#include "number/format/base.h"

#include <stdio.h>
#include <string.h>
#include <ulpscope/target.h>

#include "base/error.h"
#include "number/format/request.h"
#include "number/format/scaling.h"

#define FORMAT_BASE(format) .name = format, .strict = format "-strict", .storage = format
#define STEPS(format) \
    .compute = format, .accumulator = format, .place = ULP_ROUND_EACH_STEP, .fused = true
/* As GPU kernels compute: FP32 inside an operator. */
#define KERNEL .compute = "fp32", .accumulator = "fp32", .place = ULP_ROUND_RESULT, .fused = true
/* The only list of bases by name. */
static const struct ulp_base bases[] = {
    {FORMAT_BASE("fp64"), .factor = "fp64", STEPS("fp64"), .preset = true},
    {FORMAT_BASE("fp32"), .factor = "fp32", STEPS("fp32"), .preset = true},
    {FORMAT_BASE("fp16"), .factor = "fp16", KERNEL, .unit = true, .preset = true,
     .strict_preset = true},
    {FORMAT_BASE("bf16"), .factor = "bf16", KERNEL, .unit = true, .preset = true,
     .strict_preset = true},
    {.name = "tf32",
     .strict = "tf32-strict",
     .storage = "fp32",
     .factor = "tf32",
     STEPS("fp32"),
     .unit = true,
     .operands = ULP_ROUND_NEAREST_AWAY,
     .preset = true},
    {.name = "tf32-trunc",
     .storage = "fp32",
     .factor = "tf32",
     STEPS("fp32"),
     .unit = true,
     .operands = ULP_ROUND_TOWARD_ZERO,
     .preset = true},
    {FORMAT_BASE("fp8-e4m3"), .factor = "fp8-e4m3", KERNEL, .unit = true, .preset = true},
    {FORMAT_BASE("fp8-e5m2"), .factor = "fp8-e5m2", KERNEL, .unit = true, .preset = true},
    {FORMAT_BASE("fp8-e4m3fnuz"), .factor = "fp8-e4m3fnuz", KERNEL},
    {FORMAT_BASE("fp8-e5m2fnuz"), .factor = "fp8-e5m2fnuz", KERNEL},
};
#undef FORMAT_BASE
#undef STEPS
#undef KERNEL
enum { BASE_COUNT = sizeof bases / sizeof bases[0] };

const char *ulp_arithmetic_preset(size_t index)
{
    static const char *const others[] = {"model", "ort-cpu", "pair", "mpfr:128"};
    for (int i = 0; i < BASE_COUNT; i++) {
        if (bases[i].preset && index-- == 0)
            return bases[i].name;
        if (bases[i].strict_preset && index-- == 0)
            return bases[i].strict;
    }
    return index < sizeof others / sizeof others[0] ? others[index] : NULL;
}

const char *ulp_base_of_storage(const char *storage, size_t index)
{
    for (int i = 0; i < BASE_COUNT; i++)
        if (strcmp(bases[i].storage, storage) == 0 && strcmp(bases[i].name, storage) != 0 &&
            index-- == 0)
            return bases[i].name;
    return NULL;
}

static void list_bases(char text[400])
{
    *text = 0;
    for (int i = 0; i < BASE_COUNT; i++)
        snprintf(text + strlen(text), 400 - strlen(text), "%s, ", bases[i].name);
    snprintf(
        text + strlen(text), 400 - strlen(text),
        "eXmY (as e5m7), each of these but tf32-trunc with -strict, pair, mpfr:P (as mpfr:128)");
}

static enum ulp_status fail_storage(const char *name, struct ulp_error *error)
{
    char known[400];
    list_bases(known);
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "%s is a format for storage only, of a model's own types; known: %s", name,
                    known);
}

/* "int8", "uint4", ... */
static bool is_integer_type(const char *word)
{
    word += *word == 'u';
    return strncmp(word, "int", 3) == 0 && word[3] >= '0' && word[3] <= '9';
}

static enum ulp_status fail_integer(const char *word, struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "\"%s\" is no arithmetic: it takes scales, which a model has in its "
                    "QuantizeLinear and DequantizeLinear; fp32,qdq=integer sums their integers as "
                    "an INT8 kernel does, and any arithmetic computes quantised weights as they "
                    "are stored",
                    word);
}

static enum ulp_status fail_unknown(const char *word, struct ulp_error *error)
{
    static const char *const other_names[][2] = {{"double", "fp64"},  {"float64", "fp64"},
                                                 {"single", "fp32"},  {"float", "fp32"},
                                                 {"float32", "fp32"}, {"half", "fp16"},
                                                 {"float16", "fp16"}, {"bfloat16", "bf16"},
                                                 {"fp8", "fp8-e4m3"}, {"e4m3", "fp8-e4m3"},
                                                 {"mpfr", "mpfr:128"}};
    const char *near = word, *words[2 * BASE_COUNT + 3];
    char hint[64], known[400];
    size_t count = 0;
    const struct ulp_target *target = ulp_target_find(word);
    struct ulp_scaling scaling;
    if (ulp_scaling_find(word, &scaling))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "\"%s\" is a format with scales, of factors of products and not of all "
                        "values: as bf16,factor=%s, or for weights alone bf16,weights=%s",
                        word, word, word);
    if (is_integer_type(word))
        return fail_integer(word, error);
    if (target)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "\"%s\" is a target, which --for takes; an arithmetic of it is %s", word,
                        target->lowered);
    for (int i = 0; i < BASE_COUNT; i++) {
        words[count++] = bases[i].name;
        if (bases[i].strict)
            words[count++] = bases[i].strict;
    }
    words[count++] = "pair";
    words[count++] = "mpfr:128";
    words[count] = NULL;
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        if (strcmp(word, other_names[i][0]) == 0)
            near = other_names[i][1];
    list_bases(known);
    return ulp_fail(error, ULP_ERROR_USAGE, "unknown base \"%s\"%s; known: %s", word,
                    ulp_suggest(hint, near, words), known);
}

enum ulp_status ulp_base_find(struct ulp_base *out, char name[32], const char *word,
                              struct ulp_error *error)
{
    for (int i = 0; i < BASE_COUNT; i++)
        if (strcmp(word, bases[i].name) == 0) {
            *out = bases[i];
            return ULP_OK;
        }
    snprintf(name, 32, "%s", word);
    char *dash = strstr(name, "-strict");
    const bool strict = dash && strcmp(dash, "-strict") == 0;
    if (strict)
        *dash = 0;
    struct ulp_format format;
    const bool pattern =
        strncmp(name, "mpfr:", 5) == 0 || (name[0] == 'e' && name[1] >= '0' && name[1] <= '9');
    const enum ulp_status status = ulp_format_find(name, &format, error);
    if (status != ULP_OK && pattern)
        return status;
    if (status == ULP_OK && format.lacks)
        return fail_storage(name, error);
    const bool wide = status == ULP_OK && format.carrier == ULP_CARRIER_MPFR;
    if (status != ULP_OK || (strict && wide))
        return fail_unknown(word, error);
    *out = (struct ulp_base){.name = word,
                             .storage = name,
                             .factor = name,
                             .compute = name,
                             .accumulator = name,
                             .place = ULP_ROUND_EACH_STEP,
                             .unit = false,
                             .fused = wide,
                             .operands = ULP_ROUND_NEAREST_EVEN};
    return ULP_OK;
}
