/* ulpscope prove: options, the plan, the proof. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"

struct prove_options {
    struct common_options common;
    struct ulp_arithmetic arithmetic;
    const char *out, *html, *target;
    bool fail_on_unproven;
    double widen; /* 0: not given */
};

static enum ulp_status prove_samples(const struct prove_options *options,
                                     const struct ulp_model *model,
                                     const struct ulp_program *program,
                                     const struct sample_list *samples, struct ulp_proof *proof,
                                     struct ulp_error *error)
{
    const struct common_options *common = &options->common;
    const size_t count = common->input_count ? samples->count : 0; /* random ones say nothing */
    ULP_SCOPED(ulp_scoped_free) struct ulp_tensor_set *sets = calloc(count + 1, sizeof *sets);
    ULP_TRY(taken(sets, error));
    for (size_t s = 0; s < count; s++)
        sets[s] = samples->items[s].inputs;
    const struct ulp_prove_box box = {.ranges = common->ranges,
                                      .range_count = common->range_count,
                                      .samples = sets,
                                      .sample_count = count,
                                      .widen = options->widen};
    return ulp_proof_run(model, program, &box, common->threads, proof, error);
}

RESULT_KIND(proof)

static enum ulp_status run_prove(void *parsed, struct ulp_error *error)
{
    const struct prove_options *options = parsed;
    const struct common_options *common = &options->common;
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_proof_free) struct ulp_proof proof = {0}; /* has names of the model */
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_SCOPED(free_samples) struct sample_list samples = {0};
    struct ulp_arithmetic arithmetic = options->arithmetic;
    char name[ULP_JUDGED_IN_BYTES];
    ULP_TRY(load_with_shapes(common, options->out, &model, error));
    if (options->target)
        ULP_TRY(ulp_judged_in(model, options->target, NULL, name, &arithmetic, error));
    ULP_TRY(read_samples(model, common, false, &samples, error));
    const struct ulp_program_options plan_options = {.dims = common->dims,
                                                     .dim_count = common->dim_count,
                                                     .inputs = &samples.items[0].inputs};
    ULP_TRY(ulp_program_create(model, &arithmetic, 1, &plan_options, &program, error));
    ULP_TRY(prove_samples(options, model, program, &samples, &proof, error));
    free_samples(&samples); /* not held while it is written */
    const struct result result = {.of = &proof,
                                  .text_of = text_proof,
                                  .write = write_proof,
                                  .folder = options->out,
                                  .folder_has = "proof.json",
                                  .page = options->html};
    ULP_TRY(say_result(&result, error));
    const bool proven =
        proof.output_count && !proof.empty && proof.counts[ULP_PROOF_PROVEN] == proof.output_count;
    return judge(proven || !options->fail_on_unproven, error);
}

#define PARSED struct prove_options
static const struct option_row rows[] = {
#include "cli/command/prove_option.def"
    {0}};
const struct command command_prove = {
    .name = "prove",
    .summary = "prove what cannot overflow in a format, for any input",
    .purpose =
        "Prove which values cannot overflow in a format, for every input and not for samples. Each "
        "value of the model is bounded by intervals, norms and affine forms that hold for all "
        "inputs of the given ranges (indexes: any index), every rounding of the format included.",
    .examples =
        "  ulpscope prove bert.onnx --dim sequence=128\n"
        "      FP16, for any tokens\n"
        "  ulpscope prove detector.onnx --inputs samples/\n"
        "      for all images that lie in twice the samples' range\n"
        "  ulpscope prove vit.onnx --input-range 0,1 --format fp16 --out report/\n"
        "      for every image; all bounds in report/proof.json\n"
        "  ulpscope prove model.onnx --input-range x=-3,3 --format fp8-e4m3 --fail-on unproven\n"
        "      in CI",
    .notes = "Words of the report:\n"
             "  proven       no input of the ranges makes this output overflow, or NaN\n"
             "  conditional  no input does, unless it makes an unproven output overflow before\n"
             "  not proven   the bound is larger than the format's largest number; an input may\n"
             "               reach it or not\n"
             "\n"
             "Shapes are the model's; --dim and --shape set those that it leaves open, --inputs "
             "takes them from a sample. The box: --input-range says in what range an input lies; "
             "one without it gets the range of its values in all samples (--inputs), each end "
             "moved outward by --widen but never across 0, integers as they are; without samples "
             "[0, 1] is assumed. The first line of the report says for which box it holds.",
    .groups = {{NULL, rows, 0}, JSON_GROUP, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct prove_options),
    .is_common = true,
    .run = run_prove,
};
