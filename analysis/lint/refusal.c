#include "analysis/lint/refusal.h"

#include <stdlib.h>

#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/machine/environment.h"

const struct ulp_finding *ulp_lint_find_error(const struct ulp_lint_result *lint,
                                              bool (*passes)(const char *rule))
{
    const struct ulp_finding *first = NULL;
    for (size_t f = 0; f < lint->finding_count; f++) {
        const struct ulp_finding *finding = &lint->findings[f];
        if (ulp_lint_refuses(finding))
            return finding;
        if (!first && finding->severity == ULP_SEVERITY_ERROR && !(passes && passes(finding->rule)))
            first = finding;
    }
    return first;
}

void ulp_lint_say_error(struct ulp_text *out, const struct ulp_finding *finding, const char *target)
{
    if (ulp_lint_refuses(finding))
        ulp_text_show(out, "%s refuses the model: %s (%s)", target, finding->what, finding->rule);
    else
        ulp_text_show(out, "%s: the lint finds an error: %s (%s)", target, finding->what,
                      finding->rule);
}

static const struct ulp_finding *find_rule(const struct ulp_lint_result *lint, const char *id)
{
    for (size_t f = 0; f < lint->finding_count; f++)
        if (strcmp(lint->findings[f].rule, id) == 0)
            return &lint->findings[f];
    return NULL;
}

enum ulp_status ulp_lint_refusal(const struct ulp_model *model, const char *target,
                                 const struct ulp_lint_options *sizes, struct ulp_refusal *out,
                                 struct ulp_error *error)
{
    struct ulp_lint_options wanted = sizes ? *sizes : (struct ulp_lint_options){0};
    struct ulp_target_name named;
    ULP_SCOPED(ulp_lint_free) struct ulp_lint_result lint = {0};
    struct ulp_text what = {0}, why = {0}, fix = {0};
    *out = (struct ulp_refusal){0};
    const bool known = target && ulp_target_read(target, &named);
    if (!known && !wanted.original)
        return ULP_OK;
    wanted.targets = known ? named.target->bit : 0;
    ULP_TRY(ulp_lint_run(model, &wanted, &lint, error));
    const struct ulp_finding *finding = known ? ulp_lint_find_error(&lint, NULL) : NULL,
                             *other = find_rule(&lint, "constant-off");
    const bool refused = ulp_lint_refuses(finding);
    if (!refused && other) {
        finding = other;
        ulp_text_show(&what, "the model is not its original: %s (%s)", other->what, other->rule);
    } else if (finding) {
        ulp_lint_say_error(&what, finding, target);
    } else {
        return ULP_OK;
    }
    if (finding->node)
        ulp_text_show(&why, "node %s: ", finding->node);
    ulp_text_show(&why, "%s", finding->text);
    ulp_text_show_whole(&fix, finding->fix);
    *out = (struct ulp_refusal){refused || other, what.data, why.data, fix.data,
                                ulp_lint_rows[finding->row].rule.targets != ULP_TARGET_ALL};
    if (!what.failed && !why.failed && !fix.failed)
        return ULP_OK;
    ulp_refusal_free(out);
    return ulp_out_of_memory(error);
}

void ulp_refusal_free(struct ulp_refusal *refusal)
{
    free(refusal->what);
    free(refusal->why);
    free(refusal->fix);
    *refusal = (struct ulp_refusal){0};
}

enum ulp_status ulp_refusal_text(const struct ulp_refusal *refusal, int width, bool colour,
                                 char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text = {0};
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    struct ulp_headline head = {0};
    if (refusal->what) {
        ulp_text_show(&head.what, "%s", refusal->what);
        ulp_text_show(&head.why, "%s", refusal->why);
        ulp_text_show_whole(&head.todo, refusal->fix);
        ulp_page_headline(&page, page.red, &head);
        ulp_headline_free(&page, &head);
    }
    return ulp_page_take(&text, ULP_OK, out, error);
}
