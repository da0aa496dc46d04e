/* Cause "format": was the recording computed in another arithmetic than those asked about? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "base/text/text.h"
#include "tensor/tensor.h"

struct format {
    const char *name;
    bool products_only; /* rounds factors of products; else every stored value */
    bool integers;      /* Q/DQ graphs only, whose errors have no size to expect */
};

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Ratios of the file's tensors before the first unexplained one (`before`), or of it and what comes
 * after it; *count of them, in the arena. NULL: out of memory. */
static double *list_ratios(struct ulp_arena *arena, const struct ulp_comparison *again,
                           const char *first, bool before, size_t *count)
{
    double *ratios = ulp_arena_take(arena, again->tensor_count + 1, sizeof *ratios);
    bool reached = false;
    *count = 0;
    for (size_t t = 0; ratios && t < again->tensor_count; t++) {
        const struct ulp_compared_tensor *tensor = &again->tensors[t];
        reached |= strcmp(tensor->name, first) == 0;
        if (tensor->node && reached != before && tensor->expected[0].rms > 0 &&
            isfinite(tensor->values[0].ratio))
            ratios[(*count)++] = tensor->values[0].ratio;
    }
    return ratios;
}

/* Is every value of the tensor one of the format's, as it is when that is what it was stored in? */
static bool is_on_grid(const struct ulp_tensor *tensor, const struct ulp_format *format)
{
    for (size_t i = 0; i < tensor->count; i++) {
        const double x = ulp_tensor_get(tensor, i);
        if (isfinite(x) && ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, x, 0, 0) != x)
            return false;
    }
    return true;
}

static bool is_product(const struct ulp_comparing *comparing, size_t tensor)
{
    struct ulp_node_types types;
    ulp_plan_node_types(comparing->plan, 0, (size_t)comparing->out->tensors[tensor].index, &types);
    return types.product;
}

/* Coarse formats explain much that they did not cause. Errors must be as large as the format's, and
 * where tensors before are far more exact than it allows, the first that is not must be one that
 * the format would round. */
static enum ulp_status is_likely(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                 const struct format *format, const struct ulp_format *storage,
                                 const struct ulp_comparison *again, double *ratio, bool *likely,
                                 struct ulp_error *error)
{
    const char *first = comparing->out->tensors[tensor].name;
    size_t count = 0, clean_count = 0, clean = 0;
    double *ratios = list_ratios(comparing->arena, again, first, false, &count),
           *before = list_ratios(comparing->arena, again, first, true, &clean_count);
    *likely = false;
    if (ratios && count) {
        qsort(ratios, count, sizeof *ratios, by_size);
        *ratio = ratios[count / 2];
        *likely = *ratio > 0.125 && *ratio < 2.5;
    }
    for (size_t i = 0; before && i < clean_count; i++)
        clean += before[i] < 0.05;
    if (clean && format->products_only)
        *likely = *likely && is_product(comparing, tensor);
    else if (clean)
        *likely = *likely && is_on_grid(ulp_recorded(&comparing->work[tensor], file), storage);
    *likely = *likely || format->integers;
    return ratios && before ? ULP_OK : ulp_out_of_memory(error);
}

static bool is_listed(const struct ulp_comparing *comparing, const char *name)
{
    for (size_t a = 0; a < comparing->out->arithmetic_count; a++)
        if (strcmp(comparing->out->arithmetics[a], name) == 0)
            return true;
    return false;
}

static bool is_quantised(const struct ulp_comparing *comparing)
{
    for (size_t n = 0; n < ulp_plan_node_count(comparing->plan); n++)
        if (strcmp(ulp_plan_node_op(comparing->plan, n), "DequantizeLinear") == 0)
            return true;
    return false;
}

static enum ulp_status try_format(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                  const struct format *format,
                                  const struct ulp_arithmetic *arithmetic, struct ulp_cause *cause,
                                  struct ulp_error *error)
{
    struct ulp_comparison again;
    double ratio = 0;
    bool likely = false;
    enum ulp_status status =
        ulp_compare_again(comparing, comparing->inputs, file, arithmetic, 1, &again, error);
    if (status != ULP_OK)
        return status;
    if (again.files[0].explained)
        status = is_likely(comparing, file, tensor, format, &arithmetic->storage, &again, &ratio,
                           &likely, error);
    ulp_comparison_free(&again);
    if (status != ULP_OK || !likely)
        return status;
    struct ulp_text text = {0};
    ulp_text_show(&text,
                  "it was computed in another arithmetic, most likely: %s explains all of it",
                  format->name);
    if (ratio > 0)
        ulp_text_show(&text, ", and errors are as large as it makes them (%.2g times)", ratio);
    ulp_text_show(&text, ". If that is meant, give --arith %s.", format->name);
    status = ulp_cause_set(comparing, cause, ULP_CAUSE_FORMAT, &text, NULL, error);
    if (status == ULP_OK && !(cause->arithmetic = ulp_comparing_text(comparing, format->name)))
        status = ulp_out_of_memory(error);
    return status;
}

/* Values that are all of a narrow format were stored in it: such formats come before others. */
enum ulp_status ulp_explain_format(const struct ulp_comparing *comparing, size_t file,
                                   size_t tensor, struct ulp_cause *cause, struct ulp_error *error)
{
    static const struct format formats[] = {{"fp32,qdq=integer", false, true},
                                            {"fp32", false, false},
                                            {"tf32", true, false},
                                            {"bf16", false, false},
                                            {"fp16", false, false},
                                            {"fp16-strict", false, false}};
    const struct ulp_tensor *recorded = ulp_recorded(&comparing->work[tensor], file);
    enum ulp_status status = ULP_OK;
    for (int narrow = 1; narrow >= 0; narrow--)
        for (size_t i = 0; i < sizeof formats / sizeof *formats && status == ULP_OK && !cause->text;
             i++) {
            struct ulp_arithmetic arithmetic;
            status = ulp_arithmetic_find(formats[i].name, &arithmetic, error);
            if (status == ULP_OK && !is_listed(comparing, formats[i].name) &&
                (!formats[i].integers || is_quantised(comparing)) &&
                narrow == (arithmetic.storage.precision < 24 &&
                           is_on_grid(recorded, &arithmetic.storage)))
                status =
                    try_format(comparing, file, tensor, &formats[i], &arithmetic, cause, error);
        }
    return status;
}
