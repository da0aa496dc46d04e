/* The samples of a search. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"

struct ulp_sample *list_samples(const struct sample_list *samples)
{
    struct ulp_sample *list = calloc(samples->count + 1, sizeof *list);
    for (size_t s = 0; s < samples->count && list; s++)
        list[s] = (struct ulp_sample){samples->items[s].name, &samples->items[s].inputs,
                                      samples->items[s].fingerprint};
    return list;
}

enum ulp_status read_search_samples(const struct ulp_model *model,
                                    const struct common_options *options, char **validate,
                                    size_t validate_count, struct search_samples *out,
                                    struct ulp_error *error)
{
    struct common_options held_out = *options;
    held_out.inputs = validate;
    held_out.input_count = validate_count;
    enum ulp_status status = read_samples(model, options, true, &out->given, error);
    if (status == ULP_OK && !options->quiet)
        note_choices(model, &out->given);
    if (status == ULP_OK && validate_count)
        status = read_samples(model, &held_out, true, &out->held_out, error);
    out->searched = list_samples(&out->given);
    out->validated = list_samples(&out->held_out);
    if (status == ULP_OK && (!out->searched || !out->validated))
        status = out_of_memory(error);
    return status;
}

void free_search_samples(struct search_samples *samples)
{
    free(samples->searched);
    free(samples->validated);
    free_samples(&samples->given);
    free_samples(&samples->held_out);
}

enum ulp_status open_search(const struct common_options *options, const char *folder,
                            struct ulp_model **model, struct ulp_error *error)
{
    char *shape = NULL;
    enum ulp_status status = folder ? ulp_report_prepare(folder, error) : ULP_OK;
    if (status == ULP_OK)
        status = load_model(options->model, options->budget, model, error);
    if (status == ULP_OK)
        status = set_shapes(*model, options, 0, &shape, error);
    free(shape);
    return status;
}
