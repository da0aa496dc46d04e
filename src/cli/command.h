/* What the commands share: options, samples, progress, messages. Commands print; the library does
 * not. */
#ifndef ULP_CLI_COMMAND_H
#define ULP_CLI_COMMAND_H

#include <argp.h>
#include <stdio.h>
#include <ulpscope.h>

/* Each takes its own argv (argv[0] is "ulpscope COMMAND") and returns the exit code. */
int command_audit(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_run(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_conformance(int argc, char **argv);
int command_ops(int argc, char **argv);
int command_arith(int argc, char **argv);
int command_mma(int argc, char **argv);

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
    char *arithmetics; /* every --arith so far, separated by commas */
};
/* A child parser for the command's argp; its input is a struct common_options set up by
 * common_init. */
extern const struct argp common_argp;
void common_init(struct common_options *options);
/* Parse the arguments of such a command into its options, of which *common is a part, and make the
 * budget. Returns an exit code; usage errors do not return. */
int parse_model_arguments(const struct argp *argp, int argc, char **argv, void *input,
                          struct common_options *common);
/* The same for any other command. */
int parse_arguments(const struct argp *argp, int argc, char **argv, void *input);

void common_free(struct common_options *options);

/* As fprintf; text arguments are made harmless (base/shown.h). Commands print with this, and text
 * of the library's, which is harmless already, with fputs. */
void say(FILE *stream, const char *format, ...) ULP_PRINTF(2, 3);
/* At the start: all three streams are open, and when output is lost the program ends with
 * ULP_ERROR_INPUT and says so, however it ends. */
void open_streams(void);
/* As argp_error, text arguments made harmless. */
void refuse(const struct argp_state *state, const char *format, ...) ULP_PRINTF(2, 3);
/* One more --arith; all so far. */
const char *add_arithmetics(struct argp_state *state, struct common_options *common,
                            const char *argument);

/* Print "ulpscope: message" to stderr and return the status as exit code. */
int fail(const struct ulp_error *error);
/* Out of memory in the program itself. */
int fail_memory(void);

/* A whole number from low to high, and nothing else, in text. */
bool parse_integer(const char *text, int64_t low, int64_t high, int64_t *out);
/* "A,B,C" into arithmetics. A comma starts a new arithmetic when what follows is not a part:
 * "fp16,round=sr,fp32" is two. */
enum ulp_status parse_arithmetics(const char *list, struct ulp_arithmetic **out, size_t *count,
                                  struct ulp_error *error);

/* --keep and --plan, a child parser of commands that run a model. */
struct keep_options {
    char **rules; /* "PATTERN=ARITH", in order */
    size_t rule_count;
    const char *plan;
};
extern const struct argp keep_argp;

/* The lanes of a plan. The first is the reference's, which the caller fills in, or leaves out. */
struct lane_list {
    size_t count;
    struct ulp_arithmetic *arithmetics;
    struct ulp_keeps *keeps;
    /* what those are made of */
    struct ulp_keeps rules;
    struct ulp_keep *rule_items, *joined;
    char *joined_name;
    struct ulp_precision_plan plan;
};
/* list: that of --arith; NULL: it was not given, `fallback` without --plan. */
enum ulp_status make_lanes(const char *list, const char *fallback, const struct keep_options *keep,
                           struct ulp_budget *budget, struct lane_list *out,
                           struct ulp_error *error);
void free_lanes(struct lane_list *lanes);

/* One input sample. */
struct sample {
    char *name;
    struct ulp_tensor_set inputs;
};
struct sample_list {
    struct sample *items;
    size_t count;
    bool random; /* made, not read */
};
/* Read every --inputs (npz files, test_data_set folders, or folders of either), or make one random
 * sample when there are none. */
/* The n-th shapes that --shape gives: the n-th of each input, or its last. How many there are, 1 at
 * least; *text says them ("x 1x77, y 1x77"; empty without --shape) and is freed. */
size_t count_shapes(const struct common_options *options);
enum ulp_status set_shapes(struct ulp_model *model, const struct common_options *options, size_t n,
                           char **text, struct ulp_error *error);
/* What an audit of several shapes came to: of each, by arithmetic, its worst output. */
struct shape_results {
    size_t count;
    struct shape_result {
        char *shape, *lane, *output;
        double sqnr_db;
        size_t nonfinite;
    } * items;
};
enum ulp_status add_shape_result(struct shape_results *results, char *shape,
                                 const struct ulp_audit *audit, struct ulp_error *error);
void print_shape_results(const struct shape_results *results, size_t lane_count);
void free_shape_results(struct shape_results *results);
enum ulp_status read_samples(const struct ulp_model *model, const struct common_options *options,
                             struct sample_list *out, struct ulp_error *error);
void free_samples(struct sample_list *samples);
/* Say on stderr what the samples are and what was converted. */
void note_choices(const struct ulp_model *model, const struct sample_list *samples);

/* Refuse to write to output when that is a file the command reads: of the model (may be NULL), one
 * of the inputs, or an array file in a folder of inputs. Asked before the work. */
enum ulp_status spare_inputs(const char *output, const struct ulp_model *model, char *const *inputs,
                             size_t count, struct ulp_error *error);
/* The same for the files of a report in that folder. */
enum ulp_status spare_inputs_of_report(const char *folder, const struct ulp_model *model,
                                       char *const *inputs, size_t count, struct ulp_error *error);

/* A progress line with the time left, on a terminal only. Zero `enabled` makes every call
 * silent. */
struct progress {
    bool enabled;
    const char *what;
    size_t part, part_count; /* the run's place among several (samples, certifying) */
    double started, shown;
};
void progress_init(struct progress *progress, bool quiet, size_t part_count);
struct ulp_observer progress_observer(struct progress *progress);
void progress_clear(struct progress *progress);

/* Whether to use colour on this stream: a terminal, and NO_COLOR is unset. */
bool use_colour(int descriptor);
/* Columns of the terminal, at least 60; 0: the stream is none, and names need not be cut. */
int terminal_width(int descriptor);

#endif
