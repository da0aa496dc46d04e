/* ulpscope audit --between: what given tokens lose from one arithmetic to another. */

#include <string.h>

#include "base/error.h"
#include "cli/command/command_audit.h"

struct comparing {
    struct work work;
    struct lane_list lanes;
    struct ulp_recording_list tokens;
    struct ulp_between between;
};

static void close_comparing(struct comparing *c)
{
    ulp_between_free(&c->between);
    ulp_recording_list_free(&c->tokens);
    free_lanes(&c->lanes);
    close_work(&c->work);
}

RESULT_KIND(between)

static enum ulp_status read_tokens(const struct audit_options *options, struct comparing *c,
                                   struct ulp_between_options *wanted, struct ulp_error *error)
{
    if (!options->tokens)
        return ULP_OK;
    ULP_TRY(ulp_recording_read(options->tokens, NULL, options->common.budget, &c->tokens, error));
    const struct ulp_tensor_set *read = c->tokens.count == 1 ? &c->tokens.items[0].tensors : NULL;
    const struct ulp_tensor *tokens = read && read->count == 1 ? &read->items[0].tensor : NULL;
    if (!tokens || ulp_type_is_float(tokens->type))
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: expected one array of integers",
                        options->tokens);
    wanted->tokens = tokens;
    wanted->tokens_name = options->tokens;
    return ULP_OK;
}

static bool is_word(const char *at, int length, const char *word)
{
    return strncmp(word, at, (size_t)length) == 0 && !word[length];
}

/* "int8,keys,channel" behind an arithmetic as
 * "bf16,written-attention=kernel,bf16,keys=int8-row,cached=channel". */
static enum ulp_status write_lanes(const struct audit_options *options, struct ulp_text *out,
                                   struct ulp_error *error)
{
    /* rows of it where nothing is said, and the tensor's where it has one scale */
    static const char *const formats[][3] = {{"e4m3", "fp8-tensor", "fp8-tensor"},
                                             {"int8", "int8-row", "int8-tensor"},
                                             {"int4", "int4-32", "int4-32"}};
    enum { KEYS = 1, VALUES };
    const char *base = options->arithmetics ? options->arithmetics : "bf16", *format = NULL,
               *shared = "", *scale = NULL;
    int length = 0, scale_length = 0, sides = 0;
    for (const char *at = options->kv_cache; *at; at += *at == ',') {
        const char *word = at;
        const int count = (int)strcspn(at, ",");
        at += count;
        if (is_word(word, count, "keys") || is_word(word, count, "values")) {
            sides |= *word == 'k' ? KEYS : VALUES;
        } else if (is_word(word, count, "channel") || is_word(word, count, "head")) {
            shared = *word == 'c' ? ",cached=channel" : ",cached=head";
        } else if (strncmp(word, "scale=", 6) == 0) {
            scale = word + 6;
            scale_length = count - 6;
        } else if (format) {
            return ulp_fail(error, ULP_ERROR_USAGE, "--kv-cache %s: expected one format",
                            options->kv_cache);
        } else {
            format = word;
            length = count;
        }
    }
    const bool cast = scale && !format && is_word(scale, scale_length, "1");
    format = format ? format : cast ? "fp8-cast" : scale ? "e4m3" : "";
    length = length ? length : (int)strlen(format);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (is_word(format, length, formats[f][0])) {
            format = formats[f][scale || strcmp(shared, ",cached=head") == 0 ? 2 : 1];
            length = (int)strlen(format);
        }
    ulp_text_add(out, "%s,written-attention=kernel,%s,%s=%.*s%s", base, base,
                 sides == KEYS     ? "keys"
                 : sides == VALUES ? "values"
                                   : "kv",
                 length, format, shared);
    if (scale && !cast && sides != VALUES)
        ulp_text_add(out, ",key-scale=%.*s", scale_length, scale);
    if (scale && !cast && sides != KEYS)
        ulp_text_add(out, ",value-scale=%.*s", scale_length, scale);
    return out->failed ? out_of_memory(error) : ULP_OK;
}

/* One arithmetic is beside itself with the nodes of --keep, or with formats of caches. */
static enum ulp_status open_lanes(const struct audit_options *options, struct comparing *c,
                                  struct ulp_between_options *wanted, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text list = {0};
    if (options->kv_cache)
        ULP_TRY(write_lanes(options, &list, error));
    if (options->kv_cache && options->arithmetics) {
        ULP_TRY(make_lanes(options->arithmetics, NULL, &options->keep, options->common.budget,
                           &c->lanes, error));
        if (c->lanes.count != 2)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "--kv-cache is beside one arithmetic: --arith %s has %zu",
                            options->arithmetics, c->lanes.count - 1);
        free_lanes(&c->lanes);
    }
    ULP_TRY(make_lanes(options->kv_cache ? list.data : options->between, NULL, &options->keep,
                       options->common.budget, &c->lanes, error));
    const size_t count = c->lanes.count - 1;
    if (count != 2 && !(count == 1 && options->keep.rule_count))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "--between %s: expected two arithmetics, A,B, or one and --keep, which is "
                        "of the second",
                        options->between);
    wanted->first = c->lanes.arithmetics[1];
    wanted->second = c->lanes.arithmetics[count];
    wanted->keeps = &c->lanes.keeps[count];
    return ULP_OK;
}

enum ulp_status audit_between(const struct audit_options *options, struct ulp_error *error)
{
    ULP_SCOPED(close_comparing) struct comparing c = {0};
    struct ulp_between_options wanted = {.reference = options->reference,
                                         .output = options->audit.output,
                                         .thread_count = options->common.threads};
    ULP_TRY(open_lanes(options, &c, &wanted, error));
    ULP_TRY(read_tokens(options, &c, &wanted, error));
    ULP_TRY(open_work(&c.work, &options->common, NULL, NULL, error));
    wanted.progress = &c.work.observer;
    progress_init(&c.work.progress, options->common.quiet, 1);
    const enum ulp_status status = ulp_between_run(c.work.model, c.work.given, c.work.samples.count,
                                                   &wanted, &c.between, error);
    progress_clear(&c.work.progress);
    ULP_TRY(status);
    const struct result result = {.of = &c.between,
                                  .text_of = text_between,
                                  .write = write_between,
                                  .page = options->html};
    return say_result(&result, error);
}
