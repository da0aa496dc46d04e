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

enum {
    OPTION_DIM = 256,
    OPTION_RANGE,
    OPTION_SEED,
    OPTION_MEMORY,
    OPTION_SHAPE,
    OPTION_TIME,
    OPTION_SANDBOX,
    OPTION_INPUT
};

/* clang-format off */
static const struct argp_option options[] = {
    {"inputs", 'i', "PATH", OPTION_READS,
     "One sample of inputs: an .npz with one array for each input name (or arr_0, arr_1, ... in "
     "their order), an .npy (or several, or a folder with NAME.npy, for as many inputs), an ONNX test_data_set_N "
     "folder, a folder of such folders or files, a .txt with a path on each line, or the .json of "
     "Polygraphy's --save-inputs. May be repeated for several samples. Without it: one random sample",
     1},
    {"input", OPTION_INPUT, 0, OPTION_ALIAS, 0, 1},
    {"dim", OPTION_DIM, "NAME=VALUE", 0,
     "Size of a symbolic dimension in random inputs (default 1); may be repeated", 1},
    {"shape", OPTION_SHAPE, "NAME=1x77", 0,
     "Shape of input NAME in random inputs, even where the model declares another. Repeated for one "
     "NAME, audit runs every shape separately and names the worst", 1},
    {"val-range", OPTION_RANGE, "[NAME=]LOW,HIGH", 0,
     "Range of random inputs, or of input NAME (default 0,1; for integers that index a table, the "
     "size of the table). May be repeated", 1},
    {"input-range", OPTION_RANGE, 0, OPTION_ALIAS, 0, 1},
    {"seed", OPTION_SEED, "N", 0, "Seed of random inputs (default 0)", 1},
    {"threads", 't', "N", 0, "Number of threads (default: all processors). Results do not depend on it", 2},
    {"max-memory", OPTION_MEMORY, "BYTES", 0,
     "Stop with exit code 5 when the model, its inputs, the plan and the run together would need "
     "more; suffixes K, M and G are understood (default: 80 % of the memory that is free, 0: no "
     "limit). External weights are mapped and do not count",
     2},
    {"max-time", OPTION_TIME, "SECONDS", 0,
     "End with exit code 6 when the command has taken so long; files are whole or not there", 2},
    {"sandbox", OPTION_SANDBOX, "try", OPTION_ARG_OPTIONAL,
     "Open no files but those that the command line names: to read, the inputs, and of a model its whole "
     "folder; to write, the folders of outputs. For models of strangers; needs Linux's Landlock "
     "(=try: go on where the kernel has none)", 2},
    {"quiet", 'q', 0, 0, "Print no progress and no notes on stderr", 2},
    {0},
};
/* clang-format on */

void common_free(struct common_options *common)
{
    for (size_t i = 0; i < common->dim_count; i++)
        free((void *)(uintptr_t)common->dims[i].name); /* add_dim's copies */
    for (size_t i = 0; i < common->range_count; i++)
        free((void *)(uintptr_t)common->ranges[i].name); /* set_range's copies */
    for (size_t i = 0; i < common->shape_count; i++)
        free(common->shapes[i].name);
    free(common->ranges);
    free(common->shapes);
    free(common->arithmetics);
    free(common->inputs);
    free(common->dims);
    ulp_budget_free(common->budget);
}

/* A value that is empty is a variable of a shell that is not set, and would be no value in
 * silence: no option and no path has an empty one. */
static void refuse_empty(const struct argp *argp, int argc, char **argv)
{
    struct argp_state state = {.root_argp = argp, .name = argv[0], .err_stream = stderr};
    bool are_options = true;
    for (int a = 1; a < argc; a++) {
        const size_t length = strlen(argv[a]);
        const bool is_long = are_options && strncmp(argv[a], "--", 2) == 0;
        if (is_long && length > 3 && strchr(argv[a], '=') == argv[a] + length - 1)
            refuse(&state, "%s: the value is empty", argv[a]);
        if (!length && are_options && argv[a - 1][0] == '-' && argv[a - 1][1])
            refuse(&state, "%s: the value is empty", argv[a - 1]);
        if (!length)
            refuse(&state, "an argument is empty: a path was expected");
        are_options &= strcmp(argv[a], "--") != 0;
    }
}

/* argp itself ends the program for anything but lack of memory, as describe_options does. */
static int parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *first,
                 void *input)
{
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        describe_options(argp, argv[0]);
        exit(ULP_OK);
    }
    refuse_empty(argp, argc, argv);
    refuse_unknown(argp, argc, argv);
    if (argp_parse(argp, argc, argv, flags, first, input) != 0)
        return fail_memory();
    int code = enter_paths(argp, argc, argv);
    if (code == ULP_OK)
        code = sandbox_enter(argp, argc, argv);
    return code == ULP_OK ? begin_json() : code;
}

int parse_arguments(const struct argp *argp, int argc, char **argv, void *input)
{
    return parse(argp, argc, argv, 0, NULL, input);
}

int parse_words(const struct argp *argp, int argc, char **argv, int *first, void *input)
{
    return parse(argp, argc, argv, ARGP_IN_ORDER, first, input);
}

/* Of the memory that is free when the command starts. */
#define SHARE_OF_FREE 0.8

/* The limit that was not given, for messages; 0: it was. */
static size_t default_limit;

static void choose_limit(struct common_options *common)
{
    if (common->has_memory)
        return;
    default_limit = (size_t)(SHARE_OF_FREE * (double)ulp_memory_available());
    common->max_memory_bytes = default_limit;
}

int parse_model_arguments(const struct argp *argp, int argc, char **argv, void *input,
                          struct common_options *common)
{
    struct ulp_error error;
    int code = parse_arguments(argp, argc, argv, input);
    choose_limit(common);
    if (code == ULP_OK &&
        ulp_budget_create(common->max_memory_bytes, &common->budget, &error) != ULP_OK)
        code = fail(&error);
    return code;
}

int run_command(const struct argp *argp, int argc, char **argv, void *input,
                struct common_options *common, use_options *use)
{
    struct ulp_error error = {0};
    int code = common ? parse_model_arguments(argp, argc, argv, input, common)
                      : parse_arguments(argp, argc, argv, input);
    if (code == ULP_OK)
        code = end_command(use(input, &error), &error);
    if (common)
        common_free(common);
    return code;
}

bool parse_integer(const char *text, int64_t low, int64_t high, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *out = value;
    return errno == 0 && end != text && *end == '\0' && value >= low && value <= high;
}

size_t read_count(const struct argp_state *state, const char *option, const char *text,
                  int64_t least)
{
    int64_t count = 0;
    if (!parse_integer(text, least, 10000, &count))
        refuse(state, "%s %s: expected %lld to 10000", option, text, (long long)least);
    return (size_t)count;
}

int read_integer(const struct argp_state *state, const char *option, const char *text, int low,
                 int high)
{
    int64_t value = low;
    if (!parse_integer(text, low, high, &value))
        refuse(state, "%s %s: expected %d to %d", option, text, low, high);
    return (int)value;
}

double read_share(const struct argp_state *state, const char *option, const char *text)
{
    const double share = read_number(state, option, text, 0, 1);
    if (!(share > 0 && share < 1))
        refuse(state, "%s %s: expected a share above 0 and below 1, as 0.99", option, text);
    return share;
}

int read_choice(const struct argp_state *state, const char *option, const char *text,
                const char *words)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text list = {0};
    int index = 0;
    for (const char *word = words, *next; word; word = next, index++) {
        const size_t length = strcspn(word, "|");
        next = word[length] ? word + length + 1 : NULL;
        if (strlen(text) == length && strncmp(text, word, length) == 0)
            return index;
        ulp_text_add(&list, "%s%.*s", !index ? "" : next ? ", " : " or ", (int)length, word);
    }
    refuse(state, "%s %s: expected %s", option, text, list.data ? list.data : words);
    return index;
}

void *grow_arguments(const struct argp_state *state, void *array, size_t count,
                     size_t element_bytes)
{
    void *grown = realloc(array, (count + 1) * element_bytes);
    if (!grown)
        refuse_memory(state);
    return grown;
}

void add_argument(const struct argp_state *state, char ***list, size_t *count, char *argument)
{
    *list = grow_arguments(state, *list, *count, sizeof **list);
    (*list)[(*count)++] = argument;
}

/* The NAME of an option's NAME=VALUE. */
static char *copy_name(const struct argp_state *state, const char *text, size_t length)
{
    char *name = strndup(text, length);
    if (!name)
        refuse_memory(state);
    return name;
}

static void add_dim(struct argp_state *state, struct common_options *common, const char *text)
{
    const char *equals = strrchr(text, '=');
    int64_t value = 0;
    if (!equals || equals == text || !parse_integer(equals + 1, 0, INT64_MAX, &value))
        refuse(state, "--dim %s: expected NAME=VALUE with a whole number, such as batch=2", text);
    common->dims = grow_arguments(state, common->dims, common->dim_count, sizeof *common->dims);
    common->dims[common->dim_count++] =
        (struct ulp_dim_value){copy_name(state, text, (size_t)(equals - text)), value};
}

static void add_range(struct argp_state *state, struct common_options *common, const char *text)
{
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
        refuse(state,
               "--val-range %s: expected LOW,HIGH or NAME=LOW,HIGH with LOW <= HIGH, such as -1,1",
               text);
    range.name = equals ? copy_name(state, text, (size_t)(equals - text)) : NULL;
    common->ranges =
        grow_arguments(state, common->ranges, common->range_count, sizeof *common->ranges);
    common->ranges[common->range_count++] = range;
}

static void add_shape(struct argp_state *state, struct common_options *common, const char *text)
{
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
        refuse(state, "--shape %s: expected NAME=SIZExSIZE..., such as tokens=1x77", text);
    shape.name = copy_name(state, text, (size_t)(equals - text));
    common->shapes =
        grow_arguments(state, common->shapes, common->shape_count, sizeof *common->shapes);
    common->shapes[common->shape_count++] = shape;
}

/* What --inputs *.npz leaves behind its first. */
static bool is_sample_name(const char *name)
{
    static const char *const ends[] = {".npz", ".npy", ".json", ".pb"};
    bool is = strncmp(name, "test_data_set_", 14) == 0 || strstr(name, "/test_data_set_");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is |= ulp_text_ends(name, ends[i]);
    return is;
}

static error_t parse_common_option(int key, char *argument, struct argp_state *state)
{
    struct common_options *common = state->input;
    int64_t value = 0;
    switch (key) {
    case OPTION_INPUT:
    case 'i': add_argument(state, &common->inputs, &common->input_count, argument); return 0;
    case OPTION_DIM: add_dim(state, common, argument); return 0;
    case OPTION_SHAPE: add_shape(state, common, argument); return 0;
    case OPTION_RANGE: add_range(state, common, argument); return 0;
    case OPTION_SEED:
        if (!parse_integer(argument, 0, INT64_MAX, &value))
            refuse(state, "--seed %s: expected a whole number", argument);
        common->seed = (uint64_t)value;
        return 0;
    case 't':
        if (!parse_integer(argument, 1, 1024, &value))
            refuse(state, "--threads %s: expected 1 to 1024", argument);
        common->threads = (int)value;
        return 0;
    case OPTION_MEMORY:
        common->has_memory = true;
        common->max_memory_bytes = read_memory(state, argument);
        return 0;
    case 'q': common->quiet = true; return 0;
    case ARGP_KEY_ARG:
        if (common->model && is_sample_name(argument))
            refuse(
                state,
                "'%s' is no model: give --inputs before each sample, or once a folder of them or "
                "a .txt that lists them",
                argument);
        if (common->model)
            refuse(state, "one model at a time: '%s' is a second", argument);
        common->model = argument;
        return 0;
    case ARGP_KEY_END:
        if (!common->model)
            refuse(state, "which model? Give the path of an .onnx file");
        if ((common->dim_count || common->shape_count) && common->input_count)
            refuse(state, "%s is for random inputs; with --inputs the arrays have the dimensions",
                   common->dim_count ? "--dim" : "--shape");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const char *add_arithmetics(struct argp_state *state, struct common_options *common,
                            const char *argument)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s%s%s", common->arithmetics ? common->arithmetics : "",
                 common->arithmetics ? "," : "", argument);
    if (text.failed)
        refuse_memory(state);
    free(common->arithmetics);
    return common->arithmetics = text.data;
}

const struct argp common_argp = {.options = options, .parser = parse_common_option};

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

double read_number(const struct argp_state *state, const char *option, const char *text, double low,
                   double high)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= low && value <= high))
        refuse(state, "%s %s: expected a number from %g to %g", option, text, low, high);
    return value;
}
