/* What to try when an arithmetic overflows: options that can be copied into a shell. */
#include <string.h>

#include "analysis/audit/audit_keep.h"
#include "analysis/report/report.h"

enum { NAMES_MAX = 3, RANGES_MAX = 8 };

/* Nothing in the name would be shown as an escape, nor read as another kind of pattern. */
static bool can_be_typed(const char *name)
{
    struct ulp_text shown = {0};
    ulp_text_show(&shown, "%s", name);
    const bool same = !shown.failed && *name && strcmp(shown.data, name) == 0;
    ulp_text_free(&shown);
    return same && strncmp(name, "before:", 7) != 0 && strncmp(name, "after:", 6) != 0 &&
           strncmp(name, "between:", 8) != 0;
}

/* " --keep 'NAME=fp32'": in quotes a shell changes nothing but a quote. */
static void add_name(struct ulp_text *out, const char *name)
{
    ulp_text_add(out, " --keep '");
    for (; *name; name++)
        ulp_text_add(out, *name == '\'' ? "'\\''" : "%c", *name);
    ulp_text_add(out, "=fp32'");
}

/* Their indexes, neighbours together: " --keep '#12-14=fp32'". */
static void add_ranges(struct ulp_text *out, const struct ulp_audit_lane *lane, size_t wanted)
{
    size_t ranges = 0, first = 0, named = 0;
    for (size_t n = 0; n < lane->node_count && ranges < RANGES_MAX; n++) {
        if (!ulp_audit_should_keep(lane, &lane->nodes[n]))
            continue;
        if (!n || !ulp_audit_should_keep(lane, &lane->nodes[n - 1]))
            first = n;
        if (n + 1 < lane->node_count && ulp_audit_should_keep(lane, &lane->nodes[n + 1]))
            continue;
        ulp_text_add(out, n > first ? " --keep '#%zu-%zu=fp32'" : " --keep '#%zu=fp32'", first, n);
        named += n - first + 1;
        ranges++;
    }
    if (named < wanted)
        ulp_text_add(out, " and %zu node%s more", wanted - named, wanted - named == 1 ? "" : "s");
}

void ulp_report_hint(const struct ulp_audit_lane *lane, struct ulp_text *out)
{
    size_t count = 0;
    bool typed = true;
    for (size_t n = 0; n < lane->node_count; n++)
        if (ulp_audit_should_keep(lane, &lane->nodes[n])) {
            count++;
            typed &= can_be_typed(lane->nodes[n].name);
        }
    if (!count || !ulp_audit_fp32_helps(lane))
        return;
    ulp_text_add(out, "Try");
    if (count > NAMES_MAX || !typed)
        add_ranges(out, lane, count);
    for (size_t n = 0; n < lane->node_count && count <= NAMES_MAX && typed; n++)
        if (ulp_audit_should_keep(lane, &lane->nodes[n]))
            add_name(out, lane->nodes[n].name);
}
