/* Arithmetics by name: the table of bases, the GPUs' units, and the rules by which a request
 * becomes an arithmetic. The canonical name is the shortest request found that resolves to the same
 * arithmetic: equal arithmetics have equal names, and parsing a name gives its arithmetic back. */
#include <ulpscope/format.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "number/format/request.h"
#include "number/round/round.h"

#define BASES_KNOWN                                                                              \
    "fp64, fp32, fp16, bf16, tf32, tf32-trunc, fp8-e4m3, fp8-e5m2, fp8-e4m3fnuz, fp8-e5m2fnuz, " \
    "eXmY (as e5m7), "                                                                           \
    "each of these but tf32-trunc with -strict, mpfr:P (as mpfr:128)"

static const char *const presets[] = {"fp64",     "fp32",        "fp16",  "fp16-strict",
                                      "bf16",     "bf16-strict", "tf32",  "tf32-trunc",
                                      "fp8-e4m3", "fp8-e5m2",    "model", "mpfr:128"};

const char *ulp_arithmetic_preset(size_t index)
{
    return index < sizeof presets / sizeof presets[0] ? presets[index] : NULL;
}

/* What a base means before any part is set. */
struct base {
    const char *name;
    const char *storage, *factor, *compute, *accumulator;
    enum ulp_rounding_place place;
    bool unit, fused;
    enum ulp_rounding operands;
};
/* clang-format off */
static const struct base bases[] = {
    {"fp64", "fp64", "fp64", "fp64", "fp64", ULP_ROUND_EACH_STEP, false, true,
     ULP_ROUND_NEAREST_EVEN},
    {"fp32", "fp32", "fp32", "fp32", "fp32", ULP_ROUND_EACH_STEP, false, true,
     ULP_ROUND_NEAREST_EVEN},
    {"fp16", "fp16", "fp16", "fp32", "fp32", ULP_ROUND_RESULT, true, true, ULP_ROUND_NEAREST_EVEN},
    {"bf16", "bf16", "bf16", "fp32", "fp32", ULP_ROUND_RESULT, true, true, ULP_ROUND_NEAREST_EVEN},
    {"tf32", "fp32", "tf32", "fp32", "fp32", ULP_ROUND_EACH_STEP, true, true,
     ULP_ROUND_NEAREST_AWAY},
    {"tf32-trunc", "fp32", "tf32", "fp32", "fp32", ULP_ROUND_EACH_STEP, true, true,
     ULP_ROUND_TOWARD_ZERO},
    {"fp8-e4m3", "fp8-e4m3", "fp8-e4m3", "fp32", "fp32", ULP_ROUND_RESULT, true, true,
     ULP_ROUND_NEAREST_EVEN},
    {"fp8-e5m2", "fp8-e5m2", "fp8-e5m2", "fp32", "fp32", ULP_ROUND_RESULT, true, true,
     ULP_ROUND_NEAREST_EVEN},
    {"fp8-e4m3fnuz", "fp8-e4m3fnuz", "fp8-e4m3fnuz", "fp32", "fp32", ULP_ROUND_RESULT, false, true,
     ULP_ROUND_NEAREST_EVEN},
    {"fp8-e5m2fnuz", "fp8-e5m2fnuz", "fp8-e5m2fnuz", "fp32", "fp32", ULP_ROUND_RESULT, false, true,
     ULP_ROUND_NEAREST_EVEN},
};
/* clang-format on */
enum { BASE_COUNT = sizeof bases / sizeof bases[0] };

/* Formats that a matrix unit takes, as bits. FP64 units are chains of fused multiply-adds: what
 * fp64 is anyway. */
enum { FP16 = 1, BF16 = 2, TF32 = 4, FP8 = 8, FP64 = 16 };
static const struct {
    const char *name;
    unsigned bit;
    bool fp16_accumulator;
} unit_formats[] = {{"fp16", FP16, true},    {"bf16", BF16, false},   {"tf32", TF32, false},
                    {"fp8-e4m3", FP8, true}, {"fp8-e5m2", FP8, true}, {"fp64", FP64, false}};

static const struct {
    unsigned formats, classes;
    enum ulp_unit fp8_class; /* what the vendor's library uses for FP8; mma for the others */
} gpus[GPU_COUNT] = {
    [GPU_V100] = {FP16, 1 << UNIT_MMA, UNIT_NONE},
    [GPU_T4] = {FP16, 1 << UNIT_MMA, UNIT_NONE},
    [GPU_A100] = {FP16 | BF16 | TF32 | FP64, 1 << UNIT_MMA, UNIT_NONE},
    [GPU_A2] = {FP16 | BF16 | TF32 | FP64, 1 << UNIT_MMA, UNIT_NONE},
    [GPU_ADA] = {FP16 | BF16 | TF32 | FP8 | FP64, 1 << UNIT_MMA, UNIT_MMA},
    [GPU_L40S] = {FP16 | BF16 | TF32 | FP8 | FP64, 1 << UNIT_MMA, UNIT_MMA},
    [GPU_H100] = {FP16 | BF16 | TF32 | FP8 | FP64, 1 << UNIT_MMA | 1 << UNIT_WGMMA, UNIT_WGMMA},
    [GPU_H200] = {FP16 | BF16 | TF32 | FP8 | FP64, 1 << UNIT_MMA | 1 << UNIT_WGMMA, UNIT_WGMMA},
    [GPU_B200] = {FP16 | BF16 | TF32 | FP8 | FP64, 1 << UNIT_MMA | 1 << UNIT_TCGEN05, UNIT_TCGEN05},
};

static bool is_named(const struct ulp_format *format, const char *name)
{
    return strcmp(format->name, name) == 0;
}

static bool equal_formats(const struct ulp_format *a, const struct ulp_format *b)
{
    return is_named(a, b->name) && a->subnormals == b->subnormals && a->overflow == b->overflow;
}

static bool equal_arithmetics(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b)
{
    const struct ulp_schedule *s = &a->schedule, *t = &b->schedule;
    return equal_formats(&a->storage, &b->storage) && equal_formats(&a->factor, &b->factor) &&
           equal_formats(&a->accumulator, &b->accumulator) &&
           equal_formats(&a->compute, &b->compute) && a->rounding == b->rounding &&
           a->place == b->place && a->order == b->order && a->order_block == b->order_block &&
           a->reduce == b->reduce && a->reduce_block == b->reduce_block && a->seed == b->seed &&
           a->cuda_functions == b->cuda_functions && strcmp(s->gpu, t->gpu) == 0 &&
           strcmp(s->unit_class, t->unit_class) == 0 && s->fused == t->fused &&
           s->operand_rounding == t->operand_rounding && s->promote == t->promote &&
           s->split_k == t->split_k && s->epilogue_rounded == t->epilogue_rounded &&
           s->qdq_integer == t->qdq_integer;
}

/* The row of a base; names outside the table (eXmY, NAME-strict, mpfr:P) become a row in which all
 * is one format, whose name is kept in `name`. */
static enum ulp_status find_base(struct base *out, char name[32], const char *word,
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
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "%s is a format for storage only, of a model's own types; known: " BASES_KNOWN, name);
    const bool wide = status == ULP_OK && format.carrier == ULP_CARRIER_MPFR;
    if (status != ULP_OK || (strict && wide)) {
        static const char *const words[] = {"fp64",         "fp32",        "fp16",
                                            "bf16",         "tf32",        "tf32-trunc",
                                            "fp8-e4m3",     "fp8-e5m2",    "fp16-strict",
                                            "bf16-strict",  "fp32-strict", "fp8-e4m3fnuz",
                                            "fp8-e5m2fnuz", "mpfr:128",    NULL};
        static const char *const other_names[][2] = {{"double", "fp64"},  {"float64", "fp64"},
                                                     {"single", "fp32"},  {"float", "fp32"},
                                                     {"float32", "fp32"}, {"half", "fp16"},
                                                     {"float16", "fp16"}, {"bfloat16", "bf16"},
                                                     {"fp8", "fp8-e4m3"}, {"e4m3", "fp8-e4m3"},
                                                     {"mpfr", "mpfr:128"}};
        const char *near = word;
        for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
            if (strcmp(word, other_names[i][0]) == 0)
                near = other_names[i][1];
        char hint[64];
        return ulp_fail(error, ULP_ERROR_USAGE, "unknown base \"%s\"%s; known: " BASES_KNOWN, word,
                        ulp_suggest(hint, near, words));
    }
    *out = (struct base){.name = word,
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

/* compute and place: either one implies the other. */
static enum ulp_status resolve_steps(struct ulp_arithmetic *out, const struct ulp_request *request,
                                     const struct base *base, struct ulp_error *error)
{
    const bool differs =
        request->given[PART_COMPUTE] && !is_named(&request->compute, out->storage.name);
    if (request->given[PART_PLACE])
        out->place = request->choice[PART_PLACE] ? ULP_ROUND_EACH_STEP : ULP_ROUND_RESULT;
    else if (request->given[PART_COMPUTE])
        out->place = differs ? ULP_ROUND_RESULT : ULP_ROUND_EACH_STEP;
    if (out->place == ULP_ROUND_EACH_STEP) {
        if (differs)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "each-step rounds every step to the storage format %s, so compute=%s "
                            "contradicts it; "
                            "leave out one of the two",
                            out->storage.name, request->compute.name);
        out->compute = out->storage;
        return ULP_OK;
    }
    if (request->given[PART_COMPUTE] && !differs)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "result-only with compute=%s, the storage format, is each-step; say "
                        "each-step, or name a "
                        "wider compute format",
                        out->storage.name);
    if (request->given[PART_COMPUTE]) {
        out->compute = request->compute;
    } else if (base->place == ULP_ROUND_EACH_STEP) {
        ulp_format_find("fp32", &out->compute, NULL);
        if (is_named(&out->storage, "fp32") || !ulp_format_holds(&out->compute, &out->storage))
            ulp_format_find("fp64", &out->compute, NULL);
        if (is_named(&out->storage, "fp64"))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "fp64,result-only: there is no wider compute format than fp64");
    }
    if (!ulp_format_holds(&out->compute, &out->storage))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "compute=%s cannot hold every value of the storage format %s; take a "
                        "format with at least its "
                        "precision and its exponents, as fp32 or fp64",
                        out->compute.name, out->storage.name);
    return ULP_OK;
}

static enum ulp_status resolve_unit(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    const struct base *base, bool *has_unit,
                                    struct ulp_error *error)
{
    const bool none = request->given[PART_UNIT] && request->choice[PART_UNIT] == UNIT_NONE;
    const bool asked = request->given[PART_GPU] || (request->given[PART_UNIT] && !none);
    const enum ulp_gpu gpu =
        request->given[PART_GPU] ? (enum ulp_gpu)request->choice[PART_GPU] : GPU_H200;
    *has_unit = false;
    if (none && request->given[PART_GPU])
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "unit=none (no matrix unit) contradicts @%s (that GPU's unit)",
                        ulp_gpu_names[gpu]);
    if (none || !(asked || base->unit))
        return ULP_OK;
    unsigned bit = 0;
    bool fp16_accumulator = false;
    for (size_t i = 0; i < sizeof unit_formats / sizeof unit_formats[0]; i++)
        if (is_named(&out->factor, unit_formats[i].name)) {
            bit = unit_formats[i].bit;
            fp16_accumulator = unit_formats[i].fp16_accumulator;
        }
    if (!asked && !bit)
        return ULP_OK; /* factor= chose a format that no unit takes: scalar chains */
    if (!bit || !(gpus[gpu].formats & bit))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s has no matrix unit for products of %s%s",
                        ulp_gpu_names[gpu], out->factor.name,
                        bit ? "; take another GPU"
                        : is_named(&out->factor, "fp32")
                            ? "; tf32 is what such units do with FP32 data"
                            : "; units take fp16, bf16, tf32, fp8-e4m3, fp8-e5m2 and fp64");
    const bool fp8 = bit == FP8;
    const enum ulp_unit class = request->given[PART_UNIT]
                                    ? (enum ulp_unit)request->choice[PART_UNIT]
                                : fp8 ? gpus[gpu].fp8_class
                                      : UNIT_MMA;
    if (!(gpus[gpu].classes >> class & 1))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s has no %s instructions; its classes are mma%s",
                        ulp_gpu_names[gpu], ulp_unit_names[class],
                        gpus[gpu].classes >> UNIT_WGMMA & 1     ? " and wgmma"
                        : gpus[gpu].classes >> UNIT_TCGEN05 & 1 ? " and tcgen05"
                                                                : " only");
    if (bit == FP64) {
        if (is_named(&out->accumulator, "fp64"))
            return ULP_OK;
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "an FP64 matrix unit adds in fp64: acc=%s contradicts it",
                        out->accumulator.name);
    }
    if (!is_named(&out->accumulator, "fp32") &&
        !(fp16_accumulator && is_named(&out->accumulator, "fp16")))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "the matrix unit of %s adds products of %s in fp32%s, not in %s; unit=none "
                        "gives a scalar chain "
                        "in any accumulator",
                        ulp_gpu_names[gpu], out->factor.name, fp16_accumulator ? " or fp16" : "",
                        out->accumulator.name);
    *has_unit = true;
    snprintf(out->schedule.gpu, sizeof out->schedule.gpu, "%s", ulp_gpu_names[gpu]);
    snprintf(out->schedule.unit_class, sizeof out->schedule.unit_class, "%s",
             ulp_unit_names[class]);
    return ULP_OK;
}

/* The order of rows: as said; else that of order=; else what kernels do on a GPU whose matrix unit
 * is named. */
static void resolve_rows(struct ulp_arithmetic *out, const struct ulp_request *request,
                         bool has_unit)
{
    if (request->given[PART_REDUCE]) {
        out->reduce = (enum ulp_order)request->choice[PART_REDUCE];
        out->reduce_block = out->reduce == ULP_ORDER_BLOCKED ? request->reduce_block : 0;
    } else if (!request->given[PART_ORDER] && has_unit) {
        out->reduce = ULP_ORDER_WARP;
    } else {
        out->reduce = out->order;
        out->reduce_block = out->order_block;
    }
}

/* Factor, accumulator, unit and the rest of the schedule. */
static enum ulp_status resolve_sums(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    const struct base *base, struct ulp_error *error)
{
    bool has_unit;
    if (request->given[PART_FACTOR])
        out->factor = request->factor;
    if (request->given[PART_ACCUMULATOR])
        out->accumulator = request->accumulator;
    const enum ulp_status status = resolve_unit(out, request, base, &has_unit, error);
    if (status != ULP_OK)
        return status;
    if (!has_unit && ulp_format_holds(&out->factor, &out->storage))
        out->factor = out->storage;
    if (request->given[PART_ORDER]) {
        out->order = (enum ulp_order)request->choice[PART_ORDER];
        out->order_block = request->order_block;
    }
    resolve_rows(out, request, has_unit);
    const bool pairwise = out->order == ULP_ORDER_PAIRWISE;
    if (request->given[PART_FUSED] && has_unit)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "fma and nofma are about scalar chains, and a matrix unit (%s) adds the "
                        "products; say unit=none",
                        out->schedule.gpu);
    if (request->given[PART_FUSED] && request->choice[PART_FUSED] && pairwise)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "order=pairwise adds rounded products, so there is no multiply-add to "
                        "fuse: leave out fma");
    out->schedule.fused =
        !has_unit && !pairwise &&
        (request->given[PART_FUSED] ? request->choice[PART_FUSED] == 1 : base->fused);
    const bool exact = ulp_format_holds(&out->factor, &out->storage);
    if (request->given[PART_OPERANDS] && exact)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "operands= has no meaning here: factors of format %s hold every %s value, "
                        "nothing is rounded",
                        out->factor.name, out->storage.name);
    out->schedule.operand_rounding = exact ? ULP_ROUND_NEAREST_EVEN
                                     : request->given[PART_OPERANDS]
                                         ? (enum ulp_rounding)request->choice[PART_OPERANDS]
                                         : base->operands;
    struct ulp_format fp32;
    ulp_format_find("fp32", &fp32, NULL);
    if (request->given[PART_PROMOTE]) {
        if (!ulp_format_holds(&fp32, &out->accumulator))
            return ulp_fail(
                error, ULP_ERROR_USAGE,
                "promote= adds chains to an fp32 sum, which cannot hold the accumulator %s",
                out->accumulator.name);
        out->schedule.promote = request->choice[PART_PROMOTE];
    }
    if (request->given[PART_SPLIT] && request->choice[PART_SPLIT] > 1)
        out->schedule.split_k = request->choice[PART_SPLIT];
    out->schedule.qdq_integer = request->given[PART_QDQ] && request->choice[PART_QDQ];
    out->schedule.epilogue_rounded =
        request->given[PART_EPILOGUE] && request->choice[PART_EPILOGUE];
    if (out->schedule.epilogue_rounded && ulp_format_holds(&out->storage, &out->accumulator) &&
        !out->schedule.promote && !out->schedule.split_k)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "epilogue=rounded has no meaning here: %s, the storage format, holds every "
                        "sum of format %s",
                        out->storage.name, out->accumulator.name);
    return ULP_OK;
}

/* Subnormals and overflow are the storage format's, and that of every part with the same format,
 * except an accumulator that belongs to a matrix unit. */
static enum ulp_status resolve_range(struct ulp_arithmetic *out, const struct ulp_request *request,
                                     struct ulp_error *error)
{
    const int overflow = request->choice[PART_OVERFLOW];
    if (request->given[PART_OVERFLOW] && overflow == ULP_OVERFLOW_INFINITY &&
        !ulp_format_has_infinity(&out->storage))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "overflow=inf: %s has no infinity; take overflow=nan or overflow=saturate",
                        out->storage.name);
    struct ulp_format *const parts[] = {&out->factor, &out->compute, &out->accumulator,
                                        &out->storage};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!is_named(parts[i], out->storage.name) ||
            (parts[i] == &out->accumulator && out->schedule.gpu[0]))
            continue;
        if (request->given[PART_SUBNORMALS])
            parts[i]->subnormals = request->choice[PART_SUBNORMALS] == 1;
        if (request->given[PART_OVERFLOW])
            parts[i]->overflow = (enum ulp_overflow)overflow;
    }
    return ULP_OK;
}

/* CUDA's functions are FP32's. Left out, they are what runs beside a matrix unit. */
static enum ulp_status resolve_functions(struct ulp_arithmetic *out,
                                         const struct ulp_request *request, struct ulp_error *error)
{
    const bool given = request->given[PART_FUNCTIONS];
    const bool possible = is_named(&out->compute, "fp32") && out->compute.subnormals &&
                          out->compute.overflow == ULP_OVERFLOW_INFINITY &&
                          out->rounding == ULP_ROUND_NEAREST_EVEN;
    out->cuda_functions =
        given ? request->choice[PART_FUNCTIONS] : possible && out->schedule.gpu[0];
    if (out->cuda_functions && !possible)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "functions=cuda: those of CUDA compute in FP32, to nearest even, with "
                        "subnormals; this arithmetic "
                        "does not; take functions=rounded");
    return ULP_OK;
}

static enum ulp_status resolve(struct ulp_arithmetic *out, const struct ulp_request *request,
                               struct ulp_error *error)
{
    struct base base = {0};
    char name[32];
    enum ulp_status status = find_base(&base, name, request->base, error);
    if (status != ULP_OK)
        return status;
    memset(out, 0, sizeof *out);
    ulp_format_find(base.storage, &out->storage, NULL);
    ulp_format_find(base.factor, &out->factor, NULL);
    ulp_format_find(base.compute, &out->compute, NULL);
    ulp_format_find(base.accumulator, &out->accumulator, NULL);
    out->place = base.place;
    const bool wide_part =
        (request->given[PART_COMPUTE] && request->compute.carrier == ULP_CARRIER_MPFR) ||
        (request->given[PART_FACTOR] && request->factor.carrier == ULP_CARRIER_MPFR) ||
        (request->given[PART_ACCUMULATOR] && request->accumulator.carrier == ULP_CARRIER_MPFR);
    const bool wide = out->storage.carrier == ULP_CARRIER_MPFR;
    for (int part = 0; part < PART_COUNT; part++)
        if (wide && request->given[part])
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s is the reference, every step to nearest even at that precision; it "
                            "takes no parts",
                            request->base);
    if (wide_part)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "mpfr:P is an arithmetic of its own and no part of another; fp64 is the "
                        "widest format for compute=, factor= and acc=");
    if (request->given[PART_ROUND])
        out->rounding = (enum ulp_rounding)request->choice[PART_ROUND];
    if (request->given[PART_SEED] && out->rounding != ULP_ROUND_STOCHASTIC)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "seed= has no meaning without round=sr (stochastic rounding)");
    out->seed = request->given[PART_SEED] ? request->seed : 0;
    status = resolve_steps(out, request, &base, error);
    if (status == ULP_OK)
        status = resolve_sums(out, request, &base, error);
    if (status == ULP_OK)
        status = resolve_range(out, request, error);
    return status == ULP_OK ? resolve_functions(out, request, error) : status;
}

/* Every part of an arithmetic, said explicitly on top of a base. */
static struct ulp_request request_all(const struct ulp_arithmetic *a, const char *base)
{
    const bool unit = a->schedule.gpu[0] != 0;
    struct ulp_format plain;
    ulp_format_find(a->storage.name, &plain, NULL);
    struct ulp_request request = {.seed = a->seed,
                                  .order_block = a->order_block,
                                  .reduce_block = a->reduce_block};
    ulp_format_find(a->compute.name, &request.compute, NULL);
    ulp_format_find(a->factor.name, &request.factor, NULL);
    ulp_format_find(a->accumulator.name, &request.accumulator, NULL);
    snprintf(request.base, sizeof request.base, "%.31s", base);
    int *choice = request.choice;
    for (int i = 0; unit && i < GPU_COUNT; i++)
        if (strcmp(a->schedule.gpu, ulp_gpu_names[i]) == 0)
            choice[PART_GPU] = i;
    for (int i = 0; unit && i < UNIT_COUNT; i++)
        if (strcmp(a->schedule.unit_class, ulp_unit_names[i]) == 0)
            choice[PART_UNIT] = i;
    choice[PART_ROUND] = a->rounding;
    choice[PART_PLACE] = a->place == ULP_ROUND_EACH_STEP;
    choice[PART_SUBNORMALS] = a->storage.subnormals;
    choice[PART_OVERFLOW] = a->storage.overflow;
    choice[PART_OPERANDS] = a->schedule.operand_rounding;
    choice[PART_ORDER] = a->order;
    choice[PART_REDUCE] = a->reduce;
    choice[PART_FUSED] = a->schedule.fused;
    choice[PART_PROMOTE] = a->schedule.promote;
    choice[PART_SPLIT] = a->schedule.split_k;
    choice[PART_EPILOGUE] = a->schedule.epilogue_rounded;
    choice[PART_QDQ] = a->schedule.qdq_integer;
    choice[PART_FUNCTIONS] = a->cuda_functions;
    for (int part = 0; part < PART_COUNT; part++)
        request.given[part] = true;
    request.given[PART_GPU] = unit;
    request.given[PART_SEED] = a->rounding == ULP_ROUND_STOCHASTIC;
    request.given[PART_OVERFLOW] = a->storage.overflow != plain.overflow;
    request.given[PART_OPERANDS] = !ulp_format_holds(&request.factor, &plain);
    /* every base's; else it would set reduce, too */
    request.given[PART_ORDER] = a->order != ULP_ORDER_SEQUENTIAL;
    request.given[PART_FUSED] = !unit && a->order != ULP_ORDER_PAIRWISE;
    request.given[PART_PROMOTE] = a->schedule.promote > 0;
    request.given[PART_SPLIT] = a->schedule.split_k > 0;
    request.given[PART_EPILOGUE] = a->schedule.epilogue_rounded;
    request.given[PART_QDQ] = a->schedule.qdq_integer;
    return request;
}

/* The shortest name on top of a base: parts are left out, last first, while the arithmetic stays
 * the same. */
static bool write_name(const struct ulp_arithmetic *a, const char *base, char name[sizeof a->name])
{
    struct ulp_arithmetic other;
    struct ulp_request request = request_all(a, base);
    if (a->storage.carrier == ULP_CARRIER_MPFR)
        memset(request.given, 0, sizeof request.given);
    if (resolve(&other, &request, NULL) != ULP_OK || !equal_arithmetics(a, &other))
        return false;
    for (int part = PART_COUNT - 1; part >= 0; part--) {
        const bool given = request.given[part];
        request.given[part] = false;
        if (given && (resolve(&other, &request, NULL) != ULP_OK || !equal_arithmetics(a, &other)))
            request.given[part] = true;
    }
    return ulp_request_write(&request, name, sizeof a->name);
}

static bool find_name(struct ulp_arithmetic *a)
{
    char candidates[4][32];
    snprintf(candidates[0], sizeof candidates[0], "%s", a->storage.name);
    snprintf(candidates[1], sizeof candidates[1], "%s-strict", a->storage.name);
    snprintf(candidates[2], sizeof candidates[2], "tf32");
    snprintf(candidates[3], sizeof candidates[3], "tf32-trunc");
    a->name[0] = 0;
    for (int i = 0; i < 4; i++) {
        char name[sizeof a->name];
        if (write_name(a, candidates[i], name) && (!a->name[0] || strlen(name) < strlen(a->name)))
            memcpy(a->name, name, sizeof name);
    }
    return a->name[0] != 0;
}

/* "model": fp32 where a model declares nothing else. */
static enum ulp_status find_declared(struct ulp_arithmetic *out, struct ulp_error *error)
{
    enum ulp_status status = ulp_arithmetic_find("fp32", out, error);
    if (status == ULP_OK) {
        out->as_declared = true;
        memcpy(out->name, "model", sizeof "model");
    }
    return status;
}

enum ulp_status ulp_arithmetic_find(const char *name, struct ulp_arithmetic *out,
                                    struct ulp_error *error)
{
    struct ulp_request request;
    struct ulp_arithmetic found;
    if (strcmp(name, "model") == 0)
        return find_declared(out, error);
    enum ulp_status status = ulp_request_read(&request, name, error);
    if (status == ULP_OK)
        status = resolve(&found, &request, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "arithmetic \"%.200s\"", name);
    if (!find_name(&found))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "arithmetic \"%.200s\": it has too many parts to be named", name);
    *out = found;
    return ULP_OK;
}
