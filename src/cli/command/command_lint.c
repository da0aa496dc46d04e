/* ulpscope lint: options, the rules, the result. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"

struct lint_options {
    struct common_options common;
    struct ulp_lint_options lint;
    const char *sarif, *html, *explain, *reference_model;
    bool list;
    size_t shown;
    int fail_on; /* a severity, or ULP_SEVERITY_COUNT for none */
};

static void add_target(void *parsed, char *text)
{
    struct ulp_error error;
    struct lint_options *options = parsed;
    if (check_target(text, &error) != ULP_OK)
        refuse("--for: %s", error.message);
    options->lint.targets |= ulp_target_find(text)->bit;
}

static void print_targets(unsigned targets)
{
    const struct ulp_target *target;
    for (size_t t = 0, any = 0; (target = ulp_target(t)); t++)
        if (targets & target->bit)
            say(stdout, "%s%s", any++ ? ", " : "", target->name);
}

static enum ulp_status explain(const char *id, struct ulp_error *error)
{
    struct ulp_lint_rule rule;
    const ptrdiff_t index = ulp_lint_rule_find(id);
    if (index < 0)
        return ulp_fail(error, ULP_ERROR_USAGE, "there is no rule '%s' (ulpscope lint --list)", id);
    ulp_lint_rule((size_t)index, &rule);
    say(stdout, "%s (%s, for ", rule.id, ulp_severity_name(rule.severity));
    print_targets(rule.targets);
    say(stdout, ")\n  finds   %s\n  why     %s\n  do      %s\n  source  %s\n", rule.what, rule.why,
        rule.fix, rule.source);
    return ULP_OK;
}

static enum ulp_status list_rules(void)
{
    struct ulp_lint_rule rule;
    for (size_t r = 0; ulp_lint_rule(r, &rule); r++)
        say(stdout, "%-22s %-8s %s\n", rule.id, ulp_severity_name(rule.severity), rule.what);
    return ULP_OK;
}

RESULT_WRITER(lint)

static enum ulp_status report(const struct lint_options *options,
                              const struct ulp_lint_result *result, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_lint_text(result, options->shown, terminal_width(STDOUT_FILENO),
                          use_colour(STDOUT_FILENO), &text, error));
    char *end = options->common.quiet ? strstr(text, "\n\n") : NULL;
    if (end) /* behind the first paragraph, headlines and notes */
        end[1] = '\0';
    fputs(text, stdout);
    const struct result said = {.of = result, .write = write_lint, .page = options->html};
    ULP_TRY(say_result(&said, error));
    if (options->sarif)
        ULP_TRY(ulp_lint_write_sarif(result, options->sarif, error));
    size_t failing = 0;
    for (int s = options->fail_on; s < ULP_SEVERITY_COUNT; s++)
        failing += result->counts[s];
    if (failing)
        say(stdout, "\nFAIL --fail-on %s: %zu finding%s\n",
            ulp_severity_name((enum ulp_severity)options->fail_on), failing,
            failing == 1 ? "" : "s");
    return judge(!failing, error);
}

static enum ulp_status run_lint(void *parsed, struct ulp_error *error)
{
    struct lint_options *options = parsed;
    const struct common_options *common = &options->common;
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *original = NULL;
    ULP_SCOPED(free_samples) struct sample_list samples = {0};
    ULP_SCOPED(ulp_lint_free) struct ulp_lint_result result = {0};
    if (options->list || options->explain)
        return options->list ? list_rules() : explain(options->explain, error);
    ULP_TRY(load_with_shapes(common, NULL, &model, error));
    if (common->input_count)
        ULP_TRY(read_samples(model, common, false, &samples, error));
    if (options->reference_model)
        ULP_TRY(load_model(options->reference_model, common->budget, &original, error));
    options->lint.original = original;
    options->lint.dims = common->dims;
    options->lint.dim_count = common->dim_count;
    options->lint.inputs = samples.count ? &samples.items[0].inputs : NULL;
    ULP_TRY(ulp_lint_run(model, &options->lint, &result, error));
    return report(options, &result, error);
}

#define PARSED struct lint_options
static const struct option_row rows[] = {
#include "cli/command/lint_option.def"
    {0}};
const struct command command_lint = {
    .name = "lint",
    .summary = "look through a model and trtexec's options for what loses accuracy or is ignored",
    .purpose = "Search a model, and trtexec's options for it, for known causes of lost accuracy in "
               "FP16 and for what a runtime ignores in silence: Casts that round twice, masks and "
               "epsilons that FP16 does not hold, weights that vanish, decomposed normalisations, "
               "layer names that match nothing, Q/DQ that no kernel takes. Nothing is computed and "
               "no inputs are needed; free dimensions are taken as 1 unless --dim, --shape or a "
               "sample (--inputs) says what they are.",
    .examples = "  ulpscope lint model.onnx\n"
                "  ulpscope lint model.onnx --for trt10 --layer-precisions '/norm/*:fp32'\n"
                "      does trtexec obey this option, and which layers does it leave out?\n"
                "  ulpscope lint mixed.onnx --fail-on warning --sarif lint.sarif\n"
                "      in CI: fail, and annotate\n"
                "  ulpscope lint --explain cast-down-up",
    .notes = "Exit code 1: there is an error, or a finding of --fail-on. doc/lint.md has the table "
             "of rules.",
    .groups = {{NULL, rows, 0}, JSON_GROUP, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct lint_options),
    .is_common = true,
    .is_front = true,
    .run = run_lint,
};
