/* The figures of a node in one arithmetic that other tools are given; those of outputs are of its
 * worst. */
#include <math.h>

#include "analysis/saved/saved.h"
#include "number/function/math.h"

static double get_share(const json_t *node)
{
    return ulp_saved_number(node, "share");
}

static double get_introduced(const json_t *node)
{
    return ulp_saved_worst(node, "introduced");
}

static double get_entire(const json_t *node)
{
    return ulp_saved_worst(node, "entire");
}

static double get_headroom(const json_t *node)
{
    const json_t *output;
    size_t o;
    double least = NAN;
    json_array_foreach(json_object_get(node, "outputs"), o, output) least =
        ulp_math_min(least, ulp_saved_number(json_object_get(output, "range"), "headroom_bits"));
    return least;
}

static double get_nonfinite(const json_t *node)
{
    const json_t *output;
    size_t o;
    double sum = 0;
    json_array_foreach(json_object_get(node, "outputs"), o, output) sum +=
        ulp_math_max(0, ulp_saved_number(json_object_get(output, "entire"), "nonfinite"));
    return sum;
}

const struct ulp_saved_figure ulp_saved_figures[ULP_SAVED_FIGURES] = {
    {"share", get_share, false},
    {"introduced", get_introduced, false},
    {"entire", get_entire, false},
    {"headroom", get_headroom, true},
    {"nonfinite", get_nonfinite, false}};
