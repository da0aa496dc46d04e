/* Programs for samples of any shapes: the first sample's, and those of the last two others. */
#include "base/error.h"
#include "base/machine/environment.h"
#include "run/program/program.h"

static enum ulp_status make_plan(const struct ulp_programs *programs,
                                 const struct ulp_tensor_set *inputs, struct ulp_program **out,
                                 struct ulp_error *error)
{
    struct ulp_program_options options = programs->options;
    options.inputs = inputs;
    return ulp_program_create(programs->model, programs->lanes, programs->lane_count, &options, out,
                              error);
}

static struct ulp_program *find_plan(struct ulp_programs *programs,
                                     const struct ulp_tensor_set *inputs)
{
    if (ulp_program_takes(programs->first, inputs))
        return programs->first;
    for (int i = 0; i < 2; i++)
        if (programs->others[i] && ulp_program_takes(programs->others[i], inputs))
            return programs->others[programs->last = i];
    return NULL;
}

/* In the place of the one that was not asked for last; where memory is short, of both. */
static enum ulp_status make_other(struct ulp_programs *programs,
                                  const struct ulp_tensor_set *inputs, struct ulp_program **out,
                                  struct ulp_error *error)
{
    programs->last = !programs->last;
    struct ulp_program **other = &programs->others[programs->last];
    ulp_program_free(*other);
    *other = NULL;
    enum ulp_status status = make_plan(programs, inputs, other, error);
    if (status == ULP_ERROR_MEMORY && programs->others[!programs->last]) {
        ulp_programs_drop(programs);
        status = make_plan(programs, inputs, other, error);
    }
    if (status == ULP_OK && !ulp_program_same_nodes(programs->first, *other))
        status = ulp_fail(error, ULP_ERROR_INPUT,
                          "its shapes leave other nodes to compute than the first sample's; run "
                          "samples of such shapes by themselves");
    *out = status == ULP_OK ? *other : NULL;
    return status;
}

enum ulp_status ulp_programs_choose(struct ulp_programs *programs,
                                    const struct ulp_tensor_set *inputs, struct ulp_program **out,
                                    struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = NULL;
    if (!programs->first)
        ULP_TRY(make_plan(programs, inputs, &programs->first, error));
    *out = find_plan(programs, inputs);
    return !*out ? make_other(programs, inputs, out, error) : ULP_OK;
}

enum ulp_status ulp_program_look(const struct ulp_program *program,
                                 const struct ulp_tensor_set *inputs,
                                 const struct ulp_run_options *run,
                                 const struct ulp_observer *looking,
                                 const struct ulp_observer *progress,
                                 struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    struct ulp_observer observers[2];
    size_t count = 0;
    if (looking)
        observers[count++] = *looking;
    if (progress)
        observers[count++] = *progress;
    return ulp_program_run(program, inputs, run, observers, count, outputs, NULL, error);
}

enum ulp_status ulp_programs_look(struct ulp_programs *programs,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_run_options *run,
                                  const struct ulp_observer *looking,
                                  const struct ulp_observer *progress,
                                  struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    struct ulp_program *program;
    ULP_TRY(ulp_programs_choose(programs, inputs, &program, error));
    return ulp_program_look(program, inputs, run, looking, progress, outputs, error);
}

void ulp_programs_drop(struct ulp_programs *programs)
{
    for (int i = 0; i < 2; i++) {
        ulp_program_free(programs->others[i]);
        programs->others[i] = NULL;
    }
}

void ulp_programs_free(struct ulp_programs *programs)
{
    ulp_programs_drop(programs);
    ulp_program_free(programs->first);
    programs->first = NULL;
}
