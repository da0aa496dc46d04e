/* Outputs of which nothing is asked: decisions that the widest format everywhere takes otherwise
 * than the reference, too. What becomes of them is said beside. */
#include "analysis/measure/judged.h"
#include "analysis/search/searcher.h"
#include "base/error.h"

/* The output as those who use it see it, in runs of the allocation that decide for themselves. */
static enum ulp_status say(struct ulp_searcher *search, size_t output, const ulp_pick *of,
                           struct ulp_arena *memory, char **out, struct ulp_error *error)
{
    struct ulp_judged judged;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ULP_TRY(ulp_search_keep(search, of, error));
    ULP_TRY(ulp_emulation_decide(&search->emulation, output, &judged, error));
    if (judged.task == ULP_TASK_UNKNOWN)
        ulp_text_add(&text, "its shape is another");
    else
        ulp_judged_grade(&judged, &text);
    return text.failed ? ulp_out_of_memory(error) : ulp_search_copy(memory, text.data, out, error);
}

enum ulp_status ulp_search_report_decided(struct ulp_searcher *search, struct ulp_search *out,
                                          struct ulp_error *error)
{
    const struct ulp_model *model = search->emulation.given.model;
    const size_t count = ulp_model_output_count(model);
    ulp_pick *wide;
    ULP_TAKE(out->decided, out->memory, count + 1, error);
    ULP_TAKE(wide, search->emulation.memory, search->layer_count + 1, error);
    ulp_search_same(search, 0, wide);
    for (size_t o = 0; o < count; o++) {
        struct ulp_search_decided *decided = &out->decided[out->decided_count];
        if (!search->emulation.left[o])
            continue;
        out->decided_count++;
        ULP_TRY(
            ulp_search_copy(out->memory, ulp_model_output(model, o).name, &decided->name, error));
        ULP_TRY(say(search, o, wide, out->memory, &decided->widest, error));
        ULP_TRY(say(search, o, search->best, out->memory, &decided->found, error));
    }
    return ULP_OK;
}
