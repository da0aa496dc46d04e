/* The sample of random values, and what was chosen for it. */
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "cli/command.h"

#define DIMS_SHOWN 16

static char open_dims[400]; /* as add_chosen_dims said them last */

const char *random_open_dims(void)
{
    return open_dims;
}

/* "; x[0] batch = 1": the dimensions that the model leaves open, as they were taken. */
static void add_chosen_dims(struct ulp_text *name, const struct ulp_model *model,
                            const struct ulp_tensor_set *inputs)
{
    size_t open = 0;
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        struct ulp_value_info info = ulp_model_input(model, i);
        const struct ulp_tensor *made = ulp_tensor_set_find(inputs, info.name);
        for (int d = 0; made && d < info.rank; d++)
            if (info.dims[d] < 0 && open++ < DIMS_SHOWN)
                ulp_text_add(name, "; %s[%d] %s = %lld", info.name, d,
                             info.dim_names[d] ? info.dim_names[d] : "unnamed",
                             (long long)made->dims[d]);
    }
    if (open > DIMS_SHOWN)
        ulp_text_add(name, "; and %zu more", open - DIMS_SHOWN);
}

/* "; ids in [0, 30521], as Gather emb picks one of 30522": ranges of single inputs. A range of one
 * number may follow from sizes that were chosen, so what was made is said. */
static void add_chosen_ranges(struct ulp_text *name, const struct ulp_model *model,
                              const struct ulp_random_options *options,
                              const struct ulp_tensor_set *inputs)
{
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_chosen_range range = ulp_model_input_range(model, i, options);
        const char *input = ulp_model_input(model, i).name;
        const struct ulp_tensor *made = ulp_tensor_set_find(inputs, input);
        bool own = *range.why;
        for (size_t r = 0; r < options->range_count; r++)
            own |= options->ranges[r].name && strcmp(options->ranges[r].name, input) == 0;
        if (own && *range.why && range.low == range.high && made && made->count)
            ulp_text_add(name, "; %s %.10g, as %s", input, ulp_tensor_get(made, 0), range.why);
        else if (own)
            ulp_text_add(name, "; %s in [%g, %.10g]%s%s", input, range.low, range.high,
                         *range.why ? ", as " : "", range.why);
    }
}

enum ulp_status make_random_sample(const struct ulp_model *model,
                                   const struct common_options *options, struct sample_list *list,
                                   struct ulp_error *error)
{
    const struct ulp_random_options random = {.seed = options->seed,
                                              .dims = options->dims,
                                              .dim_count = options->dim_count,
                                              .ranges = options->ranges,
                                              .range_count = options->range_count};
    struct ulp_tensor_set inputs;
    double low = 0, high = 1;
    ULP_TRY(ulp_model_random_inputs(model, &random, &inputs, error));
    list->random = inputs.count;
    for (size_t r = 0; r < options->range_count; r++)
        if (!options->ranges[r].name) {
            low = options->ranges[r].low;
            high = options->ranges[r].high;
        }
    ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
    ulp_text_add(&name, inputs.count ? "random, uniform in [%g, %g], seed %llu" : "no inputs", low,
                 high, (unsigned long long)options->seed);
    add_chosen_ranges(&name, model, &random, &inputs);
    const size_t end = name.length;
    add_chosen_dims(&name, model, &inputs);
    snprintf(open_dims, sizeof open_dims, "%s", name.failed ? "" : name.data + end);
    if (name.failed) {
        ulp_tensor_set_free(&inputs);
        return out_of_memory(error);
    }
    return add_sample(list, name.data, NULL, &inputs, error);
}
