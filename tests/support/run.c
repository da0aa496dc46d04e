#include "tests/support/run.h"

#include "analysis/audit/auditor.h"
#include "tests/support/test.h"

struct ulp_program *test_plan(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                              const char *const *names, size_t count)
{
    const struct ulp_program_options options = {.inputs = inputs};
    struct ulp_arithmetic lanes[16];
    struct ulp_program *program;
    ck_assert_uint_le(count, 16);
    for (size_t l = 0; l < count; l++)
        lanes[l] = test_arithmetic(names[l]);
    ck_ok(ulp_program_create(model, lanes, count, &options, &program, &why));
    return program;
}

struct ulp_tensor_set test_outputs(const struct ulp_model *model,
                                   const struct ulp_tensor_set *inputs, const char *name)
{
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_program *program = test_plan(model, inputs, &name, 1);
    struct ulp_tensor_set outputs;
    ck_ok(ulp_program_run(program, inputs, &options, NULL, 0, &outputs, NULL, &why));
    ulp_program_free(program);
    return outputs;
}

void test_audit(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                const char *const *names, size_t count, struct ulp_audit *out)
{
    const struct ulp_run_options options = {.thread_count = 2, .audit = true};
    struct ulp_program *program = test_plan(model, inputs, names, count);
    struct ulp_auditor *auditor;
    ck_ok(ulp_auditor_create(program, &auditor, &why));
    ck_ok(ulp_auditor_sample(auditor, "nominal", &why));
    const struct ulp_observer observer = ulp_auditor_observer(auditor);
    ck_ok(ulp_program_run(program, inputs, &options, &observer, 1, NULL, NULL, &why));
    ck_ok(ulp_auditor_finish(auditor, out, &why));
    ulp_auditor_free(auditor);
    ulp_program_free(program);
}
