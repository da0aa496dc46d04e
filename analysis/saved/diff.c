/* What changed between two saved reports, as text. */
#include <string.h>

#include "analysis/measure/judge.h"
#include "analysis/writing/document.h"
#include "analysis/saved/saved_compare.h"
#include "base/machine/environment.h"

#define ROWS_SHOWN 12

static void add_changed_lane(const struct ulp_page *page, const struct ulp_changed_lane *lane)
{
    const bool same = lane->before && lane->after && strcmp(lane->before, lane->after) == 0;
    if (!lane->before || !lane->after) {
        ulp_text_show(page->out, "%s%s%s: only in the %s report, nothing to compare\n", page->bold,
                      lane->before ? lane->before : lane->after, page->off,
                      lane->before ? "first" : "second");
        return;
    }
    ulp_text_show(page->out, "%s%s%s%s%s: ", page->bold, same ? "" : lane->before,
                  same ? "" : " -> ", lane->after, page->off);
    ulp_changed_verdict(&lane->changes, page->red, page->off, page->out);
    ulp_text_add(page->out, "\n");
    for (size_t o = 0; o < lane->output_count; o++)
        if (lane->outputs[o].reason)
            ulp_text_show(page->out, "  cannot be judged: output %s %s\n", lane->outputs[o].name,
                          lane->outputs[o].reason);
    if (!lane->output_count)
        ulp_text_add(page->out, "  cannot be judged: %s\n",
                     ulp_judge_reason(ULP_CROSSED_NO_OUTPUT));
    if (lane->unpaired_count)
        ulp_text_add(page->out, "  not in the first report: %zu node%s of the second, by name\n",
                     lane->unpaired_count, lane->unpaired_count == 1 ? "" : "s");
}

static void add_inputs(const struct ulp_page *page, const struct ulp_audit *audit)
{
    for (size_t i = 0; i < audit->nonfinite_input_count; i++) {
        const struct ulp_audit_input *input = &audit->nonfinite_inputs[i];
        ulp_unjudged_say(page->out,
                         &(struct ulp_unjudged){.is_input = true,
                                                .name = input->name,
                                                .sample = input->sample < audit->sample_count
                                                              ? audit->sample_names[input->sample]
                                                              : NULL,
                                                .reason = ulp_judge_reason(ULP_CROSSED_INPUT)});
        ulp_text_add(page->out, "\n");
    }
}

static void add_text(const struct ulp_changed *changed, int width, bool colour,
                     struct ulp_text *out)
{
    const struct ulp_page page = ulp_page_make(out, width, colour);
    add_inputs(&page, changed->before);
    add_inputs(&page, changed->after);
    for (size_t l = 0; l < changed->lane_count; l++)
        add_changed_lane(&page, &changed->lanes[l]);
    ulp_page_tables(&page, "diff", ulp_changed_document(changed), ROWS_SHOWN);
}

enum ulp_status ulp_saved_compare(struct ulp_saved *before, struct ulp_saved *after,
                                  const struct ulp_saved_comparison *how,
                                  struct ulp_saved_changes *changes, char **out,
                                  struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_changed changed;
    struct ulp_text text = {0};
    enum ulp_status status = ulp_saved_find_changes(before, after, how->factor, &changed, error);
    *out = NULL;
    *changes = changed.changes;
    if (status == ULP_OK && how->json)
        status = ulp_changed_json(&changed, how->json, error);
    if (status == ULP_OK && how->page)
        status = ulp_changed_html(&changed, after, how->page, error);
    if (status == ULP_OK && how->markdown)
        status = ulp_changed_markdown(&changed, how->markdown, error);
    if (status == ULP_OK) {
        add_text(&changed, how->width, how->colour, &text);
        status = ulp_page_take(&text, status, out, error);
    }
    ulp_arena_free(changed.memory);
    return status;
}
