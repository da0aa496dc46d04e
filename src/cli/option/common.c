/* Options that every model-running command takes, and small helpers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/sandbox/sandbox.h"

void common_free(struct common_options *common)
{
    for (size_t i = 0; i < common->dim_count; i++)
        free((void *)(uintptr_t)common->dims[i].name); /* add_dim's copies */
    for (size_t i = 0; i < common->range_count; i++)
        free((void *)(uintptr_t)common->ranges[i].name); /* add_range's copies */
    for (size_t i = 0; i < common->shape_count; i++)
        free(common->shapes[i].name);
    free(common->ranges);
    free(common->shapes);
    free(common->dims);
    ulp_budget_free(common->budget);
}

/* Of the memory that is free when the command starts. */
#define SHARE_OF_FREE 0.8

/* The limit that was not given, for messages; 0: it was. */
static size_t default_limit;

static enum ulp_status prepare_common(const struct command *command, struct common_options *common,
                                      struct ulp_error *error)
{
    if (!command->is_common)
        return ULP_OK;
    if (!is_option_given("max-memory"))
        common->max_memory_bytes = default_limit =
            (size_t)(SHARE_OF_FREE * (double)ulp_memory_available());
    return ulp_budget_create(common->max_memory_bytes, &common->budget, error);
}

int open_command(const struct command *command, int argc, char **argv, void **out)
{
    struct ulp_error error;
    if (command->leads)
        sandbox_wait();
    if (!(*out = calloc(1, command->size)))
        return fail_memory();
    const int code = parse_command(command, argc, argv, *out);
    if (command->is_common) {
        ((struct common_options *)*out)->argc = argc;
        ((struct common_options *)*out)->argv = argv;
    }
    return code != ULP_OK                                    ? code
           : prepare_common(command, *out, &error) != ULP_OK ? fail(&error)
                                                             : ULP_OK;
}

void close_command(const struct command *command, void *options)
{
    if (options)
        free_options(command, options);
    free(options);
}

int run_command(const struct command *command, int argc, char **argv)
{
    struct ulp_error error = {0};
    void *options;
    int code = open_command(command, argc, argv, &options);
    if (code == ULP_OK)
        code = end_command(command->run(options, &error), &error);
    close_command(command, options);
    return code;
}

static void add_dim(void *options, char *text)
{
    struct common_options *common = options;
    const char *equals = strrchr(text, '=');
    int64_t value = 0;
    if (!equals || equals == text || !parse_integer(equals + 1, 0, INT64_MAX, &value))
        refuse("--dim %s: expected NAME=VALUE with a whole number, such as batch=2", text);
    common->dims = grow_arguments(common->dims, common->dim_count, sizeof *common->dims);
    common->dims[common->dim_count++] =
        (struct ulp_dim_value){copy_argument(text, (size_t)(equals - text)), value};
}

static void add_range(void *options, char *text)
{
    struct common_options *common = options;
    const char *equals = strrchr(text, '=');
    struct ulp_input_range range = {NULL, 0, 0};
    char *end;
    const char *first = equals ? equals + 1 : text;
    range.low = strtod(first, &end);
    bool good = end != first && *end == ',' && equals != text;
    const char *second = good ? end + 1 : text;
    range.high = strtod(second, &end);
    if (!good || end == second || *end || !isfinite(range.low) || !isfinite(range.high) ||
        range.low > range.high)
        refuse("--val-range %s: expected LOW,HIGH or NAME=LOW,HIGH with LOW <= HIGH, such as -1,1",
               text);
    range.name = equals ? copy_argument(text, (size_t)(equals - text)) : NULL;
    common->ranges = grow_arguments(common->ranges, common->range_count, sizeof *common->ranges);
    common->ranges[common->range_count++] = range;
}

static void add_shape(void *options, char *text)
{
    struct common_options *common = options;
    const char *equals = strrchr(text, '=');
    struct input_shape shape = {0};
    bool good = equals && equals != text;
    const char *at = good ? equals + 1 : "";
    if (good && strcmp(at, "scalar") == 0)
        at = "";
    while (good && *at) {
        char *end;
        errno = 0;
        const long long size = strtoll(at, &end, 10);
        good = shape.rank < ULP_RANK_MAX && *at >= '0' && *at <= '9' && errno == 0 &&
               (!*end || (*end == 'x' && end[1]));
        if (good)
            shape.dims[shape.rank++] = size;
        at = *end == 'x' ? end + 1 : end;
    }
    if (!good || !equals[1])
        refuse("--shape %s: expected NAME=SIZExSIZE..., such as tokens=1x77", text);
    shape.name = copy_argument(text, (size_t)(equals - text));
    for (size_t s = 0; s < common->shape_count; s++)
        if (strcmp(common->shapes[s].name, shape.name) == 0)
            refuse(
                "--shape %s: a run has one shape of each input; run the command for each of %s's",
                text, shape.name);
    common->shapes = grow_arguments(common->shapes, common->shape_count, sizeof *common->shapes);
    common->shapes[common->shape_count++] = shape;
}

static void read_accumulator(void *options, char *text)
{
    static const char key[] = "unknown=";
    struct ulp_engine_map_options *built = options;
    const char *value = strncmp(text, key, strlen(key)) == 0 ? text + strlen(key) : "";
    built->unknown_accumulator = *value == 'f' && strstr(value, "16") ? "fp16" : "fp32";
    if (strcmp(value, "f16") != 0 && strcmp(value, "fp16") != 0 && strcmp(value, "f32") != 0 &&
        strcmp(value, "fp32") != 0)
        refuse("--accumulate %s: expected unknown=fp16 or unknown=fp32", text);
}

/* ---- rows that several commands have ---- */

/* clang-format off */
#define PARSED struct common_options
const struct option_row common_rows[] = {
OPTION("inputs", 'i', "PATH", TEXTS(inputs, input_count) READ ALSO(0, "input") FRONT,
       "One sample of inputs: an .npz with one array for each input name (or arr_0, arr_1, ... in "
       "their order), an .npy (or several, or a folder with NAME.npy, for as many inputs), an ONNX test_data_set_N "
       "folder, a folder of such folders or files (or a .txt with a path on each line), or the .json of "
       "Polygraphy's --save-inputs. May be repeated for several samples. Without it: one random sample")
OPTION("dim", 0, "NAME=VALUE", OWN(add_dim) REPEATED EXCLUDES("inputs: its arrays have the dimensions"),
       "Size of a symbolic dimension in random inputs (default 1); may be repeated")
OPTION("shape", 0, "NAME=1x77", OWN(add_shape) REPEATED EXCLUDES("inputs: its arrays have the dimensions"),
       "Shape of input NAME in random inputs, even where the model declares another; may be repeated "
       "for other inputs")
OPTION("val-range", 0, "[NAME=]LOW,HIGH", OWN(add_range) REPEATED ALSO(0, "input-range"),
       "Range of random inputs, or of input NAME (default 0,1; for integers that index a table, the "
       "size of the table). May be repeated")
OPTION("seed", 0, "N", INTEGER(seed, 0, 0), "Seed of random inputs (default 0)")
OPTION("threads", 't', "N", INTEGER(threads, 1, 1024),
       "Number of threads (default: all processors). Results do not depend on it")
OPTION("max-memory", 0, "BYTES", BYTES(max_memory_bytes),
       "Stop with exit code 5 when the model, its inputs, the plan and the run together would need "
       "more; suffixes K, M and G are understood (default: 80 % of the memory that is free, 0: no "
       "limit). External weights are mapped and do not count")
OPTION("max-time", 0, "SECONDS", .kind = KIND_NONE,
       "End with exit code 6 when the command has taken so long; files are whole or not there")
OPTION("sandbox", 0, "try", .kind = KIND_NONE OPTIONAL,
       "Open no files but those that the command line names: to read, the inputs, and of a model its whole "
       "folder; to write, the folders of outputs. For models of strangers; needs Linux's Landlock "
       "(=try: go on where the kernel has none)")
OPTION("quiet", 'q', 0, FLAG(quiet), "Print no progress and no notes on stderr")
{0}};
#undef PARSED

#define PARSED struct keep_options
const struct option_row keep_rows[] = {
OPTION("keep", 0, "PATTERN=ARITH", TEXTS(rules, rule_count),
       "Compute the nodes that PATTERN names in ARITH, whatever --arith says. PATTERN is a node's name "
       "with * and ?; op:Softmax; #12 or #12-40 (indexes of the report); before:NAME; after:NAME; or "
       "between:A,B. May be repeated; of several that name a node the last applies")
OPTION("plan", 0, "FILE", TEXT(plan) READ,
       "Add an arithmetic from a JSON file: {\"arithmetic\": \"fp16\", \"keep\": [{\"nodes\": PATTERN, "
       "\"arithmetic\": \"fp32\"}]}. Without --arith it is the only one")
{0}};
#undef PARSED

#define PARSED struct score_options
const struct option_row score_rows[] = {
OPTION("metric", 0, "COMMAND", TEXT(metric),
       "Also judge by your own figure: COMMAND is run by sh for the outputs of each sample, {outputs} in it being an .npz of them by "
       "name, as 'python score.py {outputs}', and prints one number, larger being better. Not in --sandbox, nor for agents")
OPTION("metric-loss", 0, "X", NUMBER(loss, 0, 1e300) NEEDS("metric: it says how much less is allowed"),
       "How much less than the reference's it may be in every sample (default 0)")
{0}};
#undef PARSED

#define PARSED struct ulp_engine_map_options
const struct option_row built_rows[] = {
OPTION("accumulate", 'A', "unknown=fp16|unknown=fp32", OWN(read_accumulator)
       NEEDS("engine: it says how what is not told is computed"),
       "What kernels whose names do not tell are taken to add FP16 products in: unknown=fp16 or "
       "unknown=fp32 (default)")
OPTION("gpu", 'G', "GPU", TEXT(gpu) NEEDS("engine: it says whose matrix unit that ran on"),
       "Whose matrix unit is emulated for an engine (default: by the newest architecture that one of "
       "its kernels is named after)")
{0}};
#undef PARSED

/* The member is all that the row is of. */
#define ALONE_IN(kind_, type, value_) .kind = kind_, .bytes = sizeof(type), .least = value_

const struct option_row memory_rows[] = {
OPTION("max-memory", 0, "BYTES", ALONE_IN(KIND_BYTES, size_t, 0) DEFAULT("4G"),
       "Stop with exit code 5 when what is read and made would need more; suffixes K, M and G are understood "
       "(default 4G, 0: no limit)")
{0}};

const struct option_row judge_rows[] = {
OPTION("allow-nonfinite-inputs", 0, 0, ALONE_IN(KIND_SET, bool, 1),
       "NaN and infinities in the inputs are intended, and are no reason for exit code 1")
{0}};

const struct option_row json_rows[] = {
OPTION("json", 0, "FILE", OWN(take_json) WRITTEN FRONT,
       "Write the result as JSON; -: to standard output, which has nothing else then, the text being on stderr")
OPTION("markdown", 0, "FILE", OWN(take_markdown) WRITTEN,
       "Write what it says as Markdown, for a comment on a pull request; -: to standard output")
{0}};

const struct option_row help_rows[] = {
OPTION("help", 'h', "all", .kind = KIND_HELP OPTIONAL ALSO('?', NULL) FRONT,
       "Print the options that are most used, and examples; =all: all of them")
{0}};
/* clang-format on */

enum ulp_status check_limit(const char *text, struct ulp_error *error)
{
    return ulp_limit_check(text, NULL, NULL, error);
}

enum ulp_status check_target(const char *text, struct ulp_error *error)
{
    return ulp_target_find(text) ? ULP_OK : ulp_target_refuse(text, error);
}

enum ulp_status find_target(const char *name, const struct ulp_model *model,
                            struct ulp_arithmetic *out, struct ulp_error *error)
{
    char judged[ULP_JUDGED_IN_BYTES];
    struct ulp_target_name named;
    if (!name)
        return ULP_OK;
    ULP_TRY(ulp_judged_in(model, name, NULL, judged, out, error));
    return ulp_target_read(name, &named) && ulp_target_leaves_floats(named.target) &&
                   !out->types_declared
               ? ulp_target_floats(&named, out, error)
               : ULP_OK;
}

int fail(const struct ulp_error *error)
{
    char limit[120] = "";
    if (error->status == ULP_ERROR_MEMORY && default_limit &&
        strstr(error->message, "--max-memory"))
        snprintf(limit, sizeof limit,
                 "; without that option it is 80 %% of the free memory, %.1f GiB, and 0 is none",
                 (double)default_limit / 0x1p30);
    fputs("ulpscope: ", stderr);
    fputs(error->message, stderr);
    fputs(limit, stderr);
    if (error->status == ULP_ERROR_INPUT && *random_open_dims())
        say(stderr, "; open sizes, set with --dim, --shape or --inputs:%s", random_open_dims() + 1);
    fputs("\n", stderr);
    return (int)error->status;
}

int end_command(enum ulp_status status, const struct ulp_error *error)
{
    return status != ULP_OK && *error->message ? fail(error) : (int)status;
}

int fail_memory(void)
{
    fputs("ulpscope: out of memory\n", stderr);
    return ULP_ERROR_MEMORY;
}

/* Open MPI gives its processes a terminal of its own, of 80 columns, wherever its output goes. */
static bool is_terminal(int descriptor)
{
    return isatty(descriptor) && !getenv("OMPI_COMM_WORLD_SIZE");
}

bool use_colour(int descriptor)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return is_terminal(descriptor) && !(no_colour && *no_colour) && term &&
           strcmp(term, "dumb") != 0;
}

int terminal_width(int descriptor)
{
    struct winsize size;
    const char *asked = getenv("COLUMNS");
    const int columns = asked ? atoi(asked) : 0;
    if (columns > 0)
        return columns < 60 ? 60 : columns;
    if (!is_terminal(descriptor))
        return 0;
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 100;
    return size.ws_col < 60 ? 60 : size.ws_col;
}

/* The longest run of comma-separated words from `text` that is one arithmetic's name: a BASE, then
 * PARTs. */
static size_t find_name_end(const char *text, struct ulp_arithmetic *arithmetic)
{
    size_t best = 0;
    for (size_t end = strcspn(text, ",");; end += 1 + strcspn(text + end + 1, ",")) {
        char name[1024]; /* more than all parts together take */
        struct ulp_error ignored;
        struct ulp_arithmetic found;
        snprintf(name, sizeof name, "%.*s", (int)end, text);
        if (end < sizeof name && ulp_arithmetic_find(name, &found, &ignored) == ULP_OK) {
            best = end;
            *arithmetic = found;
        }
        if (!text[end])
            return best;
    }
}

/* Why the first word of the list is no arithmetic; one with '=' was meant as a part of the
 * arithmetic before it. */
static enum ulp_status explain_word(const struct ulp_arithmetic *before, const char *list,
                                    struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
    struct ulp_arithmetic ignored;
    int length = (int)strcspn(list, ",");
    bool part = before && memchr(list, '=', (size_t)length);
    ulp_text_add(&name, "%s%s%.*s", part ? before->name : "", part ? "," : "", length, list);
    ULP_TRY(name.failed ? out_of_memory(error) : ulp_arithmetic_find(name.data, &ignored, error));
    return ulp_fail(error, ULP_ERROR_USAGE, "'%s' is not a list of arithmetics", list);
}

enum ulp_status parse_arithmetics(const char *list, struct ulp_arithmetic **out, size_t *count,
                                  struct ulp_error *error)
{
    *out = NULL;
    *count = 0;
    while (*list) {
        struct ulp_arithmetic arithmetic;
        size_t length = find_name_end(list, &arithmetic);
        enum ulp_status status =
            length ? ULP_OK : explain_word(*count ? &(*out)[*count - 1] : NULL, list, error);
        for (size_t i = 0; i < *count && status == ULP_OK; i++)
            if (strcmp((*out)[i].name, arithmetic.name) == 0 &&
                arithmetic.fuse != ULP_FUSE_GROUPS &&
                !arithmetic.scales_static) /* of several files */
                status = ulp_fail(error, ULP_ERROR_USAGE, "arithmetic %s is listed twice",
                                  arithmetic.name);
        if (status != ULP_OK) {
            free(*out);
            *out = NULL;
            return status;
        }
        struct ulp_arithmetic *grown = realloc(*out, (*count + 1) * sizeof *grown);
        if (!grown) {
            free(*out);
            *out = NULL;
            return out_of_memory(error);
        }
        *out = grown;
        grown[(*count)++] = arithmetic;
        list += length + (list[length] == ',');
    }
    return *count ? ULP_OK
                  : ulp_fail(error, ULP_ERROR_USAGE,
                             "no arithmetic was given: try fp16,tf32 (ulpscope list arithmetics)");
}
