/* The audit that a search starts from, and what the reference decides in it. */
#include "analysis/emulation/emulation.h"
#include "analysis/session/session.h"
#include "base/error.h"
#include "tensor/tensor.h"

static enum ulp_status note_decisions(void *context, const struct ulp_event *event,
                                      struct ulp_error *error)
{
    const struct ulp_emulation_notes *notes = context;
    const struct ulp_program *program = notes->program;
    const struct ulp_program_node *node = &program->nodes[event->index];
    for (size_t o = 0; o < event->output_count && node->block == program->main; o++) {
        const struct ulp_tensor *value = event->values[o].entire;
        struct ulp_tensor *to = &notes->integers[node->step->outputs[event->output_positions[o]]];
        if (value && !ulp_element_is_float(value->element) && !to->data)
            ULP_TRY(ulp_tensor_copy(to, value, ulp_model_budget(program->model), error));
    }
    return ULP_OK;
}

struct ulp_observer ulp_emulation_note(struct ulp_emulation *emulation, size_t problem,
                                       const struct ulp_program *program,
                                       struct ulp_emulation_notes *notes)
{
    *notes = (struct ulp_emulation_notes){emulation, program, emulation->integers[problem]};
    return (
        struct ulp_observer){.context = notes, .node_done = note_decisions, .modes_unused = true};
}

static void begin_sample(void *context, size_t sample, const struct ulp_program *program)
{
    struct ulp_emulation_notes *notes = context;
    notes->program = program;
    notes->integers = notes->emulation->integers[sample];
}

static enum ulp_status take_outputs(void *context, size_t sample, struct ulp_tensor_set *outputs,
                                    struct ulp_error *error)
{
    const struct ulp_emulation_notes *notes = context;
    struct ulp_tensor_set *truth = &notes->emulation->truths[sample];
    (void)error;
    if (!truth->count)
        *truth = outputs[0];
    else
        ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
    return ULP_OK;
}

enum ulp_status ulp_emulation_audit(struct ulp_emulation *emulation, struct ulp_audit *out,
                                    struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    const struct ulp_samples samples = {.items = given->samples, .count = given->sample_count};
    const struct ulp_audit_options options = {.shares = true,
                                              .thread_count = given->thread_count,
                                              .progress = given->progress};
    struct ulp_emulation_notes notes = {.emulation = emulation};
    const struct ulp_observer observer = {.context = &notes,
                                          .node_done = note_decisions,
                                          .modes_unused = true};
    struct ulp_session session = {.programs = &emulation->programs,
                                  .samples = &samples,
                                  .options = &options,
                                  .plain_shares = true,
                                  .observer = &observer,
                                  .context = &notes,
                                  .begins = begin_sample,
                                  .ends = take_outputs};
    enum ulp_status status = ulp_session_run(&session, out, error);
    if (status == ULP_OK && (status = ulp_emulation_check_truths(emulation, out, error)) != ULP_OK)
        ulp_audit_free(out);
    return status;
}
