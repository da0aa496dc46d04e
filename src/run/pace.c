#include "run/pace.h"

#include <math.h>

#include "number/function/math.h"

static struct ulp_paced *find(const struct ulp_pace *pace, const struct ulp_operator *op)
{
    size_t i = 0;
    while (i < pace->count && pace->operators[i].op != op)
        i++;
    return &pace->operators[i];
}

enum ulp_status ulp_pace_begin(struct ulp_pace *pace, const struct ulp_block *main,
                               struct ulp_arena *memory, struct ulp_error *error)
{
    *pace = (struct ulp_pace){.left = NAN};
    ULP_TAKE(pace->operators, memory, main->step_count + 1, error);
    for (size_t s = 0; s < main->step_count; s++) {
        struct ulp_paced *of = find(pace, main->steps[s].bound.op);
        if (of == &pace->operators[pace->count])
            pace->operators[pace->count++] = (struct ulp_paced){.op = main->steps[s].bound.op};
        of->left += main->steps[s].cost;
    }
    return ULP_OK;
}

/* What is left of operators that were computed goes by their own rates, of others by the mean. */
void ulp_pace_step(struct ulp_pace *pace, const struct ulp_step *step, double seconds)
{
    double known = 0, unknown = 0, spent = 0, cost = 0;
    struct ulp_paced *done = find(pace, step->bound.op);
    done->seconds += seconds;
    done->cost += step->cost;
    done->left = ulp_math_max(done->left - step->cost, 0);
    for (size_t i = 0; i < pace->count; i++) {
        const struct ulp_paced *of = &pace->operators[i];
        spent += of->seconds;
        cost += of->cost;
        if (of->cost > 0)
            known += of->left * of->seconds / of->cost;
        else
            unknown += of->left;
    }
    unknown = unknown > 0 ? unknown * spent / cost : 0; /* not finite before anything has a cost */
    pace->left =
        isfinite(unknown) && unknown <= 0.1 * (spent + known + unknown) ? known + unknown : NAN;
}
