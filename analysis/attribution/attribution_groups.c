/* Shares of groups of nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "analysis/measure/grouping.h"
#include "base/machine/environment.h"
#include "base/error.h"

static int by_name(const void *a, const void *b)
{
    const struct ulp_share_group *x = a, *y = b;
    const int order = strcmp(x->name, y->name); /* of one name by share: their sum's order */
    return order ? order : (x->share > y->share) - (x->share < y->share);
}

static int by_share(const void *a, const void *b)
{
    const struct ulp_share_group *x = a, *y = b;
    if (fabs(x->share) != fabs(y->share))
        return fabs(x->share) < fabs(y->share) ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* By ulp_share_cause, and decisions. */
static enum ulp_status group_causes(struct ulp_audit *audit, struct ulp_audit_lane *lane,
                                    struct ulp_error *error)
{
    enum { DECISION = ULP_SHARE_CAUSES, COUNT };
    struct ulp_attribution *attribution = &lane->attribution;
    struct ulp_share_group *groups = ulp_arena_take(audit->memory, COUNT, sizeof *groups);
    ULP_TRY(ulp_taken(groups, error));
    for (size_t g = 0; g < COUNT; g++) {
        const char *name = "decisions";
        if (g != DECISION)
            ulp_share_cause_name((enum ulp_share_cause)g, &name, NULL);
        if (!(groups[g].name = ulp_arena_text(audit->memory, name, strlen(name))))
            return ulp_out_of_memory(error);
    }
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t g = 0; g < COUNT; g++) {
            const struct ulp_audit_node *node = &lane->nodes[n];
            const double part = g == DECISION ? node->decision : node->causes[g];
            groups[g].share += part;
            groups[g].node_count += part != 0;
        }
    qsort(groups, COUNT, sizeof *groups, by_share);
    attribution->groups = groups;
    attribution->group_count = COUNT;
    while (attribution->group_count && !groups[attribution->group_count - 1].node_count)
        attribution->group_count--;
    return ULP_OK;
}

static enum ulp_status group_lane(struct ulp_audit *audit, struct ulp_audit_lane *lane, int parts,
                                  struct ulp_error *error)
{
    struct ulp_attribution *attribution = &lane->attribution;
    struct ulp_share_group *groups =
        ulp_arena_take(audit->memory, lane->node_count + 1, sizeof *groups);
    size_t count = 0;
    for (size_t n = 0; groups && n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        const char *name = parts ? node->name : node->op;
        groups[n] = (struct ulp_share_group){ulp_arena_text(audit->memory, name,
                                                            parts ? ulp_grouping_cut(name, parts)
                                                                  : strlen(name)),
                                             node->share + node->decision,
                                             node->share != 0 || node->decision != 0};
        if (!groups[n].name)
            groups = NULL;
    }
    ULP_TRY(ulp_taken(groups, error));
    qsort(groups, lane->node_count, sizeof *groups, by_name);
    for (size_t n = 0; n < lane->node_count; n++)
        if (count && strcmp(groups[count - 1].name, groups[n].name) == 0) {
            groups[count - 1].share += groups[n].share;
            groups[count - 1].node_count += groups[n].node_count;
        } else {
            groups[count++] = groups[n];
        }
    qsort(groups, count, sizeof *groups, by_share);
    attribution->groups = groups;
    attribution->group_count = count;
    return ULP_OK;
}

enum ulp_status ulp_audit_group_shares(struct ulp_audit *audit, const char *by,
                                       struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    int parts;
    ULP_TRY(ulp_grouping_read(by, &parts, error));
    for (size_t l = 0; audit && l < audit->lane_count; l++)
        if (audit->lanes[l].attribution.given)
            ULP_TRY(parts == ULP_GROUPING_CAUSE
                        ? group_causes(audit, &audit->lanes[l], error)
                        : group_lane(audit, &audit->lanes[l], parts, error));
    return ULP_OK;
}
