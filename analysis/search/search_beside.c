/* What was found is judged in other ways than the search runs it: with scales in the units that
 * take them, as mixed.onnx is, and in outputs of which nothing could be asked. */
#include <stdio.h>
#include <string.h>

#include "analysis/measure/judged.h"
#include "analysis/search/searcher.h"
#include "base/error.h"
#include "number/format/scaling.h"
#include "number/function/math.h"

/* ---- in the units that take the scales ---- */

enum ulp_status ulp_search_judge_unit(struct ulp_searcher *search, struct ulp_search *out,
                                      struct ulp_error *error)
{
    struct ulp_attempt lane = {.arithmetic = search->choices[search->base].arithmetic};
    ULP_TRY(ulp_search_keeps(search, search->best, &lane.keeps, error));
    ULP_TAKE_ARRAY(struct ulp_keep, keeps, search->emulation.memory, lane.keeps.count + 1, error);
    for (size_t k = 0; k < lane.keeps.count; k++) {
        struct ulp_keep *keep = &keeps[k];
        char text[96];
        *keep = lane.keeps.items[k];
        if (!keep->arithmetic.scaling[0].name[0] ||
            ulp_scaling_is_integer(&keep->arithmetic.scaling[0]))
            continue;
        snprintf(text, sizeof text, "%s,factor=%s%s", keep->arithmetic.storage.name,
                 keep->arithmetic.scaling[0].name,
                 keep->arithmetic.scaling[0].rule == ULP_SCALE_UP ? ",scale=up" : "");
        ULP_TRY(ulp_arithmetic_find(text, &keep->arithmetic, error));
        if (!out->unit)
            ULP_TRY(ulp_search_copy(out->memory, keep->arithmetic.schedule.gpu, &out->unit, error));
    }
    lane.keeps.items = keeps;
    for (size_t s = 0; s < search->emulation.given.sample_count && out->unit; s++) {
        struct ulp_judgement judgement;
        ULP_TRY(ulp_emulation_beside(&search->emulation, s, &lane, 1, &judgement, error));
        out->unit_ratio = s ? ulp_math_max(out->unit_ratio, judgement.ratio) : judgement.ratio;
    }
    return ULP_OK;
}

/* ---- as a model with types ---- */

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

/* ---- outputs that are decisions ---- */

/* The widest format everywhere takes them otherwise than the reference, too, so nothing is asked of
 * them, and what becomes of them is said. */

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
    *out = ulp_text_keep(&text, memory);
    return ulp_taken(*out, error);
}

enum ulp_status ulp_search_report_decided(struct ulp_searcher *search, struct ulp_search *out,
                                          struct ulp_error *error)
{
    const struct ulp_model *model = search->emulation.given.model;
    const size_t count = ulp_model_output_count(model);
    ULP_TAKE(out->decided, out->memory, count + 1, error);
    ULP_TAKE_ARRAY(ulp_pick, wide, search->emulation.memory, search->layer_count + 1, error);
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
