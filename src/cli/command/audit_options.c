/* The options of `ulpscope audit` and its --help. */
#include <stdlib.h>
#include <string.h>

#include "cli/command/command_audit.h"

static void add_pair(struct argp_state *state, struct audit_options *options, char *text)
{
    if (!strchr(text, '=') || *text == '=' || !strrchr(text, '=')[1])
        refuse(state, "--pair %s: expected NAME=ORIGINAL, two names of values", text);
    add_argument(state, &options->pairs, &options->pair_count, text);
}

static const char *read_group(struct argp_state *state, const char *text)
{
    struct ulp_error error;
    if (ulp_audit_group_shares(NULL, text, &error) != ULP_OK)
        refuse(state, "--group-by: %s", error.message);
    return text;
}

static void read_shard(struct argp_state *state, struct audit_options *options, const char *text)
{
    char *slash = strchr(text, '/'), first[24] = "";
    int64_t shard = 0, count = 0;
    if (slash && slash - text < (ptrdiff_t)sizeof first)
        memcpy(first, text, (size_t)(slash - text));
    if (!slash || !parse_integer(slash + 1, 1, 1000000, &count) ||
        !parse_integer(first, 1, count, &shard))
        refuse(state, "--shard %s: expected K/N with 1 <= K <= N, such as 3/8", text);
    options->shard = (size_t)shard;
    options->shard_count = (size_t)count;
}

static void check_combinations(const struct argp_state *state, const struct audit_options *o)
{
    const bool shapes = count_shapes(&o->common) > 1, keeps = o->keep.rule_count || o->keep.plan;
    const struct combination rows[] = {
        {o->schedules, keeps,
         "--schedules takes one arithmetic for all nodes: leave out --keep and --plan"},
        {o->schedules, o->engine,
         "--schedules takes one arithmetic for all nodes: leave out --engine"},
        {o->built.gpu || o->built.unknown_accumulator, !o->engine,
         "--gpu and --accumulate are of --engine: give the engine's layers"},
        {o->shard, !o->checkpoint_count,
         "--shard leaves its samples in a folder: give --checkpoint FOLDER"},
        {o->shard, o->out || o->html || is_json_asked(),
         "--shard is a part of an audit: the report is written by ulpscope audit --merge, with "
         "--out, "
         "--json and --html, so leave them out here"},
        {o->checkpoint_count > 1, !o->merge, "--checkpoint takes one folder"},
        {o->checkpoint_count, shapes,
         "--checkpoint is of one audit: give one --shape of each input"},
        {o->target, o->arithmetics || o->fuse_compare,
         "--for chooses the arithmetics: leave out --arith and --fuse-compare"},
        {o->all, !o->target, "--all is of --for: without it every arithmetic is reported"},
        {o->junit, !o->limit_count, "--junit writes the limits of --fail-above: give at least one"},
        {o->junit, shapes, "--junit is of one audit: give one --shape of each input"},
        {is_json_asked(), shapes, "--json is of one audit: give one --shape of each input"},
        {o->html, shapes, "--html is of one audit: give one --shape of each input"},
        {o->output || o->verify || o->group, o->attribute == ATTRIBUTE_NO,
         "--output, --group-by and --verify are of shares: leave out --no-attribute"},
        {o->verify, o->reference_model,
         "--verify is of the model's own reference: leave out --reference-model"}};
    REFUSE_COMBINATIONS(state, rows);
}

/* What other options say of shares. */
static void settle_attribute(struct audit_options *options)
{
    if (options->attribute == ATTRIBUTE_DEFAULT &&
        (options->output || options->verify || options->group))
        options->attribute = ATTRIBUTE_YES;
}

static void check_audit(const struct argp_state *state, struct audit_options *options)
{
    settle_attribute(options);
    check_combinations(state, options);
    if (!options->reference)
        options->reference = "pair";
}

static const char documentation[] =
    "Run MODEL in a reference and in other arithmetics side by side. For every node, report the "
    "error that it introduces and the error of its inputs that it carries; say which node "
    "overflows first, and which nodes to keep in FP32."
    "\vWords of the report:\n"
    "  introduced  what the node's own arithmetic adds to the exact result of its inputs\n"
    "  carried     what exact arithmetic makes of the errors of its inputs; introduced + carried "
    "=\n"
    "              entire, the node's whole error\n"
    "  single      the node's error on the reference's inputs\n"
    "  diverged    an index, a decision, a branch or a shape differs from the reference's, here "
    "or\n"
    "              earlier; figures are then also given with the reference's decisions\n"
    "  grew        the node's relative error divided by the largest of its inputs'\n\n"
    "Examples:\n"
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
    "  ulpscope audit model.onnx --arith fp16 --fuse-compare\n"
    "      what changes when a compiler puts nodes into one kernel\n"
    "  ulpscope audit model.onnx --arith fp32,fp32,qdq=integer\n"
    "      a Q/DQ graph in floats and as an INT8 kernel sums it, and where the two first differ\n"
    "  ulpscope audit model_fp16.onnx --reference-model model.onnx --arith model -i inputs.npz\n"
    "      a converted graph compared with the FP32 model it was made from\n"
    "  ulpscope audit model.onnx --arith fp16 --keep 'op:Softmax=fp32' --keep '#12-40=fp32'\n"
    "      FP16 with some nodes in FP32, as a graph with Casts around them computes it\n"
    "  ulpscope audit model.onnx --engine layers.json -i inputs.npz\n"
    "      what TensorRT built, beside fp16 and fp32\n"
    "  ulpscope audit model.onnx --arith fp16 --output 'logits[0,2]-logits[0,5]'\n"
    "      which nodes cause the error of a margin between two classes\n"
    "  ulpscope audit model.onnx --arith fp16 --fail-above nonfinite=0 --fail-above sqnr_db=40\n"
    "      in CI: exit code 1 when FP16 overflows or leaves less than 40 dB\n"
    "  ulpscope audit model.onnx -a fp16,bf16 --fail-above fp16:logits:sqnr_db=40 --junit out.xml\n"
    "      one output of one arithmetic, also as JUnit's XML";

#define OPTIONS "cli/command/audit_option.def"
#define PARSED struct audit_options
#define WORDS "MODEL.onnx\n--merge FOLDER..."
#define CHILDREN    \
    COMMON_CHILD(1) \
    KEEP_CHILD CHILD(built_argp, &options->built, "With --engine:", 1) JUDGE_CHILD JSON_CHILD
#define CHECK check_audit
#include "cli/option/parser.def"

int parse_audit_options(int argc, char **argv, struct audit_options *out)
{
    *out = (struct audit_options){.argc = argc, .argv = argv};
    return parse_model_arguments(&parser, argc, argv, out, &out->common);
}

void free_audit_options(struct audit_options *options)
{
    common_free(&options->common);
    free(options->keep.rules);
    free(options->limits);
    free(options->pairs);
    free(options->checkpoints);
}
