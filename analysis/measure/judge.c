#include "analysis/measure/judge.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tensor/tensor.h"

static const struct {
    const char *name, *reason;
} rows[] = {
    [ULP_CROSSED_NOTHING] = {"undefined", "has no finite element to compare"},
    [ULP_CROSSED_UNPAIRED] = {"unpaired", "has no value of this name in the reference model"},
    [ULP_CROSSED_DIVERGED] = {"diverged",
                              "has diverged: its shape or integers differ from the reference's"},
    [ULP_CROSSED_INPUT] = {"input", "holds NaN or infinity"},
    [ULP_CROSSED_EMPTY] = {"empty", "has no element to compare"},
    [ULP_CROSSED_NONFINITE] = {"nonfinite",
                               "is not finite where the reference is, or the other way round"},
    [ULP_CROSSED_NO_OUTPUT] = {"no output", "there is no output to compare"},
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *ulp_judge_name(enum ulp_crossing_kind kind)
{
    return rows[kind].name;
}

const char *ulp_judge_reason(enum ulp_crossing_kind kind)
{
    return rows[kind].reason;
}

const char *ulp_judge_find_reason(const char *name)
{
    for (size_t r = 0; r < ROWS; r++)
        if (rows[r].name && strcmp(rows[r].name, name) == 0)
            return rows[r].reason;
    return NULL;
}

enum ulp_crossing_kind ulp_judge_metrics(const struct ulp_metrics *metrics)
{
    return metrics->diverged     ? ULP_CROSSED_DIVERGED
           : metrics->nonfinite  ? ULP_CROSSED_NONFINITE
           : metrics->count      ? ULP_CROSSED_VALUE
           : metrics->unmeasured ? ULP_CROSSED_NOTHING
                                 : ULP_CROSSED_EMPTY;
}

size_t ulp_judge_count_nonfinite(const struct ulp_tensor *tensor)
{
    size_t count = 0;
    for (size_t i = 0; ulp_element_is_float(tensor->element) && i < tensor->count; i++)
        count += !isfinite(ulp_tensor_get(tensor, i));
    return count;
}

enum ulp_crossing_kind ulp_judge_reference(const struct ulp_tensor *reference)
{
    return !reference->count ? ULP_CROSSED_EMPTY
           : ulp_judge_count_nonfinite(reference) == reference->count
               ? ULP_CROSSED_NOTHING
               : ULP_CROSSED_VALUE;
}

enum ulp_status ulp_judge_inputs(const struct ulp_tensor_set *inputs, const char *sample,
                                 struct ulp_error *error)
{
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        const size_t count = ulp_judge_count_nonfinite(&inputs->items[i].tensor);
        if (count)
            return ulp_fail(error, ULP_ERROR_LIMIT,
                            "input %s%s%s %s, %zu of them (when they are meant: "
                            "--allow-nonfinite-inputs)",
                            inputs->items[i].name, sample ? " of " : "", sample ? sample : "",
                            ulp_judge_reason(ULP_CROSSED_INPUT), count);
    }
    return ULP_OK;
}
