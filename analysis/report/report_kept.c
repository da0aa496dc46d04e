/* The parts of summary.txt about a lane whose nodes differ: arithmetics and borders of kept nodes,
 * and kernels. */
#include <string.h>

#include "analysis/report/report_page.h"

static void add_border(const struct ulp_page *page, const struct ulp_audit_lane *lane,
                       const struct ulp_audit_border *border)
{
    char value[ULP_SHOWN_BYTES];
    ulp_text_add(page->out, "    %s -> %s: ", border->from, border->to);
    if (page->width)
        ulp_text_add(page->out, "%s",
                     ulp_show_end(value, sizeof value, border->value, ULP_PAGE_NAME));
    else
        ulp_text_show(page->out, "%s", border->value);
    ulp_text_add(page->out, " read by ");
    ulp_page_name(page, lane->nodes[border->first_reader].name,
                  32 + ULP_PAGE_NAME + (int)strlen(border->from) + (int)strlen(border->to));
    ulp_text_add(page->out, border->reader_count > 1 ? " and %zu more\n" : "\n",
                 border->reader_count - 1);
}

void ulp_page_kernels(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    size_t kernels = 0, together = 0, unstored = 0;
    if (lane->arithmetic.fuse == ULP_FUSE_NONE)
        return;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_node_kernel *kernel = &lane->nodes[n].kernel;
        kernels = kernel->kernel > kernels ? kernel->kernel : kernels;
        together += kernel->kernel != 0;
        unstored += kernel->unstored;
    }
    ulp_text_add(page->out,
                 "  fused: %zu of %zu nodes in %zu kernels; the results of %zu are never stored\n",
                 together, lane->node_count, kernels, unstored);
}

void ulp_page_kept(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    size_t kept = 0;
    for (size_t n = 0; n < lane->node_count; n++)
        kept += lane->nodes[n].kept >= 0;
    if (!kept)
        return;
    ulp_text_add(page->out, "  of %zu nodes", lane->node_count);
    for (size_t k = 0; k < lane->kept_count; k++) {
        size_t nodes = 0;
        for (size_t n = 0; n < lane->node_count; n++)
            nodes += lane->nodes[n].kept == (ptrdiff_t)k;
        ulp_text_add(page->out, "%s %zu in %s", k ? "," : "", nodes, lane->kept[k].name);
    }
    ulp_text_add(page->out, "; %zu value%s cross%s a border%s\n", lane->border_count,
                 lane->border_count == 1 ? "" : "s", lane->border_count == 1 ? "es" : "",
                 lane->border_count ? ":" : "");
    for (size_t b = 0; b < lane->border_count && b < ULP_PAGE_RANKED; b++)
        add_border(page, lane, &lane->borders[b]);
    if (lane->border_count > ULP_PAGE_RANKED)
        ulp_text_add(page->out, "    %s%zu more in report.json%s\n", page->dim,
                     lane->border_count - ULP_PAGE_RANKED, page->off);
}
