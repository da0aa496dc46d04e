/* The frontier as a table and as a picture. */
#include "analysis/search/written/search_files.h"
#include "number/function/math.h"

#include <math.h>
#include <string.h>

/* By the cost of a plan; of formats of a list by the tolerance. */
enum ulp_status ulp_frontier_csv(const struct ulp_search *found, struct ulp_text *out,
                                 struct ulp_error *error)
{
    (void)error;
    ulp_text_add(out, found->by_node ? "cost,error_over_tolerance\n"
                                     : "tolerance,error,bits,uniform_bits,cost\n");
    for (size_t f = 0; f < found->point_count; f++) {
        const struct ulp_search_point *point = &found->frontier[f];
        if (!found->by_node) {
            ulp_text_add(out, "%.9g,%.9g,%.9g,", point->allowed, point->ratio, point->bits);
            if (!isnan(point->uniform_bits))
                ulp_text_add(out, "%.9g", point->uniform_bits);
            ulp_text_add(out, ",%.9g\n", point->cost);
        } else if (isfinite(point->ratio)) {
            ulp_text_add(out, "%.9g,%.9g\n", point->cost, point->ratio);
        } else {
            ulp_text_add(out, "%.9g,inf\n", point->cost);
        }
    }
    return ULP_OK;
}

/* ---- the picture ---- */

enum { WIDTH = 720, HEIGHT = 400, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 50 };

struct axes {
    double cost_min, cost_max, low, high; /* low, high: log10 of the ratios */
};

static double place_x(const struct axes *axes, double cost)
{
    return LEFT +
           (WIDTH - LEFT - RIGHT) * (cost - axes->cost_min) / (axes->cost_max - axes->cost_min);
}

static double place_y(const struct axes *axes, double ratio)
{
    const double at = (ulp_math_log10(ratio) - axes->low) / (axes->high - axes->low);
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ulp_math_min(ulp_math_max(at, 0), 1);
}

static struct axes find_axes(const struct ulp_search *found)
{
    const double first = found->by_node ? 0 : floor(found->frontier[0].cost);
    struct axes axes = {.cost_min = first, .cost_max = first + 1, .low = -1, .high = 1};
    for (size_t f = 0; f < found->point_count; f++) {
        const struct ulp_search_point *point = &found->frontier[f];
        axes.cost_max = ulp_math_max(axes.cost_max, point->cost);
        if (isfinite(point->ratio) && point->ratio > 0) {
            axes.low = ulp_math_min(axes.low, floor(ulp_math_log10(point->ratio)));
            axes.high = ulp_math_max(axes.high, ceil(ulp_math_log10(point->ratio)));
        }
    }
    return axes;
}

static void add_text(struct ulp_text *out, double x, double y, const char *anchor, const char *text)
{
    ulp_text_add(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                 text);
}

static void add_axes(struct ulp_text *out, const struct axes *axes, const char *what)
{
    const double floor_y = HEIGHT - BOTTOM;
    const double step = ulp_math_max(1, ceil((axes->cost_max - axes->cost_min) / 8));
    for (double decade = axes->low; decade <= axes->high; decade++) {
        const double y = place_y(axes, ulp_math_pow(10, decade));
        ulp_text_add(out, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", LEFT, y, WIDTH - RIGHT);
        ulp_text_add(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">1e%.0f</text>\n", LEFT - 8,
                     y + 4, decade + 0.0);
    }
    for (double cost = axes->cost_min; cost <= axes->cost_max; cost += step)
        ulp_text_add(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n",
                     place_x(axes, cost), floor_y + 18, cost);
    add_text(out, WIDTH / 2.0, HEIGHT - 10, "middle", what);
    add_text(out, LEFT, TOP - 12, "start", "error / tolerance (worst sample and output)");
    ulp_text_add(out, "<path d=\"M%d %.1fH%d\" stroke=\"#c33\" stroke-dasharray=\"6 4\"/>\n", LEFT,
                 place_y(axes, 1), WIDTH - RIGHT);
}

/* An error that is not finite is above the picture: its points are left out, and the curve begins
 * behind them. */
enum ulp_status ulp_frontier_svg(const struct ulp_search *found, struct ulp_text *out,
                                 struct ulp_error *error)
{
    const struct axes axes = find_axes(found);
    const bool is_count = found->by_node && strcmp(found->cost, "nodes") == 0;
    bool begun = false;
    (void)error;
    ulp_text_add(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                 "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                 WIDTH, HEIGHT, WIDTH, HEIGHT);
    add_axes(out, &axes, is_count ? "kept nodes" : "cost");

    ulp_text_add(out, "<path fill=\"none\" stroke=\"#226\" stroke-width=\"1.5\" d=\"");
    for (size_t f = 0; f < found->point_count; f++) {
        const struct ulp_search_point *point = &found->frontier[f];
        if (!isfinite(point->ratio))
            continue;
        const double x = place_x(&axes, point->cost), y = place_y(&axes, point->ratio);
        ulp_text_add(out, begun ? "H%.1fV%.1f" : "M%.1f %.1f", x, y);
        begun = true;
    }
    ulp_text_add(out, "\"/>\n");
    for (size_t f = 0; f < found->point_count; f++)
        if (isfinite(found->frontier[f].ratio))
            ulp_text_add(out,
                         "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%.9g %s: "
                         "%.3g</title></circle>\n",
                         place_x(&axes, found->frontier[f].cost),
                         place_y(&axes, found->frontier[f].ratio),
                         found->frontier[f].cost == found->total_cost ? "#c33" : "#226",
                         found->frontier[f].cost, is_count ? "kept" : "paid",
                         found->frontier[f].ratio);
    ulp_text_add(out, "</svg>\n");
    return ULP_OK;
}
