#include "tests/analysis/plan_oracle.h"

#include "tests/support/test.h"

double oracle_power_db(const struct ulp_tensor *value, const struct ulp_tensor *truth)
{
    double error = 0, norm = 0;
    for (size_t i = 0; i < truth->count; i++) {
        const double v = ulp_tensor_get(value, i), r = ulp_tensor_get(truth, i);
        if (!isfinite(v) || !isfinite(r))
            return -INFINITY;
        error += (v - r) * (v - r);
        norm += r * r;
    }
    return 10 * log10(norm / error);
}

double oracle_outputs_db(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                         const struct ulp_precision_plan *read)
{
    const struct ulp_arithmetic lanes[] = {test_arithmetic("mpfr:128"), read->arithmetic};
    const struct ulp_keeps keeps[] = {{0}, read->keeps};
    const struct ulp_program_options options = {.inputs = inputs, .keeps = keeps};
    struct ulp_tensor_set outputs[2];
    scoped_program *program = NULL;
    double least = INFINITY;
    ck_ok(ulp_program_create(model, lanes, 2, &options, &program, &why));
    ck_ok(ulp_program_run(program, inputs, NULL, NULL, 0, outputs, NULL, &why));
    for (size_t o = 0; o < outputs[0].count; o++)
        least =
            fmin(least, oracle_power_db(&outputs[1].items[o].tensor, &outputs[0].items[o].tensor));
    ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
    return least;
}

bool oracle_file_has(const char *path, const char *text)
{
    static char content[1 << 20];
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is not there", path);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    return strstr(content, text) != NULL;
}
