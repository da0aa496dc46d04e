/* What plan, fix and doctor have alike: samples as a search takes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    ULP_TRY(read_samples(model, options, true, &out->given, error));
    if (!options->quiet)
        note_choices(model, &out->given);
    if (validate_count)
        ULP_TRY(read_samples(model, &held_out, true, &out->held_out, error));
    out->searched = list_samples(&out->given);
    out->validated = list_samples(&out->held_out);
    return taken(out->searched && out->validated, error);
}

void free_search_samples(struct search_samples *samples)
{
    free(samples->searched);
    free(samples->validated);
    free_samples(&samples->given);
    free_samples(&samples->held_out);
}
