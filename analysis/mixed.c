#include "analysis/mixed.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for the audit");
}

const struct ulp_arithmetic *ulp_audit_node_arithmetic(const struct ulp_audit_lane *lane,
                                                       const struct ulp_audit_node *node)
{
    return node->kept < 0 ? &lane->arithmetic : &lane->kept[node->kept];
}

static const struct ulp_arithmetic *find_named(const struct ulp_audit_lane *lane, const char *name)
{
    for (size_t k = 0; k < lane->kept_count; k++)
        if (strcmp(lane->kept[k].name, name) == 0)
            return &lane->kept[k];
    return strcmp(lane->arithmetic.name, name) == 0 ? &lane->arithmetic : NULL;
}

static enum ulp_status keep_node(struct ulp_audit_lane *lane, struct ulp_audit_node *node,
                                 const struct ulp_arithmetic *arithmetic, struct ulp_error *error)
{
    const struct ulp_arithmetic *found = find_named(lane, arithmetic->name);
    node->kept = found && found != &lane->arithmetic ? found - lane->kept : -1;
    if (found)
        return ULP_OK;
    struct ulp_arithmetic *grown = realloc(lane->kept, (lane->kept_count + 1) * sizeof *grown);
    if (!grown)
        return out_of_memory(error);
    lane->kept = grown;
    grown[lane->kept_count] = *arithmetic;
    node->kept = (ptrdiff_t)lane->kept_count++;
    return ULP_OK;
}

static enum ulp_status keep_borders(struct ulp_audit_lane *lane, const struct ulp_border *borders,
                                    size_t count, struct ulp_error *error)
{
    lane->borders = calloc(count + 1, sizeof *lane->borders);
    if (!lane->borders)
        return out_of_memory(error);
    for (size_t b = 0; b < count; b++) {
        const struct ulp_border *from = &borders[b];
        lane->borders[b] =
            (struct ulp_audit_border){.value = strdup(from->value),
                                      .from = find_named(lane, from->from->name)->name,
                                      .to = find_named(lane, from->to->name)->name,
                                      .producer = from->producer,
                                      .first_reader = from->first_reader,
                                      .reader_count = from->reader_count,
                                      .elements = from->elements};
        lane->border_count++;
        if (!lane->borders[b].value)
            return out_of_memory(error);
    }
    return ULP_OK;
}

enum ulp_status ulp_mixed_prepare(struct ulp_audit_lane *lane, const struct ulp_plan *plan,
                                  size_t index, struct ulp_error *error)
{
    struct ulp_border *borders = NULL;
    size_t count = 0;
    lane->name = strdup(ulp_plan_lane_name(plan, index));
    enum ulp_status status = lane->name ? ULP_OK : out_of_memory(error);
    for (size_t n = 0; n < lane->node_count && status == ULP_OK; n++)
        status = keep_node(lane, &lane->nodes[n], ulp_plan_node_arithmetic(plan, index, n), error);
    if (status == ULP_OK)
        status = ulp_plan_borders(plan, index, &borders, &count, error);
    if (status == ULP_OK)
        status = keep_borders(lane, borders, count, error);
    free(borders);
    return status;
}

void ulp_mixed_free(struct ulp_audit_lane *lane)
{
    for (size_t b = 0; b < lane->border_count; b++)
        free(lane->borders[b].value);
    free(lane->borders);
    free(lane->kept);
    free(lane->name);
}
