/* The gates: contractions and formulas, the row's own and those of its run function. */
#include <float.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text/text.h"
#include "kernels/cublas.h"
#include "number/format/scaling.h"
#include "ops/bounds.h"
#include "ops/call.h"
#include "ops/call/library.h"
#include "ops/product/requantise.h"
#include "ops/probe.h"
#include "ops/trace/trace.h"

struct ulp_arithmetic ulp_call_unrounded(const struct ulp_call *call)
{
    struct ulp_arithmetic arithmetic = *call->arithmetic;
    arithmetic.storage = arithmetic.compute;
    return arithmetic;
}

struct ulp_arithmetic ulp_call_chains(const struct ulp_call *call)
{
    struct ulp_arithmetic arithmetic = ulp_call_unrounded(call);
    arithmetic.factor = arithmetic.sum = arithmetic.compute;
    arithmetic.schedule = (struct ulp_schedule){.fused = true};
    arithmetic.reduce = ULP_ORDER_SEQUENTIAL;
    return arithmetic;
}

/* A stochastic stream of its own, for each contraction and formula that the operator runs. Mixed:
 * streams of contractions are ranges of numbers from here on, which must not meet. */
static uint64_t take_stream(struct ulp_call *call)
{
    return ulp_mix(call->bound->key + UINT64_C(0xd1342543de82ef95) * ++call->draws);
}

/* Does the factor read an input that is the row's weight, and a constant? Of integers each constant
 * is one, as its codes are known before the model runs. */
static unsigned find_weight(const struct ulp_call *call, const struct ulp_factor *factor)
{
    const char *data = factor->tensor->data;
    for (size_t i = 0; i < call->input_count && i < 32; i++) {
        const struct ulp_tensor *in = call->in[i];
        if (in && call->constants >> i & 1 &&
            (ulp_is_weight(call->bound, i) ||
             ulp_scaling_is_integer(&call->arithmetic->scaling[0])) &&
            data >= (const char *)in->data &&
            data < (const char *)in->data + in->count * in->element_bytes)
            return 1;
    }
    return 0;
}

static enum ulp_status contract(struct ulp_call *call, struct ulp_contraction *problem)
{
    if (call->lowering)
        return ulp_call_contract_blocks(call, problem);
    return call->trace
               ? ulp_trace_contract(call->trace, call->arithmetic, problem, call->pool, call->error)
               : ulp_contract(call->arithmetic, problem, call->pool, call->error);
}

bool ulp_product_is_scaled(const struct ulp_arithmetic *arithmetic, const char *op,
                           const struct ulp_tensor *const *inputs,
                           const struct ulp_contraction *problem)
{
    enum { CHANNELS = 16, PLACES = 32 };
    static const char matrices[] = "MatMul Gemm FusedMatMul FusedGemm Attention MultiHeadAttention";
    const bool blocks = ulp_scaling_is_inside(&arithmetic->scaling[0]) ||
                        ulp_scaling_is_inside(&arithmetic->weights);
    if (!ulp_scaling_is_used(arithmetic) || !arithmetic->scaled_modelopt)
        return ulp_scaling_is_used(arithmetic);
    if (ulp_is_word(op, matrices))
        return blocks ? problem->weights != 0 : problem->m > 1 && problem->n > 1;
    if (blocks || !ulp_is_word(op, "Conv FusedConv"))
        return false;
    int64_t places = 1;
    for (int d = 2; d < inputs[1]->rank; d++)
        places *= inputs[1]->dims[d];
    return inputs[1]->dims[0] > CHANNELS && inputs[1]->dims[1] > CHANNELS && places <= PLACES;
}

/* Factors as they are stored. FP32 has no unit. */
static enum ulp_status contract_unscaled(struct ulp_call *call, struct ulp_contraction *problem)
{
    const struct ulp_arithmetic *const named = call->arithmetic;
    struct ulp_arithmetic plain = *named;
    plain.factor = plain.storage;
    plain.schedule.promote = 0;
    if (strcmp(plain.storage.name, "fp32") == 0) {
        plain.schedule.gpu[0] = plain.schedule.unit_class[0] = 0;
        plain.schedule.fused = true;
    }
    memset(plain.scaling, 0, sizeof plain.scaling);
    memset(&plain.weights, 0, sizeof plain.weights);
    call->arithmetic = &plain;
    const enum ulp_status status = contract(call, problem);
    call->arithmetic = named;
    return status;
}

/* Of products by a constant, as RKNN's simulator was recorded to: a slice has 1536 products at most
 * and whole blocks of 16 channels; slices are alike where they can be. A transposed convolution is
 * cut by all positions of its kernel, whichever of them a result has. */
static void cut_channels(const struct ulp_call *call, const struct ulp_contraction *problem,
                         struct ulp_schedule *schedule)
{
    const struct ulp_tensor *weights = call->in[1];
    const bool conv = strcmp(call->bound->op->name, "Conv") == 0,
               turned = strcmp(call->bound->op->name, "ConvTranspose") == 0;
    const size_t channels = conv     ? (size_t)weights->dims[1]
                            : turned ? (size_t)(weights->dims[0] / ulp_call_int(call, "group"))
                                     : problem->k;
    size_t positions = 1;
    for (int d = 2; d < weights->rank && (conv || turned); d++)
        positions *= (size_t)weights->dims[d];
    const size_t most = positions ? 1536 / positions / 16 * 16 : 0,
                 count = most && call->constants >> 1 & 1 ? ulp_size_divide_up(channels, most) : 0;
    if (count < 2 || problem->k % channels != 0)
        return;
    const bool alike = channels % (16 * count) == 0;
    schedule->split_k = (int)count;
    schedule->slice_tile = (int)((alike ? channels / count : most) * (problem->k / channels));
    schedule->partials = ULP_PARTIALS_ROUNDED;
}

/* In the slices that the library takes for the shape. */
static enum ulp_status contract_cut(struct ulp_call *call, struct ulp_contraction *problem)
{
    const struct ulp_arithmetic *const named = call->arithmetic;
    struct ulp_arithmetic cut = *named;
    struct ulp_contraction laid = *problem;
    enum ulp_status status = ULP_OK;
    cut.schedule.split_k = 0;
    if (named->schedule.split_k == ULP_SPLIT_RKNN)
        cut_channels(call, problem, &cut.schedule);
    else if (problem->is_matrices && strcmp(named->storage.name, "fp32") == 0)
        status = ulp_lay_library(call, &cut, &laid);
    else if (problem->is_matrices && problem->batch_count == 1) {
        cut.schedule.slice_tile = ULP_CUBLAS_TILE;
        cut.schedule.split_k = ulp_cublas_slices(problem->m * (size_t)named->schedule.rows,
                                                 problem->n, problem->k, problem->turned);
    }
    call->arithmetic = &cut;
    ULP_THEN(status, contract(call, &laid));
    call->arithmetic = named;
    return status;
}

enum ulp_status ulp_call_contract(struct ulp_call *call, struct ulp_contraction *problem)
{
    ULP_TRY(ulp_bounds_check_contraction(problem, call->error));
    if (call->probe)
        ULP_TRY(ulp_probe_contract(call, problem, call->error));
    problem->node_key = take_stream(call);
    if (ulp_scaling_is_used(call->arithmetic))
        problem->weights = find_weight(call, &problem->a) | find_weight(call, &problem->b) << 1;
    if (call->arithmetic->scaled_modelopt &&
        !ulp_product_is_scaled(call->arithmetic, call->bound->op->name, call->in, problem))
        return contract_unscaled(call, problem);
    ULP_TRY(ulp_product_take_ranges(call->arithmetic, call->name, call->in, call->input_count,
                                    problem, call->error));
    return call->arithmetic->schedule.split_k < 0 ? contract_cut(call, problem)
                                                  : contract(call, problem);
}

static enum ulp_status run_tape(struct ulp_call *call, const struct ulp_tape *tape,
                                const struct ulp_arithmetic *arithmetic,
                                const struct ulp_rows *rows, const struct ulp_operand *operands,
                                const struct ulp_operand *outputs)
{
    ULP_TRY(ulp_bounds_check_rows(rows, operands, (size_t)tape->operand_count, call->error));
    ULP_TRY(ulp_bounds_check_rows(rows, outputs, (size_t)tape->output_count, call->error));
    const struct ulp_tape_call run = {.tape = tape,
                                      .arithmetic = arithmetic,
                                      .rows = rows,
                                      .operands = operands,
                                      .outputs = outputs,
                                      .node_key = take_stream(call),
                                      .pool = call->pool};
    if (call->probe)
        ULP_TRY(ulp_probe_tape(call, &run, call->error));
    return call->trace ? ulp_trace_tape(call->trace, &run, call->error)
                       : ulp_tape_run(&run, call->error);
}

/* Is `name` word number `i` of the text? */
static bool is_word(const char *text, size_t i, const char *name)
{
    const size_t length = strlen(name);
    text += strspn(text, " ");
    for (; i && *text; i--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return strcspn(text, " ") == length && strncmp(text, name, length) == 0;
}

static struct ulp_tape *find_formula(const struct ulp_call *call, const struct ulp_formula *formula)
{
    const struct ulp_formula *const *formulas = call->bound->op->formulas;
    for (size_t i = 0; formulas && formulas[i]; i++)
        if (formulas[i] == formula)
            return call->bound->formulas[i];
    return NULL;
}

/* Operands, then all outputs of the tape, those that are not given without a tensor. */
static enum ulp_status lay_named(const struct ulp_call *call, const struct ulp_tape *tape,
                                 const struct ulp_named_operand *operands, size_t output_count,
                                 const struct ulp_named_operand *outputs, struct ulp_operand **out)
{
    const size_t count = (size_t)tape->operand_count;
    ULP_TRY(ulp_call_take(call, count + (size_t)tape->output_count, sizeof **out, out));
    for (size_t i = 0; i < count; i++)
        (*out)[i] = operands[i].operand;
    for (size_t i = 0; i < output_count; i++)
        (*out)[count + i] = outputs[i].operand;
    return ULP_OK;
}

enum ulp_status ulp_call_formula(struct ulp_call *call, const struct ulp_formula *formula,
                                 const struct ulp_arithmetic *arithmetic,
                                 const struct ulp_rows *rows, size_t operand_count,
                                 const struct ulp_named_operand *operands, size_t output_count,
                                 const struct ulp_named_operand *outputs)
{
    struct ulp_operand *laid;
    const struct ulp_tape *tape = find_formula(call, formula);
    bool fits = tape && (size_t)tape->operand_count == operand_count &&
                (size_t)tape->output_count >= output_count;
    for (size_t i = 0; fits && i < operand_count; i++)
        fits = is_word(formula->operands, i, operands[i].name);
    for (size_t i = 1; fits && i < output_count; i++)
        fits = is_word(formula->outputs, i, outputs[i].name);
    if (!fits)
        return ulp_fail(call->error, ULP_ERROR_USAGE,
                        "the row does not list the formula \"%s\", or not with these operands",
                        formula->text);
    ULP_TRY(lay_named(call, tape, operands, output_count, outputs, &laid));
    return run_tape(call, tape, arithmetic, rows, laid, laid + operand_count);
}

enum ulp_status ulp_call_text(struct ulp_call *call, const char *text,
                              const struct ulp_arithmetic *arithmetic, const struct ulp_rows *rows,
                              size_t operand_count, const struct ulp_named_operand *operands,
                              size_t output_count, const struct ulp_named_operand *outputs)
{
    struct ulp_prepared *prepared = call->bound->prepared;
    const char **names;
    struct ulp_operand *laid;
    struct ulp_tape *tape;
    bool kept = call->trace != NULL; /* bounds of what it holds inside point to it */
    ULP_TRY(ulp_call_take(call, operand_count + output_count, sizeof *names, &names));
    for (size_t i = 0; i < operand_count + output_count; i++)
        names[i] = i < operand_count ? operands[i].name : outputs[i - operand_count].name;
    ULP_TRY(ulp_prepared_tape(prepared, text, names, operand_count, output_count, call->budget,
                              &tape, &kept, call->error));
    enum ulp_status status = lay_named(call, tape, operands, output_count, outputs, &laid);
    ULP_THEN(status, run_tape(call, tape, arithmetic, rows, laid, laid + operand_count));
    if (!kept)
        ulp_tape_free(tape);
    return status;
}

void ulp_call_operands(const struct ulp_call *call, struct ulp_operand *operands)
{
    const struct ulp_bound *bound = call->bound;
    for (size_t i = 0; i < bound->input_slot_count; i++)
        operands[i] =
            (struct ulp_operand){.tensor = ulp_call_in(call, i),
                                 .constant = ulp_call_in(call, i) ? NULL : bound->inputs[i].text};
    for (size_t i = 0; i < bound->attribute_count; i++)
        operands[bound->input_slot_count + i] =
            (struct ulp_operand){.constant = bound->attribute_slots[i].text};
}

static const struct ulp_tape *choose_tape(const struct ulp_call *call)
{
    const struct ulp_arithmetic *arithmetic = call->arithmetic;
    const bool htp = arithmetic->steps == ULP_STEPS_HTP && ulp_type_is_float(call->out[0].type);
    const bool asked[ULP_VARIANT_COUNT] = {
        [ULP_VARIANT_PLAIN] = arithmetic->plain_exponentials,
        [ULP_VARIANT_TORCH] = arithmetic->norms_torch,
        [ULP_VARIANT_ORT_CUDA_BF16] =
            arithmetic->steps == ULP_STEPS_ORT_CUDA && arithmetic->storage.precision == 8,
        [ULP_VARIANT_ORT_CUDA] = arithmetic->steps == ULP_STEPS_ORT_CUDA,
        [ULP_VARIANT_WEBGPU] = arithmetic->steps == ULP_STEPS_WEBGPU,
        [ULP_VARIANT_ORT_CPU] =
            arithmetic->steps == ULP_STEPS_ORT_CPU && arithmetic->compute.precision == FLT_MANT_DIG,
        [ULP_VARIANT_HTP_FEW] = htp && call->behind >= ULP_BEHIND_FEW,
        [ULP_VARIANT_HTP_ODD] = htp && call->behind >= ULP_BEHIND_ODD,
        [ULP_VARIANT_HTP_MANY] = htp && call->behind >= ULP_BEHIND_MANY,
        [ULP_VARIANT_HTP] = htp};
    for (int v = 0; v < ULP_VARIANT_COUNT; v++)
        if (asked[v] && call->bound->variants[v])
            return call->bound->variants[v];
    return call->bound->tape;
}

enum ulp_status ulp_call_tape(struct ulp_call *call, const struct ulp_rows *rows,
                              const struct ulp_operand *operands, const struct ulp_operand *outputs)
{
    const struct ulp_arithmetic *arithmetic = call->arithmetic;
    const enum ulp_type type = call->out[0].type;
    struct ulp_arithmetic other;
    if (ulp_requantises(call))
        return ulp_requantise_rows(call, rows, operands, outputs);
    if (ulp_type_is_float(type) && !ulp_call_stores_alike(call, type)) {
        other = *arithmetic; /* 1.7 KB, which most calls can do without */
        ULP_TRY(ulp_call_storage(call, type, &other.storage));
        arithmetic = &other;
    }
    return run_tape(call, choose_tape(call), arithmetic, rows, operands, outputs);
}
