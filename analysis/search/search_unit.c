/* An allocation of formats with scales where a GPU's units take the scales. */
#include <stdio.h>

#include "analysis/search/searcher.h"
#include "number/function/math.h"

enum ulp_status ulp_search_judge_unit(struct ulp_searcher *search, struct ulp_search *out,
                                      struct ulp_error *error)
{
    struct ulp_beside lane = {.arithmetic = search->choices[search->base].arithmetic};
    ULP_TRY(ulp_search_keeps(search, search->best, &lane.keeps, error));
    struct ulp_keep *keeps;
    ULP_TAKE(keeps, search->emulation.memory, lane.keeps.count + 1, error);
    for (size_t k = 0; k < lane.keeps.count; k++) {
        struct ulp_keep *keep = &keeps[k];
        char text[96];
        *keep = lane.keeps.items[k];
        if (!keep->arithmetic.scaling[0].name[0])
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
