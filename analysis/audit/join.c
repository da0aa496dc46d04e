/* The lanes of one sample, audited by several processes (ulpscope/part.h). */
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/auditor.h"
#include "analysis/audit/part.h"
#include "base/machine/environment.h"

/* ---- whose a lane is ---- */

/* What the arithmetic is called without qdq=integer. */
static void name_plain(const struct ulp_arithmetic *arithmetic, struct ulp_arithmetic *out)
{
    struct ulp_error ignored;
    if (!arithmetic->schedule.qdq_integer ||
        ulp_arithmetic_change(out, arithmetic, "qdq=float", &ignored) != ULP_OK)
        *out = *arithmetic;
}

/* The lane itself; the first of that name where one of them has qdq=integer. What they keep is not
 * looked at: some are together without need. */
static size_t find_first(const struct ulp_arithmetic *lanes, size_t lane_count, size_t lane)
{
    struct ulp_arithmetic own, other;
    size_t first = lane;
    bool compared = false;
    name_plain(&lanes[lane], &own);
    for (size_t l = lane_count; l-- > 1;) {
        name_plain(&lanes[l], &other);
        if (strcmp(own.name, other.name) != 0)
            continue;
        first = l;
        compared |= lanes[l].schedule.qdq_integer;
    }
    return compared ? first : lane;
}

/* Of lanes [1, until): those that are the first of theirs. */
static size_t count_first(const struct ulp_arithmetic *lanes, size_t lane_count, size_t until)
{
    size_t count = 0;
    for (size_t l = 1; l < until; l++)
        count += find_first(lanes, lane_count, l) == l;
    return count;
}

size_t ulp_part_owner(const struct ulp_arithmetic *lanes, size_t lane_count, size_t lane,
                      size_t process_count)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return count_first(lanes, lane_count, find_first(lanes, lane_count, lane)) % process_count;
}

size_t ulp_part_owner_count(const struct ulp_arithmetic *lanes, size_t lane_count)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return count_first(lanes, lane_count, lane_count);
}

/* ---- their figures together ---- */

static bool same_histogram(const struct ulp_histogram *a, const struct ulp_histogram *b)
{
    return a->zeros == b->zeros && a->nonfinite == b->nonfinite && a->first == b->first &&
           a->count == b->count &&
           (!a->count || memcmp(a->counts, b->counts, a->count * sizeof *a->counts) == 0);
}

/* The same sample, and references that have the same values as far as a part tells. */
static bool same_reference(const struct ulp_audit *a, const struct ulp_audit *b)
{
    if (strcmp(a->sample_names[0], b->sample_names[0]) != 0)
        return false;
    for (size_t n = 0; n < a->place_count; n++) {
        if (a->places[n].output_count != b->places[n].output_count)
            return false;
        for (size_t o = 0; o < a->places[n].output_count; o++)
            if (!same_histogram(&a->places[n].histograms[o], &b->places[n].histograms[o]))
                return false;
    }
    return true;
}

/* One process's figures into those of all: its lanes to their places. */
static enum ulp_status join_one(const struct ulp_auditor *auditor, size_t process,
                                size_t process_count, const void *part, size_t part_count,
                                struct ulp_audit *all, struct ulp_arena *arena,
                                struct ulp_error *error)
{
    const struct ulp_plan *plan = auditor->plan;
    struct ulp_audit one;
    size_t own = 0;
    for (size_t l = 1; l < plan->lane_count; l++)
        own += ulp_part_owner(plan->lanes, plan->lane_count, l, process_count) == process;
    enum ulp_status status = ulp_part_decode(&one, part, part_count, own,
                                             auditor->audit.lanes[0].node_count, arena, error);
    if (status != ULP_OK)
        return status;
    if (one.quick.given && process_count > 1)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "its reference was looked at by --quick, which takes all lanes");
    struct ulp_audit_lane *const lanes = all->lanes;
    const double seconds = all->seconds;
    const size_t peak_bytes = all->peak_bytes;
    if (process == 0)
        *all = one;
    else if (!same_reference(all, &one))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "its sample or its reference's values are not those of process 0: the "
                        "processes have to run the same program on the same files");
    all->lanes = lanes;
    all->lane_count = auditor->audit.lane_count;
    all->seconds = seconds + one.seconds;
    all->peak_bytes = one.peak_bytes > peak_bytes ? one.peak_bytes : peak_bytes;
    for (size_t l = 1, next = 0; l < plan->lane_count; l++)
        if (ulp_part_owner(plan->lanes, plan->lane_count, l, process_count) == process)
            lanes[l - 1] = one.lanes[next++];
    return ULP_OK;
}

enum ulp_status ulp_part_join(const struct ulp_auditor *auditor, const void *const *parts,
                              const size_t *part_counts, size_t process_count,
                              unsigned char **bytes, size_t *count, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_audit all = {0};
    struct ulp_arena *arena;
    *bytes = NULL;
    *count = 0;
    enum ulp_status status =
        ulp_arena_create(&arena, ulp_model_budget(auditor->plan->model), error);
    if (status != ULP_OK)
        return status;
    all.lanes = ulp_arena_take(arena, auditor->audit.lane_count + 1, sizeof *all.lanes);
    if (!all.lanes)
        status = ulp_auditor_memory(error);
    for (size_t p = 0; p < process_count && status == ULP_OK; p++) {
        status = join_one(auditor, p, process_count, parts[p], part_counts[p], &all, arena, error);
        if (status != ULP_OK)
            ulp_fail_at(error, status, "process %zu", p);
    }
    if (status == ULP_OK)
        status = ulp_part_encode(&all, bytes, count, error);
    ulp_arena_free(arena);
    return status;
}
