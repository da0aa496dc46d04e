/* --shape: one audit for each shape, and which of them is the worst. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

/* How many shapes there are for the input of shape s, up to and with that one. */
static size_t count_before(const struct common_options *options, size_t s)
{
    size_t count = 0;
    for (size_t i = 0; i <= s; i++)
        count += strcmp(options->shapes[i].name, options->shapes[s].name) == 0;
    return count;
}

size_t count_shapes(const struct common_options *options)
{
    size_t most = 1;
    for (size_t s = 0; s < options->shape_count; s++)
        most = count_before(options, s) > most ? count_before(options, s) : most;
    return most;
}

void add_option(struct ulp_text *out, const char *option, const char *word)
{
    const bool quoted = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_./,:@%+=-")];
    ulp_text_add(out, quoted ? " %s '" : " %s ", option);
    for (; *word; word++)
        ulp_text_add(out, *word == '\'' ? "'\\''" : "%c", *word);
    ulp_text_add(out, quoted ? "'" : "");
}

/* What a command that a result proposes says of the inputs: as this one, but for the shapes, which
 * are said behind it. */
static void list_arguments(struct ulp_text *out, const struct common_options *options)
{
    for (size_t i = 0; i < options->input_count; i++)
        add_option(out, "-i", options->inputs[i]);
    if (options->samples_from)
        add_option(out, "-i", options->samples_from);
    for (size_t d = 0; d < options->dim_count; d++) {
        struct ulp_text text = {0};
        ulp_text_add(&text, "%s=%lld", options->dims[d].name, (long long)options->dims[d].value);
        add_option(out, "--dim", text.data ? text.data : "");
        out->failed |= text.failed;
        ulp_text_free(&text);
    }
    for (size_t r = 0; r < options->range_count; r++) {
        const struct ulp_input_range *range = &options->ranges[r];
        struct ulp_text text = {0};
        ulp_text_add(&text, "%s%s%.17g,%.17g", range->name ? range->name : "",
                     range->name ? "=" : "", range->low, range->high);
        add_option(out, "--val-range", text.data ? text.data : "");
        out->failed |= text.failed;
        ulp_text_free(&text);
    }
    if (options->seed)
        ulp_text_add(out, " --seed %llu", (unsigned long long)options->seed);
}

enum ulp_status set_shapes(struct ulp_model *model, const struct common_options *options, size_t n,
                           char **text, struct ulp_error *error)
{
    struct ulp_text said = {0}, arguments = {0};
    enum ulp_status status = ULP_OK;
    list_arguments(&arguments, options);
    for (size_t s = 0; s < options->shape_count && status == ULP_OK; s++) {
        const struct input_shape *shape = &options->shapes[s];
        bool last = true;
        for (size_t i = s + 1; i < options->shape_count; i++)
            last &= strcmp(options->shapes[i].name, shape->name) != 0;
        const size_t number = count_before(options, s);
        if (number != n + 1 && !(last && number < n + 1))
            continue;
        status = ulp_model_set_shape(model, shape->name, shape->rank, shape->dims, error);
        struct ulp_text own = {0};
        ulp_text_add(&own, "%s=%s", shape->name, shape->rank ? "" : "scalar");
        for (int d = 0; d < shape->rank; d++)
            ulp_text_add(&own, "%s%lld", d ? "x" : "", (long long)shape->dims[d]);
        add_option(&arguments, "--shape", own.data ? own.data : "");
        ulp_text_add(&said, "%s%s %s", said.length ? ", " : "", shape->name,
                     own.data && shape->rank ? strchr(own.data + strlen(shape->name), '=') + 1
                                             : "");
        said.failed |= own.failed;
        ulp_text_free(&own);
    }
    ulp_text_add(&said, "%s", "");
    *text = said.data;
    if (status == ULP_OK && (said.failed || arguments.failed))
        status = out_of_memory(error);
    if (status != ULP_OK)
        status = ulp_fail_at(error, status, "--shape");
    else
        status = ulp_model_set_arguments(model, arguments.data ? arguments.data : "",
                                         options->allow_nonfinite_inputs, error);
    ulp_text_free(&arguments);
    return status;
}

enum ulp_status load_with_shapes(const struct common_options *options, const char *folder,
                                 struct ulp_model **model, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *shape = NULL;
    ULP_TRY(folder ? ulp_report_prepare(folder, error) : ULP_OK);
    ULP_TRY(load_model(options->model, options->budget, model, error));
    return set_shapes(*model, options, 0, &shape, error);
}

enum ulp_status add_shape_result(struct shape_results *results, char *shape,
                                 const struct ulp_audit *audit, struct ulp_error *error)
{
    struct shape_result *items =
        realloc(results->items, (results->count + audit->lane_count) * sizeof *items);
    ULP_TRY(taken(items, error));
    results->items = items;
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_audit_output *worst = ulp_audit_worst(&audit->lanes[l].outputs);
        struct shape_result result = {.shape = strdup(shape),
                                      .lane = strdup(audit->lanes[l].name),
                                      .output =
                                          strdup(worst ? worst->name : "no output can be compared"),
                                      .sqnr_db = worst ? worst->entire.sqnr_db : NAN,
                                      .nonfinite = worst ? worst->entire.nonfinite : 0};
        items[results->count++] = result;
        ULP_TRY(taken(result.shape && result.lane && result.output, error));
    }
    return ULP_OK;
}

static bool is_worse(const struct shape_result *a, const struct shape_result *b)
{
    return a->nonfinite != b->nonfinite ? a->nonfinite > b->nonfinite : !(a->sqnr_db >= b->sqnr_db);
}

/* Results of one shape are beside each other, lanes in the same order. */
void print_shape_results(const struct shape_results *results, size_t lane_count)
{
    for (size_t l = 0; l < lane_count && l < results->count; l++) {
        size_t worst = l;
        for (size_t i = l; i < results->count; i += lane_count)
            if (is_worse(&results->items[i], &results->items[worst]))
                worst = i;
        say(stdout, "%s by shape, worst output of each:\n", results->items[l].lane);
        for (size_t i = l; i < results->count; i += lane_count) {
            const struct shape_result *item = &results->items[i];
            say(stdout, "  %s: %s", item->shape, item->output);
            if (item->nonfinite)
                say(stdout, ", %zu values not finite", item->nonfinite);
            else if (isinf(item->sqnr_db))
                say(stdout, ", equal");
            else if (!isnan(item->sqnr_db))
                say(stdout, ", %.1f dB", ulp_tenths(item->sqnr_db));
            say(stdout, i == worst ? " (the worst shape)\n" : "\n");
        }
    }
}

void free_shape_results(struct shape_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        free(results->items[i].shape);
        free(results->items[i].lane);
        free(results->items[i].output);
    }
    free(results->items);
}
