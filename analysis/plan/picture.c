#include "analysis/plan/picture.h"
#include "number/function/math.h"

#include <math.h>

enum ulp_status ulp_frontier_csv(const struct ulp_found *found, struct ulp_text *out,
                                 struct ulp_error *error)
{
    (void)error;
    ulp_text_add(out, "kept,error_over_tolerance\n");
    for (size_t f = 0; f < found->frontier_count; f++)
        if (isfinite(found->frontier[f].ratio))
            ulp_text_add(out, "%zu,%.9g\n", found->frontier[f].count, found->frontier[f].ratio);
        else
            ulp_text_add(out, "%zu,inf\n", found->frontier[f].count);
    return ULP_OK;
}

/* ---- the picture ---- */

enum { WIDTH = 720, HEIGHT = 400, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 50 };

struct axes {
    double count_max, low, high; /* low, high: log10 of the ratios */
};

static double place_x(const struct axes *axes, double count)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * count / axes->count_max;
}

static double place_y(const struct axes *axes, double ratio)
{
    const double at = (ulp_math_log10(ratio) - axes->low) / (axes->high - axes->low);
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ulp_math_min(ulp_math_max(at, 0), 1);
}

static struct axes find_axes(const struct ulp_found *found)
{
    struct axes axes = {.count_max = 1, .low = -1, .high = 1};
    for (size_t f = 0; f < found->frontier_count; f++) {
        const struct ulp_frontier_point *point = &found->frontier[f];
        axes.count_max = ulp_math_max(axes.count_max, (double)point->count);
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

static void add_axes(struct ulp_text *out, const struct axes *axes)
{
    const double floor_y = HEIGHT - BOTTOM;
    const double step = ulp_math_max(1, ceil(axes->count_max / 8));
    for (double decade = axes->low; decade <= axes->high; decade++) {
        const double y = place_y(axes, ulp_math_pow(10, decade));
        ulp_text_add(out, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", LEFT, y, WIDTH - RIGHT);
        ulp_text_add(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">1e%.0f</text>\n", LEFT - 8,
                     y + 4, decade + 0.0);
    }
    for (double count = 0; count <= axes->count_max; count += step)
        ulp_text_add(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n",
                     place_x(axes, count), floor_y + 18, count);
    add_text(out, WIDTH / 2.0, HEIGHT - 10, "middle", "kept nodes");
    add_text(out, LEFT, TOP - 12, "start", "error / tolerance (worst sample and output)");
    ulp_text_add(out, "<path d=\"M%d %.1fH%d\" stroke=\"#c33\" stroke-dasharray=\"6 4\"/>\n", LEFT,
                 place_y(axes, 1), WIDTH - RIGHT);
}

/* An error that is not finite is above the picture: its points are left out, and the curve begins
 * behind them. */
enum ulp_status ulp_frontier_svg(const struct ulp_found *found, struct ulp_text *out,
                                 struct ulp_error *error)
{
    const struct axes axes = find_axes(found);
    bool begun = false;
    (void)error;
    ulp_text_add(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                 "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                 WIDTH, HEIGHT, WIDTH, HEIGHT);
    add_axes(out, &axes);
    ulp_text_add(out, "<path fill=\"none\" stroke=\"#226\" stroke-width=\"1.5\" d=\"");
    for (size_t f = 0; f < found->frontier_count; f++) {
        const struct ulp_frontier_point *point = &found->frontier[f];
        if (!isfinite(point->ratio))
            continue;
        const double x = place_x(&axes, (double)point->count), y = place_y(&axes, point->ratio);
        ulp_text_add(out, begun ? "H%.1fV%.1f" : "M%.1f %.1f", x, y);
        begun = true;
    }
    ulp_text_add(out, "\"/>\n");
    for (size_t f = 0; f < found->frontier_count; f++)
        if (isfinite(found->frontier[f].ratio))
            ulp_text_add(out,
                         "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%zu kept: "
                         "%.3g</title></circle>\n",
                         place_x(&axes, (double)found->frontier[f].count),
                         place_y(&axes, found->frontier[f].ratio),
                         found->frontier[f].count == found->kept_count ? "#c33" : "#226",
                         found->frontier[f].count, found->frontier[f].ratio);
    ulp_text_add(out, "</svg>\n");
    return ULP_OK;
}
