#include "analysis/audit/settled.h"

#include <stdlib.h>
#include <string.h>

#include "run/carried.h"

/* As it was measured; the views of all lanes follow, and then the exponents that occur. */
struct note {
    size_t lane_count, views; /* which views there were: of a run with audit, or without */
    int rank;
    int64_t dims[ULP_RANK_MAX];
    struct ulp_range range;
    size_t zeros, first, field_count;
    struct ulp_metrics lanes[][ULP_VIEW_COUNT];
};

static const size_t *fields_of(const struct note *note)
{
    return (const size_t *)(const void *)(note->lanes + note->lane_count);
}

static size_t count_views(const struct ulp_settled *figures)
{
    size_t count = 0;
    for (size_t l = 0; l < figures->lane_count; l++)
        count +=
            (figures->lanes[l].value->single != NULL) + (figures->lanes[l].value->here != NULL);
    return count;
}

static bool is_of(const struct note *note, const struct ulp_settled *figures,
                  const struct ulp_tensor *value)
{
    return note->lane_count == figures->lane_count && note->views == count_views(figures) &&
           note->rank == value->rank &&
           memcmp(note->dims, value->dims, (size_t)value->rank * sizeof *value->dims) == 0;
}

bool ulp_settled_recall(const struct ulp_auditor *auditor, const struct ulp_event *event, size_t o,
                        const struct ulp_settled *figures)
{
    const struct note *note =
        event->settled ? ulp_carried_find_note(auditor->program->carried, event->settled, o) : NULL;
    if (!note || !is_of(note, figures, event->values[o].entire))
        return false;
    *figures->range = note->range;
    figures->counts->zeros = note->zeros;
    memcpy(figures->counts->fields + note->first, fields_of(note),
           note->field_count * sizeof(size_t));
    for (size_t l = 0; l < note->lane_count; l++)
        memcpy(figures->lanes[l].views, note->lanes[l], sizeof note->lanes[l]);
    return true;
}

void ulp_settled_note(const struct ulp_auditor *auditor, const struct ulp_event *event, size_t o,
                      const struct ulp_settled *figures)
{
    const struct ulp_tensor *value = event->values[o].entire;
    const size_t *fields = figures->counts->fields;
    size_t first = 0, end = ULP_EXPONENT_FIELDS;
    if (!event->settled)
        return;
    while (first < end && !fields[first])
        first++;
    while (end > first && !fields[end - 1])
        end--;
    struct note *note = malloc(sizeof *note + figures->lane_count * sizeof note->lanes[0] +
                               (end - first) * sizeof *fields);
    if (!note)
        return;
    *note = (struct note){.lane_count = figures->lane_count,
                          .views = count_views(figures),
                          .rank = value->rank,
                          .range = *figures->range,
                          .zeros = figures->counts->zeros,
                          .first = first,
                          .field_count = end - first};
    memcpy(note->dims, value->dims, sizeof note->dims);
    for (size_t l = 0; l < note->lane_count; l++)
        memcpy(note->lanes[l], figures->lanes[l].views, sizeof note->lanes[l]);
    memcpy(note->lanes + note->lane_count, fields + first, note->field_count * sizeof *fields);
    ulp_carried_add_note(auditor->program->carried, event->settled, o, note);
}
