/* What a lint concludes. */
#include "analysis/lint/lint.h"

#include "analysis/writing/columns.h"

/* Findings come by rule: the end of those of the first one's rule. */
static size_t find_end(const struct ulp_lint_result *result, size_t first)
{
    size_t end = first;
    while (end < result->finding_count && result->findings[end].row == result->findings[first].row)
        end++;
    return end;
}

/* The most severe rule, of those the one with most findings: its first finding. */
static size_t find_worst(const struct ulp_lint_result *result)
{
    size_t worst = 0, most = 0;
    enum ulp_severity severity = ULP_SEVERITY_NOTE;
    for (size_t f = 0, end; f < result->finding_count; f = end) {
        end = find_end(result, f);
        const enum ulp_severity here = result->findings[f].severity;
        if (here > severity || (here == severity && end - f > most)) {
            worst = f;
            most = end - f;
            severity = here;
        }
    }
    return worst;
}

static void add_counts(struct ulp_text *out, const struct ulp_lint_result *result)
{
    bool any = false;
    for (int s = ULP_SEVERITY_COUNT - 1; s >= 0; s--) {
        if (!result->counts[s])
            continue;
        ulp_text_add(out, "%s%zu %s%s", any ? ", " : "", result->counts[s],
                     ulp_severity_name((enum ulp_severity)s), result->counts[s] == 1 ? "" : "s");
        any = true;
    }
}

void ulp_lint_conclude(struct ulp_headline *head, const void *of, size_t part)
{
    const struct ulp_lint_result *result = of;
    const char *s = result->node_count == 1 ? "" : "s";
    (void)part;
    ulp_text_show(&head->what, "%s: ", result->model_path);
    if (!result->finding_count) {
        ulp_text_add(&head->what, "nothing found in %zu node%s%s", result->node_count, s,
                     result->unplanned ? ", but not every rule could look" : "");
        ulp_text_add(&head->why, "no rule for the targets asked about finds anything");
        ulp_text_add(&head->todo, result->unplanned ? "see below what the others lack" : "nothing");
        return;
    }
    const struct ulp_finding *finding = &result->findings[find_worst(result)];
    const struct ulp_lint_rule *rule = &ulp_lint_rows[finding->row].rule;
    add_counts(&head->what, result);
    ulp_text_add(&head->what, " in %zu node%s; first %s: %s", result->node_count, s, rule->id,
                 rule->what);
    if (finding->node)
        ulp_text_show(&head->what, " (%s)", finding->node);
    ulp_text_show_whole(&head->why, rule->why);
    ulp_text_show_whole(&head->todo, rule->fix);
}
