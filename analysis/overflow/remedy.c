/* Remedies against an overflow that are lanes, all of one run, beside the reference and the
 * arithmetic as it is. Edits of the graph are fix's, which makes what it tries. */
#include <math.h>
#include <string.h>

#include "analysis/overflow/meter.h"
#include "analysis/tried/tried.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/options.h"
#include "base/text/text.h"
#include "number/function/math.h"

enum { CANDIDATES = 5 };

struct trying {
    const struct ulp_program *program;
    const struct ulp_overflow_lane *lane;
    size_t index; /* of the lane in the program */
    struct ulp_arena *memory;
    size_t *nodes; /* those to keep */
    size_t node_count;
    struct ulp_attempt items[CANDIDATES];
    struct ulp_text what[CANDIDATES];
    size_t changed[CANDIDATES]; /* how many nodes */
    size_t count;
};

/* The lane as it is, with nodes kept in the arithmetic besides. *what: for its words. */
static enum ulp_status add_candidate(struct trying *trying, const size_t *nodes, size_t count,
                                     const struct ulp_arithmetic *arithmetic,
                                     struct ulp_text **what, struct ulp_error *error)
{
    struct ulp_attempt *item = &trying->items[trying->count];
    struct ulp_keep *keeps;
    size_t keep_count;
    ULP_TRY(
        ulp_lane_keeps(trying->program, trying->index, trying->memory, &keeps, &keep_count, error));
    if (count)
        keeps[keep_count++] =
            (struct ulp_keep){.nodes = nodes, .node_count = count, .arithmetic = *arithmetic};
    item->arithmetic = trying->program->lanes[trying->index];
    item->keeps = (struct ulp_keeps){.count = keep_count, .items = keeps};
    *what = &trying->what[trying->count];
    trying->changed[trying->count++] = count;
    return ULP_OK;
}

/* ---- which there are ---- */

/* The largest number of the format that something overflows in: the lane's, or where types are as
 * declared those of outputs. */
static double find_largest_finite(const struct ulp_overflow_lane *lane)
{
    double most = 0;
    if (!lane->arithmetic.as_declared)
        return lane->arithmetic.storage.max_finite;
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (lane->nodes[n].outputs[o].overflowed > 0)
                most = ulp_math_max(most, lane->nodes[n].outputs[o].format.max_finite);
    return most;
}

static enum ulp_status add_kept(struct trying *trying, const char *name, const char *shown,
                                struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_text *what;
    ULP_TRY(ulp_arithmetic_find(name, &arithmetic, error));
    if (arithmetic.storage.max_finite <= find_largest_finite(trying->lane))
        return ULP_OK;
    ULP_TRY(add_candidate(trying, trying->nodes, trying->node_count, &arithmetic, &what, error));
    ulp_text_add(what, "keep %zu node%s in %s", trying->node_count,
                 trying->node_count == 1 ? "" : "s", shown);
    return ULP_OK;
}

/* Masks of the largest number, and of -1e4, for lanes that make them infinite. */
static enum ulp_status add_masks(struct trying *trying, struct ulp_error *error)
{
    const struct {
        enum ulp_constants rule;
        double most;
    } rules[] = {{ULP_CONSTANTS_SATURATED, trying->lane->arithmetic.storage.max_finite},
                 {ULP_CONSTANTS_ONNXCONVERTER, 1e4}};
    bool any = false;
    for (size_t n = 0; n < trying->lane->node_count; n++)
        for (size_t o = 0; o < trying->lane->nodes[n].output_count; o++) {
            const struct ulp_overflow_output *output = &trying->lane->nodes[n].outputs[o];
            any |= output->overflowed > 0 &&
                   (output->cause == ULP_OVERFLOW_CONSTANT || output->cause == ULP_OVERFLOW_WEIGHT);
        }
    for (size_t i = 0; i < sizeof rules / sizeof *rules && any; i++) {
        struct ulp_text *what;
        if (rules[i].rule == ULP_CONSTANTS_ONNXCONVERTER &&
            strcmp(trying->lane->arithmetic.storage.name, "fp16") != 0)
            continue;
        ULP_TRY(add_candidate(trying, NULL, 0, NULL, &what, error));
        trying->items[trying->count - 1].arithmetic.constants = rules[i].rule;
        ulp_text_add(what, "constants (masks) of at most %.5g", rules[i].most);
    }
    return ULP_OK;
}

static enum ulp_status list_candidates(struct trying *trying, struct ulp_error *error)
{
    struct ulp_text *what;
    ULP_TAKE(trying->nodes, trying->memory, trying->program->node_count + 1, error);
    for (size_t n = 0; n < trying->lane->node_count; n++)
        if (trying->lane->nodes[n].keep)
            trying->nodes[trying->node_count++] = trying->lane->nodes[n].index;
    ULP_TRY(add_candidate(trying, NULL, 0, NULL, &what, error));
    ulp_text_add(what, "as it is");
    if (trying->node_count) {
        ULP_TRY(add_kept(trying, "fp32", "FP32", error));
        ULP_TRY(add_kept(trying, "bf16", "BF16", error));
    }
    return add_masks(trying, error);
}

/* ---- trying them ---- */

static enum ulp_status try_all(struct trying *trying, const struct ulp_tensor_set *inputs,
                               const struct ulp_run_options *run,
                               const struct ulp_observer *observer, struct ulp_arena *memory,
                               struct ulp_overflow_remedy *out, struct ulp_error *error)
{
    const struct ulp_model *model = trying->program->model;
    for (size_t c = 0; c < trying->count; c++)
        trying->items[c].keeps.name = trying->what[c].data;
    ULP_TRY(ulp_attempts_run(model, trying->program->lanes, trying->items, trying->count, inputs,
                             run, observer, NULL, error));
    for (size_t c = 0; c < trying->count; c++) {
        const struct ulp_attempt *item = &trying->items[c];
        const struct ulp_outcome *outcome = &item->outcome;
        out[c] = (struct ulp_overflow_remedy){
            .what = ulp_arena_copy(memory, trying->what[c].data),
            .node_count = trying->changed[c],
            .cast_count = item->cast_count,
            .nonfinite = outcome->nonfinite,
            .turned = outcome->turned,
            .sqnr_db = outcome->any ? outcome->finite_db : NAN,
            .output = outcome->any
                          ? ulp_arena_copy(memory, ulp_model_output(model, outcome->output).name)
                          : NULL};
        ULP_TRY(ulp_taken(out[c].what && (out[c].output || !outcome->any), error));
    }
    return ULP_OK;
}

size_t ulp_overflow_sample(const struct ulp_overflow_lane *lane)
{
    ULP_ENTER_ENVIRONMENT;
    for (size_t n = 0; n < lane->node_count; n++)
        if (lane->nodes[n].born && lane->nodes[n].output_count)
            return lane->nodes[n].outputs[0].sample;
    return 0;
}

enum ulp_status ulp_overflow_remedies(struct ulp_overflow_forecast *forecast,
                                      const struct ulp_program *program, size_t lane,
                                      const struct ulp_tensor_set *inputs,
                                      const struct ulp_run_options *run,
                                      const struct ulp_observer *observer, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    ULP_OPTIONS_TAKE(ulp_run_options, run, error);
    struct ulp_overflow_lane *own = &forecast->lanes[lane];
    struct trying trying = {.program = program, .lane = own, .index = lane + 1};
    bool any = false;
    enum ulp_status status =
        ulp_arena_create(&trying.memory, ulp_model_budget(program->model), error);
    if (status == ULP_OK)
        status = list_candidates(&trying, error);
    for (size_t c = 0; c < trying.count; c++)
        any |= trying.what[c].failed;
    if (status == ULP_OK && any)
        status = ulp_out_of_memory(error);
    own->remedies = status == ULP_OK
                        ? ulp_arena_take(forecast->memory, trying.count + 1, sizeof *own->remedies)
                        : NULL;
    if (status == ULP_OK && !own->remedies)
        status = ulp_out_of_memory(error);
    if (status == ULP_OK && trying.count > 1)
        status = try_all(&trying, inputs, run, observer, forecast->memory, own->remedies, error);
    own->remedy_count = status == ULP_OK && trying.count > 1 ? trying.count : 0;
    for (size_t c = 0; c < trying.count; c++)
        ulp_text_free(&trying.what[c]);
    ulp_arena_free(trying.memory);
    return status;
}
