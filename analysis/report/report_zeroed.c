/* Why a node is not finite though no value is too large: what became 0, or negative, before it. */
#include <string.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/zero.h"
#include "analysis/report/report.h"

static void add_node(struct ulp_text *out, const struct ulp_audit_node *node)
{
    ulp_text_show(out, "node %zu %s (%s)", node->index, node->name, node->op);
}

/* Of a root or a logarithm of what is exactly positive: the difference that has cancelled, and is
 * negative now, a few nodes before. NULL: it is not that. */
static const struct ulp_audit_node *find_negative(const struct ulp_audit *audit,
                                                  const struct ulp_audit_lane *lane,
                                                  const struct ulp_audit_node *born)
{
    enum { BEFORE = 4 };
    bool is = strcmp(born->op, "Sqrt") == 0 || strcmp(born->op, "Log") == 0;
    for (size_t o = 0; o < born->output_count; o++)
        is &= !(born->outputs[o].range.headroom_bits < 0);
    ptrdiff_t at = is && born->index < audit->place_count ? (ptrdiff_t)born->index : -1;
    for (int step = 0; step < BEFORE && at >= 0; step++) {
        at = audit->places[at].input_count ? audit->places[at].inputs[0].node : -1;
        const struct ulp_audit_node *node = at >= 0 ? &lane->nodes[at] : NULL;
        if (node && node->grew > 2 &&
            (strcmp(node->op, "Sub") == 0 || strcmp(node->op, "Add") == 0))
            return node;
    }
    return NULL;
}

/* The name of a constant that the node reads and that is stored as 0; NULL: none is. */
static const char *find_stored(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                               const struct ulp_audit_node *reader)
{
    const struct ulp_place *place = &audit->places[reader->index];
    for (size_t i = 0; i < place->input_count; i++) {
        const struct ulp_audit_constant *constant =
            place->inputs[i].constant ? ulp_zero_constant(lane, place->inputs[i].name) : NULL;
        if (constant && constant->underflowed == constant->elements)
            return constant->name;
    }
    return NULL;
}

bool ulp_report_find_zeroed(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                            const struct ulp_audit_node *node, struct ulp_zeroed *out)
{
    const struct ulp_audit_node *last =
        node->zeroed && node->zeroed_by >= 0 ? &lane->nodes[node->zeroed_by] : NULL;
    *out =
        (struct ulp_zeroed){.by = last ? &lane->nodes[ulp_zero_origin(lane, last->index)]
                                  : node->zeroed || !node->born ? NULL
                                                                : find_negative(audit, lane, node)};
    if (node->zeroed)
        out->value = !out->by || out->by == last ? node->zeroed : out->by->outputs[0].name;
    return node->zeroed || out->by;
}

void ulp_report_zeroed(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_audit_node *node,
                       const struct ulp_zeroed *zeroed)
{
    const struct ulp_audit_node *by = zeroed->by;
    if (by)
        add_node(out, by);
    else
        ulp_text_show(out, "%s %s", ulp_zero_constant(lane, node->zeroed) ? "constant" : "value",
                      node->zeroed);
    ulp_text_show(out, " %s in %s",
                  zeroed->value ? "has become 0" : "cancels and has become negative",
                  ulp_audit_node_format(lane, by ? by : node).name);
    const char *stored = by && zeroed->value ? find_stored(audit, lane, by) : NULL;
    if (stored)
        ulp_text_show(out, " (constant %s is stored as 0)", stored);
    ulp_text_add(out, ", which makes ");
    add_node(out, node);
    ulp_text_add(out, " not finite");
    if (zeroed->value && node->zeroed_count)
        ulp_text_show(out, " in %zu of %zu elements", node->zeroed_count, node->zeroed_of);
}
