/* Constants that are a number, as another one: that with which the tensor is nearest to what was
 * recorded. */
#include <math.h>
#include <string.h>

#include "analysis/compare/cause/readings.h"
#include "base/error.h"

/* Of what may be computed, with what was before: so many times that until numbers are fitted. */
#define COST_PART 1.25

struct fitting {
    struct ulp_trying *trying;
    struct ulp_tried_reading trial;
};

static enum ulp_status measure_number(void *context, double number, double *distance,
                                      struct ulp_error *error)
{
    struct fitting *fitting = context;
    fitting->trial.number = number;
    ULP_TRY(ulp_tried_measure(fitting->trying, &fitting->trial, error));
    *distance = fitting->trial.distance;
    return ULP_OK;
}

/* A floor that nobody wrote is looked for from here on: one that is far below does nothing. */
#define FLOOR_FIRST (-1)

/* A constant input of a node that is a number; 0: it is none. */
static double find_number(const struct ulp_trying *trying, const char *change, size_t n)
{
    const struct ulp_graph *graph = ulp_trying_graph(trying);
    const struct ulp_node *node = &graph->nodes[n];
    const size_t input = (size_t)(strchr(change, '=')[1] - '0');
    if (strncmp(change, "@floored", 8) == 0)
        return FLOOR_FIRST;
    const struct ulp_tensor *constant =
        input < node->input_count ? ulp_value_constant(graph, node->inputs[input]) : NULL;
    return constant && constant->data && constant->count == 1 &&
                   ulp_type_is_float(constant->type) && isfinite(ulp_tensor_get(constant, 0))
               ? ulp_tensor_get(constant, 0)
               : 0;
}

/* One that halves no error leaves what the model as it is does. */
static enum ulp_status fit_number(struct ulp_trying *trying, const struct ulp_tried_reading *trial,
                                  struct ulp_error *error)
{
    struct fitting fitting = {trying, *trial};
    const struct ulp_least least = {&fitting, measure_number};
    double number;
    ULP_TRY(ulp_find_least(&least, trial->own, &number, error));
    ULP_TRY(measure_number(&fitting, number != 0 ? number : trial->own, &(double){0}, error));
    if (number == 0)
        fitting.trial.distance = trying->unchanged;
    fitting.trial.order = trying->alone_count;
    return ulp_tried_add(trying, &fitting.trial, error);
}

/* Of the nodes of its operator with the same number the first stands for all. */
static enum ulp_status fit_at(struct ulp_trying *trying, const struct ulp_known_reading *reading,
                              size_t n, bool alone, struct ulp_error *error)
{
    const struct ulp_graph *graph = ulp_trying_graph(trying);
    struct ulp_tried_reading trial = {.reading = reading,
                                      .only = SIZE_MAX,
                                      .op = graph->nodes[n].op_type,
                                      .own = find_number(trying, reading->change, n)};
    size_t before = 0, others = 0;
    for (size_t m = 0; m < graph->node_count && trial.own != 0; m++)
        if (m != n && ulp_tried_reads(trying, &trial, m) &&
            find_number(trying, reading->change, m) == trial.own) {
            before += m < n;
            others++;
        }
    if (trial.own == 0 || !ulp_tried_reads(trying, &trial, n) || (alone ? !others : before > 0) ||
        ulp_trying_leaves(trying, n, COST_PART, ULP_READINGS_RUN))
        return ULP_OK;
    trial.only = alone ? n : SIZE_MAX;
    return fit_number(trying, &trial, error);
}

static bool is_fitted(const struct ulp_known_reading *reading)
{
    return strncmp(reading->change, "@fitted", 7) == 0 ||
           strncmp(reading->change, "@floored", 8) == 0;
}

enum ulp_status ulp_try_numbers(struct ulp_trying *trying, struct ulp_error *error)
{
    trying->alone_count = 0;
    for (int alone = 0; alone < 2; alone++)
        for (const struct ulp_known_reading *r = trying->readings; r; r = r->next)
            for (size_t n = 0; n < ulp_trying_graph(trying)->node_count && is_fitted(r); n++)
                if (trying->suspects[n])
                    ULP_TRY(fit_at(trying, r, n, alone, error));
    return ULP_OK;
}
