#include <math.h>

#include "analysis/tried/tried.h"
#include "base/error.h"

size_t ulp_outcome_turned(const struct ulp_tensor *value, const struct ulp_tensor *truth,
                          size_t *first)
{
    size_t count = 0;
    *first = 0;
    if (!ulp_tensor_same_shape(value, truth))
        return truth->count;
    for (size_t i = 0; i < value->count; i++)
        if (ulp_tensor_get_int(value, i) != ulp_tensor_get_int(truth, i) && !count++)
            *first = i;
    return count;
}

enum ulp_status ulp_outcome_add(struct ulp_outcome *outcome, size_t output,
                                const struct ulp_tensor *value, const struct ulp_tensor *truth,
                                const struct ulp_format *format, struct ulp_error *error)
{
    struct ulp_metrics metrics;
    size_t first;
    if (!ulp_element_is_float(value->element)) {
        outcome->turned += ulp_outcome_turned(value, truth, &first);
        return ULP_OK;
    }
    ULP_TRY(ulp_metrics_measure(value, truth, format, &metrics, error));
    const double db = metrics.diverged ? -INFINITY : ulp_decibels(&metrics, metrics.sqnr_db);
    outcome->nonfinite += metrics.diverged ? 0 : metrics.nonfinite;
    if (outcome->any ? !(db < outcome->sqnr_db)
                     : !metrics.diverged && !metrics.count && !metrics.nonfinite)
        return ULP_OK;
    outcome->any = true;
    outcome->output = output;
    outcome->sqnr_db = db;
    outcome->finite_db = metrics.diverged ? -INFINITY : metrics.count ? metrics.sqnr_db : NAN;
    return ULP_OK;
}

/* What the last run gave, lane by lane behind the reference. */
static enum ulp_status judge(const struct ulp_program *program, struct ulp_attempt *items,
                             const struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    const struct ulp_block *main = program->main;
    for (size_t l = 1; l < program->lane_count; l++) {
        struct ulp_attempt *item = &items[l - 1];
        struct ulp_border *borders;
        ULP_TRY(ulp_program_borders(program, l, &borders, &item->cast_count, error));
        ulp_borders_free(borders);
        for (size_t o = 0; o < outputs[0].count; o++)
            if (ulp_block_computes(main, main->outputs[o]))
                ULP_TRY(ulp_outcome_add(&item->outcome, o, &outputs[l].items[o].tensor,
                                        &outputs[0].items[o].tensor, &item->arithmetic.storage,
                                        error));
    }
    return ULP_OK;
}

enum ulp_status ulp_attempts_open(const struct ulp_model *model,
                                  const struct ulp_arithmetic *reference,
                                  const struct ulp_attempt *items, size_t count,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_perturbation *redrawn, struct ulp_program **out,
                                  struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct ulp_program_options options = {.inputs = inputs};
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(model), error));
    ULP_TAKE_ARRAY(struct ulp_arithmetic, lanes, memory, count + 1, error);
    ULP_TAKE_ARRAY(struct ulp_keeps, keeps, memory, count + 1, error);
    lanes[0] = *reference;
    for (size_t i = 0; i < count; i++) {
        lanes[i + 1] = items[i].arithmetic;
        keeps[i + 1] = items[i].keeps;
    }
    options.keeps = keeps;
    if (redrawn)
        options.perturbation = *redrawn;
    return ulp_program_create(model, lanes, count + 1, &options, out, error);
}

enum ulp_status ulp_attempts_run(const struct ulp_model *model,
                                 const struct ulp_arithmetic *reference, struct ulp_attempt *items,
                                 size_t count, const struct ulp_tensor_set *inputs,
                                 const struct ulp_run_options *run,
                                 const struct ulp_observer *observer, struct ulp_tensor_set *truth,
                                 struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(model), error));
    ULP_TAKE_ARRAY(struct ulp_tensor_set, outputs, memory, count + 1, error);
    ULP_TRY(ulp_attempts_open(model, reference, items, count, inputs, NULL, &program, error));
    enum ulp_status status = ulp_program_look(program, inputs, run, NULL, observer, outputs, error);
    ULP_THEN(status, judge(program, items, outputs, error));
    for (size_t o = 0; truth && o < outputs[0].count && status == ULP_OK; o++)
        if (ulp_block_computes(program->main, program->main->outputs[o]))
            status = ulp_tensor_set_add(truth, outputs[0].items[o].name,
                                        &outputs[0].items[o].tensor, error);
    for (size_t l = 0; l <= count; l++)
        ulp_tensor_set_free(&outputs[l]);
    return status;
}
