/* The options of `ulpscope audit` and its --help. */
#include <string.h>

#include "cli/command/command_audit.h"

static enum ulp_status check_pair(const char *text, struct ulp_error *error)
{
    return strchr(text, '=') && *text != '=' && strrchr(text, '=')[1]
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE, "%s: expected NAME=ORIGINAL, two names of values",
                          text);
}

static enum ulp_status check_group(const char *text, struct ulp_error *error)
{
    return ulp_audit_group_shares(NULL, text, error);
}

static void read_shard(void *parsed, char *text)
{
    struct audit_options *options = parsed;
    char *slash = strchr(text, '/'), first[24] = "";
    int64_t shard = 0, count = 0;
    if (slash && slash - text < (ptrdiff_t)sizeof first)
        memcpy(first, text, (size_t)(slash - text));
    if (!slash || !parse_integer(slash + 1, 1, 1000000, &count) ||
        !parse_integer(first, 1, count, &shard))
        refuse("--shard %s: expected K/N with 1 <= K <= N, such as 3/8", text);
    options->shard = (size_t)shard;
    options->shard_count = (size_t)count;
}

static void refuse_merge(void *parsed, char *text)
{
    (void)parsed;
    (void)text;
    refuse("--merge is not to be shortened");
}

/* Of several folders the shards are merged; what other options say of shares is settled. */
static void check_audit(void *parsed)
{
    struct audit_options *options = parsed;
    if (options->checkpoint_count > 1)
        refuse("--checkpoint takes one folder");
    if (options->score.metric && options->checkpoint_count)
        refuse("--metric is of outputs, which --checkpoint does not keep");
    if (options->attribute == ATTRIBUTE_DEFAULT &&
        (options->audit.output || options->audit.verify || options->audit.group))
        options->attribute = ATTRIBUTE_YES;
}

#define PARSED struct audit_options
static const struct option_row rows[] = {
#include "cli/command/audit_option.def"
    {0}};
const struct command command_audit = {
    .name = "audit",
    .summary = "compare arithmetics with a reference, node by node: which layer loses accuracy",
    .purpose = "Run MODEL in a reference and in other arithmetics side by side. For every node, "
               "report the error that it introduces and the error of its inputs that it carries; "
               "say which node overflows first, and which nodes to keep in FP32.",
    .examples =
        "  ulpscope audit model.onnx\n"
        "      FP16 and TF32 as an H200 computes them, on one random input\n"
        "  ulpscope audit model.onnx --inputs inputs.npz --arith fp16,bf16@a100 --out report/\n"
        "      on your input, with report.json, layers.csv and summary.txt\n"
        "  ulpscope audit model.onnx --inputs inputs.npz --html report.html\n"
        "      one page to look at and to hand on, with the graph and every node\n"
        "  ulpscope audit model.onnx -i test_data_set_0 -i test_data_set_1 --certify\n"
        "      two samples, and how many digits of the reference are correct\n"
        "  ulpscope audit model.onnx -i samples/ --checkpoint done/ --out report/\n"
        "      a folder of samples, one after the other; the same command again resumes it\n"
        "  ulpscope audit model.onnx --arith tf32 --schedules\n"
        "      which layers depend on the kernel that a library picks, and how far A100 and H200 "
        "differ\n"
        "  ulpscope audit model.onnx --for trt@a100\n"
        "      as TensorRT computes it on an A100, and what that rests on\n"
        "  ulpscope audit model.onnx --arith fp16,fuse=none,fp16,fuse=reduce\n"
        "      what changes when a compiler puts nodes into one kernel\n"
        "  ulpscope audit model.onnx --arith fp32,fp32,qdq=integer\n"
        "      a Q/DQ graph in floats and as an INT8 kernel sums it, and where the two first "
        "differ\n"
        "  ulpscope audit model_fp16.onnx --reference-model model.onnx --arith model -i "
        "inputs.npz\n"
        "      a converted graph compared with the FP32 model it was made from\n"
        "  ulpscope audit model.onnx --arith fp16 --keep 'op:Softmax=fp32' --keep '#12-40=fp32'\n"
        "      FP16 with some nodes in FP32, as a graph with Casts around them computes it\n"
        "  ulpscope audit model.onnx --engine layers.json -i inputs.npz\n"
        "      what TensorRT built, beside fp16 and fp32\n"
        "  ulpscope audit model.onnx --arith fp16 --output 'logits[0,2]-logits[0,5]'\n"
        "      which nodes cause the error of a margin between two classes\n"
        "  ulpscope audit model.onnx --arith fp16 --fail-above nonfinite=0 --fail-above "
        "sqnr_db=40\n"
        "      in CI: exit code 1 when FP16 overflows or leaves less than 40 dB\n"
        "  ulpscope audit model.onnx -a fp16,bf16 --fail-above fp16:logits:sqnr_db=40 --junit "
        "out.xml\n"
        "      one output of one arithmetic, also as JUnit's XML",
    .notes = "Words of the report:\n"
             "  introduced  what the node's own arithmetic adds to the exact result of its inputs\n"
             "  carried     what exact arithmetic makes of the errors of its inputs; introduced + "
             "carried =\n"
             "              entire, the node's whole error\n"
             "  single      the node's error on the reference's inputs\n"
             "  diverged    an index, a decision, a branch or a shape differs from the "
             "reference's, here or\n"
             "              earlier; figures are then also given with the reference's decisions\n"
             "  grew        the node's relative error divided by the largest of its inputs'",
    .groups = {{NULL, rows, 0},
               SCORE_GROUP,
               JUDGE_GROUP,
               JSON_GROUP,
               COMMON_GROUP,
               KEEP_GROUP,
               {"With --engine:", built_rows, offsetof(PARSED, built)},
               HELP_GROUP},
    .size = sizeof(struct audit_options),
    .is_common = true,
    .is_front = true,
    .other_words = "--merge FOLDER...",
    .check = check_audit,
    .run = audit_model,
};
