/* What to try: a command that can be copied into a shell. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "analysis/audit/audit_keep.h"
#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/auditor.h"
#include "analysis/measure/limit.h"
#include "analysis/report/report.h"
#include "analysis/writing/columns.h"
#include "run/program/program.h"

enum { NAMES_MAX = 3 };

/* As a pattern of --keep the name stands for this node alone, and it is shown as it is. A pattern
 * that is a node's name is no other pattern (run/program/pattern.c), but for those that name sides
 * of a node; where the arithmetic begins is the first '=' behind which there is one. names fails
 * where there is no memory to tell. */
static bool names_one(const struct ulp_hint_nodes *nodes, size_t node, struct ulp_text *names)
{
    const struct ulp_hint_node own = nodes->get(nodes->lane, node);
    struct ulp_text option = {0};
    struct ulp_keep keep;
    size_t length = 0;
    ulp_text_show(&option, "%s=fp32", own.name);
    const enum ulp_status status =
        option.failed ? ULP_ERROR_MEMORY : ulp_keep_parse(option.data, &keep, &length, NULL);
    names->failed |= status == ULP_ERROR_MEMORY;
    bool one = status == ULP_OK && *own.name && ulp_pattern_may_be_name(own.name) &&
               length == strlen(own.name) && memcmp(option.data, own.name, length) == 0;
    ulp_text_free(&option);
    for (size_t n = 0; n < nodes->count && one; n++)
        one = n == node || strcmp(nodes->get(nodes->lane, n).name, own.name) != 0;
    return one;
}

/* " --keep 'NAME=fp32'" */
static void add_name(struct ulp_text *out, const char *name)
{
    ulp_text_add(out, " --keep '");
    ulp_quoted_add(out, name);
    ulp_text_add(out, "=fp32'");
}

/* Their indexes, neighbours together: " --keep '#12-14=fp32'". */
static void add_ranges(struct ulp_text *out, const struct ulp_hint_nodes *nodes,
                       const char *arithmetic)
{
    size_t first = 0, last = 0;
    bool open = false;
    for (size_t n = 0; n <= nodes->count; n++) {
        const struct ulp_hint_node node =
            n < nodes->count ? nodes->get(nodes->lane, n) : (struct ulp_hint_node){0};
        if (open && (!node.keep || node.index != last + 1)) {
            ulp_text_add(out, " --keep '#%zu", first);
            if (last > first)
                ulp_text_add(out, "-%zu", last);
            ulp_text_add(out, "=%s'", arithmetic);
            open = false;
        }
        if (node.keep) {
            first = open ? first : node.index;
            last = node.index;
            open = true;
        }
    }
}

void ulp_hint_keeps(struct ulp_text *out, const struct ulp_hint_nodes *nodes)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text names = {0};
    bool named = nodes->kept <= NAMES_MAX;
    for (size_t n = 0; n < nodes->count && named; n++) {
        const struct ulp_hint_node node = nodes->get(nodes->lane, n);
        if (!node.keep)
            continue;
        add_name(&names, node.name);
        named = names_one(nodes, n, &names);
    }
    if (named && names.length)
        ulp_text_put(out, names.data, names.length);
    else
        add_ranges(out, nodes, "fp32");
    out->failed |= names.failed;
}

/* What the lane keeps already. */
struct own {
    const struct ulp_audit_lane *lane;
    ptrdiff_t kept;
};

static struct ulp_hint_node get_own(const void *context, size_t n)
{
    const struct own *own = context;
    const struct ulp_audit_node *node = &own->lane->nodes[n];
    return (struct ulp_hint_node){node->name, n, node->kept == own->kept};
}

static void add_own(struct ulp_text *out, const struct ulp_audit_lane *lane)
{
    for (size_t k = 0; k < lane->kept_count; k++) {
        const struct own own = {lane, (ptrdiff_t)k};
        const struct ulp_hint_nodes nodes = {&own, lane->node_count, 0, get_own};
        add_ranges(out, &nodes, lane->kept[k].name);
    }
}

/* The nodes of the run that helped; where there was none, those that must be in FP32 for their
 * range. */
static struct ulp_hint_node get_node(const void *context, size_t n)
{
    const struct ulp_audit_lane *lane = context;
    const struct ulp_audit_remedy *remedy = &lane->remedy;
    bool keep = !remedy->tried && ulp_audit_should_keep(lane, &lane->nodes[n]);
    for (size_t i = 0; i < remedy->node_count; i++)
        keep |= remedy->nodes[i] == n;
    return (struct ulp_hint_node){lane->nodes[n].name, n, keep};
}

/* " # y is at 58.1 dB then": a comment to a shell, too. */
static void add_figure(struct ulp_text *out, const struct ulp_audit_remedy *remedy)
{
    if (isnan(remedy->sqnr_db))
        return;
    ulp_text_show(out, " # %s is ", remedy->output);
    if (isinf(remedy->sqnr_db))
        ulp_text_add(out, remedy->sqnr_db > 0 ? "exact then" : "no better then");
    else
        ulp_text_add(out, "at %.1f dB then", ulp_tenths(remedy->sqnr_db));
    if (isfinite(remedy->sqnr_db - remedy->before_db))
        ulp_text_add(out, ", %.1f dB more", ulp_tenths(remedy->sqnr_db - remedy->before_db));
    if (remedy->left_out)
        ulp_text_add(out, ", in the %zu of %zu samples that were run", remedy->ran,
                     remedy->ran + remedy->left_out);
}

/* Has FP32 more bits than what is stored? */
static bool is_narrow(const struct ulp_audit_lane *lane)
{
    return lane->arithmetic.storage.precision < 24;
}

/* Do outputs follow other decisions than the reference's, by roundings that FP32 does not make? */
static bool follows_others(const struct ulp_audit_lane *lane)
{
    bool diverged = false;
    for (size_t o = 0; o < lane->outputs.output_count; o++)
        diverged |= lane->outputs.outputs[o].entire.diverged;
    return diverged && lane->first_decided >= 0 && is_narrow(lane);
}

const char *ulp_report_crossed(const struct ulp_audit *audit, const struct ulp_audit_lane *lane)
{
    for (size_t l = 0; l < audit->limit_count; l++)
        for (size_t c = 0; c < audit->limits[l].crossing_count; c++) {
            const char *arithmetic = audit->limits[l].crossings[c].arithmetic,
                       *limit = audit->limits[l].limit;
            const size_t length = strlen(lane->name);
            if (arithmetic && strcmp(arithmetic, lane->name) == 0)
                return limit + (strncmp(limit, lane->name, length) == 0 && limit[length] == ':'
                                    ? length + 1
                                    : 0);
        }
    return NULL;
}

static void add_plan(struct ulp_text *out, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane, const char *why)
{
    const struct ulp_asked asked = ulp_audit_asked(lane);
    const char *crossed = ulp_report_crossed(audit, lane);
    if (!crossed && ulp_audit_lane_grade(audit, lane) == ULP_GRADE_FINE)
        return; /* the model as it is is such a plan */
    ulp_command_add(out, "plan", audit->arguments);
    ulp_text_show(out, " -a %.*s --tolerance", asked.length, asked.text);
    ulp_word_add(out, crossed && ulp_limit_is_tolerance(crossed) ? crossed : "sqnr_db=40");
    ulp_text_show(out, " # %s", why);
}

/* The command that keeps nodes, or the one that finds which, and why. */
static void add_trial(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_remedy *remedy = &lane->remedy;
    struct ulp_hint_nodes nodes = {lane, lane->node_count, 0, get_node};
    for (size_t n = 0; n < lane->node_count; n++)
        nodes.kept += get_node(lane, n).keep;
    if (nodes.kept && (remedy->tried || ulp_audit_fp32_helps(lane))) {
        const struct ulp_asked asked = ulp_audit_asked(lane);
        ulp_command_add(out, "audit", audit->arguments);
        ulp_text_show(out, " -a %.*s", asked.length, asked.text);
        add_own(out, lane);
        ulp_hint_keeps(out, &nodes);
    } else if (!nodes.kept && !remedy->tried && follows_others(lane))
        add_plan(out, audit, lane, "outputs follow other decisions");
    if (remedy->tried && !remedy->node_count)
        add_plan(out, audit, lane,
                 isfinite(remedy->before_db)
                     ? "keeping one to three nodes in FP32 gains less than 1 dB"
                     : "FP32 where values are not finite leaves some that are not");
}

void ulp_report_todo(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                     struct ulp_text *out)
{
    const char *crossed = ulp_report_crossed(audit, lane);
    const size_t before = out->length;
    add_trial(out, audit, lane);
    if (out->length == before && crossed && ulp_limit_is_tolerance(crossed) && is_narrow(lane))
        add_plan(out, audit, lane, "which nodes to keep in FP32");
    if (lane->remedy.node_count)
        add_figure(out, &lane->remedy);
}
