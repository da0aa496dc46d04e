/* Why the first unexplained tensor is not explained. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/change.h"
#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "base/text.h"
#include "run/plan.h"
#include "tensor/tensor.h"

/* A line through the values must leave this little to be what was done to them: pixels are rounded
 * to one in 255, whose root mean square is 0.1 % of the range and 0.5 % of a usual spread. */
#define FITTED 0.01
/* ... and this to be the same picture in another size, crop or decoding. */
#define ALIKE 0.3
/* Below this share of the reference's rms no wrong preprocessing is looked for: the mildest usual
 * mistakes, a pixel's shift or a missing deviation, move outputs by several percent. */
#define PREPROCESSING_MIN 1e-3
/* From here on inputs are blamed before nodes. */
#define INPUTS_MIN 0.05
#define NODES_SHOWN 5

const char *ulp_cause_name(enum ulp_cause_kind kind)
{
    static const char *const names[] = {"none",   "preprocessing", "inputs",
                                        "format", "node",          "shape"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* What operators have that two frameworks may take differently. */
static const char *find_hint(const char *op)
{
    static const struct {
        const char *op, *hint;
    } hints[] = {
        {"LayerNormalization", "its epsilon, axis, scale and bias"},
        {"BatchNormalization", "its epsilon, and mean and variance"},
        {"InstanceNormalization", "its epsilon, scale and bias"},
        {"GroupNormalization", "its epsilon, and the number of groups"},
        {"Gelu", "whether it is computed by erf or by tanh (approximate)"},
        {"Erf", "how it is approximated"},
        {"Tanh", "how it is approximated"},
        {"Resize", "coordinate_transformation_mode (align_corners), mode and nearest_mode"},
        {"Upsample", "its scales and mode"},
        {"Conv", "its padding, strides and dilations, its weights and their layout"},
        {"ConvTranspose", "its padding and output_padding, its weights and their layout"},
        {"AveragePool", "count_include_pad, ceil_mode and padding"},
        {"MaxPool", "ceil_mode and padding"},
        {"Softmax", "its axis"},
        {"LogSoftmax", "its axis"},
        {"Gemm", "its weights, transA and transB, alpha and beta"},
        {"MatMul", "its weights and whether they are transposed"},
        {"Pad", "its mode and value"},
        {"Add", "its constants (an epsilon, a bias)"},
        {"Mul", "its constants (a scale)"},
        {"QuantizeLinear", "its scale and zero point"},
        {"DequantizeLinear", "its scale and zero point"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(op, hints[i].op) == 0)
            return hints[i].hint;
    return "its attributes, constants and weights";
}

static enum ulp_status set_cause(struct ulp_cause *cause, enum ulp_cause_kind kind,
                                 struct ulp_text *text, const char *input, struct ulp_error *error)
{
    cause->kind = kind;
    cause->text = text->failed ? NULL : text->data;
    if (text->failed)
        ulp_text_free(text);
    if (input && !(cause->input = strdup(input)))
        return ulp_comparing_memory(error);
    return cause->text ? ULP_OK : ulp_comparing_memory(error);
}

/* ---- recorded inputs ---- */

/* The recorded tensor in the type and shape of the given one; false: it has not as many elements.
 */
static enum ulp_status take_input(const struct ulp_tensor *given, const struct ulp_tensor *recorded,
                                  struct ulp_tensor *out, bool *fits, struct ulp_error *error)
{
    struct ulp_format format;
    const struct ulp_format *storage = NULL;
    *out = ulp_tensor_view(given);
    *fits = given->count == recorded->count;
    enum ulp_status status = ULP_OK;
    if (ulp_type_is_float(given->type)) {
        status = ulp_format_find(ulp_type_rows[given->type].format, &format, error);
        storage = &format;
    }
    if (status == ULP_OK && *fits)
        status = ulp_tensor_create(out, given->type, given->element, given->precision, given->rank,
                                   given->dims, error);
    if (status == ULP_OK && *fits)
        status = ulp_tensor_convert(out, recorded, storage, ULP_ROUND_NEAREST_EVEN, 0, NULL, error);
    return status;
}

/* Everything else, on the inputs that were recorded. Adds a sentence. */
static enum ulp_status add_rest(const struct ulp_comparing *comparing, size_t file,
                                struct ulp_text *text, struct ulp_error *error)
{
    struct ulp_tensor_set inputs = {0};
    struct ulp_comparison again = {0};
    bool all_fit = true;
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < comparing->inputs->count && status == ULP_OK; i++) {
        const struct ulp_named_tensor *given = &comparing->inputs->items[i];
        const ptrdiff_t number = ulp_compared_find(comparing, given->name, 0);
        const struct ulp_tensor *recorded =
            number < 0 ? NULL : comparing->work[number].recorded[file];
        struct ulp_tensor taken = ulp_tensor_view(&given->tensor);
        bool fits = true;
        if (recorded)
            status = take_input(&given->tensor, recorded, &taken, &fits, error);
        all_fit = all_fit && fits;
        if (status == ULP_OK)
            status = ulp_tensor_set_add(&inputs, given->name, &taken, error);
        ulp_tensor_free(&taken);
    }
    if (status == ULP_OK && all_fit)
        status = ulp_compare_again(comparing, &inputs, file, comparing->options->arithmetics,
                                   comparing->options->arithmetic_count, &again, error);
    ulp_tensor_set_free(&inputs);
    if (status != ULP_OK || !all_fit)
        return status;
    const ptrdiff_t first = again.files[0].first_unexplained;
    if (first < 0)
        ulp_text_show(text,
                      " On the inputs that were recorded everything is explained: correct the "
                      "preprocessing and nothing else.");
    else if (again.tensors[first].node)
        ulp_text_show(
            text,
            " That is not all: on the inputs that were recorded '%s' (node %s, %s) is not "
            "explained either.",
            again.tensors[first].name, again.tensors[first].node, again.tensors[first].op);
    ulp_comparison_free(&again);
    return ULP_OK;
}

/* Integers: which differ. */
static void describe_integers(const char *name, const struct ulp_tensor *given,
                              const struct ulp_tensor *recorded, struct ulp_text *text)
{
    size_t differing = 0, first = 0;
    for (size_t i = given->count; i-- > 0;)
        if (ulp_tensor_get(given, i) != ulp_tensor_get(recorded, i)) {
            differing++;
            first = i;
        }
    ulp_text_show(text,
                  "the input '%s' differs in %zu of %zu values, first in element %zu: given %.9g, "
                  "recorded %.9g.",
                  name, differing, given->count, first, ulp_tensor_get(given, first),
                  ulp_tensor_get(recorded, first));
}

static enum ulp_cause_kind describe_fit(const char *name, const struct ulp_tensor *given,
                                        const struct ulp_tensor *recorded, struct ulp_text *text)
{
    const struct ulp_picture picture = ulp_picture_of(given);
    const struct ulp_input_fit fit = ulp_input_fit(given, &picture, recorded);
    struct ulp_text words = {0};
    enum ulp_cause_kind kind = ULP_CAUSE_INPUTS;
    ulp_change_describe(&picture, &fit.change, &words);
    if (fit.constant) {
        ulp_text_show(text, "the input '%s' was recorded as %.9g everywhere.", name,
                      ulp_tensor_get(recorded, 0));
    } else if (fit.residual <= FITTED && words.length) {
        kind = ULP_CAUSE_PREPROCESSING;
        ulp_text_show(text, "the input '%s' was prepared otherwise: %s.", name, words.data);
    } else if (fit.residual <= ALIKE) {
        kind = fit.residual <= FITTED ? ULP_CAUSE_INPUTS : ULP_CAUSE_PREPROCESSING;
        ulp_text_show(text,
                      "the input '%s' is the one given but for %.2g %%%s%s: another resize, crop, "
                      "decoder or rounding.",
                      name, 100 * fit.residual, words.length ? " and " : "",
                      words.length ? words.data : "");
    } else {
        ulp_text_show(text,
                      "the input '%s' is another than the one given: no order of channels, layout, "
                      "mirror, shift by a pixel or scale makes one of the other.",
                      name);
    }
    text->failed |= words.failed;
    ulp_text_free(&words);
    return kind;
}

static enum ulp_status explain_input(const struct ulp_comparing *comparing, size_t file,
                                     size_t tensor, struct ulp_cause *cause,
                                     struct ulp_error *error)
{
    const char *name = comparing->out->tensors[tensor].name;
    const struct ulp_tensor *given = ulp_tensor_set_find(comparing->inputs, name),
                            *recorded = comparing->work[tensor].recorded[file];
    struct ulp_text text = {0};
    enum ulp_cause_kind kind = ULP_CAUSE_INPUTS;
    char one[200], other[200];
    if (given->count != recorded->count)
        ulp_text_show(&text, "the input '%s' was recorded as %s, and %s was given.", name,
                      ulp_tensor_describe_text(recorded, one, sizeof one),
                      ulp_tensor_describe_text(given, other, sizeof other));
    else if (!ulp_type_is_float(given->type) && !ulp_picture_of(given).image)
        describe_integers(name, given, recorded, &text);
    else
        kind = describe_fit(name, given, recorded, &text);
    enum ulp_status status = add_rest(comparing, file, &text, error);
    if (status != ULP_OK) {
        ulp_text_free(&text);
        return status;
    }
    return set_cause(cause, kind, &text, name, error);
}

/* ---- inputs that were not recorded ---- */

static enum ulp_status guess(struct ulp_comparing *comparing, size_t file, size_t tensor,
                             const struct ulp_suspects *suspects, struct ulp_cause *cause,
                             struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < suspects->input_count && status == ULP_OK && !cause->text; i++) {
        const struct ulp_tensor *given =
            ulp_tensor_set_find(comparing->inputs, suspects->inputs[i]);
        char *words = NULL;
        bool sure = false;
        if (!given || !ulp_picture_of(given).image)
            continue;
        status =
            ulp_guess_input(comparing, file, tensor, suspects->inputs[i], &words, &sure, error);
        if (status != ULP_OK || !words)
            continue;
        struct ulp_text text = {0};
        ulp_text_show(&text,
                      sure ? "the input '%s' was prepared otherwise: %s. With an input like that "
                             "everything that was recorded is explained."
                           : "the inputs differ: '%s' was most likely prepared otherwise: %s. With "
                             "an input like that the outputs are near, though not all explained; "
                             "record the input to be sure.",
                      suspects->inputs[i], words);
        free(words);
        status = set_cause(cause, ULP_CAUSE_PREPROCESSING, &text, suspects->inputs[i], error);
    }
    return status;
}

/* ---- another arithmetic ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The middle ratio of what has one; NaN: nothing has. */
static double find_median_ratio(const struct ulp_comparison *comparison)
{
    double *ratios = calloc(comparison->tensor_count + 1, sizeof *ratios), median = NAN;
    size_t count = 0;
    for (size_t t = 0; ratios && t < comparison->tensor_count; t++) {
        const struct ulp_compared_tensor *tensor = &comparison->tensors[t];
        if (tensor->node && tensor->values[0].recorded && tensor->expected[0].rms > 0 &&
            isfinite(tensor->values[0].ratio))
            ratios[count++] = tensor->values[0].ratio;
    }
    if (count) {
        qsort(ratios, count, sizeof *ratios, by_size);
        median = ratios[count / 2];
    }
    free(ratios);
    return median;
}

static bool is_listed(const struct ulp_comparing *comparing, const char *name)
{
    for (size_t a = 0; a < comparing->out->arithmetic_count; a++)
        if (strcmp(comparing->out->arithmetics[a], name) == 0)
            return true;
    return false;
}

/* Errors must be as large as the other arithmetic's, not only smaller: coarse formats explain much
 * that they did not cause. */
static bool is_its_size(double ratio)
{
    return ratio > 0.125 && ratio < 2.5;
}

static enum ulp_status try_formats(const struct ulp_comparing *comparing, size_t file,
                                   struct ulp_cause *cause, struct ulp_error *error)
{
    static const char *const others[] = {"fp32", "tf32", "fp16", "bf16", "fp16-strict"};
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others && status == ULP_OK && !cause->text;
         i++) {
        struct ulp_arithmetic arithmetic;
        struct ulp_comparison again;
        if (is_listed(comparing, others[i]) ||
            ulp_arithmetic_find(others[i], &arithmetic, error) != ULP_OK)
            continue;
        status =
            ulp_compare_again(comparing, comparing->inputs, file, &arithmetic, 1, &again, error);
        if (status != ULP_OK)
            break;
        const double ratio = find_median_ratio(&again);
        if (again.files[0].explained && is_its_size(ratio)) {
            struct ulp_text text = {0};
            ulp_text_show(
                &text,
                "it was computed in another arithmetic: %s explains all of it (errors are "
                "%.2g times what %s makes). Give --arith %s if that is meant.",
                others[i], ratio, others[i], others[i]);
            status = set_cause(cause, ULP_CAUSE_FORMAT, &text, NULL, error);
            if (status == ULP_OK && !(cause->arithmetic = strdup(others[i])))
                status = ulp_comparing_memory(error);
        }
        ulp_comparison_free(&again);
    }
    return status;
}

/* ---- nodes ---- */

static enum ulp_status keep_nodes(struct ulp_cause *cause, const struct ulp_suspects *suspects,
                                  struct ulp_error *error)
{
    cause->nodes = calloc(suspects->count + 1, sizeof *cause->nodes);
    if (!cause->nodes)
        return ulp_comparing_memory(error);
    for (; cause->node_count < suspects->count; cause->node_count++)
        if (!(cause->nodes[cause->node_count] = strdup(suspects->nodes[cause->node_count])))
            return ulp_comparing_memory(error);
    return ULP_OK;
}

static void list_nodes(const struct ulp_suspects *suspects, struct ulp_text *text)
{
    const size_t shown = suspects->count < NODES_SHOWN ? suspects->count : NODES_SHOWN;
    for (size_t n = suspects->count - shown; n < suspects->count; n++)
        ulp_text_show(text, "%s%s (%s)", n > suspects->count - shown ? ", " : "",
                      suspects->nodes[n], suspects->ops[n]);
}

static enum ulp_status blame_nodes(const struct ulp_comparing *comparing, size_t file,
                                   size_t tensor, const struct ulp_suspects *suspects,
                                   struct ulp_cause *cause, struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &comparing->out->tensors[tensor];
    const struct ulp_compared_value *value = &target->values[file];
    const double off = value->truth.rms / target->range.ref_rms;
    const bool inputs = suspects->input_count > 0 && !(off < INPUTS_MIN);
    struct ulp_text text = {0};
    if (inputs) {
        ulp_text_show(&text, "the inputs differ, most likely: '%s' is %.2g %% off, and ",
                      target->name, 100 * off);
        if (suspects->count > 1)
            ulp_text_show(&text, "nothing before it was recorded (or one of %zu nodes is wrong). ",
                          suspects->count);
        else
            ulp_text_show(&text,
                          "it comes from the input at once (or its node, %s, is wrong: look "
                          "at %s). ",
                          target->node, find_hint(target->op));
        ulp_text_show(&text, "Record the input '%s', too, to learn how it was prepared.",
                      suspects->inputs[0]);
    } else if (suspects->count == 1) {
        ulp_text_show(&text,
                      "node %s (%s) computes something else than the graph says: what it reads is "
                      "explained, what it gives is not. Look at %s.",
                      target->node, target->op, find_hint(target->op));
    } else {
        ulp_text_show(&text, "one of %zu nodes computes something else than the graph says: %s",
                      suspects->count, suspects->count > NODES_SHOWN ? "... " : "");
        list_nodes(suspects, &text);
        ulp_text_show(&text, ". Record the tensors between them to learn which.");
    }
    if (value->truth.nonfinite)
        ulp_text_show(&text,
                      " %zu of its values are infinite or NaN where the reference's are not.",
                      value->truth.nonfinite);
    enum ulp_status status = set_cause(cause, inputs ? ULP_CAUSE_INPUTS : ULP_CAUSE_NODE, &text,
                                       inputs ? suspects->inputs[0] : NULL, error);
    return status == ULP_OK ? keep_nodes(cause, suspects, error) : status;
}

static enum ulp_status explain_tensor(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                      struct ulp_cause *cause, struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &comparing->out->tensors[tensor];
    const double off = target->values[file].truth.rms / target->range.ref_rms;
    struct ulp_suspects suspects;
    enum ulp_status status = ulp_suspects_find(comparing, file, tensor, &suspects, error);
    if (status != ULP_OK)
        return status;
    if (!(off < PREPROCESSING_MIN))
        status = guess(comparing, file, tensor, &suspects, cause, error);
    if (status == ULP_OK && !cause->text)
        status = try_formats(comparing, file, cause, error);
    if (status == ULP_OK && !cause->text)
        status = blame_nodes(comparing, file, tensor, &suspects, cause, error);
    ulp_suspects_free(&suspects);
    return status;
}

static enum ulp_status explain_shape(const struct ulp_comparing *comparing, size_t file,
                                     size_t tensor, struct ulp_cause *cause,
                                     struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &comparing->out->tensors[tensor];
    struct ulp_text text = {0};
    char one[200];
    ulp_text_show(&text, "'%s' was recorded as %s, and the graph gives %s[", target->name,
                  ulp_tensor_describe_text(comparing->work[tensor].recorded[file], one, sizeof one),
                  ulp_type_name(target->type));
    for (int d = 0; d < target->rank; d++)
        ulp_text_show(&text, d ? ",%lld" : "%lld", (long long)target->dims[d]);
    ulp_text_show(&text, "]: another model, batch size or layout.");
    return set_cause(cause, ULP_CAUSE_SHAPE, &text, NULL, error);
}

/* ---- nothing to explain ---- */

/* The arithmetic's errors are much larger than those found: was it used at all? */
static enum ulp_status explain_nothing(const struct ulp_comparing *comparing, size_t file,
                                       struct ulp_cause *cause, struct ulp_error *error)
{
    const ptrdiff_t by = comparing->out->files[file].by;
    struct ulp_text text = {0};
    double most = 0;
    bool any = false;
    for (size_t t = 0; t < comparing->out->tensor_count && by >= 0; t++) {
        const struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
        const double expected = tensor->expected[by].rms;
        if (!tensor->values[file].recorded || !tensor->node || !(expected > 0))
            continue;
        most = fmax(most, tensor->values[file].truth.rms / expected);
        any = true;
    }
    ulp_text_show(&text, "%s", "");
    if (any && most < 0.05)
        ulp_text_show(&text,
                      "its errors are %.1g of what %s makes at most: it does not look as if it was "
                      "computed in %s.",
                      most, comparing->out->arithmetics[by], comparing->out->arithmetics[by]);
    return set_cause(cause, ULP_CAUSE_NONE, &text, NULL, error);
}

enum ulp_status ulp_compare_cause(struct ulp_comparing *comparing, size_t file,
                                  struct ulp_error *error)
{
    struct ulp_compared_file *out = &comparing->out->files[file];
    if (out->explained)
        return explain_nothing(comparing, file, &out->cause, error);
    const size_t first = (size_t)out->first_unexplained;
    const struct ulp_compared_tensor *tensor = &comparing->out->tensors[first];
    if (tensor->index < 0)
        return explain_input(comparing, file, first, &out->cause, error);
    if (tensor->values[file].reshaped)
        return explain_shape(comparing, file, first, &out->cause, error);
    return explain_tensor(comparing, file, first, &out->cause, error);
}
