/* Arithmetics by name: the GPUs' units, and the rules by which a request becomes an arithmetic. The
 * canonical name is the shortest request found that resolves to the same arithmetic: equal
 * arithmetics have equal names, and parsing a name gives its arithmetic back. */
#include <ulpscope/format.h>

#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "number/format/base.h"
#include "number/format/request.h"
#include "number/round/round.h"

/* Formats that a matrix unit takes, as bits. */
enum { FP16 = 1, BF16 = 2, TF32 = 4, FP8 = 8, FP64 = 16 };
static const struct {
    const char *name;
    unsigned bit;
    bool fp16_accumulator;
} unit_formats[] = {{"fp16", FP16, true},    {"bf16", BF16, false},   {"tf32", TF32, false},
                    {"fp8-e4m3", FP8, true}, {"fp8-e5m2", FP8, true}, {"fp64", FP64, false}};

static const struct {
    unsigned formats;
    enum ulp_unit_class fp8_class; /* every GPU has mma, too */
    const char *other;
} gpus[GPU_COUNT] = {
#define GPU(NAME, name, formats, class, other) [GPU_##NAME] = {formats, UNIT_##class, "@" other},
#include "number/format/gpu.def"
#undef GPU
};

static bool is_named(const struct ulp_format *format, const char *name)
{
    return strcmp(format->name, name) == 0;
}

static bool equal_formats(const struct ulp_format *a, const struct ulp_format *b)
{
    return is_named(a, b->name) && a->subnormals == b->subnormals && a->overflow == b->overflow;
}

/* compute and place: either one implies the other. */
static enum ulp_status resolve_steps(struct ulp_arithmetic *out, const struct ulp_request *request,
                                     const struct ulp_base *base, struct ulp_error *error)
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
                                    const struct ulp_base *base, bool *has_unit,
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
    const enum ulp_unit_class own = gpus[gpu].fp8_class,
                              class = request->given[PART_UNIT]
                                          ? (enum ulp_unit_class)request->choice[PART_UNIT]
                                      : fp8 ? own
                                            : UNIT_MMA;
    if (class != UNIT_MMA && class != own)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s has no %s instructions; its classes are mma%s%s", ulp_gpu_names[gpu],
                        ulp_unit_names[class], own == UNIT_MMA ? " only" : " and ",
                        own == UNIT_MMA ? "" : ulp_unit_names[own]);
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
                                    const struct ulp_base *base, struct ulp_error *error)
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
    struct ulp_format *const parts[] = {&out->factor, &out->compute, &out->accumulator, &out->inner,
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

static enum ulp_status resolve_constants(struct ulp_arithmetic *out,
                                         const struct ulp_request *request, struct ulp_error *error)
{
    out->constants = request->given[PART_CONSTANTS]
                         ? (enum ulp_constants)request->choice[PART_CONSTANTS]
                         : ULP_CONSTANTS_SATURATED;
    out->scales_lowered = request->given[PART_SCALES] && request->choice[PART_SCALES];
    if (out->constants == ULP_CONSTANTS_ONNXCONVERTER && !is_named(&out->storage, "fp16"))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "constants=onnxconverter-common: that converter makes FP16 and no %s; take "
                        "constants=saturated, ieee or tensorrt",
                        out->storage.name);
    return ULP_OK;
}

/* What is fused, and the format inside. */
static enum ulp_status resolve_fusion(struct ulp_arithmetic *out, const struct ulp_request *request,
                                      struct ulp_error *error)
{
    out->fuse =
        request->given[PART_FUSE] ? (enum ulp_fuse)request->choice[PART_FUSE] : ULP_FUSE_NONE;
    out->inner = request->given[PART_INNER] ? request->inner : out->compute;
    out->inner_constants = out->fuse != ULP_FUSE_NONE && (!request->given[PART_INNER_CONSTANTS] ||
                                                          request->choice[PART_INNER_CONSTANTS]);
    if ((request->given[PART_INNER] || request->given[PART_INNER_CONSTANTS]) &&
        out->fuse == ULP_FUSE_NONE)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "fuse-inner= and fuse-constants= have no meaning without fuse=pointwise or "
                        "fuse=reduce");
    if (out->fuse != ULP_FUSE_NONE && out->place == ULP_ROUND_EACH_STEP)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "fuse= has no meaning here: every step is rounded to %s, the storage "
                        "format, in one kernel as in many",
                        out->storage.name);
    if (out->fuse != ULP_FUSE_NONE && (out->inner.carrier != out->storage.carrier ||
                                       !ulp_format_holds(&out->inner, &out->storage)))
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "fuse= with values in %s inside: it must hold every value of the storage "
            "format %s and be no wider than FP32; take fuse-inner=%s or fuse-inner=fp32",
            out->inner.name, out->storage.name, out->storage.name);
    return ULP_OK;
}

static enum ulp_status resolve(struct ulp_arithmetic *out, const struct ulp_request *request,
                               struct ulp_error *error)
{
    struct ulp_base base = {0};
    char name[32];
    enum ulp_status status = ulp_base_find(&base, name, request->base, error);
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
        status = resolve_fusion(out, request, error);
    if (status == ULP_OK)
        status = resolve_range(out, request, error);
    if (status == ULP_OK)
        status = resolve_functions(out, request, error);
    out->sum = out->storage;
    return status == ULP_OK ? resolve_constants(out, request, error) : status;
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
    ulp_format_find(a->inner.name, &request.inner, NULL);
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
    choice[PART_CONSTANTS] = a->constants;
    choice[PART_SCALES] = a->scales_lowered;
    choice[PART_FUSE] = a->fuse;
    choice[PART_INNER_CONSTANTS] = a->inner_constants;
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
    request.given[PART_FUSE] = request.given[PART_INNER] = request.given[PART_INNER_CONSTANTS] =
        a->fuse != ULP_FUSE_NONE;
    return request;
}

/* The same formats, and the same parts when all are said. */
static bool equal_arithmetics(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b)
{
    const struct ulp_request x = request_all(a, ""), y = request_all(b, "");
    return equal_formats(&a->storage, &b->storage) && equal_formats(&a->factor, &b->factor) &&
           equal_formats(&a->accumulator, &b->accumulator) &&
           equal_formats(&a->compute, &b->compute) && equal_formats(&a->inner, &b->inner) &&
           x.seed == y.seed && x.order_block == y.order_block && x.reduce_block == y.reduce_block &&
           memcmp(x.given, y.given, sizeof x.given) == 0 &&
           memcmp(x.choice, y.choice, sizeof x.choice) == 0;
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

/* The same, unless a->name is shorter already. */
static void try_name(struct ulp_arithmetic *a, const char *base)
{
    char name[sizeof a->name];
    if (write_name(a, base, name) && (!a->name[0] || strlen(name) < strlen(a->name)))
        memcpy(a->name, name, sizeof name);
}

static bool find_name(struct ulp_arithmetic *a)
{
    char strict[sizeof a->storage.name + sizeof "-strict"];
    const char *other;
    snprintf(strict, sizeof strict, "%s-strict", a->storage.name);
    a->name[0] = 0;
    try_name(a, a->storage.name);
    try_name(a, strict);
    for (size_t i = 0; (other = ulp_base_of_storage(a->storage.name, i)) != NULL; i++)
        try_name(a, other);
    return a->name[0] != 0;
}

/* "model" and "ort-cpu": fp32 where a model declares nothing else. */
static enum ulp_status find_declared(struct ulp_arithmetic *out, const char *name,
                                     struct ulp_error *error)
{
    enum ulp_status status = ulp_arithmetic_find("fp32", out, error);
    if (status == ULP_OK) {
        out->as_declared = true;
        out->half_as_float = strcmp(name, "ort-cpu") == 0;
        snprintf(out->name, sizeof out->name, "%s", name);
    }
    return status;
}

static enum ulp_status find_requested(const struct ulp_request *request, const char *name,
                                      struct ulp_arithmetic *out, struct ulp_error *error)
{
    struct ulp_arithmetic found;
    const enum ulp_status status = resolve(&found, request, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "arithmetic \"%.200s\"", name);
    if (!find_name(&found))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "arithmetic \"%.200s\": it has too many parts to be named", name);
    *out = found;
    return ULP_OK;
}

enum ulp_status ulp_arithmetic_find(const char *name, struct ulp_arithmetic *out,
                                    struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_request request;
    if (strcmp(name, "model") == 0 || strcmp(name, "ort-cpu") == 0)
        return find_declared(out, name, error);
    const enum ulp_status status = ulp_request_read(&request, name, error);
    return status == ULP_OK ? find_requested(&request, name, out, error)
                            : ulp_fail_at(error, status, "arithmetic \"%.200s\"", name);
}

enum ulp_status ulp_arithmetic_change(struct ulp_arithmetic *out, const struct ulp_arithmetic *base,
                                      const char *part, struct ulp_error *error)
{
    struct ulp_request request;
    if (base->as_declared)
        return ulp_fail(error, ULP_ERROR_USAGE, "arithmetic \"%s\" takes no parts", base->name);
    enum ulp_status status = ulp_request_read(&request, base->name, error);
    if (status == ULP_OK)
        status = ulp_request_change(&request, part, error);
    return status == ULP_OK ? find_requested(&request, base->name, out, error) : status;
}

const char *ulp_arithmetic_other_gpu(const struct ulp_arithmetic *arithmetic)
{
    for (int i = 0; i < GPU_COUNT; i++)
        if (strcmp(ulp_gpu_names[i], arithmetic->schedule.gpu) == 0)
            return gpus[i].other;
    return NULL;
}
