/* Options that several commands have, and what is made of them: lanes, samples, shapes, files. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <ulpscope.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/option/row.h"
#include "graph/scoped.h"

/* For what the program itself lacked memory; the library's ulp_out_of_memory names its budget, too.
 */
static inline enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
}
static inline enum ulp_status taken(bool there, struct ulp_error *error)
{
    return there ? ULP_OK : out_of_memory(error);
}

ULP_FREES(ulp_budget_free, struct ulp_budget)
ULP_FREES(ulp_saved_free, struct ulp_saved)
/* --shape NAME=1x77. */
struct input_shape {
    char *name;
    int rank;
    int64_t dims[ULP_RANK_MAX];
};

/* Options of every command that runs a model. */
struct common_options {
    const char *model;
    char **inputs; /* --inputs, in order */
    size_t input_count;
    struct ulp_dim_value *dims;
    size_t dim_count;
    struct ulp_input_range *ranges; /* --val-range */
    size_t range_count;
    struct input_shape *shapes; /* --shape, in order */
    size_t shape_count;
    uint64_t seed;
    int threads;
    size_t max_memory_bytes;   /* 0: no limit */
    struct ulp_budget *budget; /* of that limit */
    bool quiet;
    bool allow_nonfinite_inputs; /* of commands that judge (judge_rows) */
    int argc;                    /* the command line, for --merge */
    char **argv;
};
/* The whole of a command: its arguments, then what it does. Returns an exit code: the status; usage
 * errors do not return. */
int run_command(const struct command *command, int argc, char **argv);
/* Its beginning: the options, *out, are parsed, and closed also after a failure; those of a command
 * that runs a model have a budget. */
int open_command(const struct command *command, int argc, char **argv, void **out);
void close_command(const struct command *command, void *options);
/* What it is made of: the arguments are parsed and checked (option_parse.c), and what their rows
 * own of the options is freed. */
int parse_command(const struct command *command, int argc, char **argv, void *options);
void free_options(const struct command *command, void *options);
/* One option's value, of the struct that its row is of (option_store.c). */
void store_option(const struct option_row *row, void *options, char *text);
void free_option(const struct option_row *row, void *options);
/* Of the command line that was parsed last: its command, and whether it has an option. */
const char *command_in_use(void);
bool is_option_given(const char *name);
/* A command's option or word of that name; NULL: it has none. */
const struct option_row *find_option(const struct command *command, const char *name,
                                     size_t length);
/* "--inputs", or "MODEL.onnx". */
const char *say_option(const struct option_row *row, char out[80]);
/* What a command judges, and has said: ULP_ERROR_LIMIT without a message where it does not hold. */
static inline enum ulp_status judge(bool holds, struct ulp_error *error)
{
    return holds ? ULP_OK : ulp_fail(error, ULP_ERROR_LIMIT, "%s", "");
}

/* The arguments one after another; the value is NULL where it names no file although the row may.
 * Ends where `use` is false. */
typedef bool use_argument(void *context, const struct option_row *row, const char *value);
void visit_arguments(use_argument *use, void *context);

/* outputs.c: what a command line reads and what it writes, by these marks. Refused before anything
 * is read or written: an output that is one of the files that are read, by whatever name, or a
 * symbolic link, or the file of another output; and one in no folder. Of a second command line
 * (sandbox_wait) what is read is added. Returns an exit code. */
int enter_paths(void);
/* The folder without slashes at its end, which paths in it are made of. */
char *as_folder(char *argument);
/* The names of those that the command line writes into the folder of that option, separated by
 * spaces; "": none. */
const char *files_written(const char *option);
/* ulp_model_load for a command, which writes to none of the files that hold the model's data. */
enum ulp_status load_model(const char *path, struct ulp_budget *budget, struct ulp_model **out,
                           struct ulp_error *error);

/* What --help prints, as wide as the terminal, at most 100 columns: the options at the front, or
 * all. */
void print_options(const struct command *command, bool all);
/* The first sentence of what an option does, without what stands in parentheses but a default. */
void shorten_help(struct ulp_text *out, const char *text);
/* The words behind a command, "MODEL.onnx RECORDING...". */
const char *list_words(const struct command *command, char *out, size_t size);

/* What manual pages and completions are made of (src/cli/manual/read.awk): the options of a
 * command, which `ulpscope COMMAND --describe` prints, and the values that options take. Neither is
 * an option of its own, and --help does not show it. */
void describe_options(const struct command *command);
void describe_values(void);
/* One field of such a line: a tab, and the text on one line. NULL: empty. */
void describe_field(const char *text);

void common_free(struct common_options *options);

/* The array, which has count elements, with room for one more, or a copy of a text; without memory
 * the command ends. */
void *grow_arguments(void *array, size_t count, size_t element_bytes);
char *copy_argument(const char *text, size_t length);
/* A line on stderr, text arguments made harmless, and the end: wrong usage. */
_Noreturn void refuse(const char *format, ...) ULP_PRINTF(1, 2);
_Noreturn void refuse_memory(void);
/* Of rows with CHECKED: a limit as of --fail-above, a target that "@GPU" may follow. */
enum ulp_status check_limit(const char *text, struct ulp_error *error);
enum ulp_status check_target(const char *text, struct ulp_error *error);
/* What the model is computed in there as it is: of FP32 or TF32 where nobody converts it. name
 * NULL: *out stays. */
enum ulp_status find_target(const char *name, const struct ulp_model *model,
                            struct ulp_arithmetic *out, struct ulp_error *error);
enum ulp_status check_memory(const char *text, struct ulp_error *error);
/* The limit of a budget of which 0 is none: one without a limit reads less. */
static inline size_t report_memory(size_t bytes)
{
    return bytes ? bytes : SIZE_MAX;
}
/* For --for's help; the test of the program's help holds it to the table. */
#define TARGET_NAMES                                                                             \
    "ort, trt8, trt10, trt11 (trt: the newest), trt-rtx, torch, torch-compile, ort-cuda, "       \
    "ort-webgpu, ort-dml, openvino-cpu, openvino-gpu, coreml-ane, coreml-gpu, ort-coreml, qnn, " \
    "rknn, tflite"
/* A whole number from low to high, and nothing else, in text. */
bool parse_integer(const char *text, int64_t low, int64_t high, int64_t *out);
/* "A,B,C" into arithmetics. A comma starts a new arithmetic when what follows is not a part:
 * "fp16,round=sr,fp32" is two. */
enum ulp_status parse_arithmetics(const char *list, struct ulp_arithmetic **out, size_t *count,
                                  struct ulp_error *error);

/* Words of options that several commands have. */
#define TARGET_AS_IS_TEXT                                                               \
    "Instead of --arith: what a target computes the model in as it is, as trt, torch, " \
    "ort-cuda or another of ulpscope list targets (" TARGET_NAMES "; @GPU may follow; " \
    "ulpscope list NAME explains it)"
#define HTML_TEXT \
    "Write the result as one HTML file, to look at and to hand on; it needs no network"
#define TASK_WORDS \
    "none|classify|score|text|detect|segment|embed|signal|tokens" /* by enum ulp_task */
#define TASK_TEXT                                                                                 \
    "What the outputs are for, which says what is fine, borderline and broken "                   \
    "(doc/verdicts.md); of integers signal alone is heard: they are numbers; none: no error of "  \
    "floats is judged, and all is fine that is finite. Default: each is recognised, by its name " \
    "or last operator; where neither says it, decibels decide (signal)"
#define REFERENCE_TEXT "The arithmetic that serves as the truth (default pair)"

/* Rows that several commands have (common.c): of struct common_options, struct keep_options and
 * struct ulp_engine_map_options; of a size_t and a bool; of nothing. */
extern const struct option_row common_rows[], keep_rows[], built_rows[], memory_rows[],
    judge_rows[], json_rows[], help_rows[];
/* Where they stand among a command's groups. */
#define COMMON_GROUP                          \
    {                                         \
        "Inputs and running:", common_rows, 0 \
    }
#define KEEP_GROUP                                                       \
    {                                                                    \
        "Nodes in other arithmetics:", keep_rows, offsetof(PARSED, keep) \
    }
#define JUDGE_GROUP                                                       \
    {                                                                     \
        NULL, judge_rows, offsetof(PARSED, common.allow_nonfinite_inputs) \
    }
#define MEMORY_GROUP                                          \
    {                                                         \
        NULL, memory_rows, offsetof(PARSED, max_memory_bytes) \
    }
#define JSON_GROUP         \
    {                      \
        NULL, json_rows, 0 \
    }
#define HELP_GROUP         \
    {                      \
        NULL, help_rows, 0 \
    }

/* --keep and --plan. */
struct keep_options {
    char **rules; /* "PATTERN=ARITH", in order */
    size_t rule_count;
    const char *plan;
};

/* --metric and --metric-loss: what a user's command says of outputs. */
struct score_options {
    const char *metric; /* NULL: not given */
    double loss;
};
extern const struct option_row score_rows[];
#define SCORE_GROUP                               \
    {                                             \
        NULL, score_rows, offsetof(PARSED, score) \
    }
/* Refuses a command that cannot be run. */
struct ulp_scorer make_scorer(const struct score_options *options);
/* A line for each arithmetic; those of which a sample loses more than is allowed are judged. */
enum ulp_status say_scores(const struct score_options *options, const struct ulp_audit *audit,
                           struct ulp_error *error);

/* --json and --markdown, of every command that has a result: the file that the library is to write,
 * or NULL; of two command lines the first says it. "-" is standard output, which names no file:
 * there the text goes to stderr from begin_json on, and end_json returns the exit code of a command
 * that is over, its files written. */
void take_json(void *options, char *text);
void take_markdown(void *options, char *text);
const char *json_file(void);
const char *markdown_file(void);
int begin_json(void);
int end_json(int code);

/* A line for each crossing; whether there are any is judged. */
enum ulp_status say_crossings(FILE *stream, const struct ulp_audit *audit, struct ulp_error *error);
/* Inputs that are not finite are meant: they do not keep a result from being judged. */
void forget_meant(struct ulp_unjudged_list *list);
/* A line for each thing that a result says nothing of; whether it says all. */
bool say_unjudged(FILE *stream, const char *before, const struct ulp_unjudged_list *list);
/* The lanes of a plan, with room for one more. The first is the reference's, which the caller fills
 * in, or leaves out. */
struct lane_list {
    size_t count;
    struct ulp_arithmetic *arithmetics;
    struct ulp_keeps *keeps;
    const char **names;        /* by lane; NULL: by what it is */
    struct ulp_groups *groups; /* of lanes with fuse=FILE */
    /* what those are made of */
    struct ulp_group_list *files;  /* by lane */
    struct ulp_range_list *ranges; /* of scales=FILE, by lane */
    struct ulp_keeps rules;
    struct ulp_keep *rule_items, *joined;
    char *joined_name;
    struct ulp_precision_plan plan;
};
/* list: that of --arith, whose names may have fuse=FILE and scales=FILE, FILE with a dot or a
 * slash; NULL: it was not given, `fallback` without --plan. */
enum ulp_status make_lanes(const char *list, const char *fallback, const struct keep_options *keep,
                           struct ulp_budget *budget, struct lane_list *out,
                           struct ulp_error *error);
/* One arithmetic as its name is parsed, *plain, for free(), and the file of scales=FILE in it, if
 * there is one. */
enum ulp_status read_ranges(const char *arithmetic, struct ulp_budget *budget, char **plain,
                            struct ulp_range_list *out, struct ulp_error *error);
void free_lanes(struct lane_list *lanes);
/* To be freed before the lanes. */
struct ulp_programs lane_plans(const struct lane_list *lanes, const struct ulp_model *model);

/* One input sample. */
struct sample {
    char *name;
    char *path; /* of its file or folder, which holds nothing else; NULL: it is none of its own */
    struct ulp_tensor_set inputs;
    uint64_t fingerprint; /* of the inputs */
    bool loaded;
};
struct sample_list {
    struct sample *items;
    size_t count;
    bool random;           /* made, not read */
    struct ulp_text notes; /* what the first's arrays were taken for, a line for each note */
};
/* Prepare the folder of results (NULL: none), and load the model with the shapes of --shape. It
 * gets what the command line says of its inputs, too (ulp_model_set_arguments). */
enum ulp_status load_with_shapes(const struct common_options *options, const char *folder,
                                 struct ulp_model **model, struct ulp_error *error);
/* The argument of an option, a number of [low, high]; anything else is refused. */
double read_number(const char *option, const char *text, double low, double high);
/* "; x[0] batch = 1" of the random sample: what a failure may come from; empty: nothing was open.
 */
const char *random_open_dims(void);
/* One more sample, which owns the inputs then; path: NULL, or of its own file. */
enum ulp_status add_sample(struct sample_list *list, const char *name, const char *path,
                           struct ulp_tensor_set *inputs, struct ulp_error *error);
enum ulp_status make_random_sample(const struct ulp_model *model,
                                   const struct common_options *options, struct sample_list *list,
                                   struct ulp_error *error);
/* Read every --inputs (npz files, test_data_set folders, folders of either, or lists of such), or
 * make one random sample when there are none. All have the same shapes, unless any_shapes. */
enum ulp_status read_samples(const struct ulp_model *model, const struct common_options *options,
                             bool any_shapes, struct sample_list *out, struct ulp_error *error);
/* The same, of any shapes and one after the other: all are read and checked (`check`; without it
 * the first is), but only the first, and those that share a file, stay loaded. */
enum ulp_status open_samples(const struct ulp_model *model, const struct common_options *options,
                             bool check, struct sample_list *out, struct ulp_error *error);
/* ulp_recording_read, and recorded outputs without names under those of the model. */
enum ulp_status read_recording(const struct ulp_model *model, const struct common_options *options,
                               const char *path, struct ulp_recording_list *list,
                               struct ulp_error *error);
/* Have it loaded, until it is dropped. */
enum ulp_status load_sample(const struct ulp_model *model, struct sample *sample,
                            struct ulp_error *error);
void drop_sample(struct sample *sample);
/* The lines of a file, each a path, from the file's own folder where it is relative. Empty lines
 * and those that begin with '#' are left out. */
typedef enum ulp_status use_path(void *context, const char *path, struct ulp_error *error);
enum ulp_status visit_list(const char *list, use_path *use, void *context, struct ulp_error *error);
void free_samples(struct sample_list *samples);
/* As the library takes them: all are loaded. NULL: no memory. */
struct ulp_sample *list_samples(const struct sample_list *samples);
