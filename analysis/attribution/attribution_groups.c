/* Shares of groups of nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/machine/environment.h"
#include "base/error.h"

enum { PARTS_MAX = 100, BY_CAUSE = -1 };

/* "op", "cause" or "prefix:N" into *parts: of names cut at '/' that many, 0: by operator, or
 * BY_CAUSE. */
static enum ulp_status read_parts(const char *by, int *parts, struct ulp_error *error)
{
    char *end = NULL;
    *parts = 0;
    if (strcmp(by, "op") == 0)
        return ULP_OK;
    if (strcmp(by, "cause") == 0) {
        *parts = BY_CAUSE;
        return ULP_OK;
    }
    if (strncmp(by, "prefix:", 7) == 0) {
        const long count = strtol(by + 7, &end, 10);
        *parts = count >= 1 && count <= PARTS_MAX ? (int)count : 0;
    }
    return *parts && end != by + 7 && !*end
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "groups by %s are not known: expected op, cause, or prefix:N for names "
                          "cut after the N-th part between '/', N from 1 to %d",
                          by, PARTS_MAX);
}

/* How much of the name is the group's: its first parts, but for the last one, which is the node's
 * own, unless there is no other. */
static size_t cut_name(const char *name, int parts)
{
    const char *last = strrchr(name, '/');
    size_t length = name[0] == '/';
    if (!last || last == name)
        return strlen(name);
    for (;;) {
        length += strcspn(name + length, "/");
        if (name + length == last || --parts == 0)
            return length;
        length++;
    }
}

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
    ULP_TAKE_ARRAY(struct ulp_share_group, groups, audit->memory, COUNT, error);
    for (size_t g = 0; g < COUNT; g++) {
        const char *name = "decisions";
        if (g != DECISION)
            ulp_share_cause_name((enum ulp_share_cause)g, &name, NULL);
        if (!(groups[g].name = ulp_arena_copy(audit->memory, name)))
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
        groups[n] =
            (struct ulp_share_group){ulp_arena_text(audit->memory, name,
                                                    parts ? cut_name(name, parts) : strlen(name)),
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
    ULP_ENTER(error);
    int parts;
    ULP_TRY(read_parts(by, &parts, error));
    for (size_t l = 0; audit && l < audit->lane_count; l++)
        if (audit->lanes[l].attribution.given)
            ULP_TRY(parts == BY_CAUSE ? group_causes(audit, &audit->lanes[l], error)
                                      : group_lane(audit, &audit->lanes[l], parts, error));
    return ULP_OK;
}
