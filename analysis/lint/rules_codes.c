/* Constants that no quantiser writes, and scales that none has found. */
#include "analysis/lint/lint.h"

#include <math.h>

#include "tensor/tensor.h"

/* Operators with codes among their inputs, and where the zero point of these is; -1: there is none.
 */
static const struct {
    const char *op;
    int codes, zero;
} coded[] = {{"DequantizeLinear", 0, 2}, {"ConvInteger", 1, 3},  {"MatMulInteger", 1, 3},
             {"QLinearConv", 3, 5},      {"QLinearConv", 8, -1}, {"QLinearMatMul", 3, 5}};

/* A quantiser rounds a bias to INT32 by the product of two scales: at an end of the type it was
 * cut. */
static void find_cut(struct ulp_lint *lint, struct ulp_lint_place place,
                     const struct ulp_tensor *codes, const char *name)
{
    double bottom, top;
    size_t cut = 0;
    ulp_integer_range(codes->type, &bottom, &top);
    for (size_t i = 0; i < codes->count; i++) {
        const double code = fabs(ulp_tensor_get(codes, i));
        cut += code >= top;
    }
    if (cut)
        ulp_lint_add(
            lint, place, name,
            "%zu of %zu INT32 codes of '%s' are the largest there is: the value needs more "
            "than 2^31 steps, and was cut",
            cut, codes->count, name);
}

/* Fewer are no histogram. */
#define CODES_LEAST 256

/* Codes lie around their zero point. Bytes of signed ones read as unsigned lie at both ends with
 * nothing between; of those whose sign is lost a good part is the zero point, and none on one side.
 */
static void find_misread(struct ulp_lint *lint, struct ulp_lint_place place,
                         const struct ulp_tensor *codes, const struct ulp_tensor *zero,
                         const char *name)
{
    double bottom, top;
    size_t middle = 0, low = 0, at_zero = 0, below = 0;
    const double point = zero ? ulp_tensor_get(zero, 0) : 0;
    ulp_integer_range(codes->type, &bottom, &top);
    for (size_t i = 0; i < codes->count; i++) {
        const double code = ulp_tensor_get(codes, i), share = (code - bottom) / (top - bottom);
        middle += share > 1.0 / 3 && share < 2.0 / 3;
        low += share <= 1.0 / 3;
        at_zero += code == point;
        below += code < point;
    }
    const size_t count = codes->count, above = count - below - at_zero;
    if (20 * middle < count && 4 * low > count && 4 * (count - middle - low) > count)
        ulp_lint_add(lint, place, name,
                     "of %zu %s codes of '%s' %zu are in the lower third, %zu in the middle and "
                     "%zu in the upper one: signed ones read as unsigned, or the other way",
                     count, ulp_type_name(codes->type), name, low, middle, count - middle - low);
    else if ((!below || !above) && 4 * at_zero > count && 4 * at_zero < 3 * count)
        ulp_lint_add(lint, place, name,
                     "of %zu %s codes of '%s' %zu are the zero point, %g, and none is %s it: the "
                     "other sign is lost",
                     count, ulp_type_name(codes->type), name, at_zero, point,
                     below ? "above" : "below");
}

static void find_unwritten(struct ulp_lint *lint, struct ulp_lint_place place, bool cut)
{
    for (size_t c = 0; c < sizeof coded / sizeof *coded; c++) {
        if (!ulp_lint_is(place, coded[c].op))
            continue;
        const int input = ulp_lint_input(place, (size_t)coded[c].codes);
        const struct ulp_tensor *codes = ulp_lint_constant(place.graph, input),
                                *zero =
                                    coded[c].zero < 0
                                        ? NULL
                                        : ulp_lint_constant(place.graph,
                                                            ulp_lint_input(place,
                                                                           (size_t)coded[c].zero));
        const char *name = ulp_lint_value_name(place.graph, input);
        if (!codes || ulp_type_is_float(codes->type))
            continue;
        if (cut && codes->type == ULP_TYPE_INT32)
            find_cut(lint, place, codes, name);
        else if (!cut && codes->type != ULP_TYPE_INT32 && codes->rank > 1 &&
                 codes->count >= CODES_LEAST && (!zero || zero->count == 1))
            find_misread(lint, place, codes, zero, name);
    }
}

void ulp_lint_constant_cut(struct ulp_lint *lint, struct ulp_lint_place place)
{
    find_unwritten(lint, place, true);
}

void ulp_lint_codes_misread(struct ulp_lint *lint, struct ulp_lint_place place)
{
    find_unwritten(lint, place, false);
}

void ulp_lint_cache_scale(struct ulp_lint *lint, struct ulp_lint_place place)
{
    enum { K_SCALE = 12, PAST_KEY = 3 };
    for (size_t i = 0; i < 2; i++) {
        const int input = ulp_lint_input(place, K_SCALE + i),
                  past = ulp_lint_input(place, PAST_KEY + i);
        const struct ulp_tensor *scale = ulp_lint_constant(place.graph, input);
        bool one = scale && scale->count && ulp_type_is_float(scale->type);
        for (size_t e = 0; one && e < scale->count; e++)
            one = ulp_tensor_get(scale, e) == 1;
        if (!one)
            continue;
        const bool floats = past >= 0 && place.graph->types[past] == ULP_TYPE_FLOAT8E4M3FN;
        ulp_lint_add(lint, place, ulp_lint_value_name(place.graph, input),
                     floats ? "the scale of its %s is 1: of FLOAT8E4M3FN, which clips beyond 448"
                            : "the scale of its %s is 1: its cache holds whole numbers",
                     i ? "values" : "keys");
    }
}
