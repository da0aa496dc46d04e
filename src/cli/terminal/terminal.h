/* What the program prints: messages, progress, colour. */
#pragma once

#include <stdio.h>

#include "cli/option/option.h"

/* As fprintf; text arguments are made harmless (base/text/shown.h). Commands print with this, and
 * text of the library's, which is harmless already, with fputs. */
void say(FILE *stream, const char *format, ...) ULP_PRINTF(2, 3);
/* A sentence on stdout, in lines of the terminal, of which further ones begin so many columns in.
 */
void say_wrapped(size_t indent, const char *format, ...) ULP_PRINTF(2, 3);
struct ulp_refusal;
enum ulp_status print_refusal(const struct ulp_refusal *refusal, struct ulp_error *error);
/* At the start: all three streams are open, and when output is lost the program ends with
 * ULP_ERROR_INPUT and says so, however it ends. */
void open_streams(void);
/* Print "ulpscope: message" to stderr and return the status as exit code. */
int fail(const struct ulp_error *error);
/* The exit code of a command: fail's, or without a message the status alone. */
int end_command(enum ulp_status status, const struct ulp_error *error);
/* Out of memory in the program itself. */
int fail_memory(void);

/* watch.c. At the start, before the other two: who interrupts the program, or ends it by SIGTERM,
 * is told what is there. */
void watch_signals(void);
/* --max-time SECONDS, which every command takes: out of the arguments, and the clock is
 * started; when it is over the process says so in one line and ends with ULP_ERROR_CANCELLED.
 * Returns an exit code. */
int watch_time(int *argc, char **argv);
/* The seconds of it that are left; 0: it was not given. */
double watch_seconds(void);
/* What such a line says of what is there by then ("3 of 9 samples are in FOLDER"); at the start
 * "no file was left half written". */
void watch_done(const char *format, ...) ULP_PRINTF(1, 2);
/* A file that goes when the program ends so, and the process group of a command that reads it,
 * which ends with it; NULL, 0: there is none. */
void watch_passing(const char *path, pid_t group);
/* A mapped file that becomes shorter ends the program with ULP_ERROR_INPUT. */
void watch_files(void);

/* Say on stderr what the samples are and what was converted. */
void note_choices(const struct ulp_model *model, const struct sample_list *samples);

/* A progress line with the time left, on a terminal only; once a line that says how much memory an
 * audit takes, from a GiB on; and once a line that says how long all
 * will take, from ten seconds on (from a minute where no terminal looks). Zero `enabled` makes
 * every call silent. */
struct progress {
    bool enabled, terminal;
    size_t sample, sample_count; /* from 1; of 2 and more it is said which */
    size_t part, part_count;     /* the run's place among several (samples, certifying) */
    double started, shown;
    /* all takes from so many to so many times the first run; 0: not known, nothing is said */
    double least, most;
    bool foreseen;
    bool spills; /* --attribute would keep values in a file */
    double run_started, told, done; /* told, done: when the last node was, and the share then */
};
void progress_init(struct progress *progress, bool quiet, size_t part_count);
struct ulp_observer progress_observer(struct progress *progress);
void progress_clear(struct progress *progress);
/* What a command works on: the model with its first shapes, what it was made of, samples of any
 * shapes, also as the library takes them, and the progress that is shown. */
struct work {
    const struct common_options *common;
    struct ulp_model *model, *original;
    /* 0: all samples are in memory; else so many, evenly among all, and `given` has no inputs of
     * the others. Set before it is opened */
    size_t held;
    bool finished; /* samples are finished already: the first alone is read */
    struct sample_list samples;
    struct ulp_sample *given;
    struct progress progress;
    struct ulp_observer observer; /* of progress */
};
/* folder: of results, which is prepared; original: the path of --reference-model; either may be
 * NULL. Of zeros but `held`, `finished` and `model`, where that is loaded already
 * (load_with_shapes), and closed also after a failure. */
enum ulp_status open_work(struct work *work, const struct common_options *common,
                          const char *folder, const char *original, struct ulp_error *error);
void close_work(struct work *work);
/* All of its samples; those that are not in memory are opened one at a time. */
struct ulp_samples lend_samples(struct work *work);
/* Samples of other paths (--validate), which the caller frees with free_samples and free. */
enum ulp_status read_held_out(const struct work *work, char **paths, size_t count,
                              struct sample_list *samples, struct ulp_sample **list,
                              struct ulp_error *error);
/* The part that begins, as an analysis says it (`begins` of its options); context: the progress. */
void progress_part(void *context, size_t part, size_t part_count);

/* What a command says of its result, and the files of it that its options name. */
typedef enum ulp_status text_of_result(const void *of, int width, bool colour, char **text,
                                       struct ulp_error *error);
typedef enum ulp_status write_result(const void *of, enum ulp_output_kind as, const char *path,
                                     struct ulp_error *error);
/* The library's writer of results of a kind, of any. */
#define RESULT_WRITER(KIND)                                                                        \
    static enum ulp_status write_##KIND(const void *of, enum ulp_output_kind as, const char *path, \
                                        struct ulp_error *error)                                   \
    {                                                                                              \
        return ulp_##KIND##_write(of, as, path, error);                                            \
    }
/* And its text. */
#define RESULT_TEXT(KIND)                                                                   \
    static enum ulp_status text_##KIND(const void *of, int width, bool colour, char **text, \
                                       struct ulp_error *error)                             \
    {                                                                                       \
        return ulp_##KIND##_text(of, width, colour, text, error);                           \
    }
#define RESULT_KIND(KIND) RESULT_WRITER(KIND) RESULT_TEXT(KIND)
struct result {
    const void *of;
    text_of_result *text_of; /* NULL: it is printed already */
    write_result *write;
    const char *folder;     /* --out; NULL: none */
    const char *folder_has; /* which is said: "proof.json" */
    const char *page;       /* --html; NULL: none */
};
/* The text alone, for the terminal. */
enum ulp_status print_result(text_of_result *text_of, const void *of, struct ulp_error *error);
enum ulp_status say_result(const struct result *result, struct ulp_error *error);

/* Whether to use colour on this stream: a terminal, and NO_COLOR is unset. */
bool use_colour(int descriptor);
/* COLUMNS of the environment, or columns of the terminal, at least 60; 0: the stream is none, and
 * names need not be cut. */
int terminal_width(int descriptor);
