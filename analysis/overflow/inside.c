/* What the forecast on the terminal says of the insides of operators. */
#include <string.h>

#include "analysis/overflow/meter.h"

enum { LISTED = 6 };

static const struct ulp_overflow_hidden *find_worst_hidden(const struct ulp_overflow_node *node)
{
    const struct ulp_overflow_hidden *worst = NULL;
    for (size_t h = 0; h < node->hidden_count; h++) {
        const struct ulp_overflow_hidden *hidden = &node->hidden[h];
        if (!worst || hidden->narrow.verdict > worst->narrow.verdict ||
            (hidden->narrow.verdict == worst->narrow.verdict &&
             hidden->narrow.headroom_bits < worst->narrow.headroom_bits))
            worst = hidden;
    }
    return worst;
}

static void add_hidden(const struct ulp_page *page, const struct ulp_overflow_node *node)
{
    const struct ulp_overflow_hidden *hidden = find_worst_hidden(node);
    ulp_text_add(page->out, "  %-13s %9s  %9s  %s%s",
                 ulp_overflow_verdict_name(hidden->narrow.verdict),
                 ULP_FIGURE("%.1f", ulp_overflow_bits(hidden->narrow.headroom_bits)),
                 ULP_FIGURE("%.2e", hidden->largest),
                 hidden->sum && strncmp(hidden->words, "sum", 3) ? "sum of " : "", hidden->words);
    if (hidden->first >= 0)
        ulp_text_add(page->out, ", from k = %td on", hidden->first);
    ulp_text_add(page->out, "\n      in ");
    ulp_page_node(page, node->index, node->name, node->op, 9);
    ulp_text_add(page->out, "\n");
}

/* Values that no output shows, were they computed in the format of the outputs. */
static void add_values(const struct ulp_page *page, const struct ulp_overflow_lane *lane)
{
    const struct ulp_arithmetic *arithmetic = &lane->arithmetic;
    const bool own = ulp_overflow_computes_narrow(arithmetic);
    size_t listed = 0;
    if (!lane->narrow_counts[ULP_OVERFLOW_HAPPENS] && !lane->narrow_counts[ULP_OVERFLOW_1_BIT])
        return;
    ulp_text_add(page->out, "  inside operators");
    if (!own)
        ulp_text_add(page->out, ", were it computed in %s (here it is %s)",
                     arithmetic->storage.name, arithmetic->compute.name);
    ulp_text_add(page->out, ": %zu node%s %zu within 1 bit\n",
                 lane->narrow_counts[ULP_OVERFLOW_HAPPENS],
                 lane->narrow_counts[ULP_OVERFLOW_HAPPENS] == 1 ? " overflows," : "s overflow,",
                 lane->narrow_counts[ULP_OVERFLOW_1_BIT]);
    for (int v = ULP_OVERFLOW_HAPPENS; v >= ULP_OVERFLOW_1_BIT; v--)
        for (size_t n = 0; n < lane->node_count && listed < LISTED; n++)
            if ((int)lane->nodes[n].narrow == v && ++listed)
                add_hidden(page, &lane->nodes[n]);
}

/* Additions whose smaller term is lost, were they rounded to the format of the outputs. */
static void add_absorbed(const struct ulp_page *page, const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_node *most = NULL;
    double additions = 0, absorbed = 0;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_overflow_node *node = &lane->nodes[n];
        additions += node->additions;
        absorbed += node->absorbed;
        if (node->absorbed > 0 && (!most || node->absorbed > most->absorbed))
            most = node;
    }
    if (!most)
        return;
    struct ulp_text text = {0};
    const struct ulp_page inner = ulp_page_make(&text, 0, false);
    ulp_text_add(&text, "of additions rounded to %s %.1f %% lose their smaller term, most in ",
                 lane->arithmetic.storage.name, 100 * absorbed / additions);
    ulp_page_node(&inner, most->index, most->name, most->op, 0);
    ulp_text_add(&text, ", %.1f %%", 100 * most->absorbed / most->additions);
    ulp_text_add(page->out, "  ");
    ulp_page_broken(page, &text, 6, 2);
}

void ulp_overflow_add_inside(const struct ulp_page *page, const struct ulp_overflow_lane *lane)
{
    add_values(page, lane);
    add_absorbed(page, lane);
}
