/* The result of a lint as text: the verdict, then the findings of each rule, the most severe first.
 */
#include "analysis/lint/lint.h"

#include "analysis/writing/columns.h"
#include "base/machine/environment.h"

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

void ulp_lint_headline(const struct ulp_lint_result *result, struct ulp_headline *head)
{
    const char *s = result->node_count == 1 ? "" : "s";
    ulp_text_show(&head->what, "%s: ", result->model_path);
    if (!result->finding_count) {
        ulp_text_add(&head->what, "nothing found in %zu node%s", result->node_count, s);
        ulp_text_add(&head->why, "no rule for the targets asked about finds anything");
        ulp_text_add(&head->todo, "nothing");
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

/* A paragraph after a word. */
static void add_paragraph(const struct ulp_page *page, const char *word, const char *text)
{
    ulp_text_add(page->out, "  %-5s ", word);
    ulp_page_wrapped(page, text, 8, 8);
}

static void add_finding(const struct ulp_page *page, const struct ulp_finding *finding)
{
    ulp_text_add(page->out, "  ");
    if (finding->node) {
        ulp_text_show(page->out, "%s (%s): ", finding->node, finding->op);
    }
    ulp_text_add(page->out, "%s\n", finding->text);
}

/* said: why it matters and what to do, in the headline. */
static void add_rule(const struct ulp_page *page, const struct ulp_lint_result *result,
                     size_t first, size_t end, size_t shown, bool said)
{
    const struct ulp_lint_rule *rule = &ulp_lint_rows[result->findings[first].row].rule;
    const char *colour = rule->severity == ULP_SEVERITY_ERROR     ? page->red
                         : rule->severity == ULP_SEVERITY_WARNING ? page->yellow
                                                                  : page->dim;
    ulp_text_add(page->out, "\n%s%s%s %s%s%s: %s\n", colour, ulp_severity_name(rule->severity),
                 page->off, page->bold, rule->id, page->off, rule->what);
    for (size_t f = first; f < end; f++) {
        if (shown && f - first == shown && end - f > 1) {
            ulp_text_add(page->out, "  ... and %zu more\n", end - f);
            break;
        }
        add_finding(page, &result->findings[f]);
    }
    if (said)
        return;
    add_paragraph(page, "why", rule->why);
    add_paragraph(page, "do", rule->fix);
}

/* What was not known of shapes. */
static void add_shapes(const struct ulp_page *page, const struct ulp_lint_result *result)
{
    if (result->unplanned)
        ulp_text_show(page->out,
                      "\nOperators that are written out as several nodes were not looked for: %s\n",
                      result->unplanned);
    if (result->assumed)
        ulp_text_show(
            page->out,
            "\nTaken as 1, so that findings may be hidden: %s (--dim, --shape or --inputs "
            "says what they are).\n",
            result->assumed);
}

enum ulp_status ulp_lint_text(const struct ulp_lint_result *result, size_t shown, int width,
                              bool colour, char **out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    struct ulp_headline head = {0};
    ulp_lint_headline(result, &head);
    ulp_page_headline(&page, result->counts[ULP_SEVERITY_ERROR] ? page.red : "", &head);
    ulp_headline_free(&page, &head);
    for (int severity = ULP_SEVERITY_ERROR; severity >= ULP_SEVERITY_NOTE; severity--)
        for (size_t f = 0, end; f < result->finding_count; f = end) {
            end = find_end(result, f);
            if ((int)result->findings[f].severity == severity)
                add_rule(&page, result, f, end, shown, f == find_worst(result));
        }
    add_shapes(&page, result);
    return ulp_page_take(&text, ULP_OK, out, error);
}
