/* Problems close by the samples, in which every rounding is drawn anew, and other arithmetics
 * beside the second lane's. */
#include "analysis/emulation/emulation.h"

#include <string.h>

#include "analysis/schedule/redraw.h"
#include "analysis/schedule/schedule.h"
#include "base/error.h"

/* The draws that searches run, and those that judge what they found, are not the same. */
#define SEARCHED_SEED (UINT64_C(1) << 32)

/* ---- the problems of a search ---- */

/* In the last lane of the plan, the reference's. */
static enum ulp_status find_truth(struct ulp_emulation *emulation, size_t problem,
                                  const struct ulp_perturbation *redrawn, struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    const struct ulp_run_options run = {.thread_count = given->thread_count};
    const struct ulp_program_options options = {.inputs = emulation->inputs[problem],
                                                .perturbation = *redrawn};
    struct ulp_emulation_notes notes;
    struct ulp_arithmetic reference;
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(ulp_redraw_reference(emulation->program, given->reference, given->arithmetic,
                                 &reference, error));
    ULP_TRY(ulp_program_create(given->model, &reference, 1, &options, &program, error));
    const struct ulp_observer observer = ulp_emulation_note(emulation, problem, program, &notes);
    return ulp_program_run(program, emulation->inputs[problem], &run, &observer, 1,
                           &emulation->truths[problem], NULL, error);
}

enum ulp_status ulp_emulation_redraw(struct ulp_emulation *emulation, size_t count,
                                     struct ulp_error *error)
{
    for (size_t d = 0; d < count && d < ULP_DRAWN_MAX; d++) {
        const size_t problem = emulation->problem_count++;
        const struct ulp_sample *sample =
            &emulation->given.samples[d % emulation->given.sample_count];
        struct ulp_emulated_shape *shape = &emulation->shapes[emulation->shape_count];
        *shape = (struct ulp_emulated_shape){.first = problem,
                                             .count = 1,
                                             .redrawn = ulp_redraw(emulation->given.arithmetic,
                                                                   SEARCHED_SEED + d)};
        emulation->inputs[problem] = &emulation->drawn[d];
        emulation->shape_of[problem] = emulation->shape_count++;
        enum ulp_status status = ulp_redraw_inputs(sample->inputs, &shape->redrawn,
                                                   ulp_model_budget(emulation->given.model),
                                                   &emulation->drawn[d], error);
        ULP_THEN(status, find_truth(emulation, problem, &shape->redrawn, error));
        ULP_TRY(ulp_fail_at(error, status, "%s", sample->name));
    }
    return ULP_OK;
}

/* ---- several arithmetics side by side ---- */

static enum ulp_status make_schedules(struct ulp_emulation *emulation,
                                      const struct ulp_arithmetic *base,
                                      struct ulp_legal_schedules *out, struct ulp_error *error)
{
    struct ulp_arithmetic made[ULP_SCHEDULES_MAX];
    ptrdiff_t other_gpu;
    const size_t count = ulp_schedules_make(base, made, &other_gpu) - (other_gpu >= 0);
    *out = (struct ulp_legal_schedules){.items = ulp_arena_take(emulation->memory, 2 * count,
                                                                sizeof *out->items),
                                        .count = count};
    ULP_TRY(ulp_taken(out->items, error));
    memcpy(out->name, base->name, sizeof out->name);
    for (size_t i = 0; i < count; i++) {
        struct ulp_arithmetic *warp = &out->items[count + i];
        out->items[i] = made[i];
        if (ulp_arithmetic_change(warp, &made[i], "reduce=warp", NULL) != ULP_OK)
            *warp = made[i];
    }
    return ULP_OK;
}

/* Of an arithmetic's legal schedules that of the draw. They are kept: their names are read for
 * longer than a small graph runs. */
static enum ulp_status choose_schedule(struct ulp_emulation *emulation,
                                       const struct ulp_arithmetic *base, size_t draw,
                                       struct ulp_arithmetic *out, struct ulp_error *error)
{
    struct ulp_legal_schedules *schedules = emulation->schedules;
    size_t i = 0;
    while (i < emulation->schedules_count && strcmp(schedules[i].name, base->name) != 0)
        i++;
    if (i == ULP_BESIDE_MAX)
        i = emulation->schedules_count = 0;
    if (i == emulation->schedules_count) {
        ULP_TRY(make_schedules(emulation, base, &schedules[i], error));
        emulation->schedules_count++;
    }
    *out = schedules[i].items[draw % (2 * schedules[i].count)];
    return ULP_OK;
}

static enum ulp_status run_beside(struct ulp_emulation *emulation,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_attempt *lanes, size_t count,
                                  const struct ulp_perturbation *redrawn, struct ulp_judgement *out,
                                  struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    const struct ulp_run_options run = {.thread_count = given->thread_count,
                                        .follow = emulation->follows};
    struct ulp_arithmetic reference;
    struct ulp_tensor_set outputs[1 + ULP_BESIDE_MAX] = {{0}};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(ulp_redraw_reference(emulation->program, given->reference, given->arithmetic,
                                 &reference, error));
    ULP_TRY(ulp_attempts_open(given->model, &reference, lanes, count, inputs, redrawn, &program,
                              error));
    enum ulp_status status =
        ulp_program_look(program, inputs, &run, NULL, given->progress, outputs, error);
    for (size_t l = 0; l < count && status == ULP_OK; l++)
        status = ulp_emulation_judge(emulation, &outputs[1 + l], &outputs[0], &out[l], error);
    for (size_t l = 0; l <= count; l++)
        ulp_tensor_set_free(&outputs[l]);
    emulation->runs += count;
    emulation->work += (double)(1 + count);
    return status;
}

enum ulp_status ulp_emulation_draw(struct ulp_emulation *emulation, size_t draw,
                                   const struct ulp_attempt *lanes, size_t count,
                                   struct ulp_judgement *out, struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    const struct ulp_sample *sample = &given->samples[draw % given->sample_count];
    const struct ulp_perturbation redrawn = ulp_redraw(given->arithmetic, draw + 1);
    struct ulp_attempt drawn[ULP_BESIDE_MAX];
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < count && status == ULP_OK; l++) {
        drawn[l].keeps = lanes[l].keeps;
        status =
            choose_schedule(emulation, &lanes[l].arithmetic, draw, &drawn[l].arithmetic, error);
    }
    ULP_THEN(status, ulp_redraw_inputs(sample->inputs, &redrawn, ulp_model_budget(given->model),
                                       &inputs, error));
    ULP_THEN(status, run_beside(emulation, &inputs, drawn, count, &redrawn, out, error));
    return ulp_fail_at(error, status, "%s", sample->name);
}

enum ulp_status ulp_emulation_beside(struct ulp_emulation *emulation, size_t sample,
                                     const struct ulp_attempt *lanes, size_t count,
                                     struct ulp_judgement *out, struct ulp_error *error)
{
    static const struct ulp_perturbation none;
    return run_beside(emulation, emulation->inputs[sample], lanes, count, &none, out, error);
}

enum ulp_status ulp_emulation_count_fused(const struct ulp_emulation *emulation,
                                          const struct ulp_attempt *lane, size_t *out,
                                          struct ulp_error *error)
{
    const struct ulp_program_options options = {.inputs = emulation->inputs[0],
                                                .keeps = &lane->keeps};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(ulp_program_create(emulation->given.model, &lane->arithmetic, 1, &options, &program,
                               error));
    *out = 0;
    for (size_t n = 0; n < program->node_count; n++) {
        struct ulp_node_kernel kernel;
        ulp_program_node_kernel(program, 0, n, &kernel);
        *out += kernel.kernel > 0;
    }
    return ULP_OK;
}
