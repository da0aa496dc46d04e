/* Models planned, run and audited in one call each. */
#include "tests/support/test.h"

#include "analysis/audit/auditor.h"

struct ulp_program *test_plan_lanes(const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs,
                                    const struct ulp_arithmetic *lanes, size_t count)
{
    const struct ulp_program_options options = {.inputs = inputs};
    struct ulp_program *program;
    ck_ok(ulp_program_create(model, lanes, count, &options, &program, &why));
    return program;
}

struct ulp_program *test_plan_names(const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs, const char *const *names,
                                    size_t count)
{
    struct ulp_arithmetic lanes[16];
    ck_assert_uint_le(count, 16);
    for (size_t l = 0; l < count; l++)
        lanes[l] = test_arithmetic(names[l]);
    return test_plan_lanes(model, inputs, lanes, count);
}

struct ulp_tensor_set test_outputs(const struct ulp_model *model,
                                   const struct ulp_tensor_set *inputs, const char *name)
{
    const struct ulp_run_options options = {.thread_count = 1};
    scoped_program *program = test_plan(model, inputs, name);
    struct ulp_tensor_set outputs;
    ck_ok(ulp_program_run(program, inputs, &options, NULL, 0, &outputs, NULL, &why));
    return outputs;
}

struct ulp_audit test_audit(const struct ulp_program *program, const struct ulp_tensor_set *inputs,
                            const struct ulp_observer *also)
{
    const struct ulp_run_options options = {.thread_count = 2, .audit = true};
    struct ulp_auditor *auditor;
    struct ulp_audit audit;
    ck_ok(ulp_auditor_create(program, &auditor, &why));
    ck_ok(ulp_auditor_sample(auditor, "nominal", &why));
    const struct ulp_observer observers[] = {ulp_auditor_observer(auditor),
                                             also ? *also : (struct ulp_observer){0}};
    ck_ok(ulp_program_run(program, inputs, &options, observers, also ? 2 : 1, NULL, NULL, &why));
    ck_ok(ulp_auditor_finish(auditor, &audit, &why));
    ulp_auditor_free(auditor);
    return audit;
}
