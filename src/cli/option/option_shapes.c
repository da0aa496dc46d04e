/* A model with the shapes of --shape, and what a proposed command says of its inputs. */
#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

/* What a command that a result proposes says of the inputs: as this one, but for the shapes, which
 * are said behind it. */
static void list_arguments(struct ulp_text *out, const struct common_options *options)
{
    for (size_t i = 0; i < options->input_count; i++)
        ulp_option_add(out, " -i", options->inputs[i]);
    for (size_t d = 0; d < options->dim_count; d++) {
        ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
        ulp_text_add(&text, "%s=%lld", options->dims[d].name, (long long)options->dims[d].value);
        ulp_option_add(out, " --dim", text.data ? text.data : "");
        out->failed |= text.failed;
    }
    for (size_t r = 0; r < options->range_count; r++) {
        const struct ulp_input_range *range = &options->ranges[r];
        ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
        ulp_text_add(&text, "%s%s%.17g,%.17g", range->name ? range->name : "",
                     range->name ? "=" : "", range->low, range->high);
        ulp_option_add(out, " --val-range", text.data ? text.data : "");
        out->failed |= text.failed;
    }
    if (options->seed)
        ulp_text_add(out, " --seed %llu", (unsigned long long)options->seed);
}

static enum ulp_status set_shape(struct ulp_model *model, const struct input_shape *shape,
                                 struct ulp_text *arguments, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ULP_TRY(ulp_model_set_shape(model, shape->name, shape->rank, shape->dims, error));
    ulp_text_add(&text, "%s=%s", shape->name, shape->rank ? "" : "scalar");
    for (int d = 0; d < shape->rank; d++)
        ulp_text_add(&text, "%s%lld", d ? "x" : "", (long long)shape->dims[d]);
    ulp_option_add(arguments, " --shape", text.data ? text.data : "");
    arguments->failed |= text.failed;
    return ULP_OK;
}

static enum ulp_status set_shapes(struct ulp_model *model, const struct common_options *options,
                                  struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text arguments = {0};
    list_arguments(&arguments, options);
    for (size_t s = 0; s < options->shape_count; s++)
        ULP_TRY(ulp_fail_at(error, set_shape(model, &options->shapes[s], &arguments, error),
                            "--shape"));
    return arguments.failed ? out_of_memory(error)
                            : ulp_model_set_arguments(model, arguments.data ? arguments.data : "",
                                                      options->allow_nonfinite_inputs, error);
}

enum ulp_status load_with_shapes(const struct common_options *options, const char *folder,
                                 struct ulp_model **model, struct ulp_error *error)
{
    ULP_TRY(folder ? ulp_report_prepare(folder, error) : ULP_OK);
    ULP_TRY(load_model(options->model, options->budget, model, error));
    return set_shapes(*model, options, error);
}
