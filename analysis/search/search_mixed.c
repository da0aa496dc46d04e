/* What was found as a model with types. */
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"

/* A node that ONNX cannot have in the type is in FLOAT, and the allocation with it runs once more.
 */
static enum ulp_status judge_widened(struct ulp_searcher *search, struct ulp_search *out,
                                     struct ulp_error *error)
{
    ulp_search_as_run(search, search->best);
    for (size_t w = 0; w < out->mixed.widened_count; w++)
        search->kept[out->mixed.widened[w].index] = search->base > 0; /* the widest */
    return ulp_emulation_judge_all(&search->emulation, search->kept, NULL, &out->mixed_ratio,
                                   error);
}

enum ulp_status ulp_search_write_mixed(struct ulp_searcher *search, struct ulp_search *out,
                                       struct ulp_error *error)
{
    const struct ulp_emulation *emulation = &search->emulation;
    ULP_TRY(ulp_search_keep(search, search->best, error));
    const struct ulp_mixed_options options = {.arithmetic =
                                                  search->choices[search->base].arithmetic,
                                              .keeps = emulation->keeps[1],
                                              .lower_io = search->options->lower_io,
                                              .thread_count = search->options->thread_count,
                                              .progress = search->options->progress};
    ULP_TRY(ulp_fail_at(error,
                        ulp_mixed_write(emulation->program->model, &options,
                                        emulation->given.samples, emulation->given.sample_count,
                                        search->options->mixed_folder, &out->mixed, error),
                        "mixed.onnx"));
    if (!out->mixed.widened_count)
        out->mixed_ratio = out->ratio;
    else if (strcmp(search->choices[0].arithmetic.storage.name, "fp32") == 0)
        ULP_TRY(judge_widened(search, out, error));
    return ULP_OK;
}
