/* ulpscope audit */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "command.h"

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
    OPTION_VERIFY
};

struct audit_options {
    struct common_options common;
    struct keep_options keep;
    const char *arithmetics, *reference, *out, *reference_model, *junit;
    char **pairs; /* "NAME=ORIGINAL" */
    size_t pair_count;
    bool certify, schedules, allow_nonfinite_inputs, attribute;
    const char *output; /* that is attributed; NULL: all */
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
    {"reference", OPTION_REFERENCE, "ARITH", 0, "What they are compared with (default mpfr:128)",
     0},
    {"reference-model", OPTION_REFERENCE_MODEL, "ORIGINAL.onnx", 0,
     "Measure against the values of this model (the FP32 original of a converted or quantised one), "
     "paired by name", 0},
    {"pair", OPTION_PAIR, "NAME=ORIGINAL", 0,
     "With --reference-model: the value NAME of MODEL is ORIGINAL there; may be repeated", 0},
    {"attribute", OPTION_ATTRIBUTE, 0, 0,
     "Say what causes the error of the outputs: the share of every node in it, from one sweep back "
     "through the graph", 0},
    {"no-attribute", OPTION_NO_ATTRIBUTE, 0, 0, "Do not (the default)", 0},
    {"output", OPTION_OUTPUT, "NAME", 0,
     "With --attribute: the value whose error is explained (default: all float outputs), NAME, "
     "NAME[i,j] of one element, or NAME[a]-NAME[b] of a difference", 0},
    {"verify", OPTION_VERIFY, "K", 0,
     "With --attribute: try the K nodes of the largest gains and K random ones in runs of their own, "
     "each kept in the reference, beside what was predicted", 0},
    {"out", 'o', "FOLDER", 0, "Write report.json, layers.csv and summary.txt into FOLDER", 0},
    {"certify", OPTION_CERTIFY, 0, 0,
     "Recompute the reference at twice its precision and say how many digits it is good for", 0},
    {"schedules", OPTION_SCHEDULES, 0, 0,
     "Also run each contraction under other schedules of its sum (split-k, the other GPU) and say "
     "which layers depend "
     "on the kernel a library picks",
     0},
    {"fail-above", OPTION_FAIL, "METRIC=VALUE", 0,
     "Exit with 1 when a graph output (for nonfinite: any node) crosses this (below it for cosine "
     "and sqnr_db); METRIC is max_abs, rms, mean, max_rel, max_ulp, median_ulp, cosine or sqnr_db, "
     "alone or after single., introduced. or carried.; nonfinite, outputs.nonfinite or diverged; "
     "after ARITH:, OUTPUT: or ARITH:OUTPUT: of those alone (fp16:logits:sqnr_db=40); may be "
     "repeated. What cannot be compared does not pass: NaN or infinity in an input, no finite "
     "element, an empty output; an output that has diverged (its shape or integers differ) is "
     "not compared", 0},
    {"junit", OPTION_JUNIT, "FILE", 0, "Write the limits of --fail-above as JUnit's XML", 0},
    {"allow-nonfinite-inputs", OPTION_ALLOW, 0, 0,
     "NaN and infinities in the inputs are meant: they do not fail --fail-above", 0},
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
            refuse(state, "--schedules is of whole arithmetics: leave out --keep and --plan");
        if (options->junit && !options->limit_count)
            refuse(state, "--junit writes what --fail-above limits: give one at least");
        if (options->attribute && options->reference_model)
            refuse(state, "--attribute is of the model's own reference: leave out "
                          "--reference-model");
        if ((options->output || options->verify) && !options->attribute)
            refuse(state, "--output and --verify are of --attribute, which is not given");
        return 0;
    case 'a': options->arithmetics = add_arithmetics(state, &options->common, argument); return 0;
    case OPTION_REFERENCE: options->reference = argument; return 0;
    case 'o': options->out = argument; return 0;
    case OPTION_REFERENCE_MODEL: options->reference_model = argument; return 0;
    case OPTION_ATTRIBUTE: options->attribute = true; return 0;
    case OPTION_NO_ATTRIBUTE: options->attribute = false; return 0;
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
    "Run MODEL in a reference and in other arithmetics, and say of every node what its arithmetic "
    "introduces and what it carries on."
    "\vExamples:\n"
    "  ulpscope audit model.onnx\n"
    "      FP16 and TF32 as an H200 computes them, on one random input\n"
    "  ulpscope audit model.onnx --inputs inputs.npz --arith fp16,bf16@a100 --out report/\n"
    "      on your input, with report.json, layers.csv and summary.txt\n"
    "  ulpscope audit model.onnx -i test_data_set_0 -i test_data_set_1 --certify\n"
    "      two samples; how many digits the reference is good for\n"
    "  ulpscope audit model.onnx --arith tf32 --schedules\n"
    "      which layers depend on the kernel that happens to be picked, and on A100 against H200\n"
    "  ulpscope audit model.onnx --arith fp32,fp32,qdq=integer\n"
    "      a Q/DQ graph in floats and as an INT8 kernel sums it, and where the two part\n"
    "  ulpscope audit model_fp16.onnx --reference-model model.onnx --arith model -i inputs.npz\n"
    "      a converted graph against the values of the FP32 model it was made from\n"
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
    struct ulp_run_options run = {.thread_count = options->common.threads, .audit = true};
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
        if (attributor)
            ulp_attributor_sample(attributor);
        if (attributor && s == 0)
            ulp_attributor_verify(attributor, &samples->items[s].inputs, options->verify);
        if (status == ULP_OK)
            status = ulp_plan_run(plan, &samples->items[s].inputs, &run, observers,
                                  attributor ? 3 : 2, NULL, &cost, error);
        if (status == ULP_OK && attributor)
            status = ulp_attributor_sweep(attributor, error);
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

static int report(const struct audit_options *options, const struct ulp_audit *audit)
{
    struct ulp_error error;
    char *summary;
    if (ulp_report_summary(audit, terminal_width(STDOUT_FILENO), use_colour(STDOUT_FILENO),
                           &summary, &error) != ULP_OK)
        return fail(&error);
    fputs(summary, stdout);
    free(summary);
    if (options->out && ulp_report_write(audit, options->out, &error) != ULP_OK)
        return fail(&error);
    if (options->out)
        say(stdout, "report: %s/report.json, layers.csv, summary.txt\n", options->out);
    return check_limits(options, audit);
}

/* Arrays of another float type than the model declares are rounded to that. */
static void note_conversions(const struct ulp_model *model, const struct ulp_tensor_set *inputs)
{
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, info.name);
        if (given && given->type != info.type && ulp_type_is_float(given->type) &&
            ulp_type_is_float(info.type))
            say(stderr, "ulpscope: input %s: %s values rounded to %s, as the model declares\n",
                info.name, ulp_type_name(given->type), ulp_type_name(info.type));
    }
}

/* A dimension that the model leaves open, as an input has it. */
struct open_dim {
    const char *name, *input;
    int64_t size;
    size_t at; /* in the order of inputs */
};

static int compare_dims(const void *a, const void *b)
{
    const struct open_dim *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* One name of a dimension with two sizes: some exporters name what is not equal. The graph decides
 * whether it runs. */
static void note_sizes(struct open_dim *dims, size_t count)
{
    qsort(dims, count, sizeof *dims, compare_dims);
    for (size_t i = 1, first = 0; i < count; i++) {
        if (strcmp(dims[i].name, dims[first].name) != 0)
            first = i;
        const bool is_less = dims[i].size < dims[first].size;
        const struct open_dim *less = &dims[is_less ? i : first],
                              *more = &dims[is_less ? first : i];
        if (less->size != more->size)
            say(stderr, "ulpscope: dimension %s is %lld in input %s and %lld in input %s\n",
                less->name, (long long)less->size, less->input, (long long)more->size, more->input);
    }
}

static void note_dimensions(const struct ulp_model *model, const struct ulp_tensor_set *inputs)
{
    const size_t input_count = ulp_model_input_count(model);
    size_t most = 0, count = 0;
    for (size_t i = 0; i < input_count; i++)
        most += (size_t)(ulp_model_input(model, i).rank > 0 ? ulp_model_input(model, i).rank : 0);
    struct open_dim *dims = malloc((most + 1) * sizeof *dims);
    if (!dims)
        return; /* only a note is missing */
    for (size_t i = 0; i < input_count; i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, info.name);
        for (int d = 0; given && d < info.rank && d < given->rank; d++)
            if (info.dims[d] < 0 && info.dim_names[d]) {
                dims[count] =
                    (struct open_dim){info.dim_names[d], info.name, given->dims[d], count};
                count++;
            }
    }
    note_sizes(dims, count);
    free(dims);
}

static void note_choices(const struct audit_options *options, const struct ulp_model *model,
                         const struct sample_list *samples)
{
    if (options->common.quiet)
        return;
    note_conversions(model, &samples->items[0].inputs);
    note_dimensions(model, &samples->items[0].inputs);
    if (!samples->random)
        return;
    say(stderr, "ulpscope: no --inputs: %s\n", samples->items[0].name);
    bool open = false;
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        struct ulp_value_info info = ulp_model_input(model, i);
        for (int d = 0; d < info.rank; d++)
            open |= info.dims[d] < 0;
    }
    if (open)
        fputs("ulpscope: set open dimensions with --dim or --inputs\n", stderr);
}

static int run_audit(const struct audit_options *options)
{
    struct ulp_error error = {0};
    struct lane_list lanes;
    struct ulp_model *model = NULL;
    struct sample_list samples = {0};
    struct ulp_audit audit = {0};
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
    if (status == ULP_OK && options->out)
        status = spare_inputs_of_report(options->out, model, options->common.inputs,
                                        options->common.input_count, &error);
    if (status == ULP_OK && options->junit)
        status = spare_inputs(options->junit, model, options->common.inputs,
                              options->common.input_count, &error);
    if (status == ULP_OK)
        status = read_samples(model, &options->common, &samples, &error);
    if (status == ULP_OK) {
        note_choices(options, model, &samples);
        status = run_samples(options, model, &lanes, &samples, &audit, &error);
    }
    if (status == ULP_OK && options->schedules)
        status =
            run_schedules(options, model, lanes.arithmetics, lanes.count, &samples, &audit, &error);
    int code = status == ULP_OK ? report(options, &audit) : fail(&error);
    ulp_audit_free(&audit);
    free_samples(&samples);
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
