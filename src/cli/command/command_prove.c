/* ulpscope prove: options, the plan, the proof. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"

struct prove_options {
    struct common_options common;
    const char *format, *out, *html;
    bool fail_on_unproven;
    double widen; /* 0: not given */
};

static const char documentation[] =
    "Prove which values cannot overflow in a format, for every input and not for samples. Each "
    "value of the model is bounded by intervals, norms and affine forms that hold for all inputs "
    "of the given ranges (indexes: any index), every rounding of the format included."
    "\vWords of the report:\n"
    "  proven       no input of the ranges makes this output overflow, or NaN\n"
    "  conditional  no input does, unless it makes an unproven output overflow before\n"
    "  not proven   the bound is larger than the format's largest number; an input may\n"
    "               reach it or not\n\n"
    "Shapes are the model's; --dim and --shape set those that it leaves open, --inputs takes them "
    "from a sample. The box: --input-range says in what range an input lies; one without it gets "
    "the range of its values in all samples (--inputs), each end moved outward by --widen but "
    "never across 0, integers as they are; without samples [0, 1] is assumed. The first line of "
    "the report says for which box it holds.\n\n"
    "Examples:\n"
    "  ulpscope prove bert.onnx --dim sequence=128\n"
    "      FP16, for any tokens\n"
    "  ulpscope prove detector.onnx --inputs samples/\n"
    "      for all images that lie in twice the samples' range\n"
    "  ulpscope prove vit.onnx --input-range 0,1 --format fp16 --out report/\n"
    "      for every image; all bounds in report/proof.json\n"
    "  ulpscope prove model.onnx --input-range x=-3,3 --format fp8-e4m3 --fail-on unproven\n"
    "      in CI";

static enum ulp_status prove_samples(const struct prove_options *options,
                                     const struct ulp_model *model, const struct ulp_plan *plan,
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
    return ulp_proof_run(model, plan, &box, common->threads, proof, error);
}

/* The proof has names of the model, which is freed after it. */
static enum ulp_status run_proof(const struct prove_options *options, struct ulp_model **out,
                                 struct ulp_proof *proof, struct ulp_error *error)
{
    const struct common_options *common = &options->common;
    struct ulp_arithmetic arithmetic;
    ULP_SCOPED(ulp_plan_free_of) struct ulp_plan *plan = NULL;
    ULP_SCOPED(free_samples) struct sample_list samples = {0};
    ULP_TRY(ulp_arithmetic_find(options->format, &arithmetic, error));
    ULP_TRY(load_with_shapes(common, options->out, out, error));
    ULP_TRY(read_samples(*out, common, false, &samples, error));
    const struct ulp_plan_options plan_options = {.dims = common->dims,
                                                  .dim_count = common->dim_count,
                                                  .inputs = &samples.items[0].inputs};
    ULP_TRY(ulp_plan_create(*out, &arithmetic, 1, &plan_options, &plan, error));
    return prove_samples(options, *out, plan, &samples, proof, error);
}

PRINTS(print_proof, ulp_proof_text)
WRITES(write_proof, ulp_proof_write)

static int report(const struct prove_options *options, const struct ulp_proof *proof)
{
    const struct result result = {proof,        print_proof,  write_proof,
                                  options->out, "proof.json", options->html};
    const int code = end_result(&result);
    if (code != ULP_OK)
        return code;
    const bool proven =
        proof->output_count && proof->counts[ULP_PROOF_PROVEN] == proof->output_count;
    return options->fail_on_unproven && !proven ? ULP_ERROR_LIMIT : ULP_OK;
}

#define OPTIONS "cli/command/prove_option.def"
#define PARSED struct prove_options
#define CHILDREN COMMON_CHILD(1) JSON_CHILD
#define CHECK(state, options) \
    refuse_shapes(state, &(options)->common, "prove takes one --shape of each input")
#include "cli/option/parser.def"

int command_prove(int argc, char **argv)
{
    struct prove_options options = {.format = "fp16"};
    struct ulp_model *model = NULL;
    struct ulp_proof proof = {0};
    struct ulp_error error = {0};
    int code = parse_model_arguments(&parser, argc, argv, &options, &options.common);
    if (code == ULP_OK)
        code = run_proof(&options, &model, &proof, &error) == ULP_OK ? report(&options, &proof)
                                                                     : fail(&error);
    ulp_proof_free(&proof);
    ulp_model_free(model);
    common_free(&options.common);
    return code;
}
