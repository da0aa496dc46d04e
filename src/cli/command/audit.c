/* ulpscope audit: options, the runs, the report, the limits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"

enum {
    OPTION_REFERENCE = 512,
    OPTION_CERTIFY,
    OPTION_FAIL,
    OPTION_JUNIT,
    OPTION_ALLOW,
    OPTION_SCHEDULES,
    OPTION_REFERENCE_MODEL,
    OPTION_PAIR,
    OPTION_ATTRIBUTE,
    OPTION_NO_ATTRIBUTE,
    OPTION_OUTPUT,
    OPTION_VERIFY,
    OPTION_GROUP
};

struct audit_options {
    struct common_options common;
    struct keep_options keep;
    const char *arithmetics, *reference, *out, *reference_model, *junit;
    char **pairs; /* "NAME=ORIGINAL" */
    size_t pair_count;
    bool certify, schedules, allow_nonfinite_inputs, attribute;
    const char *output; /* that is attributed; NULL: all */
    const char *group;  /* shares by groups; NULL: no groups */
    size_t verify;      /* so many of the largest, and random ones */
    const char **limits;
    size_t limit_count;
};

/* clang-format off */
static const struct argp_option option_list[] = {
    {"arith", 'a', "LIST", 0,
     "Arithmetics to audit, separated by commas (default fp16,tf32; ulpscope arith explains "
     "them); may be repeated",
     0},
    {"reference", OPTION_REFERENCE, "ARITH", 0,
     "The arithmetic that all others are compared with (default mpfr:128)", 0},
    {"reference-model", OPTION_REFERENCE_MODEL, "ORIGINAL.onnx", 0,
     "Compare with the values of this model, such as the FP32 original of a converted or quantised "
     "MODEL. Values are paired by name", 0},
    {"pair", OPTION_PAIR, "NAME=ORIGINAL", 0,
     "With --reference-model: the value NAME of MODEL is called ORIGINAL there; may be repeated", 0},
    {"attribute", OPTION_ATTRIBUTE, 0, 0,
     "Report what causes the error of the outputs: the share of every node in it, from one sweep back "
     "through the graph", 0},
    {"no-attribute", OPTION_NO_ATTRIBUTE, 0, 0, "Do not (the default)", 0},
    {"output", OPTION_OUTPUT, "NAME", 0,
     "With --attribute: the value whose error is explained (default: all float outputs), NAME, "
     "NAME[i,j] of one element, or NAME[a]-NAME[b] of a difference", 0},
    {"group-by", OPTION_GROUP, "BY", 0,
     "With --attribute: also the shares of groups of nodes: by op, or prefix:N, names cut after their "
     "N-th part between slashes", 0},
    {"verify", OPTION_VERIFY, "K", 0,
     "With --attribute: compare the shares of the K nodes with the largest ones and of K random nodes "
     "with runs without their errors", 0},
    {"out", 'o', "FOLDER", 0, "Write report.json, layers.csv and summary.txt into FOLDER", 0},
    {"certify", OPTION_CERTIFY, 0, 0,
     "Recompute the reference at twice its precision and report how many of its digits are correct", 0},
    {"schedules", OPTION_SCHEDULES, 0, 0,
     "Also compute each MatMul, Conv and the like under other schedules of its sum (split-k, another "
     "GPU) and report which layers depend on the kernel that a library picks",
     0},
    {"fail-above", OPTION_FAIL, "METRIC=VALUE", 0,
     "Exit with code 1 when a graph output (for nonfinite: any node) is above VALUE, or below it for "
     "cosine and sqnr_db. METRIC is max_abs, rms, mean, max_rel, max_ulp, median_ulp, cosine or "
     "sqnr_db, alone or after single., introduced. or carried.; or nonfinite, outputs.nonfinite or "
     "diverged. ARITH:, OUTPUT: or ARITH:OUTPUT: before it limits only these, as in "
     "fp16:logits:sqnr_db=40. May be repeated. An output that cannot be compared fails too: NaN or "
     "infinity in an input, no finite element, an empty output. Of an output that has "
     "diverged (its shape or integers differ, or it follows such) the figures with the reference's "
     "decisions count", 0},
    {"junit", OPTION_JUNIT, "FILE", 0, "Write the limits of --fail-above as JUnit's XML", 0},
    {"allow-nonfinite-inputs", OPTION_ALLOW, 0, 0,
     "NaN and infinities in the inputs are intended: --fail-above does not fail because of them", 0},
    {0},
};
/* clang-format on */

static void add_limit(struct argp_state *state, struct audit_options *options, const char *limit)
{
    struct ulp_error error;
    if (ulp_limit_check(limit, NULL, NULL, &error) != ULP_OK)
        refuse(state, "--fail-above: %s", error.message);
    const char **limits = realloc(options->limits, (options->limit_count + 1) * sizeof *limits);
    if (!limits)
        argp_failure(state, ULP_ERROR_MEMORY, 0, "out of memory");
    options->limits = limits;
    limits[options->limit_count++] = limit;
}

static void add_pair(struct argp_state *state, struct audit_options *options, char *text)
{
    if (!strchr(text, '=') || *text == '=' || !strrchr(text, '=')[1])
        refuse(state, "--pair %s: expected NAME=ORIGINAL, two names of values", text);
    char **pairs = realloc(options->pairs, (options->pair_count + 1) * sizeof *pairs);
    if (!pairs)
        argp_failure(state, ULP_ERROR_MEMORY, 0, "out of memory");
    options->pairs = pairs;
    pairs[options->pair_count++] = text;
}

static size_t read_count(struct argp_state *state, const char *text)
{
    char *end;
    const long count = strtol(text, &end, 10);
    if (end == text || *end || count < 1 || count > 1000)
        refuse(state, "--verify %s: expected a number of nodes from 1 to 1000", text);
    return (size_t)count;
}

static const char *read_group(struct argp_state *state, const char *text)
{
    struct ulp_error error;
    if (ulp_audit_group_shares(NULL, text, &error) != ULP_OK)
        refuse(state, "--group-by: %s", error.message);
    return text;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct audit_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        state->child_inputs[1] = &options->keep;
        return 0;
    case ARGP_KEY_END:
        if (options->schedules && (options->keep.rule_count || options->keep.plan))
            refuse(state,
                   "--schedules takes one arithmetic for all nodes: leave out --keep and --plan");
        if (options->junit && !options->limit_count)
            refuse(state, "--junit writes the limits of --fail-above: give at least one");
        if (options->junit && count_shapes(&options->common) > 1)
            refuse(state, "--junit is of one audit: give one --shape of each input");
        if (options->attribute && options->reference_model)
            refuse(state, "--attribute is of the model's own reference: leave out "
                          "--reference-model");
        if ((options->output || options->verify || options->group) && !options->attribute)
            refuse(state, "--output, --group-by and --verify are of --attribute: give it");
        return 0;
    case 'a': options->arithmetics = add_arithmetics(state, &options->common, argument); return 0;
    case OPTION_REFERENCE: options->reference = argument; return 0;
    case 'o': options->out = argument; return 0;
    case OPTION_REFERENCE_MODEL: options->reference_model = argument; return 0;
    case OPTION_ATTRIBUTE: options->attribute = true; return 0;
    case OPTION_NO_ATTRIBUTE: options->attribute = false; return 0;
    case OPTION_GROUP: options->group = read_group(state, argument); return 0;
    case OPTION_VERIFY: options->verify = read_count(state, argument); return 0;
    case OPTION_OUTPUT: options->output = argument; return 0;
    case OPTION_PAIR: add_pair(state, options, argument); return 0;
    case OPTION_CERTIFY: options->certify = true; return 0;
    case OPTION_SCHEDULES: options->schedules = true; return 0;
    case OPTION_ALLOW: options->allow_nonfinite_inputs = true; return 0;
    case OPTION_JUNIT: options->junit = argument; return 0;
    case OPTION_FAIL: add_limit(state, options, argument); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Run MODEL in a reference and in other arithmetics side by side. For every node, report the "
    "error that it introduces and the error of its inputs that it carries; say which node "
    "overflows "
    "first, and which nodes to keep in FP32."
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
    "  ulpscope audit model.onnx -i test_data_set_0 -i test_data_set_1 --certify\n"
    "      two samples, and how many digits of the reference are correct\n"
    "  ulpscope audit model.onnx --arith tf32 --schedules\n"
    "      which layers depend on the kernel that a library picks, and how far A100 and H200 "
    "differ\n"
    "  ulpscope audit model.onnx --arith fp32,fp32,qdq=integer\n"
    "      a Q/DQ graph in floats and as an INT8 kernel sums it, and where the two first differ\n"
    "  ulpscope audit model_fp16.onnx --reference-model model.onnx --arith model -i inputs.npz\n"
    "      a converted graph compared with the FP32 model it was made from\n"
    "  ulpscope audit model.onnx --arith fp16 --keep 'op:Softmax=fp32' --keep '#12-40=fp32'\n"
    "      FP16 with some nodes in FP32, as a graph with Casts around them computes it\n"
    "  ulpscope audit model.onnx --arith fp16 --attribute --output 'logits[0,2]-logits[0,5]'\n"
    "      which nodes cause the error of a margin between two classes\n"
    "  ulpscope audit model.onnx --arith fp16 --fail-above nonfinite=0 --fail-above sqnr_db=40\n"
    "      in CI: exit code 1 when FP16 overflows or leaves less than 40 dB\n"
    "  ulpscope audit model.onnx -a fp16,bf16 --fail-above fp16:logits:sqnr_db=40 --junit out.xml\n"
    "      one output of one arithmetic, also as JUnit's XML";

/* The model whose values are the truth, planned for one sample after another. */
struct original {
    struct ulp_model *model;
    struct ulp_truth *truth;
};

static enum ulp_status open_original(const struct audit_options *options, struct original *out,
                                     struct ulp_error *error)
{
    enum ulp_status status =
        ulp_model_load(options->reference_model, options->common.budget, &out->model, error);
    if (status == ULP_OK)
        status = ulp_truth_create(options->common.budget, &out->truth, error);
    for (size_t i = 0; i < options->pair_count && status == ULP_OK; i++) {
        char *equals = strchr(options->pairs[i], '=');
        *equals = '\0';
        status = ulp_truth_pair(out->truth, options->pairs[i], equals + 1, error);
        *equals = '=';
    }
    return status;
}

static void close_original(struct original *original)
{
    ulp_truth_free(original->truth);
    ulp_model_free(original->model);
}

/* The original's values for one sample. */
static enum ulp_status run_original(const struct original *original,
                                    const struct ulp_arithmetic *reference,
                                    const struct ulp_tensor_set *inputs,
                                    const struct ulp_run_options *run,
                                    const struct ulp_observer *progress, struct ulp_error *error)
{
    const struct ulp_plan_options options = {.inputs = inputs};
    const struct ulp_run_options alone = {.thread_count = run->thread_count};
    const struct ulp_observer observers[] = {ulp_truth_observer(original->truth), *progress};
    struct ulp_plan *plan;
    ulp_truth_clear(original->truth);
    enum ulp_status status = ulp_plan_create(original->model, reference, 1, &options, &plan, error);
    if (status == ULP_OK)
        status = ulp_plan_run(plan, inputs, &alone, observers, 2, NULL, NULL, error);
    ulp_plan_free(plan);
    return status == ULP_OK ? ULP_OK : ulp_fail_at(error, status, "--reference-model");
}

static enum ulp_status run_samples(const struct audit_options *options,
                                   const struct ulp_model *model, const struct lane_list *list,
                                   const struct sample_list *samples, struct ulp_audit *audit,
                                   struct ulp_error *error)
{
    const struct ulp_arithmetic *lanes = list->arithmetics;
    struct ulp_run_options run = {.thread_count = options->common.threads, .audit = true},
                           follow = {.thread_count = options->common.threads, .follow = true};
    struct ulp_plan_options plan_options = {.inputs = &samples->items[0].inputs,
                                            .keeps = list->keeps};
    struct ulp_plan *plan = NULL;
    struct ulp_auditor *auditor = NULL;
    struct ulp_attributor *attributor = NULL;
    struct progress progress;
    struct ulp_certificate certificate = {0};
    struct original original = {0};
    double seconds = 0;
    size_t peak = 0;
    progress_init(&progress, options->common.quiet,
                  samples->count * (1 + options->certify + (options->reference_model != NULL)));
    enum ulp_status status =
        ulp_plan_create(model, lanes, list->count, &plan_options, &plan, error);
    for (size_t i = 0; i < options->limit_count && status == ULP_OK; i++)
        status = ulp_limit_check(options->limits[i], model, plan, error);
    if (status == ULP_OK)
        status = ulp_auditor_create(plan, &auditor, error);
    if (status == ULP_OK)
        status = ulp_auditor_threads(auditor, run.thread_count, error);
    if (status == ULP_OK && options->attribute)
        status = ulp_attributor_create(plan, options->output, run.thread_count, &attributor, error);
    if (status == ULP_OK && options->reference_model)
        status = open_original(options, &original, error);
    if (status == ULP_OK && options->reference_model)
        status = ulp_auditor_truth(auditor, original.truth, options->reference_model, error);
    for (size_t s = 0; s < samples->count && status == ULP_OK; s++) {
        struct ulp_observer observers[] = {ulp_auditor_observer(auditor),
                                           progress_observer(&progress),
                                           attributor ? ulp_attributor_observer(attributor)
                                                      : (struct ulp_observer){0}};
        struct ulp_run_cost cost;
        if (options->reference_model)
            status = run_original(&original, &lanes[0], &samples->items[s].inputs, &run,
                                  &observers[1], error);
        progress.part += options->reference_model != NULL;
        if (status == ULP_OK)
            status = ulp_auditor_sample(auditor, samples->items[s].name, error);
        if (status == ULP_OK && attributor)
            status = ulp_attributor_sample(attributor, &samples->items[s].inputs, error);
        if (attributor && s == 0)
            ulp_attributor_verify(attributor, options->verify);
        if (status == ULP_OK)
            status = ulp_plan_run(plan, &samples->items[s].inputs, &run, observers,
                                  attributor ? 3 : 2, NULL, &cost, error);
        if (status == ULP_OK && attributor)
            status = ulp_attributor_sweep(attributor, error);
        if (status == ULP_OK && ulp_auditor_has_diverged(auditor)) {
            observers[0] = ulp_auditor_follower(auditor);
            status = ulp_plan_run(plan, &samples->items[s].inputs, &follow, observers, 2, NULL,
                                  NULL, error);
        }
        if (status != ULP_OK)
            break;
        seconds += cost.seconds;
        peak = cost.peak_bytes > peak ? cost.peak_bytes : peak;
        progress.part++;
        if (options->certify)
            status = ulp_certify(model, &lanes[0], &samples->items[s].inputs, &run, &observers[1],
                                 &certificate, error);
        progress.part += options->certify;
    }
    progress_clear(&progress);
    if (status == ULP_OK)
        status = ulp_auditor_finish(auditor, audit, error);
    if (status == ULP_OK && attributor)
        status = ulp_attributor_finish(attributor, audit, error);
    if (status == ULP_OK && options->group)
        status = ulp_audit_group_shares(audit, options->group, error);
    if (status == ULP_OK) {
        audit->certificate = certificate;
        audit->seconds = seconds;
        audit->peak_bytes = peak;
    } else {
        free(certificate.node);
    }
    ulp_attributor_free(attributor);
    ulp_auditor_free(auditor);
    ulp_plan_free(plan);
    close_original(&original);
    return status;
}

/* The spread over schedules of every audited arithmetic, on the first sample. */
static enum ulp_status run_schedules(const struct audit_options *options,
                                     const struct ulp_model *model,
                                     const struct ulp_arithmetic *lanes, size_t lane_count,
                                     const struct sample_list *samples, struct ulp_audit *audit,
                                     struct ulp_error *error)
{
    struct ulp_run_options run = {.thread_count = options->common.threads};
    struct progress progress;
    enum ulp_status status = ULP_OK;
    progress_init(&progress, options->common.quiet, lane_count - 1);
    struct ulp_observer observer = progress_observer(&progress);
    audit->spreads = calloc(lane_count, sizeof *audit->spreads);
    if (!audit->spreads)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (size_t l = 1; l < lane_count && status == ULP_OK; l++) {
        status = ulp_spreads_measure(model, &lanes[0], &lanes[l], &samples->items[0].inputs, &run,
                                     &observer, &audit->spreads[audit->spread_count], error);
        audit->spread_count += status == ULP_OK;
        progress.part++;
    }
    progress_clear(&progress);
    return status;
}

static int check_limits(const struct audit_options *options, const struct ulp_audit *audit)
{
    struct ulp_error error;
    int code = ULP_OK;
    for (size_t i = 0; i < options->limit_count; i++) {
        struct ulp_crossing_list crossings;
        if (ulp_audit_check(audit, options->limits[i], options->allow_nonfinite_inputs, &crossings,
                            &error) != ULP_OK)
            return fail(&error);
        for (size_t c = 0; c < crossings.count; c++) {
            char *text = NULL;
            if (ulp_crossing_text(&crossings.items[c], options->limits[i], &text, &error) == ULP_OK)
                say(stdout, "limit crossed: %s: %s\n", options->limits[i], text);
            free(text);
        }
        code = crossings.count ? ULP_ERROR_LIMIT : code;
        free(crossings.items);
    }
    if (options->junit &&
        ulp_report_junit(audit, options->limits, options->limit_count,
                         options->allow_nonfinite_inputs, options->junit, &error) != ULP_OK)
        return fail(&error);
    return code;
}

static int report(const struct audit_options *options, const char *folder,
                  const struct ulp_audit *audit)
{
    struct ulp_error error;
    char *summary;
    if (ulp_report_summary(audit, terminal_width(STDOUT_FILENO), use_colour(STDOUT_FILENO),
                           &summary, &error) != ULP_OK)
        return fail(&error);
    fputs(summary, stdout);
    free(summary);
    if (folder && ulp_report_write(audit, folder, &error) != ULP_OK)
        return fail(&error);
    if (folder)
        say(stdout, "report: %s/report.json, layers.csv, summary.txt\n", folder);
    return check_limits(options, audit);
}

/* The n-th of several shapes has a folder of its own. */
static enum ulp_status choose_folder(const struct audit_options *options, size_t n, char **out,
                                     struct ulp_error *error)
{
    struct ulp_text text = {0};
    *out = NULL;
    if (!options->out)
        return ULP_OK;
    ulp_text_add(&text, "%s", options->out);
    if (count_shapes(&options->common) > 1)
        ulp_text_add(&text, "/shape-%zu", n + 1);
    *out = text.data;
    return text.failed ? ulp_fail(error, ULP_ERROR_MEMORY, "out of memory") : ULP_OK;
}

/* The audit with the n-th shape; returns an exit code. */
static int audit_shape(const struct audit_options *options, struct ulp_model *model,
                       const struct lane_list *lanes, size_t n, struct shape_results *results)
{
    struct ulp_error error = {0};
    struct sample_list samples = {0};
    struct ulp_audit audit = {0};
    char *shape = NULL, *folder = NULL;
    enum ulp_status status = set_shapes(model, &options->common, n, &shape, &error);
    if (status == ULP_OK)
        status = choose_folder(options, n, &folder, &error);
    if (status == ULP_OK && folder)
        status = spare_inputs_of_report(folder, model, options->common.inputs,
                                        options->common.input_count, &error);
    if (status == ULP_OK)
        status = read_samples(model, &options->common, &samples, &error);
    if (status == ULP_OK) {
        if (!options->common.quiet)
            note_choices(model, &samples);
        status = run_samples(options, model, lanes, &samples, &audit, &error);
    }
    if (status == ULP_OK && options->schedules)
        status = run_schedules(options, model, lanes->arithmetics, lanes->count, &samples, &audit,
                               &error);
    if (status == ULP_OK && options->common.shape_count)
        say(stdout, "%sshape %s\n", n ? "\n" : "", shape);
    if (status == ULP_OK && count_shapes(&options->common) > 1)
        status = add_shape_result(results, shape, &audit, &error);
    if (status != ULP_OK && count_shapes(&options->common) > 1)
        ulp_fail_at(&error, status, "shape %s", shape ? shape : "");
    const int code = status == ULP_OK ? report(options, folder, &audit) : fail(&error);
    ulp_audit_free(&audit);
    free_samples(&samples);
    free(shape);
    free(folder);
    return code;
}

static int run_audit(const struct audit_options *options)
{
    struct ulp_error error = {0};
    struct lane_list lanes;
    struct ulp_model *model = NULL;
    struct shape_results results = {0};
    enum ulp_status status = make_lanes(options->arithmetics, "fp16,tf32", &options->keep,
                                        options->common.budget, &lanes, &error);
    if (status == ULP_OK)
        status = ulp_arithmetic_find(options->reference, &lanes.arithmetics[0], &error);
    if (status == ULP_OK && options->certify)
        status = ulp_certify_check(&lanes.arithmetics[0], &error);
    if (status == ULP_OK && options->out)
        status = ulp_report_prepare(options->out, &error);
    if (status == ULP_OK)
        status = ulp_model_load(options->common.model, options->common.budget, &model, &error);
    if (status == ULP_OK && options->junit)
        status = spare_inputs(options->junit, model, options->common.inputs,
                              options->common.input_count, &error);
    int code = status == ULP_OK ? ULP_OK : fail(&error);
    for (size_t n = 0;
         n < count_shapes(&options->common) && (code == ULP_OK || code == ULP_ERROR_LIMIT); n++) {
        const int one = audit_shape(options, model, &lanes, n, &results);
        code = one == ULP_OK ? code : one;
    }
    if (code == ULP_OK || code == ULP_ERROR_LIMIT)
        print_shape_results(&results, lanes.count - 1);
    free_shape_results(&results);
    ulp_model_free(model);
    free_lanes(&lanes);
    return code;
}

int command_audit(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, "Inputs and running:", 1},
                                                 {&keep_argp, 0, "Nodes in other arithmetics:", 1},
                                                 {0}};
    static const struct argp argp = {option_list, parse_option, "MODEL.onnx", documentation,
                                     children,    NULL,         NULL};
    struct audit_options options = {.reference = "mpfr:128"};
    common_init(&options.common);
    int code = parse_model_arguments(&argp, argc, argv, &options, &options.common);
    if (code == ULP_OK)
        code = run_audit(&options);
    common_free(&options.common);
    free(options.keep.rules);
    free(options.limits);
    free(options.pairs);
    return code;
}
