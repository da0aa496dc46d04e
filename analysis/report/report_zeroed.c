/* Why a node is not finite though no value is too large: what became 0, or negative, before it. */

#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/zero.h"
#include "analysis/report/report.h"

static void add_node(struct ulp_text *out, const struct ulp_audit_node *node)
{
    ulp_text_show(out, "node %zu %s (%s)", node->index, node->name, node->op);
}

/* Functions of a part of the numbers, and what an argument has done that left it: what is not
 * finite though it is in exact arithmetic, and of finite numbers, had such a one. */
static const struct {
    const char *ops, *left;
} domains[] = {{"Sqrt Log", "has become negative"},
               {"Acos Asin Atanh", "has passed 1 or -1"},
               {"Acosh", "has fallen below 1"}};

static const char *find_left(const struct ulp_audit_node *born)
{
    const char *left = NULL;
    for (size_t d = 0; d < sizeof domains / sizeof *domains && born->born; d++)
        if (ulp_is_word(born->op, domains[d].ops))
            left = domains[d].left;
    for (size_t o = 0; o < born->output_count; o++)
        left = born->outputs[o].range.headroom_bits < 0 ? NULL : left;
    return left;
}

static const struct ulp_audit_node *find_before(const struct ulp_audit *audit,
                                                const struct ulp_audit_lane *lane, size_t n)
{
    const struct ulp_place *place = n < audit->place_count ? &audit->places[n] : NULL;
    const ptrdiff_t at = place && place->input_count ? place->inputs[0].node : -1;
    return at >= 0 ? &lane->nodes[at] : NULL;
}

/* Where such an argument is from: the difference that has cancelled, a few nodes before, else what
 * made it. NULL: nothing left its domain. */
static const struct ulp_audit_node *find_leaving(const struct ulp_audit *audit,
                                                 const struct ulp_audit_lane *lane,
                                                 const struct ulp_audit_node *born)
{
    enum { BEFORE = 4 };
    const struct ulp_audit_node *node =
        find_left(born) ? find_before(audit, lane, born->index) : NULL;
    while (node && node->types.moves && find_before(audit, lane, node->index))
        node = find_before(audit, lane, node->index);
    const struct ulp_audit_node *at = node;
    for (int step = 0; step < BEFORE && at; step++, at = find_before(audit, lane, at->index))
        if (at->grew > 2 && ulp_is_word(at->op, "Sub Add"))
            return at;
    return node;
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
                                                                : find_leaving(audit, lane, node)};
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
    ulp_text_show(out, "%s %s in %s",
                  !zeroed->value && by->grew > 2 && ulp_is_word(by->op, "Sub Add") ? " cancels and"
                                                                                   : "",
                  zeroed->value ? "has become 0" : find_left(node),
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
