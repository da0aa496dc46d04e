/* The rules by which a request becomes an arithmetic, and the GPUs' units.
 *
 * A base gives every part a value, and what is requested replaces it. A part that was left out may
 * follow another one (compute and place, the unit of factor=, the order of rows), so parts are
 * settled in an order in which each depends on those before it: steps, the three questions of a sum
 * of products (which operands go in, how it is summed, what becomes of the sum), fusion, range,
 * functions, attention, constants. Every combination that would change nothing, or that nothing
 * computes, is refused where the last of its parts is settled: an arithmetic has one name. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "number/format/base.h"
#include "number/format/gpu.h"
#include "number/format/request.h"
#include "number/format/scaling.h"
#include "number/round/round.h"

static bool is_named(const struct ulp_format *format, const char *name)
{
    return strcmp(format->name, name) == 0;
}

/* What was asked of the part; `otherwise` when nothing was. */
static int chosen(const struct ulp_request *request, enum ulp_part part, int otherwise)
{
    return request->given[part] ? request->choice[part] : otherwise;
}

/* compute and place: either one implies the other. */
static enum ulp_status resolve_steps(struct ulp_arithmetic *out, const struct ulp_request *request,
                                     const struct ulp_base *base, struct ulp_error *error)
{
    const bool differs =
        request->given[ULP_PART_COMPUTE] && !is_named(&request->compute, out->storage.name);
    if (request->given[ULP_PART_PLACE])
        out->place = request->choice[ULP_PART_PLACE] ? ULP_ROUND_EACH_STEP : ULP_ROUND_RESULT;
    else if (request->given[ULP_PART_COMPUTE])
        out->place = differs ? ULP_ROUND_RESULT : ULP_ROUND_EACH_STEP;
    if (out->place == ULP_ROUND_EACH_STEP) {
        if (differs)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "each-step rounds every step to the storage format %s, so compute=%s "
                            "contradicts it; leave out one of the two",
                            out->storage.name, request->compute.name);
        out->compute = out->storage;
        return ULP_OK;
    }
    if (request->given[ULP_PART_COMPUTE] && !differs)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "result-only with compute=%s, the storage format, is each-step; say "
                        "each-step, or name a wider compute format",
                        out->storage.name);
    if (request->given[ULP_PART_COMPUTE]) {
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
                        "format with at least its precision and its exponents, as fp32 or fp64",
                        out->compute.name, out->storage.name);
    return ULP_OK;
}

/* A format that matrix units take; NULL: none does. */
static const struct unit_format {
    const char *name;
    unsigned bit;
    bool fp16_accumulator;
} * find_unit_format(const struct ulp_format *factor)
{
    static const struct unit_format rows[] = {{"fp16", FP16, true},    {"bf16", BF16, false},
                                              {"tf32", TF32, false},   {"fp8-e4m3", FP8, true},
                                              {"fp8-e5m2", FP8, true}, {"fp64", FP64, false},
                                              {"fp6-e3m2", FP6, true}, {"fp6-e2m3", FP6, true},
                                              {"fp4-e2m1", FP6, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (is_named(factor, rows[i].name))
            return &rows[i];
    return NULL;
}

/* Does such a unit add products in this accumulator? */
static enum ulp_status check_accumulator(const struct ulp_arithmetic *out, enum ulp_gpu gpu,
                                         const struct unit_format *takes, struct ulp_error *error)
{
    const struct ulp_format *sum = &out->accumulator;
    if (takes->bit == FP64 && !is_named(sum, "fp64"))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "an FP64 matrix unit adds in fp64: acc=%s contradicts it", sum->name);
    if (takes->bit == FP64 || is_named(sum, "fp32") ||
        (takes->fp16_accumulator && is_named(sum, "fp16")))
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "the matrix unit of %s adds products of %s in fp32%s, not in %s; unit=none "
                    "gives a scalar chain in any accumulator",
                    ulp_gpu_names[gpu], out->factor.name, takes->fp16_accumulator ? " or fp16" : "",
                    sum->name);
}

/* The unit of that GPU. One of FP64 adds as a chain does, so it leaves no trace. */
static enum ulp_status set_unit(struct ulp_arithmetic *out, const struct ulp_request *request,
                                enum ulp_gpu gpu, const struct unit_format *takes,
                                struct ulp_error *error)
{
    if (!takes || !(ulp_gpus[gpu].formats & takes->bit))
        return ulp_fail(error, ULP_ERROR_USAGE, "%s has no matrix unit for products of %s%s",
                        ulp_gpu_names[gpu], out->factor.name,
                        takes ? "; take another GPU"
                        : is_named(&out->factor, "fp32")
                            ? "; tf32 is what such units do with FP32 data"
                            : "; units take fp16, bf16, tf32, fp8-e4m3, fp8-e5m2, fp6-e3m2, "
                              "fp6-e2m3, fp4-e2m1 and fp64");
    const enum ulp_unit_class own = ulp_gpus[gpu].fp8_class,
                              usual = takes->bit & (FP8 | FP6) ? own : ULP_UNIT_CLASS_MMA,
                              class = (enum ulp_unit_class)chosen(request, ULP_PART_UNIT, usual);
    if (takes->bit == FP6 && class != own)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s multiplies %s with its %s instructions; leave out unit=%s",
                        ulp_gpu_names[gpu], out->factor.name, ulp_unit_names[own],
                        ulp_unit_names[class]);
    if (class != ULP_UNIT_CLASS_MMA && class != own)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s has no %s instructions; its classes are mma%s%s", ulp_gpu_names[gpu],
                        ulp_unit_names[class], own == ULP_UNIT_CLASS_MMA ? " only" : " and ",
                        own == ULP_UNIT_CLASS_MMA ? "" : ulp_unit_names[own]);
    ULP_TRY(check_accumulator(out, gpu, takes, error));
    if (takes->bit == FP64)
        return ULP_OK;
    snprintf(out->schedule.gpu, sizeof out->schedule.gpu, "%s", ulp_gpu_names[gpu]);
    snprintf(out->schedule.unit_class, sizeof out->schedule.unit_class, "%s",
             ulp_unit_names[class]);
    return ULP_OK;
}

/* Has the GPU a unit for the factors and their scales? Else factors are scaled back to storage, and
 * multiplied as fake quantisation does. */
static bool takes_scales(const struct ulp_arithmetic *arithmetic, enum ulp_gpu gpu,
                         const struct ulp_request *request)
{
    if (ulp_scaling_is_integer(&arithmetic->scaling[0]))
        return false;
    const unsigned needed = ulp_scaling_is_inside(&arithmetic->scaling[0]) ? FP6 : FP8;
    const int own = ulp_gpus[gpu].fp8_class;
    return ulp_gpus[gpu].formats & needed && chosen(request, ULP_PART_UNIT, own) == own;
}

/* Where a unit is asked for, or the base has one and factor= no format that none takes. */
static enum ulp_status resolve_unit(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    const struct ulp_base *base, struct ulp_error *error)
{
    const bool none =
        request->given[ULP_PART_UNIT] && request->choice[ULP_PART_UNIT] == ULP_UNIT_CLASS_NONE;
    const bool scaled = out->scaling[0].name[0];
    const bool asked = request->given[ULP_PART_GPU] || (request->given[ULP_PART_UNIT] && !none) ||
                       (scaled && !ulp_scaling_is_integer(&out->scaling[0]));
    const enum ulp_gpu usual =
        ulp_scaling_is_inside(&out->scaling[0]) ? ULP_GPU_B200 : ULP_GPU_H200;
    const enum ulp_gpu gpu = (enum ulp_gpu)chosen(request, ULP_PART_GPU, (int)usual);
    if (scaled && (none || !takes_scales(out, gpu, request)))
        out->factor = out->storage;
    const struct unit_format *takes = find_unit_format(&out->factor);
    if (none && request->given[ULP_PART_GPU])
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "unit=none (no matrix unit) contradicts @%s (that GPU's unit)",
                        ulp_gpu_names[gpu]);
    const bool wanted = !none && (asked || (base->unit && takes));
    return wanted ? set_unit(out, request, gpu, takes, error) : ULP_OK;
}

/* The order of rows: as said; else that of order=; else what kernels do on a GPU whose matrix unit
 * is named. */
static void resolve_rows(struct ulp_arithmetic *out, const struct ulp_request *request,
                         bool has_unit)
{
    if (request->given[ULP_PART_REDUCE]) {
        out->reduce = (enum ulp_order)request->choice[ULP_PART_REDUCE];
        out->reduce_block = out->reduce == ULP_ORDER_BLOCKED ? request->reduce_block : 0;
    } else if (!request->given[ULP_PART_ORDER] && has_unit) {
        out->reduce = ULP_ORDER_WARP;
    } else {
        out->reduce = out->order;
        out->reduce_block = out->order_block;
    }
}

/* In what order, and whether a step is a multiply-add. */
static enum ulp_status resolve_chain(struct ulp_arithmetic *out, const struct ulp_request *request,
                                     const struct ulp_base *base, struct ulp_error *error)
{
    const bool has_unit = out->schedule.gpu[0];
    if (request->given[ULP_PART_ORDER]) {
        out->order = (enum ulp_order)request->choice[ULP_PART_ORDER];
        out->order_block = request->order_block;
    }
    out->rows = *ulp_wider_format(&out->compute, &out->accumulator);
    resolve_rows(out, request, has_unit);
    const bool pairwise = out->order == ULP_ORDER_PAIRWISE;
    if (request->given[ULP_PART_FUSED] && has_unit)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "fma and nofma are about scalar chains, and a matrix unit (%s) adds the "
                        "products; say unit=none",
                        out->schedule.gpu);
    if (request->given[ULP_PART_FUSED] && request->choice[ULP_PART_FUSED] && pairwise)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "order=pairwise adds rounded products, so there is no multiply-add to "
                        "fuse: leave out fma");
    out->schedule.fused =
        !has_unit && !pairwise && chosen(request, ULP_PART_FUSED, base->fused) == 1;
    return ULP_OK;
}

/* The first question of a sum: factors, and how values become them. */
static enum ulp_status resolve_operands(struct ulp_arithmetic *out,
                                        const struct ulp_request *request,
                                        const struct ulp_base *base, struct ulp_error *error)
{
    const bool exact = ulp_format_holds(&out->factor, &out->storage);
    if (request->given[ULP_PART_OPERANDS] && exact)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "operands= has no meaning here: factors of format %s hold every %s value, "
                        "nothing is rounded",
                        out->factor.name, out->storage.name);
    const bool tf32 = base->operands == ULP_ROUND_NEAREST_AWAY && out->schedule.gpu[0];
    out->schedule.operand_rounding =
        exact ? ULP_ROUND_NEAREST_EVEN
              : (enum ulp_rounding)chosen(request, ULP_PART_OPERANDS,
                                          (int)(tf32 ? ulp_gpu_find(out->schedule.gpu)->tf32
                                                     : base->operands));
    return ULP_OK;
}

/* Were the library's products in these formats recorded? */
static bool is_recorded(const struct ulp_arithmetic *a)
{
    const char *gpu = a->schedule.gpu;
    const bool hopper = strcmp(gpu, "h100") == 0 || strcmp(gpu, "h200") == 0;
    const bool halves = is_named(&a->factor, "fp16") || is_named(&a->factor, "bf16");
    const bool single = is_named(&a->storage, "fp32") && is_named(&a->accumulator, "fp32");
    return hopper ? halves || (single && is_named(&a->factor, "tf32"))
                  : !*gpu && single && is_named(&a->factor, "fp32");
}

/* The second: in how many pieces, and where these are added. */
static enum ulp_status resolve_pieces(struct ulp_arithmetic *out, const struct ulp_request *request,
                                      struct ulp_error *error)
{
    struct ulp_format fp32;
    ulp_format_find("fp32", &fp32, NULL);
    if (request->given[ULP_PART_PROMOTE]) {
        if (!ulp_format_holds(&fp32, &out->accumulator))
            return ulp_fail(
                error, ULP_ERROR_USAGE,
                "promote= adds chains to an fp32 sum, which cannot hold the accumulator %s",
                out->accumulator.name);
        out->schedule.promote = request->choice[ULP_PART_PROMOTE];
    }
    if (request->given[ULP_PART_SPLIT] && request->choice[ULP_PART_SPLIT] != 1)
        out->schedule.split_k = request->choice[ULP_PART_SPLIT];
    out->schedule.partials = (enum ulp_partials)chosen(request, ULP_PART_PARTIALS, 0);
    if (out->schedule.partials &&
        (!out->schedule.split_k || !out->schedule.gpu[0] || ulp_format_holds(&out->storage, &fp32)))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "partials= says how a matrix unit's sums of slices are stored in a format "
                        "narrower than fp32: it needs @GPU and split-k=");
    if (out->scaling[0].k && !ulp_scaling_is_fake(out) &&
        (out->schedule.promote > 0 || out->schedule.split_k))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "factor=%s: the sums of blocks with scales are one chain; leave out "
                        "promote= and split-k=",
                        out->scaling[0].name);
    const bool library = out->schedule.split_k == ULP_SPLIT_CUBLAS;
    if (library && !is_recorded(out))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "split-k=cublas: it was recorded on an H100 and an H200, of products of "
                        "fp16, bf16, tf32 and fp32 with FP32 sums; "
                        "take @h100 or @h200, or split-k=N");
    if (request->given[ULP_PART_ROWS] && !library)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "rows=%d says how split-k=cublas cuts a product; without it rows have no "
                        "part in a sum",
                        request->choice[ULP_PART_ROWS]);
    if (library)
        out->schedule.rows = chosen(request, ULP_PART_ROWS, 1);
    out->schedule.vectors_scalar = chosen(request, ULP_PART_VECTORS, 0);
    if (out->schedule.vectors_scalar && !out->schedule.gpu[0])
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "vectors=scalar has no meaning without a matrix unit: every product is "
                        "summed so");
    out->schedule.matmul_scalar = chosen(request, ULP_PART_MATMUL, 0);
    if (out->schedule.matmul_scalar && !out->schedule.gpu[0])
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "matmul=scalar has no meaning without a matrix unit: every product is "
                        "summed so");
    out->schedule.qdq_integer = chosen(request, ULP_PART_QDQ, 0);
    out->schedule.integers_saturate = chosen(request, ULP_PART_INTEGERS, 0);
    out->schedule.requant = (enum ulp_requant)chosen(request, ULP_PART_REQUANT, 0);
    return ULP_OK;
}

/* A part that a runtime's name brings is left out where it cannot be. */
static bool takes(const struct ulp_request *request, enum ulp_part kernel, bool possible)
{
    return request->given[kernel] && (possible || !request->brought[kernel]);
}

/* The third: what the sum is rounded to before the epilogue. */
static enum ulp_status resolve_epilogue(struct ulp_arithmetic *out,
                                        const struct ulp_request *request, struct ulp_error *error)
{
    const bool possible = !ulp_format_holds(&out->storage, &out->accumulator) ||
                          out->schedule.promote || out->schedule.split_k;
    out->schedule.epilogue_rounded =
        takes(request, ULP_PART_EPILOGUE, possible) && request->choice[ULP_PART_EPILOGUE];
    if (out->schedule.epilogue_rounded && !possible)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "epilogue=rounded has no meaning here: %s, the storage format, holds every "
                        "sum of format %s",
                        out->storage.name, out->accumulator.name);
    return ULP_OK;
}

/* Which operators round their steps otherwise: those that have steps to round. */
static enum ulp_status resolve_runtime_steps(struct ulp_arithmetic *out,
                                             const struct ulp_request *request,
                                             struct ulp_error *error)
{
    const bool on_cpu = request->choice[ULP_PART_STEPS] == ULP_STEPS_ORT_CPU,
               possible = on_cpu ? is_named(&out->storage, "fp32") &&
                                       is_named(&out->compute, "fp32") && !out->schedule.gpu[0]
                                 : out->place == ULP_ROUND_RESULT &&
                                       !ulp_format_holds(&out->storage, &out->compute);
    if (takes(request, ULP_PART_STEPS, possible))
        out->steps = (enum ulp_steps)request->choice[ULP_PART_STEPS];
    if (out->steps == ULP_STEPS_ALIKE || possible)
        return ULP_OK;
    return on_cpu
               ? ulp_fail(error, ULP_ERROR_USAGE, "steps=ort-cpu is of fp32, without a matrix unit")
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "steps= has no meaning here: %s, the storage format, holds every step",
                          out->storage.name);
}

/* Factor, accumulator, unit and the rest of the schedule. */
static enum ulp_status resolve_sums(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    const struct ulp_base *base, struct ulp_error *error)
{
    if (request->given[ULP_PART_FACTOR])
        out->factor = request->factor;
    if (request->given[ULP_PART_ACCUMULATOR])
        out->accumulator = request->accumulator;
    ULP_TRY(ulp_scaling_resolve(out, request, error));
    ULP_TRY(resolve_unit(out, request, base, error));
    if (!out->schedule.gpu[0] && ulp_format_holds(&out->factor, &out->storage))
        out->factor = out->storage;
    ULP_TRY(resolve_chain(out, request, base, error));
    ULP_TRY(resolve_operands(out, request, base, error));
    ULP_TRY(resolve_pieces(out, request, error));
    return resolve_epilogue(out, request, error);
}

/* Subnormals and overflow are the storage format's, and that of every part with the same format,
 * except an accumulator that belongs to a matrix unit. */
static enum ulp_status resolve_range(struct ulp_arithmetic *out, const struct ulp_request *request,
                                     struct ulp_error *error)
{
    const int overflow = request->choice[ULP_PART_OVERFLOW];
    if (request->given[ULP_PART_OVERFLOW] && overflow == ULP_OVERFLOW_INFINITY &&
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
        if (request->given[ULP_PART_SUBNORMALS])
            parts[i]->subnormals = request->choice[ULP_PART_SUBNORMALS] == 1;
        if (request->given[ULP_PART_OVERFLOW])
            parts[i]->overflow = (enum ulp_overflow)overflow;
    }
    return ULP_OK;
}

/* CUDA's functions are FP32's. Left out, they are what runs beside a matrix unit. */
static enum ulp_status resolve_functions(struct ulp_arithmetic *out,
                                         const struct ulp_request *request, struct ulp_error *error)
{
    const bool given = request->given[ULP_PART_FUNCTIONS];
    const bool possible = is_named(&out->compute, "fp32") && out->compute.subnormals &&
                          out->compute.overflow == ULP_OVERFLOW_INFINITY &&
                          out->rounding == ULP_ROUND_NEAREST_EVEN;
    out->cuda_functions =
        given ? request->choice[ULP_PART_FUNCTIONS] : possible && out->schedule.gpu[0];
    if (out->cuda_functions && !possible)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "functions=cuda: those of CUDA compute in FP32, to nearest even, with "
                        "subnormals; this arithmetic does not; take functions=rounded");
    return ULP_OK;
}

/* The kernels of attention=, recurrence= and conv= were recorded beside FP16 and BF16, with
 * sums of products in FP32, those of conv= beside TF32, too. */
static bool has_kernels(const struct ulp_arithmetic *a, bool tf32)
{
    const bool halves = is_named(&a->storage, "fp16") || is_named(&a->storage, "bf16");
    return a->schedule.gpu[0] && a->cuda_functions && is_named(&a->accumulator, "fp32") &&
           (tf32 ? is_named(&a->storage, "fp32") && is_named(&a->factor, "tf32")
                 : halves && is_named(&a->factor, a->storage.name)) &&
           !a->scaling[0].name[0];
}

static enum ulp_status resolve_kernels(struct ulp_arithmetic *out,
                                       const struct ulp_request *request, struct ulp_error *error)
{
    const bool possible = has_kernels(out, false), convolves = possible || has_kernels(out, true);
    if (takes(request, ULP_PART_ATTENTION, possible))
        out->attention = (enum ulp_attention_kernel)request->choice[ULP_PART_ATTENTION];
    out->attention_joined |= chosen(request, ULP_PART_WRITTEN, 0);
    if (takes(request, ULP_PART_RECURRENCE, possible))
        out->recurrence_cudnn = request->choice[ULP_PART_RECURRENCE];
    const bool shaped = request->choice[ULP_PART_CONV] == ULP_CONV_SEARCHED;
    if (takes(request, ULP_PART_CONV, shaped ? out->schedule.gpu[0] : convolves))
        out->conv = (enum ulp_conv)request->choice[ULP_PART_CONV];
    if (out->conv == ULP_CONV_SEARCHED && !out->schedule.gpu[0])
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "conv=searched has no meaning without a matrix unit: every Conv is summed "
                        "in scalar chains");
    if (takes(request, ULP_PART_NORMS, out->cuda_functions))
        out->norms_torch = request->choice[ULP_PART_NORMS];
    if (out->norms_torch && !out->cuda_functions)
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "norms=torch: this kernel takes CUDA's reciprocal root; say functions=cuda, "
            "or leave it out");
    const char *asked = out->attention != ULP_ATTENTION_WHOLE       ? "attention="
                        : out->recurrence_cudnn                     ? "recurrence="
                        : ulp_convolves_as_cudnn(out) && !convolves ? "conv="
                                                                    : NULL;
    if (!asked || possible)
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "%s: these kernels take fp16 or bf16%s, sum products in FP32 on a matrix unit "
                    "and have CUDA's functions; this arithmetic does not; take fp16,%s... or "
                    "leave it out",
                    asked, *asked == 'c' ? ", or tf32" : "", asked);
}

static enum ulp_status resolve_constants(struct ulp_arithmetic *out,
                                         const struct ulp_request *request, struct ulp_error *error)
{
    out->constants =
        (enum ulp_constants)chosen(request, ULP_PART_CONSTANTS, ULP_CONSTANTS_SATURATED);
    out->batchnorm_folded = chosen(request, ULP_PART_BATCHNORM, 0);
    out->types_declared = chosen(request, ULP_PART_TYPES, 0);
    /* of nothing else: a runtime's name has it whatever follows */
    if (out->types_declared && chosen(request, ULP_PART_FLOATS, 0))
        out->floats = ulp_floats_names[request->choice[ULP_PART_FLOATS]];
    out->plain_exponentials = chosen(request, ULP_PART_EXPONENTIALS, 0);
    out->scales_lowered = chosen(request, ULP_PART_SCALES, 0);
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
    out->fuse = (enum ulp_fuse)chosen(request, ULP_PART_FUSE, ULP_FUSE_NONE);
    out->inner = request->given[ULP_PART_INNER] ? request->inner : out->compute;
    out->inner_constants = out->fuse != ULP_FUSE_NONE &&
                           chosen(request, ULP_PART_INNER_CONSTANTS, out->fuse != ULP_FUSE_ORT);
    out->inner_casts =
        out->fuse != ULP_FUSE_NONE && chosen(request, ULP_PART_INNER_CASTS, out->inner_constants);
    if ((request->given[ULP_PART_INNER] || request->given[ULP_PART_INNER_CONSTANTS] ||
         request->given[ULP_PART_INNER_CASTS]) &&
        out->fuse == ULP_FUSE_NONE)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "fuse-inner=, fuse-constants= and fuse-casts= have no meaning without "
                        "fuse=pointwise, fuse=reduce or fuse=groups");
    if (out->fuse != ULP_FUSE_NONE && out->fuse != ULP_FUSE_ORT && out->fuse != ULP_FUSE_OPENVINO &&
        out->place == ULP_ROUND_EACH_STEP)
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

enum ulp_status ulp_request_resolve(struct ulp_arithmetic *out, const struct ulp_request *request,
                                    struct ulp_error *error)
{
    struct ulp_base base = {0};
    char name[32];
    ULP_TRY(ulp_base_find(&base, name, request->base, error));
    memset(out, 0, sizeof *out);
    ulp_format_find(base.storage, &out->storage, NULL);
    ulp_format_find(base.factor, &out->factor, NULL);
    ulp_format_find(base.compute, &out->compute, NULL);
    ulp_format_find(base.accumulator, &out->accumulator, NULL);
    out->place = base.place;
    const bool wide_part =
        (request->given[ULP_PART_COMPUTE] && request->compute.carrier == ULP_CARRIER_MPFR) ||
        (request->given[ULP_PART_FACTOR] && request->factor.carrier == ULP_CARRIER_MPFR) ||
        (request->given[ULP_PART_ACCUMULATOR] && request->accumulator.carrier == ULP_CARRIER_MPFR);
    const bool wide = out->storage.carrier == ULP_CARRIER_MPFR;
    for (int part = 0; part < ULP_PART_COUNT; part++)
        if (wide && request->given[part])
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s is the reference, every step to nearest even at that precision; it "
                            "takes no parts",
                            request->base);
    if (wide_part)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "mpfr:P is an arithmetic of its own and no part of another; fp64 is the "
                        "widest format for compute=, factor= and acc=");
    if (request->given[ULP_PART_ROUND])
        out->rounding = (enum ulp_rounding)request->choice[ULP_PART_ROUND];
    if (request->given[ULP_PART_SEED] && out->rounding != ULP_ROUND_STOCHASTIC)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "seed= has no meaning without round=sr (stochastic rounding)");
    out->seed = request->given[ULP_PART_SEED] ? request->seed : 0;
    ULP_TRY(resolve_steps(out, request, &base, error));
    ULP_TRY(resolve_sums(out, request, &base, error));
    ULP_TRY(resolve_runtime_steps(out, request, error));
    ULP_TRY(resolve_fusion(out, request, error));
    ULP_TRY(resolve_range(out, request, error));
    ULP_TRY(resolve_functions(out, request, error));
    ULP_TRY(resolve_kernels(out, request, error));
    out->sum = out->storage;
    return resolve_constants(out, request, error);
}

const char *ulp_arithmetic_other_gpu(const struct ulp_arithmetic *arithmetic)
{
    const struct ulp_gpu_row *gpu = ulp_gpu_find(arithmetic->schedule.gpu);
    return gpu ? gpu->other : NULL;
}
