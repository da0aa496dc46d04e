/* The options of `ulpscope audit` as those of ulp_audit_run, and what is said while it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command/command_audit.h"
#include "cli/ranks.h"

/* What the library hands back to each function below. */
struct running {
    const struct audit_options *options;
    struct work *work;
    struct ulp_scorer scorer;
};

static enum ulp_status check_limits(void *context, const struct ulp_program *program,
                                    struct ulp_error *error)
{
    const struct running *running = context;
    const struct audit_options *options = running->options;
    for (size_t i = 0; i < options->limit_count; i++)
        ULP_TRY(ulp_limit_check(options->limits[i], running->work->model, program, error));
    return ULP_OK;
}

static void begin_run(void *context, size_t sample, size_t run, size_t run_count)
{
    struct running *running = context;
    if (run == 0 || sample == SIZE_MAX) {
        progress_clear(&running->work->progress);
        if (run == 0)
            running->work->progress.part_count = run_count;
    }
    running->work->progress.sample_count = sample == SIZE_MAX ? 0 : running->work->samples.count;
    running->work->progress.sample = sample + 1;
    running->work->progress.part = run;
}

static void tell_finished(void *context, size_t sample)
{
    const struct running *running = context;
    const struct audit_options *options = running->options;
    if (options->checkpoint_count)
        watch_done("the samples finished so far, up to %zu of %zu, are in %s; the same command "
                   "resumes after them",
                   sample + 1, running->work->samples.count, options->checkpoints[0]);
    else
        watch_done("sample %zu of %zu was finished, and nothing was written; --checkpoint FOLDER "
                   "keeps finished samples",
                   sample + 1, running->work->samples.count);
}

/* A shard is at its end, also those processes that share it. */
static void say_shard(const struct running *running, const struct ulp_checkpoint *checkpoint)
{
    const struct audit_options *options = running->options;
    const size_t all = running->work->samples.count,
                 mine = (all + options->shard_count - options->shard) / options->shard_count;
    if (checkpoint->split) {
        ranks_all_equal(0); /* waits for them */
        if (ranks_self() > 0)
            return;
    }
    if (mine)
        say(stdout, "shard %zu of %zu: %zu of %zu samples are finished in %s.", options->shard,
            options->shard_count, mine, all, options->checkpoints[0]);
    else
        say(stdout, "shard %zu of %zu: there is none of the %zu samples in it.", options->shard,
            options->shard_count, all);
    say(stdout, " When all shards are: ulpscope audit --merge FOLDER... --out REPORT\n");
}

/* NULL: values are kept in memory alone. */
static const char *spill_folder(const struct audit_options *options)
{
    return options->attribute != ATTRIBUTE_YES ? NULL
           : getenv("TMPDIR")                  ? getenv("TMPDIR")
                                               : "/tmp";
}

/* The words of the command line, each with a zero byte behind it: audit --merge reads them. */
static void put_arguments(const struct audit_options *options, struct ulp_text *words)
{
    for (int a = 0; a < options->common.argc; a++)
        ulp_text_put(words, options->common.argv[a], strlen(options->common.argv[a]) + 1);
}

/* What the library is given, and is freed when it is done. */
struct given {
    struct ulp_audit_pair *pairs;
    struct ulp_text names, words;
    struct ulp_ranks ranks;
    struct ulp_checkpoint checkpoint;
};

/* "NAME=ORIGINAL" */
static enum ulp_status read_pairs(const struct audit_options *options, struct given *given,
                                  struct ulp_error *error)
{
    size_t at = 0;
    given->pairs = calloc(options->pair_count + 1, sizeof *given->pairs);
    for (size_t p = 0; p < options->pair_count; p++)
        ulp_text_put(&given->names, options->pairs[p], strlen(options->pairs[p]) + 1);
    ULP_TRY(taken(given->pairs && !given->names.failed, error));
    for (size_t p = 0; p < options->pair_count; p++) {
        char *name = given->names.data + at, *equals = strchr(name, '=');
        at += strlen(name) + 1;
        *equals = '\0';
        given->pairs[p] = (struct ulp_audit_pair){name, equals + 1};
    }
    return ULP_OK;
}

static enum ulp_status prepare_given(struct running *running, struct given *given,
                                     struct ulp_error *error)
{
    const struct audit_options *options = running->options;
    put_arguments(options, &given->words);
    ULP_TRY(given->words.failed ? out_of_memory(error) : read_pairs(options, given, error));
    given->ranks = (struct ulp_ranks){.self = ranks_self(),
                                      .count = ranks_count(),
                                      .hand = ranks_hand,
                                      .take = ranks_take,
                                      .all_equal = ranks_all_equal};
    given->checkpoint =
        (struct ulp_checkpoint){.folders = (const char *const *)options->checkpoints,
                                .folder_count = options->checkpoint_count,
                                .shard = options->shard,
                                .shard_count = options->shard_count,
                                .merge = options->merge,
                                .note = given->words.data,
                                .note_bytes = given->words.length,
                                .ranks = given->ranks.count > 1 ? &given->ranks : NULL};
    return ULP_OK;
}

static enum ulp_status run_samples(struct running *running, const struct lane_list *lanes,
                                   struct given *given, struct ulp_audit *audit,
                                   struct ulp_error *error)
{
    const struct audit_options *options = running->options;
    const struct ulp_samples samples = lend_samples(running->work);
    const struct ulp_program_options planning = lane_plans(lanes, running->work->model).options;
    struct ulp_audit_options wanted = options->audit;
    wanted.plan = &planning;
    wanted.shares = options->attribute != ATTRIBUTE_NO;
    wanted.spill = spill_folder(options);
    wanted.every_output = options->attribute == ATTRIBUTE_YES;
    wanted.original = running->work->original;
    wanted.pairs = given->pairs;
    wanted.pair_count = options->pair_count;
    wanted.allow_nonfinite_inputs = options->common.allow_nonfinite_inputs;
    if (options->checkpoint_count || given->checkpoint.ranks)
        wanted.checkpoint = &given->checkpoint;
    wanted.thread_count = options->common.threads;
    wanted.progress = &running->work->observer;
    wanted.context = running;
    wanted.compiled = check_limits;
    wanted.begins = begin_run;
    wanted.finished = tell_finished;
    wanted.scorer = options->score.metric ? &running->scorer : NULL;
    const enum ulp_status status = ulp_audit_run(running->work->model, lanes->arithmetics,
                                                 lanes->count, &samples, &wanted, audit, error);
    progress_clear(&running->work->progress);
    return status;
}

/* What was found, and what is left to do. */
static void say_parts(const struct running *running, const struct ulp_checkpoint *checkpoint)
{
    const struct audit_options *options = running->options;
    if (checkpoint->found && !options->common.quiet && !options->merge && !checkpoint->split)
        say(stderr, "ulpscope: %zu of %zu samples were in %s already\n", checkpoint->found,
            checkpoint->mine, options->checkpoints[0]);
    if (options->shard)
        say_shard(running, checkpoint);
}

enum ulp_status audit_samples(const struct audit_options *options, struct work *work,
                              const struct lane_list *lanes, struct ulp_audit *audit, bool *whole,
                              struct ulp_error *error)
{
    struct running running = {.options = options, .work = work};
    struct given given = {0};
    running.scorer = make_scorer(&options->score);
    progress_init(&work->progress, options->common.quiet, 1);
    work->progress.spills = options->attribute != ATTRIBUTE_YES;
    enum ulp_status status = prepare_given(&running, &given, error);
    ULP_THEN(status, run_samples(&running, lanes, &given, audit, error));
    if (status == ULP_OK)
        say_parts(&running, &given.checkpoint);
    *whole = !options->shard && ranks_self() == 0;
    ulp_text_free(&given.words);
    ulp_text_free(&given.names);
    free(given.pairs);
    return status;
}
