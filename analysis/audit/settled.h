/* Figures of outputs that follow from constants alone, which are the same in every sample. */
#pragma once

#include "analysis/audit/auditor.h"
#include "analysis/audit/views.h"
#include "analysis/measure/histogram.h"

/* What is measured of one output in all lanes, of its own reference. */
struct ulp_settled {
    const struct ulp_viewed *lanes;
    size_t lane_count;
    struct ulp_range *range;
    struct ulp_exponents *counts;
};

/* Fill in what was noted of an output with the same values; false: nothing was. */
bool ulp_settled_recall(const struct ulp_auditor *auditor, const struct ulp_event *event, size_t o,
                        const struct ulp_settled *figures);
/* Note what was measured; where memory ends it is measured again. */
void ulp_settled_note(const struct ulp_auditor *auditor, const struct ulp_event *event, size_t o,
                      const struct ulp_settled *figures);
