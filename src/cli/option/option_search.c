/* What commands that search have alike: options, samples, the search itself and its report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

#define OPTIONS "cli/option/search_option.def"
#include "cli/option/table.def"

void add_tolerance(const struct argp_state *state, struct texts *tolerances, char *text)
{
    struct ulp_error error;
    if (ulp_limit_check(text, NULL, NULL, &error) != ULP_OK)
        refuse(state, "--tolerance: %s", error.message);
    add_argument(state, &tolerances->items, &tolerances->count, text);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct search_options *options = state->input;
    switch (key) {
#include "cli/option/cases.def"
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp search_argp = {.options = option_list, .parser = parse_option};

void search_free(struct search_options *options)
{
    free(options->tolerances.items);
    free(options->always.items);
    free(options->never.items);
    free(options->validate.items);
    free(options->formats.items);
    free(options->list);
}

static bool is_scaled(const char *name)
{
    char text[80];
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    return snprintf(text, sizeof text, "bf16,factor=%s,unit=none", name) < (int)sizeof text &&
           ulp_arithmetic_find(text, &arithmetic, &error) == ULP_OK &&
           arithmetic.scaling[0].name[0];
}

void read_formats(struct argp_state *state, struct search_options *options, const char *text)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    char *rest;
    if (options->list)
        refuse(state, "--formats is there twice: name all formats in one list");
    if (!(options->list = strdup(text)))
        refuse_memory(state);
    for (char *name = strtok_r(options->list, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest)) {
        if (!is_scaled(name) && ulp_arithmetic_find(name, &arithmetic, &error) != ULP_OK)
            refuse(state, "--formats: %s", error.message);
        add_argument(state, &options->formats.items, &options->formats.count, name);
    }
    if (!options->formats.count)
        refuse(state, "--formats: expected names, as nvfp4,mxfp8,bf16");
}

/* ---- samples ---- */

struct ulp_sample *list_samples(const struct sample_list *samples)
{
    struct ulp_sample *list = calloc(samples->count + 1, sizeof *list);
    for (size_t s = 0; s < samples->count && list; s++)
        list[s] = (struct ulp_sample){samples->items[s].name, &samples->items[s].inputs,
                                      samples->items[s].fingerprint};
    return list;
}

enum ulp_status read_search_samples(const struct ulp_model *model,
                                    const struct common_options *options, char **validate,
                                    size_t validate_count, struct search_samples *out,
                                    struct ulp_error *error)
{
    struct common_options held_out = *options;
    held_out.inputs = validate;
    held_out.input_count = validate_count;
    ULP_TRY(read_samples(model, options, true, &out->given, error));
    if (!options->quiet)
        note_choices(model, &out->given);
    if (validate_count)
        ULP_TRY(read_samples(model, &held_out, true, &out->held_out, error));
    out->searched = list_samples(&out->given);
    out->validated = list_samples(&out->held_out);
    return taken(out->searched && out->validated, error);
}

void free_search_samples(struct search_samples *samples)
{
    free(samples->searched);
    free(samples->validated);
    free_samples(&samples->given);
    free_samples(&samples->held_out);
}

/* ---- the search ---- */

static enum ulp_status find(const struct common_options *common,
                            const struct search_options *options, struct ulp_search_options *search,
                            const struct ulp_model *model, struct ulp_search *found,
                            struct ulp_error *error)
{
    ULP_SCOPED(free_search_samples) struct search_samples samples = {0};
    ULP_SCOPED(progress_clear) struct progress progress = {0};
    search->tolerances = (const char *const *)options->tolerances.items;
    search->tolerance_count = options->tolerances.count;
    search->cost = options->cost;
    search->always = (const char *const *)options->always.items;
    search->always_count = options->always.count;
    search->never = (const char *const *)options->never.items;
    search->never_count = options->never.count;
    search->formats =
        options->formats.count ? (const char *const *)options->formats.items : search->formats;
    search->format_count = options->formats.count ? options->formats.count : search->format_count;
    search->seconds = options->seconds;
    search->lower_io = options->lower_io;
    search->task = options->task;
    search->allow_nonfinite_inputs = common->allow_nonfinite_inputs;
    search->thread_count = common->threads;
    ULP_TRY(ulp_arithmetic_find(options->reference, &search->reference, error));
    ULP_TRY(read_search_samples(model, common, options->validate.items, options->validate.count,
                                &samples, error));
    progress_init(&progress, common->quiet, samples.given.count);
    const struct ulp_observer observer = progress_observer(&progress);
    search->progress = &observer;
    return ulp_search_run(model, search, samples.searched, samples.given.count, samples.validated,
                          samples.held_out.count, found, error);
}

enum ulp_status say_mixed(const struct ulp_mixed *mixed, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_mixed_text(mixed, &text, error));
    fputs(text, stdout);
    return ULP_OK;
}

WRITES(write_search, ulp_search_write)

static enum ulp_status report(const struct search_options *options, const struct ulp_search *found,
                              struct ulp_error *error)
{
    const struct result files = {found, .write = write_search, .page = options->html};
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_search_text(found, &text, error));
    fputs(text, stdout);
    if (options->out) {
        ULP_TRY(ulp_search_write(found, ULP_OUTPUT_FOLDER, options->out, error));
        say(stdout,
            found->by_node ? "plan: %s/plan.json, and the same for TensorRT's tools beside it\n"
                           : "plan: %s/plan.json (audit --plan reads it)\n",
            options->out);
    }
    if (found->mixed.path || found->mixed.reason)
        ULP_TRY(say_mixed(&found->mixed, error));
    ULP_TRY(say_result(&files, error));
    return judge(found->met && found->validated_met == found->validated_count &&
                     !(found->mixed_ratio > 1),
                 error);
}

enum ulp_status run_search(const struct common_options *common,
                           const struct search_options *options, struct ulp_search_options *search,
                           struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_search_free) struct ulp_search found = {0};
    ULP_TRY(load_with_shapes(common, options->out, &model, error));
    ULP_TRY(find(common, options, search, model, &found, error));
    return report(options, &found, error);
}
