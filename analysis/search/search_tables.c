/* An allocation's tables as text. */
#include <math.h>
#include <stdlib.h>

#include "analysis/search/search_text.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/memory/alloc.h"

/* Of more layers those of the largest shares are shown. */
#define LAYERS_MAX 80

static int by_share(const void *a, const void *b)
{
    const struct ulp_search_layer *const *x = a, *const *y = b;
    /* a share that cannot be told, NaN, is none */
    const double a_share = isnan((*x)->share) ? 0 : (*x)->share,
                 b_share = isnan((*y)->share) ? 0 : (*y)->share;
    if (a_share != b_share)
        return a_share > b_share ? -1 : 1;
    return (*x)->index < (*y)->index ? -1 : 1;
}

static int by_index(const void *a, const void *b)
{
    const struct ulp_search_layer *const *x = a, *const *y = b;
    return (*x)->index < (*y)->index ? -1 : 1;
}

static void add_ratio(struct ulp_text *out, double ratio)
{
    if (isnan(ratio))
        ulp_text_add(out, "         -");
    else
        ulp_text_add(out, " %9.3g", ratio);
}

static void add_layer(struct ulp_text *out, const struct ulp_search *found,
                      const struct ulp_search_layer *layer)
{
    const struct ulp_search_format *format = &found->formats[layer->format];
    ulp_text_add(out, " %6zu  %-9s %8d %8d %6d  %9.3g %7s", layer->index, format->name,
                 (int)layer->bits - 1 - format->exponent, format->exponent, layer->exponent_needed,
                 layer->largest, ULP_FIGURE("%.1f%%", 100 * layer->share));
    add_ratio(out, layer->predicted);
    add_ratio(out, layer->without);
    ulp_text_show(out, "  %-15s  %s", layer->op, layer->name);
    if (layer->node_count > 1)
        ulp_text_add(out, " (+%zu)", layer->node_count - 1);
    ulp_text_add(out, "\n");
}

static enum ulp_status add_layers(struct ulp_text *out, const struct ulp_search *found,
                                  struct ulp_error *error)
{
    const struct ulp_search_layer **order = calloc(found->layer_count + 1, sizeof *order);
    size_t shown = found->layer_count < LAYERS_MAX ? found->layer_count : LAYERS_MAX;
    ULP_TRY(ulp_taken(order, error));
    for (size_t l = 0; l < found->layer_count; l++)
        order[l] = &found->layers[l];
    qsort(order, found->layer_count, sizeof *order, by_share);
    qsort(order, shown, sizeof *order, by_index);
    ulp_text_add(out, "\n%7s  %-9s %8s %8s %6s  %9s %7s %9s %9s  %-15s  %s\n", "node", "format",
                 "mantissa", "exponent", "needs", "largest", "share", "expected", "fewer", "op",
                 "name");
    for (size_t l = 0; l < shown; l++)
        add_layer(out, found, order[l]);
    if (shown < found->layer_count)
        ulp_text_add(out, "        and %zu layers of smaller shares: plan.json (--out) has all\n",
                     found->layer_count - shown);
    ulp_text_add(out,
                 "\nneeds: exponent bits that the largest magnitude needs; share: of the error; "
                 "expected, fewer: the error, in units of\nwhat is allowed, when this layer "
                 "alone has fewer bits, by the model and emulated; (+n): and n nodes that hand on "
                 "its values\n");
    free(order);
    return ULP_OK;
}

static void add_kept(struct ulp_text *out, const struct ulp_search *found)
{
    if (!found->kept_count)
        return;
    ulp_text_add(out, "\n   node  without  op               name\n");
    for (size_t k = 0; k < found->kept_count; k++) {
        const struct ulp_search_node *node = &found->kept[k];
        ulp_text_add(out, " %6zu  ", node->index);
        if (node->always)
            ulp_text_add(out, " always");
        else
            ulp_text_add(out, " %6s", ULP_FIGURE("%.3g", node->without));
        ulp_text_show(out, "  %-15s  %s\n", node->op, node->name);
    }
    ulp_text_add(out, "\nwithout: the error, in units of what is allowed, when this node alone "
                      "is not kept\n");
}

static void add_frontier(struct ulp_text *out, const struct ulp_search *found)
{
    if (!found->point_count)
        return;
    ulp_text_add(out, "\n%10s %10s %8s %10s %14s\n", "tolerance", "error", "bits", "mantissa",
                 "one for all");
    for (size_t p = 0; p < found->point_count; p++) {
        const struct ulp_search_point *point = &found->frontier[p];
        ulp_text_add(out, " %8.4gx %9.3gx %8.3f %10.3f", point->allowed, point->ratio, point->bits,
                     point->mantissa);
        if (isnan(point->uniform_bits))
            ulp_text_add(out, "              -\n");
        else
            ulp_text_add(out, " %14.4g\n", point->uniform_bits);
    }
    ulp_text_show(out,
                  "\nthe fewest bits emulated for other tolerances, in units of the one asked for; "
                  "bits: mean over layers%s%s\n",
                  ulp_search_is_weighted(found) ? " weighted by " : "",
                  ulp_search_is_weighted(found) ? found->cost : "");
}

enum ulp_status ulp_search_tables(struct ulp_text *out, const struct ulp_search *found,
                                  struct ulp_error *error)
{
    if (found->by_node) {
        add_kept(out, found);
        return ULP_OK;
    }
    if (found->scaled) {
        ulp_search_tables_scaled(out, found);
        return ULP_OK;
    }
    const enum ulp_status status = found->layer_count ? add_layers(out, found, error) : ULP_OK;
    add_frontier(out, found);
    return status;
}
