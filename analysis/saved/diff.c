/* What changed between two saved reports, as text. */
#include <math.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "analysis/writing/columns.h"
#include "analysis/saved/saved_compare.h"
#include "base/machine/environment.h"

#define NODES_SHOWN 5

static void add_changed_output(const struct ulp_page *page, const struct ulp_changed_output *output)
{
    static const char *const words[] = {"", "better", "WORSE"};
    const char *colour = output->change == ULP_WORSE ? page->red : "";
    char was[32], is[32];
    if (!output->before) {
        ulp_text_show(page->out, "  only in the second report: output %s\n", output->name);
        return;
    }
    ulp_text_add(page->out, "  %s%16s %15s", colour, ulp_changed_say(was, output->before),
                 ulp_changed_say(is, output->after));
    if (isfinite(output->ratio))
        ulp_text_add(page->out, " %9.2f", output->ratio);
    else
        ulp_text_add(page->out, " %9s", "");
    ulp_text_add(page->out, "  %-7s", words[output->change]);
    ulp_page_name(page, output->name, 53);
    ulp_text_add(page->out, "%s\n", *colour ? page->off : "");
}

static void add_born_nodes(const struct ulp_page *page, const struct ulp_changed_lane *lane)
{
    for (size_t i = 0; i < lane->born_count && i < NODES_SHOWN; i++) {
        const struct ulp_audit_node *node = lane->born[i].node;
        ulp_text_show(page->out, "  newly makes Inf or NaN: node %zu %s (%s)\n", node->index,
                      node->name, node->op);
    }
    for (size_t i = 0; i < lane->grown_count && i < NODES_SHOWN; i++) {
        const struct ulp_changed_node *grown = &lane->grown[i];
        ulp_text_show(page->out, "  introduces more: %.2e -> %.2e of its rms, node %zu %s (%s)\n",
                      grown->before, grown->after, grown->node->index, grown->node->name,
                      grown->node->op);
    }
    if (lane->grown_count > NODES_SHOWN)
        ulp_text_add(page->out, "  ... and %zu more node%s more\n", lane->grown_count - NODES_SHOWN,
                     lane->grown_count == NODES_SHOWN + 1 ? " that introduces"
                                                          : "s that introduce");
    if (lane->unpaired_count)
        ulp_text_add(page->out, "  not in the first report: %zu node%s of the second, by name\n",
                     lane->unpaired_count, lane->unpaired_count == 1 ? "" : "s");
}

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
    ulp_text_add(page->out, "  %s%16s %15s %9s  %-7soutput%s\n", page->dim, "before", "after",
                 "error x", "", page->off);
    for (size_t o = 0; o < lane->output_count; o++)
        add_changed_output(page, &lane->outputs[o]);
    for (size_t o = 0; o < lane->output_count; o++)
        if (lane->outputs[o].reason)
            ulp_text_show(page->out, "  cannot be judged: output %s %s\n", lane->outputs[o].name,
                          lane->outputs[o].reason);
    if (!lane->output_count)
        ulp_text_add(page->out, "  cannot be judged: %s\n",
                     ulp_judge_reason(ULP_CROSSED_NO_OUTPUT));
    add_born_nodes(page, lane);
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
