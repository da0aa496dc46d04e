#include "run_test.h"
#include "analysis/audit/auditor.h"

void find_lanes(struct ulp_arithmetic *lanes, const char *const *names, size_t count)
{
    for (size_t l = 0; l < count; l++)
        lanes[l] = test_arithmetic(names[l]);
}

void run_network(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                 const char *const *names, size_t count, const struct ulp_run_options *options,
                 struct ulp_observer observer, struct ulp_tensor_set *outputs)
{
    struct ulp_arithmetic lanes[8];
    struct ulp_program *program;
    struct ulp_program_options plan_options = {.inputs = inputs};
    find_lanes(lanes, names, count);
    ck_ok(ulp_program_create(model, lanes, count, &plan_options, &program, &why));
    ck_ok(ulp_program_run(program, inputs, options, &observer, 1, outputs, NULL, &why));
    ulp_program_free(program);
}

void audit_one(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
               const char *arithmetic, struct ulp_audit *out)
{
    const char *const names[] = {"pair", arithmetic};
    struct ulp_arithmetic lanes[2];
    struct ulp_program *program;
    struct ulp_auditor *auditor;
    struct ulp_program_options plan_options = {.inputs = inputs};
    struct ulp_run_options options = {.thread_count = 2, .audit = true};
    find_lanes(lanes, names, 2);
    ck_ok(ulp_program_create(model, lanes, 2, &plan_options, &program, &why));
    ck_ok(ulp_auditor_create(program, &auditor, &why));
    ck_ok(ulp_auditor_sample(auditor, "nominal", &why));
    struct ulp_observer observer = ulp_auditor_observer(auditor);
    ck_ok(ulp_program_run(program, inputs, &options, &observer, 1, NULL, NULL, &why));
    ck_ok(ulp_auditor_finish(auditor, out, &why));
    ulp_auditor_free(auditor);
    ulp_program_free(program);
}
