/* What operators are written with: functions for their infer, rows and run functions. */
#pragma once

#include "base/error.h"
#include "base/text/text.h"
#include "ops/operator.h"

/* The call's inputs or attributes are none that the operator takes: printf's words. */
#define ULP_REFUSE(call, ...) ulp_fail((call)->error, ULP_ERROR_INPUT, __VA_ARGS__)

/* ---- attributes and inputs, by the names of the row's texts. Asking for one the row does not list
 * is a programming error, which gives an absent value and is caught by the tests' walk over all
 * rows. ---- */

const struct ulp_attribute_value *ulp_call_attribute(const struct ulp_call *call, const char *name);
int64_t ulp_call_int(const struct ulp_call *call, const char *name);
/* Is the string attribute present and equal to text? */
bool ulp_call_is(const struct ulp_call *call, const char *name, const char *text);
/* NULL when the row has no such input or the node omits it. */
const struct ulp_tensor *ulp_call_input(const struct ulp_call *call, const char *name);
int ulp_call_input_index(const struct ulp_call *call, const char *name);
/* input i, or NULL */
static inline const struct ulp_tensor *ulp_call_in(const struct ulp_call *call, size_t i)
{
    return i < call->input_count ? call->in[i] : NULL;
}
/* Is output i there and wanted? Only meaningful in run. */
static inline bool ulp_call_wants(const struct ulp_call *call, size_t i)
{
    return i < call->output_count && call->out[i].type != ULP_TYPE_UNDEFINED;
}

/* A list of integers that is an attribute in some opsets and an input in others: the row's text
 * decides which. */
struct ulp_list {
    bool given; /* by the node or by a default */
    bool known; /* false: an input whose values are not known while planning */
    size_t count;
    const int64_t *values; /* in call->scratch or in the model */
};
enum ulp_status ulp_call_list(const struct ulp_call *call, const char *name, struct ulp_list *out);
/* A list that must have `count` entries; absent: all `fallback`. values has room for count. */
enum ulp_status ulp_call_numbers(const struct ulp_call *call, const char *name, size_t count,
                                 int64_t fallback, int64_t *values);
/* The integer that input `name` holds; absent: fallback. Refused unless it has one element; *known
 * false, and *out as it was: its value is not known while planning. */
enum ulp_status ulp_call_number(const struct ulp_call *call, const char *name, int64_t fallback,
                                bool *known, int64_t *out);
/* The attribute `name`, refused unless low <= *out <= high. */
enum ulp_status ulp_call_int_within(const struct ulp_call *call, const char *name, int64_t low,
                                    int64_t high, int64_t *out);
/* axis counted from the end when negative, checked: 0 <= *out < rank. */
enum ulp_status ulp_call_axis(int64_t axis, int rank, int *out, struct ulp_error *error);
/* The attribute `axis` (or input of that name) of input 0. */
enum ulp_status ulp_call_first_axis(const struct ulp_call *call, int *out);
#define ULP_CALL_AXIS(name, call) \
    int name;                     \
    ULP_TRY(ulp_call_first_axis(call, &(name)))

/* ---- memory ---- */

/* The format whose values a tensor of the model's float type holds in this lane: the one place
 * where that is decided. FLOAT, FLOAT16, DOUBLE and BFLOAT16 are lowered to the lane's storage;
 * types of 8 bits and less are quantised values and keep their own format, in the lane's element.
 * The call's attribute `saturate` chooses what becomes of values beyond it. */
enum ulp_status ulp_call_storage(const struct ulp_call *call, enum ulp_type type,
                                 struct ulp_format *out);
/* Is that the lane's storage, which needs no call? */
bool ulp_call_stores_alike(const struct ulp_call *call, enum ulp_type type);
/* Describe a tensor as this lane holds it. */
enum ulp_status ulp_call_describe_tensor(const struct ulp_call *call, struct ulp_tensor *out,
                                         enum ulp_type type, int rank, const int64_t *dims);
/* For infer functions: out[index] gets type, element and shape. Nothing happens when the node has
 * no such output. */
enum ulp_status ulp_call_describe(struct ulp_call *call, size_t index, enum ulp_type type, int rank,
                                  const int64_t *dims);
/* count elements from call->scratch; ULP_ERROR_MEMORY */
enum ulp_status ulp_call_take(const struct ulp_call *call, size_t count, size_t element_bytes,
                              void *out);
/* Declare name, so many of a type, and take its memory. */
#define ULP_CALL_TAKE(type, name, call, count) \
    type *name;                                \
    ULP_TRY(ulp_call_take(call, count, sizeof *(name), &(name)))
/* The same of a text: what printf's words say. */
#define ULP_CALL_SAY(name, call, ...)                                     \
    const char *const name = ulp_arena_say((call)->scratch, __VA_ARGS__); \
    ULP_TRY(ulp_taken(name, (call)->error))
/* Allocate a described tensor's data, charged to the budget, freed when the call ends. */
enum ulp_status ulp_call_temporary(struct ulp_call *call, struct ulp_tensor *tensor);
/* Both of *tensor as this lane holds it, and of a new tensor, which lives as long. */
enum ulp_status ulp_call_make_here(struct ulp_call *call, struct ulp_tensor *tensor,
                                   enum ulp_type type, int rank, const int64_t *dims);
enum ulp_status ulp_call_make(struct ulp_call *call, enum ulp_type type, int rank,
                              const int64_t *dims, struct ulp_tensor **out);
/* The end of them. */
void ulp_call_free_temporaries(struct ulp_temporary *list);
/* *tensor (may be NULL) as the lane holds tensors of `type`: converted, unless it is so already.
 * For runs that move elements of inputs which may be mixed. */
enum ulp_status ulp_call_as(struct ulp_call *call, const struct ulp_tensor **tensor,
                            enum ulp_type type);
/* Describe and allocate a temporary that holds values of `format`, unrounded accumulators for
 * example. */
enum ulp_status ulp_call_temporary_in(struct ulp_call *call, struct ulp_tensor *tensor,
                                      const struct ulp_format *format, int rank,
                                      const int64_t *dims);
/* One element of `type` as the lane holds it, rounded from an exact float. */
enum ulp_status ulp_call_scalar(struct ulp_call *call, struct ulp_tensor *tensor,
                                enum ulp_type type, float value);
/* *tensor (may be NULL) as numbers, for what reads floats by itself: while a trace records
 * (trace.h) they are names. Derivatives do not pass what is decided by them. */
enum ulp_status ulp_call_numbers_of(const struct ulp_call *call, const struct ulp_tensor **tensor);
/* Convert in to the described and allocated out as the lane holds it (Cast). */
enum ulp_status ulp_call_convert(struct ulp_call *call, struct ulp_tensor *out,
                                 const struct ulp_tensor *in);
/* The same of a constant of the model: as converters lower it. */
enum ulp_status ulp_call_lower(struct ulp_call *call, struct ulp_tensor *out,
                               const struct ulp_tensor *in);
/* Of an operator that gathers, with call->lowering: elements of input 0 in the shape of output 0,
 * as the model has them, a temporary to be filled; and output 0 of them. */
enum ulp_status ulp_call_taken(struct ulp_call *call, struct ulp_tensor *taken,
                               const struct ulp_tensor *data);
enum ulp_status ulp_call_lower_taken(struct ulp_call *call, const struct ulp_tensor *taken);

/* ---- contractions ---- */

/* ulp_contract with the call's pool, packed factors and a stochastic stream of its own, which are
 * set here. */
enum ulp_status ulp_call_contract(struct ulp_call *call, struct ulp_contraction *problem);

/* Have the factors of a product scales? problem->weights is set; inputs: of the operator. With
 * scaled=modelopt those that ModelOpt 0.47 quantises: in FP8 as its ONNX quantisation chooses, in
 * formats with blocks as its configurations for PyTorch do (doc/scales.md). */
bool ulp_product_is_scaled(const struct ulp_arithmetic *arithmetic, const char *op,
                           const struct ulp_tensor *const *inputs,
                           const struct ulp_contraction *problem);

/* Which of the inputs the factor lies in; -1: the node makes it. */
ptrdiff_t ulp_factor_input(const struct ulp_tensor *const *inputs, size_t input_count,
                           const struct ulp_tensor *factor);
/* The same, of two factors the other one where the node has padded it. */
ptrdiff_t ulp_factor_place(const struct ulp_tensor *const *inputs, size_t input_count,
                           const struct ulp_contraction *problem, int side);
/* What a calibration calls the factor of that side (struct ulp_factor_range). */
const char *ulp_factor_name(const struct ulp_tensor *const *inputs, size_t input_count,
                            const struct ulp_contraction *problem, int side);
/* Its range among the arithmetic's; NULL: it has none. */
const struct ulp_factor_range *ulp_factor_range_find(const struct ulp_arithmetic *arithmetic,
                                                     const char *node, const char *factor);
/* Multiplies it neither its sums nor what it adds to them? */
bool ulp_has_plain_sums(const struct ulp_node *node);
/* A result that has a range, as a factor of this name: quantised by the first scaling, and back. */
#define ULP_FACTOR_RESULT "output 0"
enum ulp_status ulp_result_take_range(const struct ulp_arithmetic *arithmetic, const char *node,
                                      struct ulp_tensor *result, struct ulp_error *error);
/* The bias of a product of integers with static scales, as Q/DQ files have it: INT32 at the
 * product of both scales. *taken false: it has none, or a code lies beyond INT32 and it stays. */
enum ulp_status ulp_call_take_bias(const struct ulp_call *call, struct ulp_tensor *bias,
                                   bool *taken);
/* Set problem->range from the arithmetic's ranges, where it has static scales: of factors that are
 * no weights, and of weights that others are rounded in place of. problem->weights is set. */
enum ulp_status ulp_product_take_ranges(const struct ulp_arithmetic *arithmetic, const char *node,
                                        const struct ulp_tensor *const *inputs, size_t input_count,
                                        struct ulp_contraction *problem, struct ulp_error *error);

/* The same of an operator that takes its weight in blocks, with call->lowering: the weight is all
 * of the second factor. */
enum ulp_status ulp_call_contract_blocks(struct ulp_call *call,
                                         const struct ulp_contraction *problem);

/* ---- formulas other than the row's own ---- */

struct ulp_named_operand {
    const char *name;
    struct ulp_operand operand;
};
/* Evaluate one of the row's `formulas` over rows. Operands and outputs are given in its order,
 * under its names; the last outputs may be left out. */
enum ulp_status ulp_call_formula(struct ulp_call *call, const struct ulp_formula *formula,
                                 const struct ulp_arithmetic *arithmetic,
                                 const struct ulp_rows *rows, size_t operand_count,
                                 const struct ulp_named_operand *operands, size_t output_count,
                                 const struct ulp_named_operand *outputs);
/* Evaluate a text that depends on shapes or attributes, parsed once a node. Outputs are the
 * formula's in order, then its locals named in outputs[i].name. */
enum ulp_status ulp_call_text(struct ulp_call *call, const char *text,
                              const struct ulp_arithmetic *arithmetic, const struct ulp_rows *rows,
                              size_t operand_count, const struct ulp_named_operand *operands,
                              size_t output_count, const struct ulp_named_operand *outputs);
/* The arithmetic with results kept in its compute (or accumulator) format instead of being rounded
 * to storage. */
struct ulp_arithmetic ulp_call_unrounded(const struct ulp_call *call);
/* The same without a matrix unit: factors in compute, products in chains of fused multiply-adds. */
struct ulp_arithmetic ulp_call_chains(const struct ulp_call *call);

/* Run the row's tape over rows with operands that are already laid out, acc first when the row has
 * an epilogue. */
enum ulp_status ulp_call_tape(struct ulp_call *call, const struct ulp_rows *rows,
                              const struct ulp_operand *operands,
                              const struct ulp_operand *outputs);
/* operands[] of the row's inputs and attributes: tensors and constants set, no layout. */
void ulp_call_operands(const struct ulp_call *call, struct ulp_operand *operands);
