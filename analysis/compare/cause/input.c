/* Causes "preprocessing" and "inputs" when the framework's inputs were recorded and differ from
 * the right ones. */

#include "analysis/compare/cause/cause_change.h"
#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "base/text/text.h"
#include "tensor/tensor.h"

/* A line through the values must leave this little to be what was done to them: pixels are rounded
 * to one in 255, whose root mean square is 0.1 % of the range and 0.5 % of a usual spread. */
#define FITTED 0.01
/* ... and this to be the same picture in another size, crop or decoding. */
#define ALIKE 0.3
/* The recorded tensor in the type and shape of the given one; false: it has not as many elements.
 */
static enum ulp_status take_input(const struct ulp_tensor *given, const struct ulp_tensor *recorded,
                                  struct ulp_tensor *out, bool *fits, struct ulp_error *error)
{
    struct ulp_format format;
    const struct ulp_format *storage = NULL;
    *out = ulp_tensor_view(given);
    *fits = given->count == recorded->count;
    if (ulp_type_is_float(given->type)) {
        ULP_TRY(ulp_format_find(ulp_type_rows[given->type].format, &format, error));
        storage = &format;
    }
    if (!*fits)
        return ULP_OK;
    ULP_TRY(ulp_tensor_create(out, given->type, given->element, given->precision, given->rank,
                              given->dims, error));
    return ulp_tensor_convert(out, recorded, storage, ULP_ROUND_NEAREST_EVEN, 0, NULL, error);
}

/* The inputs that were recorded, those given for others; `order`: elements in the order in which
 * they were recorded, whatever the layout. *fits: they have as many elements as the model takes. */
static enum ulp_status take_inputs(const struct ulp_comparing *comparing, size_t file, bool order,
                                   struct ulp_tensor_set *out, bool *fits, struct ulp_error *error)
{
    *fits = true;
    for (size_t i = 0; i < comparing->inputs->count; i++) {
        const struct ulp_named_tensor *given = &comparing->inputs->items[i];
        const ptrdiff_t number = ulp_compared_find(comparing, given->name, 0);
        const struct ulp_compared_work *work = number < 0 ? NULL : &comparing->work[number];
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor taken = ulp_tensor_view(&given->tensor);
        bool one_fits = true;
        if (work && work->recorded[file])
            ULP_TRY(take_input(&given->tensor,
                               order ? work->recorded[file] : ulp_recorded(work, file), &taken,
                               &one_fits, error));
        *fits = *fits && one_fits;
        ULP_TRY(ulp_tensor_set_add(out, given->name, &taken, error));
    }
    return ULP_OK;
}

/* The file on the inputs that were recorded; *again stays empty when they do not fit. */
static enum ulp_status compare_recorded(const struct ulp_comparing *comparing, size_t file,
                                        bool order, struct ulp_comparison *again,
                                        struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    bool fits;
    *again = (struct ulp_comparison){0};
    ULP_TRY(take_inputs(comparing, file, order, &inputs, &fits, error));
    if (fits)
        ULP_TRY(ulp_compare_again(comparing, comparing->model, &inputs, file, again, error));
    return ULP_OK;
}

/* Everything else, on the inputs that were recorded. Adds a sentence. */
static enum ulp_status add_rest(const struct ulp_comparing *comparing, size_t file,
                                struct ulp_text *text, struct ulp_error *error)
{
    struct ulp_comparison again;
    ULP_TRY(compare_recorded(comparing, file, false, &again, error));
    if (!again.file_count)
        return ULP_OK;
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

enum ulp_status ulp_explain_order(const struct ulp_comparing *comparing, size_t file,
                                  struct ulp_cause *cause, struct ulp_error *error)
{
    const struct ulp_compared_tensor *turned = NULL;
    struct ulp_comparison again;
    struct ulp_text text = {0};
    char recorded[200];
    for (size_t t = comparing->out->tensor_count; t-- > 0;)
        if (comparing->out->tensors[t].index < 0 && comparing->out->tensors[t].values[file].turned)
            turned = &comparing->out->tensors[t];
    if (!turned)
        return ULP_OK;
    enum ulp_status status = compare_recorded(comparing, file, true, &again, error);
    bool explained = status == ULP_OK && again.file_count;
    for (size_t t = 0; explained && t < again.tensor_count; t++)
        explained = !again.tensors[t].node || !again.tensors[t].values[0].recorded ||
                    again.tensors[t].values[0].explained;
    ulp_comparison_free(&again);
    if (!explained)
        return status;
    ulp_tensor_describe_text(comparing->work[turned - comparing->out->tensors].recorded[file],
                             recorded, sizeof recorded);
    const struct ulp_tensor *given = ulp_tensor_set_find(comparing->inputs, turned->name);
    const bool last = given && ulp_picture_of(given).channels_last;
    ulp_text_show(&text,
                  "the input '%s' was prepared otherwise: elements in the order %s where the model "
                  "takes %s. It was recorded as %s, and its elements were taken as they lie, "
                  "without being transposed; so taken, everything that was recorded is explained.",
                  turned->name, last ? "NCHW" : "NHWC", last ? "NHWC" : "NCHW", recorded);
    return ulp_cause_set(comparing, cause, ULP_CAUSE_PREPROCESSING, &text, turned->name, error);
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
    ULP_SCOPED(ulp_text_free) struct ulp_text words = {0};
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
    return kind;
}

enum ulp_status ulp_explain_input(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                  struct ulp_cause *cause, struct ulp_error *error)
{
    const char *name = comparing->out->tensors[tensor].name;
    const struct ulp_tensor *given = ulp_tensor_set_find(comparing->inputs, name),
                            *recorded = ulp_recorded(&comparing->work[tensor], file);
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
    return ulp_cause_set(comparing, cause, kind, &text, name, error);
}
